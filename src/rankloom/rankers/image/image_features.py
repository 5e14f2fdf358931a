"""Feature extraction: each item is described once, images on all threads, and cached by its content."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankloom.datasets import content_digest
from rankloom.datasets.collection import Contents
from rankloom.datasets.images import ImageError, ImageFile, Pixels, decode
from rankloom.errors import InputError, brief
from rankloom.io.archive import Arrays
from rankloom.io.cache import Cache, digest_bytes
from rankloom.rankers.image.pixels import Describe
from rankloom.rankers.ranker import UnreadableItemsError
from rankloom.ranks.arrays import Array
from rankloom.threads import part_of_stage, run_blocks

Vector = Array

SEGMENT = 1024  # vectors in a cache file: few files, and an interrupted run loses little
BLOCK = 4  # images that a thread takes at a time


def pixels(item: Any) -> Pixels:
    """Return the pixels of an image: an `ImageFile`, an array, a path, or the bytes of a file."""
    if isinstance(item, ImageFile):
        return item.load()
    if isinstance(item, bytes | str | Path):
        return decode(item)
    try:
        return np.asarray(item)
    except ValueError:  # rows of different lengths
        raise ImageError(f"An image must be an array, a path or the bytes of a file; got {brief(item)}.") from None


def image_digest(item: Any) -> str:
    """Return a digest of an image's content. Raise ImageError if its file is missing."""
    if isinstance(item, bytes):
        return digest_bytes(item)
    return content_digest([ImageFile(Path(item)) if isinstance(item, str | Path) else item])


def stamp(item: Any) -> tuple[int, ...] | None:
    """Return a value that changes when the image file is rewritten; None if there is no file."""
    try:
        image = ImageFile(Path(item)) if isinstance(item, str | Path) else item
        return image.stamp() if isinstance(image, ImageFile) else None
    except ImageError:
        return None


@dataclass(slots=True)
class FeatureStore:
    """Cached vectors of one descriptor, keyed by the digest of an item, in files of up to `segment`.

    New vectors fill up the last file, so adding an item adds a row. A damaged file is recomputed; if two
    processes write at once, the vectors of one of them are recomputed later.
    """

    cache: Cache
    key: str  #: digest of the descriptor
    length: int | None  #: of each vector; None if they differ
    segment: int = field(default_factory=lambda: SEGMENT, kw_only=True)  #: maximum number of vectors in a file
    _last: tuple[int, dict[str, Vector]] = field(default_factory=lambda: (0, {}), init=False)

    def find(self, digests: Sequence[str]) -> dict[str, Vector]:
        """Return the cached vectors of these items."""
        wanted = set(digests)
        found: dict[str, Vector] = {}
        number = 0
        while len(found) < len(wanted) and (rows := self._load(number)) is not None:
            found |= {digest: rows[digest] for digest in rows.keys() & wanted}
            self._last = number, rows
            number += 1
        return found

    def add(self, vectors: Mapping[str, Vector]) -> None:
        """Append vectors to the cache; call `find` for them first."""
        new = list(vectors.items())
        while new and self.cache.folder is not None:
            number, rows = self._last
            if len(rows) >= self.segment:
                number, rows = number + 1, {}
            room = self.segment - len(rows)
            rows, new = {**rows, **dict(new[:room])}, new[room:]
            self.cache.save(self._name(number), _packed(rows, self.length))
            self._last = number, rows

    def _load(self, number: int) -> dict[str, Vector] | None:
        arrays = self.cache.load(self._name(number))
        vectors = None if arrays is None else _unpacked(arrays, self.length)
        if arrays is None or vectors is None or arrays["digests"].shape != (len(vectors),):
            return None
        return dict(zip(arrays["digests"].astype(str).tolist(), vectors, strict=True))

    def _name(self, number: int) -> str:
        return digest_bytes(b"features", self.key.encode(), str(number).encode())


def _packed(rows: Mapping[str, Vector], length: int | None) -> Arrays:
    digests, vectors = np.array(list(rows), "S32"), list(rows.values())
    if length is not None:
        return {"digests": digests, "vectors": np.stack(vectors)}
    ends = np.cumsum([len(vector) for vector in vectors])
    return {"digests": digests, "vectors": np.concatenate(vectors), "ends": ends}


