"""Lists sorted again by values of their items, or by distances stored along them: steps of the methods of UDLF."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.index.arguments import ScoredLists, SparseRows
from rankloom._kernels.reranking.list_distances import smaller_of_both
from rankloom._kernels.reranking.values import add_values, both_positions, pooled, rerank
from rankloom.aggregate.lists import empty_lists, filled, inverted, own_first, padded_to
from rankloom.errors import InputError
from rankloom.ranks import PAD, Ranks, stack_lists
from rankloom.ranks.align import with_lists
from rankloom.ranks.arrays import Array


def own_lists(ranks: Sequence[Ranks], depth: int) -> list[Array]:
    """Return the lists of each ranker that has any, the item itself first, cut to `depth` and padded to one width."""
    firsts = [own_first(r, depth)[0] for r in with_lists(ranks)]
    width = max(int((lists != PAD).sum(axis=1).max(initial=0)) for lists in firsts)
    return [padded_to(lists, width) for lists in firsts]


def reranked(
    lists: Array, values: Array, width: int | None = None, *, fixed: int = 0, aligned: bool = False
) -> ScoredLists:
    """Return lists sorted by descending value, the item itself swapped into the first position, and the values.

    The first `fixed` positions stay. With `aligned`, the values are those of the items; otherwise they are sorted, and
    the two swapped items have each other's.
    """
    out = empty_lists(len(lists), lists.shape[1] if width is None else min(width, lists.shape[1]))
    return filled(out, "Sorting", rerank, lists, frozen(values), fixed, aligned)


def mutual_values(lists: Array, share: Array, base: Array | None = None, *, smallest: bool = False) -> Array:
    """Return the sum, or the smallest, of the base and the shares of both positions of each listed pair."""
    out = np.zeros(lists.shape, np.float32)
    base = frozen(np.zeros(lists.shape, np.float32) if base is None else base)
    given = lists, inverted([lists]), base, frozen(np.asarray(share, np.float32)), smallest
    return filled(out, "Comparing positions", both_positions, *given)


def pool_of(tables: Sequence[Array]) -> Array:
    """Return the items of several rankers' lists in order of appearance, padded."""
    lists = frozen(np.stack(tables))
    m, n, width = lists.shape
    return frozen(filled(np.empty((n, min(m * width, n)), np.int32), "Collecting candidates", pooled, lists))


def add_to_pool(pool: Array, lists: Array, values: Array, total: Array) -> None:
    """Add the values of one ranker's lists to the total of the pool, in float32."""
    filled(total, "Adding values", add_values, pool, lists, frozen(values))


Distances = Literal["positions", "scores"]


def list_distances(ranks: Sequence[Ranks], distances: Distances) -> tuple[Array, Array, Array]:
    """Return the whole lists of each ranker, the item itself first, their distances, and those of absent items.

    Distances are positions, from 0, or differences to the best score. Shapes: (m, n, width) twice, and (m, n).
    """
    ranks = with_lists(ranks)
    n = ranks[0].n_items
    depth = min(n, max(r.depth for r in ranks) + 1)
    firsts = [own_first(r, depth) for r in ranks]
    width = max(int(np.count_nonzero(rows != PAD, axis=1).max(initial=0)) for rows, _ in firsts)
    items = frozen(stack_lists([rows[:, :width] for rows, _ in firsts]))
    if distances == "positions":
        values = np.where(items == PAD, np.float32(0), np.arange(width, dtype=np.float32))
        return items, frozen(values), frozen(np.full(items.shape[:2], width, np.float32))
    values = np.zeros(items.shape, np.float32)
    for r, (rows, scores) in enumerate(firsts):
        if scores is None:
            raise InputError(f"distances='scores' needs ranks with scores; ranker {r + 1} has none.")
        values[r, :, : rows.shape[1]] = np.where(rows == PAD, 0.0, scores[:, :1] - scores)[:, :width]
    return items, frozen(values), frozen(values.max(axis=2, initial=0))


def sorted_by_both(lists: Array, distances: Array, width: int | None = None) -> ScoredLists:
    """Return the lists sorted by the smaller of the distances in both directions, and those distances negated."""
    columns = SparseRows(*inverted([lists], distances))
    smaller = np.zeros(lists.shape, np.float32)
    filled(smaller, "Comparing both", smaller_of_both, lists, distances, columns)
    return reranked(lists, smaller, width, aligned=True)
