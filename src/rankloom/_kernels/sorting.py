"""Stable sorts of short arrays: fast to compile, and without allocations."""

import numpy as np

from rankloom._kernels.jit import helper, kernel

RUN = 8  # length of the runs sorted by insertion


@helper
def copy_first(source, size, target):
    """Copy the first `size` elements: numba takes seconds to compile `target[:size] = source[:size]`."""
    for at in range(size):
        target[at] = source[at]


@helper
def sort_scratch(size):
    """Return arrays for the sorts below: keys in float64, the order, and spare."""
    return np.empty(size, np.float64), np.empty(size, np.int64), np.empty(size, np.int64)


@kernel
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
            copy_first(order[start:], middle - start, spare[start:])
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


@kernel
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


@kernel
def descending_key(bits):
    """Return an unsigned key that sorts float32 values, given as bits, in descending order; both zeros are equal."""
    if bits >> np.uint32(31):
        return bits if bits != np.uint32(0x80000000) else np.uint32(0x7FFFFFFF)
    return bits ^ np.uint32(0x7FFFFFFF)


@helper
def sort_pairs(pair, size, spare, count):
    """Sort unsigned integers by their upper 32 bits, stably, and return the array that holds them: a radix sort.

    `spare` is scratch of the same size, `count` of shape (4, 256). Indexes are unsigned, which saves the check for
    negative ones.
    """
    size = np.uint64(size)
    byte = np.uint64(255)
    count[:] = 0
    for p in range(size):
        for digit in range(np.uint64(4)):
            count[digit, (pair[p] >> (np.uint64(32) + digit * np.uint64(8))) & byte] += np.uint32(1)
    for digit in range(np.uint64(4)):
        shift = np.uint64(32) + digit * np.uint64(8)
        if size == 0 or count[digit, (pair[0] >> shift) & byte] == size:
            continue  # all the same
        total = np.uint32(0)
        for value in range(np.uint64(256)):
            here = count[digit, value]
            count[digit, value] = total
            total += here
        for p in range(size):
            value = (pair[p] >> shift) & byte
            spare[count[digit, value]] = pair[p]
            count[digit, value] += np.uint32(1)
        pair, spare = spare, pair
    return pair


@kernel
def sort_order(key, size, order, pair, spare, count):
    """Fill `order` with 0 to size - 1 sorted by unsigned 32-bit keys, stably.

    Those of the largest key, which may be many, go to the end as they are. `pair` and `spare` are scratch of one
    element more, `count` of shape (4, 256).
    """
    largest = np.uint32(0)
    for p in range(size):
        largest = max(largest, key[p])
    smaller = last = np.uint64(0)
    for p in range(size):
        pair[smaller] = np.uint64(key[p]) << np.uint64(32) | np.uint64(p)
        spare[last] = p
        is_smaller = np.uint64(key[p] < largest)
        smaller += is_smaller
        last += np.uint64(1) - is_smaller
    for p in range(last):
        order[smaller + p] = spare[p]
    pair = sort_pairs(pair, smaller, spare, count)
    for p in range(smaller):
        order[p] = pair[p] & np.uint64(0xFFFFFFFF)
