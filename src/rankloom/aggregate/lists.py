"""Collection ranks as the arrays that kernels take, and back: for methods that look at the whole collection."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom._kernels import frozen
from rankloom.aggregate.pool import MAX_SCORE
from rankloom.errors import InputError
from rankloom.ranks import PAD, Ranks

Array = NDArray[Any]
MAX_LEVELS = 1000  # nested graphs of a method: their numbers are stored in 16 bits


def check_collection(ranks: Sequence[Ranks], method: str) -> int:
    """Return the number of items, once each ranker is known to have a row for each of them."""
    for r in ranks:
        named = r.query_ids is not None and r.item_ids is not None
        if r.n_queries != r.n_items or (named and r.query_ids != r.item_ids):
            raise InputError(
                f"The method {method!r} needs collection ranks, in which row i is the list of item i; got "
                f"{r.n_queries} rows and {r.n_items} items. It can't answer external queries."
            )
    if len({r.n_items for r in ranks}) != 1:
        raise InputError("Give at least one Ranks, all over one collection; use rankloom.align to match them by name.")
    return ranks[0].n_items


def check_neighbors(neighbors: int, depth: int) -> None:
    """Raise where neighbors are looked for deeper than lists are read."""
    if neighbors > depth:
        raise InputError(f"neighbors must be at most depth; got {neighbors} and {depth}.")


def own_first(ranks: Ranks, depth: int) -> tuple[NDArray[np.int32], NDArray[np.float32] | None]:
    """Return lists cut to `depth` in which every item leads its own, and their scores.

    An item that stands elsewhere in its list, or nowhere, is put first, with the best score of the list; a list
    without items stays empty.

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


def with_lists(ranks: Sequence[Ranks]) -> list[Ranks]:
    """Return the rankers that have a list for anything: the others change nothing (the first, where none has)."""
    return [r for r in ranks if (r.items != PAD).any()] or list(ranks[:1])


def longest(ranks: Sequence[Ranks], depth: int) -> int:
    """Return the length of the longest list, `depth` at most."""
    return min(depth, max(int(r.lengths().max(initial=0)) for r in ranks))


def table(ranks: Ranks, width: int) -> NDArray[np.int32]:
    """Return the lists cut or padded to a width, as a read-only array."""
    return padded(ranks.items, width)


def padded(lists: Array, width: int) -> NDArray[np.int32]:
    """Return rows cut or padded to a width, as a read-only array."""
    items = np.full((len(lists), width), PAD, np.int32)
    known = min(width, lists.shape[1])
    items[:, :known] = lists[:, :known]
    return frozen(items)


def turned(tables: Sequence[Array]) -> tuple[Array, Array, Array]:
    """For each item the rows that list it, ascending, and its place in each, from 0: pointers, rows, places.

    Several tables of n rows stand one after the other: item j of table r is number r * n + j, and so is row j.
    """
    from rankloom._kernels.lists import transposed

    n = len(tables[0])
    ptr = np.zeros(len(tables) * n + 1, np.int64)
    np.cumsum(np.concatenate([np.count_nonzero(lists != PAD, axis=1) for lists in tables]), out=ptr[1:])
    items = np.concatenate([(lists[lists != PAD] + r * n).astype(np.uint32) for r, lists in enumerate(tables)])
    return transposed(frozen(ptr), frozen(items), len(ptr) - 1, columns=True)


def overlap_shares(p: float, k: int) -> NDArray[np.float64]:
    """Return what an item in both lists from depth d on adds to their overlap, for d from 0 to k."""
    share = np.zeros(k + 1)
    share[1:] = (1 - p) * p ** np.arange(k) / np.arange(1, k + 1)
    tail: NDArray[np.float64] = frozen(np.cumsum(share[::-1])[::-1].copy())
    return tail


def answers(ranks: Ranks, items: Array, scores: Array) -> Ranks:
    """Return what a method found as Ranks, under the names of the collection."""
    scores = np.where(items != PAD, np.minimum(scores, MAX_SCORE), 0.0).astype(np.float32)
    return Ranks.trusted(items, scores, ranks.n_items, item_ids=ranks.item_ids, query_ids=ranks.query_ids)
