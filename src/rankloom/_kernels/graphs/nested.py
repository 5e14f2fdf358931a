"""Nested graphs, one per level: the levels up to which two items share a group or a component.

Level 0 is the weakest and has all edges; each stronger level has a subset of the edges of the level below. The group
of a row is the item itself and its out-neighbors, strongest first. Two items that share a group or a component at a
level gain its weight; `gain[level]` is the sum of the weights of this and all weaker levels.

The rows of several rankers are numbered consecutively: row i of ranker r is number r * n + i.
"""

from typing import NamedTuple

import numpy as np

from rankloom._kernels.jit import helper, kernel
from rankloom._kernels.lists import collect_items
from rankloom._kernels.sorting import sort_scratch, sort_smallest


class Groups(NamedTuple):
    """The groups of all rows, with the level of each member; and for each item its rows and columns in the groups."""

    ptr: np.ndarray
    items: np.ndarray
    levels: np.ndarray
    back_ptr: np.ndarray
    back_rows: np.ndarray
    back_columns: np.ndarray


class Components(NamedTuple):
    """Items in an order that keeps the components of every level contiguous, and the ranges of these.

    `offset`, the index of each item in that order, has shape (m, n); `starts` and `stops`, by offset, have shape
    (m, n, levels). `members`, of shape (m, levels, n), has the items of a component in its range, by ascending column
    sum if these are used, then by number.
    """

    offset: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    members: np.ndarray


class Rules(NamedTuple):
    """How the weights of rankers are combined.

    If `divided`, there is one ranker, whose own edges count twice, and its weights are divided by the column sums.
    Otherwise the weights of all rankers are `multiplied`, after adding 1 to each, or summed.
    """

    gain: np.ndarray
    column: np.ndarray
    divided: bool
    multiplied: bool


@kernel
def reciprocal_levels(start, stop, lists, back_ptr, back_rows, back_columns, levels):
    """Compute the strongest level at which an item and a listed one are reciprocal neighbors; -1 if at none."""
    n, k = lists.shape
    position = np.zeros(n, np.int32)
    for i in range(start, stop):
        for entry in range(back_ptr[i], back_ptr[i + 1]):
            position[back_rows[entry]] = back_columns[entry] + 1
        for p in range(k):
            item = lists[i, p]
            other = position[item] if item >= 0 else 0
            levels[i, p] = k - max(p + 1, other) if other > 0 else -1
        for entry in range(back_ptr[i], back_ptr[i + 1]):
            position[back_rows[entry]] = 0


@kernel
def count_members(lists, levels, count):
    """Count the members of each row's group, including the item itself."""
    for i in range(lists.shape[0]):
        count[i] = 1
        for p in range(lists.shape[1]):
            count[i] += lists[i, p] >= 0 and lists[i, p] != i and levels[i, p] >= 0


@kernel
def gather_groups(start, stop, lists, levels, n_levels, ptr, items, item_levels):
    """Collect the group of each row: the item itself, then the others by descending level, then in list order."""
    count = np.empty(n_levels + 1, np.int64)
    for i in range(start, stop):
        count[:] = 0
        for p in range(lists.shape[1]):
            j = lists[i, p]
            if j >= 0 and j != i and levels[i, p] >= 0:
                count[n_levels - levels[i, p]] += 1  # strongest level first, shifted by one for the prefix sums
        first = ptr[i]
        items[first] = i
        item_levels[first] = n_levels - 1
        for level in range(1, count.size):
            count[level] += count[level - 1]
        for p in range(lists.shape[1]):
            j = lists[i, p]
            if j >= 0 and j != i and levels[i, p] >= 0:
                bucket = n_levels - 1 - levels[i, p]
                at = first + 1 + count[bucket]
                count[bucket] += 1
                items[at] = j
                item_levels[at] = levels[i, p]


