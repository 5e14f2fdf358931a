"""weft: against the plain version, their laws, and what they say when given nonsense."""

import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plain_weft
import rankloom as rl
from brute import JIT, assert_documented_order, assert_results, plain, random_collection
from plain_weft import PlainWeft
from rankloom import Ranks, WeftIndex
from rankloom._kernels import frozen
from rankloom._kernels.weft import search
from rankloom.errors import IndexFileError, InputError
from rankloom.ranks import PAD
from rankloom.weft import rows
from strategies import collections, examples, ranks

CLOSE = 5e-7  # similarities are float32
ABSENT = st.sampled_from(["first", "last"])
BUILT = st.sampled_from([None, "agreement"])
WEIGHTS = st.one_of(st.none(), st.lists(st.integers(0, 4).map(float), min_size=3, max_size=3))


def assert_same(one, other):
    np.testing.assert_array_equal(one.items, other.items)
    np.testing.assert_array_equal(one.scores, other.scores)


# Against the plain version


@examples(150)
@given(collections(), st.integers(1, 12), st.integers(1, 5), st.sampled_from([None, 3, 5, 50]), WEIGHTS, ABSENT)
def test_items_are_found_as_the_plain_version_finds_them(rankers, cutoff, expand, width, weights, absent):
    single = None if weights is None or not sum(weights[: len(rankers)]) else weights[: len(rankers)]
    lists = [plain(r) for r in rankers]
    expected = PlainWeft(lists, cutoff, expand, None, width, absent=absent, single=single)
    index = WeftIndex.build(rankers, cutoff=cutoff, expand=expand, width=width, absent=absent)
    out = index.search(k=8, weights=single)
    assert_results(out, [expected.search_item(i) for i in range(len(out))], 8)
    assert_documented_order(out, own=range(len(out)))


@examples(60)
@given(collections(), st.integers(1, 12), BUILT, ABSENT)
def test_weights_by_agreement_are_those_of_the_plain_version(rankers, cutoff, weights, absent):
    expected = PlainWeft([plain(r) for r in rankers], cutoff, 3, weights, absent=absent)
    index = WeftIndex.build(rankers, cutoff=cutoff, expand=3, weights=weights, absent=absent)
    assert index.weights == pytest.approx(expected.weights, abs=1e-6)


@examples(100)
@given(st.data(), collections(scores=True), st.integers(1, 10), st.integers(1, 5), st.booleans())
def test_external_queries_are_answered_as_the_plain_version_does(data, rankers, cutoff, expand, virtual):
    queries = [data.draw(ranks(n_items=rankers[0].n_items, n_queries=2, scores=True)) for _ in rankers]
    expected = PlainWeft([plain(r) for r in rankers], cutoff, expand)
    out = WeftIndex.build(rankers, cutoff=cutoff, expand=expand, width=None).search(queries, 8, virtual=virtual)
    answers = []
    for q in range(2):
        lists = []
        for external, own in zip(queries, rankers, strict=True):
            row = plain(external)[q]
            scores = [values[: len(ranked)] for values, ranked in zip(own.scores.tolist(), plain(own), strict=True)]
            mine = external.scores[q].tolist()[: len(row)]
            lists.append(plain_weft.query_list(row, cutoff, mine, scores if virtual else None))
        answers.append(expected.search_lists(lists))
    assert_results(out, answers, 8)


# Laws


@examples(60)
@given(collections(m=st.integers(1, 3)), st.integers(1, 8), st.integers(1, 4))
def test_similarity_is_symmetric_between_0_and_1_and_1_with_itself(rankers, cutoff, expand):
    n = rankers[0].n_items
    out = WeftIndex.build(rankers, cutoff=cutoff, expand=expand).search(k=n)
    table = np.zeros((n, n), np.float32)
    for q in range(n):
        table[q, out.items[q][out.items[q] != PAD]] = out.scores[q][out.items[q] != PAD]
    assert (table >= 0).all()
    assert (table <= 1).all()
    np.testing.assert_array_equal(table, table.T)
    np.testing.assert_array_equal(table.diagonal(), np.ones(n))


def test_the_order_of_rankers_does_not_matter():
    rankers = random_collection(3, n=80 if JIT else 30, m=3, depth=10)
    one, other = WeftIndex.build(rankers).search(k=10), WeftIndex.build(rankers[::-1]).search(k=10)
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-4)  # weights are stored in units of 1 / 32768


