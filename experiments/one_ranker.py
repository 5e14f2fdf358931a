"""Compare a single ranker with itself and its own neighbors: BM25 alone, and vote of nothing but BM25.

    RANKLOOM_DATA=data python experiments/one_ranker.py results/effectiveness

writes experiments/effectiveness-one-ranker.md and the same section of docs/effectiveness.md; `make effectiveness` runs
it. Lists are cached in the folder. A minute for all.
"""

import os
import sys
from pathlib import Path

import numpy as np
from sections import filled, insert

import rankloom as rl
from rankloom.evaluation import Mark, legend
from rankloom.io.cache import Cache
from rankloom.rankers import rank_collection

ROOT = Path(__file__).parents[1]
SECTION = ROOT / "experiments" / "effectiveness-one-ranker.md"
PAGE = ROOT / "docs" / "effectiveness.md"
TITLES = {"med": "MED", "cisi": "CISI", "cacm": "CACM", "scifact": "SciFact", "npl": "NPL", "cosqa": "CosQA"}
TITLES |= {"checkthat2020": "CheckThat", "wikiqa": "WikiQA"}
MEASURES = {"ndcg@10": "NDCG@10", "recall@100": "Recall@100"}
RANKER, DEPTH, ANSWERS = "okapi", 1000, 100
ALPHA = 0.05


def measure(collection, cache):
    """Return {measure: (values of the ranker, values with its neighbors)}, a value for each judged query."""
    lists = rank_collection(collection, {RANKER: RANKER}, depth=DEPTH, cache=cache).lists[RANKER]
    alone = lists.queries.head(ANSWERS)
    facts = {"symmetric": [lists.traits.symmetric], "exhaustive": [lists.traits.exhaustive]}
    with_neighbors = rl.fuse([lists.queries], "vote", ANSWERS, collection=[lists.items], **facts)
    pair = [
        rl.evaluate(ranks, qrels=collection.queries.qrels, measures=list(MEASURES), per_query=True)
        for ranks in (alone, with_neighbors)
    ]
    return {name: tuple(values[name] for values in pair) for name in MEASURES}


def section(measured):
    """Return the section: a row for each collection, the means, and on which the neighbors help."""
    compared = {
        title: {name: rl.compare(ours, alone, alpha=ALPHA) for name, (alone, ours) in values.items()}
        for title, values in measured.items()
    }
    lines = ["## One ranker alone", "", filled(f"{INTRO} {outcomes(compared)}"), ""]
    head = " | ".join(f"{shown}, {name}" for shown in MEASURES.values() for name in ("BM25", "vote"))
    lines += [f"| | {head} |", "|---|---:|---:|---:|---:|"]
    for title, values in measured.items():
        cells = (cell(alone, ours, compared[title][name].mark) for name, (alone, ours) in values.items())
        lines.append(f"| {title} | {' | '.join(cells)} |")
    means = {name: np.mean([[v.mean() for v in one[name]] for one in measured.values()], axis=0) for name in MEASURES}
    cells = (cell(alone, ours, Mark(ours - alone, "tie")) for alone, ours in means.values())
    return "\n".join([*lines, f"| mean | {' | '.join(cells)} |"]) + "\n"


INTRO = (
    f"BM25 (`{RANKER}`) against `vote` of BM25 and nothing else: its own list of the query, and weft's, which is made "
    "of its own lists of the documents. The constants of vote were chosen with two rankers, on these collections "
    f"except CheckThat and WikiQA. {legend('BM25', alpha=ALPHA)}"
)


def cell(alone, ours, mark):
    """Return two cells: the mean of the ranker alone, and with its neighbors."""
    return f"{np.mean(alone):.4f} | {np.mean(ours):.4f} {mark}"


def outcomes(compared):
    """Return a sentence for each measure: where the neighbors help, and where they harm."""
    parts = []
    for name, shown in MEASURES.items():
        found = {
            verdict: ", ".join(title for title, one in compared.items() if one[name].verdict == verdict) or "none"
            for verdict in ("better", "worse")
        }
        parts.append(f"{shown} is better on {found['better']}, worse on {found['worse']}.")
    return " ".join(parts)


def main():
    """Measure all collections, and write the section and the page."""
    if len(sys.argv) != 2:
        raise SystemExit("Usage: python experiments/one_ranker.py RESULTS")
    data, cache, measured = Path(os.environ.get("RANKLOOM_DATA", "data")), Cache(Path(sys.argv[1])), {}
    for name, title in TITLES.items():
        print(f"{name} ...", flush=True)
        measured[title] = measure(rl.open_collection(f'texts(path="{data / "texts" / name}")'), cache)
    text = section(measured)
    SECTION.write_text(text, "utf-8")
    PAGE.write_text(insert(text, PAGE.read_text("utf-8"), "Against supervised fusion"), "utf-8")


if __name__ == "__main__":
    main()
