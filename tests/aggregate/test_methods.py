import inspect
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloom as rl
from rankloom.errors import InputError
from rankloom.methods import METHODS, RRF, CollectionMethod, register_method
from rankloom.ranks import PAD
from strategies import ranks as some_ranks

A = rl.Ranks.from_dict({"q": ["a", "b", "c"], "p": ["c", "a"]})
B = rl.Ranks.from_dict({"q": ["b", "d", "a"], "p": ["c", "b"]})


def test_rrf_sums_reciprocal_positions():
    fused = rl.fuse([A, B], "rrf", 4).to_dict()
    assert fused["q"] == pytest.approx({"b": 1 / 62 + 1 / 61, "a": 1 / 61 + 1 / 63, "d": 1 / 62, "c": 1 / 63}, rel=1e-6)
    assert list(fused["q"]) == ["b", "a", "d", "c"]
    assert list(fused["p"]) == ["c", "a", "b"]  # a and b tie: a is seen first


def test_rrf_takes_a_constant_and_weights():
    fused = rl.fuse([A, B], "rrf", 1, constant=0, weights=[1, 10]).to_dict()
    assert fused["q"] == pytest.approx({"b": 1 / 2 + 10 / 1})


def test_rrf_matches_items_and_queries_by_id():
    reordered = rl.Ranks.from_dict({"p": ["c", "b"], "q": ["b", "d", "a"]})
    assert rl.fuse([A, reordered], "rrf").to_dict() == rl.fuse([A, B], "rrf").to_dict()


def test_a_smaller_k_gives_the_head_of_the_list():
    full = rl.fuse([A, B], "rrf", 10)
    assert np.array_equal(rl.fuse([A, B], "rrf", 2).items, full.items[:, :2])


@given(some_ranks(n_items=6))
def test_rrf_of_one_ranker_gives_back_its_list(one):
    assert np.array_equal(rl.fuse([one], "rrf", max(one.depth, 1)).items, one.items)


@given(st.data())
def test_a_ranker_of_empty_lists_changes_nothing(data):
    one = data.draw(some_ranks(n_items=6, n_queries=3))
    empty = rl.Ranks(np.full((3, 2), PAD), n_items=6)
    with_empty = rl.fuse([one, empty], "rrf", 10).to_dict()
    assert with_empty == rl.fuse([one], "rrf", 10).to_dict()


def test_fg_builds_and_searches_an_index():
    points = np.random.default_rng(0).normal(size=(20, 3))
    ranks = [rl.Ranks.from_vectors(points, metric) for metric in ("l1", "l2")]
    fused = rl.fuse(ranks, "fg", 5, cutoff=4, comparator="mcs")
    expected = rl.FusionIndex.build(ranks, cutoff=4, comparator="mcs").search(k=5)
    assert np.array_equal(fused.items, expected.items)
    assert np.array_equal(fused.scores, expected.scores)


