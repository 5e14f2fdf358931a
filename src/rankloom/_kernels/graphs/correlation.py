"""Sparse distance matrices, their fusion over several rankers, and the correlation of neighboring rows.

A row holds the known distances; `absent` is the distance of all other pairs. With several rankers, both are powers,
and the fused distance is the product over the rankers of 1 + the larger of the two directions, hence symmetric.
"""

from typing import NamedTuple

import numpy as np

from rankloom._kernels.index.arguments import SparseRows
from rankloom._kernels.jit import helper, kernel
from rankloom._kernels.lists import append_new, collect_items, length_of
from rankloom._kernels.sorting import sort_ascending
from rankloom._kernels.sparse_rows import clear, clear_row, spread, spread_row

CLOSE = 1e-9  # tolerance of thresholds, so that rounding does not decide
FLAT = 1e-12  # rows with a smaller sum of squares have no correlation


class Rankers(NamedTuple):
    """The lists of several rankers, the distances of their items, and those of absent items, as powers."""

    lists: np.ndarray  # (rankers, n, width)
    values: np.ndarray  # (rankers, n, width)
    absent: np.ndarray  # (rankers, n)


class Distances(NamedTuple):
    """Known distances by row and by column, and the distances of absent pairs, of shape (rankers, n)."""

    rows: SparseRows
    columns: SparseRows
    absent: np.ndarray
    fused: bool


@helper
def unknown(i, j, absent, fused):
    """Return the distance of a pair that is in no list."""
    if not fused:
        return absent[0, i]
    total = np.float64(1)
    for r in range(absent.shape[0]):
        total *= 1.0 + max(absent[r, i], absent[r, j])
    return total


@helper
def pool_of(i, lists, back, seen, pool):
    """Collect the items in row i's lists, in order of appearance, then those whose lists have i, by ranker and number.

    Return their number. `seen` is scratch of False, cleared before returning.
    """
    m, n, _ = lists.shape
    ptr, rows, _ = back
    size = collect_items(i, lists, seen, pool)
    for r in range(m):
        for entry in range(ptr[r * n + i], ptr[r * n + i + 1]):
            size = append_new(np.int64(rows[entry]) - r * n, seen, pool, size)
    clear(pool[:size], seen)
    return size


@kernel
def count_pools(start, stop, lists, back, count):
    """Count the items in the pool of each row."""
    n = lists.shape[1]
    seen = np.zeros(n, np.bool_)
    pool = np.empty(n + 1, np.int32)
    for i in range(start, stop):
        count[i] = pool_of(i, lists, back, seen, pool)


@kernel
def fuse_distances(start, stop, rankers, back, fused, nearest):
    """Compute the fused distances of each row's pool, and fill `nearest` with its nearest items; ties in pool order."""
    lists, values, absent = rankers
    back_ptr, back_rows, back_columns = back
    ptr, items, distances = fused
    m, n, _ = lists.shape
    seen = np.zeros(n, np.bool_)
    pool = np.empty(n + 1, np.int32)
    mine = np.full((m, n), -1.0)
    theirs = np.full((m, n), -1.0)
    order = np.empty(n, np.int64)
    spare = np.empty(n, np.int64)
    for i in range(start, stop):
        size = pool_of(i, lists, back, seen, pool)
        for r in range(m):
            spread(lists[r, i], values[r, i], mine[r])
            for entry in range(back_ptr[r * n + i], back_ptr[r * n + i + 1]):
                item = np.int64(back_rows[entry]) - r * n
                theirs[r, item] = values[r, item, back_columns[entry]]
        first = ptr[i]
        for c in range(size):
            item = pool[c]
            total = np.float64(1)
            for r in range(m):
                forward = mine[r, item] if mine[r, item] >= 0.0 else absent[r, i]
                backward = theirs[r, item] if theirs[r, item] >= 0.0 else absent[r, item]
                total *= 1.0 + max(forward, backward)
                mine[r, item] = -1.0
                theirs[r, item] = -1.0
            items[first + c] = item
            distances[first + c] = total
        sort_ascending(distances[first : first + size], size, order, spare)
        for p in range(nearest.shape[1]):
            nearest[i, p] = pool[order[p]] if p < size else -1


