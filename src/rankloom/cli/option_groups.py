"""Groups of options that several commands have: one parameter of a command stands for all options of a group."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

from rankloom.cli.app import Encoding, Option, echo, either
from rankloom.cli.outputs import writes
from rankloom.errors import InputError
from rankloom.io import FORMATS, read_ranks
from rankloom.io.cache import Cache
from rankloom.io.rows import Duplicates as DuplicatesPolicy
from rankloom.ranks import Ranks
from rankloom.registry import Call
from rankloom.threads import Progress

if TYPE_CHECKING:
    from rankloom.datasets import Collection


Strict = Annotated[
    bool, Option("--strict", help="Stop at an item that cannot be read; otherwise it is skipped and reported.")
]


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the fields of its option groups in place of the groups, for Typer."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if isinstance(hint, type) and is_dataclass(hint)}

    def run(**given: object) -> None:
        made = {
            key: group(**{option.name: given.pop(option.name) for option in fields(group)})
            for key, group in groups.items()
        }
        command(**given, **made)

    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        group = groups.get(parameter.name)
        parameters += [parameter] if group is None else inspect.signature(group).parameters.values()
    named = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    run.__annotations__ = hints | {new.name: new.annotation for new in parameters if new.name not in hints}
    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    return run


@dataclass(frozen=True)
class RunOptions:
    """How files of ranked lists are read."""

    format: Annotated[
        str | None,
        Option(help=f"Format of the input files: {either(FORMATS)}; by default inferred from the file names."),
    ] = None
    duplicates: Annotated[
        str,
        Option(
            help=f"What to do if a query lists an item twice: {either(get_args(DuplicatesPolicy))}, which uses the "
            "better-ranked."
        ),
    ] = "error"

    def read(self, paths: Sequence[Path], progress: Progress, kind: str | None = None) -> list[Ranks]:
        """Read files of ranked lists."""
        ranks = []
        for done, path in enumerate(paths):
            progress("Reading", done, len(paths))
            ranks.append(read_ranks(path, format=self.format, duplicates=self.duplicates, kind=kind))  # type: ignore[arg-type]
        progress("Reading", len(paths), len(paths))
        return ranks


@dataclass(frozen=True)
class CollectionOptions:
    """How a collection is read."""

    path: Annotated[str | None, Option(help="Folder of a known collection; by default $RANKLOOM_DATA/NAME.")] = None
    encoding: Encoding = None
    strict: Strict = False

    def read(self, spelling: str) -> "Collection":
        """Open the collection that COLLECTION and --path name."""
        from rankloom.datasets import open_collection

        options = {} if self.encoding is None else {"encoding": self.encoding}
        return open_collection(spelling if self.path is None else Call.of(spelling, {"path": self.path}), **options)


@dataclass(frozen=True)
class SearcherOptions:
    """How a searcher is built."""

    ranker: Annotated[
        list[str] | None,
        Option(
            help="A ranker, with options as in okapi(b=0.5), optionally named: dense=vectors(path=emb.npz). "
            "Repeatable. By default bm25 and static (extra dense) for texts, and bic, gch, las and qcch for images."
        ),
    ] = None
    cutoff: Annotated[int, Option(min=1, help="How much of each list weft uses.")] = 20
    depth: Annotated[int, Option(min=1, help="Length of the lists of items.")] = 60

    def settings(self) -> dict[str, Any]:
        """Return the arguments of `Searcher.build` that they stand for."""
        return {"rankers": named_rankers(self.ranker or []) or None, "cutoff": self.cutoff, "depth": self.depth}


def named_rankers(given: list[str]) -> dict[str, str]:
    """Return rankers by name: NAME=SPELLING, or the spelling itself.

    Examples
    --------
    >>> named_rankers(["bm25", "dense=vectors(path=emb.npz)"])
    {'bm25': 'bm25', 'dense': 'vectors(path=emb.npz)'}
    """
    named: dict[str, str] = {}
    for spelled in given:
        name, equals, spelling = spelled.partition("=")
        if not equals or "(" in name or not name.strip():
            name = spelling = spelled
        if name.strip() in named:
            raise InputError(f"Rankers must have different names; {name.strip()!r} is given twice.")
        named[name.strip()] = spelling.strip()
    return named


@dataclass(frozen=True)
class CacheOptions:
    """Where descriptors and lists are cached."""

    cache: Annotated[
        Path | None,
        Option(
            help="Folder that caches descriptors and ranked lists; by default $RANKLOOM_CACHE, or in the user's cache."
        ),
    ] = None
    no_cache: Annotated[bool, Option("--no-cache", help="Do not read or write the cache.")] = False

    def open(self) -> Cache:
        """Return the cache that --cache and --no-cache ask for."""
        chosen = None if self.no_cache else self.cache or Cache.standard().folder
        if chosen is not None:
            writes(chosen, "nothing written but the cache, which the next run uses")
        hint = "Choose another folder with --cache, or use --no-cache."
        return Cache(chosen, warn=lambda message: echo(f"Warning: {message} {hint}", err=True))
