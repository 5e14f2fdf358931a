"""The sections of a report, in order: what each shows, and one sentence where it has nothing to show."""

from __future__ import annotations

from rankloom.experiment.results import (
    ComparatorRecord,
    CorrelationRecord,
    CutoffRecord,
    Results,
    SelectionRecord,
    names,
)
from rankloom.report import tables
from rankloom.report.findings import first_method, mean, ranked_rankers, settings
from rankloom.report.formats import Table
from rankloom.report.page import Section
from rankloom.report.plots import Plot, Series, bar_chart, heat_map, line_plot


def sections(results: Results) -> list[Section]:
    """Return all sections between the summary and how it was made."""
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
    intro = f"How good each ranker is alone, sorted by {results.main}; means over all queries."
    if not any(one.estimates for one in ranked_rankers(results)):
        intro += " No estimate without labels was made: estimates need the lists of the whole collection."
    shown = _there(tables.rankers(results), tables.estimates(results), tables.agreements(results))
    return _section("rankers", "Rankers", intro, shown, missing="No ranker was evaluated.")


def _correlations(results: Results) -> Section:
    intro = (
        "How alike the lists of two rankers are, from 0 (pale) to 1 (strong). "
        "Rankers that are good and differ have most to gain from each other."
    )
    made = tables.correlations(results)
    records = results.of(CorrelationRecord)
    plots = [
        heat_map(
            table.name,
            f"{record.correlation}, first {record.depth} of each list",
            record.rankers,
            record.matrix.tolist(),
        )
        for table, record in zip(made, records, strict=True)
        if len(record.rankers) > 1
    ]
    missing = "There are no two rankers whose lists could be compared."
    return _section("correlations", "Correlation of rankers", intro, made if plots else [], plots, missing, folded=True)


def _methods(results: Results) -> Section:
    intro = (
        f"Every method on every selection of rankers, sorted by {results.main}, with the rankers of the selection and "
        f"the best ranker of all (shaded). Each is compared with {first_method(results)} (bold)."
    )
    wanted = str(results.experiment.methods[0])
    if wanted != first_method(results):
        intro += f" {wanted}, the first method of the specification, was not run: see the notes at the end."
    shown = [*_there(tables.overview(results)), *tables.methods(results)]
    return _section("methods", "Methods", intro, shown, missing="No method was run.")


def _cutoffs(results: Results) -> Section:
    selection = "".join(f"; selection {one.selection}" for one in results.of(SelectionRecord)[:1])
    intro = (
        f"How {results.main} changes with L, the part of each list that is fused{selection}. "
        "L stands on a logarithmic scale."
    )
    records, best = results.of(CutoffRecord), ranked_rankers(results)[:1]
    series = []
    for method in names(records, "method"):
        points = {one.cutoff: mean(one.values, results.main) for one in records if one.method == method}
        series.append(Series(method, tuple((x, y) for x, y in sorted(points.items()) if y is not None)))
    level = [(f"{one.ranker} (best ranker)", mean(one.values, results.main) or 0.0) for one in best]
    drawn = [one for one in series if one.points]
    title = f"{results.main} by cutoff L"
    plots = [line_plot("cutoffs", title, "cutoff L", results.main, drawn, level[0] if level else None)] if drawn else []
    shown = _there(tables.cutoffs(results))
    return _section("cutoffs", "Effect of L", intro, shown, plots, "The effect of L was not measured.")


def _comparators(results: Results) -> Section:
    inside = [" + ".join(one.rankers) for one in results.of(SelectionRecord)[:1]]
    intro = f"Fusion graphs of {''.join(inside) or 'the first selection'}, compared by each comparator."
    n = len(results.of(ComparatorRecord))
    missing = (
        "Comparators were not measured: fusion graphs need each item as a query."
        if not n
        else "There is one comparator only."
    )
    return _section("comparators", "Comparators", intro, _there(tables.comparators(results)), missing=missing)


def _winning(results: Results) -> Section:
    intro = f"How often a method has a higher {results.main} than another, over all selections; ties count for none."
    table = tables.winning(results)
    plots: list[Plot] = []
    if table:
        bars = [(str(row.cells[0]), float(row.cells[1] or 0)) for row in table.rows]
        plots = [bar_chart("winning", table.caption, bars, first_method(results) or "")]
    missing = "Winning numbers need two methods on one selection."
    return _section("winning", "Winning numbers", intro, _there(table), plots, missing)


def _gains(results: Results) -> Section:
    intro = f"By how many percent {first_method(results)} is above each ranker alone (below, where negative)."
    missing = "Gains need a method and the rankers it fuses."
    return _section("gains", "Gains over the rankers", intro, _there(tables.gains(results)), missing=missing)


def _times(results: Results) -> Section:
    timed = tables.times(results)
    intro = "Wall-clock time on the machine named below."
    if set(settings(results)) - {results.about.get("made", "")}:
        intro = "Wall-clock time. Not all of it was taken in one setting: the settings are named below."
    if timed is None:
        intro += " Fusion graphs were not timed on their own."
    shown = _there(timed, tables.seconds(results))
    return _section("times", "Times", intro, shown, missing="Nothing was timed.")


def _section(
    anchor: str,
    title: str,
    intro: str,
    shown: list[Table],
    plots: list[Plot] | None = None,
    missing: str = "",
    *,
    folded: bool = False,
) -> Section:
    if not shown and not plots:
        return Section(anchor, title, "", missing=missing)
    return Section(anchor, title, intro, tuple(shown), tuple(plots or ()), folded=folded)


def _there(*found: Table | None) -> list[Table]:
    return [table for table in found if table is not None]
