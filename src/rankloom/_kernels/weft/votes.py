"""Votes of rankers: scores on a common scale, how coherent the lists of a query are, and the sum."""

from math import sqrt
from typing import NamedTuple

import numpy as np

from rankloom._kernels import ZERO
from rankloom._kernels.index.search import clear
from rankloom._kernels.jit import inner, kernel
from rankloom._kernels.lists import length_of
from rankloom._kernels.sorting import sort_ascending, sort_scratch, sort_smallest

FIRST = 100  # entries of a list that mean, deviation and floor are of
HUB = 20  # neighbors of an item that say how much of a hub it is
PAIRS = 10  # items of a list whose pairs are counted
MEASURED = 50  # items of a list whose neighborhoods are compared with their scores
AVERAGED = 10  # neighbors of each
LEAK = 0.3  # of what is below the floor
MAX_TILT = 0.6  # of the weight of a ranker by its coherence
SMALLEST = 1e-9  # a deviation below this, relative to the largest score, is rounding


class Around(NamedTuple):
    """The neighbors of one item: without the item itself."""

    items: np.ndarray
    scores: np.ndarray


@inner
def neighbors(item, limit, nearest, around):
    """Copy the first neighbors of an item, without itself; return their number."""
    n = 0
    row = nearest.rows[item] if nearest.rows.size > 0 else item
    for p in range(nearest.items.shape[1]):
        other = nearest.items[row, p]
        if other < 0 or n == limit:
            break
        if other != item:
            around.items[n] = other
            around.scores[n] = nearest.scores[row, p]
            n += 1
    return n


@inner
def hubness(item, nearest, around):
    """Return the mean score of the nearest neighbors of an item."""
    n = neighbors(item, HUB, nearest, around)
    total = ZERO
    for p in range(n):
        total += around.scores[p]
    return total / max(n, 1)


@inner
def standardize(scores, size, padded, n_items, rest):
    """Replace scores by z; return the z of an item that is not listed, and the floor.

    Mean and deviation are of the first 100, of which the last `padded` are no entries but have the score `rest`.
    """
    first = min(size, FIRST)
    total = largest = ZERO
    for p in range(first):
        total += scores[p]
        largest = max(largest, abs(scores[p]))
    mean = (total + padded * rest) / max(first + padded, 1)
    spread = padded * (rest - mean) * (rest - mean)
    for p in range(first):
        spread += (scores[p] - mean) * (scores[p] - mean)
    deviation = sqrt(spread / max(first + padded, 1))
    if deviation <= SMALLEST * largest:
        for p in range(size):
            scores[p] = 0.0
        return 0.0, 0.0
    for p in range(size):
        scores[p] = (scores[p] - mean) / deviation
    z = (rest - mean) / deviation
    if size >= FIRST:
        return z, scores[FIRST - 1]
    return z, z if n_items > size else scores[size - 1]


@kernel
def stand(start, stop, items, scores, exhaustive, n_items, nearest, out):
    """Fill `out` with the items of lists sorted by corrected scores, their z, that of items not listed, and the floor.

    Scores are lowered by half the hubness of the item, unless `nearest` is empty. If `exhaustive`, a list that ends
    before the last column has all items that score above 0. `n_items` may be listed.
    """
    width = items.shape[1]
    key, order, spare = sort_scratch(width)
    around = Around(np.empty(HUB, np.int32), np.empty(HUB, np.float32))
    for q in range(start, stop):
        size = 0
        while size < width and items[q, size] >= 0:
            key[size] = -np.float64(scores[q, size])
            if nearest.items.size > 0:
                key[size] += 0.5 * hubness(items[q, size], nearest, around)
            size += 1
        sort_ascending(key, size, order, spare)
        for p in range(size):
            out.items[q, p] = items[q, order[p]]
            out.z[q, p] = -key[order[p]]
        if size == 0:
            continue
        rest = out.z[q, size - 1]
        padded = 0
        if exhaustive and size < width:
            rest = min(rest, 0.0)
            padded = max(FIRST - size, 0)
        out.rest[q], out.floor[q] = standardize(out.z[q], size, padded, n_items, rest)


@inner
def mean_gain(item, z, floor, nearest, slot, around):
    """Return the mean of what the neighbors of an item have above the floor, weighted by their min-max scores."""
    n = neighbors(item, AVERAGED, nearest, around)
    total = weights = ZERO
    for p in range(n):
        weight = np.float64(around.scores[p]) - np.float64(around.scores[n - 1])
        weights += weight
        place = slot[around.items[p]]
        if place > 0:
            total += weight * max(z[place - 1] - floor, 0.0)
    return total / weights if weights > 0 else 0.0


