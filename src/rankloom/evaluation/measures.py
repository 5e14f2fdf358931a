"""Effectiveness measures: `Measure("ndcg", 10)` is written ``ndcg@10``; `evaluate` computes them for ranks.

A measure is a registered function from judged lists and a cutoff to one number for each query. Options of a measure
are keyword-only and have defaults: ``rbp(p=0.9)``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rankloom.errors import (
    InputError,
    check_range,
    whole_number,
)
from rankloom.evaluation.truth import (
    Judged,
)
from rankloom.ranks.arrays import Array, Floats
from rankloom.ranks.checks import returned_numbers
from rankloom.registry import Call, Registry
from rankloom.registry.options import Option, check_names, options_of

#: Whether a measure takes a cutoff: a number of positions, or a level of recall from 0 to 1.
Cutoff = Literal["needed", "optional", "none", "recall"]
#: (judged lists, cutoff, options by keyword) -> one number for each list
Compute = Callable[..., Floats]

NO_CUTOFF = sys.maxsize  # the whole list
MAX_EXPONENT = 50  # of gain=exp: larger gains are no longer exact
MAX_DIGITS = len(str(NO_CUTOFF))  # of a cutoff


@dataclass(frozen=True, slots=True)
class Formula:
    """The definition of a measure.

    Attributes
    ----------
    compute : callable
    cutoff : {"needed", "optional", "none", "recall"}
        Whether it takes a cutoff; "recall" if it needs a level of recall instead.
    reach : int or None
        How many positions it uses without a cutoff; None for the whole list.
    best : float or None
        Its largest value; None if that is the cutoff.
    """

    compute: Compute
    cutoff: Cutoff
    reach: int | None = None
    best: float | None = 1.0

    @property
    def options(self) -> dict[str, Option]:
        """The options by name: the parameters of the function after the judged lists and the cutoff."""
        return dict(list(options_of(self.compute).items())[2:])


#: The measures by name.
MEASURES: Registry[Formula] = Registry("measure", group="rankloom.measures", entries=Formula)


def register_measure(
    name: str, cutoff: Cutoff, *, reach: int | None = None, best: float | None = 1.0
) -> Callable[[Compute], Compute]:
    """Return a decorator that registers a formula in `MEASURES`."""

    def add(compute: Compute) -> Compute:
        MEASURES.register(name)(Formula(compute, cutoff, reach, best))
        return compute

    return add


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure with its cutoff and options; `str` of it parses back.

    Attributes
    ----------
    name : str
        A name in `MEASURES`.
    cutoff : int or None
        How many positions count; None for all. For iprec, a level of recall from 0 to 1.
    options : tuple of (str, value)
        Options other than the defaults, by name.

    Examples
    --------
    >>> Measure.parse("ndcg@10")
    Measure(name='ndcg', cutoff=10, options=())
    >>> str(Measure("map")), str(Measure.parse("rbp(p=0.9)@20")), str(Measure.parse("iprec@0.1"))
    ('map', 'rbp(p=0.9)@20', 'iprec@0.1')
    >>> Measure.parse("ncdg@10")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    rankloom.errors.UnknownNameError: Unknown measure 'ncdg'; choose from ... Did you mean 'ndcg'?
    """

    name: str
    cutoff: int | float | None = None
    options: tuple[tuple[str, object], ...] = ()

    def __post_init__(self) -> None:
        takes, known = MEASURES[self.name].cutoff, MEASURES[self.name].options
        check_names("measure", self.name, known, dict(self.options))
        for option, value in self.options:
            known[option].checked(value, "measure", self.name)
        if self.cutoff is None and takes in ("needed", "recall"):
            raise InputError(f"The measure {self.name} needs a cutoff, as in {self.name}@{EXAMPLES[takes]}; got none.")
        if self.cutoff is not None and takes == "none":
            raise _takes_no_cutoff(self.name, str(self))
        if self.cutoff is not None and takes == "recall":
            check_range(0, 1, **{f"The level of recall of the measure {self.name}": self.cutoff})
        elif self.cutoff is not None:
            whole_number(f"The cutoff of the measure {self.name}", self.cutoff)

    @classmethod
    def parse(cls, text: str) -> Measure:
        """Return the measure written as ``name``, ``name@cutoff`` or ``name(option=value)@cutoff``."""
        spelled, at, cutoff = text.partition("@")
        call = Call.parse(spelled) if "(" in spelled else Call(spelled)
        takes = MEASURES[call.name].cutoff
        if not at:
            return cls(call.name, None, call.options)
        if takes == "none":
            raise _takes_no_cutoff(call.name, text)
        return cls(call.name, _level(text, cutoff) if takes == "recall" else _cutoff(text, cutoff), call.options)

    @property
    def reach(self) -> int | None:
        """How many positions it uses; None for the whole list."""
        formula = MEASURES[self.name]
        return formula.reach if self.cutoff is None or formula.cutoff == "recall" else int(self.cutoff)

    @property
    def best(self) -> float:
        """Its largest value."""
        best = MEASURES[self.name].best
        return float(self.cutoff or 1) if best is None else best

    def __str__(self) -> str:
        spelled = str(Call(self.name, self.options))
        cutoff = f"{self.cutoff:g}" if isinstance(self.cutoff, float) else self.cutoff
        return spelled if cutoff is None else f"{spelled}@{cutoff}"

    def __call__(self, judged: Judged) -> Floats:
        """Return the measure of each list."""
        cutoff = NO_CUTOFF if self.cutoff is None else self.cutoff
        values = MEASURES[self.name].compute(judged, cutoff, **dict(self.options))
        return returned_numbers(f"measure {self.name!r}", values, judged.n_relevant.shape)


