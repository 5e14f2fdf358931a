"""Methods that combine normalized scores: the Comb family and the product."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from rankloom.aggregate.methods import PoolMethod, QueryMethod, register_method
from rankloom.errors import InputError
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Floats
from rankloom.ranks.checks import returned_numbers
from rankloom.ranks.normalizations import NORMALIZATIONS
from rankloom.ranks.pool import Pool, fuse_pools, positive_flags, weighted, weighted_sum
from rankloom.registry import Count, Options

#: The normalized scores of each ranker's lists.
Normalized = list[Floats]


class Normalizing(Options):
    """Methods that normalize the scores of each list; `combsum` describes `normalization` and `constant`."""

    normalization: str = "min_max"
    constant: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        options = NORMALIZATIONS.options(self.normalization)
        if self.constant is not None and "constant" not in options:
            raise InputError(f"The normalization {self.normalization!r} has no option 'constant'; leave it out.")

    def normalized(self, pool: Pool) -> Normalized:
        """Return the normalized scores of each ranker's lists."""
        normalize, options = NORMALIZATIONS[self.normalization], NORMALIZATIONS.options(self.normalization)
        settings: dict[str, Any] = {} if self.constant is None else {"constant": self.constant}
        if "pool" in options:
            settings["pool"] = pool.sizes()
        what = f"normalization {self.normalization!r}"
        return [returned_numbers(what, normalize(r, **settings), r.items.shape) for r in pool.ranks]


class CombMethod(Normalizing, PoolMethod):
    """A method that combines the normalized scores of each item.

    References
    ----------
    Fox, Shaw (1994), Combination of multiple searches, TREC-2, NIST SP 500-215
    """

    def score(self, pool: Pool, weights: list[float]) -> Floats:
        return self.combine(pool, self.normalized(pool), weights)

    @abstractmethod
    def combine(self, pool: Pool, values: Normalized, weights: list[float]) -> Floats:
        """Return the scores of the items of each pool, from the normalized scores of each ranker's lists."""


@register_method("combsum")
class CombSUM(CombMethod):
    r"""CombSUM: the sum of the normalized scores.

    .. math:: \mathrm{CombSUM}(d) = \sum_r w_r\, s_r(d)

    over the rankers r that list d; a ranker that does not list d adds nothing. Ties are broken by first appearance,
    reading the lists one ranker after the other.

    Parameters
    ----------
    normalization : str
        A name in `rankloom.methods.NORMALIZATIONS`: how the scores of each list are brought to a common scale.
    constant : float, optional
        The value of a list of equal scores; by default that of the normalization (1 for ``min_max``).
    depth : int, optional
        How many items of each list to use, cut before normalizing; all by default. The paper's figures use 10.
    weights : sequence of float, optional
        :math:`w_r`, one for each ranker; all 1 by default.

    References
    ----------
    Fox, Shaw (1994), Combination of multiple searches, TREC-2, NIST SP 500-215

    Examples
    --------
    >>> a = Ranks([[0, 1, 2]], [[5.0, 4.0, 1.0]], n_items=4)  # 1, 0.75, 0
    >>> b = Ranks([[1, 3]], [[0.9, 0.1]], n_items=4)  # 1, 0
    >>> CombSUM().fuse([a, b]).to_dict()
    {'0': {'1': 1.75, '0': 1.0, '2': 0.0, '3': 0.0}}
    """

    def combine(self, pool: Pool, values: Normalized, weights: list[float]) -> Floats:
        return weighted_sum(pool, values, weights)


@register_method("combmin")
class CombMIN(Normalizing, QueryMethod):
    r"""CombMIN: the smallest of the normalized scores.

    .. math:: \mathrm{CombMIN}(d) = \min_r s_r(d)

    over the rankers r that list d. Options, tie-breaking and reference are those of `combsum`, without weights: a
    smaller weight would make a ranker count more, not less.

    References
    ----------
    Fox, Shaw (1994), Combination of multiple searches, TREC-2, NIST SP 500-215

    Examples
    --------
    >>> CombMIN().fuse([Ranks([[0, 1, 2]], [[5.0, 4.0, 1.0]]), Ranks([[1, 2]], [[0.9, 0.1]])]).to_dict()
    {'0': {'0': 1.0, '1': 0.75, '2': 0.0}}
    """

    depth: Count | None = None

    def fuse(self, ranks: Sequence[Ranks], k: int = 10) -> Ranks:
        return fuse_pools(ranks, k, lambda pool: pool.fold(np.minimum, self.normalized(pool), np.inf), depth=self.depth)


@register_method("combmax")
class CombMAX(CombMethod):
    r"""CombMAX: the largest of the normalized scores.

    .. math:: \mathrm{CombMAX}(d) = \max_r w_r\, s_r(d)

    over the rankers r that list d. Options, tie-breaking and reference are those of `combsum`.

    Examples
    --------
    >>> CombMAX().fuse([Ranks([[0, 1, 2]], [[5.0, 4.0, 1.0]]), Ranks([[1, 2]], [[0.9, 0.1]])]).to_dict()
    {'0': {'0': 1.0, '1': 1.0, '2': 0.0}}
    """

    def combine(self, pool: Pool, values: Normalized, weights: list[float]) -> Floats:
        return pool.fold(np.maximum, weighted(values, weights), -np.inf)


