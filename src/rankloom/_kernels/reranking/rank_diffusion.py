"""Diffusion over lists, one row or column at a time; float32 as it adds up, so that ties are as in the program."""

import numpy as np

from rankloom._kernels.jit import kernel
from rankloom._kernels.sparse_rows import clear, spread


@kernel
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
            if sums[lists[i, p]] > 0.0:
                P[i, p] = P[i, p] / sums[lists[i, p]]


@kernel
def step(start, stop, lists, W, P, damping, out):
    """Compute P W' at the listed items, then damp it and add the rest of the identity."""
    k = W.shape[1]
    width = P.shape[1]
    row = np.zeros(lists.shape[0], np.float32)
    rest = 1.0 - np.float64(damping)
    for i in range(start, stop):
        spread(lists[i, :width], P[i], row)
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
        clear(lists[i, :width], row)


@kernel
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


@kernel
def by_position(lists, back):
    """List for each item the rows that have it and its column there, by ascending column; `back.ptr` stays."""
    ptr, rows, columns = back
    for p in range(lists.shape[1]):
        for i in range(lists.shape[0]):
            j = lists[i, p]
            if j >= 0:
                rows[ptr[j]] = i
                columns[ptr[j]] = p
                ptr[j] += 1
    for j in range(ptr.size - 1, 0, -1):
        ptr[j] = ptr[j - 1]
    ptr[0] = 0


@kernel
def cube_columns(start, stop, lists, P, squared, back, out):
    """Compute P Q at the listed items, where Q is `squared` until its entries are replaced by the new ones.

    Column by column of the matrix: rows that list the item earlier are replaced first; those that list it at the same
    position, together.
    """
    ptr, rows, columns = back
    width = P.shape[1]
    now = np.zeros(lists.shape[0], np.float32)
    for j in range(start, stop):
        for entry in range(ptr[j], ptr[j + 1]):
            now[rows[entry]] = squared[rows[entry], columns[entry]]
        begin = ptr[j]
        while begin < ptr[j + 1]:
            position = columns[begin]
            end = begin
            while end < ptr[j + 1] and columns[end] == position:
                i = rows[end]
                total = np.float32(0)
                for p in range(width):
                    if lists[i, p] < 0:
                        break
                    total += P[i, p] * now[lists[i, p]]
                out[i, position] = total
                end += 1
            for entry in range(begin, end):
                now[rows[entry]] = out[rows[entry], position]
            begin = end
        for entry in range(ptr[j], ptr[j + 1]):
            now[rows[entry]] = 0.0
