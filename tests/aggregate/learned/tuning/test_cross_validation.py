import numpy as np
import pytest

import rankloom as rl
from rankloom.aggregate.learned.tuning import cross_validation
from rankloom.errors import InputError
from rankloom.methods import cross_validate


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    items = [f"d{i}" for i in range(10)]
    ranks = [rl.Ranks.from_dict({f"q{q}": rng.permutation(items).tolist()[:8] for q in range(23)}) for _ in range(2)]
    return ranks, {f"q{q}": {str(item): 1 for item in rng.permutation(items)[:4]} for q in range(20)}


def test_every_judged_query_is_fused_by_a_method_trained_on_the_others(data):
    ranks, qrels = data
    found = cross_validate(ranks, qrels, "posfuse", folds=4, k=10)
    assert sorted(np.bincount(found.folds)) == [5, 5, 5, 5]
    for fold in range(4):
        inside = [query for query, number in zip(found.ranks.query_ids, found.folds, strict=True) if number == fold]
        trained = rl.train(ranks, {q: qrels[q] for q in qrels if q not in inside}, "posfuse")
        expected = rl.fuse(ranks, trained, 10).to_dict()
        assert {q: found.ranks.to_dict()[q] for q in inside} == {q: expected[q] for q in inside}


def test_judgments_of_a_query_do_not_change_its_own_list(data):
    ranks, qrels = data
    before = cross_validate(ranks, qrels, "posfuse").ranks.to_dict()["q3"]
    changed = {**qrels, "q3": {f"d{i}": 1 for i in range(10)}}
    assert cross_validate(ranks, changed, "posfuse").ranks.to_dict()["q3"] == before


def test_scores_are_those_of_the_lists(data):
    ranks, qrels = data
    found = cross_validate(ranks, qrels, "mapfuse", "map")
    assert found.scores == pytest.approx(rl.evaluate(found.ranks, qrels=qrels, measures="map", per_query=True)["map"])
    assert found.mean == found.scores.mean()
    assert list(found.ranks.query_ids) == list(qrels)


def test_a_method_that_learns_nothing_is_a_baseline(data):
    ranks, qrels = data
    found = cross_validate(ranks, qrels, "rrf", k=10)
    assert found.spellings == ("rrf",) * 5
    fused = rl.fuse(ranks, "rrf").to_dict()
    assert found.ranks.to_dict() == {query: fused[query] for query in qrels}


def test_each_fold_is_tuned_on_the_others(data, monkeypatch):
    ranks, qrels = data
    seen = []
    original = cross_validation.tune
    monkeypatch.setattr(cross_validation, "tune", lambda q, *rest: seen.append(set(q.qrels)) or original(q, *rest))
    found = cross_validate(ranks, qrels, "rrf", search="grid", space={"constant": [1, 60]}, folds=4)
    assert len(seen) == 4
    for fold, queries in enumerate(seen):
        assert queries == {q for q, number in zip(qrels, found.folds, strict=True) if number != fold}
    assert set(found.spellings) <= {"rrf(constant=1)", "rrf"}


def test_the_seed_decides_the_split(data):
    splits = [cross_validate(*data, "rrf", seed=seed).folds.tolist() for seed in (0, 0, 1)]
    assert splits[0] == splits[1] != splits[2]


def test_progress_counts_folds(data):
    calls = []
    cross_validate(*data, "posfuse", folds=3, progress=lambda *call: calls.append(call))
    assert calls == [("Cross-validating", done, 3) for done in (1, 2, 3)]


@pytest.mark.parametrize("folds", [1, 21])
def test_bad_folds_raise(data, folds):
    with pytest.raises(InputError, match="folds must be from 2 to the number of judged queries, 20"):
        cross_validate(*data, "rrf", folds=folds)
