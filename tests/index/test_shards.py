"""An index split into shards has the same bits as the whole."""

import mmap
from pathlib import Path

import numpy as np
import pytest
from collections_on_disk import assert_same, assert_same_answers, random_collection

from rankloom import FusionIndex, Ranks, WeftIndex
from rankloom.errors import IndexFileError
from rankloom.index.shard import shards_of
from rankloom.io.array_file import release_pages
from rankloom.threads import running


def error_of(read, *args, **options):
    """Return the message of the error that opening a damaged index must raise."""
    with pytest.raises(IndexFileError) as caught:
        read(*args, **options)
    return str(caught.value)


INDEXES = [
    (FusionIndex, {}),
    (FusionIndex, {"graph_norm": "minmax", "comparator": "mcs"}),
    (WeftIndex, {"cutoff": 6, "expand": 3}),
]


@pytest.mark.parametrize(("kind", "options"), INDEXES)
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 51))])
def test_shards_have_the_same_bits(tmp_path, kind, options, seed):
    ranks = random_collection(seed)
    whole = kind.build(ranks, comparable=[r.scores is not None for r in ranks], **options)
    for shards in (1, 3, 8):
        whole.save(tmp_path / f"{shards}.loom", shards=shards)
        sharded = kind.open(tmp_path / f"{shards}.loom")
        assert sharded.n_shards == len(range(0, whole.n_items, -(-whole.n_items // shards)))
        assert_same_answers(whole, sharded, ranks)


def test_sharded_graphs_and_vectors_are_those_of_the_whole(tmp_path):
    ranks = random_collection(11, 40)
    whole = FusionIndex.build(ranks)
    whole.save(tmp_path / "sharded.loom", shards=3)
    sharded = FusionIndex.open(tmp_path / "sharded.loom")
    assert all(whole.graph(item).to_dict() == sharded.graph(item).to_dict() for item in range(40))
    assert (whole.vectors() != sharded.vectors()).nnz == 0
    assert np.array_equal(whole.vector_edges(), sharded.vector_edges())


def test_cutting_again_gives_the_same_bytes(tmp_path):
    index = FusionIndex.build(random_collection(5, 50))
    index.save(tmp_path / "a.loom", shards=4)
    index.save(tmp_path / "b.loom", shards=7)
    FusionIndex.open(tmp_path / "b.loom").save(tmp_path / "c.loom", shards=4)
    assert contents(tmp_path / "a.loom") == contents(tmp_path / "c.loom")


def contents(folder):
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def test_shards_without_a_shared_vertex_are_not_asked(tmp_path, monkeypatch):
    lists = [[i, i ^ 1] for i in range(8)]  # four pairs that share nothing
    FusionIndex.build([Ranks(lists)], cutoff=2).save(tmp_path / "x.loom", shards=4)
    index = FusionIndex.open(tmp_path / "x.loom")
    searched = []
    table, run = index._table, index._table.search_shard
    monkeypatch.setattr(
        table,
        "search_shard",
        lambda kernel, number, *rest: (searched.append(table.shards[number].first), run(kernel, number, *rest)),
    )
    assert index.search(items=[5], k=3).items.tolist() == [[5, 4, -1]]
    assert searched == [4]


def test_a_shard_holds_its_own_rows_and_postings_only(tmp_path):
    index = FusionIndex.build(random_collection(5, 60))
    index.save(tmp_path / "x.loom", shards=3)
    arrays = FusionIndex.open(tmp_path / "x.loom").arrays
    for shard in shards_of(arrays, "norms", 0):
        assert len(shard.arrays["norms"]) == len(shard) == 20
        assert set(shard.arrays["post_items"].tolist()) == set(shard.arrays["row_items"].tolist())
        assert shard.arrays["post_rows"].max() < 20


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("shard1_post_items", lambda a: a[::-1], "shard1_post_items.npy does not match"),
        ("shard1_post_rows", lambda a: a + 20, "post_rows.npy does not match"),
        ("shard0_row_items", lambda a: a + 60, "row_items.npy does not match"),
        ("shard2_norms", lambda a: a * np.nan, "norms.npy has values out of range"),
        ("shard2_row_ptr", lambda a: a[:-1], "does not match the other arrays"),
    ],
)
def test_a_damaged_shard_is_rejected(tmp_path, name, change, said):
    index = FusionIndex.build(random_collection(5, 60))
    arrays = index._table.split(index.arrays, 3)
    broken = FusionIndex(index.settings, {**arrays, name: np.ascontiguousarray(change(arrays[name]))})
    broken.save(tmp_path / "x.loom")
    message = error_of(FusionIndex.open, tmp_path / "x.loom")
    assert said in message
    assert message.endswith("build it again.")


def test_a_missing_shard_is_rejected(tmp_path):
    index = FusionIndex.build(random_collection(5, 60))
    arrays = {
        name: array for name, array in index._table.split(index.arrays, 3).items() if not name.startswith("shard2_")
    }
    FusionIndex(index.settings, arrays).save(tmp_path / "x.loom")
    assert "its shards have 40 items, not 60" in error_of(FusionIndex.open, tmp_path / "x.loom")


def test_an_index_that_is_whole_and_sharded_is_checked_and_searched_as_whole(tmp_path):
    index = FusionIndex.build(random_collection(5, 60))
    FusionIndex(index.settings, {**index._table.split(index.arrays, 3), **index.arrays}).save(tmp_path / "x.loom")
    assert_same(FusionIndex.open(tmp_path / "x.loom").search(), index.search())
    row_items = index.arrays["row_items"] + 60
    FusionIndex(index.settings, {**index._table.split(index.arrays, 3), **index.arrays, "row_items": row_items}).save(
        tmp_path / "x.loom", overwrite=True
    )
    assert "row_items.npy does not match" in error_of(FusionIndex.open, tmp_path / "x.loom")


def test_a_changed_shard_file_is_rejected(tmp_path):
    FusionIndex.build(random_collection(5, 60)).save(tmp_path / "x.loom", shards=3)
    file = tmp_path / "x.loom" / "shard1_norms.g1.npy"
    file.write_bytes(file.read_bytes()[:-1] + b"\1")
    assert "shard1_norms.g1.npy is damaged" in error_of(FusionIndex.open, tmp_path / "x.loom", verify=True)
    file.unlink()
    assert "shard1_norms.g1.npy is missing" in error_of(FusionIndex.open, tmp_path / "x.loom")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_a_search_of_shards_releases_what_it_has_read(tmp_path, monkeypatch):
    n = 30_000
    ring = (np.arange(n)[:, None] + np.arange(10)) % n
    FusionIndex.build([Ranks(ring, kind="collection")] * 2).save(tmp_path / "x.loom", shards=3)
    index = FusionIndex.open(tmp_path / "x.loom")
    items = np.random.default_rng(0).integers(0, n, n).tolist()  # blocks of 4,096

    def mapped():
        return int(Path("/proc/self/statm").read_text().split()[2]) * mmap.PAGESIZE

    def growth(limit):
        index.search(items=items[:1])  # loads the kernels
        release_pages(index.arrays.values())
        before, during = mapped(), []
        monkeypatch.setattr("rankloom.io.array_file.MAX_MAPPED", before + limit)
        with running(threads=1, progress=lambda *_: during.append(mapped())):
            found = index.search(items=items, k=5)
        return found, max(during) - before

    size = sum(array.nbytes for name, array in index.arrays.items() if name.startswith("shard"))
    found, grown = growth(size // 20)
    whole, all_of_it = growth(1 << 40)
    assert_same(found, whole)
    assert grown < size / 2 < all_of_it


def test_items_in_any_order_and_twice_have_their_own_lists():
    ranks = random_collection(3, 60)
    index = FusionIndex.build(ranks)
    items = [41, 7, 7, 59, 0]
    found, every = index.search(items=items, k=6), index.search(k=6)
    assert found.items.tobytes() == every.items[items].tobytes()
    assert found.scores.tobytes() == every.scores[items].tobytes()
