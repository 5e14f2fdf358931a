"""Bootstrapped intervals, against all resamples of a few queries and against scipy."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankloom.evaluation import compare, interval, summarize
from rankloom.evaluation.interval import mean_intervals


@pytest.mark.parametrize("values", [(1.0, 0.5, 1 / 3), (1.0, 1.0, 0.0), (0.9, 0.8, 0.85, 1.0)])
def test_of_few_queries_the_ends_are_quantiles_of_all_resamples(values):
    every = [np.mean(one) for one in product(values, repeat=len(values))]  # 27 or 256, equally likely
    low, high = mean_intervals(np.array([values]))[0]
    assert low == pytest.approx(np.quantile(every, 0.025, method="inverted_cdf"))
    assert high == pytest.approx(np.quantile(every, 0.975, method="inverted_cdf"))


@pytest.mark.parametrize("alpha", [0.05, 0.01])
@pytest.mark.parametrize("n", [20, 90, 900])
def test_the_interval_is_that_of_scipy(n, alpha):
    values = np.random.default_rng(n).beta(0.5, 0.3, n)  # many near 0 and 1, as of NDCG
    rng = np.random.default_rng(7)
    options = {"confidence_level": 1 - alpha, "method": "percentile", "random_state": rng}
    expected = stats.bootstrap((values,), np.mean, **options).confidence_interval
    error = values.std() / np.sqrt(n)
    np.testing.assert_allclose(mean_intervals(values[None], alpha=alpha)[0], expected, rtol=0, atol=0.15 * error)


def test_it_covers_the_true_mean_about_as_often_as_it_says():
    samples = np.random.default_rng(3).beta(2, 1, (300, 60))  # of mean 2/3
    ends = mean_intervals(samples)
    covered = ((ends[:, 0] <= 2 / 3) & (ends[:, 1] >= 2 / 3)).mean()
    assert 0.90 < covered < 0.98


@given(st.lists(st.sampled_from([0.0, 0.1, 0.63, 1.0]), min_size=1, max_size=12), st.sampled_from([0.05, 0.01]))
def test_it_never_leaves_the_range_of_the_values(values, alpha):
    low, high = mean_intervals(np.array([values]), alpha=alpha)[0]
    assert min(values) <= low <= np.mean(values) + 1e-9
    assert np.mean(values) - 1e-9 <= high <= max(values)


def test_three_queries_stay_within_0_and_1():
    """By Student's t it was -0.77 to 2.10."""
    found = summarize([1.0, 1.0, 0.0])
    assert (found.low, found.high) == (0.0, 1.0)
    assert compare([1.0, 1.0, 0.0], [0.0, 1.0, 0.0], alpha=0.05).interval() == (0.0, 1.0)


def test_it_is_the_same_again_alone_and_for_any_size_of_blocks(monkeypatch):
    values = np.random.default_rng(0).random((3, 70))
    first = mean_intervals(values)
    assert np.array_equal(mean_intervals(values), first)
    assert np.array_equal(mean_intervals(values[1:2]), first[1:2])
    monkeypatch.setattr(interval, "BLOCK_CELLS", 1000)
    assert np.array_equal(mean_intervals(values), first)
