"""Pools, against dicts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloom as rl
from rankloom.aggregate import QueryMethod
from rankloom.methods import METHODS
from rankloom.ranks import PAD
from rankloom.ranks import pool as pools
from rankloom.ranks.pool import fuse_pools, lay_out
from strategies import ranks as some_ranks


def listed(ranks, q):
    return [[item for item in r.items[q].tolist() if item != PAD] for r in ranks]


@given(st.data())
def test_a_pool_has_the_items_by_first_appearance_and_their_positions(data):
    ranks = [data.draw(some_ranks(n_items=8, n_queries=4)) for _ in range(data.draw(st.integers(1, 4)))]
    pool = lay_out(ranks)
    positions, counts = pool.positions(), pool.counted([1.0] * len(ranks))
    for q in range(4):
        lists = listed(ranks, q)
        union = list(dict.fromkeys(item for row in lists for item in row))
        assert [item for item in pool.items[q].tolist() if item != PAD] == union
        assert pool.sizes()[q] == len(union)
        for column, item in enumerate(union):
            assert positions[:, q, column].tolist() == [row.index(item) + 1 if item in row else 0 for row in lists]
            assert counts[q, column] == sum(item in row for row in lists)


def test_large_item_numbers_are_distinguished():
    """Numbers that need more than the 32 bits of a small key."""
    n = 2**31 - 2
    ranks = [rl.Ranks([[n - 1, 5, n - 2]], n_items=n), rl.Ranks([[n - 2, 5]], n_items=n)]
    assert lay_out(ranks).items.tolist() == [[n - 1, 5, n - 2]]


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (2, 0), (2, 3)])
def test_empty_lists_give_empty_lists(shape):
    fused = rl.fuse([rl.Ranks(np.full(shape, PAD), np.zeros(shape), 4)] * 2, "combsum")
    assert fused.n_queries == shape[0]
    assert not fused.lengths().any()


@given(st.data(), st.integers(1, 12))
def test_the_best_k_match_a_stable_sort(data, k):
    ranks = [data.draw(some_ranks(n_items=8, n_queries=3)) for _ in range(2)]
    worth = data.draw(st.lists(st.sampled_from([-1.5, -0.0, 0.0, 0.25, 1e30]), min_size=8, max_size=8))
    fused = fuse_pools(ranks, k, lambda pool: np.array(worth)[pool.items])
    for q in range(3):
        union = list(dict.fromkeys(item for row in listed(ranks, q) for item in row))
        expected = sorted(union, key=lambda item: -worth[item])[:k]
        assert listed([fused], q) == [expected]
        assert fused.scores[q, : len(expected)].tolist() == [float(np.float32(worth[item])) for item in expected]


@pytest.mark.parametrize("method", [name for name in METHODS if issubclass(METHODS[name], QueryMethod)])
def test_block_sizes_do_not_matter(method, monkeypatch):
    random = np.random.default_rng(0)
    scores = -np.sort(-random.random((40, 6)), axis=1)
    ranks = [rl.Ranks([random.permutation(12)[:6] for _ in range(40)], scores, 12) for _ in range(3)]
    expected = rl.fuse(ranks, method)
    monkeypatch.setattr(pools, "CELLS", 50)
    blocks = rl.fuse(ranks, method)
    assert np.array_equal(blocks.items, expected.items)
    assert np.array_equal(blocks.scores, expected.scores)
