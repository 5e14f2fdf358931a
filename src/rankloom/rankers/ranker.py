"""What a ranker is, and the registry of rankers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from rankloom.engine.local import Progress
from rankloom.ranks import Ranks
from rankloom.registry import Registry


class Fitted(Protocol):
    """A ranker that has looked at a collection."""

    def rank(
        self, *, queries: Sequence[Any] | None = None, depth: int = 1000, progress: Progress | None = None
    ) -> Ranks:
        """Rank the collection's items for each of its own items, or for queries from outside.

        Returns
        -------
        Ranks
            Without names; without `queries`, row i is the list of item i.
        """
        ...


class Ranker(Protocol):
    """Anything that ranks the items of a collection.

    Attributes
    ----------
    part : str
        The part of the collection it looks at, such as ``texts``.
    """

    @property
    def part(self) -> str:
        """The part of the collection it looks at."""
        ...

    def fit(self, items: Sequence[Any], *, progress: Progress | None = None) -> Fitted:
        """Look at the items of a collection: that part of each, in the order of their numbers."""
        ...


#: (options of its own) -> a ranker
Maker = Callable[..., Ranker]
#: Rankers by name; a plug-in adds one through the entry-point group ``rankloom.rankers``.
RANKERS: Registry[Maker] = Registry("ranker", group="rankloom.rankers")

F = TypeVar("F", bound=Maker)


def register(name: str) -> Callable[[F], F]:
    """Give the maker decorated a name in `RANKERS`."""

    def add(maker: F) -> F:
        RANKERS.register(name)(maker)
        return maker

    return add
