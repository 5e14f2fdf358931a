"""Collection ranks as arrays for the kernels, and back: helpers for the whole-collection methods."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import DTypeLike

from rankloom._kernels import frozen
from rankloom._kernels.index.arguments import ScoredLists, Transposed
from rankloom.errors import InputError
from rankloom.ranks import PAD, Ranks, stack_lists
from rankloom.ranks.arrays import Array, Float32s, Floats, Int32s
from rankloom.ranks.pool import MAX_SCORE
from rankloom.threads import run_rows

Rows = TypeVar("Rows", Array, ScoredLists)

MAX_LEVELS = 1000  # nested graphs of a method; levels are stored in 16 bits


def check_collection(ranks: Sequence[Ranks], method: str) -> int:
    """Return the number of items; raise InputError unless each ranker has one row for each item."""
    for r in ranks:
        has_ids = r.query_ids is not None and r.item_ids is not None
        if r.n_queries != r.n_items or (has_ids and r.query_ids != r.item_ids):
            raise InputError(
                f"The method {method!r} needs collection ranks, in which row i is the list of item i; got "
                f"{r.n_queries} rows and {r.n_items} items. It cannot answer external queries."
            )
    if len({r.n_items for r in ranks}) != 1:
        raise InputError(
            "Give at least one Ranks, all of the same collection; use rankloom.ranks.align to match them by id."
        )
    return ranks[0].n_items


def own_first(ranks: Ranks, depth: int) -> tuple[Int32s, Float32s | None]:
    """Return the lists cut to `depth`, every item first in its own list, and their scores.

    An item missing from its list or not at its head is moved to the front, with the best score of the list. Empty
    lists stay empty.

    Examples
    --------
    >>> own_first(Ranks([[2, 0, 1], [0, 2, -1], [-1, -1, -1]]), depth=3)[0].tolist()
    [[0, 2, 1], [1, 0, 2], [-1, -1, -1]]
    """
    depth = min(depth, len(ranks.items))
    items = ranks.items[:, :depth]
    scores = None if ranks.scores is None else ranks.scores[:, :depth]
    numbers = np.arange(len(items), dtype=np.int32)
    if not items.size or ((items[:, 0] == numbers) | (items[:, 0] == PAD)).all():
        return items, scores
    listed = items[:, 0] != PAD
    wide = np.hstack([np.where(listed, numbers, PAD)[:, None], np.where(items == numbers[:, None], PAD, items)])
    order = np.argsort(wide == PAD, axis=1, kind="stable")[:, :depth]
    if scores is not None:
        scores = np.take_along_axis(np.hstack([scores[:, :1], scores]), order, axis=1)
    return np.take_along_axis(wide, order, axis=1), scores


def stack_own_first(ranks: Sequence[Ranks], depth: int, n_items: int) -> Int32s:
    """Return the lists of `own_first` as one array of shape (rankers, n_items, longest); `ranks` may be empty."""
    return stack_lists([own_first(r, depth)[0] for r in ranks]) if ranks else np.empty((0, n_items, 0), np.int32)


def longest(ranks: Sequence[Ranks], depth: int) -> int:
    """Return the length of the longest list, at most `depth`."""
    return min(depth, max(int(r.lengths().max(initial=0)) for r in ranks))


def padded_to(lists: Array, width: int) -> Int32s:
    """Return the rows cut or padded to `width`, read-only."""
    items = np.full((len(lists), width), PAD, np.int32)
    known = min(width, lists.shape[1])
    items[:, :known] = lists[:, :known]
    return frozen(items)


def inverted(tables: Sequence[Array], values: Array | None = None) -> Transposed:
    """Return, for each item, the rows that list it, ascending, and its column in each.

    Several tables of n rows are numbered consecutively: item j and row j of table r both have the number r * n + j.
    With `values`, which have the shape of the stacked tables, those of the entries replace the columns.
    """
    from rankloom._kernels.lists import transpose_lists

    lists = frozen(np.ascontiguousarray(tables[0] if len(tables) == 1 else np.concatenate(tables)))
    if values is None:
        values = np.broadcast_to(np.arange(lists.shape[1], dtype=np.int32), lists.shape)
    size = np.count_nonzero(lists != PAD)
    ptr, rows, columns = np.empty(len(lists) + 1, np.int64), np.empty(size, np.uint32), np.empty(size, values.dtype)
    transpose_lists(lists, len(tables[0]), frozen(values), ptr, rows, columns)
    return Transposed(frozen(ptr), frozen(rows), frozen(columns))


def mutual_lists(
    lists: Array,
    back: Transposed | None = None,
    *,
    head: int | None = None,
    missing: Array | None = None,
    backward_from: int = 1,
    with_larger: bool = False,
) -> Array:
    """Return the lists sorted by forward plus backward position, ties in the earlier order.

    Parameters
    ----------
    back : Transposed, optional
        The inverted lists, if they are known.
    head : int, optional
        How many of the first items are sorted; all by default.
    missing : int32 array, optional
        The backward position of what an item does not list; after the end by default.
    backward_from : int
        The number that backward positions start from.
    with_larger : bool
        Whether the larger of both positions is added to their sum.
    """
    from rankloom._kernels.graphs.mutual import Order, reorder

    n, width = lists.shape
    back = inverted([lists]) if back is None else back
    missing = frozen(np.full(n, width + 1, np.int32) if missing is None else missing)
    order = Order(width if head is None else min(head, width), backward_from, with_larger)
    return frozen(filled(np.empty_like(lists), "Comparing positions", reorder, lists, back, missing, order))


def overlap_shares(p: float, k: int) -> Floats:
    """Return what an item adds to the rank-biased overlap of two lists that share it from depth d on, d from 0 to k."""
    share = np.zeros(k + 1)
    share[1:] = (1 - p) * p ** np.arange(k) / np.arange(1, k + 1)
    return frozen(np.cumsum(share[::-1])[::-1].copy())


def empty_lists(n_rows: int, width: int, scores: DTypeLike = np.float32) -> ScoredLists:
    """Return arrays for a kernel to fill, with scores of the given type."""
    return ScoredLists(np.empty((n_rows, width), np.int32), np.empty((n_rows, width), scores))


def filled(out: Rows, stage: str, kernel: Callable[..., None], *given: object) -> Rows:
    """Return arrays whose rows a kernel has filled, in blocks: ``kernel(start, stop, *given, out)``."""
    table = out.items if isinstance(out, ScoredLists) else out
    run_rows(lambda start, stop: kernel(start, stop, *given, out), len(table), stage)
    if isinstance(out, ScoredLists):
        frozen(out.items)
    return out


def answers(ranks: Ranks, items: Array, scores: Array) -> Ranks:
    """Return the result of a method as Ranks, with the ids of the collection."""
    scores = np.where(items != PAD, np.minimum(scores, MAX_SCORE), 0.0).astype(np.float32)
    return ranks.replaced(items=items, scores=scores, recall=None)