#: Cutoffs in messages.
EXAMPLES: dict[Cutoff, str] = {"needed": "10", "recall": "0.1"}


def measure_forms() -> list[str]:
    """Return how each measure is written, with its cutoff: ``ns``, ``p@k``, ``ndcg[@k]``, ``rbp(p=0.8)[@k]``."""
    forms = {"needed": "{}@k", "optional": "{}[@k]", "none": "{}", "recall": "{}@recall"}
    return [
        forms[formula.cutoff].format(Call.of(name, {key: one.default for key, one in formula.options.items()}))
        for name, formula in MEASURES.items()
    ]


def _cutoff(text: str, cutoff: str) -> int:
    if not (cutoff.isascii() and cutoff.isdigit() and len(cutoff) <= MAX_DIGITS):
        raise InputError(f"The cutoff of a measure must be a whole number, at least 1; got {_short(text)}.")
    return int(cutoff)


def _level(text: str, level: str) -> float:
    try:
        return float(level)
    except ValueError:
        message = f"The level of recall of a measure must be a number from 0 to 1; got {_short(text)}."
        raise InputError(message) from None


def _takes_no_cutoff(name: str, text: str) -> InputError:
    return InputError(f"The measure {name} takes no cutoff; got {_short(text)}. Write {name}.")


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."


@register_measure("ndcg", "optional")
def ndcg(judged: Judged, cutoff: int, *, gain: Literal["linear", "exp"] = "linear") -> Floats:
    r"""Discounted cumulative gain divided by that of the best possible list.

    .. math:: \mathrm{DCG} = \sum_{p=1}^{k} gain_p \,/\, \log_2(p + 1)

    The gain of an item is its grade g, as in trec_eval's ``ndcg`` and ``ndcg_cut``; with ``gain=exp`` it is
    :math:`2^g - 1`, as in much of the learning-to-rank literature. With labels it is 1, and the best list starts with
    min(class size, k) ones.

    References
    ----------
    Järvelin, Kekäläinen (2002), Cumulated gain-based evaluation of IR techniques, doi:10.1145/582415.582418; gain=exp:
    Burges et al. (2005), Learning to rank using gradient descent, doi:10.1145/1102351.1102363
    """
    if gain == "exp" and judged.ideal is not None:
        check_range(0, MAX_EXPONENT, **{"With gain=exp, a grade": float(judged.ideal.max(initial=0))})
        judged = replace(judged, gains=np.exp2(judged.gains) - 1, ideal=np.exp2(judged.ideal) - 1)
    gains = judged.gains[:, :cutoff]
    return ratio((gains * _discounts(gains.shape[1])).sum(1), _ideal_dcg(judged, cutoff))


@register_measure("map", "optional")
def average_precision(judged: Judged, cutoff: int) -> Floats:
    """Mean, over all relevant items, of the precision at their positions; 0 for those not found.

    With a cutoff the divisor is still the number of all relevant items, as in trec_eval's ``map_cut``.
    """
    relevant = judged.relevant(cutoff)
    found = np.cumsum(relevant, axis=1, dtype=np.int32)
    precisions = found / np.arange(1, relevant.shape[1] + 1)
    return ratio((precisions * relevant).sum(1), judged.n_relevant)


@register_measure("p", "needed")
def precision(judged: Judged, cutoff: int) -> Floats:
    """Relevant items among the first k, divided by k (even if the list is shorter)."""
    return np.asarray(np.count_nonzero(judged.relevant(cutoff), axis=1) / cutoff, np.float64)


@register_measure("recall", "needed")
def recall(judged: Judged, cutoff: int) -> Floats:
    """Relevant items among the first k, divided by all relevant items."""
    return ratio(np.count_nonzero(judged.relevant(cutoff), axis=1), judged.n_relevant)


@register_measure("mrr", "optional")
def reciprocal_rank(judged: Judged, cutoff: int) -> Floats:
    """1 / position of the first relevant item; 0 if none is found."""
    relevant = judged.relevant(cutoff)
    if relevant.shape[1] == 0:
        return np.zeros(len(relevant))
    return np.where(relevant.any(1), 1.0 / (relevant.argmax(1) + 1), 0.0)


@register_measure("ns", "none", reach=4, best=4.0)
def ns_score(judged: Judged, cutoff: int) -> Floats:
    """N-S score: relevant items among the first 4, including the query itself; at best 4.

    References
    ----------
    Nistér, Stewénius (2006), Scalable recognition with a vocabulary tree, doi:10.1109/CVPR.2006.264
    """
    return np.asarray(np.count_nonzero(judged.relevant(4), axis=1), np.float64)


def _discounts(depth: int) -> Floats:
    return np.asarray(1.0 / np.log2(np.arange(2, depth + 2)))


def _ideal_dcg(judged: Judged, cutoff: int) -> Floats:
    if judged.ideal is not None:
        best = judged.ideal[:, :cutoff]
        return np.asarray((best * _discounts(best.shape[1])).sum(1))
    ones = np.minimum(judged.n_relevant, cutoff)
    sums = np.concatenate([[0.0], np.cumsum(_discounts(int(ones.max(initial=0))))])
    return np.asarray(sums[ones])


def ratio(part: Array, whole: Array) -> Floats:
    """Return part / whole; 0 if there is nothing to find, as in trec_eval."""
    result = np.zeros(len(part))
    np.divide(part, whole, out=result, where=whole > 0)
    return result
