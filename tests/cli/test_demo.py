import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from command import run
from rankloom.cli import demo

PAGE = (Path(__file__).parents[2] / "docs" / "emoji.md").read_text()
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
def test_table_is_that_of_the_documentation():
    result = run("demo", "--no-serve", "--no-cache")
    assert result.exit_code == 0, result.output
    assert result.output.strip() in PAGE


def test_the_line_below_the_table_says_whether_fusing_helps():
    random = np.random.default_rng(0)
    poor, good = random.random(200) / 2, 0.5 + random.random(200) / 4

    def verdict(ours):
        return demo._verdict({"all four": {**dict.fromkeys(demo.RANKERS, poor), "jaccard": good, "weft": ours}})

    best = "jaccard, the best ranker alone"
    better = good + 0.1 + poor / 9
    gain = (better - good).mean()
    assert verdict(better) == f"weft of all four is significantly better than {best}: +{gain:.4f}."
    assert verdict(good) == f"weft of all four does not beat {best}: +0.0000."
    assert verdict(poor) == f"weft of all four loses to {best}: {(poor - good).mean():.4f}."


def test_heading_and_columns_say_how_many_rankers_there_are():
    words = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
    assert demo.HEADING.split()[0].lower() == words[len(demo.RANKERS)]
    assert next(iter(demo.SELECTIONS)) == f"all {words[len(demo.RANKERS)]}"


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
