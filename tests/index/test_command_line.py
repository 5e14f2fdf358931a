"""Indexes out of core from the command line, and served."""

import re
from pathlib import Path

import numpy as np
import pytest
from collections_on_disk import random_collection
from test_build_on_disk import contents, tables

from command import run, sentence
from rankloom import FusionIndex


@pytest.fixture
def ranks():
    return random_collection(7, 45)


def test_index_builds_out_of_core(tmp_path, ranks):
    paths, target = tables(ranks, tmp_path), tmp_path / "x.loom"
    done = run("index", *paths, "--memory", "1GB", "--shards", 4, "-o", target)
    assert (done.exit_code, done.stderr) == (0, f"{target}: 45 items, {len(paths)} rankers, 4 shards\n")
    FusionIndex.build(ranks).save(tmp_path / "memory.loom", shards=4)
    assert contents(target) == contents(tmp_path / "memory.loom")


def test_search_opens_a_sharded_index(tmp_path, ranks):
    index = FusionIndex.build(ranks)
    index.save(tmp_path / "whole.loom")
    index.save(tmp_path / "sharded.loom", shards=3)
    answers = [run("search", tmp_path / f"{name}.loom", "--item", 7, "-k", 4).stdout for name in ("whole", "sharded")]
    assert answers[0] == answers[1]
    assert answers[0]


def test_what_does_not_apply_is_refused(tmp_path, ranks):
    paths, target = tables(ranks, tmp_path), tmp_path / "x.loom"
    assert "needs --memory" in sentence(run("index", *paths, "--scheduler", "local", "-o", target))
    said = sentence(run("index", *paths, "--memory", "1GB", "--format", "npz", "-o", target))
    assert said.startswith("--format does not apply")
    np.save(tmp_path / "bad.npy", np.full((3, 2), 5, np.int32))
    assert "rows from 0" in sentence(run("index", tmp_path / "bad.npy", "--memory", "1GB", "-o", target))
    assert not target.exists()


@pytest.fixture
def served(monkeypatch):
    """Call `rankloom serve` with a folder, and return the searcher that it would serve."""
    web = pytest.importorskip("rankloom.web")
    pytest.importorskip("fastapi")
    searchers = []
    monkeypatch.setattr(web, "make_app", lambda searcher, **options: searchers.append(searcher))
    monkeypatch.setattr(web, "serve", lambda app, sock, **options: None)

    def serve(folder):
        assert run("serve", folder, "--port", "0").exit_code == 0
        return searchers.pop()

    return serve


def test_serve_keeps_a_sharded_index_mapped(tmp_path, ranks, served):
    index = FusionIndex.build(ranks)
    index.save(tmp_path / "whole.loom")
    index.save(tmp_path / "sharded.loom", shards=3)
    whole, sharded = (served(tmp_path / f"{name}.loom") for name in ("whole", "sharded"))
    for item in ("0", "44"):
        answers = [[(hit.id, hit.score) for hit in one.search(item=item, k=5)] for one in (whole, sharded)]
        assert answers[0] == answers[1]
        assert whole.graph(item=item).to_dict() == sharded.graph(item=item).to_dict()
    graphs = sharded._state.graphs
    assert graphs.n_shards == 3
    assert sharded.search(item="44", k=1)[0].document == {"id": "44"}
    assert not any(array.flags.owndata for array in graphs.arrays.values())


def test_checking_a_sharded_index_leaves_its_pages_on_disk(tmp_path):
    """Mapped pages count as memory of the process; those that the check has read are given back."""
    smaps = Path("/proc/self/smaps")
    if not smaps.exists():
        pytest.skip("needs /proc")
    whole = FusionIndex.build(random_collection(3, 3000))
    whole.save(tmp_path / "sharded.loom", shards=2)
    sharded = FusionIndex.open(tmp_path / "sharded.loom")
    resident = [int(re.search(r"Rss: +(\d+)", part)[1]) for part in smaps.read_text().split(str(tmp_path))[1:]]
    assert len(resident) > 8
    assert sum(resident) < 0.1 * sum(file.stat().st_size for file in (tmp_path / "sharded.loom").iterdir()) / 1024
    assert sharded.search(k=3, items=[5]).items.tolist() == whole.search(k=3, items=[5]).items.tolist()
