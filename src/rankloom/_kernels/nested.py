"""Graphs that are nested, level by level: who stands together in a group or in a component, from which level on.

Level 0 is the weakest and has all edges; each stronger one has some of the edges of the one below. The group of a row
is itself and the items it leads to, strongest first. To be together at a level is worth that level's weight, and so
`gain[level]`, the sum of the weights up to there, is the worth of being together from a level down.

Several rankers stand one after the other: row i of ranker r is number r * n + i.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from rankloom._kernels.sorting import sort_smallest


class Groups(NamedTuple):
    """The groups of all rows, each member with its level; and for each item the rows whose group has it, and where."""

    ptr: np.ndarray
    items: np.ndarray
    levels: np.ndarray
    back_ptr: np.ndarray
    back_rows: np.ndarray
    back_places: np.ndarray


class Components(NamedTuple):
    """Items in an order in which the components of every level stand together, and where they begin and end.

    `place`, where each item is in that order, is of shape (m, n), `starts` and `stops` of shape (m, n, levels), by
    place. `members`, of shape (m, levels, n), has in these ranges the component's items, by rising column sum if
    that counts and then by number.
    """

    place: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    members: np.ndarray


class Rules(NamedTuple):
    """How weights come about.

    `divided`: of one ranker, own edges counted once more, divided by the sum of the column. Otherwise several
    rankers' weights are `multiplied`, 1 added to each, or added up.
    """

    gain: np.ndarray
    column: np.ndarray
    divided: bool
    multiplied: bool


@njit(cache=True, nogil=True)
def reciprocal_levels(start, stop, lists, back_ptr, back_rows, back_places, levels):
    """Level at which an item and one of its list are in each other's first places; -1 where they never are."""
    n, k = lists.shape
    position = np.zeros(n, np.int32)
    for i in range(start, stop):
        for entry in range(back_ptr[i], back_ptr[i + 1]):
            position[back_rows[entry]] = back_places[entry] + 1
        for place in range(k):
            item = lists[i, place]
            other = position[item] if item >= 0 else 0
            levels[i, place] = k - max(place + 1, other) if other > 0 else -1
        for entry in range(back_ptr[i], back_ptr[i + 1]):
            position[back_rows[entry]] = 0


@njit(cache=True, nogil=True)
def count_members(lists, levels, count):
    """How many are in the group of each row, itself included."""
    for i in range(lists.shape[0]):
        count[i] = 1
        for place in range(lists.shape[1]):
            count[i] += lists[i, place] >= 0 and lists[i, place] != i and levels[i, place] >= 0


@njit(cache=True, nogil=True)
def gather_groups(start, stop, lists, levels, n_levels, ptr, items, item_levels):
    """The group of each row: itself, then the others by falling level, those of one level in the order of the list."""
    count = np.empty(n_levels + 1, np.int64)
    for i in range(start, stop):
        count[:] = 0
        for place in range(lists.shape[1]):
            j = lists[i, place]
            if j >= 0 and j != i and levels[i, place] >= 0:
                count[n_levels - levels[i, place]] += 1  # the strongest level first, one place further
        first = ptr[i]
        items[first] = i
        item_levels[first] = n_levels - 1
        for level in range(1, count.size):
            count[level] += count[level - 1]
        for place in range(lists.shape[1]):
            j = lists[i, place]
            if j >= 0 and j != i and levels[i, place] >= 0:
                bucket = n_levels - 1 - levels[i, place]
                at = first + 1 + count[bucket]
                count[bucket] += 1
                items[at] = j
                item_levels[at] = levels[i, place]


@njit(cache=True, nogil=True)
def strong_components(start, stop, ptr, items, item_levels, labels):
    """Strongly connected components at levels start to stop; each has its smallest member's number (Tarjan)."""
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
        met = n_waiting = 0
        for root in range(n):
            if index[root] > 0:
                continue
            length = 1
            path[0] = root
            cursor[root] = ptr[root]
            met += 1
            index[root] = low[root] = met
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
                        met += 1
                        index[w] = low[w] = met
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


