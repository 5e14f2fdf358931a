r"""Rank normalization: repositioning (Eq. 1) and cutting, of the lists of items and of external queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, get_args

import numpy as np

from rankloom._kernels import contiguous, frozen
from rankloom._kernels.index.arguments import ScoredLists, Transposed
from rankloom.errors import InputError, check_choice
from rankloom.index.order import Order
from rankloom.index.settings import Absent, IndexSettings
from rankloom.ranks import PAD, Ranks, list_lengths
from rankloom.ranks.arrays import Array, Float32s, Int32s, Int64s, Uint32s
from rankloom.ranks.lists import pointers, transposed
from rankloom.threads import Scratch, run_blocks

if TYPE_CHECKING:
    from rankloom.index.row_kind import R
    from rankloom.index.row_table import RowTable

MAX_NEIGHBORS = 1 << 20  # entries of the lists of neighbors that are read at once


def normalize_collection(
    collection: Sequence[Ranks], cutoff: int, settings: IndexSettings
) -> tuple[Order, list[Int32s]]:
    """Return an order for the items of a collection, and their lists in it, repositioned (if set) and cut."""
    order = Order.of(contiguous(collection[0].items), collection[0].depth)
    inside = (
        order.to_internal(contiguous(r.items), r.depth) for r in collection
    )  # lazily: deep lists take a lot of memory
    if not settings.reposition:
        return order, [lists[:, :cutoff] for lists in inside]
    return order, [reposition_lists(lists, cutoff, settings.absent) for lists in inside]


def normalize_queries(queries: Sequence[Ranks], virtual: bool | None, table: RowTable[R]) -> list[Int32s]:
    """Return the lists of external queries in the numbering of a table: repositioned where possible, and cut.

    With `virtual`, queries get virtual positions from all rankers, which must then have scores; by default from those
    with scores that were declared comparable.
    """
    settings = table.kind.settings
    wanted = settings.comparable or (False,) * len(queries) if virtual is None else (virtual,) * len(queries)
    normalized = []
    for number, (ranks, use) in enumerate(zip(queries, wanted, strict=True)):
        lists, scores = ranks.items[:, : settings.cutoff], table.arrays.get(f"scores_{number}")
        if use and scores is not None and ranks.scores is not None:
            lists = reposition_queries(ranks.items, ranks.scores, scores, settings.cutoff)
        elif virtual:
            raise InputError(
                f"Virtual positions need scores in the index and in the queries; ranker {number + 1} has none in "
                f"{'the index' if scores is None else 'the queries'}. Search with virtual=False."
            )
        normalized.append(table.order.queries_to_internal(lists))
    return normalized


def reposition(ranks: Ranks, cutoff: int | None = None, *, absent: Absent = "first") -> Ranks:
    r"""Move up the items whose own lists contain the query.

    .. math:: \delta(i, j) = \rho_i(j) + \rho_j(i) + \max(\rho_i(j), \rho_j(i))

    where :math:`\rho_i(j)` is the position of j in i's list, from 1, or one more than the length of i's list if j is
    not in it. Each list is sorted by :math:`\delta`, ascending; ties keep their order.
    Takes O(n * depth), as positions are looked up in the transposed lists.

    Parameters
    ----------
    ranks : Ranks
        Collection ranks: row i is item i's list.
    cutoff : int, optional
        Length to cut the lists to afterwards.
    absent : {"first", "last"}
        The position of i in the list of an item j that has no list at all. "first" is the authors' rule: the length of
        an empty list is 0, so the position is 1, and j moves up. "last" takes the position after the longest list.

    Returns
    -------
    Ranks
        Without scores, which no longer match the order.

    References
    ----------
    Dourado, Pedronette, Torres (2019), Eq. (1), doi:10.1016/j.ipm.2019.03.008

    Examples
    --------
    In item 0's list, item 1 comes after item 2, but only item 1 lists item 0:

    >>> reposition(Ranks([[0, 2, 1], [1, 0, 2], [2, 1, 3], [3, 2, 1]])).items[0]
    array([0, 1, 2], dtype=int32)

    Item 2 has no list:

    >>> some = Ranks([[0, 1, 2, 3], [1, 2, 3, 0], [-1, -1, -1, -1], [3, 0, 1, 2]])
    >>> reposition(some).items[0], reposition(some, absent="last").items[0]
    (array([0, 2, 1, 3], dtype=int32), array([0, 1, 3, 2], dtype=int32))
    """
    check_choice("rule for items without a list", absent, get_args(Absent))
    if ranks.kind == "queries" or ranks.n_queries != ranks.n_items:
        raise InputError(
            f"Repositioning needs collection ranks, a row for each item; got {ranks.n_queries} rows, "
            f"{ranks.n_items} items. Use Ranks.as_collection() if the rows have ids."
        )
    if cutoff is not None and cutoff < 1:
        raise InputError(f"cutoff must be at least 1; got {cutoff}.")
    lists = reposition_lists(contiguous(ranks.items), cutoff or ranks.depth, absent)
    return ranks.replaced(items=lists, scores=None)


def reposition_lists(lists: Int32s, cutoff: int, absent: str) -> Int32s:
    """Return the lists of all items sorted by Eq. (1), and cut."""
    lengths = frozen(list_lengths(lists))
    back = transposed(*_as_csr(lists, lengths), len(lists), columns=True)
    return reposition_block(lists, lengths, unlisted_positions(lengths, absent), back, cutoff, Scratch(len(lists)))


def unlisted_positions(lengths: Int32s, absent: str) -> Int32s:
    """Return the position, for Eq. 1, of what each list does not contain, by the lengths of all lists."""
    longest = lengths.max(initial=0) if absent == "last" else 0
    return np.where(lengths == 0, longest, lengths).astype(np.int32) + np.int32(1)


def reposition_block(
    lists: Int32s, lengths: Int32s, unlisted: Int32s, back: Transposed, cutoff: int, scratch: Scratch
) -> Int32s:
    """Return the lists of consecutive items sorted by Eq. (1), and cut.

    Parameters
    ----------
    unlisted : int32 array of shape (n_items,)
        The position of what an item does not list.
    back : Transposed
        Which lists of the collection have each of these items, and where.
    """
    from rankloom._kernels import lists as kernels

    out = np.empty((len(lists), min(cutoff, lists.shape[1])), np.int32)
    given = lists, lengths, unlisted, back
    scratch.run(
        lambda start, stop, slot: kernels.reposition(start, stop, *given, slot, out), len(lists), "Repositioning"
    )
    return frozen(out)


def reposition_item(ranks: Ranks, item: int, cutoff: int) -> Int32s:
    """Return the list of one item as `reposition` does, from the lists of its neighbors alone."""
    padded = reposition_items(ranks.rows, np.array([item]), cutoff)[0]
    moved: Int32s = padded[padded != PAD]
    return moved


def reposition_items(rows: Callable[[Array], Ranks | ScoredLists], items: Array, cutoff: int) -> Int32s:
    """Return the lists of some items as `reposition` does, padded; `rows` returns lists of items by number."""
    out = np.full((len(items), cutoff), PAD, np.int32)
    depth = rows(items[:1]).items.shape[1]
    step = max(1, MAX_NEIGHBORS // max(depth, 1) ** 2)
    for start in range(0, len(items) if depth else 0, step):
        some = items[start : start + step, None]
        own = rows(some[:, 0]).items
        there = own != PAD
        lists = rows(np.where(there, own, some).reshape(-1)).items.reshape(*own.shape, -1)
        listed = lists == some[:, None]
        back = np.where(listed.any(axis=2), listed.argmax(axis=2), (lists != PAD).sum(axis=2)) + 1
        position = np.arange(1, depth + 1)
        sums = np.where(there, position + back + np.maximum(position, back), np.iinfo(np.int64).max)
        order = np.argsort(sums, axis=1, kind="stable")[:, :cutoff]
        out[start : start + step, : order.shape[1]] = np.take_along_axis(own, order, axis=1)
    return out


def _as_csr(lists: Int32s, lengths: Int32s) -> tuple[Int64s, Uint32s]:
    """Return padded lists as row pointers and unsigned items, without a copy if no list is padded."""
    ptr = pointers(lengths)
    items = (lists.reshape(-1) if ptr[-1] == lists.size else lists[lists != PAD]).view(np.uint32)
    return ptr, frozen(items)


def reposition_queries(lists: Int32s, scores: Float32s, item_scores: Float32s, cutoff: int) -> Int32s:
    """Reposition the lists of external queries by the positions that the queries *would* take, and cut them.

    An external query is in no item's list. If scores are comparable, its virtual position in j's list is one more than
    the number of items there that score strictly higher than the query does; then Eq. (1) applies as in the collection.
    The positions are found by binary search.

    Parameters
    ----------
    item_scores : float32 array of shape (n_items, depth)
        Scores of the items' lists by the same ranker, non-increasing; -inf after the end of a list.

    Examples
    --------
    The query would be third in item 0's list and second in item 1's, so item 1 moves up:

    >>> own = np.array([[1.0, 0.9], [1.0, 0.2]], np.float32)
    >>> reposition_queries(np.array([[0, 1]], np.int32), np.array([[0.5, 0.5]], np.float32), own, cutoff=2)
    array([[1, 0]], dtype=int32)
    """
    from rankloom._kernels import lists as kernels

    lists, scores, own = contiguous(lists), contiguous(scores), contiguous(item_scores)
    lengths = frozen(list_lengths(lists))
    out = np.empty((len(lists), min(cutoff, lists.shape[1])), np.int32)
    run_blocks(
        lambda start, stop: kernels.reposition_queries(start, stop, lists, scores, lengths, own, out),
        len(lists),
        stage="Repositioning",
    )
    return out