def _unpacked(arrays: Arrays, length: int | None) -> list[Vector] | None:
    """Return the vectors of a cache file; None if it is not as `_packed` writes it."""
    known = {"digests", "vectors"} | ({"ends"} if length is None else set())
    if arrays.keys() != known or arrays["digests"].dtype != "S32" or arrays["vectors"].dtype.kind not in "biuf":
        return None
    vectors = arrays["vectors"]
    if length is not None:
        return list(vectors) if vectors.shape == (len(arrays["digests"]), length) else None
    ends = arrays["ends"]
    if ends.dtype.kind != "i" or ends.ndim != 1 or (np.diff(ends, prepend=0) < 0).any() or vectors.shape != (ends[-1],):
        return None
    return np.split(vectors, ends[:-1])


class ItemKind(NamedTuple):
    """How items are recognized in the cache, and whether one was rewritten in between."""

    digest: Callable[[Any], str]
    stamp: Callable[[Any], object]


IMAGES = ItemKind(image_digest, stamp)
TEXTS = ItemKind(lambda text: content_digest([text]), lambda _: None)

#: items -> the vector of each, or the reason why it cannot be read
DescribeAll = Callable[[Contents], Sequence[Vector | str]]


@contextmanager
def all_readable() -> Iterator[None]:
    """Turn unreadable images into a plain InputError: unlike items, queries cannot be skipped."""
    try:
        yield
    except UnreadableItemsError as error:
        raise InputError(f"Cannot read the queries: {' '.join(error.reasons.values())}") from None


def extract(
    items: Contents, describe_all: DescribeAll, *, store: FeatureStore, kind: ItemKind = IMAGES
) -> list[Vector]:
    """Return the vector of each item; only items that are not in the store are described.

    Raise UnreadableItemsError if items cannot be read, after the others have been described and cached.
    """
    failed: dict[str, str] = {}
    before = [kind.stamp(item) for item in items]
    digests = [_digest(number, item, store, kind, failed) for number, item in enumerate(items)]
    found = store.find(digests)
    first = {digest: index for index, digest in reversed([*enumerate(digests)])}  # equal items are described once
    new = sorted(index for digest, index in first.items() if digest not in found and digest not in failed)
    for start in range(0, len(new), store.segment):
        batch = new[start : start + store.segment]
        with part_of_stage(start, len(new)):
            vectors = describe_all([items[index] for index in batch])
        results = {digests[index]: vector for index, vector in zip(batch, vectors, strict=True)}
        good = {digest: vector for digest, vector in results.items() if not isinstance(vector, str)}
        failed |= {digest: reason for digest, reason in results.items() if isinstance(reason, str)}
        # If a file was rewritten in between, its vector may not belong to its digest.
        unchanged = [index for index in batch if kind.stamp(items[index]) == before[index]]
        store.add({digests[index]: good[digests[index]] for index in unchanged if digests[index] in good})
        found |= good
    if failed:
        raise UnreadableItemsError({index: failed[digest] for index, digest in enumerate(digests) if digest in failed})
    return [found[digest] for digest in digests]


def _digest(number: int, item: Any, store: FeatureStore, kind: ItemKind, failed: dict[str, str]) -> str:
    if store.cache.folder is None:  # no cache: do not read the file for a digest
        return str(number)
    try:
        return kind.digest(item)
    except ImageError as error:
        failed[str(number)] = str(error)
        return str(number)


def extract_images(items: Contents, describe: Describe, name: str, *, store: FeatureStore) -> list[Vector]:
    """Return the features of each image, as `extract` does; `name` is that of the descriptor."""

    def describe_all(some: Contents) -> list[Vector | str]:
        results: list[Vector | str] = [""] * len(some)

        def work(start: int, stop: int) -> None:
            for number in range(start, stop):
                try:
                    results[number] = np.asarray(describe(pixels(some[number])))
                except ImageError as error:
                    results[number] = str(error)

        run_blocks(work, len(some), stage=f"Extracting {name}", block=BLOCK)
        return results

    return extract(items, describe_all, store=store)
