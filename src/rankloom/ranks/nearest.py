"""Exact nearest neighbors in blocks of queries, without an n x n array.

A block of approximate costs (smaller is better) selects the candidates of each row. Their exact costs are rounded to
float32, as scores are stored, and then sorted; ties are broken by item number, except that the query itself comes
first. So lists can be merged by their stored scores.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankloom.errors import InputError
from rankloom.ranks.arrays import PAD, Array, Float32s, Floats, Indexes, Int32s
from rankloom.threads import one_blas_thread, run_blocks

BLOCK = 64  # queries, and blocks: where there are many queries, large products are a little faster
BLOCK_BYTES = 24 << 20  # of costs in memory at a time, for each thread

#: (start, stop, out): fills `out`, of shape (stop - start, n_items), with the costs of those queries.
Costs = Callable[[int, int, Array], object]
#: (values, queries) -> values, where `queries` is a number or a slice
Convert = Callable[[Floats, int | slice], Floats]


class Refinement(NamedTuple):
    """How exact costs follow from approximate ones, which may be on a different, monotone scale."""

    tolerance: Floats  #: of each query: the maximum error of an approximate cost, on its own scale
    exact: Callable[[int, Indexes], Floats]  #: (query, items) -> their costs, bit-identical in any block
    to_cost: Convert = lambda values, _: values  #: from the approximate scale to costs
    of_cost: Convert = lambda values, _: values  #: from costs to an upper bound on the approximate scale


class Search(NamedTuple):
    """How the items of a query are compared; without a refinement, the costs are exact."""

    costs: Costs
    refinement: Refinement | None = None
    dtype: type = np.float64  #: of approximate costs, float32 or float64


def nearest(
    n_queries: int,
    n_items: int,
    depth: int,
    search: Search,
    *,
    own: Array | None = None,
    ceilings: Float32s | None = None,
) -> tuple[Int32s, Float32s]:
    """Return the `depth` best items of each query and their costs; PAD and 0 where there are fewer.

    Parameters
    ----------
    own : array of int, optional
        The item that each query is, or -1; it wins ties.
    ceilings : float32 array, optional
        For each query, a cost above which items are left out.
    """
    depth = min(depth, n_items)
    refinement = search.refinement or Refinement(np.zeros(n_queries), lambda query, items: np.empty(0))  # not called
    items, best = np.full((n_queries, depth), PAD, np.int32), np.zeros((n_queries, depth), np.float32)
    refined = search.refinement is not None  # distances, which others may define, are computed on one thread
    max_rows = BLOCK_BYTES // (np.dtype(search.dtype).itemsize * max(n_items, 1))
    block = max(1, min(max(BLOCK, n_queries // BLOCK) if refined else n_queries, n_queries, max_rows))
    buffers: list[Array] = []  # reused: allocating one again would cost more than the sums

    def work(start: int, stop: int) -> None:
        try:
            buffer = buffers.pop()
        except IndexError:
            buffer = np.empty((block, n_items), search.dtype)
        rows = buffer[: stop - start]
        search.costs(start, stop, rows)
        within = rows <= _limits(rows, start, depth, refinement, ceilings)[:, None]
        for row in np.flatnonzero(within.any(axis=1)).tolist():
            query = start + row
            candidates = in_tie_order(np.flatnonzero(within[row]), PAD if own is None else own[query])
            cost = _settled(query, candidates, rows[row, candidates], depth, refinement)
            order = np.argsort(cost, kind="stable")[:depth]
            if ceilings is not None:
                order = order[cost[order] <= ceilings[query]]
            items[query, : order.size] = candidates[order]
            best[query, : order.size] = cost[order]
        buffers.append(buffer)

    with one_blas_thread:
        threads = None if refined else 1
        run_blocks(work, n_queries if depth else 0, stage="Comparing vectors", block=block, threads=threads)
    return items, best


def _limits(rows: Array, start: int, depth: int, refinement: Refinement, ceilings: Float32s | None) -> Floats:
    """Return an approximate cost for each row that no item of its list is above."""
    # Costs that round to the same float32 tie, so the cost of the last one is rounded up to the next float32.
    queries = slice(start, start + len(rows))
    tolerance = refinement.tolerance[queries]
    worst = rounded(refinement.to_cost(upper_bounds(rows, depth) + tolerance, queries))
    if ceilings is not None:
        worst = np.minimum(worst, ceilings[queries])
    limits: Floats = refinement.of_cost(np.nextafter(worst, np.float32(np.inf)).astype(np.float64), queries) + tolerance
    return limits


def upper_bounds(rows: Array, depth: int) -> Floats:
    """Return an upper bound of each row's `depth`-th smallest cost, usually a close one."""
    # The columns form `width` groups. The `depth` groups with the smallest minima have an item each within the bound,
    # so `depth` items do. Partitioning these few minima is much cheaper than partitioning the rows.
    n_items = rows.shape[1]
    width = min(n_items, 8 * depth)
    lows = rows[:, :width].copy()
    for start in range(width, n_items, width):
        group = rows[:, start : start + width]
        np.minimum(lows[:, : group.shape[1]], group, out=lows[:, : group.shape[1]])
    return np.partition(lows, depth - 1, axis=1)[:, depth - 1].astype(np.float64)


