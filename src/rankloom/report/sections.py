"""The sections of a report in order, each with its tables and plots, or the reason why there are none."""

from __future__ import annotations

from rankloom.experiment.results import (
    ComparatorRecord,
    CorrelationRecord,
    CutoffRecord,
    Results,
    SelectionRecord,
    distinct,
)
from rankloom.report import tables
from rankloom.report.findings import environments, first_method, mean, ranked_rankers
from rankloom.report.formats import Table
from rankloom.report.page import Section
from rankloom.report.plots import Plot, Series, bar_chart, heat_map, line_plot


def sections(results: Results) -> list[Section]:
    """Return all sections between the summary and the provenance."""
    return [
        _rankers(results),
        _correlations(results),
        _methods(results),
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
    return make_section("correlations", "Correlation of rankers", intro, shown, plots, missing, folded=True)


def _methods(results: Results) -> Section:
    intro = (
        f"Every method on every selection of rankers, sorted by {results.main}. Shaded rows are the rankers of the "
        f"selection and the best ranker overall. Each row is compared with {first_method(results)} (bold)."
    )
    requested = str(results.experiment.methods[0])
    if requested != first_method(results):
        intro += f" {requested}, the first method of the specification, was not run; see the notes at the end."
    shown = [*present(tables.overview(results)), *tables.methods(results)]
    return make_section("methods", "Methods", intro, shown, missing="No method was run.")


def _cutoffs(results: Results) -> Section:
    selection = "".join(f" on the selection {one.selection}" for one in results.of(SelectionRecord)[:1])
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
    title = f"{results.main} by cutoff"
    plots = [line_plot("cutoffs", title, "cutoff", results.main, drawn, level[0] if level else None)] if drawn else []
    shown = present(tables.cutoffs(results))
    return make_section(
        "cutoffs", "Effect of the cutoff", intro, shown, plots, "The effect of the cutoff was not measured."
    )


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
    folded: bool = False,
) -> Section:
    """Return a section, or one with the reason why there is nothing to show."""
    if not shown and not plots:
        return Section(anchor, title, "", missing=missing)
    return Section(anchor, title, intro, tuple(shown), tuple(plots or ()), folded=folded)


def present(*made: Table | None) -> list[Table]:
    """Return the tables that are not None."""
    return [table for table in made if table is not None]
