"""Search fusion graphs in an engine for sparse vectors, and measure what its inner product loses.

Run it with `python examples/sparse_engine.py`; it needs the extra demo and an engine that runs inside this process:
pip install "rankloom[demo]" qdrant-client
"""

import sys

import numpy as np
from digits import rankers
from qdrant_client import QdrantClient, models
from sklearn.datasets import load_digits

import rankloom as rl
from rankloom.ranks import PAD

K = 10
BATCH = 100


def unit(matrix):
    """Divide rows by the square root of their sum, so that large graphs do not come first for their size alone."""
    return matrix.multiply(1 / np.sqrt(np.maximum(matrix.sum(axis=1), 1e-12))[:, None]).tocsr()


def sparse(row):
    """Return a row of a matrix as the engine takes it."""
    return models.SparseVector(indices=row.indices.tolist(), values=row.data.tolist())


def stored(vectors):
    """Return an engine in memory with all rows of a matrix."""
    engine = QdrantClient(":memory:")
    engine.create_collection("graphs", vectors_config={}, sparse_vectors_config={"graph": models.SparseVectorParams()})
    points = [models.PointStruct(id=i, vector={"graph": sparse(vectors[[i]])}) for i in range(vectors.shape[0])]
    for start in range(0, len(points), BATCH):
        engine.upsert("graphs", points[start : start + BATCH])
    return engine


def searched(vectors, n_items):
    """Return the lists of the engine, each item as a query, by inner product."""
    engine = stored(vectors)
    rows = []
    for i in range(n_items):
        found = engine.query_points("graphs", query=sparse(vectors[[i]]), using="graph", limit=K).points
        rows.append([point.id for point in found])
    engine.close()
    return rl.Ranks(np.array([row + [PAD] * (K - len(row)) for row in rows], np.int32), n_items=n_items)


def main(n_items=400):
    """Print the loss of the engine against exact search, on some of scikit-learn's digits."""
    digits = load_digits()
    labels = digits.target[:n_items]
    index = rl.FusionIndex.build(rankers(digits.images[:n_items]))
    exact = index.search(k=K)
    print(f"{n_items} digits, {index.vectors().shape[1]} features")
    print(f"exact search (WGU)            NDCG@10 {ndcg(exact, labels):.4f}")
    for title, edges in (("vertices and edges", True), ("vertices alone", False)):
        found = searched(unit(index.vectors(edges=edges)), n_items)
        shared = [len(set(a) & set(b)) for a, b in zip(exact.items.tolist(), found.items.tolist(), strict=True)]
        print(f"engine, {title:20}  NDCG@10 {ndcg(found, labels):.4f}  overlap@10 {np.mean(shared) / K:.4f}")


def ndcg(ranks, labels):
    """Return the mean NDCG@10."""
    return rl.evaluate(ranks, labels=labels)["ndcg@10"]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
