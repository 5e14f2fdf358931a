"""weft: what an item's neighbors list, ranker by ranker and fused, as sparse rows; and exact search among them.

A row has m + 1 fields side by side on one pattern of items: the fused one first, then one for each ranker. So one
posting list leads to the rows that share an item in any field, and one pass over a row compares all fields.

Weights are whole numbers, in units of 1 / UNIT: two bytes each, and sums are exact, whatever their order. The fused
field is kept divided by m, so that every weight is at most 1; a Jaccard similarity does not change with the scale.

Slots: the items of the current row are numbered from 1, and `slot[item]` is an item's number there, 0 for an item
that is not in it. Entry 0 of every array by slot is neutral, so inner loops need no branch.
"""

from math import exp, log
from typing import NamedTuple

import numpy as np
from numba import njit

from rankloom._kernels import ZERO
from rankloom._kernels.postings import largest_first
from rankloom._kernels.search import LAST_MARK, SLACK, keep
from rankloom._kernels.sorting import sort_ascending

UNIT = 1 << 15  # the weight 1 in whole units; a power of 2, so that simple fractions do not fall between two units
TIE_UNIT = 1 << 30  # weights are compared in steps of 1 / TIE_UNIT: what differs by rounding only is a tie
LOW = (1 << 32) - 1  # the half of a key that orders equal weights
SHARPNESS = 20.0  # c of the score
WORTH_UNIT = 1 << 24  # of bounds on the mean Jaccard, which are whole numbers: sums are exact in any order


class Rows(NamedTuple):
    """Expanded rows: CSR in one pattern, a column of weights for each field."""

    ptr: np.ndarray
    items: np.ndarray
    weights: np.ndarray  # (entries, fields)
    sizes: np.ndarray  # (rows, fields): what the weights of a row add up to


class Postings(NamedTuple):
    """The transpose of the rows: for each item the rows that have it."""

    ptr: np.ndarray
    rows: np.ndarray
    least: np.ndarray  # (items, fields): the smallest size of those rows


@njit(cache=True, nogil=True)
def own_first(start, stop, lists):
    """Put item i first in list i, in place; where it is not listed, the last item of a full list gives way."""
    for i in range(start, stop):
        held = np.int32(i)
        for place in range(lists.shape[1]):
            item = lists[i, place]
            lists[i, place] = held
            held = item
            if item == i or item < 0:
                break


@njit(cache=True, nogil=True)
def add_list(ranked, factor, near, n, slot, members, total):
    """Add `factor * near[p]` to the total of the item at each place p of a list; return how many slots there are."""
    for place in range(np.uint64(ranked.size)):
        item = ranked[place]
        if item < 0:
            break
        a = slot[np.uint32(item)]
        if a == 0:
            members[n] = item
            n += np.uint64(1)
            a = np.uint32(n)
            slot[np.uint32(item)] = a
        total[a] += factor * near[place]
    return n


@njit(cache=True, nogil=True)
def expand_ranker(own, lists, near, skip, expand, n, slot, members, total):
    """One ranker's field: the own list and those of its first items, to be divided by the sum of their weights."""
    n = add_list(own, 1.0, near, n, slot, members, total)
    divisor = np.float64(1.0)
    for place in range(skip, min(skip + expand - 1, own.size)):
        item = own[place]
        if item < 0:
            break
        n = add_list(lists[item], near[place], near, n, slot, members, total)
        divisor += near[place]
    return n, divisor


@njit(cache=True, nogil=True)
def tie_key(weight, item, own, numbers):
    """Return a whole number in the order of weights; among equals the item itself, then the smaller number."""
    tie = LOW if item == own else LOW - 1 - np.int64(numbers[item])
    return np.int64(np.rint(weight * TIE_UNIT)) << 32 | tie


@njit(cache=True, nogil=True)
def largest_entries(weights, n, members, own, numbers, keys, picked):
    """List the slots of the largest weights above 0, the item itself left out, in order; return how many."""
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


@njit(cache=True, nogil=True)
def expand_fused(own, lists, near, shares, own_item, numbers, n, slot, members, fused, keys, picked, total):
    """The fused field: as a ranker's, of the weighted sum of the lists; its largest entries are expanded."""
    for r in range(own.shape[0]):
        n = add_list(own[r], shares[r], near, n, slot, members, fused)
    found = largest_entries(fused, n, members, own_item, numbers, keys, picked)
    total[: n + 1] = fused[: n + 1]
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


