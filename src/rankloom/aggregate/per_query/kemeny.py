"""Kemeny aggregation: the order with the fewest disagreements with the lists."""

from collections.abc import Sequence
from functools import cache
from itertools import combinations
from typing import Annotated, ClassVar, get_args

import numpy as np
from annotated_types import Ge, Le

from rankloom.aggregate.methods import register_method
from rankloom.aggregate.per_query.majorities import PAIRS, SLACK, Absent, MajorityMethod, ends, moved, pair_blocks
from rankloom.errors import InputError, check_choice
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Array, Bools, Floats, Indexes
from rankloom.ranks.pool import checked_weights, lay_out, scores_by_order


@register_method("kemeny")
class Kemeny(MajorityMethod):
    r"""Kemeny: the order of all listed items with the fewest disagreements with the lists.

    .. math:: \min_\pi \sum_{d \text{ before } e \text{ in } \pi}\ \sum_{r:\, e \text{ before } d} w_r

    Up to `exact` items the result is the minimum, found by dynamic programming over subsets: the best cost of a set is
    the minimum, over its first item, of the best cost of the rest plus the cost of putting that item before them.
    Among several best orders it is the lexicographically first, items compared in order of first appearance.
    Longer lists use local search. It starts with the items by net preference (votes for minus votes against), and
    moves the item at each position, first to last, to where it lowers the cost most, until no move lowers it.

    Scores are -1, -2, ... down the list. `kemeny_cost` returns the cost for each query (with k at least the number of
    items listed, so that the order is complete).

    Parameters
    ----------
    exact : int
        Number of items up to which the result is exact; at most 16.
    restarts : int
        How many more times the local search runs, from random orders made by KwikSort (a sort by majority around
        random pivots); the order of lowest cost wins.
    seed : int, optional
        Seed of the restarts; 0 by default. An error without restarts.
    absent : {"left_out", "last"}
        As in `condorcet`; ``left_out`` is closest to the paper's figures.
    depth, weights
        As in `rrf`. The time of the search grows with the cube of the number of items: set a depth for long lists.

    References
    ----------
    Kemeny (1959), Mathematics without numbers; Dwork et al. (2001), Rank aggregation methods for the web, WWW,
    doi:10.1145/371920.372165;
    KwikSort: Ailon, Charikar, Newman (2008), Aggregating inconsistent information: ranking and clustering,
    Journal of the ACM 55(5), doi:10.1145/1411509.1411513

    Examples
    --------
    >>> lists = [Ranks([[0, 1, 2]]), Ranks([[1, 0, 2]]), Ranks([[1, 2, 0]])]
    >>> fused = Kemeny().fuse(lists, k=3)
    >>> fused.items, kemeny_cost(lists, fused)
    (array([[1, 0, 2]], dtype=int32), array([2.]))
    """

    slow: ClassVar[bool] = True
    exact: Annotated[int, Ge(0), Le(16)] = 12  # 2^16 subsets: half a second per query
    restarts: Annotated[int, Ge(0)] = 0
    seed: Annotated[int, Ge(0)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.seed is not None and not self.restarts:
            raise InputError("seed needs restarts; leave it out, or set restarts.")

    def shares(self, weights: list[float]) -> list[float]:
        return [weight / (max(weights) or 1.0) for weight in weights]  # so that SLACK means the same at any scale

    def order(self, margin: Array, real: Bools) -> Floats:
        sizes = real.sum(axis=1)
        order = np.empty(real.shape, np.intp)
        for size in np.unique(sizes[sizes <= self.exact]):
            rows = np.flatnonzero(sizes == size)
            order[rows] = np.arange(real.shape[1])
            order[rows, :size] = _exact_orders(margin[rows, :size, :size])
        long = np.flatnonzero(sizes > self.exact)
        seeds = [(self.seed or 0, n) for n in range(self.restarts)]
        order[long] = _searched_orders(margin[long], real[long], seeds)
        return scores_by_order(order)


def kemeny_cost(
    ranks: Sequence[Ranks],
    fused: Ranks,
    *,
    absent: Absent = "left_out",
    depth: int | None = None,
    weights: Sequence[float] | None = None,
) -> Floats:
    r"""Return the cost of an order for each query: its disagreements with the lists.

    .. math:: \sum_{d \text{ before } e \text{ in } \pi}\ \sum_{r:\, e \text{ before } d} w_r

    over the items of :math:`\pi`, the row of `fused`.

    Parameters
    ----------
    ranks : sequence of Ranks
        One for each ranker, with the same numbering of items and the same number of rows (see `align`).
    fused : Ranks
        The orders, by any method.
    absent, depth, weights
        As in `kemeny`.

    Examples
    --------
    >>> kemeny_cost([Ranks([[0, 1, 2]]), Ranks([[1, 0, 2]])], Ranks([[2, 1, 0]]))
    array([5.])
    """
    check_choice("value of absent", absent, get_args(Absent))
    given = checked_weights(weights, len(ranks))
    pool = lay_out([fused, *(ranks if depth is None else [r.head(depth) for r in ranks])])
    positions, cost = pool.positions(), np.zeros(len(pool.items))
    for rows in pair_blocks(pool):
        ordered = positions[0, rows] > 0
        late, early = ends(positions[0, rows], ordered, "left_out")
        after = early[:, :, None] > late[:, None, :]
        for weight, row in zip(given, positions[1:, rows], strict=True):
            early, late = ends(row, ordered, absent)
            cost[rows] += weight * np.count_nonzero((early[:, :, None] < late[:, None, :]) & after, axis=(1, 2))
    return cost


def _exact_orders(margin: Array) -> Indexes:
    """Return the best order for each matrix of margins, all of the same size; the first of several."""
    n, size = margin.shape[:2]
    step = max(1, PAIRS // (max(size, 1) << size))
    return np.concatenate([_best_of_subsets(margin[start : start + step]) for start in range(0, n, step)])


def _best_of_subsets(margin: Array) -> Indexes:
    n, size = margin.shape[:2]
    against = _against(margin)
    cost = np.zeros((n, 1 << size))
    first = np.zeros((n, 1 << size), np.intp)
    for sets, items in _layers(size):
        options = cost[:, sets[:, None] ^ (1 << items)] + against[:, items, sets[:, None]]
        best = options.argmin(axis=2)
        first[:, sets] = items[np.arange(len(sets)), best]
        cost[:, sets] = np.take_along_axis(options, best[:, :, None], axis=2)[:, :, 0]
    return _unwound(first, size)


def _against(margin: Array) -> Floats:
    """Return the votes against item x before all of a set minus those for it, shape (n, items, sets)."""
    n, size = margin.shape[:2]
    against = np.zeros((n, size, 1 << size))
    for item in range(size):  # the sets whose largest item it is extend all sets of smaller items
        half = 1 << item
        against[:, :, half : 2 * half] = against[:, :, :half] - margin[:, :, item, None]
    return against


def _unwound(first: Indexes, size: int) -> Indexes:
    """Return the orders that start with the first item of the full set, then that of the rest, and so on."""
    rows = np.arange(len(first))
    left = np.full(len(first), (1 << size) - 1)
    order = np.empty((len(first), size), np.intp)
    for position in range(size):
        order[:, position] = first[rows, left]
        left ^= 1 << order[:, position]
    return order


@cache
def _layers(size: int) -> list[tuple[Indexes, Indexes]]:
    """Return the subsets of 1, 2, ... items: their masks, and their items in ascending order."""
    layers = []
    for count in range(1, size + 1):
        items = np.array(list(combinations(range(size), count)), np.intp)
        layers.append(((1 << items).sum(axis=1), items))
    return layers


def _searched_orders(margin: Array, real: Bools, seeds: list[tuple[int, int]]) -> Indexes:
    """Return orders that moving a single item does not improve, the best of several starts."""
    net = np.where(real, margin.sum(axis=2, dtype=np.float64), -np.inf)
    best = _improved(margin, np.argsort(-net, axis=1, kind="stable"))
    cost = _contradiction(margin, best) if seeds else np.empty(0)
    for seed in seeds:
        other = _improved(margin, _kwiksorted(margin, real, seed))
        value = _contradiction(margin, other)
        better = value < cost - SLACK
        best[better], cost[better] = other[better], value[better]
    return best


def _contradiction(margin: Array, order: Indexes) -> Floats:
    """Return the cost of each order, up to a factor and an offset common to all orders."""
    rows = np.arange(len(order))[:, None, None]
    ordered = margin[rows, order[:, :, None], order[:, None, :]]
    return np.asarray(-np.triu(ordered).sum(axis=(1, 2), dtype=np.float64))


def _improved(margin: Array, order: Indexes) -> Indexes:
    """Move the item at each position to where it costs least, until nothing moves; padding stays last."""
    active = np.arange(len(order))
    while active.size:
        changed = np.zeros(active.size, bool)
        for position in range(order.shape[1]):
            changed |= _move(margin, order, active, position)
        active = active[changed]
    return order


def _move(margin: Array, order: Indexes, active: Indexes, position: int) -> Bools:
    """Move the item at a position in the orders of the rows `active`; return in which of them it moved."""
    current = order[active]
    ahead = np.zeros((active.size, current.shape[1] + 1))  # the cost of having all items before a column ahead of it
    np.cumsum(margin[active[:, None], current[:, position, None], current], axis=1, out=ahead[:, 1:])
    best = ahead.argmin(axis=1)
    moves = np.asarray(ahead[np.arange(active.size), best] < ahead[:, position] - SLACK)
    order[active[moves]] = moved(current[moves], position, best[moves][:, None])
    return moves


def _kwiksorted(margin: Array, real: Bools, seed: tuple[int, int]) -> Indexes:
    """Return a random order of each row by KwikSort; each row restarts the generator, so blocks do not matter."""
    order = np.tile(np.arange(real.shape[1]), (len(real), 1))
    for row, (votes, n) in enumerate(zip(margin, real.sum(axis=1), strict=True)):
        order[row, :n] = _kwiksort(votes, np.arange(n), np.random.default_rng(seed))
    return order


def _kwiksort(margin: Array, items: Indexes, random: np.random.Generator) -> Indexes:
    if len(items) < 2:
        return items
    pivot = items[random.integers(len(items))]
    ahead = (margin[items, pivot] > 0) | ((margin[items, pivot] == 0) & (items < pivot))
    after = ~ahead & (items != pivot)
    before = _kwiksort(margin, items[ahead], random)
    return np.concatenate([before, [pivot], _kwiksort(margin, items[after], random)])
