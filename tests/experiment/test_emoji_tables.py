"""The tables of docs/emoji.md are the results of its specification in experiments/."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rankloom.experiment import Experiment, run
from rankloom.experiment.results import MethodRecord, RankerRecord
from rankloom.io.cache import Cache
from rankloom.registry import Call

ROOT = Path(__file__).parents[2]
KINDS = {"bic": "color", "gch": "color", "las": "texture", "qcch": "texture", "jaccard": "words", "bow": "words"}


@pytest.fixture(scope="module")
def page():
    """Return name and numbers of each row of the first tables of rankers and methods."""
    text = (ROOT / "docs" / "emoji.md").read_text("utf-8")
    sections = text.split("\n## ")
    return {title: _rows(next(one for one in sections if one.startswith(title))) for title in ("Rankers", "Methods")}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    full = Experiment.read(ROOT / "experiments" / "emoji.toml")
    quick = replace(
        full,
        methods=tuple(map(Call, ("fg", "rrf", "combsum", "combmnz"))),
        selections=full.selections[:1],
        cutoffs=(10,),
        comparators=("wgu",),
        repeats=1,
    )
    return run(quick, tmp_path_factory.mktemp("emoji"), cache=Cache(None))


def _rows(text):
    cells = (line.strip("| ").split("|") for line in text.splitlines() if line.startswith("| "))
    return {name.strip(" *`"): re.findall(r"0\.\d{4}", " ".join(rest)) for name, *rest in cells}


def test_there_are_two_rankers_of_each_kind():
    names = [name for name, _ in Experiment.read(ROOT / "experiments" / "emoji.toml").rankers]
    assert names == list(KINDS)


@pytest.mark.long
def test_single_rankers_match_the_page(results, page):
    found = {
        one.ranker: [f"{one.values[name].mean():.4f}" for name in sorted(one.values)]
        for one in results.of(RankerRecord)
    }
    assert {name: sorted(page["Rankers"][name]) for name in KINDS} == {name: sorted(found[name]) for name in KINDS}


@pytest.mark.long
def test_methods_match_the_page(results, page):
    found = {str(one.method): f"{one.values['ndcg@10'].mean():.4f}" for one in results.of(MethodRecord)}
    assert {name: page["Methods"][name][0] for name in found} == found
    assert set(found) == {"fg", "rrf", "combsum", "combmnz"}
