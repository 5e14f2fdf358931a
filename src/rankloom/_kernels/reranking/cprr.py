"""Cartesian products of ranking references: rows of the similarity matrix, one at a time."""

import numpy as np

from rankloom._kernels.jit import helper, kernel


@helper
def add_products_of(i, first, tops, k, back_ptr, back_rows, back_columns, row):
    """Add row i of the products of first items, and of the lists that refer to one item.

    The lists start at row `first` of `tops`. Weights are added as integers, which is much faster.
    """
    width = np.uint64(tops.shape[1])
    for entry in range(np.uint64(back_ptr[first + i]), np.uint64(back_ptr[first + i + 1])):
        q = back_rows[entry]
        weight = 2 * (k - np.int64(back_columns[entry]))
        for p in range(width):
            if tops[q, p] < 0:
                break
            row[tops[q, p]] += weight * (k - np.int64(p))
    for p in range(np.uint64(1), width):
        x = tops[first + i, p]
        if x < 0:
            break
        weight = 2 * (k - np.int64(p))
        for entry in range(np.uint64(back_ptr[first + x]), np.uint64(back_ptr[first + x + 1])):
            if back_columns[entry] > 0:
                row[np.int64(back_rows[entry]) - first] += weight * (k - np.int64(back_columns[entry]))


@helper
def clear_products_of(i, first, tops, back_ptr, back_rows, row):
    """Reset what `add_products_of` has written; a short row as a whole, which is faster."""
    width = np.uint64(tops.shape[1])
    if row.size < 8 * width * width:
        row[:] = 0
        return
    for entry in range(np.uint64(back_ptr[first + i]), np.uint64(back_ptr[first + i + 1])):
        for p in range(width):
            if tops[back_rows[entry], p] < 0:
                break
            row[tops[back_rows[entry], p]] = 0
    for p in range(np.uint64(1), width):
        x = tops[first + i, p]
        if x < 0:
            break
        for entry in range(np.uint64(back_ptr[first + x]), np.uint64(back_ptr[first + x + 1])):
            row[np.int64(back_rows[entry]) - first] = 0


@kernel
def add_products(start, stop, lists, tops, k, back_ptr, back_rows, back_columns, values):
    """Add to `values` the products of each row and the items of its list."""
    row = np.zeros(tops.shape[0], np.int64)
    for i in range(start, stop):
        add_products_of(i, 0, tops, k, back_ptr, back_rows, back_columns, row)
        for p in range(lists.shape[1]):
            if lists[i, p] < 0:
                break
            values[i, p] += row[lists[i, p]]
        clear_products_of(i, 0, tops, back_ptr, back_rows, row)


@kernel
def add_ranker(start, stop, pool, lists, whole, tops, k, back, values):
    """Add to `values` what one ranker says of each row and the items of its pool, over several rounds.

    `tops` holds the first items of all rounds, one after the other, and `back` where they are; `whole`, where the lists
    before the first round have each item: pointers, rows and columns. An item of the list counts in the last round;
    others in all rounds, and by how early they list the row's item.
    """
    n, length = lists.shape
    last = tops.shape[0] - n
    row, total = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for i in range(start, stop):
        for entry in range(np.uint64(whole[0][i]), np.uint64(whole[0][i + 1])):
            total[whole[1][entry]] = length - whole[2][entry]
        for first in range(0, last, n):
            add_products_of(i, first, tops, k, back[0], back[1], back[2], total)
        for p in range(length):
            if lists[i, p] < 0:
                break
            total[np.uint64(lists[i, p])] = 0
        add_products_of(i, last, tops, k, back[0], back[1], back[2], row)
        for c in range(pool.shape[1]):
            if pool[i, c] < 0:
                break
            item = np.uint64(pool[i, c])
            values[i, c] += row[item] + total[item]
        clear_products_of(i, last, tops, back[0], back[1], row)
        for first in range(0, last, n):
            clear_products_of(i, first, tops, back[0], back[1], total)
        for entry in range(np.uint64(whole[0][i]), np.uint64(whole[0][i + 1])):
            total[whole[1][entry]] = 0
