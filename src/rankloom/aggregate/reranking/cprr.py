"""CPRR: Cartesian products of ranking references."""

from collections.abc import Sequence

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.index.arguments import ScoredLists
from rankloom._kernels.reranking.cprr import Heads, add_products, add_ranker
from rankloom.aggregate.lists import answers, filled, inverted, mutual_lists
from rankloom.aggregate.methods import NeighborMethod, register_method
from rankloom.aggregate.reranking.sorted_lists import own_lists, pool_of, reranked
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Array
from rankloom.registry import Count

FINAL_ROUNDS = 2  # after the fusion, as in the reference program


@register_method("cprr")
class CPRR(NeighborMethod):
    r"""CPRR: Cartesian products of the first items of each list, and of the lists that refer to one item.

    Lists are first sorted by forward plus backward position (one more than `depth` if absent). With
    :math:`w_q(a) = K + 1 - \rho_q(a)` for the first K items a of q's list, and 0 elsewhere, a round computes

    .. math:: S(a, b) = 2 \sum_q w_q(a)\, w_q(b) + 2 \sum_x w_a(x)\, w_b(x)

    where the second sum leaves out the item x itself (x = a or x = b), and sorts each list by S. Several rankers have
    `iterations` rounds each; the union of their lists is sorted by the sum of their S, cut to `depth`, and sorted in
    two more rounds, the first of which adds to that sum. An item that a ranker does not list counts there by all of
    its rounds and its backward position. Ties keep the earlier order; the item itself is swapped into the first
    position after each sort.

    Parameters
    ----------
    neighbors : int
        K, the neighborhood size; at most `depth`.
    depth : int
        How many items of each list to use; answers come from these.
    iterations : int
        Number of rounds of each ranker.

    Returns
    -------
    Ranks
        Scores are S of the last round, in descending order: the item itself and the one it was swapped with have each
        other's.

    Notes
    -----
    Lists on digits are identical to those of the authors' UDLF, for one ranker and for three.

    References
    ----------
    Valem, Pedronette (2016), Unsupervised similarity learning through Cartesian product of ranking references for
    image retrieval tasks, SIBGRAPI, doi:10.1109/SIBGRAPI.2016.042

    Examples
    --------
    >>> out = CPRR(neighbors=2).fuse([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=3)
    >>> out.items[0], out.scores[0]
    (array([0, 1, 2], dtype=int32), array([12.,  8.,  2.], dtype=float32))
    """

    neighbors: Count = 20
    depth: Count = 400
    iterations: Count = 2

    def rerank(self, ranks: Sequence[Ranks], k: int) -> Ranks:
        lists = own_lists(ranks, self.depth)
        base: Array | None = None
        if len(lists) > 1:
            items, base = _fused(lists, self.neighbors, self.iterations)
            rounds = FINAL_ROUNDS
        else:
            items, rounds = mutual_lists(lists[0]), self.iterations
        values = np.empty(items.shape, np.float32)
        for left in range(rounds, 0, -1):
            values = _products(items, self.neighbors, base)
            base = None  # counts in the first round only
            items, values = reranked(items, values, k if left == 1 else None)
        return answers(ranks[0], items, values)


def _fused(given: Sequence[Array], neighbors: int, rounds: int) -> ScoredLists:
    """Return the union of the lists sorted by the sum of the rankers' similarities, and the sums."""
    pool = pool_of(given)
    total = np.zeros(pool.shape, np.float32)
    for lists in given:
        whole = inverted([lists])
        items = mutual_lists(lists, whole)
        tops = [items[:, :neighbors]]
        for left in range(rounds - 1, 0, -1):
            items, _ = reranked(items, _products(items, neighbors), neighbors if left == 1 else None)
            tops.append(items[:, :neighbors])
        filled(total, "Adding rankers", add_ranker, pool, lists, whole, _heads(tops, neighbors))
    return reranked(pool, total, given[0].shape[1], aligned=True)


def _heads(tops: Sequence[Array], neighbors: int) -> Heads:
    """Return the first items of each list in all rounds as kernels take them."""
    return Heads(frozen(np.concatenate(tops)), inverted(tops), neighbors)


def _products(lists: Array, neighbors: int, base: Array | None = None) -> Array:
    """Return S of each row and the items of its list, added to the base."""
    values = np.zeros(lists.shape, np.float32) if base is None else base
    return filled(values, "Multiplying", add_products, lists, _heads([lists[:, :neighbors]], neighbors))
