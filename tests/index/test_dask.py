"""Builds and searches on a Dask cluster: the same bits, and a killed worker costs its tasks only."""

import os
import signal
import threading
import time
from contextlib import nullcontext

import numpy as np
import pytest
from collections_on_disk import assert_same_answers, random_collection
from test_build_on_disk import contents, tables

from rankloom import FusionIndex, Ids, WeftIndex
from rankloom.errors import InputError
from rankloom.index.served import ServedShards

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask, about workers that were killed


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.long)])
def cluster(request):
    with distributed.LocalCluster(n_workers=request.param, threads_per_worker=1, dashboard_address=None) as local:
        yield local


@pytest.mark.parametrize(("kind", "options"), [(FusionIndex, {}), (WeftIndex, {"cutoff": 6, "expand": 3})])
@pytest.mark.parametrize("seed", [5, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(6, 16))])
def test_a_cluster_gives_the_same_bits(tmp_path, cluster, kind, options, seed):
    ranks = random_collection(seed)
    whole = kind.build(ranks, **options)
    whole.save(tmp_path / "memory.loom", shards=3)
    address = cluster.scheduler_address
    built = kind.build_on_disk(tables(ranks, tmp_path), tmp_path / "x.loom", shards=3, scheduler=address, **options)
    assert contents(tmp_path / "x.loom") == contents(tmp_path / "memory.loom")
    with built.served(address) as served:
        assert_same_answers(whole, served, ranks)


@pytest.mark.long
def test_ids_that_are_set_later_are_served(tmp_path, cluster):
    ids = Ids(f"d{number}" for number in range(45))
    FusionIndex.build(random_collection(7, 45)).save(tmp_path / "x.loom", shards=2)
    index = FusionIndex.open(tmp_path / "x.loom").with_ids(ids)
    with index.served(cluster.scheduler_address) as served:
        assert served.search(items=["d7"], k=3).to_dict() == index.search(items=["d7"], k=3).to_dict()


class Here:
    """A cluster of one worker that is this process."""

    def scheduler_info(self, n_workers):
        return {"workers": {"here": {}}}

    def submit(self, call, *args, workers=(), allow_other_workers=True, pure=False):
        return call(*args)


def test_a_folder_that_has_changed_is_not_served(tmp_path, monkeypatch):
    monkeypatch.setattr("rankloom.index.base.connected", lambda scheduler: nullcontext(Here()))
    ranks, path = random_collection(3, 45), tmp_path / "x.loom"
    whole = FusionIndex.build(ranks)
    whole.save(path, shards=3)
    index = FusionIndex.open(path)
    with index.served("here") as served:
        assert_same_answers(whole, served, ranks)
    FusionIndex.build(random_collection(4, 20)).save(path, shards=3, overwrite=True)
    message = r"x\.loom has changed since the index that is served was opened; open it again and serve that\."
    with pytest.raises(InputError, match=message), index.served("here"):
        pass
    with FusionIndex.open(path).served("here") as served:
        assert len(served) == 20


def test_an_index_that_was_saved_with_other_shards_is_not_served(tmp_path, monkeypatch):
    monkeypatch.setattr("rankloom.index.base.connected", lambda scheduler: nullcontext(Here()))
    ranks = random_collection(3, 45)
    whole = FusionIndex.build(ranks)
    whole.save(tmp_path / "x.loom", shards=3)
    index = FusionIndex.open(tmp_path / "x.loom")
    index.save(tmp_path / "same.loom")
    with index.served("here") as served:
        assert_same_answers(whole, served, ranks)
    index.save(tmp_path / "other.loom", shards=5)
    message = r"other\.loom was saved with other shards; open it, and serve that\."
    with pytest.raises(InputError, match=message), index.served("here"):
        pass


def test_an_index_that_is_not_sharded_cannot_be_served(tmp_path):
    index = FusionIndex.build(random_collection(1))
    with pytest.raises(InputError, match="split into shards"), index.served("local"):
        pass


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(1, 20))])
def test_a_killed_worker_costs_its_tasks_only(tmp_path, seed):
    rng, ranks = np.random.default_rng(seed), random_collection(seed, 1200)
    kind = (FusionIndex, WeftIndex)[seed % 2]
    whole = kind.build(ranks)
    whole.save(tmp_path / "memory.loom", shards=10)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local:
        address = local.scheduler_address
        with killing(local, rng.uniform(0, 2)):
            built = kind.build_on_disk(tables(ranks, tmp_path), tmp_path / "x.loom", shards=10, scheduler=address)
        assert contents(tmp_path / "x.loom") == contents(tmp_path / "memory.loom")
        with built.served(address) as served:
            with killing(local, rng.uniform(0, 0.5)):
                found = served.search(k=5)
            assert found.items.tobytes() == whole.search(k=5).items.tobytes()
            assert found.scores.tobytes() == whole.search(k=5).scores.tobytes()


class killing:  # noqa: N801
    """Kill a worker process after some seconds, while a block runs."""

    def __init__(self, local, seconds):
        self._local, self._seconds = local, seconds
        self._thread = threading.Thread(target=self._kill)

    def _kill(self):
        time.sleep(self._seconds)
        os.kill(next(iter(self._local.workers.values())).pid, signal.SIGKILL)

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *_):
        self._thread.join()


def test_a_cluster_without_workers_is_reported(tmp_path):
    class Client:
        def scheduler_info(self, n_workers):
            return {"workers": {}}

    with pytest.raises(InputError, match="no workers"):
        ServedShards(Client(), dict, 2)
