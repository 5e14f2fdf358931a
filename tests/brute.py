"""Brute-force search with tests/oracle.py, assertions on results, and random collections."""

import os

import numpy as np
import pytest

import oracle
from rankloom import Ranks
from rankloom.ranks import PAD

CLOSE = 2e-6  # weights are stored in float32
JIT = os.environ.get("RANKLOOM_KERNELS") != "plain"  # kernels are slow in plain Python: use smaller cases


def plain(ranks):
    """Return the rows of ranks as lists of numbers."""
    return [[item for item in row if item != PAD] for row in ranks.items.tolist()]


def padded(rows, n_items, scores=None):
    depth = max(map(len, rows), default=0)
    items = np.full((len(rows), depth), PAD, np.int32)
    values = np.zeros(items.shape, np.float32)
    for q, row in enumerate(rows):
        items[q, : len(row)] = row
        if scores is not None:
            values[q, : len(row)] = scores[q]
    return Ranks(items, None if scores is None else values, n_items)


def random_collection(seed, *, n=30, m=2, depth=6, hubs=0, ragged=True):
    """Return lists of neighboring points on a line, so that neighbors list each other; hubs are in nearly all lists."""
    random = np.random.default_rng(seed)
    rankers = []
    for _ in range(m):
        points = random.random(n)
        rows = []
        for i in range(n):
            near = np.argsort(np.abs(points - points[i]) + 0.05 * random.random(n))[:depth].tolist()
            for hub in range(hubs):
                if hub not in near and near and random.random() < 0.9:
                    near[int(random.integers(len(near)))] = hub
            rows.append(near[: int(random.integers(0, depth + 1))] if ragged and random.random() < 0.4 else near)
        rankers.append(padded(rows, n))
    return rankers


def assert_results(out, expected, k):
    """Assert that `out` has the k best of `expected`, a {item: similarity} for each row, up to rounding."""
    assert len(out) == len(expected)
    for row, scores, want in zip(out.items.tolist(), out.scores.tolist(), expected, strict=True):
        found = [item for item in row if item != PAD]
        assert len(found) == min(k, len(want))
        assert len(set(found)) == len(found)
        assert scores[: len(found)] == pytest.approx([want[item] for item in found], abs=CLOSE)
        best = sorted(want.values(), reverse=True)[: len(found)]
        assert scores[: len(found)] == pytest.approx(best, abs=CLOSE)
        assert all(score == 0 for score in scores[len(found) :])


def assert_documented_order(out, own=None):
    """Assert that items are sorted by score; ties: the query itself (`own[row]`), then the smaller number."""
    for q, (row, scores) in enumerate(zip(out.items.tolist(), out.scores.tolist(), strict=True)):
        keys = [
            (-score, own is None or item != own[q], item)
            for item, score in zip(row, scores, strict=True)
            if item != PAD
        ]
        assert keys == sorted(keys)


def external(collection, queries, index_settings, virtual):
    """Return {item: similarity} for each external query; `collection` and `queries` have Ranks for each ranker."""
    s = index_settings
    lists = [
        oracle.repositioned(plain(r), s.cutoff, s.depth) if s.reposition else plain(r.head(s.cutoff))
        for r in collection
    ]
    n = collection[0].n_items
    graphs = [oracle.graph([ranker[i] for ranker in lists], lists, s.graph_norm) for i in range(n)]
    results = []
    for q in range(len(queries[0])):
        query_lists = [
            reposition_virtually(r, own, q, s.depth) if virtual else plain(r)[q]
            for r, own in zip(queries, collection, strict=True)
        ]
        graph = oracle.graph([ranked[: s.cutoff] for ranked in query_lists], lists, s.graph_norm)
        results.append(
            {
                j: oracle.similarity(graph, graphs[j], s.comparator)
                for j in range(n)
                if oracle.share_a_vertex(graph, graphs[j])
            }
        )
    return results


def reposition_virtually(query, own, row, depth):
    listed = plain(query)[row][:depth]
    scores = query.scores[row].tolist()[: len(listed)]
    theirs = [values[: len(ranked[:depth])] for values, ranked in zip(own.scores.tolist(), plain(own), strict=True)]
    return oracle.eq1(listed, oracle.virtual_positions(listed, scores, theirs))
