import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from rankloom import Ranks
from rankloom.errors import InputError, UnknownNameError
from rankloom.ranks import nearest, vector_space
from rankloom.threads import running
from strategies import examples

METRICS = sorted(vector_space.METRICS)


def brute(vectors, queries, metric):
    """Return the costs of all pairs, computed one by one."""
    if metric == "l2":
        return np.array([[np.sqrt(np.sum((x - q) ** 2)) for x in vectors] for q in queries])
    if metric == "l1":
        return np.array([[np.sum(np.abs(x - q)) for x in vectors] for q in queries])
    if metric == "cosine":
        vectors, queries = (np.array([x / (np.linalg.norm(x) or 1.0) for x in table]) for table in (vectors, queries))
        return np.array([[-np.round(np.sum(x * q), 12) for x in vectors] for q in queries])
    return np.array([[-np.sum(x * q) for x in vectors] for q in queries])


def expected(costs, depth, own):
    """Return the items sorted by cost in float32; ties: the query itself, then the smaller number."""
    return [
        sorted(range(costs.shape[1]), key=lambda i, row=row, q=q: (row[i], not (own and i == q), i))[:depth]
        for q, row in enumerate(costs.astype(np.float32))
    ]


@st.composite
def vectors(draw, d=None, min_size=1):
    """Small whole numbers, for many ties and equal vectors, and sums that are exact in any order."""
    d = draw(st.integers(1, 4)) if d is None else d
    row = st.lists(st.integers(-2, 2), min_size=d, max_size=d)
    return np.array(draw(st.lists(row, min_size=min_size, max_size=12)), float).reshape(-1, d)


# Hand cases


def test_l2_by_hand():
    r = Ranks.from_vectors([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]], "l2")
    assert r.items.tolist() == [[0, 2, 1], [1, 2, 0], [2, 0, 1]]
    np.testing.assert_array_equal(r.scores[0], np.float32([0, -1, -np.sqrt(3**2 + 4**2)]))


def test_l1_by_hand():
    r = Ranks.from_vectors([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]], "l1")
    assert r.scores[0].tolist() == [0, -1, -(3 + 4)]


def test_dot_by_hand():
    r = Ranks.from_vectors([[1.0, 0.0], [2.0, 1.0]], "dot")
    assert r.items.tolist() == [[1, 0], [1, 0]]  # the item itself is not always first
    assert r.scores.tolist() == [[2, 1], [2 * 2 + 1 * 1, 2]]


def test_cosine_by_hand():
    r = Ranks.from_vectors([[1.0, 0.0], [1.0, 1.0], [-5.0, 0.0]], "cosine")
    assert r.items[0].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(r.scores[0], np.float32([1, np.sqrt(1 / 2), -1]))


def test_cosine_is_the_default():
    assert Ranks.from_vectors([[1.0, 2.0], [3.0, -1.0]]).scores[0, 0] == 1


# Ties


@pytest.mark.parametrize("metric", METRICS)
def test_equal_vectors_are_ranked_with_the_item_itself_first_then_by_number(metric):
    r = Ranks.from_vectors([[1.0, 2.0]] * 4, metric, depth=3)
    assert r.items.tolist() == [[0, 1, 2], [1, 0, 2], [2, 0, 1], [3, 0, 1]]


@given(vectors(min_size=2), st.lists(st.floats(0.01, 100), min_size=12, max_size=12))
def test_parallel_vectors_tie_under_cosine(x, lengths):
    r = Ranks.from_vectors(x[:1] * np.array(lengths)[:, None], "cosine")
    for i, row in enumerate(r.items.tolist()):
        assert row == [i, *(j for j in range(12) if j != i)]


def test_costs_that_are_equal_in_float32_tie():
    r = Ranks.from_distances([[2 + 2e-8, 2 + 1e-8, 2.0, 1.0]], kind="queries")
    assert r.items.tolist() == [[3, 0, 1, 2]]
    assert (
        r.head(2).items.tolist()
        == Ranks.from_distances([[2 + 2e-8, 2 + 1e-8, 2.0, 1.0]], 2, kind="queries").items.tolist()
    )


