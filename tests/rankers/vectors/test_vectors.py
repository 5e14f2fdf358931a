import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloom as rl
from rankloom.datasets import Collection
from rankloom.errors import InputError, RankloomWarning, UnknownNameError
from rankloom.io.cache import Cache
from rankloom.rankers import RANKERS, Vectors, is_updatable, rank_collection
from rankloom.ranks import approximate
from rankloom.threads import running
from strategies import examples

METRICS = ["cosine", "dot", "l1", "l2"]


@st.composite
def tables(draw):
    """Vectors with copies, zeros and ties; float32 or float64."""
    d, n = draw(st.integers(1, 4)), draw(st.integers(1, 20))
    row = st.lists(st.integers(-2, 2), min_size=d, max_size=d)
    x = np.array(draw(st.lists(row, min_size=n, max_size=n)), draw(st.sampled_from([np.float32, np.float64])))
    return x * draw(st.sampled_from([1, 0.1])) + draw(st.sampled_from([0, 3]))


def same(one, other):
    return (one.items.tobytes(), one.scores.tobytes()) == (other.items.tobytes(), other.scores.tobytes())


@pytest.mark.parametrize("metric", METRICS)
def test_lists_equal_ranks_from_vectors(metric):
    vectors = np.random.default_rng(1).normal(size=(40, 3))
    fitted = RANKERS["vectors"](part="x", metric=metric).fit(vectors)
    assert is_updatable(fitted)
    assert same(fitted.rank(depth=5), rl.Ranks.from_vectors(vectors, metric, 5))
    queries = vectors[:3] + 0.1
    assert same(fitted.rank(queries=queries, depth=5), rl.Ranks.from_vectors(vectors, metric, 5, queries=queries))


def of_any_metric(test):
    """Run a test with every metric, for random vectors."""
    return pytest.mark.parametrize("metric", METRICS)(examples(50)(given(x=tables(), data=st.data())(test)))


@of_any_metric
def test_lists_of_some_items_among_others_are_filtered(metric, x, data):
    fitted, n = Vectors(metric=metric).fit(x), len(x)
    full = fitted.rank(depth=n)
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=20)), int)
    among = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    depth = data.draw(st.integers(1, n))
    found = fitted.rank_items(rows, depth=depth, among=among)
    assert found.n_items == n
    for row, number in enumerate(rows):
        kept = [place for place, item in enumerate(full.items[number]) if item in among][:depth]
        assert found.items[row].tolist() == full.items[number, kept].tolist()
        assert found.scores[row].tobytes() == full.scores[number, kept].tobytes()
    assert same(fitted.rank_items(rows, depth=depth), full.rows(rows).head(depth)) or not rows.size


@of_any_metric
def test_items_below_a_floor_are_left_out(metric, x, data):
    fitted, n = Vectors(metric=metric).fit(x), len(x)
    full = fitted.rank(depth=n)
    floors = full.scores[np.arange(n), data.draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))]
    found = fitted.rank_items(np.arange(n), depth=n, floors=floors)
    for row in range(n):
        kept = full.scores[row] >= floors[row]
        assert found.items[row, : kept.sum()].tolist() == full.items[row, kept].tolist()
        assert (found.items[row, kept.sum() :] == -1).all()


@of_any_metric
def test_updates_equal_a_fresh_fit(metric, x, data):
    ranker, n = Vectors(metric=metric), len(x)
    first = data.draw(st.integers(1, n))
    numbers = np.array(data.draw(st.permutations(range(n))))[: data.draw(st.integers(1, n))]
    updated = ranker.fit(x[:first]).appended(x[first:]) if first < n else ranker.fit(x)
    assert same(updated.rank(), ranker.fit(x).rank())
    assert same(updated.subset(numbers).rank(), ranker.fit(x[numbers]).rank())


