"""Hello neighbor: close sets of reciprocal neighbors."""

from collections.abc import Sequence

import numpy as np

from rankloom._kernels.graphs.context import CloseSets, hello_neighbor
from rankloom.aggregate.lists import answers, empty_lists, stack_own_first
from rankloom.aggregate.methods import NeighborMethod, register_method
from rankloom.ranks import Ranks
from rankloom.ranks.pool import checked_weights
from rankloom.registry import Count, Share
from rankloom.threads import Scratch, run_blocks


@register_method("helloneighbor")
class HelloNeighbor(NeighborMethod):
    r"""Hello neighbor: puts the query's reciprocal neighbors first, ranked by similarity to each other.

    :math:`R(i, k)` are the items among the first k of i's list, itself included, that have i
    among their first k. The close set C of a query starts as :math:`R(q, k)` with k = `neighbors`; for each member c,
    :math:`R(c, k/2)` joins if at least the share `overlap` of it is in :math:`R(q, k)`. With
    :math:`s(y, x)` = 1 - (p - 1) / `depth` for x at position p of y's list, 0 beyond, the score is

    .. math:: 1 + \frac{1}{|C|} \sum_{y \in C} s(y, x) \text{ for } x \in C, \qquad s(q, x) \text{ for other } x

    each averaged over the rankers that have a list for q (an item in any ranker's close set counts as close); q
    itself comes first, with score 2. Ties (in float32) are broken by first appearance, as in `rrf`.

    Parameters
    ----------
    neighbors : int
        At most `depth`; 20 is from k-reciprocal encoding (Zhong 2017), a closely related method.
    overlap : float
        2/3, from k-reciprocal encoding.
    depth : int
        How many items of each list to use.
    weights : sequence of float, optional
        One for each ranker, in the averages; rankers of weight 0 are left out.

    Notes
    -----
    How the set grows was written from memory, without the article at hand. The article's two distances need
    bag-of-words vectors: similarity by position and the average over rankers are our choice. An item that is not first
    in its own list is moved there; an item without a list gets an empty result.

    References
    ----------
    Qin, Gammeter, Bossard, Quack, Van Gool (2011), Hello neighbor: accurate object retrieval with k-reciprocal nearest
    neighbors, CVPR

    Examples
    --------
    Item 1 has item 0 among its neighbors, item 2 does not:

    >>> one = Ranks([[0, 2, 1, 3], [1, 0, 2, 3], [2, 3, 1, 0], [3, 2, 1, 0]])
    >>> fused = HelloNeighbor(neighbors=3, depth=4).fuse([one], k=3)
    >>> fused.items[0].tolist(), fused.scores[0].tolist()
    ([0, 1, 2], [2.0, 1.75, 0.75])
    """

    neighbors: Count = 20
    depth: Count = 100
    overlap: Share = 2 / 3
    weights: Sequence[float] | None = None

    def rerank(self, ranks: Sequence[Ranks], k: int) -> Ranks:
        share = np.array(checked_weights(self.weights, len(ranks)))
        n = ranks[0].n_items
        lists = stack_own_first([r for r, weight in zip(ranks, share, strict=True) if weight > 0], self.depth, n)
        rules = CloseSets(self.depth, min(self.neighbors, max(n, 1)), float(self.overlap))
        out, part = empty_lists(n, min(k, n)), share[share > 0]
        scratch = Scratch(n)

        def work(start: int, stop: int) -> None:
            with scratch.borrowed() as slot, scratch.borrowed() as inside:
                hello_neighbor(start, stop, lists, part, rules, slot, inside, out)

        run_blocks(work, n, stage="Fusing")
        return answers(ranks[0], *out)
