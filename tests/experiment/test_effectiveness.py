"""The page of effectiveness: a sample of its experiments runs, and its figures are the ones on the page."""

import re
import runpy
from dataclasses import replace
from pathlib import Path

import linear
import numpy as np
import pytest

from rankloom import fuse
from rankloom.experiment import Experiment, run
from rankloom.experiment.inputs import prepare
from rankloom.io.cache import Cache
from rankloom.registry import Call

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "experiments" / "effectiveness.py"))
NAMES = (*SCRIPT["ITEMS"], *SCRIPT["QUERIES"])


def specification(name):
    return Experiment.read(SCRIPT["SPECIFICATIONS"] / f"{name}.toml")


def measured(name, folder, methods=None, **changes):
    spec = replace(specification(name), **changes)
    if methods is not None:
        spec = replace(spec, methods=tuple(map(Call.parse, methods)))
    return SCRIPT["Measured"](run(spec, folder, base=SCRIPT["SPECIFICATIONS"], cache=Cache(None)))


def test_every_specification_is_on_the_page_once():
    files = {path.stem for path in SCRIPT["SPECIFICATIONS"].glob("*.toml")}
    assert files == set(NAMES)
    assert len(NAMES) == len(set(NAMES))


@pytest.mark.parametrize("name", NAMES)
def test_every_specification_has_the_columns_and_the_specified_figures(name):
    spec = specification(name)
    kind = "items" if name in SCRIPT["ITEMS"] else "queries"
    columns = SCRIPT["ITEM_COLUMNS" if kind == "items" else "QUERY_COLUMNS"].values()
    known = {SCRIPT["SINGLE"], SCRIPT["LINEAR"], *map(str, spec.methods), *spec.ranker_names}
    assert {*columns, *SCRIPT["FIGURES"][kind].get(name, {})} <= known
    assert spec.cutoff == 100
    assert (spec.seed, spec.shuffle) == (1, True)


def test_a_sample_makes_a_page(tmp_path, monkeypatch):
    found = measured("digits", tmp_path, collection=Call.parse("digits(first=120)"))
    found.methods |= {f"{name}, 60": found.methods["rrf"] for name in SCRIPT["SHALLOW_METHODS"]}
    page = SCRIPT["page"]({"digits": found})
    assert f"weft {found.mean('rrf'):.4f} instead of {found.mean('weft'):.4f}" in page.replace("\n", " ")
    row = next(line for line in page.splitlines() if line.startswith("| Digits | 0."))
    assert f"**{found.mean('weft'):.4f}** |" in row
    assert f"| {found.mean('rrf'):.4f} " in row
    assert "| better/tie/worse than weft |" in page
    assert "Signed: difference from weft; *: significant (paired t test over queries, p < 0.01)." in page.replace(
        "\n", " "
    )
    assert "Not run yet: soccer" in page
    assert max(len(line) for line in page.splitlines() if not line.startswith("|")) <= 120


def test_outcomes_are_those_of_the_paired_test(tmp_path):
    found = measured("digits", tmp_path, ["weft", "rrf"], collection=Call.parse("digits(first=120)"))
    found.methods["rrf"]["ndcg@10"] = found.methods["weft"]["ndcg@10"] - np.linspace(0.1, 0.2, 120)
    columns = {"RRF": "rrf", "weft": "weft"}
    lines = list(SCRIPT["table"]({"digits": found}, columns, "weft"))
    assert " -0.1500* |" in lines[2]
    assert lines[-1] == "| better/tie/worse than weft | 0/0/1 |  |"


@pytest.mark.long
def test_med_has_the_specified_figures_and_those_of_the_page(tmp_path, shared, monkeypatch):
    monkeypatch.setenv("RANKLOOM_DATA", str(shared / "data"))
    found = measured("med", tmp_path)
    figures = list(SCRIPT["reproduced"]({"med": found}))
    assert len(figures) == 11
    for name, measure, method, specified, here in figures:
        assert SCRIPT["is_close"](name, method, specified, here), f"{method}, {measure}: {here:.4f}"
    page = (ROOT / "docs" / "effectiveness.md").read_text("utf-8")
    fusions = page.partition("## A poor ranker")[0]
    inputs = prepare(specification("med"), SCRIPT["SPECIFICATIONS"], Cache(None))
    found.methods[SCRIPT["LINEAR"]] = linear.learned(inputs.collection.queries, inputs.lists, ["ndcg@10", "recall@100"])
    rows = [line for line in fusions.splitlines() if line.startswith("| MED | 0.")]
    for row, measure in zip(rows, ("ndcg@10", "recall@100"), strict=True):
        shown = re.findall(r"(?<![-+])0\.\d{4}", row)
        assert shown == [f"{found.mean(name, measure):.4f}" for name in SCRIPT["QUERY_COLUMNS"].values()]


def test_the_supervised_line_is_a_sum_of_the_parts_of_vote(tmp_path, shared, monkeypatch):
    monkeypatch.setenv("RANKLOOM_DATA", str(shared / "data"))
    inputs = prepare(specification("med"), SCRIPT["SPECIFICATIONS"], Cache(None))
    parts = linear.parts(inputs.lists)
    queries, items = ([getattr(one, part) for one in inputs.lists.values()] for part in ("queries", "items"))
    vote = fuse(queries, "vote", 10, collection=items, **linear.facts(inputs.lists))
    assert list(parts) == ["okapi", "minilm", "weft"]
    np.testing.assert_allclose(fuse(parts, linear.METHOD, 10).scores, vote.scores, atol=1e-4)
