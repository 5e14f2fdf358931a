import numpy as np
import pytest

import rankloom as rl
from rankloom.errors import InputError, UnknownNameError
from rankloom.rankers import Matrix, RankFile


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "a.run"
    rl.write_run(rl.Ranks.from_dict({"x": {"x": 2.0, "y": 1.0}, "y": {"y": 3.0, "x": 2.0, "z": 1.0}}), path)
    return str(path)


def test_lists_of_items_follow_the_order_of_the_collection(run):
    ranks = RankFile(run).fit(["z", "y", "x"]).rank()
    assert ranks.items.tolist() == [[-1, -1, -1], [1, 2, 0], [2, 1, -1]]


def test_lists_of_queries_are_found_by_id(run):
    ranks = RankFile(run).fit([]).rank(queries=["y", "q"], depth=2)
    assert ranks.to_dict() == {"y": {"y": 3.0, "x": 2.0}, "q": {}}


def test_items_may_have_a_separate_file(run, tmp_path):
    other = tmp_path / "items.run"
    rl.write_run(rl.Ranks.from_dict({"u": ["u", "v"], "v": ["v", "u"]}), other)
    fitted = RankFile(run, items=str(other)).fit(["u", "v"])
    assert fitted.rank().items.tolist() == [[0, 1], [1, 0]]
    assert fitted.rank(queries=["x"]).query_id(0) == "x"


def test_numbered_lists_must_match_the_number_of_items(tmp_path):
    path = tmp_path / "lists.npz"
    rl.write_ranks(rl.Ranks([[0, 1], [1, 0]]), path)
    assert RankFile(str(path)).fit(["a", "b"]).rank().items.tolist() == [[0, 1], [1, 0]]
    with pytest.raises(InputError, match="has 2 lists of 2 items; the collection has 3"):
        RankFile(str(path)).fit(["a", "b", "c"]).rank()


def test_ids_must_match_the_collection(run):
    with pytest.raises(InputError, match="lists an item that is not in the collection"):
        RankFile(run).fit(["x", "y"]).rank()
    with pytest.raises(InputError, match="has no list for any of the queries, such as 'q1'; it has 'x', 'y'"):
        RankFile(run).fit([]).rank(queries=["q1"])


def test_matrix_of_distances_or_similarities(tmp_path):
    path = tmp_path / "m.npy"
    np.save(path, np.array([[0.0, 3.0, 1.0], [3.0, 0.0, 2.0], [1.0, 2.0, 0.0]]))
    assert Matrix(str(path)).fit("abc").rank(depth=2).items.tolist() == [[0, 2], [1, 2], [2, 0]]
    near = Matrix(str(path), meaning="similarity").fit("abc").rank(depth=1)
    assert near.items.tolist() == [[1], [0], [1]]


def test_an_invalid_matrix_is_rejected(tmp_path):
    np.save(tmp_path / "m.npy", np.zeros((2, 3)))
    with pytest.raises(InputError, match=r"must have a column for each of 2 items; got \(2, 3\)"):
        Matrix(str(tmp_path / "m.npy")).fit("ab")
    with pytest.raises(InputError, match="Cannot read the matrix"):
        Matrix(str(tmp_path / "no.npy")).fit("ab")
    with pytest.raises(UnknownNameError, match="Did you mean 'distance'"):
        Matrix("m.npy", meaning="distances")
    np.save(tmp_path / "ok.npy", np.zeros((1, 1)))
    with pytest.raises(InputError, match="cannot rank external queries"):
        Matrix(str(tmp_path / "ok.npy")).fit("a").rank(queries=["q"])


def test_a_file_without_a_matrix_is_rejected(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.eye(2))
    (tmp_path / "b.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:60])
    (tmp_path / "c.npy").write_bytes(b"junk")
    for name, why in (
        ("a.npz", "Save it as a .npy file"),
        ("b.npz", "magic string is not correct"),
        ("c.npy", "Cannot read the matrix"),
        ("d.npy", "No such file or directory"),
    ):
        with pytest.raises(InputError, match=why) as caught:
            Matrix(str(tmp_path / name)).fit(["a", "b"])
        assert not str(caught.value).endswith("..")
