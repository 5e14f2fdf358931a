"""Measure the self-test and the trial of a searcher against judgments, with minilm in place of stored vectors.

    RANKLOOM_DATA=data python experiments/guard.py CACHE [--check] [NAME ...]

prints a table for each collection, by size, then what they have in common; CACHE keeps the vectors. Up to 250 queries
of each; of CosQA, CheckThat and WikiQA every second one. `--check` takes the others, and those for training of SciFact.
"""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time

import numpy as np

import rankloom as rl
from rankloom.evaluation import compare, evaluate
from rankloom.io import read_qrels
from rankloom.io.cache import Cache
from rankloom.rankers import RANKERS
from rankloom.rankers.text.embeddings import embed_static
from rankloom.rankers.vectors.encoder import EncoderRanker
from rankloom.searcher.guard import Guard
from rankloom.searcher.lru import LRUCache
from rankloom.searcher.read_only import ReadOnlySearcher
from rankloom.searcher.self_test import MIN_SOURCES, guard_of
from rankloom.searcher.trial import try_out

NAMES = ("med", "cranfield", "cisi", "cacm", "scifact", "cosqa", "checkthat2020", "wikiqa", "npl")
HALVED = ("cosqa", "checkthat2020", "wikiqa")
SETS = {
    "okapi + weak": ("okapi", "weak"),
    "minilm + shuffled": ("minilm", "shuffled"),
    "okapi + minilm": ("okapi", "minilm"),
    "okapi + static": ("okapi", "static"),
    "the three": ("okapi", "minilm", "static"),
}
TRIED = ("okapi + minilm", "okapi + static", "the three")
SYSTEMS = ("rrf", "dbsf", "vote", "guarded")
MAX_QUERIES, WEAK_DIMENSIONS, MAIN, ALPHA = 250, 8, "ndcg@10", 0.05


@dataclass(frozen=True, slots=True)
class Shuffled(EncoderRanker):
    """An encoder whose vectors are dealt to other documents; queries have their own."""

    def item_vectors(self, items, *, cache=None):
        """Return the vectors of items, dealt by chance."""
        vectors = EncoderRanker.item_vectors(self, items, cache=cache)
        return vectors[np.random.default_rng(0).permutation(len(vectors))]

    def query_vectors(self, queries, *, cache=None):
        """Return the vectors of queries."""
        return EncoderRanker.item_vectors(self, queries)


def rankers(cache):
    """Return the five rankers; minilm remembers the vectors of all texts."""
    minilm, known = RANKERS.make("minilm"), {}

    def encode(texts):
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            known.update(zip(missing, minilm.item_vectors(missing, cache=cache), strict=True))
        return np.stack([known[text] for text in texts])

    directions = np.random.default_rng(0).standard_normal((256, WEAK_DIMENSIONS)).astype(np.float32)
    all_at_once = 10**9  # the cache is read once for each call
    return {
        "okapi": "okapi",
        "static": "static",
        "minilm": EncoderRanker("minilm", encode, batch=all_at_once),
        "weak": EncoderRanker("weak", lambda texts: embed_static(texts) @ directions),
        "shuffled": Shuffled("shuffled", encode, batch=all_at_once),
    }


def opened(data, name):
    """Return a collection."""
    path = data / "cranfield" if name == "cranfield" else data / "texts" / name
    return rl.open_collection(
        f'cranfield(path="{path}", title=yes)' if name == "cranfield" else f'texts(path="{path}")'
    )


def judged(data, name, collection, check):
    """Return the queries to use, {id: text}, and the judgments of these."""
    if check and name == "scifact":
        frame = rl.searcher.batch.batch_of(str(data / "texts" / name / "queries.train.jsonl.gz"))
        texts = {one["id"]: one["text"] for one in frame.documents}
        qrels = read_qrels(data / "texts" / name / "qrels.train.txt")
    else:
        texts = dict(zip(collection.queries.ids, collection.queries.parts["texts"], strict=True))
        qrels = collection.queries.qrels
    ids = [id for id in texts if any(grade > 0 for grade in qrels.get(id, {}).values())]
    ids = ids[0 if check else 1 :: 2] if name in HALVED else ids
    if len(ids) > MAX_QUERIES:
        ids = [ids[at] for at in sorted(np.random.default_rng(0).permutation(len(ids))[:MAX_QUERIES])]
    return {id: texts[id] for id in ids}, {id: qrels[id] for id in ids}


