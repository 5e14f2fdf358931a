import copy
import dataclasses
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloom as rl
from rankloom import Ids, Ranks
from rankloom.aggregate.lists import answers
from rankloom.errors import InputError, UnknownNameError
from rankloom.ranks import PAD
from rankloom.ranks import checks as ranks_module
from strategies import collections, ranks

# Construction


def test_ranks_have_items_scores_and_size():
    r = Ranks([[0, 2, 1], [1, 0, -1]], [[3, 2, 1], [5, 5, 99]])
    assert (r.n_queries, r.depth, r.n_items, len(r)) == (2, 3, 3, 2)
    assert r.items.dtype == np.int32
    assert r.scores.dtype == np.float32
    assert r.scores.tolist() == [[3, 2, 1], [5, 5, 0]]  # 0 at padding
    assert r.lengths().tolist() == [3, 2]
    assert r.lengths().dtype == np.int32


def test_n_items_defaults_to_one_more_than_the_largest_number():
    assert Ranks([[0, 4]]).n_items == 5
    assert Ranks([[0, 4]], n_items=9).n_items == 9
    assert Ranks([[0]], item_ids=Ids(["a", "b"])).n_items == 2
    assert type(Ranks([[0]], n_items=np.int64(3)).n_items) is int


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64, np.uint8, np.uint32, np.uint64])
def test_any_integer_dtype_is_accepted(dtype):
    assert Ranks(np.array([[2, 0, 1]], dtype)).items.tolist() == [[2, 0, 1]]


def test_ranks_are_read_only():
    r = Ranks([[0, 1]], [[1.0, 0.5]])
    with pytest.raises(ValueError, match="read-only"):
        r.items[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        r.scores[0, 0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        r.n_items = 7


@pytest.mark.parametrize("make", [Ranks, Ranks.trusted])
def test_the_input_arrays_are_neither_changed_nor_frozen(make):
    items = np.array([[1, 0, -1]], np.int32)
    scores = np.array([[2, 1, 0]], np.float32)
    make(items, scores, 2)
    assert items.flags.writeable
    assert scores.flags.writeable
    assert items.tolist() == [[1, 0, -1]]
    assert scores.tolist() == [[2, 1, 0]]


def test_padding_scores_are_zeroed_in_the_copy_only():
    scores = np.array([[2, np.nan]], np.float32)
    assert Ranks([[0, -1]], scores).scores.tolist() == [[2, 0]]
    assert np.isnan(scores[0, 1])


def test_later_changes_of_the_input_arrays_have_no_effect():
    items = np.array([[1, 0]], np.int32)
    r = Ranks(items)
    items[:] = 7
    assert r.items.tolist() == [[1, 0]]


@given(ranks())
def test_copies_are_equal_and_read_only_too(r):
    for again in (pickle.loads(pickle.dumps(r)), copy.deepcopy(r), copy.copy(r)):  # noqa: S301  # our own bytes
        assert_same(again, r)
        assert not again.items.flags.writeable
        assert again.scores is None or not again.scores.flags.writeable


def test_ids_survive_pickling():
    r = Ranks.from_dict({"q": ["a", "b"]})
    again = pickle.loads(pickle.dumps(r))  # noqa: S301  # our own bytes
    assert again.to_dict() == {"q": {"a": 1.0, "b": 0.5}}


def assert_same(a: Ranks, b: Ranks) -> None:
    np.testing.assert_array_equal(a.items, b.items)
    assert (a.scores is None) == (b.scores is None)
    if a.scores is not None:
        np.testing.assert_array_equal(a.scores, b.scores)
    assert (a.n_items, a.item_ids, a.query_ids) == (b.n_items, b.item_ids, b.query_ids)


# Empty ranks


def test_a_list_may_be_empty():
    r = Ranks([[-1, -1], [0, 1]])
    assert r.lengths().tolist() == [0, 2]


def test_all_lists_may_be_empty():
    r = Ranks([[-1], [-1]], [[5.0], [np.nan]])
    assert r.n_items == 0
    assert r.scores.tolist() == [[0], [0]]


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (3, 0)])
@pytest.mark.parametrize("dtype", [np.int64, np.float64, bool])
def test_there_may_be_no_rows_or_no_columns(shape, dtype):
    r = Ranks(np.empty(shape, dtype), np.empty(shape))
    assert r.items.shape == r.scores.shape == shape
    assert r.items.dtype == np.int32
    assert r.n_items == 0
    assert len(r.lengths()) == len(r.to_dict()) == shape[0]


