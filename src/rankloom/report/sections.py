"""The sections of a report in order, each with its tables and plots, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Sequence

from rankloom.experiment.results import (
    ComparatorRecord,
    CorrelationRecord,
    CutoffRecord,
    ExamplesRecord,
    Results,
    SelectionRecord,
    distinct,
)
from rankloom.report import tables
from rankloom.report.findings import (
    best_contender,
    contests,
    environments,
    first_contender,
    first_method,
    mean,
    ranked_rankers,
)
from rankloom.report.formats import Table
from rankloom.report.names import selection_label
from rankloom.report.page import Section
from rankloom.report.plots import Plot, Series, bar_chart, difference_plot, heat_map, line_plot

MAX_ZOOM = 0.7  # of the range of values: a plot that would be cut less is shown whole
NO_EXAMPLES = "No query was won or lost, or the results are from before examples were kept: run the experiment again."


def sections(results: Results) -> list[Section]:
    """Return all sections between the summary and the provenance."""
    return [
        _rankers(results),
        _correlations(results),
        _methods(results),
        _wins(results),
        _examples(results),
        _cutoffs(results),
        _comparators(results),
        _winning(results),
        _gains(results),
        _times(results),
    ]


def _rankers(results: Results) -> Section:
    intro = f"Effectiveness of each ranker on its own, sorted by {results.main}; means over all queries."
    if not any(one.estimates for one in ranked_rankers(results)):
        intro += " There are no label-free estimates: these need the lists of all items of the collection."
    recalls = [f"{one.ranker} {one.recall:.1%}" for one in ranked_rankers(results) if one.recall is not None]
    if recalls:
        intro += f" Approximate rankers find this share of the 10 nearest items: {', '.join(recalls)}."
    shown = present(tables.rankers(results), tables.estimates(results), tables.agreements(results))
    return make_section("rankers", "Rankers", intro, shown, missing="No ranker was evaluated.")


def _correlations(results: Results) -> Section:
    intro = (
        "Similarity of the lists of two rankers, from 0 (pale) to 1 (strong). "
        "Effective rankers with different lists gain the most from fusion."
    )
    shown = tables.correlations(results)
    records = results.of(CorrelationRecord)
    plots = [
        heat_map(
            table.name,
            f"{record.correlation}, first {record.depth} items of each list",
            record.rankers,
            record.matrix.tolist(),
        )
        for table, record in zip(shown, records, strict=True)
        if len(record.rankers) > 1
    ]
    shown = shown if plots else []
    missing = "Correlations need at least two rankers with lists for the same queries."
    return make_section("correlations", "Correlation of rankers", intro, [], plots, missing, folded=shown)


def _methods(results: Results) -> Section:
    intro = (
        f"Every method on every selection of rankers, sorted by {results.main}. Shaded rows are the rankers of the "
        f"selection and the best ranker overall. Each row is compared with {first_method(results)} (bold)."
    )
    requested = str(results.experiment.methods[0])
    if requested != first_method(results):
        intro += f" {requested}, the first method of the specification, was not run; see the notes at the end."
    overview, each = present(tables.overview(results)), tables.methods(results)
    shown, folded = (overview, each) if overview else (each, [])
    return make_section("methods", "Methods", intro, shown, missing="No method was run.", folded=folded)


def _wins(results: Results) -> Section:
    found = contests(results)[:1]
    own, best = (first_contender(found[0]), best_contender(found[0])) if found else (None, None)
    missing = "Wins and losses need a method and the rankers it fuses."
    if own is None or best is None:
        return make_section("wins", "Wins and losses", "", [], missing=missing)
    intro = (
        f"On how many queries {own.name} is better and worse than each row by {results.main}. "
        f"The plot has its gain over {best.name}, the best ranker, on every query."
    )
    title = f"Gain of {own.name} over {best.name} by query"
    plot = difference_plot("wins", title, results.main, tables.differences(results, own, best).tolist())
    return make_section("wins", "Wins and losses", intro, [], [plot], missing, folded=present(tables.wins(results)))


def _examples(results: Results) -> Section:
    found = results.of(ExamplesRecord)
    if not found or not found[0].examples:
        return make_section("examples", "Examples", "", [], missing=NO_EXAMPLES)
    intro = (
        f"The queries on which {found[0].method} gains and loses most against {found[0].ranker}, the best ranker, "
        f"by {results.main}, with the first items of both lists. A check mark is on relevant items."
    )
    return make_section("examples", "Examples", intro, [], examples=found[0])


def _cutoffs(results: Results) -> Section:
    first = results.of(SelectionRecord)[:1]
    selection = "".join(f" on the selection {selection_label(one.selection)}" for one in first)
    intro = (
        f"{results.main} by cutoff, the number of items of each list that are fused (L in the paper){selection}. "
        "The axis is logarithmic."
    )
    records, best = results.of(CutoffRecord), ranked_rankers(results)[:1]
    series = []
    for method in distinct(records, "method"):
        points = {one.cutoff: mean(one.values, results.main) for one in records if one.method == method}
        series.append(Series(method, tuple((x, y) for x, y in sorted(points.items()) if y is not None)))
    level = [(f"{one.ranker} (best ranker)", mean(one.values, results.main) or 0.0) for one in best]
    drawn = [one for one in series if one.points]
    title, floor = f"{results.main} by cutoff", _floor(drawn)
    if floor is not None:
        intro += " It is zoomed to where the lines part: lower values are in the table."
    plots = []
    if drawn:
        plots = [line_plot("cutoffs", title, "cutoff", results.main, drawn, level[0] if level else None, floor)]
    missing = "The effect of the cutoff was not measured."
    shown = present(tables.cutoffs(results))
    return make_section("cutoffs", "Effect of the cutoff", intro, [], plots, missing, folded=shown)


def _floor(series: list[Series]) -> float | None:
    """Return where to cut the axis off: below all lines from the middle cutoff on; None if that shows little more."""
    cutoffs = sorted({x for one in series for x, _ in one.points})
    ys = [y for one in series for _, y in one.points]
    kept = [y for one in series for x, y in one.points if x >= cutoffs[len(cutoffs) // 3]]
    if not kept or max(ys) - min(kept) > MAX_ZOOM * (max(ys) - min(ys)):
        return None
    return min(kept)


def _comparators(results: Results) -> Section:
    inside = [" + ".join(one.rankers) for one in results.of(SelectionRecord)[:1]]
    intro = f"Fusion graphs of {''.join(inside) or 'the first selection'} with each comparator."
    n = len(results.of(ComparatorRecord))
    missing = (
        "Comparators were not measured: fusion graphs need the lists of all items."
        if not n
        else "There is only one comparator."
    )
    return make_section("comparators", "Comparators", intro, present(tables.comparators(results)), missing=missing)


def _winning(results: Results) -> Section:
    intro = f"How often a method beats another by {results.main}, over all selections; ties do not count."
    table = tables.winning(results)
    plots: list[Plot] = []
    if table:
        bars = [(str(row.cells[0]), float(row.cells[1] or 0)) for row in table.rows]
        plots = [bar_chart("winning", table.caption, bars, first_method(results) or "")]
    missing = "Winning numbers need at least two methods on the same selection."
    return make_section("winning", "Winning numbers", intro, present(table), plots, missing)


def _gains(results: Results) -> Section:
    intro = f"Gain of {first_method(results)} over each single ranker in percent; negative where the ranker is better."
    missing = "Gains need a method and the rankers it fuses."
    return make_section("gains", "Gains over the rankers", intro, present(tables.gains(results)), missing=missing)


def _times(results: Results) -> Section:
    timed = tables.times(results)
    intro = "Wall-clock times on the machine named below."
    if set(environments(results)) - {results.about.get("made", "")}:
        intro = "Wall-clock times, measured in the different environments named below."
    if timed is None:
        intro += " Fusion graphs were not timed separately."
    shown = present(timed, tables.seconds(results))
    return make_section("times", "Times", intro, shown, missing="Nothing was timed.")


def make_section(
    anchor: str,
    title: str,
    intro: str,
    shown: list[Table],
    plots: list[Plot] | None = None,
    missing: str = "",
    *,
    folded: Sequence[Table] = (),
    examples: ExamplesRecord | None = None,
) -> Section:
    """Return a section, or one with the reason why there is nothing to show."""
    if not (shown or plots or folded or examples):
        return Section(anchor, title, "", missing=missing)
    return Section(anchor, title, intro, tuple(shown), tuple(plots or ()), tuple(folded), examples)


def present(*made: Table | None) -> list[Table]:
    """Return the tables that are not None."""
    return [table for table in made if table is not None]
