"""Cyclic alignments of closed sequences by dynamic programming, for all start points at once.

The costs of a pair of sequences have the shape (2, n, 2n): of the points of the first and the second, and of the first
and the mirrored second. Columns are repeated, so that those from any start point are adjacent.
"""

import numpy as np

from rankloom._kernels.jit import helper, kernel

INFINITY = np.float32(np.inf)


@helper
def chi_square_costs(x_ptr, x_points, x_counts, y_ptr, y_points, y_reversed, y_counts, mirror, shared, total, costs):
    """Compute chi-square between histograms from their filled bins; bin k of a mirrored histogram is ``mirror[k]``.

    ``(x - y)^2 / (x + y)`` is ``x + y - 4xy / (x + y)``, and the sum of each histogram is `total`; ``shared[x, y]`` is
    ``4xy / (x + y)``.
    """
    n = costs.shape[1]
    costs[:, :, :n] = np.float32(0)
    for k in range(x_ptr.size - 1):
        bin_k, bin_m = slice(y_ptr[k], y_ptr[k + 1]), slice(y_ptr[mirror[k]], y_ptr[mirror[k] + 1])
        points, counts, mirrored, other_counts = y_points[bin_k], y_counts[bin_k], y_reversed[bin_m], y_counts[bin_m]
        for entry in range(x_ptr[k], x_ptr[k + 1]):
            same, other = costs[0, x_points[entry]], costs[1, x_points[entry]]
            part = shared[x_counts[entry]]
            for e in range(points.size):
                same[points[e]] += part[counts[e]]
            for e in range(mirrored.size):
                other[mirrored[e]] += part[other_counts[e]]
    for side in range(2):
        for i in range(n):
            row = costs[side, i]
            for j in range(n):
                row[j] = np.float32(2) - row[j] / total
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
def cheapest(costs, penalty, repeat, band, bound, table):
    """Return the smallest cost of an alignment over all start points of the second sequence, at most `bound`.

    A skipped point costs the penalty and `repeat` times the cost of the pair; no pair is more than `band` off the
    diagonal of the start point. `table`, of shape (2, n + 1, n), is scratch.
    """
    n = len(costs)
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


@helper
def cheapest_side(costs, penalty, repeat, band, table):
    """Return the smaller cost of an alignment with the second sequence and with its mirror image."""
    bound = min(without_skips(costs[0]), without_skips(costs[1]))
    bound = cheapest(costs[0], penalty, repeat, band, bound, table)
    return cheapest(costs[1], penalty, repeat, band, bound, table)


@kernel
def align_histograms(start, stop, rows, columns, own, histograms, mirror, shared, total, n, settings, out):
    """Align sequences of histograms by chi-square: `rows` with `columns`, or with those after them if `own`.

    `histograms` are (pointers by sequence and bin, points, points counted from the end, counts). Of a pair, the
    sequence with the smaller number is the first, so that distances are symmetric.
    """
    ptr, points, backwards, counts = histograms
    penalty, repeat, band = settings
    costs, table = np.empty((2, n, 2 * n), np.float32), np.empty((2, n + 1, n), np.float32)
    for i in range(start, stop):
        for j in range(i + 1 if own else 0, columns.size):
            x, y = min(rows[i], columns[j]), max(rows[i], columns[j])
            if x == y:
                out[i, j] = np.float32(0)
                continue
            chi_square_costs(ptr[x], points, counts, ptr[y], points, backwards, counts, mirror, shared, total, costs)
            out[i, j] = cheapest_side(costs, penalty, repeat, band, table)


@kernel
def align_features(start, stop, rows, columns, own, features, settings, out):
    """Align sequences of features by l1, as `align_histograms`."""
    penalty, repeat, band = settings
    n = features.shape[1]
    costs, table = np.empty((2, n, 2 * n), np.float32), np.empty((2, n + 1, n), np.float32)
    for i in range(start, stop):
        for j in range(i + 1 if own else 0, columns.size):
            x, y = min(rows[i], columns[j]), max(rows[i], columns[j])
            if x == y:
                out[i, j] = np.float32(0)
                continue
            city_block_costs(features[x], features[y], costs)
            out[i, j] = cheapest_side(costs, penalty, repeat, band, table)
