"""Importing rankloom is fast: slow dependencies are imported on first use."""

import subprocess
import sys

import pytest

SLOW = (
    "numba",
    "scipy",
    "scipy.stats",
    "pandas",
    "polars",
    "networkx",
    "sklearn",
    "matplotlib",
    "jinja2",
    "PIL",
    "fastapi",
    "uvicorn",
)


def loaded_by(code):
    """Return the slow modules that are loaded in a new process after running `code`."""
    show = f"{code}\nimport sys\nprint(*(name for name in {SLOW} if name in sys.modules))"
    return subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize(
    "code",
    [
        "import rankloom",
        "from rankloom.fusion_graph.index import FusionIndex",
        "from rankloom.fusion_graph import compare, draw, graph, weave",
        "import rankloom.threads, rankloom.io.folder_writer",
        "import rankloom.evaluation, rankloom.evaluation.selection",
        "import rankloom.datasets, rankloom.rankers, rankloom.datasets.images",
        "import rankloom.rankers.text.word_movers, rankloom.rankers.text.embeddings, rankloom.rankers.vectors.encoder",
        "import rankloom.web, rankloom.cli",
        "from rankloom import Ranks; Ranks([[0, 1], [1, 0]]).head(1)",
    ],
)
def test_importing_loads_nothing_slow(code):
    assert loaded_by(code) == []


def test_building_an_index_loads_nothing_slow():
    assert loaded_by("from rankloom import FusionIndex, Ranks\nFusionIndex.build([Ranks([[0]])]).search()") == []


def test_per_query_methods_load_nothing_slow():
    code = (
        "import rankloom as rl\n"
        "from rankloom.aggregate import METHODS, QueryMethod\n"
        "ranks = [rl.Ranks([[0, 1, 2]], [[3, 2, 1]])] * 2\n"
        "for name, method in METHODS.items():\n"
        "    if issubclass(method, QueryMethod): rl.fuse(ranks, name)"
    )
    assert loaded_by(code) == []
