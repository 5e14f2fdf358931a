import json
import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import rankloom as rl
from rankloom.datasets import COLLECTIONS, Collection, Queries, open_collection
from rankloom.errors import InputError
from rankloom.evaluation import estimate
from rankloom.evaluation.selection import balances
from rankloom.experiment import Experiment, Results, run
from rankloom.experiment.inputs import answer_count, resolve_files
from rankloom.experiment.results import (
    ComparatorRecord,
    CorrelationRecord,
    CutoffRecord,
    MethodRecord,
    PairRecord,
    RankerRecord,
    SelectionRecord,
    TimeRecord,
    from_json,
    to_json,
)
from rankloom.experiment.spec import SWEPT_NEIGHBORS
from rankloom.experiment.step_cache import make_steps_folder
from rankloom.io.cache import Cache
from rankloom.rankers import RANKERS, rank_collection
from rankloom.registry import Call

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


def test_results_have_every_kind_of_record(results):
    counts = [
        len(results.of(kind))
        for kind in (RankerRecord, CorrelationRecord, SelectionRecord, MethodRecord, CutoffRecord, ComparatorRecord)
    ]
    assert counts == [3, 3, 3, 12, 6, 2]
    assert [len(one.offline) for one in results.of(TimeRecord)] == [2, 2, 2]


def test_values_equal_those_of_direct_calls(results):
    from rankloom.datasets import digits

    some = digits(first=150).shuffled(seed=0)
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


def test_the_first_method_is_measured_on_the_pair_of_each_correlation_measure(results):
    alone = {one.ranker: one.values["ndcg@10"].mean() for one in results.of(RankerRecord)}
    pairs, matrices = results.of(PairRecord), results.of(CorrelationRecord)
    assert [one.correlation for one in pairs] == ["jaccard", "kendall", "spearman"]
    for pair, matrix in zip(pairs, matrices, strict=True):
        best = balances(alone, matrix.matrix)[0]
        assert (set(pair.rankers), pair.method) == ({best.first, best.second}, "fg")
    np.testing.assert_array_equal(pairs[0].values["ndcg@10"], by_method(results)["pair", "fg"]["ndcg@10"])


def test_a_single_ranker_has_no_pairs(tmp_path):
    spec = {**SMALL, "rankers": {"pixels": "vectors(part=pixels, metric=l2)"}, "selections": ["all"], "repeats": 0}
    assert run(Experiment.from_dict({**spec, "curve": []}), tmp_path, cache=Cache(None)).of(PairRecord) == []


def test_comparators_and_times_can_be_skipped(tmp_path):
    spec = {**SMALL, "methods": ["rrf"], "selections": ["all"], "curve": [], "comparators": [], "repeats": 0}
    found = run(Experiment.from_dict(spec), tmp_path, cache=Cache(None))
    assert found.of(ComparatorRecord) == found.of(TimeRecord) == []


def test_recall_of_an_approximate_ranker_is_kept(tmp_path):
    rankers = {"near": "vectors(part=pixels, algorithm=cells)", "pixels": "vectors(part=pixels)"}
    spec = {**SMALL, "rankers": rankers, "methods": ["rrf"], "selections": ["all"], "curve": [], "comparators": []}
    run(Experiment.from_dict({**spec, "repeats": 0}), tmp_path, cache=Cache(None))
    assert [one.recall for one in Results.read(tmp_path).of(RankerRecord)] == [1.0, None]


def test_a_sweep_is_the_best_of_its_variants(tmp_path):
    sizes = [neighbors for neighbors in SWEPT_NEIGHBORS if neighbors <= 40]
    methods = ["rkgraph(neighbors=sweep)", "rkgraph", *(f"rkgraph(neighbors={size})" for size in sizes)]
    spec = {**SMALL, "methods": methods, "depth": 40, "selections": ["all"], "curve": [], "comparators": ["wgu"]}
    found = run(Experiment.from_dict({**spec, "repeats": 1}), tmp_path, cache=Cache(None))
    values = {one.method: one.values["ndcg@10"].mean() for one in found.of(MethodRecord)}
    first = found.of(MethodRecord)[0]
    assert (first.method, first.chosen) == (methods[0], max(methods[2:], key=values.__getitem__))
    assert values[methods[0]] == max(values.values())
    assert any("of 5, 10, 15, 20, 30, 50 neighbors" in note for note in found.about["notes"])


