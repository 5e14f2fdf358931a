import gzip
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults import error_of
from rankloom import Ids, Ranks
from rankloom.errors import UnknownNameError
from rankloom.io import read_qrels, read_run, read_runs, write_run
from rankloom.ranks.align import align

SHARED = Path(__file__).parents[2].parent / "shared"


def file_of(tmp_path, text, name="a.trec"):
    path = tmp_path / name
    data = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def lists(ranks):
    return {query: list(row) for query, row in ranks.to_dict().items()}


# reading runs


@pytest.mark.parametrize("name", ["a.trec", "a.trec.gz"])
def test_a_run_is_sorted_by_score_whatever_the_order_of_its_lines(tmp_path, name):
    path = file_of(
        tmp_path, "q2 Q0 d1 1 0.5 t\nq1 Q0 d3 1 2 t\nq2 Q0 d2 2 0.75 t\n\n  \nq1\tQ0\td1  2\t1e1\tt\r\n", name
    )
    ranks = read_run(path)
    assert ranks.to_dict() == {"q2": {"d2": 0.75, "d1": 0.5}, "q1": {"d1": 10.0, "d3": 2.0}}
    assert list(ranks.item_ids) == ["d1", "d3", "d2"]
    assert ranks.scores.dtype == np.float32


def test_ties_are_broken_by_the_rank_column_then_by_line(tmp_path):
    path = file_of(tmp_path, "q Q0 a 3 1 t\nq Q0 b 1 1 t\nq Q0 c 3 1 t\nq Q0 d 0 1 t\n")
    assert lists(read_run(path)) == {"q": ["d", "b", "a", "c"]}


def test_scores_that_become_equal_in_float32_keep_their_order(tmp_path):
    path = file_of(tmp_path, "q Q0 a 1 0.50000000001 t\nq Q0 b 2 0.50000000003 t\nq Q0 c 3 0.50000000002 t\n")
    ranks = read_run(path)
    assert lists(ranks) == {"q": ["b", "c", "a"]}
    assert ranks.scores.tolist() == [[0.5, 0.5, 0.5]]


def test_lists_of_different_lengths_are_padded(tmp_path):
    ranks = read_run(file_of(tmp_path, "q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\nq2 Q0 b 1 5 t\n"))
    assert ranks.items.tolist() == [[0, 1], [1, -1]]
    assert ranks.scores.tolist() == [[2, 1], [5, 0]]


def test_a_byte_order_mark_is_skipped(tmp_path):
    assert list(read_run(file_of(tmp_path, b"\xef\xbb\xbfq Q0 a 1 2 t")).query_ids) == ["q"]


def test_only_ascii_whitespace_separates_columns(tmp_path):
    ranks = read_run(file_of(tmp_path, "q\u00a01 Q0 caf\u00e9\u2003x 1 2 t\n"))
    assert lists(ranks) == {"q\u00a01": ["caf\u00e9\u2003x"]}


def test_item_ids_determine_the_numbering_and_the_size_of_the_collection(tmp_path):
    ids = Ids(["z", "b", "a"])
    ranks = read_run(file_of(tmp_path, "q Q0 a 1 2 t\nq Q0 b 2 1 t\n"), item_ids=ids)
    assert ranks.items.tolist() == [[2, 1]]
    assert ranks.n_items == 3
    assert ranks.item_ids is ids


