"""Kemeny's order: the one that contradicts the lists least."""

from collections.abc import Sequence
from functools import cache, partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.aggregate.methods import register_method
from rankloom.aggregate.pairwise import PAIRS, SLACK, Absent, by_majority, checked_votes, ends, moved, pair_blocks
from rankloom.aggregate.pool import falling, fuse_pools, lay_out
from rankloom.errors import InputError, whole_number
from rankloom.ranks import Ranks

MAX_EXACT = 16  # 2^16 subsets: half a second a query


@register_method("kemeny", needs="queries")
def kemeny(
    ranks: Sequence[Ranks],
    k: int = 10,
    *,
    exact: int = 12,
    restarts: int = 0,
    seed: int | None = None,
    absent: Absent = "left_out",
    depth: int | None = None,
    weights: Sequence[float] | None = None,
) -> Ranks:
    r"""Kemeny: the order of all listed items that contradicts the lists least.

    .. math:: \min_\pi \sum_{d \text{ before } e \text{ in } \pi}\ \sum_{r:\, e \text{ before } d} w_r

    Up to `exact` items the minimum is found, by dynamic programming over subsets: the best cost of a set is the
    least, over the item that comes first in it, of the best cost of the others and what putting that item before
    them costs. Of several best orders it is the first one when items are compared in the order first seen.
    More items start in the order of their net preference (votes for less votes against); from the first place to
    the last, again and again, the item there is moved to where it lowers the cost most, until no such move does.

    Scores are -1, -2, ... down the list. The cost of each query is what `kemeny_cost` returns for it (give k at
    least the number of items listed, so that the order is whole).

    Parameters
    ----------
    exact : int
        Up to how many items the exact minimum is looked for; at most 16.
    restarts : int
        How many times the search for longer lists starts again, from a random order made by KwikSort (a sort by
        majority around random items); the least cost is kept.
    seed : int, optional
        Of the restarts; 0 by default. Without restarts an error.
    absent : {"left_out", "last"}
        ``left_out`` (nearest to the paper's figures): only lists that have both items count. ``last``: an item
        that a list does not have comes after all that it has.
    depth : int, optional
        How many items of each list are used; all by default. The paper's figures have 10. The search takes time that
        grows with the cube of the number of items: give a depth where lists are long.
    weights : sequence of float, optional
        :math:`w_r`, one for each ranker; all 1 by default.

    References
    ----------
    Kemeny (1959), Mathematics without numbers; Dwork et al. (2001), doi:10.1145/371920.372165;
    KwikSort: Ailon, Charikar, Newman (2008), doi:10.1145/1411509.1411513

    Examples
    --------
    >>> lists = [Ranks([[0, 1, 2]]), Ranks([[1, 0, 2]]), Ranks([[1, 2, 0]])]
    >>> fused = kemeny(lists, k=3)
    >>> fused.items, kemeny_cost(lists, fused)
    (array([[1, 0, 2]], dtype=int32), array([2.]))
    """
    if whole_number("exact", exact, 0) > MAX_EXACT:
        raise InputError(f"exact must be at most {MAX_EXACT}; got {exact}.")
    if seed is not None and not whole_number("restarts", restarts, 0):
        raise InputError("seed is of the restarts, and there are none; leave it out, or give restarts.")
    first = 0 if seed is None else whole_number("seed", seed, 0)
    given = checked_votes(absent, weights, len(ranks))
    if given is not None and max(given) > 0:
        given = [weight / max(given) for weight in given]  # so that rounding is told from majorities at any scale
    score = partial(_kemeny, exact=exact, seeds=[(first, n) for n in range(whole_number("restarts", restarts, 0))])
    return fuse_pools(ranks, k, lambda pool: by_majority(pool, absent, given, score), depth=depth)


def kemeny_cost(
    ranks: Sequence[Ranks],
    fused: Ranks,
    *,
    absent: Absent = "left_out",
    depth: int | None = None,
    weights: Sequence[float] | None = None,
) -> NDArray[np.float64]:
    r"""Return how much an order contradicts the lists, for each query.

    .. math:: \sum_{d \text{ before } e \text{ in } \pi}\ \sum_{r:\, e \text{ before } d} w_r

    over the items of :math:`\pi`, the row of `fused`.

    Parameters
    ----------
    ranks : sequence of Ranks
        One for each ranker, over one numbering and of as many rows each (see `align`).
    fused : Ranks
        The orders, of any method.
    absent, depth, weights
        As in `kemeny`.

    Examples
    --------
    >>> kemeny_cost([Ranks([[0, 1, 2]]), Ranks([[1, 0, 2]])], Ranks([[2, 1, 0]]))
    array([5.])
    """
    given = checked_votes(absent, weights, len(ranks)) or [1.0] * len(ranks)
    pool = lay_out([fused, *(ranks if depth is None else [r.head(depth) for r in ranks])])
    places, cost = pool.places(), np.zeros(len(pool.items))
    for rows in pair_blocks(pool):
        kept = places[0, rows] > 0
        late, early = ends(places[0, rows], kept, "left_out")
        after = early[:, :, None] > late[:, None, :]
        for weight, row in zip(given, places[1:, rows], strict=True):
            early, late = ends(row, kept, absent)
            cost[rows] += weight * np.count_nonzero((early[:, :, None] < late[:, None, :]) & after, axis=(1, 2))
    return cost


