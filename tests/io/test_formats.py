import pytest

import rankloom.io
from rankloom import Ids, Ranks
from rankloom.errors import InputError, UnknownNameError
from rankloom.io import FORMATS, read_ranks, write_ranks

IDS = Ids(["a", "b"])
RANKS = Ranks([[0, 1], [1, 0]], [[2, 1], [4, 3]], item_ids=IDS, query_ids=IDS)


@pytest.mark.parametrize("name", ["x.npz", "x.NPZ", "x.trec", "x.run.gz", "x", "x.txt"])
def test_the_file_name_determines_the_format(tmp_path, name):
    write_ranks(RANKS, tmp_path / name)
    starts_as_zip = (tmp_path / name).read_bytes().startswith(b"PK")
    assert starts_as_zip == name.lower().endswith(".npz")
    assert read_ranks(tmp_path / name).to_dict() == RANKS.to_dict()


@pytest.mark.parametrize("format", ["trec", "npz", "udlf"])
def test_an_explicit_format_overrides_the_file_name(tmp_path, format):
    write_ranks(RANKS, str(tmp_path / "x.npz"), format=format)
    back = read_ranks(str(tmp_path / "x.npz"), format=format)
    assert back.items.tolist() == RANKS.items.tolist()


def test_an_unknown_format_is_an_error_that_suggests_the_nearest(tmp_path):
    for use in (lambda: read_ranks(tmp_path / "x", format="trek"), lambda: write_ranks(RANKS, "x", format="trek")):
        with pytest.raises(UnknownNameError, match=r"Unknown format 'trek'; choose from .*Did you mean 'trec'\?"):
            use()


def test_a_missing_file_is_an_error_in_every_format(tmp_path):
    for name in FORMATS:
        with pytest.raises(InputError, match="There is no file"):
            read_ranks(tmp_path / "no", format=name)


def test_every_public_name_exists():
    assert rankloom.io.__all__ == sorted(rankloom.io.__all__, key=lambda name: (name.lower() == name, name))
    assert all(hasattr(rankloom.io, name) for name in rankloom.io.__all__)


def test_duplicates_are_an_error_unless_the_first_is_wanted(tmp_path):
    run, lists = tmp_path / "a.run", tmp_path / "a.txt"
    run.write_text("q Q0 a 1 2.0 t\nq Q0 b 2 1.0 t\nq Q0 a 3 0.5 t\n")
    lists.write_text("0 1 0\n1 0\n")
    with pytest.raises(InputError, match="use duplicates='first'"):
        read_ranks(run)
    assert read_ranks(run, duplicates="first").to_dict() == {"q": {"a": 2.0, "b": 1.0}}
    assert read_ranks(lists, format="udlf", duplicates="first").items.tolist() == [[0, 1], [1, 0]]


def test_duplicates_may_be_given_for_a_format_without_them(tmp_path):
    write_ranks(Ranks([[0, 1]]), tmp_path / "a.npz")
    assert read_ranks(tmp_path / "a.npz", duplicates="first").items.tolist() == [[0, 1]]
    with pytest.raises(InputError, match="duplicates policy 'last'"):
        read_ranks(tmp_path / "a.npz", duplicates="last")
