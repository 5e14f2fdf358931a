"""Exact search of the rows of weft, and the parts of a similarity.

All fields of a row share a sparsity pattern, so a posting list leads to the rows that share an item in any field. What
these have in common with the query is added up over the posting lists of its entries, for all fields at once. Long
lists, of hubs, come last: rows in no other list are left out if they cannot be among the best.
"""

from math import exp, log
from typing import NamedTuple

import numpy as np

from rankloom._kernels import ZERO
from rankloom._kernels.index.search import SLACK, any_postings, clear, keep
from rankloom._kernels.jit import helper, inner, kernel
from rankloom._kernels.lists import length_of
from rankloom._kernels.sorting import copy_first

SHARPNESS = 20.0  # c of the score
HUB = 256  # rows in a posting list that comes last
ONE, TWO, THREE, FOUR = (np.uint64(i) for i in range(1, 5))


class Query(NamedTuple):
    """One query: its item, -1 if it is external, the weights and posting lists of its entries, its sizes.

    Row n of `items` and `sims` has the best items so far of those that share more than n entries with it.
    """

    own: int
    sources: np.ndarray
    weights: np.ndarray
    size: np.ndarray
    items: np.ndarray
    sims: np.ndarray


class Room(NamedTuple):
    """Scratch of a search, and the weights of all posting lists in a flat array.

    `sums` has what each row has in common with the query, by field, and the number of entries that it shares.
    """

    weights: np.ndarray
    sums: np.ndarray
    touched: np.ndarray  # the rows that share an entry
    entry: np.ndarray  # the weights of an entry of the query, padded to a multiple of 4
    similar: np.ndarray  # by field, as is `rest`
    rest: np.ndarray  # what the lists of hubs have at most in common with the query
    found: np.ndarray  # the number of the best so far, by row of `Query.items`, as are `floors` and `counts`
    floors: np.ndarray  # the mean Jaccard similarity to beat
    counts: np.ndarray
    items: np.ndarray  # a copy of the best so far, as is `sims`
    sims: np.ndarray


