"""Queries of the page, and the options of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal
from urllib.parse import urlencode

from rankloom.aggregate import METHODS
from rankloom.errors import InputError, check_choice
from rankloom.fusion_graph.index import CUTOFF
from rankloom.registry import Call
from rankloom.searcher import Searcher

Values = dict[str, Any]  #: plain values, as a page shows them and JSON has them


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """An item, a text or an image to search by."""

    kind: Literal["item", "text", "image"]
    path: str  #: of its results
    arguments: Values  #: of `Searcher.search`
    shown: Values  #: what a page shows: at least title and image
    parameters: Mapping[str, str] = field(default_factory=dict)  #: of its URL
    number: int | None = None  #: of the item


@dataclass(frozen=True, slots=True)
class Choice:
    """How to search: everything that the controls of a page set."""

    rankers: tuple[str, ...]  #: to fuse, in the order of the searcher
    method: str = "auto"  #: or a name in `rankloom.methods.METHODS`
    cutoff: int = CUTOFF  #: how much of each list makes up a fusion graph: for fg, and for explanations
    comparator: str = "wgu"  #: of fusion graphs
    k: int = 20  #: number of results

    @classmethod
    def default(cls, searcher: Searcher) -> Choice:
        """Return the default choice: the rankers that the self-test did not fail, or the settings of an index alone."""
        index = searcher.state.graphs
        if index is None:
            return cls(searcher.state.trusted)
        return cls((), method="fg", cutoff=index.settings.cutoff, comparator=index.settings.comparator)

    def changed(self, changes: Values, searcher: Searcher) -> Choice:
        """Return the choice with some changes; raise `InputError` if they are invalid."""
        choice = replace(self, **changes)
        rankers = searcher.rankers
        check_choice("method", choice.method, searcher.methods(external=False))
        for name in choice.rankers:
            check_choice("ranker", name, rankers)
        if rankers and not choice.rankers:
            raise InputError(f"Choose at least one ranker of {', '.join(rankers)}.")
        return replace(choice, rankers=tuple(name for name in rankers if name in choice.rankers))

    def values(self) -> Values:
        """Return the choice as plain values."""
        return {**asdict(self), "rankers": list(self.rankers)}

    def call(self) -> str | Call:
        """Return the method with its options, as `Searcher.search` takes it.

        Examples
        --------
        >>> str(Choice(("bic",), method="fg", comparator="mcs").call())
        'fg(comparator=mcs, cutoff=10)'
        """
        if self.method != "fg":
            return self.method
        return Call.of("fg", {"cutoff": self.cutoff, "comparator": self.comparator})

    def changes(self, defaults: Choice) -> Values:
        """Return what differs from the defaults, as URL parameters.

        Examples
        --------
        >>> defaults = Choice(("bic", "lbp"))
        >>> Choice(("bic",), method="rrf").changes(defaults)
        {'method': 'rrf', 'rankers': 'bic'}
        """
        pairs = {name: getattr(self, name) for name in ("method", "cutoff", "comparator", "rankers", "k")}
        return {
            name: ",".join(value) if isinstance(value, tuple) else value
            for name, value in pairs.items()
            if value != getattr(defaults, name)
        }


def is_slow(method: str | Call) -> bool:
    """Return True if a query takes much longer by a method than its search."""
    name = Call.given(method, "method").name
    return name in METHODS and METHODS[name].slow


def with_parameters(path: str, **parameters: object) -> str:
    """Return a URL with those parameters that have a value.

    Examples
    --------
    >>> with_parameters("/items", label="red", page=None)
    '/items?label=red'
    """
    given = {name: value for name, value in parameters.items() if value}
    return path + (f"?{urlencode(given)}" if given else "")