def copies_sorted_by_class():
    """Return items in pairs of equal vectors that say nothing about the classes, sorted by class."""
    vectors = np.random.default_rng(0).random((4, 3))[np.arange(80) % 4]
    labels = tuple(f"class {number // 8}" for number in range(80))
    return Collection("copies", rl.Ids(f"i{number}" for number in range(80)), {"vectors": vectors}, labels=labels)


def test_shuffled_items_do_not_leak_their_classes_through_ties(tmp_path, monkeypatch):
    monkeypatch.setitem(COLLECTIONS._known, "copies", copies_sorted_by_class)
    spec = {"name": "c", "collection": "copies", "rankers": ["vectors(metric=l2)"], "methods": ["rrf"], "curve": []}
    found = {
        shuffle: run(
            Experiment.from_dict({**spec, "selections": ["all"], "shuffle": shuffle, "repeats": 1}),
            tmp_path / str(shuffle),
            cache=Cache(None),
        )
        for shuffle in (True, False)
    }
    means = {key: one.of(RankerRecord)[0].values["ndcg@10"].mean() for key, one in found.items()}
    assert means[False] != means[True]
    assert any("shuffled (seed 0)" in note for note in found[True].about["notes"])
    assert any("keep their order (shuffle = false)" in note for note in found[False].about["notes"])


def test_items_of_files_keep_their_order(tmp_path):
    write_runs(tmp_path)
    found = run(runs_spec(), tmp_path / "r", base=tmp_path, cache=Cache(None))
    assert any("there are no classes" in note for note in found.about["notes"])
    np.savez(tmp_path / "d.npz", vectors=np.ones((150, 2)), ids=[f"digit-{number:04d}" for number in range(150)])
    spec = Experiment.from_dict({**SMALL, "rankers": {"m": "vectors(path=d.npz)"}, "methods": ["rrf"], "curve": []})
    found = run(spec, tmp_path / "s", base=tmp_path, cache=Cache(None))
    assert any("m come from files" in note for note in found.about["notes"])


def test_records_and_results_round_trip(results, tmp_path):
    results.write(tmp_path)
    again = Results.read(tmp_path)
    assert (again.experiment, again.about) == (results.experiment, results.about)
    for one, other in zip(results.records, again.records, strict=True):
        assert to_json(from_json(to_json(one))) == to_json(one) == to_json(other)


def test_a_second_run_recomputes_nothing(spec, tmp_path, monkeypatch):
    run(spec, tmp_path / "r", cache=Cache(None))
    first = (tmp_path / "r" / "results.jsonl").read_text().splitlines()[1:]
    monkeypatch.setattr("rankloom.experiment.protocol.fuse", None)  # fails if called
    run(spec, tmp_path / "r", cache=Cache(None))
    assert (tmp_path / "r" / "results.jsonl").read_text().splitlines()[1:] == first


def test_adding_a_method_computes_only_that_method(spec, tmp_path, monkeypatch):
    run(spec, tmp_path, cache=Cache(None))
    calls = []
    monkeypatch.setattr("rankloom.experiment.protocol.fuse", lambda *a, **o: calls.append(a[1]) or rl.fuse(*a, **o))
    run(Experiment.from_dict({**SMALL, "methods": [*SMALL["methods"], "borda"]}), tmp_path, cache=Cache(None))
    assert calls == ["borda"] * 3


