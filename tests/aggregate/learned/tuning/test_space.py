import numpy as np
import pytest

from rankloom.aggregate.learned.tuning.space import Choices, Simplex, make_space
from rankloom.errors import InputError


def test_a_grid_of_weights_has_every_combination_once():
    weights = list(Simplex(3, 10))
    assert len(weights) == len(set(weights)) == len(Simplex(3, 10)) == 66
    assert all(round(sum(one), 9) == 1 for one in weights)
    assert weights[0] == (0.0, 0.0, 1.0)
    assert (0.1, 0.2, 0.7) in weights  # whose float sum is below 1


@pytest.mark.parametrize("dimension", [Simplex(4, 10), Choices(tuple(range(30))), Choices(("a", "b", "c"))])
def test_points_drawn_or_nearby_are_in_the_space(dimension):
    random = np.random.default_rng(0)
    for _ in range(50):
        value = dimension.near(dimension.draw(random), random)
        if isinstance(dimension, Choices):
            assert value in dimension.values
        else:
            assert len(value) == 4
            assert sum(value) == pytest.approx(1, abs=0.01)
            assert min(value) >= 0


def test_numbers_have_one_feature_and_names_one_each():
    assert Choices((1, 2, 4)).features(2) == [0.5]
    assert Choices(("a", "b", "c")).features("b") == [0.0, 1.0, 0.0]


def test_the_default_space_of_a_method():
    assert len(make_space("rrf", ["constant", "weights"], None, 2, 0.1)) == 10
    assert len(make_space("combsum", ["weights"], None, 2, 0.1)) == 11


def test_options_combine():
    space = make_space("rrf", ["constant", "weights"], {"constant": np.array([1, 60]), "weights": "simplex"}, 2, 0.5)
    assert list(space)[:2] == [{"constant": 1, "weights": (0.0, 1.0)}, {"constant": 1, "weights": (0.5, 0.5)}]
    assert type(next(iter(space))["constant"]) is int
    assert len(space) == 6


@pytest.mark.parametrize(
    ("values", "step", "message"),
    [
        (
            None,
            0.1,
            "Say what to search, as in space={'depth': [10, 100]}; the method 'combmin' has the options depth.",
        ),
        ({"weight": [1]}, 0.1, "The method 'combmin' has no option 'weight'; it has depth."),
        ({"depth": []}, 0.1, "The values of depth must be a list of at least one; got []."),
        ({"depth": "10"}, 0.1, "The values of depth must be a list of at least one; got '10'."),
    ],
)
def test_a_bad_space_raises(values, step, message):
    with pytest.raises(InputError) as caught:
        make_space("combmin", ["depth"], values, 2, step)
    assert message in str(caught.value)


@pytest.mark.parametrize("step", [0, 0.3, 2, "x"])
def test_a_step_divides_1(step):
    with pytest.raises(InputError, match="step must divide 1"):
        make_space("combsum", ["weights"], None, 2, step)
