"""LHRR: a hypergraph of ranking references with logarithmic weights."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from annotated_types import Ge

from rankloom._kernels import frozen
from rankloom._kernels.index.arguments import ScoredLists
from rankloom._kernels.reranking.hypergraphs import (
    Hyperedges,
    Hypergraph,
    count_members,
    fill_members,
    join,
    similarities,
)
from rankloom.aggregate.lists import answers, empty_lists, filled
from rankloom.aggregate.methods import NeighborMethod, register_method
from rankloom.aggregate.reranking.sorted_lists import add_to_pool, mutual_values, own_lists, pool_of, reranked
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Array
from rankloom.ranks.lists import pointers, transposed
from rankloom.registry import Count
from rankloom.threads import run_rows


@register_method("lhrr")
class LHRR(NeighborMethod):
    r"""LHRR: a hypergraph of ranking references, with logarithmic weights of positions.

    Lists are first sorted by forward plus backward position (one more than `depth` if absent). A round then makes a
    hyperedge of each item, with :math:`w(p) = 1 - \log p / \log K` for the first K positions p,

    .. math:: h_i(j) = [i = j] + \sum_x w(\rho_i(x))\, w(\rho_x(j)), \qquad c_i = \text{sum of the K largest } h_i(j)

    and sorts the list of i, except its first item, by

    .. math:: S(i, j) = \Big(1 + \sum_e c_e h_e(i) h_e(j)\Big) \cdot \sum_e h_i(e) h_j(e) \cdot \sum_e h_e(i) h_j(e)

    Items outside the list that share a hyperedge with i are then inserted, best first, by the first factor alone,
    where it exceeds the value of the list at that position. Several rankers have `iterations` rounds each; the items
    of their lists are sorted by :math:`\sum_r (1 + c_{r,i}) \log(L + 2) / \log(\rho_{r,i}(j) + 1)`, L = `depth`, again
    with both positions added, and ranked in one more round. Ties keep the earlier order.

    Parameters
    ----------
    neighbors : int
        K, the neighborhood size; at least 2, at most `depth`.
    depth : int
        L, how many items of each list to use, and the length of the lists that are ranked.
    iterations : int
        Number of rounds of each ranker.

    Returns
    -------
    Ranks
        Scores are S, or its first factor for the item itself and the items inserted: not comparable, so each is cut to
        the lowest before it.

    Notes
    -----
    Whole lists on digits are identical to those of the authors' UDLF, for one ranker and for three. If lists are cut
    (`depth` less than the number of items), many inserted items are tied, as the weight of position K is 0; the program
    orders them by an unstable sort, we by number. One round of one ranker is then still identical; after more rounds,
    or a fusion, the top 10 are the same in 98.5 % or more.

    References
    ----------
    Pedronette, Valem, Almeida, Torres (2019), Multimedia retrieval through unsupervised hypergraph-based manifold
    ranking, IEEE Transactions on Image Processing 28(12), doi:10.1109/TIP.2019.2920526

    Examples
    --------
    >>> LHRR(neighbors=2).fuse([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=2).items.tolist()
    [[0, 1], [1, 0], [2, 1]]
    """

    neighbors: Annotated[int, Ge(2)] = 18  # weights are divided by its logarithm
    depth: Count = 1400
    iterations: Count = 2

    def rerank(self, ranks: Sequence[Ranks], k: int) -> Ranks:
        lists = own_lists(ranks, self.depth)
        if len(lists) == 1:
            items, values, _ = self._run(lists[0], self.iterations, k)
        else:
            items, values = _fused([self._run(own, self.iterations) for own in lists])
            items, values, _ = self._run(items, 1, k, values)
        values[:, :1] = values[:, :2].max(axis=1, keepdims=True, initial=-np.inf)  # the item itself is first
        return answers(ranks[0], items, np.minimum.accumulate(values, axis=1))

    def _run(
        self, lists: Array, rounds: int, k: int | None = None, base: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """Return the lists after all rounds, their values, and the confidence of each item in the last round."""
        positions = np.arange(lists.shape[1], 0, -1)
        lists, values = reranked(lists, mutual_values(lists, positions, base), fixed=1)
        confidence = np.empty(0)
        for left in range(rounds, 0, -1):
            lists, values, confidence = _round(lists, self.neighbors, k if left == 1 else None)
        return lists, values, confidence


def _round(lists: Array, neighbors: int, k: int | None) -> tuple[Array, Array, Array]:
    n, width = lists.shape
    graph = _hypergraph(lists, neighbors)
    values = np.zeros(lists.shape, np.float32)
    others = empty_lists(n, width if width < n else 0)  # with whole lists, there is nothing to insert
    run_rows(lambda start, stop: similarities(start, stop, lists, graph, values, others), n, "Comparing")
    ranked = reranked(lists, values, fixed=1)
    frozen(ranked.scores), frozen(others.items), frozen(others.scores)
    out = filled(empty_lists(n, width if k is None else min(k, width)), "Joining", join, ranked, others)
    return out.items, out.scores, graph.confidence


def _hypergraph(lists: Array, neighbors: int) -> Hypergraph:
    """Return the hyperedges of all items, by rows and by items."""
    n = len(lists)
    tops = frozen(np.ascontiguousarray(lists[:, :neighbors]))
    share = frozen(1.0 - np.log(np.arange(1, neighbors + 1)) / np.log(neighbors))
    size = filled(np.zeros(n, np.int64), "Counting", count_members, tops)
    ptr = pointers(size)
    edges = Hyperedges(ptr, np.empty(ptr[-1], np.uint32), np.empty(ptr[-1]), np.empty(ptr[-1], np.float32))
    confidence = filled(np.empty(n), "Making hyperedges", fill_members, tops, share, edges)
    edges = Hyperedges(*map(frozen, edges))
    back_ptr, rows, columns = transposed(ptr, edges.items, n, columns=True)
    entries = ptr[rows] + columns
    by_items = Hyperedges(back_ptr, rows, frozen(edges.exact[entries]), frozen(edges.rounded[entries]))
    return Hypergraph(edges, by_items, frozen(confidence))


def _fused(runs: Sequence[tuple[Array, Array, Array]]) -> ScoredLists:
    """Return the items of all lists sorted by their weight in the lists, and the weights."""
    width = runs[0][0].shape[1]
    pool = pool_of([lists for lists, _, _ in runs])
    total = np.zeros(pool.shape, np.float32)
    for lists, _, confidence in runs:
        share = np.log(width + 2) / np.log(np.arange(width) + 2.0)
        add_to_pool(pool, lists, share * (confidence[:, None] + 1.0), total)
    return reranked(pool, total, width, aligned=True)