@pytest.mark.long
def test_a_killed_experiment_resumes(spec, results, tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from rankloom.io.cache import Cache\n"
        "from rankloom.experiment import Experiment, run\n"
        "def slow(stage, done, total):\n"
        "    if stage == 'Fusing' and done > 1: time.sleep(60)\n"
        "run(Experiment.from_toml(sys.argv[1]), Path(sys.argv[2]), cache=Cache(None), progress=slow)\n"
    )
    folder = tmp_path / "r"
    process = subprocess.Popen([sys.executable, "-c", code, spec.to_toml(), str(folder)])
    while process.poll() is None and len(list(folder.glob("steps/*.json"))) < 8:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    done = {path: path.stat().st_mtime_ns for path in folder.glob("steps/*.json")}
    assert not (folder / "results.jsonl").exists()
    again = run(spec, folder, cache=Cache(None))
    assert all(path.stat().st_mtime_ns == when for path, when in done.items())
    assert len(again.records) == len(results.records)
    for key, values in by_method(results).items():
        for measure, value in values.items():
            np.testing.assert_array_equal(by_method(again)[key][measure], value)


def test_a_damaged_step_is_recomputed(spec, results, tmp_path):
    run(spec, tmp_path, cache=Cache(None))
    for path in tmp_path.glob("steps/*.json"):
        path.write_text(path.read_text()[:20])
    again = run(spec, tmp_path, cache=Cache(None))
    assert len(again.records) == len(results.records)


def test_results_do_not_depend_on_the_number_of_threads(spec, results, tmp_path):
    one = run(spec, tmp_path, cache=Cache(None), threads=1)
    for key, values in by_method(results).items():
        np.testing.assert_array_equal(by_method(one)[key]["ndcg@10"], values["ndcg@10"])


def test_a_folder_with_other_files_is_rejected(spec, tmp_path):
    (tmp_path / "thesis.doc").write_text("x")
    with pytest.raises(InputError, match="choose a new folder"):
        run(spec, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.doc"]
    with pytest.raises(InputError, match="Cannot create the folder"):
        run(spec, tmp_path / "thesis.doc" / "r")


def test_a_file_with_the_name_of_a_result_does_not_make_an_experiment(tmp_path):
    (tmp_path / "experiment.toml").write_text("# mine")
    with pytest.raises(InputError, match="choose a new folder"):
        make_steps_folder(tmp_path)
    (tmp_path / "steps").mkdir()
    (tmp_path / "steps" / "neurons.csv").write_text("x")
    with pytest.raises(InputError, match="choose a new folder"):
        make_steps_folder(tmp_path)


def test_an_experiment_killed_before_its_first_step_resumes(tmp_path):
    (tmp_path / "steps").mkdir()
    (tmp_path / "steps" / ".rankloom-0123456789abcdef.tmp").write_text("{")
    (tmp_path / ".rankloom-0123456789abcdef.tmp").write_text("")
    assert make_steps_folder(tmp_path) == tmp_path / "steps"
    assert make_steps_folder(tmp_path / "new") == tmp_path / "new" / "steps"


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL and locks")
def test_the_next_run_removes_the_temporary_files_of_a_killed_one(tmp_path):
    write_runs(tmp_path)
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom rankloom.io.cache import Cache\n"
        "from rankloom.experiment import Experiment, run\n"
        "sync, left = os.fsync, int(sys.argv[3])\n"
        "def kill(descriptor):\n"
        "    global left\n"
        "    left -= 1\n"
        "    if not left: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    sync(descriptor)\n"
        "os.fsync = kill\n"
        "base = Path(sys.argv[2])\n"
        "run(Experiment.from_toml(sys.argv[1]), base / 'r', base=base, cache=Cache(base / 'cache'))\n"
    )
    for step in ("1", "4"):  # in the midst of writing a file
        command = [sys.executable, "-c", code, runs_spec().to_toml(), str(tmp_path), step]
        assert subprocess.run(command).returncode == -signal.SIGKILL
        assert len(list(tmp_path.rglob(".rankloom-*.tmp"))) == 1
    assert subprocess.run([*command[:-1], "0"]).returncode == 0
    assert list(tmp_path.rglob(".rankloom-*.tmp")) == []


