"""Mutual relations of items in a collection: reciprocal positions, rank-biased overlaps, and the rank graph."""

from typing import NamedTuple

import numpy as np

from rankloom._kernels.index.arguments import Transposed
from rankloom._kernels.jit import helper, kernel
from rankloom._kernels.lists import collect_items
from rankloom._kernels.sorting import sort_scratch, sort_smallest
from rankloom._kernels.sparse_rows import clear


class Order(NamedTuple):
    """How lists are sorted by the positions of two items in each other's list."""

    head: int  # how many of the first items are sorted; the others stay where they are
    backward: int  # the number from which positions in the other list are counted, if not those of the item itself
    with_larger: bool  # by the sum of both positions and the larger of them, not by the sum alone


class RankGraph(NamedTuple):
    """The first items of each list, the overlap with their lists, and where they are; all rankers, one by one."""

    tops: np.ndarray
    overlaps: np.ndarray
    back: Transposed


@kernel
def reorder(start, stop, lists, back, missing, order, out):
    """Stably sort lists by both positions; that in j's list is `missing[j]` if it does not have the row's item."""
    head, backward, with_larger = order
    ptr, rows, columns = back
    n, depth = lists.shape
    position = np.zeros(n, np.int32)
    cost = np.empty(head, np.int64)
    count = np.empty(3 * (max(depth, head) + 1) + 2, np.int64)
    for i in range(start, stop):
        for entry in range(ptr[i], ptr[i + 1]):
            position[rows[entry]] = columns[entry] + 1
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
        for entry in range(ptr[i], ptr[i + 1]):
            position[rows[entry]] = 0
        for c in range(1, count.size):
            count[c] += count[c - 1]
        for p in range(length):
            out[i, count[cost[p]]] = lists[i, p]
            count[cost[p]] += 1
        for p in range(length, depth):
            out[i, p] = lists[i, p]


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
        clear(lists[i, :k], position)


@helper
def add_graph_row(i, first, k, graph, row):
    """Add row i of the matrix A of one ranker, whose lists start at row `first` of the graph."""
    tops, S, back = graph
    ptr, rows, columns = back
    width = tops.shape[1]
    for p in range(min(k, width)):
        a = tops[first + i, p]
        if a < 0:
            break
        row[a] += 2.0 * S[first + i, p] ** 2
    for entry in range(ptr[first + i], ptr[first + i + 1]):
        q = np.int64(rows[entry])
        s = S[q, columns[entry]]
        if columns[entry] < k:
            row[q - first] += 2.0 * s**2
        for p in range(width):
            b = tops[q, p]
            if b < 0:
                break
            row[b] += 2.0 * s * S[q, p]


@helper
def clear_graph_row(i, first, graph, row):
    """Reset what `add_graph_row` has written to 0."""
    tops, _, back = graph
    ptr, rows, _ = back
    clear(tops[first + i], row)
    for entry in range(ptr[first + i], ptr[first + i + 1]):
        q = np.int64(rows[entry])
        row[q - first] = 0.0
        clear(tops[q], row)


@kernel
def rank_by_graph(start, stop, pools, k, graph, out):
    """Sort each row's pool by the distances 1 / (1 + A); with several rankers, by the product of 1 + distance.

    `pools` has shape (lists, rows, depth): the candidates are its items in order of appearance. `out` has the
    distances, which are rounded to float32; ties keep the order of the pool.
    """
    ranked, distances = out
    n = pools.shape[1]
    m = graph.tops.shape[0] // n
    row = np.zeros(n, np.float64)
    seen = np.zeros(n, np.bool_)
    capacity = pools.shape[0] * pools.shape[2]
    pool = np.empty(capacity + 1, np.int32)
    key, order, spare = sort_scratch(capacity)
    for i in range(start, stop):
        size = collect_items(i, pools, seen, pool)
        for c in range(size):
            seen[pool[c]] = False
            key[c] = 1.0
        for r in range(m):
            add_graph_row(i, r * n, k, graph, row)
            for c in range(size):
                distance = np.float64(np.float32(1.0 / (1.0 + row[pool[c]])))
                key[c] = distance if m == 1 else np.float64(np.float32(key[c] * (1.0 + distance)))
            clear_graph_row(i, r * n, graph, row)
        sort_smallest(key, size, ranked.shape[1], order, spare)
        for p in range(ranked.shape[1]):
            ranked[i, p] = pool[order[p]] if p < size else -1
            distances[i, p] = key[order[p]] if p < size else 1.0
