"""Paired tests: from the differences of two systems on each query to a p-value and a direction."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple, Protocol

import numpy as np

from rankloom.ranks.arrays import Floats
from rankloom.registry import Registry

BLOCK_CELLS = 1 << 20  # signs drawn in a block
ROUNDING = 1e-12  # smaller relative differences are rounding errors and count as 0
DECIMALS = 12  # to which differences are rounded for ranking, so that rounding errors do not break ties


class Tested(NamedTuple):
    """The result of a paired test: a two-sided p-value, and a statistic that is positive if ours is ahead."""

    p_value: float
    statistic: float


class PairedTest(Protocol):
    """A paired test: from the differences of the queries, not all 0, to a p-value and a direction."""

    def __call__(self, differences: Floats, *, rounds: int, seed: int) -> Tested:
        """Return the result; tests without randomness ignore `rounds` and `seed`."""


class JointTest(Protocol):
    """A test of all pairs of systems at once, which corrects for their number."""

    def __call__(self, values: Floats) -> Floats:
        """Return a p-value for the first system and each of the others; `values` is (n_systems, n_queries)."""


#: The paired tests by name.
TESTS: Registry[PairedTest] = Registry("test", entries=Callable)
#: The tests of all systems at once, by name.
JOINT_TESTS: Registry[JointTest] = Registry("joint test", entries=Callable)


@TESTS.register("t")
def t_test(differences: Floats, *, rounds: int, seed: int) -> Tested:
    r"""Student's paired t-test, as in the paper.

    .. math:: t = \bar d \,/\, (s_d / \sqrt n), \quad n - 1 \text{ degrees of freedom}

    If all differences are the same number other than 0, p is 0.
    """
    from scipy.special import stdtr

    spread = differences.std(ddof=1)
    if spread == 0:
        return Tested(0.0, float(differences[0]))
    t = float(differences.mean() / (spread / sqrt(len(differences))))
    return Tested(float(2 * stdtr(len(differences) - 1, -abs(t))), t)


@TESTS.register("wilcoxon")
def wilcoxon(differences: Floats, *, rounds: int, seed: int) -> Tested:
    """Wilcoxon's signed-rank test, without queries of difference 0; exact for few queries, as decided by scipy.

    The statistic is W+ - W-, the rank sum of the queries that ours wins minus that of the others. Differences that
    are equal up to rounding share a rank.
    """
    from scipy.stats import rankdata
    from scipy.stats import wilcoxon as signed_rank

    rounded = np.round(differences / np.abs(differences).max(), DECIMALS)
    changed = rounded[rounded != 0]
    return Tested(float(signed_rank(changed).pvalue), float((np.sign(changed) * rankdata(np.abs(changed))).sum()))


@TESTS.register("randomization")
def randomization(differences: Floats, *, rounds: int, seed: int) -> Tested:
    r"""Fisher's randomization test: how often is the mean as far from 0 with random signs?

    .. math:: p = (1 + \#\{|\bar d^*| \ge |\bar d|\}) \,/\, (1 + \mathrm{rounds})

    The 1 counts the observed signs, so p is never 0.

    References
    ----------
    Smucker, Allan, Carterette (2007), A comparison of statistical significance tests for information retrieval
    evaluation, doi:10.1145/1321440.1321528
    """
    rng = np.random.default_rng(seed)
    total, slack = differences.sum(), ROUNDING * np.abs(differences).sum()  # allows for rounding errors of sums
    words = -(-len(differences) // 64)
    block = max(1, BLOCK_CELLS // (words * 64))
    beyond = 1
    for start in range(0, rounds, block):
        drawn = rng.integers(0, 1 << 64, (min(block, rounds - start), words), np.uint64).astype("<u8")
        signs = np.unpackbits(drawn.view(np.uint8), axis=1, count=len(differences))
        sums = 2 * np.einsum("ij,j->i", signs, differences) - total  # a sign bit of 0 negates the difference
        beyond += int(np.count_nonzero(np.abs(sums) >= abs(total) - slack))
    return Tested(beyond / (rounds + 1), float(total))


@JOINT_TESTS.register("tukey")
def tukey(values: Floats) -> Floats:
    r"""Tukey's honestly significant difference, with queries as independent observations: as in ranx.

    .. math:: q = |\bar x_i - \bar x_j| \,/\, \sqrt{\mathrm{MSE} / n}, \quad
              \mathrm{MSE} = \sum_i \sum_q (x_{iq} - \bar x_i)^2 / (m (n - 1))

    compared with the studentized range of m systems and m (n - 1) degrees of freedom; `scipy.stats.tukey_hsd`. The
    differences between queries count as noise, so it finds less than ``tukey_paired``.
    """
    m, n = values.shape
    noise = values - values.mean(axis=1, keepdims=True)
    return _studentized(values, float((noise**2).sum()), m * (n - 1))


@JOINT_TESTS.register("tukey_paired")
def tukey_paired(values: Floats) -> Floats:
    r"""Tukey's honestly significant difference on the two-way layout: the mean of each query is taken out first.

    As ``tukey``, with the residuals :math:`x_{iq} - \bar x_i - \bar x_q + \bar x` and (m - 1) (n - 1) degrees of
    freedom. For two systems, this is the paired t-test.

    References
    ----------
    Carterette (2012), Multiple testing in statistical analysis of systems-based information retrieval experiments,
    doi:10.1145/2094072.2094076
    """
    m, n = values.shape
    noise = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
    return _studentized(values, float((noise**2).sum()), (m - 1) * (n - 1))


def _studentized(values: Floats, squares: float, freedom: int) -> Floats:
    """Return the p-values of the first mean against the others, given the sum of squares of the noise."""
    from scipy.stats import studentized_range

    means = values.mean(axis=1)
    apart = np.abs(means[1:] - means[0])
    scale = sqrt(squares / freedom / values.shape[1])
    if scale <= ROUNDING * float(np.abs(values).max(initial=0)):
        return np.where(apart > ROUNDING * np.abs(values).max(initial=0), 0.0, 1.0)
    return np.asarray(studentized_range.sf(apart / scale, len(values), freedom), np.float64)
