"""FusionIndex: cases by hand, comparison with the oracle, properties, and error messages."""

import warnings
from types import FunctionType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import rankloom.threads as threads_module
from brute import (
    CLOSE,
    JIT,
    assert_documented_order,
    assert_results,
    external,
    padded,
    plain,
    random_collection,
)
from rankloom import Ids, Ranks
from rankloom.errors import InputError, RankloomWarning, UnknownNameError
from rankloom.fusion_graph import compare
from rankloom.fusion_graph.index import FusionIndex, Settings
from rankloom.ranks import PAD
from rankloom.ranks.checks import NEEDS_COLLECTION
from strategies import collections, examples, ranks

COMPARATORS = st.sampled_from(["wgu", "mcs"])
NORMS = st.sampled_from(["max", "minmax"])
CUTOFFS = st.integers(1, 6)
SEEDS = st.integers(0, 10**6)
METHODS = [(norm, comparator) for norm in ("max", "minmax") for comparator in ("wgu", "mcs")]


def matrix(out):
    """Return the similarities as a full matrix, NaN for items that are not returned."""
    full = np.full((len(out), out.n_items), np.nan)
    listed = out.items != PAD
    full[np.nonzero(listed)[0], out.items[listed]] = out.scores[listed]
    return full


def assert_same(a, b):
    """Assert that two results, or two indexes, are bit-identical."""
    if isinstance(a, FusionIndex):
        assert a.settings == b.settings
        assert a.arrays.keys() == b.arrays.keys()
        for name, array in a.arrays.items():
            assert array.dtype == b.arrays[name].dtype
            np.testing.assert_array_equal(array, b.arrays[name], err_msg=name)
        return
    np.testing.assert_array_equal(a.items, b.items)
    np.testing.assert_array_equal(a.scores, b.scores)
    assert (a.item_ids, a.query_ids, a.n_items) == (b.item_ids, b.query_ids, b.n_items)


# -- by hand ----------------------------------------------------------------------------------------------------

# Three items, two rankers, cutoff 2, no repositioning. A list of two has the scores 1 and 0.1.
#   ranker 1:  0: [0, 1]   1: [1, 0]   2: [2, 1]
#   ranker 2:  0: [0, 2]   1: [1, 0]   2: [2, 0]
# W[0] = {0: 2, 1: .1, 2: .1}   P[0] = {0: 2, 1: .5, 2: .5}
# W[1] = {1: 2, 0: .2}          P[1] = {1: 2, 0: 1}
# W[2] = {2: 2, 1: .1, 0: .1}   P[2] = {2: 2, 1: .5, 0: .5}
# Edges A -> B weigh P[q, A] W[A, B]:
#   graph 0: 0->1 2(.1) = .2, 0->2 .2, 1->0 .5(.2) = .1, 2->0 .5(.1) = .05, 2->1 .05
#   graph 1: 1->0 2(.2) = .4, 0->1 1(.1) = .1
#   graph 2: 2->0 .2, 2->1 .2, 1->0 .5(.2) = .1, 0->1 .5(.1) = .05, 0->2 .05
# Divided by the largest (2 and .2; 2 and .4; 2 and .2):
#   graph 0: vertices 0: 1, 1: .05, 2: .05;  edges 01: 1, 02: 1, 10: .5, 20: .25, 21: .25.  Size 1.1 + 3 = 4.1
#   graph 1: vertices 1: 1, 0: .1;           edges 10: 1, 01: .25.                          Size 1.1 + 1.25 = 2.35
#   graph 2: vertices 2: 1, 1: .05, 0: .05;  edges 20: 1, 21: 1, 10: .5, 01: .25, 02: .25.  Size 4.1
# In common, the smaller of each shared weight:
#   0 and 1: vertices .1 + .05, edges 01 .25, 10 .5                                = .9
#   0 and 2: vertices .05 + .05 + .05, edges 01 .25, 02 .25, 10 .5, 20 .25, 21 .25 = 1.65
#   1 and 2: vertices .05 + .05, edges 10 .5, 01 .25                               = .85
HAND = [Ranks([[0, 1], [1, 0], [2, 1]]), Ranks([[0, 2], [1, 0], [2, 0]])]


def test_three_items_and_two_rankers_by_hand():
    index = FusionIndex.build(HAND, cutoff=2, reposition=False)
    out = index.search(k=3)
    assert out.items.tolist() == [[0, 2, 1], [1, 0, 2], [2, 0, 1]]
    sim01, sim02, sim12 = 0.9 / (4.1 + 2.35 - 0.9), 1.65 / (4.1 + 4.1 - 1.65), 0.85 / (2.35 + 4.1 - 0.85)
    np.testing.assert_allclose(out.scores, [[1, sim02, sim01], [1, sim01, sim12], [1, sim02, sim12]], atol=1e-7)


