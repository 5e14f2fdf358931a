"""Texture descriptors: an RGB image in, a vector out, of the same length for all images.

An image is a uint8 array of shape (height, width, 3), at least 1 x 1. All but `ccom` convert it to gray (`luma`).
Only pixels whose whole neighborhood is inside the image count. Histograms sum to 1; an image smaller than a
neighborhood has none, and its histogram is all zeros. `TEXTURE` maps names to descriptors and their distances.

Where an article leaves details open, they follow the program of a comparative study, as in `color`.
Figures in docstrings are for the 1776 blocks of the Brodatz album, each a query.
"""

from functools import lru_cache

import numpy as np

from rankloom.rankers.image.pixels import Describe, Image, histogram, luma, pairs, rgb_bins
from rankloom.ranks.arrays import Float32s, Floats, Int64s

CHANNELS = 6  # levels of each channel for co-occurrences: 216 colors
ACTIVITY_EDGES = (25, 50, 75)
SCALES, ORIENTATIONS = 5, 6
#: Upper edges of the bins of `qcch`; the last bin is open
CHANGE_EDGES = (*range(1, 16), *np.arange(15.5, 36.0, 2.0), *np.arange(40.5, 86.0, 5.0), 95.5, 105.5, 115.5)

#: The four directions through a pixel, as (down, right)
AXES = ((1, 1), (0, 1), (1, -1), (1, 0))
#: The 8 neighbors in order around a pixel
AROUND = ((0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1))


def lbp(image: Image) -> Float32s:
    r"""Local binary patterns, uniform and rotation-invariant: :math:`LBP_{8,1}^{riu2}`. Distance: l1.

    Of 8 points on a circle of radius 1, those at least as bright as the center are 1. A pattern with at most two
    transitions around the circle is its number of ones, 0 to 8; all others are 9. Points between pixels are
    interpolated from differences to the center, so that flat neighborhoods stay exactly flat.

    The article compares by log-likelihood; l1 is the common choice, and close (NDCG@10 on Brodatz: 0.787, 0.804).
    `TEXTURE` also has "lbp_match", the same histograms with the match distance, 0.675: the program of the comparative
    study (see the module) compares cumulative histograms.

    Returns
    -------
    float32 array of shape (10,)

    References
    ----------
    Ojala, Pietikäinen, Mäenpää: Multiresolution gray-scale and rotation invariant texture classification with local
    binary patterns (2002), Eq. (11), doi:10.1109/TPAMI.2002.1017623

    Examples
    --------
    >>> lbp(np.zeros((3, 3, 3), np.uint8))[8:].tolist()
    [1.0, 0.0]
    """
    gray = luma(image)
    center = _neighbor(gray, (0, 0))
    steps = [_neighbor(gray, shift) - center for shift in AROUND]
    # On the diagonals a point is t = 1/sqrt(2) down and right: (1-t) t (a + b) + t^2 c, here divided by t^2.
    ones = [
        (step if k % 2 == 0 else step + (np.sqrt(2) - 1) * (steps[k - 1] + steps[(k + 1) % 8])) >= 0
        for k, step in enumerate(steps)
    ]
    changes = np.sum([ones[k] != ones[k - 1] for k in range(8)], axis=0)
    return histogram(np.where(changes <= 2, np.sum(ones, axis=0), 9), 10)


