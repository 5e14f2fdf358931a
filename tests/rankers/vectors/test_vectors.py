import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloom as rl
from rankloom.datasets import Collection
from rankloom.errors import InputError, RankloomWarning, UnknownNameError
from rankloom.io.cache import Cache
from rankloom.rankers import RANKERS, Vectors, is_updatable, rank_collection
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


def test_updates_and_filters_of_vectors_with_cells_are_exact():
    x = np.random.default_rng(7).normal(size=(300, 4))
    ranker, exact = Vectors(algorithm="cells"), Vectors(algorithm="exact").fit(x)
    fitted = ranker.fit(x[:200]).appended(x[200:])
    assert same(fitted.rank_items(np.arange(50), depth=9), exact.rank_items(np.arange(50), depth=9))
    allowed = np.arange(300) % 3 > 0
    assert same(fitted.rank_vectors(x[:2], allowed=allowed), exact.rank_vectors(x[:2], allowed=allowed))
    restored = ranker.restored(fitted.arrays())
    assert same(restored.rank(depth=9), fitted.rank(depth=9))
    part = restored.subset(np.arange(100, 250))
    assert part.with_rows(part.row_arrays()).cells.own.tolist() == fitted.cells.own[100:250].tolist()
    assert same(fitted.with_cells().rank(depth=9), ranker.fit(x).rank(depth=9))


def test_cells_are_for_many_items_and_lists_that_are_not_deep(monkeypatch):
    assert Vectors().fit(np.eye(9)).cells is None
    monkeypatch.setattr("rankloom.ranks.cells.MAX_EXACT", 100)
    x = np.random.default_rng(8).normal(size=(120, 4))
    fitted = Vectors().fit(x)
    assert fitted.rank(depth=100).recall > 0.9
    assert fitted.rank(depth=101).recall is None
    assert rl.Ranks.from_vectors(x, depth=101).recall is None
    assert Vectors(algorithm="exact").fit(x).cells is None
    assert Vectors(metric="l2").fit(x).cells is None
    assert same(fitted.rank(depth=20), rl.Ranks.from_vectors(x, depth=20))
    assert Vectors(algorithm="cells").fit(x).rank(depth=120).recall > 0.9


def test_damaged_cells_are_rejected():
    ranker = Vectors(algorithm="cells")
    arrays = ranker.fit(np.random.default_rng(9).normal(size=(300, 4))).arrays()
    for name, wrong in (
        ("cell", arrays["cell"] + np.int32(4)),
        ("cell", arrays["cell"][1:]),
        ("centers", arrays["centers"] * 2),
        ("centers", arrays["centers"] + np.float32(0.5)),
        ("centers", arrays["centers"][:, 1:]),
    ):
        with pytest.raises(InputError, match="cells"):
            ranker.restored({**arrays, name: wrong})


def test_recall_stays_with_lists_from_the_cache(tmp_path):
    x = np.random.default_rng(9).normal(size=(50, 3))
    some = Collection("some", rl.Ids(map(str, range(50))), {"vectors": x})
    for _ in range(2):
        ranking = rank_collection(some, ["vectors(algorithm=cells)", "vectors"], cache=Cache(tmp_path))
        assert ranking.lists["vectors(algorithm=cells)"].queries.recall == 1.0
        assert ranking.summary().endswith("vectors.\n  vectors(algorithm=cells): recall 100.0%.")


def test_queries_of_another_length_are_rejected():
    with pytest.raises(InputError, match="queries and vectors must have the same length; got 3 and 2"):
        Vectors().fit(np.eye(2)).rank(queries=np.eye(3))


@pytest.mark.filterwarnings("ignore:.*has no ids")
def test_a_file_of_vectors_rejects_queries_by_id(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(2))
    fitted = Vectors(path=str(tmp_path / "x.npy")).fit(["a", "b"])
    with pytest.raises(InputError, match=r"x\.npy has no vectors of external queries; give their file as queries="):
        fitted.rank(queries=("q1", "q2"))
    assert fitted.rank(queries=[[0.0, 1.0]], depth=1).items.tolist() == [[1]]


def test_unsupported_options_are_rejected():
    with pytest.raises(InputError, match="algorithm=cells supports cosine; got l1"):
        Vectors(metric="l1", algorithm="cells")
    with pytest.raises(UnknownNameError, match="Did you mean 'cells'"):
        Vectors(algorithm="cell")
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
