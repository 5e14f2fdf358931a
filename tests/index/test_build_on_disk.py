"""A build out of core writes the bytes of a build in memory that is split the same way; a killed one resumes."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from collections_on_disk import assert_same_answers, random_collection

from faults import error_of
from rankloom import FusionIndex, RankloomWarning, Ranks, WeftIndex
from rankloom.index.job import Job, install
from rankloom.io import write_npz
from rankloom.io.folder import META, parsed_meta, read_meta

KINDS = [(FusionIndex, {"cutoff": 5}), (WeftIndex, {"cutoff": 6, "expand": 3})]
OTHERS = [
    (FusionIndex, {"graph_norm": "minmax", "reposition": False}),
    (FusionIndex, {"absent": "last", "depth": 10, "comparator": "mcs"}),
    (WeftIndex, {"weights": None, "width": 4, "keep_scores": False}),
]


def tables(ranks, folder):
    """Write the lists of rankers as tables; return their paths."""
    paths = []
    for number, one in enumerate(ranks):
        path = folder / f"ranker{number}"
        path.mkdir(exist_ok=True)
        np.save(path / "items.npy", one.items)
        if one.scores is not None:
            np.save(path / "scores.npy", one.scores)
        paths.append(path)
    return paths


def contents(folder):
    """Return the bytes of each array, and the metadata, whatever the generation is."""
    meta = parsed_meta(folder, read_meta(folder))
    arrays = {name: (folder / about["file"]).read_bytes() for name, about in meta.pop("files").items()}
    return {**arrays, META: {name: meta[name] for name in ("kind", "format", "settings", "sizes", "versions")}}


@pytest.mark.parametrize(("kind", "options"), [*KINDS, *OTHERS])
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 51))])
def test_the_bytes_are_those_of_a_build_in_memory(tmp_path, kind, options, seed):
    ranks = random_collection(seed)
    whole = kind.build(ranks, **options)
    for shards in (1, 3, 8):
        whole.save(tmp_path / "memory.loom", shards=shards, overwrite=True)
        paths = tables(ranks, tmp_path)
        built = kind.build_on_disk(paths, tmp_path / "disk.loom", shards=shards, overwrite=True, **options)
        assert contents(tmp_path / "disk.loom") == contents(tmp_path / "memory.loom")
    assert_same_answers(whole, built, ranks)
    assert kind.open(tmp_path / "disk.loom").n_shards == built.n_shards  # every number is checked
    assert not list(tmp_path.glob(".*"))


@pytest.mark.long
@pytest.mark.parametrize("kind", [FusionIndex, WeftIndex])
def test_digits_have_the_same_bytes_and_bits(tmp_path, kind):
    ranks = digits()
    whole = kind.build(ranks)
    for shards, scheduler in ((1, None), (3, None), (8, None), (8, "local")):
        whole.save(tmp_path / "memory.loom", shards=shards, overwrite=True)
        paths, options = tables(ranks, tmp_path), {"shards": shards, "scheduler": scheduler}
        built = kind.build_on_disk(paths, tmp_path / "disk.loom", overwrite=True, **options)
        assert contents(tmp_path / "disk.loom") == contents(tmp_path / "memory.loom")
        assert_same_answers(whole, built, ranks, k=10)
    with built.served("local") as served:
        assert_same_answers(whole, served, ranks, k=10)


def digits():
    """Return two rankers of scikit-learn's 1797 digits."""
    images = pytest.importorskip("sklearn.datasets").load_digits().images
    sums = np.hstack([images.sum(axis=1), images.sum(axis=2)])
    return [Ranks.from_vectors(x, "l2", 100) for x in (images.reshape(len(images), -1), sums)]


def parts_of_npy(ranks, folder):
    for number, start in enumerate(range(0, ranks.n_items, 11)):
        np.save(folder / f"items-{number:04}.npy", ranks.items[start : start + 11].astype(np.int64))
        np.save(folder / f"scores-{number:04}.npy", ranks.scores[start : start + 11])


