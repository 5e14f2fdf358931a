"""Indexes on disk: killed saves, damaged files, old formats."""

import json
import pickletools
import random
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute import random_collection
from rankloom import Ids, Ranks, WeftIndex
from rankloom.errors import IndexFileError, InputError
from rankloom.fusion_graph.index import FusionIndex
from rankloom.io.folder import META, open_folder
from rankloom.io.folder_writer import LOCK
from strategies import collections, examples

# Saves two indexes to one path in turn, until it is killed.
SAVER = """
import sys
from rankloom.fusion_graph.index import FusionIndex

indexes = [FusionIndex.open(path) for path in sys.argv[2:]]
print("ready", flush=True)
while True:
    for index in indexes:
        index.save(sys.argv[1], overwrite=True)
"""


def built(seed=0, n=300, **options):
    points = np.random.default_rng(seed).random((n, 3))
    ids = Ids(f"item {i} é" for i in range(n))
    scored = Ranks.from_vectors(points, "l2", 20, item_ids=ids, query_ids=ids)
    return FusionIndex.build([scored, *random_collection(seed, n=n, depth=12, hubs=1)], cutoff=8, **options)


def bits(index):
    """Return the whole content of an index as one comparable value."""
    arrays = {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in index.arrays.items()}
    return index.settings, arrays


def names(path):
    return sorted(found.name for found in path.iterdir())


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A saved index, which tests must not change."""
    path = tmp_path_factory.mktemp("saved") / "x.loom"
    built().save(path)
    return path


# -- saving and opening -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("graph_norm", ["max", "minmax"])
def test_searches_of_an_opened_index_are_bit_identical(tmp_path, graph_norm, verify):
    index = built(graph_norm=graph_norm, comparator="mcs")
    index.save(tmp_path / "x.loom")
    opened = FusionIndex.open(tmp_path / "x.loom", verify=verify)
    assert bits(opened) == bits(index)
    assert opened.item_ids == index.item_ids
    queries = [Ranks.from_vectors(np.random.default_rng(0).random((300, 3)), "l2", 20), *random_collection(0, n=300)]
    for given_queries in (None, [r.rows(range(9)) for r in queries]):
        a, b = index.search(given_queries, k=9), opened.search(given_queries, k=9)
        assert a.items.tobytes() == b.items.tobytes()
        assert a.scores.tobytes() == b.scores.tobytes()


@examples(30)
@given(collections(), st.integers(1, 4), st.booleans())
def test_opening_a_saved_index_gives_an_equal_one(tmp_path_factory, rankers, cutoff, reposition):
    path = tmp_path_factory.getbasetemp() / "any.loom"
    index = FusionIndex.build(rankers, cutoff=cutoff, reposition=reposition)
    index.save(path, overwrite=True)
    opened = FusionIndex.open(path)
    assert bits(opened) == bits(index)
    assert opened.search(k=5).scores.tobytes() == index.search(k=5).scores.tobytes()


@pytest.mark.parametrize("n", [0, 1])
def test_tiny_indexes_are_saved_and_opened(tmp_path, n):
    index = FusionIndex.build([Ranks(np.zeros((n, n), int), n_items=n)])
    index.save(tmp_path / "x.loom")
    assert len(FusionIndex.open(tmp_path / "x.loom").search(k=3)) == n


def test_large_arrays_are_mapped_and_all_are_read_only(saved):
    index = FusionIndex.open(saved)
    mapped = 0
    for array in index.arrays.values():
        assert not array.flags.writeable
        mapped += isinstance(array.base, np.memmap)
    assert mapped >= 5


def test_a_path_may_be_a_string(tmp_path):
    built(n=20).save(str(tmp_path / "x.loom"))
    assert len(FusionIndex.open(str(tmp_path / "x.loom"))) == 20


def test_an_opened_index_can_be_saved_to_the_same_path(tmp_path):
    index = built()
    index.save(tmp_path / "x.loom")
    opened = FusionIndex.open(tmp_path / "x.loom")
    opened.save(tmp_path / "x.loom")
    assert bits(FusionIndex.open(tmp_path / "x.loom")) == bits(index)
    assert opened.search(k=3).items.tobytes() == index.search(k=3).items.tobytes()  # its files have been deleted
    assert names(tmp_path) == ["x.loom"]


def test_the_metadata_describes_the_folder(saved):
    meta = json.loads((saved / META).read_text(encoding="utf-8"))
    assert (meta["format"], meta["generation"]) == (3, 1)
    assert meta["sizes"]["n_items"] == 300
    assert meta["settings"]["cutoff"] == 8
    assert set(meta["versions"]) == {"rankloom", "numpy"}
    assert sorted([*(f"{name}.g1.npy" for name in meta["files"]), META, LOCK]) == names(saved)


def test_the_folder_contains_no_pickles(saved):
    for file in saved.iterdir():
        if file.name == LOCK:
            continue
        if file.name != META:
            assert not np.load(file, allow_pickle=False).dtype.hasobject
        with pytest.raises(ValueError):  # noqa: PT011  # the message depends on the bytes
            list(pickletools.genops(file.read_bytes()))


# -- killed saves -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two indexes whose files have the same sizes, so that sizes do not reveal a mixture; and their content."""
    home = tmp_path_factory.mktemp("two")
    paths = [home / "a.loom", home / "b.loom"]
    points = np.random.default_rng(3).random((2000, 2))
    for path, vectors in zip(paths, (points, points[::-1]), strict=True):
        FusionIndex.build([Ranks.from_vectors(vectors, "l2", 15)], cutoff=5).save(path)
    return paths, [bits(FusionIndex.open(path)) for path in paths]


