import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankloom import Ranks
from rankloom.errors import InputError, UnknownNameError
from rankloom.evaluation import (
    TESTS,
    Comparison,
    compare,
    compare_many,
    correct,
    disagreements,
    evaluate,
    legend,
    paired_tests,
)

NAMES = ["randomization", "t", "wilcoxon"]
OURS = [0.9, 0.8, 0.7, 0.9, 0.8]
THEIRS = [0.6, 0.5, 0.5, 0.5, 0.5]


def random_pairs(n, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    theirs = rng.random(n)
    return theirs + shift + rng.normal(0, 0.2, n), theirs


# Verdicts


@pytest.mark.parametrize(
    ("p_value", "difference", "verdict"),
    [
        (0.009, 0.1, "better"),
        (0.009, -0.1, "worse"),
        (0.01, 0.1, "tie"),
        (0.5, -0.1, "tie"),
        (1.0, 0.0, "tie"),
        (0.001, 0.0, "tie"),
    ],
)
def test_the_verdict_follows_from_p_value_and_difference(p_value, difference, verdict):
    one = Comparison(np.full(3, difference), p_value, difference)
    assert one.verdict == one.mark.verdict == verdict
    assert str(one.mark).endswith("*") == (verdict != "tie")
    assert (-one).verdict == {"better": "worse", "worse": "better", "tie": "tie"}[verdict]


def test_a_mark_is_the_signed_difference_with_a_star_where_significant():
    assert str(compare(OURS, THEIRS).mark) == "+0.3000*"
    assert str(compare(THEIRS, OURS).mark) == "-0.3000*"
    assert str(compare(OURS, OURS[::-1]).mark) == "+0.0000"


def test_the_legend_names_reference_test_and_level():
    assert legend("fg") == "Signed: difference from fg; *: significant (paired t test over queries, p < 0.01)."
    found = legend("rrf", test="wilcoxon", alpha=0.05, correction="holm")
    assert "(paired wilcoxon test over queries, p corrected by holm < 0.05)." in found
    assert "(tukey test over queries, p < 0.01)" in legend("rrf", test="tukey")


def test_a_tie_if_mean_and_test_disagree():
    ours = [0.01 * i for i in range(1, 30)] + [-9.0]  # ahead in 29 of 30 queries, but behind in the mean
    forth, back = (compare(*pair, test="wilcoxon") for pair in ((ours, np.zeros(30)), (np.zeros(30), ours)))
    assert max(forth.p_value, back.p_value) < 1e-4
    assert (forth.difference < 0, forth.statistic > 0) == (True, True)
    assert (forth.verdict, back.verdict) == ("tie", "tie")
    ours[-1] = -0.01
    assert compare(ours, np.zeros(30), test="wilcoxon").verdict == "better"


def test_wilcoxon_ties_differences_equal_up_to_rounding():
    ours = np.array([0.3, 0.7, 0.9, 0.2, 0.6, 0.8, 0.4])
    signs = np.array([1, -1, 1, 1, 1, -1, 1])
    found = compare(ours, ours - 0.1 * signs, test="wilcoxon")
    assert found.p_value == compare(signs, np.zeros(7), test="wilcoxon").p_value
    assert found.statistic == 4 * signs.sum()  # seven tied ranks of 4


@pytest.mark.parametrize("test", NAMES)
def test_swapping_the_systems_reverses_the_verdict(test):
    ours, theirs = random_pairs(100, shift=0.3)
    forth, back = compare(ours, theirs, test=test), compare(theirs, ours, test=test)
    assert (forth.verdict, back.verdict) == ("better", "worse")
    assert forth.difference == -back.difference == pytest.approx(ours.mean() - theirs.mean())
    assert forth.p_value == pytest.approx(back.p_value)
    assert (-forth).mark == back.mark
    assert (-forth).statistic == pytest.approx(back.statistic)


@pytest.mark.parametrize("test", NAMES)
def test_equal_arrays_are_a_tie_with_p_1(test):
    for ours in (np.array(OURS), np.array(OURS) * (1 + 1e-15)):  # rounding errors of sums
        found = compare(ours, OURS, test=test)
        assert (found.p_value, found.difference, found.statistic, found.effect) == (1.0, 0.0, 0.0, 0.0)


def test_alpha_decides():
    ours, theirs = random_pairs(30, shift=0.1, seed=3)
    p_value = compare(ours, theirs).p_value
    assert 0.01 < p_value < 0.05
    assert compare(ours, theirs).verdict == "tie"
    assert compare(ours, theirs, alpha=0.05).verdict == "better"


# Tests


def test_t_by_hand():
    # differences 3, 3, 2, 4, 3 tenths: mean 0.3, variance 0.02 / 4
    t = 0.3 / np.sqrt(0.005 / 5)
    assert compare(OURS, THEIRS).p_value == pytest.approx(2 * stats.t.sf(t, 4))


@pytest.mark.parametrize("seed", range(5))
def test_t_and_wilcoxon_match_scipy(seed):
    ours, theirs = random_pairs(60, shift=0.05, seed=seed)
    ours[:5] = theirs[:5]  # queries that do not differ
    assert compare(ours, theirs).p_value == pytest.approx(stats.ttest_rel(ours, theirs).pvalue)
    changed = ours != theirs
    expected = stats.wilcoxon(ours[changed], theirs[changed]).pvalue
    assert compare(ours, theirs, test="wilcoxon").p_value == pytest.approx(expected)


def test_equal_differences_give_p_0():
    found = compare([0.75, 1.0, 0.5], [0.5, 0.75, 0.25])
    assert (found.p_value, found.difference, found.statistic, found.effect) == (0.0, 0.25, 0.25, np.inf)
    assert (found.interval(), found.wins, found.losses) == ((0.25, 0.25), 3, 0)


def test_randomization_approximates_the_exact_p_value():
    differences = np.array([0.3, -0.1, 0.2, 0.4, 0.05, -0.02, 0.1, 0.25])
    all_signs = np.array(list(product([-1, 1], repeat=8)))
    exact = np.mean(abs(all_signs @ differences) >= abs(differences.sum()) - 1e-12)
    p_value = compare(differences, np.zeros(8), test="randomization", rounds=50_000).p_value
    assert p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 50_000))