def with_rankers(state, names, guard):
    """Return a state of some rankers, guarded or not."""
    kept = {"retrievers": {name: state.retrievers[name] for name in names}}
    kept["item_lists"] = {name: state.item_lists[name] for name in names}
    guard = guard and Guard({name: guard.quality[name] for name in names}, guard.n_documents)
    return replace(state, **kept, settings=replace(state.settings, guard=guard), indexes=LRUCache(16))


def measure(state, guard, names, queries, qrels):
    """Return {system: values}: each ranker, RRF, DBSF, and vote without and with the guard."""
    plain, guarded = (ReadOnlySearcher(with_rankers(state, names, one)) for one in (None, guard))
    found = plain.evaluate(queries, qrels, measures=[MAIN], methods=SYSTEMS[:3]).per_query
    ours = evaluate(guarded.rank(queries, 100, method="vote"), qrels=qrels, measures=[MAIN], per_query=True)
    return {**{name: values[MAIN] for name, values in found.items()}, "guarded": ours[MAIN]}


def report(name, found, guard, trials):
    """Print the figures of a collection."""
    print(f"\n{name}: quality {', '.join(f'{one} {value:.3f}' for one, value in guard.quality.items())}")
    for title, values in found.items():
        cells = [f"{system} {one.mean():.4f}" for system, one in values.items()]
        print(f"  {title:18} {'  '.join(cells)}  against single {against(values, best(values, title)).mark}, "
              f"against vote {against(values, 'vote').mark}")  # fmt: skip
    for title, trial in trials.items():
        said, true = trial.verdict, verdict(found[title], best(found[title], title))
        print(
            f"  trial, {title}: {said}; judgments: {true}; best {trial.best(trial.texts)} / {best(found[title], title)}"
        )


def best(values, title):
    """Return the best single ranker."""
    return max(SETS[title], key=lambda name: values[name].mean())


def against(values, other):
    """Return guarded vote compared with another system."""
    return compare(values["guarded"], values[other], alpha=ALPHA)


def verdict(values, single):
    """Return what judgments say about fusion."""
    return {"better": "yes", "worse": "no", "tie": "cannot tell"}[against(values, single).verdict]


def main():
    """Measure the collections one after another."""
    given = [one for one in sys.argv[1:] if one != "--check"]
    check, data = "--check" in sys.argv, Path(os.environ.get("RANKLOOM_DATA", "data"))
    made, everything = rankers(Cache(Path(given[0]))), {}
    for name in given[1:] or [one for one in NAMES if not check or one in (*HALVED, "scifact")]:
        collection = opened(data, name)
        queries, qrels = judged(data, name, collection, check)
        state = rl.Searcher.build(collection, made, self_test=False).state
        started = process_time()
        guard = guard_of(state, min_sources=MIN_SOURCES)
        seconds = process_time() - started
        found = {title: measure(state, guard, names, queries, qrels) for title, names in SETS.items()}
        trials = {} if check else {title: try_out(with_rankers(state, SETS[title], guard)) for title in TRIED}
        report(f"{name}, {len(state)} documents, {len(queries)} queries, {seconds:.0f} s", found, guard, trials)
        everything[name] = found
        sys.stdout.flush()
    print("\nmeans")
    for title in SETS:
        rows = [{**one[title], "best": one[title][best(one[title], title)]} for one in everything.values()]
        means = {system: np.mean([row[system].mean() for row in rows]) for system in ("best", *SYSTEMS)}
        print(f"  {title:18} {'  '.join(f'{system} {mean:.4f}' for system, mean in means.items())}")


if __name__ == "__main__":
    main()