@njit(cache=True, nogil=True)
def component_ranges(start, stop, order, labels, starts, stops):
    """At levels start to stop, where the component of each place of `order` begins and ends there."""
    n = order.size
    for level in range(start, stop):
        begin = 0
        for at in range(1, n + 1):
            if at == n or labels[level, order[at]] != labels[level, order[begin]]:
                starts[begin:at, level] = begin
                stops[begin:at, level] = at
                begin = at


@njit(cache=True, nogil=True)
def column_sums(groups, weight, gain, place, starts, stops, out):
    """Sum of each column of W: own edges, groups, components."""
    n = place.size
    for i in range(n):
        after = np.float64(0)  # what the members after the one in hand are worth
        for entry in range(groups.ptr[i + 1] - 1, groups.ptr[i] - 1, -1):
            own = gain[groups.levels[entry]]
            out[groups.items[entry]] += own + own * (entry - groups.ptr[i] + 1) + after
            after += own
    for i in range(n):
        for level in range(weight.size):
            out[i] += weight[level] * (stops[place[i], level] - starts[place[i], level])


@njit(cache=True, nogil=True)
def together(here, there, starts, stops):
    """Strongest level at which the component of one place has the other too; -1 if none has."""
    low, high = -1, starts.shape[1] - 1
    while low < high:
        level = (low + high + 1) // 2
        if starts[here, level] <= there < stops[here, level]:
            low = level
        else:
            high = level - 1
    return low


@njit(cache=True, nogil=True)
def joined(weights, divisor, rules):
    """What to sort by, rising: the weights of all rankers as one number, with its sign turned."""
    if rules.divided:
        return -np.float64(np.float32(weights[0] / divisor))  # rounded, so that ties are ties in any order of adding
    total = np.float64(1)
    for weight in weights:
        total = total * (1.0 + weight) if rules.multiplied else total + weight
    return -total


@njit(cache=True, nogil=True)
def key_of(i, item, W, components, rules, weights):
    """What to sort item by in row i; W has what groups add up to."""
    for r in range(weights.size):
        here, there = components.place[r, i], components.place[r, item]
        level = together(here, there, components.starts[r], components.stops[r])
        weights[r] = W[r, item] + (rules.gain[level] if level >= 0 else 0.0)
    return joined(weights, rules.column[item], rules)


@njit(cache=True, nogil=True)
def collect(i, pools, groups, rules, W, met, found):
    """Candidates of row i: its lists' items in the order first seen, then those in groups with it; adds up W."""
    n = met.size
    size = 0
    for r in range(pools.shape[0]):
        for place in range(pools.shape[2]):
            item = pools[r, i, place]
            if item < 0:
                break
            if not met[item]:
                met[item] = True
                found[size] = item
                size += 1
    listed = size
    for r in range(W.shape[0]):
        row = r * n + i
        if rules.divided:  # the row's own edges count once more
            for entry in range(groups.ptr[row], groups.ptr[row + 1]):
                W[r, groups.items[entry]] += rules.gain[groups.levels[entry]]
        for back in range(groups.back_ptr[row], groups.back_ptr[row + 1]):
            first = groups.ptr[groups.back_rows[back]]
            mine = groups.levels[first + groups.back_places[back]]
            for entry in range(first, groups.ptr[groups.back_rows[back] + 1]):
                item = groups.items[entry]
                W[r, item] += rules.gain[min(mine, groups.levels[entry])]
                if not met[item]:
                    met[item] = True
                    found[size] = item
                    size += 1
    return listed, size


@njit(cache=True, nogil=True)
def good_enough(key, least, ties):
    """Whether a key can be among the best."""
    return key < least or (ties and key == least)


@njit(cache=True, nogil=True)
def wider(here, level, starts, stops):
    """The next weaker level at which the component of a place is larger; -1 if there is none."""
    size = stops[here, level] - starts[here, level] if level < starts.shape[1] else 1
    level -= 1
    while level >= 0 and stops[here, level] - starts[here, level] == size:
        level -= 1
    return level


