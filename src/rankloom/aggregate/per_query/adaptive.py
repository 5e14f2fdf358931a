"""Rankers weighted query by query, by the shape of their score curves."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from annotated_types import Ge, Lt
from numpy.typing import ArrayLike

from rankloom.aggregate.methods import QueryMethod, register_method
from rankloom.errors import InputError
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Bools, Floats, Int32s
from rankloom.ranks.pool import Pool, checked_weights, fuse_pools
from rankloom.registry import Count, Share


@register_method("qalf")
class QALF(QueryMethod):
    r"""Query-adaptive late fusion: a product of scores in which rankers with steeply falling scores count more.

    The scores of a list, best first, form a curve: L-shaped for a good ranker, falling gradually for a bad one. The
    curve of a bad ranker is subtracted, the rest is scaled to [0, 1], and with :math:`A_r` the area under it (its mean
    height)

    .. math:: w_r = (1 / A_r) \,/\, \sum_s (1 / A_s), \qquad \mathrm{score}(x) = \prod_r s_r(x)^{w_r}

    where :math:`s_r` are the scores of the list scaled to [`floor`, 1], and `floor` for items missing from it.
    Rankers without a list for the query are left out. Ties are broken by first appearance, as in `rrf`.

    Parameters
    ----------
    ranks : sequence of Ranks
        With scores.
    depth : int
        How many items of each list to use.
    references : sequence of arrays of shape (n_curves, at least the length of the lists), optional
        For each ranker, the sorted scores of queries without relevant items (1000 and more in the article): the curve
        with the nearest tail, by squared differences, is subtracted. Without references, the mean of the list's own
        tail is subtracted and negative values become 0; this is our choice.
    tail : float
        Share of the list that is its tail, at least one item; 0.5 is our choice.
    floor : float
        At least 1e-12, so that the last item of a list differs from one not listed, and below 1; 0.01 is our choice.
    weights : sequence of float, optional
        One for each ranker, multiplying :math:`1 / A_r`.

    Notes
    -----
    A constant curve, such as that of a single item, is 1 throughout: area 1, the smallest weight. It is our
    interpretation that the product uses the scores as scaled before the subtraction.

    References
    ----------
    Zheng, Wang, Tian, He, Liu, Tian (2015), Query-adaptive late fusion for image search and person re-identification,
    CVPR

    Examples
    --------
    The scores of the first ranker fall steeply, those of the second do not:

    >>> steep = Ranks([[0, 1, 2, 3]], [[1.0, 0.1, 0.1, 0.0]])
    >>> flat = Ranks([[1, 0, 2, 3]], [[1.0, 0.9, 0.8, 0.0]])
    >>> QALF().fuse([steep, flat], k=2).items
    array([[0, 1]], dtype=int32)
    """

    depth: Count = 1000
    references: Sequence[ArrayLike] | None = None
    tail: Share = 0.5
    floor: Annotated[float, Ge(1e-12), Lt(1)] = 0.01
    weights: Sequence[float] | None = None

    def fuse(self, ranks: Sequence[Ranks], k: int = 10) -> Ranks:
        weights = checked_weights(self.weights, len(ranks))
        heads = [_head(r, self.depth) for r in ranks]
        known = None if self.references is None else _checked_references(self.references, heads)
        return fuse_pools(heads, k, lambda pool: self._products(pool, known, weights))

    def _products(self, pool: Pool, references: list[Floats] | None, weights: list[float]) -> Floats:
        floor, curves = self.floor, [_curves(r) for r in pool.ranks]
        steepness = np.zeros((len(curves), len(pool.items)))
        for r, (scores, lengths) in enumerate(curves):
            if references is None:
                rest = _without_tail(scores, lengths, self.tail)
            else:
                rest = _without_nearest(scores, lengths, references[r], self.tail)
            steepness[r] = weights[r] / _areas(rest, lengths) * (lengths > 0)
        total = steepness.sum(axis=0)
        power = np.divide(steepness, total, out=np.zeros_like(steepness), where=total > 0)
        logs = [
            power[r][:, None] * np.log((floor + (1 - floor) * _min_max(scores, lengths)) / floor)
            for r, (scores, lengths) in enumerate(curves)
        ]
        return np.asarray(floor * np.exp(pool.fold(np.add, logs, 0.0)), np.float64)


def _head(ranks: Ranks, depth: int) -> Ranks:
    if ranks.scores is None:
        raise InputError("qalf needs scores, and some of these ranks have none; use rrf, which works on positions.")
    return ranks.head(depth)


def _curves(ranks: Ranks) -> tuple[Floats, Int32s]:
    return np.asarray(ranks.scores, np.float64), ranks.lengths()


def _inside(lengths: Int32s, width: int) -> Bools:
    """Return which cells of a padded table hold an item."""
    return np.asarray(np.arange(width) < lengths[:, None], np.bool_)


def _in_tail(lengths: Int32s, width: int, tail: float) -> Bools:
    """Return which cells are in the tail of their list."""
    before = lengths - np.maximum(np.floor(lengths * tail), 1).astype(np.int32)
    return _inside(lengths, width) & ~_inside(before, width)


def _min_max(curves: Floats, lengths: Int32s) -> Floats:
    """Scale each list to [0, 1]; constant lists become 1, padding 0."""
    inside = _inside(lengths, curves.shape[1])
    low = np.where(inside, curves, np.inf).min(axis=1, initial=np.inf)
    high = np.where(inside, curves, -np.inf).max(axis=1, initial=-np.inf)
    spread = np.where(high > low, high - low, 1.0)
    scaled = (curves - np.where(lengths > 0, low, 0.0)[:, None]) / spread[:, None]
    return np.where(inside, np.where((high > low)[:, None], scaled, 1.0), 0.0)


def _areas(rest: Floats, lengths: Int32s) -> Floats:
    """Return the mean height of each curve scaled to [0, 1]; 1 for empty ones."""
    sums = _min_max(rest, lengths).sum(axis=1)
    return np.where(lengths > 0, sums / np.maximum(lengths, 1), 1.0)


def _without_tail(curves: Floats, lengths: Int32s, tail: float) -> Floats:
    """Subtract the mean of each list's own tail; negative values become 0."""
    in_tail = _in_tail(lengths, curves.shape[1], tail)
    mean = np.where(in_tail, curves, 0.0).sum(axis=1) / np.maximum(in_tail.sum(axis=1), 1)
    return np.asarray(np.maximum(curves - mean[:, None], 0.0), np.float64)


