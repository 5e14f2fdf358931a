"""Conclusions from the records of an experiment: the best method, significant differences, whether fusing helps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rankloom.aggregate import METHODS, QueryMethod
from rankloom.evaluation import Comparison, compare_many, gain
from rankloom.evaluation.significance import Verdict
from rankloom.experiment.results import (
    TIMED,
    MethodRecord,
    RankerRecord,
    Results,
    SelectionRecord,
    Values,
    distinct,
)
from rankloom.ranks.arrays import Floats
from rankloom.registry import Call
from rankloom.report.formats import Column, Role, format_cell
from rankloom.report.names import selection_label

P = Column("p", "p")


@dataclass(frozen=True, slots=True, eq=False)
class Contender:
    """A method on a selection, or a single ranker, compared with the first method."""

    name: str
    label: str
    role: Role
    values: Values
    seconds: float
    best: bool = False  # whether it is the best ranker
    outcome: Comparison | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """All methods on one selection, its rankers and the best ranker overall, best first."""

    selection: str
    rankers: tuple[str, ...]
    contenders: tuple[Contender, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """Whether fusing helps: the verdict on the first method against the best ranker, and a summary in sentences."""

    verdict: Verdict | None
    headline: str
    sentences: tuple[str, ...]


def mean(values: Values, measure: str) -> float | None:
    """Return the mean of a measure over the queries, or None if it was not computed."""
    return float(values[measure].mean()) if measure in values and len(values[measure]) else None


def ranked_rankers(results: Results) -> list[RankerRecord]:
    """Return the rankers, best first by the main measure; ties keep their order."""
    return sorted(results.of(RankerRecord), key=lambda record: -(mean(record.values, results.main) or 0.0))


def first_method(results: Results) -> str | None:
    """Return the first method that was run, with which the others are compared."""
    ran = {record.method for record in results.of(MethodRecord)}
    return next((str(call) for call in results.experiment.methods if str(call) in ran), None)


def outcomes(results: Results, first: Floats, others: Mapping[str, Floats]) -> dict[str, Comparison]:
    """Return each of the others compared with `first`; empty for fewer than the 2 queries a test needs."""
    spec = results.experiment
    if len(first) < 2:
        return {}
    return compare_many(others, first, test=spec.test, alpha=spec.alpha, correction=spec.correction, seed=spec.seed)


def gain_over(first: Floats, other: Floats) -> float | None:
    """Return the gain of the first mean over the other in percent, or None if the other is 0."""
    return gain(float(first.mean()), float(other.mean())) if len(other) and other.mean() > 0 else None


def contests(results: Results) -> list[Contest]:
    """Return the contest on each selection that methods were run on."""
    selections = distinct(results.of(MethodRecord), "selection")
    return [_contest(results, selection) for selection in selections]


def first_contender(contest: Contest) -> Contender | None:
    """Return the method that the others are compared with; None if it was not run."""
    return next((one for one in contest.contenders if one.role == "first"), None)


def best_contender(contest: Contest) -> Contender | None:
    """Return the best ranker; None without rankers."""
    return next((one for one in contest.contenders if one.best), None)


def selected(results: Results, selection: str) -> tuple[str, ...]:
    """Return the rankers of a selection."""
    records: list[SelectionRecord | MethodRecord] = [*results.of(SelectionRecord), *results.of(MethodRecord)]
    return next((record.rankers for record in records if record.selection == selection), ())


def summarize(results: Results) -> Summary:
    """Return whether fusing helps on this collection."""
    found = contests(results)
    against_best = [pair for pair in map(_against_best, found) if pair is not None]
    if not against_best:
        reason = "There is no method to compare with its rankers on at least two queries."
        return Summary(None, "Unknown.", (reason,))
    _, own, best, outcome = against_best[0]
    sentences = [_comparison(results, *against_best[0])]
    rest = [_other(results, *one) for one in against_best[1:]]
    sentences += [f"On the other selections, compared with the same ranker: {'; '.join(rest)}."] if rest else []
    sentences.append(_best_overall(results, found, best))
    headlines = {"better": "Yes.", "worse": "No.", "tie": "Not clearly."}
    if not caveat(results):
        return Summary(outcome.verdict, headlines[outcome.verdict], tuple(sentences))
    if issubclass(METHODS[Call.parse(own.name).name], QueryMethod):  # it saw less of each list than the ranker
        return Summary(None, "Inconclusive.", (caveat(results), *sentences))
    return Summary(outcome.verdict, headlines[outcome.verdict], (*sentences, caveat(results)))


def caveat(results: Results) -> str:
    """Return a warning if the main measure looks deeper than the cutoff, else an empty string."""
    spec = results.experiment
    return results.depth_caveat if spec.measures[0] in spec.deep_measures else ""


def environments(results: Results) -> Counter[str]:
    """Return the number of steps timed in each environment."""
    return Counter(record.made for record in results.records if isinstance(record, TIMED))


def _contest(results: Results, selection: str) -> Contest:
    methods = [record for record in results.of(MethodRecord) if record.selection == selection]
    first, rankers = first_method(results), ranked_rankers(results)
    inside = selected(results, selection)
    contenders = [
        Contender(one.method, _label(one), "first" if one.method == first else "", one.values, one.seconds)
        for one in methods
    ]
    for i, ranker in enumerate(rankers):
        if i == 0 or ranker.ranker in inside:
            label = f"{ranker.ranker} ({'best ranker' if i == 0 else 'ranker'})"
            contenders.append(Contender(ranker.ranker, label, "ranker", ranker.values, ranker.seconds, i == 0))
    ordered = sorted(_compared(results, contenders), key=lambda one: -(mean(one.values, results.main) or 0.0))
    return Contest(selection, inside, tuple(ordered))


def _label(record: MethodRecord) -> str:
    """Return the method as it was spelled; for a sweep, its best variant."""
    return f"{record.chosen} (best of sweep)" if record.chosen else record.method


def _compared(results: Results, contenders: list[Contender]) -> list[Contender]:
    """Return the contenders, each compared with the first method."""
    own = next((one for one in contenders if one.role == "first"), None)
    if own is None:
        return contenders
    others = {one.label: one.values[results.main] for one in contenders if one is not own}
    found = outcomes(results, own.values[results.main], others) if others else {}
    return [replace(one, outcome=found.get(one.label)) for one in contenders]


def _against_best(contest: Contest) -> tuple[Contest, Contender, Contender, Comparison] | None:
    """Return the first method, the best ranker, and the first compared with it, or None if either is missing."""
    own, best = first_contender(contest), best_contender(contest)
    return (contest, own, best, -best.outcome) if own and best and best.outcome else None


def _other(results: Results, contest: Contest, own: Contender, best: Contender, outcome: Comparison) -> str:
    """Return the outcome on another selection, such as ``best two [best(2)]: 6.59 % above (significant)``."""
    significant = "not significant" if outcome.verdict == "tie" else "significant"
    return f"{selection_label(contest.selection)}: {_gain(results, own, best)} ({significant})"


def _comparison(results: Results, contest: Contest, own: Contender, best: Contender, outcome: Comparison) -> str:
    n = len(contest.rankers)
    given = f"fusing {n} rankers ({selection_label(contest.selection)})" if n > 1 else "given a single ranker"
    p = format_cell(outcome.p_value, P)
    p_value = f"p < {p[1:]}" if p.startswith("<") else f"p = {p}"
    significance = "no significant difference" if outcome.verdict == "tie" else "a significant difference"
    return (
        f"{own.label}, {given}, reaches {results.main} {_score(results, own)}, {_gain(results, own, best)} the best "
        f"single ranker, {best.name} ({_score(results, best)}): {significance} ({p_value})."
    )


def _gain(results: Results, own: Contender, best: Contender) -> str:
    percent = gain_over(own.values[results.main], best.values[results.main])
    if not percent:
        return "against" if percent is None else "the same as"
    return f"{abs(percent):.2f} % {'above' if percent > 0 else 'below'}"


def _best_overall(results: Results, found: list[Contest], best: Contender) -> str:
    pairs = [(contest.selection, one) for contest in found for one in contest.contenders if one.role != "ranker"]
    selection, top = max(pairs, key=lambda pair: mean(pair[1].values, results.main) or 0.0)
    if (mean(top.values, results.main) or 0.0) <= (mean(best.values, results.main) or 0.0):
        return f"No method on any selection is better than {best.name} alone."
    where = selection_label(selection)
    return f"The best method overall is {top.name} on the selection {where}: {_score(results, top)}."


def _score(results: Results, one: Contender) -> str:
    return format_cell(mean(one.values, results.main), Column("score"))
