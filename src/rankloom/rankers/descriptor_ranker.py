"""Image rankers: a descriptor maps images to vectors, and a distance ranks them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankloom._kernels.vector_space import VectorSpace
from rankloom.datasets.images import Pixels, reduced
from rankloom.errors import InputError, check_choice, whole_number
from rankloom.io.cache import Cache, digest_bytes
from rankloom.rankers.color import COLOR
from rankloom.rankers.composite import COMPOSITE
from rankloom.rankers.deep import DEEP
from rankloom.rankers.distances import COMPARISONS
from rankloom.rankers.image_features import Describe, FeatureStore, Vector, all_readable, describe_images, extract
from rankloom.rankers.ranker import RANKERS
from rankloom.rankers.texture import TEXTURE
from rankloom.rankers.vectors import FittedVectors
from rankloom.threads import Progress
from rankloom.version import __version__

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
        uint8 RGB array of shape (height, width, 3) -> a vector, of the same length for all images.
    distance : str
        A metric (cosine, dot, l1, l2) or a distance in `rankers.distances.DISTANCES`.
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
    distance: str
    longest_side: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_choice("distance", self.distance, COMPARISONS)
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
    ) -> FittedVectors:
        """Extract the vectors of images: `ImageFile`, arrays, paths or bytes of files. The cache stores each vector.

        Raises
        ------
        UnreadableItemsError
            If some cannot be read; the vectors of the others are still cached.
        """
        vectors = self.item_vectors(items, cache=cache, progress=progress, threads=threads)
        return FittedVectors(self, VectorSpace.of(vectors, COMPARISONS[self.distance]), cache)

    def restored(self, arrays: Mapping[str, NDArray[Any]]) -> FittedVectors:
        """Return the fitted ranker that `FittedVectors.arrays` describes."""
        return FittedVectors(self, VectorSpace.restored(arrays, COMPARISONS[self.distance]))

    def digest(self) -> str:
        """Return a digest of its settings, its values for three probe images and the version of rankloom."""
        probes = self._probe_vectors()
        space = VectorSpace.of(probes, COMPARISONS[self.distance])
        distances = space.neighbors(space, len(probes))[1]
        settings = (FORMAT, __version__, self.name, self.distance, self.longest_side, probes.dtype.str, probes.shape)
        return digest_bytes(repr(settings).encode(), probes.tobytes(), distances.tobytes())

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

    def item_vectors(
        self,
        items: Sequence[Any],
        *,
        cache: Cache | None = None,
        progress: Progress | None = None,
        threads: int | None = None,
    ) -> Vectors:
        """Return the vectors of images. Raise UnreadableItemsError if some cannot be read."""
        empty = self.describe(probe_images()[0])[None][:0]
        key = self.digest() if cache is not None and cache.folder is not None else ""
        store = FeatureStore(cache or Cache(None), key, empty.shape[1])

        def describe(image: Pixels) -> Vectors:
            return self._of_length(self.describe(image), empty.shape[1])

        def describe_all(some: Sequence[Any], report: Progress | None) -> list[Vector | str]:
            return describe_images(some, describe, stage=f"extracting {self.name}", threads=threads, progress=report)

        vectors = extract(items, describe_all, store=store, progress=progress)
        return np.stack(vectors) if vectors else empty

    def query_vectors(
        self, queries: Sequence[Any], *, cache: Cache | None = None, progress: Progress | None = None
    ) -> Vectors:
        """Return the vectors of external queries, images too."""
        with all_readable():
            return self.item_vectors(queries, cache=cache, progress=progress)

    def _probe_vectors(self) -> Vectors:
        first, *others = (self.describe(image) for image in probe_images())
        return np.stack([first, *(self._of_length(other, len(first)) for other in others)])

    def _of_length(self, vector: Vectors, length: int) -> Vectors:
        if len(vector) != length:
            raise InputError(
                f"The descriptor {self.name} must return vectors of the same length; got {len(vector)} and {length}."
            )
        return vector


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


def _maker(name: str, descriptor: Describe, default: str) -> Callable[..., DescriptorRanker]:
    """Return the factory of a descriptor's ranker, with the options of `DescriptorRanker`."""

    def make(*, distance: str = default, longest_side: int | None = None) -> DescriptorRanker:
        return DescriptorRanker(name, descriptor, distance, longest_side=longest_side)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = descriptor.__doc__
    return make


for _name, (_descriptor, _distance) in {**COLOR, **TEXTURE, **COMPOSITE, **DEEP}.items():
    RANKERS.register(_name)(_maker(_name, _descriptor, _distance))
