"""Cyclic alignments of closed sequences by dynamic programming, for all start points at once.

The costs of a pair of sequences have the shape (2, n, 2n): of the points of the first and the second, and of the first
and the mirrored second. Columns are repeated, so that those from any start point are adjacent.
"""

from typing import NamedTuple

import numpy as np

from rankloom._kernels.jit import helper, kernel

INFINITY = np.float32(np.inf)


class Pairs(NamedTuple):
    """The sequences to align: `rows` with `columns`, or with those after them if `own`."""

    rows: np.ndarray
    columns: np.ndarray
    own: bool


class Histograms(NamedTuple):
    """Sequences of histograms with one sum, `total`, as their filled bins; if it is 0, there are none."""

    ptr: np.ndarray  # by sequence and bin
    points: np.ndarray
    backwards: np.ndarray  # the points counted from the end
    counts: np.ndarray
    mirror: np.ndarray  # bin k of a mirrored histogram is ``mirror[k]``
    shared: np.ndarray  # ``shared[x, y]`` is ``4xy / (x + y)``
    total: np.float32


class Settings(NamedTuple):
    """A skipped point costs the penalty and `repeat` times the cost of the pair; see `cheapest` for the band."""

    penalty: np.float32
    repeat: np.float32
    band: int


@helper
def chi_square_costs(x, y, histograms, costs):
    """Compute chi-square between the histograms of two sequences.

    ``(x - y)^2 / (x + y)`` is ``x + y - shared[x, y]``.
    """
    x_ptr, y_ptr, points_of, counts_of = histograms.ptr[x], histograms.ptr[y], histograms.points, histograms.counts
    n = costs.shape[1]
    costs[:, :, :n] = np.float32(0)
    for k in range(x_ptr.size - 1):
        m = histograms.mirror[k]
        bin_k, bin_m = slice(y_ptr[k], y_ptr[k + 1]), slice(y_ptr[m], y_ptr[m + 1])
        points, counts = points_of[bin_k], counts_of[bin_k]
        mirrored, other_counts = histograms.backwards[bin_m], counts_of[bin_m]
        for entry in range(x_ptr[k], x_ptr[k + 1]):
            same, other = costs[0, points_of[entry]], costs[1, points_of[entry]]
            part = histograms.shared[counts_of[entry]]
            for e in range(points.size):
                same[points[e]] += part[counts[e]]
            for e in range(mirrored.size):
                other[mirrored[e]] += part[other_counts[e]]
    for side in range(2):
        for i in range(n):
            row = costs[side, i]
            for j in range(n):
                row[j] = np.float32(2) - row[j] / histograms.total
                row[n + j] = row[j]


@helper
def city_block_costs(x, y, costs):
    """Compute l1 between the features of points; a mirrored sequence is a reversed one."""
    n = len(x)
    for i in range(n):
        for j in range(n):
            cost = np.float32(0)
            for k in range(x.shape[1]):
                cost += abs(x[i, k] - y[j, k])
            costs[0, i, j] = costs[0, i, n + j] = cost
            costs[1, i, n - 1 - j] = costs[1, i, 2 * n - 1 - j] = cost


@helper
def without_skips(costs):
    """Return the smallest cost of an alignment without skips."""
    n = len(costs)
    sums = np.zeros(n, np.float32)
    for i in range(n):
        row = costs[i, i : i + n]
        for start in range(n):
            sums[start] += row[start]
    return sums.min()


@helper
def cheapest(costs, settings, bound, table):
    """Return the smallest cost of an alignment over all start points of the second sequence, at most `bound`.

    No pair is more than the band off the diagonal of the start point. `table`, of shape (2, n + 1, n), is scratch.
    """
    n = len(costs)
    penalty, repeat, band = settings
    if bound < np.float32(2 * band) * penalty:  # to leave the diagonal and return costs two penalties
        band = int(bound / (np.float32(2) * penalty))
    for j in range(band + 1):
        table[0, j] = np.float32(j) * penalty
    for i in range(1, n + 1):
        above, row = table[(i - 1) % 2], table[i % 2]
        low, high = max(1, i - band), min(n, i + band)
        row[low - 1] = np.float32(i) * penalty if i <= band else INFINITY
        if i + band <= n:
            above[i + band] = INFINITY
        for j in range(low, high + 1):
            cost, before, up, left, best = costs[i - 1, j - 1 : j - 1 + n], above[j - 1], above[j], row[j - 1], row[j]
            for start in range(n):
                gap = penalty + repeat * cost[start]
                pair, skip, other = before[start] + cost[start], up[start] + gap, left[start] + gap
                least = pair if pair < skip else skip
                best[start] = least if least < other else other
    return min(bound, table[n % 2, n].min())


@kernel
def align(start, stop, pairs, histograms, features, settings, out):
    """Align pairs of sequences, of histograms by chi-square or else of features by l1.

    Of a pair, the sequence with the smaller number is the first, so that distances are symmetric.
    """
    n = features.shape[1]
    costs, table = np.empty((2, n, 2 * n), np.float32), np.empty((2, n + 1, n), np.float32)
    for i in range(start, stop):
        for j in range(i + 1 if pairs.own else 0, pairs.columns.size):
            x, y = min(pairs.rows[i], pairs.columns[j]), max(pairs.rows[i], pairs.columns[j])
            if x == y:
                out[i, j] = np.float32(0)
                continue
            if histograms.total > 0:
                chi_square_costs(x, y, histograms, costs)
            else:
                city_block_costs(features[x], features[y], costs)
            bound = min(without_skips(costs[0]), without_skips(costs[1]))
            bound = cheapest(costs[0], settings, bound, table)
            out[i, j] = cheapest(costs[1], settings, bound, table)
