"""Stable sorts of short arrays: fast to compile, and without allocations."""

import numpy as np
from numba import njit

RUN = 8  # length of the runs sorted by insertion


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
    """Sort the unsigned 32-bit keys, and fill `order` with their old places: a radix sort by bytes.

    `spare_key` and `spare_order` are scratch of the same size, `count` of 256.
    """
    for p in range(size):
        order[p] = p
    for shift in (0, 8, 16, 24):
        count[:] = 0
        for p in range(size):
            count[(key[p] >> np.uint32(shift)) & np.uint32(255)] += 1
        if size == 0 or count[(key[0] >> np.uint32(shift)) & np.uint32(255)] == size:
            continue  # all the same
        total = 0
        for digit in range(256):
            total += count[digit]
            count[digit] = total - count[digit]
        for p in range(size):
            digit = (key[p] >> np.uint32(shift)) & np.uint32(255)
            spare_key[count[digit]] = key[p]
            spare_order[count[digit]] = order[p]
            count[digit] += 1
        for p in range(size):
            key[p] = spare_key[p]
            order[p] = spare_order[p]
