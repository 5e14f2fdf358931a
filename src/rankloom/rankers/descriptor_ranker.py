"""Image rankers: a descriptor maps images to vectors, and a distance ranks them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

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
FORMAT = 2  # of cached vectors
MIN_SPARSE_LENGTH, SPARSITY = (
    1024,
    8,
)  # from this length, if fewer than 1 in SPARSITY values are nonzero, l1 skips zeros


@dataclass(frozen=True, slots=True)
class DescriptorRanker:
    """The paper's ranker, (descriptor, distance), for images.

    Attributes
    ----------
    name : str
        Name of the descriptor. Cached vectors are keyed by it, by the descriptor's values for three probe images, and
        by the version of rankloom. Rename your own descriptor if it changes, but not for the probes.
    descriptor : callable
        uint8 RGB array of shape (height, width, 3) -> a vector, of the same length for all images.
    distance : str
        A metric (cosine, dot, l1, l2) or a distance in `rankers.distances.DISTANCES`.
    longest_side : int, optional
        Shrink larger images to this first: faster, with less detail. None keeps them as they are.

    Examples
    --------
    >>> mean = DescriptorRanker("mean", lambda image: image.mean(axis=(0, 1)), "l1")
    >>> images = [np.full((2, 2, 3), gray, np.uint8) for gray in (0, 90, 40)]
    >>> mean.fit(images).rank(depth=2).items
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

    #: Whether scores of queries can be compared with scores of items: both are images.
    comparable: ClassVar[bool] = True

    @property
    def part(self) -> str:
        """The part of the collection it ranks by."""
        return "images"

    def fit(
        self,
        items: Sequence[Any],
        *,
        cache: Cache | None = None,
        progress: Progress | None = None,
        threads: int | None = None,
    ) -> FittedDescriptor:
        """Extract the vectors of images: `ImageFile`, arrays, paths or bytes of files. The cache stores each vector.

        Raises
        ------
        UnreadableItemsError
            If some cannot be read; the vectors of the others are cached all the same.
        """
        vectors = self._extract(items, cache or Cache(None), threads, progress)
        return FittedDescriptor(self, vectors, cache or Cache(None))

    def digest(self) -> str:
        """Return a digest of its settings, its values for three probe images and the version of rankloom."""
        probes = self._probe_vectors()
        distances = compare(probes, probes, self.distance, len(probes)).scores
        settings = (FORMAT, __version__, self.name, self.distance, self.longest_side, probes.dtype.str, probes.shape)
        return digest_bytes(repr(settings).encode(), probes.tobytes(), np.asarray(distances).tobytes())

    def describe(self, image: Pixels) -> Vectors:
        """Return the vector of one image."""
        small = image if self.longest_side is None else reduced(image, self.longest_side)
        vector = np.asarray(self.descriptor(small))
        if vector.ndim != 1:
            raise InputError(f"The descriptor {self.name} must return a vector; got an array of shape {vector.shape}.")
        if not np.isfinite(vector).all():
            raise InputError(
                f"The descriptor {self.name} must return finite numbers; got {vector[~np.isfinite(vector)][0]}."
            )
        return vector

    def _extract(self, items: Sequence[Any], cache: Cache, threads: int | None, progress: Progress | None) -> Vectors:
        empty = self.describe(_probes()[0])[None][:0]
        store = FeatureStore(cache, self.digest(), empty.shape[1])

        def describe(image: Pixels) -> Vectors:
            return self._of_length(self.describe(image), empty.shape[1])

        stage = f"extracting {self.name}"
        vectors = extract(items, describe, stage=stage, store=store, threads=threads, progress=progress)
        return np.stack(vectors) if vectors else empty

    def _probe_vectors(self) -> Vectors:
        first, *others = (self.describe(image) for image in _probes())
        return np.stack([first, *(self._of_length(other, len(first)) for other in others)])

    def _of_length(self, vector: Vectors, length: int) -> Vectors:
        if len(vector) != length:
            raise InputError(
                f"The descriptor {self.name} must return vectors of one length; got {len(vector)} and {length}."
            )
        return vector


@dataclass(frozen=True, slots=True, eq=False)
class FittedDescriptor:
    """The images of a collection as vectors.

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
        """Rank the items for each of them, or for external queries."""
        vectors = None
        if queries is not None:
            try:
                vectors = self.ranker._extract(queries, self.cache, None, progress)
            except UnreadableItemsError as error:  # unlike items, queries cannot be skipped
                raise InputError(f"Cannot read the queries: {' '.join(error.reasons.values())}") from None
        return compare(self.vectors, vectors, self.ranker.distance, depth, progress)


def compare(
    items: Vectors, queries: Vectors | None, distance: str, depth: int, progress: Progress | None = None
) -> Ranks:
    """Rank items by their distance to each query, or to each item; cosine, dot and l2 report no progress."""
    if distance in DISTANCES:
        return _by_distance(items, queries, DISTANCES[distance], depth, progress)
    # Columns of zeros do not change any metric; a joint histogram has many.
    used = items.any(axis=0) if queries is None else items.any(axis=0) | queries.any(axis=0)
    items = items[:, used]
    queries = None if queries is None else queries[:, used]
    if distance == "l1":
        return _by_distance(items, queries, _city_block, depth, progress)
    return Ranks.from_vectors(items, distance, depth, queries=queries)


def _city_block(x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    """Return l1 distances, summed pair by pair: exact, so no second pass over long vectors is needed."""
    from scipy.spatial.distance import cdist

    left, right = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if right.shape[1] >= MIN_SPARSE_LENGTH and SPARSITY * np.count_nonzero(right) < right.size:
        return _sparse_city_block(left, right)
    return np.asarray(cdist(left, right, "cityblock"))


def _sparse_city_block(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the same bits from the nonzero values alone: about twenty times faster for joint histograms."""
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
    rows = items if queries is None else np.asarray(queries, np.float64)

    def costs(start: int, stop: int, out: NDArray[np.float64]) -> None:
        np.copyto(out, distance(rows[start:stop], items))
        if progress:
            progress("comparing images", stop, len(rows))

    found, cost = nearest(len(rows), len(items), whole_number("depth", depth), costs, own=own)
    return Ranks(found, 0 - cost, len(items))


def _probes() -> list[Pixels]:
    """Return three images with many colors and some texture, without a random number generator.

    The third is large enough for descriptors with a large neighborhood, and has flat areas; its 120 x 170 pixels are 80
    times 255, so that relative frequencies hit the boundaries of dLog levels.
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


def _maker(name: str, descriptor: Describe, default: str) -> Callable[..., DescriptorRanker]:
    """Return the factory of a descriptor's ranker, with the options of `DescriptorRanker`."""

    def make(*, distance: str = default, longest_side: int | None = None) -> DescriptorRanker:
        return DescriptorRanker(name, descriptor, distance, longest_side=longest_side)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = descriptor.__doc__
    return make


for _name, (_descriptor, _distance) in {**COLOR, **TEXTURE}.items():
    RANKERS.register(_name)(_maker(_name, _descriptor, _distance))
