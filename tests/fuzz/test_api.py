"""Random input through the public API: what is valid agrees with the oracle, what is not is an error of ours.

RANKLOOM_FUZZ_API sets the number of cases: so many are compared with the oracle, and as many more are given odd input;
`make fuzz` runs 20,000 of each with fresh seeds.
"""

import numpy as np
from cases import cases, seeded_collections, seeded_ranks
from hypothesis import given
from hypothesis import strategies as st

import oracle
import rankloom as rl
from brute import assert_documented_order, assert_results, external, plain
from plain_weft import PlainWeft, query_list
from rankloom.aggregate import IndexMethod
from rankloom.errors import InputError
from rankloom.methods import METHODS, SUPERVISED

ORACLE = cases("RANKLOOM_FUZZ_API", 150, 3)
ODD = cases("RANKLOOM_FUZZ_API", 160, 6)

EXTERNAL = sorted(n for n, one in METHODS.items() if issubclass(one, IndexMethod))
ABSENT = st.sampled_from(["first", "last"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.floats(),
    st.text(max_size=4),
    st.lists(st.integers(0, 3), max_size=3),
)


@ORACLE
@given(
    seeded_collections(),
    st.integers(1, 6),
    st.booleans(),
    st.sampled_from(["max", "minmax"]),
    st.sampled_from(["wgu", "mcs"]),
    ABSENT,
    st.integers(1, 12),
)
def test_fusion_graphs_of_items(rankers, cutoff, reposition, norm, comparator, absent, k):
    options = {"cutoff": cutoff, "reposition": reposition, "graph_norm": norm, "comparator": comparator}
    out = rl.fuse(rankers, "fg", k, absent=absent, **options)
    expected = oracle.search([plain(r) for r in rankers], absent=absent, **options)
    assert_results(out, expected, k)
    assert_documented_order(out, own=range(len(out)))


@ORACLE
@given(st.data(), seeded_collections(scores=True), st.integers(1, 6), st.booleans(), st.integers(1, 12))
def test_fusion_graphs_of_external_queries(data, rankers, cutoff, virtual, k):
    n = rankers[0].n_items
    queries = [data.draw(seeded_ranks(n, 2, scores=True)) for _ in rankers]
    index = rl.FusionIndex.build(rankers, cutoff=cutoff)
    out = index.search(queries, k, virtual=virtual)
    assert_results(out, external(rankers, queries, index.settings, virtual), k)


@ORACLE
@given(
    st.data(),
    seeded_collections(),
    st.integers(1, 8),
    st.integers(1, 5),
    st.sampled_from([None, 3, 50]),
    ABSENT,
    st.integers(1, 12),
)
def test_weft_of_items_and_external_queries(data, rankers, cutoff, expand, width, absent, k):
    n = rankers[0].n_items
    index = rl.WeftIndex.build(rankers, cutoff=cutoff, expand=expand, width=width, absent=absent)
    weft = PlainWeft([plain(r) for r in rankers], cutoff, expand, None, width, absent=absent)
    assert_results(index.search(k=k), [weft.search_item(i) for i in range(n)], k)
    queries = [data.draw(seeded_ranks(n, 2)) for _ in rankers]
    lists = [[query_list(row, cutoff) for row in plain(r)] for r in queries]
    expected = [weft.search_lists([one[q] for one in lists]) for q in range(2)]
    assert_results(index.search(queries, k, virtual=False), expected, k)


def assert_valid(out, rankers, k):
    """Assert that results are valid ranks of the same queries with at most k answers."""
    rl.Ranks(out.items, out.scores, out.n_items)  # checks everything
    assert out.depth <= k
    assert out.n_queries == rankers[0].n_queries


def assert_fused(rankers, method, k):
    """Assert that a method gives valid ranks; one that needs scores may refuse ranks without."""
    try:
        out = rl.fuse(rankers, method, k)
    except InputError as error:
        if "scores" not in str(error):
            raise
        return
    assert_valid(out, rankers, k)


@ODD
@given(st.sampled_from(sorted(METHODS)), seeded_collections(), st.integers(1, 12))
def test_every_method_returns_valid_ranks_or_an_error_of_ours(method, rankers, k):
    assert_fused(rankers, method, k)


@ODD
@given(st.data(), st.sampled_from(EXTERNAL), seeded_collections(), st.integers(1, 12))
def test_methods_that_answer_external_queries_return_valid_ranks(data, method, rankers, k):
    queries = [data.draw(seeded_ranks(rankers[0].n_items, 2)) for _ in rankers]
    assert_valid(rl.fuse(queries, method, k, collection=rankers), queries, k)


@ODD
@given(st.sampled_from(sorted(SUPERVISED)), seeded_collections(), st.data(), st.integers(1, 12))
def test_every_supervised_method_learns_from_any_judgments(method, rankers, data, k):
    n = rankers[0].n_items
    ids = [str(number) for number in range(n)]
    given_ids = st.sampled_from([*ids, "unknown"])
    qrels = data.draw(st.dictionaries(given_ids, st.dictionaries(given_ids, st.integers(-1, 3)), max_size=4))
    named = [r.replaced(item_ids=rl.Ids(ids), query_ids=rl.Ids(ids)) for r in rankers]
    try:
        trained = rl.train(named, qrels, method)
    except InputError:  # none of the queries is judged, or nothing is relevant
        return
    assert_fused(named, trained, k)


@ODD
@given(st.sampled_from(sorted(METHODS)), seeded_collections(max_length=4), st.data())
def test_any_option_is_taken_or_refused_with_an_error_of_ours(method, rankers, data):
    options = METHODS.options(method)
    chosen = data.draw(st.dictionaries(st.sampled_from([*options, "nonsense"]), SCALARS, max_size=3))
    try:
        rl.fuse(rankers, method, 3, **chosen)
    except rl.RankloomError:
        return


@ODD
@given(
    st.one_of(
        st.lists(st.lists(st.one_of(st.integers(-3, 6), st.floats(), st.booleans()), max_size=4), max_size=3),
        st.just([[0, 1]]).map(np.array),
        SCALARS,
    ),
    SCALARS,
    SCALARS,
    SCALARS,
)
def test_ranks_of_anything_are_valid_or_an_error_of_ours(items, scores, n_items, ids):
    try:
        made = rl.Ranks(items, scores, n_items, item_ids=ids)
    except InputError:
        return
    assert made.items.dtype == np.int32


@ODD
@given(
    st.dictionaries(
        st.one_of(st.text(max_size=2), st.integers(0, 2)),
        st.one_of(SCALARS, st.dictionaries(st.text(max_size=2), SCALARS, max_size=3)),
        max_size=3,
    )
)
def test_dicts_of_anything_are_ranks_or_an_error_of_ours(lists):
    try:
        made = rl.Ranks.from_dict(lists)
    except InputError:
        return
    assert made.n_queries == len(lists)
