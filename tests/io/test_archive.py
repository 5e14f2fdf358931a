"""Archives of arrays: read as NumPy writes them, and refused before they are unpacked if that would take too much."""

import io
import warnings
from copy import copy
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest

from faults import error_of
from rankloom.datasets.multiview import multiview
from rankloom.io import archive, read_matrix, read_ranks
from rankloom.io.archive import load_arrays
from rankloom.io.cache import Cache
from rankloom.rankers.text.word_vectors import read_vectors

DAMAGED = "is damaged, or not an .npz file; write it again."
ARRAYS = {
    "matrix": np.arange(6.0).reshape(2, 3),
    "by_column": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "scalar": np.array(7),
    "none": np.empty((0, 3), np.float32),
    "words": np.array(["é", "longer"]),
    "zeros": np.zeros(100_000, np.uint8),
}


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


@pytest.fixture
def written(tmp_path):
    """Return a function that writes an archive of {name: bytes}, after a change of its directory."""

    def write(members, change=lambda listed: None):
        path = tmp_path / "x.npz"
        with ZipFile(path, "w", ZIP_DEFLATED) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about names that occur twice
            for name, content in members:
                file.writestr(name, content)
            change(file.filelist)
        return path

    return write


@pytest.fixture
def bomb(written):
    """An archive of 200 bytes whose directory says that it unpacks to 4 GB."""

    def enlarge(listed):
        listed[0].file_size = 4 << 30

    return written([("items.npy", npy(np.zeros(3)))], enlarge)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_are_read_as_numpy_writes_them(tmp_path, save):
    save(tmp_path / "x.npz", **ARRAYS)
    found = load_arrays(tmp_path / "x.npz")
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_an_archive_that_unpacks_to_far_more_than_its_size_is_refused_unread(bomb, monkeypatch):
    monkeypatch.setattr(ZipFile, "open", None)  # would fail if it were called
    message = error_of(load_arrays, bomb)
    assert message.startswith(f"{bomb} has {bomb.stat().st_size} bytes and would unpack to 4,294,967,296, more than ")
    assert message.endswith("write it with numpy.savez, which does not compress.")


@pytest.mark.parametrize("read", [read_ranks, read_matrix, read_vectors, multiview, load_arrays])
def test_every_reader_of_archives_refuses_it(bomb, read):
    assert "would unpack to 4,294,967,296" in error_of(read, bomb)


def test_in_the_cache_it_is_a_miss(bomb, tmp_path):
    key = "ab" * 16
    cache = Cache(tmp_path)
    cache.save(key, {"x": np.arange(3)})
    assert cache.load(key) is not None
    bomb.replace(tmp_path / "ab" / f"{key}.npz")
    assert cache.load(key) is None


def test_only_the_ratio_is_limited_above_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 1000)
    np.savez(tmp_path / "stored.npz", **ARRAYS)
    assert load_arrays(tmp_path / "stored.npz")["zeros"].size == 100_000
    np.savez_compressed(tmp_path / "packed.npz", zeros=np.zeros(1_000_000))
    assert "more than 100 times as many" in error_of(load_arrays, tmp_path / "packed.npz")


def test_a_header_must_declare_as_many_bytes_as_there_are(written, monkeypatch):
    content = npy(np.zeros(3))
    monkeypatch.setattr(np.lib.format, "read_array", None)  # would allocate what the header declares
    for shape in (b"(9000000000000,)", b"(2,)", b"(-3,)"):
        old = b"'shape': (3,), }" + b" " * (len(shape) - 4)
        assert old in content
        path = written([("x.npy", content.replace(old, b"'shape': " + shape + b", }"))])
        assert error_of(load_arrays, path) == f"{path} {DAMAGED}"


def test_members_that_share_their_bytes_are_refused(written):
    def repeat(listed):
        for number in range(1000):
            again = copy(listed[0])
            again.filename = f"{number}.npy"
            listed.append(again)

    assert error_of(load_arrays, path := written([("x.npy", npy(np.arange(5000)))], repeat)) == f"{path} {DAMAGED}"


@pytest.mark.parametrize("names", [["x.npy", "x.npy"], ["x", "x.npy"]])
def test_two_arrays_of_one_name_are_refused(written, names):
    path = written([(name, npy(np.arange(3))) for name in names])
    assert error_of(load_arrays, path) == f"{path} {DAMAGED}"


def test_other_members_are_refused(written):
    assert DAMAGED in error_of(load_arrays, written([("notes.txt", b"hello")]))


def test_too_little_memory_is_one_sentence(tmp_path, monkeypatch):
    def full(*_, **__):
        raise MemoryError

    np.savez(tmp_path / "x.npz", x=[1])
    monkeypatch.setattr(np.lib.format, "read_array", full)
    assert error_of(load_arrays, tmp_path / "x.npz") == f"{tmp_path / 'x.npz'} needs more memory than is available."
