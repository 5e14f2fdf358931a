"""Published numbers, of the paper or of another publication, and their tables beside ours."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from rankloom.errors import InputError
from rankloom.evaluation import gain, winning_numbers
from rankloom.experiment.results import MethodRecord, Results
from rankloom.io.text_file import read_text
from rankloom.registry import slug
from rankloom.report.findings import ranked_rankers
from rankloom.report.formats import Column, Row, Table
from rankloom.report.overviews import EXPERIMENT, METHOD
from rankloom.report.report import Effectiveness, Report, common_methods, restricted
from rankloom.report.tables import make_table, role_of, unique_names

#: The columns of our value, the published one, and how much ours is above it.
COMPARED = (Column("Ours"), Column("Published"), Column("Difference", "signed"))
Read = Mapping[str, Any]  #: a table of a TOML file
PAPER = files(__package__).joinpath("dourado2019.toml")


@dataclass(frozen=True, slots=True, eq=False)
class PublishedCollection:
    """The published numbers of one collection."""

    measure: str
    rankers: Mapping[str, float]  #: single rankers
    configurations: tuple[tuple[str, ...], ...]  #: sets of rankers that were fused
    methods: Mapping[str, tuple[float, ...]]  #: named as in `METHODS`, a value for each configuration


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
        """Read a TOML file; without a path, the tables of the paper."""
        try:
            given = tomllib.loads(PAPER.read_text("utf-8") if path is None else read_text(path))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise InputError(f"Cannot read {path}: {error}.") from None
        try:
            return cls._parsed(given)
        except (TypeError, AttributeError, KeyError, ValueError) as error:
            raise InputError(
                f"{path}: expected 'publication', and 'measure' and 'values' in [rankers.NAME] or 'measure', "
                f"'configurations' and 'methods' in [fused.NAME], as in docs/experiments.md; got {error!r}."
            ) from None

    @classmethod
    def _parsed(cls, given: Read) -> Published:
        names = {str(theirs): str(ours) for theirs, ours in given.get("names", {}).items()}
        rankers, fused = given.get("rankers", {}), given.get("fused", {})
        keys = list(dict.fromkeys([*rankers, *fused]))
        if not keys:
            raise ValueError("no collection")
        parsed = {key: _collection(rankers.get(key), fused.get(key), names) for key in keys}
        return cls(str(given["publication"]), parsed)

    def of(self, results: Results) -> PublishedCollection | None:
        """Return the numbers of the collection of an experiment, found by its name or that of the experiment."""
        known = {name.casefold(): numbers for name, numbers in self.collections.items()}
        spec = results.experiment
        return known.get(spec.collection.name.casefold()) or known.get(spec.name.casefold())


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """An experiment on a collection with published numbers, and its selection for each published set of rankers."""

    label: str
    results: Results
    published: PublishedCollection

    @property
    def measured(self) -> bool:
        """Whether the experiment has the published measure."""
        return self.published.measure in map(str, self.results.experiment.measures)

    def method(self, name: str, number: int) -> float | None:
        """Return our value of a method on a published set of rankers; None if it was not run."""
        wanted = _folded(self.published.configurations[number])
        found = [one for one in self.results.of(MethodRecord) if one.method == name and _folded(one.rankers) == wanted]
        return found[0].mean(self.published.measure) if found else None

    @property
    def rankers(self) -> dict[str, float | None]:
        """Our value of each published ranker; None if it was not run."""
        ours = {
            record.ranker.casefold(): record.mean(self.published.measure) for record in ranked_rankers(self.results)
        }
        return {name: ours.get(name.casefold()) for name in self.published.rankers}

    @property
    def sets(self) -> list[str]:
        """The published sets of rankers, written out except for the set of all."""
        everything = _folded(tuple(self.published.rankers))
        return [
            f"all {len(rankers)}" if _folded(rankers) == everything else " + ".join(rankers)
            for rankers in self.published.configurations
        ]


def matches(report: Report, published: Published) -> list[Match]:
    """Return the experiments on collections with published numbers."""
    found = [(label, results, published.of(results)) for label, results in report.experiments.items()]
    return [Match(label, results, numbers) for label, results, numbers in found if numbers is not None]


def rankers(found: list[Match]) -> Table | None:
    """Return the published value of each single ranker beside ours."""
    columns = [EXPERIMENT, Column("Ranker", "text"), *COMPARED]
    rows = [
        Row((match.label, name, ours, match.published.rankers[name], _difference(ours, match.published.rankers[name])))
        for match in found
        for name, ours in match.rankers.items()
    ]
    return make_table("published-rankers", "Single rankers, ours and published", columns, rows)


def fused(report: Report, found: list[Match]) -> Table | None:
    """Return the published value of the first method beside ours, with the gain over the best single ranker."""
    columns = [EXPERIMENT, Column("Rankers", "text"), *COMPARED]
    columns += [Column("Our gain (%)", "signed", 2), Column("Published gain (%)", "signed", 2)]
    rows = []
    for match in found:
        theirs = match.published.methods.get(report.first or "", ())
        best, best_theirs = _best(match.rankers), _best(match.published.rankers)
        for number, value in enumerate(theirs):
            ours = match.method(str(report.first), number)
            cells = (match.label, match.sets[number], ours, value, _difference(ours, value))
            rows.append(Row((*cells, _gain(ours, best), _gain(value, best_theirs))))
    explained = "Gains are over the best single ranker. An empty cell: we did not fuse that set of rankers."
    return make_table("published-fused", f"{report.first}, ours and published", columns, rows, explained)


def winning(report: Report, found: list[Match]) -> Table | None:
    """Return winning numbers from published tables beside ours, over the sets of rankers and methods of both."""
    ours: Effectiveness = {}
    theirs: Effectiveness = {}
    for match in found:
        for number, name in enumerate(match.sets):
            values = {method: match.method(method, number) for method in match.published.methods}
            known = {method: value for method, value in values.items() if value is not None}
            if len(known) > 1:
                ours[match.label, name] = known
                theirs[match.label, name] = {method: match.published.methods[method][number] for method in known}
    shared = common_methods(ours)
    if len(shared) < 2:
        return None
    numbers, published = winning_numbers(restricted(ours, shared)), winning_numbers(restricted(theirs, shared))
    rows = [Row((name, wins, published[name]), role_of(name, report.first)) for name, wins in numbers.items()]
    columns = [METHOD, *COMPARED[:2]]
    highest = len(ours) * (len(shared) - 1)
    explained = f"{len(ours)} sets of rankers and {len(shared)} methods that both have: at most {highest}."
    return make_table("published-winning", "Winning numbers, ours and published", columns, rows, explained)


def methods(report: Report, found: list[Match]) -> list[Table]:
    """Return a table for each collection: every published method on every published set of rankers, and ours."""
    tables = []
    for match in found:
        columns = [METHOD]
        for name in match.sets:
            columns += [Column(f"{name}, ours"), Column("Published")]
        rows = []
        for method, theirs in match.published.methods.items():
            cells = [cell for i, value in enumerate(theirs) for cell in (match.method(method, i), value)]
            rows.append(Row((method, *cells), role_of(method, report.first)))
        caption = f"{match.label}: {match.published.measure} of every published method"
        made = make_table(slug("published", match.label), caption, columns, rows)
        tables += [made] if made else []
    return unique_names(tables)


def _folded(rankers: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name.casefold() for name in rankers)


def _difference(ours: float | None, theirs: float) -> float | None:
    return None if ours is None else ours - theirs


def _best(values: Mapping[str, float | None]) -> float | None:
    return max((value for value in values.values() if value is not None), default=None)


def _gain(value: float | None, best: float | None) -> float | None:
    return None if value is None or not best else gain(value, best)


def _collection(rankers: Read | None, fused: Read | None, names: Mapping[str, str]) -> PublishedCollection:
    measures = {str(table["measure"]) for table in (rankers, fused) if table is not None}
    if len(measures) > 1:
        raise ValueError(f"two measures of one collection, {' and '.join(sorted(measures))}")
    alone = {str(name): float(value) for name, value in rankers["values"].items()} if rankers else {}
    sets = tuple(tuple(map(str, names)) for names in fused["configurations"]) if fused else ()
    methods = {}
    for name, cells in fused["methods"].items() if fused else ():
        if len(cells) != len(sets):
            raise ValueError(f"{len(cells)} values of {name} for {len(sets)} configurations")
        methods[names.get(name, name.lower())] = tuple(map(_value, cells))
    return PublishedCollection(measures.pop(), alone, sets, methods)


def _value(cell: Any) -> float:
    """Return the value of a cell: a number, or a symbol and a number."""
    return float(cell[1] if isinstance(cell, list) else cell)
