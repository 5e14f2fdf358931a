import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloom.errors import InputError
from rankloom.registry import Call, parse_value, show_value

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.text('\\",()[]= a1_.'),
    st.sampled_from(["1_000", "inf", "-inf", "nan", "1e999", "٣", "9" * 5000, "yes", "a\\"]),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=3).map(tuple))
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)


@given(NAMES, st.dictionaries(NAMES, VALUES, max_size=4))
def test_what_is_written_parses_back(name, options):
    call = Call.of(name, options)
    assert Call.parse(str(call)) == call


@given(SCALARS)
def test_a_value_keeps_its_type(value):
    again = parse_value(show_value(value))
    assert (again, type(again)) == (value, type(value))


def test_options_are_sorted_so_that_equal_calls_are_equal():
    assert Call.parse("f(b=1, a=2)") == Call.parse("f(a=2,b=1)")
    assert hash(Call.parse("f(w=[1, 2])")) == hash(Call.of("f", {"w": [1, 2]}))


def test_brackets_and_quotes_hide_commas():
    call = Call.parse('file(path="a, (b).run", weights=[1, 2])')
    assert dict(call.options) == {"path": "a, (b).run", "weights": (1, 2)}


@pytest.mark.parametrize("text", ["", "(a=1)", "f(", "f(a=1", "f)", "f(a)", "f(=1)", "f(a=1, a=2)", "f(1a=2)", "f g"])
def test_what_is_no_call_is_an_error_that_shows_it(text):
    with pytest.raises(InputError, match=r"got|twice|Got"):
        Call.parse(text)


def test_a_text_that_ends_in_a_backslash_ends_at_its_quotation_mark():
    call = Call.of("f", {"a": "a b\\", "z": 1})
    assert str(call) == r'f(a="a b\\", z=1)'
    assert Call.parse(str(call)) == call


@pytest.mark.parametrize(
    "text",
    ["a(b=1)(c=2)", 'a(b="x)', "a(b=[1)", "a(b=[1))", "a(b=(1])", 'a(b="x"y)', "f(a=" + "[" * 3000 + "]" * 3000 + ")"],
)
def test_brackets_and_quotes_are_closed(text):
    with pytest.raises(InputError, match=r"closes nothing|not closed|in quotes|20 deep at most"):
        Call.parse(text)


def test_numbers_are_those_of_every_language():
    assert [parse_value(text) for text in ("2019_01", "٣", "1e999", "nan")] == ["2019_01", "٣", "1e999", "nan"]
    assert [parse_value(text) for text in ("+7", "-.5", "1e3", "inf")] == [7, -0.5, 1000.0, float("inf")]
    with pytest.raises(InputError, match="NaN is no value"):
        Call.of("f", {"a": (1, float("nan"))})


def test_half_a_letter_is_refused():
    with pytest.raises(InputError, match="Write a text in quotes"):
        Call.parse(r'f(a="\ud800")')
