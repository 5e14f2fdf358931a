"""Sets of first items that list each other: how much they do, and distances of items that share sets."""

from typing import NamedTuple

import numpy as np

from rankloom._kernels.index.arguments import Transposed
from rankloom._kernels.jit import helper, kernel
from rankloom._kernels.lists import length_of
from rankloom._kernels.sparse_rows import clear


class Sets(NamedTuple):
    """The sets of all rankers, one ranker after the other."""

    lists: np.ndarray
    tops: np.ndarray  # the first items of the lists
    squares: np.ndarray  # of the scores of the sets of 2, 3, ... first items
    back: Transposed  # of the lists


class Marks(NamedTuple):
    """Scratch of a row: by ranker and item, the weight of shared sets and both positions; and the items found."""

    weight: np.ndarray
    ahead: np.ndarray
    behind: np.ndarray
    seen: np.ndarray
    pool: np.ndarray


@kernel
def set_scores(start, stop, tops, scores):
    """Compute, for the first s items of each list, s from 2 to k, the share of pairs of which one lists the other.

    A pair counts from the s on at which both are in the set and one is among the first s of the other.
    """
    n, k = tops.shape
    place = np.full(n, -1, np.int64)
    counted = np.empty(k, np.int64)
    for i in range(start, stop):
        counted[:] = 0
        for p in range(length_of(tops[i])):
            place[tops[i, p]] = p
        for p in range(length_of(tops[i])):
            for t in range(length_of(tops[tops[i, p]])):
                item = tops[tops[i, p], t]
                if place[item] >= 0:
                    counted[max(p, t, place[item])] += 1
        for p in range(length_of(tops[i])):
            place[tops[i, p]] = -1
        total = counted[0]
        for s in range(2, k + 1):
            total += counted[s - 1]
            scores[i, s - 2] = np.float64(total) / np.float64(s * s)


@helper
def gather(i, r, sets, marks, size):
    """Mark the weights and both positions of row i by ranker r; return the new size of the pool.

    A set adds the square of its score to all its items. The pool gets items that are not in it yet.
    """
    seen, pool = marks.seen, marks.pool
    weight, ahead, behind = marks.weight[r], marks.ahead[r], marks.behind[r]
    lists, tops, squares, (ptr, rows, columns) = sets
    offset = r * seen.size
    at = offset + i
    k = tops.shape[1]
    for p in range(length_of(lists[at])):
        item = lists[at, p]
        ahead[item] = p + 1
        pool[size] = item  # overwritten unless new
        size += not seen[item]
        seen[item] = True
    for entry in range(ptr[at], ptr[at + 1]):
        q, column = np.int64(rows[entry]), columns[entry]
        behind[q - offset] = column + 1
        for s in range(max(column + 1, 2), k + 1):
            for p in range(length_of(tops[q, :s])):
                item = tops[q, p]
                weight[item] += squares[q, s - 2]
                pool[size] = item
                size += not seen[item]
                seen[item] = True
    return size


@kernel
def set_distances(start, stop, order, sets, out):
    """Sort the items that any ranker lists, or that share a set with i, by the product of the rankers' distances.

    `order` has the candidates that come first in ties; the others follow by number. `out` has the distances.
    """
    items, scores = out
    ptr, rows, _ = sets.back
    n, width = order.shape[0], sets.lists.shape[1]
    m = sets.lists.shape[0] // n
    weight = np.zeros((m, n), np.float32)
    ahead, behind = np.zeros((m, n), np.int32), np.zeros((m, n), np.int32)
    seen = np.zeros(n, np.bool_)
    pool = np.empty(n + 1, np.int32)
    marks = Marks(weight, ahead, behind, seen, pool)
    key = np.empty(n, np.float32)
    for i in range(start, stop):
        first = size = length_of(order[i])
        for p in range(first):
            pool[p] = order[i, p]
            seen[order[i, p]] = True
        for r in range(m if first > 0 else 0):
            size = gather(i, r, sets, marks, size)
        pool[first:size].sort()
        for c in range(size):
            key[c] = distance(pool[c], width, weight, ahead, behind) if pool[c] != i else 0.0
            seen[pool[c]] = False
            weight[:, pool[c]] = 0.0
            ahead[:, pool[c]] = 0
        found = np.argsort(key[:size], kind="mergesort")
        for p in range(items.shape[1]):
            items[i, p] = pool[found[p]] if p < size else -1
            scores[i, p] = key[found[p]] if p < size else np.float32(0)
        for r in range(m):
            for entry in range(ptr[r * n + i], ptr[r * n + i + 1]):
                behind[r, rows[entry] - r * n] = 0


@helper
def distance(j, width, weight, ahead, behind):
    """Return the product over rankers of the position, or by the larger of both positions where sets are shared."""

    product = np.float32(1)
    for r in range(weight.shape[0]):
        factor = np.float32(ahead[r, j] if ahead[r, j] > 0 else width)
        if weight[r, j] > 0:
            other = np.float32(behind[r, j] if behind[r, j] > 0 else width)
            factor = np.float32(max(factor, other) / np.float32(width)) / np.float32(np.float32(1) + weight[r, j])
        product = np.float32(product * factor)
    return product


@kernel
def cohesion(start, stop, tops, out):
    """Compute how many of the first items after each item are listed by those items too, by weight of position.

    Float32 in the order of the lists; `tops` has k + 1 columns.
    """
    n, k = tops.shape[0], tops.shape[1] - 1
    listed = np.zeros(n, np.bool_)
    whole = np.float32(0)
    for p in range(1, k):
        whole += np.float32(1) / np.float32(p + 1)
    for i in range(start, stop):
        total = np.float32(0)
        for p in range(1, length_of(tops[i])):
            listed[tops[i, p]] = True
        for p in range(1, length_of(tops[i])):
            for t in range(1, length_of(tops[tops[i, p], :k])):
                item = tops[tops[i, p], t]
                if listed[item]:
                    total += np.float32(1) / np.float32(t + 1)
        out[i] = total / np.float32(np.float32(k) * whole) if k > 1 else np.float32(0)
        clear(tops[i, 1:], listed)


@kernel
def recommend(start, stop, lists, back, k, strength, cohesive, distances):
    """Multiply the distances of items that share the first k + 1 of a list, list after list; `back` inverts those."""
    ptr, rows, columns = back
    column = np.full(lists.shape[0], -1, np.int64)
    for a in range(start, stop):
        for p in range(length_of(lists[a])):
            column[lists[a, p]] = p
        for entry in range(ptr[a], ptr[a + 1]):
            q = np.int64(rows[entry])
            own = np.float32(1) - np.float32(np.float32(columns[entry] + 1) / np.float32(k + 1))
            for p in range(length_of(lists[q, : k + 1])):
                item = lists[q, p]
                if column[item] < 0:
                    continue
                other = np.float32(1) - np.float32(np.float32(p + 1) / np.float32(k + 1))
                weight = np.float32(np.float32(own * other) * cohesive[q])
                factor = np.float32(1.0 - min(1.0, strength * np.float64(weight)))
                distances[a, column[item]] = np.float32(distances[a, column[item]] * factor)
        for p in range(length_of(lists[a])):
            column[lists[a, p]] = -1
