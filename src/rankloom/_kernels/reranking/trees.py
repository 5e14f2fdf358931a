"""Breadth-first trees of ranking references: the first items of each list, and theirs; never the matrix they make up.

The matrix is W = sum over q of C_q C_q' + D_q D_q' + C_q D_q', where C_q holds the correlations of q's first items and
D_q those of their first items, multiplied along the path.
"""

from typing import NamedTuple

import numpy as np

from rankloom._kernels import ZERO
from rankloom._kernels.index.arguments import Transposed
from rankloom._kernels.jit import helper, kernel
from rankloom._kernels.lists import append_new, length_of
from rankloom._kernels.sparse_rows import clear, clear_row


class Level(NamedTuple):
    """One level of all trees, by trees and by items."""

    ptr: np.ndarray
    items: np.ndarray
    values: np.ndarray
    back: Transposed


@kernel
def correlations(start, stop, tops, share, out):
    """Compute the rank-biased overlap of row i's list and the lists of its first items, in float32 as it adds up."""
    k = tops.shape[1]
    position = np.zeros(tops.shape[0], np.int32)
    count = np.empty(k + 1, np.int32)
    for i in range(start, stop):
        for p in range(length_of(tops[i])):
            position[tops[i, p]] = p + 1
        for column in range(k):
            j = tops[i, column]
            out[i, column] = 0.0
            if j < 0:
                continue
            count[:] = 0
            for p in range(length_of(tops[j])):
                if position[tops[j, p]] > 0:
                    count[max(p + 1, position[tops[j, p]])] += 1
            total = np.float32(0)
            shared = 0
            for d in range(1, k + 1):
                shared += count[d]
                total = np.float32(total + share[d] * np.float64(np.float32(shared) / np.float32(d)))
            out[i, column] = np.float32(share[0]) * total
        clear(tops[i], position)


@kernel
def second_level(start, stop, tops, near, slot, ptr, items, values):
    """Fill the second level of each tree, or with no `items` only count it in `ptr`; `slot` is scratch of -1."""
    k = tops.shape[1]
    members = np.empty(k * k, np.int32)
    weight = np.empty(k * k, np.float64)
    for q in range(start, stop):
        end = 0
        for o in range(1, length_of(tops[q])):
            neighbor = tops[q, o]
            for p in range(1, length_of(tops[neighbor])):
                item = tops[neighbor, p]
                if slot[item] < 0:
                    slot[item] = end
                    members[end] = item
                    weight[end] = 0.0
                    end += 1
                weight[slot[item]] += np.float64(np.float32(near[q, o] * near[neighbor, p]))
        for at in range(end):
            slot[members[at]] = -1
        if items.size == 0:
            ptr[q + 1] = end
            continue
        for at in range(end):
            items[ptr[q] + at] = members[at]
            values[ptr[q] + at] = weight[at]


@kernel
def column_sums(first, second, sums):
    """Add the column sums of W."""
    for q in range(first.ptr.size - 1):
        c = d = ZERO
        for at in range(first.ptr[q], first.ptr[q + 1]):
            c += first.values[at]
        for at in range(second.ptr[q], second.ptr[q + 1]):
            d += second.values[at]
        for at in range(first.ptr[q], first.ptr[q + 1]):
            sums[first.items[at]] += c * first.values[at]
        for at in range(second.ptr[q], second.ptr[q + 1]):
            sums[second.items[at]] += (c + d) * second.values[at]


@helper
def add_level(level, q, weight, row):
    """Add `weight` times one level of tree q."""
    ptr, items, values, _ = level
    for at in range(ptr[q], ptr[q + 1]):
        row[items[at]] += weight * values[at]


@helper
def dot_level(level, q, row):
    """Return the dot product of a row and one level of tree q."""
    ptr, items, values, _ = level
    total = ZERO
    for at in range(ptr[q], ptr[q + 1]):
        total += values[at] * row[items[at]]
    return total


@helper
def mark_trees(level, m, seen, trees, count):
    """Collect the trees that have an item in a level; return their number."""
    ptr, rows, _ = level.back
    for entry in range(ptr[m], ptr[m + 1]):
        count = append_new(rows[entry], seen, trees, count)
    return count


@helper
def matrix_row(i, first, second, row):
    """Add row i of W."""
    ptr, rows, columns = first.back
    for entry in range(ptr[i], ptr[i + 1]):
        q = rows[entry]
        weight = first.values[first.ptr[q] + columns[entry]]
        add_level(first, q, weight, row)
        add_level(second, q, weight, row)
    ptr, rows, columns = second.back
    for entry in range(ptr[i], ptr[i + 1]):
        q = rows[entry]
        add_level(second, q, second.values[second.ptr[q] + columns[entry]], row)


@helper
def clear_matrix_row(i, first, second, row):
    """Reset what `matrix_row` has written."""
    ptr, rows, _ = first.back
    for entry in range(ptr[i], ptr[i + 1]):
        clear_row(rows[entry], first, row, 0.0)
        clear_row(rows[entry], second, row, 0.0)
    ptr, rows, _ = second.back
    for entry in range(ptr[i], ptr[i + 1]):
        clear_row(rows[entry], second, row, 0.0)


@kernel
def diffuse(start, stop, lists, first, second, sums, out):
    """Compute the products of row i and the rows of its list, over the columns of its list, W divided by `sums`."""
    n = lists.shape[0]
    row, wanted, spread = np.zeros(n), np.zeros(n), np.zeros(n)
    seen = np.zeros(n, np.bool_)
    trees = np.empty(n, np.int64)
    for i in range(start, stop):
        matrix_row(i, first, second, row)
        count = 0
        for p in range(length_of(lists[i])):
            m = lists[i, p]
            if row[m] > 0.0:
                wanted[m] = row[m] / sums[m] / sums[m]
                count = mark_trees(first, m, seen, trees, count)
                count = mark_trees(second, m, seen, trees, count)
        clear_matrix_row(i, first, second, row)
        for t in range(count):
            q = trees[t]
            seen[q] = False
            d = dot_level(second, q, wanted)
            add_level(first, q, dot_level(first, q, wanted) + d, spread)
            add_level(second, q, d, spread)
        for p in range(length_of(lists[i])):
            m = lists[i, p]
            wanted[m] = 0.0
            out[i, p] = spread[m]
        for t in range(count):
            clear_row(trees[t], first, spread, 0.0)
            clear_row(trees[t], second, spread, 0.0)
