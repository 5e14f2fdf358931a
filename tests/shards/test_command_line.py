"""Indexes out of core from the command line, and served."""

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


def test_search_opens_what_is_cut(tmp_path, ranks):
    index = FusionIndex.build(ranks)
    index.save(tmp_path / "whole.loom")
    index.save(tmp_path / "cut.loom", shards=3)
    answers = [run("search", tmp_path / f"{name}.loom", "--item", 7, "-k", 4).stdout for name in ("whole", "cut")]
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


def test_serve_keeps_a_cut_index_mapped(tmp_path, ranks):
    pytest.importorskip("fastapi")
    from rankloom.cli.serve import _open_index

    index = FusionIndex.build(ranks)
    index.save(tmp_path / "whole.loom")
    index.save(tmp_path / "cut.loom", shards=3)
    whole, cut = (_open_index(tmp_path / f"{name}.loom") for name in ("whole", "cut"))
    for item in ("0", "44"):
        answers = [[(hit.id, hit.score) for hit in one.search(item=item, k=5)] for one in (whole, cut)]
        assert answers[0] == answers[1]
        assert whole.graph(item=item).to_dict() == cut.graph(item=item).to_dict()
    assert cut.index.n_shards == 3
    assert cut.documents[44] == {"id": "44"}
    assert not any(array.flags.owndata for array in cut.index.arrays.values())
