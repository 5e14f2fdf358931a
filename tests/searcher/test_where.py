"""`where` on columns is what the table of its semantics says, read document by document."""

import random
from datetime import UTC, date, datetime, timedelta, timezone
from functools import reduce

import numpy as np
import pytest
from sample_texts import documents, encode

import rankloom as rl
from rankloom.errors import InputError
from rankloom.searcher.batch import batch_of
from rankloom.searcher.columns import Columns, Part
from rankloom.searcher.where import checked, parse

ZONE = timezone(timedelta(hours=-5))
MOMENTS = [
    date(1999, 12, 31),
    datetime(2000, 1, 1),
    datetime(2000, 1, 1, 5, tzinfo=UTC),
    datetime(2000, 1, 1, tzinfo=ZONE),
]
VALUES = {
    "number": [-1, 0, 1, 1.0, 2.5, 2**53, 2**53 + 1, 2.0**53, 2**60 + 1, 2.0**60, 2**63 - 1, 2.0**63, 1e300, 7],
    "whole": [-(2**63), 2**63 - 1, 2**53, 2**53 + 1, 0, 3],
    "boolean": [True, False],
    "text": ["", "a", "A", "ab", "b", "é", "\U0001f600", "\uffff", "x" * 200, "x" * 200 + "y", "2000-01-01"],
    "date": MOMENTS,
}
FIELDS = [(kind, is_list) for kind in VALUES for is_list in (False, True)]


# The table, for one document ------------------------------------------------------------------------------------------


def holds(document, where):
    """Return whether a document satisfies a condition, by the rules alone."""
    return all(holds_one(document, name, given) for name, given in where.items())


def holds_one(document, name, given):
    if name == "not":
        return not holds(document, given)
    if name == "or":
        return any(holds(document, part) for part in given)
    if isinstance(given, list):
        given = {"in": given}
    given = given if isinstance(given, dict) else {"eq": given}
    value = document.get(name)
    values = [value] if not isinstance(value, list) else [one for one in value if one is not None]
    values = [] if value is None else values
    of_value = {operator: wanted for operator, wanted in given.items() if operator not in ("ne", "exists")}
    return (
        (not of_value or any(all(passes(one, *test) for test in of_value.items()) for one in values))
        and ("ne" not in given or not any(passes(one, "eq", given["ne"]) for one in values))
        and ("exists" not in given or given["exists"] == (value is not None))
    )


def passes(value, operator, wanted):
    if operator in ("in", "any"):
        return any(passes(value, "eq", one) for one in wanted)
    a, b = comparable(value), comparable(wanted)
    return {"eq": a == b, "lt": a < b, "lte": a <= b, "gt": a > b, "gte": a >= b}[operator]


def comparable(value):
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value


# Random documents and trees -------------------------------------------------------------------------------------------


def random_document(random, number, numbers):
    document = {"id": str(number), "text": "words"}
    for kind, is_list in FIELDS:
        values = numbers if kind == "number" else VALUES[kind]
        if random.random() < 0.25:
            continue
        given = random.choices([*values, None], k=random.randrange(4)) if is_list else random.choice([*values, None])
        document[name(kind, is_list)] = given
    return document


def name(kind, is_list):
    return f"{kind}s" if is_list else kind


def random_tree(random, numbers, depth=3):
    return dict(random_condition(random, numbers, depth) for _ in range(random.choice([0, 1, 1, 1, 2, 3])))


