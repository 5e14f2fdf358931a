"""Means with confidence intervals and effect sizes."""

from math import inf, sqrt

import pytest

import rankloom as rl
from rankloom.evaluation import Summary, summarize

T = 4.302652729911275  # Student's t with 2 degrees of freedom: 95 % are between -T and T


def test_a_summary_worked_by_hand():
    found = summarize([0.6, 0.5, 0.4], [0.9, 0.7, 0.8])
    half = T * 0.1 / sqrt(3)
    differences_mean, differences_deviation = 0.3, 0.1
    assert found == pytest.approx((0.5, 0.5 - half, 0.5 + half, differences_mean / differences_deviation))


def test_a_lower_alpha_widens_the_interval():
    narrow, wide = (summarize([0.6, 0.5, 0.4], alpha=alpha) for alpha in (0.05, 0.01))
    assert wide.low < narrow.low < narrow.high < wide.high
    assert wide.effect is None


def test_one_query_has_no_interval():
    found = summarize([0.5], [0.7])
    assert found == Summary(0.5)
    assert (found.interval(), found.effect_size()) == ("", "")


def test_json_cannot_hold_the_effect_of_equal_differences():
    found = summarize([0.5, 0.5], [0.75, 0.75])
    assert (found.effect, found.effect_size()) == (inf, "+inf")
    assert found.plain() == {"low": 0.5, "high": 0.5, "effect": None}


@pytest.mark.parametrize("given", [([],), ([[1, 2], [3, 4]],), ([1], [2, 3]), ([1, 2], [3]), ([], [])])
def test_values_that_are_not_of_the_same_queries_raise(given):
    with pytest.raises(rl.InputError, match="Give one value for each query"):
        summarize(*given)
