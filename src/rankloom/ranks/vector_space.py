"""Exact search of vectors: a fast matrix product selects candidates, and exact costs rank them.

The last bits of a matrix product depend on the shape of the matrices. The costs here do not: the cost of a query and an
item has the same bits in any block, among any other items, and in float32 or float64.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloom._kernels.index.arguments import SparseRows
from rankloom.errors import InputError
from rankloom.ranks.arrays import PAD, Array, Float32s, Floats, Indexes, Int32s
from rankloom.ranks.nearest import Refinement, Search, check_finite, nearest, rounded, table
from rankloom.threads import one_blas_thread, run_blocks

COSINE_DECIMALS = 12  # rounding to this many makes parallel vectors tie
ROWS = 4096  # vectors that are measured at a time
CACHED_ROWS = 128  # vectors whose copies stay in the cache
MAX_BATCH = 1024  # queries for which float32 is faster: float64 vectors of all items would have to be made first
MAX_LENGTH = 1e15  # products of vectors of length 1 / MAX_LENGTH to MAX_LENGTH fit in float32
MAX_PLAIN_PAIRS = 16  # for more pairs, l1 distances use scipy.spatial, which takes a quarter second to import
MIN_SPARSE_LENGTH, SPARSITY = 1024, 8  # from this length, if fewer than 1 in SPARSITY values are nonzero, skip zeros

#: (queries, vectors) -> all distances, the same bits for a pair in any matrix
Distance = Callable[[Array, Array], Floats]


class Metric(NamedTuple):
    """A metric of vectors.

    With a matrix product, the approximate cost is ``factor * x.q``, plus the square of x if `squared`.
    """

    exact: Callable[[Floats, Floats], Floats]  # (one query, candidates) -> their costs
    distance: Distance | None = None  # of all pairs, exact, in place of a product; takes vectors as they are stored
    within: Callable[[Array], Float32s] | None = None  # distances of all pairs of a matrix, each computed once
    factor: float = -1.0
    squared: bool = False  # costs are distances, approximate costs their squares less that of the query
    unit: bool = False  # vectors are scaled to length 1, and costs rounded to COSINE_DECIMALS


def city_block(x: ArrayLike, y: ArrayLike) -> Floats:
    """Return l1 distances, summed pair by pair in the order of the columns; columns of zeros change no bit."""
    left, right = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(left) * len(right) <= MAX_PLAIN_PAIRS and left.size:
        return np.add.accumulate(np.abs(left[:, None] - right), axis=2)[:, :, -1]  # in order, unlike `sum`
    from scipy.spatial.distance import cdist

    used = left.any(axis=0) | right.any(axis=0)  # a joint histogram has few
    if not used.all():
        left, right = left[:, used], right[:, used]
    if right.shape[1] >= MIN_SPARSE_LENGTH and SPARSITY * np.count_nonzero(right) < right.size:
        return sparse_city_block(left, right)
    return np.asarray(cdist(left, right, "cityblock"))


def sparse_city_block(x: Floats, y: Floats) -> Floats:
    """Return the same bits from the nonzero values alone: about twenty times faster for joint histograms."""
    from scipy.sparse import csr_array

    from rankloom._kernels.image import cityblock

    def rows(dense: Floats) -> SparseRows:
        sparse = csr_array(dense)
        return SparseRows(sparse.indptr.astype(np.int64), sparse.indices.astype(np.int64), sparse.data)

    out = np.empty((len(x), len(y)))
    cityblock.sparse_city_block(rows(x), rows(y), out)
    return out


def by_distance(distance: Distance) -> Metric:
    """Return the metric of a distance, which is computed for every pair."""
    return Metric(lambda q, x: distance(q[None], x)[0], distance)


METRICS: dict[str, Metric] = {
    "cosine": Metric(lambda q, x: -np.round((x * q).sum(1), COSINE_DECIMALS), unit=True),
    "dot": Metric(lambda q, x: -(x * q).sum(1)),
    "l1": by_distance(city_block),
    "l2": Metric(lambda q, x: np.sqrt(((x - q) ** 2).sum(1)), factor=-2.0, squared=True),
}


@dataclass(frozen=True, eq=False)
class VectorSpace:
    """Vectors and what a search needs of each; made by `of`."""

    vectors: Array  #: as given: a memory map remains one
    lengths: Floats  #: Euclidean lengths
    counts: Int32s  #: how many numbers of each vector are not 0
    metric: Metric

    @classmethod
    def of(cls, given: ArrayLike, metric: Metric, name: str = "vectors") -> Self:
        """Check and measure vectors."""
        vectors = table(given, name)
        lengths, counts = np.zeros(len(vectors)), np.zeros(len(vectors), np.int32)
        for start in range(0, len(vectors), ROWS):
            rows = np.asarray(vectors[start : start + ROWS], np.float64)
            check_finite(rows, name, start)
            peaks = np.abs(rows).max(1, keepdims=True, initial=0.0)
            if not metric.unit and peaks.max(initial=0.0) > 1e100:
                raise InputError(
                    f"{name} must be below 1e100 in absolute value; got {peaks.max():.3g}. Scale them down."
                )
            counts[start : start + ROWS] = np.count_nonzero(rows, axis=1)
            with np.errstate(over="ignore"):  # the length is not needed if vectors are scaled to 1
                lengths[start : start + ROWS] = peaks[:, 0] * np.sqrt(((rows / _or_one(peaks)) ** 2).sum(1))
        return cls(vectors, lengths, counts, metric)

    @classmethod
    def restored(cls, arrays: Mapping[str, Array], metric: Metric) -> Self:
        """Return the space that `arrays` describes."""
        vectors, lengths, counts = (arrays.get(name, np.empty(())) for name in ("vectors", "lengths", "counts"))
        if (
            vectors.ndim != 2
            or vectors.dtype.kind not in "biuf"
            or not lengths.shape == counts.shape == vectors.shape[:1]
        ):
            raise InputError("The arrays must be a matrix of vectors, with a length and a count for each row.")
        if not (np.isfinite(lengths).all() and (lengths >= 0).all() and (counts >= 0).all()):
            raise InputError("The lengths and counts of the vectors must be finite and not negative.")
        check = partial(_check_block, vectors)
        run_blocks(check, len(vectors), stage="Checking vectors")
        return cls(vectors, lengths, counts, metric)

    def arrays(self) -> dict[str, Array]:
        """Return the vectors and their measures."""
        return {"vectors": self.vectors, "lengths": self.lengths, "counts": self.counts}

    def __len__(self) -> int:
        return len(self.vectors)

    def subset(self, numbers: NDArray[np.integer]) -> Self:
        """Return some of the vectors, in this order."""
        return type(self)(self.vectors[numbers], self.lengths[numbers], self.counts[numbers], self.metric)

    def joined(self, other: "VectorSpace") -> Self:
        """Return these vectors, followed by others of the same metric."""
        if not len(self):
            return type(self)(other.vectors, other.lengths, other.counts, self.metric)
        self.check_width(other, "the new vectors")
        vectors, lengths, counts = map(
            np.concatenate, zip(self.arrays().values(), other.arrays().values(), strict=True)
        )
        return type(self)(vectors, lengths, counts, self.metric)

    def neighbors(
        self,
        queries: "VectorSpace",
        depth: int,
        *,
        own: NDArray[np.integer] | None = None,
        among: NDArray[np.integer] | None = None,
        ceilings: Float32s | None = None,
    ) -> tuple[Int32s, Float32s]:
        """Return the nearest vectors of each query and their costs, as `nearest`; only those numbered in `among`."""
        self.check_width(queries)
        numbers = np.arange(len(self)) if among is None else np.asarray(among, np.intp)
        search = self._search(queries, None if among is None else numbers)
        places = None if own is None else _columns(own, numbers)
        items, cost = nearest(len(queries), len(numbers), depth, search, own=places, ceilings=ceilings)
        return items if among is None else np.append(numbers, PAD).astype(np.int32)[items], cost

    def below(self, queries: "VectorSpace", ceilings: Float32s) -> tuple[Indexes, Indexes, Float32s] | None:
        """Return the pairs of a query and one of a few vectors whose cost is below the query's ceiling, and the costs.

        The costs are those of `neighbors`. None if float32 cannot hold the queries, or the metric needs all distances.
        """
        single = None if self.metric.distance is not None else queries._single
        if single is None or not self._fits_single:
            return None
        self.check_width(queries)
        left, refine = (self.metric.factor * self.prepared()).astype(np.float32).T, queries._refinement(self, None)
        near: list[tuple[Indexes, Indexes]] = []

        def work(start: int, stop: int) -> None:
            values = single.vectors[start:stop] @ left
            if single.scales is not None:
                values *= single.scales[start:stop, None]
            if single.squares is not None:
                values += single.squares[start:stop, None]
            limits = refine.of_cost(ceilings[start:stop, None].astype(np.float64), slice(None)) + refine.tolerance
            rows, found = np.nonzero(values <= limits)
            near.append((rows + start, found))

        with one_blas_thread:
            run_blocks(work, len(queries), stage="Comparing vectors", block=ROWS)
        rows, found = map(np.concatenate, zip(*near, strict=True))
        order = np.lexsort((rows, found))
        rows, found = rows[order], found[order]
        ends = np.searchsorted(found, np.arange(len(self) + 1))
        costs = [rounded(refine.exact(at, rows[ends[at] : ends[at + 1]])) for at in range(len(self))]
        cost = np.concatenate(costs)
        below = cost < ceilings[rows]
        return rows[below], found[below], cost[below]

    def check_width(self, other: "VectorSpace", name: str = "queries") -> None:
        """Raise InputError if other vectors have another length; it does not matter if there are none."""
        width, mine = other.vectors.shape[1], self.vectors.shape[1]
        if width != mine and len(self) and len(other):
            raise InputError(f"{name} and vectors must have the same length; got {width} and {mine}.")

    def _search(self, queries: "VectorSpace", among: Indexes | None) -> Search:
        if self.metric.distance is not None:
            return self._by_distance(self.metric.distance, queries, among)
        if len(queries) <= MAX_BATCH and self._single is not None and queries._fits_single:
            return self._by_single(self._single, queries, among)
        return self._by_double(queries, among)

    def _by_distance(self, distance: Distance, queries: "VectorSpace", among: Indexes | None) -> Search:
        if queries is self and among is None and self.metric.within is not None:
            table = self.metric.within(self.vectors)
            return Search(lambda start, stop, out: np.copyto(out, table[start:stop]))
        left, right = queries.vectors, self.vectors[_all(among)]
        return Search(lambda start, stop, out: np.copyto(out, distance(left[start:stop], right)))

    def _by_double(self, queries: "VectorSpace", among: Indexes | None) -> Search:
        left, right = self.metric.factor * queries.prepared(), self.prepared(among).T
        squares = np.square(self.lengths[_all(among)])

        def costs(start: int, stop: int, out: Floats) -> None:
            np.matmul(left[start:stop], right, out=out)
            if self.metric.squared:
                out += squares

        return Search(costs, self._refinement(queries, among, np.float64), np.float64)

    def _by_single(self, single: "_Single", queries: "VectorSpace", among: Indexes | None) -> Search:
        left = (self.metric.factor * queries.prepared()).astype(np.float32)
        few = among is not None and 4 * len(among) < len(self)  # then gathering them is faster than comparing all
        vectors = single.vectors[among] if few else single.vectors

        def costs(start: int, stop: int, out: Float32s) -> None:
            if few or among is None:
                np.matmul(left[start:stop], vectors.T, out=out)
            else:
                np.take(left[start:stop] @ vectors.T, among, axis=1, out=out)
            if single.scales is not None:
                out *= single.scales[_all(among)]
            if single.squares is not None:
                out += single.squares[_all(among)]

        return Search(costs, self._refinement(queries, among, np.float32), np.float32)

    def _refinement(self, queries: "VectorSpace", among: Indexes | None, dtype: type = np.float32) -> Refinement:
        """Return the exact costs, and the error of a product."""
        # The error of a sum is less than eps times the number of its nonzero terms times the sum of their sizes; 4 is
        # ample for the scaling, both costs and the rounding of the vectors.
        metric = self.metric
        squares = np.ones(len(queries)) if metric.unit else np.square(queries.lengths)
        size = squares + (1.0 if metric.unit else np.square(self.lengths.max(initial=0.0)))
        terms = np.minimum(queries.counts + self.counts.max(initial=0), self.vectors.shape[1]) + 4.0
        tolerance = 4 * terms * float(np.finfo(dtype).eps) * size

        def exact(query: int, columns: Indexes) -> Floats:
            one, numbers = queries.prepared(slice(query, query + 1))[0], columns if among is None else among[columns]
            starts = range(0, len(numbers), CACHED_ROWS) or (0,)
            return np.concatenate([metric.exact(one, self.prepared(numbers[s : s + CACHED_ROWS])) for s in starts])

        if metric.squared:
            return Refinement(
                tolerance,
                exact,
                lambda values, query: np.sqrt(np.maximum(values + squares[query], 0)),
                lambda costs, query: np.square(costs) - squares[query],
            )
        if metric.unit:
            ulp = 10.0**-COSINE_DECIMALS
            return Refinement(tolerance, exact, lambda v, _: np.round(v, COSINE_DECIMALS), lambda c, _: c + ulp)
        return Refinement(tolerance, exact)

    def prepared(self, numbers: Indexes | slice | None = None) -> Floats:
        """Return some vectors in float64, for the cosine with length 1: the same bits however many there are."""
        x = np.ascontiguousarray(self.vectors[_all(numbers)], np.float64)
        if not self.metric.unit:
            return x
        # Divide by the largest absolute value first, so that no square underflows or overflows.
        x = x / _or_one(np.abs(x).max(1, keepdims=True, initial=0.0))
        return x / _or_one(np.sqrt((x * x).sum(1, keepdims=True)))

    @cached_property
    def _fits_single(self) -> bool:
        """Whether float32 holds the lengths, and 0 only for vectors of zeros."""
        if self.metric.unit:
            return True
        return not len(self) or 1 / MAX_LENGTH < self.lengths.max() < MAX_LENGTH

    @cached_property
    def _single(self) -> "_Single | None":
        """The vectors in float32; not copied if they were given in float32."""
        if not self._fits_single:
            return None
        given = self.vectors.dtype == np.float32
        if not self.metric.unit:
            squares = np.square(self.lengths).astype(np.float32) if self.metric.squared else None
            return _Single(np.asarray(self.vectors, np.float32), None, squares)
        lengths = _or_one(self.lengths)
        if given and lengths.min(initial=1) > 1 / MAX_LENGTH and lengths.max(initial=1) < MAX_LENGTH:
            return _Single(np.asarray(self.vectors), (1 / lengths).astype(np.float32), None)
        parts = (self.prepared(slice(start, start + ROWS)) for start in range(0, len(self), ROWS))
        whole = np.empty(self.vectors.shape, np.float32)
        for number, part in enumerate(parts):
            whole[number * ROWS : number * ROWS + len(part)] = part
        return _Single(whole, None, None)


class _Single(NamedTuple):
    """Vectors in float32, factors of their products, and the squares of their lengths."""

    vectors: Float32s
    scales: Float32s | None
    squares: Float32s | None


def _all(numbers: Indexes | slice | None) -> Indexes | slice:
    return slice(None) if numbers is None else numbers


def _columns(own: NDArray[np.integer], numbers: Indexes) -> Indexes:
    """Return the index of each number in `numbers`, which ascend; -1 where it is missing."""
    indices = np.searchsorted(numbers, own)
    return np.where(np.append(numbers, -1)[indices] == own, indices, -1)


def _or_one(norms: Floats) -> Floats:
    """Replace norms of 0 by 1, so that a zero vector stays zero and has cosine 0 with everything."""
    return np.where(norms > 0, norms, 1.0)


def _check_block(vectors: Array, start: int, stop: int) -> None:
    check_finite(vectors[start:stop], "vectors", start)