def test_randomization_of_two_equal_differences_by_hand():
    # 2 of the 4 sign patterns leave the mean as far from 0: p is near 1/2, a multiple of 1/1000
    p_value = compare([1.0, 1.0], [0.0, 0.0], test="randomization", rounds=999).p_value
    assert p_value * 1000 == pytest.approx(round(p_value * 1000))
    assert 0.45 < p_value < 0.55


def test_randomization_is_never_0_and_depends_only_on_the_seed(monkeypatch):
    ours, theirs = random_pairs(200, shift=0.5)
    assert compare(ours, theirs, test="randomization").p_value == 1 / 10_001
    ours, theirs = random_pairs(70, shift=0.05)
    first = compare(ours, theirs, test="randomization", rounds=2000).p_value
    assert compare(ours, theirs, test="randomization", rounds=2000).p_value == first
    assert compare(ours, theirs, test="randomization", rounds=2000, seed=1).p_value != first
    monkeypatch.setattr(paired_tests, "BLOCK_CELLS", 1000)
    assert compare(ours, theirs, test="randomization", rounds=2000).p_value == first


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12), st.sampled_from(NAMES))
def test_p_values_are_probabilities(pairs, test):
    ours, theirs = np.array(pairs, float).T
    outcome = compare(ours, theirs, test=test, rounds=99)
    assert 0 <= outcome.p_value <= 1
    assert outcome.difference == pytest.approx(ours.mean() - theirs.mean())


def test_the_registry_has_every_test():
    assert sorted(TESTS) == NAMES


# Several comparisons


def test_compare_many_keeps_the_order():
    ours, theirs = random_pairs(40, shift=0.2)
    systems = {"theirs": theirs, "ours": ours, "above": ours + 1}
    outcomes = compare_many(systems, ours)
    verdicts = {"theirs": "worse", "ours": "tie", "above": "better"}
    assert {name: one.verdict for name, one in outcomes.items()} == verdicts
    assert outcomes["theirs"].mark == compare(theirs, ours).mark
    assert compare_many({}, ours) == {}


@pytest.mark.parametrize("correction", ["none", "bonferroni", "holm", "bh"])
def test_compare_many_corrects_the_p_values(correction):
    ours, _ = random_pairs(40)
    others = {str(seed): random_pairs(40, 0.1, seed)[1] for seed in range(5)}
    single = [compare(values, ours).p_value for values in others.values()]
    outcomes = compare_many(others, ours, correction=correction)
    np.testing.assert_allclose([one.p_value for one in outcomes.values()], correct(single, method=correction))
    assert [one.difference for one in outcomes.values()] == [compare(v, ours).difference for v in others.values()]


# Errors

WRONG = {
    "different lengths": (([1, 2], [1, 2, 3]), {}, r"in the same order; got the shapes \(2,\) and \(3,\)"),
    "means": ((0.5, 0.6), {}, r"got the shapes \(\) and \(\)\. Evaluate with per_query=True"),
    "one query": (([1], [2]), {}, "needs at least 2 queries; got 1"),
    "NaN": (([1, np.nan], [1, 2]), {}, "must be finite numbers"),
    "alpha": ((OURS, THEIRS), {"alpha": 1}, "alpha must be a number between 0 and 1, such as 0.01; got 1"),
    "rounds": ((OURS, THEIRS), {"rounds": 0}, "rounds must be a whole number, at least 1; got 0"),
    "seed": ((OURS, THEIRS), {"seed": -1}, "seed must be a whole number, at least 0; got -1"),
}


@pytest.mark.parametrize(("arrays", "options", "message"), WRONG.values(), ids=WRONG)
def test_bad_input_raises(arrays, options, message):
    with pytest.raises(InputError, match=message):
        compare(*arrays, **options)


def test_an_unknown_test_raises():
    with pytest.raises(
        UnknownNameError, match="Unknown test 'z'; choose from randomization, t, tukey, tukey_paired, wilcoxon"
    ):
        compare(OURS, THEIRS, test="z")


