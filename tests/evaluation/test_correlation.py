from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import rankloom as rl
from rankloom import Ranks
from rankloom.errors import InputError, UnknownNameError
from rankloom.evaluation import CORRELATIONS, correlation, correlations
from strategies import collections

KINDS = ["jaccard", "kendall", "rbo", "spearman"]
BY_PAPER = [kind for kind in KINDS if kind != "rbo"]


def plain(first, second, kind):
    """Compute the formulas of the paper with sets and loops; absent items come after the list."""
    if not first or not second:
        return float(first == second)
    union, n = list(dict.fromkeys([*first, *second])), max(len(first), len(second))
    at = [{item: row.index(item) + 1 if item in row else n + 1 for item in union} for row in (first, second)]
    if kind == "jaccard":
        return len(set(first) & set(second)) / len(union)
    if kind == "spearman":
        return 1 - sum(abs(at[0][i] - at[1][i]) for i in union) / (n * (n + 1))
    if kind == "rbo":
        return plain_rbo(*sorted((first, second), key=len))
    pairs = list(combinations(union, 2))
    discordant = sum((at[0][i] - at[0][j]) * (at[1][i] - at[1][j]) < 0 for i, j in pairs)
    return 1 - discordant / len(pairs) if pairs else 1.0


def plain_rbo(short, long, p=0.9):
    """Sum the agreement at each depth; beyond the shorter list, its agreement goes on."""

    def common(d):
        return len(set(short[:d]) & set(long[:d]))

    s, n = len(short), len(long)
    total = sum(common(d) / d * p**d for d in range(1, n + 1))
    total += sum(common(s) * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    return (1 - p) / p * total + ((common(n) - common(s)) / n + common(s) / s) * p**n


def of(first, second, kind, **options):
    return correlation(Ranks([first], n_items=20), Ranks([second], n_items=20), kind=kind, **options)


BY_HAND = {
    "equal": ([4, 2, 7], [4, 2, 7], (1, 1, 1)),
    # 1 of 3 pairs inverted; positions differ by 1 + 1
    "two swapped": ([4, 2, 7], [2, 4, 7], (1, 1 - 1 / 3, 1 - 2 / 12)),
    # all 3 pairs inverted; positions differ by 2 + 0 + 2
    "reversed": ([4, 2, 7], [7, 2, 4], (1, 0, 1 - 4 / 12)),
    # the 2 x 2 pairs across the lists, of 6; positions 1 and 2 against 3, on both sides
    "disjoint": ([1, 2], [3, 4], (0, 1 - 4 / 6, 1 - 6 / 6)),
    # 1, 2 | 1, 3: (2, 3) is inverted, (1, 2) and (1, 3) are not; 2 and 3 are at positions 2 and 3
    "the first in common": ([1, 2], [1, 3], (1 / 3, 1 - 1 / 3, 1 - 2 / 6)),
    # 1, 2 | 2, 3: (1, 2), (1, 3) are inverted; positions 1 and 3, 2 and 1, 3 and 2
    "the second is first": ([1, 2], [2, 3], (1 / 3, 1 - 2 / 3, 1 - 4 / 6)),
    # unequal lengths, n is 3; 8 and 9 are not in the first list: only (8, 5) is inverted
    "short": ([5], [8, 5, 9], (1 / 3, 1 - 1 / 3, 1 - (1 + 3 + 1) / 12)),
    "one item, the same": ([5], [5], (1, 1, 1)),
    "one item, another": ([5], [6], (0, 0, 0)),
    "both empty": ([], [], (1, 1, 1)),
    "one empty": ([], [3, 4], (0, 0, 0)),
}


@pytest.mark.parametrize(("first", "second", "values"), BY_HAND.values(), ids=BY_HAND)
def test_correlations_by_hand(first, second, values):
    for kind, value in zip(BY_PAPER, values, strict=True):
        assert of(first, second, kind) == pytest.approx(value, abs=1e-15)
        assert of(second, first, kind) == of(first, second, kind)
        assert plain(first, second, kind) == pytest.approx(value, abs=1e-15)


def test_rank_biased_overlap_by_hand():
    """Lists 1, 2 and 1, 3: agreement 1, then 1/2, which goes on; of 1 and 1, 2 one item is known: 1, then 1."""
    assert of([1, 2], [1, 3], "rbo") == pytest.approx((1 - 0.9) * (1 + 0.9 * 1 / 2) + 0.9**2 * 1 / 2)
    assert of([1], [1, 2], "rbo") == pytest.approx(1)
    assert of([1, 2], [3, 4], "rbo") == 0
    assert of([4, 2, 7], [4, 2, 7], "rbo") == pytest.approx(1)
    assert of([8, 1, 2], [9, 1, 2], "rbo") < of([1, 2, 8], [1, 2, 9], "rbo")  # the top counts most


def test_kendall_of_disjoint_lists():
    n = 10
    assert of([*range(n)], [*range(n, 2 * n)], "kendall") == pytest.approx((n - 1) / (2 * n - 1))


def test_only_the_first_items_count():
    for kind in KINDS:
        assert of([1, 2, 3], [1, 2, 4], kind, depth=2) == pytest.approx(1)
    assert of([*range(12)], [*range(10), 12, 13], "jaccard") == 1  # the default is 10


@given(collections(m=2), st.sampled_from(KINDS), st.integers(1, 12))
def test_correlations_match_the_oracle(rankers, kind, depth):
    rows = [[[i for i in row if i >= 0] for row in r.items[:, :depth].tolist()] for r in rankers]
    values = correlation(*rankers, kind=kind, depth=depth, per_query=True)
    expected = [plain(a, b, kind) for a, b in zip(*rows, strict=True)]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)
    assert ((values >= 0) & (values <= 1)).all()
    assert correlation(*rankers, kind=kind, depth=depth) == pytest.approx(np.mean(expected), abs=1e-12)
    assert correlation(rankers[0], rankers[0], kind=kind, depth=depth) == 1


