"""Collection lists as the graph methods read them, and the checks of their options."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError
from rankloom.ranks import PAD, Ranks


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


def stacked(lists: Sequence[NDArray[np.int32]]) -> NDArray[np.int32]:
    """Return the lists of all rankers as one array of shape (rankers, items, longest), padded."""
    width = max(one.shape[1] for one in lists)
    out = np.full((len(lists), len(lists[0]), width), PAD, np.int32)
    for ranker, one in enumerate(lists):
        out[ranker, :, : one.shape[1]] = one
    return out


def check_collection(ranks: Sequence[Ranks], method: str) -> None:
    """Collection ranks have a row for each item."""
    for r in ranks:
        if r.n_queries != r.n_items:
            raise InputError(
                f"{method} needs collection ranks, a row for each item; got {r.n_queries} rows, {r.n_items} items. "
                "Use Ranks.as_collection() if the rows have names."
            )


def checked_weights(weights: Sequence[float] | None, n_rankers: int) -> NDArray[np.float64]:
    """Return a weight for each ranker, 1 by default."""
    given = np.ones(n_rankers) if weights is None else np.asarray(weights, np.float64)
    if given.shape != (n_rankers,) or not np.isfinite(given).all() or given.min() < 0:
        raise InputError(f"weights must be a number from 0 for each of the {n_rankers} rankers; got {weights}.")
    return given


def check_counts(least: int = 1, **counts: int) -> None:
    """Each must be a whole number, at least `least`."""
    for name, count in counts.items():
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < least:
            raise InputError(f"{name} must be a whole number, at least {least}; got {count!r}.")


def check_range(low: float, high: float, **values: float) -> None:
    """Each must be a number from `low` to `high`."""
    for name, value in values.items():
        if not low <= value <= high:
            raise InputError(f"{name} must be from {low:g} to {high:g}; got {value!r}.")
