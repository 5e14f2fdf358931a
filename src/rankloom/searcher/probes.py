"""Probes of an encoder: a few contents with their vectors, which show whether it is still the same encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankloom.datasets.images import reduced
from rankloom.errors import InputError
from rankloom.rankers.image.image_features import pixels
from rankloom.rankers.vectors.encoder import EncoderRanker
from rankloom.ranks.arrays import Array

N_PROBES = 8
SAMPLE = 1000  # contents to choose the probes from
MAX_TEXT, MAX_SIDE = 10_000, 512  # characters, pixels: longer contents are cut or reduced
MIN_COSINE = 0.999

Arrays = dict[str, Array]
Content = str | Array  #: a text, or an image of uint8


@dataclass(frozen=True, slots=True, eq=False)
class Probes:
    """Contents that differ, and the vectors that an encoder returned for them, all in one call."""

    contents: Sequence[Content]
    vectors: Array  #: a row for each

    @classmethod
    def of(cls, ranker: EncoderRanker, items: Sequence[object], vectors: Array) -> Probes:
        """Return probes chosen from the items that an encoder has encoded."""
        contents = [_short(items[number]) for number in _different(vectors)]
        return cls(contents, ranker.query_vectors(contents))

    def cosine(self, ranker: EncoderRanker) -> float:
        """Return the smallest cosine of the stored vectors with those that an encoder returns now."""
        vectors = ranker.query_vectors(self.contents)
        if vectors.shape != self.vectors.shape:
            raise InputError(
                f"The encoder of {ranker.name} returns {vectors.shape[1]} numbers, but the stored vectors have "
                f"{self.vectors.shape[1]}; give the encoder that they were made with, or build again."
            )
        return float(_cosines(vectors, self.vectors).min(initial=1.0))

    def check(self, ranker: EncoderRanker) -> None:
        """Raise InputError if an encoder returns other vectors than when the searcher was built."""
        cosine = self.cosine(ranker)
        if cosine < MIN_COSINE:
            raise InputError(
                f"The encoder of {ranker.name} returns different vectors for stored {ranker.part} (cosine "
                f"{cosine:.4f}, at least {MIN_COSINE} is expected); give the encoder that computed the stored ones, "
                "or build again."
            )

    def arrays(self) -> Arrays:
        """Return the arrays that are stored: the bytes of all contents, where each ends, and the shapes of images."""
        raw = [_raw(content) for content in self.contents]
        shapes = [(0, 0, 0) if isinstance(content, str) else (*content.shape, 0)[:3] for content in self.contents]
        return {
            "bytes": np.frombuffer(b"".join(raw), np.uint8),
            "ends": np.cumsum([len(content) for content in raw], dtype=np.int64),
            "shapes": np.array(shapes, np.int64),
            "vectors": self.vectors,
        }

    @classmethod
    def restored(cls, arrays: Mapping[str, Array]) -> Probes:
        """Return the probes that `arrays` describes."""
        pieces = np.split(arrays["bytes"], arrays["ends"][:-1])
        contents = [
            piece.reshape([n for n in shape if n]) if any(shape) else piece.tobytes().decode("utf-8", "surrogatepass")
            for piece, shape in zip(pieces, arrays["shapes"].tolist(), strict=True)
        ]
        return cls(contents, arrays["vectors"])


def _raw(content: Content) -> bytes:
    return content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content.tobytes()


def _short(item: object) -> Content:
    if isinstance(item, str):
        return item[:MAX_TEXT]
    return np.ascontiguousarray(reduced(pixels(item).astype(np.uint8, copy=False), MAX_SIDE))


def _different(vectors: Array) -> list[int]:
    """Return the numbers of vectors that point in different directions: each is the farthest from those before it."""
    sample = np.unique(np.linspace(0, len(vectors) - 1, min(SAMPLE, len(vectors))).astype(np.intp))
    chosen, nearest = [0], np.full(len(sample), -np.inf)
    while len(chosen) < min(N_PROBES, len(sample)):
        last = vectors[sample[chosen[-1]]]
        nearest = np.maximum(nearest, _cosines(vectors[sample], np.broadcast_to(last, (len(sample), len(last)))))
        nearest[chosen] = np.inf
        chosen.append(int(nearest.argmin()))
    numbers: list[int] = sample[chosen].tolist()
    return numbers


def _cosines(first: Array, second: Array) -> NDArray[np.float64]:
    """Return the cosine of each pair of rows; two rows of zeros are equal."""
    first, second = first.astype(np.float64), second.astype(np.float64)
    lengths = np.linalg.norm(first, axis=1), np.linalg.norm(second, axis=1)
    products = np.where(lengths[0] * lengths[1] > 0, lengths[0] * lengths[1], 1.0)
    cosines: NDArray[np.float64] = (first * second).sum(axis=1) / products
    return np.where((lengths[0] == 0) & (lengths[1] == 0), 1.0, cosines)
