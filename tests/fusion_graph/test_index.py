"""FusionIndex: the method by hand, against the oracle, its laws, and what it says when given nonsense."""

from types import FunctionType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
import rankloom.threads as threads_module
from brute import (
    CLOSE,
    JIT,
    assert_answers,
    assert_documented_order,
    outside,
    padded,
    plain,
    random_collection,
)
from rankloom import PAD, Ids, InputError, Ranks, UnknownNameError
from rankloom.fusion_graph import compare
from rankloom.fusion_graph.index import FusionIndex, Settings
from strategies import collections, ranks

COMPARATORS = st.sampled_from(["wgu", "mcs"])
NORMS = st.sampled_from(["max", "minmax"])
CUTOFFS = st.integers(1, 6)
SEEDS = st.integers(0, 10**6)
METHODS = [(norm, comparator) for norm in ("max", "minmax") for comparator in ("wgu", "mcs")]


def matrix(out):
    """Similarities as a full matrix; NaN for what is not returned."""
    full = np.full((len(out), out.n_items), np.nan)
    rows, places = np.nonzero(out.items != PAD)
    full[rows, out.items[rows, places]] = out.scores[rows, places]
    return full


def assert_same(a, b):
    """Two answers, or two indexes, bit for bit."""
    if isinstance(a, FusionIndex):
        assert a.settings == b.settings
        assert a._arrays.keys() == b._arrays.keys()
        for name, array in a._arrays.items():
            assert array.dtype == b._arrays[name].dtype
            np.testing.assert_array_equal(array, b._arrays[name], err_msg=name)
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


def test_min_max_by_hand():
    """One ranker, 0: [0, 1], 1: [1, 0]: vertices 1 and .1 become 1 and 0, edges .1 and .05 become 1 and 0.

    The two graphs have their large vertex and their large edge in different places: nothing is in common, and
    yet they share vertices, so both are returned.
    """
    out = FusionIndex.build([Ranks([[0, 1], [1, 0]])], cutoff=2, graph_norm="minmax").search()
    assert out.items.tolist() == [[0, 1], [1, 0]]
    assert out.scores.tolist() == [[1, 0], [1, 0]]


