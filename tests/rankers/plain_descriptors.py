"""Reference descriptors, written from their definitions with loops over pixels; the fast ones must equal them."""

import colorsys
import math
from collections import Counter
from fractions import Fraction

import numpy as np

DISTANCES = (1, 3, 5, 7)


def gray_of(image):
    """Integer luma; a half rounds up."""
    return [[math.floor((299 * int(r) + 587 * int(g) + 114 * int(b)) / 1000 + 0.5) for r, g, b in row] for row in image]


def rgb64(pixel):
    r, g, b = (int(channel) // 64 for channel in pixel)
    return 16 * r + 4 * g + b


def hsv(pixel, hues, saturations, values):
    # colorsys with exact fractions instead of floats
    h, s, v = colorsys.rgb_to_hsv(*(Fraction(int(channel), 1) for channel in pixel))
    h = Fraction(h).limit_denominator(10**6)
    s = Fraction(s).limit_denominator(10**6)
    bins = math.floor(h * hues), min(math.floor(s * saturations), saturations - 1), int(v) * values // 256
    return (bins[0] * saturations + bins[1]) * values + bins[2]


def spots(table):
    return [(y, x) for y in range(len(table)) for x in range(len(table[0]))]


def inside(table, y, x):
    return 0 <= y < len(table) and 0 <= x < len(table[0])


def dlog(part):
    x = 255 * part
    if x == 0:
        return 0
    return 1 + next(k for k in range(9) if x <= 2**k)


def gch(image):
    colors = [rgb64(pixel) for row in image for pixel in row]
    return [colors.count(color) / len(colors) for color in range(64)]


def bic(image):
    colors = [[rgb64(pixel) for pixel in row] for row in image]
    counts = Counter()
    for y, x in spots(colors):
        sides = [(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)]
        border = any(not inside(colors, *side) or colors[side[0]][side[1]] != colors[y][x] for side in sides)
        counts[64 * border + colors[y][x]] += 1
    return [dlog(Fraction(counts[number], len(spots(colors)))) for number in range(128)]


def same_at(kinds, distance):
    """Count for each kind the ordered pairs of pixels of that kind at the chessboard distance."""
    found = Counter()
    for y, x in spots(kinds):
        for v in range(y - distance, y + distance + 1):
            for u in range(x - distance, x + distance + 1):
                if max(abs(v - y), abs(u - x)) == distance and inside(kinds, v, u) and kinds[v][u] == kinds[y][x]:
                    found[kinds[y][x]] += 1
    return found


def correlogram(kinds, size):
    sizes = Counter(kind for row in kinds for kind in row)
    features = np.zeros((size, 4))
    for column, distance in enumerate(DISTANCES):
        for kind, pairs in same_at(kinds, distance).items():
            features[kind, column] = pairs / (8 * distance * sizes[kind])
    return features.ravel()


def acc(image):
    return correlogram([[rgb64(pixel) for pixel in row] for row in image], 64)


def acc_dlog(image):
    kinds = [[rgb64(pixel) for pixel in row] for row in image]
    found = [same_at(kinds, distance) for distance in DISTANCES]
    n = len(spots(kinds))
    return [dlog(Fraction(found[k][c], 8 * DISTANCES[k] * n)) for c in range(64) for k in range(4)]


def jac(image):
    gray = gray_of(image)
    kinds = [[0] * len(gray[0]) for _ in gray]
    for y, x in spots(gray):
        square = [(v, u) for v in range(y - 2, y + 3) for u in range(x - 2, x + 3) if (v, u) != (y, x)]
        near = [gray[v][u] for v, u in square if inside(gray, v, u)]
        sides = [(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)]
        gradient = max([abs(gray[v][u] - gray[y][x]) for v, u in sides if inside(gray, v, u)], default=0)
        textured = sum(abs(g - gray[y][x]) > 20 for g in near)
        rank = sum(g < gray[y][x] for g in near)
        levels = math.floor(gradient / 51.2), textured // 5, rank // 5
        kinds[y][x] = ((hsv(image[y][x], 8, 4, 2) * 5 + levels[0]) * 5 + levels[1]) * 5 + levels[2]
    return correlogram(kinds, 64 * 125)


def scd(image):
    counts = Counter(hsv(pixel, 16, 4, 4) for row in image for pixel in row)
    total = sum(counts.values())
    bins = {}
    for h in range(16):
        for s in range(4):
            for v in range(4):
                bits = math.floor(2047 * counts[(h * 4 + s) * 4 + v] / total + 0.5)
                bins[h, s, v] = min(15, math.floor(15 * (bits / 818.8) ** 0.4 + 0.5))
    details = []
    for axis in (0, 1, 2, 0, 1, 2, 0, 0):
        sums, differences = {}, []
        for spot in sorted(bins):
            if spot[axis] % 2 == 0:
                other = tuple(part + (number == axis) for number, part in enumerate(spot))
                half = tuple(part // 2 if number == axis else part for number, part in enumerate(spot))
                sums[half] = bins[spot] + bins[other]
                differences.append(bins[other] - bins[spot])
        bins = sums
        details.insert(0, differences)
    return [bins[0, 0, 0], *(number for level in details for number in level)]


def whole(gray):
    """Return the pixels with all 8 neighbors."""
    return [(y, x) for y in range(1, len(gray) - 1) for x in range(1, len(gray[0]) - 1)]


def share(numbers, size):
    return [numbers.count(number) / max(len(numbers), 1) for number in range(size)]


def lbp(image):
    gray = gray_of(image)
    patterns = []
    for y, x in whole(gray):
        ones = []
        for k in range(8):
            up, right = math.sin(k * math.pi / 4), math.cos(k * math.pi / 4)
            value = 0.0
            for v in (-1, 0, 1):
                for u in (-1, 0, 1):
                    value += max(0, 1 - abs(v + up)) * max(0, 1 - abs(u - right)) * (gray[y + v][x + u] - gray[y][x])
            ones.append(value > -1e-9)  # 0 up to rounding counts as equally bright
        changes = sum(ones[k] != ones[k - 1] for k in range(8))
        patterns.append(sum(ones) if changes <= 2 else 9)
    return share(patterns, 10)


def ccom(image):
    colors = [
        [36 * (int(r) * 6 // 256) + 6 * (int(g) * 6 // 256) + int(b) * 6 // 256 for r, g, b in row] for row in image
    ]
    counts = Counter()
    for y, x in spots(colors):
        for v, u in ((y, x + 1), (y + 1, x), (y, x - 1), (y - 1, x)):  # both orders: the full matrix
            if inside(colors, v, u):
                counts[colors[y][x], colors[v][u]] += 1
    total = max(sum(counts.values()), 1)
    upper = [(i, j) for i in range(216) for j in range(i, 216)]
    return [(counts[i, j] + (i != j) * counts[j, i]) / total for i, j in upper]


def las(image):
    gray = gray_of(image)
    numbers = []
    for y, x in whole(gray):
        number = 0
        for v, u in ((1, 1), (0, 1), (1, -1), (1, 0)):
            g = abs(gray[y - v][x - u] - gray[y][x]) + abs(gray[y][x] - gray[y + v][x + u])
            number = 4 * number + min(g // 25, 3)
        numbers.append(number)
    return share(numbers, 256)


def qcch(image):
    gray = gray_of(image)
    edges = [*range(1, 16), *(15.5 + 2 * k for k in range(11)), *(40.5 + 5 * k for k in range(10)), 95.5, 105.5, 115.5]

    def average(y, x):
        return sum(gray[y + v][x + u] for v in (-1, 0, 1) for u in (-1, 0, 1)) / 9

    numbers = []
    for y in range(2, len(gray) - 2):
        for x in range(2, len(gray[0]) - 2):
            ways = ((0, 1), (1, 0), (1, 1), (1, -1))
            change = sum(abs(average(y + v, x + u) - average(y - v, x - u)) for v, u in ways) / 4
            numbers.append(sum(change > edge + 1e-9 for edge in edges))
    return share(numbers, 40)


def htd(image):
    gray = np.array(gray_of(image), float)
    height, width = gray.shape
    energies = []
    for scale in range(5):
        for orientation in range(6):
            energies.append([])
            for p in range(height):
                for q in range(width):
                    v = p - height if 2 * p >= height else p  # frequencies from -1/2, as in fftfreq
                    u = q - width if 2 * q >= width else q
                    waves = np.exp(
                        -2j * np.pi * np.add.outer(np.arange(height) * v / height, np.arange(width) * u / width)
                    )
                    power = abs((waves * (gray - gray.mean())).sum()) ** 2 / gray.size
                    radius, angle = (
                        math.hypot(2 * v / height, 2 * u / width),
                        math.degrees(math.atan2(v / height, u / width)),
                    )
                    away = min(abs(angle - 30 * orientation + 180 * turn) for turn in range(-3, 4))
                    width_r = 0.5 * 2**-scale / (2 * math.sqrt(2 * math.log(2)))
                    width_a = 15 / math.sqrt(2 * math.log(2))
                    g = math.exp(-((radius - 0.75 * 2**-scale) ** 2) / (2 * width_r**2) - away**2 / (2 * width_a**2))
                    energies[-1].append(g * g * power)
    return np.log10(1 + np.concatenate([np.mean(energies, axis=1), np.std(energies, axis=1)]))
