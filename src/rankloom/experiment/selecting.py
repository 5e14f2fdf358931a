"""Which rankers the selections of an experiment choose."""

from __future__ import annotations

from collections.abc import Sequence

from rankloom.experiment.results import CorrelationRecord, RankerRecord, SelectionRecord
from rankloom.experiment.spec import Experiment
from rankloom.selection import Selection, select

THREE = Selection("best", 3)  # what the paper adds where the pair is the best two


def chosen(
    experiment: Experiment, singles: Sequence[RankerRecord], alike: CorrelationRecord
) -> tuple[list[SelectionRecord], list[str]]:
    """Return what each selection chose, no choice twice, and notes on those left out."""
    found: dict[frozenset[str], SelectionRecord] = {}
    notes = []
    wanted = list(experiment.selections)
    for selection in wanted:
        obstacle = _obstacle(selection, singles)
        if obstacle is not None:
            notes.append(f"The selection {selection} is left out: {obstacle}.")
            continue
        names = select(_effectiveness(selection, experiment, singles), alike.matrix, kind=selection)
        same = found.setdefault(frozenset(names), SelectionRecord(str(selection), names))
        if same.selection != str(selection):
            notes.append(f"The selection {selection} is left out: it chooses the same rankers as {same.selection}.")
            if selection == Selection("pair") and THREE not in wanted and len(singles) > 3:
                wanted.append(THREE)
    return list(found.values()), notes


def _obstacle(selection: Selection, singles: Sequence[RankerRecord]) -> str | None:
    needed = 2 if selection.kind == "pair" else selection.count or 1
    if len(singles) < needed:
        return f"it needs {needed} rankers, and there are {len(singles)}"
    if selection.estimate is not None and any(selection.estimate not in one.estimates for one in singles):
        return "estimates need the lists of the collection's own items"
    return None


def _effectiveness(selection: Selection, experiment: Experiment, singles: Sequence[RankerRecord]) -> dict[str, float]:
    if selection.estimate is not None:
        return {one.ranker: one.estimates[selection.estimate] for one in singles}
    main = str(experiment.measures[0])
    return {one.ranker: float(one.values[main].mean()) for one in singles}