@of_any_metric
def test_allowed_items_are_ranked_as_alone(metric, x, data):
    fitted, n = Vectors(metric=metric).fit(x), len(x)
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    queries, depth = x[: data.draw(st.integers(1, 20))] * 1.5, data.draw(st.integers(1, n))
    found = fitted.rank(queries=queries, depth=depth, allowed=allowed)
    numbers = np.flatnonzero(allowed)
    alone = rl.Ranks.from_vectors(x[numbers].reshape(-1, x.shape[1]), metric, depth, queries=queries)
    assert found.items.tolist() == numbers[alone.items].tolist()
    assert found.scores.tobytes() == alone.scores.tobytes()


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64])
def test_restored_vectors_have_the_same_bits(dtype):
    x = np.random.default_rng(3).integers(0, 9, (30, 4)).astype(dtype)
    ranker = Vectors()
    fitted = ranker.fit(x)
    arrays = fitted.arrays()
    assert arrays["vectors"].dtype == dtype
    assert same(ranker.restored(arrays).rank(), fitted.rank())
    assert same(ranker.restored(arrays).rank_vectors(x[:2] + 1), fitted.rank_vectors(x[:2] + 1))


def test_bits_do_not_depend_on_other_queries_or_blocks(monkeypatch):
    rng = np.random.default_rng(4)
    x, queries = rng.normal(size=(300, 40)), rng.normal(size=(60, 40))
    fitted = Vectors().fit(x)
    whole = fitted.rank(queries=queries, depth=30)
    for count in (1, 7, 33):
        assert same(fitted.rank(queries=queries[:count], depth=30), whole.rows(slice(count)))
    monkeypatch.setattr("rankloom.ranks.nearest.BLOCK_BYTES", 8 * 300 * 5)
    assert same(fitted.rank(queries=queries, depth=30), whole)


def test_invalid_masks_are_rejected():
    fitted = Vectors().fit(np.eye(3))
    with pytest.raises(InputError, match=r"a boolean for each of 3 items; got int64 \(3,\)"):
        fitted.rank(queries=np.eye(3), allowed=np.array([0, 1, 2]))
    with pytest.raises(InputError, match="allowed is for external queries"):
        fitted.rank(allowed=np.ones(3, bool))


@pytest.mark.parametrize("metric", METRICS)
def test_progress_counts_compared_vectors(metric, monkeypatch):
    monkeypatch.setattr("rankloom.ranks.nearest.BLOCK_BYTES", 8 * 5 * 2)  # two of five rows at a time
    monkeypatch.setattr("rankloom.ranks.vector_space.MAX_BATCH", 0)  # in float64
    steps = []
    with running(progress=lambda *step: steps.append(step)):
        Vectors(metric=metric).fit(np.eye(5)).rank()
    assert steps == [("Comparing vectors", done, 5) for done in (2, 4, 5)]


def test_scores_beyond_float32_are_rejected():
    with pytest.raises(InputError, match="Row 0 has a score that float32 cannot hold; scale the vectors down"):
        Vectors(metric="dot").fit([[1e60], [0.0]]).rank()


def test_external_queries_are_ranked():
    fitted = Vectors(metric="l2").fit([[0.0], [5.0], [1.0]])
    assert fitted.rank(queries=[[4.0]], depth=2).items.tolist() == [[1, 2]]


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
def test_faiss_finds_the_same_neighbors(metric):
    pytest.importorskip("faiss")
    rng = np.random.default_rng(2)
    vectors, queries = rng.normal(size=(300, 8)), rng.normal(size=(5, 8))
    exact, fast = Vectors(metric=metric).fit(vectors), Vectors(metric=metric, algorithm="faiss").fit(vectors)
    for rows in (None, queries):
        expected, found = exact.rank(queries=rows, depth=20), fast.rank(queries=rows, depth=20)
        assert (expected.items == found.items).mean() > 0.99  # scores that differ in the last bit swap positions
        np.testing.assert_allclose(found.scores, expected.scores, atol=1e-5)


def test_faiss_orders_ties_by_number_after_the_item_itself():
    pytest.importorskip("faiss")
    same = [[1.0, 0.0]] * 4
    found = Vectors(metric="l2", algorithm="faiss").fit(same).rank(depth=4)
    assert found.items.tolist() == [[0, 1, 2, 3], [1, 0, 2, 3], [2, 0, 1, 3], [3, 0, 1, 2]]


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
def test_faiss_includes_an_item_among_more_ties_than_depth(metric):
    pytest.importorskip("faiss")
    same = np.tile(np.random.default_rng(3).normal(size=7), (2000, 1))
    found = Vectors(metric=metric, algorithm="faiss").fit(same).rank(depth=5)
    assert (found.items == np.arange(2000)[:, None]).any(axis=1).all()


