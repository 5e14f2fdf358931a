"""Exact search for the most similar graphs of a collection that examines only a few of them.

Only graphs that share a vertex with the query can be similar, so the candidates come from the posting lists of the
query's vertices. These are scanned in descending order of potential gain per entry. Before each list, a bound on what
an unseen candidate could still have in common with the query decides whether to stop. So an item that is in very many
lists (a hub) comes last, and is hardly ever scanned.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cfunc, config, njit
from numba.core.errors import NumbaError

from rankloom._kernels import ZERO
from rankloom._kernels.fusion_graph.graphs import (
    E_LOW,
    E_SCALE,
    FOUR,
    ONE,
    SIZE,
    THREE,
    TWO,
    V_LOW,
    V_SCALE,
    add_edges,
    add_smaller_edges,
    clear,
    edge_sums,
    lay_out,
    padded,
    widest,
)
from rankloom._kernels.jit import helper, kernel
from rankloom._kernels.sorting import sort_ascending
from rankloom.errors import InputError

WEIGHT, NEAR, OUT = range(3)  # columns of `vertex`: weight, P (normalized for max), sum of the outgoing edges
LAST_MARK = 2**31 - 1
BOUND_ERROR = 1e-9  # of the size of the query: more than rounding can take away from a bound
WIDE = 64  # slots from which comparing a pair of graphs takes much longer than bounding their similarity
BATCH = 256  # candidates that are bounded before the most promising of them are compared
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
        raise InputError(
            f"The comparator {function.__name__!r} must be plain arithmetic that numba compiles: {reason}"
        ) from None


WGU, MCS, OTHER = range(3)  # kinds of comparators: two are inlined, which saves a tenth of the time


@helper
def compare_sizes(kind, compare, common, size, other):
    """Return the similarity of two graphs; `compare` is None for the comparators that are inlined here."""
    if compare is None:
        whole = size + other - common if kind == WGU else max(size, other)
        return common / whole if whole > 0.0 else 0.0  # sizes come from a file
    return compare(common, size, other)


@helper
def is_below(kind, compare_bound, common, size, other, floor):
    """Return True if graphs that share at most `common` are less similar than `floor`."""
    if compare_bound is None:
        return common < floor * (size + other - common if kind == WGU else max(size, other))
    return compare_bound(common, size, other) < floor


@kernel
def min_sizes(post_ptr, post_rows, norms, out):
    """Compute for each item the size of the smallest graph that has it as a vertex."""
    for item in range(out.size):
        out[item] = np.inf
        for entry in range(post_ptr[item], post_ptr[item + 1]):
            out[item] = min(out[item], norms[post_rows[entry], SIZE])


class Room(NamedTuple):
    """Scratch of a search with graphs of up to a given number of vertices; arrays of `side` are indexed by slot."""

    M: np.ndarray  # see `lay_out`
    every: np.ndarray  # all slots
    vertex: np.ndarray  # of the query, by WEIGHT, NEAR, OUT
    mine: np.ndarray  # the column NEAR of `vertex`
    near: np.ndarray  # P of a candidate; the smaller of both for max
    totals: np.ndarray
    left: np.ndarray  # the outgoing edges of a vertex to vertices not yet scanned; -inf once it is scanned
    gain: np.ndarray
    walk: np.ndarray
    spare: np.ndarray
    min_size: np.ndarray
    shared: np.ndarray  # slots of the vertices that a candidate shares with the query
    waiting: np.ndarray
    bounds: np.ndarray


@helper
def make_room(width, max_entries):
    """Return scratch for queries of up to `width` vertices and rows of fewer than `max_entries` entries."""
    side = padded(width)
    return Room(
        np.empty(side * side, np.float32),
        np.arange(1, side + 1).astype(np.uint64),
        np.zeros((side, 3), np.float64),
        np.zeros(side, np.float64),
        np.zeros(side, np.float64),
        np.empty(side, np.float64),
        np.zeros(side, np.float64),
        np.empty(side, np.float64),
        np.empty(side, np.int64),
        np.empty(side, np.int64),
        np.empty(side, np.float64),
        np.empty(max_entries, np.uint64),
        np.empty(BATCH, np.uint32),
        np.empty(BATCH, np.float64),
    )


@kernel
def weigh(q, graphs, norms, minmax, room):
    """Compute the weight of each vertex of the query, and of its outgoing edges."""
    first = graphs.ptr[q]
    edge_sums(q, graphs, norms, minmax, room.M, room.every, room.mine, room.totals)
    for a in range(1, graphs.ptr[q + 1] - first + 1):
        if not minmax:
            room.mine[a] *= norms[q, E_SCALE]
        room.vertex[a, WEIGHT] = (graphs.W[first + a - 1] - norms[q, V_LOW]) * norms[q, V_SCALE]
        room.vertex[a, NEAR] = room.mine[a]
        room.vertex[a, OUT] = room.totals[a]


@helper
def plan(sources, postings, minmax, room):
    """Order the vertices for the scan, and return the size of the query's graph.

    `room.min_size` gets the smallest size of the graphs that have one of the vertices from each step on.
    """
    n = sources.size
    whole = ZERO
    for a in range(1, n + 1):
        room.left[a] = room.vertex[a, OUT] * (1.0 if minmax else room.vertex[a, NEAR])
        value = room.vertex[a, WEIGHT] + room.left[a]
        whole += value
        room.gain[a - 1] = -value / (postings.stop[sources[a - 1]] - postings.start[sources[a - 1]] + 1)
    sort_ascending(room.gain, n, room.walk, room.spare)
    smallest = np.inf
    for x in range(n - 1, -1, -1):
        smallest = min(smallest, postings.least[sources[room.walk[x]]])
        room.min_size[x] = smallest
    return whole


@helper
def removed(a, side, low, scale, minmax, M, vertex, mine, left, edges):
    """Return the weight of vertex a and of its edges to and from vertices not yet scanned; update `left`.

    `edges` is scratch.
    """
    total = vertex[a, WEIGHT] + left[a]
    left[a] = -np.inf
    row = a * side
    for c in range(side):
        v = np.float64(M[row + c])
        e = (mine[c] * v - low) * scale if minmax else mine[c] * v
        edges[c] = e if v > 0.0 and left[c] >= 0.0 else 0.0
        left[c] -= edges[c]
    for c in range(np.uint64(0), side, FOUR):  # in pairs, so that fewer additions wait for one another
        total += (edges[c] + edges[c + ONE]) + (edges[c + TWO] + edges[c + THREE])
    return total


@njit(cache=True, nogil=True, inline="always")
def overlap(s, norms, collection, minmax, slot, vertex, shared, near):
    """Find the vertices that graph `s` shares with the query.

    Returns their number, their common weight, and a bound on the common weight of the edges.
    """
    v_low = norms[s, V_LOW]
    v_scale = norms[s, V_SCALE]
    e_scale = norms[s, E_SCALE]
    n = np.uint64(0)
    common = max_edges = ZERO
    for entry in range(np.uint64(collection.ptr[s]), np.uint64(collection.ptr[s + 1])):
        a = slot[collection.items[entry]]
        p = np.float64(collection.P[entry])
        if minmax:
            max_edges += vertex[a, OUT]
        else:
            p = min(vertex[a, NEAR], p * e_scale)
            max_edges += vertex[a, OUT] * p
        common += min(vertex[a, WEIGHT], (collection.W[entry] - v_low) * v_scale)
        shared[n] = a
        near[a] = p
        n += np.uint64(a > 0)  # an item that is not shared is overwritten by the next, which avoids a branch
    return n, common, max_edges


@njit(cache=True, nogil=True, inline="always")
def common_edges(q, s, n, side, q_norms, norms, minmax, M, mine, shared, near, totals):
    """Return the common weight of the edges between the n vertices that `overlap` found."""
    edges = ZERO
    if minmax:
        low, scale = q_norms[q, E_LOW], q_norms[q, E_SCALE]
        add_smaller_edges(shared, n, side, M, mine, low, scale, near, norms[s, E_LOW], norms[s, E_SCALE], totals)
        for x in range(n):
            edges += totals[shared[x]]
    else:
        add_edges(shared, n, side, M, totals)
        for x in range(n):
            edges += near[shared[x]] * totals[shared[x]]
    return edges


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


@kernel
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
def pop_largest(waiting, bounds, n):
    """Move the candidate with the largest bound, of n, to the end."""
    at = 0
    for x in range(1, n):
        at = x if bounds[x] > bounds[at] else at
    waiting[at], waiting[n - 1] = waiting[n - 1], waiting[at]
    bounds[at], bounds[n - 1] = bounds[n - 1], bounds[at]


@njit(cache=True, nogil=True, inline="always")
def record(item, sim, own, found, floor, best, sims):
    """Keep an item if it is among the best; return the number of these and the similarity to beat."""
    if sim < floor:
        return found, floor
    found = keep(item, sim, found, own, best, sims)
    return found, sims[found - 1] * SLACK if found == best.size else floor


@helper
def compare_waiting(
    q,
    n_waiting,
    side,
    q_norms,
    collection,
    norms,
    numbers,
    minmax,
    kind,
    compare,
    slot,
    own,
    found,
    floor,
    room,
    best,
    sims,
):
    """Compare candidates in descending order of their bounds, as long as these can beat the last of the best."""
    M, vertex, mine, near, totals, shared = room.M, room.vertex, room.mine, room.near, room.totals, room.shared
    while n_waiting > 0:
        pop_largest(room.waiting, room.bounds, n_waiting)
        n_waiting -= 1
        if room.bounds[n_waiting] < floor:
            break
        s = room.waiting[n_waiting]
        n, common, _ = overlap(s, norms, collection, minmax, slot, vertex, shared, near)
        common += common_edges(q, s, n, side, q_norms, norms, minmax, M, mine, shared, near, totals)
        sim = np.float32(compare_sizes(kind, compare, common, q_norms[q, SIZE], norms[s, SIZE]))
        found, floor = record(numbers[s], sim, own, found, floor, best, sims)
    return found, floor


@helper
def scan(
    q,
    own,
    sources,
    graphs,
    q_norms,
    collection,
    norms,
    postings,
    numbers,
    minmax,
    kind,
    compare,
    compare_bound,
    allowed,
    slot,
    seen,
    room,
    best,
    sims,
):
    """Search with one graph that has been laid out; `best` and `sims` hold the best items so far."""
    M, vertex, mine, near, totals, shared = room.M, room.vertex, room.mine, room.near, room.totals, room.shared
    size = q_norms[q, SIZE]
    side = padded(sources.size)
    weigh(q, graphs, q_norms, minmax, room)
    whole = plan(sources, postings, minmax, room)
    if seen[-1] == LAST_MARK:
        seen[:] = 0
    seen[-1] += 1  # a new mark for each query, so that nothing has to be cleared
    mark = seen[-1]
    found = filled(best)
    floor = sims[found - 1] * SLACK if found == best.size else -1.0
    unseen = whole  # what a graph that has not been seen may have in common with the query
    for step in range(sources.size):
        bound = unseen + whole * BOUND_ERROR
        if is_below(kind, compare_bound, bound, size, max(bound, room.min_size[step]), floor):
            break
        source = sources[room.walk[step]]
        n_waiting = np.int64(0)  # a plain 0 is a type of its own, for which numba would compile all this once more
        for entry in range(postings.start[source], postings.stop[source]):
            s = postings.rows[entry]
            if seen[s] == mark:
                continue
            seen[s] = mark
            if allowed.size > 0 and not allowed[s]:
                continue
            n, common, max_edges = overlap(s, norms, collection, minmax, slot, vertex, shared, near)
            other = norms[s, SIZE]
            upper = min(common + max_edges, other)
            if is_below(kind, compare, upper, size, other, floor):
                continue
            if side < WIDE:
                common += common_edges(q, s, n, side, q_norms, norms, minmax, M, mine, shared, near, totals)
                sim = np.float32(compare_sizes(kind, compare, common, size, other))
                found, floor = record(numbers[s], sim, own, found, floor, best, sims)
                continue
            room.waiting[n_waiting] = s
            room.bounds[n_waiting] = compare_sizes(kind, compare, upper, size, other)
            n_waiting += 1
            if n_waiting == BATCH:
                found, floor = compare_waiting(
                    q,
                    n_waiting,
                    side,
                    q_norms,
                    collection,
                    norms,
                    numbers,
                    minmax,
                    kind,
                    compare,
                    slot,
                    own,
                    found,
                    floor,
                    room,
                    best,
                    sims,
                )
                n_waiting = 0
        if n_waiting > 0:
            found, floor = compare_waiting(
                q,
                n_waiting,
                side,
                q_norms,
                collection,
                norms,
                numbers,
                minmax,
                kind,
                compare,
                slot,
                own,
                found,
                floor,
                room,
                best,
                sims,
            )
        a = np.uint64(room.walk[step] + 1)
        unseen -= removed(a, side, q_norms[q, E_LOW], q_norms[q, E_SCALE], minmax, M, vertex, mine, room.left, totals)


@kernel
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
    max_entries,
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
    room = make_room(widest(rows[start:stop], graphs.ptr), max_entries)
    for x in range(start, stop):
        q = rows[x]
        members = graphs.items[graphs.ptr[q] : graphs.ptr[q + 1]]
        numbered = sources[graphs.ptr[q] : graphs.ptr[q + 1]]
        if not any_postings(numbered, postings):
            continue
        lay_out(members, numbered, links, slot, room.M)
        scan(
            q,
            own[x],
            numbered,
            graphs,
            q_norms,
            collection,
            norms,
            postings,
            numbers,
            minmax,
            kind,
            compare,
            compare_bound,
            allowed,
            slot,
            seen,
            room,
            out[into[x]],
            out_sims[into[x]],
        )
        clear(members, slot)
