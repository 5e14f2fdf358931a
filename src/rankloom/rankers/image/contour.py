"""Silhouettes and their contours: what all shape descriptors start from.

A silhouette is a boolean mask with one connected component, without holes, and a background frame of `FRAME` pixels.
A contour is its outer boundary: a closed sequence of points (down, right), clockwise, that starts at the point farthest
from their mean. So a rotated or mirrored silhouette has the same contour, up to rounding and the order of the points.
"""

import numpy as np

from rankloom._kernels import contiguous
from rankloom._kernels.image.contours import trace
from rankloom.datasets.images import ImageError
from rankloom.rankers.image.pixels import Image, luma
from rankloom.ranks.arrays import Bools, Floats, Int64s

Mask = Bools
Points = Floats

MIN_FOREGROUND = 128  # gray level
FRAME = 2  # pixels of background around a silhouette


def silhouette(image: Image) -> Mask:
    """Return the largest foreground component of an image, in a frame: pixels lighter than gray level 127.

    Pixels are connected to their 8 neighbors; of equally large components the first counts. Its holes are filled.
    Raise ImageError if no pixel is that light.

    Examples
    --------
    >>> image = np.zeros((3, 4, 3), np.uint8)
    >>> image[0, 0] = image[1:, 2:] = 255
    >>> silhouette(image).astype(int)
    array([[0, 0, 0, 0, 0, 0],
           [0, 0, 0, 0, 0, 0],
           [0, 0, 1, 1, 0, 0],
           [0, 0, 1, 1, 0, 0],
           [0, 0, 0, 0, 0, 0],
           [0, 0, 0, 0, 0, 0]])
    """
    mask = luma(image) >= MIN_FOREGROUND
    if not mask.any():
        raise ImageError(
            f"The image has no foreground: no pixel has a gray level of {MIN_FOREGROUND} or more. Shape rankers need "
            "light silhouettes on a dark background."
        )
    return largest_component(mask)


def largest_component(mask: Mask) -> Mask:
    """Return the largest 8-connected component of a mask that is not empty: cropped to it, filled, in a frame."""
    from scipy import ndimage

    labels, _ = ndimage.label(mask, np.ones((3, 3)))
    largest = int(np.bincount(labels.ravel())[1:].argmax()) + 1
    rows, columns = ndimage.find_objects(labels)[largest - 1]
    return np.pad(ndimage.binary_fill_holes(labels[rows, columns] == largest), FRAME)


def contour_pixels(mask: Mask) -> Int64s:
    """Return the boundary pixels of a silhouette in order; a pixel of a thin part occurs once for each side.

    Examples
    --------
    >>> contour_pixels(np.pad(np.ones((2, 2), bool), 2)).tolist()
    [[2, 2], [2, 3], [3, 3], [3, 2]]
    """
    row, column = np.argwhere(mask)[0].tolist()
    edges = np.empty((4 * np.count_nonzero(mask) + 1, 2), np.int64)
    edges = edges[: trace(contiguous(mask), row, column, edges)]
    last = (edges != np.roll(edges, -1, axis=0)).any(axis=1)  # of the edges of a pixel
    pixels = edges[last] if last.any() else edges[:1]
    offsets = len(pixels) * pixels - pixels.sum(axis=0)  # from the mean, in integers
    return np.roll(pixels, -int((offsets**2).sum(axis=1).argmax()), axis=0)


def contour(mask: Mask, n_points: int) -> Points:
    """Return points at equal distances along the contour of a silhouette, through the centers of its pixels.

    Examples
    --------
    >>> contour(np.pad(np.ones((3, 2), bool), 2), 3).tolist()
    [[2.0, 2.0], [3.0, 3.0], [4.0, 2.0]]
    """
    pixels = contour_pixels(mask).astype(np.float64)
    closed = np.vstack([pixels, pixels[:1]])
    lengths = np.hypot(*np.diff(closed, axis=0).T)
    along = np.concatenate([[0.0], np.cumsum(lengths)])
    at = np.arange(n_points) * (along[-1] / n_points)
    return np.stack([np.interp(at, along, axis) for axis in closed.T], axis=1)


def scaled(mask: Mask, longest_side: int) -> Mask:
    """Return a silhouette scaled to a longest side, frame apart, each pixel that of the nearest center.

    Examples
    --------
    >>> scaled(np.pad(np.ones((2, 4), bool), 2), 8).shape
    (8, 12)
    """
    inner = mask[FRAME:-FRAME, FRAME:-FRAME]
    longest = max(inner.shape)
    sides = [max(1, (2 * side * longest_side + longest) // (2 * longest)) for side in inner.shape]
    rows, columns = ((2 * np.arange(new) + 1) * old // (2 * new) for new, old in zip(sides, inner.shape, strict=True))
    return largest_component(inner[np.ix_(rows, columns)])


def whitened(mask: Mask, longest_side: int) -> Mask:
    r"""Return a silhouette under the affine map that makes its second moments equal, about `longest_side` large.

    .. math:: p \mapsto \Sigma^{-1/2} (p - \mu)

    with the mean and covariance of the area of the foreground: shapes that differ by an affine map become rotations of
    each other.

    Examples
    --------
    >>> flat = np.pad(np.ones((30, 10), bool), 2)
    >>> np.round(whitened(flat, 60).shape, -1).tolist()
    [60, 60]
    """
    from scipy import ndimage

    pixels = np.argwhere(mask)
    mean = pixels.mean(axis=0)
    covariance = (pixels - mean).T @ (pixels - mean) / len(pixels) + np.eye(2) / 12  # a pixel is a square
    area = np.sqrt(np.linalg.det(covariance))
    root = (covariance + area * np.eye(2)) / np.sqrt(np.trace(covariance) + 2 * area)  # its square root
    corners = [contour_pixels(mask) + corner for corner in ((-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5))]
    around = (np.concatenate(corners) - mean) @ np.linalg.inv(root)
    pixel = np.ptp(around, axis=0).max() / longest_side
    size = np.ceil(2 * np.abs(around).max(axis=0) / pixel).astype(int) + 2 * FRAME + 1
    matrix = root * pixel
    offset = mean - matrix @ ((size - 1) / 2)
    image = ndimage.affine_transform(mask.astype(np.float64), matrix, offset, tuple(size), order=1)
    return largest_component(image > 0.5)