def test_a_list_of_one_gives_a_graph_of_one_vertex():
    out = FusionIndex.build([Ranks([[0], [0], [2]])]).search(k=3)
    assert out.items.tolist() == [[0, 1, PAD], [1, 0, PAD], [2, PAD, PAD]]
    assert out.scores.tolist() == [[1, 1, 0], [1, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize("cutoff", range(2, 12))
def test_min_max_leaves_weights_alone_that_are_equal_but_for_rounding(cutoff):
    """Two lists, one the other turned round: each vertex weighs 1.1, though .325 + .775 is not 1 + .1 in floats."""
    rows = [np.roll(np.arange(cutoff), -i).tolist() for i in range(cutoff)]
    lists = [rows, [row[::-1] for row in rows]]
    index = FusionIndex.build(
        [padded(ranker, cutoff) for ranker in lists], cutoff=cutoff, reposition=False, graph_norm="minmax"
    )
    assert index.graph(0).vertices == pytest.approx(np.full(cutoff, 1.1))
    expected = oracle.search(lists, cutoff, reposition=False, graph_norm="minmax")
    assert_answers(index.search(k=cutoff), expected, cutoff)


# -- against the oracle -----------------------------------------------------------------------------------------


@settings(max_examples=300 if JIT else 60)
@given(collections(), CUTOFFS, st.integers(0, 4), st.booleans(), NORMS, COMPARATORS, st.integers(1, 12))
def test_search_is_brute_force(rankers, cutoff, deeper, reposition, graph_norm, comparator, k):
    how = {"depth": cutoff + deeper, "reposition": reposition, "graph_norm": graph_norm, "comparator": comparator}
    out = FusionIndex.build(rankers, cutoff=cutoff, **how).search(k=k)
    assert_answers(out, oracle.search([plain(r) for r in rankers], cutoff, **how), k)
    assert_documented_order(out, range(len(out)))


@settings(max_examples=40 if JIT else 5)
@given(SEEDS, st.integers(0, 2), st.integers(1, 3), CUTOFFS, st.booleans(), NORMS, COMPARATORS)
def test_search_is_brute_force_with_hubs(seed, hubs, m, cutoff, reposition, graph_norm, comparator):
    rankers = random_collection(seed, n=40, m=m, hubs=hubs)
    how = {"reposition": reposition, "graph_norm": graph_norm, "comparator": comparator}
    index = FusionIndex.build(rankers, cutoff=cutoff, **how)
    expected = oracle.search([plain(r) for r in rankers], cutoff, **how)
    for k in (1, 3, 10, 100):
        assert_answers(index.search(k=k), expected, k)


@pytest.mark.parametrize(("graph_norm", "comparator"), METHODS)
@pytest.mark.parametrize("hubs", [0, 1, 3])
def test_fewer_answers_are_the_first_of_more(graph_norm, comparator, hubs):
    """The walk stops early for a small k, and never for all: ties included, what it left out was worse."""
    n = 400 if JIT else 40
    rankers = random_collection(hubs, n=n, m=3, depth=12, hubs=hubs)
    index = FusionIndex.build(rankers, cutoff=8, graph_norm=graph_norm, comparator=comparator)
    everything = index.search(k=n)
    assert_documented_order(everything, range(n))
    for k in (1, 2, 5, 10, 50):
        assert_same(index.search(k=k), everything.head(k))


def test_fewer_answers_are_the_first_of_more_where_all_are_tied():
    lists = np.array([[i, i - i % 20, 100] for i in range(100)] + [[100, 0, 1]])
    lists = padded([list(dict.fromkeys(row)) for row in lists.tolist()], 101)
    index = FusionIndex.build([lists, lists], cutoff=3, reposition=False)
    everything = index.search(k=101)
    assert_documented_order(everything, range(101))
    for k in (1, 3, 25):
        assert_same(index.search(k=k), everything.head(k))


def test_an_item_in_no_list_is_found_only_by_what_lists_the_same():
    rankers = [Ranks([[0, 1], [1, 0], [0, 1], [3, PAD]])]  # nobody lists item 2, not even itself
    out = FusionIndex.build(rankers, reposition=False).search(k=4)
    assert out.items.tolist() == [[0, 2, 1, PAD], [1, 0, 2, PAD], [2, 0, 1, PAD], [3, PAD, PAD, PAD]]
    assert out.scores[2].tolist()[:2] == [1, 1]


def test_duplicates_come_in_the_documented_order():
    points = np.repeat(np.array([[0.0], [1.0], [5.0], [9.0]]), 3, axis=0)
    rankers = [Ranks.from_vectors(points, "l2"), Ranks.from_vectors(points**2, "l1")]
    for reposition in (True, False):
        index = FusionIndex.build(rankers, cutoff=6, reposition=reposition)
        assert_documented_order(index.search(k=12), range(12))
    same = FusionIndex.build([Ranks([[0, 1, 2, 3, 4]] * 5)], reposition=False).search(k=5)
    assert same.items.tolist() == [[0, 1, 2, 3, 4], [1, 0, 2, 3, 4], [2, 0, 1, 3, 4], [3, 0, 1, 2, 4], [4, 0, 1, 2, 3]]
    assert (same.scores == 1).all()
    assert (FusionIndex.build([Ranks([[0, 1, 2]] * 3)], reposition=False).search(k=1).items == [[0], [1], [2]]).all()


# -- laws -------------------------------------------------------------------------------------------------------


@settings(max_examples=150 if JIT else 40)
@given(collections(), CUTOFFS, st.booleans(), NORMS)
def test_similarities_are_between_0_and_1_symmetric_and_wgu_is_the_smaller(rankers, cutoff, reposition, graph_norm):
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


@settings(max_examples=100 if JIT else 30)
@given(st.data(), collections(m=3), CUTOFFS, NORMS, COMPARATORS)
def test_the_order_of_rankers_does_not_matter(data, rankers, cutoff, graph_norm, comparator):
    how = {"cutoff": cutoff, "graph_norm": graph_norm, "comparator": comparator}
    other = data.draw(st.permutations(rankers))
    a, b = (matrix(FusionIndex.build(given, **how).search(k=20)) for given in (rankers, other))
    np.testing.assert_allclose(a, b, atol=CLOSE)


@settings(max_examples=100 if JIT else 30)
@given(st.data(), collections(), CUTOFFS, NORMS, COMPARATORS)
def test_the_numbering_of_items_does_not_matter(data, rankers, cutoff, graph_norm, comparator):
    n = rankers[0].n_items
    new = np.array([*data.draw(st.permutations(range(n))), PAD])  # new[i] is item i's new number, PAD stays
    other = [Ranks(new[r.items][np.argsort(new[:n])], n_items=n) for r in rankers]
    how = {"cutoff": cutoff, "graph_norm": graph_norm, "comparator": comparator}
    a, b = (matrix(FusionIndex.build(given, **how).search(k=n)) for given in (rankers, other))
    np.testing.assert_allclose(a, b[np.ix_(new[:n], new[:n])], atol=CLOSE)


@settings(max_examples=100 if JIT else 30)
@given(collections(n_items=st.integers(1, 7)), CUTOFFS, NORMS, COMPARATORS)
def test_explanations_add_up_to_what_search_returns(rankers, cutoff, graph_norm, comparator):
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
    alone, queries = index.search(k=7, threads=1), [r.rows(range(5, n // 2)) for r in rankers]
    outside = index.search(queries, k=7, threads=1)
    run = threads_module.run_blocks.__kwdefaults__
    monkeypatch.setitem(run, "block", block)
    other = FusionIndex.build(rankers, threads=threads, **how)
    assert_same(index, other)
    assert_same(other.search(k=7, threads=threads), alone)
    assert_same(other.search(queries, k=7, threads=threads), outside)


def test_searching_twice_gives_the_same_bits():
    index = FusionIndex.build(random_collection(1, n=60, hubs=1), cutoff=4)
    assert_same(index.search(k=5), index.search(k=5))


def test_several_threads_may_search_one_index():
    from concurrent.futures import ThreadPoolExecutor

    index = FusionIndex.build(random_collection(2, n=300 if JIT else 30, m=3, hubs=1), cutoff=5)
    alone = index.search(k=5)
    with ThreadPoolExecutor(4) as pool:
        for out in pool.map(lambda _: index.search(k=5, threads=2), range(12)):
            assert_same(out, alone)


def test_building_does_not_write_into_the_ranks_given():
    rankers = random_collection(3, n=40)
    before = [r.items.copy() for r in rankers]
    FusionIndex.build(rankers, cutoff=4).search(k=3)
    for r, items in zip(rankers, before, strict=True):
        np.testing.assert_array_equal(r.items, items)


# -- some items as queries --------------------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=40 if JIT else 5)
def test_searching_some_items_gives_those_rows(data):
    rankers = data.draw(collections(n_items=st.integers(1, 10)))
    index = FusionIndex.build(rankers, cutoff=4)
    chosen = data.draw(st.lists(st.integers(0, len(index) - 1), max_size=6))
    assert_same(index.search(items=chosen, k=4), index.search(k=4).rows(np.array(chosen, int)))


def test_names_in_names_out():
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


def test_an_item_may_be_asked_for_twice_by_number_but_rows_have_names_once():
    rows = [[0, 1], [1, 0], [2, 1]]
    assert FusionIndex.build([Ranks(rows)]).search(items=[1, 0, 1], k=1).items.tolist() == [[1], [0], [1]]
    with pytest.raises(InputError, match="Ids must differ; 'b' is given twice"):
        FusionIndex.build([Ranks(rows, item_ids=Ids([*"abc"]))]).search(items=["b", "a", "b"])


def test_an_item_that_a_ranker_does_not_know_has_an_empty_list_there():
    text = Ranks.from_dict({"a": ["a", "b"], "b": ["b", "a"]})
    image = Ranks.from_dict({"a": ["a", "c"], "c": ["c", "a"]})
    index = FusionIndex.build([text, image])
    assert index.item_ids == Ids([*"abc"])
    assert [index.item_ids[i] for i in sorted(index.graph("c").items)] == ["a", "c"]


def test_rows_named_by_their_items_alone_are_matched_by_name():
    """Row i is item i of each ranker's own numbering, and the two number differently."""
    rows = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    one = Ranks(rows, item_ids=Ids([*"abc"]))
    other = Ranks([[0, 2, 1], [1, 0, 2], [2, 1, 0]], item_ids=Ids([*"cba"]))  # the lists of c, b and a
    named = [Ranks(r.items, item_ids=r.item_ids, query_ids=r.item_ids) for r in (one, other)]
    a, b = FusionIndex.build([one, other], cutoff=2), FusionIndex.build(named, cutoff=2)
    assert_same(a.search(k=3), b.search(k=3))


# -- external queries ---------------------------------------------------------------------------------------


@settings(max_examples=150 if JIT else 40)
@given(st.data(), CUTOFFS, st.integers(0, 4), st.booleans(), NORMS, COMPARATORS, st.integers(1, 12))
def test_queries_from_outside_are_brute_force(data, cutoff, deeper, reposition, graph_norm, comparator, k):
    """Collection ranks without scores: lists are taken as they come."""
    rankers = data.draw(collections(scores=False))
    asked = data.draw(st.integers(1, 4))
    queries = [data.draw(ranks(n_items=r.n_items, n_queries=asked)) for r in rankers]
    index = FusionIndex.build(
        rankers,
        cutoff=cutoff,
        depth=cutoff + deeper,
        reposition=reposition,
        graph_norm=graph_norm,
        comparator=comparator,
    )
    out = index.search(queries, k=k)
    assert_answers(out, outside(rankers, queries, index.settings, virtual=False), k)
    assert_documented_order(out)


@settings(max_examples=150 if JIT else 40)
@given(st.data(), CUTOFFS, st.integers(0, 4), NORMS, COMPARATORS)
def test_queries_from_outside_have_the_oracles_virtual_positions(data, cutoff, deeper, graph_norm, comparator):
    rankers = data.draw(collections(scores=True))
    queries = [data.draw(ranks(n_items=r.n_items, n_queries=3, scores=True)) for r in rankers]
    index = FusionIndex.build(
        rankers, cutoff=cutoff, depth=cutoff + deeper, graph_norm=graph_norm, comparator=comparator
    )
    expected = outside(rankers, queries, index.settings, virtual=True)
    assert_answers(index.search(queries, k=8, virtual=True), expected, 8)
    assert_same(index.search(queries, k=8), index.search(queries, k=8, virtual=True))
    plain_order = outside(rankers, queries, index.settings, virtual=False)
    assert_answers(index.search(queries, k=8, virtual=False), plain_order, 8)


@pytest.mark.parametrize(("graph_norm", "comparator"), METHODS)
def test_an_outside_query_equal_to_an_item_finds_that_item_first(graph_norm, comparator):
    points = np.random.default_rng(7).random((50, 4))
    rankers = [Ranks.from_vectors(points[:, cols], "l2", 30) for cols in ([0, 1], [2, 3])]
    index = FusionIndex.build(rankers, cutoff=8, graph_norm=graph_norm, comparator=comparator)
    out, inside = index.search(rankers, k=5, virtual=True), index.search(k=5)
    assert_same(out, inside)
    assert (out.items[:, 0] == np.arange(50)).all()
    for item in range(0, 50, 7):
        graph, own = index.graph([r.rows([item]) for r in rankers]), index.graph(item)
        for name in ("items", "raw_vertices", "sources", "targets", "raw_edges"):
            np.testing.assert_array_equal(getattr(graph, name), getattr(own, name))


def test_an_outside_query_is_explained_by_what_search_returns():
    points = np.random.default_rng(8).random((30, 2))
    queries = [Ranks.from_vectors(points, "l1", queries=[[0.4, 0.6]])]
    index = FusionIndex.build([Ranks.from_vectors(points, "l1")], cutoff=6)
    out = index.search(queries, k=5)
    for item, score in zip(out.items[0].tolist(), out.scores[0].tolist(), strict=True):
        why = index.explain(queries, item)
        assert why.query == "query"
        assert why.similarity == pytest.approx(score, abs=CLOSE)


def test_without_repositioning_lists_from_outside_come_as_they_are():
    points = np.random.default_rng(9).random((30, 2))
    rankers = [Ranks.from_vectors(points, "l2")]
    index = FusionIndex.build(rankers, cutoff=5, reposition=False)
    assert_same(index.search(rankers, k=5), index.search(k=5))
    assert_same(index.search(rankers, k=5), index.search(rankers, k=5, virtual=False))


def test_one_ranker_with_scores_and_one_without():
    points = np.random.default_rng(10).random((20, 2))
    scored, order = Ranks.from_vectors(points, "l2"), Ranks(Ranks.from_vectors(points, "l1").items)
    index = FusionIndex.build([scored, order], cutoff=4)
    asked = Ranks.from_vectors(points, "l2", queries=points[:3] + 0.01)
    out = index.search([asked, Ranks(asked.items)], k=3)
    lists = [oracle.repositioned(plain(r), 4) for r in (scored, order)]
    graph = oracle.graph(
        [oracle.eq1(plain(asked)[0], oracle.virtual_positions(plain(asked)[0], asked.scores[0], scored.scores))[:4],
         plain(asked)[0][:4]],
        lists,
    )  # fmt: skip
    best = out.items[0, 0]
    assert out.scores[0, 0] == pytest.approx(
        oracle.similarity(graph, oracle.graph([lists[0][best], lists[1][best]], lists)), abs=CLOSE
    )


def test_queries_by_name_are_matched_to_the_names_of_the_index():
    index = FusionIndex.build([Ranks.from_dict({"a": ["a", "b"], "b": ["b", "a"], "c": ["c", "b"]})])
    out = index.search([Ranks.from_dict({"q2": ["c", "b"], "q1": ["a"]})], k=1)
    assert {q: list(row) for q, row in out.to_dict().items()} == {"q2": ["c"], "q1": ["a"]}
    assert index.graph([Ranks.from_dict({"q1": ["a"]})]).id == "q1"


# -- small, empty ----------------------------------------------------------------------------------------------


def test_an_index_of_no_items():
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
def test_lists_that_are_all_empty(depth, reposition):
    index = FusionIndex.build([Ranks(np.full((3, depth), PAD), n_items=3)], reposition=reposition)
    out = index.search(k=2)
    assert out.items.tolist() == [[PAD, PAD]] * 3
    assert out.scores.tolist() == [[0, 0]] * 3
    assert index.graph(1).items.size == 0
    assert index.graph(1).size == 0
    assert index.explain(0, 1).similarity == 0


def test_more_answers_than_items_are_as_many_as_there_are():
    index = FusionIndex.build([Ranks([[0, 1], [1, 0]])])
    assert index.search(k=1000).items.shape == (2, 2)


# -- nonsense ---------------------------------------------------------------------------------------------------

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
        ([Ranks([[0, 1]])], {}, "Collection ranks have a row for each item; got 1 rows and 2 items."),
        (
            [Ranks([[0]]), *TWO],
            {},
            "The ranks are of different numbers of items: 1, 2. Give item_ids to all, to match by name.",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_built_says_why(ranks, options, message):
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
        ({"items": ["a"]}, "The index has no names, only numbers 0 to 1; got 'a'."),
        ({"queries": TWO, "items": [0]}, "Give external queries or items of the collection, not both."),
        (
            {"queries": TWO[:1]},
            "The index has 2 rankers, and queries need the ranks of each, in the same order; got 1.",
        ),
        (
            {"queries": [Ranks([[4]])] * 2},
            "The queries are of a collection of 5 items, the index of 2; rank the same collection.",
        ),
        (
            {"queries": TWO, "virtual": True},
            "Virtual positions need scores on both sides; ranker 1 has none in the index. Search with virtual=False.",
        ),
        (
            {"queries": [Ranks([[0]], n_items=2), Ranks([[0], [1]], n_items=2)]},
            "The ranks are of different numbers of queries: 1, 2. Give query_ids to all, to match by name.",
        ),
        (
            {"queries": [Ranks.from_dict({"q": ["b", "a"]})] * 2},
            "The queries name their items and the index does not; build it from ranks with names, or search by number.",
        ),
        ({"threads": -1}, "threads must be a whole number, at least 1; got -1."),
    ],
)
def test_what_cannot_be_searched_says_why(options, message):
    with pytest.raises(InputError) as caught:
        FusionIndex.build(TWO).search(**options)
    assert str(caught.value) == message


def test_scores_that_the_queries_lack_are_named():
    points = np.random.default_rng(0).random((4, 2))
    index = FusionIndex.build([Ranks.from_vectors(points)])
    with pytest.raises(InputError, match="ranker 1 has none in the queries"):
        index.search([Ranks([[0, 1]], n_items=4)], virtual=True)
    assert index.search([Ranks([[0, 1]], n_items=4)]).items[0, 0] == 0


def test_scores_that_were_not_kept_are_named():
    points = np.random.default_rng(0).random((4, 2))
    index = FusionIndex.build([Ranks.from_vectors(points)], keep_scores=False)
    with pytest.raises(InputError, match="ranker 1 has none in the index"):
        index.search([Ranks.from_vectors(points)], virtual=True)


def test_an_unknown_item_name_gets_the_nearest():
    index = FusionIndex.build([Ranks.from_dict({"apple": ["apple", "pear"], "pear": ["pear"]})])
    for ask in (lambda name: index.search(items=[name]), index.graph, lambda name: index.explain("pear", name)):
        with pytest.raises(UnknownNameError) as caught:
            ask("aple")
        assert str(caught.value) == "Unknown item 'aple'; choose from apple, pear. Did you mean 'apple'?"
    with pytest.raises(UnknownNameError, match="Unknown item 'plum'"):
        index.search([Ranks.from_dict({"q": ["plum"]})])


def test_a_graph_is_of_one_query():
    index = FusionIndex.build(TWO)
    with pytest.raises(InputError, match=r"A graph is of one query; got lists of 2\."):
        index.graph(TWO)
    with pytest.raises(InputError, match=r"Items are numbered 0 to 1; got 2\."):
        index.graph(2)
    with pytest.raises(UnknownNameError, match="Unknown comparator"):
        index.explain(0, 1, comparator="cosine")


def test_progress_is_told_of_every_stage():
    told = []
    index = FusionIndex.build(TWO, progress=lambda *what: told.append(what))
    index.search(progress=lambda *what: told.append(what))
    assert {"Repositioning", "Weaving", "Measuring", "Searching"} <= {stage for stage, _, _ in told}
    assert all(0 < done <= total for _, done, total in told)


def test_an_index_says_what_it_is():
    index = FusionIndex.build(TWO, cutoff=3)
    assert len(index) == 2
    assert repr(index).startswith("FusionIndex(n_items=2, n_rankers=2, cutoff=3, ")
    assert index.settings == Settings(2, 3, 1000, True, "max", "wgu")


@pytest.mark.parametrize("name", ["wgu", "mcs"])
@pytest.mark.parametrize("graph_norm", ["max", "minmax"])
def test_a_comparator_that_is_called_gives_the_bits_of_the_one_written_into_the_kernel(name, graph_norm, monkeypatch):
    monkeypatch.setattr(compare.COMPARATORS, "_known", dict(compare.COMPARATORS))
    written = compare.COMPARATORS[name].similarity
    compare.register_comparator("copy")(FunctionType(written.__code__, written.__globals__, "copy"))
    index = FusionIndex.build(random_collection(4, n=300, m=3, depth=12, hubs=2), graph_norm=graph_norm)
    expected, found = index.search(k=20, comparator=name), index.search(k=20, comparator="copy")
    np.testing.assert_array_equal(found.items, expected.items)
    np.testing.assert_array_equal(found.scores, expected.scores)
