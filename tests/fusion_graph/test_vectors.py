"""Fusion graphs as sparse vectors: by hand, and against the explicit graphs."""

import numpy as np
import pytest

import rankloom as rl
from brute import random_collection

COLOR = rl.Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])


def index(seed=0, **settings):
    return rl.FusionIndex.build(random_collection(seed, n=25, m=2, depth=6), cutoff=4, depth=6, **settings)


def weights(row, built):
    """Return a row as the dict of an explicit graph: vertices (A, A) and edges (A, B)."""
    edges = built.vector_edges()
    features = {}
    for column, value in zip(row.indices.tolist(), row.data.tolist(), strict=True):
        key = (column, column) if column < len(built) else tuple(edges[column - len(built)].tolist())
        features[key] = value
    return features


def test_vectors_by_hand():
    """Cutoff 2: graph 0 has vertices 0 (1.0) and 1 (0.1), edges 0 -> 1 (1 * 0.1) and 1 -> 0 (1/2 * 0.1), over 0.1."""
    built = rl.FusionIndex.build([COLOR], cutoff=2)
    assert built.vector_edges().tolist() == [[0, 1], [1, 0], [2, 1]]
    assert built.vectors().toarray()[0].tolist() == pytest.approx([1, 0.1, 0, 1, 0.5, 0])


@pytest.mark.parametrize("graph_norm", ["max", "minmax"])
@pytest.mark.parametrize("seed", range(3))
def test_a_row_is_the_explicit_graph(graph_norm, seed):
    built = index(seed, graph_norm=graph_norm)
    vectors = built.vectors()
    for item in range(len(built)):
        graph = built.graph(item)
        expected = dict(zip(zip(graph.items.tolist(), graph.items.tolist(), strict=True), graph.vertices, strict=True))
        expected |= dict(
            zip(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True), graph.edges, strict=True)
        )
        found = weights(vectors[[item]], built)
        assert found == pytest.approx({key: value for key, value in expected.items() if value > 0})
        assert vectors[[item]].sum() == pytest.approx(graph.size)


@pytest.mark.parametrize("graph_norm", ["max", "minmax"])
def test_the_sum_of_minima_is_the_common_subgraph_and_weighted_jaccard_is_wgu(graph_norm):
    built = index(graph_norm=graph_norm)
    vectors = built.vectors()
    for a in range(0, len(built), 3):
        for b in range(len(built)):
            one, other = vectors[[a]], vectors[[b]]
            common = one.minimum(other).sum()
            why = built.explain(a, b, comparator="mcs")
            size = max(one.sum(), other.sum())
            assert common == pytest.approx(why.similarity * size, rel=1e-9, abs=1e-12)  # Eq. 4
            assert common / one.maximum(other).sum() == pytest.approx(built.explain(a, b).similarity, abs=1e-9)
            assert (one @ other.T).sum() <= common + 1e-9


def test_vectors_of_external_queries_share_the_columns():
    built = index()
    ranks = random_collection(0, n=25, m=2, depth=6)
    queries = [r.rows([3, 4]) for r in ranks]
    found = built.vectors(queries)
    assert found.shape == (2, built.vectors().shape[1])
    assert found[[0]].sum() == pytest.approx(built.graph([r.rows([3]) for r in ranks]).size)
    best = built.search(queries, k=1)
    other = built.vectors()[[int(best.items[1, 0])]]
    similarity = found[[1]].minimum(other).sum() / found[[1]].maximum(other).sum()
    assert similarity == pytest.approx(float(best.scores[1, 0]), abs=1e-6)


def test_vertices_alone_are_the_first_columns():
    built = index()
    alone, whole = built.vectors(edges=False), built.vectors()
    assert alone.shape == (25, 25)
    np.testing.assert_array_equal(alone.toarray(), whole[:, :25].toarray())


def test_any_number_of_threads_gives_the_same_vectors():
    built = index()
    one, two = built.vectors(threads=1), built.vectors(threads=2)
    np.testing.assert_array_equal(one.toarray(), two.toarray())


def test_an_empty_list_is_an_empty_row():
    ranks = rl.Ranks([[0, 1], [-1, -1]], n_items=2)
    assert rl.FusionIndex.build([ranks]).vectors().sum(axis=1).tolist()[1] == 0
