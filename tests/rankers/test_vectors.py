import numpy as np
import pytest

import rankloom as rl
from rankloom.errors import InputError, UnknownNameError
from rankloom.rankers import RANKERS, Vectors


def test_vectors_rank_as_ranks_from_vectors_do():
    vectors = np.random.default_rng(1).normal(size=(20, 3))
    fitted = RANKERS["vectors"](part="x", metric="l1").fit(vectors)
    expected = rl.Ranks.from_vectors(vectors, "l1", 5)
    assert (fitted.rank(depth=5).items == expected.items).all()


def test_queries_from_outside_are_ranked():
    fitted = Vectors(metric="l2").fit([[0.0], [5.0], [1.0]])
    assert fitted.rank(queries=[[4.0]], depth=2).items.tolist() == [[1, 2]]


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
def test_faiss_finds_the_same_neighbors(metric):
    pytest.importorskip("faiss")
    rng = np.random.default_rng(2)
    vectors, queries = rng.normal(size=(300, 8)), rng.normal(size=(5, 8))
    exact, quick = Vectors(metric=metric).fit(vectors), Vectors(metric=metric, engine="faiss").fit(vectors)
    for asked in (None, queries):
        expected, found = exact.rank(queries=asked, depth=20), quick.rank(queries=asked, depth=20)
        assert (expected.items == found.items).all()
        np.testing.assert_allclose(found.scores, expected.scores, atol=1e-5)


def test_faiss_keeps_the_order_of_equals():
    pytest.importorskip("faiss")
    same = [[1.0, 0.0]] * 4
    found = Vectors(metric="l2", engine="faiss").fit(same).rank(depth=4)
    assert found.items.tolist() == [[0, 1, 2, 3], [1, 0, 2, 3], [2, 0, 1, 3], [3, 0, 1, 2]]


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
def test_faiss_lists_an_item_among_more_equals_than_places(metric):
    pytest.importorskip("faiss")
    same = np.tile(np.random.default_rng(3).normal(size=7), (2000, 1))
    found = Vectors(metric=metric, engine="faiss").fit(same).rank(depth=5)
    assert (found.items == np.arange(2000)[:, None]).any(axis=1).all()


def test_faiss_leaves_an_item_out_that_others_beat():
    pytest.importorskip("faiss")
    found = Vectors(metric="dot", engine="faiss").fit([[1.0], [2.0], [3.0]]).rank(depth=1)
    assert found.items.tolist() == [[2], [2], [2]]


@pytest.mark.parametrize("engine", ["numpy", "faiss"])
def test_queries_of_another_length_are_refused(engine):
    pytest.importorskip("faiss")
    with pytest.raises(InputError, match="queries must be as long as vectors; got 3 and 2 dimensions"):
        Vectors(engine=engine).fit(np.eye(2)).rank(queries=np.eye(3))


def test_a_file_of_vectors_knows_no_queries_by_name(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(2))
    fitted = Vectors(path=str(tmp_path / "x.npy")).fit(["a", "b"])
    with pytest.raises(InputError, match=r"x\.npy has no vectors of external queries; give a file of their lists"):
        fitted.rank(queries=("q1", "q2"))
    assert fitted.rank(queries=[[0.0, 1.0]], depth=1).items.tolist() == [[1]]


def test_what_faiss_cannot_do_is_told():
    with pytest.raises(InputError, match="cosine, dot or l2; got 'l1'"):
        Vectors(metric="l1", engine="faiss")
    with pytest.raises(UnknownNameError, match="Did you mean 'faiss'"):
        Vectors(engine="fais")
    pytest.importorskip("faiss")
    with pytest.raises(InputError, match="finite numbers"):
        Vectors(engine="faiss").fit([[np.nan, 1.0]]).rank()


def test_embeddings_in_a_file_are_rows_of_the_items(tmp_path):
    path = tmp_path / "embeddings.npy"
    np.save(path, np.array([[0.0], [5.0], [1.0]]))
    ranker = Vectors(path=str(path), metric="l2")
    assert ranker.part == "ids"
    assert ranker.fit("abc").rank(depth=2).items.tolist() == [[0, 2], [1, 2], [2, 0]]
    with pytest.raises(InputError, match="a row for each of 2 items; got the shape"):
        ranker.fit("ab")