@dataclass(frozen=True)
class Recorder:
    """A ranker that notes when it is fitted."""

    fitted: ClassVar[list[str]] = []
    part: str = "pixels"
    model: Path | None = None

    def fit(self, items, *, cache=None, progress=None):
        self.fitted.append("recorder")
        return RANKERS.make("vectors(metric=l2)").fit(items)


@pytest.fixture
def recorder():
    RANKERS.register("recorder")(Recorder)
    yield Recorder.fitted
    Recorder.fitted.clear()
    del RANKERS._known["recorder"]


def digits_spec(**rankers):
    return Experiment.from_dict({**SMALL, "rankers": rankers, "methods": ["rrf"], "cutoffs": [2], "repeats": 1})


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("file(path=no.run)", "The path of the ranker 'last': There is no file .*no.run"),
        ("file(path=bad.run)", r"bad\.run:1: expected 6 columns"),
        ("file(path=other.run)", "other.run lists an item that is not in the collection"),
        ("file(path=bad.npz)", "bad.npz"),
        ("matrix(path=bad.npy)", "Cannot read the matrix .*bad.npy"),
        (
            "matrix(path=small.npy)",
            r"small.npy has no ids, so it must have a row for each of 150 items; got shape \(3, 3\)",
        ),
        ("vectors(path=small.npy)", r"small.npy has no ids, so it must have a row for each of 150 items"),
        ("recorder(model=no.bin)", "The model of the ranker 'last': There is no file .*no.bin"),
        ("vectors(metrc=l2)", "has no option 'metrc'"),
        ("vectors(part=colors)", "needs colors, which these items lack"),
    ],
)
def test_all_inputs_are_checked_before_the_first_ranker_is_fitted(tmp_path, recorder, last, message):
    (tmp_path / "bad.run").write_text("a b c\n")
    (tmp_path / "other.run").write_text("q1 Q0 d1 1 1.0 x\n")
    (tmp_path / "bad.npz").write_bytes(b"PK junk")
    (tmp_path / "bad.npy").write_bytes(b"junk")
    np.save(tmp_path / "small.npy", np.zeros((3, 3)))
    with pytest.raises(InputError, match=message):
        run(digits_spec(first="recorder", last=last), tmp_path / "r", base=tmp_path, cache=Cache(None))
    assert recorder == []


def write_distances(folder):
    distances = np.random.default_rng(1).random((150, 150)) + 1 - np.eye(150)
    np.save(folder / "d.npy", distances)
    distances[7, 9] = np.nan
    np.save(folder / "nan.npy", distances)
    (folder / "ids").write_text("\n".join(open_collection("digits(first=150)").ids))


def test_matrices_are_checked_in_full_before_rankers_that_compute(tmp_path, recorder):
    write_distances(tmp_path)
    spec = digits_spec(a="recorder", b="matrix(path=nan.npy, list_file=ids)")
    with pytest.raises(InputError, match="must be finite; row 7"):
        run(spec, tmp_path / "r", base=tmp_path, cache=Cache(None))
    assert recorder == []


def test_checking_a_file_does_not_repeat_its_warnings(tmp_path, recorder):
    write_distances(tmp_path)
    spec = digits_spec(a="recorder", b="matrix(path=d.npy)")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(spec, tmp_path / "r", base=tmp_path, cache=Cache(None))
    assert sum("has no ids" in str(warning.message) for warning in caught) == 1


def test_rankers_keep_the_order_of_the_specification(tmp_path, recorder):
    write_distances(tmp_path)
    spec = digits_spec(a="recorder", b="matrix(path=d.npy, list_file=ids)", c="vectors(part=sums)")
    found = run(spec, tmp_path / "r", base=tmp_path, cache=Cache(None))
    assert [one.ranker for one in found.of(RankerRecord)] == ["a", "b", "c"]
    assert found.of(SelectionRecord)[0].rankers == ("a", "b", "c")


def test_a_failing_specification_leaves_earlier_results_intact(tmp_path):
    write_runs(tmp_path)
    run(runs_spec(), tmp_path / "r", base=tmp_path, cache=Cache(None))
    before = (tmp_path / "r" / "experiment.toml").read_text()
    with pytest.raises(InputError, match="There is no file"):
        run(runs_spec(rankers={"z": "file(path=z.run)"}), tmp_path / "r", base=tmp_path, cache=Cache(None))
    assert (tmp_path / "r" / "experiment.toml").read_text() == before