def test_kendall_of_the_same_items_matches_scipy():
    rng = np.random.default_rng(1)
    first, second = (Ranks(rng.permuted(np.tile(np.arange(200), (20, 1)), axis=1)) for _ in range(2))
    ours = correlation(first, second, kind="kendall", depth=200, per_query=True)
    for a, b, value in zip(first.items, second.items, ours, strict=True):
        assert value == pytest.approx((1 + stats.kendalltau(np.argsort(a), np.argsort(b)).statistic) / 2)


@pytest.mark.parametrize("kind", KINDS)
def test_any_block_size_gives_the_same_bits(kind, monkeypatch):
    rng = np.random.default_rng(2)
    first, second = (Ranks(np.argsort(rng.random((30, 40)), axis=1)[:, :20], n_items=40) for _ in range(2))
    expected = correlation(first, second, kind=kind, depth=20, per_query=True)
    monkeypatch.setitem(correlations.__globals__, "BLOCK_CELLS", 7 * 20)
    assert correlation(first, second, kind=kind, depth=20, per_query=True).tobytes() == expected.tobytes()


def test_rankers_are_matched_by_id_over_common_queries():
    first = Ranks.from_dict({"q1": ["a", "b"], "q2": ["c"], "q3": ["a"]})
    second = Ranks.from_dict({"q3": ["b"], "q1": ["b", "a"]})
    assert correlation(first, second, per_query=True).tolist() == [1, 0]  # q1, q3
    assert correlation(first, second) == 1 / 2


def test_several_rankers_make_a_symmetric_matrix():
    rng = np.random.default_rng(3)
    rankers = [Ranks(np.argsort(rng.random((9, 15)), axis=1)) for _ in range(4)]
    for kind in KINDS:
        table = correlations(rankers, kind=kind, depth=5)
        assert (table == table.T).all()
        assert (table.diagonal() == 1).all()
        assert table[1, 3] == correlation(rankers[1], rankers[3], kind=kind, depth=5)
    assert correlations(rankers[:1]).tolist() == [[1]]


def test_the_registry_and_the_package_have_the_correlations():
    assert sorted(CORRELATIONS) == KINDS
    assert rl.correlation is correlation


def test_bad_input_raises():
    ranks = Ranks([[0, 1]])
    with pytest.raises(UnknownNameError, match=r"Unknown correlation 'jacard'; .*Did you mean 'jaccard'\?"):
        correlation(ranks, ranks, kind="jacard")
    with pytest.raises(InputError, match="depth must be a whole number, at least 1; got 0"):
        correlation(ranks, ranks, depth=0)
    with pytest.raises(InputError, match="different numbers of items: 2, 3"):
        correlation(ranks, Ranks([[0, 2]]))
    with pytest.raises(InputError, match="nothing to compare; the ranks have no rows"):
        correlation(Ranks(np.empty((0, 2)), n_items=2), Ranks(np.empty((0, 2)), n_items=2))
