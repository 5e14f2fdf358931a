"""Nested graphs of a collection: groups and components at every level, and rankings by both."""

from collections.abc import Sequence

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.graphs import nested as kernels
from rankloom._kernels.graphs.nested import Components, Groups
from rankloom._kernels.index.arguments import ScoredLists, SparseRows
from rankloom.aggregate.lists import empty_lists, filled
from rankloom.ranks import PAD
from rankloom.ranks.arrays import Array
from rankloom.ranks.lists import pointers, transposed
from rankloom.threads import run_rows


def groups_of(lists: Sequence[Array], levels: Sequence[Array], n_levels: int) -> Groups:
    """Return the group of each row of each ranker: itself, and the items of its list whose level is not -1.

    Parameters
    ----------
    lists, levels : sequences of arrays of shape (n, width)
        Items, and the highest level at which the row has an edge to each.
    """
    n = len(lists[0])
    items, strength = frozen(np.concatenate(lists)), frozen(np.concatenate(levels))
    first = np.arange(len(items)) // max(n, 1) * n  # the number of the ranker's first row
    others = (items != PAD) & (items != (np.arange(len(items)) - first)[:, None]) & (strength >= 0)
    ptr = pointers(1 + np.count_nonzero(others, axis=1))
    members = SparseRows(ptr, np.empty(int(ptr[-1]), np.int32), np.empty(int(ptr[-1]), np.int16))

    def gather(start: int, stop: int) -> None:
        kernels.gather_groups(start, stop, items, strength, n, n_levels, members)

    run_rows(gather, len(items), "Gathering groups")
    numbers = frozen((members.items + np.repeat(first, np.diff(ptr))).astype(np.uint32))
    back = transposed(ptr, numbers, len(items), columns=True)
    return kernels.Groups(ptr, frozen(members.items), frozen(members.values), back)


def components_of(groups: Groups, m: int, n: int, n_levels: int) -> Components:
    """Return the strongly connected components of each of m rankers at every level."""
    offset = np.empty((m, n), np.int32)  # index in an order that keeps every component contiguous
    starts = np.empty((m, n, n_levels), np.int32)
    stops = np.empty((m, n, n_levels), np.int32)
    members = np.empty((m, n_levels, n), np.int32)
    for r in range(m):
        ptr = groups.ptr[r * n : (r + 1) * n + 1]
        labels = np.empty((n_levels, n), np.int32)

        def join(start: int, stop: int, ptr: Array = ptr, labels: Array = labels) -> None:
            kernels.strong_components(start, stop, ptr, groups.items, groups.levels, labels)

        run_rows(join, n_levels, "Joining components", min_block=1)
        order = np.lexsort(labels[::-1])  # largest components first
        offset[r, order] = np.arange(n)
        starts[r], stops[r] = _ranges(labels[:, order])
        members[r] = _members(offset[r], starts[r], np.arange(n))
    return kernels.Components(*(frozen(array) for array in (offset, starts, stops, members)))


def _ranges(labels: Array) -> tuple[Array, Array]:
    """Return, for each column and row of labels, where the run of equal labels around it starts and stops."""
    n = labels.shape[1]
    numbers = np.arange(n)
    differs = labels[:, 1:] != labels[:, :-1]
    edge = np.ones((len(labels), 1), np.bool_)[:, : min(n, 1)]
    starts = np.maximum.accumulate(np.where(np.hstack([edge, differs]), numbers, 0), axis=1)
    stops = np.minimum.accumulate(np.where(np.hstack([differs, edge]), numbers + 1, n)[:, ::-1], axis=1)[:, ::-1]
    return starts.T, stops.T


def _members(offset: Array, starts: Array, sequence: Array) -> Array:
    """Return the items of `sequence` grouped by component, at every level, in their order within a component."""
    components = starts[offset[sequence]]  # the start of a component identifies it
    return np.stack([sequence[np.argsort(own, kind="stable")] for own in components.T]).astype(np.int32)


def ranked(
    pools: Sequence[Array],
    groups: Groups,
    components: Components,
    weight: Array,
    width: int,
    *,
    fusion: str = "product",
    column: Array | None = None,
) -> ScoredLists:
    """Return the `width` best items of each row and their scores.

    Parameters
    ----------
    pools : sequence of arrays of shape (n, width)
        Lists whose items are candidates whatever their weight; ties keep their order.
    weight : float64 array
        Weight of a group or component at each level, lowest level first.
    """
    n = components.offset.shape[1]
    rules = kernels.Rules(
        frozen(np.cumsum(weight)),
        frozen(np.ones(n)) if column is None else column,
        column is not None,
        fusion == "product",
    )
    stacked, out = frozen(np.stack(pools)), empty_lists(n, width, np.float64)
    return filled(out, "Ranking by graph", kernels.best_rows, stacked, groups, components, rules)


def divided(groups: Groups, components: Components, weight: Array) -> tuple[Array, Components]:
    """Return the column sums of W, and the components with members by ascending sum; for one ranker."""
    offset, starts, stops = components.offset[0], components.starts[0], components.stops[0]
    column = np.zeros(len(offset))
    kernels.column_sums(groups, weight, frozen(np.cumsum(weight)), offset, starts, stops, column)
    members = _members(offset, starts, np.argsort(column, kind="stable"))
    return frozen(column), components._replace(members=frozen(members[None]))