def test_the_written_specification_runs_from_any_folder(tmp_path, monkeypatch):
    write_runs(tmp_path)
    first = run(runs_spec(), tmp_path / "r", base=tmp_path, cache=Cache(None))
    again = Experiment.read(tmp_path / "r" / "experiment.toml")
    monkeypatch.chdir("/")
    second = run(again, tmp_path / "s", base=tmp_path / "r", cache=Cache(None))
    assert by_method(second).keys() == by_method(first).keys()


def test_a_failing_method_does_not_stop_the_others(tmp_path):
    write_runs(tmp_path)
    spec = runs_spec(methods=["combsum(weights=[1, 2, 3])", "rrf"], curve=["rrf"])
    found = run(spec, tmp_path / "r", base=tmp_path, cache=Cache(None))
    assert {one.method for one in found.of(MethodRecord)} == {"rrf"}
    (failed,) = found.about["failed"]
    assert failed.startswith("combsum(weights=[1, 2, 3]) on all failed: ")
    assert failed in Results.read(tmp_path / "r").about["notes"]


@pytest.mark.parametrize("selections", [["best(9)"], ["pair(authority)"]])
def test_without_a_selection_the_rankers_are_still_evaluated(tmp_path, selections):
    write_runs(tmp_path)
    found = run(runs_spec(selections=selections), tmp_path / "r", base=tmp_path, cache=Cache(None))
    assert found.about["failed"] == ["Nothing was fused: every selection is left out."]
    assert len(found.of(RankerRecord)) == 2
    assert found.of(MethodRecord) == []


def test_times_come_with_their_environment(tmp_path, monkeypatch):
    write_runs(tmp_path)
    run(runs_spec(), tmp_path / "r", base=tmp_path, cache=Cache(None), threads=1)
    monkeypatch.setattr("rankloom.experiment.provenance.machine", lambda: "another machine")
    more = runs_spec(methods=["fg", "rrf", "borda"])
    found = run(more, tmp_path / "r", base=tmp_path, cache=Cache(None), threads=2)
    made = {one.method: one.made for one in found.of(MethodRecord)}
    assert made["borda"] == found.about["made"]
    assert made["borda"].startswith("another machine; 2 threads; rankloom ")
    assert "; 1 threads; " in made["rrf"]
    assert found.about["versions"].keys() >= {"rankloom", "python", "numpy", "scikit-learn"}


def test_queries_without_a_list_do_not_count_in_correlations(tmp_path):
    write_runs(tmp_path)
    for name in "ab":
        lists = rl.read_run(tmp_path / f"{name}.run").to_dict()
        few = {query: lists[query] for query in ("q0", "q3")}
        rl.write_run(rl.Ranks.from_dict(few), tmp_path / f"{name}.run")
    found = run(runs_spec(), tmp_path / "r", base=tmp_path, cache=Cache(None))
    ranks = [rl.read_run(tmp_path / f"{name}.run") for name in "ab"]
    for one in found.of(CorrelationRecord):
        assert one.matrix[0, 1] == rl.correlation(*ranks, kind=one.correlation)
    assert "4 of 6 queries lack a list from some ranker; correlations use the others." in found.about["notes"]


def test_rankers_without_a_common_query_are_not_correlated(tmp_path):
    write_runs(tmp_path)
    for name, query in (("a", "q0"), ("b", "q1")):
        lists = rl.read_run(tmp_path / f"{name}.run").to_dict()
        rl.write_run(rl.Ranks.from_dict({query: lists[query]}), tmp_path / f"{name}.run")
    found = run(runs_spec(), tmp_path / "r", base=tmp_path, cache=Cache(None))
    assert found.of(CorrelationRecord) == []
    assert any("pair is left out: it needs correlations" in note for note in found.about["notes"])


