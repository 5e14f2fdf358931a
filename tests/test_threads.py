import threading
import time

import numpy as np
import pytest

from rankloom.errors import InputError
from rankloom.threads import Scratch, n_threads, one_blas_thread, open_blas, run_blocks, run_rows, running


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(("n", "block"), [(0, 4), (1, 4), (8, 4), (10, 4), (10, 1), (10, 100)])
def test_blocks_cover_every_row_once(n, block, threads):
    counts = np.zeros(n, int)

    def work(start, stop):
        assert 0 < stop - start <= block
        counts[start:stop] += 1

    run_blocks(work, n, stage="Counting", block=block, threads=threads)
    assert (counts == 1).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_progress_is_reported_up_to_the_total(threads):
    calls = []
    with running(threads, lambda *call: calls.append(call)):
        run_blocks(lambda start, stop: None, 10, stage="Work", block=3)
    assert [stage for stage, _, _ in calls] == ["Work"] * 4
    assert [done for _, done, _ in calls] == [3, 6, 9, 10]
    assert {total for _, _, total in calls} == {10}


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_a_block_propagates_and_cancels_the_rest(threads):
    started = []

    def work(start, stop):
        started.append(start)
        if start == 0:
            raise ValueError("block 0")
        time.sleep(0.01)

    with pytest.raises(ValueError, match="block 0"):
        run_blocks(work, 1000, stage="Work", block=1, threads=threads)
    assert len(started) < 1000


def test_an_error_in_the_progress_callback_propagates():
    def stop(*call):
        raise KeyboardInterrupt

    for threads in (1, 2):
        with pytest.raises(KeyboardInterrupt), running(threads, stop):
            run_blocks(lambda start, stop: None, 100, stage="Work", block=1)


def test_there_must_be_at_least_one_thread():
    assert n_threads(None) >= 1
    assert n_threads(3) == 3
    with pytest.raises(InputError, match=r"threads must be a whole number, at least 1; got 0\."):
        n_threads(0)


def test_scratch_arrays_are_exclusive_and_reused():
    scratch = Scratch(3)
    with scratch.borrowed() as first, scratch.borrowed() as second:
        assert first is not second
        assert first.tolist() == [0, 0, 0]
    with scratch.borrowed() as again:
        assert again is first or again is second


def test_a_scratch_array_is_not_reused_after_an_error():
    scratch = Scratch(3)

    def spoil():
        with scratch.borrowed() as array:
            array[:] = 7
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        spoil()
    with scratch.borrowed() as array:
        assert array.tolist() == [0, 0, 0]


def test_scratch_is_thread_safe():
    scratch, wrong = Scratch(50), []

    def use():
        for _ in range(200):
            with scratch.borrowed() as array:
                if array.any():
                    wrong.append(1)
                array += 1
                array -= 1

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_blocks_run_as_the_call_around_them_says():
    calls = []
    with running(threads=1, progress=lambda *call: calls.append(call)):
        run_blocks(lambda start, stop: None, 4, stage="Outer", block=4)
        with running():  # inherits
            run_rows(lambda start, stop: None, 2, "Inner")
    run_blocks(lambda start, stop: None, 3, stage="After", block=3)
    assert calls == [("Outer", 4, 4), ("Inner", 2, 2)]


def test_a_number_of_threads_that_is_none_is_rejected_before_the_work():
    with pytest.raises(InputError, match="threads must be a whole number, at least 1; got 0"), running(threads=0):
        raise AssertionError("not reached")


@pytest.mark.skipif(not open_blas(), reason="numpy uses another library")
def test_blas_has_one_thread_until_the_last_of_ours_has_left():
    inside, leave = threading.Event(), threading.Event()
    get, set_to = open_blas()
    before = get()

    def other():
        with one_blas_thread:
            inside.set()
            leave.wait()

    thread = threading.Thread(target=other)
    set_to(2)
    try:
        with one_blas_thread:
            thread.start()
            inside.wait()
        assert get() == 1
        leave.set()
        thread.join()
        assert get() == 2
    finally:
        set_to(before)
