"""Condorcet: by hand, and against an oracle in plain Python."""

from itertools import pairwise as pairs
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloom as rl
from rankloom.aggregate.per_query import majorities as pairwise
from rankloom.errors import InputError
from rankloom.ranks import PAD
from strategies import ranks as some_ranks

A = rl.Ranks.from_dict({"q": ["a", "b", "c"]})
B = rl.Ranks.from_dict({"q": ["d", "c", "a"]})
C = rl.Ranks.from_dict({"q": ["b", "c"]})


def fused(*ranks, **options):
    return rl.fuse(ranks or (A, B, C), "condorcet", **options).to_dict()["q"]


def test_wins_over_the_lists_with_both_items():
    """a:b 1:0, a:c 1:1, a:d 0:1, b:c 2:0, b:d in no common list, c:d 0:1."""
    got = fused()
    assert got == {"d": 2, "a": 1, "b": 1, "c": 0}
    assert list(got) == ["d", "a", "b", "c"]


def test_copeland_subtracts_losses():
    assert fused(variant="copeland") == {"d": 2, "a": 1 - 1, "b": 1 - 1, "c": 0 - 2}


def test_absent_items_last():
    """a:b 2:1, a:c 1:2, a:d 1:1, b:c 2:1, b:d 2:1, c:d 2:1."""
    assert fused(absent="last") == {"b": 2, "c": 2, "a": 1, "d": 0}


def test_condorcet_fuse_sorts_by_majority():
    """Insert b after a, c after b, then d, which beats c but not b (they share no list): after b."""
    got = fused(variant="fuse")
    assert list(got) == ["a", "b", "d", "c"]
    assert list(got.values()) == [-1, -2, -3, -4]


def test_weights_are_votes():
    assert fused(weights=[1, 5, 1])["c"] == 1  # c beats a now
    assert fused(weights=[2, 2, 2]) == fused()


def test_rounding_errors_of_weights_do_not_break_ties():
    """0.1 + 0.2 against 0.3: neither a nor b wins."""
    ab, ba = rl.Ranks.from_dict({"q": ["a", "b"]}), rl.Ranks.from_dict({"q": ["b", "a"]})
    assert fused(ab, ab, ba, weights=[0.1, 0.2, 0.3]) == {"a": 0, "b": 0}


def test_more_rankers_than_int8_can_count():
    ab, ba = rl.Ranks.from_dict({"q": ["a", "b"]}), rl.Ranks.from_dict({"q": ["b", "a"]})
    assert fused(*[ba] * 150, *[ab] * 149) == {"b": 1, "a": 0}


def plain_margin(lists, a, b, last):
    """Return votes for a before b minus votes for b before a."""
    far = 10**6
    total = 0
    for row in lists:
        if last or (a in row and b in row):
            x, y = (row.index(item) if item in row else far for item in (a, b))
            total += (x < y) - (y < x)
    return total


@given(st.data(), st.sampled_from(["left_out", "last"]))
def test_wins_match_the_oracle(data, absent):
    ranks = [data.draw(some_ranks(n_items=7, n_queries=3)) for _ in range(data.draw(st.integers(1, 4)))]
    got = rl.fuse(ranks, "condorcet", 7, absent=absent).to_dict()
    for q in range(3):
        lists = [[item for item in r.items[q].tolist() if item != PAD] for r in ranks]
        union = list(dict.fromkeys(item for row in lists for item in row))
        wins = {a: sum(plain_margin(lists, a, b, absent == "last") > 0 for b in union) for a in union}
        ordered = sorted(union, key=lambda item: -wins[item])  # stable: first seen first
        assert list(got[str(q)].items()) == [(str(item), wins[item]) for item in ordered]


@given(st.data())
def test_no_item_comes_right_after_one_that_it_beats(data):
    ranks = [data.draw(some_ranks(n_items=7, n_queries=1)) for _ in range(3)]
    lists = [[item for item in r.items[0].tolist() if item != PAD] for r in ranks]
    order = [item for item in rl.fuse(ranks, "condorcet", 7, variant="fuse").items[0].tolist() if item != PAD]
    assert all(plain_margin(lists, b, a, False) <= 0 for a, b in pairs(order))


@pytest.mark.parametrize("variant", ["wins", "copeland", "fuse"])
def test_every_variant_returns_a_transitive_majority(variant):
    for order in permutations(range(4)):
        ranks = [rl.Ranks([order]), rl.Ranks([order]), rl.Ranks([order[::-1]])]
        assert rl.fuse(ranks, "condorcet", 4, variant=variant).items.tolist() == [list(order)]


def test_blocks_do_not_matter(monkeypatch):
    random = np.random.default_rng(0)
    ranks = [rl.Ranks([random.permutation(20)[:9] for _ in range(30)], n_items=20) for _ in range(3)]
    expected = rl.fuse(ranks, "condorcet")
    monkeypatch.setattr(pairwise, "PAIRS", 1)
    assert np.array_equal(rl.fuse(ranks, "condorcet").items, expected.items)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variant": "win"}, "Unknown value of variant 'win'; choose from copeland, fuse, wins. Did you mean 'wins'?"),
        ({"absent": "first"}, "Unknown value of absent 'first'; choose from last, left_out."),
        ({"weights": [1]}, "weights must be numbers of at least 0, one for each ranker (2); got [1]."),
    ],
)
def test_bad_options_raise(options, message):
    with pytest.raises(InputError) as caught:
        rl.fuse([A, B], "condorcet", **options)
    assert message in str(caught.value)
