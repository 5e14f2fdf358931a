"""Distances from the similarity of the first items of two lists, by any of several measures; float32 as in UDLF."""

import numpy as np

from rankloom._kernels.jit import helper, kernel
from rankloom._kernels.lists import length_of

RBO, JACCARD, JACCARD_K, KENDALL_TAU, KENDALL_TAU_W, SPEARMAN, GOODMAN = range(7)
PERSISTENCE = np.float32(0.9)  # of the rank-biased overlap
DECAY = np.float64(np.float32(0.8))  # of the weights of pairs


@helper
def by_overlap(one, other, size, k, measure):
    """Return a measure of the shared items at each depth, given the positions of all items in both lists."""
    shared = np.zeros(k, np.int64)
    for u in range(size):
        last = max(one[u], other[u])
        if last < k:
            shared[last] += 1
    total, inter = np.float32(0), np.int64(0)
    for d in range(1, k + 1):
        inter += shared[d - 1]
        if measure == RBO:
            part = np.float32(np.float32(inter) / np.float32(d))
            total = np.float32(np.float64(total) + np.float64(PERSISTENCE) ** (d - 1) * np.float64(part))
        elif measure == JACCARD_K:
            total += np.float32(inter) / np.float32(2 * d - inter)
    if measure == RBO:
        return np.float32((np.float32(1) - PERSISTENCE) * total)
    return np.float32(total / np.float32(k)) if measure == JACCARD_K else np.float32(inter) / np.float32(2 * k - inter)


@helper
def by_pairs(one, other, size, k, measure):
    """Return a measure of the pairs of items that the two lists order differently."""
    different = 0
    weighted = np.float32(0)
    for u in range(size):
        for v in range(u + 1, size):
            if (one[u] >= one[v]) == (other[u] >= other[v]):
                continue
            different += 1
            if measure == KENDALL_TAU_W:
                first = min(one[u], one[v], other[u], other[v])
                apart = np.float32(abs(one[u] - one[v]) + abs(other[u] - other[v])) / np.float32(k)
                weighted = np.float32(np.float64(weighted) + DECAY**first * np.float64(min(np.float32(2), apart)))
    pairs = size * (size - 1) // 2
    if measure == GOODMAN:
        agreement = np.float32(pairs - 2 * different) / np.float32(pairs)
        return np.float32(np.float32(agreement + np.float32(1)) / np.float32(2))
    distance = np.float32(different) / np.float32(k * (k - 1))
    if measure == KENDALL_TAU_W:
        distance = weighted / np.float32(2 * k * (k - 1))
    return np.float32(np.float32(1) / np.float32(np.float32(1) + distance))


@helper
def similarity(one, other, size, k, n, measure):
    """Return the similarity of two lists, given the positions in both of the items that are first in either."""
    if measure in (RBO, JACCARD, JACCARD_K):
        return by_overlap(one, other, size, k, measure)
    shared = False
    for u in range(size):
        shared = shared or max(one[u], other[u]) < k
    if not shared:
        return np.float32(0)
    if measure == SPEARMAN:
        apart = np.int64(0)
        for u in range(size):
            apart += abs(one[u] - other[u])
        return np.float32(np.float32(1) / np.float32(np.float32(1) + np.float32(apart) / np.float32(2 * k * n)))
    return by_pairs(one, other, size, k, measure)


@kernel
def compare_lists(start, stop, ranked, back, k, compared, measure, out):
    """Compute distances as `list_distances.segments` does, by a measure of the first k items of two lists.

    An item that a list lacks is at the position after the longest list, and not among the first k.
    """
    lists, scores = ranked
    n, width = lists.shape
    absent = max(k, width)
    place = np.full(n, absent, np.int64)
    column = np.full((min(k, width), n), absent, np.int64)  # of each first item of i, in all lists
    one, other = np.empty(2 * k, np.int64), np.empty(2 * k, np.int64)
    for i in range(start, stop):
        mark(i, lists, k, back, False, place, column)
        for p in range(length_of(lists[i])):
            j = lists[i, p]
            if p >= compared or j == i:
                out[i, p] = np.float32(2) - scores[i, p] if j != i else np.float32(0)
                continue
            size = length_of(lists[i, :k])
            for q in range(size):
                one[q], other[q] = q, column[q, j]
            for q in range(length_of(lists[j, :k])):
                if place[lists[j, q]] >= k:
                    one[size], other[size] = place[lists[j, q]], q
                    size += 1
            near = similarity(one, other, size, k, n, measure)
            out[i, p] = np.float32(1) / np.float32(np.float32(1) + near) if near > 0 else np.float32(1) - scores[i, p]
        mark(i, lists, k, back, True, place, column)


@helper
def mark(i, lists, k, back, clear, place, column):
    """Note the positions of the items of row i in it, and of the first k in all lists; or undo that, if `clear`."""
    ptr, rows, columns = back
    width = lists.shape[1]
    absent = max(k, width)
    for p in range(length_of(lists[i])):
        item = lists[i, p]
        place[item] = absent if clear else p
        if p < k:
            for entry in range(ptr[item], ptr[item + 1]):
                column[p, rows[entry]] = absent if clear else columns[entry]
