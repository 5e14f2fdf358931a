"""Values are made once, kept while they are used, and let go of in order."""

import threading

import pytest

from rankloom.web.lru import Kept


def test_threads_that_ask_at_the_same_time_get_the_one_value_that_is_made():
    kept, made, begin = Kept(4), [], threading.Barrier(8)
    finish = threading.Event()

    def make():
        made.append(1)
        finish.wait(10)
        return object()

    found = []

    def ask():
        begin.wait(10)
        found.append(kept.get("a", make))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    finish.set()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len(set(map(id, found))) == 1


def test_an_error_is_raised_and_not_kept():
    kept = Kept(4)
    with pytest.raises(ZeroDivisionError):
        kept.get("a", lambda: 1 / 0)
    assert kept.get("a", lambda: 2) == 2


def test_what_was_used_longest_ago_goes_first():
    kept = Kept(2)
    for key in ("a", "b"):
        kept.get(key, lambda: 0)
    kept.find("a")
    kept.get("c", lambda: 0)
    assert ["a" in kept, "b" in kept, "c" in kept] == [True, False, True]


def test_what_is_kept_is_bounded_in_size_but_for_the_last():
    kept = Kept(100, most_bytes=10, size=len)
    for key, value in (("a", "x" * 6), ("b", "x" * 5)):
        kept.get(key, lambda value=value: value)
    assert ["a" in kept, "b" in kept] == [False, True]
    kept.get("c", lambda: "x" * 50)
    assert ["b" in kept, "c" in kept] == [False, True]
    assert kept.find("b") is None
