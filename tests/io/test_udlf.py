import gzip
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults import error_of
from rankloom import Ids, Ranks
from rankloom.errors import UnknownNameError
from rankloom.io import read_udlf_matrix, read_udlf_ranks, write_udlf_ranks

DIGITS = Path(__file__).parents[2].parent / "shared" / "golden" / "udlf" / "inputs" / "digits300"
needs_digits = pytest.mark.skipif(not DIGITS.exists(), reason="the shared UDLF inputs are absent")


def file_of(tmp_path, text, name="lists.txt"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


# ranked lists


@pytest.mark.parametrize("name", ["lists.txt", "lists.txt.gz"])
def test_line_i_is_the_list_of_item_i_and_short_lists_are_padded(tmp_path, name):
    ranks = read_udlf_ranks(file_of(tmp_path, "0 2 1 \n1\n2 0\n\n", name))  # UDLF ends lines in a space
    assert ranks.items.tolist() == [[0, 2, 1], [1, -1, -1], [2, 0, -1]]
    assert (ranks.scores, ranks.n_items, ranks.item_ids) == (None, 3, None)


def test_ids_are_numbered_by_the_list_file(tmp_path):
    ids = file_of(tmp_path, "b.png\na.png\n", "list.txt")
    ranks = read_udlf_ranks(file_of(tmp_path, "b.png a.png\na.png b.png\n"), kind="names", list_file=ids)
    assert ranks.items.tolist() == [[0, 1], [1, 0]]
    assert list(ranks.item_ids) == list(ranks.query_ids) == ["b.png", "a.png"]


def test_lists_of_numbers_get_ids_from_a_list_file(tmp_path):
    ids = file_of(tmp_path, "b\n\na\n", "list.txt")
    assert list(read_udlf_ranks(file_of(tmp_path, "0\n1\n"), list_file=ids).to_dict()) == ["b", "a"]


def test_depth_cuts_the_lists_without_checking_the_rest(tmp_path):
    assert read_udlf_ranks(file_of(tmp_path, "0 1 1\n1 0 0\n"), depth=2).items.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1\n1 x\n", "2: expected item numbers from 0, got 'x'."),
        ("0 1\n1 -1\n", "2: expected item numbers from 0, got '-1'."),
        ("0 1\n1 0.5\n", "2: expected item numbers from 0, got '0.5'."),
        ("0 1\n1 1_0\n", "2: expected item numbers from 0, got '1_0'."),
        ("0 1\n1 99999999999\n", "2: expected item numbers from 0, got '99999999999'."),
        (f"0 {'9' * 5000}\n", f"1: expected item numbers from 0, got '{'9' * 80}...'."),
        ("0 1\n1 2\n", "2: there is no item 2; 2 lines are the lists of items 0 to 1."),
        (
            "0 1\n1 0 1\n",
            "2: item '1' is listed twice; give each item once, or use duplicates='first' to keep the first.",
        ),
        ("0 1\n\n1 0\n", "2: the list is empty; every item must list at least itself."),
    ],
)
def test_the_error_for_an_invalid_list_has_its_line(tmp_path, text, message):
    path = file_of(tmp_path, text)
    assert error_of(read_udlf_ranks, path) == f"{path}:{message}"


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("dog cta", "unknown item 'cta'; choose from cat, dog. Did you mean 'cat'?"),
        ("dog dog", "item 'dog' is listed twice; give each item once, or use duplicates='first' to keep the first."),
    ],
)
def test_the_error_for_an_invalid_list_of_ids_has_its_line(tmp_path, second, message):
    ids, path = file_of(tmp_path, "cat\ndog\n", "list.txt"), file_of(tmp_path, f"cat dog\n{second}\n")
    assert error_of(read_udlf_ranks, path, kind="names", list_file=ids) == f"{path}:2: {message}"


def test_names_need_a_list_file(tmp_path):
    path = file_of(tmp_path, "a\n")
    assert "need list_file" in error_of(read_udlf_ranks, path, kind="names")


@pytest.mark.parametrize("read", [read_udlf_ranks, read_udlf_matrix])
def test_a_list_file_of_another_collection_is_an_error(tmp_path, read):
    ids, path = file_of(tmp_path, "a\nb\nc\n", "list.txt"), file_of(tmp_path, "0 1\n1 0\n")
    what = "lists" if read is read_udlf_ranks else "columns"
    expected = f"{path} has 2 {what}, but {ids} has 3 items; both must belong to the same collection."
    assert error_of(read, path, list_file=ids) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\nb\n\na\n", "4: 'a' occurs a second time (first: "),
        ("\n", " is empty; it must have the ids of the items, one per line."),
    ],
)
def test_the_error_for_an_invalid_list_file_has_its_line(tmp_path, text, message):
    ids, path = file_of(tmp_path, text, "list.txt"), file_of(tmp_path, "0\n")
    assert message in error_of(read_udlf_ranks, path, list_file=ids)


