"""Which rankers the selections of an experiment choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankloom.evaluation.selection import SELECTIONS, Selection, select
from rankloom.experiment.results import CorrelationRecord, RankerRecord, SelectionRecord
from rankloom.experiment.spec import Experiment

TWO, PAIR, THREE = Selection("best", 2), Selection("pair"), Selection("best", 3)


def chosen(
    experiment: Experiment, singles: Sequence[RankerRecord], alike: CorrelationRecord | None
) -> tuple[list[SelectionRecord], list[str]]:
    """Return what each selection chose, no choice twice, and notes on those left out.

    As in the paper, the best three are added where both the pair and the best two are asked for and are the same.
    """
    choices: dict[Selection, tuple[str, ...]] = {}
    notes = []
    for selection in experiment.selections:
        obstacle = _obstacle(selection, singles, alike)
        if obstacle is None:
            choices[selection] = _choice(selection, experiment, singles, alike)
        else:
            notes.append(f"The selection {selection} is left out: {obstacle}.")
    same = PAIR in choices and choices[PAIR] == choices.get(TWO)
    if same and THREE not in choices and len(singles) > 3:
        choices[THREE] = _choice(THREE, experiment, singles, alike)
    found, more = _distinct(choices)
    return found, notes + more


def _distinct(choices: Mapping[Selection, tuple[str, ...]]) -> tuple[list[SelectionRecord], list[str]]:
    found: dict[frozenset[str], SelectionRecord] = {}
    notes = []
    for selection, names in choices.items():
        first = found.setdefault(frozenset(names), SelectionRecord(str(selection), names))
        if first.selection != str(selection):
            notes.append(f"The selection {selection} is left out: it chooses the same rankers as {first.selection}.")
    return list(found.values()), notes


def _choice(
    selection: Selection, experiment: Experiment, singles: Sequence[RankerRecord], alike: CorrelationRecord | None
) -> tuple[str, ...]:
    matrix = None if alike is None else alike.matrix
    return select(_effectiveness(selection, experiment, singles), matrix, kind=selection)


def _obstacle(selection: Selection, singles: Sequence[RankerRecord], alike: CorrelationRecord | None) -> str | None:
    correlated = "correlations" in SELECTIONS[selection.kind].needs
    needed = max(2 if correlated else 1, selection.count or 1)
    if len(singles) < needed:
        return f"it needs {needed} rankers, and there are {len(singles)}"
    if correlated and alike is None:
        return "it needs correlations, and no query has a list from every ranker"
    if selection.estimate is not None and any(selection.estimate not in one.estimates for one in singles):
        return "estimates need the lists of the collection's own items"
    return None


def _effectiveness(selection: Selection, experiment: Experiment, singles: Sequence[RankerRecord]) -> dict[str, float]:
    if selection.estimate is not None:
        return {one.ranker: one.estimates[selection.estimate] for one in singles}
    main = str(experiment.measures[0])
    return {one.ranker: float(one.values[main].mean()) for one in singles}
