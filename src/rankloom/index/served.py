"""Shards that the workers of a Dask cluster have open, each with one worker, and search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom._kernels import frozen
from rankloom.errors import InputError
from rankloom.index.shard import Shard
from rankloom.io.array_folder import limit_pages
from rankloom.ranks import PAD

Array = NDArray[Any]
#: Where a block of queries starts, the queries made explicit, their members, and the shards to ask, in order.
Block = tuple[int, tuple[Any, ...], Array, list[int]]
MAX_BLOCKS = 64  # blocks under way


class OpenShard:
    """A shard of an index that a worker has open; copied to another worker, it is opened there."""

    def __init__(self, open_index: Callable[[], Any], number: int) -> None:
        self._open, self.number = open_index, number
        self.index = open_index()

    def __reduce__(self) -> tuple[Any, ...]:
        return OpenShard, (self._open, self.number)


class ServedShards:
    """The shards of an index as persistent futures; if a worker dies, Dask recreates its shard elsewhere."""

    def __init__(self, client: Any, open_index: Callable[[], Any], n_shards: int) -> None:
        self._client = client
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        if not workers:
            raise InputError("The cluster has no workers; start some with 'dask worker ADDRESS'.")
        self._homes = [workers[number % len(workers)] for number in range(n_shards)]
        self._shards = [
            client.submit(OpenShard, open_index, number, workers=[home], allow_other_workers=True, pure=False)
            for number, home in enumerate(self._homes)
        ]

    def search(
        self, shards: Sequence[Shard], method: str, blocks: Iterable[Block], mask: Array, k: int
    ) -> Iterator[tuple[int, Array, Array]]:
        """Yield the best items of each block of queries and their similarities, with where the block starts."""
        under_way: list[tuple[int, Any]] = []
        for start, queries, members, order in blocks:
            under_way.append((start, self._chain(shards, method, queries, members, order, mask, k)))
            if len(under_way) == MAX_BLOCKS:
                yield self._result(under_way.pop(0))
        for one in under_way:
            yield self._result(one)

    def _chain(
        self,
        shards: Sequence[Shard],
        method: str,
        queries: tuple[Any, ...],
        members: Array,
        order: Sequence[int],
        mask: Array,
        k: int,
    ) -> Any:
        """Return a future of the best items of all shards, each of which is handed those of the one before."""
        n = queries[1]
        best: Any = (np.full((n, k), PAD, np.int32), np.zeros((n, k), np.float32))
        # As a task, not scattered: Dask can repeat it if its worker dies.
        asked = self._client.submit(_kept, (queries, members), pure=False)
        for number in order:
            own = mask[shards[number].first : shards[number].stop] if len(mask) else mask
            at = {"workers": [self._homes[number]], "allow_other_workers": True, "pure": False}
            best = self._client.submit(search_shard, self._shards[number], method, asked, own, best, **at)
        return best

    @staticmethod
    def _result(one: tuple[int, Any]) -> tuple[int, Array, Array]:
        start, best = one
        items, similarities = best if isinstance(best, tuple) else best.result()
        return start, items, similarities


def _kept(value: Any) -> Any:
    """Return a value as it is: the task of what several tasks take."""
    return value


def _frozen(received: Any) -> Any:
    """Make arrays that came over the network read-only: kernels are compiled for that."""
    if isinstance(received, np.ndarray):
        return frozen(received)
    if isinstance(received, tuple):
        parts = map(_frozen, received)
        return type(received)(*parts) if hasattr(received, "_fields") else tuple(parts)
    return received


def search_shard(
    shard: OpenShard, method: str, asked: tuple[tuple[Any, ...], Array], mask: Array, best: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Search a shard; this is what a worker runs."""
    limit_pages(shard.index.arrays.values())
    queries, members = _frozen(asked)
    found = best[0].copy(), best[1].copy()
    shard.index.search_shard(shard.index.kernel(method), shard.number, queries, members, frozen(mask), found)
    return found