def kill_a_saver(path, two, after):
    """Start a process that saves to `path` repeatedly, and kill it."""
    with subprocess.Popen([sys.executable, "-c", SAVER, path, *two], stdout=subprocess.PIPE) as saver:
        assert saver.stdout.readline() == b"ready\n"
        time.sleep(after)
        saver.send_signal(signal.SIGKILL)
    assert saver.returncode == -signal.SIGKILL


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.long
def test_a_killed_save_leaves_a_complete_index(tmp_path, two):
    paths, contents = two
    path, moments = tmp_path / "x.loom", random.Random(5)
    FusionIndex.open(paths[0]).save(path)
    interrupted = 0
    for _ in range(25):
        kill_a_saver(path, paths, moments.uniform(0, 0.08))
        opened = open_folder(path, kind=FusionIndex.KIND)
        assert bits(FusionIndex.open(path)) in contents
        named = {about["file"] for about in opened.head.files.values()} | set(opened.head.previous)
        interrupted += not set(names(path)) <= named | {META, LOCK}
    FusionIndex.open(paths[0]).save(path, overwrite=True)
    assert bits(FusionIndex.open(path)) == contents[0]
    assert interrupted > 0  # otherwise the test proves nothing


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("turns", [2, pytest.param(12, marks=pytest.mark.exhaustive)])
def test_a_killed_first_save_leaves_no_index_or_a_complete_one(tmp_path, two, turns):
    paths, contents = two
    moments = random.Random(6)
    for turn in range(turns):
        path = tmp_path / str(turn) / "x.loom"
        path.parent.mkdir()
        kill_a_saver(path, paths, moments.uniform(0, 0.012))
        if (path / META).exists():
            assert bits(FusionIndex.open(path)) in contents
        else:
            with pytest.raises(IndexFileError, match="There is no searcher or index at"):
                FusionIndex.open(path)
        FusionIndex.open(paths[0]).save(path, overwrite=True)
        assert names(path.parent) == ["x.loom"]
        assert bits(FusionIndex.open(path)) == contents[0]


# -- damaged files ------------------------------------------------------------------------------------------------


FILES = ["id_bytes", "id_ptr", "norms", "numbers", "places", "post_least", "post_ptr", "post_rows",
         "row_items", "row_nearness", "row_ptr", "row_weights", "scores_0"]  # fmt: skip


def assert_rejected(path, file):
    with pytest.raises(IndexFileError) as caught:
        FusionIndex.open(path, verify=True)
    named = f"{file} is" in str(caught.value) or f"{file} was modified" in str(caught.value)
    about_meta = file == META and (f"{META} says" in str(caught.value) or "has format" in str(caught.value))
    about_meta |= file == META and "before 0.1" in str(caught.value)
    assert named or about_meta, str(caught.value)


@pytest.fixture(params=[META, *(f"{name}.g1.npy" for name in FILES)])
def damaged(request, saved, tmp_path):
    """A copy of the index, and one of its files to damage."""
    path = tmp_path / "x.loom"
    shutil.copytree(saved, path)
    return path, path / request.param


def test_all_files_are_covered_by_these_tests(saved):
    assert names(saved) == sorted([META, LOCK, *(f"{name}.g1.npy" for name in FILES)])


def test_a_truncated_file_is_rejected(damaged):
    path, file = damaged
    original = file.read_bytes()
    for length in (0, 1, 8, 64, 128, len(original) // 2, len(original) - 1):
        if length < len(original):
            file.write_bytes(original[:length])
            assert_rejected(path, file.name)


@pytest.mark.parametrize("places", [4, pytest.param(30, marks=pytest.mark.long)])
def test_a_changed_byte_is_rejected(damaged, places):
    path, file = damaged
    original = file.read_bytes()
    positions = random.Random(file.name)
    last = len(original) - 1
    for position in {0, 5, 9, 30, 100, 127, last // 2, last, *(positions.randint(0, last) for _ in range(places))}:
        for mask in (0x01, 0x80, 0xFF):
            file.write_bytes(original[:position] + bytes([original[position] ^ mask]) + original[position + 1 :])
            assert_rejected(path, file.name)
    file.write_bytes(original)
    FusionIndex.open(path)


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.long)])
def test_every_flipped_bit_of_the_metadata_is_detected(saved, tmp_path, step):
    path = tmp_path / "x.loom"
    shutil.copytree(saved, path)
    original = (path / META).read_bytes()
    for position in range(0, len(original), step):
        (path / META).write_bytes(original[:position] + bytes([original[position] ^ 0x01]) + original[position + 1 :])
        assert_rejected(path, META)


