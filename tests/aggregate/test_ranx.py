"""ranx as an independent oracle, where its definitions agree with ours.

Scores are compared item by item; ranx breaks ties differently. Where it differs:

- min-max of a list of equal scores: ranx gives 0, we give `constant`. The scores of the lists here differ.
- CombMED is ranx's true median: our mode "median". Our default is the mean that gave the paper's figures.
- Borda is Aslam and Montague's: our points "pool". The paper's points are by the length of each list.
- Condorcet is Condorcet-fuse with Python's sort on the order of a set; the first item compared wins a draw, and
  absent items come last. The order is the same as ours only if majorities are strict and transitive.
- SegFuse of ranx reads the sizes of the article's segments as their ends: our segments "ends".
"""

import warnings

import numpy as np
import pytest

import rankloom as rl
from rankloom.methods import optimize

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]  # ranx compiles, and warns


@pytest.fixture(scope="module")
def ranx():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("ranx")


def lists(n_queries=12, depth=6, n_items=12, m=3, seed=0):
    random = np.random.default_rng(seed)
    return [
        rl.Ranks.from_dict(
            {
                f"q{q}": {f"d{i}": float(s) for i, s in zip(*drawn(random, n_items, depth), strict=True)}
                for q in range(n_queries)
            }
        )
        for _ in range(m)
    ]


def drawn(random, n_items, depth):
    """Return items with distinct scores that are exact in float32."""
    return random.permutation(n_items)[:depth], random.permutation(64)[:depth] / 4


def of_ranx(ranx, ranks, method, norm=None, params=None):
    runs = [ranx.Run(r.to_dict()) for r in ranks]
    fused = ranx.fuse(runs, norm=norm, method=method, params=params)
    return {q: dict(fused[q]) for q in runs[0].keys()}  # noqa: SIM118 - a Run is not a dict


def assert_same_scores(ours, theirs):
    assert ours.keys() == theirs.keys()
    for q, row in theirs.items():
        assert ours[q] == pytest.approx(row, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("ours", "theirs", "options"),
    [
        ("combsum", "sum", {}),
        ("combmin", "min", {}),
        ("combmax", "max", {}),
        ("combmed", "med", {"mode": "median"}),
        ("combanz", "anz", {}),
        ("combmnz", "mnz", {}),
    ],
)
def test_the_comb_family_with_min_max(ranx, ours, theirs, options):
    assert_same_scores(rl.fuse(lists(), ours, 40, **options).to_dict(), of_ranx(ranx, lists(), theirs, "min-max"))


@pytest.mark.parametrize(
    ("ours", "theirs"), [("max_norm", "max"), ("sum_norm", "sum"), ("z_score", "zmuv"), ("rank_norm", "rank")]
)
def test_other_normalizations_with_combsum(ranx, ours, theirs):
    got = rl.fuse(lists(), "combsum", 40, normalization=ours).to_dict()
    assert_same_scores(got, of_ranx(ranx, lists(), "sum", theirs))


def test_rrf(ranx):
    assert_same_scores(rl.fuse(lists(), "rrf", 40).to_dict(), of_ranx(ranx, lists(), "rrf"))


@pytest.mark.parametrize(
    ("ours", "theirs", "params"),
    [
        ("isr", "isr", {}),
        ("log_isr", "log_isr", {}),
        ("logn_isr", "logn_isr", {}),
        ("logn_isr(sigma=0.7)", "logn_isr", {"sigma": 0.7}),
        ("rbc(persistence=0.8)", "rbc", {"phi": 0.8}),
    ],
)
def test_methods_that_use_positions(ranx, ours, theirs, params):
    assert_same_scores(rl.fuse(lists(), ours, 40).to_dict(), of_ranx(ranx, lists(), theirs, params=params))


@pytest.mark.parametrize(
    ("ours", "theirs", "params"),
    [
        ("gmnz(gamma=0.3)", "gmnz", {"gamma": 0.3}),
        ("mixed(weights=[0.5, 0.2, 0.3])", "mixed", {"weights": [0.5, 0.2, 0.3]}),
        ("wmnz(weights=[0.5, 0.2, 0.3])", "wmnz", {"weights": [0.5, 0.2, 0.3]}),
        ("wsum(weights=[0.5, 0.2, 0.3])", "wsum", {"weights": [0.5, 0.2, 0.3]}),
        ("combsum(weights=[0.5, 0.2, 0.3])", "wsum", {"weights": [0.5, 0.2, 0.3]}),
        ("borda(points=pool, weights=[0.5, 0.2, 0.3])", "w_bordafuse", {"weights": [0.5, 0.2, 0.3]}),
    ],
)
def test_methods_that_weigh(ranx, ours, theirs, params):
    theirs = of_ranx(ranx, lists(), theirs, "min-max", params)
    assert_same_scores(rl.fuse(lists(), ours, 40).to_dict(), theirs)


