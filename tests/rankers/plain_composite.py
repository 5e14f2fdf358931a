"""Reference composite descriptors, written from their definitions with loops over blocks and pixels."""

import math
from fractions import Fraction

import numpy as np

HUES = [(0, 0, 5, 10), (5, 10, 35, 50), (35, 50, 70, 85), (70, 85, 150, 165)]
HUES += [(150, 165, 195, 205), (195, 205, 265, 280), (265, 280, 315, 330), (315, 330, 360, 360)]
SATURATIONS = [(0, 0, 10, 75), (10, 75, 255, 255)]
VALUES = [(0, 0, 10, 75), (10, 75, 180, 220), (180, 220, 255, 255)]
HALVES = [(0, 0, 68, 188), (68, 188, 255, 255)]

_EDGE = [
    "180.197 23730.024 61457.153 113918.554 179122.464 260980.333 341795.933 554729.986",
    "209.252 22490.587 60250.894 120705.788 181128.087 234132.081 325660.618 520702.176",
    *2 * ["405.464 4877.976 10882.170 18167.239 27043.386 38129.413 52675.221 79555.403"],
    *2 * ["968.885 10725.159 24161.205 41555.917 62895.628 93066.271 136976.133 262897.861"],
]
_HAAR = [
    "130.089 9317.313 22434.356 43120.549 83168.640 101430.526 174840.658 224480.415",
    "130.089 9317.313 22434.356 43120.549 83168.640 151430.526 174840.658 224480.415",
    *4 * ["239.769 17321.704 39113.643 69333.512 79122.464 90980.333 161795.933 184729.986"],
    *2 * ["180.197 23730.024 41457.153 53918.554 69122.464 81980.333 91795.933 124729.986"],
]
EDGE_LEVELS, HAAR_LEVELS = ([[float(x) / 1e6 for x in row.split()] for row in rows] for rows in (_EDGE, _HAAR))


def member(x, corners):
    a, b, c, d = corners
    if b <= x <= c:
        return 1.0
    if a < x < b:
        return (x - a) / (b - a)
    if c < x < d:
        return (d - x) / (d - c)
    return 0.0


def hsv(r, g, b):
    high, low = max(r, g, b), min(r, g, b)
    if high == low:
        return 0, 0, high
    unit = Fraction(60, high - low)
    if high == r:
        hue = unit * (g - b) if g >= b else 359 + unit * (g - b)
    else:
        hue = 119 + unit * (b - r) if high == g else 239 + unit * (r - g)
    return int(hue), int(255 - Fraction(255 * low, high)), high


def colors10(h, s, v):
    bins = [0.0] * 10
    for i, hue in enumerate(HUES):
        for j, saturation in enumerate(SATURATIONS):
            for k, value in enumerate(VALUES):
                share = min(member(h, hue), member(s, saturation), member(v, value))
                gray = 2 if k == 0 else (None if j else 2 - k)
                bins[3 + i % 7 if gray is None else gray] += share
    return bins


def colors24(pixel):
    h, s, v = hsv(*(int(channel) for channel in pixel))
    ten = colors10(h, s, v)
    (s_low, s_high), (v_low, v_high) = ([member(x, half) for half in HALVES] for x in (s, v))
    shades = [min(s_low, v_high), min(s_high, v_high), min(s_low, v_low) + min(s_high, v_low)]
    return ten[:3] + [ten[c] * shade for c in range(3, 10) for shade in shades]


def luma(pixel):
    r, g, b = (int(channel) for channel in pixel)
    return Fraction(299 * r + 587 * g + 114 * b, 1000)


