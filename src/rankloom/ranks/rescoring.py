"""Exact costs of a few candidates: the best ones of each query, with the bits of `VectorSpace.neighbors`."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from rankloom.ranks.arrays import PAD, Array, Float32s, Floats, Int32s
from rankloom.ranks.nearest import rounded
from rankloom.ranks.vector_space import COSINE_DECIMALS, MAX_LENGTH, VectorSpace

ROWS = 1024  # queries at a time


@dataclass(frozen=True, eq=False)
class Rescorer:
    """Vectors as the kernel takes them: float32 if that is exact, else float64, and their lengths."""

    space: VectorSpace
    vectors: Array
    lengths: Floats

    @classmethod
    def of(cls, space: VectorSpace) -> Self:
        """Convert vectors if need be."""
        given = space.vectors
        lengths = np.where(space.lengths > 0, space.lengths, 1.0)
        if lengths.min(initial=1) < 1 / MAX_LENGTH or lengths.max(initial=1) > MAX_LENGTH:
            return cls(space, space.prepared(), np.ones(len(space)))
        return cls(space, np.ascontiguousarray(given, np.result_type(given, np.float32)), lengths)

    def best(self, queries: VectorSpace, candidates: Int32s, depth: int, *, own: bool) -> tuple[Int32s, Float32s]:
        """Return the best of each query's candidates and their costs; PAD and 0 where there are fewer.

        Ties are ordered by number; if `own`, the first candidate of each query is the query itself, and comes first.
        """
        items, best = np.full((len(queries), depth), PAD, np.int32), np.zeros((len(queries), depth), np.float32)
        for start in range(0, len(queries), ROWS):
            some = candidates[start : start + ROWS]
            cost = self._costs(queries.subset(np.arange(start, start + len(some))), some)
            ties = some.copy()
            ties[:, : int(own)] = PAD
            order = np.lexsort((ties, cost))[:, :depth]
            found = np.take_along_axis(some, order, axis=1)
            items[start : start + ROWS, : found.shape[1]] = found
            cost = np.take_along_axis(cost, order, axis=1)
            best[start : start + ROWS, : found.shape[1]] = np.where(found >= 0, cost, 0)
        return items, best

    def _costs(self, queries: VectorSpace, candidates: Int32s) -> Float32s:
        """Return exact costs; inf where there is no candidate."""
        from rankloom._kernels.vectors.neighbors import products

        rows, values = queries.prepared(), np.empty(candidates.shape)
        products(0, len(rows), rows, self.vectors, candidates, values)
        values /= self.lengths[candidates]
        # As in `nearest`: where the interval of the error rounds to one float32, that is the cost.
        tolerance = 8 * (rows.shape[1] + 4) * float(np.finfo(np.float64).eps)
        low, high = (rounded(-np.round(values + error, COSINE_DECIMALS)) for error in (tolerance, -tolerance))
        query, place = np.nonzero(low != high)
        if len(query):
            exact = self.space.metric.exact(rows[query], self.space.prepared(candidates[query, place].astype(np.intp)))
            low[query, place] = rounded(exact)
        return np.where(candidates >= 0, low, np.float32(np.inf))
