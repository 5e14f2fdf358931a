"""Images in and out: uploads validated and held in memory, items encoded as small files."""

import hashlib
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from rankloom.datasets import Collection
from rankloom.datasets.images import File, ImageError, ImageFile, Pixels, encoded, on_transparent, reduced
from rankloom.io.cache import digest_bytes
from rankloom.io.version import __version__
from rankloom.rankers.image.image_features import image_digest, pixels, stamp
from rankloom.ranks import Ids
from rankloom.searcher.batch import IMAGE_FIELD
from rankloom.searcher.lru import LRUCache
from rankloom.searcher.store import Document
from rankloom.web.decoder import Decoder
from rankloom.web.limits import RefusedError

MAX_SIDE = 320  # pixels, of the images served
MAX_SAMPLES = 50  # images to estimate the image size from
OVERHEAD = 500  # of a cached file besides its bytes


class Gallery:
    """The images of documents as files to serve: those of a collection, else the files that documents name."""

    def __init__(
        self, ids: Ids, document: Callable[[int], Document], collection: Collection | None, max_bytes: int
    ) -> None:
        self._ids, self._document = ids, document
        self._collection = collection if collection is not None and "images" in collection.parts else None
        self._files: LRUCache[File] = LRUCache(max_bytes, size=lambda file: len(file[0]) + OVERHEAD)

    def image(self, number: int) -> Any:
        """Return the image of an item, to load; None if it has none."""
        item = self._ids[number]
        if self._collection is not None and item in self._collection.ids:
            return self._collection.parts["images"][self._collection.ids.number(item)]
        path = self._document(number).get(IMAGE_FIELD)
        return ImageFile(Path(path)) if isinstance(path, str) and path else None

    def version(self, number: int) -> str | None:
        """Return a digest that changes with the image of an item; None if it has none."""
        image = self.image(number)
        if image is None:
            return None
        content = repr((stamp(image), image.box)) if isinstance(image, ImageFile) else image_digest(image)
        # Another version of the program may reduce images differently.
        item = self._ids[number].encode("utf-8", "surrogatepass")
        return digest_bytes(__version__.encode(), item, content.encode())[:12]

    def file(self, number: int) -> File:
        """Return the image of an item as a file; raise `ImageError` if it cannot be read."""
        image = self.image(number)
        if image is None:
            raise ImageError(f"Item {number} has no image.")
        return self._files.get((number, self.version(number)), lambda: encoded(_shown(image), MAX_SIDE))

    @cached_property
    def side(self) -> int:
        """The longer side of the images: the median of a sample; 0 if there are none.

        Uploads are reduced to it, because texture descriptors depend on the scale.
        """
        sample = range(0, len(self._ids), max(1, len(self._ids) // MAX_SAMPLES))
        images = [image for number in sample if (image := self.image(number)) is not None]
        return int(np.median([max(pixels(image).shape[:2]) for image in images])) if images else 0

    def reduced(self, image: Pixels) -> Pixels:
        """Return an uploaded image in the size of the others."""
        return reduced(image, self.side) if self.side else image


def _shown(image: object) -> Pixels:
    """Return the pixels of an image, on a transparent background if its own is white."""
    loaded = pixels(image)
    return on_transparent(loaded) if isinstance(image, ImageFile) and image.on_white else loaded


class Uploads:
    """Uploaded images, in memory only, by the digest of their pixels; the least recently used are dropped first."""

    def __init__(self, decoder: Decoder, max_bytes: int) -> None:
        self._decoder = decoder
        self._items: LRUCache[tuple[Pixels, File]] = LRUCache(max_bytes, size=_n_bytes)

    def add(self, content: bytes) -> str:
        """Decode and store an image; return its digest, or raise `ImageError`."""
        image = self._decoder.decode(content)
        digest = hashlib.sha256(repr(image.shape).encode() + image.tobytes()).hexdigest()[:24]
        self._items.get(digest, lambda: (image, encoded(image, MAX_SIDE)))
        return digest

    def find(self, digest: str) -> tuple[Pixels, File] | None:
        """Return the pixels of an image that is still stored, and its file to serve."""
        return self._items.find(digest)


def _n_bytes(upload: tuple[Pixels, File]) -> int:
    return upload[0].nbytes + len(upload[1][0]) + OVERHEAD


async def uploaded_image_bytes(request: Request, max_bytes: int) -> bytes:
    """Return the bytes of an uploaded image: the body of the request, or a file in a form; all in memory."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind.startswith("image/") or kind == "application/octet-stream":
        return await request.body()
    if kind != "multipart/form-data":
        raise RefusedError(415, f"Send an image (image/...), or a form with a file; got {kind or 'no type'!r}.")
    parser = MultiPartParser(request.headers, request.stream(), max_files=1, max_fields=10)
    parser.spool_max_size = max_bytes + 1
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError, ValueError, UnicodeError) as error:
        raise RefusedError(400, f"Invalid form: {getattr(error, 'message', error)}") from None
    try:
        file = form.get("image")
        if not isinstance(file, UploadFile):
            raise RefusedError(422, "image: The form has no file of that name.")
        return await file.read()
    finally:
        await form.close()
