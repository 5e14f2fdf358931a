"""Smoke tests of the benchmarks, without checking their figures."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.long
@pytest.mark.parametrize(
    "part", ["scale", "sizes", "hubs", "reposition", "latency", "startup", "classic", "graphs", "shards"]
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