def test_values_stay_paired_if_the_order_of_the_judgments_changes(tmp_path, monkeypatch):
    """As in Cranfield, whose queries and judgments come from different files."""
    write_runs(tmp_path)
    judged = rl.read_qrels(tmp_path / "qrels")

    def found(folder, qrels, *methods):
        collection = Collection("c", rl.Ids(()), queries=Queries(rl.Ids(judged), qrels))
        monkeypatch.setattr("rankloom.experiment.inputs.open_collection", lambda _: collection)
        return run(runs_spec(methods=methods), tmp_path / folder, base=tmp_path, cache=Cache(None))

    found("r", judged, "rrf")
    reordered = dict(reversed(judged.items()))
    resumed, fresh = (by_method(found(folder, reordered, "rrf", "borda")) for folder in "rs")
    for key, values in fresh.items():
        np.testing.assert_array_equal(resumed[key]["ndcg@10"], values["ndcg@10"])


def external_vectors(n_queries=12, n_items=60):
    """Return a collection of points in two dimensions with external queries, which find points nearby."""
    random = np.random.default_rng(3)
    points, external = random.random((n_items, 2)), random.random((n_queries, 2))
    near = np.argsort(((external[:, None] - points) ** 2).sum(2), axis=1)[:, :5].tolist()
    qrels = {f"q{row}": {f"d{item}": 1 for item in found} for row, found in enumerate(near)}
    queries = Queries(rl.Ids(qrels), qrels, {"vectors": external})
    return Collection("points", rl.Ids(f"d{item}" for item in range(n_items)), {"vectors": points}, queries=queries)


@pytest.mark.parametrize(("option", "virtual"), [("", True), (", comparable=no", False)])
def test_external_queries_get_virtual_positions_if_the_ranker_says_so(tmp_path, monkeypatch, option, virtual):
    points = external_vectors()
    monkeypatch.setitem(COLLECTIONS._known, "points", lambda: points)
    rankers = {"l1": f"vectors(metric=l1{option})", "l2": f"vectors(metric=l2{option})"}
    given = {"collection": "points", "rankers": rankers, "methods": ["fg", "weft", "vote"], "curve": [], "repeats": 1}
    spec = Experiment.from_dict({"name": "p", "selections": ["all"], **given})
    found = by_method(run(spec, tmp_path, cache=Cache(None)))
    ranks = [one.queries for one in rank_collection(points, rankers).lists.values()]
    items = [one.items for one in rank_collection(points, rankers).lists.values()]
    for method in ("fg", "weft", "vote"):
        options = {"symmetric": [True, True]} if method == "vote" else {"virtual": virtual}
        answer = rl.fuse(ranks, method, 10, collection=items, comparable=[virtual, virtual], **options)
        expected = rl.evaluate(answer, qrels=points.queries.qrels, measures=["ndcg@10"], per_query=True)["ndcg@10"]
        np.testing.assert_array_equal(found["all", method]["ndcg@10"], expected)


def test_run_files_define_the_items(tmp_path):
    write_runs(tmp_path)
    found = run(runs_spec(), tmp_path / "r", base=tmp_path, cache=Cache(None))
    listed = {item for name in "ab" for row in rl.read_run(tmp_path / f"{name}.run").to_dict().values() for item in row}
    assert found.about["n_items"] == len(listed)


def test_a_plain_path_is_a_collection(tmp_path):
    (tmp_path / "my pets.csv").write_text("id,text,label\na,x,cat\nb,y,cat\n")
    rl.write_run(rl.Ranks.from_dict({"a": ["a", "b"], "b": ["b", "a"]}), tmp_path / "f.run")
    spec = Experiment(
        name="pets", collection=Call("my pets.csv"), rankers={"f": "file(path=f.run)"}, methods=["rrf"], curve=["rrf"]
    )
    found = run(spec, tmp_path / "r", base=tmp_path, cache=Cache(None))
    assert found.about["n_items"] == 2
    assert Experiment.read(tmp_path / "r" / "experiment.toml").collection.name == "table"


