"""Normalizations: the scores of each list on a common scale, so that rankers can be combined.

Each takes `Ranks` and returns a float64 array of the shape of its items: non-increasing along a row, 0 at padding.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rankloom._kernels import ROUNDING
from rankloom.errors import InputError
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Bools, Floats
from rankloom.registry import Registry

Normalization = Callable[..., Floats]
SMALLEST_ODDS = 1e-10  # a probability below this is no other evidence

#: The normalizations by name.
#: An option ``constant`` is the value of a list of equal scores; an option ``pool`` receives the sizes of the pools.
NORMALIZATIONS: Registry[Normalization] = Registry("normalization", entries=Callable)


@NORMALIZATIONS.register("min_max")
def min_max(ranks: Ranks, *, constant: float = 1.0) -> Floats:
    r"""Scale each list to 1 for its best score and 0 for its worst.

    .. math:: s' = (s - \min) / (\max - \min)

    The items of a list of equal scores, such as a list of one item, all get `constant`.

    References
    ----------
    Lee (1997), doi:10.1145/258525.258587

    Examples
    --------
    >>> min_max(Ranks([[7, 3, 5], [4, -1, -1]], [[9.0, 6.0, 5.0], [2.0, 0.0, 0.0]])).tolist()
    [[1.0, 0.25, 0.0], [1.0, 0.0, 0.0]]
    """
    scores = _scores(ranks, "min_max")
    best, worst = _ends(scores, ranks)
    return _divided(scores - worst, best - worst, best == worst, constant, ranks)


@NORMALIZATIONS.register("max_norm")
def max_norm(ranks: Ranks, *, constant: float = 1.0) -> Floats:
    r"""Divide the scores of each list by the largest absolute score in it.

    .. math:: s' = s / \max |s|

    For nonnegative scores that is the best score; negative scores, such as negated distances, keep their order.
    `constant` is as in `min_max`.

    Examples
    --------
    >>> max_norm(Ranks([[7, 3, 5]], [[8.0, 6.0, 4.0]])).tolist()
    [[1.0, 0.75, 0.5]]
    """
    scores = _scores(ranks, "max_norm")
    best, worst = _ends(scores, ranks)
    return _divided(scores, np.maximum(abs(best), abs(worst)), best == worst, constant, ranks)


@NORMALIZATIONS.register("sum_norm")
def sum_norm(ranks: Ranks) -> Floats:
    r"""Shift the scores of each list so that the worst is 0, and divide by their sum: a list sums to 1.

    .. math:: s' = (s - \min) / \sum (s - \min)

    The items of a list of equal scores share the 1 evenly; the only item of a list gets 1.

    References
    ----------
    Montague, Aslam (2001), doi:10.1145/502585.502657

    Examples
    --------
    >>> sum_norm(Ranks([[7, 3, 5], [4, 2, -1]], [[9.0, 6.0, 5.0], [2.0, 2.0, 0.0]])).tolist()
    [[0.8, 0.2, 0.0], [0.5, 0.5, 0.0]]
    """
    scores = _scores(ranks, "sum_norm")
    best, worst = _ends(scores, ranks)
    shifted = np.where(ranks.items == PAD, 0.0, scores - worst)
    share = 1.0 / np.maximum(ranks.lengths(), 1)[:, None]
    return _divided(shifted, shifted.sum(axis=1, keepdims=True), best == worst, share, ranks)


@NORMALIZATIONS.register("z_score")
def z_score(ranks: Ranks, *, constant: float = 0.0) -> Floats:
    r"""Shift and scale each list to mean 0 and (population) standard deviation 1.

    .. math:: s' = (s - \mu) / \sigma

    Low items get negative values, so in a sum an item listed low may come after one not listed at all. `constant` is
    as in `min_max`.

    References
    ----------
    Montague, Aslam (2001), doi:10.1145/502585.502657 ("zero mean, unit variance")

    Examples
    --------
    >>> z_score(Ranks([[7, 3], [4, -1]], [[9.0, 5.0], [2.0, 0.0]])).tolist()
    [[1.0, -1.0], [0.0, 0.0]]
    """
    scores = _scores(ranks, "z_score")
    best, worst = _ends(scores, ranks)
    length = np.maximum(ranks.lengths(), 1)[:, None]
    centered = np.where(ranks.items == PAD, 0.0, scores - scores.sum(axis=1, keepdims=True) / length)
    deviation = np.sqrt((centered**2).sum(axis=1, keepdims=True) / length)
    return _divided(centered, deviation, best == worst, constant, ranks)


@NORMALIZATIONS.register("three_sigma")
def three_sigma(ranks: Ranks, *, constant: float = 0.5) -> Floats:
    r"""Scale each list so that three standard deviations below its mean are 0 and three above are 1.

    .. math:: s' = (s - (\mu - 3 \sigma)) / (6 \sigma)

    with the sample standard deviation (n - 1). Values beyond are not clipped. `constant` is as in `min_max`.

    References
    ----------
    Mazzeschi (2023), Distribution-based score fusion (DBSF); Qdrant's ``Fusion.DBSF``

    Examples
    --------
    >>> three_sigma(Ranks([[7, 3, 5], [4, -1, -1]], [[3.0, 2.0, 1.0], [2.0, 0.0, 0.0]])).round(4).tolist()
    [[0.6667, 0.5, 0.3333], [0.5, 0.0, 0.0]]
    """
    best, worst = _ends(_scores(ranks, "three_sigma"), ranks)
    length = np.maximum(ranks.lengths(), 2)[:, None]
    values = 0.5 + z_score(ranks) / 6 * np.sqrt((length - 1) / length)
    return np.where(ranks.items == PAD, 0.0, np.where(best == worst, constant, values))


@NORMALIZATIONS.register("tmm")
def tmm(ranks: Ranks, *, constant: float = 1.0) -> Floats:
    r"""Scale each list to 1 for its best score, and 0 for the lowest score that is possible.

    .. math:: s' = (s - m) / (\max - m)

    with m = -1 for a list whose scores are all from -1 to 1, as those of a cosine, and m = 0 for others, as those of
    BM25. `constant` is the value of a list that has only the lowest score. In a weighted sum it is TM2C2; there,
    `min_max` of long lists is relative score fusion.

    References
    ----------
    Bruch, Gai, Ingber (2023), An analysis of fusion functions for hybrid retrieval, doi:10.1145/3596512

    Examples
    --------
    >>> tmm(Ranks([[7, 3, 5], [4, 2, -1]], [[8.0, 6.0, 2.0], [0.6, 0.2, 0.0]])).round(4).tolist()
    [[1.0, 0.75, 0.25], [1.0, 0.75, 0.0]]
    """
    scores = _scores(ranks, "tmm")
    best, worst = _ends(scores, ranks)
    lowest = np.minimum(worst, np.where(_like_cosine(scores), -1.0, 0.0))
    return _divided(scores - lowest, best - lowest, best == lowest, constant, ranks)


@NORMALIZATIONS.register("log_odds")
def log_odds(ranks: Ranks, *, constant: float = 0.0) -> Floats:
    r"""Return the logarithm of the odds of relevance that a score stands for.

    .. math:: s' = \ln \frac{p}{1 - p}, \quad p = \frac{1 + s}{2} \;\text{or}\; p = \frac{1}{1 + e^{-(s - \beta) /
        \sigma}}

    the former for a list whose scores are all from -1 to 1, as those of a cosine; the latter, with the median and the
    standard deviation of the list, for others, as those of BM25. `constant` is the value of a list of equal scores.

    References
    ----------
    Jeong (2026), Bayesian BM25, doi:10.5281/zenodo.18414940

    Examples
    --------
    >>> log_odds(Ranks([[7, 3, 5], [4, 2, -1]], [[8.0, 6.0, 4.0], [0.6, 0.0, 0.0]])).round(4).tolist()
    [[1.2247, 0.0, -1.2247], [1.3863, 0.0, 0.0]]
    """
    scores = _scores(ranks, "log_odds")
    best, worst = _ends(scores, ranks)
    cosine = np.clip(scores, -1 + 2 * SMALLEST_ODDS, 1 - 2 * SMALLEST_ODDS)
    limit = np.log(1 / SMALLEST_ODDS - 1)
    by_deviation = np.clip(z_score(ranks, constant=0.0) - _median(z_score(ranks), ranks), -limit, limit)
    values = np.where(_like_cosine(scores), np.log1p(cosine) - np.log1p(-cosine), by_deviation)
    return np.where(ranks.items == PAD, 0.0, np.where((best == worst) & ~_like_cosine(scores), constant, values))


@NORMALIZATIONS.register("rank_norm")
def rank_norm(ranks: Ranks) -> Floats:
    r"""Replace scores by positions: 1 for the first item, 1 / L for the last of a list of L. Needs no scores.

    .. math:: s' = 1 - (\rho - 1) / L

    References
    ----------
    Renda, Straccia (2003), doi:10.1145/952532.952698

    Examples
    --------
    >>> rank_norm(Ranks([[7, 3, 5, 1], [4, 2, -1, -1]])).tolist()
    [[1.0, 0.75, 0.5, 0.25], [1.0, 0.5, 0.0, 0.0]]
    """
    return _by_position(ranks, ranks.lengths())


@NORMALIZATIONS.register("borda_norm")
def borda_norm(ranks: Ranks, *, pool: NDArray[np.integer] | None = None) -> Floats:
    r"""Replace scores by positions among all candidates: 1 for the first item. Needs no scores.

    .. math:: s' = 1 - (\rho - 1) / |U|

    where U are the candidates: `pool` has their number for each query, those listed by any ranker in methods; by
    default they are the collection. The article also gives values to candidates missing from a list; here, as in the
    other normalizations, they get none.

    References
    ----------
    Renda, Straccia (2003), doi:10.1145/952532.952698

    Examples
    --------
    >>> borda_norm(Ranks([[7, 3, 5], [4, 2, -1]], n_items=8)).tolist()
    [[1.0, 0.875, 0.75], [1.0, 0.875, 0.0]]
    """
    return _by_position(ranks, np.full(ranks.n_queries, ranks.n_items) if pool is None else pool)


@NORMALIZATIONS.register("raw")
def raw(ranks: Ranks) -> Floats:
    """Return the scores unchanged, for rankers whose scores are already on one scale.

    Examples
    --------
    >>> raw(Ranks([[7, 3]], [[9.0, 5.0]])).tolist()
    [[9.0, 5.0]]
    """
    return _scores(ranks, "raw")


def _scores(ranks: Ranks, name: str) -> Floats:
    if ranks.scores is None:
        raise InputError(
            f"The normalization {name!r} needs scores, and these ranks have none. "
            "Use rank_norm or borda_norm, or a method that works on positions, such as rrf."
        )
    return ranks.scores.astype(np.float64)


def _like_cosine(scores: Floats) -> Bools:
    """Return, as a column, whether all scores of each list are from -1 to 1; padding is 0."""
    return np.asarray((np.abs(scores) <= 1.0 + ROUNDING).all(axis=1, keepdims=True))


def _median(values: Floats, ranks: Ranks) -> Floats:
    """Return the median of each list, whose values are in descending order, as a column."""
    if not ranks.depth:
        return np.zeros((ranks.n_queries, 1))
    rows, last = np.arange(ranks.n_queries), np.maximum(ranks.lengths() - 1, 0)
    return np.asarray((values[rows, last // 2] + values[rows, (last + 1) // 2]) / 2)[:, None]


def _ends(scores: Floats, ranks: Ranks) -> tuple[Floats, Floats]:
    """Return the best and the worst score of each list, as columns; 0 for empty lists."""
    if not ranks.depth:
        return np.zeros((ranks.n_queries, 1)), np.zeros((ranks.n_queries, 1))
    last = np.maximum(ranks.lengths() - 1, 0)
    return scores[:, :1], scores[np.arange(ranks.n_queries), last][:, None]


def _divided(scores: Floats, divisor: Floats, equal: Bools, constant: float | Floats, ranks: Ranks) -> Floats:
    """Divide each row; rows of equal scores get `constant`, padding gets 0."""
    values = np.where(equal, constant, scores / np.where(equal, 1.0, divisor))
    values[ranks.items == PAD] = 0.0
    return values


def _by_position(ranks: Ranks, size: NDArray[np.integer]) -> Floats:
    values = np.asarray(1.0 - np.arange(ranks.depth) / np.maximum(size, 1)[:, None])
    values[ranks.items == PAD] = 0.0
    return values
