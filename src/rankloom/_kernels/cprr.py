"""Cartesian products of ranking references: rows of the similarity matrix, one at a time."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add_once(item, amount, row, touched, count):
    """Add to `row` and remember the item the first time; return the number of items touched."""
    if row[item] == 0.0:
        touched[count] = item
        count += 1
    row[item] += amount
    return count


@njit(cache=True, nogil=True)
def product_row(i, tops, k, back_ptr, back_rows, back_columns, row, touched):
    """Add row i of the products of first items, and of the lists that refer to one item; return the number touched."""
    count = 0
    width = tops.shape[1]
    for entry in range(back_ptr[i], back_ptr[i + 1]):
        q = back_rows[entry]
        weight = 2.0 * (k - back_columns[entry])
        for p in range(width):
            if tops[q, p] < 0:
                break
            count = add_once(tops[q, p], weight * (k - p), row, touched, count)
    for p in range(1, width):
        x = tops[i, p]
        if x < 0:
            break
        for entry in range(back_ptr[x], back_ptr[x + 1]):
            if back_columns[entry] > 0:
                amount = 2.0 * (k - p) * (k - back_columns[entry])
                count = add_once(back_rows[entry], amount, row, touched, count)
    return count


@njit(cache=True, nogil=True)
def add_products(start, stop, pool, tops, k, back_ptr, back_rows, back_columns, values):
    """Add to `values` the products of each row and the items of its pool."""
    row = np.zeros(tops.shape[0], np.float64)
    touched = np.empty(tops.shape[0], np.int64)
    for i in range(start, stop):
        count = product_row(i, tops, k, back_ptr, back_rows, back_columns, row, touched)
        for c in range(pool.shape[1]):
            if pool[i, c] < 0:
                break
            values[i, c] += row[pool[i, c]]
        for t in range(count):
            row[touched[t]] = 0.0


@njit(cache=True, nogil=True)
def one_sided(start, stop, pool, lists, back_ptr, back_rows, back_columns, listed, values):
    """Mark the items of the pool that the list has; set `values` of the others by the position of i in their lists."""
    n, length = lists.shape
    mine = np.zeros(n, np.bool_)
    other = np.zeros(n, np.int32)
    for i in range(start, stop):
        for p in range(length):
            if lists[i, p] < 0:
                break
            mine[lists[i, p]] = True
        for entry in range(back_ptr[i], back_ptr[i + 1]):
            other[back_rows[entry]] = length - back_columns[entry]
        for c in range(pool.shape[1]):
            item = pool[i, c]
            listed[i, c] = item >= 0 and mine[item]
            values[i, c] = other[item] if item >= 0 and not mine[item] else 0.0
        for p in range(length):
            if lists[i, p] < 0:
                break
            mine[lists[i, p]] = False
        for entry in range(back_ptr[i], back_ptr[i + 1]):
            other[back_rows[entry]] = 0
