"""Measure the self-test and the trial of a searcher against judgments, with minilm in place of stored vectors.

    RANKLOOM_DATA=data python experiments/guard.py CACHE [NAME ...]

writes experiments/effectiveness-guard.md and the same section of docs/effectiveness.md; with names of collections it
prints the section of these. CACHE keeps the vectors, which take half an hour; the rest takes ten minutes. Up to 250
queries of each collection; of CosQA, CheckThat and WikiQA every second one, and as a check the others, and the train
queries of SciFact.
"""

import os
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time

import numpy as np
from sections import filled, insert

import rankloom as rl
from rankloom.evaluation import compare, evaluate, legend
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

ROOT = Path(__file__).parents[1]
SECTION = ROOT / "experiments" / "effectiveness-guard.md"
PAGE = ROOT / "docs" / "effectiveness.md"
NAMES = ("med", "cranfield", "cisi", "cacm", "scifact", "cosqa", "checkthat2020", "wikiqa", "npl")
TITLES = {"med": "MED", "cranfield": "Cranfield", "cisi": "CISI", "cacm": "CACM", "scifact": "SciFact", "npl": "NPL"}
TITLES |= {"cosqa": "CosQA", "checkthat2020": "CheckThat", "wikiqa": "WikiQA"}
HALVED = ("cosqa", "checkthat2020", "wikiqa")
SETS = {
    "okapi + weak": ("okapi", "weak"),
    "minilm + shuffled": ("minilm", "shuffled"),
    "okapi + minilm": ("okapi", "minilm"),
    "okapi + static": ("okapi", "static"),
    "the three": ("okapi", "minilm", "static"),
}
POOR, TRIED = ("okapi + weak", "minilm + shuffled"), ("okapi + minilm", "okapi + static", "the three")
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


def best(values, title):
    """Return the best single ranker."""
    return max(SETS[title], key=lambda name: values[name].mean())


def against(values, title, other):
    """Return guarded vote compared with the best single ranker or another system."""
    return compare(values["guarded"], values[best(values, title) if other == "best" else other], alpha=ALPHA)


def judged_verdict(values, title):
    """Return what judgments say about fusion."""
    return {"better": "yes", "worse": "no", "tie": "cannot tell"}[against(values, title, "best").verdict]


def section(rows, checked):
    """Return the section, of collections and of queries that were kept for a check."""
    lines = ["## A poor ranker beside a good one", "", filled(INTRO), "", *poor_table(rows), ""]
    lines += [filled(GUARD_INTRO), "", *guard_table({name: row.found for name, row in rows.items()}, TRIED), ""]
    lines += [filled(CHECK_INTRO), "", *guard_table(checked, SETS), "", filled(f"{TRIAL_INTRO} {outcomes(rows)}")]
    lines += ["", *trial_table(rows)]
    return "\n".join(lines) + "\n"


INTRO = (
    "A searcher tests its rankers ([how](searcher.md#self-test-trial-confidence)). Here a poor ranker stands beside a "
    "good one: 'weak' is `static` through 8 random directions, 'shuffled' the vectors of MiniLM dealt to other "
    f"documents. NDCG@10 of up to {MAX_QUERIES} queries. {legend('vote with the guard', alpha=ALPHA)}"
)
GUARD_INTRO = "With good rankers, vote with the guard; signed: difference from vote without it."
CHECK_INTRO = (
    "A last check on queries that guard and trial had not seen: train queries of SciFact, and the other half of CosQA, "
    "CheckThat and WikiQA (which count in the tables of text queries; the constants of confidence were fitted on the "
    "first half). In the first two columns, the difference is from the best single ranker."
)
TRIAL_INTRO = (
    "The verdict of a trial, which sees no judgments, on whether vote is better than the best single ranker; in "
    "parentheses the judged difference. In bold: verdicts that judgments contradict significantly."
)


def poor_table(rows):
    """Yield a table of each system with each poor ranker."""
    titles = "best single | RRF | DBSF | no guard | **guard**"
    yield f"| | {' | '.join(f'{pair}: {titles}' for pair in POOR)} |"
    yield f"|---|{'---:|' * len(POOR) * 5}"
    means = []
    for name, row in rows.items():
        systems = [(row.found[pair], one) for pair in POOR for one in (best(row.found[pair], pair), *SYSTEMS)]
        means.append([values[one].mean() for values, one in systems])
        yield f"| {TITLES[name]} | {' | '.join(cell(*one) for one in systems)} |"
    yield f"| mean | {' | '.join(f'{mean:.4f}' for mean in np.mean(means, axis=0))} |"


