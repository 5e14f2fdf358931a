"""Image rankers: a descriptor maps images to vectors or to sequences of features, and a distance ranks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankloom.datasets.images import Pixels, reduced
from rankloom.errors import InputError, check_choice, whole_number
from rankloom.io.cache import Cache, digest_bytes
from rankloom.io.version import __version__
from rankloom.rankers.image.alignments import ALIGNMENTS, Alignment
from rankloom.rankers.image.color import COLOR
from rankloom.rankers.image.composite import COMPOSITE
from rankloom.rankers.image.deep import DEEP
from rankloom.rankers.image.image_features import Describe, FeatureStore, all_readable, extract_images
from rankloom.rankers.image.shape import SHAPE
from rankloom.rankers.image.texture import TEXTURE
from rankloom.rankers.ranker import RANKERS, Maker
from rankloom.rankers.vectors.distances import COMPARISONS
from rankloom.rankers.vectors.vectors import FittedVectors
from rankloom.ranks.vector_space import Metric, VectorSpace
from rankloom.threads import Progress

Vectors = NDArray[Any]
FORMAT = 2  # of cached vectors


@dataclass(frozen=True, slots=True)
class DescriptorRanker:
    """The paper's ranker, (descriptor, distance), for images.

    Attributes
    ----------
    name : str
        Name of the descriptor. Cached vectors are keyed by it, by the descriptor's values for three probe images, and
        by the version of rankloom. Rename your own descriptor if it changes in a way that the probes do not show.
    descriptor : callable
        uint8 RGB array of shape (height, width, 3) -> a vector, of the same length for all images; for an alignment an
        array of shape (points, features), the same for all.
    distance : str or Alignment
        A metric (cosine, dot, l1, l2), a distance in `rankers.distances.DISTANCES`, or an alignment or the name of one
        in `rankers.alignments.ALIGNMENTS`.
    longest_side : int, optional
        Shrink larger images to this first: faster, with less detail. None leaves them unchanged.

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
    distance: str | Alignment
    longest_side: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.distance, Alignment):
            check_choice("distance", self.distance, [*COMPARISONS, *ALIGNMENTS])
        if self.longest_side is not None:
            whole_number("longest_side", self.longest_side)

    #: Whether scores of queries can be compared with scores of items: both are images.
    comparable: ClassVar[bool] = True

    @property
    def part(self) -> str:
        """The part of the collection it ranks by."""
        return "images"

    def fit(
        self, items: Sequence[Any], *, cache: Cache | None = None, progress: Progress | None = None
    ) -> FittedVectors:
        """Extract the vectors of images: `ImageFile`, arrays, paths or bytes of files. The cache stores each vector.

        Raises
        ------
        UnreadableItemsError
            If some cannot be read; the vectors of the others are still cached.
        """
        vectors = self.item_vectors(items, cache=cache, progress=progress)
        return FittedVectors(self, VectorSpace.of(vectors, self._metric()), cache)

    def restored(self, arrays: Mapping[str, NDArray[Any]]) -> FittedVectors:
        """Return the fitted ranker that `FittedVectors.arrays` describes."""
        return FittedVectors(self, VectorSpace.restored(arrays, self._metric()))

    def digest(self) -> str:
        """Return a digest of its settings, its values for three probe images and the version of rankloom."""
        probes = self._probe_vectors()
        space = VectorSpace.of(probes, self._metric())
        distances = space.neighbors(space, len(probes))[1]
        settings = (FORMAT, __version__, self.name, self.distance, self.longest_side, probes.dtype.str, probes.shape)
        return digest_bytes(repr(settings).encode(), probes.tobytes(), distances.tobytes())

    def describe(self, image: Pixels) -> Vectors:
        """Return the vector, or the sequence of features, of one image."""
        small = image if self.longest_side is None else reduced(image, self.longest_side)
        vector = np.asarray(self.descriptor(small))
        if vector.ndim != (1 if self._alignment is None else 2):
            wanted = "a vector" if self._alignment is None else "an array of shape (points, features)"
            raise InputError(f"The descriptor {self.name} must return {wanted}; got an array of shape {vector.shape}.")
        if not np.isfinite(vector).all():
            raise InputError(
                f"The descriptor {self.name} must return finite numbers; got {vector[~np.isfinite(vector)][0]}."
            )
        return vector

    def item_vectors(
        self, items: Sequence[Any], *, cache: Cache | None = None, progress: Progress | None = None
    ) -> Vectors:
        """Return the vectors of images, sequences end to end. Raise UnreadableItemsError if some cannot be read."""
        probe = self.describe(probe_images()[0])
        key = self.digest() if cache is not None and cache.folder is not None else ""
        store = FeatureStore(cache or Cache(None), key, probe.size)

        def describe(image: Pixels) -> Vectors:
            return self._of_shape(self.describe(image), probe.shape).ravel()

        vectors = extract_images(items, describe, self.name, store=store, progress=progress)
        return np.stack(vectors) if vectors else probe.reshape(1, -1)[:0]

    def query_vectors(
        self, queries: Sequence[Any], *, cache: Cache | None = None, progress: Progress | None = None
    ) -> Vectors:
        """Return the vectors of external queries, images too."""
        with all_readable():
            return self.item_vectors(queries, cache=cache, progress=progress)

    def _probe_vectors(self) -> Vectors:
        first, *others = (self.describe(image) for image in probe_images())
        return np.stack([first.ravel(), *(self._of_shape(other, first.shape).ravel() for other in others)])

    def _of_shape(self, vector: Vectors, shape: tuple[int, ...]) -> Vectors:
        if vector.shape != shape:
            sizes = " and ".join("x".join(map(str, one)) for one in (vector.shape, shape))
            raise InputError(f"The descriptor {self.name} must return vectors of the same length; got {sizes}.")
        return vector

    @property
    def _alignment(self) -> Alignment | None:
        return self.distance if isinstance(self.distance, Alignment) else ALIGNMENTS.get(self.distance)

    def _metric(self) -> Metric:
        if self._alignment is not None:
            return self._alignment.metric(self.describe(probe_images()[0]).shape)
        return COMPARISONS[str(self.distance)]


def probe_images() -> list[Pixels]:
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


def _maker(name: str, descriptor: Describe, default: str) -> Maker:
    """Return the factory of a descriptor's ranker, with the options of `DescriptorRanker`."""

    def make(*, distance: str = default, longest_side: int | None = None) -> DescriptorRanker:
        return DescriptorRanker(name, descriptor, distance, longest_side=longest_side)

    return _documented(make, name, descriptor)


def _shape_maker(name: str, descriptor: Describe, alignment: str, default: float) -> Maker:
    """Return the factory of a shape ranker, whose option is the penalty of its alignment."""

    def make(*, penalty: float = default, longest_side: int | None = None) -> DescriptorRanker:
        aligned = replace(ALIGNMENTS[alignment], penalty=penalty)
        return DescriptorRanker(name, descriptor, aligned, longest_side=longest_side)

    return _documented(make, name, descriptor)


def _documented(make: Maker, name: str, descriptor: Describe) -> Maker:
    """Return a factory with the name and the docstring of its descriptor."""
    make.__name__ = make.__qualname__ = name
    make.__doc__ = descriptor.__doc__
    return make


for _name, (_descriptor, _distance) in {**COLOR, **TEXTURE, **COMPOSITE, **DEEP}.items():
    RANKERS.register(_name)(_maker(_name, _descriptor, _distance))
for _name, (_descriptor, _distance, _penalty) in SHAPE.items():
    RANKERS.register(_name)(_shape_maker(_name, _descriptor, _distance, _penalty))
