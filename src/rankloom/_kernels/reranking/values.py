"""Lists sorted again by values of their items, and values from positions in both directions; float32 throughout."""

import numpy as np

from rankloom._kernels.jit import kernel
from rankloom._kernels.lists import collect_items
from rankloom._kernels.sorting import copy_first, descending_key, sort_order, sort_smallest


@kernel
def rerank(start, stop, lists, values, bits, fixed, aligned, out, scores):
    """Sort each list by descending value, stably, and swap the item itself into the first position.

    `bits` are the values as unsigned integers. The first `fixed` positions stay as they are. `scores` are the sorted
    values; if `aligned`, the two swapped items keep their own.
    """
    width = lists.shape[1]
    wanted = out.shape[1]
    few = wanted * 16 <= width
    value = np.empty(width if few else 0, np.float64)
    place, spare_place = np.empty((2, width if few else 0), np.int64)
    order, key = np.empty(width, np.uint32), np.empty(width, np.uint32)
    pair, spare = np.empty(width + 1, np.uint64), np.empty(width + 1, np.uint64)
    count = np.empty((4, 256), np.uint32)
    for i in range(start, stop):
        size = 0
        while size < width and lists[i, size] >= 0:
            size += 1
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
            out[i, p] = lists[i, order[p]] if p < size else -1
            scores[i, p] = values[i, order[p]] if p < size else 0.0
            if out[i, p] == i:
                own = p
        if own > 0:
            out[i, own] = out[i, 0]
            if aligned:
                scores[i, 0], scores[i, own] = scores[i, own], scores[i, 0]
        if size > 0 and wanted > 0:
            out[i, 0] = i


@kernel
def both_positions(start, stop, lists, base, share, smallest, back_ptr, back_rows, back_columns, out):
    """Add `share[p]` to `base` for position p of j in i's list, and for that of i in j's list; or take the smallest.

    The smaller item number adds first, as in a loop over all lists, so that float32 sums round the same way.
    """
    n, width = lists.shape
    column = np.full(n, -1, np.int32)
    for i in range(start, stop):
        for entry in range(back_ptr[i], back_ptr[i + 1]):
            column[back_rows[entry]] = back_columns[entry]
        for p in range(width):
            j = lists[i, p]
            if j < 0:
                break
            one = share[p]
            other = share[column[j]] if column[j] >= 0 else np.float32(0)
            if smallest:
                out[i, p] = min(base[i, p], one)
                if column[j] >= 0:
                    out[i, p] = min(out[i, p], other)
            else:
                first, second = (one, other) if i <= j else (other, one)
                out[i, p] = np.float32(np.float32(base[i, p] + first) + second)
        for entry in range(back_ptr[i], back_ptr[i + 1]):
            column[back_rows[entry]] = -1


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
        for p in range(lists.shape[1]):
            if lists[i, p] < 0:
                break
            found[lists[i, p]] = values[i, p]
        for c in range(pool.shape[1]):
            if pool[i, c] < 0:
                break
            total[i, c] += found[pool[i, c]]
        for p in range(lists.shape[1]):
            if lists[i, p] < 0:
                break
            found[lists[i, p]] = 0.0
