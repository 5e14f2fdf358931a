import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloom as rl
from rankloom.ranks import PAD
from strategies import examples
from strategies import ranks as some_ranks


def plain_chain(rows, teleport):
    """Markov chain 4 in plain Python, by repeated multiplication: {item: probability} of one query."""
    items = sorted({item for row in rows for item in row})
    n = len(items)

    def prefers(e, d):
        both = [row.index(e) < row.index(d) for row in rows if e in row and d in row]
        return 2 * sum(both) > len(both)

    step = np.array([[prefers(e, d) / n if e != d else 0.0 for e in items] for d in items])
    step[np.diag_indices(n)] = 1 - step.sum(axis=1)
    now = np.full(n, 1 / n)
    for _ in range(2000):
        now = (1 - teleport) * now @ step + teleport / n
    return dict(zip(map(str, items), now.tolist(), strict=True))


def test_a_chain_of_two_items():
    """Both lists put 0 before 1: p1 = t/2 + (1 - t) p1 / 2, so p1 = t / (1 + t)."""
    fused = rl.fuse([rl.Ranks([[0, 1]])] * 2, "mc4(teleport=0.25)", 2).to_dict()["0"]
    assert fused == pytest.approx({"0": 0.8, "1": 0.2})


@examples(60)
@given(st.data(), st.sampled_from([0.05, 0.15, 0.5]))
def test_the_stationary_distribution_equals_a_plain_version(data, teleport):
    ranks = [data.draw(some_ranks(n_items=6, n_queries=1)) for _ in range(3)]
    rows = [[item for item in r.items[0].tolist() if item != PAD] for r in ranks]
    expected = plain_chain(rows, teleport) if any(rows) else {}
    assert rl.fuse(ranks, "mc4", 18, teleport=teleport).to_dict()["0"] == pytest.approx(expected, abs=1e-6)


def test_probabilities_add_up_to_1():
    rng = np.random.default_rng(0)
    ranks = [rl.Ranks([rng.permutation(30)[:12] for _ in range(40)], n_items=30) for _ in range(4)]
    assert rl.fuse(ranks, "mc4", 48).scores.sum(axis=1) == pytest.approx(np.ones(40))


def test_a_condorcet_winner_is_first():
    """Item 0 beats each other item by two lists of three."""
    ranks = [rl.Ranks([[0, 1, 2, 3]]), rl.Ranks([[0, 3, 2, 1]]), rl.Ranks([[1, 2, 3, 0]])]
    assert rl.fuse(ranks, "mc4", 1).items.tolist() == [[0]]


def test_weights_decide_majorities():
    ranks = [rl.Ranks([[0, 1]]), rl.Ranks([[1, 0]]), rl.Ranks([[1, 0]])]
    assert rl.fuse(ranks, "mc4", 2).items.tolist() == [[1, 0]]
    assert rl.fuse(ranks, "mc4", 2, weights=[3, 1, 1]).items.tolist() == [[0, 1]]