def random_condition(random, numbers, depth):
    if depth and random.random() < 0.35:
        if random.random() < 0.5:
            return "not", random_tree(random, numbers, depth - 1)
        return "or", [random_tree(random, numbers, depth - 1) for _ in range(random.randrange(4))]
    kind, is_list = random.choice(FIELDS)
    values = numbers if kind == "number" else VALUES[kind]
    ranged = [value for value in values if not isinstance(value, str) or len(value) < 129]

    def alternatives():
        return random.choices(values, k=random.randrange(4))

    choices = {
        "eq": lambda: random.choice(values),
        "ne": lambda: random.choice(values),
        "in": alternatives,
        "any": alternatives,
        "exists": lambda: random.random() < 0.5,
    }
    if kind != "boolean":
        choices |= {operator: lambda: random.choice(ranged) for operator in ("lt", "lte", "gt", "gte")}
    form = random.random()
    if form < 0.3:
        return name(kind, is_list), random.choice(values) if form < 0.2 else alternatives()
    operators = random.sample(sorted(choices), random.choice([1, 1, 2, 3]))
    return name(kind, is_list), {operator: choices[operator]() for operator in operators}


def mask(columns, where):
    return columns.mask(checked(parse(where), columns.types)).tolist()


@pytest.mark.parametrize("seed", range(10))
def test_random_trees_equal_the_plain_evaluator(seed):
    chosen = random.Random(seed)
    numbers = VALUES["number"]
    given = [random_document(chosen, number, numbers) for number in range(120)]
    plain = batch_of(given).stored(())
    columns = Columns.of(plain[:70])
    for start, stop in ((70, 100), (100, 101), (101, 120)):
        columns = columns.appended(plain[start:stop])
    kept = np.flatnonzero([chosen.random() < 0.8 for _ in given])
    columns = Columns.restored(columns.subset(kept).arrays()) if seed % 2 else columns.subset(kept)
    for _ in range(100):
        where = random_tree(chosen, numbers)
        assert mask(columns, where) == [holds(given[row], where) for row in kept], where


def test_appended_columns_equal_those_of_all_documents():
    chosen = random.Random(7)
    plain = batch_of([random_document(chosen, number, VALUES["number"]) for number in range(80)]).stored(())
    whole, grown = Columns.of(plain), Columns.of(plain[:40])
    for row in range(40, 80):
        grown = grown.appended(plain[row : row + 1])
    assert len(grown.parts) < 6
    assert grown.types == whole.types
    joined = Columns((reduce(Part.joined, grown.parts),), frozenset()).arrays()
    for name, array in whole.arrays().items():
        assert np.array_equal(array, joined[name])
        assert array.dtype == joined[name].dtype


def test_whole_numbers_stay_exact_beside_fractions():
    columns = Columns.of([{"id": str(n), "x": 2**60 + n} for n in range(9)])
    for n in range(9, 20):
        columns = columns.appended([{"id": str(n), "x": 0.5}])
        for one in (columns, Columns.restored(columns.arrays())):
            assert np.flatnonzero(mask(one, {"x": 2**60 + 1})).tolist() == [1]
            assert np.flatnonzero(mask(one, {"x": {"gt": 2**60 + 6}})).tolist() == [7, 8]
    assert np.flatnonzero(mask(Columns.of([{"x": 2**70 + 1}, {"x": 2**60}]), {"x": 2**70 + 1})).tolist() == [0]


def test_updates_keep_the_arrays_of_what_did_not_change():
    documents = [{"id": str(n), "n": n} for n in range(100)]
    before = Columns.restored(Columns.of(documents).arrays())
    after = before.appended([{"id": "x", "n": 3}])
    new = {name for name, array in after.arrays().items() if array is not before.arrays().get(name)}
    assert all(name.startswith(("columns1_", "column_")) for name in new)
    assert mask(after, {"n": {"lt": 7}}) == mask(Columns.restored(after.arrays()), {"n": {"lt": 7}})
    assert sum(mask(after, {"n": {"lt": 7}})) == 8
    few = after.subset(np.arange(50, 96))
    assert len(few) == 46
    assert sum(mask(few, {"n": {"lt": 60}})) == 10


# What the table says, case by case ------------------------------------------------------------------------------------

