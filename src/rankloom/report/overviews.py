"""Tables that one experiment and several have alike, methods, winning numbers and cutoffs, and those of several."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from rankloom.evaluation import OverCollections, compare_over, winning_numbers
from rankloom.evaluation.over_collections import MIN_COLLECTIONS, MIN_METHODS
from rankloom.experiment.results import CutoffRecord, MethodRecord, PairRecord, Results, distinct
from rankloom.registry import slug
from rankloom.report.findings import Contender, caveat, contests, first_method, gain_over, ranked_rankers
from rankloom.report.formats import Cell, Column, Role, Row, Table
from rankloom.report.names import method_name
from rankloom.report.report import Report, common_methods, restricted
from rankloom.report.tables import legend, make_table, mark, mark_column, role_of, selection_column

GAIN = Column("Gain (%)", "signed", 2)
EXPERIMENT = Column("Experiment", "text")
METHOD = Column("Method", "text")
BEST_RANKER = "best single ranker"
MAX_COLUMNS = 6  # experiments or selections side by side in a table that is not folded


def experiments(report: Report) -> Table | None:
    """Return the best ranker and the best method of each experiment, and its size."""
    columns = [EXPERIMENT, Column("Measure", "text"), Column("Best ranker", "text"), Column("Value")]
    columns += [Column("Best method", "text"), Column("Value"), Column("Selection", "text")]
    abouts = [results.about for results in report.experiments.values()]
    external = any(about.get("n_queries") != about.get("n_items") for about in abouts)  # else items are the queries
    columns += map(Column, ("Rankers", "Items", "Queries") if external else ("Rankers", "Items"))
    rows = []
    for label, results in report.experiments.items():
        counts = (len(results.experiment.rankers), results.about.get("n_items"), results.about.get("n_queries"))
        cells = (label, results.main, *_best_ranker(results), *_best_method(results), *counts)
        rows.append(Row(cells[: len(columns)]))
    collections = dict.fromkeys(f"{about['collection']}." for about in abouts if about.get("collection"))
    return make_table("experiments", "The experiments", columns, rows, " ".join(collections))


def methods(report: Report) -> Table | None:
    """Return each method on every selection of an experiment, or on the first selection of each of several."""
    shown = _side_by_side(report)
    if not shown or (report.alone and len(shown) < 2):
        return None
    columns, rows = [METHOD], []
    for title, (results, _) in shown.items():
        columns += [selection_column(title), mark_column(first_method(results), title)]
    for name in dict.fromkeys(name for _, contenders in shown.values() for name in contenders):
        cells: list[Cell] = [name]
        for results, contenders in shown.values():
            contender = contenders.get(name)
            cells += [results.score(contender), mark(contender.outcome)] if contender else [None, None]
        contender = next(contenders[name] for _, contenders in shown.values() if name in contenders)
        role = "ranker" if contender.role == "ranker" else role_of(contender.name, report.first)
        chosen = [one[name].note.partition(" ")[0] for _, one in shown.values() if name in one and one[name].note]
        note = f"{', '.join(chosen)} neighbors" if chosen else ""
        rows.append(Row(tuple(cells), role, ", ".join(filter(None, (method_name(contender.name), note)))))
    if alone := report.alone:
        rows.sort(key=lambda row: -row.cells[1] if isinstance(row.cells[1], float) else 0.0)  # missing ones go last
        caption = f"{alone.main} on every selection, sorted by the first one"
        return make_table("methods", caption, columns, rows, f"{legend(alone)} {caveat(alone)}".rstrip())
    order = [*winning_numbers(report.effectiveness), BEST_RANKER]
    rows.sort(key=lambda row: order.index(str(row.cells[0])))
    caption = "Every method on the first selection of each experiment, by its main measure"
    return make_table("methods", caption, columns, rows, _legend(report))


def _side_by_side(report: Report) -> dict[str, tuple[Results, dict[str, Contender]]]:
    """Return the contenders to set side by side, by name: of every selection, or of each experiment's first."""
    if alone := report.alone:
        return {
            contest.selection: (alone, {one.label: one for one in contest.contenders}) for contest in contests(alone)
        }
    shown = {}
    for label, results in report.experiments.items():
        for contest in contests(results)[:1]:
            contenders = {contender.name: contender for contender in contest.contenders if contender.role != "ranker"}
            best = {BEST_RANKER: contest.best_ranker} if contest.best_ranker else {}
            shown[label] = (results, contenders | best)
    return shown