def test_renumbering_does_not_matter_up_to_ties(monkeypatch):
    points = np.random.default_rng(5).random((60, 4))
    rankers = [Ranks.from_vectors(points[:, columns], "l2", 12) for columns in ([0, 1], [2, 3])]
    new = np.random.default_rng(0).permutation(60).astype(np.int32)
    moved = []
    for r in rankers:
        items = np.empty_like(r.items)
        items[new] = np.where(r.items == PAD, PAD, new[r.items])
        moved.append(Ranks(items, n_items=60))
    unequal = np.array([1.0, 0.7310]) / 1.7310  # no two entries of a fused row are equal
    monkeypatch.setattr("rankloom.weft.row_kind.shares_of", lambda listed: frozen(unequal))
    one, other = (WeftIndex.build(r, cutoff=8).search(k=60) for r in (rankers, moved))
    np.testing.assert_array_equal(one.scores, other.scores[new])


@pytest.mark.parametrize("hubs", [0, 2])
def test_threads_blocks_and_pruning_do_not_change_the_bits(hubs, monkeypatch):
    n = 500 if JIT else 60
    rankers = random_collection(7, n=n, m=3, depth=15, hubs=hubs)
    one = WeftIndex.build(rankers, threads=1).search(k=9, threads=1)
    whole = WeftIndex.build(rankers).search(k=n)
    assert_same(Ranks(whole.items[:, :9], whole.scores[:, :9], n), Ranks(one.items, one.scores, n))
    monkeypatch.setattr(rows, "ROW_BLOCK", 7)
    assert_same(WeftIndex.build(rankers, threads=2).search(k=9, threads=2), one)


@pytest.mark.parametrize("filtered", [False, True])
def test_long_posting_lists_are_left_out_without_losing_a_result(filtered, monkeypatch):
    """The search is interpreted, with hubs at 20 rows of 60; whole lists of results leave nothing out."""
    index = WeftIndex.build(random_collection(7, n=60, m=2, depth=8, hubs=2), cutoff=8, expand=2)
    allowed = np.random.default_rng(1).random(60) < 0.7 if filtered else None
    whole, looked_up = index.search(k=60, allowed=allowed), []
    monkeypatch.setattr(search, "HUB", 20)
    monkeypatch.setattr(search, "search", getattr(search.search, "py_func", search.search))
    add_found = search.add_found
    monkeypatch.setattr(search, "add_found", lambda x, *rest: (looked_up.append(x), add_found(x, *rest)))
    for k in (1, 4, 12):
        assert_same(index.search(k=k, allowed=allowed), whole.head(k))
    assert looked_up


def test_one_item_at_a_time_is_all_items_at_once():
    index = WeftIndex.build(random_collection(8, n=50, m=2, depth=8))
    assert_same(index.search(k=5, items=[3, 7]), index.search(k=5).rows([3, 7]))


@pytest.mark.parametrize("external", [False, True])
def test_the_parts_of_an_explanation_add_up(external):
    points = np.random.default_rng(2).random((60, 4))
    rankers = {"a": Ranks.from_vectors(points[:, :2], "l2"), "b": Ranks.from_vectors(points[:, 2:], "l1")}
    index = WeftIndex.build(rankers)
    query = {name: ranks.rows([9]) for name, ranks in rankers.items()} if external else 9
    found = index.search(query, k=6) if external else index.search(items=[9], k=6)
    for item, score in zip(found.items[0].tolist(), found.scores[0].tolist(), strict=True):
        why = index.explain(query, item)
        assert why.similarity == pytest.approx(score, abs=CLOSE)
        assert sum(part.contribution for part in why.parts) == pytest.approx(score, abs=CLOSE)
        assert {part.label.rpartition("(")[2] for part in why.parts} <= {"all rankers)", "a)", "b)"}


def test_a_saved_index_answers_as_before(tmp_path):
    n = 70 if JIT else 25
    points = np.random.default_rng(4).random((n, 4))
    ids = rl.Ids(f"d{i}" for i in range(n))
    rankers = [Ranks.from_vectors(points[:, c], "l2", 30, item_ids=ids) for c in ([0, 1], [2, 3])]
    index = WeftIndex.build(rankers, weights="agreement", comparable=[True, False])
    index.save(tmp_path / "x.loom")
    opened = WeftIndex.open(tmp_path / "x.loom")
    assert opened.settings == index.settings
    assert_same(opened.search(k=7), index.search(k=7))
    queries = [r.rows([3, 4]) for r in rankers]
    assert_same(opened.search(queries, 7), index.search(queries, 7))
    assert_same(opened.vote(queries, 7), index.vote(queries, 7))
    with pytest.raises(IndexFileError, match="is not a rankloom index"):
        rl.FusionIndex.open(tmp_path / "x.loom")


