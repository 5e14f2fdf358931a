"""1616 emoji with names and keywords: images and texts in one collection, bundled with the package."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import TypedDict

from rankloom.datasets.collection import Collection, Part, register_collection
from rankloom.datasets.images import Box, ImageFile
from rankloom.errors import InputError, whole_number
from rankloom.ranks import Ids

#: The bundle that ``experiments/make_emoji.py`` writes; its NOTICE.txt has the credits.
BUNDLE = Path(__file__).parent / "bundled" / "emoji"


class Emoji(TypedDict):
    """An emoji of the bundle."""

    id: str
    name: str
    keywords: list[str]
    character: str
    group: str
    subgroup: str


class Bundle(TypedDict):
    """The emoji, and the sheet of their images: the side of an image, and how many are in a row."""

    items: list[Emoji]
    side: int
    columns: int


@register_collection("emoji")
def emoji(first: int | None = None) -> Collection:
    """Return 1616 emoji in 87 classes, the subgroups of Unicode: Noto Emoji images, CLDR names and keywords.

    Parts: ``images``, 64 x 64 pixels on white, loaded on demand (needs Pillow); ``texts``, the name and then the
    keywords, each its own sentence, so that no pair of words spans two of them; and, for display, ``names``,
    ``characters`` and ``groups``. Items come in Unicode order, so the items of a class are adjacent.

    Parameters
    ----------
    first : int, optional
        Number of items to keep; all by default.

    References
    ----------
    Unicode Technical Standard 51, Unicode Emoji; https://github.com/googlefonts/noto-emoji

    Examples
    --------
    >>> some = emoji(first=20)
    >>> some.ids[0], some.labels[0], some.part("characters")[0]
    ('grinning-face', 'face-smiling', '😀')
    >>> some.part("texts")[0]
    'grinning face. cheerful. cheery. face. grin. grinning. happy. laugh. nice. smile. smiling. teeth. joy. smiley'
    """
    bundle = _bundle()
    items, side, columns = bundle["items"], bundle["side"], bundle["columns"]
    if first is not None and whole_number("first", first, 2) > len(items):
        raise InputError(f"There are {len(items)} emoji; got first={first}.")
    items = items[:first]
    labels = tuple(item["subgroup"] for item in items)
    parts: dict[str, Part] = {
        "images": [
            ImageFile(BUNDLE / "pictures.jpg", box(number, side, columns), on_white=True)
            for number in range(len(items))
        ],
        "texts": [". ".join([item["name"], *item["keywords"]]) for item in items],
        "names": [item["name"] for item in items],
        "characters": [item["character"] for item in items],
        "groups": [item["group"] for item in items],
    }
    about = f"{len(items)} emoji with names and keywords, in {len(set(labels))} classes"
    return Collection("emoji", Ids(item["id"] for item in items), parts, labels=labels, about=about)


def box(number: int, side: int, columns: int) -> Box:
    """Return the box of an image in a sheet of equal squares, row by row.

    Examples
    --------
    >>> box(4, 64, 3)
    (64, 64, 128, 128)
    """
    left, top = number % columns * side, number // columns * side
    return left, top, left + side, top + side


@cache
def _bundle() -> Bundle:
    """Return the content of the bundle, shared between calls: do not modify it."""
    content: Bundle = json.loads(gzip.decompress((BUNDLE / "items.json.gz").read_bytes()))
    return content