@pytest.mark.parametrize("read", [read_udlf_ranks, read_udlf_matrix])
def test_file_problems_and_invalid_options_are_input_errors(tmp_path, read):
    missing = tmp_path / "no.txt"
    assert error_of(read, missing) == f"There is no file {missing}; check the path."
    assert error_of(read, tmp_path) == f"{tmp_path} is a folder; give a file."
    for blank in ("", " \n", "\ufeff"):
        path = file_of(tmp_path, blank)
        assert error_of(read, path).startswith(f"{path} is empty; ")
    path = file_of(tmp_path, "0\n")
    assert error_of(read, path, depth=0) == "depth must be a whole number, at least 1; got 0."
    with pytest.raises(UnknownNameError, match="kind of"):
        read(path, kind="number")


def test_lists_are_written_by_number_and_by_id_with_the_list_file(tmp_path):
    ids = Ids(["a", "b"])
    ranks = Ranks([[0, 1], [1, -1]], item_ids=ids, query_ids=ids)
    write_udlf_ranks(ranks, tmp_path / "numbers.txt")
    write_udlf_ranks(ranks, tmp_path / "names.txt", kind="names", list_file=tmp_path / "list.txt")
    assert (tmp_path / "numbers.txt").read_text() == "0 1\n1\n"
    assert (tmp_path / "names.txt").read_text() == "a b\nb\n"
    assert (tmp_path / "list.txt").read_text() == "a\nb\n"


def test_rows_are_written_in_the_order_of_the_items(tmp_path):
    ranks = Ranks([[1, 0], [0, 1]], item_ids=Ids(["a", "b"]), query_ids=Ids(["b", "a"]))
    write_udlf_ranks(ranks, tmp_path / "lists.txt", list_file=tmp_path / "list.txt")
    back = read_udlf_ranks(tmp_path / "lists.txt", list_file=tmp_path / "list.txt")
    assert back.to_dict().keys() == {"a", "b"}
    assert {query: next(iter(row)) for query, row in back.to_dict().items()} == {"a": "a", "b": "b"}


def test_ranks_that_udlf_files_cannot_hold_are_errors(tmp_path):
    path = tmp_path / "lists.txt"
    assert "Item '1' has an empty list" in error_of(write_udlf_ranks, Ranks([[0, 1], [-1, -1]]), path)
    assert "a row for each item" in error_of(write_udlf_ranks, Ranks([[0, 1]]), path)
    ids = Ids(["a b"])
    spaced = Ranks([[0]], item_ids=ids, query_ids=ids)
    assert "whitespace" in error_of(write_udlf_ranks, spaced, path, kind="names")
    assert "whitespace" in error_of(write_udlf_ranks, spaced, path, list_file=tmp_path / "list.txt")
    with pytest.raises(UnknownNameError, match="Did you mean 'names'"):
        write_udlf_ranks(spaced, path, kind="name")
    assert list(tmp_path.iterdir()) == []


@st.composite
def collections(draw):
    n = draw(st.integers(1, 6))
    rows = [draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n, unique=True)) for _ in range(n)]
    depth = max(map(len, rows))
    ids = Ids(f"é{i}" for i in range(n))
    table = np.array([row + [-1] * (depth - len(row)) for row in rows])
    return Ranks(table, item_ids=ids, query_ids=ids)


@given(collections(), st.sampled_from(["numbers", "names"]), st.sampled_from(["a.txt", "a.txt.gz"]))
def test_written_lists_are_read_back(ranks, kind, name):
    with tempfile.TemporaryDirectory() as folder:
        path, ids = Path(folder, name), Path(folder, "list.txt")
        write_udlf_ranks(ranks, path, kind=kind, list_file=ids)
        back = read_udlf_ranks(path, kind=kind, list_file=ids)
    assert back.items.tolist() == ranks.items.tolist()
    assert back.item_ids == back.query_ids == ranks.item_ids


# matrices


@pytest.mark.parametrize("name", ["matrix.txt", "matrix.txt.gz"])
def test_distances_are_ranked_ascending_and_similarities_descending(tmp_path, name):
    path = file_of(tmp_path, "0 2 1 \n2 0 4e0\n\n1 4 0\n\n", name)
    near = read_udlf_matrix(path)
    assert near.items.tolist() == [[0, 2, 1], [1, 0, 2], [2, 0, 1]]
    assert near.scores.tolist() == [[0, -1, -2], [0, -2, -4], [0, -1, -4]]
    alike = read_udlf_matrix(path, kind="similarities", depth=1)
    assert alike.items.tolist() == [[1], [2], [1]]
    assert alike.scores.tolist() == [[2], [4], [4]]


