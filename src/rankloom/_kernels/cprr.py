"""Cartesian products of ranking references: rows of the similarity matrix, one at a time."""

import numpy as np
from numba import njit

IN_POOL, IN_LIST = 1, 2


@njit(cache=True, nogil=True)
def add_once(item, amount, row, touched, count):
    """Add to `row` and remember the item the first time; return the number of items touched."""
    if row[item] == 0.0:
        touched[count] = item
        count += 1
    row[item] += amount
    return count


@njit(cache=True, nogil=True)
def product_row(i, first, tops, k, back_ptr, back_rows, back_columns, row, touched):
    """Add row i of the products of first items, and of the lists that refer to one item; return the number touched.

    The lists start at row `first` of `tops`.
    """
    count = 0
    width = tops.shape[1]
    for entry in range(back_ptr[first + i], back_ptr[first + i + 1]):
        q = back_rows[entry]
        weight = 2.0 * (k - back_columns[entry])
        for p in range(width):
            if tops[q, p] < 0:
                break
            count = add_once(tops[q, p], weight * (k - p), row, touched, count)
    for p in range(1, width):
        x = tops[first + i, p]
        if x < 0:
            break
        for entry in range(back_ptr[first + x], back_ptr[first + x + 1]):
            if back_columns[entry] > 0:
                amount = 2.0 * (k - p) * (k - back_columns[entry])
                count = add_once(np.int64(back_rows[entry]) - first, amount, row, touched, count)
    return count


@njit(cache=True, nogil=True)
def add_products(start, stop, lists, tops, k, back_ptr, back_rows, back_columns, values):
    """Add to `values` the products of each row and the items of its list."""
    row = np.zeros(tops.shape[0], np.float64)
    touched = np.empty(tops.shape[0], np.int64)
    for i in range(start, stop):
        count = product_row(i, 0, tops, k, back_ptr, back_rows, back_columns, row, touched)
        for p in range(lists.shape[1]):
            if lists[i, p] < 0:
                break
            values[i, p] += row[lists[i, p]]
        for t in range(count):
            row[touched[t]] = 0.0


@njit(cache=True, nogil=True)
def add_ranker(start, stop, pool, lists, whole, tops, k, back, values):
    """Add to `values` what one ranker says of each row and the items of its pool, over several rounds.

    `tops` holds the first items of all rounds, one after the other, and `back` where they are; `whole`, where the lists
    before the first round have each item: pointers, rows and columns. An item of the list counts in the last round;
    others in all rounds, and by how early they list the row's item.
    """
    n, length = lists.shape
    state = np.zeros(n, np.int8)
    total, row = np.zeros(n, np.float64), np.zeros(n, np.float64)
    touched = np.empty(n, np.int64)
    for i in range(start, stop):
        size = 0
        while size < pool.shape[1] and pool[i, size] >= 0:
            state[pool[i, size]] = IN_POOL
            size += 1
        for p in range(length):
            if lists[i, p] < 0:
                break
            state[lists[i, p]] = IN_LIST
        for entry in range(whole[0][i], whole[0][i + 1]):
            if state[whole[1][entry]] == IN_POOL:
                total[whole[1][entry]] = length - whole[2][entry]
        for first in range(0, tops.shape[0], n):
            count = product_row(i, first, tops, k, back[0], back[1], back[2], row, touched)
            for t in range(count):
                item = touched[t]
                if state[item] == IN_POOL or (state[item] == IN_LIST and first + n == tops.shape[0]):
                    total[item] += row[item]
                row[item] = 0.0
        for c in range(size):
            values[i, c] += total[pool[i, c]]
            total[pool[i, c]] = 0.0
            state[pool[i, c]] = 0