def test_notes_warn_about_measures_deeper_than_the_cutoff(tmp_path):
    write_runs(tmp_path)
    found = run(runs_spec(measures=["map"], cutoff=4), tmp_path / "r", base=tmp_path, cache=Cache(None))
    assert any(note.startswith("map looks deeper than the cutoff 4") for note in found.about["notes"])
    equal = run(runs_spec(measures=["map"], cutoff=1000), tmp_path / "s", base=tmp_path, cache=Cache(None))
    assert not any("deeper than the cutoff" in note for note in equal.about["notes"])


def test_estimates_use_the_same_number_of_neighbors_for_all_rankers(tmp_path):
    write_runs(tmp_path)
    short = rl.read_run(tmp_path / "b-items.run").head(3)
    rl.write_run(short, tmp_path / "b-items.run")
    rankers = {name: f"file(path={name}.run, items={name}-items.run)" for name in "ab"}
    found = run(runs_spec(rankers=rankers), tmp_path / "r", base=tmp_path, cache=Cache(None))
    for one in found.of(RankerRecord):
        own = rl.read_run(tmp_path / f"{one.ranker}-items.run")
        assert one.estimates["authority"] == estimate(own, neighbors=3)


def test_progress_totals_do_not_change_within_a_stage(spec, tmp_path):
    reports = []
    run(spec, tmp_path, cache=Cache(None), progress=lambda *one: reports.append(one))
    totals = {(stage, total) for stage, _, total in reports if stage in ("Evaluating rankers", "Fusing")}
    assert len(totals) == 2
    assert ("Evaluating rankers", 6, 6) in reports
    assert reports[-1][1] == reports[-1][2]


