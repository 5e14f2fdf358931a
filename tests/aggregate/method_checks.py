"""Checks that several files of tests make of every method in their table."""

import numpy as np

import rankloom as rl
from rankloom import threads as threads_module


def check_threads_and_blocks(ranks, method, options, monkeypatch):
    """Check that neither the number of threads nor the size of blocks changes a bit."""
    one = rl.fuse(ranks, method, threads=1, **options)
    monkeypatch.setattr(threads_module, "MIN_BLOCK", 7)
    for threads in (2, 5):
        other = rl.fuse(ranks, method, threads=threads, **options)
        np.testing.assert_array_equal(one.items, other.items)
        np.testing.assert_array_equal(one.scores, other.scores)


def check_smaller_k(ranks, method, n, options):
    """Check that fewer answers are the first of many."""
    full = rl.fuse(ranks, method, n, **options)
    cut = rl.fuse(ranks, method, 4, **options)
    np.testing.assert_array_equal(cut.items, full.items[:, :4])
    np.testing.assert_array_equal(cut.scores, full.scores[:, :4])
