"""Every method on collections of more than one block: neither threads nor the size of blocks changes a bit."""

from collections import defaultdict

import numpy as np
import pytest

import rankloom as rl
from rankloom.aggregate import IndexMethod
from rankloom.aggregate.graphs import query_graph
from rankloom.aggregate.per_query import majorities as pairwise
from rankloom.methods import METHODS, SUPERVISED
from rankloom.ranks import pool
from rankloom.threads import Scratch, run_blocks, run_rows
from rankloom.weft import rows, votes

N_ITEMS = 230
ONE_BLOCK, SMALL_BLOCK = 4096, 32
IDS = rl.Ids(map(str, range(N_ITEMS)))
POINTS = np.random.default_rng(0).normal(size=(2, N_ITEMS, 3))
RANKERS = [rl.Ranks.from_vectors(one, "l2", depth=12, item_ids=IDS) for one in POINTS]
QUERIES = [rl.Ranks.from_vectors(one, "l2", depth=12, item_ids=IDS, queries=one[::2] + 0.01) for one in POINTS]
QRELS = {str(query): {str(item): 1 for item in range(query % 7, N_ITEMS, 7)} for query in range(0, N_ITEMS, 3)}
EXTERNAL = sorted(n for n, one in METHODS.items() if issubclass(one, IndexMethod))


def set_blocks(monkeypatch, size):
    """Give blocks at most so many rows, whatever the module that cuts them."""
    monkeypatch.setitem(run_blocks.__kwdefaults__, "block", size)
    monkeypatch.setattr(run_rows, "__defaults__", (size,))
    monkeypatch.setattr(Scratch.run, "__defaults__", (size,))
    monkeypatch.setattr(query_graph, "BLOCK", size)
    monkeypatch.setattr(rows, "ROW_BLOCK", size)
    monkeypatch.setattr(votes, "BLOCK", size)
    monkeypatch.setattr(pool, "CELLS", size * 2 * 12)
    monkeypatch.setattr(pairwise, "PAIRS", size * 24 * 24)


class Blocks:
    """Counts the blocks of each stage that covers all rows."""

    def __init__(self, n_rows):
        self.n_rows, self.counts = n_rows, defaultdict(int)

    def __call__(self, stage, done, total):
        if total == self.n_rows:
            self.counts[stage] += 1


def assert_same_bits(monkeypatch, fuse, n_rows):
    """Assert that one block in one thread gives what many blocks in one or three threads give."""
    set_blocks(monkeypatch, ONE_BLOCK)
    once = Blocks(n_rows)
    expected = fuse(threads=1, progress=once)
    set_blocks(monkeypatch, SMALL_BLOCK)
    for threads in (1, 3):
        often = Blocks(n_rows)
        found = fuse(threads=threads, progress=often)
        np.testing.assert_array_equal(found.items, expected.items)
        np.testing.assert_array_equal(found.scores, expected.scores)
        assert often.counts.keys() == once.counts.keys()
        assert all(often.counts[stage] >= n_rows / SMALL_BLOCK * count for stage, count in once.counts.items())


@pytest.mark.parametrize("method", sorted(METHODS))
def test_threads_and_blocks_do_not_change_the_bits(monkeypatch, method):
    assert_same_bits(monkeypatch, lambda **how: rl.fuse(RANKERS, method, 5, **how), N_ITEMS)


@pytest.mark.parametrize("method", EXTERNAL)
def test_nor_do_they_for_external_queries(monkeypatch, method):
    fuse = lambda **how: rl.fuse(QUERIES, method, 5, collection=RANKERS, **how)  # noqa: E731
    assert_same_bits(monkeypatch, fuse, len(QUERIES[0]))


@pytest.mark.parametrize("method", sorted(SUPERVISED))
def test_nor_do_they_for_trained_methods(monkeypatch, method):
    trained = rl.train(RANKERS, QRELS, method)
    assert_same_bits(monkeypatch, lambda **how: rl.fuse(RANKERS, trained, 5, **how), N_ITEMS)
