import numpy as np
import pytest

import rankloom as rl
from rankloom.errors import InputError, UnknownNameError
from rankloom.rankers import RANKERS, Vectors


def test_lists_equal_ranks_from_vectors():
    vectors = np.random.default_rng(1).normal(size=(20, 3))
    fitted = RANKERS["vectors"](part="x", metric="l1").fit(vectors)
    expected = rl.Ranks.from_vectors(vectors, "l1", 5)
    assert (fitted.rank(depth=5).items == expected.items).all()


def test_external_queries_are_ranked():
    fitted = Vectors(metric="l2").fit([[0.0], [5.0], [1.0]])
    assert fitted.rank(queries=[[4.0]], depth=2).items.tolist() == [[1, 2]]


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
def test_faiss_finds_the_same_neighbors(metric):
    pytest.importorskip("faiss")
    rng = np.random.default_rng(2)
    vectors, queries = rng.normal(size=(300, 8)), rng.normal(size=(5, 8))
    exact, fast = Vectors(metric=metric).fit(vectors), Vectors(metric=metric, engine="faiss").fit(vectors)
    for rows in (None, queries):
        expected, found = exact.rank(queries=rows, depth=20), fast.rank(queries=rows, depth=20)
        assert (expected.items == found.items).all()
        np.testing.assert_allclose(found.scores, expected.scores, atol=1e-5)


def test_faiss_orders_ties_by_number_after_the_item_itself():
    pytest.importorskip("faiss")
    same = [[1.0, 0.0]] * 4
    found = Vectors(metric="l2", engine="faiss").fit(same).rank(depth=4)
    assert found.items.tolist() == [[0, 1, 2, 3], [1, 0, 2, 3], [2, 0, 1, 3], [3, 0, 1, 2]]


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
def test_faiss_includes_an_item_among_more_ties_than_depth(metric):
    pytest.importorskip("faiss")
    same = np.tile(np.random.default_rng(3).normal(size=7), (2000, 1))
    found = Vectors(metric=metric, engine="faiss").fit(same).rank(depth=5)
    assert (found.items == np.arange(2000)[:, None]).any(axis=1).all()


def test_faiss_omits_an_item_that_others_beat():
    pytest.importorskip("faiss")
    found = Vectors(metric="dot", engine="faiss").fit([[1.0], [2.0], [3.0]]).rank(depth=1)
    assert found.items.tolist() == [[2], [2], [2]]


@pytest.mark.parametrize("engine", ["numpy", "faiss"])
def test_queries_of_another_length_are_rejected(engine):
    pytest.importorskip("faiss")
    with pytest.raises(InputError, match="queries and vectors must have the same length; got 3 and 2"):
        Vectors(engine=engine).fit(np.eye(2)).rank(queries=np.eye(3))


@pytest.mark.filterwarnings("ignore:.*has no ids")
def test_a_file_of_vectors_rejects_queries_by_id(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(2))
    fitted = Vectors(path=str(tmp_path / "x.npy")).fit(["a", "b"])
    with pytest.raises(InputError, match=r"x\.npy has no vectors of external queries; give a file with their lists"):
        fitted.rank(queries=("q1", "q2"))
    assert fitted.rank(queries=[[0.0, 1.0]], depth=1).items.tolist() == [[1]]


def test_unsupported_options_are_rejected():
    with pytest.raises(InputError, match="cosine, dot and l2; got 'l1'"):
        Vectors(metric="l1", engine="faiss")
    with pytest.raises(UnknownNameError, match="Did you mean 'faiss'"):
        Vectors(engine="fais")
    pytest.importorskip("faiss")
    with pytest.raises(InputError, match="finite numbers"):
        Vectors(engine="faiss").fit([[np.nan, 1.0]]).rank()


@pytest.mark.filterwarnings("ignore:.*has no ids")
def test_a_file_of_vectors_has_a_row_for_each_item(tmp_path):
    path = tmp_path / "embeddings.npy"
    np.save(path, np.array([[0.0], [5.0], [1.0]]))
    ranker = Vectors(path=str(path), metric="l2")
    assert ranker.part == "ids"
    assert ranker.fit("abc").rank(depth=2).items.tolist() == [[0, 2], [1, 2], [2, 0]]
    with pytest.raises(InputError, match="a row for each of 2 items; got shape"):
        ranker.fit("ab")


def test_rows_of_a_file_are_matched_by_id(tmp_path):
    path = tmp_path / "embeddings.npz"
    np.savez(path, vectors=[[1.0], [9.0], [0.0], [5.0]], ids=["c", "other", "a", "b"])
    found = Vectors(path=str(path), metric="l2").fit("abc").rank(depth=2)
    assert found.items.tolist() == [[0, 2], [1, 2], [2, 0]]
    with pytest.raises(InputError, match="no row for the item 'z'"):
        Vectors(path=str(path)).fit("az")


def test_ids_without_a_file_are_rejected():
    with pytest.raises(InputError, match="give path, too"):
        Vectors(list_file="list.txt")
