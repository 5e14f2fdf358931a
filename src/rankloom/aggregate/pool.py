"""The pool of a query: every item that some ranker lists, in the order first seen."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError
from rankloom.ranks import PAD, Ranks


def pooled_sum(ranks: Sequence[Ranks], parts: Sequence[NDArray[np.float64]], k: int) -> Ranks:
    """Add up what each list gives its items; return the best k of each pool, ties in the order first seen.

    Parameters
    ----------
    ranks : sequence of Ranks
        Over one numbering, of as many rows each.
    parts : sequence of arrays
        What each entry of each list adds.
    """
    listed = np.concatenate([r.items for r in ranks], axis=1)
    order = np.argsort(listed, axis=1, kind="stable")  # equal items side by side, first seen first
    items = np.take_along_axis(listed, order, axis=1)
    values = np.take_along_axis(np.concatenate(parts, axis=1), order, axis=1)
    new = np.ones(items.shape, bool)
    new[:, 1:] = items[:, 1:] != items[:, :-1]
    starts = np.flatnonzero(new)
    sums = np.add.reduceat(values.reshape(-1), starts) if starts.size else np.empty(0)
    row, column = np.divmod(starts, max(items.shape[1], 1))
    # Each sum goes to the column where its item was seen first: a stable sort then keeps that order in ties.
    total = np.full(listed.shape, -np.inf)
    total[row, order[row, column]] = sums
    total[listed == PAD] = -np.inf
    best = np.argsort(-total, axis=1, kind="stable")[:, :k]
    scores = np.take_along_axis(total, best, axis=1)
    seen = scores > -np.inf
    if np.abs(scores[seen]).max(initial=0.0) > np.finfo(np.float32).max:
        raise InputError("The fused scores are too large for float32; give smaller weights.")
    return Ranks.trusted(
        np.where(seen, np.take_along_axis(listed, best, axis=1), PAD),
        np.where(seen, scores, 0.0).astype(np.float32),
        ranks[0].n_items,
        item_ids=ranks[0].item_ids,
        query_ids=ranks[0].query_ids,
    )


def checked_weights(weights: Sequence[float] | None, n_rankers: int) -> list[float]:
    """Return a weight for each ranker: those given, or 1 for all."""
    if weights is None:
        return [1.0] * n_rankers
    try:
        given = [float(weight) for weight in weights]
    except (TypeError, ValueError):
        given = []
    if len(given) != n_rankers or not all(0 <= weight < np.inf for weight in given):
        raise InputError(f"weights must be a number from 0 for each of the {n_rankers} rankers; got {weights!r}.")
    return given
