"""Exact search of the rows of weft, and the parts of a similarity.

All fields of a row share a sparsity pattern, so a posting list leads to the rows that share an item in any field, and
one pass over a row compares all fields. Slots are as in `expand`.
"""

from math import exp, log
from typing import NamedTuple

import numpy as np

from rankloom._kernels import ZERO
from rankloom._kernels.index.search import SLACK, any_postings, clear, keep, new_mark, widest
from rankloom._kernels.jit import helper, inner, kernel
from rankloom._kernels.lists import length_of
from rankloom._kernels.sorting import sort_ascending
from rankloom._kernels.weft.expand import LOW

SHARPNESS = 20.0  # c of the score
BOUND_UNIT = 1 << 24  # bounds are integers, in units of 1 / BOUND_UNIT: sums are exact in any order


class Query(NamedTuple):
    """One query that has been laid out: its item, the weights and posting lists of its entries, its sizes, and its
    best items so far.

    An external query has no item: `own` is -1, or -n if only rows that have n of its entries are compared.
    """

    own: int
    sources: np.ndarray
    weights: np.ndarray
    size: np.ndarray
    items: np.ndarray
    sims: np.ndarray


class Room(NamedTuple):
    """Scratch of a search, and the weights of the target in a flat array."""

    target_weights: np.ndarray
    query: np.ndarray  # the weights of the query, by slot and field
    gain: np.ndarray
    walk: np.ndarray
    spare: np.ndarray
    max_gain: np.ndarray
    bound: np.ndarray
    common: np.ndarray  # of a candidate, by field, as is `similar`
    similar: np.ndarray
    candidates: np.ndarray


@helper
def make_room(width, target, n_fields, n_rows):
    """Return scratch for queries of fewer than `width` entries and a target of `n_rows` rows."""
    return Room(
        target.content.weights.reshape(-1),
        np.zeros(width * n_fields, np.uint32),
        np.empty(width, np.float64),
        np.empty(width, np.int64),
        np.empty(width, np.int64),
        np.empty(width, np.uint32),
        np.empty(width, np.float64),
        np.empty(n_fields, np.uint32),
        np.empty(n_fields, np.float64),
        np.empty(n_rows, np.uint32),
    )


@inner
def lay_out(members, weights, slot, query):
    """Number the items of a query in `slot`, and copy their weights to the flat array `query`, indexed by slot."""
    fields = weights.shape[1]
    for x in range(members.size):
        slot[members[x]] = x + 1
        for f in range(fields):
            query[(x + 1) * fields + f] = weights[x, f]


@helper
def plan(query, parts, postings, room):
    """Order the items for the scan, and bound the mean Jaccard similarity of rows that are new at each step.

    `max_gain` bounds what each item can add to the mean Jaccard similarity, in units of 1 / BOUND_UNIT, rounded up. All
    together fit in 32 bits, even if sizes from a file are too small: a row whose sum wraps to 0 would become
    a candidate twice.
    """
    sources, weights, size, walk = query.sources, query.weights, query.size, room.walk
    n = sources.size
    fields = parts.size
    left = np.int64(LOW - n)
    for x in range(n):
        value = ZERO
        for f in range(fields):
            if size[f] > 0:
                value += parts[f] * weights[x, f] / size[f]
        gain = min(np.int64(value * BOUND_UNIT), left)
        left -= gain
        room.max_gain[x] = np.uint32(gain + 1)
        room.gain[x] = -value / (postings.stop[sources[x]] - postings.start[sources[x]] + 1)
    sort_ascending(room.gain, n, walk, room.spare)
    rest = np.zeros(fields, np.int64)
    smallest = np.full(fields, LOW, np.int64)
    room.bound[n] = 0.0
    for step in range(n - 1, -1, -1):
        x = walk[step]
        total = ZERO
        for f in range(fields):
            rest[f] += weights[x, f]
            smallest[f] = min(smallest[f], np.int64(postings.min_size[sources[x], f]))
            if rest[f] > 0:
                total += parts[f] * rest[f] / max(size[f] + max(smallest[f] - rest[f], 0), 1)
        room.bound[step] = total


@inner
def common_four(first, last, field, rows, slot, room):
    """Return the common weight of a row and the query in four fields."""
    items, weights, query, fields = rows.items, room.target_weights, room.query, np.uint64(room.common.size)
    c0 = c1 = c2 = c3 = np.uint32(0)
    one = np.uint64(1)
    for entry in range(first, last):
        a = slot[items[entry]] * fields + field
        e = entry * fields + field
        c0 = np.uint32(c0 + min(query[a], np.uint32(weights[e])))
        c1 = np.uint32(c1 + min(query[a + one], np.uint32(weights[e + one])))
        c2 = np.uint32(c2 + min(query[a + one + one], np.uint32(weights[e + one + one])))
        c3 = np.uint32(c3 + min(query[a + one + one + one], np.uint32(weights[e + one + one + one])))
    return c0, c1, c2, c3