def parts_of_parquet(ranks, folder):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for number, start in enumerate(range(0, ranks.n_items, 11)):
        rows = range(start, min(start + 11, ranks.n_items))
        columns = {
            name: [values[row][ranks.items[row] >= 0].tolist() for row in rows]
            for name, values in (("items", ranks.items), ("scores", ranks.scores))
        }
        types = {"items": pyarrow.list_(pyarrow.int64()), "scores": pyarrow.list_(pyarrow.float32())}
        table = pyarrow.table({name: pyarrow.array(column, types[name]) for name, column in columns.items()})
        parquet.write_table(table, folder / f"part-{number:04}.parquet")


@pytest.mark.parametrize("write", [parts_of_npy, parts_of_parquet, lambda r, folder: write_npz(r, folder / "x.npz")])
def test_lists_may_come_in_parts_and_formats(tmp_path, write):
    ranks = next(r for seed in range(99) for r in random_collection(seed, 40) if r.scores is not None)
    (tmp_path / "lists").mkdir()
    write(ranks, tmp_path / "lists")
    FusionIndex.build({"one": ranks}, cutoff=4).save(tmp_path / "memory.loom", shards=3)
    path = tmp_path / "lists" / "x.npz" if (tmp_path / "lists" / "x.npz").exists() else tmp_path / "lists"
    FusionIndex.build_on_disk({"one": path}, tmp_path / "disk.loom", shards=3, cutoff=4)
    assert contents(tmp_path / "disk.loom") == contents(tmp_path / "memory.loom")


def test_memory_decides_the_number_of_shards(tmp_path):
    paths = tables(random_collection(3, 60), tmp_path)
    built = FusionIndex.build_on_disk(paths, tmp_path / "x.loom", memory="20kB", cutoff=5)
    assert built.n_shards > 1
    message = error_of(FusionIndex.build_on_disk, paths, tmp_path / "y.loom", memory="20kB", shards=1, cutoff=5)
    assert "shards or more memory" in message
    assert "such as '1GB'" in error_of(FusionIndex.build_on_disk, paths, tmp_path / "y.loom", memory="much")


def test_wrong_tables_are_reported(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[0, 1], [1, 1]], np.int32))
    np.save(tmp_path / "b.npy", np.array([[0, 1], [1, 7]], np.int32))
    np.save(tmp_path / "c.npy", np.zeros((3, 2), np.int32))
    (tmp_path / "d.npy").write_text("nothing")
    for name, said in (
        ("a.npy", "item 1 twice"),
        ("b.npy", "7"),
        ("d.npy", "is not a .npy file"),
        ("e.npy", "There is no table"),
    ):
        assert said in error_of(FusionIndex.build_on_disk, [tmp_path / name], tmp_path / "x.loom")
    both = [tmp_path / "a.npy", tmp_path / "c.npy"]
    assert "2 rows and" in error_of(FusionIndex.build_on_disk, both, tmp_path / "x.loom")
    assert not (tmp_path / "x.loom").exists()


LISTS = [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
FALLING = [[3.0, 2.0, 1.0]] * 3


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (np.ones((3, 2)), "must have the same"),
        (np.ones((2, 3)), "must have the same"),
        (np.full((3, 3), np.inf), "must be finite"),
        (np.full((3, 3), 1e300), "must be finite"),
        (np.array([[1, 2, 3]] * 3), "increase along the list"),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])  # mapped, and copied
@pytest.mark.filterwarnings("ignore:overflow")
def test_scores_that_ranks_would_reject_are_rejected(tmp_path, scores, said, dtype):
    np.save(tmp_path / "items.npy", np.array(LISTS, np.int32))
    np.save(tmp_path / "scores.npy", scores.astype(dtype))
    assert said in error_of(FusionIndex.build_on_disk, [tmp_path], tmp_path / "x.loom")


def test_scores_of_padding_do_not_matter(tmp_path):
    np.save(tmp_path / "items.npy", np.array([[0, 1], [1, -1]], np.int32))
    np.save(tmp_path / "scores.npy", np.array([[2, 1], [2, np.nan]], np.float32))
    assert FusionIndex.build_on_disk([tmp_path], tmp_path / "x.loom").n_items == 2


