"""Tuning on a split, lists without the item itself, fused lists as runs, and files in another order."""

from dataclasses import replace

import numpy as np
import pytest

import rankloom as rl
from rankloom.datasets import open_collection
from rankloom.errors import InputError
from rankloom.evaluation import class_means, evaluate
from rankloom.experiment import Experiment, run
from rankloom.experiment.protocol import _sweep_notes, tuned
from rankloom.experiment.results import MethodRecord, RankerRecord
from rankloom.io.cache import Cache
from rankloom.methods import METHODS, register_method

SPEC = {
    "name": "few digits",
    "collection": "digits(first=150)",
    "rankers": {"pixels": "vectors(part='pixels', metric=l2)", "sums": "vectors(part=sums, metric=l1)"},
    "methods": ["rrf", "rkgraph(neighbors=sweep)", "rkgraph(neighbors=tuned)"],
    "names": {"rrf": "Reciprocal ranks"},
    "measures": ["ndcg@10"],
    "selections": ["all"],
    "cutoffs": [10],
    "curve": [],
    "comparators": [],
    "depth": 60,
    "repeats": 0,
    "shuffle": False,
}


def ran(folder, **more):
    return run(Experiment.from_dict({**SPEC, **more}), folder, cache=Cache(None), runs=True)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    return folder, ran(folder)


def test_the_specification_parses_back():
    spec = Experiment.from_dict({**SPEC, "split": 0.8, "units": "classes", "exclude_self": True})
    assert Experiment.from_toml(spec.to_toml()) == spec
    assert spec.names == (("rrf", "Reciprocal ranks"),)
    for wrong, message in (
        ({"split": 2}, "split must be"),
        ({"names": {"rrf": 1}}, "names must be"),
        ({"units": "x"}, "unit"),
    ):
        with pytest.raises(InputError, match=message):
            Experiment.from_dict({**SPEC, **wrong})


def test_each_query_gets_the_variant_that_is_best_on_the_other_part():
    values = np.random.default_rng(0).random((4, 30))
    chosen = tuned(values, 0.5, 3)
    part = np.random.default_rng(3).permutation(30) % 2
    for one in (0, 1):
        assert set(chosen[part == one]) == {values[:, part != one].mean(axis=1).argmax()}
    assert len(np.unique(np.random.default_rng(3).permutation(30) % 5)) == 5
    assert len(tuned(values, 0.8, 3)) == 30
    assert tuned(values[:, :1], 0.5, 0).tolist() == [0]


@pytest.mark.parametrize(("split", "share"), [(0.1, "50%"), (0.5, "50%"), (0.7, "67%"), (0.8, "80%")])
def test_the_note_says_on_how_many_queries_sizes_were_tuned(split, share):
    experiment = Experiment.from_dict({**SPEC, "methods": ["rkgraph(neighbors=tuned)"], "split": split})
    (note,) = _sweep_notes(experiment.methods, experiment)
    assert f"on {share} of the queries" in note


def test_tuning_is_measured_beside_the_best_by_labels(done):
    found = {one.method: one for one in done[1].of(MethodRecord)}
    best, split = found["rkgraph(neighbors=sweep)"], found["rkgraph(neighbors=tuned)"]
    assert split.mean("ndcg@10") <= best.mean("ndcg@10")
    assert split.chosen.startswith("rkgraph(neighbors=")
    assert any("'tuned' (rkgraph): of 5, 10, 15, 20, 30, 50 neighbors" in note for note in done[1].about["notes"])


def test_fused_lists_are_written_as_runs(done):
    folder, results = done
    assert len(list((folder / "runs").iterdir())) == 3
    lists, labels = rl.read_run(folder / "runs" / "rrf-all.run"), open_collection("digits(first=150)").labels
    record = next(one for one in results.of(MethodRecord) if one.method == "rrf")
    own = dict(zip(open_collection("digits(first=150)").ids, labels, strict=True))
    given = {"labels": [own[id] for id in lists.item_ids], "query_labels": [own[id] for id in lists.query_ids]}
    if lists.n_items == 150:
        assert evaluate(lists, **given)["ndcg@10"] == pytest.approx(record.mean("ndcg@10"))
    assert lists.n_queries == 150


def test_runs_of_methods_with_a_slash_stay_in_their_folder(tmp_path, monkeypatch):
    def mine(ranks, k, *, model="a/b"):
        return rl.fuse(ranks, "rrf", k)

    monkeypatch.setattr(METHODS, "_known", dict(METHODS._known))
    register_method("mine")(mine)
    few = {"collection": "digits(first=30)", "rankers": {"sums": SPEC["rankers"]["sums"]}}
    ran(tmp_path, methods=["mine(model=../../c)"], **few)
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["mine(model=..%2F..%2Fc)-all.run"]


def test_items_are_left_out_of_their_own_lists(tmp_path):
    results = ran(tmp_path, exclude_self=True, methods=["rrf"])
    collection = open_collection("digits(first=150)")
    pixels = rl.Ranks.from_vectors(collection.part("pixels"), "l2", depth=11)
    expected = evaluate(pixels, labels=collection.labels, exclude_self=True, per_query=True)["ndcg@10"]
    assert results.of(RankerRecord)[0].values["ndcg@10"] == pytest.approx(expected)
    assert results.classes == [str(label) for label in collection.labels]
    assert len(class_means(expected, results.classes)) == 10
    spec = Experiment.from_dict({**SPEC, "exclude_self": True, "collection": "files(qrels=q.txt)"})
    (tmp_path / "q.txt").write_text("q 0 a 1\n")
    (tmp_path / "a.run").write_text("q Q0 a 1 1.0 x\n")
    wrong = replace(spec, rankers={"a": "file(path=a.run)"})
    with pytest.raises(InputError, match="exclude_self is for labeled items"):
        run(wrong, tmp_path / "out", base=tmp_path, cache=Cache(None))


def test_a_file_in_another_order_is_noted(tmp_path):
    collection = open_collection("digits(first=400)")
    rng, matrix = np.random.default_rng(0), collection.part("pixels").astype(float)
    distances = np.abs(matrix[:, None] - matrix).sum(axis=2)
    order = np.arange(400)
    for label in np.unique(collection.labels):
        members = np.flatnonzero(np.asarray(collection.labels) == label)
        order[members] = rng.permutation(members)
    np.save(tmp_path / "d.npy", distances[np.ix_(order, order)])
    rankers = {"pixels": "vectors(part=pixels, metric=l2)", "file": f'matrix(path="{tmp_path}/d.npy")'}
    with pytest.warns(rl.RankloomWarning):
        results = ran(tmp_path / "out", collection="digits(first=400)", rankers=rankers, methods=["rrf"])
    assert any(
        "agree within classes no more than shuffled ids would: pixels and file" in n for n in results.about["notes"]
    )
