"""Compare fusion that learns from judged queries with fusion that does not, on queries that it did not learn from.

    RANKLOOM_DATA=data python experiments/supervised.py results/supervised

writes experiments/effectiveness-supervised.md and the same section of docs/effectiveness.md. Names of collections after
the folder measure only these and print the section; ``--sample N`` takes the first N queries of each. An interrupted
run resumes: measured collections are kept in the folder. Half an hour for all; the train queries of SciFact need the
extra ``minilm``.
"""

import argparse
import csv
import gzip
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from linear import facts
from sections import filled, insert

import rankloom as rl
from rankloom.datasets.collection import Queries
from rankloom.evaluation import legend
from rankloom.io.cache import Cache
from rankloom.methods import Bayes, Grid, cross_validate, optimize
from rankloom.rankers import rank_collection
from rankloom.rankers.text.embeddings import embed_minilm

ROOT = Path(__file__).parents[1]
SECTION = ROOT / "experiments" / "effectiveness-supervised.md"
PAGE = ROOT / "docs" / "effectiveness.md"
TEXTS = ("med", "cisi", "cacm", "scifact", "npl", "cranfield", "cosqa")
RUNS = ("trec-dl-2019", "mq2008")
TITLES = {"med": "MED", "cisi": "CISI", "cacm": "CACM", "scifact": "SciFact", "npl": "NPL", "cranfield": "Cranfield"}
TITLES |= {"cosqa": "CosQA", "trec-dl-2019": "TREC-DL 2019", "mq2008": "MQ2008-agg"}
DEPTH, MEASURE, FOLDS, SEED, ALPHA = 100, "ndcg@10", 5, 0, 0.01
STEP, TRIALS = 0.05, 100  # of weights: in the grid for two rankers, in the Bayesian search for more
SAME_MODEL = 0.98  # cosine of two vectors of a text, by the original model and by the one rounded to 8 bits
SINGLE = "best single ranker"
UNSUPERVISED = ("rrf", "combsum", "combmnz", "dbsf", "borda", "mc4(absent=last)")
LEARNED = ("probfuse", "segfuse", "slidefuse", "bayesfuse", "mapfuse", "posfuse")
SEGMENTS = (1, 2, 3, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100)
TENTHS = tuple(step / 10 for step in range(11))
TUNED = {  # title -> method and the options that are tuned
    "probfuse, tuned": ("probfuse", {"segments": SEGMENTS}),
    "slidefuse, tuned": ("slidefuse", {"window": SEGMENTS}),
    "rrf, constant tuned": ("rrf", {"constant": (1, 2, 5, 10, 20, 30, 40, 60, 80, 100)}),
    "gmnz, gamma tuned": ("gmnz", {"gamma": TENTHS}),
    "rrf, weights tuned": ("rrf", {"weights": "simplex"}),
    "wsum, weights tuned": ("wsum", {"weights": "simplex"}),
}


@dataclass(frozen=True)
class Case:
    """The lists and judgments of one collection, with train queries of their own or to be cross-validated."""

    name: str
    ranks: dict
    qrels: dict
    train: tuple | None = None  #: (ranks, qrels)
    vote: rl.Ranks | None = None  #: the fused lists, where the lists of the collection are known

    def measured(self):
        """Return {method: value of each query}."""
        found = {name: self._evaluated(r.head(DEPTH)) for name, r in self.ranks.items()}
        best = max(found, key=lambda name: found[name].mean())
        scores = {SINGLE: found[best]}
        if self.vote is None:
            fused = {name: rl.fuse(self.ranks, name, DEPTH, missing="empty") for name in UNSUPERVISED}
            scores |= {name: self._evaluated(ranks) for name, ranks in fused.items()}
        else:
            scores["vote"] = self._evaluated(self.vote)
        scores |= {name: self._learned(name, None) for name in LEARNED}
        scores |= {title: self._learned(*how) for title, how in TUNED.items()}
        return scores, best

    def _evaluated(self, ranks):
        return rl.evaluate(ranks, qrels=self.qrels, measures=MEASURE, per_query=True)[MEASURE]

    def _learned(self, method, space):
        common = {"missing": "empty"}
        many = space and "weights" in space and len(self.ranks) > 2
        search = Bayes(trials=TRIALS, seed=SEED, step=STEP) if many else Grid(step=STEP)
        plan = {} if space is None else {"space": space, "search": search}
        if self.train is None:
            return self._evaluated(
                cross_validate(
                    self.ranks, self.qrels, method, MEASURE, folds=FOLDS, k=DEPTH, seed=SEED, **plan, **common
                ).ranks
            )
        if space is None:
            trained = rl.train(*self.train, method, **common)
        else:
            trained = optimize(*self.train, method, MEASURE, **plan, **common).method
        return self._evaluated(rl.fuse(self.ranks, trained, DEPTH, **common))


