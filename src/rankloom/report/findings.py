"""What the records of an experiment say: who is best, who beats whom, and whether fusing helps at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rankloom.aggregate import METHODS
from rankloom.evaluation import SYMBOLS, compare_many, gain
from rankloom.evaluation.significance import Verdict
from rankloom.experiment.results import (
    TIMED,
    Floats,
    MethodRecord,
    RankerRecord,
    Results,
    SelectionRecord,
    Values,
    names,
)
from rankloom.registry import Call
from rankloom.report.formats import Column, Role, shown

P = Column("p", "p")
PERCENT = Column("%", "signed", 2)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the first of two compares with the other: gain in percent, p value (corrected if asked for), verdict."""

    gain: float | None
    p: float
    verdict: Verdict

    @property
    def text(self) -> str:
        """Gain and symbol, such as ``+6.59 % ▲``."""
        return f"{shown(self.gain, PERCENT)} % {SYMBOLS[self.verdict]}"


@dataclass(frozen=True, slots=True, eq=False)
class Contender:
    """A method on a selection, or a ranker alone, maybe the best of all.

    `outcome` is how the first method compares with it.
    """

    name: str
    label: str
    role: Role
    values: Values
    seconds: float
    best: bool = False
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """All methods on one selection, its rankers and the best ranker of all, best first."""

    selection: str
    rankers: tuple[str, ...]
    contenders: tuple[Contender, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether fusing helps: the verdict on the first method against the best ranker, and sentences that say it."""

    verdict: Verdict | None
    head: str
    sentences: tuple[str, ...]


def mean(values: Values, measure: str) -> float | None:
    """Return the mean of a measure over the queries; None where it was not computed."""
    return float(values[measure].mean()) if measure in values and len(values[measure]) else None


def ranked_rankers(results: Results) -> list[RankerRecord]:
    """Return the rankers, best first by the main measure; equal ones in the order given."""
    return sorted(results.of(RankerRecord), key=lambda record: -(mean(record.values, results.main) or 0.0))


def first_method(results: Results) -> str | None:
    """Return the first method of the specification that was run: the one that others are compared with."""
    ran = {record.method for record in results.of(MethodRecord)}
    return next((str(call) for call in results.experiment.methods if str(call) in ran), None)


def outcomes(results: Results, first: Floats, others: Mapping[str, Floats]) -> dict[str, Outcome]:
    """Return how the values of the first, query by query, compare with those of each other; a test needs 2 queries."""
    spec = results.experiment
    if len(first) < 2:
        return {}
    found = compare_many(first, others, test=spec.test, alpha=spec.alpha, correction=spec.correction, seed=spec.seed)
    return {name: Outcome(gain_over(first, others[name]), one.p_value, one.verdict) for name, one in found.items()}


def gain_over(first: Floats, other: Floats) -> float | None:
    """Return by how many percent the mean of the first is above that of the other; None where that is 0."""
    return gain(float(first.mean()), float(other.mean())) if len(other) and other.mean() > 0 else None


def contests(results: Results) -> list[Contest]:
    """Return one contest for each selection that methods were run on."""
    selections = names(results.of(MethodRecord), "selection")
    return [_contest(results, selection) for selection in selections]


def selected(results: Results, selection: str) -> tuple[str, ...]:
    """Return the rankers of a selection."""
    records: list[SelectionRecord | MethodRecord] = [*results.of(SelectionRecord), *results.of(MethodRecord)]
    return next((record.rankers for record in records if record.selection == selection), ())


def answer(results: Results) -> Answer:
    """Return whether fusing helps on this collection, as honestly as the numbers allow."""
    found = contests(results)
    told = [pair for pair in map(_against_best, found) if pair is not None]
    if not told:
        reason = "No method was run beside its rankers on two queries or more, so there is nothing to compare."
        return Answer(None, "Not known.", (reason,))
    _, _, best, outcome = told[0]
    sentences = [_against(results, *told[0])]
    rest = [f"{other.selection}: {result.text}" for other, _, _, result in told[1:]]
    sentences += [f"On the other selections, against the same ranker: {'; '.join(rest)}."] if rest else []
    sentences.append(_best_of_all(results, found, best))
    heads = {"better": "Yes.", "worse": "No.", "tie": "Not clearly."}
    if not caveat(results):
        return Answer(outcome.verdict, heads[outcome.verdict], tuple(sentences))
    if METHODS[Call.parse(told[0][1].name).name].needs == "queries":  # it had less of each list than the ranker
        return Answer(None, "Not to be told from this.", (caveat(results), *sentences))
    return Answer(outcome.verdict, heads[outcome.verdict], (*sentences, caveat(results)))


def caveat(results: Results) -> str:
    """Return what to know where the main measure looks deeper than the cutoff; else nothing."""
    spec = results.experiment
    return results.unequal if spec.measures[0] in spec.deeper else ""


def settings(results: Results) -> Counter[str]:
    """Return by what and where steps were timed, and how many in each setting."""
    return Counter(record.made for record in results.records if isinstance(record, TIMED))


def _contest(results: Results, selection: str) -> Contest:
    methods = [record for record in results.of(MethodRecord) if record.selection == selection]
    first, rankers = first_method(results), ranked_rankers(results)
    inside = selected(results, selection)
    entries = [
        Contender(one.method, one.method, "first" if one.method == first else "", one.values, one.seconds)
        for one in methods
    ]
    for place, ranker in enumerate(rankers):
        if place == 0 or ranker.ranker in inside:
            label = f"{ranker.ranker} ({'best ranker' if place == 0 else 'ranker'})"
            entries.append(Contender(ranker.ranker, label, "ranker", ranker.values, ranker.seconds, place == 0))
    ordered = sorted(_compared(results, entries), key=lambda one: -(mean(one.values, results.main) or 0.0))
    return Contest(selection, inside, tuple(ordered))


def _compared(results: Results, entries: list[Contender]) -> list[Contender]:
    """Return the contenders, each with how the first method compares with it."""
    own = next((one for one in entries if one.role == "first"), None)
    if own is None:
        return entries
    others = {one.label: one.values[results.main] for one in entries if one is not own}
    found = outcomes(results, own.values[results.main], others) if others else {}
    return [replace(one, outcome=found.get(one.label)) for one in entries]


def _against_best(contest: Contest) -> tuple[Contest, Contender, Contender, Outcome] | None:
    """Return the first method, the best ranker and how they compare; None where one of them is not there."""
    own = next((one for one in contest.contenders if one.role == "first"), None)
    best = next((one for one in contest.contenders if one.best), None)
    return (contest, own, best, best.outcome) if own and best and best.outcome else None


def _against(results: Results, contest: Contest, own: Contender, best: Contender, outcome: Outcome) -> str:
    n = len(contest.rankers)
    given = f"fusing {n} rankers (selection {contest.selection})" if n > 1 else "given one ranker only"
    p = shown(outcome.p, P)
    odds = f"p < {p[1:]}" if p.startswith("<") else f"p = {p}"
    sure = "no significant difference" if outcome.verdict == "tie" else "a significant difference"
    return (
        f"{own.label}, {given}, reaches {results.main} {_score(results, own)}: {_distance(outcome.gain)} the best "
        f"single ranker, {best.name} ({_score(results, best)}), {sure} ({odds}, {SYMBOLS[outcome.verdict]})."
    )


def _distance(gained: float | None) -> str:
    if not gained:
        return "beside" if gained is None else "as much as"
    return f"{abs(gained):.2f} % {'above' if gained > 0 else 'below'}"


def _best_of_all(results: Results, found: list[Contest], best: Contender) -> str:
    pairs = [(contest.selection, one) for contest in found for one in contest.contenders if one.role != "ranker"]
    selection, top = max(pairs, key=lambda pair: mean(pair[1].values, results.main) or 0.0)
    if (mean(top.values, results.main) or 0.0) <= (mean(best.values, results.main) or 0.0):
        return f"No method on any selection does better than {best.name} alone."
    return f"The best of all methods and selections is {top.name} on {selection}: {_score(results, top)}."


def _score(results: Results, one: Contender) -> str:
    return shown(mean(one.values, results.main), Column("score"))