def test_borda_with_points_of_the_pool(ranx):
    ours = rl.fuse(lists(), "borda", 40, points="pool").to_dict()
    assert_same_scores(ours, of_ranx(ranx, lists(), "bordafuse"))


def test_weighted_condorcet_where_majorities_are_strict_and_transitive(ranx):
    """Weights that never draw; items in all lists."""
    ranks, weights = lists(n_queries=40, depth=5, n_items=5), [0.5, 0.3, 0.4]
    wins = rl.fuse(ranks, "condorcet", weights=weights).to_dict()
    transitive = [q for q, row in wins.items() if len(set(row.values())) == 5]
    assert len(transitive) > 20
    theirs = of_ranx(ranx, ranks, "w_condorcet", params={"weights": weights})
    ours = rl.fuse(ranks, "condorcet(variant=fuse, absent=last)", weights=weights).to_dict()
    for q in transitive:
        assert list(ours[q]) == sorted(theirs[q], key=lambda item: -theirs[q][item])


@pytest.mark.parametrize("variant", ["wins", "copeland", "fuse"])
def test_condorcet_where_majorities_are_strict_and_transitive(ranx, variant):
    """Three rankers that list the same items: no draws. Different numbers of wins: transitive."""
    ranks = lists(n_queries=40, depth=5, n_items=5)
    wins = rl.fuse(ranks, "condorcet")
    transitive = [q for q, row in wins.to_dict().items() if len(set(row.values())) == 5]
    assert len(transitive) > 20
    theirs = of_ranx(ranx, ranks, "condorcet")
    ours = rl.fuse(ranks, "condorcet", variant=variant).to_dict()
    for q in transitive:
        assert list(ours[q]) == sorted(theirs[q], key=lambda item: -theirs[q][item])


def judged(ranks, seed=1):
    """Return judgments of half of the items of each query, one in two relevant, and of one that is not listed."""
    random = np.random.default_rng(seed)
    return {
        query: {f"d{i}": int(random.integers(0, 2)) for i in random.permutation(12)[:6]} | {"unlisted": 1}
        for query in ranks[0].to_dict()
    }


def deep_lists(seed=0):
    """Return lists of different lengths, some longer than the first intervals and segments."""
    random = np.random.default_rng(seed)
    rows = [{f"q{q}": drawn(random, 60, int(random.integers(12, 60))) for q in range(9)} for _ in range(3)]
    return [
        rl.Ranks.from_dict({q: {f"d{i}": float(s) for i, s in zip(*row, strict=True)} for q, row in lists.items()})
        for lists in rows
    ]


@pytest.mark.parametrize(
    ("ours", "theirs", "trained"),
    [
        ("probfuse(segments=4)", "probfuse", {"min_n_segments": 4, "max_n_segments": 4}),
        ("probfuse(segments=7)", "probfuse", {"min_n_segments": 7, "max_n_segments": 7}),
        ("segfuse(segments=ends)", "segfuse", {}),
        ("slidefuse(window=2)", "slidefuse", {"min_w": 2, "max_w": 2}),
        ("bayesfuse", "bayesfuse", {}),
        ("mapfuse", "mapfuse", {}),
        ("posfuse", "posfuse", {}),
    ],
)
@pytest.mark.parametrize("make", [lists, deep_lists])
def test_supervised_methods(ranx, make, ours, theirs, trained):
    """Trained on some lists, used on others."""
    train, test = make(seed=5), make(seed=6)
    qrels = judged(train)
    runs = [ranx.Run(r.to_dict()) for r in train]
    shown = {} if not trained else {"show_progress": False}
    params = ranx.optimize_fusion(ranx.Qrels(qrels), runs, "min-max", theirs, "map", **trained, **shown)
    fused = rl.fuse(test, rl.train(train, qrels, ours), 200)
    assert_same_scores(fused.to_dict(), of_ranx(ranx, test, theirs, "min-max", params))


def test_tuned_weights_are_as_good(ranx):
    """ranx compares sums of floats with 1, and so leaves some weights of its grid out; ours is at least as good."""
    train = lists(n_queries=20)
    qrels = judged(train)
    runs = [ranx.Run(r.to_dict()) for r in train]
    _, report = ranx.optimize_fusion(
        ranx.Qrels(qrels), runs, "min-max", "wsum", "ndcg@5", True, rounding_digits=6, show_progress=False
    )
    ours = optimize(train, qrels, "wsum", "ndcg@5")
    assert len(ours.trials) == 66
    assert len(report.results) < 66
    assert ours.score >= max(report.results) - 1e-9
