"""Majorities of rankers on pairs of items, and the Condorcet methods."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rankloom.aggregate.methods import register_method
from rankloom.aggregate.per_query.pool import Pool, checked_weights, falling, fuse_pools
from rankloom.errors import check_choice
from rankloom.ranks import PAD, Ranks

PAIRS = 1 << 20  # pairs of items in a block
SLACK = 1e-9  # smaller margins, as a share of the total weight, are rounding errors

#: What a list says about an item missing from it: nothing, or that the item comes after all listed ones.
Absent = Literal["left_out", "last"]
Variant = Literal["wins", "copeland", "fuse"]


@register_method("condorcet")
def condorcet(
    ranks: Sequence[Ranks],
    k: int = 10,
    *,
    variant: Variant = "wins",
    absent: Absent = "left_out",
    depth: int | None = None,
    weights: Sequence[float] | None = None,
) -> Ranks:
    r"""Condorcet: ranks items by how many others they beat in pairwise comparisons.

    .. math:: \mathrm{wins}(d) = |\{e : \sum_{r:\, d \text{ before } e} w_r > \sum_{r:\, e \text{ before } d} w_r\}|

    over the items e listed by any ranker for the query. Ties are broken by first appearance, as in `rrf`.

    Parameters
    ----------
    variant : {"wins", "copeland", "fuse"}
        ``wins`` (the paper's figures): the number of wins. ``copeland``: wins minus losses.
        ``fuse`` (Montague and Aslam's Condorcet-fuse): a sort that compares by majority. Majorities need not be
        transitive, so the result depends on the sort: here an insertion sort of the items in order of first
        appearance. No item comes right after one that it beats; scores are -1, -2, ...
    absent : {"left_out", "last"}
        ``left_out`` (the paper's figures): only lists with both items count. ``last``: an item missing from a list
        comes after all listed ones.
    depth, weights
        As in `rrf`.

    References
    ----------
    Copeland (1951); Montague, Aslam (2002), doi:10.1145/584792.584881

    Examples
    --------
    >>> condorcet([Ranks([[0, 1, 2]]), Ranks([[1, 0, 2]]), Ranks([[1, 2, 0]])]).to_dict()
    {'0': {'1': 2.0, '0': 1.0, '2': 0.0}}
    """
    check_choice("variant", variant, get_args(Variant))
    given = checked_votes(absent, weights, len(ranks))
    return fuse_pools(ranks, k, lambda pool: by_majority(pool, absent, given, SCORED[variant]), depth=depth)


def checked_votes(absent: str, weights: Sequence[float] | None, n_rankers: int) -> list[float] | None:
    """Return the weights of the votes, or None if each ranker has one vote."""
    check_choice("rule for absent items", absent, get_args(Absent))
    return None if weights is None else checked_weights(weights, n_rankers)


def by_majority(
    pool: Pool,
    absent: Absent,
    weights: list[float] | None,
    score: Callable[[NDArray[Any], NDArray[np.bool_]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return ``score(margins, real)`` for each pool; `real` is False at padding."""
    positions, scores = pool.positions(), np.empty(pool.items.shape)
    for rows in pair_blocks(pool):
        real = pool.items[rows] != PAD
        scores[rows] = score(margins(positions[:, rows], real, absent, weights), real)
    return scores


def pair_blocks(pool: Pool) -> Iterator[slice]:
    """Return blocks of queries small enough for tables of all pairs."""
    rows, width = pool.items.shape
    step = max(1, PAIRS // max(1, width * width))
    return (slice(start, start + step) for start in range(0, rows, step))


def margins(
    positions: NDArray[Any], real: NDArray[np.bool_], absent: Absent, weights: list[float] | None
) -> NDArray[Any]:
    """Return the votes for item a before item b minus the votes for b before a.

    Parameters
    ----------
    positions : int array of shape (m, n_queries, width)
        From 1; 0 where a ranker does not list the item.
    real : bool array of shape (n_queries, width)
        False at padding.

    Returns
    -------
    array of shape (n_queries, width, width)
        Integers; floats if there are weights, with values near 0 set to 0.
    """
    votes = np.int8 if len(positions) <= np.iinfo(np.int8).max else np.int32
    total = np.zeros((*real.shape, real.shape[1]), votes if weights is None else np.float64)
    for ranker, row in enumerate(positions):
        early, late = ends(row, real, absent)
        ahead, behind = early[:, :, None] < late[:, None, :], late[:, :, None] > early[:, None, :]
        total += ahead.view(np.int8) if weights is None else weights[ranker] * ahead
        total -= behind.view(np.int8) if weights is None else weights[ranker] * behind
    if weights is not None:
        total[abs(total) <= SLACK * sum(weights)] = 0
    return total


def ends(row: NDArray[Any], real: NDArray[np.bool_], absent: Absent) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return two copies of a ranker's positions: a comes before b if a's in the first is below b's in the second.

    Absent items are at infinity in the first, so they come before none. In the second they are at 0, so they come after
    none, or at infinity too.
    """
    far = np.iinfo(row.dtype).max
    early = np.where(row == 0, far, row)
    return early, row if absent == "left_out" else np.where(real, early, 0)


def _wins(margin: NDArray[Any], real: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.asarray(np.count_nonzero(margin > 0, axis=2), np.float64)


def _copeland(margin: NDArray[Any], real: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.asarray(_wins(margin, real) - np.count_nonzero(margin < 0, axis=2))


def _fuse(margin: NDArray[Any], real: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Insert each item after the last one that it does not beat; padding beats none and stays last."""
    order = np.tile(np.arange(real.shape[1]), (len(real), 1))
    for item in range(1, real.shape[1]):
        above = order[:, :item]
        stays = np.take_along_axis(margin[:, item], above, axis=1) <= 0
        target = np.where(stays.any(axis=1), item - stays[:, ::-1].argmax(axis=1), 0)
        order[:, : item + 1] = moved(order[:, : item + 1], item, target[:, None])
    return falling(order)


def moved(order: NDArray[np.intp], position: int, to: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return orders with the item at column `position` moved before the one at `to`."""
    column = np.arange(order.shape[1])[None]
    target = np.where(to > position, to - 1, to)
    source = np.where((to < column) & (column <= position), column - 1, column)
    source = np.where((position <= column) & (column < target), column + 1, source)
    source = np.where(column == target, position, source)
    return np.take_along_axis(order, source, axis=1)


SCORED = {"wins": _wins, "copeland": _copeland, "fuse": _fuse}
