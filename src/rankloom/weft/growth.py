"""A weft index whose collection has grown: the rows of the build, and a shard of rows that were added.

A row that is added is that of a build, given the lists of the items at that time, which are all that is stored of it.
Rows that are there stay as they are: an item that was added is in the lists of others, but not in their rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.index.arguments import ScoredLists
from rankloom.index.normalize import reposition_items
from rankloom.index.order import Order
from rankloom.index.shard import VERTICES, is_of_shard, prefix
from rankloom.index.verify import DamageError, check_layout, check_values
from rankloom.ranks import PAD
from rankloom.ranks.arrays import Array
from rankloom.threads import Scratch
from rankloom.weft.index import WeftIndex
from rankloom.weft.rows import expanded, item_lists, neighbors_of


class StoredLists(Protocol):
    """The lists of all items by one ranker."""

    def rows(self, numbers: Array) -> ScoredLists:
        """Return the lists of some items."""


def grown(base: WeftIndex, added: Mapping[str, Array], scores: Sequence[Array | None]) -> WeftIndex:
    """Return an index with the rows of a build and those of lists that were added (`added_lists`), as two shards.

    `scores` are those of the lists of the items that were added, by ranker, with -inf after the end of a list.
    """
    if not added:
        return base
    old, n = base.arrays, base.n_items + len(added["lists"])
    order, kind = _order(old, n), base.ROW_KIND(base.settings)
    own = frozen(added["lists"].transpose(1, 0, 2).copy())
    lists = frozen(np.concatenate([old["lists"], own], axis=1))
    arrays = {**order._asdict(), "shares": old["shares"], "lists": lists}
    for ranker, more in enumerate(scores):
        known = old.get(f"scores_{ranker}")
        if known is not None and more is not None:
            arrays[f"scores_{ranker}"] = np.concatenate([_wide(known, more), _wide(more, known)])
    first = {name: array for name, array in old.items() if is_of_shard(name)}
    first[VERTICES] = np.arange(base.n_items, dtype=np.uint32)
    neighbors, scratch = neighbors_of(lists, order, old["shares"], base.settings), Scratch(n)
    with scratch.borrowed() as slot:
        second = kind.arrays(expanded(own, neighbors, scratch, are_items=True), slot)
    for number, part in enumerate((first, second)):
        arrays |= {prefix(number) + name: array for name, array in part.items()}
    return WeftIndex(base.settings, {name: frozen(array.view()) for name, array in arrays.items()})


def added_lists(index: WeftIndex, lists: Sequence[StoredLists], n: int) -> dict[str, Array]:
    """Return what describes n more items, by the lists of all items, one for each ranker of the index."""
    settings, start = index.settings, index.n_items
    new, order = np.arange(start, start + n), _order(index.arrays, start + n)
    normalized = [
        order.queries_to_internal(
            reposition_items(ranker.rows, new, settings.cutoff)
            if settings.reposition
            else np.ascontiguousarray(ranker.rows(new).items[:, : settings.cutoff])
        )
        for ranker in lists
    ]
    return {"lists": np.ascontiguousarray(item_lists(normalized, settings.cutoff, start).transpose(1, 0, 2))}


def check_added(base: WeftIndex, added: Mapping[str, Array], n: int) -> None:
    """Raise DamageError unless lists that were added are those of an index of n items; kernels trust them."""
    shape = (n - base.n_items, base.settings.n_rankers, base.settings.cutoff)
    check_layout(added, {"lists": ("int32", shape)}, {})
    check_values(added, "lists", PAD, n - 1)
    if base.n_shards is not None:
        raise DamageError("it has shards, and rows that were added")


def _order(arrays: Mapping[str, Array], n: int) -> Order:
    """Return the order of an index with more items, which are numbered as they come."""
    more = np.arange(len(arrays["numbers"]), n, dtype=np.int32)
    return Order(*(frozen(np.concatenate([arrays[name], more])) for name in Order._fields))


def _wide(scores: Array, other: Array) -> Array:
    """Return scores of lists padded to the width of others."""
    missing = max(other.shape[1] - scores.shape[1], 0)
    return np.pad(scores, ((0, 0), (0, missing)), constant_values=-np.inf)