def test_a_collection_may_have_no_items():
    assert Ranks(np.empty((0, 0)), n_items=0).as_collection().n_queries == 0


# Invalid input

WRONG_ITEMS = {
    "twice": ([[1, 0, -1], [2, 0, 2]], r"^Row 1 lists item 2 twice; give each item once\.$"),
    "below -1": ([[0, 1], [-2, -3]], r"^Row 1 has the item number -3; numbers start at 0"),
    "int64": ([[0, 2**31 - 1]], r"^Item numbers must be below 2147483647; got 2147483647\.$"),
    "int64 that wraps": ([[0, 2**32]], "got 4294967296"),
    "uint64": (np.array([[0, 2**63 + 5]], np.uint64), "got 9223372036854775813"),
    "very negative": ([[0, -(2**62)]], "item number -4611686018427387904"),
    "floats": ([[0.0, 1.0]], r"^items must be whole numbers; got float64\.$"),
    "booleans": ([[True, False]], "whole numbers; got bool"),
    "strings": ([["a", "b"]], "whole numbers; got <U1"),
    "beyond int64": ([[0, 2**70]], "whole numbers; got object"),
    "1-d": ([0, 1], "2-d array, one row for each query or item; got 1 dimensions"),
    "3-d": ([[[0, 1]]], "got 3 dimensions"),
    "0-d": (3, "got 0 dimensions"),
    "ragged": ([[0, 1], [2]], r"got rows of different lengths\. Pad the short ones"),
    "padding in the middle": (
        [[0, 1, 2], [0, -1, 1]],
        "^Row 1 has items after its padding; -1 may only end a row",
    ),
    "padding at the front": ([[-1, 0]], "^Row 0 has items after its padding"),
}


@pytest.mark.parametrize(("items", "message"), WRONG_ITEMS.values(), ids=WRONG_ITEMS)
def test_invalid_items_are_errors(items, message):
    with pytest.raises(InputError, match=message):
        Ranks(items)


WRONG_SCORES = {
    "NaN": ([[1.0, np.nan]], r"^Row 0 has the score nan; scores must be finite in float32\.$"),
    "infinity": ([[np.inf, 1.0]], "Row 0 has the score inf"),
    "beyond float32": ([[1e39, 1.0]], "Row 0 has the score inf; scores must be finite in float32"),
    "rising": ([[0.1, 0.2]], r"^The scores of row 0 increase along the list; .*from_distances"),
    "of another shape": ([[0.5]], r"^items and scores must have the same shape; got \(1, 2\) and \(1, 1\)\.$"),
    "1-d": ([0.5, 0.1], "scores must be a 2-d array"),
    "ragged": ([[0.5, 0.1], [0.2]], "scores must be a 2-d array; got rows of different lengths"),
    "strings": ([["a", "b"]], "scores must be real numbers; got <U1"),
    "complex": ([[1j, 0]], "scores must be real numbers; got complex128"),
}


@pytest.mark.parametrize(("scores", "message"), WRONG_SCORES.values(), ids=WRONG_SCORES)
def test_invalid_scores_are_errors(scores, message):
    with pytest.raises(InputError, match=message):
        Ranks([[0, 1]], scores)


def test_boolean_scores_count_as_one_and_zero():
    assert Ranks([[0, 1]], [[True, False]]).scores.tolist() == [[1, 0]]


def test_scores_equal_in_float32_do_not_increase():
    assert Ranks([[0, 1]], [[1.0, 1.0 + 1e-12]]).scores.tolist() == [[1, 1]]


WRONG_SIZES = {
    "too small": ({"n_items": 3}, r"^Row 1 lists item 3, but the collection has 3 items, numbered from 0\.$"),
    "negative": ({"n_items": -1}, "n_items must be a whole number from 0 to 2147483647; got -1"),
    "a float": ({"n_items": 4.0}, r"n_items must be a whole number from 0 to 2147483647; got 4\.0"),
    "too large": ({"n_items": 2**31}, "got 2147483648"),
    "too few item ids": ({"item_ids": Ids(["a"])}, "Row 1 lists item 3, but the collection has 1 items"),
    "not as many as item ids": (
        {"n_items": 5, "item_ids": Ids(["a", "b", "c", "d"])},
        r"^n_items must be the number of item_ids; got 5 and 4\.$",
    ),
    "not as many rows as query ids": (
        {"query_ids": Ids(["q"])},
        r"^There must be a query id for each row; got 1 for 2 rows\.$",
    ),
}


