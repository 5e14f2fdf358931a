import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloom.errors import InputError
from rankloom.spelling import Call, parse_value, show_value

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-1000, 1000), st.floats(allow_nan=False, allow_infinity=False), st.text()
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
    with pytest.raises(InputError, match=r"got|twice"):
        Call.parse(text)
