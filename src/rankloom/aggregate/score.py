"""Methods that combine normalized scores: the Comb family and the product."""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from numbers import Real
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rankloom.aggregate.methods import register_method
from rankloom.aggregate.normalizations import NORMALIZATIONS
from rankloom.aggregate.pool import Pool, checked_weights, fuse_pools
from rankloom.errors import InputError, UnknownNameError
from rankloom.ranks import Ranks

Mode = Literal["mean", "median"]
Normalize = Callable[[Pool], list[NDArray[np.float64]]]


@register_method("combsum", needs="queries")
def combsum(
    ranks: Sequence[Ranks],
    k: int = 10,
    *,
    normalization: str = "min_max",
    constant: float | None = None,
    depth: int | None = None,
    weights: Sequence[float] | None = None,
) -> Ranks:
    r"""CombSUM: the sum of the normalized scores.

    .. math:: \mathrm{CombSUM}(d) = \sum_r w_r\, s_r(d)

    over the rankers r that list d; an item that a ranker does not list gets nothing from it. Ties come in the order
    in which the lists, taken one after the other, show the items first.

    Parameters
    ----------
    normalization : str
        How the scores of each list are brought to one scale: a name in `rankloom.NORMALIZATIONS`.
    constant : float, optional
        The value of a list of equal scores; by default as the normalization has it (1 with ``min_max``).
    depth : int, optional
        How many items of each list are used, before anything else; all by default. The paper's figures have 10.
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
    normalize = _normalizer(normalization, constant)
    given = checked_weights(weights, len(ranks))
    return fuse_pools(ranks, k, lambda pool: _sum(pool, normalize, given), depth=depth)


@register_method("combmin", needs="queries")
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

    over the rankers r that list d. It takes no weights: a smaller one would make a ranker count more, not less.
    Ties come in the order first seen.

    Parameters
    ----------
    normalization, constant, depth
        As in `combsum`.

    References
    ----------
    Fox, Shaw (1994), Combination of multiple searches, TREC-2, NIST SP 500-215

    Examples
    --------
    >>> a = Ranks([[0, 1, 2]], [[5.0, 4.0, 1.0]], n_items=4)
    >>> b = Ranks([[1, 3]], [[0.9, 0.1]], n_items=4)
    >>> combmin([a, b]).to_dict()
    {'0': {'0': 1.0, '1': 0.75, '2': 0.0, '3': 0.0}}
    """
    normalize = _normalizer(normalization, constant)
    return fuse_pools(ranks, k, lambda pool: pool.fold(np.minimum, normalize(pool), np.inf), depth=depth)


@register_method("combmax", needs="queries")
def combmax(
    ranks: Sequence[Ranks],
    k: int = 10,
    *,
    normalization: str = "min_max",
    constant: float | None = None,
    depth: int | None = None,
    weights: Sequence[float] | None = None,
) -> Ranks:
    r"""CombMAX: the largest of the normalized scores.

    .. math:: \mathrm{CombMAX}(d) = \max_r w_r\, s_r(d)

    over the rankers r that list d. Ties come in the order first seen.

    Parameters
    ----------
    normalization, constant, depth, weights
        As in `combsum`.

    References
    ----------
    Fox, Shaw (1994), Combination of multiple searches, TREC-2, NIST SP 500-215

    Examples
    --------
    >>> a = Ranks([[0, 1, 2]], [[5.0, 4.0, 1.0]], n_items=4)
    >>> b = Ranks([[1, 3]], [[0.9, 0.1]], n_items=4)
    >>> combmax([a, b]).to_dict()
    {'0': {'0': 1.0, '1': 1.0, '2': 0.0, '3': 0.0}}
    """
    normalize = _normalizer(normalization, constant)
    given = checked_weights(weights, len(ranks))
    return fuse_pools(
        ranks, k, lambda pool: pool.fold(np.maximum, _weighted(normalize(pool), given), -np.inf), depth=depth
    )


