"""RkGraph: a graph of the items that share the top of many lists."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.graphs.mutual import RankGraph, overlaps, rank_by_graph
from rankloom._kernels.index.arguments import ScoredLists
from rankloom.aggregate.lists import (
    answers,
    empty_lists,
    filled,
    inverted,
    longest,
    mutual_lists,
    overlap_shares,
    padded_to,
)
from rankloom.aggregate.methods import CollectionMethod, register_method
from rankloom.ranks import Ranks
from rankloom.ranks.align import with_lists
from rankloom.ranks.arrays import Array
from rankloom.registry import Count, Fraction


@register_method("rkgraph")
class RkGraph(CollectionMethod):
    r"""RkGraph: connects items that share the top of many lists.

    Lists are first sorted by forward plus backward position, :math:`\rho_i(j) + \rho_j(i)` (one more than the longest
    list if absent), and the item itself is swapped into the first position. A round then computes the rank-biased
    overlap of each list with those of its first neighbors,

    .. math:: S(q, a) = (1 - p) \sum_{d=1}^{K} p^{d-1} |\tau_q^d \cap \tau_a^d| / d

    and adds, for all items q, :math:`2 S(q,a)^2` to A(q, a) and A(a, q) for the first K items a of q, and
    :math:`2 S(q,a) S(q,b)` to A(a, b) for all a, b among the first K + 1. Each list is sorted by the distance
    :math:`1 / (1 + A(i, j))`. Several rankers have one round each; their candidates are sorted by
    :math:`\prod_r (1 + 1 / (1 + A_r(i, j)))`, and the rounds continue with the fused list. Ties keep the earlier order.

    Parameters
    ----------
    neighbors, depth
        As in `cprr`, but `neighbors` may exceed `depth`.
    iterations : int
        Number of rounds, not counting the separate first round of each of several rankers.
    persistence : float
        p, between 0 and 1: how much deeper positions count in the overlap.
    pool : {"union", "last"}
        Candidates of the fusion: the items of any ranker's list (then cut to `depth`), or those of the last ranker
        only, as in the reference program. With ``"last"``, results depend on the order of the rankers.

    Returns
    -------
    Ranks
        Scores are 1 + A of the last round, at least 1: the reciprocal of the distance.

    Notes
    -----
    With ``pool="last"``, lists on digits are identical to those of the authors' UDLF (which also compares distances in
    float32). The figures in the fusion-graph article were probably obtained this way: the results there follow the last
    ranker.

    References
    ----------
    Pedronette, Almeida, Torres (2016), A graph-based ranked-list model for unsupervised distance learning on shape
    retrieval, Pattern Recognition Letters 83

    Examples
    --------
    >>> out = RkGraph(neighbors=1).fuse([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=2)
    >>> out.items.tolist()
    [[0, 1], [1, 0], [2, 1]]
    """

    neighbors: Count = 20
    iterations: Count = 1
    depth: Count = 700
    persistence: Fraction = 0.95
    pool: Literal["last", "union"] = "union"

    def rerank(self, ranks: Sequence[Ranks], k: int) -> Ranks:
        ranks, neighbors = with_lists(ranks), self.neighbors
        length = longest(ranks, self.depth)
        lists = [swapped_first(mutual_lists(padded_to(r.items, length))) for r in ranks]
        tail = overlap_shares(self.persistence, neighbors)
        if len(ranks) > 1:
            tops = [_tops(items, neighbors, tail) for items in lists]
            pairs = zip(lists, tops, strict=True)
            lists = [_ranked(items[None], [top], neighbors, length).items for items, top in pairs]
            pools = np.stack(lists if self.pool == "union" else lists[-1:])
            lists = [_ranked(pools, tops, neighbors, length).items]
        items = lists[0]
        for left in range(self.iterations, 0, -1):
            width = min(k, length) if left == 1 else length
            items, distances = _ranked(items[None], [_tops(items, neighbors, tail)], neighbors, width)
        return answers(ranks[0], items, 1.0 / distances)


def swapped_first(lists: Array) -> Array:
    """Return the lists with each item swapped with the first of its own list, if it is listed.

    Examples
    --------
    >>> swapped_first(np.array([[1, 2, 0], [1, 0, 2], [0, 1, -1]])).tolist()
    [[0, 2, 1], [1, 0, 2], [0, 1, -1]]
    """
    rows, columns = np.nonzero(lists == np.arange(len(lists))[:, None])
    first, swapped = np.zeros_like(columns), lists.copy()
    swapped[rows, columns] = lists[rows, first]
    swapped[rows, first] = rows
    return frozen(swapped)


def _tops(lists: Array, k: int, tail: Array) -> tuple[Array, Array]:
    """Return the first K + 1 items of each list, and the overlap with each of their lists."""
    tops = np.ascontiguousarray(lists[:, : k + 1])
    return tops, filled(np.empty(tops.shape), "Comparing lists", overlaps, lists, k, tail)


def _ranked(pools: Array, graphs: Sequence[tuple[Array, Array]], k: int, width: int) -> ScoredLists:
    """Return the candidates of each row sorted by distance in one or several graphs, and the distances."""
    tops, overlaps = zip(*graphs, strict=True)
    graph = RankGraph(frozen(np.concatenate(tops)), frozen(np.concatenate(overlaps)), inverted(tops))
    out = empty_lists(pools.shape[1], width, np.float64)
    return filled(out, "Ranking by graph", rank_by_graph, frozen(pools), k, graph)
