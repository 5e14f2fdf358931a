"""The sections of a report in order, each with its tables and plots, or the reason why there are none."""

from __future__ import annotations

from dataclasses import replace

from rankloom.experiment.results import ComparatorRecord, CorrelationRecord, ExamplesRecord, Results, SelectionRecord
from rankloom.report import overviews, published, tables
from rankloom.report.findings import caveat, contests, environments, ranked_rankers
from rankloom.report.formats import Table, named, p_text
from rankloom.report.names import selection_name
from rankloom.report.page import Section
from rankloom.report.plots import bar_chart, difference_plot, heat_map, line_plot, rank_diagram
from rankloom.report.report import Report

MAX_ZOOM = 0.7  # of the range of values: a plot that would be cut less is shown whole
NO_EXAMPLES = "No query was won or lost, or the results are from before examples were kept: run the experiment again."


def sections(report: Report, numbers: published.Published) -> list[Section]:
    """Return all sections between the summary and the provenance, with the names of methods that people read."""
    names = report.names
    found = _of_one(report, report.alone, numbers) if report.alone else _of_several(report, numbers)
    return [
        replace(
            section,
            intro=named(section.intro, names),
            tables=[table.renamed(names) for table in section.tables],
            folded=[table.renamed(names) for table in section.folded],
        )
        for section in found
    ]


def _of_several(report: Report, numbers: published.Published) -> list[Section]:
    overview = [_experiments(report), _over_collections(report), _winning(report), _gains(report), _methods(report)]
    return [*overview, _cutoffs(report), _pairs(report), *_published(report, numbers)]


def _of_one(report: Report, results: Results, numbers: published.Published) -> list[Section]:
    return [
        _rankers(results),
        _correlations(results),
        _methods(report),
        _wins(results),
        _examples(results),
        _cutoffs(report),
        _comparators(results),
        _winning(report),
        _gains(report),
        _times(results),
        *_published(report, numbers),
    ]


def _experiments(report: Report) -> Section:
    intro = "The best single ranker and the best method on any selection, each by the main measure of the experiment."
    return Section("experiments", "Experiments", intro, present(overviews.experiments(report)))


def _rankers(results: Results) -> Section:
    intro = f"Effectiveness of each ranker on its own, sorted by {results.main}; means over all queries."
    if not any(record.estimates for record in ranked_rankers(results)):
        intro += " There are no label-free estimates: these need the lists of all items of the collection."
    recalls = [f"{one.ranker} {one.recall:.1%}" for one in ranked_rankers(results) if one.recall is not None]
    if recalls:
        intro += f" Approximate lists have this share of the 20 nearest items: {', '.join(recalls)}."
    shown = present(tables.rankers(results), tables.estimates(results), tables.agreements(results))
    return Section("rankers", "Rankers", intro, shown, missing="No ranker was evaluated.")


def _correlations(results: Results) -> Section:
    intro = (
        "Similarity of the lists of two rankers, from 0 (pale) to 1 (strong). "
        "Effective rankers with different lists gain the most from fusion."
    )
    shown = tables.correlations(results)
    records = results.of(CorrelationRecord)
    plots = []
    for table, record in zip(shown, records, strict=True):
        title = f"{record.correlation}, first {record.depth} items of each list"
        if len(record.rankers) > 1:
            plots.append(heat_map(table.name, title, record.rankers, record.matrix.tolist()))
    missing = "Correlations need at least two rankers with lists for the same queries."
    folded = shown if plots else ()
    return Section("correlations", "Correlation of rankers", intro, (), plots, missing, folded)


def _methods(report: Report) -> Section:
    shown, folded = present(overviews.methods(report)), list[Table]()
    intro = "Every method on the first selection of each experiment, sorted by wins and compared with the bold one."
    if results := report.alone:
        intro = (
            f"Every method on every selection of rankers, sorted by {results.main}. Shaded rows are the rankers of the "
            f"selection and the best ranker overall. Each row is compared with {report.first} (bold)."
        )
        requested = str(results.experiment.methods[0])
        if requested != report.first:
            intro += f" {requested}, the first method of the specification, was not run; see the notes at the end."
        each = tables.methods(results)
        shown, folded = (shown, each) if shown else (each, [])
    elif len(report.experiments) > overviews.MAX_COLUMNS:
        shown, folded = [], shown
    return Section("methods", "Methods", intro, shown, missing="No method was run.", folded=folded)


