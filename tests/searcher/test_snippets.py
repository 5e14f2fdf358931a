"""Snippets show the matching words, wherever in the text they are."""

from hypothesis import given
from hypothesis import strategies as st

from rankloom.searcher.snippets import LENGTH, snippet, stems


def test_match_deep_in_a_text_is_shown():
    text = "filler words " * 100 + "a rare kangaroo jumps " + "more filler " * 100
    shown, marks = snippet(text, stems("kangaroos"))
    assert [shown[start:end] for start, end in marks] == ["kangaroo"]
    assert shown.startswith("… ")
    assert shown.endswith(" …")


def test_text_without_a_match_is_shown_from_its_start():
    assert snippet("one two", {"three"}) == ("one two", [])


@given(st.text(max_size=600), st.text(max_size=40))
def test_matches_are_ordered_and_snippets_bounded(text, query):
    wanted = stems(query)
    shown, marks = snippet(text, wanted)
    assert len(shown) <= LENGTH + 4
    ends = [0, *(end for _, end in marks)]
    for (start, end), before in zip(marks, ends, strict=False):
        assert before <= start < end <= len(shown)
        assert stems(shown[start:end]) <= wanted
