"""RFE: rank flow embeddings, their products, and connected components."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Gt

from rankloom._kernels import frozen
from rankloom._kernels.index.arguments import ScoredLists, SparseRows
from rankloom._kernels.sparse_rows import extend_lists, join_components, row_products
from rankloom.aggregate.lists import answers, empty_lists, filled, padded_to
from rankloom.aggregate.methods import NeighborMethod, register_method
from rankloom.aggregate.reranking.sorted_lists import add_to_pool, own_lists, pool_of, reranked
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Array
from rankloom.registry import Count, Fraction
from rankloom.threads import run_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

OWN_VALUE = 2.0**30  # of an item in its own list, so that it comes first


@register_method("rfe")
class RFE(NeighborMethod):
    r"""RFE: rank flow embeddings, by the first items of each list and of theirs, and connected components.

    Lists are first sorted by :math:`\sigma(\rho_i(j))^2\, \sigma(\rho_j(i))`, where :math:`\sigma(1) = 1` and
    :math:`\sigma(p) = 1 - 1 / (1 + e^{-a (p - \lfloor K/2 \rfloor)})`; absent items are at L + 2, L = `depth`. With
    :math:`w_i(j) = 1 - \log \rho_i(j) / \log K` for the first K items j of i's list,

    .. math:: e = w + w^2, \qquad E(i, j) = e(i, j)\, e(j, i)

    are the embeddings, rows of a sparse matrix. Each iteration sorts lists by :math:`(E E^T)(i, j) / \rho_i(j)`. Then,
    with :math:`c_i` the sum of the K largest entries of a row, divided by the largest such sum, lists are sorted by
    :math:`E^T \mathrm{diag}(c)\, E`, and may gain items. Finally, the pairs of an item and its first K with the largest
    :math:`(E E^T)(i, j)\, c_i c_j` are connected. The components of two or more items have the sum of their items'
    rows as embedding, and an item is described by its products with these, :math:`D(i, g) = E_i \cdot E_g`. The first
    K items of the embedding of each component, :math:`g_1, g_2, ...`, are sorted before all others, by

    .. math:: S(g_a, g_b) = \big(1 + \sqrt{a b}\; D_{g_a} \cdot D_{g_b}\big) \,/\, \rho_{g_a}(g_b)

    of the last component that has both. Several rankers are fused after the first sort, by the sum of one more than
    its values over the rankers that list an item. Ties keep the earlier order; the item itself is swapped into the
    first position after each sort.

    Parameters
    ----------
    neighbors : int
        K, the neighborhood size; at least 2, at most `depth`.
    depth : int
        L, to which lists are cut before and after each sort.
    iterations : int
        Number of sorts by embeddings.
    slope : float
        a, above 0.
    components : bool
        Whether to sort by components.
    edges : float, optional
        Share of the pairs that are connected, between 0 and 1; by default half of the mean of c.

    Returns
    -------
    Ranks
        Scores are the values of the last sort, in descending order; 0 for items that share no component.

    Notes
    -----
    Written from the authors' UDLF, which computes in float32: lists on digits equal its lists up to near ties. Its
    options to sort by embeddings in the end, off by default, and to export them are left out.

    References
    ----------
    Valem, Pedronette, Latecki (2023), Rank flow embedding for unsupervised and semi-supervised manifold learning, IEEE
    Transactions on Image Processing 32, arXiv:2304.12448

    Examples
    --------
    >>> RFE(neighbors=2).fuse([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=2).items.tolist()
    [[0, 1], [1, 0], [2, 1]]
    """

    neighbors: Annotated[int, Ge(2)] = 20  # weights are divided by its logarithm
    depth: Count = 400
    iterations: Count = 2
    slope: Annotated[float, Gt(0)] = 0.1
    components: bool = True
    edges: Fraction | None = None

    def rerank(self, ranks: Sequence[Ranks], k: int) -> Ranks:
        tables, neighbors = own_lists(ranks, self.depth), self.neighbors
        lists = tables[0] if len(tables) == 1 else _fused(tables, neighbors, self.slope)
        lists, _ = _normalized(lists, neighbors, self.slope)
        for _ in range(self.iterations):
            products = _products(_embeddings(lists, neighbors), lists)
            lists, _ = reranked(lists, (products / np.arange(1, lists.shape[1] + 1)).astype(np.float32))
        lists, scores = _by_products(lists, _embeddings(lists, neighbors), neighbors)
        if self.components:
            lists, scores = _by_components(lists, _embeddings(lists, neighbors), neighbors, self.edges)
        return answers(ranks[0], lists[:, :k], scores[:, :k])


def _fused(tables: Sequence[Array], neighbors: int, slope: float) -> Array:
    """Return the items of all lists sorted by the sum of one more than the rankers' values."""
    pool = pool_of(tables)
    total = np.zeros(pool.shape, np.float32)
    for lists in tables:
        items, values = _normalized(lists, neighbors, slope)
        add_to_pool(pool, items, np.float32(1) + values, total)
    return reranked(pool, total, tables[0].shape[1]).items


def _normalized(lists: Array, neighbors: int, slope: float) -> ScoredLists:
    """Return lists sorted by their positions in both directions, and the values."""
    n, width = lists.shape
    with np.errstate(over="ignore"):  # of a steep slope; 1 / inf is right
        rising = 1 / (1 + np.exp(-slope * (np.arange(1, width + 3) - neighbors // 2)))
    score = (np.float32(1) - rising.astype(np.float32)).astype(np.float64)  # so that far positions are tied at 0
    score[0] = 1.0
    numbers = np.broadcast_to(np.arange(n)[:, None], lists.shape)
    back = _at(_positions(lists), lists, numbers).astype(np.int64)
    values = score[:width] ** 2 * score[np.where(back > 0, back, width + 2) - 1]
    return reranked(lists, values.astype(np.float32), aligned=True)


def _sparse(rows: Array, columns: Array, values: Array, n: int) -> csr_array:
    from scipy.sparse import csr_array

    return csr_array((values, (rows, columns)), (n, n))


def _positions(lists: Array, width: int | None = None, value: Callable[[Array], Array] = lambda p: p) -> csr_array:
    """Return a sparse matrix of the positions, from 1, of the first items of each list, or of a function of them."""
    rows, columns = np.nonzero(lists[:, :width] != PAD)
    return _sparse(rows, lists[rows, columns], value(columns + 1.0), len(lists))


def _at(matrix: csr_array, rows: Array, columns: Array) -> Array:
    """Return the entries at pairs of numbers; 0 where one is PAD."""
    known = (rows != PAD) & (columns != PAD)
    out = np.zeros(rows.shape)
    if known.any():
        out[known] = np.asarray(matrix[rows[known], columns[known]]).reshape(-1)
    return out


def _embeddings(lists: Array, neighbors: int) -> csr_array:
    """Return E, which is symmetric."""
    w = _positions(lists, neighbors, lambda position: 1 - np.log(position) / np.log(neighbors))
    e = (w + w @ w).tocsr()
    return e.multiply(e.T).tocsr()


def _products(E: csr_array, lists: Array) -> Array:
    """Return the products of the embeddings of each item and the items of its list."""
    return filled(np.zeros(lists.shape), "Comparing embeddings", row_products, lists, _rows(E))


def _rows(matrix: csr_array) -> SparseRows:
    """Return a sparse matrix as a kernel takes it, items ascending."""
    matrix.sort_indices()
    pointers, items = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    return SparseRows(frozen(pointers), frozen(items), frozen(matrix.data.astype(np.float64)))


def _confidence(E: csr_array, neighbors: int) -> Array:
    """Return c: the sum of the largest entries of each row, divided by the largest sum."""
    sums = np.array([np.sort(row)[::-1][:neighbors].sum() for row in np.split(E.data, E.indptr[1:-1])][: E.shape[0]])
    confidence: Array = sums / max(sums.max(initial=0), np.finfo(np.float64).tiny)
    return confidence


def _extended(lists: Array, rows_of: Callable[[int, int], csr_array], stage: str, own: float = 0.0) -> ScoredLists:
    """Return lists sorted by sparse rows, extended by their items, and the values."""
    out = empty_lists(*lists.shape)

    def extend(start: int, stop: int) -> None:
        extend_lists(start, stop, lists, _rows(rows_of(start, stop)), own, out)

    run_rows(extend, len(lists), stage)
    frozen(out.items)
    return out


def _by_products(lists: Array, E: csr_array, neighbors: int) -> ScoredLists:
    """Return lists sorted by the products of embeddings over all rows, weighted by confidence."""
    from scipy.sparse import diags_array

    weighted = (diags_array(_confidence(E, neighbors)) @ E).tocsr()
    stage = "Multiplying embeddings"
    return _extended(lists, lambda start, stop: (E[start:stop] @ weighted).tocsr(), stage, own=OWN_VALUE)


class _Components(NamedTuple):
    """The components of two or more items: the sums of their rows, and the products of all items with these."""

    embeddings: csr_array
    products: csr_array


def _components(lists: Array, E: csr_array, neighbors: int, share: float | None) -> _Components:
    n = len(lists)
    confidence = _confidence(E, neighbors)
    rows, columns = np.nonzero((lists[:, :neighbors] != PAD) & (lists[:, :neighbors] != np.arange(n)[:, None]))
    items = lists[rows, columns]
    strength = _products(E, padded_to(lists, neighbors))[rows, columns] * confidence[rows] * confidence[items]
    kept = np.lexsort((items, rows, strength))[::-1]
    kept = kept[: int(np.ceil(kept.size * (confidence.sum() / max(1, 2 * n) if share is None else share)))]
    root = np.arange(n)
    join_components(rows[kept], items[kept], root)
    large = np.bincount(root, minlength=n)[root] > 1
    roots, members = np.unique(root[large], return_inverse=True)
    groups = _sparse(members, np.flatnonzero(large), np.ones(members.size), n)[: roots.size]
    embeddings = (groups @ E).tocsr()
    return _Components(embeddings, (E @ embeddings.T).tocsr())


def _by_components(lists: Array, E: csr_array, neighbors: int, share: float | None) -> ScoredLists:
    """Return lists sorted by the components that items share."""
    components = _components(lists, E, neighbors, share)
    positions, width = _positions(lists), lists.shape[1]
    firsts, seconds, values = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    for g in range(components.embeddings.shape[0]):
        row = components.embeddings[[g]]
        top = row.indices[np.lexsort((row.indices, -row.data))[:neighbors]].astype(np.int64)
        products = components.products[top]
        near = (products @ products.T).toarray()
        order = np.arange(1, top.size + 1)
        a, b = np.repeat(top, top.size), np.tile(top, top.size)
        at = _at(positions, a, b)
        firsts.append(a)
        seconds.append(b)
        values.append((1 + np.sqrt(np.outer(order, order)) * near).reshape(-1) / np.where(at > 0, at, width + 2))
    first, second, value = np.concatenate(firsts), np.concatenate(seconds), np.concatenate(values)
    _, last = np.unique((first * len(lists) + second)[::-1], return_index=True)
    kept = first.size - 1 - last  # a pair has the value of its last component
    matrix = _sparse(first[kept], second[kept], value[kept], len(lists))
    return _extended(lists, lambda start, stop: matrix[start:stop], "Comparing components")