SHOP = [
    {"id": "a", "text": "coat", "lang": "en", "year": 1961, "tags": ["x", "y"], "on": True, "day": date(2024, 5, 1)},
    {"id": "b", "text": "hat", "lang": "De", "year": 1961.5, "tags": [], "on": False, "day": "2024-05-01T12:00+02:00"},
    {"id": "c", "text": "bag", "lang": None, "year": float("nan"), "more": {"deep": 1}},
]
CASES = [
    ({}, "abc"),
    ({"lang": "en"}, "a"),
    ({"lang": ["en", "De"]}, "ab"),
    ({"lang": "de"}, ""),
    ({"lang": []}, ""),
    ({"lang": {"ne": "en"}}, "bc"),
    ({"not": {"lang": "en"}}, "bc"),
    ({"not": {}}, ""),
    ({"lang": {"exists": False}}, "c"),
    ({"year": {"exists": True}}, "ab"),
    ({"year": 1961.0}, "a"),
    ({"year": {"gt": 1961}}, "b"),
    ({"year": {"gte": 1961, "lt": 1961.5}}, "a"),
    ({"year": {"lt": 10**400}}, "ab"),
    ({"year": np.int64(1961)}, "a"),
    ({"tags": "y"}, "a"),
    ({"tags": {"any": ["q", "x"]}}, "a"),
    ({"tags": {"gt": "x", "lt": "y"}}, ""),
    ({"tags": {"exists": True}}, "ab"),
    ({"on": False}, "b"),
    ({"day": date(2024, 5, 1)}, "a"),
    ({"day": "2024-05-01T10:00:00Z"}, "b"),
    ({"day": np.datetime64("2024-05-01T10:00")}, "b"),
    ({"day": {"gt": datetime(2024, 5, 1)}}, "b"),
    ({"more": {"exists": True}}, "c"),
    ({"or": [{"lang": "en"}, {"id": "c"}]}, "ac"),
    ({"or": []}, ""),
]


@pytest.mark.parametrize(("where", "expected"), CASES, ids=str)
def test_rules_of_the_table(where, expected):
    columns = Columns.of(batch_of(SHOP).stored(()))
    assert [one["id"] for one, found in zip(SHOP, mask(columns, where), strict=True) if found] == list(expected)


ERRORS = [
    ({"color": 1}, "Unknown field 'color'; choose from"),
    ({"yaer": 1}, "Did you mean 'year'"),
    ({"year": "1961"}, "The field 'year' is a number; got '1961' (text) in where"),
    ({"year": True}, "The field 'year' is a number; got True (true or false)"),
    ({"on": 1}, "The field 'on' is true or false; got 1 (a number)"),
    ({"on": {"lt": True}}, "which 'lt' cannot compare"),
    ({"lang": 1}, "The field 'lang' is text; got 1 (a number)"),
    ({"tags": ["x", 1]}, "The field 'tags' is a list of texts; got 1"),
    ({"day": "soon"}, "The field 'day' is a date, as in 2001-02-03 or 2001-02-03T04:05:06Z; got 'soon' (text)"),
    ({"more": "x"}, "only 'exists' applies to it"),
    ({"lang": None}, "use {'exists': False}"),
    ({"lang": {"eq": float("nan")}}, "use {'exists': False}"),
    ({"lang": {"like": "e"}}, "Unknown operator of where 'like'"),
    ({"lang": {}}, "has no operator"),
    ({"lang": {"in": "en"}}, "must be a list of values"),
    ({"lang": {"exists": 1}}, "must be True or False"),
    ({"lang": {"gt": "x" * 129}}, "up to 128 characters"),
    ({"not": [1]}, "must be {field: value}"),
    ({"or": {"lang": "en"}}, "must have a list of conditions"),
    ({1: 2}, "must be named by strings"),
    ({"or": [{"lang": "en"}] * 1000}, "1000 conditions"),
]


