"""A weft index whose collection has grown: the rows of the build, and a shard of rows that were added.

A row that is added is that of a build, given the lists of the items at that time. Rows that are there stay as they are:
an item that was added is in the lists of others, but not in their rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.index.arguments import ScoredLists
from rankloom._kernels.weft.arguments import Rows
from rankloom.index.normalize import reposition_items
from rankloom.index.order import Order
from rankloom.index.shard import VERTICES, prefix, shard_postings
from rankloom.index.verify import DamageError, Layout, check_layout, check_rows, check_values
from rankloom.ranks import PAD
from rankloom.ranks.arrays import Array
from rankloom.threads import Scratch
from rankloom.weft.index import WeftIndex
from rankloom.weft.row_kind import ROWS
from rankloom.weft.rows import expanded, item_lists, neighbors_of

LAYOUT: Layout = {
    "lists": ("int32", ("rows", "m", "L")),
    "row_ptr": ("int64", ("rows + 1",)),
    "row_items": ("uint32", ("entries",)),
    "row_weights": ("uint16", ("entries", "m + 1")),
    "row_sizes": ("uint32", ("rows", "m + 1")),
}


class StoredLists(Protocol):
    """The lists of all items by one ranker."""

    def rows(self, numbers: Array) -> ScoredLists:
        """Return the lists of some items."""


def grown(base: WeftIndex, added: Mapping[str, Array], scores: Sequence[Array | None]) -> WeftIndex:
    """Return an index with the rows of a build and those that were added (`added_rows`), as two shards.

    `scores` are those of the lists of the items that were added, by ranker, with -inf after the end of a list.
    """
    if not added:
        return base
    old, n = base.arrays, base.n_items + len(added["lists"])
    numbers, places = _order(old, n)
    rows = Rows(*(frozen(added[name].view()) for name in ROWS))
    arrays = {"numbers": numbers, "places": places, "shares": old["shares"], "lists": _lists(old, added)}
    for ranker, more in enumerate(scores):
        known = old.get(f"scores_{ranker}")
        if known is not None and more is not None:
            arrays[f"scores_{ranker}"] = np.concatenate([_wide(known, more), _wide(more, known)])
    first = {name: old[name] for name in (*ROWS, "post_ptr", "post_rows", "post_least")}
    first[VERTICES] = np.arange(base.n_items, dtype=np.uint32)
    second = dict(zip(ROWS, rows, strict=True)) | shard_postings(rows, rows.sizes, np.zeros(n, np.uint32))
    for number, own in enumerate((first, second)):
        arrays |= {prefix(number) + name: array for name, array in own.items()}
    return WeftIndex(base.settings, {name: frozen(array.view()) for name, array in arrays.items()})


def added_rows(index: WeftIndex, lists: Sequence[StoredLists], n: int) -> dict[str, Array]:
    """Return the rows of n more items, by the lists of all items, one for each ranker of the index."""
    settings, arrays, start = index.settings, index.arrays, index.n_items
    new = np.arange(start, start + n)
    order = Order(*_order(arrays, start + n))
    normalized = [
        order.queries_to_internal(
            reposition_items(ranker.rows, new, settings.cutoff)
            if settings.reposition
            else np.ascontiguousarray(ranker.rows(new).items[:, : settings.cutoff])
        )
        for ranker in lists
    ]
    own = item_lists(normalized, settings.cutoff, start)
    whole = frozen(np.concatenate([arrays["lists"], own], axis=1))
    neighbors = neighbors_of(whole, order, arrays["shares"], settings)
    rows = expanded(whole, neighbors, Scratch(start + n), are_items=True, part=(start, start + n))
    return {"lists": np.ascontiguousarray(own.transpose(1, 0, 2)), **dict(zip(ROWS, rows, strict=True))}


def check_added(base: WeftIndex, added: Mapping[str, Array], n: int) -> None:
    """Raise DamageError unless rows that were added are those of an index of n items; kernels trust them."""
    m, n_rows = base.settings.n_rankers, n - base.n_items
    sizes = {"rows": n_rows, "rows + 1": n_rows + 1, "m": m, "m + 1": m + 1, "L": base.settings.cutoff}
    check_layout(added, LAYOUT, {**sizes, "entries": added.get("row_items", np.empty(0)).size})
    check_values(added, "lists", PAD, n - 1)
    check_rows(added, n, n_rows, (("row_ptr", "row_items", n),))
    if base.n_shards is not None:
        raise DamageError("it has shards, and rows that were added")


def _order(arrays: Mapping[str, Array], n: int) -> tuple[Array, Array]:
    """Return the order of an index with more items, which are numbered as they come."""
    more = np.arange(len(arrays["numbers"]), n, dtype=np.int32)
    return frozen(np.concatenate([arrays["numbers"], more])), frozen(np.concatenate([arrays["places"], more]))


def _lists(arrays: Mapping[str, Array], added: Mapping[str, Array]) -> Array:
    return np.concatenate([arrays["lists"], added["lists"].transpose(1, 0, 2)], axis=1)


def _wide(scores: Array, other: Array) -> Array:
    """Return scores of lists padded to the width of others."""
    missing = max(other.shape[1] - scores.shape[1], 0)
    return np.pad(scores, ((0, 0), (0, missing)), constant_values=-np.inf)
