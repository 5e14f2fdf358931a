"""Fusion graphs from the rows of the woven matrices: laid out one at a time in scratch memory, never stored.

Slots: the vertices of the current graph are numbered from 1; `slot[item]` is the number of an item, 0 if it is not a
vertex. Element 0 of every array indexed by slot is neutral, so inner loops need no branch.
Items and slots are unsigned, which saves the check for negative indexes.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from rankloom._kernels import ROUNDING, ZERO

# Columns of `norms`: weight = (raw - low) * scale, for vertices and for edges, and the size |G|.
V_LOW, V_SCALE, E_LOW, E_SCALE, SIZE = range(5)


class Woven(NamedTuple):
    """Rows of the matrices W (vertex weights) and P (sums of 1 / position), in one CSR pattern."""

    ptr: np.ndarray
    items: np.ndarray
    W: np.ndarray
    P: np.ndarray


@njit(cache=True, nogil=True)
def count_vertices(start, stop, lists, slot, degree):
    """Count the distinct items in the lists of each row; `slot` is scratch of zeros, cleared before returning."""
    m, _, cutoff = lists.shape
    members = np.empty(m * cutoff, np.int32)
    for q in range(start, stop):
        n = 0
        for r in range(m):
            for p in range(cutoff):
                item = lists[r, q, p]
                if item < 0:
                    break
                members[n] = item
                n += slot[item] == 0
                slot[item] = 1
        for a in range(n):
            slot[members[a]] = 0
        degree[q] = n


@njit(cache=True, nogil=True)
def weave(start, stop, lists, weights, nearness, slot, woven):
    """Compute W and P; the item in column p of a list of length n adds `weights[n, p]` and `nearness[n, p]`."""
    m, _, cutoff = lists.shape
    weight = np.empty(m * cutoff, np.float64)
    near = np.empty(m * cutoff, np.float64)
    for q in range(start, stop):
        first = woven.ptr[q]
        n = 0
        for r in range(m):
            length = cutoff
            while length > 0 and lists[r, q, length - 1] < 0:
                length -= 1
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


@njit(cache=True, nogil=True)
def widest(rows, ptr):
    """Return the largest number of vertices in any of the rows."""
    width = 0
    for q in rows:
        width = max(width, ptr[q + 1] - ptr[q])
    return width


@njit(cache=True, nogil=True)
def lay_out(members, sources, links, slot, M):
    """Number the vertices in `slot` and set M[a * side + b] to W[A, B] for each pair of them; 0 if no edge.

    The row of member a in the matrix W is row `sources[a]` of `links`.
    """
    side = members.size + 1
    for a in range(1, side):
        slot[members[a - 1]] = a
    for a in range(1, side):
        base = a * side
        for b in range(side):
            M[base + b] = 0.0
        row = sources[a - 1]
        for entry in range(np.uint64(links.ptr[row]), np.uint64(links.ptr[row + 1])):
            M[base + slot[links.items[entry]]] = links.W[entry]
        M[base] = 0.0  # was written for every B that is not in the graph
        M[base + a] = 0.0  # no edge from a vertex to itself


@njit(cache=True, nogil=True)
def clear(members, slot):
    """Reset `slot` to 0."""
    for item in members:
        slot[item] = 0


@njit(cache=True, nogil=True)
def low_and_scale(low, high):
    """Return the offset and factor that scale [low, high] to [0, 1]; equal weights are left unchanged."""
    if high - low > ROUNDING * high:
        return low, 1.0 / (high - low)
    return 0.0, 1.0


@njit(cache=True, nogil=True)
def extremes(first, side, graphs, M):
    """Return the smallest and largest raw weight of the vertices and of the edges."""
    v_low = e_low = np.inf
    v_high = e_high = 0.0
    for a in range(1, side):
        w = np.float64(graphs.W[first + a - 1])
        p = np.float64(graphs.P[first + a - 1])
        v_low = min(v_low, w)
        v_high = max(v_high, w)
        for b in range(1, side):
            e = p * M[a * side + b]
            e_high = max(e_high, e)
            e_low = min(e_low, e if e > 0.0 else np.inf)
    return v_low, v_high, e_low, e_high


@njit(cache=True, nogil=True)
def measure(start, stop, graphs, sources, links, minmax, slot, norms):
    """Compute the norms and sizes of graphs, summing in the same order as `search`.

    The row of W of the member in entry e of `graphs` is row `sources[e]` of `links`.
    """
    side = widest(range(start, stop), graphs.ptr) + 1
    M = np.empty(side * side, np.float64)
    for q in range(start, stop):
        first = graphs.ptr[q]
        members = graphs.items[first : graphs.ptr[q + 1]]
        lay_out(members, sources[first : graphs.ptr[q + 1]], links, slot, M)
        clear(members, slot)
        side = members.size + 1
        v_low, v_high, e_low, e_high = extremes(first, side, graphs, M)
        v_low, v_scale = low_and_scale(v_low if minmax else 0.0, v_high)
        e_low, e_scale = low_and_scale(e_low if minmax else 0.0, e_high)
        vertices = edges = ZERO
        for a in range(1, side):
            vertices += (graphs.W[first + a - 1] - v_low) * v_scale
            p = np.float64(graphs.P[first + a - 1])
            total = ZERO
            if minmax:
                for b in range(1, side):
                    v = M[a * side + b]
                    total += (p * v - e_low) * e_scale if v > 0.0 else 0.0
                edges += total
            else:
                for b in range(1, side):
                    total += M[a * side + b]
                edges += p * e_scale * total
        norms[q, V_LOW] = v_low
        norms[q, V_SCALE] = v_scale
        norms[q, E_LOW] = e_low
        norms[q, E_SCALE] = e_scale
        norms[q, SIZE] = vertices + edges
