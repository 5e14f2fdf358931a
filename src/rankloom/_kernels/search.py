"""Exact search for the most similar graphs of a collection that examines only a few of them.

Only graphs that share a vertex with the query can be similar, so the candidates come from the posting lists of the
query's vertices. These are scanned in descending order of potential gain per entry. Before each list, a bound on what
an unseen candidate could still have in common with the query decides whether to stop. So an item that is in very many
lists (a hub) comes last, and is hardly ever scanned.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cfunc, config, njit
from numba.core.errors import NumbaError

from rankloom._kernels import ZERO
from rankloom._kernels.graphs import E_LOW, E_SCALE, SIZE, V_LOW, V_SCALE, clear, lay_out, widest
from rankloom.errors import InputError

WEIGHT, NEAR, OUT = range(3)  # columns of `vertex`: weight, P (normalized for max), sum of the outgoing edges
LAST_MARK = 2**31 - 1
SLACK = 1.0 - 1e-6  # a bound must be below this share of the k-th best, so that rounding does not lose a result


@cache
def compiled(function: Callable[[float, float, float], float]) -> Any:
    """Compile a comparator to a function pointer, so that one compiled `search` serves all comparators."""
    if config.DISABLE_JIT:  # kernels then call it directly
        return function
    # The compiled code of a plug-in refers to its module, which may move: do not cache it.
    own = function.__module__.startswith("rankloom.")
    try:
        return cfunc("float64(float64, float64, float64)", cache=own)(function)
    except NumbaError as error:
        reason = str(error).strip().splitlines()[-1]
        raise InputError(f"{function.__name__} must be plain arithmetic that numba compiles: {reason}") from None


WGU, MCS, OTHER = range(3)  # kinds of comparators: two are inlined, which saves a tenth of the time


@njit(cache=True, nogil=True)
def compare_sizes(kind, compare, common, size, other):
    """Return the similarity of two graphs; `compare` is None for the comparators that are inlined here."""
    if compare is None:
        whole = size + other - common if kind == WGU else max(size, other)
        return common / whole if whole > 0.0 else 0.0  # sizes come from a file
    return compare(common, size, other)


@njit(cache=True, nogil=True)
def is_below(kind, compare_bound, common, size, other, floor):
    """Return True if graphs that share at most `common` are less similar than `floor`."""
    if compare_bound is None:
        return common < floor * (size + other - common if kind == WGU else max(size, other))
    return compare_bound(common, size, other) < floor


@njit(cache=True, nogil=True)
def min_sizes(post_ptr, post_rows, norms, out):
    """Compute for each item the size of the smallest graph that has it as a vertex."""
    for item in range(out.size):
        out[item] = np.inf
        for entry in range(post_ptr[item], post_ptr[item + 1]):
            out[item] = min(out[item], norms[post_rows[entry], SIZE])


@njit(cache=True, nogil=True)
def weigh(q, side, ptr, W, P, norms, minmax, M, vertex):
    """Compute the weight of each vertex of the query, and of its outgoing edges."""
    for a in range(1, side):
        p = np.float64(P[ptr[q] + a - 1])
        total = ZERO
        if minmax:
            for b in range(1, side):
                v = M[a * side + b]
                total += (p * v - norms[q, E_LOW]) * norms[q, E_SCALE] if v > 0.0 else 0.0
        else:
            p *= norms[q, E_SCALE]
            for b in range(1, side):
                total += M[a * side + b]
        vertex[a, WEIGHT] = (W[ptr[q] + a - 1] - norms[q, V_LOW]) * norms[q, V_SCALE]
        vertex[a, NEAR] = p
        vertex[a, OUT] = total


@njit(cache=True, nogil=True)
def plan(q, sources, postings, norms, minmax, M, vertex, walk, bound, min_size):
    """Order the vertices for the scan, and bound what those from each step on can have in common with any graph."""
    n = sources.size
    side = n + 1
    for a in range(1, side):
        source = sources[a - 1]
        value = vertex[a, WEIGHT] + vertex[a, OUT] * (1.0 if minmax else vertex[a, NEAR])
        gain = value / (postings.stop[source] - postings.start[source] + 1)
        x = a - 1
        while x > 0 and bound[x - 1] < gain:  # `bound` holds the gains during the sort
            bound[x] = bound[x - 1]
            walk[x] = walk[x - 1]
            x -= 1
        bound[x] = gain
        walk[x] = a
    bound[n] = 0.0
    min_size[n] = np.inf
    for x in range(n - 1, -1, -1):
        a = walk[x]
        total = bound[x + 1] + vertex[a, WEIGHT]
        for y in range(x + 1, n):
            b = walk[y]
            there = M[a * side + b]
            back = M[b * side + a]
            if minmax:
                total += (vertex[a, NEAR] * there - norms[q, E_LOW]) * norms[q, E_SCALE] if there > 0.0 else 0.0
                total += (vertex[b, NEAR] * back - norms[q, E_LOW]) * norms[q, E_SCALE] if back > 0.0 else 0.0
            else:
                total += vertex[a, NEAR] * there + vertex[b, NEAR] * back
        bound[x] = total
        min_size[x] = min(min_size[x + 1], postings.least[sources[a - 1]])


@njit(cache=True, nogil=True)
def similarity(
    q, s, side, q_norms, norms, ptr, items, W, P, slot, M, vertex, shared, near, minmax, kind, compare, floor
):
    """Return the similarity of the current query and graph `s`; -1 if it is certainly below `floor`."""
    size = q_norms[q, SIZE]
    q_low = q_norms[q, E_LOW]
    q_scale = q_norms[q, E_SCALE]
    other = norms[s, SIZE]
    v_low = norms[s, V_LOW]
    v_scale = norms[s, V_SCALE]
    e_low = norms[s, E_LOW]
    e_scale = norms[s, E_SCALE]
    n = np.uint64(0)
    common = max_edges = ZERO  # `max_edges` bounds the common weight of the edges
    for entry in range(np.uint64(ptr[s]), np.uint64(ptr[s + 1])):
        a = slot[items[entry]]
        p = np.float64(P[entry])
        if minmax:
            max_edges += vertex[a, OUT]
        else:
            p = min(vertex[a, NEAR], p * e_scale)
            max_edges += vertex[a, OUT] * p
        common += min(vertex[a, WEIGHT], (W[entry] - v_low) * v_scale)
        shared[n] = a
        near[n] = p
        n += np.uint64(a > 0)  # an item that is not shared is overwritten by the next, which avoids a branch
    if is_below(kind, compare, min(common + max_edges, other), size, other, floor):
        return np.float32(-1.0)
    edges = ZERO
    for x in range(n):
        base = shared[x] * np.uint64(side)
        p = near[x]
        total = ZERO
        if minmax:
            mine = vertex[shared[x], NEAR]
            for y in range(n):
                v = M[base + shared[y]]
                e = min((mine * v - q_low) * q_scale, (p * v - e_low) * e_scale)
                total += e if v > 0.0 else 0.0
            edges += total
        else:
            for y in range(n):
                total += M[base + shared[y]]
            edges += p * total
    common += edges
    return np.float32(compare_sizes(kind, compare, common, size, other))


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def filled(best):
    """Return the number of items in a padded row."""
    n = best.size
    while n > 0 and best[n - 1] < 0:
        n -= 1
    return n


@njit(cache=True, nogil=True)
def any_postings(sources, postings):
    """Return True if any member of a query has postings here."""
    for source in sources:  # noqa: SIM110 (numba)
        if postings.stop[source] > postings.start[source]:
            return True
    return False


@njit(cache=True, nogil=True)
def search(
    start,
    stop,
    rows,
    into,
    own,
    graphs,
    q_norms,
    sources,
    links,
    collection,
    norms,
    postings,
    numbers,
    room,
    minmax,
    kind,
    compare,
    compare_bound,
    allowed,
    slot,
    seen,
    out,
    out_sims,
):
    """Search with the graphs of `rows[start:stop]`; rows `into[start:stop]` of `out` hold the best items so far.

    The query graphs are explicit: `graphs` and `q_norms` have their vertices, and the row of W of the member in entry e
    is row `sources[e]` of `links`; the graphs that have it are those of `postings` at the same number. `own[x]` is the
    item of query x, -1 if it is external. `collection`, `norms`, `postings` and `numbers` are those of the graphs to
    search, which may be a part of all. `compare` and `compare_bound` are the comparator and its bound, None unless
    `kind` is OTHER (numba then leaves their branches out); only graphs that the mask `allowed` has are returned, all if
    it is empty; `slot` and `seen` are scratch, reused between calls.
    """
    side = widest(rows[start:stop], graphs.ptr) + 1
    M = np.empty(side * side, np.float64)
    vertex = np.zeros((side, 3), np.float64)
    walk = np.empty(side, np.int64)
    bound = np.empty(side, np.float64)
    min_size = np.empty(side, np.float64)
    shared = np.empty(room, np.uint64)  # the entries of a row of the collection fit in
    near = np.empty(room, np.float64)
    ptr = collection.ptr
    items = collection.items
    W = collection.W
    P = collection.P
    post_rows = postings.rows
    for x in range(start, stop):
        q = rows[x]
        members = graphs.items[graphs.ptr[q] : graphs.ptr[q + 1]]
        numbered = sources[graphs.ptr[q] : graphs.ptr[q + 1]]
        if not any_postings(numbered, postings):
            continue
        side = members.size + 1
        lay_out(members, numbered, links, slot, M)
        weigh(q, side, graphs.ptr, graphs.W, graphs.P, q_norms, minmax, M, vertex)
        plan(q, numbered, postings, q_norms, minmax, M, vertex, walk, bound, min_size)
        if seen[-1] == LAST_MARK:
            seen[:] = 0
        seen[-1] += 1  # a new mark for each query, so that nothing has to be cleared
        mark = seen[-1]
        best = out[into[x]]
        sims = out_sims[into[x]]
        found = filled(best)
        floor = sims[found - 1] * SLACK if found == best.size else -1.0
        for step in range(members.size):
            if is_below(kind, compare_bound, bound[step], q_norms[q, SIZE], max(bound[step], min_size[step]), floor):
                break
            source = numbered[walk[step] - 1]
            for entry in range(postings.start[source], postings.stop[source]):
                s = post_rows[entry]
                if seen[s] == mark:
                    continue
                seen[s] = mark
                if allowed.size > 0 and not allowed[s]:
                    continue
                sim = similarity(
                    q,
                    s,
                    side,
                    q_norms,
                    norms,
                    ptr,
                    items,
                    W,
                    P,
                    slot,
                    M,
                    vertex,
                    shared,
                    near,
                    minmax,
                    kind,
                    compare,
                    floor,
                )
                if sim >= floor:
                    found = keep(numbers[s], sim, found, own[x], best, sims)
                    if found == best.size:
                        floor = sims[found - 1] * SLACK
        clear(members, slot)
