"""Lists sorted again by values of their items, and values from positions in both directions; float32 throughout."""

import numpy as np

from rankloom._kernels.jit import kernel
from rankloom._kernels.lists import collect_items, length_of
from rankloom._kernels.sorting import copy_first, descending_key, sort_order, sort_smallest
from rankloom._kernels.sparse_rows import clear, spread


@kernel
def rerank(start, stop, lists, values, fixed, aligned, out):
    """Sort each list by descending value, stably, and swap the item itself into the first position.

    The first `fixed` positions stay as they are. `out` has the sorted values; if `aligned`, the two swapped items keep
    their own.
    """
    items, scores = out
    width = lists.shape[1]
    wanted = items.shape[1]
    bits = values.view(np.uint32)
    few = wanted * 16 <= width
    value = np.empty(width if few else 0, np.float64)
    place, spare_place = np.empty((2, width if few else 0), np.int64)
    order, key = np.empty(width, np.uint32), np.empty(width, np.uint32)
    pair, spare = np.empty(width + 1, np.uint64), np.empty(width + 1, np.uint64)
    count = np.empty((4, 256), np.uint32)
    for i in range(start, stop):
        size = length_of(lists[i])
        if few:
            for p in range(size):
                value[p] = -values[i, p] if p >= fixed else -np.inf
            sort_smallest(value, size, wanted, place, spare_place)
            for p in range(min(wanted, size)):
                order[p] = place[p]
        else:
            for p in range(size):
                key[p] = descending_key(bits[i, p]) if p >= fixed else np.uint32(0)
            sort_order(key, size, order, pair, spare, count)
        own = -1
        for p in range(wanted):
            items[i, p] = lists[i, order[p]] if p < size else -1
            scores[i, p] = values[i, order[p]] if p < size else 0.0
            if items[i, p] == i:
                own = p
        if own > 0:
            items[i, own] = items[i, 0]
            if aligned:
                scores[i, 0], scores[i, own] = scores[i, own], scores[i, 0]
        if size > 0 and wanted > 0:
            items[i, 0] = i


@kernel
def both_positions(start, stop, lists, back, base, share, smallest, out):
    """Add `share[p]` to `base` for position p of j in i's list, and for that of i in j's list; or take the smallest.

    The smaller item number adds first, as in a loop over all lists, so that float32 sums round the same way.
    """
    ptr, rows, columns = back
    column = np.full(lists.shape[0], -1, np.int32)
    for i in range(start, stop):
        for entry in range(ptr[i], ptr[i + 1]):
            column[rows[entry]] = columns[entry]
        for p in range(length_of(lists[i])):
            j = lists[i, p]
            mine = share[p]
            other = share[column[j]] if column[j] >= 0 else np.float32(0)
            if smallest:
                out[i, p] = min(base[i, p], mine)
                if column[j] >= 0:
                    out[i, p] = min(out[i, p], other)
            else:
                first, second = (mine, other) if i <= j else (other, mine)
                out[i, p] = np.float32(np.float32(base[i, p] + first) + second)
        for entry in range(ptr[i], ptr[i + 1]):
            column[rows[entry]] = -1


@kernel
def pooled(start, stop, lists, out):
    """Write the items of several rankers' lists in order of appearance, padded."""
    seen = np.zeros(lists.shape[1], np.bool_)
    pool = np.empty(lists.shape[1] + 1, np.int32)
    for i in range(start, stop):
        size = collect_items(i, lists, seen, pool)
        for p in range(size):
            seen[pool[p]] = False
        copy_first(pool, size, out[i])
        out[i, size:] = -1


@kernel
def add_values(start, stop, pool, lists, values, total):
    """Add to `total` the value of each item of the pool that is in the list of its row."""
    found = np.zeros(pool.shape[0], np.float64)
    for i in range(start, stop):
        spread(lists[i], values[i], found)
        for c in range(length_of(pool[i])):
            total[i, c] += found[pool[i, c]]
        clear(lists[i], found)
