"""Descriptor and distance make a ranker: pictures become vectors, and the nearest vectors come first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloom._kernels.nearest import METRICS, nearest
from rankloom.datasets.images import Pixels, reduced
from rankloom.errors import InputError, UnknownNameError, whole_number
from rankloom.io.cache import Cache, digest_bytes
from rankloom.rankers.color import COLOR
from rankloom.rankers.distances import DISTANCES, Distance
from rankloom.rankers.image_features import Describe, FeatureStore, extract
from rankloom.rankers.ranker import RANKERS, UnreadableItemsError
from rankloom.rankers.texture import TEXTURE
from rankloom.ranks import Ranks
from rankloom.threads import Progress
from rankloom.version import __version__

Vectors = NDArray[Any]
FORMAT = 2  # of vectors in a cache
LONG, SPARSE = 1024, 8  # from this length on, and where only one number in so many is not 0, zeros are passed over


@dataclass(frozen=True, slots=True)
class DescriptorRanker:
    """The paper's ranker, (descriptor, distance), of pictures.

    Attributes
    ----------
    name : str
        Of the descriptor; it stands for it in a cache, with its numbers for three pictures and the version of
        rankloom. A descriptor of one's own that changes, but not for those three, needs another name.
    descriptor : callable
        uint8 RGB array of shape (height, width, 3) -> a vector, of one length for all pictures.
    distance : str
        A metric (cosine, dot, l1, l2) or a distance in `rankers.distances.DISTANCES`.
    longest_side : int, optional
        Larger pictures are reduced to it first: quicker, and less detail. None leaves them as they are.

    Examples
    --------
    >>> mean = DescriptorRanker("mean", lambda image: image.mean(axis=(0, 1)), "l1")
    >>> pictures = [np.full((2, 2, 3), gray, np.uint8) for gray in (0, 90, 40)]
    >>> mean.fit(pictures).rank(depth=2).items
    array([[0, 2],
           [1, 2],
           [2, 0]], dtype=int32)
    """

    name: str
    descriptor: Describe
    distance: str
    longest_side: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.distance not in METRICS and self.distance not in DISTANCES:
            raise UnknownNameError("distance", self.distance, [*METRICS, *DISTANCES])
        if self.longest_side is not None:
            whole_number("longest_side", self.longest_side)

    @property
    def part(self) -> str:
        """It looks at pictures."""
        return "images"

    def fit(
        self,
        items: Sequence[Any],
        *,
        cache: Cache | None = None,
        progress: Progress | None = None,
        threads: int | None = None,
    ) -> FittedDescriptor:
        """Describe pictures: `ImageFile`, arrays, paths or bytes of files; the cache keeps the vector of each.

        Raises
        ------
        UnreadableItemsError
            Where some cannot be read; the others are described and kept all the same.
        """
        vectors = self._extract(items, cache or Cache(None), threads, progress)
        return FittedDescriptor(self, vectors, cache or Cache(None))

    def digest(self) -> str:
        """Return what stands for the numbers it gives: those for three pictures, and the version of rankloom."""
        probes = self._probed()
        distances = compare(probes, probes, self.distance, len(probes)).scores
        settings = (FORMAT, __version__, self.name, self.distance, self.longest_side, probes.dtype.str, probes.shape)
        return digest_bytes(repr(settings).encode(), probes.tobytes(), np.asarray(distances).tobytes())

    def describe(self, picture: Pixels) -> Vectors:
        """Return the vector of one picture."""
        small = picture if self.longest_side is None else reduced(picture, self.longest_side)
        vector = np.asarray(self.descriptor(small))
        if vector.ndim != 1:
            raise InputError(f"The descriptor {self.name} must give a vector; got an array of shape {vector.shape}.")
        if not np.isfinite(vector).all():
            raise InputError(
                f"The descriptor {self.name} must give finite numbers; got {vector[~np.isfinite(vector)][0]}."
            )
        return vector

    def _extract(self, items: Sequence[Any], cache: Cache, threads: int | None, progress: Progress | None) -> Vectors:
        like = self.describe(_probes()[0])[None][:0]
        store = FeatureStore(cache, self.digest(), like.shape[1])

        def describe(picture: Pixels) -> Vectors:
            return self._of_length(self.describe(picture), like.shape[1])

        stage = f"describing by {self.name}"
        vectors = extract(items, describe, stage=stage, store=store, threads=threads, progress=progress)
        return np.stack(vectors) if vectors else like

    def _probed(self) -> Vectors:
        first, *others = (self.describe(picture) for picture in _probes())
        return np.stack([first, *(self._of_length(other, len(first)) for other in others)])

    def _of_length(self, vector: Vectors, length: int) -> Vectors:
        if len(vector) != length:
            raise InputError(
                f"The descriptor {self.name} must give vectors of one length; got {len(vector)} and {length}."
            )
        return vector


@dataclass(frozen=True, slots=True, eq=False)
class FittedDescriptor:
    """Pictures of a collection as vectors.

    Attributes
    ----------
    ranker : DescriptorRanker
    vectors : array of shape (n_items, d)
    cache : Cache
    """

    ranker: DescriptorRanker
    vectors: Vectors
    cache: Cache

    def rank(
        self, *, queries: Sequence[Any] | None = None, depth: int = 1000, progress: Progress | None = None
    ) -> Ranks:
        """Rank the items for each of them, or for pictures from outside."""
        asked = None
        if queries is not None:
            try:
                asked = self.ranker._extract(queries, self.cache, None, progress)
            except UnreadableItemsError as error:  # queries are not items, which could be left out
                raise InputError(f"Queries cannot be read: {' '.join(error.reasons.values())}") from None
        return compare(self.vectors, asked, self.ranker.distance, depth, progress)


def compare(
    items: Vectors, queries: Vectors | None, distance: str, depth: int, progress: Progress | None = None
) -> Ranks:
    """Rank items by their distance to each query, or to each item; for cosine, dot and l2 no progress is told."""
    if distance in DISTANCES:
        return _by_distance(items, queries, DISTANCES[distance], depth, progress)
    # Numbers that are 0 everywhere change no metric; a joint histogram has many.
    used = items.any(axis=0) if queries is None else items.any(axis=0) | queries.any(axis=0)
    items = items[:, used]
    queries = None if queries is None else queries[:, used]
    if distance == "l1":
        return _by_distance(items, queries, _city_block, depth, progress)
    return Ranks.from_vectors(items, distance, depth, queries=queries)


def _city_block(x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    """Return l1 as it is summed pair by pair: exact, so long vectors need not be gone through twice."""
    from scipy.spatial.distance import cdist

    left, right = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if right.shape[1] >= LONG and SPARSE * np.count_nonzero(right) < right.size:
        return _sparse_city_block(left, right)
    return np.asarray(cdist(left, right, "cityblock"))


def _sparse_city_block(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the same numbers, going through what is not 0: some twenty times as fast for joint histograms."""
    from scipy.sparse import csr_array

    from rankloom._kernels.cityblock import sparse_city_block

    left, right = csr_array(x), csr_array(y)
    out = np.empty((len(x), len(y)))
    sparse_city_block(left.indptr, left.indices, left.data, right.indptr, right.indices, right.data, out)
    return out


