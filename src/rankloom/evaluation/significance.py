"""Significance of differences between systems: paired tests over the values of each query.

Tables show a difference as a `Mark`, and below them what it means, the `legend`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankloom.errors import InputError, brief, check_choice, whole_number
from rankloom.evaluation.corrections import correct
from rankloom.evaluation.interval import mean_intervals
from rankloom.evaluation.paired_tests import JOINT_TESTS, ROUNDING, TESTS, Tested
from rankloom.ranks.arrays import Floats

#: Whether a system is significantly better or worse than another.
Verdict = Literal["better", "worse", "tie"]
#: What a test treats as independent observations: queries, or the means of their classes.
Units = Literal["queries", "classes"]

UNITS: dict[Units, str] = {"queries": "queries", "classes": "class means"}  # in words
VERDICTS: dict[Verdict, str] = {"better": "better", "worse": "worse", "tie": "no significant difference"}


class Mark(NamedTuple):
    """The difference of a system from the reference in a table, and whether it is significantly better or worse.

    Examples
    --------
    >>> str(Mark(-0.03123, "worse")), str(Mark(0.002, "tie"))
    ('-0.0312*', '+0.0020')
    """

    difference: float
    verdict: Verdict

    def __float__(self) -> float:
        return self.difference

    def __str__(self) -> str:
        return f"{self.difference:+.4f}{'' if self.verdict == 'tie' else '*'}"


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The comparison of a system with another, the reference.

    Attributes
    ----------
    differences : float64 array of shape (n_units,)
        The system's value minus the reference's, for each query or class.
    p_value : float
        Two-sided, in [0, 1]; corrected if `compare_many` was given a correction.
    statistic : float
        Positive if the system is ahead by the criterion of the test, negative if the reference is; see `TESTS`.
    alpha : float
        The significance level.
    """

    differences: Floats
    p_value: float
    statistic: float
    alpha: float = 0.01

    @property
    def difference(self) -> float:
        """Mean of the system minus mean of the reference."""
        return float(self.differences.mean())

    @property
    def effect(self) -> float:
        """Cohen's d of the paired differences: their mean divided by their standard deviation (n - 1).

        Infinite if they are all the same but not 0. About 0.2 is small, 0.5 medium, 0.8 large.
        """
        mean, spread = self.difference, float(self.differences.std(ddof=1))
        return mean / spread if spread > 0 else float(inf * np.sign(mean)) if mean else 0.0

    @property
    def wins(self) -> int:
        """Number of queries on which the system is better than the reference."""
        return int(np.count_nonzero(self.differences > 0))

    @property
    def losses(self) -> int:
        """Number of queries on which the system is worse than the reference."""
        return int(np.count_nonzero(self.differences < 0))

    def interval(self) -> tuple[float, float]:
        """Return a confidence interval of the mean difference at 1 - alpha: see `interval.mean_intervals`."""
        low, high = mean_intervals(self.differences[None], alpha=self.alpha)[0]
        return float(low), float(high)

    @property
    def verdict(self) -> Verdict:
        """Whether the system is better or worse than the reference, or a tie.

        A tie if p is not below alpha, or if the mean and the test point in different directions. They can with
        ``wilcoxon``: a system may win most queries by a little and lose one by a lot.
        """
        if self.p_value >= self.alpha or self.difference * self.statistic <= 0:
            return "tie"
        return "better" if self.difference > 0 else "worse"

    @property
    def mark(self) -> Mark:
        """What tables show beside the system."""
        return Mark(self.difference, self.verdict)

    def __neg__(self) -> Comparison:
        """The reference compared with the system."""
        return replace(self, differences=-self.differences, statistic=-self.statistic)


def legend(
    reference: str, *, test: str = "t", alpha: float = 0.01, correction: str = "none", units: Units = "queries"
) -> str:
    """Return what the marks of a table mean: one line that names the reference, the test, its units and the level.

    Examples
    --------
    >>> legend("rrf")
    'Signed: difference from rrf; *: significant (paired t test over queries, p < 0.01).'
    """
    how = f"{'' if test in JOINT_TESTS else 'paired '}{test} test over {UNITS[units]}"
    corrected = "" if correction == "none" else f" corrected by {correction}"
    return f"Signed: difference from {reference}; *: significant ({how}, p{corrected} < {alpha:g})."


def interval_note(test: str, correction: str) -> str:
    """Return that intervals are not corrected, if the p-values are; else an empty string."""
    return "" if correction == "none" and test not in JOINT_TESTS else "The intervals are not corrected."


def class_means(values: ArrayLike, classes: ArrayLike) -> Floats:
    """Return the mean over the queries of each class, in the order of the classes.

    Examples
    --------
    >>> class_means([1.0, 0.0, 0.25], ["b", "b", "a"])
    array([0.25, 0.5 ])
    """
    known, given = np.asarray(classes), np.asarray(values, np.float64)
    if known.ndim != 1 or known.shape != given.shape:
        raise InputError(f"Give the class of each query; got {brief(classes)} for {given.size} values.")
    codes = np.unique(known, return_inverse=True)[1]
    return np.asarray(np.bincount(codes, given) / np.bincount(codes), np.float64)


def known_tests() -> list[str]:
    """Return the names of all tests, paired ones first."""
    return [*TESTS, *JOINT_TESTS]


