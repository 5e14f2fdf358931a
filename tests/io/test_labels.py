import pytest

from rankloom import InputError
from rankloom.io import read_labels


def written(tmp_path, text):
    path = tmp_path / "labels.tsv"
    path.write_text(text)
    return path


def test_labels_are_read_in_the_order_of_the_file_and_blank_lines_are_skipped(tmp_path):
    assert list(read_labels(written(tmp_path, "b\tcat\n\na\tdog\n")).items()) == [("b", "cat"), ("a", "dog")]


def test_columns_may_be_parted_by_spaces_where_there_is_no_tab(tmp_path):
    assert read_labels(written(tmp_path, "b   cat\n")) == {"b": "cat"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\tc\n", "labels.tsv:1: expected 2 columns 'item<TAB>class', got 3: 'a\\tb\\tc'."),
        ("a\n", "labels.tsv:1: expected 2 columns 'item<TAB>class', got 1: 'a'."),
        ("a\t\n", "expected 2 columns"),
        ("a\tx\na\ty\n", "labels.tsv:2: item 'a' has a class already"),
        ("", "is empty"),
    ],
)
def test_a_wrong_line_is_an_error_with_its_number(tmp_path, text, message):
    with pytest.raises(InputError) as caught:
        read_labels(written(tmp_path, text))
    assert message in str(caught.value)
