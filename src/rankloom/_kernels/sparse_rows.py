"""Products of sparse rows, lists extended by their entries, and components of a graph."""

import numpy as np

from rankloom._kernels.jit import kernel


@kernel
def row_products(start, stop, lists, ptr, items, values, out):
    """Multiply the sparse row of each item with those of the items of its list."""
    row = np.zeros(lists.shape[0], np.float64)
    for i in range(start, stop):
        for entry in range(ptr[i], ptr[i + 1]):
            row[items[entry]] = values[entry]
        for p in range(lists.shape[1]):
            j = lists[i, p]
            if j < 0:
                break
            total = np.float64(0)
            for entry in range(ptr[j], ptr[j + 1]):
                total += row[items[entry]] * values[entry]
            out[i, p] = total
        for entry in range(ptr[i], ptr[i + 1]):
            row[items[entry]] = 0.0


@kernel
def extend_lists(start, stop, lists, ptr, items, values, own, out, scores):
    """Sort each list and the other items of its sparse row, those by number, by descending value; own item first.

    Items of the list without a value have 0; others count only if they are above 0. `own`, if not 0, is the value of
    the item itself. `scores` are the sorted values.
    """
    n, width = lists.shape
    value = np.zeros(n, np.float64)
    listed = np.zeros(n, np.bool_)
    pool = np.empty(n, np.int32)
    for i in range(start, stop):
        for entry in range(ptr[i - start], ptr[i - start + 1]):
            value[items[entry]] = values[entry]
        if own != 0:
            value[i] = own
        size = 0
        while size < width and lists[i, size] >= 0:
            pool[size] = lists[i, size]
            listed[pool[size]] = True
            size += 1
        if size > 0:
            for entry in range(ptr[i - start], ptr[i - start + 1]):
                if not listed[items[entry]] and values[entry] > 0:
                    pool[size] = items[entry]
                    size += 1
        found = np.argsort(-value[pool[:size]], kind="mergesort")
        for p in range(width):
            out[i, p] = pool[found[p]] if p < size else -1
            scores[i, p] = value[pool[found[p]]] if p < size else 0.0
        for p in range(1, min(size, width)):
            if out[i, p] == i:
                out[i, p] = out[i, 0]
        if size > 0:
            out[i, 0] = i
        for p in range(width):
            if lists[i, p] < 0:
                break
            listed[lists[i, p]] = False
        for entry in range(ptr[i - start], ptr[i - start + 1]):
            value[items[entry]] = 0.0
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
