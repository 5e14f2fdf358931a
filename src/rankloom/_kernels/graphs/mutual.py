"""Mutual relations of items in a collection: reciprocal positions, rank-biased overlaps, and the rank graph."""

import numpy as np

from rankloom._kernels.jit import helper, kernel
from rankloom._kernels.lists import collect_items
from rankloom._kernels.sorting import sort_smallest


@kernel
def reorder(start, stop, lists, head, missing, backward, with_larger, back_ptr, back_rows, back_columns, out):
    """Stably sort the first `head` items by the sum of both positions, plus the larger of the two if `with_larger`.

    The position in j's list is counted from `backward` (from 1 for the item itself), and is `missing[j]` if j's list
    does not have the row's item. `out` has the width of `lists`; items after `head` stay where they are.
    """
    n, depth = lists.shape
    position = np.zeros(n, np.int32)
    cost = np.empty(head, np.int64)
    count = np.empty(3 * (max(depth, head) + 1) + 2, np.int64)
    for i in range(start, stop):
        for entry in range(back_ptr[i], back_ptr[i + 1]):
            position[back_rows[entry]] = back_columns[entry] + 1
        count[:] = 0
        length = 0
        while length < head and lists[i, length] >= 0:
            j = lists[i, length]
            mine = length + 1
            other = np.int64(position[j])
            if other == 0:
                other = np.int64(missing[j])
            if j != i:
                other += backward - 1
            cost[length] = mine + other + (max(mine, other) if with_larger else 0)
            count[cost[length] + 1] += 1
            length += 1
        for entry in range(back_ptr[i], back_ptr[i + 1]):
            position[back_rows[entry]] = 0
        for c in range(1, count.size):
            count[c] += count[c - 1]
        for p in range(length):
            out[i, count[cost[p]]] = lists[i, p]
            count[cost[p]] += 1
        for p in range(length, depth):
            out[i, p] = lists[i, p]


@kernel
def swap_first(lists):
    """Swap each item with the first of its own list, if it is listed."""
    for i in range(lists.shape[0]):
        for p in range(lists.shape[1]):
            if lists[i, p] == i:
                lists[i, p] = lists[i, 0]
                lists[i, 0] = i
                break


@kernel
def overlaps(start, stop, lists, k, tail, out):
    """Fill `out` with the rank-biased overlap of row i's list and the lists of its first items.

    An item in both lists counts from the depth d at which both have it: it adds `tail[d]`.
    """
    position = np.zeros(lists.shape[0], np.int32)
    k = min(k, lists.shape[1])
    for i in range(start, stop):
        for p in range(k):
            if lists[i, p] < 0:
                break
            position[lists[i, p]] = p + 1
        for column in range(out.shape[1]):
            j = lists[i, column]
            total = np.float64(0)
            if j >= 0:
                for p in range(k):
                    item = lists[j, p]
                    if item < 0:
                        break
                    if position[item] > 0:
                        total += tail[max(p + 1, position[item])]
            out[i, column] = total
        for p in range(k):
            if lists[i, p] < 0:
                break
            position[lists[i, p]] = 0


@helper
def add_graph_row(i, first, k, tops, S, back_ptr, back_rows, back_columns, row):
    """Add row i of the matrix A of one ranker, whose lists start at row `first` of `tops` and `S`."""
    width = tops.shape[1]
    for p in range(min(k, width)):
        a = tops[first + i, p]
        if a < 0:
            break
        row[a] += 2.0 * S[first + i, p] ** 2
    for entry in range(back_ptr[first + i], back_ptr[first + i + 1]):
        q = np.int64(back_rows[entry])
        s = S[q, back_columns[entry]]
        if back_columns[entry] < k:
            row[q - first] += 2.0 * s**2
        for p in range(width):
            b = tops[q, p]
            if b < 0:
                break
            row[b] += 2.0 * s * S[q, p]


@helper
def clear_graph_row(i, first, tops, back_ptr, back_rows, row):
    """Reset `row` to 0."""
    for p in range(tops.shape[1]):
        if tops[first + i, p] < 0:
            break
        row[tops[first + i, p]] = 0.0
    for entry in range(back_ptr[first + i], back_ptr[first + i + 1]):
        q = np.int64(back_rows[entry])
        row[q - first] = 0.0
        for p in range(tops.shape[1]):
            if tops[q, p] < 0:
                break
            row[tops[q, p]] = 0.0


@kernel
def rank_by_graph(start, stop, pools, k, tops, S, back_ptr, back_rows, back_columns, out, distances):
    """Sort each row's pool by the distances 1 / (1 + A); with several rankers, by the product of 1 + distance.

    `pools` has shape (lists, rows, depth): the candidates are its items in order of appearance. `tops` and `S` hold
    the rankers one after the other. Distances are rounded to float32; ties keep the order of the pool.
    """
    n = pools.shape[1]
    m = tops.shape[0] // n
    row = np.zeros(n, np.float64)
    seen = np.zeros(n, np.bool_)
    capacity = pools.shape[0] * pools.shape[2]
    pool = np.empty(capacity + 1, np.int32)
    key = np.empty(capacity, np.float64)
    order = np.empty(capacity, np.int64)
    spare = np.empty(capacity, np.int64)
    for i in range(start, stop):
        size = collect_items(i, pools, seen, pool)
        for c in range(size):
            seen[pool[c]] = False
            key[c] = 1.0
        for r in range(m):
            add_graph_row(i, r * n, k, tops, S, back_ptr, back_rows, back_columns, row)
            for c in range(size):
                distance = np.float64(np.float32(1.0 / (1.0 + row[pool[c]])))
                key[c] = distance if m == 1 else np.float64(np.float32(key[c] * (1.0 + distance)))
            clear_graph_row(i, r * n, tops, back_ptr, back_rows, row)
        sort_smallest(key, size, out.shape[1], order, spare)
        for p in range(out.shape[1]):
            out[i, p] = pool[order[p]] if p < size else -1
            distances[i, p] = key[order[p]] if p < size else 1.0