def _by_distance(
    items: Vectors, queries: Vectors | None, distance: Distance, depth: int, progress: Progress | None
) -> Ranks:
    own = queries is None
    items = np.asarray(items, np.float64)
    asked = items if queries is None else np.asarray(queries, np.float64)

    def costs(start: int, stop: int, out: NDArray[np.float64]) -> None:
        np.copyto(out, distance(asked[start:stop], items))
        if progress:
            progress("comparing pictures", stop, len(asked))

    found, cost = nearest(len(asked), len(items), whole_number("depth", depth), costs, own=own)
    return Ranks(found, 0 - cost, len(items))


def _probes() -> list[Pixels]:
    """Return three pictures of many colors and some texture, made without a generator of random numbers.

    The third is large enough for what looks far around a pixel, and has flat areas; its 120 x 170 pixels are 80 times
    255, so that shares in it are at the limits of levels.
    """
    first = _waves(24, 20)
    third = _waves(120, 170)
    third[:8, :10] = 255
    third[20:60, 30:90] = 100
    return [first, np.ascontiguousarray(255 - first[::-1] // 2), third]


def _waves(height: int, width: int) -> Pixels:
    y, x = np.mgrid[:height, :width].astype(np.int64)
    waves = [(x * x * 7 + y * 31) % 256, (x * 13 + y * y * 5 + x * y) % 256, (x // 5 * 60 + y // 6 * 40) % 256]
    return np.stack(waves, axis=2).astype(np.uint8)


def _maker(name: str, descriptor: Describe, article: str) -> Callable[..., DescriptorRanker]:
    """Return what makes the ranker of a descriptor; its options are those of `DescriptorRanker`."""

    def make(*, distance: str = article, longest_side: int | None = None) -> DescriptorRanker:
        return DescriptorRanker(name, descriptor, distance, longest_side=longest_side)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = descriptor.__doc__
    return make


for _name, (_descriptor, _distance) in {**COLOR, **TEXTURE}.items():
    RANKERS.register(_name)(_maker(_name, _descriptor, _distance))
