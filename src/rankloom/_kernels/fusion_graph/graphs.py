"""Fusion graphs from the rows of the woven matrices: laid out one at a time in scratch memory, never stored.

Slots: the vertices of the current graph are numbered from 1; `slot[item]` is the number of an item, 0 if it is not a
vertex. Element 0 of every array indexed by slot is neutral, so inner loops need no branch.
Items and slots are unsigned, which saves the check for negative indexes.
"""

from typing import NamedTuple

import numpy as np

from rankloom._kernels import ROUNDING, ZERO
from rankloom._kernels.fusion_graph.arguments import E_LOW, E_SCALE, SIZE, V_LOW, V_SCALE
from rankloom._kernels.index.search import clear, widest
from rankloom._kernels.jit import helper, inner, kernel
from rankloom._kernels.lists import length_of

ONE, TWO, THREE, FOUR = (np.uint64(i) for i in range(1, 5))
LANES = 16


class Edges(NamedTuple):
    """The edges of a graph: A -> B weighs (near[a] * W[A, B] - low) * scale."""

    near: np.ndarray
    low: float
    scale: float


@kernel
def count_vertices(start, stop, lists, slot, degree):
    """Count the distinct items in the lists of each row; `slot` is scratch of zeros, cleared before returning."""
    m, _, cutoff = lists.shape
    members = np.empty(m * cutoff, np.int32)
    for q in range(start, stop):
        n = 0
        for r in range(m):
            for p in range(length_of(lists[r, q])):
                item = lists[r, q, p]
                members[n] = item
                n += slot[item] == 0
                slot[item] = 1
        for a in range(n):
            slot[members[a]] = 0
        degree[q] = n


@kernel
def weave(start, stop, lists, weights, nearness, slot, woven):
    """Compute W and P; the item in column p of a list of length n adds `weights[n, p]` and `nearness[n, p]`."""
    m, _, cutoff = lists.shape
    weight = np.empty(m * cutoff, np.float64)
    near = np.empty(m * cutoff, np.float64)
    for q in range(start, stop):
        first = woven.ptr[q]
        n = 0
        for r in range(m):
            length = length_of(lists[r, q])
            for p in range(length):
                item = lists[r, q, p]
                if slot[item] == 0:
                    woven.items[first + n] = item
                    weight[n] = 0.0
                    near[n] = 0.0
                    n += 1
                    slot[item] = n
                a = slot[item] - 1
                weight[a] += weights[length, p]
                near[a] += nearness[length, p]
        for a in range(n):
            slot[woven.items[first + a]] = 0
            woven.W[first + a] = weight[a]
            woven.P[first + a] = near[a]


