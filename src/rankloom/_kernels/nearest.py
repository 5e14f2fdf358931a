"""Exact nearest neighbors in blocks of queries, without an n x n array.

A block of approximate costs (smaller is better) selects the candidates of each row, whose exact costs are then
sorted; ties are broken by item number, except that the query itself comes first.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloom.errors import InputError, check_choice

BLOCK_BYTES = 32 << 20  # of float64 costs in memory at a time
EPS = float(np.finfo(np.float64).eps)
COSINE_DECIMALS = 12  # rounding to these makes parallel vectors tie

Floats = NDArray[np.float64]
#: (start, stop, out): fills `out`, of shape (stop - start, n_items), with the costs of those queries.
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
    """Return the `depth` best items of each query and their costs.

    Parameters
    ----------
    costs : (start, stop, out) -> None
        Fills `out`, of shape (stop - start, n_items), with the finite costs of those queries; smaller is better.
    exact : (query, items) -> array
        Exact costs of a few items, bit-identical in any block; None if `costs` is already exact.
    tolerance : float
        Maximum difference of `costs` and `exact`.
    own : bool
        Query i is item i, and wins ties.

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
    buffer = np.empty((block, n_items))  # reused: allocating it again would cost more than the sums
    for start in range(0, n_queries if depth else 0, max(block, 1)):
        rows = buffer[: min(block, n_queries - start)]
        costs(start, start + len(rows), rows)
        limits = _limits(rows, depth) + 2 * tolerance
        for query, (row, limit) in enumerate(zip(rows, limits, strict=True), start):
            candidates = _candidates(row, limit, query if own else None)
            cost = row[candidates] if exact is None else exact(query, candidates)
            order = np.argsort(cost, kind="stable")[:depth]
            items[query] = candidates[order]
            with np.errstate(over="ignore"):  # what float32 cannot hold becomes inf, which Ranks rejects
                best[query] = cost[order]
    return items, best


def _limits(rows: Floats, depth: int) -> Floats:
    """Return an upper bound of each row's `depth`-th smallest cost, usually a close one.

    The columns form `width` groups. The `depth` groups with the smallest minima have an item each within the bound, so
    `depth` items do. Partitioning these few minima is much cheaper than partitioning the rows.
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
    """Return the items within the limit in tie-breaking order: the query itself, then by number."""
    items = np.flatnonzero(row <= limit)
    if own is None or row[own] > limit:
        return items
    return np.concatenate([[own], items[items != own]])


def matrix_neighbors(
    matrix: ArrayLike, depth: int, sign: float, *, own: bool
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Rank the columns of each row by ``sign * value``, smallest first; `own` says that row i is item i."""
    rows = table(matrix, "The matrix")
    n_queries, n_items = rows.shape

    def costs(start: int, stop: int, out: Floats) -> None:
        np.copyto(out, rows[start:stop], casting="unsafe")
        _check_finite(out, "The matrix", start)
        out *= sign

    return nearest(n_queries, n_items, depth, costs, own=own)


class Metric(NamedTuple):
    """A metric of vectors: a fast cost that selects candidates, and the exact cost that ranks them."""

    rough: Callable[[Floats, Floats], Costs]  # (queries, vectors) -> the costs of blocks
    exact: Callable[[Floats, Floats], Floats]  # (one query, candidates) -> their costs
    size: Callable[[Floats], Floats]  # vectors -> a bound on the terms of a cost, for its rounding error
    slack: float = 0.0  # difference of the two costs beyond rounding errors
    unit: bool = False  # whether vectors are scaled to length 1 first


def _rough_l2(q: Floats, x: Floats) -> Costs:
    """Compute ``|x|^2 - 2 q.x``, which sorts as the distance does, as one matrix product."""
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
        _rough_dot,
        lambda q, x: -np.round((x * q).sum(1), COSINE_DECIMALS),
        _squares,
        slack=10.0**-COSINE_DECIMALS,
        unit=True,
    ),
    "dot": Metric(_rough_dot, lambda q, x: -(x * q).sum(1), _squares),
}


def vector_neighbors(
    vectors: ArrayLike, queries: ArrayLike | None, metric: str, depth: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the nearest `vectors` of each query (by default of each vector) and their costs."""
    check_choice("metric", metric, METRICS)
    chosen = METRICS[metric]
    x = _vectors(vectors, "vectors", chosen.unit)
    q = x if queries is None else _vectors(queries, "queries", chosen.unit)
    if q.shape[1] != x.shape[1]:
        raise InputError(f"queries and vectors must have the same length; got {q.shape[1]} and {x.shape[1]}.")
    # The error of a sum of d terms is less than d * eps * (the sum of their sizes); 8 is ample for both costs.
    size = float(chosen.size(x).max(initial=0.0) + chosen.size(q).max(initial=0.0))
    return nearest(
        len(q),
        len(x),
        depth,
        chosen.rough(q, x),
        exact=lambda query, items: chosen.exact(q[query], x[items]),
        tolerance=chosen.slack + 8 * (x.shape[1] + 2) * EPS * size,
        own=queries is None,
    )


def _vectors(given: ArrayLike, name: str, unit: bool) -> Floats:
    x = np.ascontiguousarray(table(given, name), np.float64)
    _check_finite(x, name)
    if unit:
        # Divide by the largest absolute value first, so that no square underflows or overflows.
        x = x / _or_one(np.abs(x).max(1, keepdims=True, initial=0.0))
        return x / _or_one(np.sqrt((x * x).sum(1, keepdims=True)))
    if np.abs(x).max(initial=0.0) > 1e100:
        raise InputError(f"{name} must be below 1e100 in absolute value; got {np.abs(x).max():.3g}. Scale them down.")
    return x


def _or_one(norms: Floats) -> Floats:
    """Replace norms of 0 by 1, so that a zero vector stays zero and has cosine 0 with everything."""
    return np.where(norms > 0, norms, 1.0)


def table(given: ArrayLike, name: str, *, whole: bool = False) -> NDArray[Any]:
    """Return a 2-d array of real (or `whole`) numbers without copying: a memory map remains one.

    Booleans are accepted as real numbers 0 and 1; an empty array may have any dtype.
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
        raise InputError(f"{name} must be {'whole' if whole else 'real'} numbers; got {rows.dtype}.")
    return rows


def _check_finite(rows: Floats, name: str, start: int = 0) -> None:
    wrong = ~np.isfinite(rows)
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise InputError(f"{name} must be finite; row {start + row} has {rows[row, column]} at column {column}.")
