"""A small collection of images and texts for the tests of the page."""

from io import BytesIO

import numpy as np

from rankloom.datasets import Collection
from rankloom.ranks import Ids

FRUIT = ("apple", "pear", "plum", "fig", "lemon", "cherry")
COLORS = {"red": (220, 30, 30), "green": (30, 180, 40), "blue": (30, 60, 210)}


def image(color, size=24, shade=0):
    """Return a square of a color with a darker corner, so that it has two colors."""
    square = np.full((size, size, 3), COLORS[color], np.int64) + shade
    square[: size // 2, : size // 3] //= 2
    return np.clip(square, 0, 255).astype(np.uint8)


def encoded(image, kind="PNG"):
    """Return an image as the bytes of a file."""
    from PIL import Image

    out = BytesIO()
    Image.fromarray(image).save(out, kind)
    return out.getvalue()


def baskets():
    """Return 18 items in 3 classes, each with an image of its color and a text."""
    parts = {"images": [], "texts": []}
    ids, labels = [], []
    for color in COLORS:
        for number, fruit in enumerate(FRUIT):
            ids.append(f"{color}/{fruit} <{number}>.png")
            labels.append(color)
            parts["images"].append(image(color, shade=3 * number))
            parts["texts"].append(f"A {color} basket with {fruit}s & more {fruit} from the {color} garden.")
    return Collection("baskets", Ids(ids), parts, labels=tuple(labels), about="18 baskets in 3 classes")
