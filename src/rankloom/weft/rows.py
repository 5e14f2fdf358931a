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
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rankloom._kernels import frozen
from rankloom.fusion_graph.weave import Order
from rankloom.ranks import PAD, Ranks
from rankloom.threads import Scratch, run_blocks

if TYPE_CHECKING:
    from rankloom._kernels.weft.search import Rows

Array = NDArray[Any]
Floats = NDArray[np.float64]

ROW_BLOCK = 1024  # rows expanded at a time; a block has room for the widest possible rows
MAX_BLOCK_ENTRIES = 1 << 21  # entries of such a block
OVERLAP_DEPTH = 10  # positions that the rank-biased overlap compares
OVERLAP_PERSISTENCE = 0.9


class Expansion(Protocol):
    """How rows are expanded: by how many entries (E), and how many entries of each field are stored."""

    @property
    def expand(self) -> int:
        """How many entries a row is expanded by, including the item itself."""
        ...

    @property
    def width(self) -> int | None:
        """How many entries of each field are stored; None for all."""
        ...


@cache  # for single queries
def nearness(cutoff: int) -> Floats:
    """Return g(p) for the positions 1 to `cutoff`: 1 for the first, near 0 for the last.

    Examples
    --------
    >>> nearness(3).round(2).tolist()
    [1.0, 0.5, 0.21]
    """
    weights: Floats = frozen(1.0 - np.log(np.arange(1, cutoff + 1)) / np.log(cutoff + 1))
    return weights


def stacked(ranks: Sequence[Ranks], cutoff: int) -> NDArray[np.int32]:
    """Return lists as one array of shape (rankers, rows, cutoff), padded."""
    lists = np.full((len(ranks), ranks[0].n_queries, cutoff), PAD, np.int32)
    for layer, r in zip(lists, ranks, strict=True):
        layer[:, : min(cutoff, r.depth)] = r.items[:, :cutoff]
    return lists


def item_lists(normalized: Sequence[Ranks], cutoff: int, first: int = 0) -> NDArray[np.int32]:
    """Return the lists of items, each starting with the item itself, as an array of shape (rankers, items, cutoff).

    The lists are those of the items from `first` on.
    """
    from rankloom._kernels.weft.search import own_first

    lists = stacked(normalized, cutoff)

    def work(start: int, stop: int) -> None:
        for layer in lists:
            own_first(start, stop, first, layer)

    run_blocks(work, lists.shape[1], stage="Reordering")
    return frozen(lists)


def max_entries(n_rankers: int, cutoff: int, expand: int, width: int | None) -> int:
    """Return the maximum number of entries of a row: before it is cut to `width`, if that is None."""
    room = n_rankers * cutoff * (2 * expand - 1) + 1
    return room if width is None else min(room, (n_rankers + 1) * width + 1)


