"""The nearest vectors of one external query, by cosine: from a scan of rounded vectors, or a walk along lists.

A scan reads half of what vectors in float32 take, and is exact: all that rounding may have moved is looked at again. A
walk enters by the nearest cells, and goes on along the lists of all items, which are a graph; it finds most of the
nearest, in a time that hardly depends on the number of items.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankloom._kernels import contiguous
from rankloom._kernels.vectors.arguments import Found, Graph
from rankloom.ranks.arrays import PAD, Array, Bools, Float32s, Indexes, Int32s
from rankloom.ranks.cells import Cells, WholeRows
from rankloom.ranks.nearest import upper_bounds
from rankloom.ranks.rescoring import Rescorer
from rankloom.ranks.vector_space import VectorSpace
from rankloom.threads import Scratch

MIN_SCANNED = 5_000  # vectors: fewer are as quickly compared in float32
MAX_SCANNED = 100_000  # more are walked along
N_CELLS, ROUNDS, WIDTH = 16, 8, 60  # cells to enter by; rounds along lists of the best found, and how much of each
MIN_BEAM, MAX_BEAM = 100, 1000  # items that are kept on the way: as many as are wanted, but at least the former


@dataclass(frozen=True, eq=False)
class QuerySearch:
    """Vectors, and what a walk needs: their cells, and the lists of all items."""

    space: VectorSpace
    cells: Cells | None = None
    lists: Int32s | None = None

    def nearest(self, query: VectorSpace, depth: int, allowed: Bools | None, *, exact: bool) -> tuple[Int32s, Float32s]:
        """Return the nearest items of a query, only allowed ones, and their costs; most of them, unless `exact`."""
        enough = allowed is None or 2 * np.count_nonzero(allowed) > len(allowed)
        walks = self.lists is not None and len(self.space) > MAX_SCANNED and depth <= MAX_BEAM and enough
        return (self.walk if walks and not exact else self.scan)(query, depth, allowed)

    def scan(self, query: VectorSpace, depth: int, allowed: Bools | None = None) -> tuple[Int32s, Float32s]:
        """Return the nearest items of a query, only allowed ones, and their costs, as `VectorSpace.neighbors`."""
        from rankloom._kernels.vectors.neighbors import whole_products

        self.space.check_width(query)
        mine, theirs, costs = WholeRows.of(query), self._whole, np.empty((1, len(self.space)), np.float32)
        whole_products(mine.rows[0], contiguous(theirs.rows), costs[0])
        np.negative(costs, out=costs)
        if allowed is not None:
            costs[0, ~allowed] = np.inf
        depth = min(depth, len(self.space))
        # The costs of `depth` items are within a bound; those that are exactly within it are, up to both errors.
        error = mine.error + 1.01 * theirs.error + 1e-6  # of the query, of an item, and of float32
        near = costs[0] <= upper_bounds(costs, max(depth, 1))[0] + 2 * error * mine.length**2
        candidates = np.flatnonzero(near & (costs[0] < np.inf)).astype(np.int32)
        return self._rescorer.best(query, candidates[None], depth)

    def walk(self, query: VectorSpace, depth: int, allowed: Bools | None = None) -> tuple[Int32s, Float32s]:
        """Return near items of a query, only allowed ones, and their exact costs; PAD and 0 where it finds fewer."""
        from rankloom._kernels.vectors.neighbors import walk

        self.space.check_width(query)
        found, best = (_empty(size) for size in (max(depth, MIN_BEAM), depth if allowed is not None else 0))
        mask = contiguous(np.empty(0, np.bool_) if allowed is None else allowed)
        limits, rows = (ROUNDS, min(WIDTH, self._graph.lists.shape[1])), WholeRows.of(query).rows
        with self._seen.borrowed() as seen:
            walk(rows[0], self._entries(rows), self._graph, mask, limits, seen, found, best)
        items = found.items if allowed is None else best.items
        return self._rescorer.best(query, items[None], depth)

    @cached_property
    def _whole(self) -> WholeRows:
        return WholeRows.of(self.space)

    @cached_property
    def _graph(self) -> Graph:
        assert self.lists is not None
        return Graph(contiguous(self._whole.rows), contiguous(self.lists))

    @cached_property
    def _rescorer(self) -> Rescorer:
        return Rescorer.of(self.space)

    @cached_property
    def _seen(self) -> Scratch:
        return Scratch(len(self.space))

    @cached_property
    def _members(self) -> tuple[Indexes, Indexes]:
        """The items by cell, and where each cell starts."""
        assert self.cells is not None
        order = np.argsort(self.cells.own, kind="stable")
        return order, np.searchsorted(self.cells.own[order], np.arange(len(self.cells.centers) + 1))

    def _entries(self, rows: Array) -> Indexes:
        """Return the items of the cells nearest to a query."""
        assert self.cells is not None
        [(_, cells)] = self.cells.looked_into(rows, N_CELLS)
        order, ptr = self._members
        return np.concatenate([order[ptr[cell] : ptr[cell + 1]] for cell in cells])


def is_single(queries: VectorSpace, space: VectorSpace) -> bool:
    """Return True if these are queries for a `QuerySearch`."""
    return len(queries) == 1 and space.metric.unit and len(space) >= MIN_SCANNED


def _empty(size: int) -> Found:
    return Found(np.full(size, PAD, np.int32), np.full(size, -np.inf, np.float32))