def _wins(results: Results) -> Section:
    found = contests(results)[:1]
    own, best = (found[0].first, found[0].best_ranker) if found else (None, None)
    missing = "Wins and losses need a method and the rankers it fuses."
    if own is None or best is None:
        return Section("wins", "Wins and losses", "", missing=missing)
    intro = (
        f"On how many queries {own.name} is better and worse than each row by {results.main}. "
        f"The plot has its gain over {best.name}, the best ranker, on every query."
    )
    title = f"Gain of {own.name} over {best.name} by query"
    plot = difference_plot("wins", title, results.main, tables.differences(results, own, best).tolist())
    return Section("wins", "Wins and losses", intro, (), [plot], folded=present(tables.wins(results)))


def _examples(results: Results) -> Section:
    found = results.of(ExamplesRecord)
    if not found or not found[0].examples:
        return Section("examples", "Examples", "", missing=NO_EXAMPLES)
    intro = (
        f"The queries on which {found[0].method} gains and loses most against {found[0].ranker}, the best ranker, "
        f"by {results.main}, with the first items of both lists. A check mark is on relevant items."
    )
    return Section("examples", "Examples", intro, examples=found[0])


def _cutoffs(report: Report) -> Section:
    found, results = overviews.curves(report), report.alone
    intro = "Effectiveness by cutoff, the number of items of each list that are fused (L in the paper), on the first "
    intro += "selection of each experiment. Measures are divided by their best value; the axis is logarithmic."
    level: tuple[str, float] | None = None
    floors: list[float | None] = [None] * len(found)
    if results:
        selection = "".join(
            f" on the selection {selection_name(chosen.selection)}" for chosen in _first_selection(results)
        )
        intro = f"{results.main} by cutoff, the number of items of each list that are fused (L in the paper)"
        intro += f"{selection}. The axis is logarithmic."
        best = ranked_rankers(results)[:1]
        level = (f"{best[0].ranker} (best ranker)", results.score(best[0])) if best else None
        floors = [_floor(curves.lines) for curves in found]
        if any(floor is not None for floor in floors):
            intro += " It is zoomed to where the lines part: lower values are in the table."
    plots = [
        line_plot(curves.name, curves.title, "cutoff", curves.scale, _named(curves.lines, report.names), level, floor)
        for curves, floor in zip(found, floors, strict=True)
    ]
    explained = caveat(results) if results else ""
    shown = present(*(overviews.cutoffs(curves, explained) for curves in found))
    missing = "The effect of the cutoff was not measured."
    return Section("cutoffs", "Effect of the cutoff", intro, [], plots, missing, folded=shown)


def _named(lines: dict[str, dict[int, float]], names: dict[str, str]) -> dict[str, dict[int, float]]:
    return {names.get(method, method): line for method, line in lines.items()}


