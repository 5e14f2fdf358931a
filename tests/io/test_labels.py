import pytest

from rankloom.errors import InputError
from rankloom.io import read_ids, read_labels


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


def test_udlf_separates_item_and_class_by_a_colon(tmp_path):
    assert read_labels(written(tmp_path, "a.png:cat\nc:/b.png:dog\n")) == {"a.png": "cat", "c:/b.png": "dog"}


def test_a_tab_wins_over_colons_and_spaces(tmp_path):
    assert read_labels(written(tmp_path, "a: b\tsea lion: grey\n")) == {"a: b": "sea lion: grey"}


def test_a_line_that_could_be_split_in_two_ways_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"tsv:2: both a colon and whitespace .* 'b.png:sea lion'; put a tab"):
        read_labels(written(tmp_path, "a.png:cat\nb.png:sea lion\n"))


@pytest.mark.parametrize("text", ["a:\n", ":cat\n"])
def test_a_class_and_an_item_are_needed_beside_the_colon(tmp_path, text):
    with pytest.raises(InputError, match=r"labels.tsv:1: expected 2 columns"):
        read_labels(written(tmp_path, text))


def test_ids_are_lines(tmp_path):
    assert list(read_ids(written(tmp_path, "sea lion.png\n\n b \n"))) == ["sea lion.png", "b"]
