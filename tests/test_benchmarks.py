"""Smoke tests of the benchmarks, without checking their figures."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rankloom as rl

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.long
@pytest.mark.parametrize(
    "part",
    ["scale", "sizes", "hubs", "reposition", "latency", "startup", "classic", "graphs", "shards", "searcher_million"],
)
def test_each_part_runs_on_small_collections(part):
    title, rows, _ = json.loads(output("run.py", part, "--quick", "--inside"))
    assert title
    assert rows
    assert all(value is not None for row in rows for value in row.values())


def output(script, *arguments):
    command = [sys.executable, str(BENCHMARKS / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONWARNINGS": "error"})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_the_table_of_estimates_is_printed():
    rows = output("estimates.py", "200").splitlines()
    assert len(rows) == 2 + 7 + 1 + 2 + 1 + 2 * 4
    assert all(row.startswith("|") and row.endswith("|") for row in rows if row)


@pytest.mark.long
def test_the_frames_of_a_chain_are_counted_and_printed_as_a_tree():
    counted = output("frames.py").splitlines()
    assert len(counted) == 9
    head, *tree = output("frames.py", "fuse rrf", "--depth", "2").splitlines()
    assert head in counted
    assert tree[0].endswith(": fuse")
    assert max(len(line) - len(line.lstrip()) for line in tree) == 2


DRAWN = {
    '`rl.fuse(ranks, "rrf")`': "fuse rrf",
    '`rl.fuse(ranks, "fg")`': "fuse fg",
    "An external query": "external",
    "Documents": "build",
    "A text": "search",
    "More documents": "add",
    "To disk": "save",
    "A request": "POST /search",
    "An experiment": "experiment",
}


def drawn(title):
    """Return the tree of calls that ARCHITECTURE.md draws under a title: level and function of each line."""
    text = (BENCHMARKS.parent / "ARCHITECTURE.md").read_text()
    tree = text.partition(f"**{title}")[2].partition("```\n")[2].partition("```")[0]
    rows = [re.match(r"( *)(\S+) +(\S+)", line).groups() for line in tree.splitlines()]
    return [(len(indent) // 2, f"{file.removesuffix('.py').replace('/', '.')}: {name}") for indent, name, file in rows]


@pytest.mark.long
@pytest.mark.parametrize(("title", "chain"), DRAWN.items(), ids=DRAWN.values())
def test_the_architecture_draws_recorded_calls(title, chain):
    calls = callers(output("frames.py", chain, "--depth", "99").splitlines()[1:])
    tree, at, path = drawn(title), -1, []
    assert tree
    for level, name in tree:
        path = [*path[:level], name]
        at = next((n for n in range(at + 1, len(calls)) if is_below(calls[n], path)), None)
        assert at is not None, f"{name} is not called there, or not in this order"


def callers(lines):
    """Return each call as the functions around it, from the outside, and its own at the end."""
    calls, around = [], []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        around = [*(outer for outer in around if outer[0] < indent), (indent, line.strip().partition("  x")[0])]
        calls.append([name for _, name in around])
    return calls


def is_below(call, path):
    """Return True if a call is that of the last function in a path, and inside those of the others, in this order."""
    outside = iter(call[:-1])
    return call[-1] == path[-1] and all(name in outside for name in path[:-1])


@pytest.mark.long
def test_the_load_of_a_service_is_printed(tmp_path):
    texts = [{"id": f"d{n}", "text": f"word{n % 7} word{n % 11} heat"} for n in range(60)]
    rl.Searcher.build(texts, ["bm25", "bow-cosine"]).save(tmp_path / "s.loom")
    (tmp_path / "words.txt").write_text("\n".join(f"word{n}" for n in range(11)))
    printed = output(
        "load.py", str(tmp_path / "s.loom"), str(tmp_path / "words.txt"), "--minutes", ".05", "--seconds", "2"
    )
    rows = [line.strip("| ").split(" | ") for line in printed.splitlines() if line.startswith("| ")]
    assert [row[0] for row in rows if row[0].startswith("default")] == [
        "default alone",
        "default, beside batches by kemeny",
        "default",
    ]
    assert all("x 0" not in row[-1] for row in rows)
    assert "99 %: " in printed
    assert "Memory of a worker" in printed
