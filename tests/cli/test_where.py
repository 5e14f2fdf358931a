"""`--where`: a condition in a small grammar, whose values are typed as the fields of the documents are."""

import json
import random

import pytest

import rankloom as rl
from command import run, sentence
from rankloom.cli.search import parse_where
from rankloom.errors import InputError
from rankloom.searcher.where import And

SHOP = [
    {"id": "a", "text": "coat", "year": 1961, "tags": ["x", "y"], "on": True, "day": "2024-05-01", "zip": "0123"},
    {"id": "b", "text": "coat", "year": 1962, "tags": ["z, z"], "on": False, "day": "2024-05-02", "zip": "123"},
    {"id": "c", "text": "coat", "zip": ""},
]


def hits(folder, *conditions):
    options = [part for condition in conditions for part in ("--where", condition)]
    line = run("search", folder, "coat", "--json", *options).stdout
    return sorted(hit["id"] for hit in json.loads(line)["hits"])


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop") / "s.loom"
    rl.Searcher.build(SHOP, ["bm25"]).save(folder)
    return folder


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (["year=1961"], "a"),
        (["year != 1961"], "bc"),
        (["year>=1961", "year<1962"], "a"),
        (["year <= 1962"], "ab"),
        (["tags=x", "tags=y"], "a"),
        (['tags in y, "z, z"'], "ab"),
        (["tags > x"], "ab"),
        (["year exists"], "ab"),
        (["year exists no"], "c"),
        (["on=yes"], "a"),
        (["day<2024-05-02"], "a"),
        (["zip=0123"], "a"),
        (['zip>="0"', 'zip<"1"'], "a"),
        (['{"or": [{"zip": "0123"}, {"year": {"exists": false}}]}'], "ac"),
    ],
    ids=str,
)
def test_where_on_the_command_line(shop, conditions, expected):
    assert hits(shop, *conditions) == list(expected)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("year", "--where takes FIELD=VALUE"),
        ("color=red", "Unknown field 'color'"),
        ("yaer>1", "Did you mean 'year'"),
        ("year=old", "The field 'year' is a number; got 'old' (text)"),
        ("{", "starts like JSON"),
        ("zip>=100", "The field 'zip' is text, but 100 is a number."),
        ("tags < 1", "quote the value to compare it as text: 'tags<\"1\"'."),
        ("not year exists", "use !=, 'FIELD exists no' or JSON"),
    ],
)
def test_wrong_conditions_are_errors(shop, condition, message):
    assert message in sentence(run("search", shop, "coat", "--where", condition))


def test_build_says_which_fields_have_which_type(tmp_path):
    (tmp_path / "shop.csv").write_text("id,text,year,code\n1,coat,1961,7\n2,coat,1962,8\n")
    done = run(
        "build", tmp_path / "shop.csv", "--ranker", "bm25", "--filter-as-text", "code", "-o", tmp_path / "s.loom"
    )
    assert "--where compares year as a number; --filter-as-text keeps a field as text." in done.stderr
    assert hits(tmp_path / "s.loom", "code=7", "year<1962") == ["1"]


def test_any_text_is_a_condition_or_an_error():
    chosen = random.Random(1)
    pieces = [
        "a",
        "year",
        " ",
        "=",
        "!=",
        "<",
        ">=",
        "in",
        "exists",
        "no",
        '"',
        "[",
        "]",
        ",",
        "{",
        "}",
        "é",
        "\n",
        "1e9",
    ]
    known = 0
    for _ in range(2000):
        text = "".join(chosen.choices(pieces, k=chosen.randrange(8)))
        try:
            known += isinstance(parse_where([text], {"year": "number", "a": "list of text"}), And)
        except InputError:
            continue
    assert 500 < known < 1900