def compare(
    ours: ArrayLike,
    theirs: ArrayLike,
    *,
    test: str = "t",
    alpha: float = 0.01,
    units: Units = "queries",
    classes: ArrayLike | None = None,
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
    units : {"queries", "classes"}
        What is independent. Queries of one class find the same items, so a test over queries finds too much: with
        ``classes`` it is over the means of the classes.
    classes : array of shape (n_queries,), optional
        The class of each query, for ``units="classes"``.
    rounds, seed : int
        Number of random draws of the randomization test, and their seed.

    Returns
    -------
    Comparison
        Equal arrays give p = 1 and a tie.

    Examples
    --------
    >>> outcome = compare([0.9, 0.8, 0.7, 0.9, 0.8], [0.6, 0.5, 0.5, 0.5, 0.5])
    >>> str(outcome.mark), outcome.verdict, round(outcome.p_value, 4)
    ('+0.3000*', 'better', 0.0007)
    >>> [round(end, 2) for end in outcome.interval()], round(outcome.effect, 1), outcome.wins, outcome.losses
    ([0.24, 0.36], 4.2, 5, 0)
    >>> compare([0.9, 0.8, 0.2], [0.6, 0.5, 0.2], units="classes", classes=["a", "a", "b"]).differences
    array([0.3, 0. ])
    """
    options: dict[str, Any] = {"rounds": rounds, "seed": seed, "units": units, "classes": classes}
    return compare_many({"ours": ours}, theirs, test=test, alpha=alpha, **options)["ours"]


def compare_many(
    systems: Mapping[str, ArrayLike],
    reference: ArrayLike,
    *,
    test: str = "t",
    alpha: float = 0.01,
    correction: str = "none",
    units: Units = "queries",
    classes: ArrayLike | None = None,
    rounds: int = 10_000,
    seed: int = 0,
) -> dict[str, Comparison]:
    """Compare several systems with one, the reference, optionally with corrected p-values.

    Parameters
    ----------
    systems : {name: array of shape (n_queries,)}
        Values of each system for each query.
    reference : array of shape (n_queries,)
        Values of the reference; other parameters as in `compare`.
    correction : str
        A name in `CORRECTIONS`: ``none`` (as in the paper), ``bonferroni``, ``holm`` or ``bh``. A joint test corrects
        for the number of systems itself.

    Examples
    --------
    >>> systems = {"rrf": [0.6, 0.5, 0.5, 0.5, 0.5], "fg": [0.9, 0.8, 0.7, 0.9, 0.8]}
    >>> outcomes = compare_many(systems, [0.9, 0.8, 0.7, 0.9, 0.8], correction="holm")
    >>> {name: str(outcome.mark) for name, outcome in outcomes.items()}
    {'rrf': '-0.3000*', 'fg': '+0.0000'}
    """
    check_choice("test", test, known_tests())
    check_choice("unit", units, UNITS)
    check_alpha(alpha)
    if units == "classes":
        if classes is None:
            raise InputError("units='classes' needs the class of each query; give classes.")
        systems = {name: class_means(values, classes) for name, values in systems.items()}
        reference = class_means(reference, classes)
    options = {"rounds": whole_number("rounds", rounds), "seed": whole_number("seed", seed, 0)}
    differences = {name: _differences(values, reference) for name, values in systems.items()}
    if test in JOINT_TESTS:
        p_values = _joint(systems, reference, test, correction)
        statistics = [float(difference.sum()) for difference in differences.values()]
    else:
        run = TESTS[test]
        found = [run(row, **options) if row.any() else Tested(1.0, 0.0) for row in differences.values()]
        p_values = correct([tested.p_value for tested in found], method=correction)
        statistics = [tested.statistic for tested in found]
    rows = zip(differences.items(), p_values, statistics, strict=True)
    return {name: Comparison(one, float(p), statistic, alpha) for (name, one), p, statistic in rows}


def disagreements(
    systems: Mapping[str, ArrayLike], reference: ArrayLike, classes: ArrayLike, *, units: Units, **options: Any
) -> str:
    """Return a sentence on the systems whose verdict is another with the other units; empty if there are none.

    Takes the options of `compare_many`.
    """
    other: Units = "queries" if units == "classes" else "classes"
    n_classes = np.unique(np.asarray(classes)).size
    if n_classes < 2:
        return ""
    ours, others = (compare_many(systems, reference, units=of, classes=classes, **options) for of in (units, other))
    differ = [
        f"{name}: {VERDICTS[one.verdict]} (p = {one.p_value:.2g})"
        for name, one in others.items()
        if one.verdict != ours[name].verdict
    ]
    number = f"{n_classes} class means" if other == "classes" else "queries"
    return f"Over {number} instead, {'; '.join(differ)}." if differ else ""


def _joint(systems: Mapping[str, ArrayLike], reference: ArrayLike, test: str, correction: str) -> Floats:
    if correction != "none":
        raise InputError(
            f"The test {test!r} corrects for the number of systems itself; use correction='none', got "
            f"{brief(correction)}."
        )
    return JOINT_TESTS[test](np.array([reference, *systems.values()], np.float64)) if systems else np.empty(0)


def _differences(system: ArrayLike, reference: ArrayLike) -> Floats:
    try:
        first, second = np.asarray(system, np.float64), np.asarray(reference, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"Give one number for each query; got {brief(system)} and {brief(reference)}.") from None
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


def check_alpha(alpha: object, name: str = "alpha") -> float:
    """Return the significance level; raise InputError unless it is a number between 0 and 1."""
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0 < alpha < 1:
        raise InputError(f"{name} must be a number between 0 and 1, such as 0.01; got {brief(alpha)}.")
    return float(alpha)