@pytest.mark.parametrize(("options", "message"), WRONG_SIZES.values(), ids=WRONG_SIZES)
def test_inconsistent_sizes_are_errors(options, message):
    with pytest.raises(InputError, match=message):
        Ranks([[0, 1], [3, 2]], **options)


def test_the_row_of_an_error_is_right_beyond_the_first_block_of_checks(monkeypatch):
    monkeypatch.setattr(ranks_module, "CHECK_CELLS", 4)
    items = np.tile(np.arange(2), (9, 1))
    for wrong, message in (([1, 1], "Row 7 lists item 1 twice"), ([-1, 1], "Row 7 has items after its padding")):
        items[7] = wrong
        with pytest.raises(InputError, match=message):
            Ranks(items)


# Dicts


def test_from_dict_sorts_by_score_and_keeps_the_order_of_ties():
    r = Ranks.from_dict({"q1": {"a": 1, "b": 3, "c": 1}, "q2": {"b": 0.5}})
    assert r.to_dict() == {"q1": {"b": 3, "a": 1, "c": 1}, "q2": {"b": 0.5}}
    assert list(r.to_dict()["q1"]) == ["b", "a", "c"]
    assert list(r.item_ids) == ["a", "b", "c"]


def test_from_dict_accepts_lists_of_different_lengths_without_scores():
    r = Ranks.from_dict({"q1": ["a", "b"], "q2": [], "q3": ["c"]})
    assert r.scores is None
    assert r.items.tolist() == [[0, 1], [-1, -1], [2, -1]]
    assert r.to_dict() == {"q1": {"a": 1 / 1, "b": 1 / 2}, "q2": {}, "q3": {"c": 1 / 1}}


def test_from_dict_may_be_empty():
    assert (Ranks.from_dict({}).n_queries, Ranks.from_dict({}).n_items) == (0, 0)


def test_from_dict_uses_the_numbering_of_item_ids():
    r = Ranks.from_dict({"q": ["b"]}, item_ids=Ids(["a", "b", "c"]))
    assert (r.items.tolist(), r.n_items) == ([[1]], 3)


WRONG_DICTS = {
    "mixed": ({"q1": {"a": 1.0}, "q2": ["a"]}, {}, "Only some queries have scores"),
    "an item twice": ({"q1": ["a", "a"]}, {}, "Row 0 lists item 0 twice"),
    "a string as a list": ({"q1": "abc"}, {}, "The list of query 'q1' must be a list or a dict; got str"),
    "a set, which has no order": ({"q1": {"a", "b"}}, {}, "must be a list or a dict; got set"),
    "NaN": ({"q1": {"a": np.nan}}, {}, "Row 0 has the score nan"),
    "an unknown item": ({"q1": ["dg"]}, {"item_ids": Ids(["dog"])}, r"Unknown item 'dg'; .* Did you mean 'dog'\?"),
    "an empty collection": ({"q1": ["a"]}, {"item_ids": Ids([])}, "Unknown item 'a'; there are none"),
}


@pytest.mark.parametrize(("lists", "options", "message"), WRONG_DICTS.values(), ids=WRONG_DICTS)
def test_invalid_dicts_are_errors(lists, options, message):
    with pytest.raises(InputError, match=message):
        Ranks.from_dict(lists, **options)


@given(ranks(scores=True))
def test_to_dict_and_from_dict_are_inverse(r):
    ids = Ids(map(str, range(r.n_items)))
    again = Ranks.from_dict(r.to_dict(), item_ids=ids)
    depth = int(r.lengths().max(initial=0))
    np.testing.assert_array_equal(again.items, r.items[:, :depth])
    np.testing.assert_array_equal(again.scores, r.scores[:, :depth])


# Selections


@given(ranks(), st.integers(1, 14))
def test_head_cuts_every_list(r, depth):
    cut = r.head(depth)
    np.testing.assert_array_equal(cut.items, r.items[:, :depth])
    assert cut.n_items == r.n_items
    assert (cut.scores is None) == (r.scores is None)
    assert not cut.items.flags.writeable


@pytest.mark.parametrize("depth", [0, -1, 1.5])
def test_depth_must_be_a_positive_whole_number(depth):
    calls = (
        lambda: Ranks([[0, 1]]).head(depth),
        lambda: Ranks.from_distances([[0.0, 1.0]], depth),
        lambda: Ranks.from_similarities([[0.0, 1.0]], depth),
        lambda: Ranks.from_vectors([[0.0], [1.0]], "l2", depth),
    )
    for call in calls:
        with pytest.raises(InputError, match=f"depth must be a whole number, at least 1; got {depth}"):
            call()


