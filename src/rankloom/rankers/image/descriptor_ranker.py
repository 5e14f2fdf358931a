"""Image rankers: a descriptor maps images to vectors or to sequences of features, and a distance ranks them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from annotated_types import Gt

from rankloom.datasets.collection import Contents
from rankloom.datasets.images import Pixels, reduced
from rankloom.errors import InputError, check_choice, is_function
from rankloom.io.cache import Cache, digest_bytes
from rankloom.io.version import __version__
from rankloom.rankers.image.alignments import ALIGNMENTS, Alignment
from rankloom.rankers.image.color import COLOR
from rankloom.rankers.image.composite import COMPOSITE
from rankloom.rankers.image.deep import DEEP
from rankloom.rankers.image.image_features import FeatureStore, all_readable, extract_images
from rankloom.rankers.image.pixels import Describe
from rankloom.rankers.image.shape import SHAPE
from rankloom.rankers.image.texture import TEXTURE
from rankloom.rankers.ranker import RANKERS
from rankloom.rankers.vectors.distances import COMPARISONS, Comparison, PairDistance, of_pairs
from rankloom.rankers.vectors.vectors import FittedVectors
from rankloom.ranks.arrays import Array
from rankloom.ranks.vector_space import Metric, VectorSpace, by_distance
from rankloom.registry import Count, Options

FORMAT = 2  # of cached vectors


class Descriptor(NamedTuple):
    """A descriptor and its name."""

    name: str
    vector: Describe


class ImageRanker(Options, ABC):
    """The paper's ranker, (descriptor, distance), for images.

    Attributes
    ----------
    longest_side : int, optional
        Shrink larger images to this first: faster, with less detail. None leaves them unchanged.
    """

    part: ClassVar[str] = "images"
    comparable: ClassVar[bool] = True  #: queries are images, too
    symmetric: ClassVar[bool] = True  #: of two descriptors

    longest_side: Count | None = None

    @property
    @abstractmethod
    def described(self) -> Descriptor:
        """The descriptor and its name."""

    @property
    @abstractmethod
    def compared(self) -> str | Alignment | PairDistance:
        """The distance."""

    def fit(self, items: Contents, *, cache: Cache | None = None) -> FittedVectors:
        """Extract the vectors of images: `ImageFile`, arrays, paths or bytes of files; each is cached."""
        vectors = self.item_vectors(items, cache=cache)
        return FittedVectors(self, VectorSpace.of(vectors, self._metric()), cache, algorithm="auto").with_cells()

    def restored(self, arrays: Mapping[str, Array]) -> FittedVectors:
        unfitted = VectorSpace.of(np.empty((0, 0)), self._metric())
        return FittedVectors(self, unfitted, algorithm="auto").restored(arrays)

    def digest(self) -> str:
        """Return a digest of its settings, its values for three probe images and the version of rankloom."""
        probes = self._probe_vectors()
        space = VectorSpace.of(probes, self._metric())
        distances = space.neighbors(space, len(probes))[1]
        distance = "a function" if is_function(self.compared) else self.compared  # known by its values
        own = (self.described.name, distance, self.longest_side)
        settings = (FORMAT, __version__, *own, probes.dtype.str, probes.shape)
        return digest_bytes(repr(settings).encode(), probes.tobytes(), distances.tobytes())

    def describe(self, image: Pixels) -> Array:
        """Return the vector, or the sequence of features, of one image."""
        small = image if self.longest_side is None else reduced(image, self.longest_side)
        vector = np.asarray(self.described.vector(small))
        name = self.described.name
        if vector.ndim != (1 if self._alignment is None else 2):
            wanted = "a vector" if self._alignment is None else "an array of shape (points, features)"
            raise InputError(f"The descriptor {name} must return {wanted}; got an array of shape {vector.shape}.")
        if not np.isfinite(vector).all():
            raise InputError(
                f"The descriptor {name} must return finite numbers; got {vector[~np.isfinite(vector)][0]}."
            )
        return vector

    def item_vectors(self, items: Contents, *, cache: Cache | None = None) -> Array:
        """Return the vectors of images, sequences end to end. Raise UnreadableItemsError if some cannot be read."""
        probe = self.describe(probe_images()[0])
        key = self.digest() if cache is not None and cache.folder is not None else ""
        store = FeatureStore(cache or Cache(None), key, probe.size)

        def describe(image: Pixels) -> Array:
            return self._of_shape(self.describe(image), probe.shape).ravel()

        vectors = extract_images(items, describe, self.described.name, store=store)
        return np.stack(vectors) if vectors else probe.reshape(1, -1)[:0]

    def query_vectors(self, queries: Contents, *, cache: Cache | None = None) -> Array:
        with all_readable():
            return self.item_vectors(queries, cache=cache)

    def _probe_vectors(self) -> Array:
        first, *others = (self.describe(image) for image in probe_images())
        return np.stack([first.ravel(), *(self._of_shape(other, first.shape).ravel() for other in others)])

    def _of_shape(self, vector: Array, shape: tuple[int, ...]) -> Array:
        if vector.shape != shape:
            sizes = " and ".join("x".join(map(str, sides)) for sides in (vector.shape, shape))
            raise InputError(
                f"The descriptor {self.described.name} must return vectors of the same length; got {sizes}."
            )
        return vector

    @property
    def _alignment(self) -> Alignment | None:
        compared = self.compared
        return (
            compared
            if isinstance(compared, Alignment)
            else ALIGNMENTS.get(compared if isinstance(compared, str) else "")
        )

    def _metric(self) -> Metric:
        if self._alignment is not None:
            return self._alignment.metric(self.describe(probe_images()[0]).shape)
        if isinstance(self.compared, str):
            return COMPARISONS[self.compared]
        return by_distance(of_pairs(self.compared))  # type: ignore[arg-type]  # not an alignment


class DescriptorRanker(ImageRanker, kw_only=False):
    """A ranker of images by a descriptor of your own.

    Attributes
    ----------
    name : str
        Name of the descriptor. Cached vectors are keyed by it, by the descriptor's values for three probe images, and
        by the version of rankloom. Rename your own descriptor if it changes in a way that the probes do not show.
    descriptor : callable
        uint8 RGB array of shape (height, width, 3) -> a vector, of the same length for all images; for an alignment an
        array of shape (points, features), the same for all.
    distance : str, Alignment or callable
        A metric (cosine, dot, l1, l2), a distance in `rankers.distances.DISTANCES`, an alignment or the name of one in
        `rankers.alignments.ALIGNMENTS`; or a function of two vectors that returns a number, called for every pair.
    longest_side : int, optional
        As in `ImageRanker`.

    Examples
    --------
    >>> mean = DescriptorRanker("mean", lambda image: image.mean(axis=(0, 1)), "l1")
    >>> images = [np.full((2, 2, 3), gray, np.uint8) for gray in (0, 90, 40)]
    >>> mean.fit(images).rank(depth=2).items
    array([[0, 2],
           [1, 2],
           [2, 0]], dtype=int32)
    >>> brighter = DescriptorRanker("mean", lambda image: image.mean(axis=(0, 1)), lambda x, y: abs(x - y).max())
    >>> brighter.fit(images).rank(depth=2).items.tolist()
    [[0, 2], [1, 2], [2, 0]]
    """

    name: str
    descriptor: Describe
    distance: str | Alignment | PairDistance

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.distance, Alignment) and not is_function(self.distance):
            check_choice("distance", self.distance, [*COMPARISONS, *ALIGNMENTS])

    @property
    def described(self) -> Descriptor:
        return Descriptor(self.name, self.descriptor)

    @property
    def compared(self) -> str | Alignment | PairDistance:
        return self.distance

    @property
    def symmetric(self) -> bool:  # type: ignore[override]  # of a function it is not known
        return not is_function(self.distance)


class VectorImageRanker(ImageRanker):
    """A ranker by a descriptor of ours that is a vector; `distance` compares it."""

    described: ClassVar[Descriptor]
    distance: Comparison

    @property
    def compared(self) -> str:
        return self.distance


class ShapeRanker(ImageRanker):
    """A ranker by a descriptor of ours that is a sequence; `penalty` is the price of a skipped point."""

    described: ClassVar[Descriptor]
    alignment: ClassVar[str]
    penalty: Annotated[float, Gt(0)]

    @property
    def compared(self) -> Alignment:
        return replace(ALIGNMENTS[self.alignment], penalty=self.penalty)


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


def _register(name: str, base: type[ImageRanker], vector: Describe, **own: Any) -> None:
    """Register the ranker of a descriptor, whose docstring it has; `own` are further members of the class."""
    members = {"described": Descriptor(name, vector), "__doc__": vector.__doc__, "__module__": __name__, **own}
    annotations = {key: base.__annotations__[key] for key in own.keys() & {"distance", "penalty"}}
    RANKERS.register(name)(type(name, (base,), {**members, "__annotations__": annotations}))


for _name, (_vector, _distance) in {**COLOR, **TEXTURE, **COMPOSITE, **DEEP}.items():
    _register(_name, VectorImageRanker, _vector, distance=_distance)
for _name, (_vector, _alignment, _penalty) in SHAPE.items():
    _register(_name, ShapeRanker, _vector, alignment=_alignment, penalty=_penalty)
