"""Tables over several experiments, as data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import fmean

from rankloom.evaluation import winning_numbers
from rankloom.experiment.results import CutoffRecord, MethodRecord, PairRecord, Results
from rankloom.report.findings import (
    Contender,
    Contest,
    best_contender,
    contests,
    first_contender,
    first_method,
    gain_over,
    mean,
    ranked_rankers,
)
from rankloom.report.formats import Cell, Column, Role, Row, Table
from rankloom.report.joint import Joint, common_methods, restricted
from rankloom.report.tables import legend, make_table, mark, mark_column, slug

GAIN = Column("Gain (%)", "signed", 2)
EXPERIMENT = Column("Experiment", "text")


def experiments(joint: Joint) -> Table | None:
    """Return the best ranker and the best method of each experiment, and its size."""
    columns = [EXPERIMENT, Column("Measure", "text"), Column("Best ranker", "text"), Column("Value")]
    columns += [Column("Best method", "text"), Column("Value"), Column("Selection", "text")]
    abouts = [results.about for results in joint.experiments.values()]
    external = any(about.get("n_queries") != about.get("n_items") for about in abouts)  # else items are the queries
    sizes = ("n_items", "n_queries") if external else ("n_items",)
    columns += map(Column, ("Rankers", "Items", "Queries")[: 1 + len(sizes)])
    rows = []
    for label, results in joint.experiments.items():
        counts = (len(results.experiment.rankers), *map(results.about.get, sizes))
        rows.append(Row((label, results.main, *_best_ranker(results), *_best_method(results), *counts)))
    return make_table("experiments", "The experiments", columns, rows, _collections(joint))


def gains(joint: Joint) -> Table | None:
    """Return the gain of the first method of each experiment over its best ranker, on every selection."""
    columns = [EXPERIMENT, Column("Selection", "text"), GAIN, mark_column("best ranker"), Column("p", "p")]
    columns += [Column("Method", "text"), Column("Value"), Column("Best ranker", "text"), Column("Value")]
    rows = []
    for label, results in joint.experiments.items():
        for contest in contests(results):
            own, best = first_contender(contest), best_contender(contest)
            if own is not None and best is not None:
                rows.append(Row((label, contest.selection, *_gain_cells(results, own, best))))
    return make_table("gains", "Gains over the best single ranker", columns, rows, _legend(joint, "the best ranker"))


def methods(joint: Joint) -> Table | None:
    """Return each method on the first selection of each experiment, by winning number."""
    found = {label: contests(results)[:1] for label, results in joint.experiments.items()}
    shown = {label: one[0] for label, one in found.items() if one}
    wins = winning_numbers({key: dict(values) for key, values in joint.effectiveness.items()})
    columns = [Column("Method", "text")]
    for label in shown:
        columns += [Column(label), mark_column(first_method(joint.experiments[label]), label)]
    rows = [_method_row(joint, name, shown) for name in wins]
    if rows:
        best = [cell for label, one in shown.items() for cell in _cells(joint, label, best_contender(one))]
        rows.append(Row(("best single ranker", *best), "ranker"))
    caption = "Every method on the first selection of each experiment, by its main measure"
    return make_table("methods", caption, columns, rows, _legend(joint))


def winning(joint: Joint) -> Table | None:
    """Return the winning numbers over all experiments, of the methods that were run on every selection."""
    found = {key: values for key, values in joint.effectiveness.items() if joint.first in values}
    shared = common_methods(found)
    if len(shared) < 2:
        return None
    table = restricted(found, shared)
    labels = list(dict.fromkeys(label for label, _ in found))
    parts = [winning_numbers({key: table[key] for key in found if key[0] == label}) for label in labels]
    columns = [Column("Method", "text"), Column("Winning number"), *map(Column, labels)]
    rows = [
        Row((name, wins, *(part[name] for part in parts)), "first" if name == joint.first else "")
        for name, wins in winning_numbers(table).items()
    ]
    counted = f"{len(found)} selections of {len(labels)} experiments, {len(shared)} methods: "
    explained = f"{counted}at most {len(found) * (len(shared) - 1)}.{_not_counted(joint, shared, labels)}"
    return make_table("winning", "Winning numbers over all experiments", columns, rows, explained)


def cutoff_methods(joint: Joint) -> list[str]:
    """Return the methods whose effect of the cutoff was measured in most experiments, the first method first."""
    counts = {
        method: sum(
            any(one.method == method for one in results.of(CutoffRecord)) for results in joint.experiments.values()
        )
        for results in joint.experiments.values()
        for method in dict.fromkeys(one.method for one in results.of(CutoffRecord))
    }
    most = max(counts.values(), default=0)
    found = [method for method, count in counts.items() if count == most]
    return sorted(found, key=lambda method: method != joint.first)


def curve(results: Results, method: str) -> dict[int, float]:
    """Return the main measure of a method by cutoff, divided by the best value of the measure."""
    best = results.experiment.measures[0].best
    means = {one.cutoff: mean(one.values, results.main) for one in results.of(CutoffRecord) if one.method == method}
    return {cutoff: value / best for cutoff, value in sorted(means.items()) if value is not None}


def cutoffs(joint: Joint, method: str) -> Table | None:
    """Return the effect of the cutoff on one method in each experiment."""
    curves = {label: curve(results, method) for label, results in joint.experiments.items()}
    curves = {label: one for label, one in curves.items() if one}
    known = sorted({cutoff for one in curves.values() for cutoff in one})
    columns = [Column("Cutoff"), *map(Column, curves)]
    rows = [Row((cutoff, *(one.get(cutoff) for one in curves.values()))) for cutoff in known]
    return make_table(slug("cutoffs", method), f"{joint.scale} of {method} by cutoff", columns, rows)


@dataclass(frozen=True, slots=True)
class Pair:
    """The pair that a correlation measure chooses in an experiment, and its effectiveness when fused."""

    label: str
    correlation: str
    rankers: tuple[str, ...]
    method: str
    value: float
    gain: float | None  # over the best single ranker, in percent
    best: bool  # whether no other correlation measure chooses a better pair


def pairs(joint: Joint) -> list[Pair]:
    """Return the pairs of all correlation measures in every experiment that has several."""
    found = []
    for label, results in joint.experiments.items():
        records, alone = results.of(PairRecord), ranked_rankers(results)
        values = [mean(one.values, results.main) or 0.0 for one in records]
        for one, value in zip(records, values, strict=True) if len(records) > 1 else ():
            ahead = gain_over(one.values[results.main], alone[0].values[results.main]) if alone else None
            names = (label, one.correlation, one.rankers, one.method)
            found.append(Pair(*names, value, ahead, value == max(values)))
    return found


def correlations(found: list[Pair]) -> Table | None:
    """Return how well each correlation measure selects the pair of rankers to fuse."""
    by_kind: dict[str, list[Pair]] = {}
    for one in found:
        by_kind.setdefault(one.correlation, []).append(one)
    rows = []
    for kind, chosen in by_kind.items():
        ahead = [one.gain for one in chosen if one.gain is not None]
        rows.append(Row((kind, sum(one.best for one in chosen), len(chosen), fmean(ahead) if ahead else None)))
    rows.sort(key=lambda row: (-float(row.cells[1] or 0), -float(row.cells[3] or 0)))
    columns = [
        Column("Correlation", "text"),
        Column("Best pair"),
        Column("Experiments"),
        Column("Mean gain (%)", "signed", 2),
    ]
    explained = (
        "Best pair: experiments in which no other correlation measure chooses a better pair; ties count for each. "
        "Gain: over the best single ranker."
    )
    return make_table("correlations", "Which correlation measure selects best", columns, rows, explained)


def chosen_pairs(found: list[Pair]) -> Table | None:
    """Return the pairs that are chosen in every experiment, by which correlation measures, and their effectiveness."""
    columns = [EXPERIMENT, Column("Chosen by", "text"), Column("Pair", "text"), GAIN, Column("Value")]
    columns += [Column("Method", "text")]
    chosen: dict[tuple[str, tuple[str, ...]], list[Pair]] = {}
    for one in found:
        chosen.setdefault((one.label, one.rankers), []).append(one)
    several = {label for label, n in Counter(label for label, _ in chosen).items() if n > 1}
    rows = []
    for (label, rankers), same in chosen.items():
        kinds, one = ", ".join(pair.correlation for pair in same), same[0]
        role: Role = "first" if one.best and label in several else ""
        rows.append(Row((label, kinds, " + ".join(rankers), one.gain, one.value, one.method), role))
    legend = "Bold: the best of several pairs. Gain: over the best single ranker."
    return make_table("pairs", "The pairs chosen by Eq. 6", columns, rows, legend)


def _best_ranker(results: Results) -> tuple[Cell, Cell]:
    best = ranked_rankers(results)[:1]
    return (best[0].ranker, mean(best[0].values, results.main)) if best else (None, None)


def _best_method(results: Results) -> tuple[Cell, Cell, Cell]:
    found = [(mean(one.values, results.main) or 0.0, one) for one in results.of(MethodRecord)]
    if not found:
        return None, None, None
    value, one = max(found, key=lambda pair: pair[0])  # the first among equals
    return one.method, value, one.selection


def _collections(joint: Joint) -> str:
    """Return a description of every collection."""
    found = dict.fromkeys(str(results.about.get("collection", "")) for results in joint.experiments.values())
    return " ".join(f"{one}." for one in found if one)


def _legend(joint: Joint, reference: str | None = None) -> str:
    """Return the meaning of the marks; for each experiment, if it is not the same."""
    legends = {label: legend(one, reference) for label, one in joint.experiments.items() if first_method(one)}
    if len(set(legends.values())) < 2:
        return next(iter(legends.values()), "")
    return " ".join(f"{label}: {one}" for label, one in legends.items())


def _method_row(joint: Joint, name: str, shown: dict[str, Contest]) -> Row:
    cells: list[Cell] = [name]
    for label, contest in shown.items():
        one = next((one for one in contest.contenders if one.name == name and one.role != "ranker"), None)
        cells += _cells(joint, label, one)
    return Row(tuple(cells), "first" if name == joint.first else "")


def _cells(joint: Joint, label: str, one: Contender | None) -> list[Cell]:
    if one is None:
        return [None, None]
    return [mean(one.values, joint.experiments[label].main), mark(one.outcome)]


def _gain_cells(results: Results, own: Contender, best: Contender) -> list[Cell]:
    main, outcome = results.main, -best.outcome if best.outcome else None
    ahead = gain_over(own.values[main], best.values[main])
    tested = [mark(outcome), outcome.p_value if outcome else None]
    return [ahead, *tested, own.name, mean(own.values, main), best.name, mean(best.values, main)]


def _not_counted(joint: Joint, shared: list[str], labels: list[str]) -> str:
    """Return sentences on the methods and experiments that do not count, with a space before each."""
    every = dict.fromkeys(method for values in joint.effectiveness.values() for method in values)
    others = ", ".join(method for method in every if method not in shared)
    missing = ", ".join(label for label in joint.experiments if label not in labels)
    sentences = f" Not run on every selection, so not counted: {others}." if others else ""
    return sentences + (f" Without {joint.first}, so not counted: {missing}." if missing else "")