def test_wrong_parquet_is_reported(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def message(*tables):
        (tmp_path / "lists").mkdir(exist_ok=True)
        for number, table in enumerate(tables):
            parquet.write_table(pyarrow.table(table), tmp_path / "lists" / f"{number}.parquet")
        return error_of(FusionIndex.build_on_disk, [tmp_path / "lists"], tmp_path / "x.loom")

    assert "no column 'items'" in message({"lists": LISTS})
    assert "a list in each row" in message({"items": [0, 1, 2]})
    assert "not as long" in message({"items": LISTS, "scores": [[3.0, 2.0], *FALLING[1:]]})
    assert "Only some parts" in message({"items": LISTS[:1]}, {"items": LISTS[1:], "scores": FALLING[1:]})
    (tmp_path / "lists" / "0.parquet").write_bytes(b"damaged")
    assert "is not a parquet file" in error_of(FusionIndex.build_on_disk, [tmp_path / "lists"], tmp_path / "x.loom")


def test_lists_of_fixed_size_are_lists(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    column = pyarrow.array(LISTS, pyarrow.list_(pyarrow.int32(), 3))
    parquet.write_table(pyarrow.table({"items": column}), tmp_path / "x.parquet")
    built = FusionIndex.build_on_disk([tmp_path / "x.parquet"], tmp_path / "x.loom", cutoff=2)
    assert np.array_equal(built.search(k=2).items, FusionIndex.build([Ranks(LISTS)], cutoff=2).search(k=2).items)


def test_ranks_with_ids_are_not_matched_by_number(tmp_path):
    write_npz(Ranks(LISTS, item_ids=["c", "b", "a"]), tmp_path / "x.npz")
    assert "has ids" in error_of(FusionIndex.build_on_disk, [tmp_path / "x.npz"], tmp_path / "x.loom")


def test_options_are_checked_as_in_memory(tmp_path):
    np.save(tmp_path / "x.npy", np.array(LISTS, np.int32))
    message = error_of(FusionIndex.build_on_disk, {1: tmp_path / "x.npy"}, tmp_path / "x.loom")
    assert "named by strings" in message
    for kind in (FusionIndex, WeftIndex):
        assert "keep_scores must be" in error_of(
            kind.build_on_disk, [tmp_path / "x.npy"], tmp_path / "x.loom", keep_scores="no"
        )


def test_item_numbers_do_not_wrap(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[0, 1], [1, -(2**32)]]))
    assert "negative or" in error_of(FusionIndex.build_on_disk, [tmp_path / "x.npy"], tmp_path / "y.loom")


def test_lists_that_are_missing_warn(tmp_path):
    items = np.full((20, 2), -1, np.int32)
    items[:10] = [[i, i + 1] for i in range(10)]
    np.save(tmp_path / "a.npy", items)
    with pytest.warns(RankloomWarning, match="has no list for 10 of 20 items"):
        FusionIndex.build_on_disk([tmp_path / "a.npy"], tmp_path / "x.loom", shards=2)


def test_an_interrupted_build_resumes_and_does_not_repeat_what_is_done(tmp_path, monkeypatch):
    from rankloom.fusion_graph import on_disk

    ranks = random_collection(4, 50)
    paths, done = tables(ranks, tmp_path), []
    weave = on_disk.weave_part

    def stopping(job, number):
        if number == 2 and len(done) == 2:
            raise KeyboardInterrupt
        done.append(number)
        weave(job, number)

    monkeypatch.setattr(on_disk, "weave_part", stopping)
    with pytest.raises(KeyboardInterrupt):
        FusionIndex.build_on_disk(paths, tmp_path / "x.loom", shards=4)
    done.append("stopped")
    FusionIndex.build_on_disk(paths, tmp_path / "x.loom", shards=4)
    assert done == [0, 1, "stopped", 2, 3]
    FusionIndex.build(ranks).save(tmp_path / "memory.loom", shards=4)
    assert contents(tmp_path / "x.loom") == contents(tmp_path / "memory.loom")


