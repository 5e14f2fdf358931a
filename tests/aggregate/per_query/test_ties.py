"""`ties="average"`: results that do not depend on the order in which the rankers are listed."""

from itertools import permutations

import numpy as np
import pytest

from rankloom import Ranks, fuse

TIED = ("rrf", "borda", "borda(points=pool)", "mra", "condorcet", "condorcet(variant=fuse)")


def mean_positions(lists, items):
    """Return the mean position of each item; one past the end where a list lacks it."""
    return {i: sum(row.index(i) + 1 if i in row else len(row) + 1 for row in lists) / len(lists) for i in items}


def random_lists(rng, n_items=12, depth=5):
    return [list(map(int, rng.permutation(n_items)[: rng.integers(1, depth + 1)])) for _ in range(4)]


def as_ranks(lists, n_items=12):
    depth = max(map(len, lists))
    return [Ranks([row + [-1] * (depth - len(row))], n_items=n_items) for row in lists]


@pytest.mark.parametrize("method", TIED)
def test_the_order_of_the_rankers_does_not_matter(method):
    rng = np.random.default_rng(0)
    differ = 0
    for _ in range(20):
        ranks = as_ranks(random_lists(rng))
        averaged = {fuse(list(order), method, 12, ties="average").items.tobytes() for order in permutations(ranks)}
        assert len(averaged) == 1
        differ += len({fuse(list(order), method, 12).items.tobytes() for order in permutations(ranks)}) > 1
    assert differ > 0


def test_rrf_orders_ties_by_mean_position_then_by_number():
    rng = np.random.default_rng(1)
    for _ in range(20):
        lists = random_lists(rng)
        items = {item for row in lists for item in row}
        mean = mean_positions(lists, items)
        score = {i: np.float32(sum(1 / (60 + row.index(i) + 1) for row in lists if i in row)) for i in items}
        expected = sorted(items, key=lambda i: (-score[i], mean[i], i))
        assert fuse(as_ranks(lists), "rrf", 12, ties="average").to_dict()["0"].keys() == set(map(str, items))
        assert fuse(as_ranks(lists), "rrf", 12, ties="average").items[0, : len(items)].tolist() == expected


def test_mra_sees_the_items_of_a_position_at_once():
    rng = np.random.default_rng(2)
    for _ in range(20):
        lists = random_lists(rng)
        items = {item for row in lists for item in row}
        mean, half = mean_positions(lists, items), len(lists) / 2
        places = {item: sorted(row.index(item) for row in lists if item in row) for item in items}
        out = {i: (0, p[int(half)]) if len(p) > half else (1, p[0]) for i, p in places.items()}
        expected = sorted(items, key=lambda i: (out[i], mean[i], i))
        assert fuse(as_ranks(lists), "mra", 12, ties="average").items[0, : len(items)].tolist() == expected
