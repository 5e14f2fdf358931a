"""Lists of the best neighbors seen so far, scores of some pairs, and a walk from neighbor to neighbor.

Scores are products of vectors of whole numbers (`ranks/cells.py`), and exact in any order of their sums.
"""

import numpy as np

from rankloom._kernels import ZERO
from rankloom._kernels.jit import inner, kernel


@inner
def keep(items, scores, item, score):
    """Insert an item into a list, padded with -1 and -inf, unless it is there already or below a full list."""
    at, end = np.uint64(0), np.uint64(items.size)
    while at < end:
        middle = (at + end) // np.uint64(2)
        if scores[middle] > score or (scores[middle] == score and items[middle] < item):
            at = middle + np.uint64(1)
        else:
            end = middle
    if at == np.uint64(items.size) or items[at] == item:  # a pair has the same score whenever it comes
        return
    for place in range(np.uint64(items.size - 1), at, -1):
        items[place], scores[place] = items[place - np.uint64(1)], scores[place - np.uint64(1)]
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
def offer(scores, rows, first, best):
    """Offer the scores of rows and consecutive items from `first` on to the lists of both."""
    floors = best.floors[first : first + scores.shape[1]]
    for r in range(rows.size):
        row, floor = rows[r], best.floors[rows[r]]
        for c in range(np.uint64(floors.size)):
            score = scores[r, c]
            if (score >= floor or score >= floors[c]) and first + np.int64(c) != row:
                keep_pair(best, row, first + np.int64(c), score)
                floor = best.floors[row]


@inner
def whole_product(x, y):
    """Return the product of two rounded vectors."""
    total = np.int32(0)
    for k in range(x.size):
        total = np.int32(total + np.int32(x[k]) * np.int32(y[k]))
    return np.float32(total)


@kernel
def whole_products(query, rows, out):
    """Multiply a rounded vector with others."""
    for i in range(out.size):
        out[i] = whole_product(query, rows[i])


@kernel
def compare_groups(rows, groups, best):
    """Offer the scores of all pairs in groups of items, by row, to the lists of both; -1 is no item."""
    for g in range(groups.shape[0]):
        for p in range(groups.shape[1]):
            one = groups[g, p]
            for q in range(p if one >= 0 else 0):
                other = groups[g, q]
                if other >= 0 and other != one:
                    keep_pair(best, one, other, whole_product(rows[one], rows[other]))


@inner
def look(item, query, graph, allowed, found, best):
    """Compare an item with the query, and offer it to the lists of all and of allowed items."""
    score = whole_product(query, graph.rows[item])
    if score >= found.scores[found.scores.size - 1]:
        keep(found.items, found.scores, item, score)
    if allowed.size > 0 and allowed[item]:
        keep(best.items, best.scores, item, score)


@kernel
def walk(query, entries, graph, allowed, limits, seen, found, best):
    """Collect items near a query: the entries, then items in the lists of the best found.

    `limits` are the number of rounds, and how much of each list counts. `best` has the allowed items, if `allowed` is
    not empty. `seen` is scratch of zeros, cleared before returning: 1 for items that were compared, 2 if their lists
    were used.
    """
    rounds, width = limits
    compared, size = np.empty(seen.size, np.int32), 0
    chosen = np.empty(found.items.size, np.int32)
    for item in entries:
        seen[item] = 1
        compared[size] = item
        size += 1
        look(item, query, graph, allowed, found, best)
    for _ in range(rounds):
        n_chosen = 0
        for item in found.items:
            if item >= 0 and seen[item] == 1:
                seen[item] = 2
                chosen[n_chosen] = item
                n_chosen += 1
        for item in chosen[:n_chosen]:
            for p in range(width):
                other = graph.lists[item, p]
                if other >= 0 and seen[other] == 0:
                    seen[other] = 1
                    compared[size] = other
                    size += 1
                    look(other, query, graph, allowed, found, best)
    for item in compared[:size]:
        seen[item] = 0


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
def products(queries, vectors, candidates, out):
    """Multiply each query with its candidates, in float64; -1 is no candidate."""
    for i in range(candidates.shape[0]):
        for p in range(candidates.shape[1]):
            item = candidates[i, p]
            out[i, p] = product(queries[i], vectors[item]) if item >= 0 else ZERO