def test_fg_answers_external_queries_with_the_collection():
    points = np.random.default_rng(0).normal(size=(20, 3))
    collection = [rl.Ranks.from_vectors(points, metric) for metric in ("l1", "l2")]
    queries = [rl.Ranks.from_vectors(points, metric, queries=points[:2]) for metric in ("l1", "l2")]
    fused = rl.fuse(queries, "fg", 5, collection=collection)
    assert np.array_equal(fused.items, rl.FusionIndex.build(collection).search(queries, k=5).items)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([A, B], "rff"), {}, "Did you mean 'rrf'?"),
        (([A, B], "rrf", 0), {}, "k must be a whole number, at least 1; got 0."),
        (
            ([A, B], "rrf"),
            {"cutoff": 3},
            "The method 'rrf' has no option 'cutoff'; it has constant, ties, depth, weights.",
        ),
        (([A, B], "rrf"), {"weights": [1]}, "weights must be numbers of at least 0, one for each ranker (2); got [1]."),
        (([A, B], "rrf"), {"weights": [1, -1]}, "numbers of at least 0, one for each ranker"),
        (([A, B], "rrf"), {"weights": [1, float("nan")]}, "numbers of at least 0, one for each ranker"),
        (([A, B], "rrf"), {"constant": "x"}, "constant of the method 'rrf' must be a finite number; got 'x'."),
        (([A, B], "rrf"), {"weights": 3}, "numbers of at least 0, one for each ranker"),
        ((A, "rrf"), {}, "Give a list of Ranks, one for each ranker; got Ranks."),
        (([A, B], "fg"), {}, "No query ('q', ...) is an item"),
        (([A, B], "rrf"), {"constant": -1}, "constant must be a finite number above -1; got -1."),
        (([], "rrf"), {}, "There are no ranks to fuse"),
        (([A, A.rows([0])], "rrf"), {}, "Query 'p' has no list from ranker 2"),
    ],
)
def test_bad_input_raises(arguments, options, message):
    with pytest.raises(InputError) as caught:
        rl.fuse(*arguments, **options)
    assert message in str(caught.value)


def test_missing_queries_are_dropped_or_empty():
    assert list(rl.fuse([A, A.rows([0])], "rrf", missing="drop").to_dict()) == ["q"]
    assert list(rl.fuse([A, A.rows([0])], "rrf", missing="empty").to_dict()["p"]) == ["c", "a"]


def test_fg_matches_rows_to_items_if_only_items_have_ids():
    points = np.random.default_rng(1).normal(size=(12, 2))
    ids = rl.Ids(f"d{i}" for i in range(12))
    reversed_ids = rl.Ids(f"d{i}" for i in reversed(range(12)))
    one = rl.Ranks.from_vectors(points, "l1", item_ids=ids)
    other = rl.Ranks.from_vectors(points, "l2", item_ids=ids)
    same = rl.Ranks.from_vectors(
        points[::-1], "l2", item_ids=reversed_ids
    )  # the same ranker, items numbered differently
    assert rl.fuse([one, other], "fg").to_dict() == rl.fuse([one, same], "fg").to_dict()


def test_rankers_may_be_named_and_lists_given_as_dicts():
    items = {"a": {"x": ["x", "y"], "y": ["y", "x"]}, "b": {"x": ["x", "y"], "y": ["y", "x"]}}
    queries = {"b": {"q": ["y", "x"]}, "a": {"q": ["x", "y"]}}
    expected = rl.fuse([queries["b"], queries["a"]], "fg", 2, collection=[items["b"], items["a"]])
    assert rl.fuse(queries, "fg", 2, collection=items).to_dict() == expected.to_dict()
    with pytest.raises(InputError, match="The ranker 'c' is unknown; expected b, a, got a, c"):
        rl.fuse(queries, "fg", 2, collection={"a": items["a"], "c": items["b"]})


@pytest.mark.parametrize("method", [[], None, 3])
def test_a_method_that_is_not_a_name_is_an_error(method):
    with pytest.raises(InputError, match="The method must be a name, or a name with options"):
        rl.fuse([{"q": ["a"]}], method)


@pytest.mark.parametrize("normalization", [[], {}, 5, True])
def test_a_normalization_that_is_not_a_name_is_an_error(normalization):
    with pytest.raises(InputError, match="normalization of the method 'combsum' must be text; got"):
        rl.fuse([A], "combsum", normalization=normalization)


def test_the_error_for_a_data_frame_says_how_to_convert_it():
    frame = pytest.importorskip("pandas").DataFrame({"query": ["q"], "item": ["a"], "score": [1.0]})
    with pytest.raises(InputError, match=r"got a DataFrame in it. Convert a data frame with rankloom.io.from_frame"):
        rl.fuse([frame], "rrf")
    assert rl.fuse([rl.io.from_frame(frame)], "rrf").to_dict()["q"].keys() == {"a"}


