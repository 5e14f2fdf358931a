"""Composite descriptors: fuzzy histograms of the color and the texture of blocks, in one short vector.

An image is a uint8 array of shape (height, width, 3), at least 1 x 1; one that is smaller than a block has none, and
its vector is all zeros. `COMPOSITE` maps names to descriptors and their distances.

All constants, and what the articles leave open, follow LIRE (Lux: LIRE, open source image retrieval in Java (2011),
doi:10.1145/2072298.2072432). Unlike there, everything before the fuzzy memberships is in integers, so that equal
pixels fall into equal bins on any machine.
"""

from itertools import product
from math import lcm

import numpy as np
from numpy.typing import NDArray

from rankloom.rankers.image.pixels import Describe, Image, rgb
from rankloom.ranks.arrays import Bools, Bytes, Float32s, Floats, Int64s

Corners = tuple[float, float, float, float]

COLORS = 24
LUMA = np.array([299, 587, 114])  # ITU-R BT.601, in thousandths

#: Corners of the trapezoids of the fuzzy memberships: 0 up to the first, 1 between the second and the third
HUES = (
    (0, 0, 5, 10), (5, 10, 35, 50), (35, 50, 70, 85), (70, 85, 150, 165), (150, 165, 195, 205), (195, 205, 265, 280),
    (265, 280, 315, 330), (315, 330, 360, 360),
)  # fmt: skip
SATURATIONS = ((0, 0, 10, 75), (10, 75, 255, 255))
VALUES = ((0, 0, 10, 75), (10, 75, 180, 220), (180, 220, 255, 255))
SHADES = ((0, 0, 68, 188), (68, 188, 255, 255))
COARSENESS = (((0, 0, 20, 80), (20, 80, 255, 255)), *2 * (((0, 0, 20, 90), (20, 90, 255, 255)),))  # of F1, F2, F3

MIN_EDGE = 14  # a block with weaker edges has no texture
EDGE_SHARES = (0.68, 0.98, 0.98, 0.98, 0.98)  # of the strongest edge; a block has every texture above these

#: Bytes that the bins of a texture are quantized to, in millionths
_FLAT = (180.197, 23730.024, 61457.153, 113918.554, 179122.464, 260980.333, 341795.933, 554729.986)
_BOTH = (209.252, 22490.587, 60250.894, 120705.788, 181128.087, 234132.081, 325660.618, 520702.176)
_AXES = (405.464, 4877.976, 10882.170, 18167.239, 27043.386, 38129.413, 52675.221, 79555.403)
_DIAGONALS = (968.885, 10725.159, 24161.205, 41555.917, 62895.628, 93066.271, 136976.133, 262897.861)
_FINE = (130.089, 9317.313, 22434.356, 43120.549, 83168.640, 101430.526, 174840.658, 224480.415)
_FINE_2 = (*_FINE[:5], 151430.526, *_FINE[6:])
_MIDDLE = (239.769, 17321.704, 39113.643, 69333.512, 79122.464, 90980.333, 161795.933, 184729.986)
_COARSE = (180.197, 23730.024, 41457.153, 53918.554, 69122.464, 81980.333, 91795.933, 124729.986)
CEDD_LEVELS = np.array([_FLAT, _BOTH, _AXES, _AXES, _DIAGONALS, _DIAGONALS]) * 1e-6
FCTH_LEVELS = np.array([_FINE, _FINE_2, *4 * [_MIDDLE], _COARSE, _COARSE]) * 1e-6


def cedd(image: Image) -> Bytes:
    r"""Color and edge directivity descriptor: 24 fuzzy colors of blocks with 6 kinds of edges. Distance: tanimoto.

    The image is cut into 40 x 40 blocks (20 x 20 if a side is below 80 pixels, blocks of 2 x 2 below 40) with even
    sides; pixels beyond the last block are ignored. With :math:`a, b / c, d` the mean luma of the quarters of a block,
    its edges are

    .. math:: 2|a - b - c + d|, \; |a + b - c - d|, \; |a - b + c - d|, \; \sqrt 2 |a - d|, \; \sqrt 2 |b - c|

    (no direction, horizontal, vertical, two diagonals). If all are below 14 the block has texture 0; otherwise it has
    each texture 1 to 5 whose edge is above a share of the strongest, 0.68 for the first and 0.98 for the others. The
    fuzzy colors of the mean color of the block count for each of its textures. Relative frequencies are quantized to
    3 bits.

    Returns
    -------
    uint8 array of shape (144,)
        6 textures x 24 colors, values 0 to 7.

    References
    ----------
    Chatzichristofis, Boutalis: CEDD: color and edge directivity descriptor (2008), doi:10.1007/978-3-540-79547-6_30

    Examples
    --------
    >>> features = cedd(np.full((80, 80, 3), 255, np.uint8))  # no edges, all white
    >>> np.flatnonzero(features).tolist(), features[0].item()
    ([0], 7)
    """
    return _cedd(rgb(image))