def _floor(lines: dict[str, dict[int, float]]) -> float | None:
    """Return where to cut the axis off: below all lines from the middle cutoff on; None if that shows little more."""
    cutoffs = sorted({cutoff for line in lines.values() for cutoff in line})
    ys = [y for line in lines.values() for y in line.values()]
    kept = [y for line in lines.values() for x, y in line.items() if x >= cutoffs[len(cutoffs) // 3]]
    return None if max(ys) - min(kept) > MAX_ZOOM * (max(ys) - min(ys)) else min(kept)


def _comparators(results: Results) -> Section:
    inside = [" + ".join(record.rankers) for record in _first_selection(results)]
    intro = f"Fusion graphs of {''.join(inside) or 'the first selection'} with each comparator."
    missing = "Comparators were not measured: fusion graphs need the lists of all items."
    if results.of(ComparatorRecord):
        missing = "There is only one comparator."
    return Section("comparators", "Comparators", intro, present(tables.comparators(results)), missing=missing)


def _over_collections(report: Report) -> Section:
    found = overviews.over_collections(report)
    missing = "This needs at least two collections, and three methods that were run on each."
    if found is None:
        return Section("over", "Methods over all experiments", "", missing=missing)
    names = [report.names.get(method, method) for method in found.methods]
    differ = "some methods differ" if found.p_value < found.alpha else "no difference between methods is significant"
    intro = (
        f"Mean rank of each method over the first selection of {found.n_collections} experiments; 1 is best. "
        f"Friedman's test: {differ} ({p_text(found.p_value)}). Bars join methods that do not differ significantly by "
        f"Nemenyi's test ({found.alpha:g}): their mean ranks are closer than the critical difference, CD. A collection "
        "that counts more than once makes the test find too much."
    )
    groups = [(found.methods.index(group[0]), found.methods.index(group[-1])) for group in found.groups()]
    distance = found.critical_difference or 0.0
    plot = rank_diagram("over", "Critical-difference diagram", names, found.mean_ranks.tolist(), groups, distance)
    return Section("over", "Methods over all experiments", intro, present(overviews.mean_ranks(found)), [plot])


def _winning(report: Report) -> Section:
    intro = "How often a method beats another by the main measure, over all experiments and selections of rankers "
    intro += "(Eq. 10 and 11 of the paper); ties do not count."
    if report.alone:
        intro = f"How often a method beats another by {report.alone.main}, over all selections; ties do not count."
    table = overviews.winning(report)
    plots = []
    if table:
        bars = [(str(row.cells[0]), float(row.cells[1] or 0)) for row in table.renamed(report.names).rows]
        plots = [bar_chart("winning", table.caption, bars, report.names.get(str(report.first), str(report.first)))]
    missing = "Winning numbers need at least two methods that were run on every selection."
    return Section("winning", "Winning numbers", intro, present(table), plots, missing)


def _gains(report: Report) -> Section:
    title, shown = "Gains over the best ranker", overviews.gains(report)
    intro = "The first method of each experiment against its best single ranker, on every selection; "
    if report.alone:
        title, shown = "Gains over the rankers", tables.gains(report.alone)
        intro = f"Gain of {report.first} over each single ranker in percent; "
    intro += "negative where the ranker is better."
    return Section("gains", title, intro, present(shown), missing="Gains need a method and the rankers it fuses.")


def _pairs(report: Report) -> Section:
    intro = (
        "The balanced pair has the best balance of high effectiveness and low correlation (Eq. 6 of the paper, which "
        "found that the Jaccard correlation chooses best). Here are the pairs by each correlation measure, fused by "
        "the first method of the experiment."
    )
    found = overviews.pairs(report)
    without = [label for label in report.experiments if all(pair.label != label for pair in found)]
    if without:
        intro += f" Not measured: {', '.join(without)}; if the results are older, run the experiment again."
    shown = present(overviews.correlations(found), overviews.chosen_pairs(found))
    missing = (
        "The pairs by each correlation measure were not measured: this needs two rankers and two correlation "
        "measures. For older results, run the experiments again; finished steps are kept."
    )
    return Section("correlations", "Correlation measures", intro, shown, missing=missing)


def _published(report: Report, numbers: published.Published) -> list[Section]:
    """Return the sections of published numbers; none for a single experiment on another collection."""
    found = published.matches(report, numbers)
    if report.alone and not found:
        return []
    matched = [match for match in found if match.measured]
    intro = f"{numbers.publication} beside ours; rankers and sets of rankers are matched by name."
    intro += "".join(
        f" {match.label} was not measured by {match.published.measure}." for match in found if not match.measured
    )
    sizes = dict.fromkeys(str(match.results.about.get("collection")) for match in matched)
    missing = intro if found else f"{numbers.publication} has none of these collections."
    intro += f" Ours: {'; '.join(sizes)}."
    shown = present(published.fused(report, matched), published.rankers(matched), published.winning(report, matched))
    beside = Section("published", "Published numbers", intro, shown, missing=missing)
    if not (every := published.methods(report, matched)):
        return [beside]
    intro = "Every method on every published set of rankers."
    return [beside, Section("published-methods", "Published methods", intro, folded=every)]


def _times(results: Results) -> Section:
    timed = tables.times(results)
    intro = "Wall-clock times on the machine named below."
    if set(environments(results)) - {results.about.get("made", "")}:
        intro = "Wall-clock times, measured in the different environments named below."
    if timed is None:
        intro += " Fusion graphs were not timed separately."
    shown = present(timed, tables.seconds(results))
    return Section("times", "Times", intro, shown, missing="Nothing was timed.")


def _first_selection(results: Results) -> list[SelectionRecord]:
    """Return the first selection, on which the effects of cutoff and comparator are measured; empty without one."""
    return results.of(SelectionRecord)[:1]


def present(*made: Table | None) -> list[Table]:
    """Return the tables that are not None."""
    return [table for table in made if table is not None]