@register_method("combmed", needs="queries")
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
    r"""CombMED: the middle of the normalized scores.

    .. math:: \mathrm{CombMED}(d) = \sum_r w_r\, s_r(d) \,/ \sum_r w_r
        \quad\text{or}\quad \operatorname{median}_r s_r(d)

    Ties come in the order first seen.

    Parameters
    ----------
    mode : {"mean", "median"}
        ``mean``: over all rankers that have a list for the query, 0 where d is not listed. That is CombSUM on
        another scale, and what gave the paper's figures. ``median``: the original, over the rankers that list d
        (of an even number the mean of the middle two).
    normalization, constant, depth, weights
        As in `combsum`; the median takes no weights.

    References
    ----------
    Fox, Shaw (1994), Combination of multiple searches, TREC-2, NIST SP 500-215

    Examples
    --------
    >>> a = Ranks([[0, 1, 2]], [[5.0, 4.0, 1.0]], n_items=4)
    >>> b = Ranks([[1, 3]], [[0.9, 0.1]], n_items=4)
    >>> combmed([a, b], mode="median").to_dict()
    {'0': {'0': 1.0, '1': 0.875, '2': 0.0, '3': 0.0}}
    """
    if mode not in get_args(Mode):
        raise UnknownNameError("mode", mode, get_args(Mode))
    if mode == "median" and weights is not None:
        raise InputError("The median takes no weights; use mode='mean', or leave them out.")
    normalize = _normalizer(normalization, constant)
    given = checked_weights(weights, len(ranks))
    score = partial(_median if mode == "median" else _mean_of_all, normalize=normalize, weights=given)
    return fuse_pools(ranks, k, score, depth=depth)


@register_method("combanz", needs="queries")
def combanz(
    ranks: Sequence[Ranks],
    k: int = 10,
    *,
    normalization: str = "min_max",
    constant: float | None = None,
    depth: int | None = None,
    weights: Sequence[float] | None = None,
) -> Ranks:
    r"""CombANZ: the mean of the normalized scores over the rankers that list the item.

    .. math:: \mathrm{CombANZ}(d) = \sum_r w_r\, s_r(d) \,/ \sum_r w_r

    both over the rankers r that list d (a score of 0 counts as listed); 0 where their weights are all 0.
    Ties come in the order first seen.

    Parameters
    ----------
    normalization, constant, depth, weights
        As in `combsum`.

    References
    ----------
    Fox, Shaw (1994), Combination of multiple searches, TREC-2, NIST SP 500-215

    Examples
    --------
    >>> a = Ranks([[0, 1, 2]], [[5.0, 4.0, 1.0]], n_items=4)
    >>> b = Ranks([[1, 3]], [[0.9, 0.1]], n_items=4)
    >>> combanz([a, b]).to_dict()
    {'0': {'0': 1.0, '1': 0.875, '2': 0.0, '3': 0.0}}
    """
    normalize = _normalizer(normalization, constant)
    given = checked_weights(weights, len(ranks))

    def score(pool: Pool) -> NDArray[np.float64]:
        share = pool.counted(given)
        return _sum(pool, normalize, given) / np.where(share > 0, share, 1.0)

    return fuse_pools(ranks, k, score, depth=depth)


@register_method("combmnz", needs="queries")
def combmnz(
    ranks: Sequence[Ranks],
    k: int = 10,
    *,
    normalization: str = "min_max",
    constant: float | None = None,
    depth: int | None = None,
    weights: Sequence[float] | None = None,
) -> Ranks:
    r"""CombMNZ: the sum of the normalized scores times the number of rankers that list the item.

    .. math:: \mathrm{CombMNZ}(d) = c(d) \sum_r w_r\, s_r(d)

    over the rankers r that list d, c(d) of them (a score of 0 counts as listed). Meant for values from 0: a sum
    below 0, as `z_score` may give, is made worse by every further list. Ties come in the order first seen.

    Parameters
    ----------
    normalization, constant, depth, weights
        As in `combsum`; c(d) is not weighted.

    References
    ----------
    Fox, Shaw (1994), Combination of multiple searches, TREC-2, NIST SP 500-215

    Examples
    --------
    >>> a = Ranks([[0, 1, 2]], [[5.0, 4.0, 1.0]], n_items=4)
    >>> b = Ranks([[1, 3]], [[0.9, 0.1]], n_items=4)
    >>> combmnz([a, b]).to_dict()
    {'0': {'1': 3.5, '0': 1.0, '2': 0.0, '3': 0.0}}
    """
    normalize = _normalizer(normalization, constant)
    given = checked_weights(weights, len(ranks))
    return fuse_pools(ranks, k, lambda pool: pool.counted(_counting(given)) * _sum(pool, normalize, given), depth=depth)


