"""The protocol and the registry of rankers."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, Self, TypeGuard

from rankloom.datasets.collection import Contents
from rankloom.errors import InputError
from rankloom.io.cache import Cache
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Array, Bools, Float32s, Numbers
from rankloom.registry import Registry


class UnreadableItemsError(InputError):
    """Some items of a collection cannot be read, such as damaged images; `reasons` are by number."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        self.reasons = dict(reasons)
        some = " ".join(list(self.reasons.values())[:3])
        rest = f" And {len(self.reasons) - 3} more." if len(self.reasons) > 3 else ""
        super().__init__(f"Cannot read {len(self.reasons)} of the items: {some}{rest}")


class Fitted(Protocol):
    """A ranker fitted to a collection."""

    def rank(self, *, queries: Contents | None = None, depth: int = 1000) -> Ranks:
        """Return ranks of the items for external queries; without `queries` row i is the list of item i. No ids."""


class Updatable(Fitted, Protocol):
    """A fitted ranker that a `Searcher` can filter, update and save.

    Its statistics, such as document frequencies, stay those of the fit, whatever items are added and removed. Scores
    are rounded to float32 before they are compared, and ties are ordered by number, the item itself first; so lists
    can be merged by their scores.
    """

    @property
    def n_items(self) -> int:
        """Number of items."""

    def rank(self, *, queries: Contents | None = None, depth: int = 1000, allowed: Bools | None = None) -> Ranks:
        """Rank the items as `Fitted` does; for external queries, only the items that a mask allows."""

    def rank_items(
        self,
        rows: Numbers,
        *,
        depth: int = 1000,
        among: Numbers | None = None,
        floors: Float32s | None = None,
        of: Self | None = None,
    ) -> Ranks:
        """Return the lists of some items, by number, with the bits that `rank` gives.

        Parameters
        ----------
        rows : array of int
            The items whose lists to return, as queries.
        of : Updatable, optional
            Whose items these are: a ranker with the same statistics; by default this one.
        among : array of int, optional
            Rank only these items, by number, ascending; by default all.
        floors : float32 array, optional
            For each row, a score below which items may be left out; it saves time.
        """

    def subset(self, numbers: Numbers) -> Self:
        """Return the ranker with only these items, in this order, and the same statistics."""

    def appended(self, items: Contents, *, cache: Cache | None = None) -> Self:
        """Return the ranker with more items after its own, and the same statistics.

        Raise UnreadableItemsError if some cannot be read; its numbers count from 0 among the new items.
        """

    def row_arrays(self) -> dict[str, Array]:
        """Return arrays with a row for each item, and pointers named ``...ptr`` to rows of others."""
        ...

    def with_rows(self, arrays: Mapping[str, Array]) -> Self:
        """Return the ranker with other items, by their `row_arrays`, after checks, and the same statistics."""
        ...

    def arrays(self) -> dict[str, Array]:
        """Return everything that the ranker's `restored` needs to make it again: no objects, no pickle."""


class Ranker(Protocol):
    """Anything that ranks the items of a collection.

    A ranker whose results depend on more than its options needs a method ``digest() -> str``, which may return a
    version number; cached lists are reused only while it is the same. Lists of a plug-in without that method are not
    cached: there is no way to detect that its code changed.

    A ranker may have a boolean attribute ``comparable``: whether its score of an external query and an item can be
    compared with that of two items, as with images among images, but not with a few words among documents. Such queries
    get virtual positions in fusion graphs. Without the attribute they do not. The same is so for ``symmetric``: whether
    its scores compare two things of a kind, as the cosine of vectors does (the method vote then lowers those of items
    that are near many others), and for ``exhaustive``: whether a list shorter than requested has all items that score
    above 0, as that of BM25 has.

    A ranker whose fitted form is `Updatable` has a method ``restored(arrays) -> Updatable``, the inverse of
    `Updatable.arrays`. Others can be searched, but neither saved nor updated.
    """

    @property
    def part(self) -> str:
        """The part of the collection it ranks by, such as ``texts``."""

    def fit(self, items: Contents, *, cache: Cache | None = None) -> Fitted:
        """Fit the ranker to the items of a collection: their part, in the order of their numbers.

        The cache stores expensive results, keyed by the content of each item. Raise UnreadableItemsError if some items
        cannot be read; the caller may drop them and fit again.
        """


def is_updatable(fitted: Fitted) -> TypeGuard[Updatable]:
    """Return True if a fitted ranker can be filtered, updated and saved."""
    return hasattr(fitted, "rank_items")


class Traits(NamedTuple):
    """What a ranker declares of its scores: the attributes that `Ranker` describes."""

    comparable: bool = False
    symmetric: bool = False
    exhaustive: bool = False


def traits_of(ranker: Ranker) -> Traits:
    """Return what a ranker declares of its scores.

    Examples
    --------
    >>> from rankloom.rankers import RANKERS
    >>> traits_of(RANKERS["bic"]())
    Traits(comparable=True, symmetric=True, exhaustive=False)
    """
    return Traits(*(bool(getattr(ranker, name, False)) for name in Traits._fields))


#: (options) -> a ranker
Maker = Callable[..., Ranker]
#: Rankers by name; plug-ins register theirs through the entry-point group ``rankloom.rankers``.
RANKERS: Registry[Maker] = Registry("ranker", group="rankloom.rankers", entries=Callable)

#: Registers a ranker: its class, or a function that makes it from options, as in ``@register_ranker("name")``.
register_ranker = RANKERS.register
