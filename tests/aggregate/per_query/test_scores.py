"""The Comb family and the product, on two lists worked by hand."""

import numpy as np
import pytest

import rankloom as rl
from rankloom.errors import InputError

A = rl.Ranks.from_dict({"q": {"a": 9.0, "b": 6.0, "c": 4.0, "d": 1.0}})  # min-max: 1, 5/8, 3/8, 0
B = rl.Ranks.from_dict({"q": {"e": 0.5, "a": 0.4, "d": 0.3, "b": 0.0}})  # min-max: 1, 0.8, 0.6, 0
EXPECTED = {
    "combsum": {"a": 1 + 0.8, "e": 1, "b": 5 / 8 + 0, "d": 0 + 0.6, "c": 3 / 8},
    "combmed": {"a": (1 + 0.8) / 2, "e": 1 / 2, "b": 5 / 8 / 2, "d": 0.6 / 2, "c": 3 / 8 / 2},
    "combmnz": {"a": 2 * (1 + 0.8), "b": 2 * 5 / 8, "d": 2 * 0.6, "e": 1, "c": 3 / 8},
    "combanz": {"e": 1, "a": (1 + 0.8) / 2, "c": 3 / 8, "b": 5 / 8 / 2, "d": 0.6 / 2},
    "combmax": {"a": 1, "e": 1, "b": 5 / 8, "d": 0.6, "c": 3 / 8},
    "combmin": {"e": 1, "a": 0.8, "c": 3 / 8, "b": 0, "d": 0},
    "rlsim": {"e": 1, "a": 1 * 0.8, "c": 3 / 8, "b": 5 / 8 * 0, "d": 0 * 0.6},
}


def fused(method, *ranks, k=10, **options):
    return rl.fuse(ranks or (A, B), method, k, **options).to_dict()["q"]


@pytest.mark.parametrize("method", EXPECTED)
def test_the_formula_worked_by_hand(method):
    got = fused(method)
    assert got == pytest.approx(EXPECTED[method], rel=1e-6, abs=1e-9)
    assert list(got) == list(EXPECTED[method])


def test_the_median_is_over_the_rankers_that_list_the_item():
    third = rl.Ranks.from_dict({"q": {"a": 2.0, "e": 1.5, "f": 1.0}})  # min-max: 1, 0.5, 0
    got = fused("combmed", A, B, third, mode="median")
    assert got == pytest.approx(
        {"a": 1.0, "e": (1 + 0.5) / 2, "c": 3 / 8, "b": 5 / 8 / 2, "d": 0.6 / 2, "f": 0.0}, rel=1e-6
    )


@pytest.mark.parametrize(
    ("method", "a", "b"),
    [
        ("combsum", 3 * 1 + 0.5 * 0.8, 3 * 5 / 8),
        ("combmed", (3 * 1 + 0.5 * 0.8) / 3.5, 3 * 5 / 8 / 3.5),
        ("combmnz", 2 * (3 * 1 + 0.5 * 0.8), 2 * 3 * 5 / 8),
        ("combanz", (3 * 1 + 0.5 * 0.8) / 3.5, 3 * 5 / 8 / 3.5),
        ("combmax", 3 * 1, 3 * 5 / 8),
        ("rlsim", 1**3 * 0.8**0.5, (5 / 8) ** 3 * 0**0.5),
    ],
)
def test_weights_are_honored(method, a, b):
    got = fused(method, weights=[3, 0.5])
    assert (got["a"], got["b"]) == pytest.approx((a, b), rel=1e-6)


def test_a_ranker_of_weight_0_adds_its_items_with_score_0():
    assert fused("combsum", weights=[1, 0]) == pytest.approx({"a": 1, "b": 5 / 8, "c": 3 / 8, "d": 0, "e": 0})
    assert fused("combanz", weights=[1, 0])["e"] == 0


@pytest.mark.parametrize(("method", "options"), [("combmin", {}), ("combmed", {"mode": "median"})])
def test_unsupported_weights_raise(method, options):
    with pytest.raises(InputError, match="weights"):
        rl.fuse([A, B], method, weights=[1, 2], **options)


def test_lists_are_cut_before_scores_are_normalized():
    assert fused("combsum", depth=2) == pytest.approx({"a": 1 + 0, "e": 1, "b": 0})


