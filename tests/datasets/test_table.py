"""Tables of texts as collections."""

import csv
import gzip

import pytest

from rankloom.datasets import table
from rankloom.errors import InputError

CSV = 'id,text,label\r\na,"one, ""two""\nlines",x\r\nb,three,y\r\n'
TSV = "\ufeffid\ttext\tlabel\na\tone\tx\nb\tthree\ty\n"
JSONL = '{"id": "a", "text": "one", "label": "x"}\n\n{"id": "b", "text": "three", "label": 7}\n'


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_of_a_csv_is_in_its_first_line(delimiter, tmp_path, write):
    rows = [["id", "text"], ["a", "one"], ["b", "two"]]
    path = write(tmp_path / "t.csv", "".join(f"{delimiter.join(row)}\n" for row in rows))
    assert table(path).part("texts") == ["one", "two"]
    quoted = write(tmp_path / "q.csv", 'id,"text; more"\na,"one; two"\n')
    assert table(quoted, text="text; more").part("texts") == ["one; two"]
    names = write(tmp_path / "n.csv", 'id;"family, first, second";text, long\na;b;one\n')
    assert table(names, text="text, long").part("texts") == ["one"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "UTF8"])
def test_a_table_may_have_any_encoding(encoding, tmp_path, write):
    for name, text in (("t.csv", "text\n\u00e9\u00fc\n"), ("t.jsonl", '{"text": "\u00e9\u00fc"}\n')):
        path = write(tmp_path / name, text.encode(encoding))
        assert table(path, encoding=encoding).part("texts") == ["\u00e9\u00fc"]


def test_csv_tsv_and_json_lines_may_be_compressed(tmp_path, write):
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


def test_a_long_field_is_read_and_the_csv_limit_is_restored(tmp_path, write):
    before = csv.field_size_limit()
    assert len(table(write(tmp_path / "t.csv", f"text\n{'a' * 200_000}\n")).part("texts")[0]) == 200_000
    assert csv.field_size_limit() == before


def test_an_unnamed_column_is_ignored(tmp_path, write):
    found = table(write(tmp_path / "t.csv", ",text,label\n0,one,x\n1,two,y\n"))  # as pandas writes it
    assert (list(found.ids), found.labels, found.part("texts")) == (["1", "2"], ("x", "y"), ["one", "two"])


def test_columns_are_selected_by_name(tmp_path, write):
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
        ("t.csv", 'id,text\nx,y\na,"b\nc\n', r"t\.csv:3: unexpected end of data; check the quotes"),
        ("t.csv", b"id,text\na,caf\xe9\n", "is not UTF-8"),
        ("t.csv", "id,text\na,b\na,c\n", "'a' is given twice. Choose another column with id="),
        ("t.csv", "text,label\na,x\nb,\n", r"t\.csv:3: label is empty; give every row a class"),
        ("t.tsv", "text\tx\ttext\na\tb\tc\n", r"t\.tsv:1: duplicate column 'text'"),
        ("t.jsonl", '{"text": "a"}\n{"text": "b", "label": "x"}\n', r"t\.jsonl:1: Unknown column 'label'"),
        ("t.jsonl", '{"text": "a"}\n{"text": "b", "id": 1, "id": 2}\n', r"t\.jsonl:2: The key 'id' is given twice"),
        ("t.jsonl", '{"text": "a", "n": {"x": 1, "x": 1}}\n', r"t\.jsonl:1: The key 'x' is given twice"),
        ("t.jsonl", '{"text": "a", "n": ' + "[" * 90_000 + "]" * 90_000 + "}", r"t\.jsonl:1: it is nested too deeply"),
        ("t.jsonl", f'{{"text": "a", "n": {"9" * 400}}}\n', r"t\.jsonl:1: A whole number may have 300 digits; got 400"),
        ("t.jsonl", '{"text": "a"}\n[1]\n', r"t\.jsonl:2: expected a JSON object"),
        ("t.jsonl", '{"text": "a"}\n{"txt": "b"}\n', r"t\.jsonl:2: Unknown column 'text'"),
        ("t.jsonl", '{"text": ["a"]}', r"t\.jsonl:1: text must be a text or a whole number; got \[\"a\"\]"),
        ("t.xls", "a", r"must end in \.csv, \.tsv, \.jsonl"),
    ],
)
def test_an_invalid_table_is_rejected_with_its_line(tmp_path, name, text, why, write):
    with pytest.raises(InputError, match=why):
        table(write(tmp_path / name, text))
