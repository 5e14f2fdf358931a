"""Rankers by embeddings: an encoder maps texts or images to vectors, and a metric ranks them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rankloom.datasets.collection import Contents
from rankloom.datasets.images import ImageError
from rankloom.errors import InputError, check_choice, whole_number
from rankloom.io.cache import Cache, digest_bytes
from rankloom.io.version import __version__
from rankloom.rankers.image.descriptor_ranker import probe_images
from rankloom.rankers.image.image_features import (
    IMAGES,
    TEXTS,
    FeatureStore,
    ItemKind,
    Vector,
    all_readable,
    extract,
    pixels,
)
from rankloom.rankers.text.terms import check_texts
from rankloom.rankers.vectors.vectors import Algorithm, FittedVectors
from rankloom.ranks.arrays import Array
from rankloom.ranks.cells import RECALL, check_algorithm
from rankloom.ranks.vector_space import METRICS, VectorSpace
from rankloom.threads import report

#: A list of contents (texts, or images as uint8 RGB arrays) -> a matrix of floats with a row for each
Encode = Callable[[list[Any]], ArrayLike]

FORMAT = 1  # of cached vectors
BATCH = 64  # contents per call of an encoder
KINDS: Mapping[str, ItemKind] = {"texts": TEXTS, "images": IMAGES}
PROBES = (
    "A supersonic flow past a blunt body heats the body.",
    "Patients of high age",
    "Children played chess in the garden until the rain came, and 12 of 30 went home at 5 o'clock.",
)


@dataclass(frozen=True, slots=True)
class EncoderRanker:
    """Nearest neighbors of the vectors that an encoder returns for texts or images.

    If the vector of a content depends on the others in a batch, as with padding or dynamic quantization, then so do
    the lists; encode one at a time where that matters.

    Attributes
    ----------
    name : str
        Named in errors. Cached vectors are keyed by it, by the vectors of three probes, and by the version of
        rankloom. Rename your own encoder if it changes, but not for the probes.
    encode : callable, optional
        A list of contents -> an array of floats with a row for each. Texts come as str, images as uint8 RGB arrays of
        shape (height, width, 3). Without it, a restored ranker still ranks for items and for vectors.
    part : {"texts", "images"}
    metric : {"cosine", "dot", "l1", "l2"}
    comparable : bool, optional
        Whether external queries are like items, so that their scores can be compared; by default for images.
    batch : int
        Maximum number of contents in a call of `encode`.
    algorithm, recall
        As in `Vectors`.

    Examples
    --------
    >>> lengths = EncoderRanker("lengths", lambda texts: np.array([[1.0, len(text)] for text in texts]))
    >>> fitted = lengths.fit(["a", "four", "three"])
    >>> fitted.rank(queries=["xxxx"], depth=2).items
    array([[1, 2]], dtype=int32)
    """

    symmetric: ClassVar[bool] = True  #: of two vectors

    name: str
    encode: Encode | None = None
    part: str = "texts"
    metric: str = "cosine"
    comparable: bool | None = None
    batch: int = field(default=BATCH, kw_only=True)
    algorithm: Algorithm = field(default="auto", kw_only=True)
    recall: float = field(default=RECALL, kw_only=True)

    def __post_init__(self) -> None:
        check_choice("part of an encoder", self.part, KINDS)
        check_algorithm(self.algorithm, self.metric, self.recall)
        whole_number("batch", self.batch)
        if self.comparable is None:
            object.__setattr__(self, "comparable", self.part == "images")

    def fit(self, items: Contents, *, cache: Cache | None = None) -> FittedVectors:
        """Encode the items in batches. The cache stores each vector."""
        return self._fitted(self.item_vectors(items, cache=cache)).with_cells()

    def restored(self, arrays: Mapping[str, Array]) -> FittedVectors:
        return self._fitted(np.empty((0, 0))).restored(arrays)

    def _fitted(self, vectors: Array) -> FittedVectors:
        space = VectorSpace.of(vectors, METRICS[self.metric])
        return FittedVectors(self, space, algorithm=self.algorithm, recall=self.recall)

    def digest(self) -> str:
        """Return a digest of its settings, the vectors of three probes and the version of rankloom."""
        return self._digest(self._probe_vectors())

    def _digest(self, probes: Array) -> str:
        settings = (FORMAT, __version__, self.name, self.part, self.metric, probes.dtype.str, probes.shape)
        return digest_bytes(repr(settings).encode(), probes.tobytes())

    def item_vectors(self, items: Contents, *, cache: Cache | None = None) -> Array:
        """Return the vectors of items. Raise UnreadableItemsError if images cannot be read."""
        contents = check_texts(items, "items") if self.part == "texts" else items
        vectors = extract(contents, self._encode_all, store=self._store(cache), kind=KINDS[self.part])
        if len({vector.shape for vector in vectors}) > 1:
            lengths = sorted({vector.size for vector in vectors})
            raise InputError(f"The encoder of {self.name} must return vectors of one length; got {lengths}.")
        return np.stack(vectors) if vectors else np.empty((0, 0), np.float32)

    def query_vectors(self, queries: Contents, *, cache: Cache | None = None) -> Array:
        if self.part == "texts":
            queries = check_texts(queries, "queries")
        with all_readable():
            return self.item_vectors(queries)

    def _store(self, cache: Cache | None) -> FeatureStore:
        if cache is None or cache.folder is None:
            return FeatureStore(Cache(None), "", 0)
        probes = self._probe_vectors()
        return FeatureStore(cache, self._digest(probes), probes.shape[1])

    def _probe_vectors(self) -> Array:
        return self._matrix([*PROBES] if self.part == "texts" else list(probe_images()))

    def _encode_all(self, items: Contents) -> list[Vector | str]:
        """Return the vector of each item, or the reason why it cannot be read."""
        results: list[Vector | str] = []
        for start in range(0, len(items), self.batch):
            contents = [self._content(item) for item in items[start : start + self.batch]]
            readable = [content for content in contents if not isinstance(content, ImageError)]
            rows = iter(self._matrix(readable) if readable else ())
            results += [str(content) if isinstance(content, ImageError) else next(rows) for content in contents]
            report(f"Encoding {self.name}", len(results), len(items))
        return results

    def _content(self, item: Any) -> Any:
        if self.part == "texts":
            return item
        try:
            return pixels(item)
        except ImageError as error:
            return error

    def _matrix(self, contents: list[Any]) -> Array:
        """Return what the encoder gives for some contents, after checks."""
        if self.encode is None:
            raise InputError(
                f"The ranker {self.name} has no encoder for new {self.part}; give the one it was made with."
            )
        given = self.encode(contents)
        try:
            rows = np.asarray(given)
        except ValueError:  # rows of different lengths
            rows = np.empty(0, object)
        if rows.ndim != 2 or len(rows) != len(contents) or rows.dtype.kind != "f":
            raise InputError(
                f"The encoder of {self.name} must return a matrix of floats with a row for each of {len(contents)} "
                f"{self.part}; got {rows.dtype} of shape {rows.shape}."
            )
        if not np.isfinite(rows).all():
            raise InputError(
                f"The encoder of {self.name} must return finite numbers; got {rows[~np.isfinite(rows)][0]}."
            )
        return rows
