"""ReckNNGraph and RL-Recom: distances reduced by sets of first items that list each other, until they converge."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from annotated_types import Gt

from rankloom._kernels import frozen
from rankloom._kernels.index.arguments import ScoredLists
from rankloom._kernels.reranking.reciprocal_sets import Sets, cohesion, recommend, set_distances, set_scores
from rankloom.aggregate.lists import answers, empty_lists, filled, inverted, padded_to
from rankloom.aggregate.methods import NeighborMethod, register_method
from rankloom.aggregate.per_query.positions import RRF
from rankloom.aggregate.reranking.sorted_lists import mutual_values, own_lists, reranked
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Array
from rankloom.registry import Count, Fraction


@register_method("recknngraph")
class RecKNNGraph(NeighborMethod):
    r"""ReckNNGraph: sets of first items, each weighted by how many of them list each other.

    In a round, the first s items of each list i, s from 2 to K, are a set :math:`T_{i,s}` with the score

    .. math:: c_{i,s} = \frac{1}{s^2} \sum_{a \in T_{i,s}} |T_{a,s} \cap T_{i,s}|, \qquad
              W(a, b) = \sum_{T_{i,s} \ni a, b} c_{i,s}^2

    The distance of i to j is :math:`\max(\rho_i(j), \rho_j(i)) / (L (1 + W(i, j)))`, or :math:`\rho_i(j)` where they
    share no set; L = `depth` is the position of absent items. Lists are sorted by it, and may gain items that share
    sets. Then K grows by one; rounds end when the sum of all scores, divided by K times the number of items, grows by
    no more than `epsilon`. Several rankers have a first round each, after which their distances are multiplied; further
    rounds use the fused list. Ties keep the earlier order (with several rankers, that of the last), then by number.

    Parameters
    ----------
    neighbors : int
        K of the first round; at most `depth`.
    depth : int
        How many items of each list to use; answers come from these.
    epsilon : float
        Where to stop, between 0 and 1.

    Returns
    -------
    Ranks
        Scores are the negated distances.

    Notes
    -----
    Lists on digits are identical to those of the authors' UDLF, for one ranker and for three. `recknngraphccs` is the
    later method by the same authors, with connected components.

    References
    ----------
    Pedronette, Penatti, Torres (2014), Unsupervised manifold learning using reciprocal kNN graphs in image re-ranking
    and rank aggregation tasks, Image and Vision Computing 32(2), doi:10.1016/j.imavis.2013.12.009

    Examples
    --------
    >>> out = RecKNNGraph(neighbors=2, epsilon=0.9).fuse([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=2)
    >>> out.items[0], out.scores[0].round(2)
    (array([0, 1], dtype=int32), array([-0.  , -0.22], dtype=float32))
    """

    neighbors: Count = 15
    depth: Count = 200
    epsilon: Fraction = 0.0125

    def rerank(self, ranks: Sequence[Ranks], k: int) -> Ranks:
        lists, neighbors = own_lists(ranks, self.depth), self.neighbors
        before, grown, distances = 0.0, 1.0, np.empty(0)
        while grown > self.epsilon:
            scores = [_set_scores(own, neighbors) for own in lists]
            order = lists[-1] if len(lists) == 1 else _sorted(lists[-1], lists[-1:], scores[-1:]).items
            items, distances = _sorted(order, lists, scores)
            now = float(scores[-1].sum()) / max(1, neighbors * len(items))
            lists, before, grown, neighbors = [items], now, now - before, neighbors + 1
        return answers(ranks[0], lists[0][:, :k], -distances[:, :k])


def _set_scores(lists: Array, neighbors: int) -> Array:
    tops = padded_to(lists, neighbors)
    return filled(np.zeros((len(tops), neighbors - 1)), "Scoring sets", set_scores, tops)


def _sorted(order: Array, tables: Sequence[Array], scores: Sequence[Array]) -> ScoredLists:
    """Return the candidates sorted by the product of the rankers' distances, and the distances."""
    lists = frozen(np.concatenate(tables))
    squares = frozen((np.concatenate(scores) ** 2).astype(np.float32))
    sets = Sets(lists, padded_to(lists, squares.shape[1] + 1), squares, inverted(tables))
    return filled(empty_lists(*order.shape), "Sorting", set_distances, order, sets)


@register_method("rlrecom")
class RLRecom(NeighborMethod):
    r"""RL-Recom: items recommend each other if they are among the first of a cohesive list.

    The distance of two items is the sum of their positions in each other's list, from 0 (`depth` if absent). With K
    neighbors after the item itself, at positions p = 1 to K, a round computes the cohesion of each list,

    .. math:: c_i = \frac{1}{K H} \sum_{x \in N_i} \sum_{p=1}^{K-1} \frac{[\tau_x(p) \in N_i]}{p + 1}, \qquad
              H = \sum_{p=2}^{K} 1/p

    and for each list i and all a, b among i and its neighbors, at the positions p and q from 0,

    .. math:: d(a, b) \mathrel{\times}= 1 - \min(1, \lambda\, c_i\, w_p w_q), \qquad w_p = 1 - \frac{p + 1}{K + 1}

    Lists are sorted by d, ties in the earlier order, and K grows by one. Rounds end when the mean cohesion has grown by
    less than `epsilon` of itself.

    The method is defined for one ranker; the lists of several are fused by `rrf` first.

    Parameters
    ----------
    strength : float
        :math:`\lambda`, above 0.
    epsilon : float
        Smallest growth of cohesion for another round, between 0 and 1.

    Returns
    -------
    Ranks
        Scores are the distances, negated.

    Notes
    -----
    Lists on digits are identical to those of a transcript of the authors' UDLF, which does not fuse rankers. As there,
    each mean of cohesions starts from the one of the round before, which is divided by the number of items.

    References
    ----------
    Valem, Pedronette, Torres, Borin, Almeida (2015), Effective, efficient, and scalable unsupervised distance learning
    in image retrieval tasks, ICMR, doi:10.1145/2671188.2749336

    Examples
    --------
    >>> RLRecom(neighbors=2).fuse([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=2).items.tolist()
    [[0, 1], [1, 0], [2, 1]]
    """

    neighbors: Count = 8
    depth: Count = 400
    strength: Annotated[float, Gt(0)] = 2.0
    epsilon: Fraction = 0.0125

    def rerank(self, ranks: Sequence[Ranks], k: int) -> Ranks:
        if len(ranks) > 1:
            ranks = [RRF().fuse(ranks, self.depth)]
        lists, neighbors, strength = own_lists(ranks, self.depth)[0], self.neighbors, float(self.strength)
        n, width = lists.shape
        distances = 2 * width - mutual_values(lists, np.arange(width, 0, -1))
        mean, before = np.float32(0), np.float32(-1)
        while np.float64(mean) * self.epsilon <= mean - before and before != mean:
            tops, back = padded_to(lists, neighbors + 1), inverted([lists[:, : neighbors + 1]])
            cohesive = frozen(filled(np.zeros(n, np.float32), "Measuring cohesion", cohesion, tops))
            before, mean = mean, _next_mean(mean, cohesive)
            filled(distances, "Recommending", recommend, lists, back, neighbors, strength, cohesive)
            lists, negated = reranked(lists, -distances, aligned=True)
            distances, neighbors = -negated, neighbors + 1
        return answers(ranks[0], lists[:, :k], -distances[:, :k])


def _next_mean(before: np.float32, cohesive: Array) -> np.float32:
    """Return the mean of the cohesions, added up in float32 from the mean before."""
    total = np.cumsum(np.concatenate([[before], cohesive]), dtype=np.float32)[-1]
    return np.float32(total / np.float32(max(1, len(cohesive))))
