"""ReckNNGraph and RL-Recom: distances reduced by sets of first items that list each other, until they converge."""

from collections.abc import Sequence
from math import inf

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.index.arguments import ScoredLists
from rankloom.aggregate.collection_methods import Reranking, register_reranker
from rankloom.aggregate.lists import answers, empty_lists, inverted, padded_to
from rankloom.aggregate.per_query.positions import RRF
from rankloom.aggregate.reranking.sorted_lists import mutual_values, own_lists, reranked
from rankloom.errors import check_between
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Array
from rankloom.threads import run_rows


@register_reranker("recknngraph", neighbors=15, depth=200)
def recknngraph(asked: Reranking, *, epsilon: float = 0.0125) -> Ranks:
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
    >>> out = recknngraph([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=2, neighbors=2, epsilon=0.9)
    >>> out.items[0], out.scores[0].round(2)
    (array([0, 1], dtype=int32), array([-0.  , -0.22], dtype=float32))
    """
    ranks, k, neighbors, depth, _ = asked
    check_between(0, 1, epsilon=epsilon)
    given = own_lists(ranks, depth)
    before, grown, distances = 0.0, 1.0, np.empty(0)
    while grown > epsilon:
        scores = [_set_scores(lists, neighbors) for lists in given]
        order = given[-1] if len(given) == 1 else _sorted(given[-1], given[-1:], scores[-1:]).items
        items, distances = _sorted(order, given, scores)
        now = float(scores[-1].sum()) / max(1, neighbors * len(items))
        given, before, grown, neighbors = [items], now, now - before, neighbors + 1
    return answers(ranks[0], given[0][:, :k], -distances[:, :k])


def _set_scores(lists: Array, neighbors: int) -> Array:
    from rankloom._kernels.reranking.reciprocal_sets import set_scores

    tops = padded_to(lists, neighbors)
    out = np.zeros((len(tops), max(neighbors - 1, 0)))
    run_rows(lambda start, stop: set_scores(start, stop, tops, out), len(tops), "Scoring sets")
    return out


def _sorted(order: Array, given: Sequence[Array], scores: Sequence[Array]) -> ScoredLists:
    """Return the candidates sorted by the product of the rankers' distances, and the distances."""
    from rankloom._kernels.reranking.reciprocal_sets import Sets, set_distances

    lists = frozen(np.concatenate(given))
    squares = frozen((np.concatenate(scores) ** 2).astype(np.float32))
    sets = Sets(lists, padded_to(lists, squares.shape[1] + 1), squares, inverted(given))
    out = empty_lists(*order.shape)
    run_rows(lambda start, stop: set_distances(start, stop, order, sets, out), len(order), "Sorting")
    frozen(out.items)
    return out


@register_reranker("rlrecom", neighbors=8, depth=400)
def rlrecom(asked: Reranking, *, strength: float = 2.0, epsilon: float = 0.0125) -> Ranks:
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
    >>> rlrecom([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=2, neighbors=2).items.tolist()
    [[0, 1], [1, 0], [2, 1]]
    """
    ranks, k, neighbors, depth, _ = asked
    check_between(0, 1, epsilon=epsilon)
    check_between(0, inf, strength=strength)
    one = own_lists([RRF().fuse(ranks, depth)] if len(ranks) > 1 else ranks, depth)[0]
    width = one.shape[1]
    distances = 2 * width - mutual_values(one, np.arange(width, 0, -1))
    mean, before = np.float32(0), np.float32(-1)
    while np.float64(mean) * epsilon <= mean - before and before != mean:
        cohesive = _cohesion(one, neighbors)
        before, mean = mean, _next_mean(mean, cohesive)
        _recommend(one, neighbors, strength, cohesive, distances)
        one, negated = reranked(one, -distances, aligned=True)
        distances, neighbors = -negated, neighbors + 1
    return answers(ranks[0], one[:, :k], -distances[:, :k])


def _next_mean(before: np.float32, cohesive: Array) -> np.float32:
    """Return the mean of the cohesions, added up in float32 from the mean before."""
    total = np.cumsum(np.concatenate([[before], cohesive]), dtype=np.float32)[-1]
    return np.float32(total / np.float32(max(1, len(cohesive))))


def _cohesion(lists: Array, neighbors: int) -> Array:
    from rankloom._kernels.reranking.reciprocal_sets import cohesion

    tops = padded_to(lists, neighbors + 1)
    out = np.zeros(len(tops), np.float32)
    run_rows(lambda start, stop: cohesion(start, stop, tops, out), len(tops), "Measuring cohesion")
    return frozen(out)


def _recommend(lists: Array, neighbors: int, strength: float, cohesive: Array, distances: Array) -> None:
    from rankloom._kernels.reranking.reciprocal_sets import recommend

    back = inverted([lists[:, : neighbors + 1]])
    run_rows(
        lambda start, stop: recommend(start, stop, lists, back, neighbors, float(strength), cohesive, distances),
        len(lists),
        "Recommending",
    )
