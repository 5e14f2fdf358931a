"""The pool of a query: every item that some ranker lists, in the order first seen.

A per-query method is a function from a `Pool` to a table of scores; `fuse_pools` does the rest, by blocks of queries.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rankloom.errors import InputError
from rankloom.ranks import PAD, Ranks

CELLS = 1 << 18  # list entries in a block of queries: the tables made of them stay in the processor's cache
MAX_SCORE = float(np.finfo(np.float32).max)
MAX_WEIGHT = 1e30  # weight of a ranker: sums and products stay finite

#: What the entries of each ranker's lists are worth: for each ranker an array of shape (n_queries, depth), or one
#: that can be broadcast to it.
Values = Sequence[NDArray[np.floating | np.integer] | float]


@dataclass(frozen=True, slots=True)
class Pool:
    """The pools of a block of queries, side by side.

    Attributes
    ----------
    ranks : list of Ranks
        The lists of these queries, one Ranks for each ranker.
    items : int32 array of shape (n_queries, width)
        A pool in each row, in the order in which the lists, taken one after the other, show its items first;
        padded with PAD.
    cells : list of int arrays
        For the entries of each ranker's lists, where their item stands in a flat table of shape
        (n_queries, width + 1); padding is sent to the last column. A list has an item once, so the entries of
        one ranker never meet.
    """

    ranks: list[Ranks]
    items: NDArray[np.int32]
    cells: list[NDArray[np.intp]]

    def fold(self, combine: np.ufunc, values: Values, start: float) -> NDArray[np.float64]:
        """Combine, item by item, `start` with what each ranker that lists the item gives it."""
        table = np.full((len(self.items), self.items.shape[1] + 1), start)
        flat = table.reshape(-1)
        for cells, given in zip(self.cells, values, strict=True):
            flat[cells] = combine(flat[cells], given)
        return table[:, :-1]

    def spread(self, values: Values, absent: float, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return what each ranker gives the items, shape (m, n_queries, width); `absent` where it gives nothing."""
        table = np.full((len(self.cells), len(self.items), self.items.shape[1] + 1), absent, dtype)
        for layer, cells, given in zip(table, self.cells, values, strict=True):
            layer.reshape(-1)[cells] = given
        return table[:, :, :-1]

    def counted(self, amounts: Sequence[float]) -> NDArray[np.float64]:
        """Add up, item by item, the amounts of the rankers that list it."""
        return self.fold(np.add, amounts, 0.0)

    def places(self) -> NDArray[Any]:
        """Return the position of each item in each ranker's lists, from 1, shape (m, n_queries, width); 0 if absent."""
        whole = np.int16 if max(r.depth for r in self.ranks) < np.iinfo(np.int16).max else np.int32
        return self.spread([np.arange(1, r.depth + 1) for r in self.ranks], 0, whole)

    def lengths(self) -> NDArray[np.int32]:
        """Return the length of each ranker's list of each query, shape (m, n_queries)."""
        return np.array([r.lengths() for r in self.ranks])

    def sizes(self) -> NDArray[np.int64]:
        """Return how many items each pool has."""
        return np.asarray(np.count_nonzero(self.items != PAD, axis=1))


def lay_out(ranks: list[Ranks]) -> Pool:
    """Return the pools of all rows of ranks that are over one numbering and of as many rows each."""
    listed = np.concatenate([r.items for r in ranks], axis=1)
    rows, total = listed.shape
    entries, starts = _grouped(listed, ranks[0].n_items)
    firsts = entries[starts]  # of each item of each row, the entry that shows it first
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


