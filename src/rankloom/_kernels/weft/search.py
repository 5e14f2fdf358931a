"""Kernels of weft: expand the lists of items and queries into sparse rows, and search these rows exactly.

A row has m + 1 fields with a common sparsity pattern: the fused field first, then one for each ranker. So a posting
list leads to the rows that share an item in any field, and one pass over a row compares all fields.

Weights are stored as integers in units of 1 / UNIT: they take two bytes each, and their sums are exact in any order.
The fused field is stored divided by m, so that every weight is at most 1; scaling does not change a Jaccard similarity.

Slots: the items of the current row are numbered from 1; `slot[item]` is the number of an item, 0 if it is not in the
row. Element 0 of every array indexed by slot is neutral, so inner loops need no branch.
"""

from math import exp, log
from typing import NamedTuple

import numpy as np

from rankloom._kernels import ZERO
from rankloom._kernels.fusion_graph.search import LAST_MARK, SLACK, any_postings, filled, keep
from rankloom._kernels.jit import helper, kernel
from rankloom._kernels.sorting import copy_first, sort_ascending
from rankloom._kernels.text.postings import largest_first

UNIT = 1 << 15  # a weight of 1; a power of 2, so that simple fractions are exact
TIE_UNIT = 1 << 30  # weights are compared in steps of 1 / TIE_UNIT, so that rounding errors do not break ties
LOW = (1 << 32) - 1  # mask of the half of a key that breaks ties
SHARPNESS = 20.0  # c of the score
BOUND_UNIT = (
    1 << 24
)  # bounds on the mean Jaccard similarity are integers, in units of 1 / BOUND_UNIT: sums are exact in any order


class Rows(NamedTuple):
    """Expanded rows in CSR form, with a column of weights for each field."""

    ptr: np.ndarray
    items: np.ndarray
    weights: np.ndarray  # (entries, fields)
    sizes: np.ndarray  # (rows, fields): the sum of the weights of a row


@kernel
def own_first(start, stop, first, lists):
    """Move item `first + i` to the front of list i, in place; if not listed, a full list drops its last item."""
    for i in range(start, stop):
        own = np.int32(first + i)
        held = own
        for p in range(lists.shape[1]):
            item = lists[i, p]
            lists[i, p] = held
            held = item
            if item == own or item < 0:
                break


@helper
def add_list(ranked, factor, near, n, slot, members, total):
    """Add `factor * near[p]` to the total of the item in each column p of a list; return the number of slots."""
    for p in range(np.uint64(ranked.size)):
        item = ranked[p]
        if item < 0:
            break
        a = slot[np.uint32(item)]
        if a == 0:
            members[n] = item
            n += np.uint64(1)
            a = np.uint32(n)
            slot[np.uint32(item)] = a
        total[a] += factor * near[p]
    return n


@helper
def expand_ranker(own, lists, near, skip, expand, n, slot, members, total):
    """Add up the weighted lists of a row and of its first items; return the number of slots and the divisor."""
    n = add_list(own, 1.0, near, n, slot, members, total)
    divisor = np.float64(1.0)
    for p in range(skip, min(skip + expand - 1, own.size)):
        item = own[p]
        if item < 0:
            break
        n = add_list(lists[item], near[p], near, n, slot, members, total)
        divisor += near[p]
    return n, divisor


@helper
def tie_key(weight, item, own, numbers):
    """Return an integer that sorts by weight; ties: the item itself, then the smaller number."""
    tie = LOW if item == own else LOW - 1 - np.int64(numbers[item])
    return np.int64(np.rint(weight * TIE_UNIT)) << 32 | tie


@helper
def largest_entries(weights, n, members, own, numbers, keys, picked):
    """Fill `picked` with the slots of the largest positive weights, except the item's own; return their number."""
    found = 0
    for a in range(1, n + 1):
        if weights[a] <= 0.0 or members[a - 1] == own:
            continue
        key = tie_key(weights[a], members[a - 1], own, numbers)
        x = found
        while x > 0 and keys[x - 1] < key:
            if x < picked.size:
                keys[x] = keys[x - 1]
                picked[x] = picked[x - 1]
            x -= 1
        if x < picked.size:
            keys[x] = key
            picked[x] = a
            found = min(found + 1, picked.size)
    return found


