import gzip

import numpy as np
import pytest

from rankloom.errors import InputError
from rankloom.io import read_matrix

X = np.array([[0.5, 1.0, -2e-3], [2.0, 0.0, 7.0]])


def error_of(path, **options):
    with pytest.raises(InputError) as caught:
        read_matrix(path, **options)
    return str(caught.value)


def test_every_format_gives_the_same_matrix(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "x.npz", X)
    np.savetxt(tmp_path / "x.txt", X)
    np.savetxt(tmp_path / "x.csv", X, delimiter=",")
    np.savetxt(tmp_path / "x.dat.gz", X, delimiter=", ")
    for path in tmp_path.iterdir():
        matrix, ids = read_matrix(path)
        assert (matrix == X).all()
        assert ids is None


def test_an_npy_file_is_not_read_into_memory(tmp_path):
    np.save(tmp_path / "x.npy", X)
    assert isinstance(read_matrix(tmp_path / "x.npy")[0], np.memmap)


@pytest.mark.parametrize("ids", [["d7", "d2"], [7, 2]])
def test_ids_may_be_beside_the_matrix(tmp_path, ids):
    np.savez(tmp_path / "x.npz", vectors=X, ids=ids)
    assert list(read_matrix(tmp_path / "x.npz")[1]) == list(map(str, ids))


def test_one_of_several_matrices_is_chosen_by_its_name(tmp_path):
    np.savez(tmp_path / "x.npz", E=X, Q=X[:1], E_ids=["d7", "d2"])
    matrix, ids = read_matrix(tmp_path / "x.npz", key="E")
    assert (matrix == X).all()
    assert list(ids) == ["d7", "d2"]
    assert read_matrix(tmp_path / "x.npz", key="Q")[1] is None
    assert "choose from E, E_ids, Q" in error_of(tmp_path / "x.npz", key="e")
    np.save(tmp_path / "x.npy", X)
    assert "has only one. Leave it out" in error_of(tmp_path / "x.npy", key="E")


@pytest.mark.parametrize("name", ["x.npy", "x.txt"])
def test_ids_may_be_in_a_list_file(tmp_path, name):
    np.save(tmp_path / "x.npy", X)
    np.savetxt(tmp_path / "x.txt", X)
    (tmp_path / "list.txt").write_text("d7\nd2\n")
    assert list(read_matrix(tmp_path / name, list_file=tmp_path / "list.txt")[1]) == ["d7", "d2"]


def test_there_is_one_id_for_each_row(tmp_path):
    np.savez(tmp_path / "x.npz", vectors=X, ids=["a", "b", "c"])
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "list.txt").write_text("d7\n")
    assert "has 2 rows, but it has 3 ids" in error_of(tmp_path / "x.npz")
    assert "list.txt has 1 ids" in error_of(tmp_path / "x.npy", list_file=tmp_path / "list.txt")
    assert "leave list_file out" in error_of(tmp_path / "x.npz", list_file=tmp_path / "list.txt")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": X, "b": X}, "must have one matrix, and optionally ids; got a, b."),
        ({"ids": ["a", "b"]}, "got no array"),
        ({"a": X[0]}, "must have a matrix; got an array of shape (3,)"),
        ({"a": X, "ids": ["a", "a"]}, "'a' is given twice"),
        ({"a": X, "ids": [0.5, 1.5]}, "must be a list of strings; got float64"),
        ({"a": X, "ids": np.array(["a", "b"], object)}, "ids has Python objects, which are not read; write"),
    ],
)
def test_an_archive_of_anything_else_is_rejected(tmp_path, arrays, message):
    np.savez(tmp_path / "x.npz", **arrays)
    assert message in error_of(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n1\n", ":2: expected 2 numbers, as on the first line, got 1."),
        ("1,2\n1,\n", ":2: column 2 must be a finite number; got ''."),
        ("1 2\n1 nan\n", ":2: column 2 must be a finite number; got 'nan'."),
        ("a,b\n1,2\n", ":1: column 1 must be a finite number; got 'a'."),
        ("\n", " is empty; a matrix has a row on each line."),
    ],
)
def test_the_error_for_invalid_text_has_its_line(tmp_path, text, message):
    path = tmp_path / "x.txt"
    path.write_text(text)
    assert error_of(path) == f"{path}{message}"


def test_file_problems_are_one_sentence(tmp_path):
    (tmp_path / "x.npy").write_bytes(b"junk")
    (tmp_path / "x.npz").write_bytes(b"junk")
    (tmp_path / "x.txt.gz").write_bytes(gzip.compress(b"1 2\n")[:-4])
    assert "Cannot read the matrix" in error_of(tmp_path / "x.npy")
    assert "is damaged, or not an .npz file" in error_of(tmp_path / "x.npz")
    assert "not a valid gzip file" in error_of(tmp_path / "x.txt.gz")
    for suffix in (".npy", ".npz", ".txt"):
        missing = tmp_path / f"no{suffix}"
        assert error_of(missing) == f"There is no file {missing}; check the path."