def _grouped(listed: NDArray[np.int32], n_items: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the entries of a table row by row, those of one item together and in order; and where items begin."""
    rows, total = listed.shape
    bits = total.bit_length()
    whole = np.int32 if n_items < 1 << (31 - bits) else np.int64
    keys = (listed.astype(whole) << bits) | np.arange(total, dtype=whole)  # of PAD: negative
    keys.sort(axis=1)  # the keys differ, so any sort is a stable one, and this is the fastest
    entries = (keys & ((1 << bits) - 1)) + np.arange(rows)[:, None] * total
    keys >>= bits
    begins = np.ones(listed.shape, bool)
    np.not_equal(keys[:, 1:], keys[:, :-1], out=begins[:, 1:])
    return entries.reshape(-1), np.flatnonzero(begins)


def fuse_pools(
    ranks: Sequence[Ranks], k: int, score: Callable[[Pool], NDArray[np.float64]], *, depth: int | None = None
) -> Ranks:
    """Score the pool of every query and return its k best items, ties in the order first seen.

    Scores are rounded to float32 before they are compared: what differs by rounding only is a tie.

    Parameters
    ----------
    ranks : sequence of Ranks
        Over one numbering, of as many rows each.
    score : callable
        From a Pool to a float64 array of the shape of its `items`; what stands at padding does not matter.
    depth : int, optional
        How many items of each list are looked at; all by default.
    """
    cut = list(ranks) if depth is None else [r.head(depth) for r in ranks]
    width = min(k, sum(r.depth for r in cut))
    items = np.full((cut[0].n_queries, width), PAD, np.int32)
    scores = np.zeros(items.shape, np.float32)
    for rows in _blocks(cut):
        pool = lay_out([Ranks.trusted(*_part(r, rows), r.n_items) for r in cut])
        found, values = _best(pool.items, score(pool), k)
        items[rows, : found.shape[1]] = found
        scores[rows, : found.shape[1]] = values
    named = ranks[0]
    return Ranks.trusted(items, scores, named.n_items, item_ids=named.item_ids, query_ids=named.query_ids)


def _blocks(ranks: Sequence[Ranks]) -> Iterator[slice]:
    step = max(1, CELLS // max(1, sum(r.depth for r in ranks)))
    return (slice(start, start + step) for start in range(0, ranks[0].n_queries, step))


def _part(ranks: Ranks, rows: slice) -> tuple[NDArray[np.int32], NDArray[np.float32] | None]:
    return ranks.items[rows], None if ranks.scores is None else ranks.scores[rows]


def _best(
    items: NDArray[np.int32], scores: NDArray[np.float64], k: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the k best of each row with their scores, ties in the order of columns."""
    rounded = np.clip(scores, -MAX_SCORE, MAX_SCORE).astype(np.float32) + np.float32(0)  # no minus zero
    keys = _descending(rounded).astype(np.int64) << 32 | np.arange(items.shape[1])
    keys[items == PAD] = np.iinfo(np.int64).max
    if k < items.shape[1]:
        keys = np.partition(keys, k - 1, axis=1)[:, :k]
    keys.sort(axis=1)
    columns = keys & 0xFFFFFFFF
    columns[keys == np.iinfo(np.int64).max] = 0
    found = np.where(keys < np.iinfo(np.int64).max, np.take_along_axis(items, columns, axis=1), PAD)
    return found, np.where(found != PAD, np.take_along_axis(rounded, columns, axis=1), np.float32(0))


def _descending(numbers: NDArray[np.float32]) -> NDArray[np.int32]:
    """Return whole numbers that fall where the floats rise (a float's bits, read as an int, are in its order)."""
    bits = numbers.view(np.int32)
    return ~(bits ^ ((bits >> 31) & 0x7FFFFFFF))


def falling(order: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the scores that make an order: -1 for the column that comes first in a row, -2 for the next, and so on."""
    scores = np.empty(order.shape)
    np.put_along_axis(scores, order, -np.arange(1.0, order.shape[1] + 1)[None], axis=1)
    return scores


def checked_weights(weights: Sequence[float] | None, n_rankers: int) -> list[float]:
    """Return a weight for each ranker, all 1 where none are given."""
    try:
        given = [1.0] * n_rankers if weights is None else [float(weight) for weight in weights]
    except (TypeError, ValueError):
        given = []
    if isinstance(weights, str) or len(given) != n_rankers or not np.isfinite(given).all() or min(given) < 0:
        raise InputError(f"weights must be a number from 0 for each of the {n_rankers} rankers; got {weights}.")
    if max(given) > MAX_WEIGHT:
        raise InputError(f"weights must be at most {MAX_WEIGHT:g}; got {max(given):g}.")
    return given
