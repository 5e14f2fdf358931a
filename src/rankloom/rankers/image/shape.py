"""Shape descriptors: an image with a light silhouette in, a closed sequence of features out, one row for each point.

`contour` has the silhouette and its contour, `alignments` compares the sequences. `SHAPE` maps names to descriptors,
alignments and their penalties. A descriptor does not depend on where the silhouette is, nor, up to rounding, on its
size; its sequence starts elsewhere after a rotation and runs backwards in a mirror image, for which alignments allow.
"""

import numpy as np
from numpy.typing import NDArray

from rankloom._kernels.image import contours as kernels
from rankloom.rankers.image.alignments import N_ANGLES, N_LENGTHS
from rankloom.rankers.image.contour import FRAME, Mask, Points, contour, contour_pixels, scaled, silhouette, whitened
from rankloom.rankers.image.pixels import Describe, Image
from rankloom.ranks.arrays import Bytes, Float32s, Floats, Int64s

N_POINTS = 100  # of contexts and contour features
LENGTH_BASE = 1.5  # of the logarithm of distances
WHITENED_SIDE = 220  # pixels
N_BEAM_POINTS, BEAM_STEP = 200, 5  # points of the contour, and of those every fifth is described
SALIENCE_SIDE, SALIENCE_RADIUS, N_SEGMENTS = 128, 20, 60  # pixels, pixels, runs of the contour
REACHES = (3, 6, 12, 25)  # points to either side


def idsc(image: Image) -> Bytes:
    r"""Inner-distance shape context: where the other points of the contour are, along paths inside the silhouette.

    Of 100 points at equal distances along the contour, two see each other if the line between them is inside. The inner
    distance d of two points is the length of the shortest path over points that see each other, and the inner angle
    the direction in which it leaves, relative to the tangent. For each point, the 99 others are counted in 12 angles
    and 8 distances, with the mean distance :math:`\bar d`:

    .. math:: \lfloor \log_{1.5}(1 + d\,(1.5^{6} - 1) / \bar d) \rfloor, \text{ cut to } 1 \dots 8

    Compared by `contexts`: chi-square and a penalty of 0.6, twice the article's, which halves chi-square. Bins, lines
    (pixels at most 2 steps apart always see each other) and tangents (from the point before to the point after) follow
    the authors' published program. Unlike there, all 100 start points are tried instead of 8, the contour is sampled
    from the point farthest from the mean, and holes are filled.

    Returns
    -------
    uint8 array of shape (100, 96)
        Counts, distances times angles; each row sums to 99.

    References
    ----------
    Ling, Jacobs: Shape classification using the inner-distance (2007), doi:10.1109/TPAMI.2007.41

    Examples
    --------
    >>> disk = np.hypot(*np.mgrid[-20:21, -20:21]) < 18
    >>> features = idsc(np.repeat(255 * disk[..., None], 3, axis=2).astype(np.uint8))
    >>> features.shape, np.unique(features.sum(axis=1)).tolist()
    ((100, 96), [99])
    """
    return _contexts(silhouette(image), inner=True)


def shape_context(image: Image) -> Bytes:
    """Shape context: `idsc` with straight lines, through background as well.

    The article compares 100 points of a contour by an assignment and a thin-plate spline; here the order along the
    contour is kept instead, with the bins and the alignment of `idsc`, whose shape the result has, too.

    References
    ----------
    Belongie, Malik, Puzicha: Shape matching and object recognition using shape contexts (2002), doi:10.1109/34.993558

    Examples
    --------
    >>> square = np.full((9, 9, 3), 255, np.uint8)
    >>> np.array_equal(shape_context(square), idsc(square))  # all lines are inside
    True
    """
    return _contexts(silhouette(image), inner=False)


def asc(image: Image) -> Bytes:
    """Aspect shape context, as we read it: `shape_context` and `idsc`, whichever fits a pair of shapes better.

    The article takes distances on a surface whose steps between foreground and background have a weight: without weight
    they are Euclidean, with infinite weight inner distances; the best weight is chosen for each comparison. We know its
    abstract only. Here the choice is between these two ends (alignment `contexts_min`): on MPEG-7, a weight in between
    changed no figure.

    Returns
    -------
    uint8 array of shape (100, 192)
        `shape_context`, then `idsc`.

    References
    ----------
    Ling, Yang, Latecki: Balancing deformability and discriminability for shape matching (2010),
    doi:10.1007/978-3-642-15558-1_30
    """
    mask = silhouette(image)
    return np.hstack([_contexts(mask, inner=False), _contexts(mask, inner=True)])


