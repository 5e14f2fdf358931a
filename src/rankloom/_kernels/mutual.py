"""Collection lists looked at both ways: places in return, rank-biased overlaps, and the rank graph."""

import numpy as np
from numba import njit

from rankloom._kernels.sorting import sort_smallest


@njit(cache=True, nogil=True)
def reorder(start, stop, lists, head, missing, backward, with_larger, back_ptr, back_rows, back_places, out):
    """Stable order of the first `head` places by place there and back; the larger of both counts twice if asked for.

    The place back is counted from `backward` (but an item's own from 1), and is `missing[j]` where j's list does
    not have the row's item. `out` has the width of `lists`; places after `head` stay as they are.
    """
    n, depth = lists.shape
    position = np.zeros(n, np.int32)
    cost = np.empty(head, np.int64)
    count = np.empty(3 * (max(depth, head) + 1) + 2, np.int64)
    for i in range(start, stop):
        for entry in range(back_ptr[i], back_ptr[i + 1]):
            position[back_rows[entry]] = back_places[entry] + 1
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
        for place in range(length):
            out[i, count[cost[place]]] = lists[i, place]
            count[cost[place]] += 1
        for place in range(length, depth):
            out[i, place] = lists[i, place]


@njit(cache=True, nogil=True)
def swap_first(lists):
    """Exchange the item itself with the first of its list, where it is in it."""
    for i in range(lists.shape[0]):
        for place in range(lists.shape[1]):
            if lists[i, place] == i:
                lists[i, place] = lists[i, 0]
                lists[i, 0] = i
                break


@njit(cache=True, nogil=True)
def overlaps(start, stop, lists, k, tail, out):
    """Rank-biased overlap of row i's list and that of each of its first items, as many as `out` is wide.

    An item in both lists counts from the depth at which both have it: `tail[d]` is what it adds from d to k.
    """
    position = np.zeros(lists.shape[0], np.int32)
    k = min(k, lists.shape[1])
    for i in range(start, stop):
        for place in range(k):
            if lists[i, place] < 0:
                break
            position[lists[i, place]] = place + 1
        for column in range(out.shape[1]):
            j = lists[i, column]
            total = np.float64(0)
            if j >= 0:
                for place in range(k):
                    item = lists[j, place]
                    if item < 0:
                        break
                    if position[item] > 0:
                        total += tail[max(place + 1, position[item])]
            out[i, column] = total
        for place in range(k):
            if lists[i, place] < 0:
                break
            position[lists[i, place]] = 0


@njit(cache=True, nogil=True)
def add_graph_row(i, first, k, tops, S, back_ptr, back_rows, back_places, row):
    """Add row i of the matrix A of one ranker, whose lists stand from `first` on in `tops` and `S`."""
    width = tops.shape[1]
    for place in range(min(k, width)):
        a = tops[first + i, place]
        if a < 0:
            break
        row[a] += 2.0 * S[first + i, place] ** 2
    for entry in range(back_ptr[first + i], back_ptr[first + i + 1]):
        q = np.int64(back_rows[entry])
        s = S[q, back_places[entry]]
        if back_places[entry] < k:
            row[q - first] += 2.0 * s**2
        for place in range(width):
            b = tops[q, place]
            if b < 0:
                break
            row[b] += 2.0 * s * S[q, place]


@njit(cache=True, nogil=True)
def clear_graph_row(i, first, tops, back_ptr, back_rows, row):
    """Make `row` zeros again."""
    for place in range(tops.shape[1]):
        if tops[first + i, place] < 0:
            break
        row[tops[first + i, place]] = 0.0
    for entry in range(back_ptr[first + i], back_ptr[first + i + 1]):
        q = np.int64(back_rows[entry])
        row[q - first] = 0.0
        for place in range(tops.shape[1]):
            if tops[q, place] < 0:
                break
            row[tops[q, place]] = 0.0


@njit(cache=True, nogil=True)
def rank_by_graph(start, stop, pools, k, tops, S, back_ptr, back_rows, back_places, out, distances):
    """Order each row's pool by its distances 1 / (1 + A), several rankers' multiplied as 1 + distance.

    `pools` is of shape (lists, rows, depth): candidates are their items in the order first seen. `tops` and `S`
    hold the rankers one after the other. Distances are rounded to float32; ties keep the order of the pool.
    """
    n = pools.shape[1]
    m = tops.shape[0] // n
    row = np.zeros(n, np.float64)
    met = np.zeros(n, np.bool_)
    room = pools.shape[0] * pools.shape[2]
    pool = np.empty(room, np.int32)
    key = np.empty(room, np.float64)
    order = np.empty(room, np.int64)
    spare = np.empty(room, np.int64)
    for i in range(start, stop):
        size = 0
        for r in range(pools.shape[0]):
            for place in range(pools.shape[2]):
                item = pools[r, i, place]
                if item < 0:
                    break
                if not met[item]:
                    met[item] = True
                    pool[size] = item
                    size += 1
        for c in range(size):
            met[pool[c]] = False
            key[c] = 1.0
        for r in range(m):
            add_graph_row(i, r * n, k, tops, S, back_ptr, back_rows, back_places, row)
            for c in range(size):
                distance = np.float64(np.float32(1.0 / (1.0 + row[pool[c]])))
                key[c] = distance if m == 1 else np.float64(np.float32(key[c] * (1.0 + distance)))
            clear_graph_row(i, r * n, tops, back_ptr, back_rows, row)
        sort_smallest(key, size, out.shape[1], order, spare)
        for place in range(out.shape[1]):
            out[i, place] = pool[order[place]] if place < size else -1
            distances[i, place] = key[order[place]] if place < size else 1.0