def text_case(name, data, cache, sample):
    """Return a text collection ranked by words and by sentence embeddings."""
    path = data / ("cranfield" if name == "cranfield" else f"texts/{name}")
    spelling = f'cranfield(path="{path}", title=yes)' if name == "cranfield" else f'texts(path="{path}")'
    collection = rl.open_collection(spelling)
    rankers = {"okapi": "okapi", "minilm": "vectors(comparable=no)"}
    if "vectors" not in collection.parts:
        rankers = {"okapi": "okapi", "2grams": "2grams-cosine"}
    lists = rank_collection(collection, rankers, depth=1000, cache=cache).lists
    queries = {ranker: one.queries.head(DEPTH) for ranker, one in lists.items()}
    deep, items = ([getattr(one, part) for one in lists.values()] for part in ("queries", "items"))
    vote = rl.fuse(deep, "vote", DEPTH, collection=items, **facts(lists))
    train = train_part(path, collection, rankers, cache, sample) if name == "scifact" else None
    return cut(Case(TITLES[name], queries, collection.queries.qrels, train, vote), sample)


def train_part(path, collection, rankers, cache, sample):
    """Return the lists and the judgments of SciFact's train queries."""
    with gzip.open(path / "queries.train.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = {row["id"]: row["text"] for row in map(json.loads, lines)}
    vectors = embed_minilm(list(texts.values()))
    known = embed_minilm(collection.queries.parts["texts"][:5])
    if (known * collection.queries.parts["vectors"][:5]).sum(axis=1).min() < SAME_MODEL:
        raise SystemExit("The sentence embeddings here are not those of minilm.npz.")
    queries = Queries(
        rl.Ids(texts), rl.read_qrels(path / "qrels.train.txt"), {"texts": list(texts.values()), "vectors": vectors}
    )
    lists = rank_collection(replace(collection, queries=queries), rankers, depth=1000, cache=cache).lists
    ranks = {ranker: one.queries.head(DEPTH) for ranker, one in lists.items()}
    return cut(Case("", ranks, queries.qrels), sample).ranks, queries.qrels


def trec_dl_case(data, sample):
    """Return the runs of TREC's deep-learning track."""
    folder = data / "trec-dl-2019-runs"
    ranks = {path.name.split(".")[0]: rl.read_run(path).head(DEPTH) for path in sorted(folder.glob("*.res.gz"))}
    return cut(Case(TITLES["trec-dl-2019"], ranks, rl.read_qrels(folder / "qrels.txt")), sample)


def mq2008_case(data, sample):
    """Return the lists of LETOR's MQ2008-agg; a large value means top."""
    lists = {}
    with gzip.open(data / "mq2008-agg" / "ranks.csv.gz", "rt", newline="") as file:
        for query, ranker, item, value in csv.reader(file):
            lists.setdefault(f"r{ranker}", {}).setdefault(query, {})[item] = float(value)
    ranks = {
        ranker: rl.Ranks.from_dict(lists[ranker]).head(DEPTH) for ranker in sorted(lists, key=lambda r: int(r[1:]))
    }
    return cut(Case(TITLES["mq2008"], ranks, rl.read_qrels(data / "mq2008-agg" / "qrels.txt")), sample)


def cut(case, sample):
    """Return the case with judged queries that some ranker lists, and at most `sample` of them."""
    listed = dict.fromkeys(query for r in case.ranks.values() for query in r.query_ids)
    queries = [query for query in case.qrels if query in listed][:sample]
    kept = set(queries)
    ranks = {name: chosen(r, kept) for name, r in case.ranks.items() if kept & set(r.query_ids)}
    vote = case.vote and chosen(case.vote, kept)
    return replace(case, ranks=ranks, vote=vote, qrels={query: case.qrels[query] for query in queries})


def chosen(ranks, queries):
    """Return the lists of some queries."""
    return ranks.rows([row for row, query in enumerate(ranks.query_ids) if query in queries])


def section(measured):
    """Return the section: a table for the text collections, and one for the runs."""
    lines = ["## Against supervised fusion", "", filled(INTRO), ""]
    texts = [one for one in measured if one[0].vote is not None]
    runs = [one for one in measured if one[0].vote is None]
    if texts:
        lines += [filled(TEXTS_INTRO), "", *table(texts, "vote"), "", *finding(texts, "vote"), ""]
    if runs:
        lines += [filled(RUNS_INTRO), "", *table(runs, "combsum"), "", *finding(runs, "combsum"), ""]
    return "\n".join(lines).rstrip() + "\n"


INTRO = (
    "Fusion that learns from judged queries, measured on others: NDCG@10, the first 100 of each list (vote: 300). "
    "SciFact has train queries (809), from which the methods learn before they see the 300 test queries; elsewhere "
    f"cross-validation with {FOLDS} folds. In the tables, probfuse and all below it learn. 'tuned': options that are "
    "best on the train queries (`rankloom.methods.optimize`), from a grid, the weights of more than two rankers by a "
    f"Bayesian search of {TRIALS} trials. 'Best single ranker' is chosen on the test queries, in its favor."
)
TEXTS_INTRO = (
    f"Text queries, okapi and MiniLM. {legend('vote', alpha=ALPHA)} The constants of vote were chosen on these "
    "collections."
)
RUNS_INTRO = (
    "Runs alone, 8 of TREC-DL 2019 (43 queries) and 25 lists of MQ2008-agg (784 queries): weft, vote and FG need the "
    "lists of the collection's items, which these data do not have. "
    f"{legend('combsum', alpha=ALPHA)}"
)


def table(measured, ours):
    """Yield the lines of a table: a row for each method, a column for each collection."""
    columns = [case.name for case, *_ in measured]
    yield f"| | {' | '.join([*columns, 'mean'])} |"
    yield f"|---|{'---:|' * (len(columns) + 1)}"
    for name in measured[0][1]:
        cells = [_cell(scores, name, ours) for _, scores, _ in measured]
        cells.append(f"{np.mean([scores[name].mean() for _, scores, _ in measured]):.4f}")
        title = f"**{name}**" if name == ours else name
        yield f"| {title} | {' | '.join(cells)} |"


def _cell(scores, name, ours):
    value = f"{scores[name].mean():.4f}"
    if name == ours:
        return f"**{value}**"
    return f"{value} {rl.compare(scores[name], scores[ours], alpha=ALPHA).mark}"


def finding(measured, ours):
    """Yield a paragraph: how far ours is from the best method that learns, collection by collection."""
    parts = []
    for case, scores, _ in measured:
        best = max((*LEARNED, *TUNED), key=lambda name: scores[name].mean())
        outcome = rl.compare(scores[ours], scores[best], alpha=ALPHA)
        p = f"p = {outcome.p_value:.3f}" if outcome.p_value >= 0.001 else "p < 0.001"
        parts.append(f"{case.name} {outcome.difference:+.4f} ({best}; {p})")
    against = "the best method that learns, which is chosen on the test queries, in its favor"
    yield filled(f"{ours} minus {against}: {'; '.join(parts)}.")


def measure(name, data, folder, sample):
    """Return a case, the scores of each method and the best ranker; from the folder if it has them."""
    print(f"{name} ...", flush=True)
    made = {"trec-dl-2019": trec_dl_case, "mq2008": mq2008_case}
    case = made[name](data, sample) if name in made else text_case(name, data, Cache(folder), sample)
    kept = folder / f"{name}{'' if sample is None else f'-{sample}'}.npz"
    if not kept.is_file():
        scores, best = case.measured()
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(kept, best=best, **scores)
    with np.load(kept) as found:
        return case, {method: found[method] for method in found.files if method != "best"}, str(found["best"])


def main():
    """Measure, and write or print the section."""
    parser = argparse.ArgumentParser()
    parser.add_argument("results", type=Path, help="folder of cached lists and scores")
    parser.add_argument("names", nargs="*", default=[], help="collections; all by default")
    parser.add_argument("--sample", type=int, help="queries of each collection")
    given = parser.parse_args()
    data = Path(os.environ.get("RANKLOOM_DATA", "data"))
    found = [measure(name, data, given.results, given.sample) for name in given.names or [*TEXTS, *RUNS]]
    text = section(found)
    if given.names or given.sample:
        print(text)
        return
    SECTION.write_text(text, "utf-8")
    PAGE.write_text(insert(text, PAGE.read_text("utf-8"), "What else was tried"), "utf-8")


if __name__ == "__main__":
    main()
