"""The specifications in experiments/ on small samples of their collections."""

import functools
import gzip
import itertools
import json
import re
import runpy
import sys
from pathlib import Path

import pytest

from rankloom.experiment import Experiment, run
from rankloom.experiment.results import MethodRecord, RankerRecord
from rankloom.io.cache import Cache
from rankloom.report import PAGE, Report, render

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


def soccer(data, folder):
    for team in sorted((data / "soccer" / "images").iterdir())[:3]:
        (folder / team.name).mkdir(parents=True)
        for image in sorted(team.iterdir())[:8]:
            (folder / team.name / image.name).symlink_to(image)


def brodatz(data, folder):
    folder.mkdir()
    for number in (1, 9, 68):
        (folder / f"D{number}.gif").symlink_to(data / "brodatz" / "images" / f"D{number}.gif")


def mpeg7(data, folder):
    folder.mkdir()
    for name in ("apple", "bat", "cup"):
        for number in range(1, 9):
            (folder / f"{name}-{number}.png").symlink_to(data / "mpeg7" / "images" / f"{name}-{number}.png")


def ohsumed(data, folder):
    folder.mkdir()
    name = "ohsumed_single_label_18302.jsonl"
    with gzip.open(data / "ohsumed" / f"{name}.gz", "rt") as lines, (folder / name).open("w") as out:
        found = {}
        for line in lines:
            label = json.loads(line)["labels"][0]
            found[label] = found.get(label, 0) + 1
            if label in ("C04", "C14", "C23") and found[label] <= 20:
                out.write(line)


def ukbench(data, folder):
    folder.mkdir()
    for number in range(24):
        name = f"ukbench{number:05d}.jpg"
        (folder / name).symlink_to(data / "ukbench-1000" / "images" / name)


SAMPLES = {"soccer": soccer, "brodatz": brodatz, "mpeg7": mpeg7, "ohsumed": ohsumed, "ukbench": ukbench}


@pytest.fixture(scope="module")
def results(shared, tmp_path_factory):
    """Return a function from the name of a specification to its results on the sample."""
    top = tmp_path_factory.mktemp("samples")

    @functools.cache
    def sampled(name):
        SAMPLES[name](shared / "data", top / name)
        spec = Experiment.read(EXPERIMENTS / f"{name}.toml").to_dict()
        spec |= {"collection": f'{name}(path="{top / name}", check=no)', "cutoffs": [5, 10], "repeats": 2}
        if name == "mpeg7":
            spec["rankers"]["AIR"] = "air_affine"  # the lists are of all images
        if name == "ohsumed":
            spec["rankers"]["WMD"] = "wmd"  # with vectors learned from the texts
        return run(Experiment.from_dict(spec), top / "results" / name, cache=Cache(None))

    return sampled


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "items", "rankers"),
    [
        ("soccer", 24, 3),
        pytest.param("brodatz", 48, 3, marks=pytest.mark.long),
        pytest.param("mpeg7", 24, 6, marks=pytest.mark.long),
        pytest.param("ohsumed", 60, 7, marks=pytest.mark.long),
        pytest.param("ukbench", 24, 7, marks=pytest.mark.long),
    ],
)
def test_every_ranker_and_every_method_runs(results, tmp_path, name, items, rankers):
    found = results(name)
    assert found.about["n_items"] == items
    assert len(found.of(RankerRecord)) == rankers
    methods = {one.method for one in found.of(MethodRecord)}
    assert len(methods) == len(found.experiment.methods) >= 17
    assert min(one.values["ndcg@10"].mean() for one in found.of(RankerRecord)) > 0.3  # well above chance
    render(Report.of(found), tmp_path / PAGE)


@pytest.mark.parametrize(("arguments", "message"), [([], "Usage: "), (["{}"], "has no results")])
def test_reproduction_needs_results(monkeypatch, tmp_path, arguments, message):
    script = EXPERIMENTS / "reproduction.py"
    monkeypatch.setattr(sys, "argv", [str(script), *(one.format(tmp_path) for one in arguments)])
    with pytest.raises(SystemExit, match=message):
        runpy.run_path(str(script), run_name="__main__")


@pytest.mark.long
def test_reproduction_page_is_made_from_results(results):
    script = runpy.run_path(str(EXPERIMENTS / "reproduction.py"))
    made = [script["Reproduction"](name, results(name)) for name in SAMPLES]
    page = script["page"](made)
    titles = (
        "Checks",
        "Soccer",
        "Brodatz",
        "MPEG-7",
        "Ohsumed",
        "UKBench",
        "Comparators",
        "Winning numbers",
        "Times of fusion graphs",
    )
    for title in titles:
        assert f"## {title}" in page
    checks = list(itertools.chain.from_iterable(one.checks() for one in made))
    assert len([check for check, _, _ in checks if "within 0.05" in check]) >= 19  # 3 + 3 + 6 + 7 rankers
    assert "| BIC | `bic` |" in page
    assert "A part is easier" in " ".join(page.split())
    assert "| Xie 2015 | 3.89 |" in page
    assert re.search(r"^\| RkGraph, best of sweep \| .? ?\d\.\d{3} \(\d+\) \| - \|", page, re.MULTILINE)
    assert "`rankloom experiment experiments/mpeg7.toml -o results/mpeg7`, seed 1" in page
