import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import rankloom as rl
from rankloom.cache import Cache
from rankloom.errors import InputError
from rankloom.experiment import Experiment, Results, run
from rankloom.experiment.material import answers, located
from rankloom.experiment.results import (
    ComparatorRecord,
    CorrelationRecord,
    CutoffRecord,
    MethodRecord,
    RankerRecord,
    SelectionRecord,
    TimeRecord,
    from_json,
    to_json,
)
from rankloom.selection import balances
from rankloom.spelling import Call

SMALL = {
    "name": "few digits",
    "collection": "digits(first=150)",
    "rankers": {
        "pixels": "vectors(part=pixels, metric=l2)",
        "sums": "vectors(part=sums, metric=l1)",
        "edges": "vectors(part=edges, metric=l1)",
    },
    "methods": ["fg", "rrf", "combsum", "recknngraphccs"],
    "measures": ["ndcg@10", "p@5"],
    "cutoffs": [2, 10],
    "repeats": 2,
}


@pytest.fixture(scope="module")
def spec():
    return Experiment.from_dict(SMALL)


@pytest.fixture(scope="module")
def results(spec, tmp_path_factory):
    return run(spec, tmp_path_factory.mktemp("experiment") / "results", cache=Cache(None))


def by_method(results):
    return {(one.selection, one.method): one.values for one in results.of(MethodRecord)}


def test_every_kind_of_record_is_there(results):
    counts = [
        len(results.of(kind))
        for kind in (RankerRecord, CorrelationRecord, SelectionRecord, MethodRecord, CutoffRecord, ComparatorRecord)
    ]
    assert counts == [3, 3, 3, 12, 4, 2]
    assert [len(one.offline) for one in results.of(TimeRecord)] == [2, 2, 2]


def test_values_are_those_of_the_functions_called_by_hand(results):
    from rankloom.datasets import digits

    some = digits(first=150)
    ranks = [rl.Ranks.from_vectors(some.parts[p], m) for p, m in (("pixels", "l2"), ("sums", "l1"), ("edges", "l1"))]
    labels = list(some.labels)
    rrf = rl.fuse([one.head(10) for one in ranks], "rrf", 10)
    fg = rl.FusionIndex.build(ranks, cutoff=10).search(k=10)
    for name, answer in (("rrf", rrf), ("fg", fg)):
        expected = rl.evaluate(answer, labels=labels, measures=["ndcg@10"], per_query=True)["ndcg@10"]
        np.testing.assert_array_equal(by_method(results)["all", name]["ndcg@10"], expected)
    alone = {one.ranker: one.values["ndcg@10"].mean() for one in results.of(RankerRecord)}
    jaccard = results.of(CorrelationRecord)[0].matrix
    assert jaccard[0, 1] == rl.correlation(ranks[0], ranks[1])
    best = balances(alone, jaccard)[0]
    pair = next(one for one in results.of(SelectionRecord) if one.selection == "pair")
    assert set(pair.rankers) == {best.first, best.second}


def test_records_and_results_read_back(results, tmp_path):
    results.write(tmp_path)
    again = Results.read(tmp_path)
    assert (again.experiment, again.about) == (results.experiment, results.about)
    for one, other in zip(results.records, again.records, strict=True):
        assert to_json(from_json(to_json(one))) == to_json(one) == to_json(other)


def test_a_second_run_does_nothing_anew(spec, tmp_path, monkeypatch):
    run(spec, tmp_path / "r", cache=Cache(None))
    first = (tmp_path / "r" / "results.jsonl").read_text().splitlines()[1:]
    monkeypatch.setattr("rankloom.experiment.protocol.fuse", None)  # would fail if it were called
    run(spec, tmp_path / "r", cache=Cache(None))
    assert (tmp_path / "r" / "results.jsonl").read_text().splitlines()[1:] == first


