"""Values are made once, and the least recently used go first."""

import threading

import pytest

from rankloom.searcher.lru import LRUCache


def test_concurrent_threads_share_one_value():
    cache, made, start = LRUCache(4), [], threading.Barrier(8)
    finish = threading.Event()

    def make():
        made.append(1)
        finish.wait(10)
        return object()

    found = []

    def get():
        start.wait(10)
        found.append(cache.get("a", make))

    threads = [threading.Thread(target=get) for _ in range(8)]
    for thread in threads:
        thread.start()
    finish.set()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len(set(map(id, found))) == 1


def test_error_is_raised_and_not_cached():
    cache = LRUCache(4)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 / 0)
    assert cache.get("a", lambda: 2) == 2


def test_least_recently_used_value_goes_first():
    cache = LRUCache(2)
    for key in ("a", "b"):
        cache.get(key, lambda: 0)
    cache.find("a")
    cache.get("c", lambda: 0)
    assert [cache.find("a") is not None, cache.find("b") is not None, cache.find("c") is not None] == [
        True,
        False,
        True,
    ]


def test_total_size_is_bounded():
    cache = LRUCache(10, size=len)
    for key, value in (("a", "x" * 6), ("b", "x" * 5)):
        cache.get(key, lambda value=value: value)
    assert [cache.find("a") is not None, cache.find("b") is not None] == [False, True]
    assert cache.get("c", lambda: "x" * 50) == "x" * 50
    assert [cache.find("b") is not None, cache.find("c") is not None] == [True, False]
    assert cache.find("c") is None
