"""Nested graphs of a collection: groups and components at every level, and rankings by both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankloom._kernels import frozen
from rankloom.aggregate.lists import Array
from rankloom.ranks import PAD
from rankloom.threads import run_rows

if TYPE_CHECKING:
    from rankloom._kernels.graphs.nested import Components, Groups


def groups_of(lists: Sequence[Array], levels: Sequence[Array], n_levels: int) -> Groups:
    """Return the group of each row of each ranker: itself, and the items of its list whose level is not -1.

    Parameters
    ----------
    lists, levels : sequences of arrays of shape (n, width)
        Items, and the highest level at which the row has an edge to each.
    """
    from rankloom._kernels.graphs import nested as kernels
    from rankloom._kernels.lists import transposed

    n = len(lists[0])
    count = np.empty((len(lists), n), np.int64)
    for r, (items, at) in enumerate(zip(lists, levels, strict=True)):
        kernels.count_members(items, at, count[r])
    ptr = np.zeros(count.size + 1, np.int64)
    np.cumsum(count.reshape(-1), out=ptr[1:])
    frozen(ptr)
    members = np.empty(int(ptr[-1]), np.int32)
    member_levels = np.empty(members.size, np.int16)
    for r, (items, at) in enumerate(zip(lists, levels, strict=True)):
        mine = ptr[r * n : (r + 1) * n + 1]

        def gather(start: int, stop: int, items: Array = items, at: Array = at, mine: Array = mine) -> None:
            kernels.gather_groups(start, stop, items, at, n_levels, mine, members, member_levels)

        run_rows(gather, n, "Gathering groups")
    ranker = np.repeat(np.arange(len(lists)) * n, count.sum(axis=1))
    back = transposed(ptr, frozen((members + ranker).astype(np.uint32)), len(ptr) - 1, columns=True)
    return kernels.Groups(ptr, frozen(members), frozen(member_levels), *back)


def components_of(groups: Groups, m: int, n: int, n_levels: int) -> Components:
    """Return the strongly connected components of each of m rankers at every level."""
    from rankloom._kernels.graphs import nested as kernels

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
        kernels.component_ranges(0, n_levels, order, labels, starts[r], stops[r])
        members[r] = _members(offset[r], starts[r], np.arange(n))
    return kernels.Components(*(frozen(array) for array in (offset, starts, stops, members)))


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
) -> tuple[Array, Array]:
    """Return the `width` best items of each row and their scores.

    Parameters
    ----------
    pools : sequence of arrays of shape (n, width)
        Lists whose items are candidates whatever their weight; ties keep their order.
    weight : float64 array
        Weight of a group or component at each level, lowest level first.
    """
    from rankloom._kernels.graphs import nested as kernels

    n = components.offset.shape[1]
    rules = kernels.Rules(
        frozen(np.cumsum(weight)),
        frozen(np.ones(n)) if column is None else column,
        column is not None,
        fusion == "product",
    )
    stacked = frozen(np.stack(pools))
    out = np.full((n, width), PAD, np.int32)
    scores = np.zeros((n, width))
    run_rows(
        lambda start, stop: kernels.best_rows(start, stop, stacked, groups, components, rules, out, scores),
        n,
        "Ranking by graph",
    )
    return frozen(out), scores


def divided(groups: Groups, components: Components, weight: Array) -> tuple[Array, Components]:
    """Return the column sums of W, and the components with members by ascending sum; for one ranker."""
    from rankloom._kernels.graphs import nested as kernels

    offset, starts, stops = components.offset[0], components.starts[0], components.stops[0]
    column = np.zeros(len(offset))
    kernels.column_sums(groups, weight, frozen(np.cumsum(weight)), offset, starts, stops, column)
    members = _members(offset, starts, np.argsort(column, kind="stable"))
    return frozen(column), components._replace(members=frozen(members[None]))
