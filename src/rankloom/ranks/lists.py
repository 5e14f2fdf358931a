"""Padded arrays of lists: of dicts, of several rankers, with fewer rows or items."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rankloom._kernels import frozen
from rankloom._kernels.index.arguments import ScoredLists, Transposed
from rankloom.errors import InputError, brief
from rankloom.ranks.arrays import PAD, Array, Floats, Indexes, Int32s, Int64s
from rankloom.ranks.checks import checked_values
from rankloom.ranks.ids import Ids

#: The lists of queries, with or without scores.
Lists = Mapping[str, Mapping[str, float] | Sequence[str]]


def padded_lists(lists: Lists, ids: Ids, *, scored: bool) -> tuple[Int32s, Floats | None]:
    """Return the items of lists by number, and their scores if they are `scored`, highest first."""
    items = np.full((len(lists), max(map(len, lists.values()), default=0)), PAD, np.int32)
    scores = np.zeros(items.shape) if scored else None
    for number, row in enumerate(lists.values()):
        items[number, : len(row)] = ids.numbers(row, "item")
        if scores is not None and isinstance(row, Mapping):
            values = checked_values(row)
            order = np.argsort(-values, kind="stable")
            items[number, : len(row)] = items[number, order]
            scores[number, : len(row)] = values[order]
    return items, scores


def empty_lists(n: int, depth: int) -> ScoredLists:
    """Return lists without items."""
    return ScoredLists(np.full((n, depth), PAD, np.int32), np.zeros((n, depth), np.float32))


def list_lengths(items: Int32s) -> Int32s:
    """Return the length of each list."""
    return np.asarray(np.count_nonzero(items != PAD, axis=1), np.int32)


def stack_lists(lists: Sequence[Int32s], depth: int | None = None) -> Int32s:
    """Return the lists of several rankers as one padded array of shape (rankers, rows, depth of the deepest)."""
    width = max(items.shape[1] for items in lists) if depth is None else depth
    out = np.full((len(lists), len(lists[0]), width), PAD, np.int32)
    for layer, items in zip(out, lists, strict=True):
        layer[:, : items.shape[1]] = items[:, :width]
    return out


def pointers(counts: Array) -> Int64s:
    """Return where each row of a CSR matrix starts, by the number of its entries, and where the last one ends."""
    ptr = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=ptr[1:])
    return frozen(ptr)


def transposed(ptr: Array, items: Array, n_items: int, *, columns: bool) -> Transposed:
    """Return the transpose of a CSR matrix, of which only the pattern matters, with or without columns."""
    from rankloom._kernels.lists import transpose

    # Allocated here: NumPy uses huge pages, which is twice as fast for a large result.
    n_columns = items.size if columns else 0
    back = np.empty(n_items + 1, np.int64), np.empty(items.size, np.uint32), np.empty(n_columns, np.int32)
    transpose(ptr, items, *back)
    return Transposed(*(frozen(array) for array in back))


def renumbered_items(items: Int32s, old: Ids, new: Ids) -> Int32s:
    """Return lists numbered by other ids, which must contain every listed item."""
    used = np.unique(items[items != PAD])
    numbers = np.full(len(old) + 1, PAD, np.int32)  # the last element maps PAD to itself
    numbers[used] = new.numbers((old[item] for item in used.tolist()), "item")
    return numbers[items]


def selected_rows(n_queries: int, numbers: Sequence[int] | NDArray[np.integer] | slice) -> Indexes:
    """Return the numbers of the rows that row numbers, a mask or a slice select; raise InputError for anything else."""
    try:
        is_selection = isinstance(numbers, slice) or np.ndim(numbers) == 1
    except ValueError:  # rows of different lengths
        is_selection = False
    if not is_selection:
        raise InputError(f"Give a list of row numbers, such as [3]; got {brief(numbers)}.")
    try:
        picked = np.arange(n_queries)[numbers]
    except IndexError as error:
        raise InputError(f"There are {n_queries} rows, from 0: {error}.") from None
    if not isinstance(numbers, slice) and np.min(numbers, initial=0) < 0:
        raise InputError(f"Rows are numbered from 0; got {np.min(numbers)}.")
    return picked