@register_method("combmed")
class CombMED(CombMethod):
    r"""CombMED: the mean or the median of the normalized scores.

    .. math:: \mathrm{CombMED}(d) = \sum_r w_r\, s_r(d) \,/ \sum_r w_r
        \quad\text{or}\quad \operatorname{median}_r s_r(d)

    Tie-breaking and reference are those of `combsum`.

    Parameters
    ----------
    mode : {"mean", "median"}
        ``mean``: over all rankers that have a list for the query, 0 where d is not listed. This is CombSUM on a
        different scale, and gave the paper's figures. ``median``: the original, over the rankers that list d (the mean
        of the middle two for an even number).
    normalization, constant, depth, weights
        As in `combsum`; the median takes no weights.

    Examples
    --------
    >>> lists = [Ranks([[0, 1, 2]], [[5.0, 4.0, 1.0]]), Ranks([[1, 2]], [[0.9, 0.1]])]
    >>> CombMED(mode="median").fuse(lists).to_dict()
    {'0': {'0': 1.0, '1': 0.875, '2': 0.0}}
    """

    mode: Literal["mean", "median"] = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mode == "median" and self.weights is not None:
            raise InputError("The median takes no weights; use mode='mean', or leave them out.")

    def combine(self, pool: Pool, values: Normalized, weights: list[float]) -> Floats:
        return (_median if self.mode == "median" else _mean_of_all)(pool, values, weights)


@register_method("combanz")
class CombANZ(CombMethod):
    r"""CombANZ: the mean of the normalized scores over the rankers that list the item.

    .. math:: \mathrm{CombANZ}(d) = \sum_r w_r\, s_r(d) \,/ \sum_r w_r

    both over the rankers r that list d (a score of 0 counts as listed); 0 where their weights are all 0.
    Options, tie-breaking and reference are those of `combsum`.

    Examples
    --------
    >>> CombANZ().fuse([Ranks([[0, 1, 2]], [[5.0, 4.0, 1.0]]), Ranks([[1, 2]], [[0.9, 0.1]])]).to_dict()
    {'0': {'0': 1.0, '1': 0.875, '2': 0.0}}
    """

    def combine(self, pool: Pool, values: Normalized, weights: list[float]) -> Floats:
        share = pool.counted(weights)
        return weighted_sum(pool, values, weights) / np.where(share > 0, share, 1.0)


@register_method("combmnz")
class CombMNZ(CombMethod):
    r"""CombMNZ: the sum of the normalized scores times the number of rankers that list the item.

    .. math:: \mathrm{CombMNZ}(d) = c(d) \sum_r w_r\, s_r(d)

    over the rankers r that list d; c(d) is their number, without weights (a score of 0 counts as listed). Intended for
    nonnegative values: a negative sum, possible with `z_score`, gets worse with every further list. Options,
    tie-breaking and reference are those of `combsum`.

    Examples
    --------
    >>> CombMNZ().fuse([Ranks([[0, 1, 2]], [[5.0, 4.0, 1.0]]), Ranks([[1, 2]], [[0.9, 0.1]])]).to_dict()
    {'0': {'1': 3.5, '0': 1.0, '2': 0.0}}
    """

    def combine(self, pool: Pool, values: Normalized, weights: list[float]) -> Floats:
        return pool.counted(positive_flags(weights)) * weighted_sum(pool, values, weights)


@register_method("rlsim")
class RLSim(CombMethod):
    r"""RLSim as defined in the paper: the product of the normalized scores, as in a naive Bayes classifier.

    .. math:: \mathrm{RLSim}(d) = \prod_r s_r(d)^{w_r}

    over the rankers r that list d. An item is not penalized for missing from a list, so items in many lists sink, as
    they do in the paper's figures. This is not the RL-Sim of 2013, which compares whole ranked lists. Options and
    tie-breaking are those of `combsum`; negative values are an error.

    References
    ----------
    Dourado, Pedronette, Torres (2019), Unsupervised graph-based rank aggregation for improved retrieval, Information
    Processing & Management 56(4), Section 5, doi:10.1016/j.ipm.2019.03.008

    Examples
    --------
    >>> RLSim().fuse([Ranks([[0, 1, 2]], [[5.0, 4.0, 1.0]]), Ranks([[1, 2]], [[0.9, 0.1]])]).to_dict()
    {'0': {'0': 1.0, '1': 0.75, '2': 0.0}}
    """

    def combine(self, pool: Pool, values: Normalized, weights: list[float]) -> Floats:
        if min((v.min(initial=0) for v in values), default=0) < 0:
            raise InputError(
                "rlsim multiplies values of at least 0; this normalization gives negative ones. Use min_max."
            )
        powers = [v if w == 1 else v**w for v, w in zip(values, weights, strict=True)]
        with np.errstate(over="ignore"):  # raw scores; the result is clipped to the range of float32
            product = pool.fold(np.multiply, powers, 1.0)
        return np.where(pool.counted(positive_flags(weights)) > 0, product, 0.0)  # the empty product counts as 0


def _mean_of_all(pool: Pool, values: Normalized, weights: list[float]) -> Floats:
    share = np.array(weights) @ (pool.lengths() > 0)
    return weighted_sum(pool, values, weights) / np.where(share > 0, share, 1.0)[:, None]


def _median(pool: Pool, values: Normalized, weights: list[float]) -> Floats:
    """Return the medians; `weights` are all 1."""
    ordered = np.sort(pool.spread(values, np.inf, np.float64), axis=0)  # absent values are sorted last
    count = pool.counted(weights).astype(np.intp)
    lower = np.take_along_axis(ordered, np.maximum(count - 1, 0)[None] // 2, axis=0)[0]
    upper = np.take_along_axis(ordered, count[None] // 2, axis=0)[0]
    return np.asarray((lower + upper) / 2)
