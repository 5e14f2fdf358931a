"""RkGraph, CorGraph and RecKNNGraphCCs: by hand, against an oracle, and their properties."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from method_checks import check_smaller_k, check_threads_and_blocks

import rank_graph_oracle as oracle
import rankloom as rl
from brute import JIT, plain
from rankloom._kernels import frozen, sorting
from rankloom.aggregate.graphs.nested import components_of, groups_of
from rankloom.aggregate.graphs.rkgraph import swapped_first
from rankloom.aggregate.lists import mutual_lists
from rankloom.errors import InputError
from rankloom.methods import CorGraph, RecKNNGraphCCs, RkGraph
from rankloom.ranks import PAD
from strategies import collections, examples

METHODS = ("rkgraph", "corgraph", "recknngraphccs")
EXAMPLES = 100 if JIT else 25
SMALL = {"rkgraph": {"neighbors": 3}, "corgraph": {"neighbors": 3, "step": 0.05}, "recknngraphccs": {"neighbors": 3}}
BOOLEANS = st.booleans()


def points(n, m=2, depth=30, seed=0):
    """Return collection ranks of m rankers over random points."""
    rng = np.random.default_rng(seed)
    return [rl.Ranks.from_vectors(rng.normal(size=(n, 3)), "l2", depth) for _ in range(m)]


def same(out, expected, close=1e-5):
    """Assert the same items and scores up to ties: each score is that expected at its position and for its item."""
    for row, scores, pairs in zip(plain(out), out.scores.tolist(), expected, strict=True):
        values = dict(pairs)
        ours = scores[: len(row)]
        assert len(set(row)) == len(row)
        np.testing.assert_allclose(ours, [value for _, value in pairs[: out.depth]], rtol=close, atol=1e-7)
        np.testing.assert_allclose(ours, [values[item] for item in row], rtol=close, atol=1e-7)
        assert scores[: len(row)] == sorted(ours, reverse=True)
        assert not any(scores[len(row) :])


# By hand


def test_recknngraphccs_by_hand():
    """Three items, K = 2. Positions give 0: [0, 1, 2], 1: [1, 0, 2], 2: [2, 1, 0] after sorting.

    t = 1 (weight 2): only self-loops: each group {i} and component {i} gives W(i, i) += 2, twice.
    t = 2 (weight 1): 0 and 1 are connected; groups {0, 1} twice and {2}, components {0, 1} and {2}.
    """
    out = rl.fuse([rl.Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], "recknngraphccs", 3, neighbors=2)
    assert out.items.tolist() == [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    assert out.scores[0].tolist() == [1 + 2 * 2 + 3, 1 + 3, 1]
    assert out.scores[2].tolist() == [1 + 2 * 2 + 2, 1, 1]


def test_rkgraph_by_hand():
    """Two items that list each other, K = 1, p = 1/2: S(q, q) = 1/2, S(q, other) = 0.

    A(q, q): 2 * 2 * (1/2)^2 as a = q of row q, twice; 2 * (1/2)^2 as a pair of row q; nothing from the other row.
    """
    out = rl.fuse([rl.Ranks([[0, 1], [1, 0]])], "rkgraph", neighbors=1, persistence=0.5)
    assert out.items.tolist() == [[0, 1], [1, 0]]
    assert out.scores[0].tolist() == [1 + 2 * 2 / 4 + 2 / 4, 1]


def test_rkgraph_swaps_an_item_into_the_first_position_of_its_list():
    """Item 0 is third in its own list, and the cost 2 + 3 of item 1 is less than its own 3 + 3; 2 stays second."""
    lists = frozen(np.array([[1, 2, 0], [1, 0, 2], [2, 0, 1]], np.int32))
    out = swapped_first(mutual_lists(lists))
    assert out[0].tolist() == [0, 2, 1]  # by cost: 1 (1 + 2), 2 (2 + 2), 0 (3 + 3); then 0 and 1 are swapped


def test_corgraph_by_hand():
    """Two items, one threshold t: distances (0, 1) and (1, 0) correlate by -1, C = 0.

    So out(i) = {i}: W(i, i) = t for the edge, t for the group, t for the component, which is the whole column sum.
    """
    out = rl.fuse([rl.Ranks([[0, 1], [1, 0]])], "corgraph", start=0.5, step=0.5)
    assert out.items.tolist() == [[0, 1], [1, 0]]
    assert out.scores.tolist() == [[1, 0], [1, 0]]


def test_corgraph_of_lists_that_agree_by_hand():
    """Both rows have the distances (0, 1): C = 1, so 0 and 1 lead to each other.

    W(0, 0) = 1 edge + 2 groups + 1 component, W(1, 0) the same; the column sum is both.
    """
    out = rl.fuse([rl.Ranks([[0, 1], [0, 1]])], "corgraph", start=0.5, step=0.5)
    assert out.scores.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert out.items.tolist() == [[0, 1], [0, 1]]  # ties keep the order of the list


# Against the oracle


@examples(EXAMPLES)
@given(collections(), st.integers(1, 4), st.integers(1, 2), st.integers(1, 12), BOOLEANS)
def test_rkgraph_matches_the_oracle(rankers, neighbors, iterations, depth, last):
    pool = "last" if last else "union"
    out = rl.fuse(rankers, "rkgraph", 10, neighbors=neighbors, iterations=iterations, depth=depth, pool=pool)
    expected = oracle.rkgraph([plain(r) for r in rankers], neighbors, iterations, 0.95, depth, pool)
    assert plain(out) == [[item for item, _ in row] for row in expected]
    same(out, expected)


@examples(EXAMPLES)
@given(
    collections(),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(1, 12),
    BOOLEANS,
    st.integers(0, 1),
    st.integers(1, 10),
)
def test_recknngraphccs_matches_the_oracle(rankers, neighbors, iterations, depth, added, backward_from, k):
    fusion = "sum" if added else "product"
    options = {"iterations": iterations, "depth": depth, "fusion": fusion, "backward_from": backward_from}
    out = rl.fuse(rankers, "recknngraphccs", k, neighbors=neighbors, **options)
    expected = oracle.recknngraphccs([plain(r) for r in rankers], neighbors, **options)
    assert plain(out) == [[item for item, _ in row][:k] for row in expected]
    same(out, expected)


@examples(EXAMPLES)
@given(
    collections(scores=True),
    st.integers(1, 5),
    st.integers(1, 12),
    st.sampled_from(["pearson", "rbo"]),
    st.sampled_from(["positions", "scores"]),
    st.sampled_from(["positions", "numbers"]),
    st.integers(1, 10),
)
def test_corgraph_matches_the_oracle(rankers, neighbors, depth, kind, distances, exponent, k):
    options = {"neighbors": neighbors, "depth": depth, "start": 0.3, "step": 0.1}
    out = rl.fuse(rankers, "corgraph", k, correlation=kind, distances=distances, exponent=exponent, **options)
    scores = None if distances == "positions" else [r.scores.astype(np.float64).tolist() for r in rankers]
    same(out, oracle.corgraph([plain(r) for r in rankers], kind=kind, scores=scores, by=exponent, **options))


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("depth", [3, 6])
def test_items_that_only_share_a_component_match_the_oracle(m, depth):
    """More answers than list items, so that most come from components."""
    ranks = points(60 if JIT else 20, m, depth)
    lists = [plain(r) for r in ranks]
    for k in (1, 12, 60):
        for fusion in ("product", "sum"):
            out = rl.fuse(ranks, "recknngraphccs", k, neighbors=5, depth=depth, fusion=fusion)
            expected = oracle.recknngraphccs(lists, 5, depth=depth, fusion=fusion)
            assert plain(out) == [[item for item, _ in row][:k] for row in expected]
        options = {"neighbors": 3, "start": 0.2, "step": 0.1}
        same(rl.fuse(ranks, "corgraph", k, **options), oracle.corgraph(lists, **options))


@examples(EXAMPLES)
@given(st.lists(st.lists(st.integers(0, 9), max_size=4, unique=True), min_size=10, max_size=10), st.data())
def test_components_match_networkx(leads_to, data):
    """At every level of random nested graphs."""
    lists = np.array([row + [PAD] * (4 - len(row)) for row in leads_to], np.int32)
    levels = np.array(
        data.draw(st.lists(st.lists(st.integers(-1, 2), min_size=4, max_size=4), min_size=10, max_size=10))
    )
    found = components_of(groups_of([frozen(lists)], [frozen(levels.astype(np.int16))], 3), 1, 10, 3)
    for level in range(3):
        graph = nx.DiGraph()
        graph.add_nodes_from(range(10))
        graph.add_edges_from((i, lists[i, p]) for i, p in np.argwhere((levels >= level) & (lists != PAD)).tolist())
        ours = {
            frozenset(found.members[0, level, begin:end].tolist())
            for begin, end in zip(found.starts[0, :, level], found.stops[0, :, level], strict=True)
        }
        assert ours == {frozenset(group) for group in nx.strongly_connected_components(graph)}


@given(st.lists(st.integers(0, 5), max_size=70), st.integers(1, 70))
def test_the_sort_is_stable(keys, wanted):
    order, spare = np.empty((2, len(keys)), np.int64)
    expected = sorted(range(len(keys)), key=keys.__getitem__)
    sorting.sort_ascending(np.array(keys, np.float64), len(keys), order, spare)
    assert order.tolist() == expected
    sorting.sort_smallest(np.array(keys, np.float64), len(keys), wanted, order, spare)
    assert order[:wanted].tolist() == expected[:wanted]


# Properties


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("m", [1, 3])
def test_any_number_of_threads_and_any_blocks_give_the_same_bits(method, m, monkeypatch):
    check_threads_and_blocks(points(300 if JIT else 40, m), method, SMALL[method], monkeypatch)


@pytest.mark.parametrize("method", METHODS)
def test_renumbering_items_keeps_the_scores(method):
    ranks = points(60 if JIT else 20, 2)
    n = ranks[0].n_items
    new = np.random.default_rng(1).permutation(n)
    renumbered = []
    for r in ranks:
        items = np.empty_like(r.items)
        items[new] = new[r.items]
        renumbered.append(rl.Ranks(items, n_items=n))
    one = rl.fuse(ranks, method, n, **SMALL[method])
    other = rl.fuse(renumbered, method, n, **SMALL[method])
    np.testing.assert_allclose(other.scores[new], one.scores, rtol=1e-5)
    value = {
        (int(i), int(j)): s for i, row in enumerate(other.items) for j, s in zip(row, other.scores[i], strict=True)
    }
    for i in range(n):
        clear = one.scores[i] > one.scores[i, -1]  # the last ties may be cut differently
        ours = one.items[i][clear]
        np.testing.assert_allclose([value[int(new[i]), int(new[j])] for j in ours], one.scores[i][clear], rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_a_smaller_k_gives_the_head_of_the_lists(method):
    check_smaller_k(points(50 if JIT else 15, 2, depth=8), method, 50, SMALL[method])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [0, 1, 2])
def test_empty_and_tiny_collections(method, n):
    empty = rl.Ranks(np.full((n, 3), PAD), n_items=n)
    for ranks in ([empty], [empty, empty]):
        out = rl.fuse(ranks, method)
        assert len(out) == n
        assert all(set(row) <= {i} for i, row in enumerate(plain(out)))
    alone = rl.Ranks(np.arange(n)[:, None], n_items=n)
    assert plain(rl.fuse([alone, alone], method)) == [[i] for i in range(n)]


@pytest.mark.parametrize("method", METHODS)
def test_items_missing_from_their_own_list_and_without_a_list(method):
    ranks = rl.Ranks([[1, 2, PAD], [1, 0, 2], [PAD] * 3, [3, 1, PAD]], n_items=4)
    out = rl.fuse([ranks, ranks], method, 4, **SMALL[method])
    assert set(plain(out)[1]) >= {0, 1}
    assert {1, 2} <= set(plain(out)[0])


@pytest.mark.parametrize("method", METHODS)
def test_items_and_rows_are_matched_by_id(method):
    names = [f"d{i}" for i in range(30)]
    ids, reversed_ids = rl.Ids(names), rl.Ids(reversed(names))
    rng = np.random.default_rng(2)
    one, other = rng.normal(size=(2, 30, 2))
    a = rl.Ranks.from_vectors(one, "l2", item_ids=ids, query_ids=ids)
    b = rl.Ranks.from_vectors(other, "l2", item_ids=ids, query_ids=ids)
    same_b = rl.Ranks.from_vectors(other[::-1], "l2", item_ids=reversed_ids, query_ids=reversed_ids)
    assert rl.fuse([a, same_b], method).to_dict() == rl.fuse([a, b], method).to_dict()


def test_the_pool_of_rkgraph_is_the_last_list_or_the_union():
    a = rl.Ranks([[0, 1], [1, 0], [2, 0], [3, 0]])
    b = rl.Ranks([[0, 2], [1, 3], [2, 1], [3, 1]])
    last = rl.fuse([a, b], "rkgraph", 4, neighbors=1, depth=2, pool="last")
    assert [set(row) for row in plain(last)] == [{0, 2}, {1, 3}, {2, 1}, {3, 1}]
    union = rl.fuse([a, b], "rkgraph", 4, neighbors=1, depth=3)
    assert all(set(row) <= {i, *a.items[i].tolist(), *b.items[i].tolist()} for i, row in enumerate(plain(union)))


def test_progress_is_reported():
    stages = []
    for method in METHODS:
        rl.fuse(points(20, 2), method, progress=lambda stage, done, n: stages.append(stage), **SMALL[method])
    assert {"Ranking by graph", "Joining components", "Correlating", "Comparing lists"} <= set(stages)


EXTERNAL = rl.Ranks([[0, 1]])


@pytest.mark.parametrize("method", [RkGraph(), CorGraph(), RecKNNGraphCCs()], ids=str)
def test_external_queries_raise(method):
    with pytest.raises(InputError, match="a row for each item; got 1 rows and 2 items"):
        rl.fuse([EXTERNAL], method)
    with pytest.raises(InputError, match="cannot answer external queries"):
        method.fuse([EXTERNAL])
    with pytest.raises(InputError, match="all of the same collection"):
        method.fuse([])
