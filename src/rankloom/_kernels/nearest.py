"""Exact nearest neighbors by blocks of queries: arrays in, arrays out, never an n x n array.

A block of rough costs (smaller is better) is made, each row's candidates are taken and their exact costs are
sorted; equal costs come in the order of item numbers, the item itself before the others.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloom.errors import InputError, UnknownNameError

BLOCK_BYTES = 32 << 20  # of float64 costs held at a time
EPS = float(np.finfo(np.float64).eps)
PLACES = 12  # of a cosine that count: rounding then cannot part vectors of one direction

Floats = NDArray[np.float64]
#: (start, stop, out) fills `out`, of shape (stop - start, n_items), with the costs of those queries
Costs = Callable[[int, int, Floats], object]


def nearest(
    n_queries: int,
    n_items: int,
    depth: int,
    costs: Costs,
    *,
    exact: Callable[[int, NDArray[np.intp]], Floats] | None = None,
    tolerance: float = 0.0,
    own: bool = False,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Best `depth` items of each query and their costs.

    Parameters
    ----------
    costs : (start, stop, out) -> None
        Fills `out`, of shape (stop - start, n_items), with finite costs of those queries, smaller is better.
    exact : (query, items) -> array
        Costs of a few items again, the same bits in any block; None where `costs` is exact already.
    tolerance : float
        How far `costs` may be from `exact`.
    own : bool
        Query i is item i, and comes first among equals.

    Examples
    --------
    >>> rows = np.array([[3.0, 1.0, 2.0]])
    >>> nearest(1, 3, 2, lambda start, stop, out: np.copyto(out, rows[start:stop]))[0]
    array([[1, 2]], dtype=int32)
    """
    depth = min(depth, n_items)
    items = np.empty((n_queries, depth), np.int32)
    best = np.empty((n_queries, depth), np.float32)
    block = min(n_queries, max(1, BLOCK_BYTES // (8 * max(n_items, 1))))
    buffer = np.empty((block, n_items))  # one for all blocks: fresh memory costs more than the sums
    for start in range(0, n_queries if depth else 0, max(block, 1)):
        rows = buffer[: min(block, n_queries - start)]
        costs(start, start + len(rows), rows)
        limits = _limits(rows, depth) + 2 * tolerance
        for query, (row, limit) in enumerate(zip(rows, limits, strict=True), start):
            candidates = _candidates(row, limit, query if own else None)
            cost = row[candidates] if exact is None else exact(query, candidates)
            order = np.argsort(cost, kind="stable")[:depth]
            items[query] = candidates[order]
            with np.errstate(over="ignore"):  # what float32 cannot hold becomes inf: an error for Ranks
                best[query] = cost[order]
    return items, best


def _limits(rows: Floats, depth: int) -> Floats:
    """Return a bound of each row's `depth`-th smallest cost: not below it, and seldom far above.

    Of `width` groups of columns the smallest cost each is kept; `depth` groups have one up to the bound, so
    `depth` items have. A partition of so few numbers is much cheaper than one of the rows.
    """
    n_items = rows.shape[1]
    width = min(n_items, 8 * depth)
    lows = rows[:, :width].copy()
    for start in range(width, n_items, width):
        group = rows[:, start : start + width]
        np.minimum(lows[:, : group.shape[1]], group, out=lows[:, : group.shape[1]])
    bounds: Floats = np.partition(lows, depth - 1, axis=1)[:, depth - 1]
    return bounds


def _candidates(row: Floats, limit: float, own: int | None) -> NDArray[np.intp]:
    """Return the items up to the limit by number, the query itself in front: the order of equals."""
    items = np.flatnonzero(row <= limit)
    if own is None or row[own] > limit:
        return items
    return np.concatenate([[own], items[items != own]])


def matrix_neighbors(matrix: ArrayLike, depth: int, sign: float) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Columns of each row by ``sign * value``, smallest first; a square matrix has item i in row i."""
    rows = table(matrix, "The matrix")
    n_queries, n_items = rows.shape

    def costs(start: int, stop: int, out: Floats) -> None:
        np.copyto(out, rows[start:stop], casting="unsafe")
        _check_finite(out, "The matrix", start)
        out *= sign

    return nearest(n_queries, n_items, depth, costs, own=n_queries == n_items)


class Metric(NamedTuple):
    """How vectors are compared: a quick cost to choose candidates by, and the exact one to sort them by."""

    rough: Callable[[Floats, Floats], Costs]  # (queries, vectors) -> what fills a block
    exact: Callable[[Floats, Floats], Floats]  # (one query, candidates) -> their costs
    size: Callable[[Floats], Floats]  # vectors -> how large the terms of a cost can be, for the rounding errors
    slack: float = 0.0  # how far apart the two may be besides rounding errors
    unit: bool = False  # whether vectors are made of length 1 first


def _rough_l2(q: Floats, x: Floats) -> Costs:
    """Return ``|x|^2 - 2 q.x``, which orders as the distance does, as one product of longer vectors."""
    left = np.column_stack([q, np.ones(len(q))])
    right = np.column_stack([-2.0 * x, (x * x).sum(1)]).T
    return lambda start, stop, out: np.matmul(left[start:stop], right, out=out)


def _rough_dot(q: Floats, x: Floats) -> Costs:
    left, right = -q, x.T
    return lambda start, stop, out: np.matmul(left[start:stop], right, out=out)


def _rough_l1(q: Floats, x: Floats) -> Costs:
    from scipy.spatial.distance import cdist

    return lambda start, stop, out: cdist(q[start:stop], x, "cityblock", out=out)


def _squares(x: Floats) -> Floats:
    squares: Floats = (x * x).sum(1)
    return squares


METRICS: dict[str, Metric] = {
    "l2": Metric(_rough_l2, lambda q, x: np.sqrt(((x - q) ** 2).sum(1)), _squares),
    "l1": Metric(_rough_l1, lambda q, x: np.abs(x - q).sum(1), lambda x: np.abs(x).sum(1)),
    "cosine": Metric(
        _rough_dot, lambda q, x: -np.round((x * q).sum(1), PLACES), _squares, slack=10.0**-PLACES, unit=True
    ),
    "dot": Metric(_rough_dot, lambda q, x: -(x * q).sum(1), _squares),
}


def vector_neighbors(
    vectors: ArrayLike, queries: ArrayLike | None, metric: str, depth: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Nearest `vectors` of each query (of each vector, where `queries` is None), with their costs."""
    if metric not in METRICS:
        raise UnknownNameError("metric", metric, METRICS)
    how = METRICS[metric]
    x = _vectors(vectors, "vectors", how.unit)
    q = x if queries is None else _vectors(queries, "queries", how.unit)
    if q.shape[1] != x.shape[1]:
        raise InputError(f"queries must be as long as vectors; got {q.shape[1]} and {x.shape[1]} dimensions.")
    # A sum of d terms is off by less than d * eps * (the sum of their sizes); 8 covers both costs amply.
    size = float(how.size(x).max(initial=0.0) + how.size(q).max(initial=0.0))
    return nearest(
        len(q),
        len(x),
        depth,
        how.rough(q, x),
        exact=lambda query, items: how.exact(q[query], x[items]),
        tolerance=how.slack + 8 * (x.shape[1] + 2) * EPS * size,
        own=queries is None,
    )


def _vectors(given: ArrayLike, name: str, unit: bool) -> Floats:
    x = np.ascontiguousarray(table(given, name), np.float64)
    _check_finite(x, name)
    if unit:
        # Divided by the largest number first, so that no square is lost or overflows.
        x = x / _or_one(np.abs(x).max(1, keepdims=True, initial=0.0))
        return x / _or_one(np.sqrt((x * x).sum(1, keepdims=True)))
    if np.abs(x).max(initial=0.0) > 1e100:
        raise InputError(f"{name} must be of numbers below 1e100; got {np.abs(x).max():.3g}. Divide them all.")
    return x


def _or_one(norms: Floats) -> Floats:
    """Return the norms, 1 for 0: a zero vector stays zero, of cosine 0 with everything."""
    return np.where(norms > 0, norms, 1.0)


def table(given: ArrayLike, name: str, *, whole: bool = False) -> NDArray[Any]:
    """Return a 2-d array of real (or `whole`) numbers as it is: a memory map stays one.

    Booleans count as 0 and 1 where reals are asked for; an empty array may be of any type.
    """
    try:
        rows = np.asarray(given)
    except ValueError:
        raise InputError(f"{name} must be a 2-d array; got rows of different lengths. Pad the short ones.") from None
    if rows.ndim != 2:
        raise InputError(f"{name} must be a 2-d array, one row for each query or item; got {rows.ndim} dimensions.")
    if not rows.size:
        return np.empty(rows.shape, np.int32 if whole else np.float64)
    if rows.dtype.kind not in ("iu" if whole else "biuf"):
        raise InputError(f"{name} must be of {'whole' if whole else 'real'} numbers; got {rows.dtype}.")
    return rows


def _check_finite(rows: Floats, name: str, start: int = 0) -> None:
    wrong = ~np.isfinite(rows)
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise InputError(f"{name} must be finite; row {start + row} has {rows[row, column]} at column {column}.")
