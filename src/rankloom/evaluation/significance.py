"""Significance of differences between systems: paired tests over the values of each query.

Verdicts are shown with the symbols of the paper: `SYMBOLS` and `LEGEND`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rankloom.errors import InputError, brief, check_choice, whole_number
from rankloom.evaluation.corrections import correct
from rankloom.evaluation.truth import Floats
from rankloom.registry import Registry

#: The result of a comparison, from our point of view.
Verdict = Literal["better", "worse", "tie"]
#: The paper's symbol for each verdict.
SYMBOLS: dict[Verdict, str] = {"better": "▲", "worse": "▼", "tie": "•"}
#: The meaning of the symbols, for the foot of a table.
LEGEND = "▲ ours is statistically better, ▼ ours is statistically worse, • statistical tie"

BLOCK_CELLS = 1 << 20  # signs drawn in a block
ROUNDING = 1e-12  # smaller relative differences are rounding errors and count as 0
DECIMALS = 12  # to which differences are rounded for ranking, so that rounding errors do not break ties


class Mark(NamedTuple):
    """The difference of a system from the reference in a table, and whether it is significantly better or worse.

    Examples
    --------
    >>> str(Mark(-0.03123, "worse")), str(Mark(0.002, "tie"))
    ('-0.0312*', '+0.0020')
    """

    difference: float
    verdict: Verdict

    def __str__(self) -> str:
        return f"{self.difference:+.4f}{'' if self.verdict == 'tie' else '*'}"


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
TESTS: Registry[PairedTest] = Registry("test", group="rankloom.tests", entries=Callable)
#: The tests of all systems at once, by name.
JOINT_TESTS: Registry[JointTest] = Registry("joint test", group="rankloom.joint_tests", entries=Callable)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two systems.

    Attributes
    ----------
    p_value : float
        Two-sided, in [0, 1]; corrected if `compare_many` was given a correction.
    difference : float
        Mean of ours minus mean of theirs.
    statistic : float
        Positive if ours is ahead by the criterion of the test, negative if theirs is; see `TESTS`.
    alpha : float
        The significance level.
    effect : float
        Cohen's d of the paired differences: their mean divided by their standard deviation (n - 1); infinite if they
        are all the same but not 0. About 0.2 is small, 0.5 medium, 0.8 large.
    low, high : float
        Confidence interval of the mean difference at 1 - alpha, by Student's t; not corrected for several comparisons.
    wins, losses : int
        Number of queries on which ours is better, and on which it is worse.
    """

    p_value: float
    difference: float
    statistic: float
    alpha: float = 0.01
    effect: float = 0.0
    low: float = 0.0
    high: float = 0.0
    wins: int = 0
    losses: int = 0

    @property
    def verdict(self) -> Verdict:
        """Whether ours is better or worse, or a tie.

        A tie if p is not below alpha, or if the mean and the test point in different directions. They can with
        ``wilcoxon``: ours may win most queries by a little and lose one by a lot.
        """
        if self.p_value >= self.alpha or self.difference * self.statistic <= 0:
            return "tie"
        return "better" if self.difference > 0 else "worse"

    @property
    def mark(self) -> Mark:
        """What a table says of ours, compared with theirs."""
        return Mark(self.difference, self.verdict)

    @property
    def symbol(self) -> str:
        """The verdict as in the paper."""
        return SYMBOLS[self.verdict]


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
    freedom. Of two systems it is the paired t-test.

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


def legend(reference: str, *, test: str = "t", alpha: float = 0.01, correction: str = "none") -> str:
    """Return what the marks of a table mean: one line that names the reference, the test and the level.

    Examples
    --------
    >>> legend("rrf")
    'Signed: difference from rrf; *: significant (paired t test, p < 0.01).'
    """
    paired = "" if test in JOINT_TESTS else "paired "
    corrected = "" if correction == "none" else f" corrected by {correction}"
    return f"Signed: difference from {reference}; *: significant ({paired}{test} test, p{corrected} < {alpha:g})."


def known_tests() -> list[str]:
    """Return the names of all tests, paired ones first."""
    return [*TESTS, *JOINT_TESTS]