def test_the_result_passes_the_checks_of_ranks(tmp_path):
    read = read_run(file_of(tmp_path, "q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\nq2 Q0 b 1 -5 t\n"))
    checked = Ranks(read.items, read.scores, read.n_items, item_ids=read.item_ids, query_ids=read.query_ids)
    assert checked.to_dict() == read.to_dict()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q7 Q0 d31 4 0.2", "expected 6 columns, got 5: 'q7 Q0 d31 4 0.2'."),
        ("q7 Q0 d31 4 0.2 my run", "expected 6 columns, got 7: 'q7 Q0 d31 4 0.2 my run'."),
        ("x" * 100, f"expected 6 columns, got 1: '{'x' * 80}...'."),
        ("q Q0 b 1 high t", "the score must be a finite number; got 'high'."),
        ("q Q0 b 1 1_0 t", "the score must be a finite number; got '1_0'."),
        ("q Q0 b 1 nan t", "the score must be a finite number that float32 can hold; got nan."),
        ("q Q0 b 1 -inf t", "the score must be a finite number that float32 can hold; got -inf."),
        ("q Q0 b 1 1e39 t", "the score must be a finite number that float32 can hold; got 1e+39."),
        ("q Q0 b 1.5 1 t", "the rank must be a whole number from 0; got '1.5'."),
        ("q Q0 b -1 1 t", "the rank must be a whole number from 0; got '-1'."),
        ("q Q0 b 1_0 1 t", "the rank must be a whole number from 0; got '1_0'."),
        ("q Q0 b 99999999999999999999 1 t", "the rank must be a whole number from 0; got '99999999999999999999'."),
        (b"q Q0 b\xff 1 1 t", "byte 0xff is not UTF-8; save the file as UTF-8."),
        (b"q Q0 b 1 1 \xe9", "byte 0xe9 is not UTF-8; save the file as UTF-8."),
    ],
)
def test_the_error_for_an_invalid_line_has_its_number(tmp_path, line, message):
    path = file_of(tmp_path, b"q Q0 a 1 9 t\n\n" + (line if isinstance(line, bytes) else line.encode()) + b"\n")
    assert error_of(read_run, path) == f"{path}:3: {message}"


def test_the_error_for_an_item_listed_twice_has_both_lines(tmp_path):
    path = file_of(tmp_path, "q Q0 a 1 9 t\nr Q0 a 1 9 t\n\nq Q0 b 2 8 t\nq Q0 a 3 10 t\n")
    assert error_of(read_run, path) == (
        f"{path}:5: query 'q' lists item 'a' a second time (first: {path}:1); "
        "give each item once, or use duplicates='first' to keep the better-ranked."
    )


def test_duplicates_first_keeps_the_better_ranked_line(tmp_path):
    path = file_of(tmp_path, "q Q0 a 1 1 t\nq Q0 b 2 2 t\nq Q0 a 3 3 t\nr Q0 a 1 9 t\n")
    assert read_run(path, duplicates="first").to_dict() == {"q": {"a": 3.0, "b": 2.0}, "r": {"a": 9.0}}


def test_an_unknown_duplicates_policy_is_an_error(tmp_path):
    path = file_of(tmp_path, "q Q0 a 1 1 t\n")
    with pytest.raises(UnknownNameError, match="Did you mean 'first'"):
        read_run(path, duplicates="frist")


def test_the_error_for_an_unknown_item_has_its_line(tmp_path):
    path = file_of(tmp_path, "q Q0 doc1 1 9 t\nq Q0 doc9 1 9 t\n")
    message = error_of(read_run, path, item_ids=Ids(["doc1", "img2"]))
    assert message == f"{path}:2: unknown item 'doc9'; choose from doc1, img2. Did you mean 'doc1'?"


