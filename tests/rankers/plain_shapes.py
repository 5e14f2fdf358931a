"""Contours, shape contexts and alignments in plain loops, written from the articles' formulas."""

import math
from fractions import Fraction

import numpy as np


def boundary(mask):
    """Return the foreground pixels with one of 4 neighbors in the background that reaches the frame."""
    height, width = mask.shape
    outside, todo = set(), [(0, 0)]
    while todo:
        y, x = todo.pop()
        if 0 <= y < height and 0 <= x < width and (y, x) not in outside and not mask[y, x]:
            outside.add((y, x))
            todo += [(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)]
    sides = [(-1, 0), (1, 0), (0, -1), (0, 1)]
    return {(y, x) for y, x in np.argwhere(mask).tolist() if any((y + v, x + u) in outside for v, u in sides)}


def half_up(number):
    return math.floor(number + Fraction(1, 2))


def sees(mask, p, q):
    """Return True if the line between two pixels is inside."""
    steps = max(abs(q[0] - p[0]), abs(q[1] - p[1]))
    if steps <= 2:
        return True
    ahead = [(2 * (b - a) * np.arange(1, steps) + steps) // (2 * steps) for a, b in zip(p, q, strict=True)]
    return bool(mask[p[0] + ahead[0], p[1] + ahead[1]].all())  # each part of the way, half rounded up


def inner_paths(mask, points):
    """Return inner distances and the first vertex of each path, by Dijkstra's algorithm from each point."""
    n = len(points)
    pixels = [[half_up(Fraction(float(number))) for number in point] for point in points]
    edges = [
        {j: math.dist(points[i], points[j]) for j in range(n) if j != i and joined(mask, pixels, i, j)}
        for i in range(n)
    ]
    return [dijkstra(edges, i) for i in range(n)]


def joined(mask, pixels, i, j):
    return abs(i - j) in (1, len(pixels) - 1) or sees(mask, pixels[min(i, j)], pixels[max(i, j)])


def dijkstra(edges, source):
    """Return {vertex: (distance, first vertex)}."""
    found, open_ = {}, {source: (0.0, source)}
    while open_:
        vertex = min(open_, key=open_.get)
        distance, first = found[vertex] = open_.pop(vertex)
        for other, length in edges[vertex].items():
            new = (distance + length, other if vertex == source else first)
            if other not in found and new[0] < open_.get(other, (math.inf,))[0]:
                open_[other] = new
    return found


def angle_and_length(points, paths, i, j):
    distance, first = paths[i][j]
    n = len(points)
    tangent = math.atan2(*(points[(i + 1) % n] - points[i - 1]))
    angle = (math.atan2(*(points[first] - points[i])) - tangent + math.pi) % (2 * math.pi) - math.pi
    return angle, distance


def contexts(points, paths):
    """Return the histograms of 8 distances and 12 angles, and which points are too near the edge of a bin to tell."""
    n = len(points)
    mean = sum(paths[i][j][0] for i in range(n) for j in range(n)) / (n * (n - 1))
    counts, doubtful = np.zeros((n, 96), int), np.zeros(n, int)
    for i in range(n):
        for j in set(range(n)) - {i}:
            angle, distance = angle_and_length(points, paths, i, j)
            place = (angle + math.pi) / (2 * math.pi / 12)
            level = math.log(1 + distance * (1.5**6 - 1) / mean, 1.5)
            doubtful[i] += min(abs(place - round(place)), abs(level - round(level))) < 1e-9
            counts[i, 12 * (min(max(math.floor(level), 1), 8) - 1) + min(max(math.ceil(place), 1), 12) - 1] += 1
    return counts, doubtful


def chi_square(x, y):
    x, y = x / x.sum(), y / y.sum()
    return sum((a - b) ** 2 / (a + b) for a, b in zip(x, y, strict=True) if a + b)


def l1(x, y):
    return sum(abs(float(a) - float(b)) for a, b in zip(x, y, strict=True))


def mirrored(sequence, cost):
    """Return the sequence of the mirror image: reversed, and angle a of a histogram at pi - a."""
    if cost is l1:
        return sequence[::-1]
    out = np.zeros_like(sequence)
    for k in range(sequence.shape[1]):
        length, angle = divmod(k, 12)
        out[:, 12 * length + (5 - angle) % 12] = sequence[:, k]
    return out[::-1]


def align(x, y, cost, penalty, repeat=False, band=10**6):
    """Return the cost of the cheapest alignment of two open sequences."""
    n = len(x)
    table = {(0, 0): 0.0}
    for k in range(1, min(band, n) + 1):
        table[0, k] = table[k, 0] = k * penalty
    for i in range(1, n + 1):
        for j in range(max(1, i - band), min(n, i + band) + 1):
            pair = cost(x[i - 1], y[j - 1])
            skip = penalty + (pair if repeat else 0)
            options = [(i - 1, j - 1, pair), (i - 1, j, skip), (i, j - 1, skip)]
            table[i, j] = min(table.get((v, u), math.inf) + price for v, u, price in options)
    return table[n, n]


def cyclic(x, y, cost, penalty, **options):
    """Return that of two closed sequences, over all start points of the second and of its mirror image."""
    sides = [np.roll(side, start, axis=0) for side in (y, mirrored(y, cost)) for start in range(len(y))]
    return min(align(x, side, cost, penalty, **options) for side in sides)


def beam_statistics(points):
    """Return mean, spread and skew of the beam angles of each point."""
    n = len(points)
    rows = []
    for i in range(n):
        angles = []
        for k in range(1, n // 2):
            ahead, back = (math.atan2(*(points[(i + step) % n] - points[i])) for step in (k, -k))
            angle = math.degrees(back - ahead) % 360
            while k > 3 and angle - angles[-1] > 180:
                angle -= 360
            while k > 3 and angle - angles[-1] < -180:
                angle += 360
            angles.append(angle)
        mean = sum(angles) / len(angles)
        spread, skew = (sum(abs(a - mean) ** p for a in angles) / (n // 2 - 2) for p in (2, 3))
        rows.append([mean, spread ** (1 / 2), skew ** (1 / 3)])
    return np.array(rows)