def air_affine(image: Image) -> Bytes:
    r"""Stand-in for the articulation-invariant representation: `idsc` of the shape and of the whitened shape.

    The article cuts a shape into nearly convex parts, maps each to a square to undo tilts, and compares inner distances
    of the parts put together again. The steps are not published in a form to reproduce. Here the whole silhouette is
    normalized, :math:`p \mapsto \Sigma^{-1/2} (p - \mu)` with its covariance, and the distances of both forms are
    added (alignment `contexts_sum`).

    Returns
    -------
    uint8 array of shape (100, 192)
        `idsc`, then that of the whitened shape.

    References
    ----------
    After Gopalan, Turaga, Chellappa: Articulation-invariant representation of non-planar shapes (2010),
    doi:10.1007/978-3-642-15558-1_21
    """
    mask = silhouette(image)
    return np.hstack([_contexts(mask, inner=True), _contexts(whitened(mask, WHITENED_SIDE), inner=True)])


def bas(image: Image) -> NDArray[np.int16]:
    r"""Beam angle statistics: mean, spread and skew of the angles at which a point sees the points beside it.

    At point i of n = 200, the angle :math:`a_k`, k = 1 to n/2 - 1, is that inside the shape between the beams to
    points i + k and i - k, in degrees; from k = 4 on it continues the one before instead of jumping by 360. With their
    mean m, each point has

    .. math:: m,\; \Bigl(\frac{\sum_k (a_k - m)^2}{n/2 - 2}\Bigr)^{1/2},\;
        \Bigl(\frac{\sum_k |a_k - m|^3}{n/2 - 2}\Bigr)^{1/3}

    cut to integers; every fifth point is kept. Compared by `ocs`, the optimal correspondence of sequences, with a
    penalty of 300, at most 4 points apart. Angles and constants follow two published programs (MO445 of Unicamp, and
    BIAL), which use all pixels of a contour instead of 200 points, and divide distances by their number, which changes
    no list.

    Returns
    -------
    int16 array of shape (40, 3)

    References
    ----------
    Arica, Yarman Vural: BAS: a perceptual shape descriptor based on the beam angle statistics (2003),
    doi:10.1016/S0167-8655(03)00002-3

    Examples
    --------
    >>> bas(np.full((101, 101, 3), 255, np.uint8))[0].tolist()  # a corner: 90 degrees to the next ones, then less
    [65, 31, 34]
    """
    points = contour(silhouette(image), N_BEAM_POINTS)
    angles = np.degrees(np.stack([_inner_angles(points, k) for k in range(1, N_BEAM_POINTS // 2)], axis=1))
    angles = angles[::BEAM_STEP]
    angles[:, 2:] = np.unwrap(angles[:, 2:], period=360, axis=1)
    mean = angles.mean(axis=1, keepdims=True)
    off = np.abs(angles - mean)
    moments = [(off**power).sum(axis=1) / (angles.shape[1] - 1) for power in (2, 3)]
    return np.stack([mean[:, 0], np.sqrt(moments[0]), np.cbrt(moments[1])], axis=1).astype(np.int16)


def ss(image: Image) -> Float32s:
    r"""Segment saliences: which parts of the contour have more area near them outside than inside.

    The silhouette is scaled to a longest side of 128. Each pixel within 20 pixels of the contour belongs to its nearest
    contour pixel. For each of 60 runs of the contour,

    .. math:: 100\, (O_s / \sum O - I_s / \sum I)

    with the numbers of outer and inner pixels that belong to it: positive where the contour is convex.
    Compared by `ocs` with a penalty of 20, at most 4 points apart. That penalty and the size make the ranker as weak as
    the article's and the paper's; ``ss(penalty=1)`` is far better.

    Returns
    -------
    float32 array of shape (60, 1)

    References
    ----------
    Torres, Falcão: Contour salience descriptors for effective image retrieval and analysis (2007),
    doi:10.1016/j.imavis.2005.12.010

    Examples
    --------
    >>> saliences = ss(np.full((30, 30, 3), 255, np.uint8))
    >>> bool(saliences[0, 0] > saliences[7, 0])  # the first point is a corner, 15 are a side
    True
    """
    from scipy import ndimage

    mask = np.pad(scaled(silhouette(image), SALIENCE_SIDE), SALIENCE_RADIUS - FRAME)
    pixels = contour_pixels(mask)
    run = np.full(mask.shape, -1)
    run[tuple(pixels[::-1].T)] = np.arange(len(pixels))[::-1] * N_SEGMENTS // len(pixels)  # the first visit counts
    away, nearest = ndimage.distance_transform_edt(run < 0, return_indices=True)
    near = (away > 0) & (away <= SALIENCE_RADIUS)
    shares = [_shares(run[tuple(nearest)][near & side]) for side in (~mask, mask)]
    return (100 * (shares[0] - shares[1])).astype(np.float32)[:, None]


def cfd_like(image: Image) -> Float32s:
    r"""Stand-in for the contour features descriptor: distance to the centroid, angles and chords of each point.

    Of 100 points, each has twice its distance to the mean of the points, divided by the largest, and for reaches of
    k = 3, 6, 12 and 25 points the angle inside the shape between the beams to points i + k and i - k, divided by 2 pi,
    and the distance of these two, divided by that along the contour. Compared by `features`: l1 and a penalty of 0.7.

    The article also compares sequences of several features of each point; which ones we do not know. These are ours.

    Returns
    -------
    float32 array of shape (100, 9)

    References
    ----------
    After Pedronette, Torres: Shape retrieval using contour features and distance optimization (2010), VISAPP

    Examples
    --------
    >>> print(cfd_like(np.full((26, 26, 3), 255, np.uint8))[0].round(2))  # at a corner
    [2.   0.25 0.71 0.25 0.71 0.25 0.71 0.25 0.71]
    """
    points = contour(silhouette(image), N_POINTS)
    away = np.hypot(*(points - points.mean(axis=0)).T)
    step = np.hypot(*(points - np.roll(points, 1, axis=0)).T).mean()
    columns = [2 * away / max(away.max(), 1e-9)]
    for k in REACHES:
        chord = np.hypot(*(np.roll(points, -k, axis=0) - np.roll(points, k, axis=0)).T)
        columns += [_inner_angles(points, k) / (2 * np.pi), chord / max(2 * k * step, 1e-9)]
    return np.stack(columns, axis=1).astype(np.float32)


def _contexts(mask: Mask, *, inner: bool) -> Bytes:
    """Return the histograms of `idsc`, or those of `shape_context`."""
    points = contour(mask, N_POINTS)
    lengths, first = np.empty((N_POINTS, N_POINTS)), np.empty((N_POINTS, N_POINTS), np.int64)
    counts = np.zeros((N_POINTS, N_LENGTHS * N_ANGLES), np.uint8)
    kernels.visible_lengths(mask if inner else np.ones_like(mask), points, lengths)
    kernels.shortest_paths(lengths, first)
    kernels.contexts(points, lengths, first, N_LENGTHS, N_ANGLES, LENGTH_BASE, counts)
    return counts


def _inner_angles(points: Points, k: int) -> Floats:
    """Return the angle inside the shape between the beams to the k-th points after and before each, 0 to 2 pi."""
    ahead, back = (np.arctan2(*(np.roll(points, shift, axis=0) - points).T) for shift in (-k, k))
    angles: Floats = (back - ahead) % (2 * np.pi)
    return angles


def _shares(runs: Int64s) -> Floats:
    """Return the fraction of pixels that belong to each run; 0 if there are none."""
    return np.bincount(runs, minlength=N_SEGMENTS) / max(len(runs), 1)


#: Name -> descriptor, alignment and its penalty.
SHAPE: dict[str, tuple[Describe, str, float]] = {
    "ss": (ss, "ocs", 20.0),
    "bas": (bas, "ocs", 300.0),
    "idsc": (idsc, "contexts", 0.6),
    "shape_context": (shape_context, "contexts", 0.6),
    "asc": (asc, "contexts_min", 0.6),
    "cfd_like": (cfd_like, "features", 0.7),
    "air_affine": (air_affine, "contexts_sum", 0.6),
}
