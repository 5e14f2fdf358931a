"""Plug-ins that fail or return nonsense: one sentence that names the plug-in, and everything else works."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rankloom as rl
from command import run, sentence
from rankloom.datasets import COLLECTIONS
from rankloom.evaluation import CORRECTIONS, CORRELATIONS, MEASURES
from rankloom.fusion_graph import COMPARATORS, WEIGHTINGS
from rankloom.io import write_ranks
from rankloom.methods import METHODS, NORMALIZATIONS
from rankloom.rankers import RANKERS

REGISTRIES = (METHODS, COMPARATORS, WEIGHTINGS, NORMALIZATIONS, MEASURES, CORRELATIONS, CORRECTIONS)
RAISING = {
    "an error": "raise RuntimeError('two\\nlines')",
    "no message": "raise ValueError",
    "no connection": "raise ConnectionRefusedError('no server')",
    "a file that is not there": "open('none.txt')",
    "an exit": "raise SystemExit(3)",
    "a base exception": "raise BaseException('base')",
    "the end of a loop": "raise StopIteration",
    "an error that cannot be shown": "raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})",
}
RETURNED = ["None", "[1, 2]", "'x'", "float('nan')", "np.full(25, np.nan)", "np.zeros((3, 3))", "object()"]
RETURNED += ["(None, None)"]


@pytest.fixture
def restored(monkeypatch):
    """Registries that forget what a test registers."""
    for registry in (*REGISTRIES, RANKERS, COLLECTIONS):
        assert len(registry)  # its entry points are loaded
        monkeypatch.setattr(registry, "_known", dict(registry._known))
        monkeypatch.setattr(registry, "_sources", {})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    ids = rl.Ids(f"d{i}" for i in range(25))
    points = np.random.default_rng(5).normal(size=(25, 4))
    for name, columns in (("a", slice(0, 2)), ("b", slice(2, 4))):
        ranks = rl.Ranks.from_vectors(points[:, columns], "l2", depth=12, item_ids=ids, query_ids=ids)
        write_ranks(ranks, folder / f"{name}.npz")
    (folder / "labels.tsv").write_text("".join(f"{one}\t{'xy'[i % 2]}\n" for i, one in enumerate(ids)))
    lines = (json.dumps({"id": one, "text": f"word{i % 5} text"}) for i, one in enumerate(ids))
    (folder / "docs.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


IMPORTS = """import numpy as np, rankloom as rl
from rankloom import datasets, evaluation, fusion_graph, methods, rankers"""


def plugin(folder, code):
    """Write a plug-in; its name is unique, as a file is loaded once."""
    path = folder / "mine.py"
    path.write_text(f"{IMPORTS}\n{code}\n")
    return path


def fused(files, folder, method="mine"):
    return ("fuse", files / "a.npz", files / "b.npz", "--method", method, "-k", 3, "-o", folder / "out.npz")


@pytest.mark.parametrize("code", RAISING.values(), ids=RAISING)
def test_a_plug_in_file_that_raises(tmp_path, files, restored, code):
    path = plugin(tmp_path, code)
    assert sentence(run(*fused(files, tmp_path, "rrf"), "--plugin", path)).startswith(f"The plug-in {path} failed: ")
    path = plugin(tmp_path, f"@methods.register_method('mine')\ndef mine(ranks, k):\n    {code}")
    said = sentence(run(*fused(files, tmp_path), "--plugin", path))
    assert said.startswith(f"The plug-in {path} failed: ")
    assert not (tmp_path / "out.npz").exists()
    assert run(*fused(files, tmp_path, "rrf")).exit_code == 0


@pytest.mark.parametrize("returned", [*RETURNED, "rl.Ranks([[0, 1]])", "ranks[0].items"])
def test_a_method_that_does_not_return_ranks_of_the_queries(tmp_path, files, restored, returned):
    path = plugin(tmp_path, f"@methods.register_method('mine')\ndef combine(ranks, k):\n    return {returned}")
    assert "The method 'mine' must return Ranks" in sentence(run(*fused(files, tmp_path), "--plugin", path))


def test_a_method_that_loses_ids(tmp_path, files, restored):
    code = "@methods.register_method('mine')\ndef mine(ranks, k):\n    return rl.Ranks(ranks[0].items[:, :k])"
    said = sentence(run(*fused(files, tmp_path), "--plugin", plugin(tmp_path, code)))
    assert "must keep the query ids" in said


def test_an_invalid_value_made_by_a_plug_in_names_it(tmp_path, files, restored):
    code = "@methods.register_method('mine')\ndef mine(ranks, k):\n    return rl.Ranks([[0]], [[np.nan]])"
    path = plugin(tmp_path, code)
    said = sentence(run(*fused(files, tmp_path), "--plugin", path))
    assert said == f"The plug-in {path}: Row 0 has the score nan; scores must be finite in float32."


KINDS = {
    "measure": (
        "@evaluation.register_measure('mine', 'none')",
        ("evaluate", "a.npz", "--labels", "labels.tsv"),
        "--measure",
    ),
    "weighting": ("@fusion_graph.register_weighting('mine')", ("index", "a.npz", "-o", "x.loom"), "--weighting"),
    "correlation": (
        "from rankloom.evaluation import CORRELATIONS\n@CORRELATIONS.register('mine')",
        ("correlate", "a.npz", "b.npz"),
        "--correlation",
    ),
    "correction": (
        "from rankloom.evaluation import CORRECTIONS\n@CORRECTIONS.register('mine')",
        ("compare", "a.npz", "b.npz", "--labels", "labels.tsv"),
        "--correction",
    ),
    "collection": ("@datasets.register_collection('mine')", ("rank", "mine", "-o", "lists"), "--ranker=bm25"),
    "ranker": ("@rankers.register_ranker('mine')", ("rank", "docs.jsonl", "-o", "lists"), "--ranker"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("returned", [*RETURNED, "1 / 0"])
def test_what_is_returned_is_checked(tmp_path, files, restored, monkeypatch, kind, returned):
    monkeypatch.chdir(files)
    register, command, option = KINDS[kind]
    path = plugin(tmp_path, f"{register}\ndef mine(*args):\n    return {returned}")
    said = sentence(run(*command, *([option] if "=" in option else [option, "mine"]), "--plugin", path))
    assert f"{kind} 'mine'" in said or str(path) in said
    assert not {"x.loom", "lists"} & {one.name for one in files.iterdir()}


@pytest.mark.parametrize("returned", ["None", "float('nan')", "1 / 0", "-1.0", "'x'", "[common]"])
def test_a_comparator_is_checked_before_it_is_compiled(tmp_path, files, restored, returned):
    code = f"@fusion_graph.register_comparator('mine')\ndef mine(common, a, b):\n    return {returned}"
    said = sentence(run(*fused(files, tmp_path, "fg(comparator=mine)"), "--plugin", plugin(tmp_path, code)))
    assert "mine" in said


def test_what_a_plug_in_is_the_first_to_import_is_not_its_own(tmp_path):
    """In a new process: this one has imported everything."""
    path = plugin(tmp_path, "import rankloom.datasets, rankloom.rankers")
    code = (
        f"from rankloom.registry import load_plugin; load_plugin({str(path)!r})\nfrom rankloom.rankers import RANKERS\n"
    )
    code += "from rankloom.datasets import COLLECTIONS\nprint(RANKERS._sources, COLLECTIONS._sources)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "{} {}\n"


def test_entry_points_that_fail_are_skipped_in_one_sentence_each(tmp_path):
    """Installed plug-ins, in a new process: some fail when they are imported, one is of the wrong type."""
    about = tmp_path / "mine-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    names = [f"mine{number}" for number in range(len(RAISING))]
    for name, code in zip(names, RAISING.values(), strict=True):
        (tmp_path / f"{name}.py").write_text(f"{code}\n")
    points = "".join(f"{name} = {name}:x\n" for name in names)
    (about / "entry_points.txt").write_text(f"[rankloom.methods]\n{points}number = math:tau\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    command = [Path(sys.executable).with_name("rankloom"), "methods"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert len(lines) == len(names) + 1
    assert all(line.startswith("Warning: Skipped the plug-in '") for line in lines)