def test_a_method_more_costs_only_itself(spec, tmp_path, monkeypatch):
    run(spec, tmp_path, cache=Cache(None))
    calls = []
    monkeypatch.setattr("rankloom.experiment.protocol.fuse", lambda *a, **o: calls.append(a[1]) or rl.fuse(*a, **o))
    run(Experiment.from_dict({**SMALL, "methods": [*SMALL["methods"], "borda"]}), tmp_path, cache=Cache(None))
    assert calls == ["borda"] * 3


def test_a_killed_experiment_goes_on_where_it_was(spec, results, tmp_path):
    """Killed by the system in the middle, with no time to tidy up."""
    code = (
        "import sys, time; from pathlib import Path; from rankloom.cache import Cache\n"
        "from rankloom.experiment import Experiment, run\n"
        "def slow(stage, done, total):\n"
        "    if stage == 'Experiment' and done > 7: time.sleep(60)\n"
        "run(Experiment.from_toml(sys.argv[1]), Path(sys.argv[2]), cache=Cache(None), progress=slow)\n"
    )
    folder = tmp_path / "r"
    process = subprocess.Popen([sys.executable, "-c", code, spec.to_toml(), str(folder)])
    while process.poll() is None and len(list(folder.glob("cells/*.json"))) < 8:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    done = {path: path.stat().st_mtime_ns for path in folder.glob("cells/*.json")}
    assert not (folder / "results.jsonl").exists()
    again = run(spec, folder, cache=Cache(None))
    assert all(path.stat().st_mtime_ns == when for path, when in done.items())
    assert len(again.records) == len(results.records)
    for key, values in by_method(results).items():
        for measure, value in values.items():
            np.testing.assert_array_equal(by_method(again)[key][measure], value)


def test_a_damaged_step_is_done_again(spec, results, tmp_path):
    run(spec, tmp_path, cache=Cache(None))
    for path in tmp_path.glob("cells/*.json"):
        path.write_text(path.read_text()[:20])
    again = run(spec, tmp_path, cache=Cache(None))
    assert len(again.records) == len(results.records)


def test_threads_do_not_change_a_bit(spec, results, tmp_path):
    one = run(spec, tmp_path, cache=Cache(None), threads=1)
    for key, values in by_method(results).items():
        np.testing.assert_array_equal(by_method(one)[key]["ndcg@10"], values["ndcg@10"])