@register_method("rlsim", needs="queries")
def rlsim(
    ranks: Sequence[Ranks],
    k: int = 10,
    *,
    normalization: str = "min_max",
    constant: float | None = None,
    depth: int | None = None,
    weights: Sequence[float] | None = None,
) -> Ranks:
    r"""RLSim as the paper has it: the product of the normalized scores, as in a naive Bayes classifier.

    .. math:: \mathrm{RLSim}(d) = \prod_r s_r(d)^{w_r}

    over the rankers r that list d: an item that a ranker does not list is not punished for that, so items of many
    lists sink, as they do in the paper's figures. This is not the RL-Sim of 2013, which compares whole ranked
    lists. Ties come in the order first seen.

    Parameters
    ----------
    normalization, constant, depth
        As in `combsum`; values below 0 are an error.
    weights : sequence of float, optional
        :math:`w_r`, one for each ranker; all 1 by default.

    References
    ----------
    Dourado, Pedronette, Torres (2019), Section 5, doi:10.1016/j.ipm.2019.03.008

    Examples
    --------
    >>> a = Ranks([[0, 1, 2]], [[5.0, 4.0, 1.0]], n_items=4)
    >>> b = Ranks([[1, 3]], [[0.9, 0.1]], n_items=4)
    >>> rlsim([a, b]).to_dict()
    {'0': {'0': 1.0, '1': 0.75, '2': 0.0, '3': 0.0}}
    """
    normalize = _normalizer(normalization, constant)
    given = checked_weights(weights, len(ranks))

    def score(pool: Pool) -> NDArray[np.float64]:
        values = normalize(pool)
        if min((v.min(initial=0) for v in values), default=0) < 0:
            raise InputError(f"A product needs values from 0, and {normalization!r} gives values below; use min_max.")
        powers = values if weights is None else [v**w for v, w in zip(values, given, strict=True)]
        with np.errstate(over="ignore"):  # of raw scores; the result is cut to what float32 holds
            product = pool.fold(np.multiply, powers, 1.0)
        return np.where(pool.counted(_counting(given)) > 0, product, 0.0)  # an empty product is nothing here

    return fuse_pools(ranks, k, score, depth=depth)


def _counting(weights: Sequence[float]) -> list[float]:
    """Return 1 for each ranker that counts, 0 for one of weight 0."""
    return [float(weight > 0) for weight in weights]


def _normalizer(name: str, constant: float | None) -> Normalize:
    """Return the function that normalizes the lists of a pool; an option that it does not have is an error."""
    function = NORMALIZATIONS[name]
    has = inspect.signature(function).parameters
    settings = {} if constant is None else {"constant": constant}
    if settings and "constant" not in has:
        raise InputError(f"The normalization {name!r} has no option 'constant'; leave it out.")
    if constant is not None and not (isinstance(constant, Real) and np.isfinite(constant)):
        raise InputError(f"constant must be a finite number; got {constant!r}.")

    def normalize(pool: Pool) -> list[NDArray[np.float64]]:
        sizes = {"pool": pool.sizes()} if "pool" in has else {}
        return [function(r, **settings, **sizes) for r in pool.ranks]

    return normalize


def _weighted(values: list[NDArray[np.float64]], weights: list[float]) -> list[NDArray[np.float64]]:
    return [v if w == 1 else w * v for v, w in zip(values, weights, strict=True)]


def _sum(pool: Pool, normalize: Normalize, weights: list[float]) -> NDArray[np.float64]:
    return pool.fold(np.add, _weighted(normalize(pool), weights), 0.0)


def _mean_of_all(pool: Pool, normalize: Normalize, weights: list[float]) -> NDArray[np.float64]:
    share = np.array(weights) @ (pool.lengths() > 0)
    return _sum(pool, normalize, weights) / np.where(share > 0, share, 1.0)[:, None]


def _median(pool: Pool, normalize: Normalize, weights: list[float]) -> NDArray[np.float64]:
    """Return the medians; `weights` are all 1."""
    ordered = np.sort(pool.spread(normalize(pool), np.inf, np.float64), axis=0)  # absent ones come last
    count = pool.counted(weights).astype(np.intp)
    lower = np.take_along_axis(ordered, np.maximum(count - 1, 0)[None] // 2, axis=0)[0]
    upper = np.take_along_axis(ordered, count[None] // 2, axis=0)[0]
    return np.asarray((lower + upper) / 2)
