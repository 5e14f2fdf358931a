"""The methods of UDLF but CorGraph and RkGraph: by hand, against an oracle, and their properties."""

from math import log, sqrt
from typing import get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from method_checks import check_smaller_k, check_threads_and_blocks

import rankloom as rl
import udlf_oracle as oracle
from brute import JIT, plain
from rankloom._kernels import sorting
from rankloom.aggregate.methods import make_method
from rankloom.aggregate.reranking.rlsim_udl import Measure
from rankloom.aggregate.reranking.sorted_lists import reranked
from rankloom.errors import InputError
from rankloom.methods import BFSTree, RLRecom, check_method
from rankloom.ranks import PAD
from strategies import collections, examples

METHODS = ("cprr", "lhrr", "bfstree", "rdpac", "rlsim_udl", "contextrr", "recknngraph", "rlrecom", "rfe")
SMALL = {
    "cprr": {"neighbors": 3},
    "lhrr": {"neighbors": 3},
    "bfstree": {"neighbors": 3},
    "rdpac": {"neighbors": 3, "iterations": 4},
    "rlsim_udl": {"neighbors": 3},
    "contextrr": {"neighbors": 3, "depth": 6},
    "recknngraph": {"neighbors": 3},
    "rlrecom": {"neighbors": 3},
    "rfe": {"neighbors": 3},
}
EXAMPLES = 100 if JIT else 20
SIZE = 40 if JIT else 14
THREE = rl.Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])