def test_rows_are_returned_in_the_order_given():
    r = Ranks([[0], [1], [2]], [[3], [2], [1]], query_ids=Ids(["x", "y", "z"]))
    selected = r.rows([2, 0])
    assert selected.to_dict() == {"z": {"2": 1}, "x": {"0": 3}}
    assert r.rows(slice(1, None)).items.tolist() == [[1], [2]]
    assert r.rows(np.array([True, False, True])).items.tolist() == [[0], [2]]
    assert r.rows([]).n_queries == 0


@pytest.mark.parametrize("numbers", [[3], [-1], [0, -2], [0.5]])
def test_nonexistent_rows_are_errors(numbers):
    with pytest.raises(InputError, match="from 0"):
        Ranks([[0], [1], [2]]).rows(numbers)


def test_a_row_with_an_id_cannot_be_selected_twice():
    with pytest.raises(InputError, match="'x' is given twice"):
        Ranks([[0]], query_ids=Ids(["x"])).rows([0, 0])


def test_ids_default_to_numbers():
    r = Ranks([[0, 1]])
    assert (r.item_id(1), r.query_id(0)) == ("1", "0")


# Ids


def test_renumbering_keeps_the_ids():
    r = Ranks.from_dict({"q": {"a": 2.0, "b": 1.0}})
    wider = r.renumbered(Ids(["z", "b", "a"]))
    assert wider.items.tolist() == [[2, 1]]
    assert wider.to_dict() == r.to_dict()
    assert wider.n_items == 3


def test_renumbering_keeps_padding():
    r = Ranks.from_dict({"q": ["a", "b"], "p": []})
    assert r.renumbered(Ids(["b", "a"])).items.tolist() == [[1, 0], [PAD, PAD]]


def test_renumbering_to_the_same_ids_changes_nothing():
    r = Ranks.from_dict({"q": ["a", "b"]})
    assert r.renumbered(Ids(["a", "b"])) is r


def test_an_item_missing_from_the_new_numbering_is_an_error():
    with pytest.raises(UnknownNameError, match="Unknown item 'b'; choose from a"):
        Ranks.from_dict({"q": ["a", "b"]}).renumbered(Ids(["a"]))


def test_items_without_ids_cannot_be_renumbered():
    with pytest.raises(InputError, match="no item ids, only numbers; construct them with item_ids"):
        Ranks([[0]]).renumbered(Ids(["a"]))


def test_as_collection_matches_rows_to_items():
    r = Ranks.from_dict({"b": ["b", "a"], "a": ["a", "b"]})  # numbered b, a
    ids = {"item_ids": r.item_ids.union(Ids(["c"])), "query_ids": Ids(["a", "b"])}
    wider = Ranks(r.items, None, kind="collection", **ids)
    collection = wider.as_collection()
    assert [collection.item_id(i) for i in range(3)] == ["a", "b", "c"]  # rows keep their order
    assert list(collection.query_ids) == ["a", "b", "c"]
    assert {q: list(row) for q, row in collection.to_dict().items()} == {"a": ["b", "a"], "b": ["a", "b"], "c": []}


def test_as_collection_adds_a_query_in_no_list_as_an_item():
    r = Ranks.from_dict({"x": {"a": 1.0}, "a": {"a": 2.0}}).as_collection()
    assert r.n_items == r.n_queries == 2
    assert r.to_dict() == {"a": {"a": 2.0}, "x": {"a": 1.0}}


@given(collections(m=1))
def test_as_collection_returns_collection_ranks_without_ids_unchanged(given_ranks):
    found = given_ranks[0].as_collection()
    assert found.items is given_ranks[0].items or (found.items == given_ranks[0].items).all()
    assert (found.kind, found.as_collection()) == ("collection", found)


def test_a_collection_without_ids_needs_a_row_for_each_item():
    with pytest.raises(InputError, match="got 1 rows and 2 items"):
        Ranks([[0, 1]]).as_collection()


@given(ranks(n_queries=st.integers(1, 5)), st.data())
def test_spread_selects_rows_and_fills_gaps_with_empty_lists(r, data):
    numbers = np.array(data.draw(st.lists(st.integers(-1, r.n_queries - 1), max_size=6)), np.intp)
    out = r.spread(numbers, None)
    for row, number in zip(out.items, numbers, strict=True):
        assert row.tolist() == ([PAD] * r.depth if number == PAD else r.items[number].tolist())