def fcth(image: Image) -> Bytes:
    r"""Fuzzy color and texture histogram: 24 fuzzy colors of blocks with 8 kinds of texture. Distance: tanimoto.

    Blocks have a fortieth of each side, rounded down to an even number, at least 4; the last row and column of blocks
    are left out. A block is cut into 4 x 4 cells, and a Haar step on the mean luma p, q / r, s of each 2 x 2 of them
    gives

    .. math:: f_1 = |r + s - p - q|, \quad f_2 = |p + r - q - s|, \quad f_3 = |q + r - p - s|

    Each is cut to an integer and, as LIRE does, to a signed byte (129 becomes -127; N-S on 250 objects of UKBench is
    higher by 0.01 for that). :math:`F_i` is the root of the mean square of the four :math:`f_i`, fuzzily low or high;
    the texture is 4 [F3 high] + 2 [F2 high] + [F1 high], and each combination counts with the smallest membership.
    Relative frequencies, of 8 textures x 24 colors, are quantized to 3 bits.

    References
    ----------
    Chatzichristofis, Boutalis: FCTH: fuzzy color and texture histogram (2008), doi:10.1109/WIAMIS.2008.24

    Examples
    --------
    >>> fcth(np.full((80, 80, 3), 255, np.uint8))[:2].tolist()
    [7, 0]
    """
    return _fcth(rgb(image))


def jcd(image: Image) -> Float32s:
    r"""Joint composite descriptor: `cedd` and `fcth` in one, over 7 kinds of texture. Distance: tanimoto.

    With rows :math:`C_0 \dots C_5` of `cedd` and :math:`T_k = F_k + F_{k+4}` of `fcth`, the rows are
    :math:`(T_0 + C_0) / 2, (T_1 + C_2) / 2, C_4, (T_2 + C_3) / 2, C_5, T_3, C_1`.

    Returns
    -------
    float32 array of shape (168,)
        7 textures x 24 colors, multiples of 1/2.

    References
    ----------
    Zagoris, Chatzichristofis, Papamarkos, Boutalis: Automatic image annotation and retrieval using the joint composite
    descriptor (2010), doi:10.1109/PCI.2010.38

    Examples
    --------
    >>> jcd(np.full((80, 80, 3), 255, np.uint8))[:2].tolist()
    [7.0, 0.0]
    """
    c = cedd(image).reshape(-1, COLORS).astype(np.float32)
    f = fcth(image).reshape(-1, COLORS).astype(np.float32)
    t = f[:4] + f[4:]
    rows = [(t[0] + c[0]) / 2, (t[1] + c[2]) / 2, c[4], (t[2] + c[3]) / 2, c[5], t[3], c[1]]
    return np.concatenate(rows)


def cedd_spy(image: Image) -> Bytes:
    """Spatial pyramid of `cedd`: the image, its 4 quarters and its 16 sixteenths, one after the other.

    The distance is tanimoto. Quarters are in the order of rows, sixteenths in that of columns; each part is quantized
    on its own. Pixels beyond the last part are ignored.

    Returns
    -------
    uint8 array of shape (3024,)
        Values 0 to 7.

    References
    ----------
    Lazebnik, Schmid, Ponce: Beyond bags of features (2006), doi:10.1109/CVPR.2006.68; `cedd`

    Examples
    --------
    >>> features = cedd_spy(np.full((80, 80, 3), 255, np.uint8)).reshape(21, 144)
    >>> features[:, 0].tolist() == [7] * 21, features.sum().item()
    (True, 147)
    """
    return np.concatenate([_cedd(part) for part in _pyramid(rgb(image))])


def fcth_spy(image: Image) -> Bytes:
    """Spatial pyramid of `fcth`, as `cedd_spy` is that of `cedd`: 21 parts, 4032 values. The distance is tanimoto.

    Examples
    --------
    >>> fcth_spy(np.full((80, 80, 3), 255, np.uint8)).reshape(21, 192)[:, 0].tolist() == [7] * 21
    True
    """
    return np.concatenate([_fcth(part) for part in _pyramid(rgb(image))])


