"""The best graphs of a collection for each query graph, exactly, looking at few of them.

Only a graph that shares a vertex can be similar, so candidates come from the posting lists of the query's
vertices. Lists are walked most worth for their length first; before each one stands a bound on what a
candidate not met yet could still have in common with the query, and the walk ends when that is too little.
So an item that is in very many lists (a hub) is walked last, and hardly ever.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cfunc, njit
from numba.core.errors import NumbaError

from rankloom._kernels import ZERO
from rankloom._kernels.graphs import E_LOW, E_SCALE, SIZE, V_LOW, V_SCALE, clear, lay_out, widest
from rankloom.errors import InputError

WEIGHT, NEAR, OUT = range(3)  # columns of `vertex`: weight, P (normalized for max), sum of the edges that leave
LAST_MARK = 2**31 - 1
SLACK = 1.0 - 1e-6  # a bound must be this far below the k-th best to count: rounding can't lose an answer


@cache
def compiled(function: Callable[[float, float, float], float]) -> Any:
    """Return a comparator as kernels take it: by its address, so that one compiled `search` serves all of them."""
    signature = "float64(float64, float64, float64)"
    try:
        return cfunc(signature, cache=True)(function)
    except RuntimeError:  # numba keeps no compiled code of a function that is in no file
        return cfunc(signature)(function)
    except NumbaError as error:
        reason = str(error).strip().splitlines()[-1]
        raise InputError(f"{function.__name__} must be plain arithmetic that numba compiles: {reason}") from None


WGU, MCS, OTHER = range(3)  # comparators that are written into the kernel (a tenth faster), and those that are called


@njit(cache=True, nogil=True)
def compared(how, compare, common, size, other):
    """Return the similarity of two graphs."""
    if how == WGU:
        return common / (size + other - common) if common != 0.0 else 0.0
    if how == MCS:
        return common / max(size, other) if common != 0.0 else 0.0
    return compare(common, size, other)


@njit(cache=True, nogil=True)
def too_little(how, bound_of, common, size, other, floor):
    """Return True if graphs with at most `common` in common are less similar than `floor`."""
    if how == WGU:
        return common < floor * (size + other - common)
    if how == MCS:
        return common < floor * max(size, other)
    return bound_of(common, size, other) < floor


class Postings(NamedTuple):
    """The transpose of the woven matrices: for each item the graphs that have it as a vertex."""

    ptr: np.ndarray
    rows: np.ndarray
    least: np.ndarray  # the smallest size of those graphs


@njit(cache=True, nogil=True)
def least_sizes(post_ptr, post_rows, norms, least):
    """Return for each item the size of the smallest graph that has it as a vertex."""
    for item in range(least.size):
        least[item] = np.inf
        for entry in range(post_ptr[item], post_ptr[item + 1]):
            least[item] = min(least[item], norms[post_rows[entry], SIZE])


@njit(cache=True, nogil=True)
def weigh(q, side, ptr, W, P, norms, minmax, M, vertex):
    """Fill in what each vertex of the query weighs, and what the edges that leave it do."""
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
def plan(q, members, post_ptr, post_least, norms, minmax, M, vertex, walk, bound, least):
    """Order the vertices for the walk; bound what those from each step on can have in common with anything."""
    n = members.size
    side = n + 1
    for a in range(1, side):
        worth = vertex[a, WEIGHT] + vertex[a, OUT] * (1.0 if minmax else vertex[a, NEAR])
        gain = worth / (post_ptr[members[a - 1] + 1] - post_ptr[members[a - 1]] + 1)
        x = a - 1
        while x > 0 and bound[x - 1] < gain:  # `bound` holds the gains while they are sorted
            bound[x] = bound[x - 1]
            walk[x] = walk[x - 1]
            x -= 1
        bound[x] = gain
        walk[x] = a
    bound[n] = 0.0
    least[n] = np.inf
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
        least[x] = min(least[x + 1], post_least[members[a - 1]])


@njit(cache=True, nogil=True)
def similarity(
    q, s, side, q_norms, norms, ptr, items, W, P, slot, M, vertex, shared, near, minmax, how, compare, floor
):
    """Similarity of the query in hand and graph `s`; -1 where it is surely below `floor`."""
    size = q_norms[q, SIZE]
    q_low = q_norms[q, E_LOW]
    q_scale = q_norms[q, E_SCALE]
    other = norms[s, SIZE]
    v_low = norms[s, V_LOW]
    v_scale = norms[s, V_SCALE]
    e_low = norms[s, E_LOW]
    e_scale = norms[s, E_SCALE]
    n = np.uint64(0)
    common = most = ZERO  # `most` is of the edges
    for entry in range(np.uint64(ptr[s]), np.uint64(ptr[s + 1])):
        a = slot[items[entry]]
        p = np.float64(P[entry])
        if minmax:
            most += vertex[a, OUT]
        else:
            p = min(vertex[a, NEAR], p * e_scale)
            most += vertex[a, OUT] * p
        common += min(vertex[a, WEIGHT], (W[entry] - v_low) * v_scale)
        shared[n] = a
        near[n] = p
        n += np.uint64(a > 0)  # an item that is not shared is written over by the next: no branch to guess
    if too_little(how, compare, min(common + most, other), size, other, floor):
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
    return np.float32(compared(how, compare, common, size, other))


@njit(cache=True, nogil=True)
def keep(s, sim, found, own, numbers, best, sims):
    """Insert an answer into the best so far, in order: by similarity, the query itself, then by number."""
    k = best.size
    x = found
    while x > 0:
        other = best[x - 1]
        if sims[x - 1] > sim:
            break
        if sims[x - 1] == sim and s != own and (other == own or numbers[other] < numbers[s]):
            break
        if x < k:
            best[x] = other
            sims[x] = sims[x - 1]
        x -= 1
    if x < k:
        best[x] = s
        sims[x] = sim
    return min(found + 1, k)


@njit(cache=True, nogil=True)
def search(
    start,
    stop,
    rows,
    into,
    graphs,
    q_norms,
    inside,
    collection,
    norms,
    postings,
    numbers,
    minmax,
    how,
    compare,
    bound_of,
    slot,
    seen,
    out,
    out_sims,
):
    """Best answers of the graphs of `rows[start:stop]`, written to rows `into[start:stop]` of `out`.

    `inside` says that graph q is that of item q; `compare` and `bound_of` are the comparator and its
    bound where `how` is OTHER; `slot` and `seen` are scratch, kept between calls.
    """
    side = widest(rows[start:stop], graphs.ptr) + 1
    M = np.empty(side * side, np.float64)
    vertex = np.zeros((side, 3), np.float64)
    walk = np.empty(side, np.int64)
    bound = np.empty(side, np.float64)
    least = np.empty(side, np.float64)
    shared = np.empty(side, np.uint64)
    near = np.empty(side, np.float64)
    best = np.empty(out.shape[1], np.int32)
    sims = np.empty(out.shape[1], np.float32)
    ptr = collection.ptr
    items = collection.items
    W = collection.W
    P = collection.P
    post_ptr = postings.ptr
    post_rows = postings.rows
    for x in range(start, stop):
        q = rows[x]
        own = q if inside else -1
        members = graphs.items[graphs.ptr[q] : graphs.ptr[q + 1]]
        side = members.size + 1
        lay_out(members, ptr, items, W, slot, M)
        weigh(q, side, graphs.ptr, graphs.W, graphs.P, q_norms, minmax, M, vertex)
        plan(q, members, post_ptr, postings.least, q_norms, minmax, M, vertex, walk, bound, least)
        if seen[-1] == LAST_MARK:
            seen[:] = 0
        seen[-1] += 1  # a mark of its own for each query, so that nothing need be cleared
        mark = seen[-1]
        found = 0
        floor = -1.0
        for step in range(members.size):
            if too_little(how, bound_of, bound[step], q_norms[q, SIZE], max(bound[step], least[step]), floor):
                break
            item = members[walk[step] - 1]
            for entry in range(post_ptr[item], post_ptr[item + 1]):
                s = post_rows[entry]
                if seen[s] == mark:
                    continue
                seen[s] = mark
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
                    how,
                    compare,
                    floor,
                )
                if sim >= floor:
                    found = keep(s, sim, found, own, numbers, best, sims)
                    if found == best.size:
                        floor = sims[found - 1] * SLACK
        clear(members, slot)
        for y in range(found):
            out[into[x], y] = numbers[best[y]]
            out_sims[into[x], y] = sims[y]
