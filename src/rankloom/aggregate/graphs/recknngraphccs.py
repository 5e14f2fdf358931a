"""RecKNNGraphCCs: the reciprocal nearest-neighbor graph and its connected components."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le

from rankloom._kernels import frozen
from rankloom._kernels.graphs.nested import reciprocal_levels
from rankloom.aggregate.graphs.nested import components_of, groups_of, ranked
from rankloom.aggregate.lists import MAX_LEVELS, answers, filled, inverted, longest, mutual_lists, padded_to
from rankloom.aggregate.methods import CollectionMethod, register_method
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.align import with_lists
from rankloom.ranks.arrays import Array
from rankloom.registry import Count


@register_method("recknngraphccs")
class RecKNNGraphCCs(CollectionMethod):
    r"""RecKNNGraphCCs: the reciprocal nearest-neighbor graph and its connected components.

    A round first sorts the head of each list by
    :math:`\rho_i(j) + \rho_j(i) + \max(\rho_i(j), \rho_j(i))`, as Eq. (1) of the fusion-graph article; ties and the
    rest of the list keep their order. Then, for each t from 1 to K, i and j are connected if each is among the other's
    first t (and each item to itself), and

    .. math:: W(a, b) \mathrel{+}= K - t + 1

    for all a, b connected to one item, and again for all a, b in one connected component. Lists are sorted by the
    distance :math:`1 / (1 + W)`. Each of several rankers has its own first round; then items are sorted by
    :math:`\prod_r (1 + W_r)`, and further rounds use the fused list. Ties keep the previous order (one ranker after the
    other); items in no list come last, by number.

    All items of a list are candidates, however deep.

    Parameters
    ----------
    neighbors : int
        K, the neighborhood size; best near the size of a class.
    iterations : int
        Number of rounds, including the one before the fusion.
    depth : int, optional
        How much of each list is re-sorted; ``4 * neighbors`` by default.
    fusion : {"product", "sum"}
        How rankers are combined: the product of 1 + W, or 1 + the sum of W.
    backward_from : {0, 1}
        The number that positions :math:`\rho_j(i)` in other items' lists start from. 1 is the definition; 0 is what the
        authors' released program uses, and changes about 2 % of the top 10.

    Returns
    -------
    Ranks
        Scores are the product of 1 + W (or 1 + the sum), at least 1; for one ranker, the reciprocal of the distance.

    Notes
    -----
    With ``backward_from=0``, the lists of one ranker on digits are identical to those of the authors' program, for one
    round and for two. Backward positions are looked up in the whole list, not in its head; for an absent item the
    position is one more than the length of the list. The article does not define the fusion: the product was better
    than the sum in every comparison tried on digits.

    References
    ----------
    Pedronette, Gonçalves, Guilherme (2018), Unsupervised manifold learning through reciprocal kNN graph and connected
    components for image retrieval tasks, Pattern Recognition 75

    Examples
    --------
    >>> RecKNNGraphCCs(neighbors=2).fuse([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=3).to_dict()["0"]
    {'0': 8.0, '1': 4.0, '2': 1.0}
    """

    neighbors: Annotated[int, Ge(1), Le(MAX_LEVELS)] = 15
    iterations: Count = 1
    depth: Count | None = None
    fusion: Literal["product", "sum"] = "product"
    backward_from: Annotated[int, Ge(0), Le(1)] = 1

    def rerank(self, ranks: Sequence[Ranks], k: int) -> Ranks:
        n, neighbors = ranks[0].n_items, self.neighbors
        ranks = with_lists(ranks)
        width = max(longest(ranks, max(r.depth for r in ranks)), 1)
        lists = [padded_to(r.items, width) for r in ranks]
        weight = frozen(np.arange(1.0, neighbors + 1))
        items, scores = np.empty((n, 0), np.int32), np.empty((n, 0))
        for left in range(self.iterations, 0, -1):
            heads = [self._repositioned(items) for items in lists]
            tops = [padded_to(items, neighbors) for items in heads]  # so that levels mean the same in short lists
            groups = groups_of(tops, [_levels(top) for top in tops], neighbors)
            components = components_of(groups, len(tops), n, neighbors)
            answer = min(k, n) if left == 1 else width
            items, scores = ranked(heads, groups, components, weight, answer, fusion=self.fusion)
            lists = [items]
        return answers(ranks[0], items, scores)

    def _repositioned(self, lists: Array) -> Array:
        """Sort the head of each list by forward and backward positions."""
        missing = (np.count_nonzero(lists != PAD, axis=1) + 1).astype(np.int32)
        head = self.depth or 4 * self.neighbors
        return mutual_lists(lists, head=head, missing=missing, backward_from=self.backward_from, with_larger=True)


def _levels(tops: Array) -> Array:
    """Return K - t for the smallest t at which an item and one of its list are connected; -1 if they never are."""
    levels = np.empty(tops.shape, np.int16)
    return frozen(filled(levels, "Finding neighbors", reciprocal_levels, tops, inverted([tops])))