@pytest.mark.parametrize("read", [read_run, read_qrels])
@pytest.mark.parametrize("text", ["", "\n \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_an_error(tmp_path, read, text):
    path = file_of(tmp_path, text)
    assert error_of(read, path).startswith(f"{path} is empty; ")


@pytest.mark.parametrize("read", [read_run, read_qrels])
def test_file_problems_are_input_errors(tmp_path, read):
    missing = tmp_path / "no.trec"
    assert error_of(read, missing) == f"There is no file {missing}; check the path."
    assert error_of(read, tmp_path) == f"{tmp_path} is a folder; give a file."
    plain = tmp_path / "plain.gz"
    plain.write_text("q Q0 a 1 1 t\n")
    assert error_of(read, plain).startswith(f"{plain} is not a valid gzip file: ")
    cut = file_of(tmp_path, os.urandom(5000).hex(), "cut.gz")
    cut.write_bytes(cut.read_bytes()[:1000])
    assert error_of(read, cut).startswith(f"{cut} is not a valid gzip file: ")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read anything")
def test_a_file_without_permission_is_an_error(tmp_path):
    path = file_of(tmp_path, "q Q0 a 1 1 t\n")
    path.chmod(0)
    assert error_of(read_run, path) == f"Cannot read {path}: Permission denied."


def test_several_runs_share_one_numbering_of_items(tmp_path):
    one = file_of(tmp_path, "q Q0 a 1 9 t\nq Q0 b 2 8 t\n", "one")
    two = file_of(tmp_path, "r Q0 c 1 9 t\nr Q0 a 2 8 t\n", "two")
    first, second = read_runs([one, two])
    assert first.item_ids is second.item_ids
    assert list(first.item_ids) == ["a", "b", "c"]
    assert (lists(first), lists(second)) == ({"q": ["a", "b"]}, {"r": ["c", "a"]})
    assert error_of(align, [first, second]).startswith("Query 'q' has no list from ranker 2")
    assert error_of(read_runs, []) == "There are no run files to read; give one for each ranker."


# writing runs


def test_a_run_is_written_with_positions_and_short_scores(tmp_path):
    ranks = Ranks([[1, 0], [0, -1]], [[0.1, 0.1], [1e-7, 0]], item_ids=Ids(["a", "b"]), query_ids=Ids(["q", "r"]))
    write_run(ranks, tmp_path / "out.trec", tag="mine")
    assert (tmp_path / "out.trec").read_text() == "q Q0 b 1 0.1 mine\nq Q0 a 2 0.1 mine\nr Q0 a 1 1e-07 mine\n"


def test_without_scores_the_reciprocal_position_is_written(tmp_path):
    write_run(Ranks([[1, 0, 2]]), tmp_path / "out.trec")
    assert (tmp_path / "out.trec").read_text().split()[4::6] == ["1.0", "0.5", "0.33333334"]
    assert lists(read_run(tmp_path / "out.trec")) == {"0": ["1", "0", "2"]}


def test_an_empty_list_has_no_line(tmp_path):
    write_run(Ranks([[-1], [0]]), tmp_path / "out.trec")
    assert lists(read_run(tmp_path / "out.trec")) == {"1": ["0"]}


def test_a_score_prone_to_double_rounding_is_read_back(tmp_path):
    # float32(float64("7.038531e-26")) is the next number above the one that has these digits
    score = np.array([[0x15AE43FD]], np.uint32).view(np.float32)
    write_run(Ranks([[0]], score), tmp_path / "out.trec")
    assert read_run(tmp_path / "out.trec").scores.tolist() == score.tolist()


@pytest.mark.parametrize("name", ["", "a b", "a\t", "\n", "\ufeffa", "\ud800"])
@pytest.mark.parametrize("what", ["item id", "query id", "tag"])
def test_an_id_that_a_run_cannot_hold_is_an_error_and_the_old_file_stays(tmp_path, name, what):
    path = tmp_path / "out.trec"
    path.write_text("old")
    ids = {
        "item_ids": Ids([name if what == "item id" else "a"]),
        "query_ids": Ids([name if what == "query id" else "q"]),
    }
    message = error_of(write_run, Ranks([[0]], **ids), path, tag=name if what == "tag" else "t")
    assert message.startswith(f"The {what} {name!r} ")
    assert path.read_text() == "old"


def test_a_compressed_run_is_reproducible(tmp_path):
    for name in ("a.gz", "b.gz"):
        write_run(Ranks([[0, 1]]), tmp_path / name)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_writing_to_a_missing_folder_is_an_error(tmp_path):
    assert error_of(write_run, Ranks([[0]]), tmp_path / "no" / "a.trec").endswith("does not exist; create it first.")


ids = st.text(min_size=1, max_size=5).filter(lambda s: s.encode().split() == [s.encode()] and s[0] != "\ufeff")
finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def ranks_with_ids(draw):
    items = draw(st.lists(ids, min_size=1, max_size=6, unique=True))
    queries = draw(st.lists(ids, min_size=1, max_size=4, unique=True))
    rows = [
        draw(st.lists(st.sampled_from(range(len(items))), min_size=1, unique=True, max_size=len(items)))
        for _ in queries
    ]
    depth = max(map(len, rows))
    table = np.array([row + [-1] * (depth - len(row)) for row in rows])
    scores = None
    if draw(st.booleans()):
        scores = [sorted(draw(st.lists(finite, min_size=depth, max_size=depth)), reverse=True) for _ in rows]
    return Ranks(table, scores, item_ids=Ids(items), query_ids=Ids(queries))


@given(ranks_with_ids(), st.sampled_from(["a.trec", "a.trec.gz"]))
def test_written_runs_are_read_back(ranks, name):
    with tempfile.TemporaryDirectory() as folder:
        write_run(ranks, Path(folder, name))
        back = read_run(Path(folder, name), item_ids=ranks.item_ids)
    assert back.query_ids == ranks.query_ids
    assert back.items.tolist() == ranks.items.tolist()
    if ranks.scores is not None:
        assert back.scores.tolist() == ranks.scores.tolist()


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), min_size=1))
def test_order_and_duplicates_agree_with_a_plain_sort(rows):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.trec")
        path.write_text("".join(f"q{q} Q0 d{d} {rank} {score} t\n" for q, d, rank, score in rows))
        got = lists(read_run(path, duplicates="first"))
    expected = {f"q{q}": [] for q, *_ in rows}
    for q, d, _, _ in sorted(rows, key=lambda row: (-row[3], row[2])):
        if f"d{d}" not in expected[f"q{q}"]:
            expected[f"q{q}"].append(f"d{d}")
    assert got == expected


