"""Repositioning and rescaling: cases by hand, comparison with the oracle, and properties."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from brute import plain
from rankloom import Ranks
from rankloom.errors import InputError
from rankloom.fusion_graph.weave import rescaled_steps
from rankloom.index.normalize import reposition, reposition_queries
from rankloom.ranks import PAD
from strategies import collections, examples, ranks


def test_a_reciprocal_neighbor_moves_up():
    """Of item 0's list [0, 2, 1]: d(0,0) = 1+1+1, d(0,2) = 2+4+4 (item 2 does not list 0), d(0,1) = 3+2+3."""
    ranks = Ranks([[0, 2, 1], [1, 0, 2], [2, 1, 3], [3, 2, 1]])
    assert reposition(ranks).items[0].tolist() == [0, 1, 2]


def test_ties_keep_their_order():
    """d(0,1) = 2+4+4 = 10, d(0,2) = 3+3+3 = 9, d(0,3) = 4+2+4 = 10: 1 stays before 3."""
    ranks = Ranks([[0, 1, 2, 3], [1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 2, 1]])
    assert reposition(ranks).items[0].tolist() == [0, 2, 1, 3]


def test_the_position_of_an_absent_query_depends_on_the_length_of_the_other_list():
    """d(0,1) = 1+4+4 (item 1's list of three does not have 0), d(0,2) = 2+2+2 (nor does item 2's list of one)."""
    ranks = Ranks([[1, 2, PAD], [1, 2, 3], [2, PAD, PAD], [3, PAD, PAD]])
    assert reposition(ranks).items[0].tolist() == [2, 1, PAD]


def test_an_item_without_a_list_moves_up_or_down():
    """d(0,1) = 2+4+4, d(0,3) = 4+2+4; d(0,2) = 3+1+3 by the authors' rule, 3+5+5 by the other."""
    ranks = Ranks([[0, 1, 2, 3], [1, 2, 3, 0], [PAD] * 4, [3, 0, 1, 2]])
    assert reposition(ranks).items[0].tolist() == [0, 2, 1, 3]
    assert reposition(ranks, absent="last").items[0].tolist() == [0, 1, 3, 2]


def test_padding_does_not_move_items():
    """Last is after the longest list, not the last column: d(0,1) = 1+4+4, d(0,2) = 2+3+3, d(0,3) = 3+4+4."""
    lists = [[1, 2, 3], [PAD, PAD, PAD], [2, 3, 0], [3, 1, 2]]
    for columns in (0, 5):
        padded = Ranks([[*row, *[PAD] * columns] for row in lists])
        assert plain(reposition(padded, absent="last"))[0] == [2, 1, 3]


@examples(200)
@given(
    collections(m=1, n_items=st.integers(1, 12)),
    st.integers(1, 12),
    st.sampled_from(["first", "last"]),
    st.integers(0, 3),
)
def test_repositioning_equals_the_oracles(rankers, cutoff, absent, columns):
    items = np.pad(rankers[0].items, ((0, 0), (0, columns)), constant_values=PAD)
    out = reposition(Ranks(items, n_items=len(items)), cutoff, absent=absent)
    assert plain(out) == oracle.repositioned(plain(rankers[0]), cutoff, absent=absent)
    assert out.scores is None


@given(collections(m=1))
def test_repositioning_keeps_the_items_of_each_list(rankers):
    out = reposition(rankers[0])
    assert [sorted(row) for row in plain(out)] == [sorted(row) for row in plain(rankers[0])]
    assert out.depth == rankers[0].depth


def test_lists_with_equal_mutual_positions_do_not_change():
    """Then d = 3p, which increases along a list."""
    mutual = Ranks([[i ^ step for step in range(8)] for i in range(8)])
    np.testing.assert_array_equal(reposition(mutual).items, mutual.items)


def test_repositioning_needs_a_row_for_each_item():
    with pytest.raises(InputError) as caught:
        reposition(Ranks([[0, 1]]))
    assert str(caught.value) == (
        "Repositioning needs collection ranks, a row for each item; got 1 rows, 2 items. "
        "Use Ranks.as_collection() if the rows have ids."
    )


def test_ids_are_preserved():
    given_ranks = Ranks.from_dict({"a": ["a", "b"], "b": ["b", "a"]})
    assert reposition(given_ranks).query_ids == given_ranks.query_ids


def test_empty_lists_can_be_repositioned():
    assert reposition(Ranks(np.empty((0, 0), int))).items.shape == (0, 0)
    assert reposition(Ranks(np.full((2, 3), PAD), n_items=2), 2).items.tolist() == [[PAD, PAD]] * 2


@examples(100)
@given(st.data(), st.integers(1, 10))
def test_virtual_positions_equal_the_oracles(data, cutoff):
    own = data.draw(collections(m=1, scores=True))[0]
    queries = data.draw(ranks(n_items=own.n_items, n_queries=3, scores=True))
    table = np.where(own.items == PAD, np.float32(-np.inf), own.scores)
    theirs = [values[: len(row)] for values, row in zip(own.scores.tolist(), plain(own), strict=True)]
    for row, got in enumerate(reposition_queries(queries.items, queries.scores, table, cutoff)):
        listed = plain(queries)[row]
        scores = queries.scores[row].tolist()[: len(listed)]
        assert got[got != PAD].tolist() == oracle.eq1(listed, oracle.virtual_positions(listed, scores, theirs))[:cutoff]


def test_rescaled_scores_go_from_1_to_a_tenth_in_equal_steps():
    scores = rescaled_steps(4)[::-1]
    expected = [[1, 0.7, 0.4, 0.1], [1, 0.55, 0.1, 0], [1, 0.1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(scores, expected, atol=1e-7)
    assert scores.dtype == np.float32


@given(ranks())
def test_rescaling_keeps_the_order_and_equals_the_oracles(given_ranks):
    table = rescaled_steps(given_ranks.depth)[given_ranks.lengths()]
    for row, scores in zip(plain(given_ranks), table.tolist(), strict=True):
        expected = list(oracle.rescaled(row).values()) if row else []
        assert scores[: len(row)] == pytest.approx(expected)
        assert not any(scores[len(row) :])
        assert all(a > b for a, b in pairwise(scores[: len(row)]))
