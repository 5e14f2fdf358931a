"""Plug-in files on the command line, with the comparator, weighting and method of examples/plugin.py."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import oracle
import rankloom as rl
from brute import plain
from command import run, sentence
from rankloom.io import read_ranks, write_ranks

PLUGIN = Path(__file__).parents[2] / "examples" / "plugin.py"
IDS = rl.Ids(f"d{i}" for i in range(25))


@pytest.fixture
def runs(tmp_path):
    points = np.random.default_rng(5).normal(size=(len(IDS), 4))
    paths = []
    for name, columns in (("a", slice(0, 2)), ("b", slice(2, 4))):
        ranks = rl.Ranks.from_vectors(points[:, columns], "l2", depth=12, item_ids=IDS, query_ids=IDS)
        paths.append(tmp_path / f"{name}.npz")
        write_ranks(ranks, paths[-1])
    return paths


def rankloom(*arguments):
    """Run in a separate process, because a plug-in stays registered until its process ends."""
    command = [Path(sys.executable).with_name("rankloom"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.long
def test_comparator_and_weighting_of_a_plugin_agree_with_the_oracle(runs, tmp_path):
    options = ("--comparator", "overlap", "--weighting", "harmonic", "--cutoff", 4)
    made = rankloom("index", *runs, "--plugin", PLUGIN, *options, "-o", tmp_path / "my.loom")
    assert made.returncode == 0, made.stderr
    found = rankloom("search", tmp_path / "my.loom", "--plugin", PLUGIN, "-k", len(IDS), "-o", tmp_path / "out.npz")
    assert found.returncode == 0, found.stderr
    answers = read_ranks(tmp_path / "out.npz")
    expected = overlap_of_harmonic_graphs([read_ranks(path) for path in runs], cutoff=4)
    for query, row in answers.to_dict().items():
        assert row == pytest.approx(expected[query], rel=1e-5)


def overlap_of_harmonic_graphs(rankers, cutoff):
    """The method by the paper's definitions, slow and plain, with both W and P as 1 / position."""
    lists = [oracle.repositioned(plain(r), cutoff) for r in rankers]
    n = len(lists[0])

    def weights(q):
        found = {}
        for ranker in lists:
            for position, item in enumerate(ranker[q], 1):
                found[item] = found.get(item, 0.0) + 1 / position
        return found

    woven = [weights(q) for q in range(n)]
    graphs = []
    for q in range(n):
        vertices = woven[q]
        edges = {(a, b): vertices[a] * woven[a][b] for a in vertices for b in woven[a] if b in vertices and b != a}
        graphs.append({**scaled({(a, a): w for a, w in vertices.items()}), **scaled(edges)})
    sizes = [sum(graph.values()) for graph in graphs]
    found = {}
    for q in range(n):
        row = {}
        for s in range(n):
            common = sum(min(w, graphs[s][part]) for part, w in graphs[q].items() if part in graphs[s])
            if common:
                row[IDS[s]] = common / min(sizes[q], sizes[s])
        found[IDS[q]] = row
    return found


def scaled(weights):
    largest = max(weights.values(), default=1.0)
    return {part: weight / largest for part, weight in weights.items()}


def test_method_of_a_plugin_fuses(runs, tmp_path):
    out = tmp_path / "fused.npz"
    done = rankloom("fuse", *runs, "--plugin", PLUGIN, "--method", "best-position", "-k", 3, "-o", out)
    assert done.returncode == 0, done.stderr
    assert [len(row) for row in read_ranks(out).to_dict().values()] == [3] * len(IDS)


def test_names_are_unknown_without_the_plugin(runs, tmp_path):
    done = rankloom("index", *runs, "--comparator", "overlap", "-o", tmp_path / "my.loom")
    assert done.returncode == 1
    assert done.stderr.strip() == "Error: Unknown comparator 'overlap'; choose from mcs, wgu."


def test_plugin_that_fails_is_one_sentence(runs, tmp_path):
    (tmp_path / "bad.py").write_text("raise RuntimeError('no such luck')")
    command = ("fuse", *runs, "--method", "rrf", "-o", tmp_path / "x.run", "--plugin", tmp_path / "bad.py")
    assert sentence(run(*command)).endswith("bad.py failed: RuntimeError: no such luck")


def test_example_plugin_fulfills_the_contracts():
    pytest.importorskip("numba", reason="the extra jit is not installed")
    code = (
        "from rankloom.methods import check_method\nfrom rankloom.registry import load_plugin\n"
        "from rankloom.fusion_graph import check_comparator\n"
        f"load_plugin({str(PLUGIN)!r})\ncheck_comparator('overlap')\ncheck_method('best-position')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
