import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloom import Ids, Ranks
from rankloom.errors import InputError
from rankloom.io import pack_ids, read_npz, unpack_ids, write_npz
from strategies import examples

RIGHT = {"format": 1, "items": [[0, 1]], "n_items": 2}


def error_of(function, *args):
    with pytest.raises(InputError) as caught:
        function(*args)
    return str(caught.value)


def same(a, b):
    scores = a.scores is b.scores is None or np.array_equal(a.scores, b.scores)
    others = ("item_ids", "query_ids", "n_items", "kind", "recall")
    return np.array_equal(a.items, b.items) and scores and all(getattr(a, one) == getattr(b, one) for one in others)


def test_ids_are_packed_as_bytes_and_starts():
    blob, ptr = pack_ids(Ids(["ab", "", "é"]))
    assert blob.tobytes() == b"ab\xc3\xa9"
    assert ptr.tolist() == [0, 2, 2, 4]
    assert (blob.dtype, ptr.dtype) == (np.uint8, np.int64)


@given(st.lists(st.text(), unique=True))
def test_packed_ids_are_unpacked(ids):
    assert unpack_ids(*pack_ids(ids)) == Ids(ids)


def test_a_lone_surrogate_cannot_be_packed():
    assert "cannot be written as UTF-8" in error_of(pack_ids, ["\ud800"])


@pytest.mark.parametrize(
    ("blob", "ptr", "message"),
    [
        (b"ab", [0, 3], "must rise from 0 to 2"),
        (b"ab", [1, 2], "must rise from 0 to 2"),
        (b"ab", [0, 2, 1, 2], "must rise from 0 to 2"),
        (b"ab", [], "must rise from 0 to 2"),
        (b"\xff", [0, 1], "not UTF-8"),
        (b"aa", [0, 1, 2], "given twice"),
    ],
)
def test_inconsistent_packed_ids_are_errors(blob, ptr, message):
    assert message in error_of(unpack_ids, np.frombuffer(blob, np.uint8), np.array(ptr, np.int64))


def test_packed_ids_of_other_types_are_errors():
    assert "both 1-d" in error_of(unpack_ids, np.zeros(2, np.int8), np.array([0, 2]))
    assert "both 1-d" in error_of(unpack_ids, np.zeros(2, np.uint8), np.array([[0, 2]]))


@st.composite
def any_ranks(draw):
    n = draw(st.integers(0, 5))
    rows = draw(st.lists(st.lists(st.integers(0, n - 1), unique=True, max_size=n) if n else st.just([]), max_size=4))
    depth = max(map(len, rows), default=0)
    items = np.array([row + [-1] * (depth - len(row)) for row in rows], np.int32).reshape(len(rows), depth)
    scores = -np.sort(np.arange(items.size, dtype=np.float32).reshape(items.shape), axis=1)
    kinds = [None, "queries", "collection"] if len(rows) == n else [None, "queries"]
    return Ranks(
        items,
        scores if draw(st.booleans()) else None,
        n,
        item_ids=Ids(f"ü {i}" for i in range(n)) if draw(st.booleans()) else None,
        query_ids=Ids(f"q\n{i}" for i in range(len(rows))) if draw(st.booleans()) else None,
        kind=draw(st.sampled_from(kinds)),
        recall=draw(st.sampled_from([None, 0.987654321])),
    )


@given(any_ranks())
def test_written_ranks_are_read_back(ranks):
    with tempfile.TemporaryDirectory() as folder:
        write_npz(ranks, Path(folder, "a.npz"))
        assert same(read_npz(Path(folder, "a.npz")), ranks)


def test_no_suffix_is_added_and_the_bytes_are_reproducible(tmp_path):
    for name in ("a", "b"):
        write_npz(Ranks([[1, 0]], item_ids=Ids(["x", "y"])), tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "its format is 2; this version reads 1."),
        ({"format": [1, 1]}, "contains invalid ranks"),
        ({"n_items": "two"}, "n_items must be a whole number"),
        ({"n_items": 1}, "Row 0 lists item 1"),
        ({"items": [[0, 0]]}, "lists item 0 twice"),
        ({"items": [[-2, 0]]}, "numbers start at 0"),
        ({"items": [0, 1]}, "contains invalid ranks"),
        ({"scores": [[1.0, np.nan]]}, "finite"),
        ({"scores": [[1.0]]}, "same shape"),
        ({"item_ids": np.frombuffer(b"a", np.uint8)}, "item_ids_ptr is missing."),
        ({"item_ids": np.frombuffer(b"a", np.uint8), "item_ids_ptr": [0, 1]}, "number of item_ids"),
    ],
)
def test_the_error_for_invalid_arrays_names_the_file(tmp_path, change, message):
    path = tmp_path / "a.npz"
    np.savez(path, **(RIGHT | change))
    text = error_of(read_npz, path)
    assert text.startswith(f"{path} contains invalid ranks: ")
    assert message in text


def test_foreign_files_are_errors(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x=[1])
    assert error_of(read_npz, path).startswith(f"{path} is not a file of ranks")
    np.savez(path, **(RIGHT | {"items": np.array([[None]])}))  # would need pickle
    assert "items has Python objects, which are not read" in error_of(read_npz, path)
    for data in (b"", b"q Q0 a 1 1 t\n", b"\x93NUMPY\x01\x00", b"PK\x03\x04"):
        path.write_bytes(data)
        assert error_of(read_npz, path) == f"{path} is damaged, or not an .npz file; write it again."
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    assert "not an .npz file" in error_of(read_npz, path)


def test_file_problems_are_input_errors(tmp_path):
    missing = tmp_path / "no.npz"
    assert error_of(read_npz, missing) == f"There is no file {missing}; check the path."
    assert error_of(read_npz, tmp_path) == f"{tmp_path} is a folder; give a file."
    assert "does not exist" in error_of(write_npz, Ranks([[0]]), tmp_path / "no" / "a.npz")


@examples(200)
@given(st.data())
def test_a_damaged_file_is_an_input_error_or_read_correctly(data):
    ranks = Ranks([[1, 0], [0, -1]], [[2, 1], [3, 0]], item_ids=Ids(["x", "y"]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.npz")
        write_npz(ranks, path)
        content = bytearray(path.read_bytes())
        cut = data.draw(st.integers(0, len(content)))
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
        path.write_bytes(content if data.draw(st.booleans()) else content[:cut])
        try:
            read = read_npz(path)
        except InputError as error:
            assert str(error).startswith(str(path))  # noqa: PT017
        else:
            # The names of zip members have no checksum: an optional array may be lost, but none is wrong.
            assert np.array_equal(read.items, ranks.items)


def test_plain_arrays_with_the_ids_of_items_are_lists_of_all_items(tmp_path):
    path = tmp_path / "lists.npz"
    np.savez(path, items=[[0, 1], [1, 0]], scores=[[0.5, 0.25], [0.5, 0.125]], ids=["a", "b"])
    assert read_npz(path).to_dict() == {"a": {"a": 0.5, "b": 0.25}, "b": {"b": 0.5, "a": 0.125}}
    np.savez(path, items=[[0, 1], [1, 0]], ids=[1, 2])
    assert "ids must be a list of strings; got int64" in error_of(read_npz, path)