def expand(
    own: NDArray[np.int32],
    lists: NDArray[np.int32],
    order: Order,
    shares: Floats,
    scratch: Scratch,
    how: Expansion,
    *,
    inside: bool,
    part: tuple[int, int] | None = None,
) -> Rows:
    """Return the expanded rows of lists.

    Parameters
    ----------
    own : int32 array of shape (rankers, rows, cutoff)
        The lists to expand: those of the items (`inside`), or of external queries.
    lists : int32 array of shape (rankers, items, cutoff)
        The lists of the items.
    shares : float64 array
        The weights of the rankers, which sum to 1.
    how : Expansion
        The settings of the index.
    part : (int, int), optional
        The first list to expand and the one after the last; by default all.
    """
    from rankloom._kernels.weft import search as kernels

    m, n_rows, length = own.shape
    offset, end = part or (0, n_rows)
    n_rows = end - offset
    neighbors, width = how.expand, how.width
    near = nearness(length)
    room = max_entries(m, length, neighbors, None)
    kept = max_entries(m, length, neighbors, width)
    limit = np.iinfo(np.int64).max if width is None else width
    sizes, ends = np.empty((n_rows, m + 1), np.uint32), np.empty(n_rows, np.int64)
    blocks: dict[int, tuple[Array, Array]] = {}

    def work(start: int, stop: int) -> None:
        items = np.empty((stop - start) * kept + room, np.uint32)
        weights = np.empty((items.size, m + 1), np.uint16)
        with scratch.borrowed() as slot:
            kernels.expand(
                *(offset + start, offset + stop, own, lists, inside, near, shares, order.numbers, neighbors, limit),
                *(slot, ends[start:stop], items, weights, sizes[start:stop]),
            )
        used = ends[stop - 1]
        blocks[start] = items[:used].copy(), weights[:used].copy()

    block = max(1, min(ROW_BLOCK, MAX_BLOCK_ENTRIES // kept))
    run_blocks(work, n_rows, stage="Expanding", block=block)
    return _joined(blocks, ends, sizes)


def _joined(blocks: dict[int, tuple[Array, Array]], ends: Array, sizes: Array) -> Rows:
    """Concatenate blocks of rows, freeing each once it is copied."""
    from rankloom._kernels.weft.search import Rows

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


def transpose(rows: Rows) -> tuple[Array, Array, Array]:
    """Return the rows that have each item, in CSR form, and the smallest size of those in each field."""
    from rankloom._kernels.lists import transposed

    ptr, found, _ = transposed(rows.ptr, rows.items, len(rows.ptr) - 1, columns=False)
    return ptr, found, smallest_sizes(ptr, found, rows.sizes)


def smallest_sizes(ptr: Array, rows: Array, sizes: Array) -> Array:
    """Return the smallest size of the rows in each posting list, by field."""
    from rankloom._kernels.weft.search import min_sizes

    smallest = np.empty((len(ptr) - 1, sizes.shape[1]), np.uint32)
    min_sizes(ptr, rows, sizes, smallest)
    return frozen(smallest)


def field_parts(shares: Floats) -> Floats:
    """Return the weight of each field in the score: one half for the fused field, one half shared by the rankers."""
    parts: Floats = frozen(np.concatenate([[0.5], shares / 2]))
    return parts


def rarity(lists: NDArray[np.int32], scratch: Scratch) -> Floats:
    r"""Return the dissimilarity of each ranker to the others: :math:`u_r \propto 1 / \sum_s \mathrm{RBO}(r, s)`."""
    m = len(lists)
    overlaps = np.eye(m)
    for r in range(m):
        for s in range(r):
            overlaps[r, s] = overlaps[s, r] = mean_overlap(lists[r], lists[s], scratch)
    unlike: Floats = 1 / overlaps.sum(axis=1)
    return frozen(unlike / unlike.sum())


def mean_overlap(one: Array, other: Array, scratch: Scratch) -> float:
    r"""Return the mean rank-biased overlap of the first 10 positions of two rankers' lists, row by row.

    .. math:: \mathrm{RBO} = \frac{1 - p}{1 - p^{10}} \sum_{d=1}^{10} p^{d-1} |\tau^d \cap \sigma^d| / d, \quad p = 0.9

    References
    ----------
    Webber, Moffat, Zobel (2010), A similarity measure for indefinite rankings, doi:10.1145/1852102.1852106
    """
    from rankloom._kernels.weft.search import rank_overlaps

    p, depth = OVERLAP_PERSISTENCE, OVERLAP_DEPTH
    gains = p ** np.arange(depth) / np.arange(1, depth + 1)
    tail = frozen((1 - p) / (1 - p**depth) * np.cumsum(gains[::-1])[::-1])
    out = np.empty(len(one))

    def work(start: int, stop: int) -> None:
        with scratch.borrowed() as position:
            rank_overlaps(start, stop, one, other, tail, position, out)

    run_blocks(work, len(out), stage="Agreement")
    return float(out.mean()) if len(out) else 1.0