def test_faiss_omits_an_item_that_others_beat():
    pytest.importorskip("faiss")
    found = Vectors(metric="dot", algorithm="faiss").fit([[1.0], [2.0], [3.0]]).rank(depth=1)
    assert found.items.tolist() == [[2], [2], [2]]


@pytest.mark.parametrize("algorithm", ["hnsw", "ivf"])
@pytest.mark.parametrize("metric", ["cosine", "l2"])
@pytest.mark.parametrize("part", [250_000, 400])
def test_most_neighbors_are_found_with_exact_scores(algorithm, metric, part, monkeypatch):
    monkeypatch.setattr(approximate, "PART", part)
    pytest.importorskip("faiss")
    rng = np.random.default_rng(5)
    x = rng.normal(size=(20, 16))[rng.integers(0, 20, 1000)] + rng.normal(size=(1000, 16))
    x[500:520] = x[0]
    exact, fast = Vectors(metric=metric).fit(x), Vectors(metric=metric, algorithm=algorithm).fit(x)
    for queries in (None, rng.normal(size=(40, 16))):
        full, found = exact.rank(queries=queries, depth=1000), fast.rank(queries=queries, depth=20)
        near = (found.items[:, :10, None] == full.items[:, None, :10]).any(axis=2).mean()
        assert near > 0.95
        for row in range(0, found.n_queries, 97):
            scores = dict(zip(full.items[row].tolist(), full.scores[row].tolist(), strict=True))
            assert [scores[item] for item in found.items[row].tolist()] == found.scores[row].tolist()
    assert found.kind == "queries"
    assert fast.rank(depth=30).items[510, :3].tolist() == [510, 0, 500]
    assert 0.95 < found.recall <= 1
    assert (full.recall, fast.rank_items(np.arange(3), depth=5).recall) == (None, None)


@pytest.mark.parametrize("algorithm", ["hnsw", "ivf"])
def test_approximate_lists_are_the_same_for_any_number_of_threads(algorithm, monkeypatch):
    faiss = pytest.importorskip("faiss")
    monkeypatch.setattr(approximate, "PART", 600)
    x = np.random.default_rng(6).normal(size=(1500, 8))
    one = Vectors(algorithm=algorithm).fit(x).rank(depth=30)
    before = faiss.omp_get_max_threads()
    try:
        for threads in (1, 4):
            faiss.omp_set_num_threads(threads)
            assert same(one, Vectors(algorithm=algorithm).fit(x).rank(depth=30))
    finally:
        faiss.omp_set_num_threads(before)
    assert same(one, rl.Ranks.from_vectors(x, depth=30, algorithm=algorithm))


def test_updates_and_filters_of_hnsw_are_exact():
    pytest.importorskip("faiss")
    x = np.random.default_rng(7).normal(size=(300, 4))
    ranker, exact = Vectors(algorithm="hnsw"), Vectors().fit(x)
    fitted = ranker.fit(x[:200]).appended(x[200:])
    assert same(fitted.rank_items(np.arange(50), depth=9), exact.rank_items(np.arange(50), depth=9))
    allowed = np.arange(300) % 3 > 0
    assert same(fitted.rank_vectors(x[:2], allowed=allowed), exact.rank_vectors(x[:2], allowed=allowed))
    assert same(fitted.rank(depth=9), ranker.fit(x).rank(depth=9))
    assert same(ranker.restored(fitted.arrays()).rank(depth=9), fitted.rank(depth=9))