def cell(values, system):
    """Return the mean of a system, and its difference from vote with the guard."""
    if system == "guarded":
        return f"**{values[system].mean():.4f}**"
    return f"{values[system].mean():.4f} {compare(values[system], values['guarded'], alpha=ALPHA).mark}"


def guard_table(rows, titles):
    """Yield a table of vote with the guard, for some sets of rankers, and what it gains."""
    yield f"| | {' | '.join(titles)} |"
    yield f"|---|{'---:|' * len(titles)}"
    for name, found in rows.items():
        cells = (
            f"{found[title]['guarded'].mean():.4f} "
            f"{against(found[title], title, 'best' if title in POOR else 'vote').mark}"
            for title in titles
        )
        yield f"| {TITLES[name]} | {' | '.join(cells)} |"
    means = [np.mean([found[title]["guarded"].mean() for found in rows.values()]) for title in titles]
    yield f"| mean | {' | '.join(f'{mean:.4f}' for mean in means)} |"


def trial_table(rows):
    """Yield a table of verdicts."""
    yield f"| | {' | '.join(TRIED)} |"
    yield f"|---|{'---|' * len(TRIED)}"
    for name, row in rows.items():
        cells = []
        for title in TRIED:
            said, true = row.verdicts[title], judged_verdict(row.found[title], title)
            shown = f"**{said}**" if {said, true} == {"yes", "no"} else said
            cells.append(f"{shown} ({against(row.found[title], title, 'best').mark})")
        yield f"| {TITLES[name]} | {' | '.join(cells)} |"


def outcomes(rows):
    """Return a sentence: how often judgments confirm the verdicts."""
    pairs = [(row.verdicts[title], judged_verdict(row.found[title], title)) for row in rows.values() for title in TRIED]
    n, said = Counter(pairs), Counter(verdict for verdict, _ in pairs)
    return (
        f"Of {said['yes']} verdicts yes, judgments confirm {n['yes', 'yes']} and contradict {n['yes', 'no']}; of "
        f"{said['no']} no, they confirm {n['no', 'no']} and contradict {n['no', 'yes']}; of {said['cannot tell']} "
        f"undecided ones, they say yes on {n['cannot tell', 'yes']} and no on {n['cannot tell', 'no']}."
    )


@dataclass(frozen=True, slots=True)
class Row:
    """What was found on a collection: {set of rankers: {system: values}}, and the verdicts of trials."""

    found: dict
    verdicts: dict


def main():
    """Measure the collections one after another."""
    cache, *names = sys.argv[1:]
    data, made, rows, checked = Path(os.environ.get("RANKLOOM_DATA", "data")), rankers(Cache(Path(cache))), {}, {}
    for name in names or NAMES:
        collection = opened(data, name)
        state = rl.Searcher.build(collection, made, self_test=False).state
        started = process_time()
        guard = guard_of(state, min_sources=MIN_SOURCES)
        print(f"{name}, {len(state)} documents, {process_time() - started:.0f} s: {guard}", flush=True)
        halves = (False, True) if name in (*HALVED, "scifact") else (False,)
        found = [measured(state, guard, *judged(data, name, collection, check)) for check in halves]
        trials = {title: try_out(with_rankers(state, SETS[title], guard)) for title in TRIED}
        rows[name] = Row(found[0], {title: one.verdict for title, one in trials.items()})
        checked |= {name: found[1]} if len(found) > 1 else {}
    text = section(rows, checked)
    if names:
        print(text)
        return
    SECTION.write_text(text, "utf-8")
    PAGE.write_text(insert(text, PAGE.read_text("utf-8"), "Nine collections in one"), "utf-8")


def measured(state, guard, queries, qrels):
    """Return {set of rankers: {system: values}}."""
    return {title: measure(state, guard, names, queries, qrels) for title, names in SETS.items()}


if __name__ == "__main__":
    main()
