"""Findings from the records of an experiment: the methods and rankers of a selection compared with the first method."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rankloom.evaluation import JOINT_TESTS, Comparison, compare_many, disagreements, gain
from rankloom.experiment.results import (
    TIMED,
    Measured,
    MethodRecord,
    RankerRecord,
    Results,
    SelectionRecord,
    Values,
    distinct,
)
from rankloom.ranks.arrays import Floats
from rankloom.report.formats import Role

NEIGHBORS = re.compile(r"neighbors=(\d+)")


@dataclass(frozen=True, slots=True, eq=False)
class Contender(Measured):
    """A method on a selection, or a single ranker, compared with the first method."""

    name: str
    label: str
    role: Role
    values: Values
    seconds: float
    note: str = ""  # what was chosen for it
    best: bool = False  # whether it is the best ranker
    outcome: Comparison | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """All methods on one selection, its rankers by name, and the best ranker overall, best first."""

    selection: str
    rankers: tuple[str, ...]
    contenders: tuple[Contender, ...]

    @property
    def first(self) -> Contender | None:
        """The method that the others are compared with; None if it was not run."""
        return next((contender for contender in self.contenders if contender.role == "first"), None)

    @property
    def best_ranker(self) -> Contender | None:
        """The best ranker; None without rankers."""
        return next((contender for contender in self.contenders if contender.best), None)


def ranked_rankers(results: Results) -> list[RankerRecord]:
    """Return the rankers, best first by the main measure; ties keep their order."""
    return sorted(results.of(RankerRecord), key=lambda record: -results.score(record))


def first_method(results: Results) -> str | None:
    """Return the first method that was run, with which the others are compared."""
    ran = {record.method for record in results.of(MethodRecord)}
    return next((str(call) for call in results.experiment.methods if str(call) in ran), None)


def outcomes(
    results: Results, first: Floats, others: Mapping[str, Floats], correction: str = "none"
) -> dict[str, Comparison]:
    """Return each of the others compared with `first`; empty for fewer than the 2 units a test needs.

    A correction applies if the experiment has none, and a test that does not correct itself.
    """
    if len(first) < 2 or (results.units == "classes" and len(set(results.classes or ())) < 2):
        return {}
    options = how(results)
    if options["correction"] == "none" and options["test"] not in JOINT_TESTS:
        options["correction"] = correction
    return compare_many(others, first, units=results.units, classes=results.classes, **options)


def how(results: Results) -> dict[str, Any]:
    """Return the options of the tests of an experiment, but their units."""
    spec = results.experiment
    return {"test": spec.test, "alpha": spec.alpha, "correction": spec.correction, "seed": spec.seed}


def unit_note(results: Results, contest: Contest) -> str:
    """Return a sentence on the verdicts of a contest that depend on the units of the test; empty without any."""
    own = contest.first
    if own is None or results.classes is None or len(own.values[results.main]) < 2:
        return ""
    others = {one.label: one.values[results.main] for one in contest.contenders if one is not own}
    return disagreements(others, own.values[results.main], results.classes, units=results.units, **how(results))


def gain_over(first: Floats, other: Floats) -> float | None:
    """Return the gain of the first mean over the other in percent, or None if the other is 0."""
    return gain(float(first.mean()), float(other.mean())) if len(other) and other.mean() > 0 else None


def contests(results: Results) -> list[Contest]:
    """Return the contest on each selection that methods were run on."""
    selections = distinct(results.of(MethodRecord), "selection")
    return [_contest(results, selection) for selection in selections]


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
    records: list[SelectionRecord | MethodRecord] = [*results.of(SelectionRecord), *methods]
    inside = next((record.rankers for record in records if record.selection == selection), ())
    contenders = [
        Contender(one.method, one.method, "first" if one.method == first else "", one.values, one.seconds, _note(one))
        for one in methods
    ]
    for i, ranker in enumerate(rankers):
        if i == 0 or ranker.ranker in inside:
            label = f"{ranker.ranker} ({'best ranker' if i == 0 else 'ranker'})"
            contenders.append(Contender(ranker.ranker, label, "ranker", ranker.values, ranker.seconds, best=i == 0))
    ordered = sorted(_compared(results, contenders), key=lambda contender: -results.score(contender))
    return Contest(selection, tuple(sorted(inside, key=str.casefold)), tuple(ordered))


def _note(record: MethodRecord) -> str:
    """Return the number of neighbors that was chosen for a method; empty if none was."""
    found = NEIGHBORS.search(record.chosen)
    return f"{found[1]} neighbors" if found else ""


def _compared(results: Results, contenders: list[Contender]) -> list[Contender]:
    """Return the contenders, each compared with the first method."""
    own = next((contender for contender in contenders if contender.role == "first"), None)
    if own is None:
        return contenders
    others = {contender.label: contender.values[results.main] for contender in contenders if contender is not own}
    found = outcomes(results, own.values[results.main], others) if others else {}
    return [replace(contender, outcome=found.get(contender.label)) for contender in contenders]