# Matrices (for vectors see ranks/test_nearest.py)


def test_distances_are_ranked_smallest_first_and_negated():
    r = Ranks.from_distances([[2.0, 0.0, 1.0]], depth=2)
    assert r.items.tolist() == [[1, 2]]
    assert r.scores.tolist() == [[0.0, -1.0]]
    assert r.n_items == 3
    assert not np.signbit(r.scores[0, 0])  # 0, not -0


def test_similarities_are_ranked_largest_first():
    r = Ranks.from_similarities([[0.25, 0.0, 1.0]])
    assert r.items.tolist() == [[2, 0, 1]]
    assert r.scores.tolist() == [[1.0, 0.25, 0.0]]


def test_in_a_collection_the_item_itself_wins_ties():
    own = Ranks.from_distances(np.zeros((3, 3)), kind="collection")
    assert own.items.tolist() == [[0, 1, 2], [1, 0, 2], [2, 0, 1]]
    assert Ranks.from_distances(np.zeros((3, 3)), kind="queries").items.tolist() == [[0, 1, 2]] * 3
    assert Ranks.from_distances(np.zeros((2, 3))).items.tolist() == [[0, 1, 2], [0, 1, 2]]
    ids = Ids(["a", "b", "c"])
    assert Ranks.from_distances(np.zeros((3, 3)), item_ids=ids, query_ids=ids).items.tolist() == own.items.tolist()


def test_a_square_matrix_with_ties_needs_its_kind():
    with pytest.raises(InputError, match=r"Row 1 of the square matrix has the same value for the items 0 and 1.*kind="):
        Ranks.from_similarities([[1, 1], [1, 1]])
    assert Ranks.from_similarities([[1, 1], [1, 1]], kind="queries").items.tolist() == [[0, 1], [0, 1]]
    assert Ranks.from_similarities([[2, 1], [1, 2]]).kind is None


# Kinds


def test_ranks_know_whether_they_are_of_a_collection_or_of_queries():
    points = [[0.0], [1.0], [5.0]]
    own, external = Ranks.from_vectors(points, "l2"), Ranks.from_vectors(points, "l2", queries=[[0.4]])
    assert (own.kind, external.kind, own.head(1).kind, own.rows([0]).kind) == (
        "collection",
        "queries",
        "collection",
        "queries",
    )
    assert Ranks([[0]]).kind is None
    assert Ranks([[0]]).of_kind("queries").kind == "queries"


def test_recall_stays_with_the_lists_but_not_with_what_is_fused_from_them():
    near = Ranks([[0, 1], [1, 0]], kind="collection", recall=0.98765)
    for one in (near.head(1), near.rows([0]), near.as_collection(), copy.deepcopy(near)):
        assert one.recall == 0.98765
    assert repr(near).endswith("scores=no, recall=0.9877)")
    assert rl.fuse([near, near], "rrf").recall is None
    assert answers(near, near.items, np.ones((2, 2))).recall is None  # of every method over a whole collection
    with pytest.raises(InputError, match=r"recall must be from 0 to 1; got 1\.5"):
        Ranks([[0]], recall=1.5)


def test_lists_of_queries_are_not_taken_for_a_collection():
    with pytest.raises(InputError, match="These are lists of queries"):
        Ranks([[0, 1], [1, 0]], kind="queries").as_collection()
    with pytest.raises(InputError, match="a row for each item; got 1 rows and 2 items"):
        Ranks([[0, 1]], kind="collection")
    with pytest.raises(InputError, match="Unknown kind of ranks 'query'"):
        Ranks([[0]], kind="query")


def test_queries_whose_ids_are_also_ids_of_items_are_noticed():
    lists = {str(q): [str(d) for d in range(10 * q, 10 * q + 5)] for q in range(1, 5)}
    queries = Ranks.from_dict(lists, item_ids=[str(d) for d in range(60)])
    with pytest.raises(InputError, match=r"only 0 of 4 begin with the item of their own id.*pass kind='collection'.$"):
        queries.as_collection()
    assert queries.of_kind("collection").as_collection().n_queries == 60
    own = Ranks.from_dict({query: [query, *items] for query, items in lists.items()})
    assert own.as_collection().n_queries == 24


def test_queries_are_noticed_however_deep_their_lists_are():
    """Each lists every item, the one of its own id last."""
    queries = Ranks.from_dict({str(q): [str((q + 7 * d) % 60) for d in range(1, 61)] for q in range(12)})
    with pytest.raises(InputError, match="only 0 of 12 begin with the item of their own id"):
        queries.as_collection()
    with pytest.raises(InputError, match="only 0 of 12 begin"):
        rl.fuse([queries, queries], method="fg")