@pytest.mark.parametrize(("where", "message"), ERRORS, ids=str)
def test_errors_name_field_type_and_value(where, message):
    columns = Columns.of(batch_of(SHOP).stored(()))
    with pytest.raises(InputError) as caught:
        mask(columns, where)
    assert message in str(caught.value)


def test_deep_nesting_is_refused():
    where = {"lang": "en"}
    for _ in range(5000):
        where = {"not": where}
    with pytest.raises(InputError, match="32 levels"):
        parse(where)


# Types of fields ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (1, "x", "The field 'f' of document 'b' is text, but a number in others; got 'x'"),
        (1, True, "is true or false, but a number"),
        ("x", ["x"], "is a list of texts, but text"),
        ([1], [1, "x"], "is a list of several types"),
        ("2024-05-01", "soon", "is text, but a date"),
        ({"a": 1}, 1, "is a number, but an object"),
    ],
    ids=str,
)
def test_a_second_type_is_an_error_that_names_document_and_field(first, second, message):
    before, after = {"id": "a", "text": "cat", "f": first}, {"id": "b", "text": "dog", "f": second}
    searcher = rl.Searcher.build([before], ["bm25"])
    with pytest.raises(InputError) as caught:
        searcher.add([after])
    assert message in str(caught.value)
    assert str(caught.value).startswith("Nothing was added.")
    assert len(searcher) == 1
    kept = rl.Searcher.build([before, after], ["bm25"], filter_as_text="f")
    assert kept.field_types["f"] in ("text", "list of text")


def test_a_field_without_values_takes_any_type():
    searcher = rl.Searcher.build([{"id": "a", "text": "cat", "f": None}], ["bm25"])
    assert searcher.field_types == {"id": "text", "text": "text", "f": "nothing"}
    assert len(searcher.search("cat", where={"f": 3})) == 0
    searcher.add([{"id": "b", "text": "cat", "f": [3]}])
    assert searcher.field_types["f"] == "list of number"
    assert [hit.id for hit in searcher.search("cat", where={"f": 3})] == ["b"]


CSV = """id,text,year,price,day,zip,big,mixed
1,cat,1961,1.50,2024-05-01,01234,12345678901234567890,1
2,cat,,2,,1234,1,x
3,dog,1963,-3e2,2024-05-02T10:00:00Z,7,2,y
"""