@njit(cache=True, nogil=True)
def add_members(i, components, rules, wanted, least, ties, met, found, size, weights):
    """Add the best of those that are only in a component with row i; of one ranker.

    Members of a component are in order: the first `wanted` that are new are enough, and what is after one that is
    not good enough is not either.
    """
    here = components.place[0, i]
    level = wider(here, rules.gain.size, components.starts[0], components.stops[0])
    while level >= 0:
        taken = 0
        for at in range(components.starts[0, here, level], components.stops[0, here, level]):
            item = components.members[0, level, at]
            weights[0] = rules.gain[level]
            if taken == wanted or not good_enough(joined(weights, rules.column[item], rules), least, ties):
                break
            if not met[item]:
                met[item] = True
                found[size] = item
                size += 1
                taken += 1
        level = wider(here, level, components.starts[0], components.stops[0])
    return size


@njit(cache=True, nogil=True)
def add_joint_members(i, components, rules, wanted, least, ties, W, met, found, size, weights, key, level, at):
    """Add the best of those that are only in components with row i; of several rankers (a threshold algorithm).

    The rankers' components are walked in turn, from the strongest level to the weakest, members by number. An item
    not met yet is at best as good as the levels where the walks stand; equal ones have larger numbers.
    """
    m = weights.size
    before = size
    for r in range(m):
        here = components.place[r, i]
        level[r] = wider(here, rules.gain.size, components.starts[r], components.stops[r])
        at[r] = components.starts[r, here, level[r]] if level[r] >= 0 else 0
    while True:
        for r in range(m):
            weights[r] = rules.gain[level[r]] if level[r] >= 0 else 0.0
        bound = joined(weights, 1.0, rules)
        if level.max() < 0 or not good_enough(bound, least, ties):
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
                here = components.place[r, i]
                item = components.members[r, level[r], at[r]]
                at[r] += 1
                if not met[item]:
                    value = key_of(i, item, W, components, rules, weights)
                    if good_enough(value, least, ties):
                        met[item] = True
                        found[size] = item
                        key[size] = value
                        size += 1
                        enough += value <= bound
                if at[r] == components.stops[r, here, level[r]]:
                    level[r] = wider(here, level[r], components.starts[r], components.stops[r])
                    at[r] = components.starts[r, here, level[r]] if level[r] >= 0 else 0
                    moved = True


@njit(cache=True, nogil=True)
def best_rows(start, stop, pools, groups, components, rules, out, scores):
    """The best items of each row by W: what groups and components that have both add up to.

    Ties: items of the lists in the order first seen, then others by number. Items of weight 0 come last, and only
    those that are in the lists. Exact without a look at the whole collection: what is only in a component with
    the row is looked at if it could be better than what was found.
    """
    m, n = components.place.shape
    width = out.shape[1]
    met = np.zeros(n, np.bool_)
    found = np.empty(n, np.int32)
    W = np.zeros((m, n), np.float64)
    key = np.empty(n, np.float64)
    rank = np.empty(n, np.int64)
    spare = np.empty(n, np.int64)
    weights = np.empty(m, np.float64)
    level = np.empty(m, np.int64)
    at = np.empty(m, np.int64)
    for i in range(start, stop):
        listed, size = collect(i, pools, groups, rules, W, met, found)
        found[listed:size].sort()
        for c in range(size):
            key[c] = key_of(i, found[c], W, components, rules, weights)
        sort_smallest(key, size, width, rank, spare)
        least, ties = np.inf, True  # another item must have a key under this, or at it if ties count
        if size >= width:
            least, ties = key[rank[width - 1]], rank[width - 1] >= listed
        before = size
        if m == 1:
            size = add_members(i, components, rules, width, least, ties, met, found, size, weights)
        else:
            size = add_joint_members(
                i, components, rules, width, least, ties, W, met, found, size, weights, key, level, at
            )
        if size > before:
            found[listed:size].sort()
            for c in range(listed, size):
                key[c] = key_of(i, found[c], W, components, rules, weights)
            sort_smallest(key, size, width, rank, spare)
        for c in range(width):
            out[i, c] = found[rank[c]] if c < size else -1
            scores[i, c] = -key[rank[c]] if c < size else 0.0
        for c in range(size):
            met[found[c]] = False
            for r in range(m):
                W[r, found[c]] = 0.0
