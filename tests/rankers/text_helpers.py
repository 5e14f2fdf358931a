"""Helpers for the tests of text rankers."""

import sys

import numpy as np

from rankloom.rankers import RANKERS
from rankloom.ranks import PAD
from rankloom.threads import running


def fit(name, texts, **options):
    """Return a ranker with these options, fitted to texts."""
    return RANKERS[name](**options).fit(texts)


def lists(ranks):
    """Return each list without padding."""
    return [[item for item in row if item != PAD] for row in ranks.items.tolist()]


def score_table(ranks, missing=0.0):
    """Return the scores as a matrix of queries and items; `missing` for items that are not in a list."""
    scores = np.full((ranks.n_queries, ranks.n_items), missing)
    for q, row in enumerate(lists(ranks)):
        scores[q, row] = ranks.scores[q, : len(row)]
    return scores


def random_texts(words, n, shortest, longest, seed):
    """Return n texts of random length, drawn from a few words."""
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(words, size)) for size in random.integers(shortest, longest, n)]


def check_blocks_and_threads(model, depth):
    """Check that neither the block size nor the number of threads changes a bit of the ranks."""
    with running(threads=1):
        one = model.rank(depth=depth, block=50)
    for block, threads in ((1, 1), (7, 2), (16, 3)):
        with running(threads=threads):
            other = model.rank(depth=depth, block=block)
        assert np.array_equal(one.items, other.items)
        assert one.scores.tobytes() == other.scores.tobytes()


def hide_packages(monkeypatch, *packages):
    """Make some packages appear not to be installed."""
    for name in {*packages, *(name for name in sys.modules if name.split(".")[0] in packages)}:
        monkeypatch.setitem(sys.modules, name, None)
