"""The rows of an index, in one or more shards, and the search of all of them by blocks of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.index.arguments import Queries, ScoredLists
from rankloom.errors import InputError
from rankloom.index.order import Order
from rankloom.index.row_kind import Comparison, CsrRows, Kernel, R, RowKind
from rankloom.index.shard import (
    in_order,
    is_of_shard,
    numbered,
    prefix,
    shard_size,
    shards_of,
    slice_rows,
)
from rankloom.io.array_file import limit_pages
from rankloom.ranks import PAD
from rankloom.ranks.align import Missing
from rankloom.ranks.arrays import Array, Bools, Int32s
from rankloom.ranks.lists import empty_lists
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
    """A block of queries made explicit, the members of their rows, None for all items, and the shards to ask."""

    queries: Queries
    members: Array | None
    shards: list[int]


class RowTable(Generic[R]):
    """The rows of the items of a collection, searched exactly; safe to search from several threads."""

    def __init__(self, kind: RowKind[R], arrays: Mapping[str, Array]) -> None:
        self.kind = kind
        self.arrays = arrays
        self.order = Order(arrays["numbers"], arrays["places"])
        self.n_items = len(self.order.numbers)
        self.is_sharded = "post_ptr" not in arrays
        self.shards = shards_of(arrays, kind.ROWS[-1], kind.n_sums)
        self.contents = [kind.CONTENT(*(shard.arrays[name] for name in kind.ROWS)) for shard in self.shards]
        self.slots = Scratch(self.n_items)

    def split(self, arrays: Mapping[str, Array], n_shards: int) -> dict[str, Array]:
        """Return the arrays of an index with its rows split into shards."""
        split = {name: array for name, array in arrays.items() if not is_of_shard(name)}
        size = shard_size(self.n_items, n_shards)
        for number, first in enumerate(range(0, max(self.n_items, 1), size)):
            rows = self.kind.rows(np.arange(first, min(first + size, self.n_items), dtype=np.int32), self)
            with self.slots.borrowed() as slot:
                own = self.kind.arrays(rows, slot)
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
        kernel, best = self.kind.kernel(comparator, self), empty_lists(len(queries.rows), k)

        def work(start: int, stop: int) -> None:
            block = self.block(queries, start, stop)
            some = block.queries._replace(into=frozen(queries.into[start:stop].view()))
            for number in block.shards:
                self.search_shard(kernel, number, some, block.members, self.own_mask(mask, number), best)

        run_blocks(work, len(queries.rows), stage="Searching")
        return best

    def own_mask(self, mask: Bools, number: int) -> Bools:
        """Return the part of a mask for the rows of a shard."""
        return mask[self.shards[number].first : self.shards[number].stop] if len(mask) else mask

    def search_shard(
        self, kernel: Kernel, number: int, queries: Queries, members: Array | None, allowed: Bools, best: ScoredLists
    ) -> None:
        """Search one shard for queries made explicit, and update the best items so far."""
        shard = self.shards[number]
        with shard.scratch(self.slots) as scratch:
            target = shard.target(self.contents[number], members, allowed)
            kernel(0, len(queries.rows), queries, target, scratch, best)

    def block(self, wanted: QueryRows, start: int, stop: int) -> QueryBlock:
        """Return a block of queries made explicit."""
        chosen, external = wanted.rows[start:stop], wanted.external
        if external is None:
            rows = self.kind.rows(chosen, self)
        else:
            rows = external if len(chosen) == len(wanted.rows) else slice_rows(external, start, stop)
        members, sources, shards = None, rows.items, [0]
        if self.is_sharded:
            limit_pages(self.arrays.values())
            with self.slots.borrowed() as slot:
                members, sources = numbered(rows.items, slot)
            shards = in_order(self.shards, chosen if external is None else chosen[:0], members)
        numbers = frozen(np.arange(len(chosen), dtype=np.int32))
        own, content = frozen(wanted.own[start:stop].view()), self.kind.linked(rows, members, self)
        return QueryBlock(Queries(numbers, numbers, own, sources, content), members, shards)
