"""What the kernels of all indexes share: posting lists, and the best rows of a query so far."""

from rankloom._kernels.jit import inner, kernel

LAST_MARK = 2**31 - 1
SLACK = 1.0 - 1e-6  # a bound must be below this share of the k-th best, so that rounding does not lose a result


@inner
def widest(rows, ptr):
    """Return the largest number of entries in any of the rows."""
    width = 0
    for q in rows:
        width = max(width, ptr[q + 1] - ptr[q])
    return width


@inner
def new_mark(seen):
    """Return a mark that no row in `seen` has, so that nothing has to be cleared; its last element is the latest."""
    if seen[-1] == LAST_MARK:
        seen[:] = 0
    seen[-1] += 1
    return seen[-1]


@inner
def keep(item, sim, found, own, best, sims):
    """Insert an item into the best so far, sorted by similarity; ties: the query itself, then by number."""
    k = best.size
    x = found
    while x > 0:
        other = best[x - 1]
        if sims[x - 1] > sim:
            break
        if sims[x - 1] == sim and item != own and (other == own or other < item):
            break
        if x < k:
            best[x] = other
            sims[x] = sims[x - 1]
        x -= 1
    if x < k:
        best[x] = item
        sims[x] = sim
    return min(found + 1, k)


@inner
def any_postings(sources, postings):
    """Return True if any member of a query has postings here."""
    for source in sources:  # noqa: SIM110 (numba)
        if postings.stop[source] > postings.start[source]:
            return True
    return False


@inner
def clear(members, slot):
    """Reset `slot` to 0."""
    for item in members:
        slot[item] = 0


@kernel
def lower_to_sizes(ptr, rows, sizes, out):
    """Lower element x of `out` to the smallest size of the rows in posting list x."""
    for item in range(out.size):
        for entry in range(ptr[item], ptr[item + 1]):
            out[item] = min(out[item], sizes[rows[entry]])
