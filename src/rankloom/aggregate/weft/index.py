"""The weft index: expanded rows of a collection, with exact search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from rankloom._kernels import frozen
from rankloom.aggregate.lists import with_lists
from rankloom.aggregate.pool import checked_weights
from rankloom.aggregate.weft.rows import expand, field_parts, item_lists, mean_overlap, rarity, stacked, transpose
from rankloom.aggregate.weft.votes import VOTE_DEPTH, add_votes
from rankloom.align import Missing, RankerLists, align, align_collection, by_name, split_names
from rankloom.errors import InputError, check_choice, check_range, whole_number
from rankloom.fusion_graph.base import (
    CollectionIndex,
    IndexSettings,
    checked_comparable,
    shared_arrays,
    warn_if_sparse,
)
from rankloom.fusion_graph.graph import Explanation, Part
from rankloom.fusion_graph.normalize import Absent, normalize_collection
from rankloom.fusion_graph.verify import (
    SHARED,
    DamageError,
    Layout,
    check_layout,
    check_order,
    check_rows,
    check_scores,
    check_values,
    raising,
    read_settings,
)
from rankloom.fusion_graph.weave import Order
from rankloom.ranks import PAD, Ids, Ranks
from rankloom.threads import Progress, Scratch, running

if TYPE_CHECKING:
    from rankloom._kernels.weft import Rows

Array = NDArray[Any]
#: An item by number or id, or the lists of an external query: for each ranker, Ranks of one row.
Query = int | str | RankerLists

ROWS = ("row_ptr", "row_items", "row_weights", "row_sizes")
POSTINGS = ("post_ptr", "post_rows", "post_least")
#: The arrays of an index: dtype, and shape in terms of items, entries, rankers m, fields f = m + 1 and the cutoff L.
LAYOUT: Layout = {
    **SHARED,
    "lists": ("int32", ("m", "n", "L")),
    "shares": ("float64", ("m",)),
    "row_ptr": ("int64", ("n + 1",)),
    "row_items": ("uint32", ("entries",)),
    "row_weights": ("uint16", ("entries", "f")),
    "row_sizes": ("uint32", ("n", "f")),
    "post_ptr": ("int64", ("n + 1",)),
    "post_rows": ("uint32", ("entries",)),
    "post_least": ("uint32", ("n", "f")),
}
FUSED = "all rankers"  # the name of the fused field in an explanation


@dataclass(frozen=True, slots=True)
class WeftSettings(IndexSettings):
    """How a weft index was built."""

    expand: int
    width: int | None
    reposition: bool
    absent: str = "first"
    rankers: tuple[str, ...] = ()
    comparable: tuple[bool, ...] = ()


class WeftIndex(CollectionIndex):
    r"""Items described by the lists of their neighbors, with exact search.

    With :math:`X_r[q]` the expanded row of q by ranker r, :math:`X_w[q]` the fused one, J the weighted Jaccard
    similarity :math:`\sum \min / \sum \max` and c = 20, the similarity of a query and an item is

    .. math:: S(q, a) = \Big[ \ln(1 + c J(X_w[q], X_w[a])) + \sum_r w_r \ln(1 + c J(X_r[q], X_r[a])) \Big]
        \Big/ 2 \ln(1 + c)

    It is symmetric, in [0, 1], and 1 for an item and itself. Created by `build` or `open`.

    Examples
    --------
    >>> color = Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    >>> shape = Ranks([[0, 1, 2], [1, 2, 0], [2, 1, 0]])
    >>> index = WeftIndex.build([color, shape])
    >>> index.search(k=2).items
    array([[0, 1],
           [1, 0],
           [2, 1]], dtype=int32)
    """

    KIND: ClassVar[str] = "rankloom weft index"
    FORMATS: ClassVar[range] = range(1, 2)
    settings: WeftSettings

    def __init__(self, settings: WeftSettings, arrays: dict[str, Array]) -> None:
        from rankloom._kernels.weft import Postings, Rows

        super().__init__(settings, arrays)
        self._rows = Rows(*(arrays[name] for name in ROWS))
        self._postings = Postings(*(arrays[name] for name in POSTINGS))
        self._parts = field_parts(arrays["shares"])
        self._sums = Scratch(self.n_items)

    @property
    def weights(self) -> tuple[float, ...]:
        """The weights of the rankers, which sum to 1."""
        return tuple(self._arrays["shares"].tolist())

    @classmethod
    def build(
        cls,
        ranks: RankerLists,
        *,
        cutoff: int = 20,
        expand: int = 8,
        weights: Sequence[float] | str | None = None,
        width: int | None = 80,
        depth: int = 1000,
        reposition: bool = True,
        absent: Absent = "first",
        comparable: Sequence[bool] | None = None,
        keep_scores: bool = True,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> WeftIndex:
        """Build an index from the ranks of several rankers.

        Parameters
        ----------
        ranks : sequence of Ranks, or {name: Ranks}
            Collection ranks, one for each ranker, as in `FusionIndex.build`.
        cutoff : int
            How many items of each list are used.
        expand : int
            The number of entries that a row is expanded by, including the item itself.
        weights : sequence of float, "agreement" or None
            The weight of each ranker; equal by default. "agreement" gives more weight to rankers that agree with the
            fusion, and less to those that duplicate others.
        width : int or None
            How many of the largest entries of each row to store; all if None.
        depth, reposition, absent, comparable, keep_scores, threads, progress
            As in `FusionIndex.build`.
        """
        if not (isinstance(reposition, bool) and isinstance(keep_scores, bool)):
            raise InputError(f"reposition and keep_scores must be True or False; got {reposition!r}, {keep_scores!r}.")
        cutoff, expand = whole_number("cutoff", cutoff), whole_number("expand", expand)
        width = None if width is None else whole_number("width", width)
        if whole_number("depth", depth) < cutoff:
            raise InputError(f"depth must be at least cutoff; got {depth} and {cutoff}.")
        check_choice("rule for items without a list", absent, get_args(Absent))
        names, given = split_names(ranks)
        collection = [r.head(depth) for r in align_collection(given)]
        if reposition and absent == "first":
            warn_if_sparse(collection, names)
        comparable = checked_comparable(comparable, len(collection))
        expand = min(expand, len(collection) * cutoff + 1)  # a row cannot have more entries
        settings = WeftSettings(
            len(collection), cutoff, int(depth), expand, width, reposition, absent, names, comparable
        )
        with running(threads, progress):
            order = Order.of(collection[0])
            inside = (order.inside(r) for r in collection)
            longest = max(cutoff, AGREEMENT.cutoff)
            normalized = normalize_collection(inside, longest, repositioned=reposition, absent=absent)
            arrays = _expanded(settings, normalized, order, _shares(weights, normalized, order))
        return cls(settings, arrays | shared_arrays(collection, keep_scores=reposition and keep_scores))

    def search(
        self,
        queries: RankerLists | None = None,
        k: int = 10,
        *,
        items: Sequence[int | str] | None = None,
        virtual: bool | None = None,
        missing: Missing = "error",
        allowed: NDArray[np.bool_] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Ranks:
        """Return the k items most similar to each query, best first; exact, as if all items had been compared.

        Parameters
        ----------
        queries : sequence of Ranks or {name: Ranks}, optional
            External queries: their lists by each ranker, in the order of `build` or by name. By default every item is a
            query.
        items : sequence of int or str, optional
            Search only with these items, by number or id.
        k, virtual, missing, allowed, threads, progress
            As in `FusionIndex.search`.

        Returns
        -------
        Ranks
            A row for each query; scores are the similarities, in [0, 1]. Items that share nothing with the query are
            not returned; among equals the query itself comes first, then the smaller number.
        """
        k = self._check_search(queries, k, items, virtual)
        with running(threads, progress):
            if queries is None:
                return self._answer(self._kernel(self._rows, allowed), *self._item_rows(items), k)
            rows, ids = self._external_rows(queries, virtual, missing)
            chosen = np.arange(len(rows.ptr) - 1, dtype=np.int32)
            return self._answer(self._kernel(rows, allowed), chosen, chosen, ids, k)

    def vote(
        self,
        queries: RankerLists,
        k: int = 100,
        *,
        share: float = 0.2,
        virtual: bool | None = None,
        missing: Missing = "error",
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Ranks:
        """Fuse the rankers' own lists of external queries with the list that `search` returns.

        This is CombSUM over the first 100 items of each list, where the list from `search` has `share` of all votes.

        Parameters
        ----------
        share : float
            From 0 to 1: 0 is CombSUM of the rankers alone, 1 is `search`.
        queries, k, virtual, missing, threads, progress
            As in `search`.
        """
        k = whole_number("k", k)
        check_range(0, 1, share=share)
        aligned = align(by_name(queries, self.settings.rankers), missing=missing)
        found = self.search(aligned, max(k, VOTE_DEPTH), virtual=virtual, threads=threads, progress=progress)
        return add_votes(with_lists([self._numbered(r) for r in aligned]), found, k, share)

    def _kernel(self, asked: Rows, allowed: Array | None) -> Any:
        from rankloom._kernels.weft import search

        inside, mask = asked is self._rows, self._allowed(allowed)

        def kernel(start: int, stop: int, rows: Array, into: Array, slot: Array, seen: Array, *found: Array) -> None:
            collection = (self._rows, self._postings, self._order.numbers, self._parts, mask)
            with self._sums.borrowed() as sums:
                search(start, stop, rows, into, asked, inside, *collection, sums, slot, seen, *found)

        return kernel

    def _external_rows(
        self, queries: RankerLists, virtual: bool | None, missing: Missing = "error"
    ) -> tuple[Rows, Ids | None]:
        lists, ids = self._external_lists(queries, virtual, missing)
        own, arrays = frozen(stacked(lists, self.settings.cutoff)), self._arrays
        return expand(
            own, arrays["lists"], self._order, arrays["shares"], self._slots, self.settings, inside=False
        ), ids

    def explain(self, query: Query, item: int | str, *, virtual: bool | None = None) -> Explanation:
        """Return the neighbors that an item shares with a query, by ranker; their contributions sum to the similarity.

        Examples
        --------
        >>> color = Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
        >>> why = WeftIndex.build([color]).explain(0, 1)
        >>> round(sum(part.contribution for part in why.parts), 6) == round(why.similarity, 6)
        True
        """
        from rankloom._kernels.weft import UNIT, contributions

        if isinstance(query, (int, str, np.integer)):
            number = self._number(query)
            asked, row, name = self._rows, int(self._order.places[number]), self._id(number)
        else:
            asked, ids = self._external_rows(query, virtual)
            row, name = 0, "query" if ids is None else ids[0]
            if len(asked.ptr) != 2:
                raise InputError(f"Explain one query at a time; got the lists of {len(asked.ptr) - 1}.")
        found = self._number(item)
        place = int(self._order.places[found])
        room = int(self._rows.ptr[place + 1] - self._rows.ptr[place]) + 1
        shared, shares = np.empty(room, np.uint32), np.empty((room, len(self._parts)))
        with self._slots.borrowed() as slot:
            n = contributions(asked, row, self._rows, place, self._parts, slot, shared, shares)
        parts = [
            Part(
                "vertex",
                vertex,
                vertex,
                f"{self._id(vertex)} ({self._field(field)})",
                _weight(asked, row, inside, field) / UNIT,
                _weight(self._rows, place, inside, field) / UNIT,
                float(shares[x, field]),
            )
            for x, inside in enumerate(shared[:n].tolist())
            for vertex in [int(self._order.numbers[inside])]
            for field in range(len(self._parts))
            if shares[x, field] > 0
        ]
        parts.sort(key=lambda part: -part.contribution)
        whole = sum(part.contribution for part in parts)
        return Explanation(name, self._id(found), "weft", whole, tuple(parts))

    def _field(self, field: int) -> str:
        names = self.settings.rankers or tuple(f"ranker {r}" for r in range(1, self.settings.n_rankers + 1))
        return (FUSED, *names)[field]

    def _sizes(self) -> dict[str, int]:
        return {"n_items": self.n_items, "n_entries": len(self._rows.items)}

    @classmethod
    def of_arrays(cls, arrays: dict[str, Array], meta: Mapping[str, Any], *, verify: bool, path: Path) -> WeftIndex:
        """Return an index of arrays and metadata read from disk, checked."""
        settings = read_settings(WeftSettings, meta.get("settings"), path)
        with raising(path):
            _check(arrays, settings, thoroughly=verify)
        return cls(settings, arrays)


def _check(arrays: Mapping[str, Array], settings: WeftSettings, *, thoroughly: bool) -> None:
    """Raise `DamageError` if the arrays are inconsistent; if `thoroughly`, check every number."""
    if settings.absent not in get_args(Absent) or settings.expand > settings.n_rankers * settings.cutoff + 1:
        raise DamageError("its settings are not valid")
    n, entries = arrays["numbers"].size if "numbers" in arrays else 0, arrays.get("row_items", np.empty(0)).size
    sizes = {"n": n, "n + 1": n + 1, "entries": entries}
    check_layout(arrays, LAYOUT, sizes | {"m": settings.n_rankers, "f": settings.n_rankers + 1, "L": settings.cutoff})
    check_scores(arrays, settings.n_rankers, n, thoroughly=thoroughly)
    if not thoroughly:
        return
    check_order(arrays)
    check_rows(arrays, n)
    check_values(arrays, "lists", PAD, max(n - 1, PAD))
    check_values(arrays, "shares", 0.0, 1.0)


AGREEMENT = WeftSettings(1, 10, 1000, 4, None, True)  # settings of the fusion that agreement is measured against


def _expanded(
    settings: WeftSettings, normalized: Sequence[Ranks], order: Order, shares: NDArray[np.float64]
) -> dict[str, Array]:
    """Return the arrays of the method: order, lists, weights, rows, postings."""
    lists = item_lists(normalized, settings.cutoff)
    rows = expand(lists, lists, order, shares, Scratch(lists.shape[1]), settings, inside=True)
    named = {**dict(zip(ROWS, rows, strict=True)), **dict(zip(POSTINGS, transpose(rows), strict=True))}
    return {**order._asdict(), "lists": lists, "shares": shares, **named}


def _shares(weights: Sequence[float] | str | None, normalized: Sequence[Ranks], order: Order) -> NDArray[np.float64]:
    """Return the weights of the rankers, which sum to 1."""
    if isinstance(weights, str):
        if weights != "agreement":
            raise InputError(f"weights must be a number for each ranker, or 'agreement'; got {weights!r}.")
        return _agreement(normalized, order)
    given = np.array(checked_weights(weights, len(normalized)))
    if weights is None and any(map(_has_lists, normalized)):
        given = np.array([1.0 if _has_lists(r) else 0.0 for r in normalized])
    if given.sum() == 0:
        raise InputError("At least one ranker must have a weight above 0; got 0 for all.")
    shares: NDArray[np.float64] = frozen(given / given.sum())
    return shares


def _has_lists(ranks: Ranks) -> bool:
    """Return True if a ranker has any list; one without lists must not affect the result."""
    return bool((ranks.items != PAD).any())


def _agreement(normalized: Sequence[Ranks], order: Order) -> NDArray[np.float64]:
    r"""Return weights that grow with agreement with the fusion: :math:`w_r \propto u_r\, \mathrm{RBO}(r, T)^2`.

    T is the fusion with the weights u, which are lower for redundant rankers (`rarity`).
    """
    scratch = Scratch(normalized[0].n_items)
    lists = item_lists(normalized, AGREEMENT.cutoff)
    unlike = rarity(lists, scratch) * [_has_lists(r) or not any(map(_has_lists, normalized)) for r in normalized]
    unlike = frozen(unlike / unlike.sum())
    index = WeftIndex(replace(AGREEMENT, n_rankers=len(lists)), _expanded(AGREEMENT, normalized, order, unlike))
    first = index.search(k=AGREEMENT.cutoff).items[order.numbers]
    inside = np.where(first == PAD, PAD, order.places[first]).astype(np.int32)
    weights = unlike * np.array([mean_overlap(one, inside, scratch) ** 2 for one in lists])
    shares: NDArray[np.float64] = frozen(weights / weights.sum() if weights.sum() > 0 else unlike)
    return shares


def _weight(rows: Rows, row: int, item: int, field: int) -> float:
    """Return the weight of an item in one field of a row."""
    entries = slice(rows.ptr[row], rows.ptr[row + 1])
    return float(rows.weights[entries, field][rows.items[entries] == item][0])
