"""Methods that use positions, worked by hand."""

import numpy as np
import pytest

import rankloom as rl
from rankloom.errors import InputError

A = rl.Ranks.from_dict({"q": ["a", "b", "c", "d"]})
B = rl.Ranks.from_dict({"q": ["e", "a", "d"]})


def fused(method, *ranks, k=10, **options):
    return rl.fuse(ranks or (A, B), method, k, **options).to_dict()["q"]


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ("positions", {"a": 4 + 2, "b": 3, "e": 3, "c": 2, "d": 1 + 1}),
        ("below", {"a": 3 + 1, "b": 2, "e": 2, "c": 1, "d": 0 + 0}),
        # Five items: list A leaves 5 - 4 = 1 point to one absent item, list B leaves 2 and 1 to two.
        ("pool", {"a": 5 + 4, "e": 1 + 5, "b": 4 + 1.5, "d": 2 + 3, "c": 3 + 1.5}),
    ],
)
def test_borda_points(points, expected):
    got = fused("borda", points=points)
    assert got == expected
    assert list(got) == list(expected)


def test_borda_takes_weights_and_depth():
    assert fused("borda", weights=[1, 10]) == {"e": 30, "a": 4 + 20, "d": 1 + 10, "b": 3, "c": 2}
    assert fused("borda", depth=2) == {"a": 2 + 1, "e": 2, "b": 1}


def test_rrf_takes_a_depth():
    assert list(fused("rrf", depth=1)) == ["a", "e"]


def test_mra_of_two_rankers_needs_both_lists():
    """Read: a e, b a (output a), c d, d (output d); then b, c and e as first seen: e, b, c."""
    got = fused("mra")
    assert got == {"a": -1, "d": -2, "e": -3, "b": -4, "c": -5}
    assert list(got) == ["a", "d", "e", "b", "c"]


def test_mra_of_three_rankers_needs_two_lists():
    """Read: a e b, b (output) a (output) d, c d (output) f, d."""
    third = rl.Ranks.from_dict({"q": ["b", "d", "f"]})
    assert list(fused("mra", A, B, third)) == ["b", "a", "d", "e", "c", "f"]


def test_mra_takes_weights():
    """Ranker 1 alone has more than half of the weight: its list comes first, then the other items."""
    assert list(fused("mra", weights=[3, 1])) == ["a", "b", "c", "d", "e"]


def test_mra_ignores_rankers_without_a_list():
    empty = rl.Ranks.from_dict({"q": []})
    assert fused("mra", empty, A, empty, B, empty) == fused("mra")


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        (
            "borda",
            {"points": "belo"},
            "Unknown value of points 'belo'; choose from below, pool, positions. Did you mean 'below'?",
        ),
        ("borda", {"depth": 1.5}, "depth of the method 'borda' must be a whole number or none; got 1.5."),
        ("mra", {"points": "pool"}, "The method 'mra' has no option 'points'; it has ties, depth, weights."),
        (
            "mra",
            {"weights": [1, 2, 3]},
            "weights must be numbers of at least 0, one for each ranker (2); got [1, 2, 3].",
        ),
    ],
)
def test_bad_options_raise(method, options, message):
    with pytest.raises(InputError) as caught:
        rl.fuse([A, B], method, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("method", "of_both", "of_one"),
    [
        ("isr", 2 * (1 / 1 + 1 / 9), 1 / 4),
        ("log_isr", np.log(2) * (1 / 1 + 1 / 9), 0.0),
        ("logn_isr(sigma=0.5)", np.log(2.5) * (1 / 1 + 1 / 9), np.log(1.5) / 4),
        ("rbc(persistence=0.8)", 0.2 + 0.2 * 0.8**2, 0.2 * 0.8),
    ],
)
def test_inverse_squares_and_centroids(method, of_both, of_one):
    """Item 0 is first and third, item 1 second in one list."""
    fused = rl.fuse([rl.Ranks([[0, 1]], n_items=5), rl.Ranks([[2, 3, 0]], n_items=5)], method).to_dict()["0"]
    assert fused["0"] == pytest.approx(of_both)
    assert fused["1"] == pytest.approx(of_one)


@pytest.mark.parametrize("method", ["isr", "log_isr", "logn_isr"])
def test_a_ranker_of_weight_0_does_not_count(method):
    ranks = [rl.Ranks([[0, 1]], n_items=3), rl.Ranks([[1, 2]], n_items=3)]
    alone = rl.fuse(ranks[:1], method, 3).to_dict()["0"]
    assert rl.fuse(ranks, method, 3, weights=[1, 0]).to_dict()["0"] == {**alone, "2": 0.0}
