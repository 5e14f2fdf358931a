"""Folders and tables of one's own, and collections as they are written."""

import csv
import gzip
import os

import pytest

from rankloom.datasets import Collection, folder, open_collection, table
from rankloom.datasets.layout import natural
from rankloom.errors import InputError, UnknownNameError
from rankloom.ranks import Ids
from rankloom.registry import Call


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_names_are_sorted_by_the_numbers_in_them():
    assert sorted(["a10", "a2", "a02", "b1", "a", "10", "9"], key=natural) == ["9", "10", "a", "a02", "a2", "a10", "b1"]


def test_a_sub_folder_is_a_class(tmp_path):
    for name in ("cats/2.txt", "cats/10.txt", "dogs/big/1.txt"):
        write(tmp_path / name, f"text of {name}")
    write(tmp_path / "cats" / "notes.md", "passed over")
    found = folder(str(tmp_path))
    assert list(found.ids) == ["cats/2.txt", "cats/10.txt", "dogs/big/1.txt"]
    assert found.labels == ("cats", "cats", "dogs/big")
    assert found.part("texts")[1] == "text of cats/10.txt"
    assert found.about == "3 texts, in 2 classes"


def test_a_flat_folder_has_no_classes(tmp_path):
    write(tmp_path / "b.JPG", "")
    write(tmp_path / "a.png", "")
    found = folder(str(tmp_path))
    assert (list(found.ids), found.labels, found.queries) == (["a.png", "b.JPG"], None, None)
    assert [item.path.name for item in found.part("images")] == ["a.png", "b.JPG"]


def test_a_folder_of_both_kinds_asks_which(tmp_path):
    write(tmp_path / "x" / "a.png", "")
    write(tmp_path / "x" / "a.txt", "text")
    with pytest.raises(InputError, match=r"both pictures and texts; choose .* as in 'folder\(path=.*, kind=images\)'"):
        folder(str(tmp_path))
    assert folder(str(tmp_path), kind="texts").part("texts") == ["text"]
    with pytest.raises(UnknownNameError, match="Did you mean 'texts'"):
        folder(str(tmp_path), kind="text")


def test_a_file_outside_of_the_classes_is_refused(tmp_path):
    write(tmp_path / "x" / "a.txt", "")
    write(tmp_path / "stray.txt", "")
    with pytest.raises(InputError, match=r"'stray\.txt' is in none; move it"):
        folder(str(tmp_path))


def test_a_folder_without_files_and_a_missing_one_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"looked for files that end in \.avif"):
        folder(str(tmp_path))
    with pytest.raises(InputError, match="does not exist"):
        folder(str(tmp_path / "none"))
    with pytest.raises(InputError, match="is not a folder"):
        folder(write(tmp_path / "file.txt", ""))


def test_a_folder_is_named_wherever_one_stands(tmp_path, monkeypatch):
    write(tmp_path / "pets" / "a.txt", "")
    monkeypatch.chdir(tmp_path / "pets")
    assert folder(".").name == "pets"


def test_a_path_that_is_not_there_is_told_as_one(tmp_path):
    with pytest.raises(InputError, match=r"nope\.csv does not exist; give a folder, a file that ends in \.csv"):
        open_collection(str(tmp_path / "nope.csv"))
    with pytest.raises(InputError, match=r"a\.md is neither a folder nor a table"):
        open_collection(write(tmp_path / "a.md", ""))


def test_pipes_are_passed_over(tmp_path):
    write(tmp_path / "a.txt", "text")
    os.mkfifo(tmp_path / "b.txt")
    assert list(folder(str(tmp_path)).ids) == ["a.txt"]


def test_a_folder_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    write(tmp_path / "a" / "a.txt", "text")
    (tmp_path / "b").mkdir()
    scandir = os.scandir

    def refusing(path):
        if os.fspath(path).endswith("b"):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(InputError, match=r"Cannot read the folder .*b: Permission denied"):
        folder(str(tmp_path))


def test_a_text_that_is_not_utf8_is_refused_by_name(tmp_path):
    write(tmp_path / "a.txt", b"caf\xe9")
    with pytest.raises(InputError, match=r"a\.txt: byte 3 is not UTF-8"):
        folder(str(tmp_path))


CSV = 'id,text,label\r\na,"one, ""two""\nlines",x\r\nb,three,y\r\n'
TSV = "\ufeffid\ttext\tlabel\na\tone\tx\nb\tthree\ty\n"
JSONL = '{"id": "a", "text": "one", "label": "x"}\n\n{"id": "b", "text": "three", "label": 7}\n'