@kernel
def own_distances(start, stop, lists, D, out):
    """Fill `out` with the distances to the first items of each row's list."""
    row = np.full(lists.shape[0], -1.0)
    for i in range(start, stop):
        spread_row(i, D.rows, row)
        for p in range(out.shape[1]):
            item = lists[i, p]
            if item >= 0:
                out[i, p] = row[item] if row[item] >= 0.0 else unknown(i, item, D.absent, D.fused)
        clear_row(i, D.rows, row, -1.0)


@helper
def pearson(x, y, size):
    """Return Pearson's correlation of the first `size` values; NaN if either is constant."""
    mean_x = mean_y = np.float64(0)
    for c in range(size):
        mean_x += x[c]
        mean_y += y[c]
    if size == 0:
        return np.nan
    mean_x /= size
    mean_y /= size
    xx = yy = xy = np.float64(0)
    for c in range(size):
        xx += (x[c] - mean_x) ** 2
        yy += (y[c] - mean_y) ** 2
        xy += (x[c] - mean_x) * (y[c] - mean_y)
    if xx <= FLAT or yy <= FLAT:
        return np.nan
    return xy / np.sqrt(xx * yy)


@helper
def level_of(similarity, thresholds):
    """Return the index of the highest threshold that is met; -1 if none is."""
    low, high = -1, thresholds.size - 1
    while low < high:
        middle = (low + high + 1) // 2
        if similarity + CLOSE >= thresholds[middle]:
            low = middle
        else:
            high = middle - 1
    return low


@kernel
def correlate(start, stop, lists, own, D, thresholds, levels):
    """Compute the level of (r + 1) / 2 for row i and each row of its list, r being over the first items of both.

    Column u of the distances, for each u among the first items of row i, gives D(j, u) for all j of the list at once.
    """
    ptr, items, distances = D.columns
    absent, fused = D.absent, D.fused
    n, length = lists.shape
    k = own.shape[1]
    row = np.full(n, -1.0)
    slot = np.zeros(n, np.int32)
    among = np.zeros(n, np.bool_)
    theirs = np.empty((length, k), np.float64)
    x = np.empty(2 * k, np.float64)
    y = np.empty(2 * k, np.float64)
    for i in range(start, stop):
        spread_row(i, D.rows, row)
        first, size = length_of(lists[i, :k]), length_of(lists[i])
        for c in range(size):
            slot[lists[i, c]] = c + 1
            theirs[c, :first] = -1.0
        for at in range(first):
            u = lists[i, at]
            among[u] = True
            x[at] = own[i, at]
            for entry in range(ptr[u], ptr[u + 1]):
                c = slot[items[entry]]
                if c > 0:
                    theirs[c - 1, at] = distances[entry]
        for c in range(length):
            levels[i, c] = -1
        for c in range(size):
            j = lists[i, c]
            for at in range(first):
                y[at] = theirs[c, at] if theirs[c, at] >= 0.0 else unknown(j, lists[i, at], absent, fused)
            count = first
            for at in range(k):
                u = lists[j, at]
                if u < 0:
                    break
                if not among[u]:
                    x[count] = row[u] if row[u] >= 0.0 else unknown(i, u, absent, fused)
                    y[count] = own[j, at]
                    count += 1
            r = pearson(x, y, count)
            if not np.isnan(r):
                levels[i, c] = level_of((r + 1.0) / 2.0, thresholds)
        for c in range(size):
            slot[lists[i, c]] = 0
        for at in range(first):
            among[lists[i, at]] = False
        clear_row(i, D.rows, row, -1.0)