HELP = {
    "fuse": rl.fuse,
    **{name: METHODS[name] for name in ("fg", "weft", "vote")},
    **{
        f"{cls.__name__}.{name}": getattr(cls, name)
        for cls in (rl.FusionIndex, rl.WeftIndex)
        for name in ("build", "search")
    },
    "WeftIndex.vote": rl.WeftIndex.vote,
}


@pytest.mark.parametrize("function", HELP.values(), ids=HELP)
def test_help_has_every_parameter(function):
    text = inspect.getdoc(function)
    parameters = set(inspect.signature(function).parameters) - {"self", "ranks", "k"}
    assert {name for name in parameters if not re.search(rf"\b{name}\b", text)} == set()


@pytest.mark.parametrize("name", METHODS)
def test_help_of_methods_has_every_option(name):
    text = " ".join(inspect.getdoc(one) or "" for one in METHODS[name].__mro__[:-1])  # without object
    if "As in" not in text and "are those of" not in text:
        assert set(re.findall(r"\w+", text)) >= set(METHODS.options(name))


# A method is a value


def test_a_method_is_a_value():
    value = RRF(constant=20, weights=[1, 2])
    assert str(value) == "rrf(constant=20, weights=[1, 2])"
    assert value == METHODS.make(str(value)) == METHODS.make("rrf", constant=20, weights=(1, 2))
    assert hash(value) == hash(METHODS.make(str(value)))
    assert (str(RRF()), repr(RRF())) == ("rrf", "RRF(depth=None, weights=None, ties='first', constant=60.0)")
    with pytest.raises(AttributeError):
        value.constant = 3


def test_a_method_by_name_by_spelling_and_as_a_value_is_the_same_call():
    ranks = [A, B]
    given = [rl.fuse(ranks, RRF(constant=20)), rl.fuse(ranks, "rrf(constant=20)"), rl.fuse(ranks, "rrf", constant=20)]
    assert given[0].to_dict() == given[1].to_dict() == given[2].to_dict() != rl.fuse(ranks, "rrf").to_dict()
    with pytest.raises(InputError, match=r"The method rrf\(constant=20\) has its options already; leave out depth"):
        rl.fuse(ranks, RRF(constant=20), depth=3)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_spells_itself(name):
    value = METHODS.make(name)
    assert str(value) == name
    assert METHODS.make(str(value)) == value


def test_a_function_is_made_a_value(monkeypatch):
    def mine(ranks, k, *, sharpness: float = 2.0, rounds: int | None = None):
        """Mine: as rrf, with a sharper constant."""
        return RRF(constant=60 / sharpness).fuse(ranks, k)

    monkeypatch.setattr(METHODS, "_known", dict(METHODS._known))
    assert register_method("mine")(mine) is mine
    made = METHODS.make("mine(sharpness=3)")
    assert (str(made), repr(made), made) == (
        "mine(sharpness=3)",
        "mine(sharpness=3, rounds=None)",
        type(made)(sharpness=3),
    )
    assert rl.fuse([A, B], made).to_dict() == rl.fuse([A, B], "rrf(constant=20)").to_dict()
    assert inspect.getdoc(type(made)) == "Mine: as rrf, with a sharper constant."
    with pytest.raises(InputError, match="rounds of the method 'mine' must be a whole number or none; got 'x'"):
        rl.fuse([A, B], "mine", rounds="x")


def test_a_function_that_needs_a_collection_gets_one(monkeypatch):
    def mine(ranks, k):
        return ranks[0].head(k)

    monkeypatch.setattr(METHODS, "_known", dict(METHODS._known))
    register_method("mine", kind=CollectionMethod)(mine)
    assert rl.fuse([rl.Ranks([[0, 1], [1, 0]])], "mine", 1).items.tolist() == [[0], [1]]
    with pytest.raises(InputError, match="The method 'mine' needs collection ranks"):
        METHODS.make("mine").fuse([rl.Ranks([[0, 1]])], 1)