@njit(cache=True, nogil=True)
def settle(n, divisor, width, own, numbers, members, keys, total):
    """Divide a field by its divisor and keep its `width` largest entries; the others become 0."""
    found = 0
    scale = 1.0 / divisor
    for a in range(1, n + 1):
        total[a] *= scale
        keys[a - 1] = 0  # below every other
        if total[a] > 0.0:
            keys[a - 1] = tie_key(total[a], members[a - 1], own, numbers)
            found += 1
    if found <= width:
        return
    keys[n : 2 * n] = keys[:n]
    largest_first(keys[:n], n, width)
    least = keys[:width].min()
    for a in range(1, n + 1):
        if keys[n + a - 1] < least:
            total[a] = 0.0


@njit(cache=True, nogil=True)
def write_row(n, total, at, slot, members, items, weights, size):
    """Write the entries left in any field, in whole units, and their sums; return where the next row begins."""
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


@njit(cache=True, nogil=True)
def expand(start, stop, own, lists, inside, near, shares, numbers, expand, width, slot, ends, items, weights, sizes):
    """Expanded rows of the lists `own[:, start:stop]`, one after the other; `ends` says where each one ends.

    `inside` says that list q is that of item q, which stands first in it. `slot` is scratch of zeros, left as it was.
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


@njit(cache=True, nogil=True)
def least_sizes(post_ptr, post_rows, sizes, least):
    """Fill in, for each item and field, the size of the smallest row that has the item."""
    fields = sizes.shape[1]
    for item in range(least.shape[0]):
        for f in range(fields):
            least[item, f] = LOW
        for entry in range(post_ptr[item], post_ptr[item + 1]):
            for f in range(fields):
                least[item, f] = min(least[item, f], sizes[post_rows[entry], f])


@njit(cache=True, nogil=True)
def lay_out(members, weights, slot, desk):
    """Number the items of a query row in `slot` and put their weights on the desk, which is flat."""
    fields = weights.shape[1]
    for x in range(members.size):
        slot[members[x]] = x + 1
        for f in range(fields):
            desk[(x + 1) * fields + f] = weights[x, f]


@njit(cache=True, nogil=True)
def clear(members, slot):
    """Make `slot` zeros again."""
    for item in members:
        slot[item] = 0


@njit(cache=True, nogil=True)
def plan(members, weights, size, parts, post_ptr, least, gain, walk, spare, worth, bound):
    """Order the items for the walk; bound the mean Jaccard of a row that has none of those before each step.

    `worth` bounds what each item can add to the mean Jaccard, in whole units of 1 / WORTH_UNIT, rounded up.
    """
    n = members.size
    fields = parts.size
    for x in range(n):
        value = ZERO
        for f in range(fields):
            if size[f] > 0:
                value += parts[f] * weights[x, f] / size[f]
        worth[x] = np.uint32(np.int64(value * WORTH_UNIT) + 1)
        gain[x] = -value / (post_ptr[members[x] + 1] - post_ptr[members[x]] + 1)
    sort_ascending(gain, n, walk, spare)
    rest = np.zeros(fields, np.int64)
    smallest = np.full(fields, LOW, np.int64)
    bound[n] = 0.0
    for step in range(n - 1, -1, -1):
        x = walk[step]
        total = ZERO
        for f in range(fields):
            rest[f] += weights[x, f]
            smallest[f] = min(smallest[f], np.int64(least[members[x], f]))
            if rest[f] > 0:
                total += parts[f] * rest[f] / (size[f] + max(smallest[f] - rest[f], 0))
        bound[step] = total


@njit(cache=True, nogil=True)
def common_four(first, last, field, fields, items, weights, slot, desk):
    """What a row and the query have in common in four fields."""
    c0 = c1 = c2 = c3 = np.uint32(0)
    one = np.uint64(1)
    for entry in range(first, last):
        a = slot[items[entry]] * fields + field
        e = entry * fields + field
        c0 = np.uint32(c0 + min(desk[a], np.uint32(weights[e])))
        c1 = np.uint32(c1 + min(desk[a + one], np.uint32(weights[e + one])))
        c2 = np.uint32(c2 + min(desk[a + one + one], np.uint32(weights[e + one + one])))
        c3 = np.uint32(c3 + min(desk[a + one + one + one], np.uint32(weights[e + one + one + one])))
    return c0, c1, c2, c3


@njit(cache=True, nogil=True)
def common_one(first, last, field, fields, items, weights, slot, desk):
    """What a row and the query have in common in one field."""
    common = np.uint32(0)
    for entry in range(first, last):
        mine = desk[slot[items[entry]] * fields + field]
        common = np.uint32(common + min(mine, np.uint32(weights[entry * fields + field])))
    return common


@njit(cache=True, nogil=True)
def intersect(first, last, items, weights, slot, desk, common):
    """What a row and the query have in common, field by field; weights and desk are flat."""
    field = np.uint64(0)
    fields = np.uint64(common.size)
    while field + np.uint64(4) <= fields:
        both = common_four(first, last, field, fields, items, weights, slot, desk)
        for c in both:
            common[field] = c
            field += np.uint64(1)
    while field < fields:
        common[field] = common_one(first, last, field, fields, items, weights, slot, desk)
        field += np.uint64(1)


@njit(cache=True, nogil=True)
def jaccards(common, size, other, parts, similar):
    """Fill in the Jaccard similarity of each field; return their mean, weighted as in the score."""
    mean = ZERO
    for f in range(common.size):
        similar[f] = 0.0
        if common[f] > 0:
            similar[f] = common[f] / np.float64(np.int64(size[f]) + np.int64(other[f]) - np.int64(common[f]))
            mean += parts[f] * similar[f]
    return mean


@njit(cache=True, nogil=True)
def score(similar, parts):
    """S of two rows from their Jaccard similarities."""
    total = ZERO
    for f in range(similar.size):
        total += parts[f] * log(1.0 + SHARPNESS * similar[f])
    return np.float32(total / log(1.0 + SHARPNESS))


@njit(cache=True, nogil=True)
def floor_of(sim):
    """Return the smallest mean Jaccard that can have this score: the logarithm of a mean is above that of its parts."""
    return (exp(sim * SLACK * log(1.0 + SHARPNESS)) - 1.0) / SHARPNESS * SLACK


@njit(cache=True, nogil=True)
def compare(s, floor, rows, weights, size, parts, slot, desk, common, similar):
    """Return the score of the query and row s; 0 if the mean Jaccard is below `floor`."""
    first = np.uint64(rows.ptr[s])
    last = np.uint64(rows.ptr[s + 1])
    intersect(first, last, rows.items, weights, slot, desk, common)
    if jaccards(common, size, rows.sizes[s], parts, similar) < floor:
        return np.float32(0.0)
    return score(similar, parts)


@njit(cache=True, nogil=True)
def collect(members, walk, step, floor, bound, worth, postings, allowed, seen, mark, sums, candidates):
    """Sum up what each row that was not compared yet can share at most with the query.

    Return the number of such rows, and what the items that were not walked could add to each of them.
    """
    n = 0
    while step < members.size and bound[step] >= floor:
        item = members[walk[step]]
        for entry in range(postings.ptr[item], postings.ptr[item + 1]):
            s = postings.rows[entry]
            if seen[s] == mark or (allowed.size > 0 and not allowed[s]):
                continue
            if sums[s] == 0:
                candidates[n] = s
                n += 1
            sums[s] += worth[walk[step]]
        step += 1
    rest = np.int64(0)
    while step < members.size:
        rest += worth[walk[step]]
        step += 1
    return n, rest


@njit(cache=True, nogil=True)
def search(
    start, stop, queries, into, asked, inside, rows, postings, numbers, parts, allowed, sums, slot, seen, out, out_sims
):
    """Best answers of the rows `queries[start:stop]` of `asked`, written to rows `into[start:stop]` of `out`.

    The rows of the first posting lists are compared at once, until there are enough for an answer. For the others,
    what they can share with the query is summed up first; they are compared from the most promising on, as long as
    that can beat the worst of the best.

    `parts` are the shares of the fields in the score, which sum to 1. `inside` is True if row q is that of item q.
    Only rows that the mask `allowed` has are returned, all if it is empty. `sums` is scratch of zeros, cleared before
    returning; `slot` and `seen` are scratch, reused between calls.
    """
    room = 1
    for q in queries[start:stop]:
        room = max(room, asked.ptr[q + 1] - asked.ptr[q] + 1)
    fields = parts.size
    desk = np.zeros(room * fields, np.uint32)
    gain = np.empty(room, np.float64)
    walk = np.empty(room, np.int64)
    spare = np.empty(room, np.int64)
    worth = np.empty(room, np.uint32)
    bound = np.empty(room, np.float64)
    common = np.empty(fields, np.uint32)
    similar = np.empty(fields, np.float64)
    best = np.empty(out.shape[1], np.int32)
    sims = np.empty(out.shape[1], np.float32)
    candidates = np.empty(sums.size, np.uint32)
    weights = rows.weights.reshape(-1)
    for x in range(start, stop):
        q = queries[x]
        own = q if inside else -1
        here = slice(asked.ptr[q], asked.ptr[q + 1])
        members = asked.items[here]
        size = asked.sizes[q]
        lay_out(members, asked.weights[here], slot, desk)
        plan(members, asked.weights[here], size, parts, postings.ptr, postings.least, gain, walk, spare, worth, bound)
        if seen[-1] == LAST_MARK:
            seen[:] = 0
        seen[-1] += 1  # a mark of its own for each query, so that nothing need be cleared
        mark = seen[-1]
        found = 0
        floor = 0.0
        step = 0
        while step < members.size and found < best.size:
            item = members[walk[step]]
            for entry in range(postings.ptr[item], postings.ptr[item + 1]):
                s = postings.rows[entry]
                if seen[s] == mark:
                    continue
                seen[s] = mark
                if allowed.size > 0 and not allowed[s]:
                    continue
                sim = compare(s, floor, rows, weights, size, parts, slot, desk, common, similar)
                if sim > 0.0:
                    found = keep(s, sim, found, own, numbers, best, sims)
                    if found == best.size:
                        floor = floor_of(sims[found - 1])
            step += 1
        n, rest = collect(members, walk, step, floor, bound, worth, postings, allowed, seen, mark, sums, candidates)
        level = np.int64(WORTH_UNIT)
        while n > 0:
            level //= 2
            limit = max(np.int64(floor * WORTH_UNIT), level)  # the most promising first: they raise the floor
            left = 0
            for at in range(n):
                s = candidates[at]
                reach = sums[s] + rest
                if reach >= limit:
                    sums[s] = 0
                    sim = compare(s, floor, rows, weights, size, parts, slot, desk, common, similar)
                    if sim > 0.0:
                        found = keep(s, sim, found, own, numbers, best, sims)
                        if found == best.size:
                            floor = floor_of(sims[found - 1])
                elif reach < np.int64(floor * WORTH_UNIT):
                    sums[s] = 0
                else:
                    candidates[left] = s
                    left += 1
            n = left
        clear(members, slot)
        for y in range(found):
            out[into[x], y] = numbers[best[y]]
            out_sims[into[x], y] = sims[y]


@njit(cache=True, nogil=True)
def contributions(asked, q, rows, s, parts, slot, shared, shares):
    """Part of each shared item in each field's term of S(q, s); they add up to S. Return how many items are shared."""
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
            least = min(asked.weights[first + a - 1, f], rows.weights[entry, f])
            common[f] += least
            shares[n, f] = least
            any_field |= least > 0
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


@njit(cache=True, nogil=True)
def rank_overlaps(start, stop, lists, others, tail, place, out):
    """RBO of row i of `lists` and row i of `others`, for rows start to stop; `place` is scratch of zeros, left so."""
    depth = min(tail.size, lists.shape[1])
    for i in range(start, stop):
        for p in range(depth):
            if lists[i, p] >= 0:
                place[lists[i, p]] = p + 1
        total = ZERO
        for p in range(min(tail.size, others.shape[1])):
            if others[i, p] >= 0 and place[others[i, p]] > 0:
                total += tail[max(p, np.int64(place[others[i, p]]) - 1)]
        for p in range(depth):
            if lists[i, p] >= 0:
                place[lists[i, p]] = 0
        out[i] = total