def ccom(image: Image) -> Float32s:
    """Color co-occurrence matrix: the relative frequency of each pair of colors in adjacent pixels. Distance: l1.

    216 colors (RGB, 6 x 6 x 6), pixels at city-block distance 1. The matrix is symmetric, and the vector is its
    upper half; a pair of two colors counts both orders. Colors and distance follow the program of the comparative study
    (see the module); that program also drops elements up to 0.002 and over 0.2, which we omit because of Brodatz:
    NDCG@10 is 0.714 without and 0.673 with it (4 levels per channel: 0.673; 8 levels: 0.735).

    Returns
    -------
    float32 array of shape (23436,)
        Mostly 0.

    References
    ----------
    Kovalev, Volmer: Color co-occurrence descriptors for querying-by-example (1998), doi:10.1109/MULMM.1998.722972

    Examples
    --------
    >>> features = ccom(np.array([[[0, 0, 0], [0, 0, 0], [0, 0, 255]]], np.uint8))
    >>> features[[0, 5]].tolist()  # black with black, black with blue
    [0.5, 0.5]
    """
    colors = rgb_bins(image, CHANNELS)
    size = CHANNELS**3
    sides = list(pairs(colors, [(0, 1), (1, 0)]))
    low = np.concatenate([np.minimum(a, b).ravel() for a, b in sides])
    high = np.concatenate([np.maximum(a, b).ravel() for a, b in sides])
    return histogram(low * size - low * (low + 1) // 2 + high, size * (size + 1) // 2)


def las(image: Image) -> Float32s:
    r"""Local activity spectrum: a joint histogram of the activity in four directions. Distance: l1.

    .. math:: g = |f_{-} - f| + |f - f_{+}|

    for the neighbors of a pixel on each of the two diagonals, the row and the column; each g is quantized at 25, 50 and
    75 into 4 levels. The thresholds follow the program of the comparative study (see the module); that program also
    counts pixels at the image edge, padded with black, which changes NDCG@10 on Brodatz from 0.847 to 0.850.

    Returns
    -------
    float32 array of shape (256,)

    References
    ----------
    Tao, Dickinson: Texture recognition and image retrieval using gradient indexing (2000), Journal of Visual
    Communication and Image Representation 11(3), 327-342

    Examples
    --------
    >>> las(np.full((3, 3, 3), 9, np.uint8))[:2].tolist()
    [1.0, 0.0]
    """
    gray = luma(image)
    center = _neighbor(gray, (0, 0))
    spectrum = np.zeros_like(center)
    for y, x in AXES:
        activity = np.abs(_neighbor(gray, (y, x)) - center) + np.abs(_neighbor(gray, (-y, -x)) - center)
        spectrum = spectrum * 4 + np.digitize(activity, ACTIVITY_EDGES)
    return histogram(spectrum, 4**4)


def htd(image: Image) -> Float32s:
    r"""Homogeneous texture (MPEG-7): energies of 30 channels of the spectrum and their deviations. Distance: l1.

    A channel is a Gaussian in polar frequencies, around :math:`\omega_s = 0.75 \cdot 2^{-s}` (1 is the highest
    frequency along an axis), s = 0 to 4, and :math:`\theta_r = 30° r`, r = 0 to 5, at half height where it
    meets the next. With F the Fourier transform of n pixels, over the frequency grid:

    .. math:: e = \log_{10}(1 + \mathrm{mean}\, G^2 |F|^2 / n), \quad d = \log_{10}(1 + \mathrm{std}\, G^2 |F|^2 / n)

    The standard sums over a polar grid; means over the Cartesian grid make images of different sizes comparable. Its
    two other values, the mean and deviation of the gray levels, are omitted (the first as in its intensity-invariant
    matching), and so is the division by deviations over a collection.

    Returns
    -------
    float32 array of shape (60,)
        30 energies by scale and orientation, then 30 deviations; 0 for a uniform image.

    References
    ----------
    Manjunath, Ohm, Vasudevan, Yamada: Color and texture descriptors (2001), doi:10.1109/76.927424;
    Wu, Manjunath, Newsam, Shin: A texture descriptor for browsing and similarity retrieval (2000),
    doi:10.1016/S0923-5965(00)00016-3

    Examples
    --------
    >>> stripes = np.zeros((8, 8, 3), np.uint8)
    >>> stripes[:, ::2] = 255
    >>> htd(stripes)[:30].reshape(5, 6).argmax().tolist()  # finest scale, horizontal
    0
    """
    gray = luma(image).astype(np.float64)
    # The mean belongs to frequency 0 and would leave rounding errors elsewhere.
    power = np.abs(np.fft.fft2(gray - gray.mean())).ravel() ** 2 / gray.size
    radial, angular = _channels(*gray.shape)
    filtered = radial * power
    # A channel is a product, so its sums over the grid are matrix products; einsum gives the same bits on any machine.
    mean = np.einsum("sn,rn->sr", filtered, angular).ravel() / gray.size
    square = np.einsum("sn,rn->sr", filtered**2, angular**2).ravel() / gray.size
    deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
    features: Float32s = np.log10(1 + np.concatenate([mean, deviation])).astype(np.float32)
    return features


def qcch(image: Image) -> Float32s:
    """Quantized compound change histogram: how much local means change across a pixel, in 40 bins. Distance: l1.

    The change in a direction is the difference between the means of the 3 x 3 pixels one step to either side; the
    mean over four directions (row, column, diagonals) is quantized into bins of 1 to 10 gray levels (`CHANGE_EDGES`);
    the last bin is open. Steps and bins follow the program of the comparative study (see the module).

    References
    ----------
    Huang, Liu: An orientation independent texture descriptor for image retrieval (2007), International Conference on
    Communications, Circuits and Systems, 772-776

    Examples
    --------
    >>> qcch(np.full((5, 5, 3), 9, np.uint8))[:2].tolist()
    [1.0, 0.0]
    """
    gray = luma(image)
    rows = gray[:-2] + gray[1:-1] + gray[2:]
    sums = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]  # of 3 x 3
    changes = [np.abs(_neighbor(sums, (y, x)) - _neighbor(sums, (-y, -x))) for y, x in AXES]
    edges = np.array(CHANGE_EDGES) * (9 * len(AXES))  # integers, as the sums are: no rounding
    return histogram(np.digitize(np.sum(changes, axis=0), edges, right=True), len(CHANGE_EDGES) + 1)


def _neighbor(pixels: Int64s, shift: tuple[int, int]) -> Int64s:
    """Return the shifted neighbor of each pixel that has all 8 neighbors; empty below 3 x 3."""
    height, width = pixels.shape
    y, x = shift
    return pixels[1 + y : max(height - 1, 1) + y, 1 + x : max(width - 1, 1) + x]


@lru_cache(maxsize=4)
def _channels(height: int, width: int) -> tuple[Floats, Floats]:
    """Return the squared filters of `htd` on the grid of `fft2`: the radial and the angular factors."""
    y, x = np.meshgrid(2 * np.fft.fftfreq(height), 2 * np.fft.fftfreq(width), indexing="ij")
    octave = 0.5 ** np.arange(SCALES)[:, None]
    off_radius = (np.hypot(y, x).ravel() - 0.75 * octave) / (0.25 * octave)
    step = np.pi / ORIENTATIONS
    off_angle = (np.arctan2(y, x).ravel() - step * np.arange(ORIENTATIONS)[:, None] + np.pi / 2) % np.pi - np.pi / 2
    radial, angular = 0.25 ** (off_radius**2), 0.25 ** ((off_angle / (step / 2)) ** 2)  # 1/2 squared where they meet
    for table in (radial, angular):
        table.setflags(write=False)  # cached, so shared
    return radial, angular


#: Name -> descriptor and distance: "l1" is a metric of `Ranks.from_vectors`, "match" is in `distances`.
TEXTURE: dict[str, tuple[Describe, str]] = {
    **{describe.__name__: (describe, "l1") for describe in (lbp, ccom, las, htd, qcch)},
    "lbp_match": (lbp, "match"),
}