def compare(
    ours: ArrayLike,
    theirs: ArrayLike,
    *,
    test: str = "t",
    alpha: float = 0.01,
    rounds: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare two systems by their paired values for each query.

    Parameters
    ----------
    ours, theirs : array of shape (n_queries,)
        One value for each query, in the same order, as from `evaluate` with ``per_query=True``; at least 2.
    test : str
        A name in `TESTS`: ``t``, ``wilcoxon`` or ``randomization``; or in `JOINT_TESTS`: ``tukey`` or
        ``tukey_paired``; all two-sided.
    alpha : float
        Significance level, between 0 and 1. The paper's 99 % confidence is 0.01.
    rounds, seed : int
        Number of random draws of the randomization test, and their seed.

    Returns
    -------
    Comparison
        Equal arrays give p = 1 and a tie.

    Examples
    --------
    >>> outcome = compare([0.9, 0.8, 0.7, 0.9, 0.8], [0.6, 0.5, 0.5, 0.5, 0.5])
    >>> outcome.symbol, outcome.verdict, round(outcome.p_value, 4), round(outcome.difference, 2)
    ('▲', 'better', 0.0007, 0.3)
    >>> round(outcome.low, 2), round(outcome.high, 2), round(outcome.effect, 1), outcome.wins, outcome.losses
    (0.15, 0.45, 4.2, 5, 0)
    """
    return compare_many(ours, {"theirs": theirs}, test=test, alpha=alpha, rounds=rounds, seed=seed)["theirs"]


def compare_many(
    ours: ArrayLike,
    theirs: Mapping[str, ArrayLike],
    *,
    test: str = "t",
    alpha: float = 0.01,
    correction: str = "none",
    rounds: int = 10_000,
    seed: int = 0,
) -> dict[str, Comparison]:
    """Compare one system with several, optionally with corrected p-values.

    Parameters
    ----------
    theirs : {name: array of shape (n_queries,)}
        Values of the other systems; other parameters as in `compare`.
    correction : str
        A name in `CORRECTIONS`: ``none`` (as in the paper), ``bonferroni``, ``holm`` or ``bh``. A joint test corrects
        for the number of systems itself.

    Examples
    --------
    >>> others = {"rrf": [0.6, 0.5, 0.5, 0.5, 0.5], "fg": [0.9, 0.8, 0.7, 0.9, 0.8]}
    >>> outcomes = compare_many([0.9, 0.8, 0.7, 0.9, 0.8], others, correction="holm")
    >>> {name: outcome.symbol for name, outcome in outcomes.items()}
    {'rrf': '▲', 'fg': '•'}
    """
    check_choice("test", test, known_tests())
    check_alpha(alpha)
    options = {"rounds": whole_number("rounds", rounds), "seed": whole_number("seed", seed, 0)}
    differences = {name: _differences(ours, values) for name, values in theirs.items()}
    described = {name: _described(one, alpha) for name, one in differences.items()}
    if test in JOINT_TESTS:
        p_values = _joint(ours, theirs, test, correction)
    else:
        run = TESTS[test]
        found = {n: run(one, **options) if one.any() else Tested(1.0, 0.0) for n, one in differences.items()}
        described = {name: replace(one, statistic=found[name].statistic) for name, one in described.items()}
        p_values = correct([one.p_value for one in found.values()], method=correction)
    return {name: replace(one, p_value=float(p)) for (name, one), p in zip(described.items(), p_values, strict=True)}


def _joint(ours: ArrayLike, theirs: Mapping[str, ArrayLike], test: str, correction: str) -> Floats:
    if correction != "none":
        raise InputError(
            f"The test {test!r} corrects for the number of systems itself; use correction='none', got "
            f"{brief(correction)}."
        )
    return JOINT_TESTS[test](np.array([ours, *theirs.values()], np.float64)) if theirs else np.empty(0)


def _described(differences: Floats, alpha: float) -> Comparison:
    """Return a comparison without the result of a test: effect size, interval, wins and losses."""
    from scipy.special import stdtrit

    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    effect = mean / spread if spread > 0 else inf * np.sign(mean) if mean else 0.0
    margin = float(stdtrit(len(differences) - 1, 1 - alpha / 2)) * spread / sqrt(len(differences))
    wins, losses = int(np.count_nonzero(differences > 0)), int(np.count_nonzero(differences < 0))
    return Comparison(1.0, mean, mean, alpha, float(effect), mean - margin, mean + margin, wins, losses)


def _differences(ours: ArrayLike, theirs: ArrayLike) -> Floats:
    first, second = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise InputError(
            f"ours and theirs must be one value for each query, in the same order; got the shapes {first.shape} and "
            f"{second.shape}. Evaluate with per_query=True."
        )
    if len(first) < 2:
        raise InputError(f"A paired test needs at least 2 queries; got {len(first)}.")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise InputError("ours and theirs must be finite numbers; got NaN or infinity.")
    differences = np.asarray(first - second, np.float64)
    differences[np.abs(differences) <= ROUNDING * np.maximum(np.abs(first), np.abs(second))] = 0
    return differences


def check_alpha(alpha: object) -> float:
    """Return the significance level; raise InputError unless it is a number between 0 and 1."""
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0 < alpha < 1:
        raise InputError(f"alpha must be a number between 0 and 1, such as 0.01; got {brief(alpha)}.")
    return float(alpha)
