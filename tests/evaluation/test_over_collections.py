"""Methods compared over collections, against scikit-posthocs, scipy and a worked example."""

import numpy as np
import pytest
from scipy import stats

from rankloom.errors import InputError, UnknownNameError
from rankloom.evaluation import compare_over
from rankloom.evaluation.over_collections import POST_HOC

#: AUC of four variants of C4.5 on 14 data sets: Demšar (2006), Table 6. Friedman's chi-squared is 9.28, CD at .05 1.25.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],  # ranked 4, 1, 2, 3 there
        [0.957, 0.978, 0.946, 0.970],
    ]
)
NAMES = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")


def as_table(values, names):
    return {f"collection {i}": dict(zip(names, row, strict=True)) for i, row in enumerate(values.tolist())}


def test_the_worked_example_of_the_literature():
    found = compare_over(as_table(DEMSAR, NAMES))
    assert found.methods == ("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5")
    assert found.mean_ranks == pytest.approx([1.964, 2.0, 2.893, 3.143], abs=0.001)
    assert found.critical_difference == pytest.approx(1.25, abs=0.005)
    assert found.groups() == [found.methods]  # no pair differs by 1.25


@pytest.mark.parametrize("post_hoc", POST_HOC)
@pytest.mark.parametrize("seed", range(3))
def test_p_values_are_those_of_scikit_posthocs(post_hoc, seed):
    sp = pytest.importorskip("scikit_posthocs")
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 12, (11, 5)) / 16 + np.arange(5) / 8  # exact, so that ties are
    found = compare_over(as_table(values, "abcde"), post_hoc=post_hoc)
    if post_hoc == "nemenyi":
        expected = sp.posthoc_nemenyi_friedman(values)
    else:
        groups = [values[:, i] for i in range(5)]
        expected = sp.posthoc_wilcoxon(groups, p_adjust="holm")
    order = ["abcde".index(method) for method in found.methods]
    assert found.p_values == pytest.approx(expected.to_numpy()[np.ix_(order, order)], abs=1e-9)
    ours = stats.friedmanchisquare(*values.T)
    assert (found.statistic, found.p_value) == pytest.approx((ours.statistic, ours.pvalue))


def test_groups_are_the_longest_runs_without_a_significant_pair():
    rng = np.random.default_rng(0)
    values = np.array([0.9, 0.9, 0.5, 0.5, 0.1, 0.1]) + rng.normal(0, 0.01, (40, 6))
    found = compare_over(as_table(values, "abcdef"))
    assert [set(group) for group in found.groups()] == [{"a", "b"}, {"c", "d"}, {"e", "f"}]
    assert compare_over(as_table(values, "abcdef"), post_hoc="wilcoxon").critical_difference is None


def test_methods_that_never_differ_are_one_group():
    found = compare_over({name: {"a": 0.5, "b": 0.5, "c": 0.5} for name in "xyz"}, post_hoc="wilcoxon")
    assert (found.p_value, found.groups(), found.mean_ranks.tolist()) == (1.0, [("a", "b", "c")], [2.0, 2.0, 2.0])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"x": {"a": 1, "b": 2, "c": 3}}, "needs at least 2; got 1"),
        ({"x": {"a": 1, "b": 2}, "y": {"a": 1, "b": 2}}, "needs at least 3 methods; got a, b"),
        ({"x": {"a": 1, "b": 2, "c": 3}, "y": {"a": 1}}, "the same methods; 'y' has others"),
        ({"x": {"a": 1, "b": 2, "c": 3}, "y": {"a": 1, "b": 2, "c": float("nan")}}, "finite numbers"),
    ],
)
def test_tables_that_cannot_be_compared_are_errors(table, message):
    with pytest.raises(InputError, match=message):
        compare_over(table)


def test_an_unknown_post_hoc_test_is_an_error():
    with pytest.raises(UnknownNameError, match="choose from nemenyi, wilcoxon"):
        compare_over({}, post_hoc="nemeny")
