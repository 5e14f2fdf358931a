"""Fuse BM25 and MiniLM over nine collections of texts in one: the only judged collection of this size.

    RANKLOOM_DATA=data python experiments/merged.py results/effectiveness

writes experiments/effectiveness-merged.md and the same section of docs/effectiveness.md; `make effectiveness` runs it.
Lists are cached in the folder. Five minutes.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path

import linear
import numpy as np
from sections import filled, insert

import rankloom as rl
from rankloom.datasets import Collection, Queries
from rankloom.evaluation import compare, legend
from rankloom.io.cache import Cache
from rankloom.rankers import rank_collection

ROOT = Path(__file__).parents[1]
SECTION = ROOT / "experiments" / "effectiveness-merged.md"
PAGE = ROOT / "docs" / "effectiveness.md"
NAMES = ("med", "cisi", "cacm", "scifact", "npl", "cranfield", "cosqa", "checkthat2020", "wikiqa")
RANKERS = {"okapi": "okapi", "minilm": "vectors(comparable=no)"}
MEASURES = {"ndcg@10": "NDCG@10", "recall@100": "Recall@100"}
#: Row -> method of one query, and how much of each list it gets.
LISTS = {
    "RRF": ("rrf", 100),
    "CombSUM": ("combsum", 100),
    "DBSF": ("dbsf", 100),
    "log-odds": ("logodds", 100),
    "TM2C2": ("wsum(normalization=tmm)", 100),
    "relative score fusion": ("wsum", 1000),
}
#: Row -> method that uses the lists of the documents.
NEIGHBORS = {"FG, cutoff 10": ("fg", {}), "weft": ("weft", {}), "**vote**": ("vote", {})}
ALPHA = 0.05


def merged(collections):
    """Return all collections as one; of texts that are equal, the first is kept, and judgments move to it."""
    kept, texts, vectors, queries = {}, [], [], {"ids": [], "texts": [], "vectors": [], "qrels": {}}
    for name, one in collections.items():
        moved = {}
        for id, text, vector in zip(one.ids, one.parts["texts"], one.parts["vectors"], strict=True):
            if text not in kept:
                kept[text] = f"{name}/{id}"
                texts.append(text)
                vectors.append(vector)
            moved[id] = kept[text]
        asked = one.queries
        queries["ids"] += [f"{name}/{id}" for id in asked.ids]
        for part in ("texts", "vectors"):
            queries[part] += list(asked.parts[part])
        for id, judged in asked.qrels.items():
            grades = queries["qrels"].setdefault(f"{name}/{id}", {})
            for document, grade in judged.items():
                grades[moved[document]] = max(grade, grades.get(moved[document], 0))
    parts = {"texts": queries["texts"], "vectors": np.array(queries["vectors"])}
    external = Queries(rl.Ids(queries["ids"]), queries["qrels"], parts)
    parts = {"texts": texts, "vectors": np.array(vectors)}
    return Collection("merged", rl.Ids(kept.values()), parts, queries=external)


def measure(collection, cache):
    """Return {row: {measure: values}}, a value for each judged query."""
    lists = rank_collection(collection, RANKERS, depth=1000, items=False, cache=cache).lists
    queries = [one.queries for one in lists.values()]
    items = [one.items for one in rank_collection(collection, RANKERS, depth=60, cache=cache).lists.values()]
    found = {name: one.queries.head(100) for name, one in lists.items()}
    found |= {row: rl.fuse([r.head(depth) for r in queries], name, 100) for row, (name, depth) in LISTS.items()}
    for row, (name, _) in NEIGHBORS.items():
        found[row] = rl.fuse(queries, name, 100, collection=items, **(linear.facts(lists) if name == "vote" else {}))
    judged, measures = collection.queries, list(MEASURES)
    values = {row: rl.evaluate(r, qrels=judged.qrels, measures=measures, per_query=True) for row, r in found.items()}
    both = {name: replace(one, items=near) for (name, one), near in zip(lists.items(), items, strict=True)}
    return values | {"linear, by labels": linear.learned(judged, both, measures)}


def section(collection, measured):
    """Return the section: a row for each ranker and method, compared with vote."""
    n = len(measured["**vote**"]["ndcg@10"])
    lines = ["## Nine collections in one", "", filled(INTRO.format(items=len(collection), queries=n)), ""]
    lines += [f"| | {' | '.join(MEASURES.values())} |", "|---|---:|---:|"]
    for row, values in measured.items():
        cells = []
        for measure in MEASURES:
            ours = measured["**vote**"][measure]
            mark = "" if row == "**vote**" else compare(values[measure], ours, alpha=ALPHA).mark
            cells.append(f"{values[measure].mean():.4f} {mark}".strip())
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


INTRO = (
    "All nine in one collection of {items} documents, with {queries} queries; of equal texts one is kept. Documents of "
    "the other sources count as not relevant, so the figures are a lower bound. Methods are as "
    f"[above](#text-queries); documents have lists of 60, those of vectors approximate. {legend('vote', alpha=ALPHA)}"
)


def main():
    """Measure, and write the section and the page."""
    if len(sys.argv) != 2:
        raise SystemExit("Usage: python experiments/merged.py RESULTS")
    data, cache = Path(os.environ.get("RANKLOOM_DATA", "data")), Cache(Path(sys.argv[1]))
    spelled = {name: f'texts(path="{data / "texts" / name}")' for name in NAMES}
    spelled["cranfield"] = f'cranfield(path="{data / "cranfield"}", title=yes)'
    collection = merged({name: rl.open_collection(spelling) for name, spelling in spelled.items()})
    text = section(collection, measure(collection, cache))
    SECTION.write_text(text, "utf-8")
    PAGE.write_text(insert(text, PAGE.read_text("utf-8"), "One ranker alone"), "utf-8")


if __name__ == "__main__":
    main()
