"""Random collections, and indexes that must have the same bits."""

import numpy as np

from rankloom import Ranks
from rankloom.ranks import PAD


def random_collection(seed, n=None, *, scores=True):
    """Return collection ranks of some rankers: lists of different lengths, some empty, items on a line with noise."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 90)) if n is None else n
    return [_lists(rng, n, int(rng.integers(1, 14)), scores and rng.random() < 0.5) for _ in range(rng.integers(1, 4))]


def _lists(rng, n, depth, scored):
    depth, reach = min(depth, n), min(n, 61)  # items of a large collection list those nearby only
    columns = (np.arange(n)[:, None] + np.arange(reach) - reach // 2) % n
    near = np.abs(np.arange(n)[:, None] - columns) + rng.normal(0, rng.choice([0.5, 5, 50]), columns.shape)
    near[columns == np.arange(n)[:, None]] = -9999
    order = np.argsort(near, axis=1, kind="stable")[:, :depth]
    items = np.take_along_axis(columns, order, 1).astype(np.int32)
    lengths = np.where(rng.random(n) < 0.05, 0, rng.integers(max(1, depth - 3), depth + 1, n))
    items[np.arange(depth) >= lengths[:, None]] = PAD
    scores = np.where(items == PAD, 0, -np.round(np.take_along_axis(near, order, 1), 1)) if scored else None
    return Ranks(items, scores, n, kind="collection")


def external(ranks, seed=0, n=7):
    """Return the lists of some external queries: those of items, with a few entries left out."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, ranks[0].n_items, n)
    return [r.rows(rows) for r in ranks]


def assert_same(one, other):
    """Assert that two answers have the same bits."""
    assert one.items.tobytes() == other.items.tobytes()
    assert one.scores.tobytes() == other.scores.tobytes()


def assert_same_answers(index, other, ranks, k=5):
    """Assert that two indexes give the same answers: items, external queries, filters, explanations."""
    n, queries = index.n_items, external(ranks)
    mask = np.arange(n) % 3 > 0
    assert_same(index.search(k=k), other.search(k=k))
    assert_same(index.search(k=k, allowed=mask), other.search(k=k, allowed=mask))
    assert_same(index.search(queries, k), other.search(queries, k))
    assert_same(index.search(queries, k, allowed=mask), other.search(queries, k, allowed=mask))
    some = [n - 1, 0, n // 2]
    assert_same(index.search(k=k, items=some), other.search(k=k, items=some))
    assert index.explain(0, n // 2).to_dict() == other.explain(0, n // 2).to_dict()
    one = [r.rows([n // 2]) for r in ranks]
    assert index.explain(one, 0).to_dict() == other.explain(one, 0).to_dict()
