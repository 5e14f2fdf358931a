"""The pool of a query: every item listed by some ranker, in order of first appearance.

A per-query method maps a `Pool` to a table of scores; `fuse_pools` does the rest, in blocks of queries.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rankloom.errors import InputError, brief
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Array, Float32s, Floats, Indexes, Int32s, Int64s

CELLS = 1 << 18  # list cells in a block of queries, few enough for the CPU cache
MAX_SCORE = float(np.finfo(np.float32).max)
MAX_WEIGHT = 1e30  # of a ranker, so that sums and products stay finite

#: The values of each ranker's list cells: for each ranker an array that broadcasts to shape (n_queries, depth).
Values = Sequence[NDArray[np.floating | np.integer] | float]
#: What decides between items of equal score: first appearance, one ranker's list after the other's, or mean position.
Ties = Literal["first", "average"]


@dataclass(frozen=True, slots=True)
class Pool:
    """The pools of a block of queries.

    Attributes
    ----------
    ranks : list of Ranks
        The lists of these queries, one Ranks for each ranker.
    items : int32 array of shape (n_queries, width)
        One pool in each row, in order of first appearance, reading one ranker after the other, or as `by_position`
        leaves them; padded with PAD.
    cells : list of int arrays
        For each cell of each ranker's lists, the index of its item in a flat table of shape (n_queries, width + 1);
        padding maps to the last column. An item is in a list only once, so the indices of a ranker's items differ.
    """

    ranks: list[Ranks]
    items: Int32s
    cells: list[Indexes]

    def fold(self, combine: np.ufunc, values: Values, start: float) -> Floats:
        """Combine, for each item, `start` with the values from each ranker that lists it."""
        table = np.full((len(self.items), self.items.shape[1] + 1), start)
        flat = table.reshape(-1)
        for cells, given in zip(self.cells, values, strict=True):
            flat[cells] = combine(flat[cells], given)
        return table[:, :-1]

    def spread(self, values: Values, absent: float, dtype: DTypeLike = np.float64) -> Array:
        """Return the value of each item by each ranker, shape (m, n_queries, width); `absent` if it is not listed."""
        table = np.full((len(self.cells), len(self.items), self.items.shape[1] + 1), absent, dtype)
        for layer, cells, given in zip(table, self.cells, values, strict=True):
            layer.reshape(-1)[cells] = given
        return table[:, :, :-1]

    def counted(self, amounts: Sequence[float]) -> Floats:
        """Sum, for each item, the amounts of the rankers that list it."""
        return self.fold(np.add, amounts, 0.0)

    def positions(self) -> Array:
        """Return the position of each item in each ranker's lists, from 1, shape (m, n_queries, width); 0 if absent."""
        whole = np.int16 if max(r.depth for r in self.ranks) < np.iinfo(np.int16).max else np.int32
        return self.spread([np.arange(1, r.depth + 1) for r in self.ranks], 0, whole)

    def lengths(self) -> Int32s:
        """Return the length of each ranker's list of each query, shape (m, n_queries)."""
        return np.array([r.lengths() for r in self.ranks])

    def sizes(self) -> Int64s:
        """Return the number of items in each pool."""
        return np.asarray(np.count_nonzero(self.items != PAD, axis=1))

    def by_position(self) -> "Pool":
        """Return the pools in an order that does not depend on that of the rankers: by mean position, then by number.

        An item missing from a list counts as the first after its end.
        """
        positions = self.positions()
        positions = np.where(positions > 0, positions, (self.lengths() + 1)[:, :, None])
        order = np.lexsort((self.items, positions.sum(axis=0, dtype=np.int64), self.items == PAD), axis=1)
        rows, width = self.items.shape
        moved = np.full((rows, width + 1), width)
        np.put_along_axis(moved, order, np.arange(width)[None], axis=1)
        moved += np.arange(rows)[:, None] * (width + 1)
        return Pool(
            self.ranks, np.take_along_axis(self.items, order, axis=1), [moved.reshape(-1)[c] for c in self.cells]
        )


def lay_out(ranks: list[Ranks]) -> Pool:
    """Return the pools of all rows; the ranks have the same numbering of items and the same number of rows."""
    listed = np.concatenate([r.items for r in ranks], axis=1)
    rows, total = listed.shape
    entries, starts = _grouped(listed, ranks[0].n_items)
    firsts = entries[starts]  # the first cell of each item of each row
    real = listed.reshape(-1)[firsts] != PAD
    shown = np.zeros(listed.shape, np.intp)
    shown.reshape(-1)[firsts[real]] = 1
    np.cumsum(shown, axis=1, out=shown)
    width = int(shown.max(initial=0))
    slots = np.where(real, shown.reshape(-1)[firsts] - 1, width) + firsts // max(total, 1) * (width + 1)
    cells = np.empty(listed.shape, np.intp)
    cells.reshape(-1)[entries] = np.repeat(slots, np.diff(starts, append=entries.size))
    items = np.full((rows, width + 1), PAD, np.int32)
    items.reshape(-1)[slots] = listed.reshape(-1)[firsts]
    return Pool(ranks, items[:, :-1], np.split(cells, np.cumsum([r.depth for r in ranks])[:-1], axis=1))