def winning(report: Report) -> Table | None:
    """Return how often each method beats another, in total and on each selection, or in each of several experiments.

    Only methods that were run on every selection count.
    """
    scores = {key: values for key, values in report.effectiveness.items() if report.first in values}
    shared = common_methods(scores)
    if len(shared) < 2:
        return None
    scores = restricted(scores, shared)
    part = 1 if report.alone else 0  # of a key: the selection, or the experiment
    titles = list(dict.fromkeys(key[part] for key in scores))
    each = titles if len(titles) <= MAX_COLUMNS else []  # more do not fit on a page
    parts = [winning_numbers({key: scores[key] for key in scores if key[part] == title}) for title in each]
    rows = [
        Row((name, wins, *(one[name] for one in parts)), role_of(name, report.first), method_name(name))
        for name, wins in winning_numbers(scores).items()
    ]
    caption = f"Winning numbers by {report.alone.main}" if report.alone else "Winning numbers over all experiments"
    selections = f"{len(scores)} selection{'s' if len(scores) > 1 else ''}"
    counted = selections if report.alone else f"{selections} of {len(titles)} experiments"
    sentences = [f"{counted}, {len(shared)} methods: at most {len(scores) * (len(shared) - 1)}."]
    sentences += _not_counted(report, shared, {label for label, _ in scores})
    sentences += [caveat(report.alone)] if report.alone and caveat(report.alone) else []
    columns = [METHOD, Column("Winning number"), *map(selection_column, each)]
    return make_table("winning", caption, columns, rows, " ".join(sentences))


def over_collections(report: Report) -> OverCollections | None:
    """Return the comparison of the methods that were run on the first selection of each experiment; None of too few.

    Of several experiments on a collection, each counts.
    """
    firsts: dict[str, dict[str, float]] = {}
    for (label, _), scores in report.effectiveness.items():
        firsts.setdefault(label, scores)
    shared = common_methods({(label, ""): scores for label, scores in firsts.items()})
    if len(firsts) < MIN_COLLECTIONS or len(shared) < MIN_METHODS:
        return None
    return compare_over({label: {name: scores[name] for name in shared} for label, scores in firsts.items()})


def mean_ranks(found: OverCollections) -> Table | None:
    """Return the mean rank of each method, and which methods differ significantly from it."""
    rows = []
    for name, rank, p_values in zip(found.methods, found.mean_ranks.tolist(), found.p_values, strict=True):
        differ = [of for of, p in zip(found.methods, p_values, strict=True) if max(p, found.p_value) < found.alpha]
        better = [of for of in differ if found.methods.index(of) > found.methods.index(name)]
        rows.append(Row((name, rank, len(better), len(differ) - len(better))))
    columns = [METHOD, Column("Mean rank", digits=2), Column("Better than"), Column("Worse than")]
    explained = f"Better and worse than so many methods: Nemenyi's test over {found.n_collections} experiments, "
    return make_table("mean-ranks", "Mean ranks of the methods", columns, rows, f"{explained}p < {found.alpha:g}.")


def gains(report: Report) -> Table | None:
    """Return the gain of the first method of each experiment over its best ranker, on every selection."""
    columns = [EXPERIMENT, Column("Selection", "text"), GAIN, mark_column("best ranker"), Column("p", "p")]
    columns += [METHOD, Column("Value"), Column("Best ranker", "text"), Column("Value")]
    rows = []
    for label, results in report.experiments.items():
        for contest in contests(results):
            if contest.first is not None and contest.best_ranker is not None:
                cells = _gain_cells(results, contest.first, contest.best_ranker)
                rows.append(Row((label, contest.selection, *cells)))
    return make_table("gains", "Gains over the best single ranker", columns, rows, _legend(report, "the best ranker"))


class Curves(NamedTuple):
    """The effect of the cutoff: the lines of one plot, each a value by cutoff."""

    name: str
    title: str
    caption: str  # of the table
    scale: str
    lines: dict[str, dict[int, float]]


def curves(report: Report) -> list[Curves]:
    """Return the effect of the cutoff on each method of an experiment, or on each of several experiments by method."""
    if alone := report.alone:
        title = f"{alone.main} by cutoff"
        lines = {method: _curve(alone, method) for method in distinct(alone.of(CutoffRecord), "method")}
        return [Curves("cutoffs", title, title, alone.main, lines)] if lines else []
    found = []
    for method in curve_methods(report):
        bests = {label: results.experiment.measures[0].best for label, results in report.experiments.items()}
        lines = {label: _curve(results, method, bests[label]) for label, results in report.experiments.items()}
        title, lines = f"{method} by cutoff", {label: line for label, line in lines.items() if line}
        found.append(Curves(slug("cutoffs", method), title, f"{report.scale} of {title}", report.scale, lines))
    return found


def curve_methods(report: Report) -> list[str]:
    """Return the methods whose effect of the cutoff was measured in most experiments, the first method first."""
    every = report.experiments.values()
    counts = Counter(method for results in every for method in distinct(results.of(CutoffRecord), "method"))
    highest = max(counts.values(), default=0)
    return sorted((method for method, n in counts.items() if n == highest), key=lambda method: method != report.first)


