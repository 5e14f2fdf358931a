"""Sparse distance matrices, their fusion over several rankers, and the correlation of neighboring rows.

A row holds the known distances; `absent` is the distance of all other pairs. With several rankers, both are powers,
and the fused distance is the product over the rankers of 1 + the larger of the two directions, hence symmetric.
"""

from typing import NamedTuple

import numpy as np

from rankloom._kernels.jit import helper, kernel
from rankloom._kernels.lists import collect_items
from rankloom._kernels.sorting import sort_ascending

CLOSE = 1e-9  # tolerance of thresholds, so that rounding does not decide
FLAT = 1e-12  # rows with a smaller sum of squares have no correlation


class Distances(NamedTuple):
    """Known distances by row and by column (CSR), and the distances of absent pairs, of shape (rankers, n)."""

    row_ptr: np.ndarray
    row_items: np.ndarray
    row_values: np.ndarray
    column_ptr: np.ndarray
    column_items: np.ndarray
    column_values: np.ndarray
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
def pool_of(i, lists, back_ptr, back_rows, seen, pool):
    """Collect the items in row i's lists, in order of appearance, then those whose lists have i, by ranker and number.

    Return their number. `seen` is scratch of False, cleared before returning.
    """
    m, n, _ = lists.shape
    size = collect_items(i, lists, seen, pool)
    for r in range(m):
        for entry in range(back_ptr[r * n + i], back_ptr[r * n + i + 1]):
            item = np.int64(back_rows[entry]) - r * n
            if not seen[item]:
                seen[item] = True
                pool[size] = item
                size += 1
    for c in range(size):
        seen[pool[c]] = False
    return size


@kernel
def count_pools(start, stop, lists, back_ptr, back_rows, count):
    """Count the items in the pool of each row."""
    n = lists.shape[1]
    seen = np.zeros(n, np.bool_)
    pool = np.empty(n + 1, np.int32)
    for i in range(start, stop):
        count[i] = pool_of(i, lists, back_ptr, back_rows, seen, pool)


@kernel
def fuse_distances(
    start, stop, lists, values, absent, back_ptr, back_rows, back_columns, row_ptr, items, distances, nearest
):
    """Compute the fused distances of each row's pool, and fill `nearest` with its nearest items; ties in pool order."""
    m, n, depth = lists.shape
    seen = np.zeros(n, np.bool_)
    pool = np.empty(n + 1, np.int32)
    there = np.full((m, n), -1.0)
    back = np.full((m, n), -1.0)
    order = np.empty(n, np.int64)
    spare = np.empty(n, np.int64)
    for i in range(start, stop):
        size = pool_of(i, lists, back_ptr, back_rows, seen, pool)
        for r in range(m):
            for p in range(depth):
                if lists[r, i, p] < 0:
                    break
                there[r, lists[r, i, p]] = values[r, i, p]
            for entry in range(back_ptr[r * n + i], back_ptr[r * n + i + 1]):
                item = np.int64(back_rows[entry]) - r * n
                back[r, item] = values[r, item, back_columns[entry]]
        first = row_ptr[i]
        for c in range(size):
            item = pool[c]
            total = np.float64(1)
            for r in range(m):
                one = there[r, item] if there[r, item] >= 0.0 else absent[r, i]
                other = back[r, item] if back[r, item] >= 0.0 else absent[r, item]
                total *= 1.0 + max(one, other)
                there[r, item] = -1.0
                back[r, item] = -1.0
            items[first + c] = item
            distances[first + c] = total
        sort_ascending(distances[first : first + size], size, order, spare)
        for p in range(nearest.shape[1]):
            nearest[i, p] = pool[order[p]] if p < size else -1


@helper
def spread_row(i, D, row):
    """Write the known distances of row i to `row`."""
    for entry in range(D.row_ptr[i], D.row_ptr[i + 1]):
        row[D.row_items[entry]] = D.row_values[entry]


@helper
def clear_row(i, D, row):
    """Reset `row` to -1."""
    for entry in range(D.row_ptr[i], D.row_ptr[i + 1]):
        row[D.row_items[entry]] = -1.0


@kernel
def own_distances(start, stop, lists, D, out):
    """Fill `out` with the distances to the first items of each row's list."""
    row = np.full(lists.shape[0], -1.0)
    for i in range(start, stop):
        spread_row(i, D, row)
        for p in range(out.shape[1]):
            item = lists[i, p]
            if item >= 0:
                out[i, p] = row[item] if row[item] >= 0.0 else unknown(i, item, D.absent, D.fused)
        clear_row(i, D, row)


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
def levels_of(start, stop, similarities, thresholds, levels):
    """Compute `level_of` each similarity."""
    for i in range(start, stop):
        for p in range(levels.shape[1]):
            levels[i, p] = level_of(similarities[i, p], thresholds)


@kernel
def correlate(start, stop, lists, own, D, thresholds, levels):
    """Compute the level of (r + 1) / 2 for row i and each row of its list, r being over the first items of both.

    Column u of the distances, for each u among the first items of row i, gives D(j, u) for all j of the list at once.
    """
    n, length = lists.shape
    k = own.shape[1]
    row = np.full(n, -1.0)
    slot = np.zeros(n, np.int32)
    among = np.zeros(n, np.bool_)
    theirs = np.empty((length, k), np.float64)
    x = np.empty(2 * k, np.float64)
    y = np.empty(2 * k, np.float64)
    for i in range(start, stop):
        spread_row(i, D, row)
        first = 0
        while first < k and lists[i, first] >= 0:
            among[lists[i, first]] = True
            first += 1
        size = 0
        while size < length and lists[i, size] >= 0:
            j = lists[i, size]
            slot[j] = size + 1
            theirs[size, :first] = -1.0
            size += 1
        for at in range(first):
            u = lists[i, at]
            x[at] = own[i, at]
            for entry in range(D.column_ptr[u], D.column_ptr[u + 1]):
                c = slot[D.column_items[entry]]
                if c > 0:
                    theirs[c - 1, at] = D.column_values[entry]
        for c in range(length):
            levels[i, c] = -1
        for c in range(size):
            j = lists[i, c]
            for at in range(first):
                y[at] = theirs[c, at] if theirs[c, at] >= 0.0 else unknown(j, lists[i, at], D.absent, D.fused)
            count = first
            for at in range(k):
                u = lists[j, at]
                if u < 0:
                    break
                if not among[u]:
                    x[count] = row[u] if row[u] >= 0.0 else unknown(i, u, D.absent, D.fused)
                    y[count] = own[j, at]
                    count += 1
            r = pearson(x, y, count)
            if not np.isnan(r):
                levels[i, c] = level_of((r + 1.0) / 2.0, thresholds)
        for c in range(size):
            slot[lists[i, c]] = 0
        for at in range(first):
            among[lists[i, at]] = False
        clear_row(i, D, row)
