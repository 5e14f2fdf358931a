"""Images in and out: uploads validated and held in memory, items encoded as small files."""

from __future__ import annotations

import hashlib
import io

import numpy as np

from rankloom.datasets import Collection
from rankloom.datasets.images import Pixels, reduced
from rankloom.rankers.image_features import pixels
from rankloom.searcher.lru import LRUCache
from rankloom.web.decoder import Decoder
from rankloom.web.queries import ImageQuery

MAX_SIDE = 320  # pixels, of the images served
MAX_LOSSLESS_SIDE = 128  # larger images are served as JPEG
MAX_GALLERY_BYTES = 64_000_000
OVERHEAD = 500  # of a cached file besides its bytes

#: The bytes of a file, and its media type.
File = tuple[bytes, str]


def encoded(image: Pixels, max_side: int = MAX_SIDE) -> File:
    """Return an image as a small file: PNG if it has few pixels, else JPEG."""
    from PIL import Image

    small = np.ascontiguousarray(reduced(image, max_side))
    kind = "PNG" if max(small.shape[:2]) <= MAX_LOSSLESS_SIDE else "JPEG"
    out = io.BytesIO()
    Image.fromarray(small).save(out, kind, **({"quality": 85} if kind == "JPEG" else {}))
    return out.getvalue(), f"image/{kind.lower()}"


class Gallery:
    """The images of a collection as files to serve; falsy if it has none.

    Parameters
    ----------
    collection : Collection
    """

    def __init__(self, collection: Collection) -> None:
        self._images = collection.parts.get("images")
        self._files: LRUCache[File] = LRUCache(MAX_GALLERY_BYTES, size=lambda file: len(file[0]) + OVERHEAD)

    def __bool__(self) -> bool:
        return self._images is not None

    def file(self, number: int) -> File:
        """Return the image of an item."""
        assert self._images is not None
        item = self._images[number]
        return self._files.get(number, lambda: encoded(pixels(item)))


class Uploads:
    """Uploaded images, in memory only, by the digest of their pixels; the least recently used are dropped first.

    Parameters
    ----------
    decoder : Decoder
    max_items : int
    """

    def __init__(self, decoder: Decoder, *, max_items: int = 200) -> None:
        self._decoder = decoder
        self._items: LRUCache[tuple[ImageQuery, File]] = LRUCache(max_items)

    def add(self, content: bytes) -> str:
        """Decode and store an image; return its digest, or raise `ImageError`."""
        image = self._decoder.decode(content)
        digest = hashlib.sha256(repr(image.shape).encode() + image.tobytes()).hexdigest()[:24]
        self._items.get(digest, lambda: (ImageQuery(digest, image), encoded(image)))
        return digest

    def find(self, digest: str) -> tuple[ImageQuery, File] | None:
        """Return an image that is still stored, and its file to serve."""
        return self._items.find(digest)
