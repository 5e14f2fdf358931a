"""CorGraph: the graph of items with correlated distances and its strongly connected components."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from annotated_types import Gt

from rankloom._kernels import frozen
from rankloom._kernels.graphs import correlation as kernels
from rankloom._kernels.graphs.correlation import CLOSE, Distances
from rankloom._kernels.graphs.mutual import overlaps
from rankloom._kernels.index.arguments import SparseRows
from rankloom.aggregate.graphs.nested import components_of, divided, groups_of, ranked
from rankloom.aggregate.lists import MAX_LEVELS, answers, filled, inverted, longest, overlap_shares, padded_to
from rankloom.aggregate.methods import CollectionMethod, register_method
from rankloom.errors import InputError, brief
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.align import with_lists
from rankloom.ranks.arrays import Array
from rankloom.ranks.lists import pointers
from rankloom.registry import Count, Fraction


@register_method("corgraph")
class CorGraph(CollectionMethod):
    r"""CorGraph: the graph of items with correlated distances, at many thresholds.

    The distances of several rankers are first fused: with :math:`e_i` one minus the share of the first K items of i's
    list in the sum of distances over the whole list,

    .. math:: F(i, j) = \prod_r \left( 1 + \max(D_r(i, j)^{e_i}, D_r(j, i)^{e_j}) \right)

    and lists are sorted by F, which then replaces D. Row i has an edge to item j of its list if :math:`C(i, j) \ge t`,
    where 2 C - 1 is Pearson's correlation of D(i, ·) and D(j, ·) over the first K items of both. For each threshold t =
    `start`, `start` + `step`, ... below 1, with out(i) the items that i has edges to and i itself,

    .. math:: W(a, b) \mathrel{+}= t

    for each i and all a, b in out(i); once more for a = i and all b in out(i); and for all a, b in one strongly
    connected component. Columns of W are divided by their sums, and items sorted by the result. Ties keep the order
    of the (fused) list; items missing from it come last, by number.

    Each item should be first in its own list.

    Parameters
    ----------
    neighbors : int
        K, the neighborhood size. For several rankers it must be below the length of the lists: otherwise e is 0
        everywhere, all distances are equal and no items are connected.
    depth : int
        How many items of each list to use.
    start, step : float
        First threshold, and the step to the next.
    correlation : {"pearson", "rbo"}
        C: from Pearson's correlation, or the rank-biased overlap of the first K items of the lists.
    persistence : float
        p of the rank-biased overlap, between 0 and 1; 0.95 by default.
    distances : {"positions", "scores"}
        D: the position in the list, from 0, and the length used for an absent item; or the drop in score from the
        first item of the list (all of it, however deep), and the largest drop for an absent item. For
        `Ranks.from_distances` these are the distances.
    exponent : {"positions", "numbers"}
        The items in the sums of :math:`e_i`: the first of i's list; or those whose *numbers* are below K and below
        `depth`, an error in the reference program.

    Returns
    -------
    Ranks
        Scores are W divided by its column sum, in (0, 1]; 0 for unconnected items of the list.

    Notes
    -----
    With ``exponent="numbers"`` (which matters only for several rankers), distances 1 / (1 + score) on digits equal
    those of the authors' UDLF to 2e-7, for one ranker and for three, by positions and by scores. The candidates of a
    fused list are the items in any list of i and those whose list has i. Undefined correlations (of constant rows)
    connect nothing.

    References
    ----------
    Pedronette, Torres (2016), A correlation graph approach for unsupervised manifold learning in image retrieval tasks,
    Neurocomputing 208, doi:10.1016/j.neucom.2016.03.081

    Examples
    --------
    >>> one = Ranks([[0, 1, 2, 3], [1, 0, 2, 3], [2, 3, 1, 0], [3, 2, 1, 0]])
    >>> out = CorGraph(neighbors=3).fuse([one], k=2)
    >>> out.items[0], out.items[3]
    (array([0, 1], dtype=int32), array([3, 2], dtype=int32))
    """

    neighbors: Count = 25
    depth: Count = 200
    start: Fraction = 0.35
    step: Annotated[float, Gt(0)] = 0.005
    correlation: Literal["pearson", "rbo"] = "pearson"
    persistence: Fraction | None = None
    distances: Literal["positions", "scores"] = "positions"
    exponent: Literal["numbers", "positions"] = "positions"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.persistence is not None and self.correlation == "pearson":
            raise InputError("persistence is an option of correlation='rbo' only; leave it out.")
        if (1 - self.start) / self.step > MAX_LEVELS:
            shown = f"{brief(self.step)}, from {brief(self.start)} to 1."
            raise InputError(f"step must give at most {MAX_LEVELS} thresholds; got {shown}")

    def rerank(self, ranks: Sequence[Ranks], k: int) -> Ranks:
        n = ranks[0].n_items
        ranks = with_lists(ranks)
        thresholds = frozen(self.start + self.step * np.arange(max(1.0, np.ceil((1 - self.start) / self.step - 1e-9))))
        D, lists = self._distances(ranks)
        if self.correlation == "pearson":
            levels = _correlated(D, lists, self.neighbors, thresholds)
        else:
            levels = _overlapping(lists, self.neighbors, self.persistence or 0.95, thresholds)
        groups = groups_of([lists], [levels], len(thresholds))
        components = components_of(groups, 1, n, len(thresholds))
        column, components = divided(groups, components, thresholds)
        return answers(ranks[0], *ranked([lists], groups, components, thresholds, min(k, n), column=column))

    def _distances(self, ranks: Sequence[Ranks]) -> tuple[Distances, Array]:
        """Return the distances, fused if there are several rankers, and the lists sorted by them."""
        length = longest(ranks, self.depth)
        width = length if self.distances == "positions" else longest(ranks, max(r.depth for r in ranks))
        items = [padded_to(r.items, width) for r in ranks]
        known = [_known(r, rows, length, self.distances) for r, rows in zip(ranks, items, strict=True)]
        if len(ranks) > 1:
            return _fused(items, known, length, self.neighbors, self.exponent)
        values, absent = known[0]
        listed = items[0] != PAD
        ptr = pointers(np.count_nonzero(listed, axis=1))
        back = inverted(items)
        flat = frozen(values[listed])
        rows = SparseRows(ptr, frozen(items[0][listed]), flat)
        columns = SparseRows(back.ptr, frozen(back.rows.astype(np.int32)), frozen(flat[ptr[back.rows] + back.columns]))
        D = Distances(rows, columns, frozen(absent[None]), False)
        return D, frozen(np.ascontiguousarray(items[0][:, :length]))


def _known(ranks: Ranks, items: Array, length: int, kind: str) -> tuple[Array, Array]:
    """Return the distance of each item of each list, and the distance of absent items."""
    n, width = items.shape
    if kind == "positions":
        return np.broadcast_to(np.arange(width, dtype=np.float64), (n, width)), np.full(n, float(length))
    if ranks.scores is None:
        raise InputError("distances='scores' needs ranks with scores, and these have none; use distances='positions'.")
    values = np.zeros((n, width))
    scores = ranks.scores[:, :width].astype(np.float64)
    values[:, : scores.shape[1]] = scores[:, :1] - scores
    values[items == PAD] = 0.0
    return values, values.max(axis=1, initial=0.0)


def _fused(
    items: Sequence[Array], known: Sequence[tuple[Array, Array]], length: int, k: int, exponent: str
) -> tuple[Distances, Array]:
    """Return the fused distances of several rankers, and the lists sorted by them."""
    lists = frozen(np.stack(items))
    _, n, _ = lists.shape
    values = np.empty(lists.shape)
    absent = np.empty(lists.shape[:2])
    for r, (own, rest) in enumerate(known):
        e = _exponents(lists[r], own, rest, min(k, length), length, exponent)
        values[r] = own ** e[:, None]
        absent[r] = rest**e
    frozen(values), frozen(absent)
    back, rankers = inverted(items), kernels.Rankers(lists, values, absent)
    ptr = pointers(filled(np.empty(n, np.int64), "Counting", kernels.count_pools, lists, back))
    F = SparseRows(ptr, np.empty(int(ptr[-1]), np.int32), np.empty(int(ptr[-1])))
    nearest = np.empty((n, min(length, n)), np.int32)
    filled(nearest, "Fusing distances", kernels.fuse_distances, rankers, back, F)
    frozen(F.items), frozen(F.values)
    return kernels.Distances(F, F, absent, True), frozen(nearest)


def _exponents(items: Array, values: Array, absent: Array, k: int, length: int, kind: str) -> Array:
    """Return one minus the share of the first K in the sum of distances; 1 if all distances are 0."""
    sums = []
    for size in (k, length):
        if kind == "positions":
            within = (np.arange(items.shape[1]) < size) & (items != PAD)
            sums.append(np.sum(values, axis=1, where=within))
        else:
            within = (items < size) & (items != PAD)
            others = min(size, len(items)) - np.count_nonzero(within, axis=1)
            sums.append(np.sum(values, axis=1, where=within) + absent * others)
    total = np.where(sums[1] > 0, sums[1], 1.0)
    result: Array = 1.0 - sums[0] / total
    return result


def _correlated(D: Distances, lists: Array, neighbors: int, thresholds: Array) -> Array:
    """Return the index of the highest threshold reached by the correlation of each row with each item of its list."""
    n, length = lists.shape
    own = frozen(filled(np.zeros((n, min(neighbors, length))), "Correlating", kernels.own_distances, lists, D))
    levels = np.empty((n, length), np.int16)
    return frozen(filled(levels, "Correlating", kernels.correlate, lists, own, D, thresholds))


def _overlapping(lists: Array, neighbors: int, persistence: float, thresholds: Array) -> Array:
    """Return the index of the highest threshold reached by the overlap of each row with each item of its list."""
    shares = overlap_shares(persistence, neighbors)
    S = filled(np.empty(lists.shape), "Comparing lists", overlaps, lists, neighbors, shares)
    return frozen((np.searchsorted(thresholds, S + CLOSE, side="right") - 1).astype(np.int16))
