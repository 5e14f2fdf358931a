"""Published numbers to set beside measured ones: the paper's tables, or those of another publication."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from rankloom.errors import InputError
from rankloom.experiment.results import Results

PAPER = files(__package__).joinpath("dourado2019.toml")


@dataclass(frozen=True, slots=True, eq=False)
class PublishedCollection:
    """The published numbers of one collection.

    Attributes
    ----------
    measure : str
    rankers : {ranker: value}
        Single rankers.
    configurations : tuple of tuple of str
        Sets of rankers that were fused.
    methods : {method: values}
        A value for each configuration; methods are named as in `METHODS`.
    """

    measure: str
    rankers: Mapping[str, float]
    configurations: tuple[tuple[str, ...], ...]
    methods: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """The numbers of a publication, by collection.

    Examples
    --------
    >>> paper = Published.read()
    >>> soccer = paper.collections["soccer"]
    >>> soccer.measure, soccer.rankers["BIC"], soccer.configurations[1], soccer.methods["fg"][1]
    ('ndcg@10', 0.614818, ('BIC', 'ACC'), 0.655332)
    """

    publication: str
    collections: Mapping[str, PublishedCollection]

    @classmethod
    def read(cls, path: str | Path | None = None) -> Published:
        """Read a TOML file; without a path, the tables of the paper.

        Raises
        ------
        InputError
            If the file cannot be read, is not TOML, or a table is incomplete.
        """
        try:
            text = PAPER.read_text("utf-8") if path is None else Path(path).read_text("utf-8")
            given = tomllib.loads(text)
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"Cannot read {path}: {getattr(error, 'strerror', None) or error}.") from None
        try:
            return cls._parsed(given)
        except (TypeError, AttributeError, KeyError, ValueError) as error:
            raise InputError(
                f"{path}: expected 'publication', and 'measure' and 'values' in [rankers.NAME] or 'measure', "
                f"'configurations' and 'methods' in [fused.NAME], as in docs/experiments.md; got {error!r}."
            ) from None

    @classmethod
    def _parsed(cls, given: Mapping[str, Any]) -> Published:
        names = {str(theirs): str(ours) for theirs, ours in given.get("names", {}).items()}
        rankers, fused = given.get("rankers", {}), given.get("fused", {})
        keys = list(dict.fromkeys([*rankers, *fused]))
        if not keys:
            raise ValueError("no collection")
        parsed = {key: _collection(rankers.get(key), fused.get(key), names) for key in keys}
        return cls(str(given["publication"]), parsed)

    def of(self, results: Results) -> PublishedCollection | None:
        """Return the numbers of the collection of an experiment, found by its name or that of the experiment."""
        known = {name.casefold(): one for name, one in self.collections.items()}
        spec = results.experiment
        return known.get(spec.collection.name.casefold()) or known.get(spec.name.casefold())


def _collection(
    rankers: Mapping[str, Any] | None, fused: Mapping[str, Any] | None, names: Mapping[str, str]
) -> PublishedCollection:
    measures = {str(one["measure"]) for one in (rankers, fused) if one is not None}
    if len(measures) > 1:
        raise ValueError(f"two measures of one collection, {' and '.join(sorted(measures))}")
    alone = {str(name): float(value) for name, value in rankers["values"].items()} if rankers else {}
    sets = tuple(tuple(map(str, one)) for one in fused["configurations"]) if fused else ()
    methods = {}
    for name, cells in fused["methods"].items() if fused else ():
        if len(cells) != len(sets):
            raise ValueError(f"{len(cells)} values of {name} for {len(sets)} configurations")
        methods[names.get(name, name.lower())] = tuple(map(_value, cells))
    return PublishedCollection(measures.pop(), alone, sets, methods)


def _value(cell: Any) -> float:
    """Return the value of a cell: a number, or a symbol and a number."""
    return float(cell[1] if isinstance(cell, list) else cell)
