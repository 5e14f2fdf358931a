import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloom as rl
from rankloom.errors import InputError
from rankloom.methods import NORMALIZATIONS
from strategies import examples
from strategies import ranks as some_ranks

#: a: 1, 0.75, 0 after min-max; b: 1, 0
A = rl.Ranks.from_dict({"q": {"x": 5.0, "y": 4.0, "z": 1.0}})
B = rl.Ranks.from_dict({"q": {"y": 0.9, "w": 0.1}})


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("wsum(weights=[2, 3])", {"y": 2 * 0.75 + 3, "x": 2.0, "z": 0.0, "w": 0.0}),
        ("wmnz(weights=[2, 3])", {"y": (2 + 3) * 1.75, "x": 2.0, "z": 0.0, "w": 0.0}),
        ("mixed(weights=[2, 3])", {"y": 2**0.5 * 4.5, "x": 2.0, "z": 0.0, "w": 0.0}),
        ("gmnz(gamma=3)", {"y": 2**3 * 1.75, "x": 1.0, "z": 0.0, "w": 0.0}),
    ],
)
def test_the_formula(method, expected):
    assert rl.fuse([A, B], method).to_dict()["q"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("wsum(weights=[2, 1])", "combsum(weights=[2, 1])"),
        ("wmnz", "combmnz"),
        ("mixed(weights=[2, 1])", "gmnz(gamma=0.5, weights=[2, 1])"),
        ("gmnz(gamma=0)", "combsum"),
        ("gmnz(gamma=1, weights=[2, 1])", "combmnz(weights=[2, 1])"),
        ("dbsf(weights=[2, 1])", "combsum(normalization=three_sigma, weights=[2, 1])"),
    ],
)
def test_methods_that_are_special_cases_of_each_other(one, other):
    same = rl.fuse([A, B], other).to_dict()["q"]
    assert rl.fuse([A, B], one).to_dict()["q"] == pytest.approx(same)


def plain_dbsf(rows, rule):
    """Distribution-based score fusion in plain Python: {item: score} of one query."""
    deviation = {"qdrant": statistics.stdev, "haystack": statistics.pstdev}[rule]
    scaled: dict[int, list[float]] = {}
    for row in rows:
        spread = deviation(row.values()) if len(set(row.values())) > 1 else 0.0
        mean = statistics.fmean(row.values()) if row else 0.0
        for item, score in row.items():
            equal = {"qdrant": 0.5, "haystack": 0.0}[rule]
            scaled.setdefault(item, []).append((score - mean + 3 * spread) / (6 * spread) if spread else equal)
    return {item: {"qdrant": sum, "haystack": max}[rule](values) for item, values in scaled.items()}


@pytest.mark.parametrize("rule", ["qdrant", "haystack"])
@examples(50)
@given(st.data())
def test_dbsf_equals_a_plain_version(rule, data):
    ranks = [data.draw(some_ranks(n_items=6, n_queries=1, scores=True)) for _ in range(3)]
    rows = [next(iter(r.to_dict().values())) for r in ranks]
    assert rl.fuse(ranks, "dbsf", 18, rule=rule).to_dict()["0"] == pytest.approx(plain_dbsf(rows, rule), abs=1e-6)


@pytest.mark.long
def test_dbsf_equals_that_of_the_qdrant_client():
    fusion = pytest.importorskip("qdrant_client.hybrid.fusion")
    models = pytest.importorskip("qdrant_client.models")
    lists = [{"1": 9.0, "2": 7.5, "3": 7.0}, {"2": 0.5}, {"3": 0.25, "4": 0.25}]
    points = [[models.ScoredPoint(id=int(i), version=0, score=s) for i, s in row.items()] for row in lists]
    theirs = {str(one.id): one.score for one in fusion.distribution_based_score_fusion(points, 10)}
    ours = rl.fuse([rl.Ranks.from_dict({"q": row}) for row in lists], "dbsf").to_dict()["q"]
    assert ours == pytest.approx(theirs)


def test_dbsf_needs_scores():
    with pytest.raises(InputError, match="three_sigma' needs scores"):
        rl.fuse([rl.Ranks([[0, 1]])], "dbsf")


@pytest.mark.parametrize("gating", ["none", "relu"])
def test_logodds_equals_that_of_bayesian_bm25(gating):
    theirs = pytest.importorskip("bayesian_bm25")
    random = np.random.default_rng(5)
    words, cosine = np.sort(random.gamma(2.0, 4.0, 12))[::-1] + 1, np.sort(random.uniform(-0.9, 0.99, 12))[::-1]
    first, second = (dict(zip(random.permutation(16)[:12].tolist(), row, strict=True)) for row in (words, cosine))
    transform = theirs.BayesianProbabilityTransform(alpha=1 / words.std(), beta=float(np.median(words)))
    even = 0.5  # of what a ranker does not list
    expected = {}
    for item in first | second:
        probability = [
            transform.likelihood(first[item]) if item in first else even,
            theirs.cosine_to_probability(second[item]) if item in second else even,
        ]
        combined = theirs.log_odds_conjunction(np.array(probability), alpha=0.5, gating=gating)
        expected[str(item)] = np.log(combined / (1 - combined))
    ranks = [rl.Ranks([list(one)], [list(one.values())], 16) for one in (first, second)]
    assert rl.fuse(ranks, "logodds", 16, gating=gating).to_dict()["0"] == pytest.approx(expected, abs=1e-5)


def test_tmm_of_cosines_starts_at_the_lowest_cosine():
    ranks = rl.Ranks([[0, 1, 2]], [[0.5, 0.2, -0.4]])
    assert NORMALIZATIONS["tmm"](ranks)[0] == pytest.approx([1.0, 1.2 / 1.5, 0.6 / 1.5])
    assert NORMALIZATIONS["tmm"](rl.Ranks([[0, 1]], [[4.0, -2.0]]))[0] == pytest.approx([1.0, 0.0])
    assert NORMALIZATIONS["tmm"](rl.Ranks([[0]], [[0.0]]))[0] == pytest.approx([1.0])
