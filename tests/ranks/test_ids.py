import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloom import Ids
from rankloom.errors import InputError, UnknownNameError
from rankloom.ranks import PAD, NumberIds

ID_LISTS = st.lists(st.text(max_size=3), unique=True, max_size=8)


def test_ids_are_numbered_in_the_order_given():
    ids = Ids(["d7", "d2"])
    assert (ids.number("d7"), ids.number("d2"), list(ids)) == (0, 1, ["d7", "d2"])


def test_a_duplicate_id_is_an_error():
    with pytest.raises(InputError, match=r"^Ids must be unique; 'a' is given twice\.$"):
        Ids(["b", "a", "a"])


def test_an_unknown_id_is_an_error_that_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match=r"Unknown item 'dog7'; .* Did you mean 'dog1'\?"):
        Ids(["dog1", "cat"]).numbers(["cat", "dog7"], "item")


@pytest.mark.parametrize("number", [PAD, -2, 2])
def test_a_number_out_of_range_is_an_error_even_for_padding(number):
    with pytest.raises(InputError, match=f"no id with the number {number}; there are 2"):
        Ids(["a", "b"])[number]


def test_a_single_string_is_not_a_list_of_ids():
    with pytest.raises(InputError, match=r"got 'abc'\. Put it in a list"):
        Ids("abc")


@pytest.mark.parametrize("value", [7, None, b"a"])
def test_ids_must_be_strings(value):
    with pytest.raises(InputError, match=f"Ids must be strings; got {value!r}"):
        Ids(["a", value])


def test_ids_may_be_empty():
    assert len(Ids([])) == 0
    assert Ids([]).numbers([]).dtype == np.int32


@given(ID_LISTS)
def test_number_and_id_are_inverse(strings):
    ids = Ids(strings)
    assert [ids[ids.number(one)] for one in strings] == strings
    assert ids.numbers(strings).tolist() == list(range(len(strings)))


@given(ID_LISTS, ID_LISTS)
def test_union_keeps_the_first_numbering_and_appends_new_ids(a, b):
    union = Ids(a).union(Ids(b))
    assert list(union)[: len(a)] == a
    assert set(union) == {*a, *b}
    assert len(union) == len({*a, *b})


@given(ID_LISTS)
def test_equal_ids_have_equal_hashes_and_survive_pickling(strings):
    ids = Ids(strings)
    again = pickle.loads(pickle.dumps(ids))  # noqa: S301  # our own bytes
    assert again == ids == Ids(strings)
    assert hash(again) == hash(ids)
    assert ids != strings


def test_membership_and_repr():
    ids = Ids(["a", "b", "c", "d"])
    assert "a" in ids
    assert "z" not in ids
    assert repr(ids) == "Ids(['a', 'b', 'c', ...], n=4)"


def test_numbers_as_ids_are_those_below_n():
    ids = NumberIds(10)
    assert "9" in ids
    assert not [one for one in ("10", "09", "-1", "", "٣", "9" * 5000, 9) if one in ids]
    with pytest.raises(UnknownNameError):
        ids.number("9" * 5000, "item")
