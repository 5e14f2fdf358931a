"""The rows of an index, in one or more shards, and the search of all of them by blocks of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.index.arguments import Queries, ScoredLists, Target
from rankloom.errors import InputError
from rankloom.index.order import Order
from rankloom.index.row_kind import Comparison, CsrRows, Kernel, R, RowKind
from rankloom.index.shard import (
    gathered,
    in_order,
    is_of_shard,
    numbered,
    picked,
    prefix,
    shard_postings,
    shard_size,
    shards_of,
    slice_rows,
)
from rankloom.io.array_file import limit_pages
from rankloom.ranks import PAD
from rankloom.ranks.align import Missing
from rankloom.ranks.arrays import Array, Bools, Int32s
from rankloom.threads import Scratch, run_blocks

ALL = frozen(np.ones(0, np.bool_))  # an empty mask allows every item


class Chosen(NamedTuple):
    """The queries of a search and the items that it may return; `FusionIndex.search` says what these are."""

    items: Sequence[int | str] | None
    virtual: bool | None
    missing: Missing
    allowed: Bools | None


class QueryRows(NamedTuple):
    """The queries of a search: their rows, the rows of their results, their own items (PAD if external)."""

    rows: Int32s
    into: Int32s
    own: Int32s
    external: Any = None  #: the rows of external queries; None if the queries are items

    @classmethod
    def of_items(cls, order: Order, items: Int32s | None = None) -> QueryRows:
        """Return items as queries, all by default; neighbors follow each other, since they share pages."""
        if items is None:
            return cls(np.arange(len(order.numbers), dtype=np.int32), order.numbers, order.numbers)
        rows = order.places[items]
        into = np.argsort(rows, kind="stable").astype(np.int32)
        return cls(rows[into], into, items[into])

    @classmethod
    def of_external(cls, external: CsrRows) -> QueryRows:
        """Return external queries, by their rows."""
        rows = np.arange(len(external.ptr) - 1, dtype=np.int32)
        return cls(rows, rows, np.full(len(rows), PAD, np.int32), external)


class QueryBlock(NamedTuple):
    """A block of queries made explicit, the members of their rows, and the shards to ask, in order."""

    queries: Queries
    members: Array
    shards: list[int]


def empty_best(n_queries: int, k: int) -> ScoredLists:
    """Return the best items of queries before any search."""
    return ScoredLists(np.full((n_queries, k), PAD, np.int32), np.zeros((n_queries, k), np.float32))


class RowTable(Generic[R]):
    """The rows of the items of a collection, searched exactly; safe to search from several threads."""

    def __init__(self, kind: RowKind[R], arrays: Mapping[str, Array]) -> None:
        self.kind = kind
        self.arrays = arrays
        self.order = Order(arrays["numbers"], arrays["places"])
        self.n_items = len(self.order.numbers)
        self.is_sharded = "row_ptr" not in arrays
        self.shards = shards_of(arrays)
        self.shard_rows: list[R] = [kind.ROW_TYPE(*(shard.arrays[name] for name in kind.ROWS)) for shard in self.shards]
        self.slots = Scratch(self.n_items)

    def rows(self, numbers: Array) -> R:
        """Return the rows of items by internal number, copied from the shards that own them."""
        *entries, sizes = self.kind.ROWS
        copies = gathered(self.shards, numbers, entries[1:])
        return self.kind.ROW_TYPE(*copies, picked(self.shards, numbers, sizes))  # type: ignore[no-any-return]

    def all_rows(self) -> R:
        """Return the rows of all items, without a copy if the index is not sharded."""
        if self.is_sharded:
            return self.rows(np.arange(self.n_items, dtype=np.int32))
        return self.shard_rows[0]

    def split(self, arrays: Mapping[str, Array], n_shards: int) -> dict[str, Array]:
        """Return the arrays of an index with its rows split into shards."""
        split = {name: array for name, array in arrays.items() if not is_of_shard(name)}
        size = shard_size(self.n_items, n_shards)
        for number, first in enumerate(range(0, max(self.n_items, 1), size)):
            rows: Any = self.rows(np.arange(first, min(first + size, self.n_items), dtype=np.int32))
            with self.slots.borrowed() as slot:
                own = dict(zip(self.kind.ROWS, rows, strict=True)) | shard_postings(rows, self.kind.sizes(rows), slot)
            split |= {prefix(number) + name: array for name, array in own.items()}
        return dict(sorted(split.items()))

    def mask(self, allowed: Bools | None) -> Bools:
        """Return a mask of items by row of the index; empty if all are allowed."""
        if allowed is None:
            return ALL
        try:
            mask: Array = np.asarray(allowed)
        except ValueError:  # rows of different lengths
            mask = np.empty(0)
        if mask.shape != (self.n_items,) or mask.dtype != np.bool_:
            raise InputError(
                f"allowed must be True or False for each of the {self.n_items} items; got {mask.dtype} of shape "
                f"{mask.shape}."
            )
        return frozen(mask[self.order.numbers])

    def search(self, comparator: Comparison, queries: QueryRows, mask: Bools, k: int) -> ScoredLists:
        """Return the k best of the items in `mask` for each query; of all items if it is empty."""
        best, kernel = empty_best(len(queries.rows), k), self.kind.kernel(comparator, self)
        if self.is_sharded:
            work = partial(self._search_shards, kernel, queries, mask, best)
        else:
            work = partial(self._search_whole, kernel, *self._explicit(queries, mask), best)
        run_blocks(work, len(queries.rows), stage="Searching")
        return best

    def _explicit(self, wanted: QueryRows, mask: Bools) -> tuple[Queries, Target]:
        """Return the arrays of queries, and of the items of an index that is not sharded, as kernels take them."""
        explicit = self.all_rows() if wanted.external is None else wanted.external
        rows, into, own = (frozen(numbers.view()) for numbers in (wanted.rows, wanted.into, wanted.own))
        queries = Queries(rows, into, own, explicit.items, self.kind.linked(explicit, None, self))
        return queries, self.shards[0].target(self.shard_rows[0], None, mask)

    def _search_whole(
        self, kernel: Kernel, queries: Queries, target: Target, best: ScoredLists, start: int, stop: int
    ) -> None:
        """Search an index that is not sharded for a block of queries."""
        with self.shards[0].scratch(self.slots) as scratch:
            kernel(start, stop, queries, target, scratch, best)

    def _search_shards(
        self, kernel: Kernel, wanted: QueryRows, mask: Bools, best: ScoredLists, start: int, stop: int
    ) -> None:
        """Search one shard after the other for a block of queries."""
        block, into = self.block(wanted, start, stop), wanted.into[start:stop]
        found = ScoredLists(best.items[into], best.scores[into])
        for number in block.shards:
            self.search_shard(kernel, number, block.queries, block.members, self.own_mask(mask, number), found)
        best.items[into], best.scores[into] = found

    def own_mask(self, mask: Bools, number: int) -> Bools:
        """Return the part of a mask for the rows of a shard."""
        return mask[self.shards[number].first : self.shards[number].stop] if len(mask) else mask

    def search_shard(
        self, kernel: Kernel, number: int, queries: Queries, members: Array, allowed: Bools, best: ScoredLists
    ) -> None:
        """Search one shard for queries made explicit, and update the best items so far."""
        shard = self.shards[number]
        with shard.scratch(self.slots) as scratch:
            target = shard.target(self.shard_rows[number], members, allowed)
            kernel(0, len(queries.rows), queries, target, scratch, best)

    def block(self, wanted: QueryRows, start: int, stop: int) -> QueryBlock:
        """Return a block of queries made explicit."""
        limit_pages(self.arrays.values())
        chosen = wanted.rows[start:stop]
        rows = self.rows(chosen) if wanted.external is None else slice_rows(wanted.external, start, stop)
        with self.slots.borrowed() as slot:
            members, sources = numbered(rows.items, slot)
        numbers = frozen(np.arange(len(chosen), dtype=np.int32))
        content = self.kind.linked(rows, members, self)
        queries = Queries(numbers, numbers, frozen(wanted.own[start:stop].view()), sources, content)
        own = chosen if wanted.external is None else chosen[:0]
        return QueryBlock(queries, members, in_order(self.shards, own, members))
