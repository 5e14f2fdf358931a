"""Pictures to vectors: each described once, on all threads, and found again by its content."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.datasets import content_digest
from rankloom.datasets.images import ImageError, ImageFile, Pixels, decode
from rankloom.io.cache import Arrays, Cache, digest_bytes
from rankloom.rankers.ranker import UnreadableItemsError
from rankloom.threads import Progress, run_blocks

Vector = NDArray[Any]
#: Pixels -> a vector, of one length for all pictures.
Describe = Callable[[Pixels], Vector]

SEGMENT = 1024  # vectors of a file in the cache: few files, and little is lost when a run is stopped
BLOCK = 4  # pictures that a thread takes at a time


def pixels(item: Any) -> Pixels:
    """Return the pixels of a picture: an `ImageFile`, an array of them, a path, or the bytes of a file."""
    if isinstance(item, ImageFile):
        return item.load()
    return decode(item) if isinstance(item, bytes | str | Path) else np.asarray(item)


def image_digest(item: Any) -> str:
    """Return what stands for the content of a picture; a file that is not there is an `ImageError`."""
    if isinstance(item, bytes):
        return digest_bytes(item)
    return content_digest([ImageFile(Path(item)) if isinstance(item, str | Path) else item])


def stamp(item: Any) -> tuple[int, ...] | None:
    """Return what differs when the file of a picture is written anew; None for what is in no file, or gone."""
    try:
        picture = ImageFile(Path(item)) if isinstance(item, str | Path) else item
        return picture.stamp() if isinstance(picture, ImageFile) else None
    except ImageError:
        return None


@dataclass(slots=True)
class FeatureStore:
    """Vectors of one descriptor by digests of pictures, in files of up to 1024.

    A run adds to the last file until it is full, so one more picture costs one more row. A damaged file is made
    again; where two programs write at once, what one of them found is described again later.

    Attributes
    ----------
    cache : Cache
    key : str
        What stands for the descriptor.
    length : int
        Of each vector.
    """

    cache: Cache
    key: str
    length: int
    _last: tuple[int, dict[str, Vector]] = field(default_factory=lambda: (0, {}), init=False)

    def find(self, digests: Sequence[str]) -> dict[str, Vector]:
        """Return what is known of these."""
        wanted = set(digests)
        found: dict[str, Vector] = {}
        number = 0
        while len(found) < len(wanted) and (rows := self._load(number)) is not None:
            found |= {digest: rows[digest] for digest in rows.keys() & wanted}
            self._last = number, rows
            number += 1
        return found

    def add(self, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors after those there are; `find` must have looked for them."""
        new = list(vectors.items())
        while new and self.cache.folder is not None:
            number, rows = self._last
            if len(rows) >= SEGMENT:
                number, rows = number + 1, {}
            room = SEGMENT - len(rows)
            rows, new = {**rows, **dict(new[:room])}, new[room:]
            self.cache.save(self._name(number), _packed(rows))
            self._last = number, rows

    def _load(self, number: int) -> dict[str, Vector] | None:
        arrays = self.cache.load(self._name(number))
        if arrays is None or arrays.keys() != {"digests", "vectors"}:
            return None
        digests, vectors = arrays["digests"], arrays["vectors"]
        if digests.dtype != "S32" or vectors.dtype.kind not in "biuf" or vectors.shape != (digests.size, self.length):
            return None
        return dict(zip(digests.astype(str).tolist(), vectors, strict=True))

    def _name(self, number: int) -> str:
        return digest_bytes(b"features", self.key.encode(), str(number).encode())


def _packed(rows: Mapping[str, Vector]) -> Arrays:
    return {"digests": np.array(list(rows), "S32"), "vectors": np.stack(list(rows.values()))}


def extract(
    items: Sequence[Any],
    describe: Describe,
    *,
    stage: str,
    store: FeatureStore,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[Vector]:
    """Return the vector of each picture; only those whose content is not in the store are described.

    Raises
    ------
    UnreadableItemsError
        For all pictures that cannot be read, after the others have been described and kept.
    """
    failed: dict[str, str] = {}
    before = [stamp(item) for item in items]
    digests = [_digest(number, item, store, failed) for number, item in enumerate(items)]
    found = store.find(digests)
    new = [place for digest, place in _first_places(digests).items() if digest not in found and digest not in failed]
    for start in range(0, len(new), SEGMENT):
        batch = new[start : start + SEGMENT]
        told = _shifted(progress, start, len(new))
        vectors = _describe_all([items[place] for place in batch], describe, stage, threads, told)
        results = {digests[place]: vector for place, vector in zip(batch, vectors, strict=True)}
        good = {digest: vector for digest, vector in results.items() if not isinstance(vector, str)}
        failed |= {digest: reason for digest, reason in results.items() if isinstance(reason, str)}
        # A file written anew in between has a vector of other content than its digest stands for.
        store.add({digests[p]: good[digests[p]] for p in batch if digests[p] in good and stamp(items[p]) == before[p]})
        found |= good
    if failed:
        raise UnreadableItemsError({place: failed[digest] for place, digest in enumerate(digests) if digest in failed})
    return [found[digest] for digest in digests]


def _digest(number: int, item: Any, store: FeatureStore, failed: dict[str, str]) -> str:
    if store.cache.folder is None:  # nothing is kept: the file need not be read for it
        return str(number)
    try:
        return image_digest(item)
    except ImageError as error:
        failed[str(number)] = str(error)
        return str(number)


def _first_places(digests: Sequence[str]) -> dict[str, int]:
    """Return where each digest stands first: a picture given twice is described once."""
    places: dict[str, int] = {}
    for place, digest in enumerate(digests):
        places.setdefault(digest, place)
    return places


def _describe_all(
    items: Sequence[Any], describe: Describe, stage: str, threads: int | None, progress: Progress | None
) -> list[Vector | str]:
    """Return the vector of each picture, or why it has none."""
    results: list[Vector | str] = [""] * len(items)

    def work(start: int, stop: int) -> None:
        for number in range(start, stop):
            try:
                picture = pixels(items[number])
            except ImageError as error:
                results[number] = str(error)
            else:
                results[number] = np.asarray(describe(picture))

    run_blocks(work, len(items), stage=stage, block=BLOCK, threads=threads, progress=progress)
    return results


def _shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    """Return what tells the progress of a batch as that of the whole."""
    return progress and (lambda stage, done, _: progress(stage, before + done, total))
