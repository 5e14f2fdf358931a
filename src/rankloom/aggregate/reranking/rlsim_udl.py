"""RL-Sim: items by the similarity of their lists, in rounds."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.index.arguments import ScoredLists
from rankloom._kernels.reranking import list_similarities
from rankloom._kernels.reranking.list_distances import fuse_distances, segments
from rankloom.aggregate.lists import answers, empty_lists, filled, inverted
from rankloom.aggregate.methods import NeighborMethod, register_method
from rankloom.aggregate.reranking.sorted_lists import Distances, list_distances, sorted_by_both
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Array
from rankloom.registry import Count

Measure = Literal["intersection", "rbo", "jaccard", "jaccard_k", "kendall_tau", "kendall_tau_w", "spearman", "goodman"]


@register_method("rlsim_udl")
class RLSimUDL(NeighborMethod):
    r"""RL-Sim: items by how much their lists overlap, in rounds.

    A round compares the list of i with those of the next `depth` items j after i itself,

    .. math:: s(i, j) = \frac{2}{K (K + 1)} \sum_{d=2}^{K} |\tau_i^d \cap \tau_j^d|

    and sets the distance to :math:`1 / (1 + s)`, to the old distance plus 1 if s is 0, and to the old distance plus 2
    further down the list. Lists are sorted by the smaller of the distances of i to j and of j to i, and K grows by one
    with each round. Several rankers are fused first, by :math:`(\prod_r (1 + D_r(i, j)))^{1/m}`.

    Not to be confused with `rlsim`, the product of scores that the fusion-graph article has under this name.
    All items of a list are candidates, however deep.

    Parameters
    ----------
    neighbors : int
        K of the first round; at most `depth`.
    depth : int
        How many lists to compare with.
    iterations : int
        Number of rounds.
    distances : {"positions", "scores"}
        The first distances: positions from 0 (the longest length if absent), or differences to the best score (the
        largest of the list if absent), which are the distances if scores are negated distances.
    measure : str
        The similarity s of two lists: ``intersection``, as above, or one of those of RL-Sim*, over the first K items of
        both. ``rbo``: rank-biased overlap with p = 0.9. ``jaccard``; ``jaccard_k``, its mean over the first 1 to K.
        Over the items of either, with their positions in the whole lists, and 0 if none is shared: ``kendall_tau``,
        1 / (1 + x) with x the pairs in different order, divided by K (K - 1); ``kendall_tau_w``, with pairs weighted by
        0.8 to the smallest position, from 0, times the sum of their distances in both lists over K, at most 2, divided
        by 2 K (K - 1); ``spearman``, with x the sum of the differences in position, divided by 2 K n; ``goodman``, the
        share of pairs in the same order. A list has the items that it lacks after its end and after K; pairs of these
        count as in different order.

    Returns
    -------
    Ranks
        Scores are negated distances, at most 0.

    Notes
    -----
    Lists on digits are identical to those of the authors' UDLF, for one ranker and for three, and with the other
    measures to those of a transcript of it. For that, the fused items are sorted by the same heap sort, which is not
    stable; other ties keep the earlier order.

    References
    ----------
    Pedronette, Torres (2013), Image re-ranking and rank aggregation based on similarity of ranked lists, Pattern
    Recognition 46(8), doi:10.1016/j.patcog.2013.01.004; Okada, Pedronette, Torres (2015),
    Unsupervised distance learning by rank correlation measures for image retrieval, ICMR

    Examples
    --------
    >>> out = RLSimUDL(neighbors=2, iterations=1).fuse([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=2)
    >>> out.items[0], out.scores[0].round(2)
    (array([0, 1], dtype=int32), array([-0. , -0.6], dtype=float32))
    """

    neighbors: Count = 15
    depth: Count = 700
    iterations: Count = 3
    distances: Distances = "positions"
    measure: Measure = "intersection"

    def rerank(self, ranks: Sequence[Ranks], k: int) -> Ranks:
        lists, values, absent = list_distances(ranks, self.distances)
        items, first = (lists[0], values[0]) if len(lists) == 1 else _fused(lists, values, absent)
        now = ScoredLists(items, -first)
        for turn in range(self.iterations):
            updated = self._compared(now, self.neighbors + turn)
            now = sorted_by_both(now.items, updated, k if turn + 1 == self.iterations else None)
        return answers(ranks[0], *now)

    def _compared(self, lists: ScoredLists, neighbors: int) -> Array:
        """Return the distances of one round, in one direction; the scores are the negated distances before it."""
        frozen(lists.scores)
        out, depth = np.zeros(lists.items.shape, np.float32), self.depth + 1
        if self.measure == "intersection":
            back = inverted([lists.items[:, :neighbors]])
            return filled(out, "Comparing lists", segments, lists, back, neighbors, depth, _nearness(neighbors))
        code, back = getattr(list_similarities, self.measure.upper()), inverted([lists.items])
        return filled(out, "Comparing lists", list_similarities.compare_lists, lists, back, neighbors, depth, code)


def _fused(lists: Array, distances: Array, absent: Array) -> ScoredLists:
    """Return the items of all lists sorted by the mean of the rankers' distances, and the means."""
    m, n, width = lists.shape
    return filled(empty_lists(n, min(n, m * width)), "Fusing", fuse_distances, lists, distances, absent)


def _nearness(neighbors: int) -> Array:
    """Return the distance of two lists by the sum of their intersections."""
    max_sum = neighbors * (neighbors + 1) // 2
    return frozen(1 / (1 + np.arange(max_sum + 1, dtype=np.float32) / np.float32(max_sum)))
