"""Single queries: a scan of rounded vectors has the bits of an exact search; a walk follows its rules."""

import numpy as np
import pytest

from rankloom.errors import InputError
from rankloom.ranks import Ranks, cells, query_search
from rankloom.ranks.cells import Cells, WholeRows
from rankloom.ranks.query_search import QuerySearch
from rankloom.ranks.vector_space import METRICS, VectorSpace


def space_of(x):
    return VectorSpace.of(x, METRICS["cosine"])


def hostile(seed, dtype):
    """Vectors with copies, near copies, zeros, and some that rounding cannot tell apart."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(400, 6))
    x[40:60], x[60:90] = x[0], 0
    x[90:200] = x[1] + rng.normal(size=(110, 6)) * 1e-5
    return x.astype(dtype), [
        x[1].astype(dtype),
        x[0].astype(dtype),
        np.zeros(6, dtype),
        rng.normal(size=6).astype(dtype),
    ]


def same(one, other):
    return all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_scan_has_the_bits_of_an_exact_search(seed, dtype):
    x, queries = hostile(seed, dtype)
    space, allowed = space_of(x), np.random.default_rng(seed).random(400) < 0.6
    search = QuerySearch(space)
    for query in map(space_of, [one[None] for one in queries]):
        for depth in (1, 7, 150, 1000):
            assert same(search.scan(query, depth), space.neighbors(query, depth))
            found = search.scan(query, min(depth, allowed.sum()), allowed)
            assert same(found, space.neighbors(query, depth, among=np.flatnonzero(allowed)))


def test_nothing_is_found_where_nothing_is_allowed():
    x, queries = hostile(3, np.float32)
    items, cost = QuerySearch(space_of(x)).scan(space_of(queries[0][None]), 3, np.zeros(400, bool))
    assert (items.tolist(), cost.tolist()) == ([[-1, -1, -1]], [[0, 0, 0]])


def test_queries_of_another_length_are_rejected():
    search = QuerySearch(space_of(np.eye(3)))
    with pytest.raises(InputError, match="queries and vectors must have the same length; got 2 and 3"):
        search.scan(space_of(np.ones((1, 2))), 1)


def plain_walk(rows, query, made, lists, beam, limits):
    """The same walk in sets and sorted lists: the items found, best first."""

    def score(item):
        return int(np.dot(rows[item].astype(int), query.astype(int)))

    products = [int(np.dot(center.astype(int), query.astype(int))) for center in made.centers]
    floor = sorted(products, reverse=True)[min(limits[0], len(products)) - 1]
    seen = {item for item, cell in enumerate(made.own) if products[cell] >= floor}
    used = set()
    for _ in range(limits[1]):
        best = sorted(seen, key=lambda item: (-score(item), item))[:beam]
        chosen = [item for item in best if item not in used]
        used.update(chosen)
        seen.update(other for item in chosen for other in lists[item, : limits[2]].tolist() if other >= 0)
    return sorted(seen, key=lambda item: (-score(item), item))[:beam]


@pytest.fixture
def walked(monkeypatch):
    monkeypatch.setattr(cells, "MIN_CELL", 10)
    monkeypatch.setattr(query_search, "MIN_BEAM", 20)
    rng = np.random.default_rng(5)
    x = (rng.normal(size=(30, 7))[rng.integers(0, 30, 900)] + rng.normal(size=(900, 7)) / 2).astype(np.float32)
    x[7] = 0
    return x, rng.normal(size=(6, 7)).astype(np.float32)


@pytest.mark.parametrize("limits", [(1, 1, 3), (2, 4, 5), (4, 8, 40)])
def test_a_walk_follows_the_lists_of_the_best_found(walked, monkeypatch, limits):
    x, queries = walked
    for name, limit in zip(("N_CELLS", "ROUNDS", "WIDTH"), limits, strict=True):
        monkeypatch.setattr(query_search, name, limit)
    space, lists = space_of(x), Ranks.from_vectors(x, depth=30).items
    made = Cells.of(space)
    search, whole = QuerySearch(space, made, lists), WholeRows.of(space).rows
    for query in queries:
        one = space_of(query[None])
        expected = plain_walk(whole, WholeRows.of(one).rows[0], made, lists, 25, limits)
        items, cost = search.walk(one, 25)
        exact = dict(zip(*(table[0].tolist() for table in space.neighbors(one, 900)), strict=True))
        assert sorted(items[0].tolist()) == sorted(expected)
        assert [exact[item] for item in items[0].tolist()] == cost[0].tolist()
        assert items[0].tolist() == sorted(expected, key=lambda item: (exact[item], item))
        assert same(search.walk(one, 25), (items, cost))  # the scratch was cleared


def test_a_walk_returns_allowed_items_only(walked):
    x, queries = walked
    space, allowed = space_of(x), np.arange(900) % 3 > 0
    search = QuerySearch(space, Cells.of(space), Ranks.from_vectors(x, depth=60).items)
    near = []
    for query in queries:
        one = space_of(query[None])
        items, cost = search.walk(one, 30, allowed)
        assert allowed[items].all()
        near.append((cost <= space.neighbors(one, 30, among=np.flatnonzero(allowed))[1][0, -1]).mean())
    assert np.mean(near) > 0.95


def test_small_and_filtered_and_exact_searches_are_scans(walked, monkeypatch):
    x, queries = walked
    space, one = space_of(x), space_of(queries[:1])
    monkeypatch.setattr(query_search, "N_CELLS", 1)
    monkeypatch.setattr(query_search, "ROUNDS", 0)
    search = QuerySearch(space, Cells.of(space), Ranks.from_vectors(x, depth=5).items)
    assert same(search.nearest(one, 200, None, exact=False), space.neighbors(one, 200))
    monkeypatch.setattr(query_search, "MAX_SCANNED", 100)
    assert not same(search.nearest(one, 200, None, exact=False), space.neighbors(one, 200))
    assert same(search.nearest(one, 200, None, exact=True), space.neighbors(one, 200))
    few = np.arange(900) < 400
    assert same(search.nearest(one, 200, few, exact=False), space.neighbors(one, 200, among=np.arange(400)))
    assert same(QuerySearch(space).nearest(one, 200, None, exact=False), space.neighbors(one, 200))
