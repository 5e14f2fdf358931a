"""The matrices W and P, their measures and their transpose, against the oracle."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from brute import plain
from rankloom import PAD, Ranks
from rankloom.engine import Scratch
from rankloom.weave import renumbered_rows, weave, weave_collection
from strategies import collections


def rows(ptr, items, values):
    return [dict(zip(items[a:b].tolist(), values[a:b].tolist(), strict=True)) for a, b in pairwise(ptr)]


def test_w_and_p_by_hand():
    """Item 0 is first for one ranker and last of three for the other: W = 1 + .1, P = 1 + 1/3."""
    woven = weave([Ranks([[0, 1]], n_items=3), Ranks([[2, 1, 0]], n_items=3)], Scratch(3))
    assert rows(woven.ptr, woven.items, woven.W)[0] == pytest.approx({0: 1 + 0.1, 1: 0.1 + 0.55, 2: 1})
    assert rows(woven.ptr, woven.items, woven.P)[0] == pytest.approx({0: 1 + 1 / 3, 1: 1 / 2 + 1 / 2, 2: 1})


@settings(max_examples=120)
@given(collections(), st.integers(1, 6), st.booleans(), st.booleans())
def test_an_index_holds_the_oracles_w_and_p(rankers, cutoff, repositioned, minmax):
    arrays = weave_collection(rankers, cutoff=cutoff, repositioned=repositioned, minmax=minmax)
    numbers, places, n = arrays["numbers"], arrays["places"], rankers[0].n_items
    assert sorted(numbers.tolist()) == list(range(n))
    np.testing.assert_array_equal(places[numbers], np.arange(n))
    lists = [
        oracle.repositioned(plain(r), cutoff) if repositioned else [row[:cutoff] for row in plain(r)] for r in rankers
    ]
    for name, value in (("row_weights", oracle_w), ("row_nearness", oracle_p)):
        for place, row in enumerate(rows(arrays["row_ptr"], arrays["row_items"], arrays[name])):
            got = {int(numbers[item]): weight for item, weight in row.items()}
            assert got == pytest.approx(value([ranker[numbers[place]] for ranker in lists]))


def oracle_w(query_lists):
    return oracle.raw_graph(query_lists, [])[0]


def oracle_p(query_lists):
    items = {item for ranked in query_lists for item in ranked}
    return {a: sum(1 / oracle.position(ranked, a) for ranked in query_lists if a in ranked) for a in items}


@settings(max_examples=60)
@given(collections(), st.integers(1, 6), st.booleans())
def test_postings_are_the_transpose_with_the_least_size(rankers, cutoff, minmax):
    arrays = weave_collection(rankers, cutoff=cutoff, repositioned=True, minmax=minmax)
    ptr, members, sizes = arrays["row_ptr"], arrays["row_items"], arrays["norms"][:, -1]
    for item in range(rankers[0].n_items):
        having = [q for q in range(len(ptr) - 1) if item in members[ptr[q] : ptr[q + 1]]]
        posted = arrays["post_rows"][arrays["post_ptr"][item] : arrays["post_ptr"][item + 1]]
        assert posted.tolist() == having
        assert arrays["post_least"][item] == min((sizes[q] for q in having), default=np.inf)


def test_renumbered_rows_move_rows_and_items():
    ranks = Ranks([[0, 1, PAD], [1, PAD, PAD], [2, 0, 1]])
    numbers, places = np.array([2, 0, 1], np.int32), np.array([1, 2, 0], np.int32)
    numbers.flags.writeable = places.flags.writeable = False
    assert renumbered_rows(ranks, numbers, places).items.tolist() == [[0, 1, 2], [1, 2, PAD], [2, PAD, PAD]]


def test_the_arrays_of_an_index_cannot_be_written_to():
    arrays = weave_collection([Ranks([[0, 1], [1, 0]])], cutoff=2, repositioned=True, minmax=False)
    assert not any(array.flags.writeable for array in arrays.values())
