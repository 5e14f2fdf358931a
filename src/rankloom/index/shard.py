"""Shards of an index: the arrays of consecutive internal numbers, and what queries need to know of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.index.arguments import PostingLists, SearchScratch, Target
from rankloom.ranks.arrays import Array, Bools
from rankloom.ranks.lists import pointers, transposed
from rankloom.threads import Scratch

if TYPE_CHECKING:
    from rankloom.index.row_kind import CsrRows

R = TypeVar("R", bound="CsrRows")
NO_ROWS, NO_SIZES = frozen(np.zeros(1, np.int64)), frozen(np.empty(0))
VERTICES = "post_items"  # the items that have postings in a shard, ascending


class Shard:
    """The rows and postings of the internal numbers from `first` to `stop`; an unsharded index is one shard.

    Its arrays are what the index has for rows, `post_ptr`, `post_rows`, and what else it has for these; and
    `post_items` if the postings are not those of all items. `numbers` are the item numbers of its rows, and `n_sums`
    how many sums a search needs for each.
    """

    def __init__(self, first: int, numbers: Array, arrays: Mapping[str, Array], n_sums: int = 0) -> None:
        self.first, self.stop = first, first + len(numbers)
        self.numbers = numbers
        self.arrays = arrays
        self.marks = Scratch(len(numbers) + 1)
        self.sums = Scratch(len(numbers) * n_sums)

    def __len__(self) -> int:
        return self.stop - self.first

    @cached_property
    def max_entries(self) -> int:
        """One more than the largest number of entries of a stored row: scratch of this size is enough for any."""
        return int(np.diff(self.arrays.get("row_ptr", NO_ROWS)).max(initial=0)) + 1

    @contextmanager
    def scratch(self, slots: Scratch) -> Iterator[SearchScratch]:
        """Yield the scratch of a search, with a slot for each item of the collection."""
        with slots.borrowed() as slot, self.marks.borrowed() as seen, self.sums.borrowed() as sums:
            yield SearchScratch(slot, seen, sums)

    def target(self, rows: object, members: Array | None, allowed: Bools) -> Target:
        """Return its rows as the target of queries; those queries' posting lists are those of `members`, or all."""
        return Target(rows, self.postings(members), self.numbers, allowed, self.max_entries)

    def postings(self, members: Array | None) -> PostingLists:
        """Return the posting lists of members, an empty one for a member that no row has; of all items if None."""
        ptr, rows, min_size = self.arrays["post_ptr"], self.arrays["post_rows"], self.arrays.get("post_least", NO_SIZES)
        if members is None:
            return PostingLists(ptr[:-1], ptr[1:], rows, min_size)
        if not len(self.arrays[VERTICES]):
            none = frozen(np.zeros(len(members), np.int64))
            return PostingLists(none, none, rows, frozen(np.zeros(len(members))))
        at, there = self._find(members)
        start, stop = np.where(there, ptr[at], 0), np.where(there, ptr[at + 1], 0)
        own = np.where(there, min_size[at], np.inf) if len(min_size) else min_size
        return PostingLists(frozen(start), frozen(stop), rows, frozen(own))

    def has_any(self, members: Array) -> bool:
        """Return True if a row has one of the members."""
        return len(self.arrays[VERTICES]) > 0 and bool(self._find(members)[1].any())

    def _find(self, members: Array) -> tuple[Array, Array]:
        """Return the posting list of each member, and whether it is there."""
        vertices = self.arrays[VERTICES]
        at = np.minimum(np.searchsorted(vertices, members), len(vertices) - 1)
        return at, vertices[at] == members


def slice_rows(rows: R, start: int, stop: int) -> R:
    """Return some consecutive rows."""
    arrays: Any = rows
    ptr, *entries, sizes = arrays
    some = slice(ptr[start], ptr[stop])
    own = frozen(ptr[start : stop + 1] - ptr[start])
    return type(arrays)(own, *(array[some] for array in entries), sizes[start:stop])  # type: ignore[no-any-return]


def prefix(number: int) -> str:
    """Return the prefix of the names of a shard's arrays."""
    return f"shard{number}_"


