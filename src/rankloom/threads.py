"""Blocks of rows on the threads of this machine.

A block is worked on alone and writes to rows of its own, so the result has the same bits for any number of
threads and any block size.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import whole_number

BLOCK = 4096  # rows: long enough to hide the call, short enough to move a progress bar
MIN_BLOCK = 64  # rows
MAX_BLOCKS = 64  # each has scratch of the size of the collection

#: Told what is being done, how much of it is done and how much there is.
Progress = Callable[[str, int, int], None]


def n_threads(threads: int | None) -> int:
    """Return how many threads to use: as many as asked for, or as this process may use."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return whole_number("threads", threads)


def run_blocks(
    work: Callable[[int, int], None],
    n: int,
    *,
    stage: str,
    block: int = BLOCK,
    threads: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Call ``work(start, stop)`` for blocks that cover 0 to n.

    Parameters
    ----------
    work : callable
        Must let go of the interpreter lock (a `nogil` kernel) for threads to help.
    stage : str
        What `progress` is told is being done.
    """
    starts = range(0, n, block)
    workers = min(n_threads(threads), len(starts))
    if workers <= 1:
        for start in starts:
            work(start, min(start + block, n))
            if progress:
                progress(stage, min(start + block, n), n)
        return
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(work, start, min(start + block, n)) for start in starts]
        try:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                if progress:
                    progress(stage, min(done * block, n), n)
        finally:
            for future in futures:
                future.cancel()  # after an error or an interrupt, do not start the rest


class Run(Protocol):
    """Runs ``work(start, stop)`` for blocks of at least `min_block` rows that cover 0 to n, as a named stage."""

    def __call__(self, work: Callable[[int, int], None], n: int, stage: str, min_block: int | None = None) -> None:
        """Run."""


def runner(threads: int | None, progress: Progress | None) -> Run:
    """Return what runs ``work(start, stop)`` over n rows, in blocks that keep every thread busy."""

    def run(work: Callable[[int, int], None], n: int, stage: str, min_block: int | None = None) -> None:
        block = max(min_block or MIN_BLOCK, -(-n // MAX_BLOCKS))
        run_blocks(work, n, stage=stage, block=block, threads=threads, progress=progress)

    return run


class Scratch:
    """Arrays of `size` numbers, zeros at first, lent to one block at a time as the last one left them.

    A search touches few entries of them. Kept between calls, they cost nothing to make again: the time of
    one query does not depend on the size of the collection.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._free: list[NDArray[np.uint32]] = []

    @contextmanager
    def borrowed(self) -> Iterator[NDArray[np.uint32]]:
        """Lend an array that nobody else has now."""
        try:
            array = self._free.pop()
        except IndexError:
            array = np.zeros(self._size, np.uint32)
        yield array
        self._free.append(array)  # not after an error: it may not be as it should
