"""Votes of rankers: scores on a common scale, and how coherent a list of a query is."""

from math import sqrt
from typing import NamedTuple

import numpy as np

from rankloom._kernels import ZERO
from rankloom._kernels.jit import inner, kernel
from rankloom._kernels.sorting import sort_ascending, sort_scratch

FIRST = 100  # entries of a list that mean, deviation and floor are of
HUB = 20  # neighbors of an item that say how much of a hub it is
PAIRS = 10  # items of a list whose pairs are counted
MEASURED = 50  # items of a list whose neighborhoods are compared with their scores
AVERAGED = 10  # neighbors of each
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
def cohere(start, stop, lists, nearest, slot, out):
    """Add to `out`, for each list, its autocorrelation and twice its share of near pairs, by the neighbors of a ranker.

    `slot` is scratch of zeros, cleared before returning.
    """
    gain = np.empty(MEASURED, np.float64)
    around = Around(np.empty(HUB, np.int32), np.empty(HUB, np.float32))
    for q in range(start, stop):
        items, z = lists.items[q], lists.z[q]
        size = 0
        while size < items.size and items[size] >= 0:
            slot[items[size]] = size + 1
            size += 1
        n = min(size, MEASURED)
        for p in range(n):
            gain[p] = mean_gain(items[p], z, lists.floor[q], nearest, slot, around)
        out[q] = pearson(z, gain, n) + 2.0 * near_pairs(items, size, nearest, slot, around)
        for p in range(size):
            slot[items[p]] = 0
