"""Rows of an index that is cut into shards: numbering of members, copies of rows, and lists turned round by parts."""

from numba import njit


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def distinct(items, slot, found):
    """Collect the distinct items; `slot` is scratch of zeros, cleared before returning."""
    n = 0
    for item in items:
        if slot[item] == 0:
            slot[item] = 1
            found[n] = item
            n += 1
    for x in range(n):
        slot[found[x]] = 0
    return n


@njit(cache=True, nogil=True)
def row_lengths(at, rows, first, ptr, lengths):
    """Write the lengths of the rows that a shard owns, those at positions `at`."""
    for x in at:
        row = rows[x] - first
        lengths[x] = ptr[row + 1] - ptr[row]


@njit(cache=True, nogil=True)
def copy_rows(at, rows, first, ptr, values, out_ptr, out):
    """Copy the rows that a shard owns, those at positions `at`, to a CSR matrix."""
    for x in at:
        row = rows[x] - first
        out[out_ptr[x] : out_ptr[x + 1]] = values[ptr[row] : ptr[row + 1]]


@njit(cache=True, nogil=True)
def local_postings(ptr, items, vertices, slot, post_ptr, post_rows):
    """List for each vertex the rows that have it, ascending; `slot` is scratch of zeros, cleared before returning."""
    for x in range(vertices.size):
        slot[vertices[x]] = x + 1
    post_ptr[:] = 0
    for item in items:
        post_ptr[slot[item]] += 1
    for x in range(1, post_ptr.size):
        post_ptr[x] += post_ptr[x - 1]
    for row in range(ptr.size - 2, -1, -1):  # from the end, so that the starts are right afterwards
        for entry in range(ptr[row], ptr[row + 1]):
            x = slot[items[entry]] - 1
            post_ptr[x + 1] -= 1
            post_rows[post_ptr[x + 1]] = row
    for x in range(1, post_ptr.size):
        post_ptr[x - 1] = post_ptr[x]
    post_ptr[post_ptr.size - 1] = items.size
    for x in range(vertices.size):
        slot[vertices[x]] = 0
