"""A searcher beside what one would write by hand: CPU seconds to build, CPU milliseconds of a query; vectors are given.

    RANKLOOM_DATA=data python benchmarks/searchers.py rankloom 18302

prints what one system takes; PYTHONPATH=other/src measures another tree. Each system has its own process. Results of
an interrupted run are kept, and not measured again.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from documents import documents, generated, title_queries
from run import peak_gb

#: Threads that wait for a small search would take many times its time.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
N_QUERIES, WARM, DEPTH, RRF = 200, 20, 100, 60


class Case(NamedTuple):
    """Documents and queries, with their vectors of length 1."""

    texts: list[str]
    vectors: np.ndarray
    queries: list[str]
    query_vectors: np.ndarray


class Built(NamedTuple):
    """A system that has been built: what takes a query's number."""

    searches: dict[str, object]  # name -> answers
    nearest: object  # the list of the vector retriever, `DEPTH` deep
    more: dict[str, object] | None = None


def case_of(n, kind, folder):
    """Return a case, made once."""
    arrays, texts = (Path(folder) / f"{kind}-{n}.{ending}" for ending in ("npz", "txt"))
    if not arrays.exists():
        made = generated(n, N_QUERIES) if kind == "generated" else real(n)
        texts.write_text(json.dumps(made[0]))
        np.savez(arrays, vectors=unit(made[1]), queries=made[2], query_vectors=unit(made[3]))
    with np.load(arrays) as saved:
        vectors, queries, query_vectors = saved["vectors"], saved["queries"].tolist(), saved["query_vectors"]
    return Case(json.loads(texts.read_text()), vectors, queries, query_vectors)


def real(n):
    """Return texts, queries, and the vectors of `static`."""
    from rankloom.rankers.text.embeddings import embed_static

    texts = documents(n)
    queries = title_queries(texts, N_QUERIES)
    return texts, embed_static(texts), queries, embed_static(queries)


