"""Products of sparse rows, lists extended by their entries, and components of a graph."""

import numpy as np

from rankloom._kernels.jit import helper, kernel
from rankloom._kernels.lists import length_of


@helper
def spread(items, values, row):
    """Write the value of each item of a list to `row`, which has an element for each item of the collection."""
    for p in range(items.size):
        if items[p] < 0:
            break
        row[items[p]] = values[p]


@helper
def clear(items, row):
    """Reset what `spread` has written to 0."""
    for p in range(items.size):
        if items[p] < 0:
            break
        row[items[p]] = 0


@helper
def spread_row(i, rows, row):
    """Write the values of row i of a sparse matrix to `row`."""
    ptr, items, values = rows
    for entry in range(ptr[i], ptr[i + 1]):
        row[items[entry]] = values[entry]


@helper
def clear_row(i, rows, row, empty):
    """Replace what `spread_row` has written by the value `empty`."""
    ptr, items = rows.ptr, rows.items
    for entry in range(ptr[i], ptr[i + 1]):
        row[items[entry]] = empty


@kernel
def row_products(start, stop, lists, rows, out):
    """Multiply the sparse row of each item with those of the items of its list."""
    ptr, items, values = rows
    row = np.zeros(lists.shape[0], np.float64)
    for i in range(start, stop):
        spread_row(i, rows, row)
        for p in range(length_of(lists[i])):
            j = lists[i, p]
            total = np.float64(0)
            for entry in range(ptr[j], ptr[j + 1]):
                total += row[items[entry]] * values[entry]
            out[i, p] = total
        clear_row(i, rows, row, 0.0)


@kernel
def extend_lists(start, stop, lists, rows, own, out):
    """Sort each list and the other items of its sparse row, those by number, by descending value; own item first.

    Items of the list without a value have 0; others count only if they are above 0. `own`, if not 0, is the value of
    the item itself. `out` has the sorted values.
    """
    out_items, scores = out
    ptr, items, values = rows
    n, width = lists.shape
    value = np.zeros(n, np.float64)
    listed = np.zeros(n, np.bool_)
    pool = np.empty(n, np.int32)
    for i in range(start, stop):
        spread_row(i - start, rows, value)
        if own != 0:
            value[i] = own
        size = length_of(lists[i])
        for p in range(size):
            pool[p] = lists[i, p]
            listed[pool[p]] = True
        if size > 0:
            for entry in range(ptr[i - start], ptr[i - start + 1]):
                if not listed[items[entry]] and values[entry] > 0:
                    pool[size] = items[entry]
                    size += 1
        found = np.argsort(-value[pool[:size]], kind="mergesort")
        for p in range(width):
            out_items[i, p] = pool[found[p]] if p < size else -1
            scores[i, p] = value[pool[found[p]]] if p < size else 0.0
        for p in range(1, min(size, width)):
            if out_items[i, p] == i:
                out_items[i, p] = out_items[i, 0]
        if size > 0:
            out_items[i, 0] = i
        clear(lists[i], listed)
        clear_row(i - start, rows, value, 0.0)
        value[i] = 0.0


@kernel
def join_components(firsts, seconds, root):
    """Join the components of pairs of items, in order; a component is known by the root of the first of the pair."""
    for entry in range(firsts.size):
        pair = np.array([firsts[entry], seconds[entry]], np.int64)
        for side in range(2):
            while root[pair[side]] != pair[side]:
                root[pair[side]] = root[root[pair[side]]]
                pair[side] = root[pair[side]]
        root[pair[1]] = pair[0]
    for i in range(root.size):
        while root[root[i]] != root[i]:
            root[i] = root[root[i]]
