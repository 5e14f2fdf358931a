"""Nested graphs, one per level: the levels up to which two items share a group or a component.

Level 0 is the weakest and has all edges; each stronger level has a subset of the edges of the level below. The group
of a row is the item itself and its out-neighbors, strongest first. Two items that share a group or a component at a
level gain its weight; `gain[level]` is the sum of the weights of this and all weaker levels.

The rows of several rankers are numbered consecutively: row i of ranker r is number r * n + i.
"""

from typing import NamedTuple

import numpy as np

from rankloom._kernels.index.arguments import Transposed
from rankloom._kernels.jit import helper, kernel
from rankloom._kernels.lists import append_new, collect_items
from rankloom._kernels.sorting import sort_scratch, sort_smallest
from rankloom._kernels.sparse_rows import clear


class Groups(NamedTuple):
    """The groups of all rows, with the level of each member; and for each item its rows and columns in the groups."""

    ptr: np.ndarray
    items: np.ndarray
    levels: np.ndarray
    back: Transposed


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


class Limit(NamedTuple):
    """What another item needs to be among the best of a row."""

    wanted: int  # how many are wanted
    key: float  # a smaller key
    ties: bool  # or the same, if this is set


class Candidates(NamedTuple):
    """Scratch of a ranking: the candidates of a row, and what is known of them."""

    seen: np.ndarray  # by item
    found: np.ndarray  # one element more than there are items
    gains: np.ndarray  # of the groups that an item shares with the row, by ranker and item
    weights: np.ndarray  # of one item, by ranker
    key: np.ndarray
    order: np.ndarray
    spare: np.ndarray
    level: np.ndarray  # of the scan of each ranker's components
    offset: np.ndarray


@kernel
def reciprocal_levels(start, stop, lists, back, levels):
    """Compute the strongest level at which an item and a listed one are reciprocal neighbors; -1 if at none."""
    ptr, rows, columns = back
    n, k = lists.shape
    position = np.zeros(n, np.int32)
    for i in range(start, stop):
        for entry in range(ptr[i], ptr[i + 1]):
            position[rows[entry]] = columns[entry] + 1
        for p in range(k):
            item = lists[i, p]
            other = position[item] if item >= 0 else 0
            levels[i, p] = k - max(p + 1, other) if other > 0 else -1
        for entry in range(ptr[i], ptr[i + 1]):
            position[rows[entry]] = 0


@kernel
def gather_groups(start, stop, lists, levels, n, n_levels, members):
    """Collect the group of each row: the item itself, then the others by descending level, then in list order.

    The tables of several rankers of n items are stacked.
    """
    ptr, items, item_levels = members
    count = np.empty(n_levels + 1, np.int64)
    for i in range(start, stop):
        own = i % n
        count[:] = 0
        for p in range(lists.shape[1]):
            j = lists[i, p]
            if j >= 0 and j != own and levels[i, p] >= 0:
                count[n_levels - levels[i, p]] += 1  # strongest level first, shifted by one for the prefix sums
        first = ptr[i]
        items[first] = own
        item_levels[first] = n_levels - 1
        for level in range(1, count.size):
            count[level] += count[level - 1]
        for p in range(lists.shape[1]):
            j = lists[i, p]
            if j >= 0 and j != own and levels[i, p] >= 0:
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


@helper
def joined(weights, divisor, rules):
    """Return the combined weight of all rankers, negated, as an ascending sort key."""
    if rules.divided:
        return -np.float64(np.float32(weights[0] / divisor))  # rounded: ties must not depend on summation order
    total = np.float64(1)
    for weight in weights:
        total = total * (1.0 + weight) if rules.multiplied else total + weight
    return -total


@helper
def key_of(i, item, components, rules, gains, weights):
    """Return the sort key of an item in row i, given the gains of the groups that it shares with the row."""
    for r in range(weights.size):
        here, there = components.offset[r, i], components.offset[r, item]
        level = together(here, there, components.starts[r], components.stops[r])
        weights[r] = gains[r, item] + (rules.gain[level] if level >= 0 else 0.0)
    return joined(weights, rules.column[item], rules)


@helper
def collect(i, pools, groups, rules, pool):
    """Collect the candidates of row i: items of its lists in order of appearance, then of shared groups; add gains."""
    seen, found, gains = pool.seen, pool.found, pool.gains
    ptr, items, levels, (back_ptr, back_rows, back_columns) = groups
    n = seen.size
    listed = size = collect_items(i, pools, seen, found)
    for r in range(gains.shape[0]):
        row = r * n + i
        if rules.divided:  # own edges count twice
            for entry in range(ptr[row], ptr[row + 1]):
                gains[r, items[entry]] += rules.gain[levels[entry]]
        for back in range(back_ptr[row], back_ptr[row + 1]):
            first = ptr[back_rows[back]]
            mine = levels[first + back_columns[back]]
            for entry in range(first, ptr[back_rows[back] + 1]):
                item = items[entry]
                gains[r, item] += rules.gain[min(mine, levels[entry])]
                if not seen[item]:
                    seen[item] = True
                    found[size] = item
                    size += 1
    return listed, size


