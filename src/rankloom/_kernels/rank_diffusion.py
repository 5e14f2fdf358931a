"""Diffusion over lists, one row or column at a time; float32 as it adds up, so that ties are as in the program."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def divide_columns(lists, width, P):
    """Divide the entries of the first `width` columns of the lists by the sum of their item's entries."""
    n = lists.shape[0]
    sums = np.zeros(n, np.float32)
    for i in range(n):
        for p in range(width):
            if lists[i, p] < 0:
                break
            sums[lists[i, p]] += P[i, p]
    for i in range(n):
        for p in range(width):
            if lists[i, p] < 0:
                break
            P[i, p] = P[i, p] / sums[lists[i, p]]


@njit(cache=True, nogil=True)
def step(start, stop, lists, W, P, damping, out):
    """Compute P W' at the listed items, then damp it and add the rest of the identity."""
    k = W.shape[1]
    width = P.shape[1]
    row = np.zeros(lists.shape[0], np.float32)
    rest = 1.0 - np.float64(damping)
    for i in range(start, stop):
        for p in range(width):
            if lists[i, p] < 0:
                break
            row[lists[i, p]] = P[i, p]
        for p in range(width):
            j = lists[i, p]
            if j < 0:
                break
            total = np.float32(0)
            for c in range(k):
                if lists[j, c] < 0:
                    break
                total += row[lists[j, c]] * W[j, c]
            total *= damping
            out[i, p] = np.float32(np.float64(total) + rest) if j == i else total
        for p in range(width):
            if lists[i, p] < 0:
                break
            row[lists[i, p]] = 0.0


@njit(cache=True, nogil=True)
def square(start, stop, lists, P, out):
    """Compute P P at the items of the whole lists."""
    n, length = lists.shape
    width = P.shape[1]
    row = np.zeros(n, np.float32)
    for i in range(start, stop):
        for p in range(width):
            m = lists[i, p]
            if m < 0:
                break
            weight = P[i, p]
            if weight > 0.0:
                for c in range(width):
                    if lists[m, c] < 0:
                        break
                    row[lists[m, c]] += weight * P[m, c]
        for p in range(length):
            if lists[i, p] < 0:
                break
            out[i, p] = row[lists[i, p]]
        row[:] = 0.0


@njit(cache=True, nogil=True)
def cube_columns(start, stop, lists, P, squared, order, back_ptr, back_rows, back_columns, out):
    """Compute P Q at the listed items, where Q is `squared` until its entries are replaced by the new ones.

    Column by column of the matrix: rows that list the item earlier are replaced first; those that list it at the same
    position, together. `order` sorts the entries of each column by that position.
    """
    n = lists.shape[0]
    width = P.shape[1]
    column = np.zeros(n, np.float32)
    for j in range(start, stop):
        for entry in range(back_ptr[j], back_ptr[j + 1]):
            column[back_rows[entry]] = squared[back_rows[entry], back_columns[entry]]
        begin = back_ptr[j]
        while begin < back_ptr[j + 1]:
            position = back_columns[order[begin]]
            end = begin
            while end < back_ptr[j + 1] and back_columns[order[end]] == position:
                i = back_rows[order[end]]
                total = np.float32(0)
                for p in range(width):
                    if lists[i, p] < 0:
                        break
                    total += P[i, p] * column[lists[i, p]]
                out[i, position] = total
                end += 1
            for at in range(begin, end):
                column[back_rows[order[at]]] = out[back_rows[order[at]], position]
            begin = end
        for entry in range(back_ptr[j], back_ptr[j + 1]):
            column[back_rows[entry]] = 0.0