@helper
def expand_fused(own, lists, near, shares, own_item, numbers, n, slot, members, fused, keys, picked, total):
    """Expand the weighted sum of a row's lists by its largest entries, as `expand_ranker` does for one ranker."""
    for r in range(own.shape[0]):
        n = add_list(own[r], shares[r], near, n, slot, members, fused)
    found = largest_entries(fused, n, members, own_item, numbers, keys, picked)
    copy_first(fused, n + 1, total)
    divisor = np.float64(1.0)
    for x in range(found):
        weight = fused[picked[x]]
        divisor += weight
        for r in range(own.shape[0]):
            if shares[r] > 0.0:
                ranked = lists[r, members[picked[x] - 1]]
                n = add_list(ranked, weight * shares[r], near, n, slot, members, total)
    fused[: n + 1] = 0.0
    return n, divisor


@kernel
def settle(n, divisor, width, own, numbers, members, keys, total):
    """Divide a field by its divisor and keep its `width` largest entries; set the others to 0."""
    found = 0
    scale = 1.0 / divisor
    for a in range(1, n + 1):
        total[a] *= scale
        keys[a - 1] = 0  # below all other keys
        if total[a] > 0.0:
            keys[a - 1] = tie_key(total[a], members[a - 1], own, numbers)
            found += 1
    if found <= width:
        return
    copy_first(keys, n, keys[n:])
    largest_first(keys[:n], n, width)
    smallest = keys[:width].min()
    for a in range(1, n + 1):
        if keys[n + a - 1] < smallest:
            total[a] = 0.0


@helper
def write_row(n, total, at, slot, members, items, weights, size):
    """Write the entries with a nonzero weight, as integers, and their sums; return where the next row starts."""
    size[:] = 0
    for a in range(1, n + 1):
        slot[members[a - 1]] = 0
        kept = False
        for f in range(size.size):
            weight = np.uint16(np.rint(total[f, a] * UNIT))
            total[f, a] = 0.0
            weights[at, f] = weight
            size[f] += weight
            kept |= weight > 0
        items[at] = members[a - 1]
        at += kept
    return at


@kernel
def expand(start, stop, own, lists, inside, near, shares, numbers, expand, width, slot, ends, items, weights, sizes):
    """Expand the lists `own[:, start:stop]` to consecutive rows; `ends` receives the end of each row.

    `inside` is True if list q is that of item q, which is then first in it. `slot` is scratch of zeros, cleared before
    returning.
    """
    m, _, length = own.shape
    room = m * length * (2 * expand - 1) + 1
    members = np.empty(room, np.uint32)
    total = np.zeros((m + 1, room), np.float64)
    fused = np.zeros(room, np.float64)
    keys = np.empty(2 * room, np.int64)
    picked = np.empty(expand - 1, np.uint64)
    divisors = np.empty(m + 1, np.float64)
    skip = 1 if inside else 0
    at = 0
    for q in range(start, stop):
        own_item = q if inside else -1
        n = np.uint64(0)
        for r in range(m):
            n, divisors[r + 1] = expand_ranker(own[r, q], lists[r], near, skip, expand, n, slot, members, total[r + 1])
        n, divisors[0] = expand_fused(
            own[:, q], lists, near, shares, own_item, numbers, n, slot, members, fused, keys, picked, total[0]
        )
        for f in range(m + 1):
            settle(n, divisors[f], width, own_item, numbers, members, keys, total[f])
        at = write_row(n, total, at, slot, members, items, weights, sizes[q - start])
        ends[q - start] = at


@kernel
def min_sizes(post_ptr, post_rows, sizes, smallest):
    """Compute, for each item and field, the size of the smallest row that has the item."""
    fields = sizes.shape[1]
    for item in range(smallest.shape[0]):
        for f in range(fields):
            smallest[item, f] = LOW
        for entry in range(post_ptr[item], post_ptr[item + 1]):
            for f in range(fields):
                smallest[item, f] = min(smallest[item, f], sizes[post_rows[entry], f])


@helper
def lay_out(members, weights, slot, query):
    """Number the items of a query in `slot`, and copy their weights to the flat array `query`, indexed by slot."""
    fields = weights.shape[1]
    for x in range(members.size):
        slot[members[x]] = x + 1
        for f in range(fields):
            query[(x + 1) * fields + f] = weights[x, f]


@kernel
def clear(members, slot):
    """Reset `slot` to 0."""
    for item in members:
        slot[item] = 0


