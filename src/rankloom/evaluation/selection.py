"""Selection of rankers to fuse: all, the best, or the pair with the best balance of effectiveness and correlation.

`Selection("best", 2)` is written ``best(2)``. With the name of an estimate, as in ``pair(authority)``, a selection
needs no labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from rankloom.errors import InputError, brief, check_choice, check_type, whole_number
from rankloom.evaluation.correlation import correlations as correlation_matrix
from rankloom.evaluation.estimates import ESTIMATES, estimate_all
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Floats
from rankloom.registry import Registry, parse_value, show_value, split

#: (effectiveness, correlations or None, count) -> numbers of the chosen rankers
Choose = Callable[[Floats, Floats | None, int], list[int]]
#: Inputs that a rule may need.
Need = Literal["count", "effectiveness", "correlations"]
#: Rank correlations of two orders of rankers.
Agreement = Literal["kendall", "spearman"]

ONLY = "only"
NAMED = re.compile(rf"{ONLY}\((.*)\)")
COUNT = re.compile(r"[0-9]{1,9}")
PATTERN = re.compile(r"(\w+)(?:\(\s*([\w\s,]+?)\s*\))?")


@dataclass(frozen=True, slots=True)
class Rule:
    """The definition of a selection: how rankers are chosen, and the inputs needed."""

    choose: Choose
    needs: tuple[Need, ...]


#: The rules by name.
SELECTIONS: Registry[Rule] = Registry("selection", entries=Rule)


def register(name: str, *needs: Need) -> Callable[[Choose], Choose]:
    """Return a decorator that registers a rule in `SELECTIONS`."""

    def add(choose: Choose) -> Choose:
        SELECTIONS.register(name)(Rule(choose, needs))
        return choose

    return add


class Balance(NamedTuple):
    """Two rankers and their balance, M of Eq. (6)."""

    first: str
    second: str
    balance: float


@dataclass(frozen=True, slots=True)
class Selection:
    """A rule with its count and estimate; `str` of it parses back.

    Examples
    --------
    >>> Selection.parse("best(2)")
    Selection(kind='best', count=2, estimate=None, names=())
    >>> str(Selection("best", 3, "authority")), str(Selection("pair", estimate="reciprocal"))
    ('best(3, authority)', 'pair(reciprocal)')
    >>> Selection.parse("only(BIC, GCH)").names
    ('BIC', 'GCH')
    """

    kind: str  #: a name in `SELECTIONS`
    count: int | None = None  #: the number of rankers, for rules that take a count
    estimate: str | None = None  #: a name in `ESTIMATES` if effectiveness is estimated; None if it is measured
    names: tuple[str, ...] = ()  #: the rankers of the selection ``only``

    def __post_init__(self) -> None:
        if (self.kind == ONLY) != bool(self.names) or len(set(self.names)) < len(self.names):
            raise InputError(
                f"Only the selection 'only' takes names of rankers, each once, as in only(BIC, GCH); got {self}."
            )
        needs = SELECTIONS[self.kind].needs
        if "count" in needs and self.count is None:
            raise InputError(f"The selection {self.kind} needs a count, as in {self.kind}(2); got none.")
        if "count" not in needs and self.count is not None:
            raise InputError(f"The selection {self.kind} takes no count; got {self}.")
        if self.count is not None:
            whole_number(f"The count of the selection {self.kind}", self.count)
        if self.estimate is not None and "effectiveness" not in needs:
            raise InputError(f"The selection {self.kind} needs no estimate; got {self}. Write {self.kind}.")
        if self.estimate is not None:
            ESTIMATES[self.estimate]  # raises for an unknown name

    @classmethod
    def parse(cls, text: str) -> Selection:
        """Return the selection written as ``pair``, ``best(2)``, ``pair(authority)`` or ``best(2, authority)``."""
        named = NAMED.fullmatch(text.strip())
        if named is not None:
            return cls(ONLY, names=tuple(str(parse_value(part)) for part in split(named[1])))
        match = PATTERN.fullmatch(text.strip())
        if match is None:
            raise InputError(f"Write a selection as pair, best(2) or best(2, authority); got {brief(text)}.")
        inside = [part.strip() for part in match[2].split(",")] if match[2] else []
        counts = [int(part) for part in inside if COUNT.fullmatch(part)]
        estimates = [part for part in inside if not COUNT.fullmatch(part)]
        if len(counts) > 1 or len(estimates) > 1:
            raise InputError(f"A selection takes at most one count and one estimate; got {brief(text)}.")
        return cls(match[1], counts[0] if counts else None, estimates[0] if estimates else None)

    def __str__(self) -> str:
        parts = (self.count, self.estimate, *map(show_value, self.names))
        inside = ", ".join(str(part) for part in parts if part is not None)
        return f"{self.kind}({inside})" if inside else self.kind


@register("all")
def choose_all(effectiveness: Floats, correlations: Floats | None, count: int) -> list[int]:
    """Every ranker."""
    return list(range(len(effectiveness)))


@register(ONLY)
def choose_named(effectiveness: Floats, correlations: Floats | None, count: int) -> list[int]:
    """The named rankers; `select` finds them by name, without calling this."""
    return list(range(len(effectiveness)))


@register("best", "count", "effectiveness")
def choose_best(effectiveness: Floats, correlations: Floats | None, count: int) -> list[int]:
    """The `count` most effective rankers."""
    if count > len(effectiveness):
        raise InputError(f"There are only {len(effectiveness)} rankers; best({count}) needs more.")
    return [int(i) for i in np.argsort(-effectiveness, kind="stable")[:count]]


@register("pair", "effectiveness", "correlations")
def choose_pair(effectiveness: Floats, correlations: Floats | None, count: int) -> list[int]:
    """The two rankers with the highest balance, Eq. (6): effective and not correlated."""
    return list(_ordered_pairs(effectiveness, correlations)[0])


def balance(ef_x: float, ef_y: float, cor: float) -> float:
    r"""Return the balance of two rankers: high effectiveness and low correlation.

    .. math:: M(R_x, R_y) = \frac{1 + ef_x \cdot ef_y}{1 + cor(R_x, R_y)}

    References
    ----------
    Dourado, Pedronette, Torres (2019), Eq. (6), doi:10.1016/j.ipm.2019.03.008, after Valem, Pedronette (2017)

    Examples
    --------
    >>> balance(0.5, 0.8, 0.4)
    1.0
    """
    return (1 + ef_x * ef_y) / (1 + cor)


def balances(effectiveness: Mapping[str, float], correlations: ArrayLike) -> list[Balance]:
    """Return every pair of rankers with its balance, highest first; ties in the order of the rankers.

    Examples
    --------
    >>> table = [[1, 0.5, 0.0], [0.5, 1, 0.2], [0.0, 0.2, 1]]
    >>> [(first, second, round(value, 2)) for first, second, value in balances({"a": 0.9, "b": 0.8, "c": 0.6}, table)]
    [('a', 'c', 1.54), ('b', 'c', 1.23), ('a', 'b', 1.15)]
    """
    names, values = list(effectiveness), _values(effectiveness)
    table = _table(correlations, len(names))
    return [
        Balance(names[i], names[j], balance(float(values[i]), float(values[j]), float(table[i, j])))
        for i, j in _ordered_pairs(values, table)
    ]


def select(
    effectiveness: Mapping[str, float], correlations: ArrayLike | None = None, *, kind: str | Selection
) -> tuple[str, ...]:
    """Choose which rankers to fuse, from numbers.

    Parameters
    ----------
    effectiveness : {ranker: value}
        By any measure, higher is better; the estimates, if `kind` names one.
    correlations : array of shape (n_rankers, n_rankers), optional
        Correlations of the rankers, in the same order (`correlations`); only ``pair`` needs them.
    kind : str or Selection
        ``all``, ``best(2)``, ``best(3)``, ..., ``pair``, or named rankers, ``only(color, shape)``.

    Returns
    -------
    tuple of str
        In the order given. The first ranker wins a tie.

    Examples
    --------
    >>> effectiveness = {"color": 0.6, "shape": 0.9, "texture": 0.8}
    >>> select(effectiveness, kind="best(2)")
    ('shape', 'texture')
    >>> select(effectiveness, [[1, 0.0, 0.2], [0.0, 1, 0.5], [0.2, 0.5, 1]], kind="pair")
    ('color', 'shape')
    """
    wanted = Selection.parse(kind) if isinstance(kind, str) else kind
    check_type(Selection, kind=wanted)
    check_type(Mapping, effectiveness=effectiveness)
    names, values = list(effectiveness), _values(effectiveness)
    table = None if correlations is None else _table(correlations, len(names))
    if wanted.names:
        return _named(wanted.names, names)
    chosen = SELECTIONS[wanted.kind].choose(values, table, wanted.count or 0)
    return tuple(names[i] for i in sorted(chosen))


def select_rankers(
    rankers: Mapping[str, Ranks],
    *,
    kind: str | Selection,
    effectiveness: Mapping[str, float] | None = None,
    correlation: str = "jaccard",
    depth: int = 10,
    neighbors: int = 20,
) -> tuple[str, ...]:
    """Choose which rankers to fuse, from their ranks; without labels if `kind` names an estimate.

    Parameters
    ----------
    rankers : {name: Ranks}
        Collection ranks if `kind` names an estimate.
    kind : str or Selection
        As in `select`, or with an estimate: ``best(2, authority)``, ``pair(reciprocal)``.
    effectiveness : {name: value}, optional
        By labels; needed by ``best`` and ``pair`` without an estimate.
    correlation, depth : str, int
        Kind and depth of the correlations for ``pair``.
    neighbors : int
        Number of neighbors for estimates, the same for all rankers: fewer if one ranker has shorter lists.

    Examples
    --------
    >>> good = Ranks([[0, 1], [1, 0], [2, 3], [3, 2]])
    >>> poor = Ranks([[0, 2], [1, 3], [2, 1], [3, 0]])
    >>> select_rankers({"poor": poor, "good": good}, kind="best(1, authority)", neighbors=2)
    ('good',)
    """
    wanted = Selection.parse(kind) if isinstance(kind, str) else kind
    needs = SELECTIONS[wanted.kind].needs
    if wanted.estimate is not None:
        known = estimate_all(rankers, kind=wanted.estimate, neighbors=neighbors)
    elif "effectiveness" in needs:
        known = _known(rankers, effectiveness, wanted)
    else:
        known = dict.fromkeys(rankers, 0.0)
    table = None
    if "correlations" in needs:
        table = correlation_matrix(list(rankers.values()), kind=correlation, depth=depth)
    return select(known, table, kind=wanted)


def agreement(estimated: Mapping[str, float], true: Mapping[str, float], *, kind: Agreement = "spearman") -> float:
    """Return the rank correlation of estimates with the true effectiveness of rankers.

    Parameters
    ----------
    estimated, true : {ranker: value}
        Of the same rankers, at least two, in any order.
    kind : {"spearman", "kendall"}
        Spearman's rho, or Kendall's tau-b.

    Returns
    -------
    float
        In [-1, 1]: 1 for the same order, -1 for the reverse. NaN if all values of one side are equal.

    Examples
    --------
    >>> round(agreement({"a": 0.3, "b": 0.2, "c": 0.1}, {"a": 0.9, "b": 0.5, "c": 0.7}), 3)
    0.5
    """
    from scipy import stats

    check_choice("agreement", kind, get_args(Agreement))
    if set(estimated) != set(true) or len(true) < 2:
        raise InputError(
            f"Give both values for the same rankers, at least 2; got {_names(estimated)} and {_names(true)}."
        )
    ours, theirs = _values(estimated), _values({name: true[name] for name in estimated})
    if np.ptp(ours) == 0 or np.ptp(theirs) == 0:
        return float("nan")
    measure = stats.spearmanr if kind == "spearman" else stats.kendalltau
    return float(measure(ours, theirs).statistic)


def _named(wanted: tuple[str, ...], names: list[str]) -> tuple[str, ...]:
    for name in wanted:
        check_choice("ranker", name, names)
    return tuple(name for name in names if name in wanted)


def _ordered_pairs(effectiveness: Floats, correlations: Floats | None) -> list[tuple[int, int]]:
    if correlations is None:
        raise InputError(
            "The selection pair needs the correlations of the rankers; see rankloom.evaluation.correlations."
        )
    if len(effectiveness) < 2:
        raise InputError(f"A pair needs at least 2 rankers; got {len(effectiveness)}.")
    pairs = list(combinations(range(len(effectiveness)), 2))
    return sorted(pairs, key=lambda p: -balance(effectiveness[p[0]], effectiveness[p[1]], float(correlations[p])))


def _values(effectiveness: Mapping[str, float]) -> Floats:
    try:
        values = np.array(list(effectiveness.values()), np.float64)
    except (TypeError, ValueError, OverflowError):
        values = np.array([np.nan])
    if values.ndim != 1 or not effectiveness or not np.isfinite(values).all():
        raise InputError(f"Give the effectiveness of each ranker, a finite number; got {brief(dict(effectiveness))}.")
    return values


def _table(correlations: ArrayLike, count: int) -> Floats:
    try:
        table = np.asarray(correlations, np.float64)
    except (TypeError, ValueError, OverflowError):
        table = np.empty(0)
    if table.shape != (count, count):
        raise InputError(
            f"Correlations must be {count} x {count}, one row for each ranker; got the shape {table.shape}."
        )
    if not (table > -1).all() or not np.allclose(table, table.T, rtol=0, atol=1e-9):
        raise InputError("Correlations must be above -1 and symmetric.")
    return table


def _known(
    rankers: Mapping[str, Ranks], effectiveness: Mapping[str, float] | None, wanted: Selection
) -> dict[str, float]:
    if effectiveness is None:
        known = ", ".join(ESTIMATES)
        raise InputError(
            f"The selection {wanted} needs the effectiveness of each ranker. Give it, or name an estimate ({known}), "
            f"as in {Selection(wanted.kind, wanted.count, next(iter(ESTIMATES)))}."
        )
    missing = [name for name in rankers if name not in effectiveness]
    if missing:
        raise InputError(f"The effectiveness of {missing[0]!r} is missing; got that of {_names(effectiveness)}.")
    return {name: effectiveness[name] for name in rankers}


def _names(values: Mapping[str, float]) -> str:
    return ", ".join(values) or "none"
