"""Blocks of rows processed by a thread pool.

Each block writes only its own rows, so the result is bit-identical for any number of threads and any block size.
"""

import ctypes
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError, brief, is_function, whole_number

BLOCK = 4096  # rows: large enough to amortize the call, small enough to update a progress bar
MIN_BLOCK = 64  # rows
MAX_BLOCKS = 64  # each needs scratch arrays of the size of the collection

#: Called with the stage, the number of rows done and the total.
Progress = Callable[[str, int, int], None]


def n_threads(threads: int | None) -> int:
    """Return the number of threads to use: `threads`, or by default all CPUs available to this process."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return whole_number("threads", threads)


def check_progress(progress: Progress | None) -> None:
    """Raise InputError if what is called with the progress cannot be called."""
    if progress is not None and not is_function(progress):
        raise InputError(f"progress must be a function of stage, number done and total; got {brief(progress)}.")


@dataclass(frozen=True, slots=True)
class Running:
    """The default number of threads and progress callback of a call."""

    threads: int | None = None
    progress: Progress | None = None


_RUNNING = ContextVar("running", default=Running())  # noqa: B039  # it is frozen


@contextmanager
def running(threads: int | None = None, progress: Progress | None = None) -> Iterator[None]:
    """Run all blocks of a call with these settings; the functions in between need not pass them on.

    What is not given is taken from the enclosing `running`.
    """
    n_threads(threads)  # validate early
    check_progress(progress)
    around = _RUNNING.get()
    token = _RUNNING.set(Running(threads or around.threads, progress or around.progress))
    try:
        yield
    finally:
        _RUNNING.reset(token)


def report(stage: str, done: int, total: int) -> None:
    """Report the progress of a stage to the callback of the enclosing `running`."""
    progress = _RUNNING.get().progress
    if progress:
        progress(stage, done, total)


@contextmanager
def part_of_stage(before: int, total: int) -> Iterator[None]:
    """Report the progress of what runs inside as that of a part, which `before` rows precede."""
    progress = _RUNNING.get().progress
    with running(progress=progress and (lambda stage, done, _: progress(stage, before + done, total))):
        yield


def cut_blocks(n: int, block: int = BLOCK) -> list[tuple[int, int]]:
    """Return (start, stop) of the blocks that cover rows 0 to n."""
    return [(start, min(start + block, n)) for start in range(0, n, block)]


def run_blocks(
    work: Callable[[int, int], None], n: int, *, stage: str, block: int = BLOCK, threads: int | None = None
) -> None:
    """Call ``work(start, stop)`` for blocks that cover rows 0 to n.

    `work` must release the GIL (a `nogil` kernel) to benefit from threads. Progress is reported to the enclosing
    `running`, which also gives the number of threads by default.
    """
    blocks = cut_blocks(n, block)
    workers = 1 if len(blocks) <= 1 else min(n_threads(threads or _RUNNING.get().threads), len(blocks))
    if workers <= 1:
        for start, stop in blocks:
            work(start, stop)
            report(stage, stop, n)
        return
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(work, start, stop) for start, stop in blocks]
        try:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                report(stage, min(done * block, n), n)
        finally:
            for future in futures:
                future.cancel()  # after an error or an interrupt, skip the remaining blocks


class OneBlasThread:
    """Limits numpy's OpenBLAS to one thread while any of ours is inside; it has one limit for the whole process.

    Ours share the work. Those of BLAS would wait for more of it actively, at the cost of a small product.
    """

    def __init__(self) -> None:
        self._lock, self._n_inside, self._before = Lock(), 0, 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._n_inside and (blas := open_blas()):
                self._before, _ = blas[0](), blas[1](1)
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if not self._n_inside and (blas := open_blas()):
                blas[1](self._before)


one_blas_thread = OneBlasThread()


@cache
def open_blas() -> tuple[Callable[[], int], Callable[[int], object]] | None:
    """Return what gets and sets the number of threads of numpy's OpenBLAS; None if it uses another library."""
    library = ctypes.CDLL(np.linalg._umath_linalg.__file__)  # finds the symbols of what it is linked with
    for name in ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads"):
        if hasattr(library, name.format("set")):
            return library[name.format("get")], library[name.format("set")]
    return None


def run_rows(work: Callable[[int, int], None], n: int, stage: str, min_block: int = MIN_BLOCK) -> None:
    """Call ``work(start, stop)`` for blocks that cover rows 0 to n, small enough to keep every thread busy."""
    run_blocks(work, n, stage=stage, block=max(min_block, -(-n // MAX_BLOCKS)))


class Scratch:
    """A pool of uint32 arrays of length `size`, initially zero, each used by one block at a time and not cleared.

    A search touches few elements. Reusing the arrays between calls saves allocating them, so that the time of one
    query does not depend on the size of the collection.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._free: list[NDArray[np.uint32]] = []

    def run(self, work: Callable[[int, int, NDArray[np.uint32]], None], n: int, stage: str, block: int = BLOCK) -> None:
        """Call ``work(start, stop, array)`` for blocks that cover rows 0 to n, as `run_blocks` does."""

        def borrowing(start: int, stop: int) -> None:
            with self.borrowed() as array:
                work(start, stop, array)

        run_blocks(borrowing, n, stage=stage, block=block)

    @contextmanager
    def borrowed(self) -> Iterator[NDArray[np.uint32]]:
        """Yield an array that no other block is using."""
        try:
            array = self._free.pop()
        except IndexError:
            array = np.zeros(self._size, np.uint32)
        yield array
        self._free.append(array)  # not after an error, which may leave it in an invalid state