def points(n, m=1, depth=30, seed=0, ragged=False):
    """Return collection ranks of m rankers over random points."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(m):
        items = rl.Ranks.from_vectors(rng.normal(size=(n, 3)), "l2", min(depth, n)).items.copy()
        if ragged:
            items[np.arange(items.shape[1]) >= rng.integers(0, items.shape[1] + 1, n)[:, None]] = PAD
        made.append(rl.Ranks(items, n_items=n))
    return made


def same(out, expected, close=1e-4):
    """Assert the same items in order, and close scores."""
    assert plain(out) == [[item for item, _ in row][: out.depth] for row in expected]
    for row, scores, pairs in zip(plain(out), out.scores.tolist(), expected, strict=True):
        np.testing.assert_allclose(scores[: len(row)], [s for _, s in pairs[: out.depth]], rtol=close, atol=1e-6)


def close(out, expected):
    """Assert the same scores up to rounding, at each position and for each item, and so the same order up to ties."""
    for row, scores, pairs in zip(plain(out), out.scores.tolist(), expected, strict=True):
        values = dict(pairs)
        assert set(row) == set(values)
        for wanted in ([score for _, score in pairs], [values[item] for item in row]):
            np.testing.assert_allclose(scores[: len(row)], wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_the_contract_of_methods_is_kept(method):
    check_method(method)


# By hand


def test_cprr_by_hand():
    """K = 2: the lists give weights 0: {0: 2, 1: 1}, 1: {1: 2, 0: 1}, 2: {2: 2, 1: 1}.

    S(0, 0) = 2 (2 * 2 + 1 * 1) from the lists of 0 and 1, and 2 (1 * 1) since 0 refers to 1;
    S(0, 1) = 2 (2 * 1 + 1 * 2); S(0, 2) = 2 (1 * 1) since both refer to 1.
    """
    out = rl.fuse([THREE], "cprr", 3, neighbors=2)
    assert out.items[0].tolist() == [0, 1, 2]
    assert out.scores[0].tolist() == [2 * 5 + 2, 2 * 4, 2]


def test_lhrr_by_hand():
    """K = 2: w = (1, 0), so each item's hyperedge is itself, 1 + 1, and what is second there, 0.

    h_i(i) = 2, c = 2: S(0, 0) = 1 + 2 * 2 * 2; S(0, 1) = (1 + 0) * 0 * 0.
    """
    out = rl.fuse([THREE], "lhrr", 2, neighbors=2)
    assert out.items.tolist() == [[0, 1], [1, 0], [2, 1]]
    assert out.scores[0].tolist() == [1 + 2 * 2 * 2, 0]


def test_bfstree_by_hand():
    """K = 1, p = 1/2: the tree of q is q alone, with S(q, q) = 1/2, so W = 1/4 on the diagonal.

    V(q, q) = (1/4 / (1 + 1/4))^2 = 1/25, divided by 1 + 1/25.
    """
    out = rl.fuse([THREE], "bfstree", 2, neighbors=1, persistence=0.5)
    assert out.scores[0].tolist() == pytest.approx([1 / 26, 0])


def test_rdpac_of_items_that_only_list_themselves():
    """W and P are the identity: so is the product."""
    alone = rl.Ranks([[0], [1]], n_items=2)
    assert rl.fuse([alone], "rdpac", neighbors=1, depth=1).scores.tolist() == [[1], [1]]


def test_rlsim_by_hand():
    """K = 2: the first two items of 0 and 1 are the same, which counts at d = 2: s = 2 * 2 / (2 * 3)."""
    out = rl.fuse([THREE], "rlsim_udl", 3, neighbors=2, iterations=1)
    assert out.scores[0].tolist() == pytest.approx([0, -1 / (1 + 2 * 2 / 6), -1 / (1 + 2 * 1 / 6)])


def test_recknngraph_by_hand():
    """K = 2: the sets {0, 1}, {1, 0} and {2, 1} have the scores 1, 1 and 3/4: of 2 and 1, all but 1 -> 2 are listed.

    W(0, 1) = 1 + 1, W(1, 2) = 9/16, W(0, 2) = 0. The scores add up to less than a large epsilon, so there is one round.
    """
    out = rl.fuse([THREE], "recknngraph", 3, neighbors=2, epsilon=0.9)
    assert out.scores[0].tolist() == pytest.approx([0, -2 / 3 / (1 + 2), -3])
    assert out.scores[2].tolist() == pytest.approx([0, -3 / 3 / (1 + 9 / 16), -3])


def test_rlrecom_by_hand():
    """Without recommendations, distances are sums of positions, from 0: 1 + 1 and 2 + 2."""
    out = rl.fuse([THREE], "rlrecom", 3, neighbors=2, strength=1e-9)
    assert out.scores[0].tolist() == pytest.approx([0, -2, -4])


def test_contextrr_by_hand():
    """L = 2, K = 1: the image of 0 and its neighbor 1 has the lines (0, 1) x (1, 0): distances 1 0 / 0 1.

    The threshold is the second pixel of the second line itself, so that all pixels are black (no pixel is inside).
    Each adds c = floor(2 sqrt 2) / |(a, b)|, in full to one cell and a quarter to those of 0 and of 1.
    """
    two = rl.Ranks([[0, 1], [1, 0]])
    c = {(a, b): int(2 * sqrt(2)) / sqrt(a * a + b * b) for a in (1, 2) for b in (1, 2)}
    # The image of 0 has x = (0, 1), y = (1, 0). W(0, 1): in full at (1, 1); a quarter as W(i, x) where x = 1, in line
    # 2, and as W(i, y) where y = 1, in column 1. The image of 1 adds W(j, x) and W(j, y), with j = 0: x = 1 is in line
    # 1, y = 1 in column 2; and W(x, y) where x = 0 and y = 1, at (2, 2).
    weight = 1 + c[1, 1] + (c[2, 1] + c[2, 2] + c[1, 1] + c[2, 1]) / 4
    weight += c[2, 2] + (c[1, 1] + c[1, 2] + c[1, 2] + c[2, 2]) / 4
    out = rl.fuse([two], "contextrr", 2, neighbors=1, depth=2, iterations=1)
    assert out.items.tolist() == [[0, 1], [1, 0]]
    assert out.scores.tolist() == [pytest.approx([0, -2 / weight])] * 2


def test_the_item_itself_is_swapped_with_the_best():
    """By value 1, 2, 0: then 0 and 1 change places."""
    lists = np.array([[0, 1, 2], [1, 0, 2], [2, 1, 0]], np.int32)
    values = np.array([[1, 3, 2], [3, 2, 1], [3, 2, 1]], np.float32)
    items, scores = reranked(lists, values)
    assert items[0].tolist() == [0, 2, 1]
    assert scores[0].tolist() == [3, 2, 1]
    assert reranked(lists, values, aligned=True)[1][0].tolist() == [1, 2, 3]
    assert reranked(lists, values, 1)[0].tolist() == [[0], [1], [2]]
    assert reranked(lists, values, fixed=1)[0][0].tolist() == [0, 1, 2]


# Against the oracle


@examples(EXAMPLES)
@given(collections(), st.integers(1, 4), st.integers(1, 3), st.integers(4, 12))
def test_cprr_matches_the_oracle(rankers, neighbors, iterations, depth):
    options = {"neighbors": neighbors, "iterations": iterations, "depth": depth}
    same(rl.fuse(rankers, "cprr", 10, **options), oracle.cprr([plain(r) for r in rankers], **options))


@pytest.mark.parametrize(("m", "seed"), [(1, 0), (1, 1), (1, 2), (1, 3), (3, 0), (3, 1), (3, 5)])  # without near ties
@pytest.mark.parametrize("ragged", [False, True])
def test_lhrr_and_rdpac_match_the_oracle(m, seed, ragged):
    ranks = points(SIZE, m, 12, seed, ragged)
    lists = [plain(r) for r in ranks]
    for options in ({"neighbors": 4}, {"neighbors": 5, "depth": 9, "iterations": 3}):
        same(rl.fuse(ranks, "lhrr", SIZE, **options), oracle.lhrr(lists, **options))
    options = {"neighbors": 4, "depth": 5, "iterations": 3}
    for pool in ("last", "union"):
        same(rl.fuse(ranks, "rdpac", SIZE, pool=pool, **options), oracle.rdpac(lists, pool=pool, **options))


@pytest.mark.parametrize("seed", range(4))  # without an item that is as similar to another as to itself
@pytest.mark.parametrize("ragged", [False, True])
def test_bfstree_matches_the_oracle(seed, ragged):
    ranks = points(SIZE, 1, 12, seed, ragged)
    close(rl.fuse(ranks, "bfstree", SIZE, neighbors=4), oracle.bfstree(plain(ranks[0]), neighbors=4))
    out = rl.fuse(ranks, "bfstree", SIZE, neighbors=3, depth=8, persistence=0.9)
    close(out, oracle.bfstree(plain(ranks[0]), neighbors=3, depth=8, p=0.9))


@examples(EXAMPLES)
@given(collections(m=1), st.integers(1, 4), st.integers(1, 3), st.integers(4, 12))
def test_rlsim_of_one_ranker_matches_the_oracle(rankers, neighbors, iterations, depth):
    options = {"neighbors": neighbors, "iterations": iterations, "depth": depth}
    lists = oracle.prepared([plain(rankers[0])], rankers[0].n_items)[0]
    same(rl.fuse(rankers, "rlsim_udl", 10, **options), oracle.rlsim_udl(lists, **options))


@pytest.mark.parametrize("measure", get_args(Measure)[1:])
@pytest.mark.parametrize("seed", range(2))
def test_rlsim_by_other_measures_matches_the_oracle(measure, seed):
    """One round: near ties that float32 breaks would spread."""
    ranks = points(SIZE, 1, SIZE, seed)
    options = {"neighbors": 5, "iterations": 1, "depth": 9, "measure": measure}
    close(rl.fuse(ranks, "rlsim_udl", SIZE, **options), oracle.rlsim_udl(plain(ranks[0]), **options))


@pytest.mark.parametrize("measure", get_args(Measure)[1:])
@pytest.mark.parametrize("neighbors", [5, 6, 9])
@pytest.mark.parametrize("ragged", [False, True])
def test_rlsim_of_lists_shorter_than_the_neighborhood_matches_the_oracle(measure, neighbors, ragged):
    ranks = points(SIZE, 1, 6, ragged=ragged)
    options = {"neighbors": neighbors, "iterations": 1, "measure": measure}
    lists = oracle.prepared([plain(ranks[0])], SIZE)[0]
    close(rl.fuse(ranks, "rlsim_udl", SIZE, **options), oracle.rlsim_udl(lists, **options))


@pytest.mark.parametrize("measure", get_args(Measure))
@pytest.mark.parametrize("neighbors", [1, 2, 60])
def test_rlsim_of_short_lists_and_any_neighborhood(measure, neighbors):
    ranks = points(SIZE, 2, 12, ragged=True)
    out = rl.fuse(ranks, "rlsim_udl", SIZE, neighbors=neighbors, measure=measure)
    assert np.isfinite(out.scores).all()
    assert all(row[0] == i for i, row in enumerate(plain(out)) if row)


@examples(EXAMPLES)
@given(collections(m=2, n_items=8), st.integers(1, 4))
def test_rlsim_of_two_rankers_matches_the_oracle_up_to_ties(rankers, neighbors):
    """Ties of the fused distances are those of a heap sort; one round, so that they do not spread."""
    used = oracle.prepared([plain(r) for r in rankers], 8)
    assume(len(used) == 2)  # a ranker without lists is left out
    lists, F = oracle.geometric_mean(used)
    out = rl.fuse(rankers, "rlsim_udl", 8, neighbors=neighbors, iterations=1)
    assert [set(row) for row in plain(out)] == [set(row) for row in lists]
    distinct = all(len({round(F[i, j], 9) for j in row}) == len(row) for i, row in enumerate(lists))
    if distinct:
        ordered = oracle.reranked(lists, -F)
        same(out, oracle.rlsim_udl(ordered, neighbors=neighbors, iterations=1, D=F))


@pytest.mark.parametrize("seed", range(3))  # without near ties, which would change the images
@pytest.mark.parametrize("m", [1, 2])
def test_contextrr_of_whole_lists_matches_the_oracle(seed, m):
    ranks = points(SIZE, m, SIZE, seed)
    options = {"neighbors": 3, "depth": 7, "iterations": 2}
    same(rl.fuse(ranks, "contextrr", SIZE, **options), oracle.contextrr([plain(r) for r in ranks], **options))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("options", [{"neighbors": 4}, {"neighbors": 3, "depth": 9, "epsilon": 0.1}])
def test_recknngraph_matches_the_oracle(seed, m, ragged, options):
    ranks = points(SIZE, m, 12, seed, ragged)
    same(rl.fuse(ranks, "recknngraph", SIZE, **options), oracle.recknngraph([plain(r) for r in ranks], **options))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ragged", [False, True])
def test_rlrecom_matches_the_oracle(seed, ragged):
    ranks = points(SIZE, 1, 12, seed, ragged)
    for options in ({"neighbors": 4}, {"neighbors": 3, "depth": 9, "strength": 0.5, "epsilon": 0.1}):
        close(rl.fuse(ranks, "rlrecom", SIZE, **options), oracle.rlrecom(plain(ranks[0]), **options))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("more", [{"components": False}, {}, {"slope": 0.4, "edges": 0.25}])
def test_rfe_matches_the_oracle(seed, m, more):
    ranks = points(SIZE, m, 12, seed)
    options = {"neighbors": 4, "iterations": 2, **more}
    same(rl.fuse(ranks, "rfe", SIZE, **options), oracle.rfe([plain(r) for r in ranks], **options))


def test_a_steep_slope_of_rfe_is_a_step():
    ranks = points(SIZE, 2, 12)
    steep, steeper = (rl.fuse(ranks, "rfe", neighbors=10, slope=slope) for slope in (1e3, 1e300))
    np.testing.assert_array_equal(steep.items, steeper.items)
    np.testing.assert_array_equal(steep.scores, steeper.scores)


@pytest.mark.parametrize("method", [BFSTree(neighbors=4), RLRecom(neighbors=4)])
def test_methods_of_one_ranker_use_the_reciprocal_rank_fusion_of_several(method):
    ranks = points(SIZE, 3, 12)
    fused = rl.fuse(ranks, "rrf", 1400)
    out, expected = method.fuse(ranks), method.fuse([fused])
    np.testing.assert_array_equal(out.items, expected.items)
    np.testing.assert_array_equal(out.scores, expected.scores)


@given(st.lists(st.floats(-10, 10, width=32), max_size=70))
def test_the_radix_sort_is_stable(values):
    bits = np.array(values, np.float32).view(np.uint32)
    key = np.array([sorting.descending_key(one) for one in bits], np.uint32)
    order = np.empty(len(values), np.uint32)
    pair, spare = np.empty((2, len(values) + 1), np.uint64)
    sorting.sort_order(key, len(values), order, pair, spare, np.empty((4, 256), np.uint32))
    assert order.tolist() == sorted(range(len(values)), key=lambda p: -values[p])


# Properties


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("m", [1, 3])
def test_any_number_of_threads_and_any_blocks_give_the_same_bits(method, m, monkeypatch):
    check_threads_and_blocks(points(300 if JIT else 20, m), method, SMALL[method], monkeypatch)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ragged", [False, True])
def test_a_smaller_k_gives_the_head_of_the_lists(method, ragged):
    check_smaller_k(points(SIZE, 2, 12, ragged=ragged), method, SIZE, SMALL[method])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [0, 1, 2])
def test_empty_and_tiny_collections(method, n):
    empty = rl.Ranks(np.full((n, 3), PAD), n_items=n)
    for ranks in ([empty], [empty, empty]):
        assert plain(rl.fuse(ranks, method)) == [[]] * n
    alone = rl.Ranks(np.arange(n)[:, None], n_items=n)
    assert plain(rl.fuse([alone, alone], method)) == [[i] for i in range(n)]


@pytest.mark.parametrize("method", METHODS)
@examples(EXAMPLES // 4)
@given(collections())
def test_results_are_valid_ranks_of_listed_items(method, rankers):
    out = rl.fuse(rankers, method, 10, **SMALL[method])
    rl.Ranks(out.items, out.scores, out.n_items)
    for i, row in enumerate(plain(out)):
        if row:
            assert row[0] == i
    assert np.isfinite(out.scores).all()


@pytest.mark.parametrize("method", ["rlsim_udl", "contextrr"])
def test_distances_can_be_scores(method):
    """Scores that fall by one with each position are distances by position."""
    plainly = points(SIZE, 2, SIZE)
    scored = [rl.Ranks(r.items, np.tile(-np.arange(SIZE, dtype=np.float32), (SIZE, 1)), SIZE) for r in plainly]
    one = rl.fuse(plainly, method, **SMALL[method])
    other = rl.fuse(scored, method, distances="scores", **SMALL[method])
    np.testing.assert_array_equal(one.items, other.items)
    np.testing.assert_array_equal(one.scores, other.scores)


@pytest.mark.parametrize("method", METHODS)
def test_external_queries_raise(method):
    with pytest.raises(InputError, match="cannot answer external queries"):
        make_method(method).fuse([rl.Ranks([[0, 1]])])


def test_weights_of_lhrr_are_logarithmic():
    """K = 4, one item listed second by 0: h_0(1) = w(1) w(2) from 0's own list, and w(2) w(1) from the list of 1."""
    H, _, _ = oracle.hypergraph([[0, 1], [1]], 4)
    assert H[0, 1] == pytest.approx(2 * (1 - log(2) / log(4)))
