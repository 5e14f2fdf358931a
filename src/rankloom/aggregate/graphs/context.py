"""Methods that compare neighborhoods: sparse contextual activation, cross diffusion and hello neighbor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from annotated_types import Ge, Le

from rankloom._kernels.graphs.context import (
    Affinities,
    CloseSets,
    best_of_pools,
    diffuse,
    hello_neighbor,
    jaccards,
    mean_of_rows,
)
from rankloom._kernels.index.arguments import ScoredLists, SparseRows
from rankloom.aggregate.lists import answers, empty_lists, own_first, stack_own_first
from rankloom.aggregate.methods import CollectionMethod, NeighborMethod, register_method
from rankloom.errors import InputError
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Bools, Floats, Int32s
from rankloom.ranks.lists import pointers
from rankloom.ranks.pool import MAX_WEIGHT, checked_weights
from rankloom.registry import Count, Share
from rankloom.threads import Scratch, run_blocks

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

Activation = Literal["rank", "scores"]


@register_method("sca")
class SCA(CollectionMethod):
    r"""Sparse contextual activation: ranks items by how much their neighborhoods overlap with the query's.

    Every item i is a sparse vector: :math:`F_i(j)` for j among its first `neighbors`, itself
    included, 0 elsewhere. :math:`F_i` is then replaced by the mean of F over the first `expansion` items of its list,
    and

    .. math:: \mathrm{sim}(i, j) = \sum_x \min(F_i(x), F_j(x)) \,/\, \sum_x \max(F_i(x), F_j(x))

    ranks the items in the first `depth` of the query's lists. Ties (in float32) are broken by first appearance, as in
    `rrf`.

    Parameters
    ----------
    neighbors : int
        The article's k1; 20 is from k-reciprocal encoding (Zhong 2017), a closely related method.
    expansion : int
        The article's k2; 6 is from k-reciprocal encoding.
    depth : int
        How much of each list is reranked; our choice, so that memory and time are linear in n, not quadratic.
    activation : {"rank", "scores"}
        The initial :math:`F_i(j)`: 1 - (p - 1) / `neighbors` for the item at position p; or :math:`e^{-d}`, as in the
        article, with d the difference between the best score of the list and that of j (the distance, if scores are
        negated distances; they should be of the order of 1).
    combine : {"memberships", "similarities"}
        Sum the vectors of the rankers, or average the similarities. Our choice: the article has one ranker.
    weights : sequence of float, optional
        One for each ranker, in that sum or average; rankers of weight 0 are left out.

    Notes
    -----
    The formula was written from memory, without the article at hand. An item that is not first in its own list is moved
    there; an item without a list gets an empty result.

    References
    ----------
    Bai, Bai (2016), Sparse contextual activation for efficient visual re-ranking, IEEE
    Transactions on Image Processing 25(3)

    Examples
    --------
    >>> one = Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    >>> fused = SCA(neighbors=2, expansion=1).fuse([one], k=3)
    >>> fused.items[0], fused.scores[0]
    (array([0, 1, 2], dtype=int32), array([1. , 0.5, 0.2], dtype=float32))
    """

    neighbors: Count = 20
    depth: Count = 100
    expansion: Count = 6
    activation: Activation = "rank"
    combine: Literal["memberships", "similarities"] = "memberships"
    weights: Sequence[float] | None = None

    def rerank(self, ranks: Sequence[Ranks], k: int) -> Ranks:
        n = ranks[0].n_items
        used, share = _used(ranks, self.weights)
        vectors = [self._activated(r) for r in used]
        lists = stack_own_first(used, self.depth, n)
        score = np.zeros((n, lists.shape[0] * lists.shape[2]))
        if self.combine == "similarities":
            present = _present(used, n) * share[:, None]
            parts = present / np.maximum(present.sum(axis=0), np.finfo(float).tiny)
            for vector, part in zip(vectors, parts, strict=True):
                _add_jaccards(lists, vector, part, score)
        elif vectors:
            whole = sum(vector * part for vector, part in zip(vectors, share, strict=True))
            _add_jaccards(lists, whole, np.ones(n), score)
        out = empty_lists(n, min(k, n))
        Scratch(n).run(lambda start, stop, slot: best_of_pools(start, stop, lists, slot, score, out), n, "Ranking")
        return answers(ranks[0], *out)

    def _activated(self, ranks: Ranks) -> csr_array:
        """Return the vectors F of one ranker as rows of a sparse matrix: memberships averaged over the expansion."""
        items, _ = own_first(ranks, self.expansion)
        means = _sparse(*_row_shares(items, (items != PAD).astype(np.float64)))
        return means @ _sparse(*_memberships(ranks, self.neighbors, self.activation))


@register_method("crossdiffusion")
class CrossDiffusion(NeighborMethod):
    r"""Cross diffusion: the affinities of each ranker spread over the neighborhoods of the others.

    :math:`P_r` holds the affinities of the first `depth` of each list, rows divided by their
    sums, and :math:`K_r` those of the first `neighbors`. For `iterations` rounds

    .. math:: P_r \leftarrow K_r \Big(\frac{1}{m - 1} \sum_{s \ne r} P_s\Big) K_r^T + \eta I

    for all rankers at once; items are ranked by the mean of all :math:`P_r`. A single ranker spreads its own
    affinities.

    The article uses full matrices. Here each row keeps its `depth` largest entries after each round (ties by item
    number), which is exact if `depth` is at least the size of the collection, and stores m x n x `depth` entries, never
    n x n.

    Parameters
    ----------
    neighbors : int
        10 is our choice.
    depth : int
        Number of entries per row; our choice, the article keeps all.
    iterations : int
        5 is our choice. The article uses about 20, as far as we remember; on handwritten digits the affinities have
        spread too far by then (NDCG@10 of three rankers on 300 items: 0.827, against 0.913).
    eta : float
        1 is our choice.
    activation : {"rank", "scores"}
        The affinity of the item at position p: 1 - (p - 1) / `depth`; or :math:`e^{-d}`, with d the difference between
        the best score of the list and its own.
    weights : sequence of float, optional
        One for each ranker, in both means; rankers of weight 0 or without any list are left out.

    Notes
    -----
    The formula was written from memory, without the article at hand. An item that is not first in its own list is moved
    there; an item without a list gets an empty result. Ties (in float32) are in the order of the rankers' rows, then by
    item number.

    References
    ----------
    Wang, Jiang, Wang, Zhou, Tu (2012), Unsupervised metric fusion by cross diffusion, CVPR, pp. 2997-3004

    Examples
    --------
    >>> one = Ranks([[0, 1, 2, 3], [1, 0, 2, 3], [2, 3, 1, 0], [3, 2, 1, 0]])
    >>> CrossDiffusion(neighbors=2, depth=4).fuse([one], k=2).items.tolist()
    [[0, 1], [1, 0], [2, 3], [3, 2]]
    """

    neighbors: Count = 10
    depth: Count = 100
    iterations: Count = 5
    eta: Annotated[float, Ge(0), Le(MAX_WEIGHT)] = 1.0
    activation: Activation = "rank"
    weights: Sequence[float] | None = None

    def rerank(self, ranks: Sequence[Ranks], k: int) -> Ranks:
        used, share = _used(ranks, self.weights)
        n = ranks[0].n_items
        now = self._diffused(used, share, n)
        out, part = empty_lists(n, min(k, n)), share / max(share.sum(), 1e-300)
        Scratch(n).run(lambda start, stop, slot: mean_of_rows(start, stop, now, part, slot, out), n, "Ranking")
        out.items[~_present(used, n).any(axis=0)] = PAD
        return answers(ranks[0], *out)

    def _diffused(self, ranks: Sequence[Ranks], share: Floats, n: int) -> ScoredLists:
        """Return the rows of P of all rankers after the last round."""
        listed = [_memberships(r, self.depth, self.activation) for r in ranks]
        near = [_row_shares(items[:, : self.neighbors], values[:, : self.neighbors]) for items, values in listed]
        K = [Affinities(rows, _table(_sparse(*rows).tocsc())) for rows in near]
        shape = (len(ranks), n, min(self.depth, n))
        now = ScoredLists(np.full(shape, PAD, np.int32), np.zeros(shape))
        for r, (items, values) in enumerate(listed):
            now.items[r, :, : items.shape[1]], now.scores[r, :, : items.shape[1]] = _row_shares(items, values)
        new, scratch = ScoredLists(np.empty_like(now.items), np.empty_like(now.scores)), Scratch(n)

        def spread(r: int, P: ScoredLists, out: ScoredLists) -> None:
            others = np.where(np.arange(len(ranks)) == r, 0.0, share) if len(ranks) > 1 else share
            given = K[r], P, others / others.sum(), float(self.eta)
            scratch.run(lambda start, stop, slot: diffuse(start, stop, *given, slot, out), n, "Diffusing")

        for _ in range(self.iterations):
            for r in range(len(ranks)):
                spread(r, now, ScoredLists(new.items[r], new.scores[r]))
            now, new = new, now
        return now


def _add_jaccards(lists: Int32s, vectors: csr_array, part: Floats, score: Floats) -> None:
    """Add the similarities of each item to the items of its lists, weighted by the item's part, to the scores."""
    given = lists, _table(vectors), np.asarray(vectors.sum(axis=1), np.float64).reshape(-1), part
    n = len(score)
    Scratch(n).run(lambda start, stop, slot: jaccards(start, stop, *given, slot, score), n, "Comparing")


