"""Kemeny against all permutations, and the local search for longer lists."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloom as rl
from rankloom.aggregate.per_query.majorities import moved
from rankloom.errors import InputError
from rankloom.methods import kemeny_cost
from rankloom.ranks import PAD
from rankloom.ranks.align import align
from strategies import ranks as some_ranks


def rows(ranks):
    """Return the lists of the first query."""
    return [[item for item in r.items[0].tolist() if item != PAD] for r in ranks]


def plain_cost(lists, order, last=False):
    """Count, for each pair, the lists that disagree with the order."""
    cost = 0
    for a, b in combinations(order, 2):
        for row in lists:
            known = b in row and (last or a in row)
            cost += known and (a not in row or row.index(b) < row.index(a))
    return cost


@given(st.data(), st.sampled_from(["left_out", "last"]))
def test_up_to_6_items_no_permutation_costs_less(data, absent):
    n = data.draw(st.integers(1, 6))
    ranks = [data.draw(some_ranks(n_items=n, n_queries=1)) for _ in range(data.draw(st.integers(1, 4)))]
    lists = rows(ranks)
    union = list(dict.fromkeys(item for row in lists for item in row))
    best = min(
        permutations(union), key=lambda order: plain_cost(lists, order, absent == "last")
    )  # the first of several
    fused = rl.fuse(ranks, "kemeny", 6, absent=absent)
    assert rows([fused])[0] == list(best)
    assert kemeny_cost(ranks, fused, absent=absent).tolist() == [plain_cost(lists, best, absent == "last")]


def test_with_8_items_no_permutation_costs_less():
    random = np.random.default_rng(3)
    ranks = [rl.Ranks([random.permutation(8)[:7]], n_items=8) for _ in range(3)]
    minimum = min(plain_cost(rows(ranks), order) for order in permutations(range(8)))
    assert kemeny_cost(ranks, rl.fuse(ranks, "kemeny", 8)).tolist() == [minimum]


def test_a_cyclic_majority():
    """a before b, b before c, c before a, 2 to 1 each: every rotation costs 4; the first one wins."""
    cycle = [rl.Ranks.from_dict({"q": row}) for row in (["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"])]
    fused = rl.fuse(cycle, "kemeny")
    assert fused.to_dict()["q"] == {"a": -1, "b": -2, "c": -3}
    assert kemeny_cost(align(cycle), fused).tolist() == [1 + 1 + 2]


def test_weights_decide():
    ab, ba = rl.Ranks([[0, 1]]), rl.Ranks([[1, 0]])
    assert rl.fuse([ab, ba], "kemeny", 2, weights=[1, 2]).items.tolist() == [[1, 0]]
    assert kemeny_cost([ab, ba], ba, weights=[1, 2]).tolist() == [1]


def test_the_exact_order_does_not_depend_on_other_queries():
    random = np.random.default_rng(0)
    ranks = [rl.Ranks([random.permutation(12)[:5] for _ in range(40)], n_items=12) for _ in range(3)]
    together = rl.fuse(ranks, "kemeny", 12)
    for q in range(0, 40, 7):
        alone = rl.fuse([r.rows([q]) for r in ranks], "kemeny", 12)
        assert alone.items.tolist() == together.items[[q]].tolist()


def long_lists(seed=0, n_queries=8):
    random = np.random.default_rng(seed)
    return [rl.Ranks([random.permutation(30)[:20] for _ in range(n_queries)], n_items=30) for _ in range(3)]


def test_beyond_12_items_no_move_of_one_item_lowers_the_cost():
    ranks = [r.rows([0]) for r in long_lists()]
    order = rows([rl.fuse(ranks, "kemeny", 60)])[0]
    cost = plain_cost(rows(ranks), order)
    for item in order:
        rest = [other for other in order if other != item]
        for position in range(len(order)):
            assert plain_cost(rows(ranks), [*rest[:position], item, *rest[position:]]) >= cost


def test_the_search_finds_the_exact_cost_on_most_small_pools():
    random = np.random.default_rng(1)
    ranks = [rl.Ranks([random.permutation(9)[:6] for _ in range(60)], n_items=9) for _ in range(3)]
    exact = kemeny_cost(ranks, rl.fuse(ranks, "kemeny", 9))
    found = kemeny_cost(ranks, rl.fuse(ranks, "kemeny", 9, exact=0))
    restarted = kemeny_cost(ranks, rl.fuse(ranks, "kemeny", 9, exact=0, restarts=8))
    assert (found >= exact).all()
    assert (restarted >= exact).all()
    assert (restarted <= found).all()
    assert (restarted == exact).mean() > 0.95


def test_restarts_are_the_same_each_time_and_for_each_query():
    ranks = long_lists()
    first = rl.fuse(ranks, "kemeny", 60, restarts=3)
    assert np.array_equal(first.items, rl.fuse(ranks, "kemeny", 60, restarts=3).items)
    assert np.array_equal(first.items[[5]], rl.fuse([r.rows([5]) for r in ranks], "kemeny", 60, restarts=3).items)
    plain = kemeny_cost(ranks, rl.fuse(ranks, "kemeny", 60))
    assert (kemeny_cost(ranks, first) <= plain).all()


@pytest.mark.parametrize("position", range(4))
@pytest.mark.parametrize("to", range(5))
def test_an_item_is_moved_before_another(position, to):
    order = [10, 11, 12, 13]
    expected = [*order[:to], order[position], *order[to:]]
    del expected[position + (to <= position)]
    assert moved(np.array([order]), position, np.array([[to]])).tolist() == [expected]


@given(st.data(), st.sampled_from(["left_out", "last"]))
def test_the_cost_of_any_order_matches_the_oracle(data, absent):
    ranks = [data.draw(some_ranks(n_items=6, n_queries=1)) for _ in range(3)]
    order = data.draw(some_ranks(n_items=6, n_queries=1))
    expected = plain_cost(rows(ranks), rows([order])[0], absent == "last")
    assert kemeny_cost(ranks, order, absent=absent).tolist() == [expected]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"exact": 17}, "exact must be at most 16; got 17."),
        ({"restarts": -1}, "restarts must be a whole number, at least 0; got -1."),
        ({"seed": 0.5, "restarts": 1}, "seed of the method 'kemeny' must be a whole number or none; got 0.5."),
        ({"absent": "first"}, "Unknown value of absent 'first'"),
    ],
)
def test_bad_options_raise(options, message):
    with pytest.raises(InputError) as caught:
        rl.fuse(long_lists(), "kemeny", **options)
    assert message in str(caught.value)
