"""Pictures on the way in and out: uploads checked and kept in memory for a while, items as small files."""

from __future__ import annotations

import hashlib
import io

import numpy as np

from rankloom.datasets import Collection
from rankloom.datasets.images import Pixels, decode, reduced
from rankloom.rankers.features import pixels
from rankloom.web.lru import Kept
from rankloom.web.queries import Picture

SIDE = 320  # of what is sent, in pixels
ASKED_SIDE = 512  # an upload is reduced to it before it is ranked and kept
SMALL = 128  # pictures up to this side are sent without loss

#: The bytes of a file, and its media type.
File = tuple[bytes, str]


def encoded(image: Pixels, side: int = SIDE) -> File:
    """Return a picture as a small file: PNG where it is small anyway, else JPEG."""
    from PIL import Image

    small = np.ascontiguousarray(reduced(image, side))
    kind = "PNG" if max(small.shape[:2]) <= SMALL else "JPEG"
    out = io.BytesIO()
    Image.fromarray(small).save(out, kind, **({"quality": 85} if kind == "JPEG" else {}))
    return out.getvalue(), f"image/{kind.lower()}"


class Gallery:
    """The pictures of a collection as files to send; the last ones sent are kept.

    Parameters
    ----------
    collection : Collection
        With a part ``images``, or without pictures.
    """

    def __init__(self, collection: Collection) -> None:
        self._images = collection.parts.get("images")
        self._files: Kept[File] = Kept(20_000, most_bytes=64_000_000, size=lambda file: len(file[0]))

    def __bool__(self) -> bool:
        return self._images is not None

    def file(self, number: int) -> File:
        """Return the picture of an item."""
        assert self._images is not None
        item = self._images[number]
        return self._files.get(number, lambda: encoded(pixels(item)))


class Uploads:
    """Pictures from outside, in memory alone, by the digest of their pixels; the oldest go first.

    Parameters
    ----------
    most : int
        How many are kept.
    most_pixels : int
        A picture of more is refused before it is unpacked.
    """

    def __init__(self, *, most: int = 200, most_pixels: int = 25_000_000) -> None:
        self._most_pixels = most_pixels
        self._kept: Kept[tuple[Picture, File]] = Kept(most)

    def add(self, content: bytes) -> str:
        """Decode a picture and keep it; return its digest, or raise an `ImageError`."""
        image = decode(content, max_pixels=self._most_pixels, longest_side=ASKED_SIDE)
        digest = hashlib.sha256(repr(image.shape).encode() + image.tobytes()).hexdigest()[:24]
        self._kept.get(digest, lambda: (Picture(digest, image), encoded(image)))
        return digest

    def find(self, digest: str) -> tuple[Picture, File] | None:
        """Return a picture that is still kept, and its file to send."""
        return self._kept.find(digest)
