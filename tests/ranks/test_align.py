import pytest
from hypothesis import given

from rankloom import Ids, Ranks
from rankloom.errors import InputError, UnknownNameError
from rankloom.ranks import PAD
from rankloom.ranks.align import align
from strategies import collections

TEXT = Ranks.from_dict({"q1": {"a": 2.0, "b": 1.0}, "q2": {"b": 3.0}})
IMAGE = Ranks.from_dict({"q2": {"c": 5.0}, "q1": {"b": 4.0, "a": 1.0}})


def test_ranks_are_matched_by_id():
    text, image = align([TEXT, IMAGE])
    assert list(text.item_ids) == list(image.item_ids) == ["a", "b", "c"]
    assert list(text.query_ids) == list(image.query_ids) == ["q1", "q2"]
    assert text.items.tolist() == [[0, 1], [1, PAD]]
    assert image.items.tolist() == [[1, 0], [2, PAD]]
    assert image.scores.tolist() == [[4, 1], [5, 0]]
    assert text.n_items == image.n_items == 3


def test_aligning_does_not_change_its_input():
    align([TEXT, IMAGE])
    assert list(IMAGE.item_ids) == ["c", "b", "a"]
    assert IMAGE.items.tolist() == [[0, PAD], [1, 2]]


@given(collections())
def test_ranks_of_one_collection_without_ids_are_returned_unchanged(rankers):
    assert list(align(rankers)) == rankers


def test_a_single_ranker_is_returned_unchanged():
    assert list(align([TEXT])) == [TEXT]


def test_lists_of_items_and_of_queries_are_not_mixed_even_if_their_ids_are_equal():
    items = Ranks.from_dict({"1": ["1", "2"], "2": ["2", "1"]}, kind="collection")
    queries = Ranks.from_dict({"1": ["2", "1"], "2": ["2", "1"]}, kind="queries")
    for missing in ("error", "drop", "empty"):
        with pytest.raises(InputError, match="Give ranks of one kind"):
            align([items, queries], missing=missing)


def test_an_empty_list_of_rankers_is_an_error():
    with pytest.raises(InputError, match="no ranks to fuse; give one Ranks for each ranker"):
        align([])


def test_different_collections_are_an_error():
    with pytest.raises(InputError, match=r"different numbers of items: 2, 5\. Give item_ids to all of them"):
        align([Ranks([[0]], n_items=5), Ranks([[0]], n_items=2)])


def test_different_numbers_of_rows_are_an_error():
    with pytest.raises(InputError, match=r"different numbers of queries: 1, 2\. Give query_ids to all of them"):
        align([Ranks([[0], [0]]), Ranks([[0]])])


def test_a_missing_list_is_an_error_by_default():
    one = Ranks.from_dict({"q1": ["a"]})
    with pytest.raises(InputError, match=r"Query 'q2' has no list from ranker 2 \(missing lists: 1\).*missing='drop'"):
        align([TEXT, one])


def test_queries_with_missing_lists_can_be_dropped():
    text, one = align([TEXT, Ranks.from_dict({"q1": {"a": 1.0}})], missing="drop")
    assert list(text.query_ids) == list(one.query_ids) == ["q1"]


def test_a_missing_list_can_be_empty():
    text, one = align([TEXT, Ranks.from_dict({"q3": {"a": 1.0}})], missing="empty")
    assert list(text.query_ids) == ["q1", "q2", "q3"]
    assert text.lengths().tolist() == [2, 1, 0]
    assert one.lengths().tolist() == [0, 0, 1]
    assert one.scores.tolist() == [[0], [0], [1]]


def test_dropping_every_query_is_an_error():
    with pytest.raises(InputError, match=r"No query has a list from every ranker; the first of 3 is 'q1'\."):
        align([TEXT, Ranks.from_dict({"1": {"a": 1.0}})], missing="drop")


def test_an_unknown_policy_is_an_error():
    with pytest.raises(UnknownNameError, match=r"Unknown missing policy 'dropp'; .* Did you mean 'drop'"):
        align([TEXT], missing="dropp")


def test_ranks_without_ids_get_the_ids_of_the_others():
    plain = Ranks([[1, 0], [0, -1]], n_items=2)
    text, other = align([TEXT, plain])
    assert other.item_ids == text.item_ids == TEXT.item_ids
    assert other.query_ids == TEXT.query_ids
    assert other.items.tolist() == plain.items.tolist()


def test_ranks_without_ids_cannot_be_aligned_if_the_others_disagree():
    a = Ranks([[0]], item_ids=Ids(["x", "y"]))
    b = Ranks([[0]], item_ids=Ids(["y", "x"]))
    with pytest.raises(InputError, match=r"Some ranks have different item_ids and some have none\. Give item_ids"):
        align([a, b, Ranks([[0]], n_items=2)])
    c = Ranks([[0], [0]], query_ids=Ids(["x", "y"]))
    d = Ranks([[0], [0]], query_ids=Ids(["y", "x"]))
    with pytest.raises(InputError, match="different query_ids and some have none"):
        align([c, d, Ranks([[0], [0]])])


def test_zero_queries_can_be_aligned():
    empty = Ranks.from_dict({})
    assert [r.n_queries for r in align([empty, empty])] == [0, 0]
