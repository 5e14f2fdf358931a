"""mypy infers the types of a user's program: no call of the public face is Any."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
PROGRAM = """
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import rankloom as rl
from rankloom.evaluation import estimate
from rankloom.methods import RRF, CombSUM

texts = ["a cat", "a dog", "a cat and a dog"]
matrix = np.zeros((2, 3))
vector: NDArray[np.float32] = np.zeros(3, np.float32)
labels = ["a", "b"]
index = rl.FusionIndex.build({"eye": rl.Ranks.from_similarities(np.eye(2))})
out = index.search()
searcher = rl.Searcher.build(texts, rankers={"words": "okapi", "dense": lambda texts: np.zeros((len(texts), 3))})


def either() -> str | list[str]:
    return texts


"""
#: What a user writes, and what it is.
TYPES = {
    "index": "FusionIndex",
    "index.search(k=3)": "Ranks",
    "index.search([out], k=3)": "Ranks",
    "index.search(items=['0'])": "Ranks",
    "index.explain(0, 1)": "Explanation",
    "index.graph(0)": "FusionGraph",
    "rl.FusionIndex.open('x.loom')": "FusionIndex",
    "rl.FusionIndex.build_on_disk(['x.npy'], 'x.loom')": "FusionIndex",
    "rl.WeftIndex.build([out])": "WeftIndex",
    "rl.WeftIndex.open('x.loom').vote([out])": "Ranks",
    "RRF(constant=20, weights=[1, 2])": "RRF",
    "RRF(depth=10).constant": "float",
    "CombSUM(normalization='rank_norm').depth": "int | None",
    "rl.fuse([out], RRF())": "Ranks",
    "RRF().fuse([out])": "Ranks",
    "rl.train([out], {'q': {'a': 1}}, 'posfuse')": "Trained",
    "rl.evaluate(out, labels=labels)": "dict[str, float]",
    "rl.evaluate(out, qrels={'q': {'a': 1}})": "dict[str, float]",
    "rl.evaluate(out, labels=labels, per_query=True)": "dict[str, ndarray[tuple[Any, ...], dtype[float64]]]",
    "rl.correlation(out, out)": "float",
    "rl.correlation(out, out, per_query=True)": "ndarray[tuple[Any, ...], dtype[float64]]",
    "estimate(out)": "float",
    "estimate(out, per_query=True)": "ndarray[tuple[Any, ...], dtype[float64]]",
    "rl.compare([0.5, 1], [1, 0])": "Comparison",
    "rl.select({'a': 0.5}, kind='best(1)')": "tuple[str, ...]",
    "rl.open_collection('emoji')": "Collection",
    "rl.Experiment.read('x.toml')": "Experiment",
    "rl.read_run('x.run')": "Ranks",
    "searcher": "Searcher",
    "rl.Searcher.open('x.loom')": "Searcher",
    "searcher.search('cat')": "Answer",
    "searcher.search('cat', k=3, method='rrf', where={'lang': 'en'})": "Answer",
    "searcher.search(['cat', 'dog'])": "list[Answer]",
    "searcher.search(item='1')": "Answer",
    "searcher.search(item=['1', '2'], k=3)": "list[Answer]",
    "searcher.search(image=Path('cat.png'))": "Answer",
    "searcher.search(image=[b'', 'cat.png'])": "list[Answer]",
    "searcher.search(ids='q1')": "Answer",
    "searcher.search(ids=['q1'])": "list[Answer]",
    "searcher.search('cat', vectors={'dense': vector})": "Answer",
    "searcher.search(vectors={'dense': vector})": "Answer",
    "searcher.search(vectors={'dense': [0.5, 1.0]})": "Answer",
    "searcher.search(vectors={'dense': [[0.5], [1.0]]})": "list[Answer]",
    "searcher.search(vectors={'dense': matrix})": "list[Answer]",
    "searcher.search(['cat'], vectors={'dense': matrix})": "list[Answer]",
    "searcher.search(either())": "Answer | list[Answer]",
    "searcher.search('cat')[0]": "Hit",
    "searcher.search('cat')[:2]": "list[Hit]",
    "searcher.search('cat')[0].number": "int | None",
    "searcher.rank({'q': 'cat'})": "Ranks",
    "searcher.evaluate({'q': 'cat'}, {'q': {'0': 1}})": "Evaluation",
}  # fmt: skip


@pytest.mark.long
def test_mypy_infers_the_types_of_a_program(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + "".join(f"reveal_type({one})\n" for one in TYPES))
    revealed = re.findall(r'Revealed type is "(.*)"', mypy(program))
    assert dict(zip(TYPES, revealed, strict=True)) == TYPES


@pytest.mark.long
def test_mypy_rejects_a_search_for_two_things(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + "searcher.search('cat', item='1')\nsearcher.search(3)\n")
    assert mypy(program, errors=True).count('No overload variant of "search"') == 2


@pytest.mark.long
def test_mypy_knows_the_options_of_a_method(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + "RRF(konstant=1)\nRRF(constant='x')\nCombSUM(depth=2.5)\nRRF().constant = 3\n")
    said = mypy(program, errors=True)
    assert 'Unexpected keyword argument "konstant" for "RRF"' in said
    assert 'Argument "constant" to "RRF" has incompatible type "str"; expected "float"' in said
    assert 'Argument "depth" to "CombSUM" has incompatible type "float"; expected "int | None"' in said
    assert 'Property "constant" defined in "RRF" is read-only' in said


def mypy(program, errors=False):
    """Return what mypy --strict says of a program of a user."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(program)]
    environment = {**os.environ, "MYPYPATH": str(SOURCE), "MYPY_CACHE_DIR": str(program.parents[1] / "mypy")}
    done = subprocess.run(command, cwd=program.parent, env=environment, capture_output=True, text=True)
    assert (done.returncode != 0) == errors, done.stdout + done.stderr
    return re.sub(r"rankloom\.[a-z_.]+\.(?=[A-Z])|numpy\.", "", done.stdout)