def in_tie_order(items: Indexes, own: int) -> Indexes:
    """Return ascending items, with the query itself first if it is among them."""
    place = int(np.searchsorted(items, own))
    if place == items.size or items[place] != own:
        return items
    items[1 : place + 1] = items[:place].copy()
    items[0] = own
    return items


def _settled(query: int, candidates: Indexes, rough: Array, depth: int, refinement: Refinement) -> Float32s:
    """Return the costs of candidates, given in tie-breaking order; a lower bound for those that are not needed."""
    # Where the whole interval of the error rounds to one float32, that is the cost.
    values, tolerance = rough.astype(np.float64), refinement.tolerance[query]
    cost = rounded(refinement.to_cost(values - tolerance, query))
    unsure = cost != rounded(refinement.to_cost(values + tolerance, query))
    if not unsure.any():
        return cost

    def settle(some: Indexes) -> None:
        some = some[unsure[some]]
        cost[some] = rounded(refinement.exact(query, candidates[some]))

    first, rest = np.split(np.argsort(cost, kind="stable"), [depth])
    settle(first)
    last = first[np.lexsort((first, cost[first]))[-1]]
    settle(rest[(cost[rest] < cost[last]) | ((cost[rest] == cost[last]) & (rest < last))])
    return cost


def rounded(values: Floats) -> Float32s:
    """Round to float32; values beyond it become inf, which Ranks rejects."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def matrix_neighbors(matrix: ArrayLike, depth: int, sign: float, *, own: bool) -> tuple[Int32s, Float32s]:
    """Rank the columns of each row by ``sign * value``, smallest first; `own` says that row i is item i."""
    rows = table(matrix, "The matrix")
    n_queries, n_items = rows.shape

    def costs(start: int, stop: int, out: Floats) -> None:
        np.copyto(out, rows[start:stop], casting="unsafe")
        check_finite(out, "The matrix", start)
        out *= sign

    return nearest(n_queries, n_items, depth, Search(costs), own=np.arange(n_queries) if own else None)


def table(given: ArrayLike, name: str, *, whole: bool = False) -> Array:
    """Return a 2-d array of real (or `whole`) numbers without a copy; an empty array may have any dtype."""
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


def check_finite(rows: Array, name: str, start: int = 0) -> None:
    """Raise InputError if a number is not finite; the first row is number `start`."""
    wrong = ~np.isfinite(rows)
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise InputError(f"{name} must be finite; row {start + row} has {rows[row, column]} at column {column}.")
