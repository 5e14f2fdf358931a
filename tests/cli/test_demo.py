import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from command import run
from rankloom.cli import demo

README = (Path(__file__).parents[2] / "README.md").read_text()
#: Runs the command line as if some packages were not installed.
WITHOUT = """
from importlib.machinery import PathFinder

find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name.partition(".")[0] in {packages!r} else find(name, *rest)
from rankloom.cli import main
main()
"""
SERVING = {"fastapi", "starlette", "uvicorn", "httptools", "jinja2", "python_multipart"}


def stamps(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.npz")}


@pytest.mark.long
def test_table_is_that_of_the_readme():
    result = run("demo", "--no-serve", "--no-cache")
    assert result.exit_code == 0, result.output
    assert result.output.strip() in README


def test_the_line_below_the_table_says_whether_fusing_helps():
    random = np.random.default_rng(0)
    poor, good = random.random(200) / 2, 0.5 + random.random(200) / 4

    def verdict(ours):
        return demo._verdict({"all six": {**dict.fromkeys(demo.RANKERS, poor), "jaccard": good, "weft": ours}})

    others = f"the other rankers score {poor.mean():.2f} to {poor.mean():.2f}."
    assert verdict(good + 0.1 + poor / 9) == f"weft of all six beats jaccard alone; {others}"
    assert verdict(good) == f"weft of all six does not beat jaccard alone; {others}"
    assert verdict(poor) == f"weft of all six loses to jaccard alone; {others}"


def test_second_run_uses_the_cache(tmp_path):
    arguments = ["demo", "--no-serve", "--first", 60, "--cache", tmp_path]
    first = run(*arguments)
    cached = stamps(tmp_path)
    second = run(*arguments)
    assert first.exit_code == second.exit_code == 0
    assert first.output == second.output
    assert stamps(tmp_path) == cached


@pytest.mark.parametrize("serving", [False, True], ids=["table only", "serving"])
def test_only_serving_needs_the_extra(serving):
    options = ["--first", "20", "--no-cache", *([] if serving else ["--no-serve"])]
    command = [sys.executable, "-c", WITHOUT.format(packages=SERVING), "demo", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if serving:
        assert (done.returncode, done.stdout) == (1, "")
        assert "pip install 'rankloom[serve]'" in done.stderr
    else:
        assert done.returncode == 0, done.stderr
        assert "fusion graphs (FG)" in done.stdout
