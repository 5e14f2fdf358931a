"""Methods that combine normalized scores: the Comb family and the product."""

import inspect
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rankloom.aggregate.methods import register_method
from rankloom.aggregate.normalizations import NORMALIZATIONS
from rankloom.aggregate.per_query.pool import Pool, checked_weights, counting, fuse_pools
from rankloom.aggregate.per_query.query_methods import PoolScore, register_pool_method
from rankloom.errors import InputError, brief, check_choice
from rankloom.ranks import Ranks
from rankloom.ranks.checks import returned_numbers

Mode = Literal["mean", "median"]
#: The normalized scores of each ranker's lists.
Normalized = list[NDArray[np.float64]]
#: (pool, normalized scores, weight of each ranker) -> scores of the items of the pool
Score = Callable[[Pool, Normalized, list[float]], NDArray[np.float64]]


def comb_method(score: Score) -> Callable[..., Ranks]:
    """Register a method of this family under the name and the docstring of the function that scores the pools."""

    def scoring(weights: list[float], *, normalization: str = "min_max", constant: float | None = None) -> PoolScore:
        normalize = normalizer(normalization, constant)
        return lambda pool: score(pool, normalize(pool), weights)

    scoring.__name__, scoring.__doc__ = score.__name__, score.__doc__
    return register_pool_method(score.__name__)(scoring)


@comb_method
def combsum(pool: Pool, values: Normalized, weights: list[float]) -> NDArray[np.float64]:
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
    >>> combsum([a, b]).to_dict()
    {'0': {'1': 1.75, '0': 1.0, '2': 0.0, '3': 0.0}}
    """
    return weighted_sum(pool, values, weights)


@register_method("combmin")
def combmin(
    ranks: Sequence[Ranks],
    k: int = 10,
    *,
    normalization: str = "min_max",
    constant: float | None = None,
    depth: int | None = None,
) -> Ranks:
    r"""CombMIN: the smallest of the normalized scores.

    .. math:: \mathrm{CombMIN}(d) = \min_r s_r(d)

    over the rankers r that list d. Options, tie-breaking and reference are those of `combsum`, without weights: a
    smaller weight would make a ranker count more, not less.

    Examples
    --------
    >>> combmin([Ranks([[0, 1, 2]], [[5.0, 4.0, 1.0]]), Ranks([[1, 2]], [[0.9, 0.1]])]).to_dict()
    {'0': {'0': 1.0, '1': 0.75, '2': 0.0}}
    """
    normalize = normalizer(normalization, constant)
    return fuse_pools(ranks, k, lambda pool: pool.fold(np.minimum, normalize(pool), np.inf), depth=depth)


@comb_method
def combmax(pool: Pool, values: Normalized, weights: list[float]) -> NDArray[np.float64]:
    r"""CombMAX: the largest of the normalized scores.

    .. math:: \mathrm{CombMAX}(d) = \max_r w_r\, s_r(d)

    over the rankers r that list d. Options, tie-breaking and reference are those of `combsum`.

    Examples
    --------
    >>> combmax([Ranks([[0, 1, 2]], [[5.0, 4.0, 1.0]]), Ranks([[1, 2]], [[0.9, 0.1]])]).to_dict()
    {'0': {'0': 1.0, '1': 1.0, '2': 0.0}}
    """
    return pool.fold(np.maximum, _weighted(values, weights), -np.inf)


@register_method("combmed")
def combmed(
    ranks: Sequence[Ranks],
    k: int = 10,
    *,
    mode: Mode = "mean",
    normalization: str = "min_max",
    constant: float | None = None,
    depth: int | None = None,
    weights: Sequence[float] | None = None,
) -> Ranks:
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
    >>> combmed(lists, mode="median").to_dict()
    {'0': {'0': 1.0, '1': 0.875, '2': 0.0}}
    """
    check_choice("mode", mode, get_args(Mode))
    if mode == "median" and weights is not None:
        raise InputError("The median takes no weights; use mode='mean', or leave them out.")
    normalize = normalizer(normalization, constant)
    given = checked_weights(weights, len(ranks))
    score = _median if mode == "median" else _mean_of_all
    return fuse_pools(ranks, k, lambda pool: score(pool, normalize(pool), given), depth=depth)


@comb_method
def combanz(pool: Pool, values: Normalized, weights: list[float]) -> NDArray[np.float64]:
    r"""CombANZ: the mean of the normalized scores over the rankers that list the item.

    .. math:: \mathrm{CombANZ}(d) = \sum_r w_r\, s_r(d) \,/ \sum_r w_r

    both over the rankers r that list d (a score of 0 counts as listed); 0 where their weights are all 0.
    Options, tie-breaking and reference are those of `combsum`.

    Examples
    --------
    >>> combanz([Ranks([[0, 1, 2]], [[5.0, 4.0, 1.0]]), Ranks([[1, 2]], [[0.9, 0.1]])]).to_dict()
    {'0': {'0': 1.0, '1': 0.875, '2': 0.0}}
    """
    share = pool.counted(weights)
    return weighted_sum(pool, values, weights) / np.where(share > 0, share, 1.0)


