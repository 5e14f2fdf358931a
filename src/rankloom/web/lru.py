"""Values that are made when first asked for, and kept while they are among the last used."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

V = TypeVar("V")


class Kept(Generic[V]):
    """The last values used, by key; threads that ask for one at the same time wait for the one that makes it.

    Parameters
    ----------
    most : int
        How many are kept.
    most_bytes : int, optional
        How large they may be together, where `size` tells how large one is.

    Examples
    --------
    >>> squares = Kept[int](2)
    >>> [squares.get(n, lambda: n * n) for n in (2, 3, 2, 4)], 3 in squares, 2 in squares
    ([4, 9, 4, 16], False, True)
    """

    def __init__(self, most: int, *, most_bytes: int | None = None, size: Callable[[V], int] = lambda value: 0) -> None:
        self._most, self._most_bytes, self._size = most, most_bytes, size
        self._futures: OrderedDict[Hashable, Future[V]] = OrderedDict()
        self._sizes: dict[Hashable, int] = {}
        self._total = 0  # of the sizes
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return the value of a key; an error in making it is raised to all that wait, and not kept."""
        with self._lock:
            future = self._futures.get(key)
            mine = future is None
            if future is None:
                future = self._futures[key] = Future()
            self._futures.move_to_end(key)
        if mine:
            self._make(key, make, future)
        return future.result()

    def _make(self, key: Hashable, make: Callable[[], V], future: Future[V]) -> None:
        try:
            value = make()
        except BaseException as error:
            with self._lock:
                self._futures.pop(key, None)
            future.set_exception(error)
            return
        future.set_result(value)
        with self._lock:
            self._sizes[key] = self._size(value)
            self._total += self._sizes[key]
            self._trim()

    def _trim(self) -> None:
        """Let go of what was used longest ago; what is still being made is not counted."""
        while len(self._sizes) > self._most or (
            self._most_bytes is not None and len(self._sizes) > 1 and self._total > self._most_bytes
        ):
            oldest = next(key for key in self._futures if key in self._sizes)
            self._total -= self._sizes.pop(oldest)
            del self._futures[oldest]

    def find(self, key: Hashable) -> V | None:
        """Return the value of a key where there is one."""
        with self._lock:
            if key not in self._sizes:
                return None
            self._futures.move_to_end(key)
            return self._futures[key].result()

    def __contains__(self, key: Hashable) -> bool:
        with self._lock:
            return key in self._sizes