def test_csv_tsv_and_json_lines_are_read_packed_or_not(tmp_path):
    for name, text, first, last in (
        ("t.csv", CSV, 'one, "two"\nlines', "y"),
        ("t.tsv", TSV, "one", "y"),
        ("t.jsonl", JSONL, "one", "7"),
    ):
        packed = write(tmp_path / f"{name}.gz", gzip.compress(text.encode()))
        for path in (write(tmp_path / name, text), packed):
            found = table(path)
            assert (found.name, list(found.ids), found.labels) == ("t", ["a", "b"], ("x", last))
            assert found.part("texts") == [first, "three"]


def test_a_long_text_is_read_whole_and_the_limit_of_others_stays(tmp_path):
    before = csv.field_size_limit()
    assert len(table(write(tmp_path / "t.csv", f"text\n{'a' * 200_000}\n")).part("texts")[0]) == 200_000
    assert csv.field_size_limit() == before


def test_a_column_without_a_name_does_no_harm(tmp_path):
    found = table(write(tmp_path / "t.csv", ",text,label\n0,one,x\n1,two,y\n"))  # as pandas writes it
    assert (list(found.ids), found.labels, found.part("texts")) == (["1", "2"], ("x", "y"), ["one", "two"])


def test_columns_are_chosen_by_name(tmp_path):
    path = write(tmp_path / "t.csv", "n,body,kind\n7,one,x\n9,two,y\n")
    found = table(path, text="body", label="kind", id="n")
    assert (list(found.ids), found.labels, found.part("texts")) == (["7", "9"], ("x", "y"), ["one", "two"])
    plain = table(path, text="body")
    assert (list(plain.ids), plain.labels) == (["1", "2"], None)
    with pytest.raises(InputError, match=r"Unknown column of .* 'kinds'; .* Did you mean 'kind'"):
        table(path, text="body", label="kinds")
    with pytest.raises(InputError, match=r"t\.csv:2: Unknown column 'text'"):
        table(path)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("t.csv", "text\n", "has no rows"),
        ("t.csv", "", "has no rows"),
        ("t.csv", "id,text\na\n", r"t\.csv:2: expected 2 columns"),
        ("t.csv", "id,text\na,b,c\n", r"t\.csv:2: expected 2 columns"),
        ("t.csv", 'id,text\na,"b\n', r"t\.csv:\d: unexpected end of data"),
        ("t.csv", b"id,text\na,caf\xe9\n", "is not UTF-8"),
        ("t.csv", "id,text\na,b\na,c\n", "'a' is given twice. Choose another column by id="),
        ("t.csv", "text,label\na,x\nb,\n", r"t\.csv:3: label is empty; give every row a class"),
        ("t.tsv", "text\tx\ttext\na\tb\tc\n", r"t\.tsv:1: the column 'text' is there twice"),
        ("t.jsonl", '{"text": "a"}\n{"text": "b", "label": "x"}\n', r"t\.jsonl:1: Unknown column 'label'"),
        ("t.jsonl", '{"text": "a"}\n[1]\n', r"t\.jsonl:2: expected a JSON object"),
        ("t.jsonl", '{"text": "a"}\n{"txt": "b"}\n', r"t\.jsonl:2: Unknown column 'text'"),
        ("t.jsonl", '{"text": ["a"]}', r"t\.jsonl:1: text must be a text or a whole number; got \[\"a\"\]"),
        ("t.xls", "a", r"should end in \.csv, \.tsv, \.jsonl"),
    ],
)
def test_a_wrong_table_is_refused_with_the_line(tmp_path, name, text, why):
    with pytest.raises(InputError, match=why):
        table(write(tmp_path / name, text))


def test_a_collection_is_opened_by_name_folder_or_file(tmp_path, monkeypatch):
    path = write(tmp_path / "t.csv", CSV)
    write(tmp_path / "pets" / "a.txt", "")
    assert open_collection(path).labels == ("x", "y")
    assert open_collection(f"table(path={path}, label=id)").labels == ("a", "b")
    assert open_collection(Call.of("table", {"path": path})).name == "t"
    assert open_collection(str(tmp_path / "pets")).name == "pets"


def test_an_unknown_collection_or_option_is_refused(tmp_path):
    with pytest.raises(UnknownNameError, match=r"Unknown collection 'socer'; .* Did you mean 'soccer'"):
        open_collection("socer")
    with pytest.raises(InputError, match=r"'soccer' has no option 'pth'; it has path, check\. Did you mean 'path'"):
        open_collection("soccer(pth=x)")
    with pytest.raises(InputError, match=r"'table' needs the option 'path': table\(path=\.\.\.\)"):
        open_collection("table")
    with pytest.raises(InputError, match="Put it in quotes"):
        open_collection("folder(path=2006)")


def test_items_left_out_are_left_out_of_everything():
    texts = Collection("t", Ids(["a", "b", "c"]), {"texts": ["1", "2", "3"]}, labels=("x", "y", "z")).without([1])
    assert (list(texts.ids), texts.part("texts"), texts.labels) == (["a", "c"], ["1", "3"], ("x", "z"))
