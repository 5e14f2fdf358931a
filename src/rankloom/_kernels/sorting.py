"""Stable sorts of short arrays: fast to compile, and without allocations."""

import numpy as np
from numba import njit

RUN = 8  # length of the runs sorted by insertion


@njit(cache=True, nogil=True)
def sort_scratch(size):
    """Return arrays for the sorts below: keys in float64, the order, and spare."""
    return np.empty(size, np.float64), np.empty(size, np.int64), np.empty(size, np.int64)


@njit(cache=True, nogil=True)
def sort_ascending(key, size, order, spare):
    """Fill `order` with 0 to size - 1 sorted by ascending key; `spare` is scratch."""
    for start in range(0, size, RUN):
        for c in range(start, min(start + RUN, size)):
            at = c
            while at > start and key[order[at - 1]] > key[c]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = c
    run = RUN
    while run < size:
        for start in range(0, size, 2 * run):
            middle = min(start + run, size)
            stop = min(start + 2 * run, size)
            if middle == stop or key[order[middle - 1]] <= key[order[middle]]:
                continue  # already sorted
            spare[start:middle] = order[start:middle]
            left, right, at = start, middle, start
            while left < middle:
                if right < stop and key[order[right]] < key[spare[left]]:
                    order[at] = order[right]
                    right += 1
                else:
                    order[at] = spare[left]
                    left += 1
                at += 1
        run *= 2


@njit(cache=True, nogil=True)
def sort_smallest(key, size, wanted, order, spare):
    """Fill the first `wanted` elements of `order` as `sort_ascending` does; the others are undefined."""
    if wanted * 16 > size:
        sort_ascending(key, size, order, spare)
        return
    filled = 0
    for c in range(size):
        if filled == wanted:
            if key[c] >= key[order[filled - 1]]:
                continue
            filled -= 1  # drop the last one
        at = filled
        while at > 0 and key[order[at - 1]] > key[c]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = c
        filled += 1


@njit(cache=True, nogil=True)
def descending_key(bits):
    """Return an unsigned key that sorts float32 values, given as bits, in descending order; both zeros are equal."""
    if bits >> np.uint32(31):
        return bits if bits != np.uint32(0x80000000) else np.uint32(0x7FFFFFFF)
    return bits ^ np.uint32(0x7FFFFFFF)


@njit(cache=True, nogil=True)
def sort_keys(key, size, order, spare_key, spare_order, count):
    """Fill `order` with 0 to size - 1 sorted by unsigned 32-bit keys, which are overwritten: a radix sort by bytes.

    `spare_key` and `spare_order` are scratch of the same size, `count` of shape (4, 256). Indexes are unsigned, which
    saves the check for negative ones.
    """
    size = np.uint64(size)
    byte = np.uint32(255)
    count[:] = 0
    for p in range(size):
        order[p] = p
        for digit in range(np.uint32(4)):
            count[digit, (key[p] >> (digit * np.uint32(8))) & byte] += np.uint32(1)
    from_key, from_order, to_key, to_order = key, order, spare_key, spare_order
    swapped = False
    for digit in range(np.uint32(4)):
        shift = digit * np.uint32(8)
        if size == 0 or count[digit, (from_key[0] >> shift) & byte] == size:
            continue  # all the same
        total = np.uint32(0)
        for value in range(np.uint32(256)):
            here = count[digit, value]
            count[digit, value] = total
            total += here
        for p in range(size):
            value = (from_key[p] >> shift) & byte
            target = count[digit, value]
            count[digit, value] = target + np.uint32(1)
            to_key[target] = from_key[p]
            to_order[target] = from_order[p]
        from_key, from_order, to_key, to_order = to_key, to_order, from_key, from_order
        swapped = not swapped
    if swapped:
        for p in range(size):
            order[p] = spare_order[p]