BUILD = """
import sys, json
from rankloom import FusionIndex, WeftIndex
kind = {"FusionIndex": FusionIndex, "WeftIndex": WeftIndex}[sys.argv[1]]
print("ready", flush=True)
kind.build_on_disk(json.loads(sys.argv[2]), sys.argv[3], shards=12, threads=1)
"""


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(2, 20))])
def test_a_killed_build_resumes_right(tmp_path, seed):
    kind = (FusionIndex, WeftIndex)[seed % 2]
    rng, ranks = np.random.default_rng(seed), random_collection(seed, 1500 if seed % 2 else 3000)
    paths, target = [str(path) for path in tables(ranks, tmp_path)], tmp_path / "x.loom"
    kind.build(ranks).save(tmp_path / "memory.loom", shards=12)
    command = [sys.executable, "-c", BUILD, kind.__name__, json.dumps(paths), str(target)]
    for _ in range(2):
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ) as process:
            process.stdout.readline()
            time.sleep(rng.uniform(0, 0.6))
            process.send_signal(signal.SIGKILL)
        if (target / META).exists():  # complete, or not there at all
            assert contents(target) == contents(tmp_path / "memory.loom")
    kind.build_on_disk(paths, target, shards=12, overwrite=True)
    assert contents(target) == contents(tmp_path / "memory.loom")
    assert not list(tmp_path.glob(".*"))


def test_a_build_works_without_locks(tmp_path, monkeypatch):
    monkeypatch.setattr("rankloom.io.file_lock.fcntl", None)  # Windows
    np.save(tmp_path / "x.npy", np.array(LISTS, np.int32))
    assert FusionIndex.build_on_disk([tmp_path / "x.npy"], tmp_path / "x.loom").n_items == 3
    (tmp_path / ".x.loom.building").mkdir()  # perhaps of another process
    again = error_of(FusionIndex.build_on_disk, [tmp_path / "x.npy"], tmp_path / "x.loom", overwrite=True)
    assert "Another process" in again


def test_a_build_that_is_killed_while_it_cleans_up_does_not_install_the_old_index(tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", np.array(LISTS, np.int32))
    np.save(tmp_path / "b.npy", np.array(LISTS, np.int32)[:, ::-1].copy())
    FusionIndex.build_on_disk([tmp_path / "a.npy"], tmp_path / "x.loom", cutoff=2)
    monkeypatch.setattr("rankloom.index.base.install", lambda *given: install(*given) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        FusionIndex.build_on_disk([tmp_path / "b.npy"], tmp_path / "x.loom", cutoff=2, overwrite=True)
    monkeypatch.undo()
    done = contents(tmp_path / "x.loom")
    FusionIndex.build_on_disk([tmp_path / "b.npy"], tmp_path / "x.loom", cutoff=2, overwrite=True)
    assert contents(tmp_path / "x.loom") == done
    assert FusionIndex.open(tmp_path / "x.loom").n_items == 3  # the checksums are right


def test_a_job_whose_start_was_interrupted_starts_again(tmp_path, monkeypatch):
    job = Job(tmp_path)
    job.start({"n_items": 1})
    monkeypatch.setattr("rankloom.index.job.shutil.rmtree", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        job.start({"n_items": 2})
    monkeypatch.undo()
    (tmp_path / "done").rmdir()
    job.start({"n_items": 1})
    assert (tmp_path / "done").is_dir()


def test_an_existing_index_is_replaced_when_the_new_one_is_complete(tmp_path):
    first, second = random_collection(1, 30), random_collection(2, 30)
    FusionIndex.build(first).save(tmp_path / "x.loom")
    assert "already exists" in error_of(FusionIndex.build_on_disk, tables(second, tmp_path), tmp_path / "x.loom")
    FusionIndex.build_on_disk(tables(second, tmp_path), tmp_path / "x.loom", shards=2, overwrite=True)
    FusionIndex.build(second).save(tmp_path / "memory.loom", shards=2)
    assert contents(tmp_path / "x.loom") == contents(tmp_path / "memory.loom")
    assert error_of(FusionIndex.build_on_disk, tables(second, tmp_path), tmp_path / "ranker0").endswith(
        "remove it first."
    )
    assert Ranks([[0]]).n_items == 1
