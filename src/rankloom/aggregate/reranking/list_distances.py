"""Distances stored along lists, and one array for each: steps shared by RL-Sim and ContextRR."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.index.arguments import ScoredLists, SparseRows
from rankloom._kernels.reranking.list_distances import smaller_of_both
from rankloom.aggregate.lists import filled, inverted, own_first
from rankloom.aggregate.reranking.sorted_lists import reranked
from rankloom.errors import InputError
from rankloom.ranks import PAD, Ranks, stack_lists
from rankloom.ranks.align import with_lists
from rankloom.ranks.arrays import Array

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