@inner
def padded(n):
    """Return the length of rows for n vertices and slot 0: a multiple of what one step of a vector loop takes."""
    return np.uint64((n + LANES) // LANES * LANES)


@inner
def lay_out(members, sources, links, slot, M):
    """Number the vertices in `slot` and set M[b * side + a] to W[A, B] for each pair of them; 0 if no edge.

    Row b of M has the edges into B, so that sums over B are taken for all A at a time; `side` is padded. The row of
    member a in the matrix W is row `sources[a]` of `links`.
    """
    n = np.uint64(members.size + 1)
    side = padded(members.size)
    for a in range(ONE, n):
        slot[members[a - ONE]] = a
    M[: n * side] = 0.0
    for a in range(ONE, n):
        row = sources[a - ONE]
        for entry in range(np.uint64(links.ptr[row]), np.uint64(links.ptr[row + 1])):
            M[slot[links.items[entry]] * side + a] = links.W[entry]
        M[a] = 0.0  # was written for every B that is not in the graph
        M[a * side + a] = 0.0  # no edge from a vertex to itself


@inner
def add_edges(targets, n, side, M, totals):
    """Set totals[a], for all a, to the sum of W[A, B] over the first n of `targets`, added up in their order.

    The sums of all A grow together, which the compiler turns into vector instructions without changing any of them.
    """
    totals[:side] = 0.0
    whole = n - n % FOUR
    for y in range(np.uint64(0), whole, FOUR):
        b = targets[y] * side
        c = targets[y + ONE] * side
        d = targets[y + TWO] * side
        e = targets[y + THREE] * side
        for a in range(side):
            totals[a] = totals[a] + M[b + a] + M[c + a] + M[d + a] + M[e + a]
    for y in range(whole, n):
        b = targets[y] * side
        for a in range(side):
            totals[a] += M[b + a]


@inner
def add_smaller_edges(targets, n, side, M, one, other, totals):
    """Set totals[a], for all a, to the sum of the smaller weight of edge A -> B in two graphs over `targets`."""
    near, other_near = one.near, other.near
    low, scale, other_low, other_scale = one.low, one.scale, other.low, other.scale
    totals[:side] = 0.0
    for y in range(n):
        b = targets[y] * side
        for a in range(side):
            v = np.float64(M[b + a])
            e = min((near[a] * v - low) * scale, (other_near[a] * v - other_low) * other_scale)
            totals[a] += e if v > 0.0 else 0.0


@helper
def low_and_scale(low, high):
    """Return the offset and factor that scale [low, high] to [0, 1]; equal weights are left unchanged."""
    if high - low > ROUNDING * high:
        return low, 1.0 / (high - low)
    return 0.0, 1.0


@helper
def extremes(first, n, side, graphs, M, low, high):
    """Return the smallest and largest raw weight of the vertices and of the edges; `low` and `high` are scratch."""
    v_low = e_low = np.inf
    v_high = e_high = 0.0
    low[:side] = np.inf
    high[:side] = 0.0
    for b in range(ONE, n):
        row = b * side
        for a in range(side):
            v = np.float64(M[row + a])
            high[a] = max(high[a], v)
            low[a] = min(low[a], v if v > 0.0 else np.inf)
    for a in range(ONE, n):
        w = np.float64(graphs.W[first + a - ONE])
        p = np.float64(graphs.P[first + a - ONE])
        v_low = min(v_low, w)
        v_high = max(v_high, w)
        e_high = max(e_high, p * high[a])
        e_low = min(e_low, p * low[a] if p > 0.0 else np.inf)
    return v_low, v_high, e_low, e_high


@inner
def edge_sums(q, graphs, minmax, M, every, near, totals):
    """Set near[a] to P of each vertex, and totals[a] to the sum of its outgoing edges, not yet times P for max."""
    first = graphs.ptr[q]
    n = np.uint64(graphs.ptr[q + 1] - first)
    for a in range(n):
        near[a + ONE] = graphs.P[first + a]
    if minmax:
        edges = Edges(near, graphs.norms[q, E_LOW], graphs.norms[q, E_SCALE])
        add_smaller_edges(every, n, padded(n), M, edges, edges, totals)
    else:
        add_edges(every, n, padded(n), M, totals)


@kernel
def measure(start, stop, graphs, sources, links, minmax, slot):
    """Compute the norms and sizes of graphs, summing in the same order as `search`; `graphs.norms` receives them.

    The row of W of the member in entry e of `graphs` is row `sources[e]` of `links`.
    """
    norms = graphs.norms
    room = padded(widest(range(start, stop), graphs.ptr))
    M = np.empty(room * room, np.float32)
    every = np.arange(1, room + 1).astype(np.uint64)
    near = np.zeros(room, np.float64)
    low = np.empty(room, np.float64)
    totals = np.empty(room, np.float64)
    for q in range(start, stop):
        first = graphs.ptr[q]
        members = graphs.items[first : graphs.ptr[q + 1]]
        lay_out(members, sources[first : graphs.ptr[q + 1]], links, slot, M)
        clear(members, slot)
        n = np.uint64(members.size + 1)
        v_low, v_high, e_low, e_high = extremes(np.uint64(first), n, padded(members.size), graphs, M, low, totals)
        v_low, v_scale = low_and_scale(v_low if minmax else 0.0, v_high)
        e_low, e_scale = low_and_scale(e_low if minmax else 0.0, e_high)
        norms[q, V_LOW] = v_low
        norms[q, V_SCALE] = v_scale
        norms[q, E_LOW] = e_low
        norms[q, E_SCALE] = e_scale
        edge_sums(q, graphs, minmax, M, every, near, totals)
        vertices = edges = ZERO
        for a in range(1, n):
            vertices += (graphs.W[first + a - 1] - v_low) * v_scale
            edges += totals[a] if minmax else near[a] * e_scale * totals[a]
        norms[q, SIZE] = vertices + edges
