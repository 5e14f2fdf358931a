"""Tables of data small enough to check every number by hand."""

import numpy as np
import pytest
from sample_results import method_records, other_records, ranker_records, results

from rankloom.experiment import results as rec
from rankloom.report import Report, overviews, tables
from rankloom.report.formats import to_markdown, to_tex

HIGH = np.array([0.9, 0.8, 0.7, 0.9, 0.8])  # mean 0.82
LOW = np.array([0.6, 0.5, 0.5, 0.5, 0.5])  # mean 0.52; a paired t test against HIGH gives p = 0.0007


def one(values):
    return {"ndcg@10": np.asarray(values, float), "map": np.asarray(values, float) / 2}


def small(*records, **spec):
    given = {"rankers": ("bic", "acc"), "methods": ("fg", "rrf", "borda"), "selections": ("all",)} | spec
    return results(records, **given)


def on_all(**methods):
    return [rec.MethodRecord("all", ("bic", "acc"), name, one(values), 0.25) for name, values in methods.items()]


def columns(table):
    return [column.title for column in table.columns]


def cells(table, *titles):
    numbers = [columns(table).index(title) for title in titles]
    return [tuple(row.cells[number] for number in numbers) for row in table.rows]


def marks(table, title):
    number = columns(table).index(title)
    return [(row.cells[0], texts[number]) for row, texts in zip(table.rows, table.texts, strict=True)]


BIC, ACC = rec.RankerRecord("bic", one(LOW), {}, 1.5), rec.RankerRecord("acc", one(LOW - 0.1), {}, 0.5)


def test_methods_are_compared_with_the_first_by_mark_gain_and_p():
    found = small(BIC, ACC, *on_all(fg=HIGH, rrf=LOW, borda=HIGH))
    (table,) = tables.methods(found)
    assert marks(table, "vs fg") == [
        ("fg", "–"),
        ("borda", "+0.0000"),
        ("rrf", "−0.3000*"),
        ("bic (best ranker)", "−0.3000*"),
        ("acc (ranker)", "−0.4000*"),
    ]
    assert "difference from fg; *: significant (paired t test over queries, p < 0.01)" in table.legend
    assert "Cohen" in to_markdown(table)
    assert "Cohen" not in to_tex(table)  # nor has it the column
    gains = [row[0] for row in cells(table, "Gain over fg (%)")]
    assert gains[0] is None
    assert gains[1:] == pytest.approx([0, -100 * 0.3 / 0.82, -100 * 0.3 / 0.82, -100 * 0.4 / 0.82])
    low, high = cells(table, "From", "To")[2]
    assert -0.4 <= low < -0.3 < high <= -0.2  # differences of -3, -3, -2, -4 and -3 tenths
    p_values = [row[0] for row in cells(table, "p")]
    assert p_values[1] == 1
    assert p_values[2] == pytest.approx(0.0007, abs=5e-5)
    assert [row.role for row in table.rows] == ["first", "", "", "ranker", "ranker"]


def test_a_method_that_beats_the_first_is_marked_as_better():
    (table,) = tables.methods(small(BIC, *on_all(fg=LOW, rrf=HIGH)))
    assert marks(table, "vs fg")[0] == ("rrf", "+0.3000*")


def test_p_values_are_corrected_on_request():
    records = [BIC, ACC, *on_all(fg=HIGH, rrf=LOW)]
    (plain,), (corrected,) = (tables.methods(small(*records, correction=c)) for c in ("none", "bonferroni"))
    three = 3  # comparisons: rrf, bic and acc
    assert cells(corrected, "p")[1][0] == pytest.approx(three * cells(plain, "p")[1][0])
    assert "bonferroni" in corrected.legend
    assert "corrected" not in plain.legend


def test_the_best_ranker_is_in_every_table_even_if_not_selected():
    selection = [rec.SelectionRecord("best(1)", ("acc",)), rec.MethodRecord("best(1)", ("acc",), "fg", one(HIGH), 1.0)]
    (table,) = tables.methods(small(BIC, ACC, *selection, selections=("best(1)",)))
    assert [row[0] for row in cells(table, "Method")] == ["fg", "bic (best ranker)", "acc (ranker)"]


