"""What the kernels of all indexes share: their arguments, and the best rows of a query so far."""

from typing import Any, NamedTuple

import numpy as np

from rankloom._kernels.jit import helper, kernel

LAST_MARK = 2**31 - 1
SLACK = 1.0 - 1e-6  # a bound must be below this share of the k-th best, so that rounding does not lose a result


class PostingLists(NamedTuple):
    """The rows that have an item, `rows[start:stop]`, and the smallest size of those."""

    start: np.ndarray
    stop: np.ndarray
    rows: np.ndarray
    min_size: np.ndarray


class Queries(NamedTuple):
    """Queries with their rows made explicit: query x has row `rows[x]` of `content`.

    Its results are in row `into[x]` of the best so far, and `own[x]` is its item, -1 if it is external. The rows that
    have the item in entry e of `content` are those of posting list `sources[e]`.
    """

    rows: np.ndarray
    into: np.ndarray
    own: np.ndarray
    sources: np.ndarray
    content: Any


class Target(NamedTuple):
    """The rows to search, which may be a part of all; `max_entries` is above the number of entries of any of them.

    `numbers` has their item numbers. Only rows in the mask `allowed` are returned, all if it is empty.
    """

    content: Any
    postings: PostingLists
    numbers: np.ndarray
    allowed: np.ndarray
    max_entries: int


class SearchScratch(NamedTuple):
    """Arrays reused between calls: `slot` by item, `seen` and `sums` by row; zeros except for `seen`."""

    slot: np.ndarray
    seen: np.ndarray
    sums: np.ndarray


class Best(NamedTuple):
    """The best items of each query so far and their scores, in descending order; padded with -1."""

    items: np.ndarray
    scores: np.ndarray


@helper
def widest(rows, ptr):
    """Return the largest number of entries in any of the rows."""
    width = 0
    for q in rows:
        width = max(width, ptr[q + 1] - ptr[q])
    return width


@helper
def new_mark(seen):
    """Return a mark that no row in `seen` has, so that nothing has to be cleared; its last element is the latest."""
    if seen[-1] == LAST_MARK:
        seen[:] = 0
    seen[-1] += 1
    return seen[-1]


@helper
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


@helper
def filled(best):
    """Return the number of items in a padded row."""
    n = best.size
    while n > 0 and best[n - 1] < 0:
        n -= 1
    return n


@helper
def any_postings(sources, postings):
    """Return True if any member of a query has postings here."""
    for source in sources:  # noqa: SIM110 (numba)
        if postings.stop[source] > postings.start[source]:
            return True
    return False


@helper
def clear(members, slot):
    """Reset `slot` to 0."""
    for item in members:
        slot[item] = 0


@kernel
def lower_to_sizes(ptr, rows, sizes, out):
    """Lower row x of `out` to the smallest size, field by field, of the rows in posting list x."""
    for item in range(out.shape[0]):
        for entry in range(ptr[item], ptr[item + 1]):
            for field in range(out.shape[1]):
                out[item, field] = min(out[item, field], sizes[rows[entry], field])