def _kemeny(
    margin: NDArray[Any], real: NDArray[np.bool_], *, exact: int, seeds: list[tuple[int, int]]
) -> NDArray[np.float64]:
    """Return -1 for the first item of each order, -2 for the second, and so on."""
    sizes = real.sum(axis=1)
    order = np.empty(real.shape, np.intp)
    for size in np.unique(sizes[sizes <= exact]):
        rows = np.flatnonzero(sizes == size)
        order[rows] = np.arange(real.shape[1])
        order[rows, :size] = _exact_orders(margin[rows, :size, :size])
    long = np.flatnonzero(sizes > exact)
    order[long] = _searched_orders(margin[long], real[long], seeds)
    return falling(order)


def _exact_orders(margin: NDArray[Any]) -> NDArray[np.intp]:
    """Return the best order for each matrix of margins, all of one size; the first one among equals."""
    n, size = margin.shape[:2]
    step = max(1, PAIRS // (max(size, 1) << size))
    return np.concatenate([_best_of_subsets(margin[start : start + step]) for start in range(0, n, step)])


def _best_of_subsets(margin: NDArray[Any]) -> NDArray[np.intp]:
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


def _against(margin: NDArray[Any]) -> NDArray[np.float64]:
    """Return the votes against item x before all of a set less those for it, shape (n, items, sets)."""
    n, size = margin.shape[:2]
    against = np.zeros((n, size, 1 << size))
    for item in range(size):  # the sets whose largest item it is: those without it that come before, and it
        half = 1 << item
        against[:, :, half : 2 * half] = against[:, :, :half] - margin[:, :, item, None]
    return against


def _unwound(first: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """Return the orders that begin with the first item of the whole set, then that of what remains, and so on."""
    rows = np.arange(len(first))
    left = np.full(len(first), (1 << size) - 1)
    order = np.empty((len(first), size), np.intp)
    for place in range(size):
        order[:, place] = first[rows, left]
        left ^= 1 << order[:, place]
    return order


@cache
def _layers(size: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return the subsets of 1, 2, ... items: their masks, and their items in ascending order."""
    layers = []
    for count in range(1, size + 1):
        items = np.array(list(combinations(range(size), count)), np.intp)
        layers.append(((1 << items).sum(axis=1), items))
    return layers


def _searched_orders(margin: NDArray[Any], real: NDArray[np.bool_], seeds: list[tuple[int, int]]) -> NDArray[np.intp]:
    """Return orders that moving one item does not improve, the best of several starts."""
    net = np.where(real, margin.sum(axis=2, dtype=np.float64), -np.inf)
    best = _improved(margin, np.argsort(-net, axis=1, kind="stable"))
    cost = _contradiction(margin, best) if seeds else np.empty(0)
    for seed in seeds:
        other = _improved(margin, _kwiksorted(margin, real, seed))
        value = _contradiction(margin, other)
        better = value < cost - SLACK
        best[better], cost[better] = other[better], value[better]
    return best


def _contradiction(margin: NDArray[Any], order: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the cost of each order, but for a factor and a number that are the same for every order."""
    rows = np.arange(len(order))[:, None, None]
    ordered = margin[rows, order[:, :, None], order[:, None, :]]
    return np.asarray(-np.triu(ordered).sum(axis=(1, 2), dtype=np.float64))


def _improved(margin: NDArray[Any], order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Move the item at each place in turn to where it contradicts least, until nothing moves; padding stays last."""
    active = np.arange(len(order))
    while active.size:
        changed = np.zeros(active.size, bool)
        for place in range(order.shape[1]):
            changed |= _move(margin, order, active, place)
        active = active[changed]
    return order


def _move(margin: NDArray[Any], order: NDArray[np.intp], active: NDArray[np.intp], place: int) -> NDArray[np.bool_]:
    """Move the item at a place in the orders of the rows `active`; return in which of them it moved."""
    current = order[active]
    ahead = np.zeros((active.size, current.shape[1] + 1))  # what it costs to have all before this place ahead of it
    np.cumsum(margin[active[:, None], current[:, place, None], current], axis=1, out=ahead[:, 1:])
    best = ahead.argmin(axis=1)
    moves = np.asarray(ahead[np.arange(active.size), best] < ahead[:, place] - SLACK)
    order[active[moves]] = moved(current[moves], place, best[moves][:, None])
    return moves


def _kwiksorted(margin: NDArray[Any], real: NDArray[np.bool_], seed: tuple[int, int]) -> NDArray[np.intp]:
    """Return a random order of each row by KwikSort; each row has the same stream, so blocks do not matter."""
    order = np.tile(np.arange(real.shape[1]), (len(real), 1))
    for row, (votes, n) in enumerate(zip(margin, real.sum(axis=1), strict=True)):
        order[row, :n] = _kwiksort(votes, np.arange(n), np.random.default_rng(seed))
    return order


def _kwiksort(margin: NDArray[Any], items: NDArray[np.intp], random: np.random.Generator) -> NDArray[np.intp]:
    if len(items) < 2:
        return items
    pivot = items[random.integers(len(items))]
    ahead = (margin[items, pivot] > 0) | ((margin[items, pivot] == 0) & (items < pivot))
    after = ~ahead & (items != pivot)
    before = _kwiksort(margin, items[ahead], random)
    return np.concatenate([before, [pivot], _kwiksort(margin, items[after], random)])
