"""Cells of near vectors, for cosines: groups in which neighbors are looked for.

Vectors are rounded to whole numbers here, so that their float32 products are exact. A vector of length 1 is multiplied
by a little less than 2^12, such that its length stays below 2^12 when its numbers are rounded. By the inequality of
Cauchy and Schwarz, the sum of any terms of a product is then below 2^24 in absolute value, and float32 holds all whole
numbers up to there: whatever the order in which a matrix product adds them up, in blocks of any shape and on any number
of threads, no bit is lost. What follows from these products (the cell of an item, the cells that it looks into, the
pairs that are compared, the best of them) is the same everywhere. These cosines are off by about 1e-4.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from rankloom.errors import InputError, check_choice, check_range
from rankloom.ranks.arrays import Array, Float32s, Indexes, Int32s, Numbers
from rankloom.ranks.vector_space import METRICS, ROWS, VectorSpace
from rankloom.threads import cut_blocks, one_blas_thread

#: auto: cells for more than MAX_EXACT items and lists up to MAX_DEPTH, for which recall is measured.
ALGORITHMS = ("auto", "exact", "cells")
MAX_EXACT, MAX_DEPTH = 20_000, 100
RECALL = 0.95  # by default
LENGTH = 4095.0  # of a rounded vector, at most
SAMPLE, ROUNDS = 24, 4  # items for each cell in the sample of k-means, and its rounds
DENSITY, MIN_CELL = 1.5, 64  # cells per root of n, and items per cell, at least on average
MAX_CELL, SPLITS = 4, 4  # a cell of more than so many times the mean is split, so often at most


def check_algorithm(algorithm: str, metric: str, recall: float = RECALL) -> None:
    """Raise InputError if there is no such algorithm, or it does not support a metric."""
    check_choice("algorithm", algorithm, ALGORITHMS)
    check_choice("metric", metric, METRICS)
    check_range(0, 1, recall=recall)
    if algorithm == "cells" and not METRICS[metric].unit:
        raise InputError(f"algorithm=cells supports cosine; got {metric}. Use algorithm=exact.")


class WholeRows(NamedTuple):
    """Rounded vectors."""

    rows: Array  #: int16
    length: float  #: before they were rounded
    error: float  #: the largest change, for vectors of length 1

    @classmethod
    def of(cls, space: VectorSpace) -> Self:
        """Round vectors."""
        rows: Array = np.empty(space.vectors.shape, np.int16)
        length, error = _length(rows.shape[1]), 0.0
        for start, stop in cut_blocks(len(space), ROWS):
            exact = space.prepared(slice(start, stop)) * length
            whole = np.rint(exact)
            rows[start:stop] = whole
            error = max(error, float(np.square(exact - whole).sum(axis=1).max(initial=0.0)))
        return cls(rows, length, math.sqrt(error) / length)


class Rounded(NamedTuple):
    """Rounded vectors without repetition, and which of them each item has."""

    rows: Array  #: int16, of shape (m, d)
    first: Indexes  #: the first item that has each row
    group: Indexes  #: the row of each item

    @classmethod
    def of(cls, space: VectorSpace) -> Self:
        """Round vectors; those that are then equal, such as zeros, are one row."""
        rows = WholeRows.of(space).rows
        first, group = _distinct(rows)
        return cls(rows if len(first) == len(rows) else rows[first], first, group)


def _length(width: int) -> float:
    """Return the length of vectors before they are rounded, which adds at most half the root of the width."""
    return LENGTH - math.sqrt(width) / 2


def _distinct(rows: Array) -> tuple[Indexes, Indexes]:
    """Return the numbers of the first row of each kind, and the kind of each row."""
    factors = np.random.default_rng(0).integers(-(2**62), 2**62, rows.shape[1])
    keys = np.empty(len(rows), np.int64)
    for start, stop in cut_blocks(len(rows), ROWS):
        keys[start:stop] = rows[start:stop] @ factors
    _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[kind] != np.arange(len(rows)))
    if not np.array_equal(rows[again], rows[first[kind[again]]]):  # different rows have the same key
        _, first, kind = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[kind]


@dataclass(frozen=True, eq=False)
class Cells:
    """The centers of cells, and the cell of each item."""

    centers: Float32s  #: whole numbers, as rounded vectors
    own: Int32s

    @classmethod
    def of(cls, space: VectorSpace) -> Self:
        """Make cells of vectors."""
        rounded = Rounded.of(space)
        with one_blas_thread:
            cells = cls.of_rows(rounded.rows)
        return cls(cells.centers, cells.own[rounded.group])

    @classmethod
    def of_rows(cls, rows: Array) -> Self:
        """Make cells of different rounded vectors, by k-means on a sample; large cells are split again."""
        order = np.random.default_rng(0).permutation(len(rows))
        centers = _k_means(rows[order[: SAMPLE * n_cells(len(rows))]], n_cells(len(rows)))
        cells = cls(centers, nearest_centers(rows, centers))
        for _ in range(SPLITS):
            cells = cells._split(rows, len(rows) / n_cells(len(rows)))
        return cells

    def _split(self, rows: Array, mean: float) -> Self:
        """Return the cells with large ones in parts of about the mean size."""
        sizes, centers, own = np.bincount(self.own, minlength=len(self.centers)), [self.centers.copy()], self.own.copy()
        for cell in np.flatnonzero(sizes > MAX_CELL * mean):
            members = np.flatnonzero(self.own == cell)
            n_parts = int(np.ceil(len(members) / mean))
            parts = _k_means(rows[members[:: max(1, len(members) // (SAMPLE * n_parts))]], n_parts)
            numbers = np.append(cell, sum(map(len, centers)) + np.arange(n_parts - 1))
            own[members] = numbers[nearest_centers(rows[members], parts)]
            centers[0][cell] = parts[0]
            centers.append(parts[1:])
        return type(self)(np.concatenate(centers), own)

    @classmethod
    def restored(cls, arrays: Mapping[str, Array], n_items: int, width: int) -> Self:
        """Return the cells that `arrays` describes, after checks."""
        centers, own = arrays["centers"], arrays["cell"]
        if centers.ndim != 2 or centers.dtype != np.float32 or centers.shape[1] != width:
            raise InputError(f"The centers of cells must be float32 and {width} wide; got {centers.shape}.")
        length = np.sqrt(np.square(centers, dtype=np.float64).sum(1)).max(initial=0.0)
        if not length <= LENGTH or (centers != np.rint(centers)).any():
            raise InputError("The centers of cells must be whole numbers, and not too long.")
        if (
            own.shape != (n_items,)
            or own.dtype != np.int32
            or own.min(initial=0) < 0
            or own.max(initial=0) >= max(len(centers), 1)
        ):
            raise InputError("The cells of items are out of range.")
        return cls(centers, own)

    def arrays(self) -> dict[str, Array]:
        """Return the centers, and the cell of each item."""
        return {"centers": self.centers, "cell": self.own}

    def subset(self, numbers: Numbers) -> Self:
        """Return the same cells with some of the items, in this order."""
        return type(self)(self.centers, self.own[numbers])

    def appended(self, space: VectorSpace) -> Self:
        """Return the same cells with more items, each in the nearest one."""
        rounded = Rounded.of(space)
        more = nearest_centers(rounded.rows, self.centers)[rounded.group]
        return type(self)(self.centers, np.concatenate([self.own, more]))

    def looked_into(self, rows: Array, more: int, fewer: int = 0) -> Iterator[tuple[Indexes, Indexes]]:
        """Yield numbers of rows and the cells that they look into: the `more` nearest, with ties, less the `fewer`."""
        for start, stop in cut_blocks(len(rows), ROWS):
            products = _products(rows[start:stop], self.centers)
            looks = products >= _nth_largest(products, more)
            if fewer:
                looks &= products < _nth_largest(products, fewer)
            found, cells = np.nonzero(looks)
            yield found + start, cells

    def positions(self, rows: Array, cells: Int32s) -> Indexes:
        """Return how many cells are nearer to each row than one of them."""
        found = np.empty(len(rows), np.intp)
        for start, stop in cut_blocks(len(rows), ROWS):
            products = _products(rows[start:stop], self.centers)
            one = np.take_along_axis(products, cells[start:stop, None], axis=1)
            found[start:stop] = (products > one).sum(axis=1)
        return found


def made_cells(algorithm: str, space: VectorSpace, depth: int = 1) -> Cells | None:
    """Return the cells of vectors; None where lists of this depth are made without."""
    large = len(space) > 0 if algorithm == "cells" else len(space) > MAX_EXACT and depth <= MAX_DEPTH
    return Cells.of(space) if large and algorithm != "exact" and space.metric.unit else None


def n_cells(n: int) -> int:
    """Return how many cells n items have: a power of two."""
    wanted = round(np.log2(DENSITY * np.sqrt(max(n, 1))))
    return int(2 ** max(0, min(wanted, np.floor(np.log2(max(n, 1) / MIN_CELL)))))


def _k_means(sample: Array, n: int) -> Float32s:
    """Return n centers of directions; those of empty cells stay where they were."""
    from scipy.sparse import csr_array

    centers = sample[:: max(1, len(sample) // n)][:n].astype(np.float32)
    for _ in range(ROUNDS):
        own = nearest_centers(sample, centers)
        members = csr_array((np.ones(len(sample)), (own, np.arange(len(sample)))), (n, len(sample)))
        sums = members @ sample.astype(np.float64)  # whole numbers
        lengths = np.sqrt(np.add.accumulate(sums * sums, axis=1)[:, -1:])  # in order, unlike `sum`
        moved = np.rint(sums * (_length(sample.shape[1]) / np.where(lengths > 0, lengths, 1)))
        centers = np.where(lengths > 0, moved, centers).astype(np.float32)
    return centers


def nearest_centers(rows: Array, centers: Float32s) -> Int32s:
    """Return the cell of each row: that of the largest product, the first of several."""
    own = np.empty(len(rows), np.int32)
    for start, stop in cut_blocks(len(rows), ROWS):
        own[start:stop] = _products(rows[start:stop], centers).argmax(axis=1)
    return own


def _products(rows: Array, centers: Float32s) -> Float32s:
    return rows.astype(np.float32) @ centers.T


def _nth_largest(products: Float32s, n: int) -> Float32s:
    """Return the n-th largest product of each row, as a column."""
    at = max(products.shape[1] - n, 0)
    return np.partition(products, at, axis=1)[:, at, None]
