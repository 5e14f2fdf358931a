"""Expansion of the lists of items and queries into the sparse rows that weft compares.

A row has m + 1 fields with a common sparsity pattern: the fused field first, then one for each ranker. Weights are
stored as integers in units of 1 / UNIT: they take two bytes each, and their sums are exact in any order. The fused
field is stored divided by m, so that every weight is at most 1; scaling does not change a Jaccard similarity.

Slots: the items of the current row are numbered from 1; `slot[item]` is the number of an item, 0 if it is not in the
row. Element 0 of every array indexed by slot is neutral, so inner loops need no branch.
"""

from typing import NamedTuple

import numpy as np

from rankloom._kernels import ZERO
from rankloom._kernels.jit import inner, kernel
from rankloom._kernels.sorting import copy_first
from rankloom._kernels.text.postings import largest_first
from rankloom._kernels.weft.arguments import UNIT

TIE_UNIT = 1 << 30  # weights are compared in steps of 1 / TIE_UNIT, so that rounding errors do not break ties
LOW = (1 << 32) - 1  # mask of the half of a key that breaks ties


class Room(NamedTuple):
    """Scratch of an expansion; `total`, by field, and `fused` are indexed by slot, and zeros between rows."""

    slot: np.ndarray
    members: np.ndarray
    total: np.ndarray
    fused: np.ndarray
    keys: np.ndarray
    picked: np.ndarray


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


@inner
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


@inner
def expand_ranker(own, ranker, skip, neighbors, n, room):
    """Add up the weighted lists of a row and of its first items; return the number of slots and the divisor."""
    near, slot, members, total = neighbors.near, room.slot, room.members, room.total[ranker + 1]
    n = add_list(own, 1.0, near, n, slot, members, total)
    divisor = np.float64(1.0)
    for p in range(skip, min(skip + neighbors.expand - 1, own.size)):
        item = own[p]
        if item < 0:
            break
        n = add_list(neighbors.lists[ranker, item], near[p], near, n, slot, members, total)
        divisor += near[p]
    return n, divisor


@inner
def tie_key(weight, item, own, numbers):
    """Return an integer that sorts by weight; ties: the item itself, then the smaller number."""
    tie = LOW if item == own else LOW - 1 - np.int64(numbers[item])
    return np.int64(np.rint(weight * TIE_UNIT)) << 32 | tie


@inner
def largest_entries(n, own, numbers, room):
    """Fill `picked` with the slots of the largest fused weights, except the item's own; return their number."""
    weights, members, keys, picked = room.fused, room.members, room.keys, room.picked
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


@inner
def expand_fused(lists, own, neighbors, n, room):
    """Expand the weighted sum of a row's lists by its largest entries, as `expand_ranker` does for one ranker."""
    near, shares, slot, members, total = neighbors.near, neighbors.shares, room.slot, room.members, room.total[0]
    for r in range(lists.shape[0]):
        n = add_list(lists[r], shares[r], near, n, slot, members, room.fused)
    found = largest_entries(n, own, neighbors.numbers, room)
    copy_first(room.fused, n + 1, total)
    divisor = np.float64(1.0)
    for x in range(found):
        weight = room.fused[room.picked[x]]
        divisor += weight
        for r in range(lists.shape[0]):
            if shares[r] > 0.0:
                ranked = neighbors.lists[r, members[room.picked[x] - 1]]
                n = add_list(ranked, weight * shares[r], near, n, slot, members, total)
    room.fused[: n + 1] = 0.0
    return n, divisor


@inner
def settle(n, divisor, own, neighbors, total, room):
    """Divide a field by its divisor and keep its `width` largest entries; set the others to 0."""
    members, keys, width = room.members, room.keys, neighbors.width
    found = 0
    scale = 1.0 / divisor
    for a in range(1, n + 1):
        total[a] *= scale
        keys[a - 1] = 0  # below all other keys
        if total[a] > 0.0:
            keys[a - 1] = tie_key(total[a], members[a - 1], own, neighbors.numbers)
            found += 1
    if found <= width:
        return
    copy_first(keys, n, keys[n:])
    largest_first(keys[:n], n, width)
    for a in range(1, n + 1):
        if keys[n + a - 1] < keys[width - 1]:
            total[a] = 0.0


@inner
def write_row(n, at, row, out, room):
    """Write the entries with a nonzero weight, as integers, and their sums; return where the next row starts."""
    size, total = out.sizes[row], room.total
    size[:] = 0
    for a in range(1, n + 1):
        room.slot[room.members[a - 1]] = 0
        kept = False
        for f in range(size.size):
            weight = np.uint16(np.rint(total[f, a] * UNIT))
            total[f, a] = 0.0
            out.weights[at, f] = weight
            size[f] += weight
            kept |= weight > 0
        out.items[at] = room.members[a - 1]
        at += kept
    out.ends[row] = at
    return at


@kernel
def expand(start, stop, own, inside, neighbors, slot, out):
    """Expand the lists `own[:, start:stop]` to consecutive rows.

    `inside` is True if list q is that of an item, which is then first in it. `slot` is scratch of zeros, cleared before
    returning.
    """
    m, _, length = own.shape
    n_slots = m * length * (2 * neighbors.expand - 1) + 1
    room = Room(
        slot,
        np.empty(n_slots, np.uint32),
        np.zeros((m + 1, n_slots), np.float64),
        np.zeros(n_slots, np.float64),
        np.empty(2 * n_slots, np.int64),
        np.empty(neighbors.expand - 1, np.uint64),
    )
    divisors = np.empty(m + 1, np.float64)
    skip = 1 if inside else 0
    at = 0
    for q in range(start, stop):
        own_item = own[0, q, 0] if inside else -1
        n = np.uint64(0)
        for r in range(m):
            n, divisors[r + 1] = expand_ranker(own[r, q], r, skip, neighbors, n, room)
        n, divisors[0] = expand_fused(own[:, q], own_item, neighbors, n, room)
        for f in range(m + 1):
            settle(n, divisors[f], own_item, neighbors, room.total[f], room)
        at = write_row(n, at, q - start, out, room)


@kernel
def post_weights(items, weights, ends, out):
    """Write the weights of entries in the order of posting lists; `ends` has the starts of these, and is advanced."""
    for entry in range(items.size):
        at = ends[items[entry]]
        ends[items[entry]] += 1
        for f in range(weights.shape[1]):
            out[at, f] = weights[entry, f]


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