def test_constant_sets_the_value_of_a_list_of_equal_scores():
    flat = rl.Ranks.from_dict({"q": {"x": 0.0, "a": 0.0}})
    assert fused("combsum", A, flat)["a"] == 2
    assert fused("combsum", A, flat, constant=0.0)["a"] == 1
    assert fused("combmin", A, flat, constant=0.0)["a"] == 0


@pytest.mark.parametrize(
    ("normalization", "expected"),
    [
        ("rank_norm", {"a": 1 + 3 / 4, "e": 1, "b": 3 / 4 + 1 / 4, "d": 1 / 4 + 2 / 4, "c": 2 / 4}),
        ("borda_norm", {"a": 1 + 4 / 5, "b": 4 / 5 + 2 / 5, "e": 1, "d": 2 / 5 + 3 / 5, "c": 3 / 5}),
        ("max_norm", {"a": 1 + 0.4 / 0.5, "e": 1, "d": 1 / 9 + 0.3 / 0.5, "b": 6 / 9 + 0, "c": 4 / 9}),
        ("sum_norm", {"a": 8 / 16 + 4 / 12, "e": 5 / 12, "b": 5 / 16, "d": 3 / 12, "c": 3 / 16}),
        ("raw", {"a": 9.4, "b": 6.0, "c": 4.0, "d": 1.3, "e": 0.5}),
    ],
)
def test_normalizations(normalization, expected):
    assert fused("combsum", normalization=normalization) == pytest.approx(expected, rel=1e-6)


def test_rank_normalization_needs_no_scores():
    order = rl.Ranks.from_dict({"q": ["a", "b"]})
    assert fused("combsum", order, order, normalization="rank_norm") == {"a": 2.0, "b": 1.0}


def test_huge_scores_give_valid_ranks():
    huge = rl.Ranks([[0, 1]], [[3e38, 1e38]])
    got = rl.fuse([huge, huge], "rlsim", normalization="raw")
    rl.Ranks(got.items, got.scores, got.n_items)
    assert got.items.tolist()[0][:2] == [0, 1]


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("combsum", {"normalization": "minmax"}, "Unknown normalization 'minmax'"),
        ("combsum", {"normalization": "rank_norm", "constant": 0.0}, "'rank_norm' has no option 'constant'"),
        (
            "combsum",
            {"constant": float("nan")},
            "constant of the method 'combsum' must be a finite number or none; got nan.",
        ),
        (
            "combsum",
            {"constant": "one"},
            "constant of the method 'combsum' must be a finite number or none; got 'one'.",
        ),
        ("combsum", {"weights": 5}, "weights must be numbers of at least 0, one for each ranker (2); got 5."),
        ("combsum", {"normalization": 5}, "normalization of the method 'combsum' must be text; got 5."),
        ("combsum", {"depth": 0}, "depth must be a whole number, at least 1; got 0."),
        ("combsum", {"weights": "ab"}, "weights must be numbers of at least 0, one for each ranker (2); got 'ab'."),
        ("combsum", {"mode": "mean"}, "The method 'combsum' has no option 'mode'"),
        ("combmed", {"mode": "middle"}, "Unknown value of mode 'middle'; choose from mean, median."),
        (
            "rlsim",
            {"normalization": "z_score"},
            "rlsim multiplies values of at least 0; this normalization gives negative ones.",
        ),
    ],
)
def test_bad_options_raise(method, options, message):
    with pytest.raises(InputError) as caught:
        rl.fuse([A, B], method, **options)
    assert message in str(caught.value)


def test_ranks_without_scores_raise():
    with pytest.raises(InputError, match="Use rank_norm or borda_norm"):
        rl.fuse([rl.Ranks([[0, 1]]), rl.Ranks([[1, 0]])], "combsum")


def test_scores_are_rounded_before_they_are_compared():
    """0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 in binary; the items tie all the same."""
    lists = [{"q": {"z": 1.0, "a": x, "b": y, "y": 0.0}} for x, y in ((0.1, 0.3), (0.2, 0.2), (0.3, 0.1))]
    ranks = [rl.Ranks.from_dict(one) for one in lists]
    got = rl.fuse([ranks[2], ranks[1], ranks[0]], "combsum").to_dict()["q"]
    assert list(got) == ["z", "a", "b", "y"]
    assert np.float32(got["a"]) == np.float32(got["b"])