def _used(ranks: Sequence[Ranks], weights: Sequence[float] | None) -> tuple[list[Ranks], Floats]:
    """Return the rankers with a positive weight and a list, and their weights."""
    share = np.array(checked_weights(weights, len(ranks)))
    counts = np.array([weight > 0 and bool((r.items != PAD).any()) for r, weight in zip(ranks, share, strict=True)])
    return [r for r, yes in zip(ranks, counts, strict=True) if yes], share[counts]


def _present(ranks: Sequence[Ranks], n_items: int) -> Bools:
    """Return which rankers have a list for which item, shape (m, n_items)."""
    return np.array([r.items[:, 0] != PAD for r in ranks], np.bool_).reshape(len(ranks), n_items)


def _memberships(ranks: Ranks, length: int, activation: Activation) -> tuple[Int32s, Floats]:
    """Return the first `length` items of each list and their memberships; 0 at padding."""
    items, scores = own_first(ranks, length)
    if activation == "rank":
        values = np.broadcast_to(1 - np.arange(items.shape[1]) / length, items.shape)
    elif scores is None:
        raise InputError("activation='scores' needs scores, and these ranks have none; use activation='rank'.")
    else:
        values = np.exp(scores.astype(np.float64) - scores[:, :1])
    return items, np.where(items == PAD, 0.0, values)


def _row_shares(items: Int32s, values: Floats) -> ScoredLists:
    """Return the items, and their values divided by the row sums."""
    sums = values.sum(axis=1, keepdims=True)
    return ScoredLists(np.array(items, order="C"), np.divide(values, sums, out=np.zeros_like(values), where=sums > 0))


def _sparse(items: Int32s, values: Floats) -> csr_array:
    """Return padded lists as a sparse matrix with one row for each item."""
    from scipy.sparse import csr_array

    listed = items != PAD
    return csr_array((values[listed], items[listed], pointers(listed.sum(axis=1))), shape=(len(items), len(items)))


def _table(matrix: csr_array | csc_array) -> SparseRows:
    """Return a sparse matrix as kernels take it: its rows, or its columns if it is stored by columns."""
    return SparseRows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data)


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
