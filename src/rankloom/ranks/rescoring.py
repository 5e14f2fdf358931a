"""Exact costs of a few candidates: the best ones of each query, with the bits of `VectorSpace.neighbors`."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from rankloom._kernels import contiguous
from rankloom.ranks.arrays import PAD, Array, Float32s, Floats, Int32s
from rankloom.ranks.nearest import rounded
from rankloom.ranks.vector_space import COSINE_DECIMALS, MAX_LENGTH, VectorSpace


@dataclass(frozen=True, eq=False)
class Rescorer:
    """Vectors as kernels take them, in float32 if that is exact, else in float64, and their lengths, for cosines."""

    space: VectorSpace
    vectors: Array
    lengths: Floats

    @classmethod
    def of(cls, space: VectorSpace) -> Self:
        """Convert vectors if need be."""
        given = space.vectors
        lengths = np.where(space.lengths > 0, space.lengths, 1.0)
        if lengths.min(initial=1) < 1 / MAX_LENGTH or lengths.max(initial=1) > MAX_LENGTH:
            return cls(space, contiguous(space.prepared()), contiguous(np.ones(len(space))))
        return cls(space, contiguous(given.astype(np.result_type(given, np.float32), copy=False)), contiguous(lengths))

    def best(
        self, queries: VectorSpace, candidates: Int32s, depth: int, *, own: bool = False
    ) -> tuple[Int32s, Float32s]:
        """Return the best of each query's candidates and their costs; PAD and 0 where there are fewer.

        Ties are ordered by number; but if `own`, the first candidate is the query itself, and comes first.
        """
        cost = self._costs(queries, candidates)
        ties = candidates.copy()
        ties[:, : int(own)] = PAD
        order = np.lexsort((ties, cost))[:, :depth]
        items, best = np.full((len(cost), depth), PAD, np.int32), np.zeros((len(cost), depth), np.float32)
        items[:, : order.shape[1]] = np.take_along_axis(candidates, order, axis=1)
        best[:, : order.shape[1]] = np.take_along_axis(cost, order, axis=1)
        return items, np.where(items == PAD, np.float32(0), best)

    def _costs(self, queries: VectorSpace, candidates: Int32s) -> Float32s:
        """Return exact costs; inf where there is no candidate."""
        from rankloom._kernels.vectors.neighbors import products

        rows, cosines = queries.prepared(), np.empty(candidates.shape)
        products(rows, self.vectors, candidates, cosines)
        cosines /= self.lengths[candidates]
        # As in `nearest`: where the interval of the error rounds to one float32, that is the cost.
        tolerance = 8 * (rows.shape[1] + 4) * float(np.finfo(np.float64).eps)
        low, high = (rounded(-np.round(cosines + error, COSINE_DECIMALS)) for error in (tolerance, -tolerance))
        missing = candidates == PAD
        query, place = np.nonzero((low != high) & ~missing)
        if len(query):
            items = self.space.prepared(candidates[query, place].astype(np.intp))
            low[query, place] = rounded(self.space.metric.exact(rows[query], items))
        return np.where(missing, np.float32(np.inf), low)
