"""Confidence intervals of means, by the percentile bootstrap."""

import numpy as np

from rankloom.ranks.arrays import Floats

MIN_ROUNDS, MAX_ROUNDS, SEED = 1000, 10_000, 0
MAX_CELLS = 8_000_000  # queries drawn in all; with so many the mean is nearly normal, and fewer rounds do
BLOCK_CELLS = 1 << 18  # queries drawn in a block
DECIMALS = 12  # to which results are rounded, so that the order of the additions does not show


def mean_intervals(values: Floats, *, alpha: float = 0.05) -> Floats:
    r"""Return a confidence interval of the mean of each row at 1 - alpha: the percentiles of bootstrapped means.

    .. math:: [\bar x^*_{\alpha / 2},\ \bar x^*_{1 - \alpha / 2}]

    The queries are drawn with replacement, 10,000 times (1000 to 10,000 for more than 800 queries), with a fixed seed
    and the same draws for all rows. The interval never leaves the range of the values, as one by Student's t can; with
    few queries it is too narrow.

    Parameters
    ----------
    values : array of shape (n_systems, n_queries)

    Returns
    -------
    float64 array of shape (n_systems, 2)
        Lower and upper end of each interval.

    References
    ----------
    Efron, Tibshirani (1993), An Introduction to the Bootstrap, chapter 13

    Examples
    --------
    >>> mean_intervals(np.array([[1.0, 1.0, 0.0], [0.5, 0.5, 0.5]]))
    array([[0. , 1. ],
           [0.5, 0.5]])
    """
    n = values.shape[1]
    rng, block = np.random.default_rng(SEED), max(1, BLOCK_CELLS // n)
    rounds = min(MAX_ROUNDS, max(MIN_ROUNDS, MAX_CELLS // n))
    means = []
    for start in range(0, rounds, block):
        rows = min(block, rounds - start)
        drawn = rng.integers(n, size=(rows, n)) + n * np.arange(rows)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
        means.append(counts.astype(np.float64) @ values.T / n)
    found = np.quantile(np.concatenate(means), [alpha / 2, 1 - alpha / 2], axis=0).round(DECIMALS)
    return np.asarray(np.clip(found, values.min(axis=1), values.max(axis=1)).T, np.float64)