def _grouped(listed: Int32s, n_items: int) -> tuple[Indexes, Indexes]:
    """Return the cells of a table grouped by row and item, in order within a group, and where the groups start."""
    rows, total = listed.shape
    bits = total.bit_length()
    whole = np.int32 if n_items < 1 << (31 - bits) else np.int64
    keys = (listed.astype(whole) << bits) | np.arange(total, dtype=whole)  # of PAD: negative
    keys.sort(axis=1)  # keys are unique, so the order is that of a stable sort, but faster
    entries = (keys & ((1 << bits) - 1)) + np.arange(rows)[:, None] * total
    keys >>= bits
    begins = np.ones(listed.shape, bool)
    np.not_equal(keys[:, 1:], keys[:, :-1], out=begins[:, 1:])
    return entries.reshape(-1), np.flatnonzero(begins)


def fuse_pools(
    ranks: Sequence[Ranks],
    k: int,
    score: Callable[[Pool], Floats],
    *,
    depth: int | None = None,
    ties: Ties = "first",
) -> Ranks:
    """Score the pool of every query and return its k best items, ties in the order of the pool.

    Scores are rounded to float32 before they are compared, so that rounding errors do not break ties.

    Parameters
    ----------
    ranks : sequence of Ranks
        With the same numbering of items and the same number of rows.
    score : callable
        From a Pool to an array of the shape of its `items`; values at padding do not matter.
    depth : int, optional
        How many items of each list to use; all by default.
    ties : {"first", "average"}
        The order of the pool: of first appearance, or `Pool.by_position`.
    """
    cut = list(ranks) if depth is None else [r.head(depth) for r in ranks]
    width = min(k, sum(r.depth for r in cut))
    items = np.full((cut[0].n_queries, width), PAD, np.int32)
    scores = np.zeros(items.shape, np.float32)
    block = max(1, CELLS // max(1, sum(r.depth for r in cut)))
    for start in range(0, len(items), block):
        rows = slice(start, start + block)
        pool = lay_out([r.part(rows) for r in cut])
        pool = pool.by_position() if ties == "average" else pool
        found, values = _best(pool.items, score(pool), k)
        items[rows, : found.shape[1]] = found
        scores[rows, : found.shape[1]] = values
    return ranks[0].replaced(items=items, scores=scores, recall=None)


def _best(items: Int32s, scores: Floats, k: int) -> tuple[Int32s, Float32s]:
    """Return the k best of each row with their scores, ties in the order of columns."""
    rounded = np.clip(scores, -MAX_SCORE, MAX_SCORE).astype(np.float32) + np.float32(0)  # -0 becomes 0
    keys = _descending(rounded).astype(np.int64) << 32 | np.arange(items.shape[1])
    keys[items == PAD] = np.iinfo(np.int64).max
    if k < items.shape[1]:
        keys = np.partition(keys, k - 1, axis=1)[:, :k]
    keys.sort(axis=1)
    columns = keys & 0xFFFFFFFF
    columns[keys == np.iinfo(np.int64).max] = 0
    found = np.where(keys < np.iinfo(np.int64).max, np.take_along_axis(items, columns, axis=1), PAD)
    return found, np.where(found != PAD, np.take_along_axis(rounded, columns, axis=1), np.float32(0))


def _descending(numbers: Float32s) -> Int32s:
    """Return integers in the opposite order of the floats (the bits of floats, read as integers, keep their order)."""
    bits = numbers.view(np.int32)
    return ~(bits ^ ((bits >> 31) & 0x7FFFFFFF))


def scores_by_order(order: Indexes) -> Floats:
    """Return the scores -1, -2, ... in the order of the columns given for each row."""
    scores = np.empty(order.shape)
    np.put_along_axis(scores, order, -np.arange(1.0, order.shape[1] + 1)[None], axis=1)
    return scores


def weighted(values: Values, weights: Sequence[float]) -> Values:
    """Return the values of each ranker times its weight."""
    return [v if w == 1 else w * v for v, w in zip(values, weights, strict=True)]


def weighted_sum(pool: Pool, values: Values, weights: Sequence[float]) -> Floats:
    """Return, for each item, the weighted sum of its values."""
    return pool.fold(np.add, weighted(values, weights), 0.0)


def checked_weights(weights: Sequence[float] | None, n_rankers: int) -> list[float]:
    """Return a weight for each ranker, all 1 by default."""
    try:
        given = [1.0] * n_rankers if weights is None else [float(weight) for weight in weights]
    except (TypeError, ValueError, OverflowError):
        given = []
    if isinstance(weights, str) or len(given) != n_rankers or not np.isfinite(given).all() or min(given) < 0:
        shown = brief(list(weights) if isinstance(weights, tuple) else weights)
        raise InputError(f"weights must be numbers of at least 0, one for each ranker ({n_rankers}); got {shown}.")
    if max(given) > MAX_WEIGHT:
        raise InputError(f"weights must be at most {MAX_WEIGHT:g}; got {max(given):g}.")
    return given


def positive_flags(weights: Sequence[float]) -> list[float]:
    """Return 1 for each ranker of positive weight, 0 for the others."""
    return [float(weight > 0) for weight in weights]