@kernel
def strong_components(start, stop, ptr, items, item_levels, labels):
    """Label the strongly connected components of levels start to stop by their smallest member (Tarjan)."""
    n = ptr.size - 1
    index = np.empty(n, np.int64)
    low = np.empty(n, np.int64)
    cursor = np.empty(n, np.int64)
    path = np.empty(n, np.int64)
    waiting = np.empty(n, np.int64)
    for level in range(start, stop):
        label = labels[level]
        label[:] = -1
        index[:] = 0
        n_seen = n_waiting = 0
        for root in range(n):
            if index[root] > 0:
                continue
            length = 1
            path[0] = root
            cursor[root] = ptr[root]
            n_seen += 1
            index[root] = low[root] = n_seen
            waiting[n_waiting] = root
            n_waiting += 1
            while length > 0:
                v = path[length - 1]
                entry = cursor[v]
                if entry < ptr[v + 1] and item_levels[entry] >= level:
                    cursor[v] += 1
                    w = items[entry]
                    if index[w] == 0:
                        path[length] = w
                        length += 1
                        cursor[w] = ptr[w]
                        n_seen += 1
                        index[w] = low[w] = n_seen
                        waiting[n_waiting] = w
                        n_waiting += 1
                    elif label[w] < 0:
                        low[v] = min(low[v], index[w])
                    continue
                length -= 1
                if length > 0:
                    low[path[length - 1]] = min(low[path[length - 1]], low[v])
                if low[v] == index[v]:
                    bottom = n_waiting - 1
                    smallest = waiting[bottom]
                    while waiting[bottom] != v:
                        bottom -= 1
                        smallest = min(smallest, waiting[bottom])
                    for at in range(bottom, n_waiting):
                        label[waiting[at]] = smallest
                    n_waiting = bottom


@kernel
def component_ranges(start, stop, order, labels, starts, stops):
    """Compute, for levels start to stop, the range in `order` of the component of each offset."""
    n = order.size
    for level in range(start, stop):
        begin = 0
        for at in range(1, n + 1):
            if at == n or labels[level, order[at]] != labels[level, order[begin]]:
                starts[begin:at, level] = begin
                stops[begin:at, level] = at
                begin = at


@kernel
def column_sums(groups, weight, gain, offset, starts, stops, out):
    """Add up each column of W: own edges, groups, components."""
    n = offset.size
    for i in range(n):
        after = np.float64(0)  # gain of the members after the current one
        for entry in range(groups.ptr[i + 1] - 1, groups.ptr[i] - 1, -1):
            own = gain[groups.levels[entry]]
            out[groups.items[entry]] += own + own * (entry - groups.ptr[i] + 1) + after
            after += own
    for i in range(n):
        for level in range(weight.size):
            out[i] += weight[level] * (stops[offset[i], level] - starts[offset[i], level])


@helper
def together(here, there, starts, stops):
    """Return the strongest level at which two offsets share a component; -1 if none."""
    low, high = -1, starts.shape[1] - 1
    while low < high:
        level = (low + high + 1) // 2
        if starts[here, level] <= there < stops[here, level]:
            low = level
        else:
            high = level - 1
    return low


@kernel
def joined(weights, divisor, rules):
    """Return the combined weight of all rankers, negated, as an ascending sort key."""
    if rules.divided:
        return -np.float64(np.float32(weights[0] / divisor))  # rounded: ties must not depend on summation order
    total = np.float64(1)
    for weight in weights:
        total = total * (1.0 + weight) if rules.multiplied else total + weight
    return -total


@helper
def key_of(i, item, W, components, rules, weights):
    """Return the sort key of an item in row i; W holds the gains of groups."""
    for r in range(weights.size):
        here, there = components.offset[r, i], components.offset[r, item]
        level = together(here, there, components.starts[r], components.stops[r])
        weights[r] = W[r, item] + (rules.gain[level] if level >= 0 else 0.0)
    return joined(weights, rules.column[item], rules)


@kernel
def collect(i, pools, groups, rules, W, seen, found):
    """Collect the candidates of row i: items of its lists in order of appearance, then of shared groups; add up W."""
    n = seen.size
    listed = size = collect_items(i, pools, seen, found)
    for r in range(W.shape[0]):
        row = r * n + i
        if rules.divided:  # own edges count twice
            for entry in range(groups.ptr[row], groups.ptr[row + 1]):
                W[r, groups.items[entry]] += rules.gain[groups.levels[entry]]
        for back in range(groups.back_ptr[row], groups.back_ptr[row + 1]):
            first = groups.ptr[groups.back_rows[back]]
            mine = groups.levels[first + groups.back_columns[back]]
            for entry in range(first, groups.ptr[groups.back_rows[back] + 1]):
                item = groups.items[entry]
                W[r, item] += rules.gain[min(mine, groups.levels[entry])]
                if not seen[item]:
                    seen[item] = True
                    found[size] = item
                    size += 1
    return listed, size


@helper
def good_enough(key, limit, ties):
    """Return True if a key can be among the best."""
    return key < limit or (ties and key == limit)


@helper
def wider(here, level, starts, stops):
    """Return the next weaker level at which the component of an offset is larger; -1 if there is none."""
    size = stops[here, level] - starts[here, level] if level < starts.shape[1] else 1
    level -= 1
    while level >= 0 and stops[here, level] - starts[here, level] == size:
        level -= 1
    return level