@helper
def plan(sources, weights, size, parts, postings, gain, walk, spare, max_gain, bound):
    """Order the items for the scan, and bound the mean Jaccard similarity of rows that are new at each step.

    `max_gain` bounds what each item can add to the mean Jaccard similarity, in units of 1 / BOUND_UNIT, rounded up.
    """
    n = sources.size
    fields = parts.size
    for x in range(n):
        value = ZERO
        for f in range(fields):
            if size[f] > 0:
                value += parts[f] * weights[x, f] / size[f]
        max_gain[x] = np.uint32(np.int64(value * BOUND_UNIT) + 1)
        gain[x] = -value / (postings.stop[sources[x]] - postings.start[sources[x]] + 1)
    sort_ascending(gain, n, walk, spare)
    rest = np.zeros(fields, np.int64)
    smallest = np.full(fields, LOW, np.int64)
    bound[n] = 0.0
    for step in range(n - 1, -1, -1):
        x = walk[step]
        total = ZERO
        for f in range(fields):
            rest[f] += weights[x, f]
            smallest[f] = min(smallest[f], np.int64(postings.least[sources[x], f]))
            if rest[f] > 0:
                total += parts[f] * rest[f] / max(size[f] + max(smallest[f] - rest[f], 0), 1)
        bound[step] = total


@helper
def common_four(first, last, field, fields, items, weights, slot, query):
    """Return the common weight of a row and the query in four fields."""
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


@helper
def common_one(first, last, field, fields, items, weights, slot, query):
    """Return the common weight of a row and the query in one field."""
    common = np.uint32(0)
    for entry in range(first, last):
        mine = query[slot[items[entry]] * fields + field]
        common = np.uint32(common + min(mine, np.uint32(weights[entry * fields + field])))
    return common


@helper
def intersect(first, last, items, weights, slot, query, common):
    """Compute the common weight of a row and the query in each field; `weights` and `query` are flat."""
    field = np.uint64(0)
    fields = np.uint64(common.size)
    while field + np.uint64(4) <= fields:
        both = common_four(first, last, field, fields, items, weights, slot, query)
        for c in both:
            common[field] = c
            field += np.uint64(1)
    while field < fields:
        common[field] = common_one(first, last, field, fields, items, weights, slot, query)
        field += np.uint64(1)


@kernel
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


@kernel
def score(similar, parts):
    """Return S of two rows from their Jaccard similarities."""
    total = ZERO
    for f in range(similar.size):
        total += parts[f] * log(1.0 + SHARPNESS * similar[f])
    return np.float32(total / log(1.0 + SHARPNESS))


@helper
def floor_of(sim):
    """Return the smallest mean Jaccard similarity that can have this score (Jensen: the logarithm is concave)."""
    return (exp(sim * SLACK * log(1.0 + SHARPNESS)) - 1.0) / SHARPNESS * SLACK


@kernel
def compare(s, floor, rows, weights, size, parts, slot, query, common, similar):
    """Return the score of the query and row s; 0 if the mean Jaccard similarity is below `floor`."""
    first = np.uint64(rows.ptr[s])
    last = np.uint64(rows.ptr[s + 1])
    intersect(first, last, rows.items, weights, slot, query, common)
    if jaccards(common, size, rows.sizes[s], parts, similar) < floor:
        return np.float32(0.0)
    return score(similar, parts)


@kernel
def collect(sources, walk, step, floor, bound, max_gain, postings, allowed, seen, mark, sums, candidates):
    """Add up, for each row that was not compared yet, a bound on what it shares with the query.

    Return the number of such rows, and what the items that were not scanned could still add to each of them.
    """
    n = 0
    while step < sources.size and bound[step] >= floor:
        source = sources[walk[step]]
        for entry in range(postings.start[source], postings.stop[source]):
            s = postings.rows[entry]
            if seen[s] == mark or (allowed.size > 0 and not allowed[s]):
                continue
            if sums[s] == 0:
                candidates[n] = s
                n += 1
            sums[s] += max_gain[walk[step]]
        step += 1
    rest = np.int64(0)
    while step < sources.size:
        rest += max_gain[walk[step]]
        step += 1
    return n, rest