@inner
def common_one(first, last, field, rows, slot, room):
    """Return the common weight of a row and the query in one field."""
    items, weights, query, fields = rows.items, room.target_weights, room.query, np.uint64(room.common.size)
    common = np.uint32(0)
    for entry in range(first, last):
        mine = query[slot[items[entry]] * fields + field]
        common = np.uint32(common + min(mine, np.uint32(weights[entry * fields + field])))
    return common


@inner
def intersect(s, rows, slot, room):
    """Compute the common weight of row s and the query in each field."""
    first, last = np.uint64(rows.ptr[s]), np.uint64(rows.ptr[s + 1])
    field = np.uint64(0)
    fields = np.uint64(room.common.size)
    while field + np.uint64(4) <= fields:
        for common in common_four(first, last, field, rows, slot, room):
            room.common[field] = common
            field += np.uint64(1)
    while field < fields:
        room.common[field] = common_one(first, last, field, rows, slot, room)
        field += np.uint64(1)


@inner
def jaccards(common, size, other, parts, similar):
    """Compute the Jaccard similarity of each field; return their mean, weighted as in the score."""
    mean = ZERO
    for f in range(common.size):
        similar[f] = 0.0
        whole = np.int64(size[f]) + np.int64(other[f]) - np.int64(common[f])
        if common[f] > 0 and whole > 0:  # sizes come from a file
            similar[f] = common[f] / np.float64(whole)
            mean += parts[f] * similar[f]
    return mean


@helper
def score(similar, parts):
    """Return S of two rows from their Jaccard similarities."""
    total = ZERO
    for f in range(similar.size):
        total += parts[f] * log(1.0 + SHARPNESS * similar[f])
    return np.float32(total / log(1.0 + SHARPNESS))


@inner
def floor_of(sim):
    """Return the smallest mean Jaccard similarity that can have this score (Jensen: the logarithm is concave)."""
    return (exp(sim * SLACK * log(1.0 + SHARPNESS)) - 1.0) / SHARPNESS * SLACK


@inner
def compare(s, floor, query, rows, parts, slot, room):
    """Return the score of the query and row s; 0 if the mean Jaccard similarity is below `floor`."""
    intersect(s, rows, slot, room)
    if jaccards(room.common, query.size, rows.sizes[s], parts, room.similar) < floor:
        return np.float32(0.0)
    return score(room.similar, parts)


@inner
def record(item, sim, found, floor, query):
    """Keep an item that is similar; return the number of the best and the mean Jaccard similarity to beat."""
    if sim > 0.0:
        found = keep(item, sim, found, query.own, query.items, query.sims)
        if found == query.items.size:
            floor = floor_of(query.sims[found - 1])
    return found, floor


@inner
def scan_first(mark, query, target, parts, scratch, room):
    """Compare the rows of the first posting lists, until there are enough results.

    Return the number of lists scanned, that of the results, and the mean Jaccard similarity to beat.
    """
    postings, allowed, seen = target.postings, target.allowed, scratch.seen
    found = length_of(query.items)
    floor = floor_of(query.sims[found - 1]) if found == query.items.size else 0.0
    step = 0
    while step < query.sources.size and found < query.items.size:
        source = query.sources[room.walk[step]]
        for entry in range(postings.start[source], postings.stop[source]):
            s = postings.rows[entry]
            if seen[s] == mark:
                continue
            seen[s] = mark
            if allowed.size > 0 and not allowed[s]:
                continue
            sim = compare(s, floor, query, target.content, parts, scratch.slot, room)
            found, floor = record(target.numbers[s], sim, found, floor, query)
        step += 1
    return step, found, floor


@inner
def collect(step, floor, mark, query, target, scratch, room):
    """Add up, for each row that was not compared yet, a bound on what it shares with the query.

    Return the number of such rows, and what the items that were not scanned could still add to each of them.
    """
    postings, allowed, sums, sources = target.postings, target.allowed, scratch.sums, query.sources
    n = 0
    while step < sources.size and room.bound[step] >= floor:
        x = room.walk[step]
        for entry in range(postings.start[sources[x]], postings.stop[sources[x]]):
            s = postings.rows[entry]
            if scratch.seen[s] == mark or (allowed.size > 0 and not allowed[s]):
                continue
            if sums[s] == 0:
                room.candidates[n] = s
                n += 1
            sums[s] += room.max_gain[x]
        step += 1
    rest = np.int64(0)
    while step < sources.size:
        rest += room.max_gain[room.walk[step]]
        step += 1
    return n, rest


@inner
def count_entries(query, target, scratch, room):
    """Count, for each allowed row, the entries of the query that it has; return the number of rows that have any."""
    postings, allowed, sums = target.postings, target.allowed, scratch.sums
    n = 0
    for source in query.sources:
        for entry in range(postings.start[source], postings.stop[source]):
            s = postings.rows[entry]
            if allowed.size > 0 and not allowed[s]:
                continue
            if sums[s] == 0:
                room.candidates[n] = s
                n += 1
            sums[s] += 1
    return n


