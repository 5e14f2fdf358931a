"""Majorities: which of two items more rankers put first, and the Condorcet methods on them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rankloom.aggregate.methods import register_method
from rankloom.aggregate.pool import Pool, checked_weights, falling, fuse_pools
from rankloom.errors import UnknownNameError
from rankloom.ranks import PAD, Ranks

PAIRS = 1 << 20  # of items that are looked at in one go
SLACK = 1e-9  # majorities of weights that are smaller, as a share of all weight, are rounding

#: What a list says about an item that it does not have: nothing, or that it comes after all that it has.
Absent = Literal["left_out", "last"]
Variant = Literal["wins", "copeland", "fuse"]


@register_method("condorcet", needs="queries")
def condorcet(
    ranks: Sequence[Ranks],
    k: int = 10,
    *,
    variant: Variant = "wins",
    absent: Absent = "left_out",
    depth: int | None = None,
    weights: Sequence[float] | None = None,
) -> Ranks:
    r"""Condorcet: items by how many others they beat, two at a time.

    .. math:: \mathrm{wins}(d) = |\{e : \sum_{r:\, d \text{ before } e} w_r > \sum_{r:\, e \text{ before } d} w_r\}|

    over the pairs of items that any ranker lists for the query. Ties come in the order first seen.

    Parameters
    ----------
    variant : {"wins", "copeland", "fuse"}
        ``wins`` (the paper's figures): the number of wins. ``copeland``: wins less losses.
        ``fuse`` (Montague and Aslam's Condorcet-fuse): a sort with the majority as its comparison. A majority
        need not be transitive, so the outcome depends on the sort; here it is an insertion sort of the items in
        the order first seen, and no item comes right after one that it beats. Scores are -1, -2, ... then.
    absent : {"left_out", "last"}
        ``left_out`` (the paper's figures): only lists that have both items count. ``last``: an item that a list
        does not have comes after all that it has.
    depth : int, optional
        How many items of each list are used; all by default. The paper's figures have 10.
    weights : sequence of float, optional
        :math:`w_r`, one for each ranker; all 1 by default.

    References
    ----------
    Copeland (1951); Montague, Aslam (2002), doi:10.1145/584792.584881

    Examples
    --------
    >>> condorcet([Ranks([[0, 1, 2]]), Ranks([[1, 0, 2]]), Ranks([[1, 2, 0]])]).to_dict()
    {'0': {'1': 2.0, '0': 1.0, '2': 0.0}}
    """
    if variant not in get_args(Variant):
        raise UnknownNameError("variant", variant, get_args(Variant))
    given = checked_votes(absent, weights, len(ranks))
    return fuse_pools(ranks, k, lambda pool: by_majority(pool, absent, given, SCORED[variant]), depth=depth)


def checked_votes(absent: str, weights: Sequence[float] | None, n_rankers: int) -> list[float] | None:
    """Return the weights of the votes, or None where each ranker has one vote."""
    if absent not in get_args(Absent):
        raise UnknownNameError("rule for absent items", absent, get_args(Absent))
    return None if weights is None else checked_weights(weights, n_rankers)


def by_majority(
    pool: Pool,
    absent: Absent,
    weights: list[float] | None,
    score: Callable[[NDArray[Any], NDArray[np.bool_]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return ``score(margins, real)`` for each pool; `real` is False where a row is padding."""
    places, scores = pool.places(), np.empty(pool.items.shape)
    for rows in pair_blocks(pool):
        real = pool.items[rows] != PAD
        scores[rows] = score(margins(places[:, rows], real, absent, weights), real)
    return scores


def pair_blocks(pool: Pool) -> Iterator[slice]:
    """Return blocks of queries few enough for tables of all pairs."""
    rows, width = pool.items.shape
    step = max(1, PAIRS // max(1, width * width))
    return (slice(start, start + step) for start in range(0, rows, step))


def margins(places: NDArray[Any], real: NDArray[np.bool_], absent: Absent, weights: list[float] | None) -> NDArray[Any]:
    """Return by how many votes the majority puts item a before item b.

    Parameters
    ----------
    places : int array of shape (m, n_queries, width)
        Positions from 1; 0 where a ranker does not list the item.
    real : bool array of shape (n_queries, width)
        False where there is no item.

    Returns
    -------
    array of shape (n_queries, width, width)
        Whole numbers; floats where there are weights, those near 0 made 0.
    """
    votes = np.int8 if len(places) <= np.iinfo(np.int8).max else np.int32
    total = np.zeros((*real.shape, real.shape[1]), votes if weights is None else np.float64)
    for ranker, row in enumerate(places):
        early, late = ends(row, real, absent)
        ahead, behind = early[:, :, None] < late[:, None, :], late[:, :, None] > early[:, None, :]
        total += ahead.view(np.int8) if weights is None else weights[ranker] * ahead
        total -= behind.view(np.int8) if weights is None else weights[ranker] * behind
    if weights is not None:
        total[abs(total) <= SLACK * sum(weights)] = 0
    return total


def ends(row: NDArray[Any], real: NDArray[np.bool_], absent: Absent) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return two readings of one ranker's positions: a is put before b if a's in the first is below b's in the second.

    Absent items are far away in the first, so before none. In the second they are at 0, so after none, or
    far away too.
    """
    far = np.iinfo(row.dtype).max
    early = np.where(row == 0, far, row)
    return early, row if absent == "left_out" else np.where(real, early, 0)


def _wins(margin: NDArray[Any], real: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.asarray(np.count_nonzero(margin > 0, axis=2), np.float64)


def _copeland(margin: NDArray[Any], real: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.asarray(_wins(margin, real) - np.count_nonzero(margin < 0, axis=2))


def _fuse(margin: NDArray[Any], real: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Insert one item after the other behind the last one that it does not beat; padding beats none and stays last."""
    order = np.tile(np.arange(real.shape[1]), (len(real), 1))
    for item in range(1, real.shape[1]):
        above = order[:, :item]
        stays = np.take_along_axis(margin[:, item], above, axis=1) <= 0
        place = np.where(stays.any(axis=1), item - stays[:, ::-1].argmax(axis=1), 0)
        order[:, : item + 1] = moved(order[:, : item + 1], item, place[:, None])
    return falling(order)


def moved(order: NDArray[np.intp], place: int, to: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return orders with the item at `place` put before the one at `to`."""
    column = np.arange(order.shape[1])[None]
    target = np.where(to > place, to - 1, to)
    source = np.where((to < column) & (column <= place), column - 1, column)
    source = np.where((place <= column) & (column < target), column + 1, source)
    source = np.where(column == target, place, source)
    return np.take_along_axis(order, source, axis=1)


SCORED = {"wins": _wins, "copeland": _copeland, "fuse": _fuse}