def test_a_missing_file_is_rejected(damaged):
    path, file = damaged
    file.unlink()
    with pytest.raises(IndexFileError) as caught:
        FusionIndex.open(path)
    assert (f"{file.name} is missing" if file.name != META else "There is no searcher or index at") in str(caught.value)


def test_a_file_with_appended_bytes_is_rejected(damaged):
    path, file = damaged
    for more in (b"\0", b"x" * 5000):
        original = file.read_bytes()
        file.write_bytes(original + more)
        assert_rejected(path, file.name)
        file.write_bytes(original)


def test_a_swapped_file_is_rejected(damaged):
    path, file = damaged
    for other in FILES:
        if (path / f"{other}.g1.npy").read_bytes() != file.read_bytes():
            original = file.read_bytes()
            shutil.copy(path / f"{other}.g1.npy", file)
            assert_rejected(path, file.name)
            file.write_bytes(original)


def test_a_folder_instead_of_a_file_is_rejected(damaged):
    path, file = damaged
    file.unlink()
    file.mkdir()
    with pytest.raises(IndexFileError, match=rf"Cannot read .*{file.name}: Is a directory\."):
        FusionIndex.open(path)


def test_a_damaged_index_can_be_replaced(saved, tmp_path):
    path = tmp_path / "x.loom"
    shutil.copytree(saved, path)
    (path / "norms.g1.npy").unlink()
    index = FusionIndex.open(saved)
    index.save(path, overwrite=True)
    assert bits(FusionIndex.open(path)) == bits(index)


# -- formats and foreign files ------------------------------------------------------------------------------------


def test_the_error_for_a_newer_format_names_the_supported_ones(saved, tmp_path):
    path = tmp_path / "x.loom"
    shutil.copytree(saved, path)
    meta = json.loads((path / META).read_text(encoding="utf-8"))
    (path / META).write_text(json.dumps({**meta, "format": 7}), encoding="utf-8")
    with pytest.raises(IndexFileError) as caught:
        FusionIndex.open(path)
    assert str(caught.value) == (
        f"{path} has format 7; this version reads 3. Build it again, or use the rankloom that wrote it."
    )


def test_foreign_files_are_neither_opened_nor_overwritten(tmp_path):
    index = built(n=20)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "folder", tmp_path / "file"):
        with pytest.raises(InputError, match="exists and is not a rankloom index; choose another path"):
            index.save(path)
        with pytest.raises(IndexFileError, match="There is no searcher or index at"):
            FusionIndex.open(path)
    assert (tmp_path / "folder" / "notes.txt").read_text() == "mine"
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("kind", [FusionIndex, WeftIndex])
@pytest.mark.parametrize("shards", [None, 2])
def test_ids_that_are_set_later_survive(tmp_path, kind, shards):
    ids = Ids(f"d{number} é" for number in range(40))
    index = kind.build(random_collection(1, n=40, depth=12, hubs=1), cutoff=5).with_ids(ids)
    index.save(tmp_path / "x.loom", shards=shards)
    reopened = kind.open(tmp_path / "x.loom")
    for other in (index.in_memory(), reopened, reopened.in_memory()):
        assert other.item_ids == ids
        assert other.search(items=["d7 é"], k=3).to_dict() == index.search(items=["d7 é"], k=3).to_dict()
    reopened.save(tmp_path / "again.loom")
    assert kind.open(tmp_path / "again.loom").item_ids == ids


def test_ids_of_a_saved_index_are_not_replaced(saved):
    index = FusionIndex.open(saved)
    assert index.with_ids(index.item_ids).item_ids[0] == "item 0 é"
    with pytest.raises(InputError, match="built with other ids"):
        index.with_ids(Ids(map(str, range(len(index)))))


def test_ids_that_cannot_be_written_are_an_error(tmp_path):
    index = FusionIndex.build(random_collection(1, n=3, depth=2)).with_ids(Ids(["a", "\ud800", "b"]))
    assert index.in_memory().item_ids == index.item_ids
    with pytest.raises(InputError, match="UTF-8"):
        index.save(tmp_path / "x.loom")
    assert not list(tmp_path.iterdir())
