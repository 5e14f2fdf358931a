"""Tables over several experiments, against numbers worked out by hand."""

from dataclasses import replace

import pytest
from sample_experiments import METHODS, soccer, ukbench

from rankloom.report import Report, overviews
from rankloom.report.summary import summarize


def report(*found):
    return Report({one.experiment.name: one for one in found or (soccer(), ukbench())})


def rows(table):
    return {row.cells[0]: row.cells[1:] for row in table.rows}


def test_winning_numbers_add_up_over_experiments():
    table = overviews.winning(report())
    # on each of 4 selections fg beats two methods, rrf one, combsum none
    assert rows(table) == {"fg": (8, 4, 4), "rrf": (4, 2, 2), "combsum": (0, 0, 0)}
    assert [column.title for column in table.columns] == ["Method", "Winning number", "Soccer", "UKBench"]
    assert table.legend == "4 selections of 2 experiments, 3 methods: at most 8."


def test_methods_not_run_everywhere_do_not_count():
    table = overviews.winning(report(soccer(methods={**METHODS, "weft": 1.2}), ukbench()))
    assert rows(table)["fg"] == (8, 4, 4)  # not beaten by weft
    assert "Not run on every selection, so not counted: weft." in table.legend


def test_experiments_without_the_first_method_do_not_count():
    table = overviews.winning(report(soccer(), ukbench(), soccer("Runs", methods={"rrf": 1.0, "borda": 0.9})))
    assert rows(table)["fg"] == (8, 4, 4)
    assert "Without fg, so not counted: Runs." in table.legend


def test_winning_numbers_need_two_common_methods():
    assert (
        overviews.winning(report(soccer(methods={"fg": 1.1, "rrf": 1}), ukbench(methods={"fg": 1, "mra": 1}))) is None
    )


def test_gains_are_over_the_best_ranker_of_each_experiment():
    table = overviews.gains(report())
    gains = [(*row.cells[:2], row.cells[2], row.cells[3], row.cells[7]) for row in table.rows]
    assert [one[:2] for one in gains] == [
        ("Soccer", "all"),
        ("Soccer", "best(2)"),
        ("UKBench", "all"),
        ("UKBench", "best(2)"),
    ]
    assert [one[2] for one in gains] == pytest.approx([6, 7, 6, 7])
    assert {(one[3].verdict, one[4]) for one in gains} == {("better", "BIC"), ("better", "VOC")}
    assert [texts[3] for texts in table.texts][:2] == ["+0.0366*", "+0.0427*"]  # 6 and 7 % of 0.61
    assert table.legend.startswith("Signed: difference from the best ranker;")


def test_experiments_have_their_best_ranker_and_best_method():
    row = overviews.experiments(report()).rows[1]
    assert row.cells[:3] == ("UKBench", "ns", "VOC")
    assert row.cells[4:7] == ("fg", pytest.approx(3.4 * 1.07), "best(2)")


def test_the_number_of_queries_is_shown_if_items_are_not_the_queries():
    titles = [column.title for column in overviews.experiments(report()).columns]
    assert titles[-2:] == ["Rankers", "Items"]
    external = soccer("Runs")
    external = replace(external, about=external.about | {"n_queries": 63})
    table = overviews.experiments(report(soccer(), external))
    assert [column.title for column in table.columns][-2:] == ["Items", "Queries"]
    assert table.rows[1].cells[-1] == 63


def test_methods_have_a_row_for_the_best_ranker_and_gaps_where_they_were_not_run():
    table = overviews.methods(report(soccer(methods={**METHODS, "weft": 1.2}), ukbench()))
    found = rows(table)
    assert found["weft"][2:] == (None, None)
    assert table.texts[-1] == ["best single ranker", "0.6100", "−0.0366*", "3.4000", "−0.2040*"]


def test_curves_are_divided_by_the_best_value_of_the_measure():
    table = overviews.cutoffs(overviews.curves(report())[0])
    assert [row.cells[0] for row in table.rows] == [2, 10, 20]
    assert table.rows[0].cells[1:] == pytest.approx((0.61 * 0.95, 3.4 * 0.95 / 4))
    assert overviews.curve_methods(report()) == ["fg", "rrf"]


def test_the_first_method_is_plotted_first():
    assert overviews.curve_methods(report(soccer(methods={"rrf": 1, "fg": 1}))) == ["rrf", "fg"]


def test_the_correlation_measure_with_the_best_pairs_comes_first():
    table = overviews.correlations(overviews.pairs(report()))
    assert [row.cells[:3] for row in table.rows] == [("jaccard", 2, 2), ("spearman", 2, 2), ("kendall", 1, 2)]
    assert table.rows[0].cells[3] == pytest.approx((2 + 3) / 2)
    assert table.rows[2].cells[3] == pytest.approx((1 + 3) / 2)


def test_a_pair_is_listed_once_with_all_that_choose_it():
    table = overviews.chosen_pairs(overviews.pairs(report()))
    assert [(*row.cells[:3], row.role) for row in table.rows] == [
        ("Soccer", "jaccard, spearman", "BIC + GCH", "first"),
        ("Soccer", "kendall", "BIC + ACC", ""),
        ("UKBench", "jaccard, kendall, spearman", "VOC + ACC", ""),
    ]


def test_older_results_have_no_pairs():
    assert overviews.pairs(report(soccer(pairs={}))) == []
    assert overviews.correlations([]) is None
    assert overviews.chosen_pairs([]) is None


def test_summary_says_where_fusion_helps_and_what_is_left_out():
    worse = soccer("Hard", methods={"fg": 0.8, "rrf": 0.7})
    found = Report({"Soccer": soccer(), "Hard": worse, "UKBench": ukbench()}, ("x is left out: reason.",), ("a note.",))
    summary = summarize(found)
    assert (summary.verdict, summary.headline) == ("better", "On 2 of 3 experiments.")
    text = " ".join(summary.sentences)
    assert "significantly better than the best single ranker on Soccer, UKBench; significantly worse on Hard." in text
    assert "Of 6 comparisons with the best single ranker, one for each selection, the first method is" in text
    assert "Soccer, Hard by ndcg@10; UKBench by ns." in text
    assert summary.sentences[-2:] == ("x is left out: reason.", "a note.")


def test_summary_does_not_name_a_winner_if_all_correlations_agree():
    assert "cannot tell which selects best" in " ".join(summarize(report(ukbench(), ukbench("Again"))).sentences)
    assert "by jaccard and spearman is best" in " ".join(summarize(report()).sentences)