def _cedd(image: Image) -> Bytes:
    """Return the `cedd` of an image that may be empty."""
    pixels = image.astype(np.int64)
    rows, columns, height, width = _grid(*pixels.shape[:2])
    blocks = pixels[: rows * height, : columns * width].reshape(rows, height, columns, width, 3)
    if not blocks.size:
        return np.zeros(len(CEDD_LEVELS) * COLORS, np.uint8)
    colors = fuzzy_colors(blocks.sum((1, 3)).reshape(-1, 3) // (height * width))
    quarters = (blocks @ LUMA).reshape(rows, 2, height // 2, columns, 2, width // 2).sum((2, 5))
    textures = _edge_textures((quarters // (250 * height * width)).transpose(1, 3, 0, 2).reshape(4, -1))
    return _quantized(np.stack([colors[texture].sum(0) for texture in textures]), CEDD_LEVELS)


def _fcth(image: Image) -> Bytes:
    """Return the `fcth` of an image that may be empty."""
    pixels = image.astype(np.int64)
    sides = tuple(max(side // 40 // 2 * 2, 4) for side in pixels.shape[:2])
    rows, columns = (max(-(-(n - side) // side), 0) for n, side in zip(pixels.shape[:2], sides, strict=True))
    if not rows * columns:
        return np.zeros(len(FCTH_LEVELS) * COLORS, np.uint8)
    inside = pixels[: rows * sides[0], : columns * sides[1]]
    blocks = inside.reshape(rows, sides[0], columns, sides[1], 3)
    colors = fuzzy_colors(blocks.sum((1, 3)).reshape(-1, 3) // (sides[0] * sides[1]))
    textures = _haar_textures(inside @ LUMA // 1000, sides)
    return _quantized(np.einsum("nt,nc->tc", textures, colors), FCTH_LEVELS)


def fuzzy_colors(pixels: Int64s) -> Floats:
    """Return memberships of RGB colors, (n, 3), in white, gray, black, and light, pure and dark shades of seven colors.

    The result has shape (n, 24). The seven are red, orange, yellow, green, cyan, blue and magenta. Every combination of
    a hue, a saturation and a value adds the smallest of its memberships to one color. White, gray and black have
    combinations with every hue, so a hue between two trapezoids counts for both.

    Examples
    --------
    >>> np.flatnonzero(fuzzy_colors(np.array([[255, 0, 0]]))[0]).tolist()  # 3, 4, 5: light, pure and dark red
    [4]
    """
    hue, saturation, value = hsv(pixels)
    memberships = (_trapezoids(hue, HUES)[:, :, None, None], _trapezoids(saturation, SATURATIONS)[:, None, :, None])
    rules = np.minimum(np.minimum(*memberships), _trapezoids(value, VALUES)[:, None, None, :])
    colors = np.empty((len(pixels), COLORS))
    colors[:, 0], colors[:, 1] = rules[:, :, 0, 2].sum(1), rules[:, :, 0, 1].sum(1)
    colors[:, 2] = rules[:, :, :, 0].sum((1, 2))
    seven = rules[:, :, 1, 1:].sum(2)
    seven[:, 0] += seven[:, 7]  # both ends of the circle of hues are red
    colors[:, 3:] = (seven[:, :7, None] * _shades(saturation, value)[:, None]).reshape(-1, 21)
    return colors


def hsv(pixels: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Return hue (0 to 359), saturation and value (0 to 255) of RGB pixels, rounded down; gray has hue 0.

    As in LIRE, green is at 119, blue at 239, and the hues just below red start from 359.

    Examples
    --------
    >>> [channel.tolist() for channel in hsv(np.array([[255, 0, 0], [0, 9, 0], [0, 0, 9], [9, 0, 1], [7, 7, 7]]))]
    [[0, 119, 239, 352, 0], [255, 255, 255, 255, 0], [255, 9, 9, 9, 7]]
    """
    r, g, b = np.moveaxis(pixels, -1, 0)
    high = pixels.max(-1)
    spread = high - pixels.min(-1)
    safe = np.maximum(spread, 1)
    from_red = 60 * (g - b) // safe + np.where(g < b, 359, 0)
    hue = np.where(high == r, from_red, np.where(high == g, 119 + 60 * (b - r) // safe, 239 + 60 * (r - g) // safe))
    return np.where(spread == 0, 0, hue), 255 * spread // np.maximum(high, 1), high


def _shades(saturation: Int64s, value: Int64s) -> Floats:
    """Return how much a color is light, pure and dark."""
    dull, vivid = _trapezoids(saturation, SHADES).T
    dim, bright = _trapezoids(value, SHADES).T
    shades = (np.minimum(dull, bright), np.minimum(vivid, bright), np.minimum(dull, dim) + np.minimum(vivid, dim))
    return np.stack(shades, axis=1)


def _trapezoids(x: NDArray[np.generic], shapes: tuple[Corners, ...]) -> Floats:
    """Return the membership of each number in each trapezoid, an array of shape (n, n_shapes)."""
    numbers = np.asarray(x, np.float64)
    out = np.empty((len(numbers), len(shapes)))
    for column, (a, b, c, d) in enumerate(shapes):
        rising = (numbers - a) / (b - a) if b > a else np.where(numbers >= a, 1.0, 0.0)
        falling = (d - numbers) / (d - c) if d > c else np.where(numbers <= d, 1.0, 0.0)
        out[:, column] = np.clip(np.minimum(rising, falling), 0.0, 1.0)
    return out


def _grid(height: int, width: int) -> tuple[int, int, int, int]:
    """Return the numbers of rows and columns of the blocks of `cedd`, and their height and width."""
    smaller = min(height, width)
    if smaller < 40:
        return height // 2, width // 2, 2, 2
    n = 40 if smaller >= 80 else 20
    return n, n, height // n // 2 * 2, width // n // 2 * 2


def _edge_textures(quarters: Int64s) -> Bools:
    """Return, for each of 6 textures, the blocks that have it; quarters are of shape (4, n), row by row."""
    a, b, c, d = quarters
    diagonals = np.sqrt(2) * np.abs([a - d, b - c])
    edges = np.array([2 * np.abs(a - b - c + d), np.abs(a + b - c - d), np.abs(a - b + c - d), *diagonals])
    strongest = edges.max(0)
    flat = strongest < MIN_EDGE
    kinds = ~flat & (edges / np.maximum(strongest, 1) > np.array(EDGE_SHARES)[:, None])
    return np.concatenate([flat[None], kinds])


def _haar_textures(gray: Int64s, sides: tuple[int, ...]) -> Floats:
    """Return the memberships of blocks in the 8 textures of `fcth`, an array of shape (n_blocks, 8)."""
    cells, divisor = _cell_means(gray, sides)
    p, q, r, s = (cells[:, y::2, :, x::2] for y in (0, 1) for x in (0, 1))
    textures = np.ones((p.size // 4, 1))
    steps = (r + s - p - q, p + r - q - s, q + r - p - s)
    for step, corners in zip(steps, COARSENESS, strict=True):
        f = ((np.abs(step) // divisor + 128) % 256 - 128).transpose(0, 2, 1, 3).reshape(-1, 4)  # as a signed byte
        membership = _trapezoids(np.sqrt((f * f).sum(1) / 4), corners)
        textures = np.minimum(membership[:, :, None], textures[:, None, :]).reshape(len(f), -1)
    return textures


def _cell_means(gray: Int64s, sides: tuple[int, ...]) -> tuple[Int64s, int]:
    """Return the mean of each cell, times a common divisor, in shape (rows, 4, columns, 4); and that divisor."""
    divisor = 1
    for axis, side in enumerate(sides):
        edges = np.array([0, side // 4, side // 2, 3 * side // 4, side])
        sizes = np.diff(edges)
        common = lcm(*sizes.tolist())
        starts = np.add.outer(np.arange(0, gray.shape[axis], side), edges[:-1]).ravel()
        weights = np.expand_dims(np.tile(common // sizes, len(starts) // 4), 1 - axis)
        gray = np.add.reduceat(gray, starts, axis) * weights
        divisor *= common
    return gray.reshape(gray.shape[0] // 4, 4, -1, 4), divisor


def _quantized(histogram: Floats, levels: Floats) -> Bytes:
    """Return the number of the nearest level of each relative frequency."""
    shares = histogram / max(histogram.sum(), np.finfo(float).tiny)
    nearest = np.abs(shares[:, :, None] - levels[:, None]).argmin(2)
    return np.asarray(nearest.ravel(), np.uint8)


def _pyramid(image: Image) -> list[Image]:
    """Return the image, its quarters row by row, and its sixteenths column by column; parts may be empty."""
    parts = [image]
    for n in (2, 4):
        height, width = image.shape[0] // n, image.shape[1] // n
        for i, j in product(range(n), repeat=2):
            y, x = (i, j) if n == 2 else (j, i)
            parts.append(image[y * height : (y + 1) * height, x * width : (x + 1) * width])
    return parts


#: Name -> descriptor and distance; "tanimoto" is in `distances`.
COMPOSITE: dict[str, tuple[Describe, str]] = {
    describe.__name__: (describe, "tanimoto") for describe in (cedd, fcth, jcd, cedd_spy, fcth_spy)
}