def test_low_recall_of_hnsw_is_a_warning(monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr(approximate, "LINKS", 2)
    monkeypatch.setattr(approximate, "BUILD_BEAM", 2)
    monkeypatch.setattr(approximate, "MIN_BEAM", 1)
    x = np.random.default_rng(8).normal(size=(3000, 64))
    with pytest.warns(RankloomWarning, match=r"hnsw finds only \d+% of the 10 nearest vectors"):
        Vectors(algorithm="hnsw").fit(x).rank(depth=5)


@pytest.mark.parametrize("algorithm", ["hnsw", "ivf"])
def test_approximate_algorithms_rank_few_items(algorithm):
    pytest.importorskip("faiss")
    assert Vectors(algorithm=algorithm).fit([[1.0]]).rank().items.tolist() == [[0]]
    assert Vectors(algorithm=algorithm).fit(np.empty((0, 2))).rank().items.shape == (0, 0)
    assert Vectors(algorithm=algorithm).fit(np.eye(2)).rank(queries=np.empty((0, 2))).items.shape == (0, 2)


def test_recall_is_the_share_of_nearest_items_that_are_found(monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr(approximate, "MIN_PROBES", 1)
    monkeypatch.setattr(approximate, "MIN_RECALL", 0.0)
    x = np.random.default_rng(11).normal(size=(200, 6))  # all of them are in the sample
    found, exact = (rl.Ranks.from_vectors(x, depth=10, algorithm=algorithm) for algorithm in ("ivf", "exact"))
    shared = [len(set(a) & set(b)) for a, b in zip(found.items.tolist(), exact.items.tolist(), strict=True)]
    assert found.recall == pytest.approx(sum(shared) / 2000)
    assert found.recall < 1
    assert f"recall={found.recall:.4g})" in repr(found)


def test_recall_stays_with_lists_from_the_cache(tmp_path):
    pytest.importorskip("faiss")
    x = np.random.default_rng(9).normal(size=(50, 3))
    some = Collection("some", rl.Ids(map(str, range(50))), {"vectors": x})
    for _ in range(2):
        ranking = rank_collection(some, ["vectors(algorithm=hnsw)", "vectors"], cache=Cache(tmp_path))
        assert ranking.lists["vectors(algorithm=hnsw)"].queries.recall == 1.0
        assert ranking.summary().endswith("vectors.\n  vectors(algorithm=hnsw): recall 100.0%.")


@pytest.mark.parametrize("algorithm", ["exact", "faiss", "hnsw", "ivf"])
def test_queries_of_another_length_are_rejected(algorithm):
    pytest.importorskip("faiss")
    with pytest.raises(InputError, match="queries and vectors must have the same length; got 3 and 2"):
        Vectors(algorithm=algorithm).fit(np.eye(2)).rank(queries=np.eye(3))


@pytest.mark.filterwarnings("ignore:.*has no ids")
def test_a_file_of_vectors_rejects_queries_by_id(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(2))
    fitted = Vectors(path=str(tmp_path / "x.npy")).fit(["a", "b"])
    with pytest.raises(InputError, match=r"x\.npy has no vectors of external queries; give their file as queries="):
        fitted.rank(queries=("q1", "q2"))
    assert fitted.rank(queries=[[0.0, 1.0]], depth=1).items.tolist() == [[1]]


def test_unsupported_options_are_rejected():
    with pytest.raises(InputError, match="algorithm=faiss supports cosine, dot and l2; got l1"):
        Vectors(metric="l1", algorithm="faiss")
    with pytest.raises(UnknownNameError, match="Did you mean 'faiss'"):
        Vectors(algorithm="fais")
    with pytest.raises(UnknownNameError, match="Unknown value of metric 'l3'"):
        Vectors(metric="l3")
    with pytest.raises(InputError, match="vectors must be finite; row 0 has nan"):
        Vectors().fit([[np.nan, 1.0]])


@pytest.mark.filterwarnings("ignore:.*has no ids")
def test_a_file_of_vectors_has_a_row_for_each_item(tmp_path):
    path = tmp_path / "embeddings.npy"
    np.save(path, np.array([[0.0], [5.0], [1.0]]))
    ranker = Vectors(path=str(path), metric="l2")
    assert ranker.part == "ids"
    assert ranker.fit(["a", "b", "c"]).rank(depth=2).items.tolist() == [[0, 2], [1, 2], [2, 0]]
    with pytest.raises(InputError, match="has no ids, so it must have a row for each of 2 items; got shape"):
        ranker.fit("ab")


def test_rows_of_a_file_are_matched_by_id(tmp_path):
    path = tmp_path / "embeddings.npz"
    np.savez(path, vectors=[[1.0], [9.0], [0.0], [5.0]], ids=["c", "other", "a", "b"])
    found = Vectors(path=str(path), metric="l2").fit(["a", "b", "c"]).rank(depth=2)
    assert found.items.tolist() == [[0, 2], [1, 2], [2, 0]]
    with pytest.raises(InputError, match="no row for the item 'z'"):
        Vectors(path=str(path)).fit(["a", "z"])


def test_queries_of_a_file_are_matched_by_id(tmp_path):
    np.savez(tmp_path / "x.npz", vectors=[[0.0], [9.0], [5.0]], ids=["a", "b", "c"])
    np.savez(tmp_path / "q.npz", vectors=[[8.0], [1.0]], ids=["q1", "q2"])
    ranker = Vectors(path=tmp_path / "x.npz", queries=tmp_path / "q.npz", metric="l2")
    fitted = ranker.fit(("a", "b", "c"))
    assert fitted.rank(queries=("q2", "q1", "q2"), depth=1).items.tolist() == [[0], [1], [0]]
    assert fitted.rank(queries=[[4.0]], depth=1).items.tolist() == [[2]]  # a vector
    with pytest.raises(InputError, match=r"q\.npz has no row for the query 'q3' \(1 missing\); it has 'q1', 'q2'"):
        fitted.rank(queries=("q1", "q3"))


def test_one_file_may_have_the_vectors_of_items_and_queries(tmp_path):
    path, texts = tmp_path / "both.npz", {"q2": [1.0], "q1": [8.0]}
    np.savez(path, E=[[0.0], [9.0], [5.0]], Q=list(texts.values()), E_ids=["a", "b", "c"])
    (tmp_path / "queries.txt").write_text("q2\nq1\n")
    options = {"path": path, "key": "E", "queries": path, "queries_key": "Q", "metric": "l2"}
    with pytest.warns(RankloomWarning, match=r"both\.npz has no ids: .* in the order of the queries"):
        found = Vectors(**options).fit(("c", "a")).rank(queries=("q2", "q1"), depth=1)
    assert found.items.tolist() == [[1], [0]]
    fitted = Vectors(**options, queries_list_file=tmp_path / "queries.txt").fit(("c", "a"))
    assert fitted.rank(queries=("q1",), depth=1).items.tolist() == [[0]]
    with pytest.raises(InputError, match="has no ids, so it must have a row for each of 1 queries"):
        Vectors(**options).fit(("c", "a")).rank(queries=("q1",))
    with pytest.raises(UnknownNameError, match=r"Unknown array in .*both\.npz 'F'; choose from E, E_ids, Q"):
        Vectors(path=path, key="F").fit(("a",))


@pytest.mark.parametrize(
    ("option", "needed"),
    [("list_file", "path"), ("key", "path"), ("queries", "path"), ("queries_key", "queries")],
)
def test_options_of_a_file_need_it(option, needed):
    with pytest.raises(InputError, match=f"{option} goes with a matrix in a file; give {needed}, too"):
        Vectors(**{option: "x.npz"}, **({} if needed == "path" else {"path": "y.npz"}))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["cosine", "dot", "l2", "l1"])
def test_entries_are_those_of_lists_above_their_floors(metric, dtype):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(300, 12)).astype(dtype), rng.normal(size=(7, 12)).astype(dtype)
        x, y = (np.round(x), np.round(y)) if seed % 2 else (x, y)  # ties
        y[0], y[1], x[9] = x[3], 0, 0
        many, few = Vectors(metric=metric).fit(x), Vectors(metric=metric).fit(y)
        whole = few.rank_items(np.arange(300), depth=7, of=many)
        floors = np.sort(whole.scores, axis=1)[:, seed % 7].copy()
        floors[::11] = -np.inf
        found = few.entries(many, np.arange(300), floors)
        rows, columns = np.nonzero(whole.scores > floors[:, None])
        expected = zip(rows, whole.items[rows, columns], whole.scores[rows, columns], strict=True)
        assert found is None if metric == "l1" else sorted(zip(*found, strict=True)) == sorted(expected)