# Effect size, wins; Tukey


def test_effect_and_wins_by_hand():
    """Differences 3, 3, 2, 4, 3 tenths: mean 0.3, standard deviation sqrt(0.005)."""
    found = compare(OURS, THEIRS, alpha=0.05)
    assert found.effect == pytest.approx(0.3 / np.sqrt(0.005))
    assert (found.wins, found.losses) == (5, 0)
    assert (compare(THEIRS, OURS).wins, compare(THEIRS, OURS).losses) == (0, 5)


@pytest.mark.parametrize("m", [2, 3, 6])
def test_tukey_is_that_of_scipy_and_so_of_ranx(m):
    ours, theirs = random_pairs(30, shift=0.3)
    others = {f"s{i}": theirs + 0.05 * i for i in range(m - 1)}
    found = compare_many(others, ours, test="tukey")
    expected = stats.tukey_hsd(ours, *others.values()).pvalue[0, 1:]
    assert [one.p_value for one in found.values()] == pytest.approx(expected.tolist(), abs=1e-9)


def test_paired_tukey_of_two_systems_is_the_t_test():
    ours, theirs = random_pairs(30, shift=0.1)
    assert compare(ours, theirs, test="tukey_paired").p_value == pytest.approx(compare(ours, theirs).p_value, abs=1e-6)


def test_paired_tukey_finds_more_than_tukey_where_queries_differ():
    query = 2 * np.random.default_rng(9).random(50)  # queries differ more than systems
    ours, *others = (query + random_pairs(50, seed=i)[1] / 4 + 0.1 * (i == 0) for i in range(5))
    others = {f"s{i}": one for i, one in enumerate(others)}
    p = {test: compare_many(others, ours, test=test)["s0"].p_value for test in ("tukey", "tukey_paired")}
    assert p["tukey_paired"] < 1e-6 < 0.1 < p["tukey"]


def test_tukey_of_equal_systems_is_a_tie_and_of_constant_differences_p_0():
    assert compare(OURS, OURS, test="tukey").verdict == "tie"
    assert compare(OURS, OURS, test="tukey_paired").p_value == 1
    assert compare([0.75, 1.0, 0.5], [0.5, 0.75, 0.25], test="tukey_paired").p_value == 0


def test_tukey_takes_no_correction():
    with pytest.raises(
        InputError, match="corrects for the number of systems itself; use correction='none', got 'holm'"
    ):
        compare_many({"a": THEIRS}, OURS, test="tukey", correction="holm")
    assert compare_many({}, OURS, test="tukey") == {}


# Units


CLASSES = np.repeat(["a", "b", "c"], [5, 3, 8])


def test_classes_as_units_are_a_test_over_their_means():
    ours, theirs = random_pairs(16, 0.2)
    means = [[values[one == CLASSES].mean() for one in "abc"] for values in (ours, theirs)]
    outcome = compare(ours, theirs, units="classes", classes=CLASSES)
    assert outcome.p_value == pytest.approx(stats.ttest_rel(*means).pvalue)
    assert outcome.difference == pytest.approx(np.mean(means[0]) - np.mean(means[1]))
    assert compare(*means).p_value == pytest.approx(outcome.p_value)


def test_evaluation_by_classes_gives_their_means():
    ranks = Ranks([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
    options = {"labels": ["x", "x", "y"], "measures": "p@2"}
    assert evaluate(ranks, **options, per_query=True)["p@2"].tolist() == [1, 0.5, 0.5]
    assert evaluate(ranks, **options, per_query=True, units="classes")["p@2"].tolist() == [0.75, 0.5]
    assert evaluate(ranks, **options, units="classes") == {"p@2": 0.625}


def test_verdicts_that_depend_on_the_units_are_named():
    ours = np.repeat([0.9, 0.5, 0.6], 20) + 0.01 * np.tile([1, -1], 30)
    theirs = np.repeat([0.5, 0.5, 0.6], 20)
    systems, classes = {"ours": ours, "same": theirs}, np.repeat(["a", "b", "c"], 20)
    p = compare(ours, theirs, units="classes", classes=classes).p_value
    found = disagreements(systems, theirs, classes, units="queries")
    assert found == f"Over 3 class means instead, ours: no significant difference (p = {p:.2g})."
    assert disagreements(systems, theirs, classes, units="classes").startswith("Over queries instead, ours: better")
    assert disagreements({"same": theirs}, theirs, classes, units="queries") == ""
    assert disagreements(systems, theirs, ["a"] * 60, units="queries") == ""


def test_units_that_make_no_sense_are_errors():
    for options, message in (
        ({"units": "classes"}, "units='classes' needs the class of each query; give classes."),
        ({"units": "classes", "classes": ["a"]}, "Give the class of each query; got ['a'] for 5 values."),
        ({"units": "items"}, "Unknown unit 'items'; choose from classes, queries."),
    ):
        with pytest.raises(InputError, match=re.escape(message)):
            compare(OURS, THEIRS, **options)
    with pytest.raises(InputError, match="units='classes' needs labels"):
        evaluate(Ranks.from_dict({"q": ["a"]}), qrels={"q": {"a": 1}}, units="classes")
