"""A small collection of pictures with texts, for the tests of the page."""

from io import BytesIO

import numpy as np

from rankloom.datasets import Collection
from rankloom.ranks import Ids

FRUIT = ("apple", "pear", "plum", "fig", "lemon", "cherry")
COLORS = {"red": (220, 30, 30), "green": (30, 180, 40), "blue": (30, 60, 210)}


def picture(color, size=24, shade=0):
    """Return a square of a color with a darker corner, so that there is more than one color to see."""
    image = np.full((size, size, 3), COLORS[color], np.int64) + shade
    image[: size // 2, : size // 3] //= 2
    return np.clip(image, 0, 255).astype(np.uint8)


def encoded(image, kind="PNG"):
    """Return the bytes of a picture's file."""
    from PIL import Image

    out = BytesIO()
    Image.fromarray(image).save(out, kind)
    return out.getvalue()


def baskets():
    """Return 18 items in 3 classes, each with a picture of its color and a text."""
    parts = {"images": [], "texts": []}
    names, labels = [], []
    for color in COLORS:
        for number, fruit in enumerate(FRUIT):
            names.append(f"{color}/{fruit} <{number}>.png")
            labels.append(color)
            parts["images"].append(picture(color, shade=3 * number))
            parts["texts"].append(f"A {color} basket with {fruit}s & more {fruit} from the {color} garden.")
    return Collection("baskets", Ids(names), parts, labels=tuple(labels), about="18 baskets in 3 classes")
