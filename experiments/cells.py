"""What cells and walks cost in effectiveness: both are forced, however small a collection is.

    RANKLOOM_DATA=data python experiments/cells.py results/effectiveness

prints a table: of text queries, vote with BM25 and MiniLM; of items as queries, weft with all vectors of a collection,
by cosine. Lists of items are 60 deep. A quarter of an hour.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import merged
import numpy as np

import rankloom as rl
from rankloom.evaluation import compare
from rankloom.evaluation.corrections import correct
from rankloom.io.cache import Cache
from rankloom.rankers import EncoderRanker, Vectors, rank_collection
from rankloom.rankers.text.embeddings import embed_static
from rankloom.ranks import query_search

MULTIVIEW = ("handwritten", "msrc-v1", "landuse21", "bbcsport-2view", "3sources", "citeseer")
MEASURES = ["ndcg@10", "recall@100"]
MAX_LOSS = {"ndcg@10": 0.003, "recall@100": 0.004}
DEPTH, VOTE_DEPTH = 60, 300
ALGORITHMS = ("exact", "cells")


def text_queries(collection, cache):
    """Return the values of each query and the recall of the lists, by algorithm."""
    found = {}
    okapi = rank_collection(collection, {"okapi": "okapi"}, depth=VOTE_DEPTH, cache=cache).lists["okapi"]
    for algorithm in ALGORITHMS:
        fitted = Vectors(algorithm=algorithm).fit(collection.parts["vectors"])
        near = fitted.rank(depth=DEPTH)
        fitted = fitted.with_lists(near.items)
        rows = [fitted.rank_vectors(query[None], depth=VOTE_DEPTH) for query in collection.queries.parts["vectors"]]
        items, scores = (np.concatenate([getattr(row, name) for row in rows]) for name in ("items", "scores"))
        ids = {"item_ids": collection.ids, "query_ids": collection.queries.ids}
        mine = rl.Ranks(items, scores, len(near.items), kind="queries", **ids)
        both = [okapi.items.head(DEPTH), near.replaced(item_ids=collection.ids, query_ids=collection.ids)]
        facts = {"symmetric": (False, True), "exhaustive": (True, False)}
        fused = rl.fuse([okapi.queries, mine], "vote", 100, collection=both, **facts)
        values = rl.evaluate(fused, qrels=collection.queries.qrels, measures=MEASURES, per_query=True)
        found[algorithm] = values, near.recall
    return found


def items_as_queries(collection, cache):
    """Return the same for items, by all matrices of a collection."""
    parts = [name for name, part in collection.parts.items() if np.ndim(part) == 2]
    found = {}
    for algorithm in ALGORITHMS:
        rankers = {part: f"vectors(part={part}, algorithm={algorithm})" for part in parts}
        lists = [one.items for one in rank_collection(collection, rankers, depth=DEPTH, cache=cache).lists.values()]
        fused = rl.fuse(lists, "weft", 100)
        values = rl.evaluate(fused, labels=collection.labels, measures=MEASURES, per_query=True)
        found[algorithm] = values, None if algorithm == "exact" else min(one.recall for one in lists)
    return found


def cases(data, cache):
    """Yield names of collections, and what measures them."""

    def text(name):
        if name == "cranfield":
            return rl.open_collection(f'cranfield(path="{data / "cranfield"}", title=yes)')
        return rl.open_collection(f'texts(path="{data / "texts" / name}")')

    def static():
        ohsumed = rl.open_collection("ohsumed")
        vectors = EncoderRanker("static", embed_static).item_vectors(ohsumed.parts["texts"])
        return replace(ohsumed, parts={"static": vectors})

    def views(name):
        path = data / "multiview" / f"{name}.npz"
        return rl.open_collection(f'multiview(path="{path}", standardize=yes)')

    yield from ((name, lambda name=name: text_queries(text(name), cache)) for name in merged.NAMES)
    yield "all nine", lambda: text_queries(merged.merged({name: text(name) for name in merged.NAMES}), cache)
    yield "digits", lambda: items_as_queries(rl.open_collection("digits"), cache)
    yield from ((name, lambda name=name: items_as_queries(views(name), cache)) for name in MULTIVIEW)
    yield "Ohsumed, static", lambda: items_as_queries(static(), cache)


def show(measured):
    """Print the table."""
    print("| | recall | " + " | ".join(f"{measure} | loss | p (Holm)" for measure in MEASURES) + " |")
    tests = {
        measure: [compare(both["cells"][0][measure], both["exact"][0][measure]) for both in measured.values()]
        for measure in MEASURES
    }
    adjusted = {measure: correct([one.p_value for one in outcomes]) for measure, outcomes in tests.items()}
    for row, (name, both) in enumerate(measured.items()):
        cells = []
        for measure in MEASURES:
            exact, near = (both[algorithm][0][measure].mean() for algorithm in ALGORITHMS)
            cells.append(f"{near:.4f} | {exact - near:+.4f} | {adjusted[measure][row]:.3f}")
        print(f"| {name} | {both['cells'][1]:.3f} | {' | '.join(cells)} |", flush=True)
    for measure, limit in MAX_LOSS.items():
        losses = [both["exact"][0][measure].mean() - both["cells"][0][measure].mean() for both in measured.values()]
        print(f"mean loss of {measure}: {fmean(losses):.4f} (at most {limit})")


def main():
    """Measure, and print the table."""
    if len(sys.argv) < 2:
        raise SystemExit("Usage: python experiments/cells.py RESULTS [NAME ...]")
    query_search.MIN_SCANNED = query_search.MAX_SCANNED = 0
    data, cache = Path(os.environ.get("RANKLOOM_DATA", "data")), Cache(Path(sys.argv[1]))
    chosen = sys.argv[2:]
    show({name: measure() for name, measure in cases(data, cache) if not chosen or name in chosen})


if __name__ == "__main__":
    main()
