"""Apply the selections of an experiment to its rankers."""

from collections.abc import Mapping, Sequence

from rankloom.evaluation.selection import SELECTIONS, Selection, select
from rankloom.experiment.results import CorrelationRecord, RankerRecord, SelectionRecord
from rankloom.experiment.spec import Experiment

BEST_TWO, PAIR, BEST_THREE = Selection("best", 2), Selection("pair"), Selection("best", 3)


def apply_selections(
    experiment: Experiment, rankers: Sequence[RankerRecord], correlation: CorrelationRecord | None
) -> tuple[list[SelectionRecord], list[str]]:
    """Return the distinct choices of the selections, and notes on the selections left out.

    As in the paper, the best three are added if the pair and the best two are both requested and are the same.
    """
    choices: dict[Selection, tuple[str, ...]] = {}
    notes = []
    for selection in experiment.selections:
        obstacle = _obstacle(selection, rankers, correlation)
        if obstacle is None:
            choices[selection] = choose(selection, experiment, rankers, correlation)
        else:
            notes.append(f"The selection {selection} is left out: {obstacle}.")
    same = PAIR in choices and choices[PAIR] == choices.get(BEST_TWO)
    if same and BEST_THREE not in choices and len(rankers) > 3:
        choices[BEST_THREE] = choose(BEST_THREE, experiment, rankers, correlation)
    distinct, more = _distinct(choices)
    return distinct, notes + more


def _distinct(choices: Mapping[Selection, tuple[str, ...]]) -> tuple[list[SelectionRecord], list[str]]:
    found: dict[frozenset[str], SelectionRecord] = {}
    notes = []
    for selection, names in choices.items():
        first = found.setdefault(frozenset(names), SelectionRecord(str(selection), names))
        if first.selection != str(selection):
            notes.append(f"The selection {selection} is left out: it chooses the same rankers as {first.selection}.")
    return list(found.values()), notes


def choose(
    selection: Selection,
    experiment: Experiment,
    rankers: Sequence[RankerRecord],
    correlation: CorrelationRecord | None,
) -> tuple[str, ...]:
    """Return the rankers that a selection chooses."""
    matrix = None if correlation is None else correlation.matrix
    known = {one.ranker: one.mean(experiment.main) for one in rankers}
    if selection.estimate is not None:
        known = {one.ranker: one.estimates[selection.estimate] for one in rankers}
    return select(known, matrix, kind=selection)


def _obstacle(
    selection: Selection, rankers: Sequence[RankerRecord], correlation: CorrelationRecord | None
) -> str | None:
    """Return why a selection cannot be applied, or None if it can."""
    needs_correlation = "correlations" in SELECTIONS[selection.kind].needs
    needed = max(2 if needs_correlation else 1, selection.count or 1)
    if len(rankers) < needed:
        return f"it needs {needed} rankers, and there are {len(rankers)}"
    if needs_correlation and correlation is None:
        return "it needs correlations, and no query has a list from every ranker"
    if selection.estimate is not None and any(selection.estimate not in ranker.estimates for ranker in rankers):
        return "estimates need the lists of the collection's own items"
    return None
