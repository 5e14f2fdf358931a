"""Exact search for the most similar graphs of a collection that examines only a few of them.

Only graphs that share a vertex with the query can be similar, so the candidates come from the posting lists of the
query's vertices. These are scanned in descending order of potential gain per entry. Before each list, a bound on what
an unseen candidate could still have in common with the query decides whether to stop. So an item that is in very many
lists (a hub) comes last, and is hardly ever scanned.
"""

from typing import NamedTuple

import numpy as np

from rankloom._kernels import ZERO
from rankloom._kernels.fusion_graph.arguments import E_LOW, E_SCALE, OTHER, SIZE, V_LOW, V_SCALE, WGU
from rankloom._kernels.fusion_graph.graphs import (
    FOUR,
    ONE,
    THREE,
    TWO,
    Edges,
    add_edges,
    add_smaller_edges,
    edge_sums,
    lay_out,
    padded,
)
from rankloom._kernels.index.search import SLACK, any_postings, clear, keep, new_mark, widest
from rankloom._kernels.jit import call_by_address, helper, inlined, inner, kernel
from rankloom._kernels.lists import length_of
from rankloom._kernels.sorting import sort_ascending

WEIGHT, NEAR, OUT = range(3)  # columns of `vertex`: weight, P (normalized for max), sum of the outgoing edges
BOUND_ERROR = 1e-9  # of the size of the query: more than rounding can take away from a bound
WIDE = 64  # slots from which comparing a pair of graphs takes much longer than bounding their similarity
BATCH = 256  # candidates that are bounded before the most promising of them are compared


class Query(NamedTuple):
    """One query that has been laid out: its norms, item, posting lists, padded width, and best items so far."""

    norms: np.ndarray
    own: int
    sources: np.ndarray
    side: int
    items: np.ndarray
    sims: np.ndarray


@inner
def similarity(comparator, common, size, other):
    """Return the similarity of two graphs."""
    if comparator.kind == OTHER:
        return call_by_address(comparator.similarity, common, size, other)
    whole = size + other - common if comparator.kind == WGU else max(size, other)
    return common / whole if whole > 0.0 else 0.0  # sizes come from a file


@inner
def is_below(comparator, common, size, other, floor):
    """Return True if graphs of these sizes that share at most `common` are less similar than `floor`."""
    if comparator.kind == OTHER:
        return call_by_address(comparator.similarity, common, size, other) < floor
    return common < floor * (size + other - common if comparator.kind == WGU else max(size, other))


@inner
def all_below(comparator, common, size, min_size, floor):
    """Return True if any graph of at least this size that shares at most `common` is less similar than `floor`."""
    if comparator.kind == OTHER:
        return call_by_address(comparator.bound, common, size, min_size) < floor
    return is_below(comparator, common, size, min_size, floor)


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


@inner
def weigh(q, graphs, minmax, room):
    """Compute the weight of each vertex of the query, and of its outgoing edges."""
    norms = graphs.norms
    first = graphs.ptr[q]
    edge_sums(q, graphs, minmax, room.M, room.every, room.mine, room.totals)
    for a in range(1, graphs.ptr[q + 1] - first + 1):
        if not minmax:
            room.mine[a] *= norms[q, E_SCALE]
        room.vertex[a, WEIGHT] = (graphs.W[first + a - 1] - norms[q, V_LOW]) * norms[q, V_SCALE]
        room.vertex[a, NEAR] = room.mine[a]
        room.vertex[a, OUT] = room.totals[a]


@inner
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
        smallest = min(smallest, postings.min_size[sources[room.walk[x]]])
        room.min_size[x] = smallest
    return whole


@inner
def removed(a, query, minmax, room):
    """Return the weight of vertex a and of its edges to and from vertices not yet scanned; update `room.left`."""
    M, mine, left, edges = room.M, room.mine, room.left, room.totals
    low, scale = query.norms[E_LOW], query.norms[E_SCALE]
    total = room.vertex[a, WEIGHT] + left[a]
    left[a] = -np.inf
    row = a * query.side
    for c in range(query.side):
        v = np.float64(M[row + c])
        e = (mine[c] * v - low) * scale if minmax else mine[c] * v
        edges[c] = e if v > 0.0 and left[c] >= 0.0 else 0.0
        left[c] -= edges[c]
    for c in range(np.uint64(0), query.side, FOUR):  # in pairs, so that fewer additions wait for one another
        total += (edges[c] + edges[c + ONE]) + (edges[c + TWO] + edges[c + THREE])
    return total


@inlined
def overlap(s, graphs, minmax, slot, room):
    """Find the vertices that graph `s` shares with the query.

    Returns their number, their common weight, and a bound on the common weight of the edges.
    """
    norms, vertex, shared, near = graphs.norms, room.vertex, room.shared, room.near
    v_low = norms[s, V_LOW]
    v_scale = norms[s, V_SCALE]
    e_scale = norms[s, E_SCALE]
    n = np.uint64(0)
    common = max_edges = ZERO
    for entry in range(np.uint64(graphs.ptr[s]), np.uint64(graphs.ptr[s + 1])):
        a = slot[graphs.items[entry]]
        p = np.float64(graphs.P[entry])
        if minmax:
            max_edges += vertex[a, OUT]
        else:
            p = min(vertex[a, NEAR], p * e_scale)
            max_edges += vertex[a, OUT] * p
        common += min(vertex[a, WEIGHT], (graphs.W[entry] - v_low) * v_scale)
        shared[n] = a
        near[a] = p
        n += np.uint64(a > 0)  # an item that is not shared is overwritten by the next, which avoids a branch
    return n, common, max_edges


