"""What a ranker is, and the registry of rankers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from rankloom.errors import InputError
from rankloom.io.cache import Cache
from rankloom.ranks import Ranks
from rankloom.registry import Registry
from rankloom.threads import Progress


class UnreadableItemsError(InputError):
    """Items of a collection that cannot be read, such as damaged pictures; the others could.

    Attributes
    ----------
    reasons : {number of the item: why}
    """

    def __init__(self, reasons: Mapping[int, str]) -> None:
        self.reasons = dict(reasons)
        some = " ".join(list(self.reasons.values())[:3])
        rest = f" And {len(self.reasons) - 3} more." if len(self.reasons) > 3 else ""
        super().__init__(f"{len(self.reasons)} of the items cannot be read: {some}{rest}")


class Fitted(Protocol):
    """A ranker that has looked at a collection."""

    def rank(
        self, *, queries: Sequence[Any] | None = None, depth: int = 1000, progress: Progress | None = None
    ) -> Ranks:
        """Rank the collection's items for each of its own items, or for external queries.

        Returns
        -------
        Ranks
            Without names; without `queries`, row i is the list of item i.
        """
        ...


class Ranker(Protocol):
    """Anything that ranks the items of a collection.

    One whose numbers depend on more than its options has a method ``digest() -> str`` that stands for it, such as a
    version of its own; lists in a cache are found again only where it is the same. Those of a plug-in that has no such
    method are not kept: nothing says when its code has changed.

    Attributes
    ----------
    part : str
        The part of the collection it looks at, such as ``texts``.
    """

    @property
    def part(self) -> str:
        """The part of the collection it looks at."""
        ...

    def fit(self, items: Sequence[Any], *, cache: Cache | None = None, progress: Progress | None = None) -> Fitted:
        """Look at the items of a collection: that part of each, in the order of their numbers.

        Parameters
        ----------
        cache : Cache, optional
            Where to keep what takes long to make again, by the content of each item.

        Raises
        ------
        UnreadableItemsError
            Where some items cannot be read; whoever asked may leave them out and ask again.
        """
        ...


#: (options of its own) -> a ranker
Maker = Callable[..., Ranker]
#: Rankers by name; a plug-in adds one through the entry-point group ``rankloom.rankers``.
RANKERS: Registry[Maker] = Registry("ranker", group="rankloom.rankers")

F = TypeVar("F", bound=Maker)


def register_ranker(name: str) -> Callable[[F], F]:
    """Return a decorator that registers a ranker: its class, or a function that makes it from options."""

    def add(maker: F) -> F:
        RANKERS.register(name)(maker)
        return maker

    return add
