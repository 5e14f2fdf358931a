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


def wrong_shared_options(methods, without_iterations):
    """Return (method, options, message) for wrong values of the options that all methods share."""
    rounds = [name for name in methods if name not in without_iterations]
    return [
        *((name, {"neighbors": 0}, "neighbors must be a whole number, at least 1; got 0.") for name in methods),
        *((name, {"depth": 1.5}, f"depth of the method {name!r} must be a whole number") for name in methods),
        *((name, {"iterations": 0}, "iterations must be a whole number") for name in rounds),
    ]


def check_smaller_k(ranks, method, n, options):
    """Check that fewer answers are the first of many."""
    full = rl.fuse(ranks, method, n, **options)
    cut = rl.fuse(ranks, method, 4, **options)
    np.testing.assert_array_equal(cut.items, full.items[:, :4])
    np.testing.assert_array_equal(cut.scores, full.scores[:, :4])
