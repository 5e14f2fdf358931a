"""Embeddings and other feature vectors, ranked by nearness: exact, by blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.cache import Cache
from rankloom.engine.local import Progress
from rankloom.rankers.ranker import register
from rankloom.ranks import Ranks


@register("vectors")
@dataclass(frozen=True, slots=True)
class Vectors:
    """Nearest vectors of one part of the collection, a matrix.

    Attributes
    ----------
    part : str
        Name of the matrix in the collection.
    metric : {"cosine", "dot", "l1", "l2"}

    Examples
    --------
    >>> Vectors(part="pixels", metric="l2").fit([[0.0], [5.0], [1.0]]).rank(depth=2).items
    array([[0, 2],
           [1, 2],
           [2, 0]], dtype=int32)
    """

    part: str = "vectors"
    metric: str = "cosine"

    def fit(
        self, items: Sequence[Any], *, cache: Cache | None = None, progress: Progress | None = None
    ) -> FittedVectors:
        """Take the vectors of the items."""
        return FittedVectors(np.asarray(items), self.metric)


@dataclass(frozen=True, slots=True, eq=False)
class FittedVectors:
    """Vectors of a collection, to rank by."""

    vectors: NDArray[Any]
    metric: str

    def rank(
        self, *, queries: Sequence[Any] | None = None, depth: int = 1000, progress: Progress | None = None
    ) -> Ranks:
        """Rank the items for each of them, or for the vectors of queries from outside."""
        asked = None if queries is None else np.asarray(queries)
        return Ranks.from_vectors(self.vectors, self.metric, depth, queries=asked)