def unit(vectors):
    """Return vectors scaled to length 1."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def rankloom(case, folder):
    """Build a searcher, without and then with its self-test."""
    import rankloom as rl
    from rankloom.rankers.text.embeddings import embed_static

    known = dict(zip(case.texts + case.queries, [*case.vectors, *case.query_vectors], strict=True))

    def encode(texts):
        return np.array([known[text] if text in known else embed_static([text])[0] for text in texts])

    stages, last = defaultdict(float), [time.process_time()]

    def progress(stage, done, total):
        now = time.process_time()
        stages[stage], last[0] = stages[stage] + now - last[0], now

    rankers = {"bm25": "bm25", "static": encode}
    searcher = rl.Searcher.build(case.texts, rankers=rankers, self_test=False, progress=progress)
    start = time.process_time()
    searcher.save(f"{folder}/x.loom")
    stages["Saving"] = time.process_time() - start
    stored = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 1e6

    def nearest(q):
        return searcher.lists({"q": case.queries[q]}, depth=DEPTH)["static"].items[0]

    methods = {
        name: lambda q, name=name: searcher.search(case.queries[q], k=10, method=name) for name in ("auto", "rrf")
    }
    more = {"folder MB": stored, "stages": dict(stages), "self-test": partial(self_test, searcher)}
    return Built(methods, nearest, more)


def self_test(searcher):
    """Return the CPU seconds of the self-test of a searcher."""
    from rankloom.searcher.self_test import tested

    start = time.process_time()
    tested(searcher.state, True)
    return time.process_time() - start


def by_hand(case, folder):
    """Build bm25s and a flat index of faiss, fused by RRF."""
    import bm25s
    import faiss
    import Stemmer

    stemmer = Stemmer.Stemmer("porter")
    words = bm25s.BM25()
    words.index(bm25s.tokenize(case.texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)
    vectors = faiss.IndexFlatIP(case.vectors.shape[1])
    vectors.add(case.vectors)

    def nearest(q):
        return vectors.search(case.query_vectors[q : q + 1], DEPTH)[1][0]

    def search(q):
        tokens = bm25s.tokenize(case.queries[q], stopwords="en", stemmer=stemmer, show_progress=False)
        return rrf(words.retrieve(tokens, k=DEPTH, show_progress=False)[0][0], nearest(q))

    return Built({"rrf": search}, nearest)


def rrf(*lists):
    """Return the best ten by reciprocal rank fusion."""
    scores = defaultdict(float)
    for one in lists:
        for position, item in enumerate(np.asarray(one).tolist(), 1):
            scores[item] += 1 / (RRF + position)
    return sorted(scores, key=scores.get, reverse=True)[:10]


def tantivy(case, folder):
    """Build tantivy and usearch, fused by RRF."""
    import tantivy
    from usearch.index import Index

    builder = tantivy.SchemaBuilder().add_integer_field("number", stored=True)
    words = tantivy.Index(builder.add_text_field("text", tokenizer_name="en_stem").build())
    writer = words.writer(num_threads=1)
    for number, text in enumerate(case.texts):
        writer.add_document(tantivy.Document(number=number, text=text))
    writer.commit()
    writer.wait_merging_threads()
    words.reload()
    searcher, vectors = words.searcher(), Index(ndim=case.vectors.shape[1], metric="cos", dtype="f32")
    vectors.add(np.arange(len(case.texts)), case.vectors)

    def nearest(q):
        return vectors.search(case.query_vectors[q], DEPTH).keys

    def search(q):
        hits = searcher.search(words.parse_query(case.queries[q], ["text"]), DEPTH).hits
        return rrf([searcher.doc(address)["number"][0] for _, address in hits], nearest(q))

    return Built({"rrf": search}, nearest)


def qdrant(case, folder):
    """Build an embedded shard of qdrant: its BM25, its graph of vectors, its RRF."""
    import qdrant_edge as edge

    config = edge.EdgeConfig(
        vectors={"dense": edge.EdgeVectorParams(size=case.vectors.shape[1], distance=edge.Distance.Cosine)},
        sparse_vectors={"words": edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
    )
    shard, bm25 = edge.EdgeShard.create(folder, config), edge.Bm25()
    for start in range(0, len(case.texts), 1000):
        rows = range(start, min(start + 1000, len(case.texts)))
        vectors = [{"dense": case.vectors[i].tolist(), "words": bm25.embed_document(case.texts[i])} for i in rows]
        points = [edge.Point(i, vector) for i, vector in zip(rows, vectors, strict=True)]
        shard.update(edge.UpdateOperation.upsert_points(points))
    shard.optimize()

    def dense(q):
        return edge.Query.Nearest(case.query_vectors[q].tolist(), using="dense")

    def nearest(q):
        return [point.id for point in shard.query(edge.QueryRequest(limit=DEPTH, query=dense(q)))]

    def search(q):
        words = edge.Query.Nearest(bm25.embed_query(case.queries[q]), using="words")
        parts = [edge.Prefetch(limit=DEPTH, query=query) for query in (words, dense(q))]
        return shard.query(edge.QueryRequest(limit=10, prefetches=parts, query=edge.Fusion.Rrf(RRF)))

    return Built({"rrf": search}, nearest)


SYSTEMS = {
    "rankloom": rankloom,
    "bm25s + faiss flat, by hand": by_hand,
    "tantivy + usearch": tantivy,
    "qdrant-edge": qdrant,
}


def measure(system, n, kind, folder):
    """Return the row of a system."""
    with tempfile.TemporaryDirectory() as home:
        few = case_of(300, kind, folder)  # loads and compiles what is needed
        SYSTEMS[system](few, tempfile.mkdtemp(dir=home))
        case, start = case_of(n, kind, folder), time.process_time()
        built = SYSTEMS[system](case, tempfile.mkdtemp(dir=home))
        row = {"documents": n, "system": system, "build CPU s": time.process_time() - start}
        row |= {f"{name} ms": float(np.median(times(search))) for name, search in built.searches.items()}
        exact = np.argsort(-(case.query_vectors @ case.vectors.T), axis=1)[:, :DEPTH]
        shared = [np.isin(built.nearest(q), exact[q]).sum() / DEPTH for q in range(N_QUERIES)]
        row |= {"recall@100": float(np.mean(shared)), "peak GB": peak_gb()}
        return row | {name: value() if callable(value) else value for name, value in (built.more or {}).items()}


def times(search):
    """Return the CPU milliseconds of each query."""
    found = []
    for q in [*range(WARM), *range(N_QUERIES)]:
        start = time.process_time()
        search(q)
        found.append((time.process_time() - start) * 1e3)
    return found[WARM:]


def rows_of(sizes, kind, folder, systems=tuple(SYSTEMS)):
    """Return the rows of some systems; those of an interrupted run are in the folder."""
    rows = []
    for n in sizes:
        case_of(n, kind, folder)
        for system in systems:
            file = Path(folder) / f"{kind}-{n}-{system}.json"
            if not file.exists():
                command = [sys.executable, __file__, system, str(n), kind, str(folder)]
                done = subprocess.run(
                    command, stdout=subprocess.PIPE, check=True, text=True, env=os.environ | ONE_THREAD
                )
                file.write_text(done.stdout)
            rows.append(json.loads(file.read_text()))
    return rows


def report(sizes, kind, folder, systems=tuple(SYSTEMS)):
    """Return the table, and what the stages of our builds took."""
    rows, stages = rows_of(sizes, kind, folder, systems), []
    for row in rows:
        n = row.pop("documents")
        row["system"] += f", {n:,} documents"
        if parts := row.pop("stages", None):
            shown = ", ".join(f"{name} {seconds:.1f}" for name, seconds in parts.items() if seconds >= 0.05)
            stages.append(f"{n:,}: {shown}; the self-test besides: {row.pop('self-test'):.1f}.")
    columns = max(rows, key=len)
    return [{name: row.get(name, "-") for name in columns} for row in rows], " ".join(stages)


if __name__ == "__main__":
    system, n, kind, folder, *_ = [*sys.argv[1:], *("real", tempfile.gettempdir())[len(sys.argv) - 3 :]]
    print(json.dumps(measure(system, int(n), kind, folder)))