def test_three_items_and_two_rankers_by_hand_with_mcs():
    out = FusionIndex.build(HAND, cutoff=2, reposition=False, comparator="mcs").search(k=3)
    np.testing.assert_allclose(
        out.scores, [[1, 1.65 / 4.1, 0.9 / 4.1], [1, 0.9 / 4.1, 0.85 / 4.1], [1, 1.65 / 4.1, 0.85 / 4.1]], atol=1e-7
    )


def test_minmax_by_hand():
    """One ranker, 0: [0, 1], 1: [1, 0]: vertices 1 and .1 become 1 and 0, edges .1 and .05 become 1 and 0.

    The heavy vertex and the heavy edge of one graph weigh 0 in the other: the common size is 0, but as the graphs
    share vertices, both are returned.
    """
    out = FusionIndex.build([Ranks([[0, 1], [1, 0]])], cutoff=2, graph_norm="minmax").search()
    assert out.items.tolist() == [[0, 1], [1, 0]]
    assert out.scores.tolist() == [[1, 0], [1, 0]]


def test_a_list_of_one_gives_a_graph_of_one_vertex():
    out = FusionIndex.build([Ranks([[0], [0], [2]])]).search(k=3)
    assert out.items.tolist() == [[0, 1, PAD], [1, 0, PAD], [2, PAD, PAD]]
    assert out.scores.tolist() == [[1, 1, 0], [1, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize("cutoff", range(2, 12))
def test_minmax_does_not_change_weights_that_are_equal_up_to_rounding(cutoff):
    """Two lists, one the reverse of the other: each vertex weighs 1.1, though .325 + .775 != 1 + .1 in floats."""
    rows = [np.roll(np.arange(cutoff), -i).tolist() for i in range(cutoff)]
    lists = [rows, [row[::-1] for row in rows]]
    index = FusionIndex.build(
        [padded(ranker, cutoff) for ranker in lists], cutoff=cutoff, reposition=False, graph_norm="minmax"
    )
    assert index.graph(0).vertices == pytest.approx(np.full(cutoff, 1.1))
    expected = oracle.search(lists, cutoff, reposition=False, graph_norm="minmax")
    assert_results(index.search(k=cutoff), expected, cutoff)


# -- against the oracle -----------------------------------------------------------------------------------------


@examples(300 if JIT else 60)
@given(collections(), CUTOFFS, st.integers(0, 4), st.booleans(), NORMS, COMPARATORS, st.integers(1, 12))
def test_search_equals_brute_force(rankers, cutoff, deeper, reposition, graph_norm, comparator, k):
    how = {"depth": cutoff + deeper, "reposition": reposition, "graph_norm": graph_norm, "comparator": comparator}
    out = FusionIndex.build(rankers, cutoff=cutoff, **how).search(k=k)
    assert_results(out, oracle.search([plain(r) for r in rankers], cutoff, **how), k)
    assert_documented_order(out, range(len(out)))


@examples(40 if JIT else 5)
@given(SEEDS, st.integers(0, 2), st.integers(1, 3), CUTOFFS, st.booleans(), NORMS, COMPARATORS)
def test_search_equals_brute_force_with_hubs(seed, hubs, m, cutoff, reposition, graph_norm, comparator):
    rankers = random_collection(seed, n=40, m=m, hubs=hubs)
    how = {"reposition": reposition, "graph_norm": graph_norm, "comparator": comparator}
    index = FusionIndex.build(rankers, cutoff=cutoff, **how)
    expected = oracle.search([plain(r) for r in rankers], cutoff, **how)
    for k in (1, 3, 10, 100):
        assert_results(index.search(k=k), expected, k)


@pytest.mark.parametrize(("graph_norm", "comparator"), METHODS)
@pytest.mark.parametrize("hubs", [0, 1, 3])
def test_a_smaller_k_gives_a_prefix(graph_norm, comparator, hubs):
    """The scan stops early for a small k, and never for all: what it skipped was worse, including ties."""
    n = 400 if JIT else 40
    rankers = random_collection(hubs, n=n, m=3, depth=12, hubs=hubs)
    index = FusionIndex.build(rankers, cutoff=8, graph_norm=graph_norm, comparator=comparator)
    complete = index.search(k=n)
    assert_documented_order(complete, range(n))
    for k in (1, 2, 5, 10, 50):
        assert_same(index.search(k=k), complete.head(k))


def test_a_smaller_k_gives_a_prefix_with_many_ties():
    lists = np.array([[i, i - i % 20, 100] for i in range(100)] + [[100, 0, 1]])
    lists = padded([list(dict.fromkeys(row)) for row in lists.tolist()], 101)
    index = FusionIndex.build([lists, lists], cutoff=3, reposition=False)
    complete = index.search(k=101)
    assert_documented_order(complete, range(101))
    for k in (1, 3, 25):
        assert_same(index.search(k=k), complete.head(k))


def test_an_item_in_no_list_is_found_by_items_with_the_same_list():
    rankers = [Ranks([[0, 1], [1, 0], [0, 1], [3, PAD]])]  # no list has item 2, not even its own
    out = FusionIndex.build(rankers, reposition=False).search(k=4)
    assert out.items.tolist() == [[0, 2, 1, PAD], [1, 0, 2, PAD], [2, 0, 1, PAD], [3, PAD, PAD, PAD]]
    assert out.scores[2].tolist()[:2] == [1, 1]


def test_duplicate_items_are_in_the_documented_order():
    points = np.repeat(np.array([[0.0], [1.0], [5.0], [9.0]]), 3, axis=0)
    rankers = [Ranks.from_vectors(points, "l2"), Ranks.from_vectors(points**2, "l1")]
    for reposition in (True, False):
        index = FusionIndex.build(rankers, cutoff=6, reposition=reposition)
        assert_documented_order(index.search(k=12), range(12))
    same = FusionIndex.build([Ranks([[0, 1, 2, 3, 4]] * 5)], reposition=False).search(k=5)
    assert same.items.tolist() == [[0, 1, 2, 3, 4], [1, 0, 2, 3, 4], [2, 0, 1, 3, 4], [3, 0, 1, 2, 4], [4, 0, 1, 2, 3]]
    assert (same.scores == 1).all()
    assert (FusionIndex.build([Ranks([[0, 1, 2]] * 3)], reposition=False).search(k=1).items == [[0], [1], [2]]).all()


# -- properties -------------------------------------------------------------------------------------------------


@examples(150 if JIT else 40)
@given(collections(), CUTOFFS, st.booleans(), NORMS)
def test_similarities_are_symmetric_and_in_0_to_1_and_wgu_is_at_most_mcs(rankers, cutoff, reposition, graph_norm):
    index = FusionIndex.build(rankers, cutoff=cutoff, reposition=reposition, graph_norm=graph_norm)
    wgu, mcs = (matrix(index.search(k=len(index), comparator=name)) for name in ("wgu", "mcs"))
    empty = np.array([index.graph(i).items.size == 0 for i in range(len(index))])
    for similarities in (wgu, mcs):
        known = similarities[~np.isnan(similarities)]
        assert (known >= 0).all()
        assert (known <= 1).all()
        np.testing.assert_array_equal(np.diag(similarities)[~empty], np.float32(1))
        np.testing.assert_allclose(similarities, similarities.T, atol=CLOSE)
    assert np.isnan(wgu[empty]).all()
    assert not (wgu > mcs + CLOSE).any()


@examples(100 if JIT else 30)
@given(st.data(), collections(m=3), CUTOFFS, NORMS, COMPARATORS)
def test_the_order_of_rankers_does_not_matter(data, rankers, cutoff, graph_norm, comparator):
    how = {"cutoff": cutoff, "graph_norm": graph_norm, "comparator": comparator}
    other = data.draw(st.permutations(rankers))
    a, b = (matrix(FusionIndex.build(given, **how).search(k=20)) for given in (rankers, other))
    np.testing.assert_allclose(a, b, atol=CLOSE)


@examples(100 if JIT else 30)
@given(st.data(), collections(), CUTOFFS, NORMS, COMPARATORS)
def test_the_numbering_of_items_does_not_matter(data, rankers, cutoff, graph_norm, comparator):
    n = rankers[0].n_items
    new = np.array([*data.draw(st.permutations(range(n))), PAD])  # new[i] is item i's new number, PAD stays
    other = [Ranks(new[r.items][np.argsort(new[:n])], n_items=n) for r in rankers]
    how = {"cutoff": cutoff, "graph_norm": graph_norm, "comparator": comparator}
    a, b = (matrix(FusionIndex.build(given, **how).search(k=n)) for given in (rankers, other))
    np.testing.assert_allclose(a, b[np.ix_(new[:n], new[:n])], atol=CLOSE)


@examples(100 if JIT else 30)
@given(collections(n_items=st.integers(1, 7)), CUTOFFS, NORMS, COMPARATORS)
def test_contributions_sum_to_the_similarity_of_search(rankers, cutoff, graph_norm, comparator):
    index = FusionIndex.build(rankers, cutoff=cutoff, graph_norm=graph_norm, comparator=comparator)
    similarities = matrix(index.search(k=len(index)))
    for query in range(len(index)):
        for item in range(len(index)):
            why = index.explain(query, item)
            assert why.similarity == pytest.approx(np.nan_to_num(similarities[query, item]), abs=CLOSE)
            assert sum(part.contribution for part in why.parts) == pytest.approx(why.similarity)
            sizes = [part.contribution for part in why.parts]
            assert sizes == sorted(sizes, reverse=True)
            assert bool(why.parts) == (not np.isnan(similarities[query, item]))


@pytest.mark.parametrize(("graph_norm", "comparator"), METHODS)
@pytest.mark.parametrize(("block", "threads"), [(1, 1), (7, 3), (64, 2), (10**6, 4)])
def test_block_size_and_threads_do_not_change_a_bit(monkeypatch, graph_norm, comparator, block, threads):
    n = 150 if JIT else 25
    rankers = [*random_collection(5, n=n, m=2, depth=12, hubs=1), Ranks.from_vectors(np.eye(n)[:, ::3], "l1", 20)]
    how = {"cutoff": 6, "graph_norm": graph_norm, "comparator": comparator}
    index = FusionIndex.build(rankers, threads=1, **how)
    expected, queries = index.search(k=7, threads=1), [r.rows(range(5, n // 2)) for r in rankers]
    found = index.search(queries, k=7, threads=1)
    run = threads_module.run_blocks.__kwdefaults__
    monkeypatch.setitem(run, "block", block)
    other = FusionIndex.build(rankers, threads=threads, **how)
    assert_same(index, other)
    assert_same(other.search(k=7, threads=threads), expected)
    assert_same(other.search(queries, k=7, threads=threads), found)


def test_search_is_deterministic():
    index = FusionIndex.build(random_collection(1, n=60, hubs=1), cutoff=4)
    assert_same(index.search(k=5), index.search(k=5))


def test_several_threads_may_search_one_index():
    from concurrent.futures import ThreadPoolExecutor

    index = FusionIndex.build(random_collection(2, n=300 if JIT else 30, m=3, hubs=1), cutoff=5)
    expected = index.search(k=5)
    with ThreadPoolExecutor(4) as pool:
        for out in pool.map(lambda _: index.search(k=5, threads=2), range(12)):
            assert_same(out, expected)


def test_building_does_not_change_its_input():
    rankers = random_collection(3, n=40)
    before = [r.items.copy() for r in rankers]
    FusionIndex.build(rankers, cutoff=4).search(k=3)
    for r, items in zip(rankers, before, strict=True):
        np.testing.assert_array_equal(r.items, items)


# -- items as queries -------------------------------------------------------------------------------------------


@given(st.data())
@examples(40 if JIT else 5)
def test_searching_with_some_items_gives_their_rows(data):
    rankers = data.draw(collections(n_items=st.integers(1, 10)))
    index = FusionIndex.build(rankers, cutoff=4)
    chosen = data.draw(st.lists(st.integers(0, len(index) - 1), max_size=6))
    assert_same(index.search(items=chosen, k=4), index.search(k=4).rows(np.array(chosen, int)))


def test_results_have_the_ids_of_the_index():
    text = Ranks.from_dict({"a": ["a", "b"], "b": ["b", "c"], "c": ["c", "b"]})
    image = Ranks.from_dict({"c": ["c", "a"], "a": ["a", "c"], "b": ["b", "a"]})
    index = FusionIndex.build([text, image], cutoff=2)
    assert index.item_ids == Ids([*"abc"])
    out = index.search(k=3)
    by_number = FusionIndex.build([Ranks([[0, 1], [1, 2], [2, 1]]), Ranks([[0, 2], [1, 0], [2, 0]])], cutoff=2)
    assert [list(row) for row in out.to_dict().values()] == [
        ["abc"[item] for item in row] for row in by_number.search(k=3).items
    ]
    some = index.search(items=["c", 0], k=1)
    assert {query: list(row) for query, row in some.to_dict().items()} == {"c": ["c"], "a": ["a"]}
    assert index.graph("b").id == "b"
    assert index.graph("b").label(1) == "b"
    assert index.explain("b", "c").item == "c"


def test_an_item_can_be_repeated_unless_it_has_an_id():
    rows = [[0, 1], [1, 0], [2, 1]]
    assert FusionIndex.build([Ranks(rows)]).search(items=[1, 0, 1], k=1).items.tolist() == [[1], [0], [1]]
    with pytest.raises(InputError, match="Ids must be unique; 'b' is given twice"):
        FusionIndex.build([Ranks(rows, item_ids=Ids([*"abc"]))]).search(items=["b", "a", "b"])


def test_an_item_unknown_to_a_ranker_has_an_empty_list():
    text = Ranks.from_dict({"a": ["a", "b"], "b": ["b", "a"]})
    image = Ranks.from_dict({"a": ["a", "c"], "c": ["c", "a"]})
    index = FusionIndex.build([text, image])
    assert index.item_ids == Ids([*"abc"])
    assert [index.item_ids[i] for i in sorted(index.graph("c").items)] == ["a", "c"]


def test_rows_with_item_ids_only_are_matched_by_id():
    """Row i is item i in the numbering of each ranker, and the two numberings differ."""
    rows = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    one = Ranks(rows, item_ids=Ids([*"abc"]))
    other = Ranks([[0, 2, 1], [1, 0, 2], [2, 1, 0]], item_ids=Ids([*"cba"]))  # the lists of c, b and a
    both = [Ranks(r.items, item_ids=r.item_ids, query_ids=r.item_ids) for r in (one, other)]
    a, b = FusionIndex.build([one, other], cutoff=2), FusionIndex.build(both, cutoff=2)
    assert_same(a.search(k=3), b.search(k=3))


# -- external queries ---------------------------------------------------------------------------------------


@examples(150 if JIT else 40)
@given(st.data(), CUTOFFS, st.integers(0, 4), st.booleans(), NORMS, COMPARATORS, st.integers(1, 12))
def test_external_queries_equal_brute_force(data, cutoff, deeper, reposition, graph_norm, comparator, k):
    """Without scores in the collection, the lists of queries are used unchanged."""
    rankers = data.draw(collections(scores=False))
    n_queries = data.draw(st.integers(1, 4))
    queries = [data.draw(ranks(n_items=r.n_items, n_queries=n_queries)) for r in rankers]
    index = FusionIndex.build(
        rankers,
        cutoff=cutoff,
        depth=cutoff + deeper,
        reposition=reposition,
        graph_norm=graph_norm,
        comparator=comparator,
    )
    out = index.search(queries, k=k)
    assert_results(out, external(rankers, queries, index.settings, virtual=False), k)
    assert_documented_order(out)


@examples(150 if JIT else 40)
@given(st.data(), CUTOFFS, st.integers(0, 4), NORMS, COMPARATORS)
def test_virtual_positions_of_external_queries_equal_the_oracles(data, cutoff, deeper, graph_norm, comparator):
    rankers = data.draw(collections(scores=True))
    queries = [data.draw(ranks(n_items=r.n_items, n_queries=3, scores=True)) for r in rankers]
    how = {"cutoff": cutoff, "depth": cutoff + deeper, "graph_norm": graph_norm, "comparator": comparator}
    index = FusionIndex.build(rankers, **how)
    expected = external(rankers, queries, index.settings, virtual=True)
    assert_results(index.search(queries, k=8, virtual=True), expected, 8)
    assert_same(index.search(queries, k=8), index.search(queries, k=8, virtual=False))
    comparable = FusionIndex.build(rankers, **how, comparable=[True] * len(rankers))
    assert_same(comparable.search(queries, k=8), index.search(queries, k=8, virtual=True))
    plain_order = external(rankers, queries, index.settings, virtual=False)
    assert_results(index.search(queries, k=8, virtual=False), plain_order, 8)


@pytest.mark.parametrize(("graph_norm", "comparator"), METHODS)
def test_an_external_query_equal_to_an_item_finds_that_item_first(graph_norm, comparator):
    points = np.random.default_rng(7).random((50, 4))
    rankers = [Ranks.from_vectors(points[:, cols], "l2", 30) for cols in ([0, 1], [2, 3])]
    index = FusionIndex.build(rankers, cutoff=8, graph_norm=graph_norm, comparator=comparator)
    out, inside = index.search(rankers, k=5, virtual=True), index.search(k=5)
    assert_same(out, inside)
    assert (out.items[:, 0] == np.arange(50)).all()
    for item in range(0, 50, 7):
        graph, own = index.graph([r.rows([item]) for r in rankers], virtual=True), index.graph(item)
        for name in ("items", "raw_vertices", "sources", "targets", "raw_edges"):
            np.testing.assert_array_equal(getattr(graph, name), getattr(own, name))


def test_the_explanation_of_an_external_query_agrees_with_search():
    points = np.random.default_rng(8).random((30, 2))
    queries = [Ranks.from_vectors(points, "l1", queries=[[0.4, 0.6]])]
    index = FusionIndex.build([Ranks.from_vectors(points, "l1")], cutoff=6)
    out = index.search(queries, k=5)
    for item, score in zip(out.items[0].tolist(), out.scores[0].tolist(), strict=True):
        why = index.explain(queries, item)
        assert why.query == "query"
        assert why.similarity == pytest.approx(score, abs=CLOSE)


def test_without_repositioning_the_lists_of_queries_are_unchanged():
    points = np.random.default_rng(9).random((30, 2))
    rankers = [Ranks.from_vectors(points, "l2")]
    index = FusionIndex.build(rankers, cutoff=5, reposition=False)
    assert_same(index.search(rankers, k=5), index.search(k=5))
    assert_same(index.search(rankers, k=5), index.search(rankers, k=5, virtual=False))


def test_virtual_positions_apply_only_to_rankers_with_scores():
    points = np.random.default_rng(10).random((20, 2))
    scored, order = Ranks.from_vectors(points, "l2"), Ranks(Ranks.from_vectors(points, "l1").items)
    index = FusionIndex.build([scored, order], cutoff=4, comparable=[True, True])
    query = Ranks.from_vectors(points, "l2", queries=points[:3] + 0.01)
    out = index.search([query, Ranks(query.items)], k=3)
    lists = [oracle.repositioned(plain(r), 4) for r in (scored, order)]
    graph = oracle.graph(
        [oracle.eq1(plain(query)[0], oracle.virtual_positions(plain(query)[0], query.scores[0], scored.scores))[:4],
         plain(query)[0][:4]],
        lists,
    )  # fmt: skip
    best = out.items[0, 0]
    assert out.scores[0, 0] == pytest.approx(
        oracle.similarity(graph, oracle.graph([lists[0][best], lists[1][best]], lists)), abs=CLOSE
    )


def test_queries_are_matched_to_the_ids_of_the_index():
    index = FusionIndex.build([Ranks.from_dict({"a": ["a", "b"], "b": ["b", "a"], "c": ["c", "b"]})])
    out = index.search([Ranks.from_dict({"q2": ["c", "b"], "q1": ["a"]})], k=1)
    assert {q: list(row) for q, row in out.to_dict().items()} == {"q2": ["c"], "q1": ["a"]}
    assert index.graph([Ranks.from_dict({"q1": ["a"]})]).id == "q1"


# -- small and empty cases --------------------------------------------------------------------------------------


def test_an_index_without_items():
    index = FusionIndex.build([Ranks(np.empty((0, 0), int))])
    assert len(index) == 0
    assert index.search(k=3).items.shape[0] == 0
    out = index.search([Ranks(np.full((2, 3), PAD), n_items=0)], k=3)
    assert len(out) == 2
    assert (out.items == PAD).all()


def test_an_index_of_one_item():
    index = FusionIndex.build([Ranks([[0]])])
    assert index.search().items.tolist() == [[0]]
    assert index.search().scores.tolist() == [[1]]


@pytest.mark.parametrize("reposition", [True, False])
@pytest.mark.parametrize("depth", [0, 1, 4])
def test_empty_lists_give_empty_results(depth, reposition):
    index = FusionIndex.build([Ranks(np.full((3, depth), PAD), n_items=3)], reposition=reposition)
    out = index.search(k=2)
    assert out.items.tolist() == [[PAD, PAD]] * 3
    assert out.scores.tolist() == [[0, 0]] * 3
    assert index.graph(1).items.size == 0
    assert index.graph(1).size == 0
    assert index.explain(0, 1).similarity == 0


def test_k_is_limited_by_the_number_of_items():
    index = FusionIndex.build([Ranks([[0, 1], [1, 0]])])
    assert index.search(k=1000).items.shape == (2, 2)


# -- invalid input-----------------------------------------------------------------------------------------------

TWO = [Ranks([[0, 1], [1, 0]]), Ranks([[1, 0], [0, 1]])]


@pytest.mark.parametrize(
    ("ranks", "options", "message"),
    [
        ([], {}, "There are no ranks to fuse; give one Ranks for each ranker."),
        (TWO, {"comparator": "wgo"}, "Unknown comparator 'wgo'; choose from mcs, wgu. Did you mean 'wgu'?"),
        (TWO, {"graph_norm": "minmx"}, "Unknown graph_norm 'minmx'; choose from max, minmax. Did you mean 'minmax'?"),
        (TWO, {"cutoff": 0}, "cutoff must be a whole number, at least 1; got 0."),
        (TWO, {"cutoff": 5, "depth": 4}, "depth must be at least cutoff; got 4 and 5."),
        (TWO, {"threads": 0}, "threads must be a whole number, at least 1; got 0."),
        (
            [Ranks([[0, 1]])],
            {},
            f"Collection ranks have a row for each item; got 1 rows and 2 items. {NEEDS_COLLECTION}",
        ),
        (
            [Ranks([[0]]), *TWO],
            {},
            "The ranks have different numbers of items: 1, 2. Give item_ids to all of them, to match by id.",
        ),
    ],
)  # fmt: skip
def test_invalid_build_options_are_errors(ranks, options, message):
    with pytest.raises(InputError) as caught:
        FusionIndex.build(ranks, **options)
    assert str(caught.value) == message


@pytest.mark.parametrize("option", ["cutoff", "depth"])
@pytest.mark.parametrize("value", [2.5, "3", None])
def test_counts_must_be_whole_numbers(option, value):
    with pytest.raises(InputError, match=f"{option} must be a whole number, at least 1; got"):
        FusionIndex.build(TWO, **{option: value})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be a whole number, at least 1; got 0."),
        ({"k": 2.5}, "k must be a whole number, at least 1; got 2.5."),
        ({"comparator": "msc"}, "Unknown comparator 'msc'; choose from mcs, wgu. Did you mean 'mcs'?"),
        ({"items": [0, 2]}, "Items are numbered 0 to 1; got 2."),
        ({"items": [-1]}, "Items are numbered 0 to 1; got -1."),
        ({"items": [0.5]}, "Items are numbered 0 to 1; got 0.5."),
        ({"items": ["a"]}, "The index has no item ids, only numbers 0 to 1; got 'a'."),
        ({"queries": TWO, "items": [0]}, "Give external queries or items of the collection, not both."),
        (
            {"queries": TWO[:1]},
            "The index has 2 rankers, and queries need the lists of each, in the same order; got those of 1.",
        ),
        (
            {"queries": [Ranks([[4]])] * 2},
            "The queries rank a collection of 5 items, but the index has 2; rank the same collection.",
        ),
        (
            {"queries": TWO, "virtual": True},
            "Virtual positions need scores in the index and in the queries; ranker 1 has none in the index. "
            "Search with virtual=False.",
        ),
        (
            {"queries": [Ranks([[0]], n_items=2), Ranks([[0], [1]], n_items=2)]},
            "The ranks have different numbers of queries: 1, 2. Give query_ids to all of them, to match by id.",
        ),
        (
            {"queries": [Ranks.from_dict({"q": ["b", "a"]})] * 2},
            "The queries have item ids and the index does not; "
            "build it from ranks with ids, or search with item numbers.",
        ),
        ({"threads": -1}, "threads must be a whole number, at least 1; got -1."),
    ],
)
def test_invalid_search_options_are_errors(options, message):
    with pytest.raises(InputError) as caught:
        FusionIndex.build(TWO).search(**options)
    assert str(caught.value) == message


def test_the_error_for_missing_query_scores_names_the_ranker():
    points = np.random.default_rng(0).random((4, 2))
    index = FusionIndex.build([Ranks.from_vectors(points)])
    with pytest.raises(InputError, match="ranker 1 has none in the queries"):
        index.search([Ranks([[0, 1]], n_items=4)], virtual=True)
    assert index.search([Ranks([[0, 1]], n_items=4)]).items[0, 0] == 0


def test_the_error_for_missing_index_scores_names_the_ranker():
    points = np.random.default_rng(0).random((4, 2))
    index = FusionIndex.build([Ranks.from_vectors(points)], keep_scores=False)
    with pytest.raises(InputError, match="ranker 1 has none in the index"):
        index.search([Ranks.from_vectors(points)], virtual=True)


def test_an_unknown_item_is_an_error_that_suggests_the_nearest():
    index = FusionIndex.build([Ranks.from_dict({"apple": ["apple", "pear"], "pear": ["pear"]})])
    for call in (lambda item: index.search(items=[item]), index.graph, lambda item: index.explain("pear", item)):
        with pytest.raises(UnknownNameError) as caught:
            call("aple")
        assert str(caught.value) == "Unknown item 'aple'; choose from apple, pear. Did you mean 'apple'?"
    with pytest.raises(UnknownNameError, match="Unknown item 'plum'"):
        index.search([Ranks.from_dict({"q": ["plum"]})])


def test_a_graph_needs_the_lists_of_one_query():
    index = FusionIndex.build(TWO)
    with pytest.raises(InputError, match=r"Give the lists of one query; got 2 queries\."):
        index.graph(TWO)
    with pytest.raises(InputError, match=r"Items are numbered 0 to 1; got 2\."):
        index.graph(2)
    with pytest.raises(UnknownNameError, match="Unknown comparator"):
        index.explain(0, 1, comparator="cosine")


def test_progress_is_reported_for_every_stage():
    calls = []
    index = FusionIndex.build(TWO, progress=lambda *call: calls.append(call))
    index.search(progress=lambda *call: calls.append(call))
    assert {"Repositioning", "Weaving", "Measuring", "Searching"} <= {stage for stage, _, _ in calls}
    assert all(0 < done <= total for _, done, total in calls)


def test_length_repr_and_settings():
    index = FusionIndex.build(TWO, cutoff=3)
    assert len(index) == 2
    assert repr(index).startswith("FusionIndex(n_items=2, n_rankers=2, cutoff=3, ")
    assert index.settings == Settings(2, 3, 1000, True, "max", "wgu")


@pytest.mark.parametrize("name", ["wgu", "mcs"])
@pytest.mark.parametrize("graph_norm", ["max", "minmax"])
def test_inlined_and_called_comparators_are_bit_identical(name, graph_norm, monkeypatch):
    pytest.importorskip("numba", reason="the extra jit is not installed")
    monkeypatch.setattr(compare.COMPARATORS, "_known", dict(compare.COMPARATORS))
    inlined = compare.COMPARATORS[name].similarity
    compare.register_comparator("copy")(FunctionType(inlined.__code__, inlined.__globals__, "copy"))
    index = FusionIndex.build(random_collection(4, n=300, m=3, depth=12, hubs=2), graph_norm=graph_norm)
    expected, found = index.search(k=20, comparator=name), index.search(k=20, comparator="copy")
    np.testing.assert_array_equal(found.items, expected.items)
    np.testing.assert_array_equal(found.scores, expected.scores)


# Named rankers, kinds, items without lists


@pytest.fixture
def two_rankers():
    points = np.random.default_rng(3).random((40, 4))
    items = {"text": Ranks.from_vectors(points[:, :2], "l2"), "image": Ranks.from_vectors(points[:, 2:], "l1")}
    queries = {
        "text": Ranks.from_vectors(points[:, :2], "l2", queries=points[:3, :2] + 0.01),
        "image": Ranks.from_vectors(points[:, 2:], "l1", queries=points[:3, 2:] + 0.01),
    }
    return items, queries


def test_rankers_by_name_may_come_in_any_order(two_rankers, tmp_path):
    items, queries = two_rankers
    index = FusionIndex.build(items)
    assert index.settings.rankers == ("text", "image")
    index.save(tmp_path / "x.loom")
    opened = FusionIndex.open(tmp_path / "x.loom")
    expected = FusionIndex.build(list(items.values())).search(list(queries.values()))
    for lists in (queries, dict(reversed(queries.items())), list(queries.values())):
        assert_same(opened.search(lists), expected)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("text", "images"), "The ranker 'images' is unknown; expected text, image, got text, images"),
        (("text",), "The ranker 'image' has no lists; expected text, image, got text"),
    ],
)
def test_a_ranker_of_another_name_is_an_error(two_rankers, names, message):
    items, queries = two_rankers
    lists = {name: queries.get(name, queries["text"]) for name in names}
    with pytest.raises(InputError, match=message):
        FusionIndex.build(items).search(lists)
    with pytest.raises(InputError, match="have no names"):
        FusionIndex.build(list(items.values())).search(lists)


