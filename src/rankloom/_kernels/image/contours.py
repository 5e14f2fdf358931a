"""Contours of masks: tracing, the inner-distance graph, and histograms of where the other points lie."""

import numpy as np

from rankloom._kernels import ZERO
from rankloom._kernels.jit import helper, kernel

# Directions right, down, left, up as (down, right), and the pixels ahead of a corner, to the right and to the left.
STEPS = np.array([[0, 1], [1, 0], [0, -1], [-1, 0]])
AHEAD_RIGHT = np.array([[0, 0], [0, -1], [-1, -1], [-1, 0]])
AHEAD_LEFT = np.array([[-1, 0], [0, 0], [0, -1], [-1, -1]])


@kernel
def trace(mask, row, column, pixels):
    """Follow the outer boundary from the top edge of a pixel, clockwise; list the pixel inside each edge.

    The mask has a background frame, and the pixel none above it. Return the number of edges.
    """
    y, x, direction = row, column + 1, 0  # the corner reached
    pixels[0, 0], pixels[0, 1] = row, column
    n = 1
    while True:
        left_y, left_x = y + AHEAD_LEFT[direction, 0], x + AHEAD_LEFT[direction, 1]
        right_y, right_x = y + AHEAD_RIGHT[direction, 0], x + AHEAD_RIGHT[direction, 1]
        if mask[left_y, left_x]:  # diagonal neighbors are connected
            pixels[n, 0], pixels[n, 1] = left_y, left_x
            direction = (direction + 3) % 4
        elif mask[right_y, right_x]:
            pixels[n, 0], pixels[n, 1] = right_y, right_x
        else:
            pixels[n, 0], pixels[n, 1] = pixels[n - 1, 0], pixels[n - 1, 1]
            direction = (direction + 1) % 4
        if y == row and x == column and direction == 0:
            return n
        y, x = y + STEPS[direction, 0], x + STEPS[direction, 1]
        n += 1


@helper
def is_inside(mask, y, x, v, u):
    """Return True if all pixels of the line from (y, x) to (v, u) are foreground; its ends are not tested."""
    steps = max(abs(v - y), abs(u - x))
    for s in range(1, steps):
        if not mask[y + (2 * s * (v - y) + steps) // (2 * steps), x + (2 * s * (u - x) + steps) // (2 * steps)]:
            return False
    return True


@kernel
def visible_lengths(mask, points, lengths):
    """Compute the distances of points that see each other inside the mask; inf for others.

    Neighbors on the contour, and pixels at most 2 apart, always do.
    """
    n = len(points)
    for i in range(n):
        y, x = int(np.floor(points[i, 0] + 0.5)), int(np.floor(points[i, 1] + 0.5))
        lengths[i, i] = 0.0
        for j in range(i + 1, n):
            v, u = int(np.floor(points[j, 0] + 0.5)), int(np.floor(points[j, 1] + 0.5))
            near = j - i == 1 or j - i == n - 1 or max(abs(v - y), abs(u - x)) <= 2
            seen = near or is_inside(mask, y, x, v, u)
            lengths[i, j] = np.hypot(points[j, 0] - points[i, 0], points[j, 1] - points[i, 1]) if seen else np.inf
            lengths[j, i] = lengths[i, j]


@kernel
def shortest_paths(lengths, first):
    """Replace lengths by those of shortest paths (Floyd-Warshall); `first` gets the first vertex of each path."""
    n = len(lengths)
    for i in range(n):
        for j in range(n):
            first[i, j] = j
    for k in range(n):
        for i in range(n):
            to_k = lengths[i, k]
            if to_k < np.inf:
                for j in range(n):
                    if to_k + lengths[k, j] < lengths[i, j]:
                        lengths[i, j] = to_k + lengths[k, j]
                        first[i, j] = first[i, k]


@kernel
def contexts(points, lengths, first, n_lengths, n_angles, base, counts):
    """Count the other points in bins of log distance and of angle to the tangent."""
    n = len(points)
    total = ZERO
    for i in range(n):
        for j in range(n):
            total += lengths[i, j]
    mean = total / (n * (n - 1))
    scale = (base ** (0.75 * n_lengths) - 1.0) / mean if mean > 0.0 else 0.0
    for i in range(n):
        after, before = points[(i + 1) % n], points[i - 1]
        tangent = np.arctan2(after[0] - before[0], after[1] - before[1])
        for j in range(n):
            if j != i:
                ahead = points[first[i, j]]
                angle = np.arctan2(ahead[0] - points[i, 0], ahead[1] - points[i, 1]) - tangent
                turn = (angle / (2.0 * np.pi) + 0.5) % 1.0  # the direction of the tangent is 0.5
                a = min(max(int(np.ceil(turn * n_angles)), 1), n_angles)
                d = int(np.floor(np.log(scale * lengths[i, j] + 1.0) / np.log(base)))
                counts[i, (min(max(d, 1), n_lengths) - 1) * n_angles + a - 1] += 1
