"""CPRR: Cartesian products of ranking references."""

from collections.abc import Sequence

import numpy as np

from rankloom._kernels import frozen
from rankloom.aggregate.collection_methods import Reranking, register_reranker
from rankloom.aggregate.lists import Array, answers, inverted
from rankloom.aggregate.reranking.sorted_lists import mutual_lists, own_lists, pool_of, reranked
from rankloom.ranks import Ranks
from rankloom.threads import run_rows

FINAL_ROUNDS = 2  # after the fusion, as in the reference program


@register_reranker("cprr", neighbors=20, depth=400, iterations=2)
def cprr(asked: Reranking) -> Ranks:
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
    >>> out = cprr([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=3, neighbors=2)
    >>> out.items[0], out.scores[0]
    (array([0, 1, 2], dtype=int32), array([12.,  8.,  2.], dtype=float32))
    """
    ranks, k, neighbors, depth, iterations = asked
    given = own_lists(ranks, depth)
    if len(given) > 1:
        one, base = _fused(given, neighbors, iterations)
        rounds = FINAL_ROUNDS
    else:
        one, base, rounds = mutual_lists(given[0], inverted(given)), None, iterations
    values = np.empty(one.shape, np.float32)
    for left in range(rounds, 0, -1):
        values = _products(one, neighbors, base)
        base = None  # counts in the first round only
        one, values = reranked(one, values, k if left == 1 else None)
    return answers(ranks[0], one, values)


def _fused(given: Sequence[Array], neighbors: int, rounds: int) -> tuple[Array, Array | None]:
    """Return the union of the lists sorted by the sum of the rankers' similarities, and the sums."""
    pool = pool_of(given)
    total = np.zeros(pool.shape, np.float32)
    for lists in given:
        whole = inverted([lists])
        one = mutual_lists(lists, whole)
        heads = [one[:, :neighbors]]
        for left in range(rounds - 1, 0, -1):
            one, _ = reranked(one, _products(one, neighbors), neighbors if left == 1 else None)
            heads.append(one[:, :neighbors])
        _add_ranker(pool, lists, whole, heads, neighbors, total)
    return reranked(pool, total, given[0].shape[1], aligned=True)


def _add_ranker(
    pool: Array, lists: Array, whole: tuple[Array, Array, Array], heads: Sequence[Array], neighbors: int, total: Array
) -> None:
    """Add the similarities of one ranker, given its first lists, also inverted, and the first items of each round."""
    from rankloom._kernels.reranking.cprr import add_ranker

    back, tops = inverted(heads), frozen(np.concatenate(heads))
    run_rows(
        lambda start, stop: add_ranker(start, stop, pool, lists, whole, tops, neighbors, back, total),
        len(pool),
        "Adding rankers",
    )


def _products(lists: Array, neighbors: int, base: Array | None = None) -> Array:
    """Return S of each row and the items of its list, added to the base."""
    from rankloom._kernels.reranking.cprr import add_products

    tops = frozen(np.ascontiguousarray(lists[:, :neighbors]))
    back = inverted([tops])
    values = np.zeros(lists.shape, np.float32) if base is None else base
    run_rows(
        lambda start, stop: add_products(start, stop, lists, tops, neighbors, *back, values), len(lists), "Multiplying"
    )
    return values
