"""Vectors are searched exactly: any part of the lists has the same bits, however it is computed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from rankloom.errors import InputError
from rankloom.ranks import vector_space
from rankloom.ranks.vector_space import METRICS, VectorSpace, city_block, sparse_city_block
from strategies import examples


def space(vectors, metric):
    return VectorSpace.of(vectors, METRICS[metric])


def plain(x, q, metric, own=None):
    """Return the lists of all items and their costs: exact costs one by one, rounded to float32, sorted."""
    left, right = space(q, metric).prepared(), space(x, metric).prepared()
    cost = np.array([METRICS[metric].exact(row, right) for row in left]).astype(np.float32).reshape(len(q), len(x))
    own = np.full(len(q), -1) if own is None else own
    order = [
        sorted(range(len(x)), key=lambda i, row=row, me=me: (row[i], i != me, i))
        for row, me in zip(cost, own, strict=True)
    ]
    return order, cost


@st.composite
def tables(draw, max_size=30):
    """Vectors with copies, multiples and zeros, in one of the dtypes."""
    d, n = draw(st.integers(1, 5)), draw(st.integers(1, max_size))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    kind = draw(st.sampled_from(["whole", "noisy", "sparse", "far"]))
    x = rng.integers(-2, 3, (n, d)).astype(float)
    x = {"whole": x, "noisy": x + rng.normal(size=(n, d)), "sparse": x * (x > 1), "far": 1000 + x / 1000}[kind]
    return x[rng.integers(0, n, n)].astype(draw(st.sampled_from([np.float32, np.float64])))


@pytest.mark.parametrize("metric", METRICS)
@examples(60)
@given(x=tables(), data=st.data())
def test_lists_equal_a_plain_sort_of_exact_costs(metric, x, data):
    depth = data.draw(st.integers(1, 35))
    rows = np.array(data.draw(st.lists(st.integers(0, len(x) - 1), min_size=1, max_size=40)))
    items, cost = space(x, metric).neighbors(space(x[rows], metric), depth, own=rows)
    order, costs = plain(x, x[rows], metric, rows)
    assert items.tolist() == [row[:depth] for row in order]
    np.testing.assert_array_equal(cost, np.take_along_axis(costs, items.astype(int), axis=1))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_and_many_queries_have_the_same_bits(metric, dtype, monkeypatch):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 30)).astype(dtype)
    x[50:90] = x[10]
    whole = space(x, metric)
    monkeypatch.setattr(vector_space, "MAX_BATCH", 100)  # all by products in float64, few in float32
    items, cost = whole.neighbors(whole, 25, own=np.arange(400))
    for start, stop in ((0, 1), (12, 20), (60, 76)):
        rows = np.arange(start, stop)
        some, costs = whole.neighbors(whole.subset(rows), 25, own=rows)
        assert some.tobytes() == items[start:stop].tobytes()
        assert costs.tobytes() == cost[start:stop].tobytes()


@pytest.mark.parametrize("metric", METRICS)
@examples(60)
@given(x=tables(), data=st.data())
def test_among_some_vectors_lists_are_filtered(metric, x, data):
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(x), max_size=len(x))))
    depth, n_rows = data.draw(st.integers(1, 35)), data.draw(st.integers(1, 20))
    rows, among = np.resize(np.arange(len(x)), n_rows), np.flatnonzero(mask)
    items, _ = space(x, metric).neighbors(space(x[rows], metric), depth, own=rows, among=among)
    order, _ = plain(x, x[rows], metric, rows)
    assert items.tolist() == [[item for item in row if mask[item]][:depth] for row in order]


@pytest.mark.parametrize("metric", METRICS)
@examples(60)
@given(x=tables(), data=st.data())
def test_ceilings_leave_out_what_is_above(metric, x, data):
    rows = np.resize(np.arange(len(x)), data.draw(st.integers(1, 20)))
    order, costs = plain(x, x[rows], metric, rows)
    places = data.draw(st.lists(st.integers(0, len(x) - 1), min_size=len(rows), max_size=len(rows)))
    ceilings = np.array([cost[row[place]] for cost, row, place in zip(costs, order, places, strict=True)])
    items, found = space(x, metric).neighbors(space(x[rows], metric), 9, own=rows, ceilings=ceilings)
    for row, (expected, cost) in enumerate(zip(order, costs, strict=True)):
        kept = [item for item in expected if cost[item] <= ceilings[row]][:9]
        assert items[row].tolist() == kept + [-1] * (items.shape[1] - len(kept))
        assert found[row].tolist() == cost[kept].tolist() + [0] * (items.shape[1] - len(kept))


@pytest.mark.parametrize("metric", METRICS)
def test_the_error_of_float32_is_within_the_tolerance(metric):
    rng = np.random.default_rng(2)
    x, q = rng.normal(size=(300, 200)).astype(np.float32) + 3, rng.normal(size=(16, 200)) + 3
    items, queries = space(x, metric), space(q, metric)
    search = items._search(queries, None)
    out = np.empty((16, 300), search.dtype)
    search.costs(0, 16, out)
    if metric == "l1":
        assert search.refinement is None
        return
    assert search.dtype is np.float32
    exact = items._by_double(queries, None)
    double = np.empty((16, 300))
    exact.costs(0, 16, double)
    error = np.abs(out - double).max(axis=1)
    assert (error < search.refinement.tolerance).all()
    assert error.max() > exact.refinement.tolerance.max()


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
def test_exact_costs_are_computed_for_few_of_many_ties(metric, monkeypatch):
    # All vectors are equal: the cost of each could be off by the tolerance, but only the first ones count.
    rng = np.random.default_rng(3)
    x = np.tile(rng.normal(size=50), (2000, 1))
    counted = []

    def exact(q, rows):
        counted.append(len(rows))
        return METRICS[metric].exact(q, rows)

    one = VectorSpace.of(x, METRICS[metric]._replace(exact=exact))
    items, _ = one.neighbors(one, 10, own=np.arange(2000))
    assert items[1500].tolist() == [1500, *range(9)]
    assert sum(counted) <= 10 * 2000


def test_vectors_beyond_float32_are_compared_in_float64():
    x = np.array([[1e30], [3e30], [-2e30]])
    assert space(x, "l2").neighbors(space(x[:1], "l2"), 3)[0].tolist() == [[0, 1, 2]]
    tiny = np.array([[1e-30], [3e-30], [-2e-30]])
    assert space(tiny, "l2").neighbors(space(tiny[:1], "l2"), 3)[0].tolist() == [[0, 1, 2]]
    assert space(tiny, "cosine").neighbors(space(tiny[:1], "cosine"), 3)[1].tolist() == [[-1, -1, 1]]


def test_parts_and_joined_spaces_equal_new_ones():
    x = np.random.default_rng(4).normal(size=(20, 3))
    whole, some = space(x, "cosine"), np.array([7, 2, 11])
    joined = whole.subset(np.arange(12)).joined(space(x[12:], "cosine"))
    for one, other in ((whole.subset(some), space(x[some], "cosine")), (joined, whole)):
        for name, array in other.arrays().items():
            assert one.arrays()[name].tobytes() == array.tobytes()
    empty = space(np.empty((0, 0)), "cosine")
    assert len(empty.joined(whole)) == 20
    with pytest.raises(InputError, match="the new vectors and vectors must have the same length; got 2 and 3"):
        whole.joined(space(x[:, :2], "cosine"))


def test_restored_spaces_have_consistent_arrays():
    whole = space(np.eye(3), "l2")
    again = VectorSpace.restored(whole.arrays(), METRICS["l2"])
    assert again.neighbors(again, 2)[0].tolist() == whole.neighbors(whole, 2)[0].tolist()
    with pytest.raises(InputError, match="a length and a count for each row"):
        VectorSpace.restored({**whole.arrays(), "lengths": np.ones(2)}, METRICS["l2"])
    with pytest.raises(InputError, match="must be a matrix of vectors"):
        VectorSpace.restored({}, METRICS["l2"])


def test_sparse_l1_has_the_same_bits():
    rng = np.random.default_rng(3)
    items = rng.random((40, 2000)) * (rng.random((40, 2000)) < 0.05)
    items[7] = 0
    items[:, :500] = 0
    queries = rng.normal(size=(5, 2000))  # dense, and also negative
    for rows in (items, queries):
        assert np.array_equal(city_block(rows, items), cdist(rows, items, "cityblock"))
        assert np.array_equal(sparse_city_block(rows, items), cdist(rows, items, "cityblock"))
