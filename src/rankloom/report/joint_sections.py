"""The sections of a report over several experiments in order."""

from __future__ import annotations

from rankloom.report import joint_tables, published_tables
from rankloom.report.formats import Table
from rankloom.report.joint import Joint
from rankloom.report.page import Section
from rankloom.report.plots import Plot, Series, bar_chart, line_plot
from rankloom.report.published import Published
from rankloom.report.sections import make_section, present
from rankloom.report.tables import slug


def joint_sections(joint: Joint, published: Published) -> list[Section]:
    """Return all sections between the summary and the provenance."""
    return [
        _experiments(joint),
        _winning(joint),
        _gains(joint),
        _methods(joint),
        _cutoffs(joint),
        _correlations(joint),
        *_published(joint, published),
    ]


def _experiments(joint: Joint) -> Section:
    intro = "The best single ranker and the best method on any selection, each by the main measure of the experiment."
    return make_section("experiments", "Experiments", intro, present(joint_tables.experiments(joint)))


def _winning(joint: Joint) -> Section:
    intro = (
        "How often a method beats another by the main measure, over all experiments and selections of rankers "
        "(Eq. 10 and 11 of the paper); ties do not count."
    )
    table = joint_tables.winning(joint)
    plots: list[Plot] = []
    if table:
        bars = [(str(row.cells[0]), float(row.cells[1] or 0)) for row in table.rows]
        plots = [bar_chart("winning", table.caption, bars, joint.first or "")]
    missing = "Winning numbers need at least two methods that were run on every selection of the experiments."
    return make_section("winning", "Winning numbers", intro, present(table), plots, missing)


def _gains(joint: Joint) -> Section:
    intro = (
        "The first method of each experiment against its best single ranker, on every selection; "
        "negative where the ranker is better."
    )
    missing = "Gains need a method and the rankers it fuses."
    return make_section(
        "gains", "Gains over the best ranker", intro, present(joint_tables.gains(joint)), missing=missing
    )


def _methods(joint: Joint) -> Section:
    intro = "Every method on the first selection of each experiment, sorted by wins and compared with the bold one."
    return make_section("methods", "Methods", intro, present(joint_tables.methods(joint)), missing="No method was run.")


def _cutoffs(joint: Joint) -> Section:
    intro = (
        "Effectiveness by cutoff, the number of items of each list that are fused (L in the paper), on the first "
        "selection of each experiment. Measures are divided by their best value; the axis is logarithmic."
    )
    plots, shown = [], []
    for method in joint_tables.cutoff_methods(joint):
        plots.append(_cutoff_plot(joint, method))
        shown += present(joint_tables.cutoffs(joint, method))
    missing = "The effect of the cutoff was not measured."
    return make_section("cutoffs", "Effect of the cutoff", intro, [], plots, missing, folded=shown)


def _cutoff_plot(joint: Joint, method: str) -> Plot:
    curves = {label: joint_tables.curve(results, method) for label, results in joint.experiments.items()}
    series = [Series(label, tuple(one.items())) for label, one in curves.items() if one]
    return line_plot(slug("cutoffs", method), f"{method} by cutoff", "cutoff", joint.scale, series)


def _correlations(joint: Joint) -> Section:
    intro = (
        "Eq. 6 chooses the pair of rankers with the best balance of high effectiveness and low correlation. The paper "
        "found that the Jaccard correlation chooses the best pairs; here are the pairs by each correlation measure, "
        "fused by the first method of the experiment."
    )
    found = joint_tables.pairs(joint)
    without = [label for label in joint.experiments if all(one.label != label for one in found)]
    if without:
        intro += f" Not measured: {', '.join(without)}; if the results are older, run the experiment again."
    shown = present(joint_tables.correlations(found), joint_tables.chosen_pairs(found))
    missing = (
        "The pairs by each correlation measure were not measured: this needs two rankers and two correlation "
        "measures. For older results, run the experiments again; finished steps are kept."
    )
    return make_section("correlations", "Correlation measures", intro, shown, missing=missing)


def _published(joint: Joint, published: Published) -> list[Section]:
    found = published_tables.matches(joint, published)
    matched = [one for one in found if one.measured]
    intro = f"{published.publication} beside ours; rankers and sets of rankers are matched by name."
    intro += "".join(f" {one.label} was not measured by {one.published.measure}." for one in found if not one.measured)
    sizes = dict.fromkeys(str(one.results.about.get("collection")) for one in matched)
    missing = intro if found else f"{published.publication} has none of these collections."
    shown = [
        published_tables.fused(joint, matched),
        published_tables.rankers(matched),
        published_tables.winning(joint, matched),
    ]
    numbers = make_section(
        "published", "Published numbers", f"{intro} Ours: {'; '.join(sizes)}.", present(*shown), missing=missing
    )
    every: list[Table] = published_tables.methods(joint, matched)
    if not every:
        return [numbers]
    title = "Every method on every published set of rankers."
    return [numbers, make_section("published-methods", "Published methods", title, [], folded=every)]
