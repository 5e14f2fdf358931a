import pytest

from rankloom import InputError
from rankloom.io import read_labels


def written(tmp_path, text):
    path = tmp_path / "labels.tsv"
    path.write_text(text)
    return path


def test_labels_are_read_in_file_order_and_blank_lines_are_skipped(tmp_path):
    assert list(read_labels(written(tmp_path, "b\tcat\n\na\tdog\n")).items()) == [("b", "cat"), ("a", "dog")]


def test_columns_may_be_separated_by_spaces_without_tabs(tmp_path):
    assert read_labels(written(tmp_path, "b   cat\n")) == {"b": "cat"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\tc\n", "labels.tsv:1: expected 2 columns 'item<TAB>class', got 3: 'a\\tb\\tc'."),
        ("a\n", "labels.tsv:1: expected 2 columns 'item<TAB>class', got 1: 'a'."),
        ("a\t\n", "expected 2 columns"),
        ("a\tx\na\ty\n", "labels.tsv:2: item 'a' already has a class"),
        ("", "is empty"),
    ],
)
def test_the_error_for_an_invalid_line_has_its_number(tmp_path, text, message):
    with pytest.raises(InputError) as caught:
        read_labels(written(tmp_path, text))
    assert message in str(caught.value)
