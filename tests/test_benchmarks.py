"""A small sample of each benchmark runs; how fast it is does not matter here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.parametrize("part", ["scale", "sizes", "hubs", "reposition", "latency", "startup", "classic", "graphs"])
def test_a_small_sample_of_each_part_runs(part):
    command = [sys.executable, str(BENCHMARKS / "run.py"), part, "--quick", "--inside"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONWARNINGS": "error"})
    assert done.returncode == 0, done.stderr
    title, rows, _ = json.loads(done.stdout)
    assert title
    assert rows
    assert all(value is not None for row in rows for value in row.values())


def test_the_table_of_estimates_is_printed():
    command = [sys.executable, str(BENCHMARKS / "estimates.py"), "200"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONWARNINGS": "error"})
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    assert len(rows) == 2 + 7 + 1 + 2 + 1 + 2 * 4
    assert all(row.startswith("|") and row.endswith("|") for row in rows if row)
