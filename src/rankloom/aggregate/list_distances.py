"""Distances stored along lists, and one array for each: steps shared by RL-Sim and ContextRR."""

from collections.abc import Sequence

import numpy as np

from rankloom._kernels import frozen
from rankloom.aggregate.lists import Array, inverted, own_first, with_lists
from rankloom.aggregate.reranking import reranked
from rankloom.errors import InputError
from rankloom.ranks import PAD, Ranks
from rankloom.threads import run_rows


def list_distances(ranks: Sequence[Ranks], distances: str) -> tuple[Array, Array, Array]:
    """Return the whole lists of each ranker, the item itself first, their distances, and those of absent items.

    Distances are positions, from 0, or differences to the best score. Shapes: (m, n, width) twice, and (m, n).
    """
    ranks = with_lists(ranks)
    n = ranks[0].n_items
    width = min(n, max(r.depth for r in ranks) + 1)
    items = np.full((len(ranks), n, width), PAD, np.int32)
    values = np.zeros(items.shape, np.float32)
    for r, one in enumerate(ranks):
        rows, scores = own_first(one, width)
        items[r, :, : rows.shape[1]] = rows
        if distances == "scores":
            if scores is None:
                raise InputError(f"distances='scores' needs ranks with scores; ranker {r + 1} has none.")
            values[r, :, : rows.shape[1]] = np.where(rows == PAD, 0.0, scores[:, :1] - scores)
    width = int((items != PAD).sum(axis=2).max(initial=0))
    items, values = items[:, :, :width], values[:, :, :width]
    if distances == "positions":
        values = np.where(items == PAD, 0.0, np.arange(width)).astype(np.float32)
    absent = values.max(axis=2, initial=0) if distances == "scores" else np.full(items.shape[:2], width, np.float32)
    return frozen(np.ascontiguousarray(items)), frozen(np.ascontiguousarray(values)), frozen(absent)


def sorted_by_both(lists: Array, distances: Array, width: int | None = None) -> tuple[Array, Array]:
    """Return the lists sorted by the smaller of the distances in both directions, and those distances negated."""
    from rankloom._kernels.list_distances import smaller_of_both

    back = inverted([lists])
    out = np.zeros(lists.shape, np.float32)
    frozen(distances)
    run_rows(
        lambda start, stop: smaller_of_both(start, stop, lists, distances, *back, out), len(lists), "Comparing both"
    )
    return reranked(lists, out, width, aligned=True)
