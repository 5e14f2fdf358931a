"""BFSTree: breadth-first trees of ranking references."""

from collections.abc import Sequence

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.reranking.trees import Level, column_sums, correlations, diffuse, second_level
from rankloom.aggregate.lists import answers, filled
from rankloom.aggregate.methods import NeighborMethod, register_method
from rankloom.aggregate.per_query.positions import RRF
from rankloom.aggregate.reranking.sorted_lists import mutual_values, own_lists, reranked
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Array
from rankloom.ranks.lists import pointers, transposed
from rankloom.registry import Count, Fraction


@register_method("bfstree")
class BFSTree(NeighborMethod):
    r"""BFSTree: breadth-first trees over the first items of each list, and one step of diffusion.

    Lists are first sorted by forward plus backward position, and again by the larger of the two new positions or, if
    less similar, by that sum (as similarities, `depth` + 1 - position). With S the rank-biased overlap of two lists to
    depth K, the tree of q has a first level :math:`C_q(a) = S(q, a)` for the first K items a of its list, and a second
    level :math:`D_q(b) = \sum_a S(q, a) S(a, b)` over the items b after a in a's first K. Then

    .. math:: W = \sum_q C_q C_q^T + D_q D_q^T + C_q D_q^T, \qquad
              V(i, j) = \sum_{m \in \tau_i} \hat{W}(i, m) \hat{W}(j, m)

    where :math:`\hat{W}` is W with columns divided by one more than their sum, and lists are sorted by V, with columns
    divided in the same way. Ties keep the earlier order; the item itself is swapped into the first position after
    each sort.

    The method is defined for one ranker; the lists of several are fused by `rrf` first.

    Parameters
    ----------
    persistence : float
        p of the rank-biased overlap, between 0 and 1.

    Returns
    -------
    Ranks
        Scores are V in descending order: the item itself and the one it was swapped with have each other's.

    Notes
    -----
    W is never stored: memory is n x (`depth` + K squared). Lists of one ranker on digits are those of the authors'
    UDLF up to near ties, since the program adds up W in float32. The program does not fuse rankers.

    References
    ----------
    Pedronette, Valem, Torres (2021), A BFS-tree of ranking references for unsupervised manifold learning, Pattern
    Recognition 111, doi:10.1016/j.patcog.2020.107666

    Examples
    --------
    >>> BFSTree(neighbors=2).fuse([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=2).items.tolist()
    [[0, 1], [1, 0], [2, 1]]
    """

    neighbors: Count = 20
    depth: Count = 1400
    persistence: Fraction = 0.7

    def rerank(self, ranks: Sequence[Ranks], k: int) -> Ranks:
        if len(ranks) > 1:
            ranks = [RRF().fuse(ranks, self.depth)]
        lists = _normalized(own_lists(ranks, self.depth)[0])
        values = _diffused(lists, *_trees(lists, self.neighbors, self.persistence))
        listed = lists != PAD
        sums = 1.0 + np.bincount(lists[listed], values[listed].astype(np.float64), len(lists))
        values[listed] = (values[listed] / sums[lists[listed]]).astype(np.float32)
        return answers(ranks[0], *reranked(lists, values, k))


def _normalized(lists: Array) -> Array:
    """Sort lists by the sum of both positions, then by the smallest similarity."""
    positions = np.arange(lists.shape[1], 0, -1)
    lists, sums = reranked(lists, mutual_values(lists, positions), aligned=True)
    return reranked(lists, mutual_values(lists, positions, sums, smallest=True)).items


def _trees(lists: Array, neighbors: int, persistence: float) -> tuple[Level, Level]:
    """Return both levels of all trees."""
    n = len(lists)
    tops = frozen(np.ascontiguousarray(lists[:, :neighbors]))
    p = np.float32(persistence)
    share = frozen(np.concatenate([[float(np.float32(1) - p)], float(p) ** np.arange(neighbors)]))
    near = frozen(filled(np.empty(tops.shape, np.float32), "Comparing lists", correlations, tops, share))
    ptr = np.zeros(n + 1, np.int64)
    slot = np.full(n, -1, np.int64)
    nothing = np.empty(0, np.int32), np.empty(0)
    second_level(0, n, tops, near, slot, ptr, *nothing)
    np.cumsum(ptr, out=ptr)
    items, values = np.empty(ptr[-1], np.int32), np.empty(ptr[-1])
    second_level(0, n, tops, near, slot, ptr, items, values)
    listed = tops != PAD
    first = _level(pointers(listed.sum(axis=1)), tops[listed], near[listed].astype(np.float64))
    return first, _level(ptr, items, values)


def _level(ptr: Array, items: Array, values: Array) -> Level:
    items = frozen(items.astype(np.uint32))
    back = transposed(ptr, items, len(ptr) - 1, columns=True)
    return Level(frozen(ptr), items, frozen(values), back)


def _diffused(lists: Array, first: Level, second: Level) -> Array:
    """Return V of each listed item, columns not yet divided."""
    sums = np.ones(len(lists))
    column_sums(first, second, sums)
    return filled(np.zeros(lists.shape, np.float32), "Diffusing", diffuse, lists, first, second, frozen(sums))
