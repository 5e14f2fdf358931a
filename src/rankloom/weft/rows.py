r"""The rows that weft compares: what an item's neighbors list, ranker by ranker and fused.

With :math:`F_r[q, a] = g(p)`, :math:`g(p) = 1 - \ln p / \ln(L + 1)`, for the item a at position p of q's list by ranker
r (repositioned by Eq. 1, cut to the cutoff L, q itself first), a row is expanded by its E largest entries A:

.. math:: X_r[q] = \sum_{a \in A} F_r[q, a]\, F_r[a] \Big/ \sum_{a \in A} F_r[q, a]

and so is the fused row, from :math:`F_w = m \sum_r w_r F_r`. The m + 1 fields of an item share a sparsity pattern, the
fused field first. Weights are stored in units of 1 / 32768, so that sums are exact in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.weft.arguments import Neighbors, NewRows, Rows
from rankloom.index.order import Order
from rankloom.index.shard import postings
from rankloom.ranks import stack_lists
from rankloom.ranks.arrays import Array, Floats, Int32s
from rankloom.threads import Scratch, run_blocks

if TYPE_CHECKING:
    from rankloom.weft.row_kind import WeftSettings

ROW_BLOCK = 1024  # rows expanded at a time; a block has room for the widest possible rows
MAX_BLOCK_ENTRIES = 1 << 21  # entries of such a block


@cache  # for single queries
def nearness(cutoff: int) -> Floats:
    """Return g(p) for the positions 1 to `cutoff`: 1 for the first, near 0 for the last."""
    return frozen(1.0 - np.log(np.arange(1, cutoff + 1)) / np.log(cutoff + 1))


def item_lists(normalized: Sequence[Int32s], cutoff: int, first: int = 0) -> Int32s:
    """Return the lists of the items from `first` on, each starting with the item itself, stacked by ranker."""
    from rankloom._kernels.weft.expand import own_first

    lists = stack_lists(normalized, cutoff)

    def work(start: int, stop: int) -> None:
        for layer in lists:
            own_first(start, stop, first, layer)

    run_blocks(work, lists.shape[1], stage="Reordering")
    return frozen(lists)


def max_entries(n_rankers: int, cutoff: int, expand: int, width: int | None) -> int:
    """Return the maximum number of entries of a row: before it is cut to `width`, if that is None."""
    room = n_rankers * cutoff * (2 * expand - 1) + 1
    return room if width is None else min(room, (n_rankers + 1) * width + 1)


def expanded(own: Int32s, neighbors: Neighbors, scratch: Scratch, *, are_items: bool) -> Rows:
    """Return the expanded rows of lists, of items (`are_items`) or of external queries."""
    from rankloom._kernels.weft.expand import expand

    m, n_rows, length = own.shape
    room = max_entries(m, length, neighbors.expand, None)
    kept = max_entries(m, length, neighbors.expand, neighbors.width)
    sizes, ends = np.empty((n_rows, m + 1), np.uint32), np.empty(n_rows, np.int64)
    blocks: dict[int, tuple[Array, Array]] = {}

    def work(start: int, stop: int) -> None:
        items = np.empty((stop - start) * kept + room, np.uint32)
        weights = np.empty((items.size, m + 1), np.uint16)
        new = NewRows(ends[start:stop], items, weights, sizes[start:stop])
        with scratch.borrowed() as slot:
            expand(start, stop, own, are_items, neighbors, slot, new)
        used = ends[stop - 1]
        blocks[start] = items[:used].copy(), weights[:used].copy()

    block = max(1, min(ROW_BLOCK, MAX_BLOCK_ENTRIES // kept))
    run_blocks(work, n_rows, stage="Expanding", block=block)
    return _joined(blocks, ends, sizes)


def posted(rows: Rows, slot: Array | None = None) -> dict[str, Array]:
    """Return the posting lists of rows, with the weights of their entries, and the sizes; `slot` as in `postings`."""
    from rankloom._kernels.weft.expand import post_weights

    found, lists = postings(rows, slot)
    weights = np.zeros((len(lists) + 1, rows.weights.shape[1]), np.uint16)
    post_weights(lists, rows.weights, found["post_ptr"][:-1].copy(), weights)
    return {**found, "post_weights": frozen(weights), "row_sizes": rows.sizes}


def neighbors_of(lists: Int32s, order: Order, shares: Floats, settings: WeftSettings) -> Neighbors:
    """Return what rows are expanded with: the lists of the items, and the weights of the rankers, which sum to 1."""
    width = np.iinfo(np.int64).max if settings.width is None else settings.width
    return Neighbors(lists, order.numbers, nearness(lists.shape[2]), shares, settings.expand, int(width))


def _joined(blocks: dict[int, tuple[Array, Array]], ends: Array, sizes: Array) -> Rows:
    """Concatenate blocks of rows, freeing each once it is copied."""
    starts = sorted(blocks)
    ptr = np.zeros(len(ends) + 1, np.int64)
    total = 0
    for start, stop in zip(starts, [*starts[1:], len(ends)], strict=True):
        ptr[start + 1 : stop + 1] = ends[start:stop] + total
        total += len(blocks[start][0])
    if len(blocks) == 1:  # of a single query, or a few
        items, weights = blocks[0]
        return Rows(frozen(ptr), frozen(items), frozen(weights), frozen(sizes))
    items, weights = np.empty(total, np.uint32), np.empty((total, sizes.shape[1]), np.uint16)
    for start in starts:
        some, heavy = blocks.pop(start)
        items[ptr[start] : ptr[start] + len(some)] = some
        weights[ptr[start] : ptr[start] + len(some)] = heavy
    return Rows(frozen(ptr), frozen(items), frozen(weights), frozen(sizes))