def test_columns_of_a_table_are_typed_where_all_cells_are(tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text(CSV)
    searcher = rl.Searcher.build(path, ["bm25"], filter_as_text=["price"])
    types = {"id": "text", "text": "text", "year": "number", "price": "text", "day": "date"}
    assert searcher.field_types == {**types, "zip": "text", "big": "text", "mixed": "text"}
    assert [one["year"] for one in searcher.documents] == [1961, None, 1963]
    assert [hit.id for hit in searcher.search("cat", where={"year": {"gte": 1961}})] == ["1"]
    path.write_text("id,text,year,zip,day\n4,cat, 1964,5,\n")
    searcher.add(path)
    assert searcher.document("4") == {"id": "4", "text": "cat", "year": 1964, "zip": "5", "day": None}
    path.write_text("id,text,year\n5,cat,soon\n")
    with pytest.raises(InputError, match="'year' of document '5' is text, but a number in others; got 'soon'"):
        searcher.add(path)


def test_a_column_of_mostly_numbers_warns_that_it_is_text(tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text("id,text,price\n1,cat,9\n2,cat,15\n3,cat,100\n4,cat,n/a\n")
    expected = r"The field 'price' is compared as text: 3 of 4 values are numbers, but .*shop\.csv:5 has 'n/a'"
    with pytest.warns(rl.RankloomWarning, match=expected):
        assert rl.Searcher.build(path, ["bm25"]).field_types["price"] == "text"
    rl.Searcher.build(path, ["bm25"], filter_as_text="price")  # without a warning


def test_timestamps_of_frames_are_dates():
    pandas = pytest.importorskip("pandas")
    moments = pandas.to_datetime(
        ["2024-05-01 12:00:00.123456789+02:00", None, "2024-05-02"], format="ISO8601", utc=True
    )
    frame = pandas.DataFrame({"id": list("abc"), "text": "cat", "at": moments, "n": [1, None, 2.5]})
    searcher = rl.Searcher.build(frame, ["bm25"])
    assert (searcher.field_types["at"], searcher.field_types["n"]) == ("date", "number")
    for moment in (
        moments[0],
        moments[0].floor("us").to_pydatetime(),
        moments[0].to_datetime64(),
        "2024-05-01T10:00:00.123456Z",
    ):
        assert [hit.id for hit in searcher.search("cat", where={"at": moment})] == ["a"]
    assert [hit.id for hit in searcher.search("cat", where={"at": {"exists": False}})] == ["b"]
    with pytest.raises(InputError, match="exists"):
        searcher.search("cat", where={"at": pandas.NaT})


def test_columns_survive_updates_and_the_disk(tmp_path):
    searcher = rl.Searcher.build([{"id": str(n), "text": "cat", "n": n} for n in range(20)], ["bm25"])
    searcher.delete(["3", "17"])
    searcher.add([{"id": "x", "text": "cat", "n": 3.5, "new": "y"}])
    searcher.save(tmp_path / "s.loom")
    for one in (searcher, rl.Searcher.open(tmp_path / "s.loom")):
        found = one.search("cat", k=20, where={"n": {"gte": 2, "lt": 5}})
        assert sorted(hit.id for hit in found) == ["2", "4", "x"]
        assert one.search("cat", where={"new": "y"})[0].id == "x"


def test_crafted_columns_are_refused_or_harmless():
    refused = sum(is_refused(np.random.default_rng(seed)) for seed in range(300))
    assert 100 < refused < 300


def is_refused(chosen):
    arrays = {name: np.array(array) for name, array in Columns.of(batch_of(SHOP).stored(())).arrays().items()}
    array = arrays[chosen.choice(sorted(arrays))]
    if array.size:
        array[chosen.integers(array.size)] = chosen.integers(np.iinfo(array.dtype).min, np.iinfo(array.dtype).max)
    try:
        columns = Columns.restored(arrays)
    except (ValueError, TypeError, KeyError, IndexError):  # an opened folder turns them into an error of its own
        return True
    for where, _ in CASES:
        try:
            assert len(mask(columns, where)) == len(columns)
        except InputError:  # the name or the type of a field has changed
            continue
    return False


# Who may see what -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["vote", "weft", "fg"])
@pytest.mark.parametrize("query", [{"query": "heat in a wing"}, {"item": "d7"}], ids=str)
def test_lists_and_explanations_name_no_hidden_document(method, query):
    given = documents(60)
    searcher = rl.Searcher.build(given, {"bm25": "bm25", "dense": encode}, cutoff=8)
    where = {"topic": ["heat", "chess"]}
    shown = {one["id"] for one in given if one["topic"] in where["topic"]}
    answer, free = searcher.search(**query, method=method, where=where), searcher.search(**query, method=method)
    assert {hit.id for hit in answer} <= shown
    assert {one.id for entries in answer.lists.values() for one in entries} <= shown
    n_hidden = 0
    for hit in answer:
        why, full = answer.explain(hit.id), free.explain(hit.id)
        assert sum(part.contribution for part in why.parts) == pytest.approx(why.similarity, abs=1e-5)
        assert {searcher.ids[number] for part in why.parts for number in (part.source, part.target)} <= shown
        named = {word for part in why.parts for word in part.label.split()} & set(searcher.ids)
        assert named <= shown
        n_hidden += any(part.kind == "hidden" for part in why.parts)
        assert len(why.parts) <= len(full.parts) + 1
    assert n_hidden
    with pytest.raises(InputError, match="does not satisfy where"):
        answer.explain(next(id for id in searcher.ids if id not in shown))
