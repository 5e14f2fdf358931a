"""The lists of all items by cells, beside exact ones and HNSW searched for each item: CPU seconds and recall."""

import os
import time
from pathlib import Path

import numpy as np
from documents import documents

DEPTH, SAMPLE = 60, 1_000
LINKS, BUILD_BEAM, BEAM = 16, 64, 120  # of faiss' graph: links, and candidates of a build and a search


def rows(quick):
    """Return a row for each encoder, number of items and algorithm."""
    found = []
    for name, n in (("static", 500), ("minilm", 500)) if quick else SIZES:
        vectors = ENCODERS[name](n)
        found += [{"vectors": name, "n": len(vectors), **row} for row in compared(vectors)]
    return found


def compared(vectors):
    """Return how the ways to make lists compare on unit vectors; exact time is that of a sample, scaled to all."""
    from rankloom.rankers import Vectors

    fitted = Vectors(algorithm="exact").fit(vectors)
    some = np.sort(np.random.default_rng(7).choice(len(vectors), min(SAMPLE, len(vectors)), replace=False))
    seconds, exact = cpu(lambda: fitted.rank_items(some, depth=DEPTH))
    floors = exact.scores[:, 20]
    Vectors(algorithm="cells").fit(vectors[:300]).rank(depth=DEPTH)  # imports
    yield {"algorithm": "exact", "CPU s": seconds * len(vectors) / len(some), "recall@20": 1.0, "worst 1 %": 1.0}
    for algorithm, made in (("cells", by_cells), ("HNSW (faiss)", by_hnsw)):
        seconds, scores = cpu(lambda made=made: made(vectors))
        recall = np.sort((scores[some, 1:21] >= floors[:, None] - 1e-6).mean(axis=1))
        worst = recall[: max(len(some) // 100, 1)]
        yield {"algorithm": algorithm, "CPU s": seconds, "recall@20": recall.mean(), "worst 1 %": worst.mean()}


def by_cells(vectors):
    """Return the scores of the lists of all items."""
    from rankloom.rankers import Vectors

    return Vectors(algorithm="cells").fit(vectors).rank(depth=DEPTH).scores


def by_hnsw(vectors):
    """Return the scores of lists from a graph that is searched for each item."""
    import faiss

    graph = faiss.IndexHNSWFlat(vectors.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction, graph.hnsw.efSearch = BUILD_BEAM, BEAM
    graph.add(vectors)
    return graph.search(vectors, DEPTH)[0]


def static(n):
    """Return vectors of texts in random order, scaled to length 1."""
    from rankloom.rankers.text.embeddings import embed_static

    return unit(embed_static(documents(n)))


def minilm(n):
    """Return the published vectors of all collections of texts, in random order."""
    files = sorted(Path(os.environ["RANKLOOM_DATA"]).glob("**/minilm.npz"))
    vectors = np.concatenate([np.load(file)["E"].astype(np.float32) for file in files])
    return unit(np.random.default_rng(1).permutation(vectors)[:n])


def unit(vectors):
    """Return vectors of length 1, and those of zeros as they are."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


ENCODERS = {"static": static, "minilm": minilm}
SIZES = (("static", 18_302), ("static", 50_000), ("static", 100_000), ("minilm", 18_302), ("minilm", 100_000))


def cpu(work):
    """Return the CPU seconds of a call, and what it returned."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found
