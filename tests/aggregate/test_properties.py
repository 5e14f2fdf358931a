"""Properties of several methods, each with the methods it holds for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloom as rl
from rankloom.errors import InputError
from rankloom.methods import METHODS, SUPERVISED, QueryMethod, check_method
from rankloom.ranks import PAD
from strategies import examples
from strategies import ranks as some_ranks

COMB = ["combsum", "combmin", "combmax", "combmed", "combanz", "combmnz", "rlsim"]
WEIGHTED = ["wsum", "wmnz", "mixed", "gmnz", "dbsf"]
POSITIONS = ["rrf", "borda", "isr", "log_isr", "logn_isr", "rbc"]
PER_QUERY = [*COMB, *WEIGHTED, *POSITIONS, "mra", "condorcet", "kemeny", "mc4"]
VARIANTS = [
    ("combmed", {"mode": "median"}),
    ("borda", {"points": "below"}),
    ("borda", {"points": "pool"}),
    ("condorcet", {"variant": "copeland"}),
    ("condorcet", {"variant": "fuse"}),
    ("condorcet", {"absent": "last"}),
    ("dbsf", {"rule": "haystack"}),
    ("logn_isr", {"sigma": 0}),
    ("kemeny", {"absent": "last"}),
    ("mc4", {"absent": "last", "teleport": 0.5}),
    ("kemeny", {"exact": 0, "restarts": 2}),
]
ALL = [*((name, {}) for name in PER_QUERY), *VARIANTS]


@pytest.mark.parametrize("name", [*METHODS, *SUPERVISED])
def test_every_method_keeps_the_contract(name):
    check_method(name)


def test_per_query_methods_need_queries_only():
    assert all(issubclass(METHODS[name], QueryMethod) for name in PER_QUERY)


@pytest.mark.parametrize(("method", "options"), ALL)
@examples(25)  # for each of the methods
@given(st.data())
def test_unanimous_rankers_give_back_their_list(method, options, data):
    """Holds for every per-query method and variant."""
    one = data.draw(some_ranks(n_items=6, scores=True))
    fused = rl.fuse([one] * data.draw(st.integers(1, 4)), method, max(one.depth, 1), **options)
    assert np.array_equal(fused.items, one.items)


@pytest.mark.parametrize(("method", "options"), ALL)
@examples(25)  # for each of the methods
@given(st.data())
def test_a_ranker_of_empty_lists_changes_nothing(method, options, data):
    """Holds for every per-query method and variant, scores included, at any position of the empty ranker."""
    ranks = [data.draw(some_ranks(n_items=6, n_queries=3, scores=True)) for _ in range(2)]
    empty = rl.Ranks(np.full((3, 2), PAD), np.zeros((3, 2)), n_items=6)
    more = [*ranks]
    more.insert(data.draw(st.integers(0, 2)), empty)
    assert rl.fuse(more, method, 12, **options).to_dict() == rl.fuse(ranks, method, 12, **options).to_dict()


@pytest.mark.parametrize(("method", "options"), ALL)
@examples(25)  # for each of the methods
@given(st.data())
def test_the_answer_is_the_union_and_deterministic(method, options, data):
    ranks = [data.draw(some_ranks(n_items=7, n_queries=2, scores=True)) for _ in range(3)]
    fused = rl.fuse(ranks, method, 7, **options)
    again = rl.fuse(ranks, method, 7, **options)
    assert np.array_equal(fused.items, again.items)
    assert np.array_equal(fused.scores, again.scores)
    rl.Ranks(fused.items, fused.scores, fused.n_items)  # valid: no duplicates, non-increasing scores
    for q in range(2):
        union = {item for r in ranks for item in r.items[q].tolist()} - {PAD}
        assert set(fused.items[q].tolist()) - {PAD} == union


@pytest.mark.parametrize("method", [*COMB, *WEIGHTED, *POSITIONS, "condorcet"])
@examples(25)
@given(st.data())
def test_ties_are_broken_by_first_appearance(method, data):
    ranks = [data.draw(some_ranks(n_items=7, n_queries=1, scores=True)) for _ in range(2)]
    fused = rl.fuse(ranks, method, 14)
    seen = list(dict.fromkeys(item for r in ranks for item in r.items[0].tolist() if item != PAD))
    pairs = [(-score, seen.index(item)) for item, score in zip(*_row(fused), strict=True)]
    assert pairs == sorted(pairs)


def _row(ranks):
    n = ranks.lengths()[0]
    return ranks.items[0, :n].tolist(), ranks.scores[0, :n].tolist()


@pytest.mark.parametrize("method", ["mra", "kemeny"])
def test_disjoint_lists_have_a_fixed_order(method):
    """MRA reads the lists in parallel; Kemeny has no votes between them and concatenates them."""
    apart = [rl.Ranks([[3, 1]], n_items=6), rl.Ranks([[2, 0]], n_items=6)]
    expected = {"mra": [3, 2, 1, 0], "kemeny": [3, 1, 2, 0]}[method]
    assert rl.fuse(apart, method, 4).items.tolist() == [expected]


@pytest.mark.parametrize("method", PER_QUERY)
def test_rankers_of_different_depths_and_items(method):
    deep = rl.Ranks.from_dict({"q": {"a": 9.0, "b": 8.0, "c": 7.0, "d": 6.0, "e": 5.0}, "p": {"c": 1.0}})
    flat = rl.Ranks.from_dict({"q": {"b": 2.0, "x": 1.0}, "p": {"y": 3.0, "c": 2.0}})
    fused = rl.fuse([deep, flat], method).to_dict()
    assert set(fused["q"]) == {"a", "b", "c", "d", "e", "x"}
    assert set(fused["p"]) == {"c", "y"}


@pytest.mark.parametrize("method", PER_QUERY)
def test_missing_queries(method):
    both = rl.Ranks.from_dict({"q": {"a": 2.0, "b": 1.0}, "p": {"c": 2.0, "a": 1.0}})
    one = rl.Ranks.from_dict({"q": {"a": 2.0, "b": 1.0}})
    with pytest.raises(InputError, match="Query 'p' has no list from ranker 2"):
        rl.fuse([both, one], method)
    assert list(rl.fuse([both, one], method, missing="drop").to_dict()) == ["q"]
    assert list(rl.fuse([both, one], method, missing="empty").to_dict()["p"]) == ["c", "a"]


@pytest.mark.parametrize(("method", "options"), ALL)
def test_depth_equals_cutting_the_lists_first(method, options):
    random = np.random.default_rng(0)
    scores = -np.sort(-random.random((5, 8)), axis=1)
    ranks = [rl.Ranks([random.permutation(10)[:8] for _ in range(5)], scores, 10) for _ in range(3)]
    cut = rl.fuse([r.head(4) for r in ranks], method, **options)
    assert rl.fuse(ranks, method, depth=4, **options).to_dict() == cut.to_dict()


@pytest.mark.parametrize("method", [name for name in PER_QUERY if "weights" in METHODS.options(name)])
def test_equal_weights_keep_the_order(method):
    random = np.random.default_rng(0)
    scores = -np.sort(-random.random((9, 8)), axis=1)
    ranks = [rl.Ranks([random.permutation(10)[:8] for _ in range(9)], scores, 10) for _ in range(3)]
    assert np.array_equal(rl.fuse(ranks, method, weights=[2, 2, 2]).items, rl.fuse(ranks, method).items)


COLLECTION = [name for name in METHODS if not issubclass(METHODS[name], QueryMethod)]


@pytest.mark.parametrize("n_rankers", [1, 2])
@pytest.mark.parametrize("method", sorted({*COLLECTION} - {"vote"}))
def test_a_ranker_of_empty_lists_changes_nothing_in_a_collection(method, n_rankers):
    """Holds for every whole-collection method but vote, whose neighbors have a weight for each ranker."""
    points = np.random.default_rng(3).normal(size=(40, 4))
    ranks = [rl.Ranks.from_vectors(points[:, i : i + 2], "l2", depth=20) for i in range(n_rankers)]
    empty = rl.Ranks(np.full((40, 3), PAD), n_items=40)
    alone = rl.fuse(ranks, method, 10)
    assert rl.fuse([*ranks, empty], method, 10).to_dict() == alone.to_dict()


@pytest.mark.parametrize("method", METHODS)
def test_a_huge_k_needs_no_more_memory(method):
    points = np.random.default_rng(3).normal(size=(8, 2))
    ranks = [rl.Ranks.from_vectors(points, metric, depth=6) for metric in ("l1", "l2")]
    assert rl.fuse(ranks, method, 10**12).depth <= 16


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("rkgraph", {"persistence": "x"}, "persistence of the method 'rkgraph' must be a finite number; got 'x'."),
        ("corgraph", {"persistence": 0.5}, "persistence is an option of correlation='rbo'"),
        ("corgraph", {"step": 1e-9}, "step must give at most 1000 thresholds"),
        ("corgraph", {"start": "x"}, "start of the method 'corgraph' must be a finite number; got 'x'."),
        ("recknngraphccs", {"neighbors": 40_000}, "neighbors must be at most 1000; got 40000."),
        ("helloneighbor", {"overlap": "x"}, "overlap of the method 'helloneighbor' must be a finite number; got 'x'."),
        (
            "crossdiffusion",
            {"eta": float("inf")},
            "eta of the method 'crossdiffusion' must be a finite number; got inf.",
        ),
        ("queryrankfusion", {"weights": [1e39, 1]}, "weights must be at most 1e+30; got 1e+39."),
        ("qalf", {"tail": "x"}, "tail of the method 'qalf' must be a finite number; got 'x'."),
        ("qalf", {"references": 3}, "references must be a list with one array for each of the 2 rankers."),
        ("qalf", {"references": [["a"], ["b"]]}, "references of ranker 1 must be finite"),
        ("combsum", {"weights": "12"}, "numbers of at least 0, one for each ranker"),
        ("gmnz", {"gamma": -1}, "gamma must be from 0 to 10; got -1."),
        ("dbsf", {"rule": "weaviate"}, "Unknown value of rule 'weaviate'; choose from haystack, qdrant."),
        ("logn_isr", {"sigma": 2}, "sigma must be from 0 to 1; got 2."),
        ("rbc", {"persistence": 1}, "persistence must be above 0 and below 1; got 1."),
        ("mc4", {"teleport": 0}, "teleport must be at least 1e-12 and below 1; got 0."),
        ("kemeny", {"seed": 3}, "seed needs restarts"),
        ("kemeny", {"restarts": -1}, "restarts must be a whole number, at least 0; got -1."),
    ],
)
def test_bad_options_raise(method, options, message):
    points = np.random.default_rng(3).normal(size=(8, 2))
    ranks = [rl.Ranks.from_vectors(points, metric, depth=6) for metric in ("l1", "l2")]
    with pytest.raises(InputError) as caught:
        rl.fuse(ranks, method, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize("method", ["combmnz", "rlsim"])
def test_a_ranker_of_weight_0_adds_no_score(method):
    a, b = rl.Ranks([[0, 1, 2]], [[3.0, 2.0, 1.0]], 5), rl.Ranks([[3, 4, 1]], [[3.0, 2.0, 1.0]], 5)
    fused = rl.fuse([a, b], method, 5, weights=[1, 0])
    assert fused.to_dict()["0"] == {"0": 1.0, "1": 0.5, "2": 0.0, "3": 0.0, "4": 0.0}


def test_kemeny_is_the_same_at_any_scale_of_the_weights():
    rng = np.random.default_rng(0)
    ranks = [rl.Ranks(np.array([rng.permutation(30) for _ in range(5)])) for _ in range(3)]
    one = rl.fuse(ranks, "kemeny", 30, weights=[1, 1, 1])
    small = rl.fuse(ranks, "kemeny", 30, weights=[1e-10] * 3)
    assert np.array_equal(one.items, small.items)
