"""A bounded cache whose values are computed once, however many threads request them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Condition
from typing import Generic, TypeVar

import cachetools

V = TypeVar("V")


class LRUCache(Generic[V]):
    """The most recently used values, by key; threads that request the same value wait for the one that computes it.

    `max_size` is the number of values, or if `size` returns that of a value, their total size.

    Examples
    --------
    >>> squares = LRUCache[int](2)
    >>> [squares.get(n, lambda: n * n) for n in (2, 3, 2, 4)], squares.find(3), squares.find(2)
    ([4, 9, 4, 16], None, 4)
    """

    def __init__(self, max_size: int, *, size: Callable[[V], int] | None = None) -> None:
        self._values: cachetools.LRUCache[Hashable, V] = cachetools.LRUCache(max_size, size)
        self._lock = Condition()
        cached = cachetools.cached(self._values, key=lambda key, make: key, condition=self._lock)
        self._get: Callable[[Hashable, Callable[[], V]], V] = cached(lambda key, make: make())

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return the value of a key, computed if necessary; after an error the next caller tries again."""
        return self._get(key, make)

    def find(self, key: Hashable) -> V | None:
        """Return the value of a key, or None."""
        with self._lock:
            return self._values.get(key)
