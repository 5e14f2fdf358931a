"""experiments/supervised.py on small data: the figures of the docs take half an hour."""

import gzip
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from rankloom.methods import METHODS, SUPERVISED
from rankloom.registry import Call

ROOT = Path(__file__).parents[2]
WORDS = ["heat", "wing", "flow", "shock", "layer", "jet"]


@pytest.fixture
def script(monkeypatch):
    spec = importlib.util.spec_from_file_location("supervised_script", ROOT / "experiments" / "supervised.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "TRIALS", 4)
    return module


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    texts, runs = tmp_path / "texts" / "cosqa", tmp_path / "mq2008-agg"
    texts.mkdir(parents=True)
    runs.mkdir()
    docs = [{"id": f"d{i}", "text": " ".join(rng.choice(WORDS, 4))} for i in range(12)]
    queries = [{"id": f"q{i}", "text": " ".join(rng.choice(WORDS, 2))} for i in range(10)]
    (texts / "docs.jsonl").write_text("\n".join(map(json.dumps, docs)))
    (texts / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    judged = "".join(f"q{q} 0 d{i} 1\n" for q in range(10) for i in rng.permutation(12)[:3])
    (texts / "qrels.txt").write_text(judged)
    (runs / "qrels.txt").write_text(judged)
    rows = [(f"q{q}", r, f"d{i}", rng.integers(1, 90)) for q in range(10) for r in (1, 2, 3) for i in range(12)]
    with gzip.open(runs / "ranks.csv.gz", "wt") as file:
        file.writelines(f"{query},{ranker},{item},{value}\n" for query, ranker, item, value in rows)
    return tmp_path


def test_every_method_is_measured_and_shown(script, data, tmp_path):
    found = [script.measure(name, data, tmp_path / "results", None) for name in ("cosqa", "mq2008")]
    text = script.section(found)
    for name in (*script.UNSUPERVISED, *script.LEARNED, *script.TUNED, script.SINGLE):
        assert f"| {name} |" in text or f"| **{name}** |" in text
    texts = text.partition("Runs alone")[0]
    assert "| **vote** |" in texts
    assert "| rrf |" not in texts  # it is in the tables of all methods
    assert "vote |" not in text.partition("Runs alone")[2]
    again = script.measure("mq2008", data, tmp_path / "results", None)
    assert all(np.array_equal(again[1][name], scores) for name, scores in found[1][1].items())


def test_a_large_value_means_top(script, data):
    case = script.mq2008_case(data, None)
    with gzip.open(data / "mq2008-agg" / "ranks.csv.gz", "rt") as file:
        rows = [line.strip().split(",") for line in file]
    values = {item: int(value) for query, ranker, item, value in rows if (query, ranker) == ("q0", "1")}
    listed = list(case.ranks["r1"].to_dict()["q0"])
    assert values[listed[0]] == max(values.values())


def test_the_page_has_the_section(script):
    section, page = (path.read_text("utf-8") for path in (script.SECTION, script.PAGE))
    assert section in page
    assert script.insert(section, page, "What else was tried") == page


def test_names_are_those_of_methods(script):
    named = (*script.UNSUPERVISED, *script.LEARNED)
    assert {Call.parse(name).name for name in named} <= {*METHODS, *SUPERVISED}
