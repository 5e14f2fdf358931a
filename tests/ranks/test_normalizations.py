import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloom as rl
from rankloom.errors import InputError, UnknownNameError
from rankloom.ranks import PAD
from rankloom.ranks.normalizations import (
    NORMALIZATIONS,
    borda_norm,
    max_norm,
    min_max,
    rank_norm,
    raw,
    sum_norm,
    z_score,
)
from strategies import ranks as some_ranks

LIST = rl.Ranks([[4, 2, 0]], [[7.0, 4.0, 1.0]], n_items=5)
NEEDS_SCORES = ["min_max", "max_norm", "sum_norm", "z_score", "raw"]


@pytest.mark.parametrize(
    ("normalize", "expected"),
    [
        (min_max, [1, (4 - 1) / (7 - 1), 0]),
        (max_norm, [1, 4 / 7, 1 / 7]),
        (sum_norm, [6 / (6 + 3), 3 / (6 + 3), 0]),
        (z_score, [(7 - 4) / 6**0.5, 0, (1 - 4) / 6**0.5]),
        (rank_norm, [1, 1 - 1 / 3, 1 - 2 / 3]),
        (borda_norm, [1, 1 - 1 / 5, 1 - 2 / 5]),
        (raw, [7, 4, 1]),
    ],
)
def test_a_list_worked_by_hand(normalize, expected):
    assert normalize(LIST)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "one", "constant"),
    [
        ("min_max", 1.0, [1.0, 1.0]),
        ("max_norm", 1.0, [1.0, 1.0]),
        ("sum_norm", 1.0, [0.5, 0.5]),
        ("z_score", 0.0, [0.0, 0.0]),
        ("rank_norm", 1.0, [1.0, 0.5]),
        ("borda_norm", 1.0, [1.0, 0.75]),
        ("raw", 3.0, [3.0, 3.0]),
    ],
)
def test_empty_lists_single_items_and_equal_scores(name, one, constant):
    ranks = rl.Ranks([[-1, -1], [2, -1], [0, 1]], [[0.0, 0.0], [3.0, 0.0], [3.0, 3.0]], n_items=4)
    assert NORMALIZATIONS[name](ranks).tolist() == [[0.0, 0.0], [one, 0.0], constant]


@pytest.mark.parametrize("name", NORMALIZATIONS)
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (2, 0), (2, 3)])
def test_empty_ranks_stay_empty(name, shape):
    ranks = rl.Ranks(np.full(shape, PAD), np.zeros(shape), n_items=0)
    assert NORMALIZATIONS[name](ranks).tolist() == np.zeros(shape).tolist()


@pytest.mark.parametrize("normalize", [min_max, max_norm, z_score])
def test_the_value_of_a_list_of_equal_scores_is_an_option(normalize):
    ranks = rl.Ranks([[0, 1], [0, 1]], [[0.0, 0.0], [-2.0, -2.0]])
    assert normalize(ranks, constant=0.25).tolist() == [[0.25, 0.25], [0.25, 0.25]]


def test_max_norm_keeps_the_order_of_negative_scores():
    assert max_norm(rl.Ranks([[0, 1, 2]], [[0.0, -1.0, -4.0]])).tolist() == [[0.0, -0.25, -1.0]]


def test_borda_norm_takes_the_sizes_of_the_pools():
    assert borda_norm(LIST, pool=np.array([10])).tolist() == [[1.0, 0.9, 0.8]]


@pytest.mark.parametrize("name", NEEDS_SCORES)
def test_ranks_without_scores_raise(name):
    with pytest.raises(InputError, match=f"The normalization '{name}' needs scores"):
        NORMALIZATIONS[name](rl.Ranks([[0, 1]]))


@pytest.mark.parametrize("name", NORMALIZATIONS)
@given(st.data())
def test_normalizing_keeps_order_and_padding(name, data):
    ranks = data.draw(some_ranks(scores=True))
    values = NORMALIZATIONS[name](ranks)
    assert values.dtype == np.float64
    assert not values[ranks.items == PAD].any()
    rl.Ranks(ranks.items, values, ranks.n_items)  # finite and non-increasing


@given(some_ranks(scores=True))
def test_min_max_is_from_0_to_1_and_sum_norm_sums_to_1(ranks):
    assert ((min_max(ranks) >= 0) & (min_max(ranks) <= 1)).all()
    assert sum_norm(ranks).sum(axis=1) == pytest.approx((ranks.lengths() > 0).astype(float))


def test_an_unknown_normalization_raises():
    with pytest.raises(UnknownNameError, match="Did you mean 'min_max'"):
        NORMALIZATIONS["minmax"]
