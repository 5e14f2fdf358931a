"""Fit and test the confidence of answers: real queries against junk, leaving one collection out.

    RANKLOOM_DATA=data python experiments/confidence.py CACHE [NAME ...]

prints, for bm25 with minilm and with static, the area under the curve with one threshold for all, how much of each
collection is kept and refused at .5, and the constants of `rankloom.searcher.confidence`; and the same for a
calibration by a log alone. Documents have the stored vectors of MiniLM, queries those of `minilm`, which CACHE keeps.
"""

import os
import sys
from pathlib import Path

import numpy as np
from guard import HALVED, MAX_QUERIES, NAMES, opened, rankers
from scipy.stats import rankdata

from rankloom.io.cache import Cache
from rankloom.rankers import FittedVectors
from rankloom.rankers.ranking import made_ranker
from rankloom.ranks.vector_space import METRICS, VectorSpace
from rankloom.searcher.confidence import DEPTH, Calibration, salads
from rankloom.searcher.retriever import Model

PAIRS = (("okapi", "minilm"), ("okapi", "static"))
N_JUNK = 100  # of each kind: queries of other collections, salads of foreign and of own words


def drawn(texts, n, seed=0):
    """Return up to n of some texts."""
    return [texts[at] for at in sorted(np.random.default_rng(seed).permutation(len(texts))[:n])]


def queries_of(name, collection):
    """Return the real queries of a collection."""
    texts = list(collection.queries.parts["texts"])
    return drawn(texts[1::2] if name in HALVED else texts, MAX_QUERIES)


def junk_of(name, collections, real):
    """Return queries of other collections, and salads of words of other collections and of its own."""
    foreign = [text for other, texts in real.items() if other != name for text in drawn(texts, N_JUNK)]
    lengths = drawn(foreign, N_JUNK, seed=1)
    others = [text for other, one in collections.items() if other != name for text in drawn(one.parts["texts"], 200)]
    own = list(collections[name].parts["texts"])
    return drawn(foreign, N_JUNK, seed=2) + salads(others, lengths) + salads(own, lengths)


def fitted(name, ranker, collection):
    """Return a ranker fitted to a collection; for minilm, the documents have stored vectors."""
    if name != "minilm":
        return Model(name, ranker, ranker.fit(collection.parts["texts"]))
    space = VectorSpace.of(collection.parts["vectors"], METRICS["cosine"])
    return Model(name, ranker, FittedVectors(ranker, space))


def lists(models, texts):
    """Return the lists of texts by each ranker."""
    return {name: model.lists(model.encoded(texts), DEPTH) for name, model in models.items()}


def joined(given):
    """Return lists of several collections as one."""
    found = {}
    for name in given[0]:
        items = np.vstack([padded(one[name].items, -1) for one in given])
        scores = np.vstack([padded(one[name].scores, 0) for one in given])
        found[name] = given[0][name].replaced(items=items, scores=scores, n_items=10**9)
    return found


def padded(rows, fill):
    """Return rows of the length that all have."""
    return np.pad(rows, ((0, 0), (0, DEPTH - rows.shape[1])), constant_values=fill)


def auc(real, junk):
    """Return the chance that a real query is ahead of junk."""
    ranks = rankdata(np.concatenate([real, junk]))[: len(real)].sum()
    return (ranks - len(real) * (len(real) + 1) / 2) / (len(real) * len(junk))


def outcome(title, real, junk):
    """Print how well confidences of real queries and of junk, {collection: values}, are told apart."""
    kept = " ".join(f"{name} {(p >= 0.5).mean():.0%}/{(junk[name] < 0.5).mean():.0%}" for name, p in real.items())
    whole = [np.concatenate(list(one.values())) for one in (real, junk)]
    balanced = ((whole[0] >= 0.5).mean() + (whole[1] < 0.5).mean()) / 2
    print(f"{title}: AUC {auc(*whole):.3f}, balanced {balanced:.3f}; kept/refused: {kept}", flush=True)


def main():
    """Measure both pairs of rankers."""
    data, names = Path(os.environ.get("RANKLOOM_DATA", "data")), sys.argv[2:] or NAMES
    made = rankers(Cache(Path(sys.argv[1])))
    collections = {name: opened(data, name) for name in names}
    real = {name: queries_of(name, one) for name, one in collections.items()}
    found = {}
    for name, one in collections.items():
        models = {key: fitted(key, made_ranker(made[key]).ranker, one) for key in ("okapi", "static", "minilm")}
        junk, own = junk_of(name, collections, real), salads(list(one.parts["texts"]), real[name])
        found[name] = [lists(models, texts) for texts in (real[name], junk, own)]
    for pair in PAIRS:
        chosen = {name: [{key: part[key] for key in pair} for part in parts] for name, parts in found.items()}
        others = {name: [parts for other, parts in chosen.items() if other != name] for name in chosen}
        left_out = {n: Calibration.fit(joined([p[0] for p in o]), joined([p[1] for p in o])) for n, o in others.items()}
        by_log = {name: Calibration.fit(parts[0], parts[2]) for name, parts in chosen.items()}
        for title, known in (("leaving one out", left_out), ("by a log", by_log)):
            sure = [{name: known[name].confidences(chosen[name][at]) for name in known} for at in (0, 1)]
            outcome(f"{' + '.join(pair)}, {title}", *sure)
        everything = [joined([parts[at] for parts in chosen.values()]) for at in (0, 1)]
        print(f"{' + '.join(pair)}: {Calibration.fit(*everything).weights}", flush=True)


if __name__ == "__main__":
    main()