@inner
def pearson(x, y, n):
    """Return the correlation of the first n numbers; 0 if either does not vary."""
    mean_x = mean_y = ZERO
    for p in range(n):
        mean_x += x[p]
        mean_y += y[p]
    mean_x /= max(n, 1)
    mean_y /= max(n, 1)
    xx = yy = xy = ZERO
    for p in range(n):
        xx += (x[p] - mean_x) * (x[p] - mean_x)
        yy += (y[p] - mean_y) * (y[p] - mean_y)
        xy += (x[p] - mean_x) * (y[p] - mean_y)
    if xx <= SMALLEST * SMALLEST or yy <= SMALLEST * SMALLEST:
        return 0.0
    return xy / sqrt(xx * yy)


@inner
def near_pairs(items, size, nearest, slot, around):
    """Return the share of the ordered pairs of the first items of which the second is near the first."""
    first = min(size, PAIRS)
    found = 0
    for x in range(first):
        for p in range(neighbors(items[x], HUB, nearest, around)):
            place = np.int64(slot[around.items[p]])
            found += place > 0 and place <= first
    return found / max(first * (first - 1), 1)


@kernel
def cohere(start, stop, lists, ranker, nearest, slot, out):
    """Add how coherent the lists of all rankers are by the neighbors of one of them to `out`, by ranker and query.

    It is the autocorrelation of a list and twice its share of near pairs; the others share the weight of one ranker.
    `slot` is scratch of zeros, cleared before returning.
    """
    gain = np.empty(MEASURED, np.float64)
    around = Around(np.empty(HUB, np.int32), np.empty(HUB, np.float32))
    m = out.shape[0]
    for r in range(m):
        for q in range(start, stop):
            items, z = lists.items[r, q], lists.z[r, q]
            size = length_of(items)
            for p in range(size):
                slot[items[p]] = p + 1
            n = min(size, MEASURED)
            for p in range(n):
                gain[p] = mean_gain(items[p], z, lists.floor[r, q], nearest, slot, around)
            coherence = pearson(z, gain, n) + 2.0 * near_pairs(items, size, nearest, slot, around)
            out[r, q] += coherence / (1 if r == ranker else m - 1)
            clear(items[:size], slot)


@inner
def tilt(r, q, coherence):
    """Return the weight of ranker r for a query: 1, and more if its list is more coherent than others."""
    total = ZERO
    for other in range(coherence.shape[0]):
        total += coherence[other, q] / 4.0
    more = coherence[r, q] / 4.0 - total / coherence.shape[0]
    return 1.0 + min(max(more, -MAX_TILT), MAX_TILT)


class Tally(NamedTuple):
    """The items with votes, the total of each, and where each stands among them: its place from 1, by number."""

    members: np.ndarray
    total: np.ndarray
    slot: np.ndarray


@inner
def add_votes(lists, v, q, floor, factor, tally, n, out):
    """Write the votes of list v of query q to `out`, and add them to a tally of n items; return the new n."""
    items, z = lists.items[v, q], lists.z[v, q]
    least = floor + LEAK * (lists.rest[v, q] - floor)
    for p in range(length_of(items)):
        y = z[p] if z[p] >= floor else floor + LEAK * (z[p] - floor)
        out[p] = np.float32((y - least) * factor)
        a = np.int64(tally.slot[items[p]])
        if a == 0:
            tally.members[n] = items[p]
            tally.total[n] = 0.0
            n += 1
            a = n
            tally.slot[items[p]] = a
        tally.total[a - 1] += out[p]
    return n


@kernel
def count(start, stop, lists, coherence, factors, slot, votes, best):
    """Fill `votes` with what each list, weft's last, adds to its items, and `best` with the items with most votes.

    `factors` are the weights of the lists besides coherence. Ties are in order of first appearance. `slot` is scratch
    of zeros, cleared before returning.
    """
    n_lists, _, width = votes.shape
    members = np.empty(n_lists * width, np.int32)
    total = np.empty(members.size, np.float64)
    tally = Tally(members, total, slot)
    key, order, spare = sort_scratch(members.size)
    for q in range(start, stop):
        n = 0
        for v in range(n_lists):
            is_weft = v == n_lists - 1
            floor = lists.rest[v, q] if is_weft else lists.floor[v, q]
            factor = factors[v] if is_weft else tilt(v, q, coherence) * factors[v]
            n = add_votes(lists, v, q, floor, factor, tally, n, votes[v, q])
        clear(members[:n], slot)
        for x in range(n):
            total[x] = np.float32(total[x])  # rounding must not break ties
            key[x] = -total[x]
        wanted = min(n, best.items.shape[1])
        sort_smallest(key, n, wanted, order, spare)
        for p in range(wanted):
            best.items[q, p] = members[order[p]]
            best.scores[q, p] = np.float32(total[order[p]]) + np.float32(0)  # not -0