@comb_method
def combmnz(pool: Pool, values: Normalized, weights: list[float]) -> NDArray[np.float64]:
    r"""CombMNZ: the sum of the normalized scores times the number of rankers that list the item.

    .. math:: \mathrm{CombMNZ}(d) = c(d) \sum_r w_r\, s_r(d)

    over the rankers r that list d; c(d) is their number, without weights (a score of 0 counts as listed). Intended for
    nonnegative values: a negative sum, possible with `z_score`, gets worse with every further list. Options,
    tie-breaking and reference are those of `combsum`.

    Examples
    --------
    >>> combmnz([Ranks([[0, 1, 2]], [[5.0, 4.0, 1.0]]), Ranks([[1, 2]], [[0.9, 0.1]])]).to_dict()
    {'0': {'1': 3.5, '0': 1.0, '2': 0.0}}
    """
    return pool.counted(counting(weights)) * weighted_sum(pool, values, weights)


@comb_method
def rlsim(pool: Pool, values: Normalized, weights: list[float]) -> NDArray[np.float64]:
    r"""RLSim as defined in the paper: the product of the normalized scores, as in a naive Bayes classifier.

    .. math:: \mathrm{RLSim}(d) = \prod_r s_r(d)^{w_r}

    over the rankers r that list d. An item is not penalized for missing from a list, so items in many lists sink, as
    they do in the paper's figures. This is not the RL-Sim of 2013, which compares whole ranked lists. Options and
    tie-breaking are those of `combsum`; negative values are an error.

    References
    ----------
    Dourado, Pedronette, Torres (2019), Section 5, doi:10.1016/j.ipm.2019.03.008

    Examples
    --------
    >>> rlsim([Ranks([[0, 1, 2]], [[5.0, 4.0, 1.0]]), Ranks([[1, 2]], [[0.9, 0.1]])]).to_dict()
    {'0': {'0': 1.0, '1': 0.75, '2': 0.0}}
    """
    if min((v.min(initial=0) for v in values), default=0) < 0:
        raise InputError("rlsim multiplies values of at least 0; this normalization gives negative ones. Use min_max.")
    powers = [v if w == 1 else v**w for v, w in zip(values, weights, strict=True)]
    with np.errstate(over="ignore"):  # raw scores; the result is clipped to the range of float32
        product = pool.fold(np.multiply, powers, 1.0)
    return np.where(pool.counted(counting(weights)) > 0, product, 0.0)  # the empty product counts as 0


def normalizer(name: str, constant: float | None) -> Callable[[Pool], Normalized]:
    """Return the function that normalizes the lists of a pool; raise InputError for an option it does not have."""
    function = NORMALIZATIONS[name]
    known = inspect.signature(function).parameters
    settings = {} if constant is None else {"constant": constant}
    if settings and "constant" not in known:
        raise InputError(f"The normalization {name!r} has no option 'constant'; leave it out.")
    if constant is not None and not (isinstance(constant, Real) and np.isfinite(constant)):
        raise InputError(f"constant must be a finite number; got {brief(constant)}.")

    what = f"normalization {name!r}"

    def normalize(pool: Pool) -> Normalized:
        sizes = {"pool": pool.sizes()} if "pool" in known else {}
        found = [function(r, **settings, **sizes) for r in pool.ranks]
        return [returned_numbers(what, values, r.items.shape) for r, values in zip(pool.ranks, found, strict=True)]

    return normalize


def _weighted(values: Normalized, weights: list[float]) -> Normalized:
    return [v if w == 1 else w * v for v, w in zip(values, weights, strict=True)]


def weighted_sum(pool: Pool, values: Normalized, weights: list[float]) -> NDArray[np.float64]:
    """Return, for each item, the weighted sum of its values."""
    return pool.fold(np.add, _weighted(values, weights), 0.0)


def _mean_of_all(pool: Pool, values: Normalized, weights: list[float]) -> NDArray[np.float64]:
    share = np.array(weights) @ (pool.lengths() > 0)
    return weighted_sum(pool, values, weights) / np.where(share > 0, share, 1.0)[:, None]


def _median(pool: Pool, values: Normalized, weights: list[float]) -> NDArray[np.float64]:
    """Return the medians; `weights` are all 1."""
    ordered = np.sort(pool.spread(values, np.inf, np.float64), axis=0)  # absent values are sorted last
    count = pool.counted(weights).astype(np.intp)
    lower = np.take_along_axis(ordered, np.maximum(count - 1, 0)[None] // 2, axis=0)[0]
    upper = np.take_along_axis(ordered, count[None] // 2, axis=0)[0]
    return np.asarray((lower + upper) / 2)
