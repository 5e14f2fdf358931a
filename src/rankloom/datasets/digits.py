"""Scikit-learn's 1797 handwritten digits as five feature matrices: small, labeled, no download."""

import numpy as np

from rankloom.datasets.collection import Collection, register_collection
from rankloom.errors import InputError, needs_extra, whole_number
from rankloom.ranks import Ids
from rankloom.ranks.arrays import Array, Bytes, Floats


@register_collection("digits")
def digits(first: int | None = None) -> Collection:
    """Return the 8 x 8 digits, or the first few.

    Parts: ``pixels``, ``directions``, ``sums``, ``blocks`` and ``edges`` for rankers, ``images`` to look at.

    References
    ----------
    Alpaydin, Kaynak (1998), Optical recognition of handwritten digits, UCI; the copy inside scikit-learn.
    """
    with needs_extra("The collection digits", "scikit-learn", "demo"):
        from sklearn.datasets import load_digits
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 8, 8)
    if first is not None and whole_number("first", first, 2) > len(images):
        raise InputError(f"There are {len(images)} digits; got first={first}.")
    images, labels = images[:first], labels[:first]
    n = len(images)
    parts: dict[str, Array] = {
        "images": rgb_images(images),
        "pixels": images.reshape(n, -1),
        "directions": directions(images),
        "sums": np.hstack([images.sum(axis=1), images.sum(axis=2)]),
        "blocks": images.reshape(n, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(n, -1),
        "edges": np.abs(np.diff(images, axis=2)).sum(axis=1),
    }
    return Collection(
        "digits",
        Ids(f"digit-{number:04d}" for number in range(n)),
        parts,
        labels=tuple(str(label) for label in labels),
        about=f"{n} handwritten digits of 8 x 8 pixels, in 10 classes (scikit-learn)",
    )


def rgb_images(images: Floats) -> Bytes:
    """Return the digits as RGB images, dark on white, in 4 x 4 blocks of pixels."""
    gray = (255 - images * (255 / 16)).round().astype(np.uint8)
    return np.asarray(np.repeat(gray.repeat(4, axis=1).repeat(4, axis=2)[..., None], 3, axis=3))


def directions(images: Floats) -> Floats:
    """Return the gradient magnitude in each of 8 directions, in 4 x 4 cells."""
    down, across = np.gradient(images, axis=(1, 2))
    direction = ((np.arctan2(down, across) + np.pi) / (2 * np.pi) * 8).astype(int) % 8
    strength = np.where(direction[..., None] == np.arange(8), np.hypot(down, across)[..., None], 0.0)
    cells = strength.reshape(len(images), 4, 2, 4, 2, 8).sum(axis=(2, 4))
    return np.asarray(cells.reshape(len(images), -1), np.float64)
