"""Lists of the best neighbors seen so far, exact scores of some pairs, and a walk from neighbor to neighbor."""

import numpy as np

from rankloom._kernels import ZERO
from rankloom._kernels.jit import inner, kernel


@inner
def keep(items, scores, item, score):
    """Insert an item into a list, padded with -1 and -inf, unless it is there already or below a full list."""
    at, end = 0, items.size
    while at < end:
        middle = (at + end) // 2
        if scores[middle] > score or (scores[middle] == score and items[middle] < item):
            at = middle + 1
        else:
            end = middle
    if at == items.size or items[at] == item:  # a pair has the same score whenever it comes
        return
    for place in range(items.size - 1, at, -1):
        items[place], scores[place] = items[place - 1], scores[place - 1]
    items[at], scores[at] = item, score


@inner
def keep_pair(best, row, column, score):
    """Insert each of two items into the list of the other."""
    if score >= best.floors[row]:
        keep(best.items[row], best.scores[row], column, score)
        best.floors[row] = best.scores[row, best.scores.shape[1] - 1]
    if score >= best.floors[column]:
        keep(best.items[column], best.scores[column], row, score)
        best.floors[column] = best.scores[column, best.scores.shape[1] - 1]


@kernel
def offer(scores, rows, columns, best):
    """Offer the score of each row and each column of a matrix to the lists of both, unless they are the same item."""
    for r in range(rows.size):
        for c in range(columns.size):
            if columns[c] != rows[r]:
                keep_pair(best, rows[r], columns[c], scores[r, c])


@kernel
def offer_groups(scores, groups, best):
    """Offer the scores of all pairs in groups of items to the lists of both; -1 is no item."""
    for g in range(groups.shape[0]):
        for r in range(groups.shape[1]):
            for c in range(r):
                if groups[g, r] >= 0 and groups[g, c] >= 0 and groups[g, c] != groups[g, r]:
                    keep_pair(best, groups[g, r], groups[g, c], scores[g, r, c])


@inner
def product(x, y):
    """Return the product of two rows: four sums in a fixed order."""
    a = b = c = d = ZERO
    whole = np.uint64(x.size // 4 * 4)
    for k in range(np.uint64(0), whole, np.uint64(4)):
        a += x[k] * y[k]
        b += x[k + np.uint64(1)] * y[k + np.uint64(1)]
        c += x[k + np.uint64(2)] * y[k + np.uint64(2)]
        d += x[k + np.uint64(3)] * y[k + np.uint64(3)]
    for k in range(whole, np.uint64(x.size)):
        a += x[k] * y[k]
    return (a + b) + (c + d)


@kernel
def products(start, stop, queries, vectors, candidates, out):
    """Multiply each query with its candidates, in float64; -1 is no candidate."""
    for i in range(start, stop):
        for p in range(candidates.shape[1]):
            item = candidates[i, p]
            out[i, p] = product(queries[i], vectors[item]) if item >= 0 else ZERO
