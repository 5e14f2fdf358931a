"""Making lists of texts at scale, by posting lists: CPU seconds."""

import time

import numpy as np
from numba import njit

from rankloom._kernels.text.postings import (
    PRODUCT,
    TOTAL,
    Postings,
    Queries,
    Query,
    Scoring,
    Scratch,
    overlap,
    write_best,
)
from rankloom.threads import running

DEPTHS = (20, 100, 1000)
MAX_TERMS = 25
RANKERS = ("okapi", "bow-cosine", "bow-jaccard")


def cpu(work):
    """Return the CPU seconds of a call, and what it returned."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def texts(quick):
    """Return rows for okapi lists of Ohsumed: by this kernel, by listing texts posting by posting, with few terms."""
    import rankloom as rl
    from rankloom.rankers import RANKERS as BY_NAME

    collection = rl.open_collection("ohsumed")
    rows = []
    for n in (500, 2_000) if quick else (4_000, 16_000):
        documents = list(collection.parts["texts"][:n])
        models = [BY_NAME["okapi"](**options).fit(documents) for options in ({}, {"max_terms": MAX_TERMS})]
        for depth in DEPTHS:
            rows.append(text_row(models, n, depth, 1 if quick else 2))
    return rows


def text_row(models, n, depth, repeats):
    """Return the microseconds per query of three ways, interleaved, the best of a few runs."""
    ways = [
        lambda: posting_by_posting(models[0], depth),
        lambda: models[0].rank(depth=depth).items,
        lambda: models[1].rank(depth=depth).items,
    ]
    with running(threads=1):
        runs = [[cpu(way) for way in ways] for _ in range(repeats + 1)][1:]  # the first compiles the kernels
    assert np.array_equal(runs[0][0][1], runs[0][1][1])
    before, now, few = (min(run[way][0] for run in runs) / n * 1e6 for way in range(3))
    return {
        "n": n,
        "depth": depth,
        "posting by posting us": before,
        "now us": now,
        "times faster": before / now,
        f"max_terms={MAX_TERMS} us": few,
        "faster than now": now / few,
        "faster than posting by posting": before / few,
    }


def posting_by_posting(model, depth):
    """Rank as before sums were dense: the way that queries with few postings still take."""
    items = np.full((model.n_items, min(depth, model.n_items)), -1, np.int32)
    scores = np.zeros(items.shape, np.float32)
    single = np.zeros(1, np.float32)
    n, rows = model.n_items, model.own
    scratch = Scratch(
        np.zeros(n), scores[:0, 0], scores[:0, 0], np.empty(n, np.int32), np.empty(n, np.int64), single,
        single.view(np.int32),
    )  # fmt: skip
    queries = Queries(rows.indptr.astype(np.int64), rows.indices, rows.data, np.ones(n), np.arange(n))
    scoring = Scoring(PRODUCT, TOTAL, np.ones(0, np.bool_))
    _rank(queries, Postings(*model._postings), scoring, scratch, items, scores.view(np.int32))
    return items


@njit(nogil=True)
def _rank(queries, texts, scoring, scratch, items, bits):
    common, seen = scratch.common, scratch.seen
    for q in range(items.shape[0]):
        here = slice(queries.ptr[q], queries.ptr[q + 1])
        query = Query(queries.terms[here], queries.weights[here], 1.0, q)
        n = overlap(query, texts, scoring, common, seen)
        if common[q] == 0.0:
            seen[n] = q
            n += 1
        write_best(n, query, texts.sizes, TOTAL, scratch, items[q], bits[q])
        common[seen[:n]] = 0.0


def loss(quick):
    """Return NDCG@10 of each ranker and of FG on Ohsumed, with whole texts and with few terms."""
    import rankloom as rl
    from rankloom.rankers import RANKERS as BY_NAME

    collection = rl.open_collection("ohsumed")
    n = 1_000 if quick else 16_000
    documents, labels = list(collection.parts["texts"][:n]), collection.labels[:n]
    rows = []
    for options in ({}, {"max_terms": MAX_TERMS}):
        ranks = [BY_NAME[name](**options).fit(documents).rank(depth=100) for name in RANKERS]
        fused = rl.FusionIndex.build(ranks).search(k=10)
        named = dict(zip((*RANKERS, "FG"), (*ranks, fused), strict=True))
        values = {name: rl.evaluate(one, labels=labels, measures=["ndcg@10"])["ndcg@10"] for name, one in named.items()}
        rows.append({"query": f"max_terms={MAX_TERMS}" if options else "whole text", **values})
    return rows