SPARSE = Ranks([[0, 1, 2, 3], [1, 2, 3, 0], [-1, -1, -1, -1], [3, 0, 1, 2]])


def test_many_items_without_a_list_are_warned_of():
    with pytest.warns(rl.RankloomWarning, match="Ranker 1 has no list for 1 of 4 items.*absent='last'"):
        WeftIndex.build([SPARSE])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WeftIndex.build([SPARSE], absent="last")
        WeftIndex.build([SPARSE], reposition=False)


def test_the_rule_for_items_without_a_list_is_saved_unless_it_is_the_default(tmp_path):
    """Item 0's list, repositioned, is [0, 2, 1, 3] by the authors' rule and [0, 1, 3, 2] by the other."""
    for absent, listed in (("first", [0, 2]), ("last", [0, 1])):
        index = WeftIndex.build([SPARSE], cutoff=2, expand=1, absent=absent)
        path = tmp_path / f"{absent}.loom"
        index.save(path)
        opened = WeftIndex.open(path)
        assert opened.settings == index.settings
        assert opened.settings.absent == absent
        assert {part.source for part in opened.explain(0, 0).parts} == set(listed)
        saved = json.loads((path / "meta.json").read_text("utf-8"))["settings"]
        assert ("absent" in saved) == (absent == "last")


# As methods


def test_fuse_gives_what_the_index_gives():
    points = np.random.default_rng(6).random((60 if JIT else 25, 4))
    items = [Ranks.from_vectors(points[:, c], "l2") for c in ([0, 1], [2, 3])]
    queries = [r.rows([1, 2]) for r in items]
    index = WeftIndex.build(items)
    assert_same(rl.fuse(items, "weft", 5), index.search(k=5))
    assert_same(rl.fuse(queries, "weft", 5, collection=items), index.search(queries, 5))
    assert_same(rl.fuse(queries, "vote", 5, collection=items), index.vote(queries, 5))
    assert_same(rl.fuse(items, "vote", 5), index.add_votes(items, index.search(k=200), 5))
    weighted = index.search(k=5, weights=[2.0, 0.5])
    assert_same(rl.fuse(items, "weft", 5, weights=[2.0, 0.5]), weighted)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cutoff": 0}, "cutoff must be a whole number, at least 1; got 0"),
        ({"expand": 0}, "expand must be a whole number, at least 1"),
        ({"width": 0}, "width must be a whole number, at least 1"),
        ({"depth": 3}, "depth must be at least cutoff; got 3 and 20"),
        ({"weights": "best"}, "weights must be 'agreement' or None; got 'best'. Give numbers when you search."),
        ({"weights": (1.0, 2.0)}, "weights must be 'agreement' or None"),
        ({"keep_nearest": 1}, "keep_nearest must be True or False"),
        ({"symmetric": [True]}, "symmetric must be True or False for each of the 2 rankers"),
        ({"reposition": 1}, "must be True or False"),
        ({"absent": "middle"}, "Unknown rule for items without a list 'middle'; choose from first, last"),
        ({"comparable": [True]}, "comparable must be True or False for each of the 2 rankers"),
    ],
)
def test_impossible_options_are_errors(options, message):
    with pytest.raises(InputError, match=message):
        WeftIndex.build(random_collection(1), **options)


@pytest.mark.parametrize("index", [WeftIndex, rl.FusionIndex])
@examples(40)
@given(st.data(), collections())
def test_a_filter_returns_the_best_of_the_allowed_items(index, data, rankers):
    n = rankers[0].n_items
    queries = [data.draw(ranks(n_items=n, n_queries=2, scores=False)) for _ in rankers]
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), np.bool_)
    built = index.build(rankers, cutoff=5)
    for external in (None, queries):
        whole, found = built.search(external, k=n), built.search(external, k=2, allowed=allowed)
        for q in range(len(whole)):
            kept = [p for p, item in enumerate(whole.items[q]) if item != PAD and allowed[item]][:2]
            assert [i for i in found.items[q].tolist() if i != PAD] == whole.items[q, kept].tolist()
            assert found.scores[q, : len(kept)].tolist() == whole.scores[q, kept].tolist()


def test_a_mask_must_fit_the_items():
    index = WeftIndex.build([Ranks([[0, 1], [1, 0]])])
    with pytest.raises(InputError, match=r"True or False for each of the 2 items; got bool of shape \(3,\)"):
        index.search(allowed=np.ones(3, np.bool_))
