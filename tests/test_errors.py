import copy
import pickle

import pytest

from rankloom import IndexFileError, InputError, MissingExtraError, RankloomError, UnknownNameError

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
    assert "9000 known names" in message
    assert "Did you mean 'd5000'?" in message


def test_missing_extra_says_what_to_install():
    assert str(MissingExtraError("to_networkx()", "networkx", "graph")) == (
        "to_networkx() needs networkx: pip install 'rankloom[graph]'."
    )
