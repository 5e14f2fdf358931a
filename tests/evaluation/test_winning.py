import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloom.errors import InputError
from rankloom.evaluation import gain, winning_numbers

VALUES = st.dictionaries(st.sampled_from("abcde"), st.integers(0, 3), max_size=5)


def test_winning_numbers_by_hand():
    table = {
        ("soccer", "all"): {"fg": 0.65, "rrf": 0.60, "borda": 0.60},  # fg beats 2
        ("soccer", "pair"): {"fg": 0.62, "rrf": 0.63, "borda": 0.61},  # rrf beats 2, fg 1
    }
    assert list(winning_numbers(table).items()) == [("fg", 3), ("rrf", 2), ("borda", 0)]


def test_ties_win_nothing_and_equal_numbers_are_sorted_by_name():
    assert list(winning_numbers({1: {"b": 0.5, "a": 0.5, "c": 0.5}}).items()) == [("a", 0), ("b", 0), ("c", 0)]
    assert winning_numbers({}) == {}


def test_a_missing_method_neither_wins_nor_loses():
    assert winning_numbers({1: {"a": 2, "b": 1}, 2: {"b": 2, "c": 1}}) == {"a": 1, "b": 1, "c": 0}


@given(st.lists(VALUES, max_size=4))
def test_each_pair_that_differs_has_one_winner(rows):
    pairs = sum(row[a] != row[b] for row in rows for a in row for b in row if a < b)
    assert sum(winning_numbers(dict(enumerate(rows))).values()) == pairs


def test_gains_are_in_percent():
    assert gain(0.9, 0.6) == pytest.approx(50)
    assert gain(0.3, 0.6) == pytest.approx(-50)
    assert gain(0.6, 0.6) == 0


def test_bad_values_raise():
    with pytest.raises(InputError, match=r"The value of 'fg' in 'soccer' is NaN; leave the method out"):
        winning_numbers({"soccer": {"fg": float("nan")}})
    for theirs in (0, -1, float("nan")):
        with pytest.raises(InputError, match="A gain needs a baseline above 0"):
            gain(1, theirs)
