"""A stable sort of few keys: quick to compile, and without memory of its own."""

from numba import njit

RUN = 8  # so many are sorted by insertion


@njit(cache=True, nogil=True)
def sort_rising(key, size, order, spare):
    """Fill `order` with 0 to size - 1 by rising key, equal ones in their order; `spare` is scratch."""
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
                continue  # in order already
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
