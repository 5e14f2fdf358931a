"""Means with marks, confidence intervals and effect sizes."""

import pytest

import rankloom as rl
from rankloom.errors import InputError
from rankloom.evaluation import Evaluation, Summary, summarize


def test_a_summary_worked_by_hand():
    """Differences of -3, -2 and -4 tenths; the rarest of 27 resamples, thrice the same query, has more than 2.5 %."""
    found = summarize([0.6, 0.5, 0.4], [0.9, 0.7, 0.8])
    assert found[:3] == pytest.approx((0.5, 0.4, 0.6))
    assert found.comparison.effect == pytest.approx(-0.3 / 0.1)
    assert found.cells() == ["0.5000 -0.3000*", "0.4000 0.6000", "-3.00"]  # t = -5.2, p = 0.035


def test_a_lower_alpha_widens_the_interval():
    narrow, wide = (summarize([0.6, 0.5, 0.4, 0.45], alpha=alpha) for alpha in (0.1, 0.01))
    assert wide.low < narrow.low < narrow.high < wide.high
    assert wide.comparison is None


def test_one_query_has_no_interval():
    found = summarize([0.5], [0.7])
    assert found == Summary(0.5)
    assert found.cells() == ["0.5000", "", ""]


def test_json_cannot_hold_the_effect_of_equal_differences():
    found = summarize([0.5, 0.5], [0.75, 0.75])
    assert found.cells() == ["0.5000 -0.2500*", "0.5000 0.5000", "-inf"]
    assert found.plain() == {"low": 0.5, "high": 0.5, "difference": -0.25, "effect": None, "p": 0.0}


def test_a_single_system_has_neither_marks_nor_effects():
    one = Evaluation({"bm25": {"mrr": rl.evaluate(RUN, qrels=QRELS, measures=["mrr"], per_query=True)["mrr"]}}, "bm25")
    assert one.cells() == [["", "mrr", "interval"], ["bm25", "0.7500", "0.5000 1.0000"]]
    assert one.note() == "Interval: of the mean, 95%, by bootstrap; 2 queries."


def test_means_of_classes_need_the_classes():
    with pytest.raises(InputError, match="needs the class of each query"):
        Evaluation({"bm25": {"mrr": [0.5]}}, "bm25", units="classes")


RUN = rl.Ranks.from_dict({"p": ["x", "y"], "q": ["y", "x"]})
QRELS = {"p": {"x": 1}, "q": {"x": 1}}


@pytest.mark.parametrize("given", [([],), ([[1, 2], [3, 4]],), ([1], [2, 3]), ([1, 2], [3]), ([], [])])
def test_values_that_are_not_of_the_same_queries_raise(given):
    with pytest.raises(InputError, match="Give one value for each query"):
        summarize(*given)
