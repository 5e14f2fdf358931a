"""What a report says of units, of methods over several collections, of sweeps and of names."""

from dataclasses import replace

import pytest
from sample_experiments import soccer, ukbench

from rankloom.evaluation import compare, compare_over
from rankloom.experiment import results as rec
from rankloom.experiment.results import Results
from rankloom.report import Report, overviews, tables
from rankloom.report.findings import contests
from rankloom.report.plots import rank_diagram
from rankloom.report.published import Published
from rankloom.report.sections import sections
from rankloom.report.summary import summarize


def with_classes(results, units="queries"):
    n = len(next(one for one in results.records if hasattr(one, "values")).values[results.main])
    classes = [f"class {i % 3}" for i in range(n)]
    spec = replace(results.experiment, units=units)
    return Results(spec, {**results.about, "classes": classes}, results.records), classes


def test_tables_say_their_units_and_name_the_verdicts_that_differ():
    plain, classes = with_classes(soccer())
    table = tables.methods(plain)[0]
    own, other = (next(c for c in contests(plain)[0].contenders if c.name == name) for name in ("fg", "rrf"))
    ours, theirs = own.values["ndcg@10"], other.values["ndcg@10"]
    by_class = compare(theirs, ours, units="classes", classes=classes)
    assert "paired t test over queries" in table.legend
    assert (f"rrf: no significant difference (p = {by_class.p_value:.2g})" in table.legend) == (
        by_class.verdict == "tie" and compare(theirs, ours).verdict != "tie"
    )
    table = tables.methods(with_classes(soccer(), "classes")[0])[0]
    row = next(row for row in table.rows if row.cells[0] == "rrf")
    assert "paired t test over class means" in table.legend
    assert row.cells[1] == by_class.mark


def test_classes_that_do_not_match_the_queries_are_damage(tmp_path):
    results, classes = with_classes(soccer())
    replace(results, about={**results.about, "classes": classes[1:]}).write(tmp_path)
    with pytest.raises(Exception, match="its records differ in the number of queries"):
        Results.read(tmp_path)


def test_the_mean_ranks_are_those_of_the_comparison_over_collections():
    report = Report({"Soccer": soccer(), "UKBench": ukbench()})
    found = overviews.over_collections(report)
    first = {label: scores for (label, selection), scores in report.effectiveness.items() if selection == "all"}
    assert found.methods == compare_over(first).methods
    assert overviews.mean_ranks(found).rows[0].cells[:2] == (found.methods[0], found.mean_ranks[0])
    assert overviews.over_collections(Report({"Soccer": soccer()})) is None


def test_the_diagram_has_a_bar_for_each_group_and_the_critical_difference():
    plot = rank_diagram("over", "Title", ["a", "b", "c"], [1.2, 1.9, 2.9], [(0, 1), (1, 2)], 0.8)
    assert plot.body.count('class="group"') == 3
    assert "CD = 0.80" in plot.body
    assert [plot.body.index(f"{name} {rank}") for name, rank in (("a", "1.20"), ("b", "1.90"), ("c", "2.90"))]


def swept(chosen):
    results = soccer(methods={"fg": 1.06, "rkgraph(neighbors=sweep)": 1.02, "rkgraph(neighbors=tuned)": 1.0})
    best = iter(chosen)
    return replace(
        results,
        records=tuple(
            replace(one, chosen=f"rkgraph(neighbors={next(best)})")
            if isinstance(one, rec.MethodRecord) and "neighbors" in one.method
            else one
            for one in results.records
        ),
    )


def test_a_swept_method_has_one_row_with_the_number_chosen_on_each_selection():
    (table,) = [one for one in (overviews.methods(Report.of(swept([5, 10, 20, 30]))),) if one]
    names = [row.cells[0] for row in table.rows]
    assert len(set(names)) == len(names)
    row = next(row for row in table.rows if row.cells[0] == "rkgraph(neighbors=sweep)")
    assert row.note == "RkGraph, 5, 20 neighbors"


def test_methods_have_the_names_of_the_specification():
    results = swept([5, 10, 5, 10])
    results = replace(results, experiment=replace(results.experiment, names=(("fg", "Fusion graphs"),)))
    page = sections(Report.of(results), Published.read())
    cells = {row.cells[0] for section in page for table in (*section.tables, *section.folded) for row in table.rows}
    assert {"Fusion graphs", "rkgraph (best of sweep)", "rkgraph (tuned)"} <= cells
    assert not {"fg", "rkgraph(neighbors=sweep)"} & cells


def test_the_verdict_is_on_the_best_method_that_needs_no_labels():
    results = soccer(methods={"fg": 1.0, "weft": 1.08, "rkgraph": 1.2})
    found = summarize(Report.of(results))
    assert found.verdict == "better"
    assert found.sentences[0].startswith("weft, the best of 2 methods that need no labels (the others: fg), fusing 3")
    rankers = results.of(rec.RankerRecord)
    best = max(rankers, key=results.score).values["ndcg@10"]
    weft = next(one for one in results.of(rec.MethodRecord) if one.method == "weft").values["ndcg@10"]
    assert compare(weft, best).verdict == "better"


def test_lists_without_the_item_are_said_to_be():
    results = with_classes(soccer())[0]
    assert "all count an item as its own result" in tables.rankers(results).legend
    results = replace(results, experiment=replace(results.experiment, exclude_self=True))
    assert "all leave an item out of its own list" in tables.rankers(results).legend


def test_intervals_of_a_corrected_test_are_said_not_to_be():
    results = soccer(correction="holm")
    assert "The intervals are not corrected." in tables.methods(results)[0].details
