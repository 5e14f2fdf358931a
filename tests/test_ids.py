import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloom import PAD, Ids, InputError, UnknownNameError

NAMES = st.lists(st.text(max_size=3), unique=True, max_size=8)


def test_names_are_numbered_in_the_order_given():
    ids = Ids(["d7", "d2"])
    assert (ids.number("d7"), ids.number("d2"), list(ids)) == (0, 1, ["d7", "d2"])


def test_a_name_given_twice_is_an_error_that_names_it():
    with pytest.raises(InputError, match=r"^Ids must differ; 'a' is given twice\.$"):
        Ids(["b", "a", "a"])


def test_an_unknown_name_is_an_error_with_the_nearest():
    with pytest.raises(UnknownNameError, match=r"Unknown item 'dog7'; .* Did you mean 'dog1'\?"):
        Ids(["dog1", "cat"]).numbers(["cat", "dog7"], "item")


@pytest.mark.parametrize("number", [PAD, -2, 2])
def test_a_number_outside_is_an_error_padding_too(number):
    with pytest.raises(InputError, match=f"no id with the number {number}; there are 2"):
        Ids(["a", "b"])[number]


def test_one_string_is_not_a_list_of_names():
    with pytest.raises(InputError, match="got one string, 'abc'"):
        Ids("abc")


@pytest.mark.parametrize("name", [7, None, b"a"])
def test_names_must_be_strings(name):
    with pytest.raises(InputError, match=f"Ids must be strings; got {name!r}"):
        Ids(["a", name])


def test_there_may_be_no_names():
    assert len(Ids([])) == 0
    assert Ids([]).numbers([]).dtype == np.int32


@given(NAMES)
def test_number_and_name_are_inverse(names):
    ids = Ids(names)
    assert [ids[ids.number(name)] for name in names] == names
    assert ids.numbers(names).tolist() == list(range(len(names)))


@given(NAMES, NAMES)
def test_union_keeps_the_first_numbering_and_adds_what_is_new(a, b):
    union = Ids(a).union(Ids(b))
    assert list(union)[: len(a)] == a
    assert set(union) == {*a, *b}
    assert len(union) == len({*a, *b})


@given(NAMES)
def test_equal_ids_have_equal_hashes_and_survive_pickling(names):
    ids = Ids(names)
    again = pickle.loads(pickle.dumps(ids))  # noqa: S301  # our own bytes
    assert again == ids == Ids(names)
    assert hash(again) == hash(ids)
    assert ids != names


def test_membership_and_repr():
    ids = Ids(["a", "b", "c", "d"])
    assert "a" in ids
    assert "z" not in ids
    assert repr(ids) == "Ids(['a', 'b', 'c', ...], n=4)"