def test_lists_of_queries_do_not_make_an_index(two_rankers):
    _, queries = two_rankers
    with pytest.raises(InputError, match="These are lists of queries"):
        FusionIndex.build(queries)


def test_a_search_says_what_its_rows_are(two_rankers):
    items, queries = two_rankers
    index = FusionIndex.build(items)
    kinds = [index.search().kind, index.search(items=[3]).kind, index.search(queries).kind]
    assert kinds == ["collection", "queries", "queries"]


def test_many_items_without_a_list_are_warned_of():
    sparse = Ranks([[0, 1, 2], [1, 0, 2], [-1, -1, -1]])
    with pytest.warns(RankloomWarning, match="Ranker 1 has no list for 1 of 3 items.*absent='last'"):
        FusionIndex.build([sparse])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FusionIndex.build([sparse], absent="last")


def test_the_rule_for_items_without_a_list_is_saved(tmp_path):
    sparse = Ranks([[0, 1, 2, 3], [1, 2, 3, 0], [-1, -1, -1, -1], [3, 0, 1, 2]])
    first, last = (FusionIndex.build([sparse], cutoff=2, absent=absent) for absent in ("first", "last"))
    assert not np.array_equal(first.graph(0).items, last.graph(0).items)
    last.save(tmp_path / "x.loom")
    assert FusionIndex.open(tmp_path / "x.loom").settings.absent == "last"


@pytest.mark.parametrize("comparable", [False, 5, "yes", [True, True], [1]])
def test_comparable_is_a_flag_for_each_ranker(comparable):
    with pytest.raises(InputError, match="comparable must be True or False for each of the 1 rankers"):
        FusionIndex.build([Ranks([[0, 1], [1, 0]])], comparable=comparable)