@given(
    st.lists(st.sampled_from([1.0, 1 + 2e-8, 1 + 4e-8, 1 + 6e-8, 1 + 9e-8, 1 + 2e-7, 2.0]), min_size=1, max_size=40),
    st.integers(1, 20),
)
def test_lists_are_cut_among_ties_in_float32(row, depth):
    found = Ranks.from_distances([row], depth, kind="queries")
    assert found.items.tolist() == expected(np.array([row]), depth, own=False)


def test_a_zero_vector_has_cosine_0_with_everything_and_comes_first_in_its_list():
    r = Ranks.from_vectors([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]], "cosine")
    assert r.items[1].tolist() == [1, 0, 2]
    assert r.scores[1].tolist() == [0, 0, 0]


# Against brute force


@pytest.mark.parametrize("metric", METRICS)
@given(x=vectors(), depth=st.integers(1, 14))
def test_neighbors_equal_brute_force(metric, x, depth):
    costs = brute(x, x, metric)
    r = Ranks.from_vectors(x, metric, depth)
    assert r.items.tolist() == expected(costs, depth, own=True)
    assert r.n_items == len(x)
    np.testing.assert_allclose(r.scores, -np.sort(costs, axis=1)[:, :depth], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("metric", METRICS)
@given(data=st.data(), depth=st.integers(1, 14))
def test_neighbors_of_external_queries_equal_brute_force(metric, data, depth):
    d = data.draw(st.integers(1, 4))
    x, q = data.draw(vectors(d)), data.draw(vectors(d, min_size=0))
    r = Ranks.from_vectors(x, metric, depth, queries=q)
    costs = brute(x, q, metric).reshape(len(q), len(x))
    assert r.items.tolist() == expected(costs, depth, own=False)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_exact_costs_of_close_vectors_far_from_zero_decide(metric, scale):
    # Cancellation leaves few correct digits of the approximate costs.
    rng = np.random.default_rng(5)
    x = (1000.0 + 1e-9 * rng.integers(0, 1000, (300, 3))) * scale
    if metric == "cosine":  # all parallel to 12 decimals
        x *= rng.choice([-1.0, 1.0], (300, 3))
    costs = np.array([vector_space.METRICS[metric].exact(q, v) for v in [normalized(x, metric)] for q in v])
    assert Ranks.from_vectors(x, metric, depth=7).items.tolist() == expected(costs, 7, own=True)


def normalized(x, metric):
    if metric != "cosine":
        return x
    x = x / np.abs(x).max(1, keepdims=True)
    return x / np.sqrt((x * x).sum(1, keepdims=True))


@pytest.mark.parametrize(("metric", "scipy_metric"), [("l2", "euclidean"), ("l1", "cityblock"), ("cosine", "cosine")])
def test_scores_equal_the_distances_of_scipy(metric, scipy_metric):
    x = np.random.default_rng(0).normal(size=(200, 5))
    r = Ranks.from_vectors(x, metric, depth=20)
    distances = cdist(x, x, scipy_metric) - (metric == "cosine")  # 1 - cosine
    picked = np.take_along_axis(distances, r.items.astype(int), axis=1)
    np.testing.assert_allclose(-r.scores, picked, rtol=1e-6, atol=1e-7)
    order = np.argsort(distances.astype(np.float32), axis=1, kind="stable")
    np.testing.assert_array_equal(r.items, order[:, :20])


# Blocks and memory


@pytest.mark.parametrize("metric", METRICS)
@examples(25)
@given(seed=st.integers(0, 999), depth=st.integers(1, 40), rows=st.integers(1, 60))
def test_blocks_and_threads_do_not_change_a_bit(metric, seed, depth, rows):
    x = np.random.default_rng(seed).normal(size=(50, 7)).round(1)
    whole = Ranks.from_vectors(x, metric, depth)
    with pytest.MonkeyPatch.context() as patch, running(threads=3):
        patch.setattr(nearest, "BLOCK_BYTES", rows * 8 * len(x))
        parts = Ranks.from_vectors(x, metric, depth)
    assert parts.items.tobytes() == whole.items.tobytes()
    assert parts.scores.tobytes() == whole.scores.tobytes()


@pytest.mark.long
def test_memory_is_far_below_an_array_of_all_pairs():
    n = 20_000
    x = np.random.default_rng(1).normal(size=(n, 8))
    tracemalloc.start()
    Ranks.from_vectors(x, "l2", depth=20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n * 8 / 40  # 80 MB; an array of all pairs needs 3,200 MB


def test_a_memory_map_is_read_in_blocks(tmp_path, monkeypatch):
    n = 2_000
    monkeypatch.setattr(nearest, "BLOCK_BYTES", 1 << 20)
    on_disk = np.lib.format.open_memmap(tmp_path / "d.npy", "w+", np.float32, (n, n))
    on_disk[:] = np.abs(np.arange(n)[:, None] - np.arange(n))
    on_disk.flush()
    table = np.load(tmp_path / "d.npy", mmap_mode="r")
    tracemalloc.start()
    r = Ranks.from_distances(table, depth=3, kind="collection")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * (1 << 20)  # the matrix is 16 MB in float32, 32 in float64
    assert r.items[5].tolist() == [5, 4, 6]


# Empty and invalid input


@pytest.mark.parametrize("metric", METRICS)
def test_vectors_queries_and_dimensions_may_be_empty(metric):
    assert Ranks.from_vectors(np.empty((0, 3)), metric).items.shape == (0, 0)
    assert Ranks.from_vectors(np.empty((4, 3)) * 0, metric, queries=np.empty((0, 3))).items.shape == (0, 4)
    assert Ranks.from_vectors(np.empty((0, 3)), metric, queries=np.zeros((2, 3))).items.shape == (2, 0)
    assert Ranks.from_vectors(np.empty((2, 0)), metric).items.tolist() == [[0, 1], [1, 0]]


def test_boolean_and_integer_vectors_are_accepted():
    bits = np.array([[True, False], [True, True], [False, False]])
    for x in (bits, bits.astype(np.uint8), bits.astype(np.float32)):
        assert Ranks.from_vectors(x, "l1").items[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_cosine_does_not_depend_on_the_scale(scale):
    x = np.array([[1.0, 2.0], [-3.0, 1.0], [2.0, 2.0]])
    assert Ranks.from_vectors(x * scale).items.tolist() == Ranks.from_vectors(x).items.tolist()


WRONG = {
    "NaN": ([[0.0], [np.nan]], {}, r"^vectors must be finite; row 1 has nan at column 0\.$"),
    "infinity": ([[np.inf]], {}, "row 0 has inf at column 0"),
    "NaN in queries": ([[0.0]], {"queries": [[np.nan]]}, "^queries must be finite; row 0 has nan"),
    "other dimensions": (
        [[0.0]],
        {"queries": [[0.0, 1.0]]},
        "^queries and vectors must have the same length; got 2 and 1",
    ),
    "1-d": ([0.0, 1.0], {}, "^vectors must be a 2-d array"),
    "1-d queries": ([[0.0]], {"queries": [0.0]}, "^queries must be a 2-d array"),
    "3-d": ([[[0.0]]], {}, "got 3 dimensions"),
    "ragged": ([[0.0], [1.0, 2.0]], {}, "rows of different lengths"),
    "strings": ([["a"]], {}, "vectors must be real numbers; got <U1"),
    "complex": ([[1j]], {}, "vectors must be real numbers; got complex128"),
    "too large to square": (
        [[1e200], [0.0]],
        {"metric": "l2"},
        r"below 1e100 in absolute value; got 1e\+200\. Scale them down",
    ),
    "scores beyond float32": ([[1e60], [0.0]], {"metric": "dot"}, "Row 0 has the score inf; .*float32"),
}


@pytest.mark.parametrize(("x", "options", "message"), WRONG.values(), ids=WRONG)
def test_invalid_vectors_are_errors(x, options, message):
    with pytest.raises(InputError, match=message):
        Ranks.from_vectors(x, **options)


def test_an_unknown_metric_is_an_error_that_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match=r"Unknown metric 'cosin'; choose from cosine, dot, l1, l2\. Did you"):
        Ranks.from_vectors([[0.0]], "cosin")