@helper
def make_room(target, scratch, n_lists, k):
    """Return scratch for queries with several lists of the k best."""
    fields = target.content.sizes.shape[1]
    return Room(
        target.content.weights.reshape(-1),
        scratch.sums,
        scratch.seen,
        np.zeros((fields + 3) // 4 * 4, np.uint32),
        np.empty(fields, np.float64),
        np.zeros(fields, np.uint32),
        np.empty(n_lists, np.int64),
        np.empty(n_lists, np.float64),
        np.empty(n_lists, np.int64),
        np.empty(k, np.int32),
        np.empty(k, np.float32),
    )


@inner
def width_of(room):
    """Return the number of sums of a row: they are added four at a time, and the last is followed by the count."""
    return max(np.uint64(room.entry.size), np.uint64(room.similar.size) + ONE)


@inner
def add_four(at, base, room):
    """Add the smaller weights of an entry of a posting list and of the query to the sums of a row."""
    sums, weights, entry, fields = room.sums, room.weights, room.entry, np.uint64(room.similar.size)
    for f in range(np.uint64(0), fields, FOUR):
        a, b = base + f, at * fields + f
        s0 = sums[a] + min(entry[f], np.uint32(weights[b]))
        s1 = sums[a + ONE] + min(entry[f + ONE], np.uint32(weights[b + ONE]))
        s2 = sums[a + TWO] + min(entry[f + TWO], np.uint32(weights[b + TWO]))
        s3 = sums[a + THREE] + min(entry[f + THREE], np.uint32(weights[b + THREE]))
        sums[a] = np.uint32(s0)  # all after the last load: as one vector
        sums[a + ONE] = np.uint32(s1)
        sums[a + TWO] = np.uint32(s2)
        sums[a + THREE] = np.uint32(s3)


@inner
def load(x, query, room):
    """Copy the weights of entry x of a query; the padding stays 0."""
    for f in range(query.size.size):
        room.entry[f] = query.weights[x, f]


@inner
def add_list(x, n, query, target, room):
    """Add up what each allowed row of the posting list of entry x has in common with it; return the rows touched."""
    postings, allowed, sums, source = target.postings, target.allowed, room.sums, query.sources[x]
    width, count = width_of(room), np.uint64(room.similar.size)
    load(x, query, room)
    for at in range(np.uint64(postings.start[source]), np.uint64(postings.stop[source])):
        s = postings.rows[at]
        if allowed.size > 0 and not allowed[s]:
            continue
        base = np.uint64(s) * width
        if sums[base + count] == 0:
            room.touched[n] = s
            n += 1
        sums[base + count] += np.uint32(1)
        add_four(at, base, room)
    return n


@inner
def is_hub(x, query, postings):
    """Return True if the posting list of entry x is long."""
    source = query.sources[x]
    return postings.stop[source] - postings.start[source] > HUB


@inner
def add_lists(hubs, n, query, target, room):
    """Add up the posting lists of the hubs, or all others; return the number of rows touched."""
    for x in range(query.sources.size):
        if is_hub(x, query, target.postings) == hubs:
            n = add_list(x, n, query, target, room)
    return n


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
def clear_sums(s, room):
    """Set the sums of a row to 0."""
    width = width_of(room)
    for a in range(np.uint64(s) * width, (np.uint64(s) + ONE) * width):
        room.sums[a] = 0


@inner
def compare(s, query, target, parts, room):
    """Return the mean Jaccard similarity of the query and row s by what was added up."""
    base = np.uint64(s) * width_of(room)
    common = room.sums[base : base + np.uint64(query.size.size)]
    return jaccards(common, query.size, target.content.sizes[s], parts, room.similar)


@inner
def floor_so_far(n, query, target, parts, room):
    """Return a mean Jaccard similarity that all of the best will have: they share at least what was added up."""
    found, floor = room.found[0], room.floors[0]
    copy_first(query.items[0], found, room.items)
    copy_first(query.sims[0], found, room.sims)
    for t in range(n):
        s = room.touched[t]
        if compare(s, query, target, parts, room) > floor:
            found = keep(target.numbers[s], score(room.similar, parts), found, query.own, room.items, room.sims)
            if found == room.sims.size:
                floor = floor_of(room.sims[found - 1])
    return floor


@inner
def reach(s, query, sizes, parts, room):
    """Return the largest mean Jaccard similarity that row s can have, with the lists of hubs."""
    base = np.uint64(s) * width_of(room)
    for f in range(query.size.size):
        room.entry[f] = min(room.sums[base + np.uint64(f)] + room.rest[f], query.size[f], sizes[s, f])
    return jaccards(room.entry[: query.size.size], query.size, sizes[s], parts, room.similar)


@inner
def add_found(x, n, query, postings, room):
    """Add what the touched rows that are in the long posting list of entry x have in common with it."""
    source = query.sources[x]
    load(x, query, room)
    for t in range(n):
        s = room.touched[t]
        first, last = postings.start[source], postings.stop[source]
        while first < last:
            middle = (first + last) // 2
            if postings.rows[middle] < s:
                first = middle + 1
            else:
                last = middle
        if first < postings.stop[source] and postings.rows[first] == s:
            add_four(np.uint64(first), np.uint64(s) * width_of(room), room)


@inner
def add_hubs(n, query, target, parts, room):
    """Add up the posting lists of hubs, for rows that can be among the best; return how many of these there are."""
    postings, rest, n_hubs = target.postings, room.rest, 0
    rest[:] = 0
    for x in range(query.sources.size):
        if is_hub(x, query, postings):
            n_hubs += 1
            for f in range(rest.size):
                rest[f] += query.weights[x, f]
    if n_hubs == 0:
        return n
    floor, untouched = floor_so_far(n, query, target, parts, room), ZERO
    for f in range(rest.size):
        untouched += parts[f] * rest[f] / max(query.size[f], 1)
    if untouched >= floor:
        return add_lists(True, n, query, target, room)
    left = 0
    for t in range(n):
        s = room.touched[t]
        if reach(s, query, target.content.sizes, parts, room) < floor:
            clear_sums(s, room)
        else:
            room.touched[left] = s
            left += 1
    for x in range(query.sources.size):
        if is_hub(x, query, postings):
            add_found(x, left, query, postings, room)
    return left


@inner
def lowest_list(n, k, room):
    """Return the last list of the best that will be full, or the first: rows that share fewer entries do not matter."""
    counts, total = room.counts, 0
    counts[:] = 0
    for t in range(n):
        met = room.sums[np.uint64(room.touched[t]) * width_of(room) + np.uint64(room.similar.size)]
        counts[min(np.int64(met), counts.size) - 1] += 1
    for n_list in range(counts.size - 1, 0, -1):
        total += counts[n_list]
        if total >= k or room.found[n_list] == k:
            return n_list
    return 0


@inner
def record(item, sim, n_list, query, room):
    """Keep an item in one of the lists of the best."""
    sims = query.sims[n_list]
    room.found[n_list] = keep(item, sim, room.found[n_list], query.own, query.items[n_list], sims)
    if room.found[n_list] == sims.size:
        room.floors[n_list] = floor_of(sims[sims.size - 1])


@inner
def score_rows(n, least, query, target, parts, room):
    """Score the touched rows, and keep each in the lists of the best from `least` on that it belongs to."""
    n_lists, width = room.found.size, width_of(room)
    for t in range(n):
        s = room.touched[t]
        met = room.sums[np.uint64(s) * width + np.uint64(room.similar.size)]
        last = min(np.int64(met), n_lists) - 1
        if last >= least and compare(s, query, target, parts, room) >= room.floors[last]:
            sim = score(room.similar, parts)
            if sim > 0.0 or n_lists > 1:
                for n_list in range(least, last + 1):
                    record(target.numbers[s], sim, n_list, query, room)
        clear_sums(s, room)


@kernel
def search(parts, n_lists, start, stop, queries, target, scratch, best):
    """Search with the queries from `start` to `stop`, and update the best items so far.

    A row of `best` has `n_lists` lists: list n, from 0, of the items that share more than n entries with the query; of
    the lists before one that is full, only the items found before that are kept. With one list, it is exact and has no
    items that score 0. `parts` holds the weight of each field in the score; they sum to 1. `scratch.sums` is cleared
    before returning.
    """
    content, k = queries.content, best.items.shape[1] // n_lists
    room = make_room(target, scratch, n_lists, k)
    for x in range(start, stop):
        q, into = queries.rows[x], queries.into[x]
        here = slice(content.ptr[q], content.ptr[q + 1])
        sources = queries.sources[here]
        if not any_postings(sources, target.postings):
            continue
        items, sims = best.items[into].reshape(n_lists, k), best.scores[into].reshape(n_lists, k)
        query = Query(queries.own[x], sources, content.weights[here], content.sizes[q], items, sims)
        for n_list in range(n_lists):
            found = length_of(items[n_list])
            room.found[n_list] = found
            room.floors[n_list] = floor_of(sims[n_list, k - 1]) if found == k else 0.0
        n = add_lists(False, np.int64(0), query, target, room)
        n = add_hubs(n, query, target, parts, room) if n_lists == 1 else add_lists(True, n, query, target, room)
        score_rows(n, lowest_list(n, k, room), query, target, parts, room)


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