def mean_color(block):
    flat = block.reshape(-1, 3)
    return [sum(int(pixel[channel]) for pixel in flat) // len(flat) for channel in range(3)]


def quantized(bins, levels):
    total = sum(map(sum, bins)) or 1.0
    out = []
    for row, steps in zip(bins, levels, strict=True):
        for x in row:
            gaps = [abs(x / total - step) for step in steps]
            out.append(gaps.index(min(gaps)))
    return out


def cedd(image):
    height, width = image.shape[:2]
    small = min(height, width)
    if small >= 40:
        n = 40 if small >= 80 else 20
        sides, grid = [side // n - side // n % 2 for side in (height, width)], (n, n)
    else:
        sides, grid = (2, 2), (height // 2, width // 2)
    bins = [[0.0] * 24 for _ in range(6)]
    for i in range(grid[0]):
        for j in range(grid[1]):
            block = image[i * sides[0] : (i + 1) * sides[0], j * sides[1] : (j + 1) * sides[1]]
            for texture in edges(block):
                bins[texture] = [x + y for x, y in zip(bins[texture], colors24(mean_color(block)), strict=True)]
    return quantized(bins, EDGE_LEVELS)


def edges(block):
    y, x = block.shape[0] // 2, block.shape[1] // 2
    quarters = block[:y, :x], block[:y, x:], block[y:, :x], block[y:, x:]
    a, b, c, d = (int(sum(map(luma, part.reshape(-1, 3))) / (x * y)) for part in quarters)
    strengths = [2 * (a - b - c + d), a + b - c - d, a - b + c - d, math.sqrt(2) * (a - d), math.sqrt(2) * (b - c)]
    strengths = [abs(strength) for strength in strengths]
    strongest = max(strengths)
    if strongest < 14:
        return [0]
    shares = [0.68, 0.98, 0.98, 0.98, 0.98]
    return [i for i in range(1, 6) if strengths[i - 1] / strongest > shares[i - 1]]


def fcth(image):
    sides = [max(side // 40 - side // 40 % 2, 4) for side in image.shape[:2]]
    bins = [[0.0] * 24 for _ in range(8)]
    for y in range(0, image.shape[0] - sides[0], sides[0]):
        for x in range(0, image.shape[1] - sides[1], sides[1]):
            block = image[y : y + sides[0], x : x + sides[1]]
            colors = colors24(mean_color(block))
            for texture, share in enumerate(haar(block)):
                bins[texture] = [one + share * color for one, color in zip(bins[texture], colors, strict=True)]
    return quantized(bins, HAAR_LEVELS)


def haar(block):
    def cell(i, side):
        return sum(i >= edge for edge in (side // 4, side // 2, 3 * side // 4))

    found = {}
    for i in range(block.shape[0]):
        for j in range(block.shape[1]):
            key = cell(i, block.shape[0]), cell(j, block.shape[1])
            found.setdefault(key, []).append(int(luma(block[i, j])))
    means = {key: Fraction(sum(values), len(values)) for key, values in found.items()}
    squares = [0, 0, 0]
    for i in (0, 2):
        for j in (0, 2):
            p, q, r, s = means[i, j], means[i, j + 1], means[i + 1, j], means[i + 1, j + 1]
            steps = [-p - q + r + s, p - q + r - s, -p + q + r - s]
            squares = [
                one + int(np.array(int(abs(step))).astype(np.int8)) ** 2
                for one, step in zip(squares, steps, strict=True)
            ]
    f1, f2, f3 = (math.sqrt(square / 4) for square in squares)
    low_high = {80: [(0, 0, 20, 80), (20, 80, 255, 255)], 90: [(0, 0, 20, 90), (20, 90, 255, 255)]}
    shares = [[member(f, one) for one in low_high[top]] for f, top in ((f1, 80), (f2, 90), (f3, 90))]
    return [min(shares[2][t // 4], shares[1][t // 2 % 2], shares[0][t % 2]) for t in range(8)]


def jcd(image):
    c, f = np.reshape(cedd(image), (6, 24)), np.reshape(fcth(image), (8, 24))
    t = [f[k] + f[k + 4] for k in range(4)]
    return np.concatenate([(t[0] + c[0]) / 2, (t[1] + c[2]) / 2, c[4], (t[2] + c[3]) / 2, c[5], t[3], c[1]])


def pyramid(image, descriptor):
    height, width = image.shape[:2]
    out = list(descriptor(image))
    for y in range(2):
        for x in range(2):
            out += descriptor(image[height // 2 * y :, width // 2 * x :][: height // 2, : width // 2])
    for x in range(4):
        for y in range(4):
            out += descriptor(image[height // 4 * y :, width // 4 * x :][: height // 4, : width // 4])
    return out


def cedd_spy(image):
    return pyramid(image, cedd)


def fcth_spy(image):
    return pyramid(image, fcth)
