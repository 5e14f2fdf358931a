"""Rows of an index that is cut into shards: numbering of members, copies of rows, and entries by part."""

from rankloom._kernels.jit import kernel
from rankloom._kernels.lists import length_of
from rankloom._kernels.sorting import copy_first


@kernel
def number(items, slot, sources, members):
    """Number the distinct items in order of appearance; `slot` is scratch of zeros, cleared before returning."""
    n = 0
    for entry in range(items.size):
        item = items[entry]
        if slot[item] == 0:
            members[n] = item
            n += 1
            slot[item] = n
        sources[entry] = slot[item] - 1
    for x in range(n):
        slot[members[x]] = 0
    return n


@kernel
def copy_rows(at, rows, first, width, ptr, values, out_ptr, out):
    """Copy the rows that a shard owns, those at positions `at`, to a CSR matrix; an entry has `width` values."""
    for x in at:
        row = rows[x] - first
        size = (ptr[row + 1] - ptr[row]) * width
        copy_first(values[ptr[row] * width :], size, out[out_ptr[x] * width :])


@kernel
def valid_lengths(lists, n_items, seen, lengths):
    """Compute the lengths of padded lists; return False if an item is out of range, twice in a list, or after padding.

    `seen` is scratch of zeros, cleared before returning.
    """
    depth = lists.shape[1]
    valid = True
    for row in range(lists.shape[0]):
        length = 0
        while length < depth and lists[row, length] >= 0:
            item = lists[row, length]
            if item >= n_items or seen[item] != 0:
                valid = False
                break
            seen[item] = 1
            length += 1
        for p in range(length):
            seen[lists[row, p]] = 0
        for p in range(length, depth):
            valid &= lists[row, p] == -1
        lengths[row] = length
        if not valid:
            break
    return valid


@kernel
def turn(lists, first, size, ends, turned):
    """Write (target, source, position from 0) for the entries that lead to other parts, by part; `ends` is advanced."""
    for row in range(lists.shape[0]):
        for p in range(length_of(lists[row])):
            item = lists[row, p]
            if item < first or item >= first + size:
                at = ends[item // size]
                ends[item // size] += 1
                turned[at, 0] = item
                turned[at, 1] = first + row
                turned[at, 2] = p


@kernel
def fill_listing(lists, first, incoming, ends, rows, columns):
    """Write the lists that contain each row's item, and the positions (from 0); `ends` is advanced."""
    n = lists.shape[0]
    for row in range(n):
        for p in range(length_of(lists[row])):
            item = lists[row, p]
            if first <= item < first + n:
                at = ends[item - first]
                ends[item - first] += 1
                rows[at] = first + row
                columns[at] = p
    for entry in range(incoming.shape[0]):
        at = ends[incoming[entry, 0] - first]
        ends[incoming[entry, 0] - first] += 1
        rows[at] = incoming[entry, 1]
        columns[at] = incoming[entry, 2]
