"""Ranked lists: breadth-first order, renumbering, transposition, and repositioning (Eq. 1)."""

import numpy as np

from rankloom._kernels.jit import helper, inner, kernel


@inner
def length_of(row):
    """Return the number of items in a padded row: a binary search without branches, which could not be predicted."""
    length, left = 0, row.size
    while left > 0:
        half = (left + 1) // 2
        length += half * (row[length + half - 1] >= 0)
        left -= half
    return length


@helper
def append_new(item, seen, found, size):
    """Append an item to the first `size` of `found` unless it is marked in `seen`, and mark it; return the new size."""
    if not seen[item]:
        seen[item] = True
        found[size] = item
        size += 1
    return size


@helper
def is_marked(bits, item):
    """Return True if an item is marked, and mark it."""
    bit = np.uint8(1 << (item & 7))
    marked = bits[item >> 3] & bit != 0
    bits[item >> 3] |= bit
    return marked


@kernel
def visiting_order(lists, depth, order):
    """Fill `order` with the items in breadth-first order over their lists, so that neighbors are close in memory."""
    n = lists.shape[0]
    seen = np.zeros(n // 8 + 1, np.uint8)  # a bit for each item, so that most of it stays in the cache
    head = tail = 0
    for root in range(n):
        if is_marked(seen, root):
            continue
        order[tail] = root
        tail += 1
        while head < tail:
            row = order[head]
            head += 1
            for p in range(length_of(lists[row, :depth])):
                item = lists[row, p]
                if not is_marked(seen, item):
                    order[tail] = item
                    tail += 1


@helper
def collect_items(i, lists, seen, pool):
    """Collect the items of row i of several rankers' lists in order of appearance; return their number.

    `seen` is scratch of False, in which the collected items are marked. `pool` has room for one item more: every item
    is written, and overwritten if it was not new, since a branch could not be predicted.
    """
    size = np.uint64(0)
    for r in range(lists.shape[0]):
        for p in range(lists.shape[2]):
            if lists[r, i, p] < 0:
                break
            item = np.uint64(lists[r, i, p])
            pool[size] = item
            size += np.uint64(not seen[item])
            seen[item] = True
    return np.int64(size)


@kernel
def relabel(start, stop, rows, numbers, lists, out):
    """Copy rows `rows[start:stop]` of `lists`, with `numbers[item]` for each item."""
    for i in range(start, stop):
        row = rows[i]
        for p in range(out.shape[1]):
            item = lists[row, p]
            out[i, p] = numbers[item] if item >= 0 else item


@kernel
def transpose(ptr, items, back_ptr, back_rows, back_columns):
    """List for each item the rows of a CSR matrix that hold it, ascending, and its column if `back_columns` is used."""
    back_ptr[:] = 0
    for item in items:
        back_ptr[item + 1] += 1
    for item in range(1, back_ptr.size):
        back_ptr[item] += back_ptr[item - 1]
    # During the fill, back_ptr[item] is the end of what is written for the item; it is shifted back afterwards.
    for row in range(ptr.size - 1):
        for entry in range(ptr[row], ptr[row + 1]):
            end = back_ptr[items[entry]]
            back_ptr[items[entry]] += 1
            back_rows[end] = row
            if back_columns.size:
                back_columns[end] = entry - ptr[row]
    for item in range(back_ptr.size - 1, 0, -1):
        back_ptr[item] = back_ptr[item - 1]
    back_ptr[0] = 0


@kernel
def transpose_lists(lists, n, payload, back_ptr, back_rows, back_payload):
    """List for each item the rows that hold it, ascending, and the payload of each entry; rows end at -1.

    Item j of a table of n rows, the r-th of those stacked in `lists`, has the number r * n + j. Numbers are unsigned,
    which saves the check for negative indexes.
    """
    width = np.uint64(lists.shape[1])
    back_ptr[:] = 0
    for row in range(lists.shape[0]):
        first = np.uint64(row // n * n + 1)
        for p in range(width):
            if lists[row, p] < 0:
                break
            back_ptr[first + np.uint64(lists[row, p])] += 1
    for item in range(1, back_ptr.size):
        back_ptr[item] += back_ptr[item - 1]
    for row in range(lists.shape[0]):  # as in `transpose`, pointers move to the ends of the items
        first = np.uint64(row // n * n)
        for p in range(width):
            if lists[row, p] < 0:
                break
            item = first + np.uint64(lists[row, p])
            end = np.uint64(back_ptr[item])
            back_ptr[item] += 1
            back_rows[end] = row
            back_payload[end] = payload[row, p]
    for item in range(back_ptr.size - 1, 0, -1):
        back_ptr[item] = back_ptr[item - 1]
    back_ptr[0] = 0


@helper
def sort_by_distance(items, distance, length, count, out):
    """Sort a list by distance and cut it to the length of `out`: a stable counting sort, O(depth)."""
    for d in range(count.size):
        count[d] = 0
    for p in range(length):
        count[distance[p] + 1] += 1
    for d in range(1, count.size):
        count[d] += count[d - 1]
    for p in range(length):
        target = count[distance[p]]
        count[distance[p]] += 1
        if target < out.size:
            out[target] = items[p]
    for target in range(length, out.size):
        out[target] = -1


@kernel
def reposition(start, stop, lists, lengths, unlisted, back, position, out):
    """Apply Eq. 1 and cut to the width of `out`; `position` is scratch of zeros, cleared before returning.

    `unlisted[j]` is the position of what item j does not list; `back` is the transpose of the lists.
    """
    back_ptr, back_rows, back_columns = back
    depth = lists.shape[1]
    distance = np.empty(depth, np.int32)
    count = np.empty(3 * depth + 4, np.int32)  # the largest distance is 3 * depth + 2
    for i in range(start, stop):
        for entry in range(back_ptr[i], back_ptr[i + 1]):
            position[back_rows[entry]] = back_columns[entry] + 1
        for p in range(lengths[i]):
            mine = p + 1
            other = position[lists[i, p]]
            if other == 0:
                other = unlisted[lists[i, p]]
            distance[p] = mine + other + max(mine, other)
        for entry in range(back_ptr[i], back_ptr[i + 1]):
            position[back_rows[entry]] = 0
        sort_by_distance(lists[i], distance, lengths[i], count, out[i])


@kernel
def reposition_queries(start, stop, lists, scores, lengths, own, out):
    """Apply Eq. 1 to external queries; their position in item j's list is found by a binary search in `own[j]`."""
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
        sort_by_distance(lists[i], distance, lengths[i], count, out[i])


@kernel
def rows_differ(start, stop, ptr, items, seen):
    """Return True if no row of a CSR matrix has an item twice; `seen` has no marks of these rows yet."""
    for row in range(start, stop):
        for entry in range(ptr[row], ptr[row + 1]):
            if seen[items[entry]] == row + 1:
                return False
            seen[items[entry]] = row + 1
    return True


@kernel
def merge(start, stop, own, one, other, out):
    """Merge two lists of each row by score; ties: the item itself (`own`), then the smaller number."""
    for i in range(start, stop):
        a = b = 0
        for at in range(out.items.shape[1]):
            left = a < one.items.shape[1] and one.items[i, a] >= 0
            right = b < other.items.shape[1] and other.items[i, b] >= 0
            if left and right:
                first, second = one.items[i, a], other.items[i, b]
                if one.scores[i, a] == other.scores[i, b]:
                    left = first == own[i] or (second != own[i] and first < second)
                else:
                    left = one.scores[i, a] > other.scores[i, b]
            if left:
                out.items[i, at] = one.items[i, a]
                out.scores[i, at] = one.scores[i, a]
                a += 1
            elif right:
                out.items[i, at] = other.items[i, b]
                out.scores[i, at] = other.scores[i, b]
                b += 1
            else:
                break
