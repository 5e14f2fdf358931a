"""Distances between descriptors: worked examples, plain sums, scipy, and properties of all distances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance

from rankloom import Ranks
from rankloom.errors import InputError
from rankloom.rankers.vectors.distances import DISTANCES, d1, match

tables = arrays(np.float64, st.tuples(st.integers(1, 6), st.just(5)), elements=st.floats(0, 100))


def test_d1_is_relative():
    # |0 - 1| / (1 + 0 + 1) + |2 - 5| / (1 + 2 + 5)
    assert d1([[0, 2]], [[1, 5]]).tolist() == [[1 / 2 + 3 / 8]]


def test_d1_equals_a_plain_sum():
    x, y = np.random.default_rng(0).random((2, 7, 4))
    expected = [[sum(abs(a - b) / (1 + a + b) for a, b in zip(p, q, strict=True)) for q in y] for p in x]
    np.testing.assert_allclose(d1(x, y), expected)


def test_match_is_the_distance_that_contents_move():
    # Half moves by 1 and half by 2.
    assert match([[1, 0, 0]], [[0, 0.5, 0.5]]).tolist() == [[0.5 * 1 + 0.5 * 2]]


def test_match_is_l1_of_cumulative_histograms_and_the_earth_movers_distance():
    x, y = np.random.default_rng(1).dirichlet(np.ones(8), (2, 5))
    np.testing.assert_allclose(match(x, y), cdist(x.cumsum(1), y.cumsum(1), "cityblock"))
    bins = np.arange(8)
    expected = [[wasserstein_distance(bins, bins, p, q) for q in y] for p in x]
    np.testing.assert_allclose(match(x, y), expected)


@pytest.mark.parametrize("name", DISTANCES)
@given(x=tables, y=tables)
def test_distances_are_symmetric_and_zero_for_equal_rows(name, x, y):
    distance = DISTANCES[name]
    assert (distance(x, y) == distance(y, x).T).all()
    assert (np.diag(distance(x, x)) == 0).all()
    assert (distance(x, y) >= 0).all()
    assert distance(x, y).shape == (len(x), len(y))


@pytest.mark.parametrize("name", DISTANCES)
@given(x=tables)
def test_bits_do_not_depend_on_other_rows(name, x):
    distance = DISTANCES[name]
    assert (distance(x[:1], x)[0] == distance(x, x)[0]).all()


@pytest.mark.parametrize("name", DISTANCES)
def test_distances_accept_any_dtype_and_give_ranks(name):
    x = np.eye(3, dtype=np.uint8)
    distances = DISTANCES[name](x, x.astype(np.float32))
    assert distances.dtype == np.float64
    assert Ranks.from_distances(distances, kind="collection").items[:, 0].tolist() == [0, 1, 2]
    assert DISTANCES[name](np.empty((0, 4)), np.ones((2, 4))).shape == (0, 2)


@pytest.mark.parametrize("name", DISTANCES)
@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([[1.0]], [[1.0, 2.0]], "the same width; got 1 and 2"),
        ([1.0], [[1.0]], "x must be a 2-d array"),
        ([[1.0]], [["a"]], "y must be real numbers"),
        ([[1.0]], [[np.nan]], "y must be finite"),
    ],
)
def test_invalid_vectors_are_rejected(name, x, y, message):
    with pytest.raises(InputError, match=message):
        DISTANCES[name](x, y)


def test_d1_rejects_negative_numbers():
    with pytest.raises(InputError, match="non-negative numbers, such as probabilities; got -1"):
        d1([[0.0]], [[-1.0]])