def cutoffs(shown: Curves, explained: str = "") -> Table | None:
    """Return the numbers of the curves."""
    known = sorted({cutoff for line in shown.lines.values() for cutoff in line})
    rows = [Row((cutoff, *(line.get(cutoff) for line in shown.lines.values()))) for cutoff in known]
    return make_table(shown.name, shown.caption, [Column("Cutoff"), *map(Column, shown.lines)], rows, explained)


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


def pairs(report: Report) -> list[Pair]:
    """Return the pairs of all correlation measures in every experiment that has several."""
    found = []
    for label, results in report.experiments.items():
        records, alone = results.of(PairRecord), ranked_rankers(results)
        values = [results.score(record) for record in records]
        for record, value in zip(records, values, strict=True) if len(records) > 1 else ():
            ahead = gain_over(record.values[results.main], alone[0].values[results.main]) if alone else None
            names = (label, record.correlation, record.rankers, record.method)
            found.append(Pair(*names, value, ahead, value == max(values)))
    return found


def correlations(found: list[Pair]) -> Table | None:
    """Return how well each correlation measure selects the pair of rankers to fuse."""
    rows = []
    for kind in dict.fromkeys(pair.correlation for pair in found):
        chosen = [pair for pair in found if pair.correlation == kind]
        ahead = [pair.gain for pair in chosen if pair.gain is not None]
        rows.append(Row((kind, sum(pair.best for pair in chosen), len(chosen), fmean(ahead) if ahead else None)))
    rows.sort(key=lambda row: (-float(row.cells[1] or 0), -float(row.cells[3] or 0)))
    columns = [Column("Correlation", "text"), *map(Column, ("Best pair", "Experiments"))]
    columns.append(Column("Mean gain (%)", "signed", 2))
    explained = (
        "Best pair: experiments in which no other correlation measure chooses a better pair; ties count for each. "
        "Gain: over the best single ranker."
    )
    return make_table("correlations", "Which correlation measure selects best", columns, rows, explained)


def chosen_pairs(found: list[Pair]) -> Table | None:
    """Return the pairs that are chosen in every experiment, by which correlation measures, and their effectiveness."""
    chosen: dict[tuple[str, tuple[str, ...]], list[Pair]] = {}
    for pair in found:
        chosen.setdefault((pair.label, pair.rankers), []).append(pair)
    n_pairs = Counter(label for label, _ in chosen)
    rows = []
    for (label, rankers), same in chosen.items():
        kinds, one = ", ".join(pair.correlation for pair in same), same[0]
        role: Role = "first" if one.best and n_pairs[label] > 1 else ""
        rows.append(Row((label, kinds, " + ".join(rankers), one.gain, one.value, one.method), role))
    columns = [EXPERIMENT, Column("Chosen by", "text"), Column("Pair", "text"), GAIN, Column("Value"), METHOD]
    explained = "Bold: the best of several pairs. Gain: over the best single ranker."
    return make_table("pairs", "The pairs that are chosen", columns, rows, explained)


def _curve(results: Results, method: str, best: float = 1.0) -> dict[int, float]:
    """Return the main measure of a method by cutoff, divided by the best value of the measure."""
    records = [record for record in results.of(CutoffRecord) if record.method == method]
    return {record.cutoff: results.score(record) / best for record in sorted(records, key=lambda record: record.cutoff)}


def _best_ranker(results: Results) -> tuple[Cell, Cell]:
    best = ranked_rankers(results)[:1]
    return (best[0].ranker, results.score(best[0])) if best else (None, None)


def _best_method(results: Results) -> tuple[Cell, Cell, Cell]:
    best = max(results.of(MethodRecord), key=results.score, default=None)  # the first among equals
    return (best.method, results.score(best), best.selection) if best else (None, None, None)


def _gain_cells(results: Results, own: Contender, best: Contender) -> list[Cell]:
    outcome = -best.outcome if best.outcome else None
    ahead = gain_over(own.values[results.main], best.values[results.main])
    tested = [mark(outcome), outcome.p_value if outcome else None]
    return [ahead, *tested, own.name, results.score(own), best.name, results.score(best)]


def _legend(report: Report, reference: str | None = None) -> str:
    """Return the meaning of the marks; for each experiment, if it is not the same."""
    legends = {label: legend(one, reference) for label, one in report.experiments.items() if first_method(one)}
    if len(set(legends.values())) < 2:
        return next(iter(legends.values()), "")
    return " ".join(f"{label}: {one}" for label, one in legends.items())


def _not_counted(report: Report, shared: list[str], labels: set[str]) -> list[str]:
    """Return sentences on the methods and experiments that do not count."""
    every = dict.fromkeys(method for values in report.effectiveness.values() for method in values)
    others = ", ".join(method for method in every if method not in shared)
    missing = ", ".join(label for label in report.experiments if label not in labels)
    sentences = [f"Not run on every selection, so not counted: {others}."] if others else []
    return [*sentences, f"Without {report.first}, so not counted: {missing}."] if missing else sentences
