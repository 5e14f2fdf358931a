import numpy as np
import pytest

import rankloom as rl
from rankloom.errors import InputError
from rankloom.methods import Grid, optimize


def noisy(rng, truth, noise):
    """Return a ranker of 12 items for each query, whose scores are the grades plus noise."""
    rows = {}
    for query, grades in truth.items():
        scores = {item: grade + noise * rng.normal() for item, grade in grades.items()}
        rows[query] = {item: float(np.float32(scores[item])) for item in sorted(scores, key=lambda i: -scores[i])}
    return rl.Ranks.from_dict(rows)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    truth = {f"q{q}": {f"d{i}": int(rng.random() < 0.3) for i in range(12)} for q in range(40)}
    return {"good": noisy(rng, truth, 0.6), "poor": noisy(rng, truth, 3.0), "fair": noisy(rng, truth, 1.0)}, truth


def test_the_grid_is_complete_and_its_best_is_returned(data):
    ranks, qrels = data
    best = optimize(ranks, qrels, "combsum", "map")
    assert len(best.trials) == 66
    assert best.score == max(score for _, score in best.trials) == best.table()[0][1]
    assert best.spelling == best.table()[0][0]
    fused = rl.fuse(ranks, best.method, 40)
    assert rl.evaluate(fused, qrels=qrels, measures="map")["map"] == pytest.approx(best.score)
    assert rl.fuse(list(ranks.values()), best.spelling, 40).to_dict() == fused.to_dict()


def test_a_poor_ranker_gets_the_smallest_weight(data):
    ranks, qrels = data
    weights = dict(rl.registry.Call.parse(optimize(ranks, qrels, "combsum").spelling).options)["weights"]
    assert min(weights) == weights[1]


def test_weights_belong_to_rankers_by_name(data):
    ranks, qrels = data
    best = optimize(ranks, qrels, "combsum", search="grid(step=0.25)")
    turned = dict(reversed(ranks.items()))
    scores = [rl.evaluate(rl.fuse(r, best.method), qrels=qrels)["ndcg@10"] for r in (ranks, turned)]
    assert scores[0] == pytest.approx(scores[1])


def test_bayes_comes_close_to_the_grid(data):
    ranks, qrels = data
    grid = optimize(ranks, qrels, "combsum", search=Grid(step=0.05))
    found = optimize(ranks, qrels, "combsum", search="bayes(trials=40)")
    assert len(found.trials) <= 40
    assert found.score >= grid.score - 0.005


def test_options_of_the_spelling_are_fixed(data):
    ranks, qrels = data
    best = optimize(ranks, qrels, "rrf(depth=5)", space={"constant": [1, 60]})
    assert [spelling for spelling, _ in best.trials] == ["rrf(constant=1, depth=5)", "rrf(depth=5)"]


def test_supervised_methods_are_trained_in_every_trial(data):
    ranks, qrels = data
    best = optimize(ranks, qrels, "probfuse", space={"segments": [1, 4, 12]})
    assert str(best.method) == best.spelling
    assert best.spelling != "probfuse(segments=1)"  # which knows nothing of positions
    assert rl.evaluate(rl.fuse(ranks, best.method), qrels=qrels)["ndcg@10"] == pytest.approx(best.score)


def test_progress_counts_trials(data):
    calls = []
    optimize(*data, "rrf", progress=lambda *call: calls.append(call))
    assert calls == [("Optimizing", done, 10) for done in range(1, 11)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "fg"}, "The method 'fg' needs the lists of the collection, which cannot be split by query"),
        ({"method": "combsum", "search": "random"}, "Unknown search 'random'; choose from bayes, grid."),
        (
            {"method": "combsum", "search": "grid(step=0.001)"},
            "The grid has 501,501 points",
        ),
        ({"method": "combsum", "measure": "ncdg"}, "Did you mean 'ndcg'?"),
        ({"method": "combsum", "search": "bayes(trials=0)"}, "trials must be a whole number, at least 1; got 0."),
        ({"method": "mapfuse"}, "Say what to search"),
        ({"method": "combmin", "space": {"weights": [[1, 1]]}}, "has no option 'weights'"),
    ],
)
def test_bad_input_raises(data, options, message):
    with pytest.raises(InputError) as caught:
        optimize(*data, **options)
    assert message in str(caught.value)