@inlined
def common_edges(s, n, query, norms, minmax, room):
    """Return the common weight of the edges between the n vertices that `overlap` found."""
    shared, near, totals = room.shared, room.near, room.totals
    edges = ZERO
    if minmax:
        mine = Edges(room.mine, query.norms[E_LOW], query.norms[E_SCALE])
        add_smaller_edges(shared, n, query.side, room.M, mine, Edges(near, norms[s, E_LOW], norms[s, E_SCALE]), totals)
        for x in range(n):
            edges += totals[shared[x]]
    else:
        add_edges(shared, n, query.side, room.M, totals)
        for x in range(n):
            edges += near[shared[x]] * totals[shared[x]]
    return edges


@inner
def pop_largest(waiting, bounds, n):
    """Move the candidate with the largest bound, of n, to the end."""
    at = 0
    for x in range(1, n):
        at = x if bounds[x] > bounds[at] else at
    waiting[at], waiting[n - 1] = waiting[n - 1], waiting[at]
    bounds[at], bounds[n - 1] = bounds[n - 1], bounds[at]


@inlined
def record(item, sim, found, floor, query):
    """Keep an item if it is among the best; return the number of these and the similarity to beat."""
    if sim < floor:
        return found, floor
    found = keep(item, sim, found, query.own, query.items, query.sims)
    return found, query.sims[found - 1] * SLACK if found == query.items.size else floor


@inner
def compare_waiting(n_waiting, found, floor, query, target, comparator, slot, room):
    """Compare candidates in descending order of their bounds, as long as these can beat the last of the best."""
    minmax, norms = comparator.minmax, target.content.norms
    while n_waiting > 0:
        pop_largest(room.waiting, room.bounds, n_waiting)
        n_waiting -= 1
        if room.bounds[n_waiting] < floor:
            break
        s = room.waiting[n_waiting]
        n, common, _ = overlap(s, target.content, minmax, slot, room)
        common += common_edges(s, n, query, norms, minmax, room)
        sim = np.float32(similarity(comparator, common, query.norms[SIZE], norms[s, SIZE]))
        found, floor = record(target.numbers[s], sim, found, floor, query)
    return found, floor


@inner
def scan(query, target, comparator, scratch, room):
    """Search with one graph that has been laid out."""
    minmax, graphs, norms, postings = comparator.minmax, target.content, target.content.norms, target.postings
    slot, seen, allowed = scratch.slot, scratch.seen, target.allowed
    size = query.norms[SIZE]
    whole = plan(query.sources, postings, minmax, room)
    mark = new_mark(seen)
    found = length_of(query.items)
    floor = query.sims[found - 1] * SLACK if found == query.items.size else -1.0
    unseen = whole  # what a graph that has not been seen may have in common with the query
    for step in range(query.sources.size):
        bound = unseen + whole * BOUND_ERROR
        if all_below(comparator, bound, size, max(bound, room.min_size[step]), floor):
            break
        source = query.sources[room.walk[step]]
        n_waiting = np.int64(0)  # a plain 0 is a type of its own, for which numba would compile all this once more
        for entry in range(postings.start[source], postings.stop[source]):
            s = postings.rows[entry]
            if seen[s] == mark:
                continue
            seen[s] = mark
            if allowed.size > 0 and not allowed[s]:
                continue
            n, common, max_edges = overlap(s, graphs, minmax, slot, room)
            other = norms[s, SIZE]
            upper = min(common + max_edges, other)
            if is_below(comparator, upper, size, other, floor):
                continue
            if query.side < WIDE:
                common += common_edges(s, n, query, norms, minmax, room)
                sim = np.float32(similarity(comparator, common, size, other))
                found, floor = record(target.numbers[s], sim, found, floor, query)
                continue
            room.waiting[n_waiting] = s
            room.bounds[n_waiting] = similarity(comparator, upper, size, other)
            n_waiting += 1
            if n_waiting == BATCH:
                found, floor = compare_waiting(n_waiting, found, floor, query, target, comparator, slot, room)
                n_waiting = np.int64(0)
        if n_waiting > 0:
            found, floor = compare_waiting(n_waiting, found, floor, query, target, comparator, slot, room)
        unseen -= removed(np.uint64(room.walk[step] + 1), query, minmax, room)


@kernel
def search(comparator, start, stop, queries, target, scratch, best):
    """Search with the graphs of `queries.rows[start:stop]`, and update the best items so far.

    The content of `queries` are `LinkedGraphs`, that of `target` are `Graphs`.
    """
    graphs, links = queries.content.graphs, queries.content.links
    ptr = graphs.ptr
    room = make_room(widest(queries.rows[start:stop], ptr), target.max_entries)
    for x in range(start, stop):
        q, into = queries.rows[x], queries.into[x]
        members = graphs.items[ptr[q] : ptr[q + 1]]
        sources = queries.sources[ptr[q] : ptr[q + 1]]
        if not any_postings(sources, target.postings):
            continue
        lay_out(members, sources, links, scratch.slot, room.M)
        weigh(q, graphs, comparator.minmax, room)
        side = padded(members.size)
        query = Query(graphs.norms[q], queries.own[x], sources, side, best.items[into], best.scores[into])
        scan(query, target, comparator, scratch, room)
        clear(members, scratch.slot)