def _without_nearest(curves: Floats, lengths: Int32s, known: Floats, tail: float) -> Floats:
    """Subtract from each list the reference curve with the nearest tail, the first of equals."""
    in_tail = _in_tail(lengths, curves.shape[1], tail)
    rest = np.zeros_like(curves)
    for row, (curve, columns) in enumerate(zip(curves, in_tail, strict=True)):
        nearest = np.argmin(((known[:, columns] - curve[columns]) ** 2).sum(axis=1))
        rest[row] = curve - known[nearest]
    return rest


def _checked_references(references: Sequence[ArrayLike], ranks: Sequence[Ranks]) -> list[Floats]:
    """Return the curves of each ranker, as long as its lists."""
    if not isinstance(references, Sequence) or len(references) != len(ranks):
        raise InputError(f"references must be a list with one array for each of the {len(ranks)} rankers.")
    pairs = enumerate(zip(references, ranks, strict=True), 1)
    return [_checked_curves(given, r.depth, number) for number, (given, r) in pairs]


def _checked_curves(given: ArrayLike, width: int, ranker: int) -> Floats:
    try:
        known = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        known = np.empty(0)
    if known.ndim != 2 or not len(known) or known.shape[1] < width or not np.isfinite(known).all():
        raise InputError(
            f"references of ranker {ranker} must be finite, one or more rows of at least {width} scores; "
            f"got the shape {known.shape}."
        )
    return known[:, :width]