def test_there_is_no_test_for_a_single_query():
    single = small(rec.RankerRecord("bic", one([0.5]), {}, 1.0), *on_all(fg=[0.6], rrf=[0.5]))
    (table,) = tables.methods(single)
    assert cells(table, "vs fg", "p", "From") == [(None, None, None)] * 3


def test_the_overview_has_a_value_and_a_mark_for_each_selection():
    table = overviews.methods(Report.of(results()))
    assert columns(table) == ["Method", "all", "all vs fg", "best(2)", "best(2) vs fg"]
    by_name = {texts[0]: texts[1:] for texts in table.texts}
    assert by_name["fg"] == ["0.6600", "–", "0.6700", "–"]
    assert by_name["rrf"] == ["0.6000", "−0.0600*", "0.6100", "−0.0600*"]
    assert by_name["gch (ranker)"][2:] == ["–", "–"]


def test_rankers_have_every_measure_and_are_sorted_by_the_main_one():
    table = tables.rankers(small(ACC, BIC))
    assert columns(table) == ["Ranker", "ndcg@10", "map", "Seconds"]
    assert cells(table, "Ranker", "Seconds") == [("bic", 1.5), ("acc", 0.5)]
    assert cells(table, "ndcg@10", "map")[0] == pytest.approx((0.52, 0.26))


def test_estimates_and_their_agreement_with_the_main_measure():
    found = results(ranker_records())
    assert columns(tables.estimates(found)) == ["Ranker", "ndcg@10", "authority", "reciprocal"]
    # authority is half the measure, reciprocal one minus it: the same order, and the reverse
    assert cells(tables.agreements(found), "Estimate", "Spearman", "Kendall") == [
        ("authority", pytest.approx(1), pytest.approx(1)),
        ("reciprocal", pytest.approx(-1), pytest.approx(-1)),
    ]


def test_without_estimates_there_are_no_tables_of_them():
    found = results(ranker_records(estimates=False))
    assert tables.estimates(found) is None
    assert tables.agreements(found) is None


def test_agreement_needs_two_rankers():
    assert tables.agreements(small(rec.RankerRecord("bic", one(LOW), {"authority": 0.5}, 1.0))) is None


def test_winning_numbers_count_strict_wins_over_all_selections():
    # all: fg .66 > rrf .60 = combsum .60 > borda .55, so 3, 1, 1, 0; best(2) has the same order
    table = overviews.winning(Report.of(results(method_records())))
    assert cells(table, "Method", "Winning number", "all", "best(2)") == [
        ("fg", 6, 3, 3),
        ("combsum", 2, 1, 1),
        ("rrf", 2, 1, 1),
        ("borda", 0, 0, 0),
    ]


def test_methods_that_failed_on_a_selection_do_not_count():
    records = [one for one in method_records() if (getattr(one, "method", ""), one.selection) != ("borda", "all")]
    table = overviews.winning(Report.of(results(records)))
    assert cells(table, "Method", "Winning number") == [("fg", 4), ("combsum", 0), ("rrf", 0)]
    assert table.legend == "2 selections, 3 methods: at most 4. Not run on every selection, so not counted: borda."


def test_winning_numbers_need_two_methods():
    assert overviews.winning(Report.of(small(BIC, *on_all(fg=HIGH)))) is None


def test_gains_are_in_percent_of_the_ranker():
    table = tables.gains(small(BIC, ACC, *on_all(fg=HIGH)))
    assert cells(table, "Ranker", "fg on all (%)") == [
        ("fg", None),
        ("bic", pytest.approx(100 * 0.3 / 0.52)),
        ("acc", pytest.approx(100 * 0.4 / 0.42)),
    ]


def test_a_gain_over_zero_is_blank():
    zero = rec.RankerRecord("acc", one([0.0] * 5), {}, 1.0)
    table = tables.gains(small(BIC, zero, *on_all(fg=HIGH)))
    assert cells(table, "Ranker", "fg on all (%)")[2] == ("acc", None)


