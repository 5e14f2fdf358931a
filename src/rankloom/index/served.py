"""Shards that the workers of a Dask cluster have open, each with one worker, and search."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.index.arguments import Queries, ScoredLists
from rankloom.errors import InputError
from rankloom.index.row_kind import Comparison, R
from rankloom.index.row_table import QueryBlock, QueryRows, RowTable
from rankloom.io.array_file import limit_pages
from rankloom.ranks.arrays import Array, Bools
from rankloom.ranks.lists import empty_lists
from rankloom.threads import cut_blocks

if TYPE_CHECKING:
    from distributed import Client, Future

    Best = Future[ScoredLists] | ScoredLists  # of a block of queries, or the promise of it

T = TypeVar("T")
MAX_BLOCKS = 64  # blocks under way


class OpenShard(Generic[R]):
    """A shard of an index that a worker has open; copied to another worker, it is opened there."""

    def __init__(self, open_table: Callable[[], RowTable[R]], number: int) -> None:
        self._open, self.number = open_table, number
        self.table = open_table()

    def __reduce__(self) -> tuple[object, ...]:
        return OpenShard, (self._open, self.number)


class ServedShards(Generic[R]):
    """The shards of an index as persistent futures; if a worker dies, Dask recreates its shard elsewhere."""

    def __init__(self, client: Client, open_table: Callable[[], RowTable[R]], table: RowTable[R]) -> None:
        self._client, self._table = client, table
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        if not workers:
            raise InputError("The cluster has no workers; start some with 'dask worker ADDRESS'.")
        self._homes = [workers[number % len(workers)] for number in range(len(table.shards))]
        self._shards = [
            client.submit(OpenShard, open_table, number, workers=[home], allow_other_workers=True, pure=False)
            for number, home in enumerate(self._homes)
        ]

    def search(self, comparator: Comparison, queries: QueryRows, mask: Bools, k: int) -> ScoredLists:
        """Return the k best of the items in `mask` for each query, as `RowTable.search` does."""
        best, n_done = empty_lists(len(queries.rows), k), 0
        under_way: list[tuple[int, Best]] = []
        blocks = cut_blocks(len(queries.rows))
        while n_done < len(blocks):
            while len(under_way) < MAX_BLOCKS and n_done + len(under_way) < len(blocks):
                start, stop = blocks[n_done + len(under_way)]
                under_way.append((start, self._chain(comparator, self._table.block(queries, start, stop), mask, k)))
            start, last = under_way.pop(0)
            found = last if isinstance(last, tuple) else last.result()
            into = queries.into[start : start + len(found.items)]
            best.items[into], best.scores[into] = found
            n_done += 1
        return best

    def _chain(self, comparator: Comparison, block: QueryBlock, mask: Bools, k: int) -> Best:
        """Return a future of the best items of all shards, each of which is handed those of the one before."""
        best: Best = empty_lists(len(block.queries.rows), k)
        # As a task, not scattered: Dask can repeat it if its worker dies.
        queries = self._client.submit(_kept, (block.queries, block.members), pure=False)
        for number in block.shards:
            own = self._table.own_mask(mask, number)
            at = {"workers": [self._homes[number]], "allow_other_workers": True, "pure": False}
            best = self._client.submit(search_shard, self._shards[number], comparator, queries, own, best, **at)
        return best


def _kept(value: T) -> T:
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
    shard: OpenShard[R], comparator: Comparison, explicit: tuple[Queries, Array], allowed: Bools, best: ScoredLists
) -> ScoredLists:
    """Search a shard; this is what a worker runs."""
    limit_pages(shard.table.arrays.values())
    queries, members = _frozen(explicit)
    found = empty_lists(*best[0].shape)
    found.items[:], found.scores[:] = best
    kernel = shard.table.kind.kernel(comparator, shard.table)
    shard.table.search_shard(kernel, shard.number, queries, members, frozen(allowed), found)
    return found