def test_a_folder_of_something_else_is_left_alone(spec, tmp_path):
    (tmp_path / "thesis.doc").write_text("x")
    with pytest.raises(InputError, match="choose a new folder"):
        run(spec, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.doc"]
    with pytest.raises(InputError, match="Cannot make the folder"):
        run(spec, tmp_path / "thesis.doc" / "r")


def test_unfinished_or_damaged_results_are_told_of(tmp_path):
    with pytest.raises(InputError, match="run the experiment to its end first"):
        Results.read(tmp_path)
    (tmp_path / "results.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match="not of format 1"):
        Results.read(tmp_path)
    (tmp_path / "results.jsonl").write_text('{"format": 1}\nnot json\n')
    with pytest.raises(InputError, match=r"results\.jsonl:2"):
        Results.read(tmp_path)


def test_the_same_pair_twice_makes_room_for_the_best_three(tmp_path):
    rankers = {**SMALL["rankers"], "blocks": "vectors(part=blocks, metric=l2)"}
    spec = {**SMALL, "rankers": rankers, "methods": ["rrf"], "cutoffs": [2], "repeats": 1}
    found = run(Experiment.from_dict({**spec, "selections": ["pair", "best(2)"]}), tmp_path / "a", cache=Cache(None))
    pair = found.of(SelectionRecord)[0].rankers
    top = sorted(found.of(RankerRecord), key=lambda one: -one.values["ndcg@10"].mean())
    assert (set(pair) == {one.ranker for one in top[:2]}) == any(
        "same rankers as pair" in n for n in found.about["notes"]
    )


def write_runs(folder):
    rng = np.random.default_rng(3)
    items = [f"d{i}" for i in range(30)]
    for name in ("a", "b"):
        lists = {
            f"q{i}": dict(zip(rng.permutation(items)[:12].tolist(), range(12, 0, -1), strict=True)) for i in range(6)
        }
        rl.write_run(rl.Ranks.from_dict(lists), folder / f"{name}.run")
        own = rl.Ranks.from_vectors(rng.normal(size=(30, 4)), "l2", 12, item_ids=rl.Ids(items), query_ids=rl.Ids(items))
        rl.write_run(own, folder / f"{name}-items.run")
    (folder / "qrels").write_text("".join(f"q{i} 0 d{j} {j % 3}\n" for i in range(6) for j in range(0, 30, 4)))


def runs_spec(**changes):
    rankers = {"a": "file(path=a.run)", "b": "file(path=b.run)"}
    base = {"name": "runs", "collection": "files(qrels=qrels)", "rankers": rankers, "methods": ["fg", "rrf", "rkgraph"]}
    return Experiment.from_dict({**base, "cutoffs": [2], "repeats": 1, **changes})


def test_run_files_are_fused_by_what_works_on_queries_alone(tmp_path):
    write_runs(tmp_path)
    found = run(runs_spec(), tmp_path / "r", base=tmp_path, cache=Cache(None))
    assert {one.method for one in found.of(MethodRecord)} == {"rrf"}
    assert found.of(TimeRecord) == found.of(ComparatorRecord) == []
    notes = " ".join(found.about["notes"])
    assert "fg needs the lists of the collection's own items: give every ranker items=..." in notes
    assert "rkgraph needs a collection whose items are the queries" in notes
    assert found.of(RankerRecord)[0].estimates == {}


def test_with_the_lists_of_items_fusion_graphs_answer_outside_queries(tmp_path):
    write_runs(tmp_path)
    rankers = {name: f"file(path={name}.run, items={name}-items.run)" for name in "ab"}
    found = run(runs_spec(rankers=rankers), tmp_path / "r", base=tmp_path, cache=Cache(None))
    read = [[rl.read_run(tmp_path / f"{name}{kind}.run") for name in "ab"] for kind in ("", "-items")]
    answer = rl.fuse(read[0], "fg", 10, collection=read[1])
    expected = rl.evaluate(answer, qrels=tmp_path / "qrels", per_query=True)["ndcg@10"]
    np.testing.assert_array_equal(by_method(found)["all", "fg"]["ndcg@10"], expected)
    assert set(found.of(RankerRecord)[0].estimates) == {"authority", "reciprocal"}


def test_measures_say_how_many_answers_are_asked_for():
    assert answers(Experiment.from_dict({**SMALL, "measures": ["ns", "p@5"]})) == 5
    assert answers(Experiment.from_dict({**SMALL, "measures": ["map", "p@5"], "depth": 70})) == 70
    assert answers(Experiment.from_dict({**SMALL, "k": 3})) == 3


def test_files_are_looked_for_beside_the_specification(tmp_path, monkeypatch):
    monkeypatch.setenv("WHERE", "/data")
    assert dict(located(Call.parse("file(path=x.run)"), tmp_path).options) == {"path": str(tmp_path / "x.run")}
    assert dict(located(Call.parse("file(path=$WHERE/x.run)"), tmp_path).options) == {"path": "/data/x.run"}
    with pytest.raises(InputError, match="that is not set; set it"):
        located(Call.parse("file(path=$NOWHERE/x.run)"), tmp_path)


def test_a_collection_that_cannot_be_judged_is_refused(tmp_path):
    (tmp_path / "texts.csv").write_text("id,text\na,x\nb,y\n")
    spec = {**SMALL, "collection": "table(path=texts.csv)", "rankers": {"f": "file(path=f.run)"}}
    with pytest.raises(InputError, match="neither labels nor judged queries"):
        run(Experiment.from_dict(spec), tmp_path / "r", base=tmp_path, cache=Cache(None))