@helper
def good_enough(key, limit):
    """Return True if a key can be among the best."""
    return key < limit.key or (limit.ties and key == limit.key)


@helper
def wider(here, level, starts, stops):
    """Return the next weaker level at which the component of an offset is larger; -1 if there is none."""
    size = stops[here, level] - starts[here, level] if level < starts.shape[1] else 1
    level -= 1
    while level >= 0 and stops[here, level] - starts[here, level] == size:
        level -= 1
    return level


@helper
def add_members(i, components, rules, limit, pool, size):
    """Add the best items that share only a component with row i, for one ranker; return the number of candidates.

    The members of a component are sorted: the first `limit.wanted` new ones suffice, and once a member is not good
    enough, the following are not either.
    """
    seen, found, weights = pool.seen, pool.found, pool.weights
    here = components.offset[0, i]
    level = wider(here, rules.gain.size, components.starts[0], components.stops[0])
    while level >= 0:
        last = size + limit.wanted
        for at in range(components.starts[0, here, level], components.stops[0, here, level]):
            item = components.members[0, level, at]
            weights[0] = rules.gain[level]
            if size == last or not good_enough(joined(weights, rules.column[item], rules), limit):
                break
            size = append_new(item, seen, found, size)
        level = wider(here, level, components.starts[0], components.stops[0])
    return size


@helper
def add_joint_members(i, components, rules, limit, pool, size):
    """Add the best items that share only components with row i, for several rankers (a threshold algorithm).

    The components of the rankers are scanned in turn, from the strongest level to the weakest, members by number. The
    current levels of the scans bound the key of any item not seen yet; ties among these have larger numbers.
    """
    seen, found, gains, weights, key, level, at = (
        pool.seen,
        pool.found,
        pool.gains,
        pool.weights,
        pool.key,
        pool.level,
        pool.offset,
    )
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
        if level.max() < 0 or not good_enough(bound, limit):
            return size
        enough = 0
        for c in range(before, size):
            enough += key[c] <= bound
        if enough >= limit.wanted:
            return size
        moved = False
        while not moved and enough < limit.wanted:
            for r in range(m):
                if level[r] < 0:
                    continue
                here = components.offset[r, i]
                item = components.members[r, level[r], at[r]]
                at[r] += 1
                if not seen[item]:
                    value = key_of(i, item, components, rules, gains, weights)
                    if good_enough(value, limit):
                        key[size] = value
                        size = append_new(item, seen, found, size)
                        enough += value <= bound
                if at[r] == components.stops[r, here, level[r]]:
                    level[r] = wider(here, level[r], components.starts[r], components.stops[r])
                    at[r] = components.starts[r, here, level[r]] if level[r] >= 0 else 0
                    moved = True


@helper
def sort_candidates(i, components, rules, pool, first, size, width):
    """Find the best `width` candidates; those from `first` on have no key yet."""
    found, gains, weights, key = pool.found, pool.gains, pool.weights, pool.key
    for c in range(first, size):
        key[c] = key_of(i, found[c], components, rules, gains, weights)
    sort_smallest(key, size, width, pool.order, pool.spare)


@helper
def candidates_scratch(m, n):
    """Return scratch for m rankers of n items."""
    key, order, spare = sort_scratch(n)
    seen, found = np.zeros(n, np.bool_), np.empty(n + 1, np.int32)
    gains, weights = np.zeros((m, n), np.float64), np.empty(m, np.float64)
    level, offset = np.empty(m, np.int64), np.empty(m, np.int64)
    return Candidates(seen, found, gains, weights, key, order, spare, level, offset)


@kernel
def best_rows(start, stop, pools, groups, components, rules, out):
    """Rank the best items of each row by W, the total gain of the groups and components that have both.

    Ties: items of the lists in order of appearance, then others by number. Items of weight 0 come last, and only if
    they are in the lists. Exact without scanning the whole collection: items that share only a component with the row
    are examined only if they could beat those already found.
    """
    m, n = components.offset.shape
    items, scores = out
    width = items.shape[1]
    pool = candidates_scratch(m, n)
    found, key, order = pool.found, pool.key, pool.order
    for i in range(start, stop):
        listed, before = collect(i, pools, groups, rules, pool)
        found[listed:before].sort()
        sort_candidates(i, components, rules, pool, 0, before, width)
        last, ties = np.inf, True
        if before >= width:
            last, ties = key[order[width - 1]], order[width - 1] >= listed
        limit = Limit(width, last, ties)
        if m == 1:
            size = add_members(i, components, rules, limit, pool, before)
        else:
            size = add_joint_members(i, components, rules, limit, pool, before)
        if size > before:
            found[listed:size].sort()
            sort_candidates(i, components, rules, pool, listed, size, width)
        for c in range(width):
            items[i, c] = found[order[c]] if c < size else -1
            scores[i, c] = -key[order[c]] if c < size else 0.0
        clear(found[:size], pool.seen)
        for r in range(m):
            clear(found[:size], pool.gains[r])