def test_comparators_are_compared_with_the_first():
    found = small(rec.ComparatorRecord("wgu", one(HIGH)), rec.ComparatorRecord("mcs", one(HIGH - 0.01)))
    table = tables.comparators(found)
    assert marks(table, "vs wgu") == [("wgu", "–"), ("mcs", "−0.0100*")]
    assert table.legend.startswith("Signed: difference from wgu;")


def test_cutoffs_are_rows_and_methods_of_the_curve_columns():
    records = [rec.CutoffRecord("fg", 10, one(HIGH), 1.0), rec.CutoffRecord("fg", 2, one(LOW), 1.0)]
    found = small(*records, rec.CutoffRecord("rrf", 2, one(LOW), 1.0))
    (table,) = map(overviews.cutoffs, overviews.curves(Report.of(found)))
    assert columns(table) == ["Cutoff", "fg", "rrf"]
    low, high = pytest.approx(0.52), pytest.approx(0.82)
    assert [row.cells for row in table.rows] == [(2, low, low), (10, high, None)]


def test_times_are_median_and_interquartile_range_in_a_readable_unit():
    quick = tables.times(small(rec.TimeRecord("all", (1.0, 2.0, 4.0), (2e-5, 4e-5))))
    assert columns(quick)[2:] == ["Offline (s)", "IQR (s)", "Query (µs)", "IQR (µs)"]
    # Quartiles between the order statistics: (2 + 4) / 2 - (1 + 2) / 2, and (20 + 3 * 40) / 4 - (3 * 20 + 40) / 4.
    assert quick.rows[0].cells == ("all", 3, 2.0, 1.5, pytest.approx(30), pytest.approx(10))
    assert quick.legend.startswith("Medians of the runs; IQR is the interquartile range")
    slow = tables.times(small(rec.TimeRecord("all", (1.0,), (0.02,))))
    assert columns(slow)[4] == "Query (ms)"
    assert slow.rows[0].cells == ("all", 1, 1.0, None, pytest.approx(20), None)


def test_one_slow_run_hardly_changes_the_times():
    usual, slow = (1.6e-5,) * 4, 2.62e-4  # a mean of 65.2 µs with a standard deviation of 110.0
    table = tables.times(small(rec.TimeRecord("all", (1.0,) * 5, (*usual, slow))))
    assert table.rows[0].cells[4:] == (pytest.approx(16), pytest.approx(0))


def test_seconds_of_methods_have_a_column_for_each_selection():
    table = tables.seconds(results(method_records()))
    assert cells(table, "Method", "all", "best(2)")[1] == ("rrf", 0.02, 0.02)


def test_correlations_have_a_row_and_a_column_for_each_ranker():
    matrix = np.array([[1.0, 0.25], [0.25, 1.0]])
    (table,) = tables.correlations(small(rec.CorrelationRecord("jaccard", 10, ("bic", "acc"), matrix)))
    assert columns(table) == ["Ranker", "bic", "acc"]
    assert [row.cells for row in table.rows] == [("bic", 1.0, 0.25), ("acc", 0.25, 1.0)]


def test_similar_names_get_distinct_files():
    selections = {"best(2)": ("bic", "acc"), "best 2": ("bic", "acc"), "++": ("bic",)}
    names = [table.name for table in tables.methods(results(method_records(selections=selections)))]
    assert names == ["methods-best-2", "methods-best-2-2", "methods"]


def test_there_are_no_tables_without_records():
    empty = results([])
    for make in (tables.rankers, tables.comparators, tables.gains, tables.times):
        assert make(empty) is None
    assert tables.methods(empty) == tables.correlations(empty) == []
    assert overviews.methods(Report.of(empty)) is overviews.winning(Report.of(empty)) is tables.seconds(empty) is None
    assert overviews.curves(Report.of(empty)) == []


def test_tables_do_not_modify_the_records():
    records = [*ranker_records(), *other_records()]
    before = records[0].values["ndcg@10"].copy()
    tables.rankers(results(records))
    assert np.array_equal(records[0].values["ndcg@10"], before)
