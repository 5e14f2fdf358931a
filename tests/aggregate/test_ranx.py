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

pytestmark = pytest.mark.filterwarnings("ignore")  # raised by ranx


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
