"""Cartesian products of ranking references: rows of the similarity matrix, one at a time."""

from typing import NamedTuple

import numpy as np

from rankloom._kernels.index.arguments import Transposed
from rankloom._kernels.jit import helper, kernel
from rankloom._kernels.lists import length_of
from rankloom._kernels.sparse_rows import clear


class Heads(NamedTuple):
    """The first items of each list, in all rounds, one after the other; where they are; and how many count at most."""

    tops: np.ndarray
    back: Transposed
    k: int


@helper
def add_products_of(i, first, heads, row):
    """Add row i of the products of first items, and of the lists that refer to one item.

    The lists start at row `first` of the heads. Weights are added as integers, which is much faster.
    """
    tops, (ptr, rows, columns), k = heads
    for entry in range(np.uint64(ptr[first + i]), np.uint64(ptr[first + i + 1])):
        q = rows[entry]
        weight = 2 * (k - np.int64(columns[entry]))
        for p in range(np.uint64(tops.shape[1])):
            if tops[q, p] < 0:
                break
            row[tops[q, p]] += weight * (k - np.int64(p))
    for p in range(np.uint64(1), np.uint64(length_of(tops[first + i]))):
        x = tops[first + i, p]
        weight = 2 * (k - np.int64(p))
        for entry in range(np.uint64(ptr[first + x]), np.uint64(ptr[first + x + 1])):
            if columns[entry] > 0:
                row[np.int64(rows[entry]) - first] += weight * (k - np.int64(columns[entry]))


@helper
def clear_products_of(i, first, heads, row):
    """Reset what `add_products_of` has written; a short row as a whole, which is faster."""
    tops, (ptr, rows, _), _ = heads
    width = np.uint64(tops.shape[1])
    if row.size < 8 * width * width:
        row[:] = 0
        return
    for entry in range(np.uint64(ptr[first + i]), np.uint64(ptr[first + i + 1])):
        clear(tops[rows[entry]], row)
    for p in range(np.uint64(1), np.uint64(length_of(tops[first + i]))):
        x = tops[first + i, p]
        for entry in range(np.uint64(ptr[first + x]), np.uint64(ptr[first + x + 1])):
            row[np.int64(rows[entry]) - first] = 0


@kernel
def add_products(start, stop, lists, heads, values):
    """Add to `values` the products of each row and the items of its list."""
    row = np.zeros(lists.shape[0], np.int64)
    for i in range(start, stop):
        add_products_of(i, 0, heads, row)
        for p in range(length_of(lists[i])):
            values[i, p] += row[lists[i, p]]
        clear_products_of(i, 0, heads, row)


@kernel
def add_ranker(start, stop, pool, lists, whole, heads, values):
    """Add to `values` what one ranker says of each row and the items of its pool, over several rounds.

    `whole` tells where the lists before the first round have each item. An item of the list counts in the last round;
    others in all rounds, and by how early they list the row's item.
    """
    n, length = lists.shape
    last = heads.tops.shape[0] - n
    row, total = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for i in range(start, stop):
        for entry in range(np.uint64(whole.ptr[i]), np.uint64(whole.ptr[i + 1])):
            total[whole.rows[entry]] = length - whole.columns[entry]
        for first in range(0, last, n):
            add_products_of(i, first, heads, total)
        clear(lists[i], total)
        add_products_of(i, last, heads, row)
        for c in range(length_of(pool[i])):
            item = np.uint64(pool[i, c])
            values[i, c] += row[item] + total[item]
        clear_products_of(i, last, heads, row)
        for first in range(0, last, n):
            clear_products_of(i, first, heads, total)
        for entry in range(np.uint64(whole.ptr[i]), np.uint64(whole.ptr[i + 1])):
            total[whole.rows[entry]] = 0
