"""The weft index: expanded rows of a collection, with exact search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankloom._kernels import frozen
from rankloom.aggregate.lists import with_lists
from rankloom.aggregate.per_query.pool import checked_weights
from rankloom.errors import InputError, brief, check_range, whole_number
from rankloom.fusion_graph.graph import Explanation, Part
from rankloom.fusion_graph.normalize import Absent
from rankloom.fusion_graph.weave import Order
from rankloom.index.base import Kernel, Query
from rankloom.index.build_on_disk import DiskIndex, Lists, Plan
from rankloom.index.settings import (
    Array,
    IndexSettings,
    aligned_collection,
    checked_settings,
    normalized_lists,
    shared_arrays,
    stores_scores,
)
from rankloom.index.shard import POSTINGS, PostingLists, Shard, numbered
from rankloom.index.verify import SHARED, Layout, Ranges
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.align import Missing, RankerLists, align, by_name, split_names
from rankloom.threads import Progress, Scratch, running
from rankloom.weft.rows import (
    expand,
    field_parts,
    item_lists,
    max_entries,
    mean_overlap,
    rarity,
    smallest_sizes,
    stacked,
    transpose,
)
from rankloom.weft.votes import SHARE, VOTE_DEPTH, add_votes

if TYPE_CHECKING:
    from rankloom._kernels.weft.search import Rows

CUTOFF = 20  # how much of each list makes up a row
ROWS = ("row_ptr", "row_items", "row_weights", "row_sizes")
FUSED = "all rankers"  # the name of the fused field in an explanation


@dataclass(frozen=True, slots=True)
class WeftSettings(IndexSettings):
    """How a weft index was built."""

    expand: int
    width: int | None


class WeftIndex(DiskIndex):
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
    ROWS: ClassVar[tuple[str, ...]] = ROWS[:-1]
    NORMS: ClassVar[str] = "row_sizes"
    SETTINGS: ClassVar[type[IndexSettings]] = WeftSettings
    LAYOUT: ClassVar[Layout] = {  # with m rankers, and the cutoff L
        **SHARED,
        "lists": ("int32", ("m", "n", "L")),
        "shares": ("float64", ("m",)),
        "row_weights": ("uint16", ("entries", "m + 1")),
        "row_sizes": ("uint32", ("rows", "m + 1")),
        "post_least": ("uint32", ("vertices", "m + 1")),
    }
    RANGES: ClassVar[Ranges] = {"lists": (PAD, "n - 1"), "shares": (0.0, 1.0)}
    settings: WeftSettings

    def __init__(self, settings: WeftSettings, arrays: dict[str, Array]) -> None:
        super().__init__(settings, arrays)
        self._parts = field_parts(arrays["shares"])

    @property
    def weights(self) -> tuple[float, ...]:
        """The weights of the rankers, which sum to 1."""
        return tuple(self._arrays["shares"].tolist())

    @classmethod
    def build(
        cls,
        ranks: RankerLists,
        *,
        cutoff: int = CUTOFF,
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
        names, given = split_names(ranks)
        settings = _settings(
            names,
            len(given),
            cutoff=cutoff,
            expand=expand,
            width=width,
            depth=depth,
            reposition=reposition,
            absent=absent,
            comparable=comparable,
        )
        collection = aligned_collection(given, settings)
        others = shared_arrays(collection, settings, keep_scores=keep_scores)
        with running(threads, progress):
            order, normalized = normalized_lists(collection, settings, max(cutoff, AGREEMENT.cutoff))
            arrays = _expanded(settings, normalized, order, _shares(weights, normalized, order))
        return cls(settings, arrays | others)

    @classmethod
    def _plan(cls, lists: Lists, **options: Any) -> Plan:
        from rankloom.weft.on_disk import weft_steps

        keep_scores, n_rankers = options.pop("keep_scores"), len(lists.files)
        weights = _given_weights(options.pop("weights"), n_rankers)
        settings = _settings(lists.names, n_rankers, **options)
        entries = max_entries(n_rankers, settings.cutoff, settings.expand, settings.width)
        item_bytes = 24 * min(settings.depth, max(lists.depths)) + entries * (6 + 2 * n_rankers)
        extra = {"keep_scores": stores_scores(settings, keep_scores), "weights": weights}
        return Plan(settings, weft_steps, item_bytes, extra)

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
        with running(threads, progress):
            return self._find("weft", queries, k, items, virtual, missing, allowed)

    def vote(
        self,
        queries: RankerLists,
        k: int = 100,
        *,
        share: float = SHARE,
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

    def kernel(self, method: str) -> Kernel:
        """Return the function that searches a shard."""
        from rankloom._kernels.weft.search import search

        def kernel(
            shard: Shard, lists: PostingLists, queries: tuple[Any, ...], mask: Array, *scratch_and_results: Array
        ) -> None:
            collection = (self._rows_in(shard.arrays), lists, shard.numbers, self._parts, mask)
            with shard.sums.borrowed() as sums:
                search(*queries, *collection, sums, *scratch_and_results)

        return kernel

    def _rows_of(self, lists: Sequence[Ranks]) -> Rows:
        own, arrays = frozen(stacked(lists, self.settings.cutoff)), self._arrays
        return expand(own, arrays["lists"], self._order, arrays["shares"], self._slots, self.settings, inside=False)

    def _rows_in(self, arrays: Mapping[str, Array]) -> Rows:
        from rankloom._kernels.weft.search import Rows

        return Rows(*(arrays[name] for name in ROWS))

    @staticmethod
    def _some(rows: Rows, start: int, stop: int) -> Rows:
        entries = slice(rows.ptr[start], rows.ptr[stop])
        ptr = frozen(rows.ptr[start : stop + 1] - rows.ptr[start])
        return rows._replace(
            ptr=ptr, items=rows.items[entries], weights=rows.weights[entries], sizes=rows.sizes[start:stop]
        )

    def _explicit(self, rows: Rows, slot: Array | None) -> tuple[tuple[Any, ...], Array | None]:
        if slot is None:
            return (rows, rows.items), None
        members, sources = numbered(rows.items, slot)
        return (rows, sources), members

    @staticmethod
    def _least(ptr: Array, rows: Array, norms: Array) -> Array:
        return smallest_sizes(ptr, rows, norms)

    def explain(self, query: Query, item: int | str, *, virtual: bool | None = None) -> Explanation:
        """Return the neighbors that an item shares with a query, by ranker; their contributions sum to the similarity.

        Examples
        --------
        >>> color = Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
        >>> why = WeftIndex.build([color]).explain(0, 1)
        >>> round(sum(part.contribution for part in why.parts), 6) == round(why.similarity, 6)
        True
        """
        from rankloom._kernels.weft.search import UNIT, contributions

        asked, id = self._row(query, virtual)
        found = self._number(item)
        other = self._items(self._order.places[found : found + 1])
        room = len(other.items) + 1
        shared, shares = np.empty(room, np.uint32), np.empty((room, len(self._parts)))
        with self._slots.borrowed() as slot:
            n = contributions(asked, 0, other, 0, self._parts, slot, shared, shares)
        parts = [
            Part(
                "vertex",
                vertex,
                vertex,
                f"{self._id(vertex)} ({self._field(field)})",
                _weight(asked, inside, field) / UNIT,
                _weight(other, inside, field) / UNIT,
                float(shares[x, field]),
                self._field(field) if field else "",
            )
            for x, inside in enumerate(shared[:n].tolist())
            for vertex in [int(self._order.numbers[inside])]
            for field in range(len(self._parts))
            if shares[x, field] > 0
        ]
        parts.sort(key=lambda part: -part.contribution)
        whole = sum(part.contribution for part in parts)
        return Explanation(id, self._id(found), "weft", whole, tuple(parts))

    def _field(self, field: int) -> str:
        names = self.settings.rankers or tuple(f"ranker {r}" for r in range(1, self.settings.n_rankers + 1))
        return (FUSED, *names)[field]

    @staticmethod
    def _valid(settings: WeftSettings) -> bool:
        return settings.expand <= settings.n_rankers * settings.cutoff + 1


AGREEMENT = WeftSettings(
    1, 10, 1000, True, expand=4, width=None
)  # settings of the fusion that agreement is measured against


def _settings(names: tuple[str, ...], n_rankers: int, *, expand: int, width: int | None, **shared: Any) -> WeftSettings:
    """Return the options of `build` as settings, checked."""
    expand = whole_number("expand", expand)
    width = None if width is None else whole_number("width", width)
    checked = checked_settings(names, n_rankers, **shared)
    max_expand = n_rankers * checked["cutoff"] + 1  # a row cannot have more entries
    return WeftSettings(**checked, expand=min(expand, max_expand), width=width)


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
            raise InputError(f"weights must be a number for each ranker, or 'agreement'; got {brief(weights)}.")
        return _agreement(normalized, order)
    given = np.array(checked_weights(weights, len(normalized)))
    if weights is None and any(map(_has_lists, normalized)):
        given = np.array([1.0 if _has_lists(r) else 0.0 for r in normalized])
    if given.sum() == 0:
        raise InputError("At least one ranker must have a weight above 0; got 0 for all.")
    shares: NDArray[np.float64] = frozen(given / given.sum())
    return shares


def _given_weights(weights: Sequence[float] | None, n_rankers: int) -> list[float] | None:
    """Return the weights of rankers as plain data; None if they are not given."""
    if weights is None:
        return None
    if isinstance(weights, str):
        raise InputError(f"On disk, weights must be a number for each ranker; got {brief(weights)}.")
    given = list(map(float, checked_weights(weights, n_rankers)))
    if sum(given) == 0:
        raise InputError("At least one ranker must have a weight above 0; got 0 for all.")
    return given


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


def _weight(row: Rows, item: int, field: int) -> float:
    """Return the weight of an item in one field of a row."""
    return float(row.weights[row.items == item, field][0])
