"""RDPAC: rank-based diffusion with assured convergence."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.index.arguments import ScoredLists, Transposed
from rankloom._kernels.reranking.rank_diffusion import by_position, cube_columns, divide_columns, square, step
from rankloom.aggregate.lists import answers, filled
from rankloom.aggregate.methods import NeighborMethod, register_method
from rankloom.aggregate.reranking.sorted_lists import add_to_pool, mutual_values, own_lists, pool_of, reranked
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Array
from rankloom.ranks.lists import pointers
from rankloom.registry import Count, Fraction


@register_method("rdpac")
class RDPAC(NeighborMethod):
    r"""RDPAC: rank-based diffusion with assured convergence.

    Lists of `widening` times L items, L = `depth`, are first sorted by :math:`u^{\rho_i(j)} + u^{\rho_j(i)}`, where u
    is `list_persistence` and positions beyond L add nothing. W holds :math:`p^{\rho_i(j)}` for the first K items j of
    i's list, with columns divided by their sums. From P = W, each iteration divides the columns of P by their sums and
    computes

    .. math:: P \leftarrow \alpha P W^T + (1 - \alpha) I

    at the first L items of each list. Finally, with columns of P divided once more, lists are sorted by
    :math:`P P^2`, computed at all their items. Of several rankers, each is diffused on its own;

    .. math:: F(i, j) = \sum_r 1 + (u^{\rho_{r,i}(j)} \text{ if } \rho_{r,i}(j) \le L, \text{ else } (P_r P_r^2)(i, j))

    over the rankers that list j sorts the candidates, with both powers of u added sorts them again, and the result is
    diffused as one ranker. Ties keep the earlier order; the item itself is swapped into the first position.

    Parameters
    ----------
    neighbors : int
        K, the neighborhood size; at most `depth`.
    depth : int
        L, the width of the diffusion; reduced where `widening` times L exceeds the size of the collection.
    iterations : int
        Number of steps.
    persistence, list_persistence : float
        p and u, between 0 and 1.
    damping : float
        :math:`\alpha`, between 0 and 1.
    widening : int
        How many times L items of each list to rank.
    pool : {"last", "union"}
        Candidates of the fusion: those of the last ranker only, as in the reference program, so that results depend
        on the order of the rankers; or those of any ranker, the first `widening` times L by F.

    Returns
    -------
    Ranks
        Scores are those of :math:`P P^2` in descending order: the item itself and the one it was swapped with have
        each other's.

    Notes
    -----
    Lists on digits are identical to those of the authors' UDLF, for one ranker and for three. As there, P replaces
    :math:`P^2` entry by entry while the product is computed: entries of items at earlier positions of other lists
    are new, the others old.

    References
    ----------
    Pedronette, Valem, Latecki (2021), Efficient rank-based diffusion process with assured convergence, Journal of
    Imaging 7(3), doi:10.3390/jimaging7030049

    Examples
    --------
    >>> RDPAC(neighbors=2, depth=2).fuse([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=2).items.tolist()
    [[0, 1], [1, 0], [2, 1]]
    """

    neighbors: Count = 15
    depth: Count = 400
    iterations: Count = 15
    persistence: Fraction = 0.6
    list_persistence: Fraction = 0.99
    damping: Fraction = 0.95
    widening: Count = 2
    pool: Literal["last", "union"] = "last"

    def rerank(self, ranks: Sequence[Ranks], k: int) -> Ranks:
        depth = min(self.depth, max(1, ranks[0].n_items // self.widening))
        lists = own_lists(ranks, self.widening * depth)
        shares = np.zeros(lists[0].shape[1], np.float32)
        shares[:depth] = self.list_persistence ** np.arange(1, min(depth, shares.size) + 1)
        items, base = lists[0], None
        if len(lists) > 1:
            lists = [_sorted(own, shares) for own in lists]
            values = [np.where(shares > 0, shares, self._diffused(own, depth)) for own in lists]
            items, base = _fused(lists, values, self.pool)
        items = _sorted(items, shares, base)
        return answers(ranks[0], *reranked(items, self._diffused(items, depth), k))

    def _diffused(self, lists: Array, depth: int) -> Array:
        """Return the values of all listed items after the diffusion."""
        width = min(depth, lists.shape[1])
        powers = self.persistence ** np.arange(1, min(self.neighbors, width) + 1)
        W = np.where(lists[:, : powers.size] != PAD, powers, 0.0).astype(np.float32)
        P = np.zeros((len(lists), width), np.float32)
        P[:, : powers.size] = W
        divide_columns(lists, powers.size, W)
        given, damping = (lists, frozen(W)), np.float32(self.damping)
        for _ in range(self.iterations):
            divide_columns(lists, width, P)
            P = filled(np.zeros(P.shape, np.float32), "Diffusing", step, *given, frozen(P), damping)
        divide_columns(lists, width, P)
        return _cubed(lists, frozen(P))


def _sorted(lists: Array, shares: Array, base: Array | None = None) -> Array:
    """Sort lists by the shares of both positions, added to the base."""
    return reranked(lists, mutual_values(lists, shares, base)).items


def _cubed(lists: Array, P: Array) -> Array:
    """Return the product of P and its square at the listed items, the square replaced as it is computed."""
    squared = frozen(filled(np.zeros(lists.shape, np.float32), "Multiplying", square, lists, P))
    listed = lists[lists != PAD]
    ptr = pointers(np.bincount(listed, minlength=len(lists))).copy()
    back = Transposed(ptr, *np.empty((2, listed.size), np.int32))
    by_position(lists, back)
    return filled(np.zeros(lists.shape, np.float32), "Multiplying again", cube_columns, lists, P, squared, back)


def _fused(lists: Sequence[Array], values: Sequence[Array], pool: str) -> ScoredLists:
    """Return the candidates sorted by the sum of the rankers' values, and the sums."""
    width = lists[0].shape[1]
    candidates = lists[-1] if pool == "last" else pool_of(lists)
    total = np.zeros(candidates.shape, np.float32)
    for items, value in zip(lists, values, strict=True):
        add_to_pool(candidates, items, 1.0 + value.astype(np.float64), total)
    return reranked(candidates, total, width, aligned=True)