@pytest.mark.parametrize("ids", [None, ["a", "b", "c"]])
def test_there_is_a_warning_where_every_item_has_a_row_but_is_not_first_in_it(ids):
    """Either the items' lists without themselves, or as many queries as there are items."""
    queries = Ranks([[1, 2], [2, 0], [0, 1]], item_ids=ids, query_ids=ids)
    with pytest.warns(
        rl.RankloomWarning, match="only 0 of 3 begin with the item of their own id.*pass kind='collection'.$"
    ):
        assert queries.as_collection().kind == "collection"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        queries.of_kind("collection").as_collection()
        Ranks([[0, 2], [2, 0], [2, 1]], item_ids=ids, query_ids=ids).as_collection()  # two of three


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ranks([[0]], item_ids=5), "Ids must be a list of strings; got 5"),
        (lambda: Ranks.from_dict({"": 0}), "The list of query '' must be a list or a dict; got int"),
        (lambda: Ranks.from_dict({"q": [1]}), "must be string ids; got 1"),
        (lambda: Ranks.from_dict([("q", ["a"])]), "Lists must be a dict of queries; got list"),
        (lambda: Ranks.from_dict({"q": ["a"]}).renumbered(7), "Ids must be a list of strings; got 7"),
    ],
)
def test_odd_arguments_are_errors_of_ours(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_plain_lists_of_ids_are_accepted():
    ranks = Ranks.from_dict({"q": ["b"]}, item_ids=["a", "b", "c"])
    assert (ranks.items.tolist(), ranks.n_items) == ([[1]], 3)
    assert ranks.renumbered(["b", "a", "c"]).items.tolist() == [[0]]


def test_a_boolean_matrix_counts_as_zeros_and_ones():
    r = Ranks.from_similarities(np.eye(3, dtype=bool))
    assert r.items.tolist() == [[0, 1, 2], [1, 0, 2], [2, 0, 1]]
    assert r.scores.tolist() == [[1, 0, 0]] * 3


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (2, 0)])
def test_a_matrix_may_be_empty(shape):
    for make in (Ranks.from_distances, Ranks.from_similarities):
        r = make(np.empty(shape))
        assert (r.n_queries, r.n_items) == shape


WRONG_MATRICES = {
    "NaN": ([[0.0, np.nan]], r"^The matrix must be finite; row 0 has nan at column 1\.$"),
    "infinity, even beyond the depth": ([[0.0, 1.0], [np.inf, 0.0]], "row 1 has inf at column 0"),
    "beyond float32": ([[1e39, 1e39]], "Row 0 has the score -inf; scores must be finite in float32"),
    "1-d": ([0.0, 1.0], "The matrix must be a 2-d array"),
    "3-d": ([[[0.0]]], "got 3 dimensions"),
    "ragged": ([[0.0], [0.0, 1.0]], "rows of different lengths"),
    "strings": ([["a"]], "real numbers; got <U1"),
}


@pytest.mark.parametrize(("matrix", "message"), WRONG_MATRICES.values(), ids=WRONG_MATRICES)
def test_invalid_matrices_are_errors(matrix, message):
    with pytest.raises(InputError, match=message):
        Ranks.from_distances(matrix, depth=1)


def test_the_ids_must_match_the_matrix():
    with pytest.raises(InputError, match="got 2 and 1"):
        Ranks.from_distances([[0.0, 1.0]], item_ids=Ids(["a"]))


@given(st.data(), st.integers(1, 7))
def test_ranking_a_matrix_equals_sorting_it(data, depth):
    n, width = data.draw(st.tuples(st.integers(1, 6), st.integers(1, 6)))
    costs = np.array([data.draw(st.lists(st.integers(-3, 3), min_size=width, max_size=width)) for _ in range(n)])
    r = Ranks.from_distances(costs, depth, kind="collection" if n == width else None)
    for q, row in enumerate(costs.tolist()):
        own = q if n == width else None
        expected = sorted(range(width), key=lambda item, row=row, own=own: (row[item], item != own, item))
        assert r.items[q].tolist() == expected[:depth]
        assert r.scores[q].tolist() == [-row[item] for item in expected[:depth]]


def test_ranks_are_equal_only_to_themselves():
    r = Ranks([[0]])
    assert r in [r]
    assert r != Ranks([[0]])
