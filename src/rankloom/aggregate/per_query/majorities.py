"""Majorities of rankers on pairs of items: the Condorcet methods, and a walk along majorities."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Lt

from rankloom.aggregate.methods import QueryMethod, register_method
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Array, Bools, Floats, Indexes
from rankloom.ranks.pool import Pool, Ties, checked_weights, fuse_pools, scores_by_order
from rankloom.registry import Count

PAIRS = 1 << 20  # pairs of items in a block
SLACK = 1e-9  # smaller margins, as a share of the total weight, are rounding errors

#: What a list says about an item missing from it: nothing, or that the item comes after all listed ones.
Absent = Literal["left_out", "last"]


class MajorityMethod(QueryMethod):
    """A method that sees, of each pair of items, how many rankers put one before the other.

    `condorcet` describes `absent`, and `rrf` the options `depth` and `weights`.
    """

    absent: Absent = "left_out"
    depth: Count | None = None
    weights: Sequence[float] | None = None

    def fuse(self, ranks: Sequence[Ranks], k: int = 10) -> Ranks:
        return self._fused(ranks, k, "first")

    def _fused(self, ranks: Sequence[Ranks], k: int, ties: Ties) -> Ranks:
        weights = None if self.weights is None else self.shares(checked_weights(self.weights, len(ranks)))
        return fuse_pools(ranks, k, lambda pool: self._scores(pool, weights), depth=self.depth, ties=ties)

    def shares(self, weights: list[float]) -> list[float]:
        """Return the weights of the votes from those of the rankers."""
        return weights

    @abstractmethod
    def order(self, margin: Array, real: Bools) -> Floats:
        """Return the scores of items from the margins between them; `real` is False at padding."""

    def _scores(self, pool: Pool, weights: list[float] | None) -> Floats:
        positions, scores = pool.positions(), np.empty(pool.items.shape)
        for rows in pair_blocks(pool):
            real = pool.items[rows] != PAD
            scores[rows] = self.order(margins(positions[:, rows], real, self.absent, weights), real)
        return scores


@register_method("condorcet")
class Condorcet(MajorityMethod):
    r"""Condorcet: ranks items by how many others they beat in pairwise comparisons.

    .. math:: \mathrm{wins}(d) = |\{e : \sum_{r:\, d \text{ before } e} w_r > \sum_{r:\, e \text{ before } d} w_r\}|

    over the items e listed by any ranker for the query.

    Parameters
    ----------
    variant : {"wins", "copeland", "fuse"}
        ``wins`` (the paper's figures): the number of wins. ``copeland``: wins minus losses.
        ``fuse`` (Montague and Aslam's Condorcet-fuse): a sort that compares by majority. Majorities need not be
        transitive, so the result depends on the sort: here an insertion sort of the items in the order of `ties`. No
        item comes right after one that it beats; scores are -1, -2, ...
    absent : {"left_out", "last"}
        ``left_out`` (the paper's figures): only lists with both items count. ``last``: an item missing from a list
        comes after all listed ones.

    References
    ----------
    Copeland (1951), A reasonable social welfare function; Montague, Aslam (2002), Condorcet fusion for improved
    retrieval, CIKM, doi:10.1145/584792.584881

    Examples
    --------
    >>> Condorcet().fuse([Ranks([[0, 1, 2]]), Ranks([[1, 0, 2]]), Ranks([[1, 2, 0]])]).to_dict()
    {'0': {'1': 2.0, '0': 1.0, '2': 0.0}}
    """

    variant: Literal["wins", "copeland", "fuse"] = "wins"
    ties: Ties = "first"

    def fuse(self, ranks: Sequence[Ranks], k: int = 10) -> Ranks:
        return self._fused(ranks, k, self.ties)

    def order(self, margin: Array, real: Bools) -> Floats:
        return SCORED[self.variant](margin, real)


def pair_blocks(pool: Pool) -> Iterator[slice]:
    """Return blocks of queries small enough for tables of all pairs."""
    rows, width = pool.items.shape
    step = max(1, PAIRS // max(1, width * width))
    return (slice(start, start + step) for start in range(0, rows, step))


def margins(positions: Array, real: Bools, absent: Absent, weights: list[float] | None) -> Array:
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


def ends(row: Array, real: Bools, absent: Absent) -> tuple[Array, Array]:
    """Return two copies of a ranker's positions: a comes before b if a's in the first is below b's in the second.

    Absent items are at infinity in the first, so they come before none. In the second they are at 0, so they come after
    none, or at infinity too.
    """
    far = np.iinfo(row.dtype).max
    early = np.where(row == 0, far, row)
    return early, row if absent == "left_out" else np.where(real, early, 0)


def _wins(margin: Array, real: Bools) -> Floats:
    return np.asarray(np.count_nonzero(margin > 0, axis=2), np.float64)


def _copeland(margin: Array, real: Bools) -> Floats:
    return np.asarray(_wins(margin, real) - np.count_nonzero(margin < 0, axis=2))


def _fuse(margin: Array, real: Bools) -> Floats:
    """Insert each item after the last one that it does not beat; padding beats none and stays last."""
    order = np.tile(np.arange(real.shape[1]), (len(real), 1))
    for item in range(1, real.shape[1]):
        above = order[:, :item]
        stays = np.take_along_axis(margin[:, item], above, axis=1) <= 0
        target = np.where(stays.any(axis=1), item - stays[:, ::-1].argmax(axis=1), 0)
        order[:, : item + 1] = moved(order[:, : item + 1], item, target[:, None])
    return scores_by_order(order)


def moved(order: Indexes, position: int, to: Indexes) -> Indexes:
    """Return orders with the item at column `position` moved before the one at `to`."""
    column = np.arange(order.shape[1])[None]
    target = np.where(to > position, to - 1, to)
    source = np.where((to < column) & (column <= position), column - 1, column)
    source = np.where((position <= column) & (column < target), column + 1, source)
    source = np.where(column == target, position, source)
    return np.take_along_axis(order, source, axis=1)


SCORED = {"wins": _wins, "copeland": _copeland, "fuse": _fuse}


@register_method("mc4")
class MC4(MajorityMethod):
    r"""Markov chain 4: how often a walk is at an item if it moves only to items that a majority prefers.

    From item d the walk picks an item e evenly among all listed for the query, and moves there if more of the rankers
    that list both put e before d than d before e; otherwise it stays. Items are ordered by the stationary distribution

    .. math:: \pi = (1 - t)\, \pi P + t / n, \qquad
        P(d, e) = \frac{1}{n} \Big[\sum_{r:\, e \text{ before } d} w_r > \sum_{r:\, d \text{ before } e} w_r\Big]

    with n the number of items. Ties are broken by first appearance, as in `rrf`.

    Parameters
    ----------
    teleport : float
        t, at least 1e-12 and below 1: how often a step leads to any item, so that the distribution is unique and items
        that the walk never returns to are ordered too. The article leaves this open; 0.05 is our choice.
    absent : {"left_out", "last"}
        ``left_out`` (the article's): only lists with both items count. ``last``: an item missing from a list comes
        after all listed ones; better where the lists share few items (NDCG@10 on MQ2008-agg: 0.514, against 0.407).

    References
    ----------
    Dwork, Kumar, Naor, Sivakumar (2001), Rank aggregation methods for the web, doi:10.1145/371920.372165

    Examples
    --------
    >>> from rankloom import Ranks
    >>> MC4().fuse([Ranks([[0, 1, 2]]), Ranks([[1, 0, 2]]), Ranks([[1, 2, 0]])], k=3).items
    array([[1, 0, 2]], dtype=int32)
    """

    slow: ClassVar[bool] = True
    teleport: Annotated[float, Ge(1e-12), Lt(1)] = 0.05

    def order(self, margin: Array, real: Bools) -> Floats:
        return _stationary(margin > 0, real, self.teleport)


def _stationary(beats: Bools, real: Bools, teleport: float) -> Floats:
    """Return the stationary distribution of each chain; ``beats[q, e, d]``: a majority puts e before d."""
    n = np.maximum(np.count_nonzero(real, axis=1), 1)[:, None]
    columns = beats / n[:, :, None]  # from d to e, in row e: the transpose of P
    diagonal = np.arange(real.shape[1])
    columns[:, diagonal, diagonal] = 1.0 - np.count_nonzero(beats, axis=1) / n
    system = np.eye(real.shape[1]) - (1 - teleport) * columns
    return np.asarray(np.linalg.solve(system, np.where(real, teleport / n, 0.0)[:, :, None])[:, :, 0])
