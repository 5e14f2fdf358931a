import copy
import pickle

import numpy as np
import pytest

from rankloom import RankloomError, RankloomWarning
from rankloom.errors import (
    MAX_MESSAGE,
    IndexFileError,
    InputError,
    MissingExtraError,
    UnknownNameError,
    brief,
    whole_number,
)
from rankloom.methods import METHODS
from rankloom.rankers import RANKERS

ERRORS = [
    InputError("depth must be at least 1; got 0."),
    UnknownNameError("comparator", "wgo", ["mcs", "wgu"]),
    IndexFileError("The index is damaged."),
    MissingExtraError("to_networkx()", "networkx", "graph"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_every_error_is_a_rankloom_error(error):
    assert isinstance(error, RankloomError)


@pytest.mark.parametrize(
    ("error", "builtin"), list(zip(ERRORS, [ValueError, KeyError, OSError, ImportError], strict=True))
)
def test_every_error_is_also_a_builtin_error(error, builtin):
    assert isinstance(error, builtin)


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_errors_survive_pickling_and_copying(error):
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301  # our own bytes
        assert type(again) is type(error)
        assert str(again) == str(error)


def test_unknown_name_lists_the_choices_and_suggests_the_nearest():
    assert str(UnknownNameError("comparator", "wgo", ["wgu", "mcs"])) == (
        "Unknown comparator 'wgo'; choose from mcs, wgu. Did you mean 'wgu'?"
    )


def test_unknown_name_without_a_near_one_suggests_nothing():
    assert str(UnknownNameError("comparator", "xyz", ["wgu", "mcs"])) == (
        "Unknown comparator 'xyz'; choose from mcs, wgu."
    )


def test_unknown_name_ignores_case():
    assert "Did you mean 'ndcg'?" in str(UnknownNameError("measure", "NDCG", ["map", "ndcg"]))


def test_unknown_name_without_choices():
    assert str(UnknownNameError("method", "rrf", [])) == "Unknown method 'rrf'; there are none."


def test_unknown_name_need_not_be_a_string():
    assert str(UnknownNameError("item", 7, ["a"])) == "Unknown item 7; choose from a."


def test_many_choices_are_counted_and_not_listed():
    message = str(UnknownNameError("item", "d5000x", [f"d{i}" for i in range(9_000)]))
    assert "9000 known items" in message
    assert "Did you mean 'd5000'?" in message


def test_an_unknown_method_or_ranker_names_the_command_that_lists_them():
    with pytest.raises(UnknownNameError, match=r"choose from \d\d known rankers, which 'rankloom rankers' lists\."):
        RANKERS.make("zz")
    with pytest.raises(UnknownNameError, match=r"choose from \d\d known methods, which 'rankloom methods' lists\."):
        METHODS.make("zz")


def test_missing_extra_says_what_to_install():
    assert str(MissingExtraError("to_networkx()", "networkx", "graph")) == (
        "to_networkx() needs networkx: pip install 'rankloom[graph]'."
    )


class Unshowable:
    def __repr__(self):
        raise RuntimeError("no repr")


@pytest.mark.parametrize(
    "error",
    [
        InputError("x" * 10**6),
        UnknownNameError("item", "x" * 10**6, ["y" * 10**6]),
        UnknownNameError("field", "year", [f"field{i}" for i in range(10**5)]),
        UnknownNameError("field", 10**5000, ["year"]),
        MissingExtraError("A" * 10**6, "networkx", "graph"),
        RankloomWarning("x" * 10**6),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_message_is_not_longer_than_a_screen(error):
    assert len(str(error)) <= MAX_MESSAGE


def test_a_message_has_no_control_characters():
    message = "Unknown field 'a\x1b[31m\x00\x7f\x9b2J'.\r\nSee\tbelow."
    for one in (InputError(message), IndexFileError(message), RankloomWarning(message)):
        assert str(one) == "Unknown field 'a\\u001b[31m\\u0000\\u007f\\u009b2J'.\\u000d\nSee\tbelow."


UNSHOWABLE = [10**5000, -(10**5000), Unshowable(), [[10**5000]], "x" * 10**6, np.zeros(10**6)]


@pytest.mark.parametrize("value", UNSHOWABLE, ids=range(len(UNSHOWABLE)))
def test_any_value_can_be_shown_in_a_message(value):
    nested = value
    for _ in range(2000):
        nested = [nested]
    assert len(brief(value)) <= 250
    assert len(brief(nested)) <= 250


@pytest.mark.parametrize(
    "value", [2**63, 1.5, "3", None, True, [3], np.arange(3), int, *UNSHOWABLE], ids=lambda value: type(value).__name__
)
def test_what_is_not_a_whole_number_of_64_bits_is_refused(value):
    with pytest.raises(InputError, match="k must be"):
        whole_number("k", value)
