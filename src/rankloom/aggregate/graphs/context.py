"""Methods that compare neighborhoods: sparse contextual activation and cross diffusion."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankloom._kernels.index.arguments import ScoredLists, SparseRows
from rankloom.aggregate.collection_methods import Reranking, register_reranker
from rankloom.aggregate.lists import answers, empty_lists, own_first, stack_own_first
from rankloom.errors import InputError, check_choice, check_range, check_whole
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Bools, Floats, Int32s
from rankloom.ranks.pool import MAX_WEIGHT, checked_weights
from rankloom.threads import Scratch, run_blocks


@register_reranker("sca", neighbors=20, depth=100, within_depth=False)
def sca(
    asked: Reranking,
    *,
    expansion: int = 6,
    activation: str = "rank",
    combine: str = "memberships",
    weights: Sequence[float] | None = None,
) -> Ranks:
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
    >>> fused = sca([one], k=3, neighbors=2, expansion=1)
    >>> fused.items[0], fused.scores[0]
    (array([0, 1, 2], dtype=int32), array([1. , 0.5, 0.2], dtype=float32))
    """
    from rankloom._kernels.graphs import context as kernels

    ranks, k, neighbors, depth, _ = asked
    check_whole(expansion=expansion)
    check_choice("value of combine", combine, ("memberships", "similarities"))
    k = min(k, ranks[0].n_items)
    used, share = _used(ranks, weights)
    vectors = [_activated(r, neighbors, expansion, activation) for r in used]
    lists = stack_own_first(used, depth, ranks[0].n_items)
    parts = np.ones((1, ranks[0].n_items))
    if combine == "memberships":
        vectors = [sum(vector * part for vector, part in zip(vectors, share, strict=True))] if vectors else []
    else:
        present = _present(used, ranks[0].n_items) * share[:, None]
        parts = present / np.maximum(present.sum(axis=0), np.finfo(float).tiny)
    score = np.zeros((lists.shape[1], lists.shape[0] * lists.shape[2]))
    scratch = Scratch(lists.shape[1])
    for vector, part in zip(vectors, parts, strict=bool(vectors)):
        table = _table(vector)
        sums = np.asarray(vector.sum(axis=1), np.float64).reshape(-1)

        def compare(start: int, stop: int, table: Any = table, sums: Any = sums, part: Any = part) -> None:
            with scratch.borrowed() as slot:
                kernels.jaccards(start, stop, lists, table, sums, part, slot, score)

        run_blocks(compare, len(score), stage="Comparing")
    out = empty_lists(len(score), k)

    def work(start: int, stop: int) -> None:
        with scratch.borrowed() as slot:
            kernels.best_of_pools(start, stop, lists, slot, score, out)

    run_blocks(work, len(score), stage="Ranking")
    return answers(ranks[0], *out)


@register_reranker("crossdiffusion", neighbors=10, depth=100, iterations=5)
def crossdiffusion(
    asked: Reranking, *, eta: float = 1.0, activation: str = "rank", weights: Sequence[float] | None = None
) -> Ranks:
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
    >>> crossdiffusion([one], k=2, neighbors=2, depth=4).items.tolist()
    [[0, 1], [1, 0], [2, 3], [3, 2]]
    """
    from rankloom._kernels.graphs import context as kernels

    ranks, k, neighbors, depth, iterations = asked
    check_range(0, MAX_WEIGHT, eta=eta)
    used, share = _used(ranks, weights)
    n = ranks[0].n_items
    k = min(k, n)
    listed = [_memberships(r, depth, activation) for r in used]
    near = [_row_shares(items[:, :neighbors], values[:, :neighbors]) for items, values in listed]
    K = [kernels.Affinities(rows, _table(_sparse(*rows).tocsc())) for rows in near]
    width = min(depth, n)
    now = ScoredLists(np.full((len(used), n, width), PAD, np.int32), np.zeros((len(used), n, width)))
    for r, (items, values) in enumerate(listed):
        now.items[r, :, : items.shape[1]], now.scores[r, :, : items.shape[1]] = _row_shares(items, values)
    new = ScoredLists(np.empty_like(now.items), np.empty_like(now.scores))
    scratch = Scratch(n)
    for _ in range(iterations):
        for r in range(len(used)):
            others = np.where(np.arange(len(used)) == r, 0.0, share) if len(used) > 1 else share
            part, out = others / others.sum(), ScoredLists(new.items[r], new.scores[r])

            def spread(start: int, stop: int, r: int = r, part: Any = part, P: Any = now, out: Any = out) -> None:
                with scratch.borrowed() as slot:
                    kernels.diffuse(start, stop, K[r], P, part, float(eta), slot, out)

            run_blocks(spread, n, stage="Diffusing")
        now, new = new, now
    out, part = empty_lists(n, k), share / max(share.sum(), 1e-300)

    def work(start: int, stop: int) -> None:
        with scratch.borrowed() as slot:
            kernels.mean_of_rows(start, stop, now, part, slot, out)

    run_blocks(work, n, stage="Ranking")
    out.items[~_present(used, n).any(axis=0)] = PAD
    return answers(ranks[0], *out)


def _used(ranks: Sequence[Ranks], weights: Sequence[float] | None) -> tuple[list[Ranks], Floats]:
    """Return the rankers with a positive weight and a list, and their weights."""
    share = np.array(checked_weights(weights, len(ranks)))
    counts = np.array([weight > 0 and bool((r.items != PAD).any()) for r, weight in zip(ranks, share, strict=True)])
    return [r for r, yes in zip(ranks, counts, strict=True) if yes], share[counts]


def _present(ranks: Sequence[Ranks], n_items: int) -> Bools:
    """Return which rankers have a list for which item, shape (m, n_items)."""
    return np.array([r.items[:, 0] != PAD for r in ranks], np.bool_).reshape(len(ranks), n_items)


def _memberships(ranks: Ranks, length: int, activation: str) -> tuple[Int32s, Floats]:
    """Return the first `length` items of each list and their memberships; 0 at padding."""
    check_choice("activation", activation, ("rank", "scores"))
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


def _sparse(items: Int32s, values: Floats) -> Any:
    """Return padded lists as a sparse matrix with one row for each item."""
    from scipy import sparse

    listed = items != PAD
    ptr = np.concatenate([[0], np.cumsum(listed.sum(axis=1))])
    return sparse.csr_array((values[listed], items[listed], ptr), shape=(len(items), len(items)))


def _table(matrix: Any) -> SparseRows:
    """Return a sparse matrix as kernels take it: its rows, or its columns if it is stored by columns."""
    return SparseRows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data)


def _activated(ranks: Ranks, neighbors: int, expansion: int, activation: str) -> Any:
    """Return the vectors F of one ranker as rows of a sparse matrix: memberships averaged over the expansion."""
    items, _ = own_first(ranks, expansion)
    return _sparse(*_row_shares(items, (items != PAD).astype(np.float64))) @ _sparse(
        *_memberships(ranks, neighbors, activation)
    )
