"""1616 emoji with names and keywords: pictures and texts in one collection, which comes with the package."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from rankloom.datasets.collection import Collection, Part, register_collection
from rankloom.datasets.images import Box, ImageFile
from rankloom.errors import InputError, whole_number
from rankloom.ranks import Ids

#: The bundle, as ``experiments/make_emoji.py`` writes it; its NOTICE.txt says whose work it is.
BUNDLE = Path(__file__).parent / "bundled" / "emoji"


@register_collection("emoji")
def emoji(first: int | None = None) -> Collection:
    """Return 1616 emoji in 87 classes, the subgroups of Unicode; pictures of Noto Emoji, names and keywords of CLDR.

    Parts: ``images``, 64 x 64 pixels on white, read when looked at (needs Pillow); ``texts``, the name and then the
    keywords, each a sentence of its own, so that no pair of words reaches from one into the next; and, for pages,
    ``names``, ``characters`` and ``groups``. They come in Unicode's order, so classes stand together.

    Parameters
    ----------
    first : int, optional
        Only so many of them.

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
    labels = tuple(one["subgroup"] for one in items)
    parts: dict[str, Part] = {
        "images": [ImageFile(BUNDLE / "pictures.jpg", box(number, side, columns)) for number in range(len(items))],
        "texts": [". ".join([one["name"], *one["keywords"]]) for one in items],
        "names": [one["name"] for one in items],
        "characters": [one["character"] for one in items],
        "groups": [one["group"] for one in items],
    }
    about = f"{len(items)} emoji with names and keywords, in {len(set(labels))} classes"
    return Collection("emoji", Ids(one["id"] for one in items), parts, labels=labels, about=about)


def box(number: int, side: int, columns: int) -> Box:
    """Return where a picture is in a sheet of equal squares, row by row.

    Examples
    --------
    >>> box(4, 64, 3)
    (64, 64, 128, 128)
    """
    left, top = number % columns * side, number // columns * side
    return left, top, left + side, top + side


@cache
def _bundle() -> dict[str, Any]:
    """Return the content of the bundle; it is not to be written into."""
    content: dict[str, Any] = json.loads(gzip.decompress((BUNDLE / "items.json.gz").read_bytes()))
    return content
