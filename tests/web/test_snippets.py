"""Passages show the words in common, wherever in the text they are."""

from hypothesis import given
from hypothesis import strategies as st

from rankloom.web.snippets import LENGTH, passage, stems


def test_a_word_deep_in_a_text_is_in_the_passage():
    text = "filler words " * 100 + "a rare kangaroo jumps " + "more filler " * 100
    shown, marks = passage(text, stems("kangaroos"))
    assert [shown[start:end] for start, end in marks] == ["kangaroo"]
    assert shown.startswith("… ")
    assert shown.endswith(" …")


def test_a_text_without_the_words_is_shown_from_its_beginning():
    assert passage("one two", {"three"}) == ("one two", [])


@given(st.text(max_size=600), st.text(max_size=40))
def test_marks_are_words_of_the_passage_in_order_and_it_is_no_longer_than_it_may_be(text, asked):
    wanted = stems(asked)
    shown, marks = passage(text, wanted)
    assert len(shown) <= LENGTH + 4
    ends = [0, *(end for _, end in marks)]
    for (start, end), before in zip(marks, ends, strict=False):
        assert before <= start < end <= len(shown)
        assert stems(shown[start:end]) <= wanted
