"""A small made-up experiment: three rankers, four methods, two selections; and functions to vary it."""

import numpy as np

from rankloom.experiment import results as rec
from rankloom.experiment.results import Results
from rankloom.experiment.spec import Experiment

RANKERS = {"bic": 0.61, "acc": 0.58, "gch": 0.50}
METHODS = {"fg": 0.66, "rrf": 0.60, "combsum": 0.60, "borda": 0.55}
SELECTIONS = {"all": ("bic", "acc", "gch"), "best(2)": ("bic", "acc")}
SECTIONS = ["rankers", "correlations", "methods", "wins", "examples", "cutoffs", "comparators", "winning", "gains"]
SECTIONS += ["times", "provenance"]
#: With those of the numbers that the paper has for the collection.
ALL_SECTIONS = [*SECTIONS[:-1], "published", "published-methods", SECTIONS[-1]]
DOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)
ABOUT = {
    "collection": "soccer: 280 images in 7 classes",
    "n_items": 280,
    "n_queries": 280,
    "versions": {"rankloom": "0.1.0", "numpy": "2.1.0"},
    "machine": "Linux, x86_64, 2 cores",
    "command": "rankloom experiment soccer.toml",
    "started": "2026-01-02T03:04:05+00:00",
    "notes": ["kemeny was left out: it took too long."],
}


def values(mean, n=40, spread=0.05, shift=0):
    """Return values of two measures for n queries, determined by mean, spread and shift."""
    wave = spread * np.sin(np.arange(n) * 0.7 + shift)
    one = mean + wave - wave.mean()
    return {"ndcg@10": one, "map": one * 0.8}


def specification(rankers=tuple(RANKERS), methods=tuple(METHODS), selections=tuple(SELECTIONS), **more):
    given = {"name": "Soccer, three rankers", "collection": "soccer", "rankers": dict.fromkeys(rankers, "bic")}
    given |= {"methods": list(methods), "measures": ["ndcg@10", "map"], "selections": list(selections)}
    return Experiment.from_dict(given | {"curve": ["fg", "rrf"], "cutoffs": [2, 4, 10, 20]} | more)


def ranker_records(rankers=None, estimates=True):
    found = (rankers or RANKERS).items()
    return [
        rec.RankerRecord(
            name, values(mean, shift=i), {"authority": mean / 2, "reciprocal": 1 - mean} if estimates else {}, 0.5
        )
        for i, (name, mean) in enumerate(found)
    ]


def method_records(methods=None, selections=None):
    records = []
    for number, (selection, rankers) in enumerate((selections or SELECTIONS).items()):
        records.append(rec.SelectionRecord(selection, rankers))
        for i, (method, mean) in enumerate((methods or METHODS).items()):
            quality = values(mean + 0.01 * number, shift=3 + i - (method == "combsum"))  # equal to rrf
            records.append(rec.MethodRecord(selection, rankers, method, quality, 0.01 * (i + 1)))
    return records


def other_records(rankers=tuple(RANKERS)):
    matrix = np.array(
        [[1.0 if i == j else 0.2 + 0.1 * (i + j) for j in range(len(rankers))] for i in range(len(rankers))]
    )
    records = [rec.CorrelationRecord(kind, 10, tuple(rankers), matrix) for kind in ("jaccard", "kendall", "spearman")]
    for cutoff in (2, 4, 10, 20):
        for method, height in (("fg", 0.66), ("rrf", 0.6)):
            records.append(rec.CutoffRecord(method, cutoff, values(height - 0.2 / cutoff), 0.1))
    records += [rec.ComparatorRecord("wgu", values(0.66)), rec.ComparatorRecord("mcs", values(0.65))]
    return [*records, *(rec.TimeRecord(name, (0.5, 0.6, 0.7), (2e-5, 3e-5, 4e-5)) for name in SELECTIONS)]


def example_records():
    """Return a query won with images, and one lost with texts."""
    won = rec.Example(
        rec.Shown("a.jpg", "ajax", DOT),
        1.0,
        0.5,
        (rec.Shown("b.jpg", "ajax", DOT, True), rec.Shown("c.jpg", "barca", DOT)),
        (),
    )
    lost = rec.Example(rec.Shown("q<1>", "a <b> query"), 0.25, 0.75, (rec.Shown("d1", "text"),), (rec.Shown("d2"),))
    return [rec.ExamplesRecord("all", "fg", "bic", (won, lost))]


def results(records=None, about=None, **spec):
    """Return the small experiment, or one with other records and settings."""
    if records is None:
        records = [*ranker_records(), *method_records(), *other_records()]
    return Results(specification(**spec), ABOUT if about is None else about, tuple(records))