@inner
def search_met(query, target, parts, scratch, room):
    """Compare the rows that have enough entries of the query."""
    found = length_of(query.items)
    floor = floor_of(query.sims[found - 1]) if found == query.items.size else 0.0
    for at in range(count_entries(query, target, scratch, room)):
        s = room.candidates[at]
        if scratch.sums[s] >= -query.own:
            sim = compare(s, floor, query, target.content, parts, scratch.slot, room)
            found, floor = record(target.numbers[s], sim, found, floor, query)
        scratch.sums[s] = 0


@kernel
def count_met(parts, start, stop, queries, target, scratch, best):
    """Add to column n of a query's scores the number of rows with n + 1 of its entries; to the last, with more."""
    content = queries.content
    room = make_room(1, target, parts.size, scratch.sums.size)
    for x in range(start, stop):
        q, into = queries.rows[x], queries.into[x]
        here = slice(content.ptr[q], content.ptr[q + 1])
        counts = best.scores[into]
        query = Query(-1, queries.sources[here], content.weights[here], content.sizes[q], best.items[into], counts)
        for at in range(count_entries(query, target, scratch, room)):
            s = room.candidates[at]
            counts[min(np.int64(scratch.sums[s]), counts.size) - 1] += np.float32(1.0)
            scratch.sums[s] = 0


@kernel
def search(parts, start, stop, queries, target, scratch, best):
    """Search with the queries from `start` to `stop`, and update the best items so far.

    The rows of the first posting lists are compared immediately, until there are enough results. For the other rows,
    bounds on what they share with the query are added up first; they are then compared in descending order of their
    bounds, as long as these can beat the last of the best results.

    The contents of `queries` and `target` are `Rows`. `parts` holds the weight of each field in the score; they sum
    to 1. `scratch.sums` is cleared before returning. If `queries.own` is below -1, only rows that have so many entries
    of the query are compared.
    """
    content, rows, sums, slot = queries.content, target.content, scratch.sums, scratch.slot
    room = make_room(widest(queries.rows[start:stop], content.ptr) + 1, target, parts.size, sums.size)
    candidates = room.candidates
    for x in range(start, stop):
        q, into = queries.rows[x], queries.into[x]
        here = slice(content.ptr[q], content.ptr[q + 1])
        members, sources, weights = content.items[here], queries.sources[here], content.weights[here]
        if not any_postings(sources, target.postings):
            continue
        query = Query(queries.own[x], sources, weights, content.sizes[q], best.items[into], best.scores[into])
        lay_out(members, weights, slot, room.query)
        if query.own < -1:
            search_met(query, target, parts, scratch, room)
            clear(members, slot)
            continue
        plan(query, parts, target.postings, room)
        mark = new_mark(scratch.seen)
        step, found, floor = scan_first(mark, query, target, parts, scratch, room)
        n, rest = collect(step, floor, mark, query, target, scratch, room)
        level = np.int64(BOUND_UNIT)
        while n > 0:
            level //= 2
            limit = max(np.int64(floor * BOUND_UNIT), level)  # the most promising first: they raise the floor
            left = 0
            for at in range(n):
                s = candidates[at]
                reach = sums[s] + rest
                if reach >= limit:
                    sums[s] = 0
                    sim = compare(s, floor, query, rows, parts, slot, room)
                    found, floor = record(target.numbers[s], sim, found, floor, query)
                elif reach < np.int64(floor * BOUND_UNIT):
                    sums[s] = 0
                else:
                    candidates[left] = s
                    left += 1
            n = left
        clear(members, slot)


@kernel
def contributions(query, other, parts, slot, shared, shares):
    """Compute the contribution of each item that two rows share, by field, to their score; return their number.

    Both `query` and `other` are `Rows` with one row.
    """
    members = query.items
    for x in range(members.size):
        slot[members[x]] = x + 1
    fields = parts.size
    common = np.zeros(fields, np.uint32)
    n = 0
    for entry in range(other.items.size):
        a = slot[other.items[entry]]
        if a == 0:
            continue
        any_field = False
        for f in range(fields):
            smaller = min(query.weights[a - 1, f], other.weights[entry, f])
            common[f] += smaller
            shares[n, f] = smaller
            any_field |= smaller > 0
        shared[n] = other.items[entry]
        n += any_field
    clear(members, slot)
    similar = np.empty(fields, np.float64)
    jaccards(common, query.sizes[0], other.sizes[0], parts, similar)
    for f in range(fields):
        term = parts[f] * log(1.0 + SHARPNESS * similar[f]) / log(1.0 + SHARPNESS)
        for x in range(n):
            shares[x, f] = shares[x, f] / common[f] * term if common[f] > 0 else 0.0
    return n