def test_unfinished_or_damaged_results_are_rejected(tmp_path):
    with pytest.raises(InputError, match="run the experiment to its end first"):
        Results.read(tmp_path)
    (tmp_path / "results.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match="does not have format 1"):
        Results.read(tmp_path)
    (tmp_path / "results.jsonl").write_text('{"format": 1}\nnot json\n')
    with pytest.raises(InputError, match=r"results\.jsonl:2"):
        Results.read(tmp_path)


RANKER = {"kind": "ranker", "ranker": "a", "values": {"ndcg@10": [1], "p@5": [1]}, "estimates": {}, "seconds": 1}
MATRIX = {"kind": "correlation", "correlation": "jaccard", "depth": 3, "rankers": ["a", "b"]}
DAMAGED = {
    "not a record": {},
    "a list": [1],
    "values that are strings": {**RANKER, "values": {"ndcg@10": ["x"], "p@5": [1]}},
    "values in a list": {**RANKER, "values": [1]},
    "seconds that are a string": {**RANKER, "seconds": "x"},
    "a recall that is a list": {**RANKER, "recall": [1]},
    "a missing measure": {**RANKER, "values": {"p@5": [1]}},
    "values of different lengths": {**RANKER, "values": {"ndcg@10": [1], "p@5": [1, 2]}},
    "a ragged matrix": {**MATRIX, "matrix": [[1, 2], [3]]},
    "a matrix of the wrong size": {**MATRIX, "matrix": [[1]]},
    "an unknown field": {**RANKER, "color": 1},
}


@pytest.mark.parametrize("record", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_record_is_rejected(results, tmp_path, record):
    results.write(tmp_path)
    head = (tmp_path / "results.jsonl").read_text().splitlines()[0]
    (tmp_path / "results.jsonl").write_text(f"{head}\n{json.dumps(record)}\n")
    with pytest.raises(InputError, match=r"results\.jsonl.*[Rr]un "):
        Results.read(tmp_path)


@pytest.mark.parametrize("head", [b"[]", b"null", b"5", b"\xff", b'{"format": 1, "experiment": {}, "about": "x"}', b""])
def test_a_damaged_header_is_rejected(tmp_path, head):
    (tmp_path / "results.jsonl").write_bytes(head + b"\n")
    with pytest.raises(InputError, match=r"results\.jsonl"):
        Results.read(tmp_path)


def test_older_records_are_readable(results):
    plain = to_json(results.of(MethodRecord)[0])
    assert plain.pop("made").startswith(results.about["machine"])
    assert from_json(plain).made == ""
    assert from_json(RANKER).recall is None


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


def test_run_files_are_fused_by_per_query_methods(tmp_path):
    write_runs(tmp_path)
    found = run(runs_spec(), tmp_path / "r", base=tmp_path, cache=Cache(None))
    assert {one.method for one in found.of(MethodRecord)} == {"rrf"}
    assert found.of(TimeRecord) == found.of(ComparatorRecord) == []
    notes = " ".join(found.about["notes"])
    assert "fg needs the lists of the collection's own items: give every ranker items=..." in notes
    assert "rkgraph needs a collection whose items are the queries" in notes
    assert found.of(RankerRecord)[0].estimates == {}


def test_fusion_graphs_answer_external_queries_given_the_lists_of_items(tmp_path):
    write_runs(tmp_path)
    rankers = {name: f"file(path={name}.run, items={name}-items.run)" for name in "ab"}
    found = run(runs_spec(rankers=rankers), tmp_path / "r", base=tmp_path, cache=Cache(None))
    read = [[rl.read_run(tmp_path / f"{name}{kind}.run") for name in "ab"] for kind in ("", "-items")]
    answer = rl.fuse(read[0], "fg", 10, collection=read[1])
    expected = rl.evaluate(answer, qrels=tmp_path / "qrels", per_query=True)["ndcg@10"]
    np.testing.assert_array_equal(by_method(found)["all", "fg"]["ndcg@10"], expected)
    assert set(found.of(RankerRecord)[0].estimates) == {"authority", "reciprocal"}


def test_measures_determine_the_number_of_answers():
    assert answer_count(Experiment.from_dict({**SMALL, "measures": ["ns", "p@5"]})) == 5
    assert answer_count(Experiment.from_dict({**SMALL, "measures": ["map", "p@5"], "depth": 70})) == 70
    assert answer_count(Experiment.from_dict({**SMALL, "k": 3})) == 3


def test_paths_are_relative_to_the_specification(tmp_path, monkeypatch):
    monkeypatch.setenv("WHERE", "/data")
    for written, found in (("x.run", str(tmp_path / "x.run")), ("$WHERE/x.run", "/data/x.run")):
        call = resolve_files(Call.parse(f"file(path={written}, format=trec)"), RANKERS, tmp_path)
        assert dict(call.options) == {"path": found, "format": "trec"}
    with pytest.raises(InputError, match="environment variable that is not set"):
        resolve_files(Call.parse("file(path=$NOWHERE/x.run)"), RANKERS, tmp_path)


def test_a_collection_without_labels_or_judgments_is_rejected(tmp_path):
    (tmp_path / "texts.csv").write_text("id,text\na,x\nb,y\n")
    spec = {**SMALL, "collection": "table(path=texts.csv)", "rankers": {"f": "file(path=f.run)"}}
    with pytest.raises(InputError, match="neither labels nor judged queries"):
        run(Experiment.from_dict(spec), tmp_path / "r", base=tmp_path, cache=Cache(None))


def test_there_is_no_caveat_if_no_list_is_longer_than_the_cutoff(tmp_path):
    write_runs(tmp_path)  # lists of 12
    changes = {"methods": ["rrf"], "measures": ["map"]}
    whole = run(runs_spec(**changes, cutoff=12), tmp_path / "a", base=tmp_path, cache=Cache(None))
    cut = run(runs_spec(**changes, cutoff=5), tmp_path / "b", base=tmp_path, cache=Cache(None))
    assert whole.depth_caveat == ""
    assert "map looks deeper than the cutoff 5" in cut.depth_caveat
    assert cut.depth_caveat in cut.about["notes"]


def test_an_experiment_without_a_runnable_method_fails(tmp_path):
    write_runs(tmp_path)
    found = run(runs_spec(methods=["fg"], curve=["rrf"]), tmp_path / "r", base=tmp_path, cache=Cache(None))
    assert found.about["failed"] == ["None of the methods can run on this collection."]