def test_ties_are_broken_by_number_after_the_item_itself(tmp_path):
    assert read_udlf_matrix(file_of(tmp_path, "0 0 0\n0 0 0\n0 0 0\n")).items.tolist() == [
        [0, 1, 2],
        [1, 0, 2],
        [2, 0, 1],
    ]


def test_a_matrix_gets_ids_from_the_list_file(tmp_path):
    ids = file_of(tmp_path, "a\nb\n", "list.txt")
    ranks = read_udlf_matrix(file_of(tmp_path, "0 1\n1 0\n"), list_file=ids)
    assert ranks.to_dict() == {"a": {"a": 0.0, "b": -1.0}, "b": {"b": 0.0, "a": -1.0}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1\n1\n", ":2: expected 2 numbers, as on the first line, got 1."),
        ("0 1\n1 0 2\n", ":2: expected 2 numbers, as on the first line, got 3."),
        ("0 1\n1 nan\n", ":2: column 2 must be a finite number; got 'nan'."),
        ("0 1\n-inf 1\n", ":2: column 1 must be a finite number; got '-inf'."),
        ("0 1\n1 1e39\n", ":2: column 2 must be a finite number; got '1e39'."),
        ("0 1\n1 x\n", ":2: column 2 must be a finite number; got 'x'."),
        ("0 1\n1 1_0\n", ":2: column 2 must be a finite number; got '1_0'."),
        ("0 1\n", " has 1 lines of 2 numbers; a matrix of n items has n lines of n numbers."),
        (
            "0 1\n1 0\n\n2 2\n",
            ":4: there are more lines than the 2 numbers on each; a matrix of n items has n lines of n numbers.",
        ),
    ],
)
def test_the_error_for_an_invalid_matrix_has_its_line(tmp_path, text, message):
    path = file_of(tmp_path, text)
    assert error_of(read_udlf_matrix, path) == f"{path}{message}"


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.lists(st.lists(st.integers(-9, 9), min_size=n, max_size=n), min_size=n, max_size=n)
    ),
    st.integers(1, 7),
)
def test_a_matrix_in_a_file_is_ranked_like_one_in_memory(matrix, depth):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.txt")
        np.savetxt(path, matrix)
        near = read_udlf_matrix(path, depth=depth)
        alike = read_udlf_matrix(path, kind="similarities", depth=depth)
    for got, expected in (
        (near, Ranks.from_distances(matrix, depth, kind="collection")),
        (alike, Ranks.from_similarities(matrix, depth, kind="collection")),
    ):
        assert got.items.tolist() == expected.items.tolist()
        assert got.scores.tolist() == expected.scores.tolist()


def test_the_block_size_does_not_change_the_ranks(tmp_path, monkeypatch):
    matrix = np.random.default_rng(0).integers(0, 5, (7, 7))
    np.savetxt(tmp_path / "m.txt", matrix)
    monkeypatch.setattr("rankloom.ranks.nearest.BLOCK_BYTES", 2 * 7 * 8)
    expected = Ranks.from_distances(matrix, 7, kind="collection")
    assert read_udlf_matrix(tmp_path / "m.txt").items.tolist() == expected.items.tolist()


# reference files


@needs_digits
def test_reference_lists_equal_their_arrays():
    arrays = np.load(DIGITS / "inputs.npz")
    for ranker in ("pix", "hog", "proj"):
        ranks = read_udlf_ranks(DIGITS / f"{ranker}_rk.txt.gz", list_file=DIGITS / "list.txt")
        assert np.array_equal(ranks.items, arrays[f"{ranker}_rk"])
        assert ranks.item_ids[299] == "d0299"


@needs_digits
def test_reference_distances_give_the_reference_lists(tmp_path):
    arrays = np.load(DIGITS / "inputs.npz")
    np.savetxt(tmp_path / "m.txt", arrays["pix_dist"])
    assert np.array_equal(read_udlf_matrix(tmp_path / "m.txt").items, arrays["pix_rk"])


def test_an_item_listed_twice_may_count_once(tmp_path):
    path = file_of(tmp_path, "0 1 0\n1 1 0\n")
    assert read_udlf_ranks(path, duplicates="first").items.tolist() == [[0, 1], [1, 0]]
    assert "duplicates policy 'last'" in error_of(read_udlf_ranks, path, duplicates="last")


def test_ids_with_spaces_are_allowed_unless_lists_have_names(tmp_path):
    ids, path = file_of(tmp_path, "sea lion.png\nb\n", "list.txt"), file_of(tmp_path, "0 1\n1 0\n")
    assert list(read_udlf_ranks(path, list_file=ids).item_ids) == ["sea lion.png", "b"]
    assert "'sea lion.png' has whitespace" in error_of(read_udlf_ranks, path, kind="names", list_file=ids)
