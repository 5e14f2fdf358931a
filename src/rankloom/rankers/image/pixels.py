"""Pixel operations that descriptors share: checked RGB, gray levels, quantized colors, shifted neighbors.

All arithmetic is in integers, so that equal pixels fall into equal bins on any machine.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError
from rankloom.ranks.arrays import Array, Bytes, Float32s, Int64s

Image = Bytes
#: An image -> a vector, of the same length for all images.
Describe = Callable[[Image], Array]
Shift = tuple[int, int]
Number = TypeVar("Number", bound=np.generic)


def rgb(image: Image) -> Image:
    """Return the image. Raise InputError if it is not uint8 of shape (height, width, 3), at least 1 x 1.

    Examples
    --------
    >>> rgb(np.zeros((2, 2), np.uint8))
    Traceback (most recent call last):
    rankloom.errors.InputError: An image must have shape (height, width, 3); got (2, 2). Repeat gray three times.
    """
    pixels = np.asarray(image)
    if pixels.ndim != 3 or pixels.shape[2] != 3:
        advice = "Repeat gray three times." if pixels.ndim == 2 else "Convert it to RGB."
        raise InputError(f"An image must have shape (height, width, 3); got {pixels.shape}. {advice}")
    if pixels.dtype != np.uint8:
        raise InputError(f"An image must be uint8, 0 to 255; got {pixels.dtype}.")
    if not pixels.size:
        raise InputError(f"An image must have at least one pixel; got shape {pixels.shape}.")
    return pixels


def luma(image: Image) -> Int64s:
    r"""Return gray levels 0 to 255, rounded: :math:`0.299 R + 0.587 G + 0.114 B` (ITU-R BT.601).

    Examples
    --------
    >>> luma(np.array([[[255, 0, 0], [7, 7, 7]]], np.uint8))
    array([[76,  7]])
    """
    gray: Int64s = (rgb(image).astype(np.int64) @ np.array([299, 587, 114]) + 500) // 1000
    return gray


def rgb_bins(image: Image, levels: int) -> Int64s:
    """Return color numbers, each channel quantized into equal levels: ``(r * levels + g) * levels + b``.

    Examples
    --------
    >>> rgb_bins(np.array([[[0, 64, 255], [63, 63, 63]]], np.uint8), 4)
    array([[7, 0]])
    """
    level = np.arange(256, dtype=np.int64) * levels // 256
    r, g, b = np.moveaxis(level[rgb(image)], 2, 0)
    numbers: Int64s = (r * levels + g) * levels + b
    return numbers


def hsv_bins(image: Image, hues: int, saturations: int, values: int) -> Int64s:
    """Return color numbers in HSV, each channel quantized into equal parts: ``(h * saturations + s) * values + v``.

    Gray has hue 0 (red).

    Examples
    --------
    >>> hsv_bins(np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [9, 9, 9]]], np.uint8), 16, 4, 4)
    array([[ 15,  95, 175,   0]])
    """
    r, g, b = np.moveaxis(rgb(image).astype(np.int64), 2, 0)
    high = np.maximum(np.maximum(r, g), b)
    chroma = high - np.minimum(np.minimum(r, g), b)
    # Hue in sixths of the circle, times chroma: integers until it is quantized.
    sixths = np.where(high == r, g - b, np.where(high == g, b - r + 2 * chroma, r - g + 4 * chroma))
    circle = np.maximum(6 * chroma, 1)
    h = hues * (sixths % circle) // circle
    s = np.minimum(saturations * chroma // np.maximum(high, 1), saturations - 1)
    numbers: Int64s = (h * saturations + s) * values + values * high // 256
    return numbers


def ring(distance: int) -> list[Shift]:
    """Return shifts (down, right) to the pixels at a chessboard distance, one of each opposite pair.

    Examples
    --------
    >>> ring(1)
    [(0, 1), (1, -1), (1, 0), (1, 1)]
    """
    span = range(-distance, distance + 1)
    return [(y, x) for y in range(distance + 1) for x in span if max(y, abs(x)) == distance and (y, x) > (0, 0)]


def pairs(pixels: NDArray[Number], shifts: list[Shift]) -> Iterator[tuple[NDArray[Number], NDArray[Number]]]:
    """Yield, for each shift (down >= 0, right), two views of equal shape: pixels and their shifted neighbors.

    Examples
    --------
    >>> [(a.tolist(), b.tolist()) for a, b in pairs(np.array([[1, 2], [3, 4]]), [(1, -1)])]
    [([[2]], [[3]])]
    """
    height, width = pixels.shape
    for y, x in shifts:
        rows, columns = max(height - y, 0), max(width - abs(x), 0)
        left = max(-x, 0)
        right = max(x, 0)
        yield pixels[:rows, left : left + columns], pixels[y : y + rows, right : right + columns]


def histogram(bins: Int64s, size: int) -> Float32s:
    """Return the relative frequency of each bin number; zeros if there are none.

    Examples
    --------
    >>> histogram(np.array([[0, 2], [2, 2]]), 4)
    array([0.25, 0.  , 0.75, 0.  ], dtype=float32)
    """
    counts = np.bincount(bins.ravel(), minlength=size)
    return (counts / max(bins.size, 1)).astype(np.float32)
