"""Ranked lists: an order that keeps neighbors close, lists turned round, and Eq. 1."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rankloom._kernels import frozen

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def visiting_order(lists):
    """Items in breadth-first order over their own lists, so that items near each other stand together."""
    n, depth = lists.shape
    order = np.empty(n, np.int32)
    met = np.zeros(n, np.bool_)
    head = tail = 0
    for root in range(n):
        if met[root]:
            continue
        met[root] = True
        order[tail] = root
        tail += 1
        while head < tail:
            row = order[head]
            head += 1
            for place in range(depth):
                item = lists[row, place]
                if item < 0:
                    break
                if not met[item]:
                    met[item] = True
                    order[tail] = item
                    tail += 1
    return order


@njit(cache=True, nogil=True)
def relabel(start, stop, rows, names, lists, out):
    """Rows `rows[start:stop]` of `lists`, each item under its new name."""
    for i in range(start, stop):
        row = rows[i]
        for place in range(out.shape[1]):
            item = lists[row, place]
            out[i, place] = names[item] if item >= 0 else item


@njit(cache=True, nogil=True)
def transpose(ptr, items, back_ptr, back_rows, back_places):
    """For each item the rows of a CSR matrix that hold it, ascending, and its place in each (if asked for)."""
    back_ptr[:] = 0
    for item in items:
        back_ptr[item + 1] += 1
    for item in range(1, back_ptr.size):
        back_ptr[item] += back_ptr[item - 1]
    # While rows are filled in, back_ptr[item] is the end of what stands there; then it moves up by one item.
    for row in range(ptr.size - 1):
        for entry in range(ptr[row], ptr[row + 1]):
            end = back_ptr[items[entry]]
            back_ptr[items[entry]] += 1
            back_rows[end] = row
            if back_places.size:
                back_places[end] = entry - ptr[row]
    for item in range(back_ptr.size - 1, 0, -1):
        back_ptr[item] = back_ptr[item - 1]
    back_ptr[0] = 0


def transposed(ptr: Array, items: Array, n_items: int, *, places: bool) -> tuple[Array, Array, Array]:
    """Allocate for `transpose` and call it: NumPy asks for huge pages, and a large result is made twice as fast."""
    back = (
        np.empty(n_items + 1, np.int64),
        np.empty(items.size, np.uint32),
        np.empty(items.size if places else 0, np.int32),
    )
    transpose(ptr, items, *back)
    return frozen(back[0]), frozen(back[1]), frozen(back[2])


@njit(cache=True, nogil=True)
def place(items, distance, length, count, out):
    """Put a list in order of its distances, cut to the length of `out`: a stable counting sort, O(depth)."""
    for d in range(count.size):
        count[d] = 0
    for p in range(length):
        count[distance[p] + 1] += 1
    for d in range(1, count.size):
        count[d] += count[d - 1]
    for p in range(length):
        rank = count[distance[p]]
        count[distance[p]] += 1
        if rank < out.size:
            out[rank] = items[p]
    for rank in range(length, out.size):
        out[rank] = -1


@njit(cache=True, nogil=True)
def reposition(start, stop, lists, lengths, back_ptr, back_rows, back_places, position, out):
    """Eq. 1 for rows start to stop, cut to the width of `out`; `position` is scratch of zeros, left as it was."""
    depth = lists.shape[1]
    distance = np.empty(depth, np.int32)
    count = np.empty(3 * depth + 4, np.int32)  # the largest distance is 3 * depth + 2
    for i in range(start, stop):
        for entry in range(back_ptr[i], back_ptr[i + 1]):
            position[back_rows[entry]] = back_places[entry] + 1
        for p in range(lengths[i]):
            mine = p + 1
            other = position[lists[i, p]]
            if other == 0:
                other = lengths[lists[i, p]] + 1
            distance[p] = mine + other + max(mine, other)
        for entry in range(back_ptr[i], back_ptr[i + 1]):
            position[back_rows[entry]] = 0
        place(lists[i], distance, lengths[i], count, out[i])


@njit(cache=True, nogil=True)
def reposition_queries(start, stop, lists, scores, lengths, own, out):
    """Eq. 1 for external queries: their place in item j's list is found in `own[j]`, non-increasing."""
    depth = lists.shape[1]
    distance = np.empty(depth, np.int32)
    count = np.empty(2 * depth + 2 * own.shape[1] + 4, np.int32)
    for i in range(start, stop):
        for p in range(lengths[i]):
            low = 0
            high = own.shape[1]
            while low < high:
                middle = (low + high) // 2
                if own[lists[i, p], middle] > scores[i, p]:
                    low = middle + 1
                else:
                    high = middle
            distance[p] = p + 1 + low + 1 + max(p, low) + 1
        place(lists[i], distance, lengths[i], count, out[i])