def shard_arrays(arrays: Mapping[str, Array]) -> list[dict[str, Array]]:
    """Return the arrays of each shard by their names without prefix; those of an unsharded index as one shard."""
    if "post_ptr" in arrays or not any(name.startswith(prefix(0)) for name in arrays):
        return [dict(arrays)]
    shards: list[dict[str, Array]] = []
    while True:
        start = prefix(len(shards))
        own = {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
        if not own:
            return shards
        shards.append(own)


def shards_of(arrays: Mapping[str, Array], sizes: str, n_sums: int) -> list[Shard]:
    """Return the shards of an index by its arrays, one of which has the sizes of the rows."""
    shards, first = [], 0
    for own in shard_arrays(arrays):
        stop = first + len(own[sizes])
        shards.append(Shard(first, arrays["numbers"][first:stop], own, n_sums))
        first = stop
    return shards


def shard_size(n_items: int, n_shards: int) -> int:
    """Return how many items each shard has; the last may have fewer."""
    return max(1, -(-n_items // n_shards))


def is_of_shard(name: str) -> bool:
    """Return True if an array by this name belongs to a shard; the others are those of the whole collection."""
    return name == "norms" or name.startswith(("row_", "post_", "shard"))


def postings(rows: CsrRows, slot: Array | None = None) -> tuple[dict[str, Array], Array]:
    """Return the posting lists of rows, and the list that each entry is in.

    They are those of all items, if the rows are those of all items; of the items that the rows have, if there is
    `slot`, scratch of zeros for all items.
    """
    if slot is None:
        ptr, owners, _ = transposed(rows.ptr, rows.items, len(rows.ptr) - 1, columns=False)
        return {"post_ptr": ptr, "post_rows": owners}, rows.items
    members, sources = numbered(rows.items, slot)
    vertices = np.sort(members)
    sources = frozen(np.searchsorted(vertices, members).astype(np.uint32)[sources])
    ptr, owners, _ = transposed(rows.ptr, sources, len(vertices), columns=False)
    return {VERTICES: vertices, "post_ptr": ptr, "post_rows": owners}, sources


def gathered(shards: Sequence[Shard], rows: Array, names: Sequence[str]) -> list[Array]:
    """Return rows of arrays with entries, of any shards, in CSR form: pointers, then an array for each name."""
    from rankloom._kernels.index.shards import copy_rows

    rows = frozen(np.array(rows, np.int64))  # of any type when given: compile once
    owners = owned(shards, rows)
    sizes = np.empty(len(rows), np.int64)
    for shard, at in owners:
        own = rows[at] - shard.first
        sizes[at] = shard.arrays["row_ptr"][own + 1] - shard.arrays["row_ptr"][own]
    ptr = pointers(sizes)
    out = [ptr]
    for name in names:
        like = shards[0].arrays[name]
        values = np.empty((ptr[-1], *like.shape[1:]), like.dtype)
        width, flat = like.shape[1] if like.ndim == 2 else 1, values.reshape(-1)
        for shard, at in owners:
            entries = shard.arrays[name].reshape(-1)
            copy_rows(at, rows, shard.first, width, shard.arrays["row_ptr"], entries, ptr, flat)
        out.append(frozen(values))
    return out


def picked(shards: Sequence[Shard], rows: Array, name: str) -> Array:
    """Return rows of an array that has a row for each item, of any shards."""
    like = shards[0].arrays[name]
    out = np.empty((len(rows), *like.shape[1:]), like.dtype)
    for shard, at in owned(shards, rows):
        out[at] = shard.arrays[name][rows[at] - shard.first]
    return frozen(out)


def owned(shards: Sequence[Shard], rows: Array) -> list[tuple[Shard, Array]]:
    """Return the shards that own rows, and which of the rows each one owns."""
    owner = np.searchsorted([shard.stop for shard in shards], rows, side="right")
    return [(shards[b], np.flatnonzero(owner == b)) for b in np.unique(owner).tolist()]


def numbered(items: Array, scratch: Array) -> tuple[Array, Array]:
    """Return the distinct items of rows in order of appearance, and the number of each entry's item among them."""
    from rankloom._kernels.index.shards import number

    sources, members = np.empty(len(items), np.uint32), np.empty(min(len(items), len(scratch)), np.uint32)
    n = number(items, scratch, sources, members)
    return frozen(members[:n].copy()), frozen(sources)


def in_order(shards: Sequence[Shard], rows: Array, members: Array) -> list[int]:
    """Return the numbers of the shards to ask, in order: those with most of `rows` first, then with most members.

    The rows are those of the queries that are items, and the members those of all queries' rows. A shard that has no
    row with any of the members is left out.
    """
    stops = [shard.stop for shard in shards]
    own = np.bincount(np.searchsorted(stops, rows, side="right"), minlength=len(shards))
    held = np.bincount(np.searchsorted(stops, members, side="right"), minlength=len(shards))
    return [b for b in np.lexsort((-held, -own)).tolist() if shards[b].has_any(members)]