@kernel
def search(
    start,
    stop,
    queries,
    into,
    own,
    asked,
    sources,
    rows,
    postings,
    numbers,
    parts,
    allowed,
    sums,
    slot,
    seen,
    out,
    out_sims,
):
    """Search with the rows `queries[start:stop]` of `asked`; rows `into[start:stop]` of `out` hold the best so far.

    The rows of the first posting lists are compared immediately, until there are enough results. For the other rows,
    bounds on what they share with the query are added up first; they are then compared in descending order of their
    bounds, as long as these can beat the last of the best results.

    `parts` holds the weight of each field in the score; they sum to 1. `own[x]` is the item of query x, -1 if it is
    external. The rows that have the item in entry e of `asked` are those of `postings` at the number `sources[e]`;
    `rows`, `postings` and `numbers` are those of the items to search, which may be a part of all. Only rows in the mask
    `allowed` are returned, all if it is empty. `sums` is scratch of zeros, cleared before returning; `slot` and `seen`
    are scratch, reused between calls.
    """
    room = 1
    for q in queries[start:stop]:
        room = max(room, asked.ptr[q + 1] - asked.ptr[q] + 1)
    fields = parts.size
    query = np.zeros(room * fields, np.uint32)
    gain = np.empty(room, np.float64)
    walk = np.empty(room, np.int64)
    spare = np.empty(room, np.int64)
    max_gain = np.empty(room, np.uint32)
    bound = np.empty(room, np.float64)
    common = np.empty(fields, np.uint32)
    similar = np.empty(fields, np.float64)
    candidates = np.empty(sums.size, np.uint32)
    weights = rows.weights.reshape(-1)
    for x in range(start, stop):
        q = queries[x]
        here = slice(asked.ptr[q], asked.ptr[q + 1])
        members = asked.items[here]
        numbered = sources[here]
        if not any_postings(numbered, postings):
            continue
        size = asked.sizes[q]
        own_weights = asked.weights[here]
        lay_out(members, own_weights, slot, query)
        plan(numbered, own_weights, size, parts, postings, gain, walk, spare, max_gain, bound)
        if seen[-1] == LAST_MARK:
            seen[:] = 0
        seen[-1] += 1  # a new mark for each query, so that nothing has to be cleared
        mark = seen[-1]
        best = out[into[x]]
        sims = out_sims[into[x]]
        found = filled(best)
        floor = floor_of(sims[found - 1]) if found == best.size else 0.0
        step = 0
        while step < members.size and found < best.size:
            source = numbered[walk[step]]
            for entry in range(postings.start[source], postings.stop[source]):
                s = postings.rows[entry]
                if seen[s] == mark:
                    continue
                seen[s] = mark
                if allowed.size > 0 and not allowed[s]:
                    continue
                sim = compare(s, floor, rows, weights, size, parts, slot, query, common, similar)
                if sim > 0.0:
                    found = keep(numbers[s], sim, found, own[x], best, sims)
                    if found == best.size:
                        floor = floor_of(sims[found - 1])
            step += 1
        n, rest = collect(numbered, walk, step, floor, bound, max_gain, postings, allowed, seen, mark, sums, candidates)
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
                    sim = compare(s, floor, rows, weights, size, parts, slot, query, common, similar)
                    if sim > 0.0:
                        found = keep(numbers[s], sim, found, own[x], best, sims)
                        if found == best.size:
                            floor = floor_of(sims[found - 1])
                elif reach < np.int64(floor * BOUND_UNIT):
                    sums[s] = 0
                else:
                    candidates[left] = s
                    left += 1
            n = left
        clear(members, slot)


@kernel
def contributions(asked, q, rows, s, parts, slot, shared, shares):
    """Compute the contribution of each shared item, by field, to S(q, s); return the number of shared items."""
    first = asked.ptr[q]
    members = asked.items[first : asked.ptr[q + 1]]
    for x in range(members.size):
        slot[members[x]] = x + 1
    fields = parts.size
    common = np.zeros(fields, np.uint32)
    n = 0
    for entry in range(rows.ptr[s], rows.ptr[s + 1]):
        a = slot[rows.items[entry]]
        if a == 0:
            continue
        any_field = False
        for f in range(fields):
            smaller = min(asked.weights[first + a - 1, f], rows.weights[entry, f])
            common[f] += smaller
            shares[n, f] = smaller
            any_field |= smaller > 0
        shared[n] = rows.items[entry]
        n += any_field
    clear(members, slot)
    similar = np.empty(fields, np.float64)
    jaccards(common, asked.sizes[q], rows.sizes[s], parts, similar)
    for f in range(fields):
        term = parts[f] * log(1.0 + SHARPNESS * similar[f]) / log(1.0 + SHARPNESS)
        for x in range(n):
            shares[x, f] = shares[x, f] / common[f] * term if common[f] > 0 else 0.0
    return n


@kernel
def rank_overlaps(start, stop, lists, others, tail, position, out):
    """Compute the rank-biased overlap of each row in both tables; `position` is scratch of zeros, cleared again."""
    depth = min(tail.size, lists.shape[1])
    for i in range(start, stop):
        for p in range(depth):
            if lists[i, p] >= 0:
                position[lists[i, p]] = p + 1
        total = ZERO
        for p in range(min(tail.size, others.shape[1])):
            if others[i, p] >= 0 and position[others[i, p]] > 0:
                total += tail[max(p, np.int64(position[others[i, p]]) - 1)]
        for p in range(depth):
            if lists[i, p] >= 0:
                position[lists[i, p]] = 0
        out[i] = total
