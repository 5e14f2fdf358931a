"""A stable merge sort for short arrays: fast to compile, and without allocations."""

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
