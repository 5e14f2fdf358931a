"""A bounded cache whose values are computed once, however many threads request them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Condition, local
from typing import Any, Generic, TypeVar

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


class NotBuiltError(Exception):
    """An index is missing, and this thread may not build it; `key` says which."""

    def __init__(self, key: Hashable) -> None:
        super().__init__(key)
        self.key = key


_thread = local()


@contextmanager
def only_built() -> Iterator[None]:
    """Make searches in this thread raise `NotBuiltError` rather than build an index."""
    _thread.only_built = True
    try:
        yield
    finally:
        _thread.only_built = False


class IndexCache:
    """Indexes, and fusions of whole collections: some are kept, of the others the most recently used."""

    def __init__(self, others: LRUCache[Any], kept: LRUCache[Any] | None = None) -> None:
        self._others, self._kept = others, LRUCache[Any](sys.maxsize) if kept is None else kept

    def get(self, key: Hashable, make: Callable[[], Any], *, keep: bool = False) -> Any:
        """Return the value of a key, computed if necessary."""
        cache = self._kept if keep else self._others
        if getattr(_thread, "only_built", False) and cache.find(key) is None:
            raise NotBuiltError(key)
        return cache.get(key, make)

    def limited(self, max_bytes: int, size: Callable[[Any], int]) -> IndexCache:
        """Return a cache of the same kept values, and of others up to a total size; one may have any size."""
        return IndexCache(LRUCache(max_bytes, size=lambda value: min(size(value), max_bytes)), self._kept)


class LazyMapping(Mapping[str, V]):
    """Values by name, each made when it is first read."""

    def __init__(self, names: Iterable[str], make: Callable[[str], V]) -> None:
        self._names = tuple(names)
        self._make = make
        self._made: LRUCache[V] = LRUCache(max(len(self._names), 1))

    def __getitem__(self, name: str) -> V:
        if name not in self._names:
            raise KeyError(name)
        return self._made.get(name, lambda: self._make(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