# judgments


@pytest.mark.parametrize("name", ["qrels.txt", "qrels.txt.gz"])
def test_judgments_are_read_with_negative_grades(tmp_path, name):
    path = file_of(tmp_path, "2 0 b 1\n1 Q0 a 2\n\n2 0 a -2\n", name)
    assert read_qrels(path) == {"2": {"b": 1, "a": -2}, "1": {"a": 2}}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 0 b", "expected 4 columns, got 3: '1 0 b'."),
        ("1 0 b 0.5", "the grade must be a whole number; got '0.5'."),
        ("1 0 b 1_0", "the grade must be a whole number; got '1_0'."),
        (b"1 0 \xe9 1", "byte 0xe9 is not UTF-8; save the file as UTF-8."),
    ],
)
def test_the_error_for_an_invalid_judgment_has_its_line(tmp_path, line, message):
    path = file_of(tmp_path, b"1 0 a 1\n" + (line if isinstance(line, bytes) else line.encode()))
    assert error_of(read_qrels, path) == f"{path}:2: {message}"


def test_the_error_for_an_item_judged_twice_has_both_lines(tmp_path):
    path = file_of(tmp_path, "2 0 a 1\n1 0 a 1\n\n1 0 a 1\n")
    assert error_of(read_qrels, path) == (
        f"{path}:4: item 'a' is judged a second time for query '1' (first: {path}:2); remove one of the two."
    )


# published files


@pytest.mark.skipif(not (SHARED / "data" / "trec7-terrier-runs").exists(), reason="the shared TREC-7 runs are absent")
def test_a_published_run_and_its_judgments_are_read():
    folder = SHARED / "data" / "trec7-terrier-runs"
    ranks = read_run(min((folder / "runs").iterdir()))
    qrels = read_qrels(folder / "qrels.trec7.txt.gz")
    assert (ranks.n_queries, ranks.depth) == (50, 1000)
    assert set(ranks.query_ids) == set(qrels)
