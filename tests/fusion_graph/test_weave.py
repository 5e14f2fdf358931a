"""The matrices W and P, the graph sizes and the postings, compared with the oracle."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from brute import plain
from rankloom import Ranks
from rankloom.errors import InputError
from rankloom.fusion_graph.index import FusionIndex
from rankloom.fusion_graph.weave import WEIGHTINGS, register_weighting, weave, weighting_tables
from rankloom.index.order import Order
from rankloom.ranks import PAD
from rankloom.threads import Scratch
from strategies import collections, examples


def woven_arrays(rankers, cutoff, *, repositioned=True, minmax=False):
    norm = "minmax" if minmax else "max"
    return FusionIndex.build(rankers, cutoff=cutoff, reposition=repositioned, graph_norm=norm, keep_scores=False).arrays


def rows(ptr, items, values):
    return [dict(zip(items[a:b].tolist(), values[a:b].tolist(), strict=True)) for a, b in pairwise(ptr)]


def test_w_and_p_by_hand():
    """Item 0 is first for one ranker and last of three for the other: W = 1 + .1, P = 1 + 1/3."""
    woven = weave([np.array([[0, 1]], np.int32), np.array([[2, 1, 0]], np.int32)], Scratch(3))
    assert rows(woven.ptr, woven.items, woven.W)[0] == pytest.approx({0: 1 + 0.1, 1: 0.1 + 0.55, 2: 1})
    assert rows(woven.ptr, woven.items, woven.P)[0] == pytest.approx({0: 1 + 1 / 3, 1: 1 / 2 + 1 / 2, 2: 1})


@examples(120)
@given(collections(), st.integers(1, 6), st.booleans(), st.booleans())
def test_w_and_p_equal_the_oracles(rankers, cutoff, repositioned, minmax):
    arrays = woven_arrays(rankers, cutoff, repositioned=repositioned, minmax=minmax)
    numbers, places, n = arrays["numbers"], arrays["places"], rankers[0].n_items
    assert sorted(numbers.tolist()) == list(range(n))
    np.testing.assert_array_equal(places[numbers], np.arange(n))
    lists = [
        oracle.repositioned(plain(r), cutoff) if repositioned else [row[:cutoff] for row in plain(r)] for r in rankers
    ]
    for name, value in (("row_weights", oracle_w), ("row_nearness", oracle_p)):
        for number, row in enumerate(rows(arrays["row_ptr"], arrays["row_items"], arrays[name])):
            got = {int(numbers[item]): weight for item, weight in row.items()}
            assert got == pytest.approx(value([ranker[numbers[number]] for ranker in lists]))


def oracle_w(query_lists):
    return oracle.raw_graph(query_lists, [])[0]


def oracle_p(query_lists):
    items = {item for ranked in query_lists for item in ranked}
    return {a: sum(1 / oracle.position(ranked, a) for ranked in query_lists if a in ranked) for a in items}


@examples(60)
@given(collections(), st.integers(1, 6), st.booleans())
def test_postings_are_the_transpose_with_the_smallest_size(rankers, cutoff, minmax):
    arrays = woven_arrays(rankers, cutoff, minmax=minmax)
    ptr, members, sizes = arrays["row_ptr"], arrays["row_items"], arrays["norms"][:, -1]
    for item in range(rankers[0].n_items):
        having = [q for q in range(len(ptr) - 1) if item in members[ptr[q] : ptr[q + 1]]]
        posted = arrays["post_rows"][arrays["post_ptr"][item] : arrays["post_ptr"][item + 1]]
        assert posted.tolist() == having
        assert arrays["post_least"][item] == min((sizes[q] for q in having), default=np.inf)


def test_the_internal_order_renumbers_rows_and_items():
    ranks = Ranks([[0, 1, PAD], [1, PAD, PAD], [2, 0, 1]])
    order = Order(np.array([2, 0, 1], np.int32), np.array([1, 2, 0], np.int32))
    assert order.to_internal(ranks.items, 3).tolist() == [[0, 1, 2], [1, 2, PAD], [2, PAD, PAD]]
    assert order.queries_to_internal(ranks.items).tolist() == [[1, 2, PAD], [2, PAD, PAD], [0, 1, 2]]


def test_the_arrays_of_an_index_are_read_only():
    arrays = woven_arrays([Ranks([[0, 1], [1, 0]])], 2)
    assert not any(array.flags.writeable for array in arrays.values())


def test_a_weighting_determines_the_terms_of_w_and_p(monkeypatch):
    monkeypatch.setattr(WEIGHTINGS, "_known", dict(WEIGHTINGS))
    register_weighting("halves")(lambda positions, scores: (0.5**positions, 2.0 * scores))
    woven = weave([np.array([[0, 1]], np.int32), np.array([[2, 1, 0]], np.int32)], Scratch(3), "halves")
    assert rows(woven.ptr, woven.items, woven.W)[0] == pytest.approx({0: 1 / 2 + 1 / 8, 1: 1 / 4 + 1 / 4, 2: 1 / 2})
    assert rows(woven.ptr, woven.items, woven.P)[0] == pytest.approx({0: 2 + 0.2, 1: 0.2 + 1.1, 2: 2})


@pytest.mark.parametrize(
    "weighting", [lambda p, s: (s,), lambda p, s: (s, -s), lambda p, s: (s, s * np.inf), lambda p, s: (s, s[:1])]
)
def test_a_weighting_must_return_two_positive_numbers_for_each_position(weighting, monkeypatch):
    monkeypatch.setattr(WEIGHTINGS, "_known", dict(WEIGHTINGS))
    register_weighting("invalid")(weighting)
    with pytest.raises(InputError, match="The weighting 'invalid' must return two arrays of finite positive numbers"):
        weighting_tables("invalid", 3)