@helper
def add_members(i, components, rules, wanted, limit, ties, seen, found, size, weights):
    """Add the best items that share only a component with row i, for one ranker.

    The members of a component are sorted: the first `wanted` new ones suffice, and once a member is not good enough,
    the following are not either.
    """
    here = components.offset[0, i]
    level = wider(here, rules.gain.size, components.starts[0], components.stops[0])
    while level >= 0:
        taken = 0
        for at in range(components.starts[0, here, level], components.stops[0, here, level]):
            item = components.members[0, level, at]
            weights[0] = rules.gain[level]
            if taken == wanted or not good_enough(joined(weights, rules.column[item], rules), limit, ties):
                break
            if not seen[item]:
                seen[item] = True
                found[size] = item
                size += 1
                taken += 1
        level = wider(here, level, components.starts[0], components.stops[0])
    return size


@helper
def add_joint_members(i, components, rules, wanted, limit, ties, W, seen, found, size, weights, key, level, at):
    """Add the best items that share only components with row i, for several rankers (a threshold algorithm).

    The components of the rankers are scanned in turn, from the strongest level to the weakest, members by number. The
    current levels of the scans bound the key of any item not seen yet; ties among these have larger numbers.
    """
    m = weights.size
    before = size
    for r in range(m):
        here = components.offset[r, i]
        level[r] = wider(here, rules.gain.size, components.starts[r], components.stops[r])
        at[r] = components.starts[r, here, level[r]] if level[r] >= 0 else 0
    while True:
        for r in range(m):
            weights[r] = rules.gain[level[r]] if level[r] >= 0 else 0.0
        bound = joined(weights, 1.0, rules)
        if level.max() < 0 or not good_enough(bound, limit, ties):
            return size
        enough = 0
        for c in range(before, size):
            enough += key[c] <= bound
        if enough >= wanted:
            return size
        moved = False
        while not moved and enough < wanted:
            for r in range(m):
                if level[r] < 0:
                    continue
                here = components.offset[r, i]
                item = components.members[r, level[r], at[r]]
                at[r] += 1
                if not seen[item]:
                    value = key_of(i, item, W, components, rules, weights)
                    if good_enough(value, limit, ties):
                        seen[item] = True
                        found[size] = item
                        key[size] = value
                        size += 1
                        enough += value <= bound
                if at[r] == components.stops[r, here, level[r]]:
                    level[r] = wider(here, level[r], components.starts[r], components.stops[r])
                    at[r] = components.starts[r, here, level[r]] if level[r] >= 0 else 0
                    moved = True


@kernel
def best_rows(start, stop, pools, groups, components, rules, out, scores):
    """Rank the best items of each row by W, the total gain of the groups and components that have both.

    Ties: items of the lists in order of appearance, then others by number. Items of weight 0 come last, and only if
    they are in the lists. Exact without scanning the whole collection: items that share only a component with the row
    are examined only if they could beat those already found.
    """
    m, n = components.offset.shape
    width = out.shape[1]
    seen = np.zeros(n, np.bool_)
    found = np.empty(n + 1, np.int32)
    W = np.zeros((m, n), np.float64)
    key, order, spare = sort_scratch(n)
    weights = np.empty(m, np.float64)
    level = np.empty(m, np.int64)
    at = np.empty(m, np.int64)
    for i in range(start, stop):
        listed, size = collect(i, pools, groups, rules, W, seen, found)
        found[listed:size].sort()
        for c in range(size):
            key[c] = key_of(i, found[c], W, components, rules, weights)
        sort_smallest(key, size, width, order, spare)
        limit, ties = np.inf, True  # another item needs a key below this, or equal to it if ties count
        if size >= width:
            limit, ties = key[order[width - 1]], order[width - 1] >= listed
        before = size
        if m == 1:
            size = add_members(i, components, rules, width, limit, ties, seen, found, size, weights)
        else:
            size = add_joint_members(
                i, components, rules, width, limit, ties, W, seen, found, size, weights, key, level, at
            )
        if size > before:
            found[listed:size].sort()
            for c in range(listed, size):
                key[c] = key_of(i, found[c], W, components, rules, weights)
            sort_smallest(key, size, width, order, spare)
        for c in range(width):
            out[i, c] = found[order[c]] if c < size else -1
            scores[i, c] = -key[order[c]] if c < size else 0.0
        for c in range(size):
            seen[found[c]] = False
            for r in range(m):
                W[r, found[c]] = 0.0
