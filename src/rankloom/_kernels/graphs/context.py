"""Neighborhoods as sparse vectors: weighted Jaccard similarity, diffusion, and close sets."""

from typing import NamedTuple

import numpy as np

from rankloom._kernels.graphs.query_graphs import listed, vertex
from rankloom._kernels.graphs.vertex_scores import by_score
from rankloom._kernels.index.arguments import ScoredLists, SparseRows
from rankloom._kernels.jit import helper, kernel
from rankloom._kernels.lists import length_of
from rankloom._kernels.sorting import sort_ascending
from rankloom._kernels.sparse_rows import clear
from rankloom._kernels.text.postings import largest_first


class Affinities(NamedTuple):
    """The matrix K of one ranker: the first items of each list with their affinities, and its columns."""

    near: ScoredLists
    columns: SparseRows


class CloseSets(NamedTuple):
    """How close sets are made, and similarities to them."""

    length: int  # of a list: an item beyond it has the similarity 0
    neighbors: int
    overlap: float  # the share of a member's neighbors that must be shared for them to join


@helper
def write_chosen(chosen, pool, value, items, values):
    """Write the chosen items of a pool and their values, as many as there is room for; pad the rest."""
    end = min(items.size, chosen.size)
    for p in range(end):
        items[p] = pool[chosen[p]]
        values[p] = value[chosen[p]]
    items[end:] = -1
    values[end:] = 0


@helper
def best(vertices, score, items, scores):
    """Write the best items of a pool by score in float32, ties in pool order; pad the rest."""
    chosen = by_score(score, np.arange(vertices.size))
    write_chosen(chosen, vertices, score, items, scores)


@helper
def pool(q, lists, slot, vertices):
    """Collect the items of q's lists, ranker by ranker, in order of appearance; return their number."""
    count = 0
    for r in range(lists.shape[0]):
        for p in range(length_of(lists[r, q])):
            _, count = vertex(lists[r, q, p], slot, vertices, count)
    return count


@kernel
def jaccards(start, stop, lists, vectors, sums, part, slot, score):
    """Add to `score` `part` times the weighted Jaccard similarity of the vectors of q and of each item in its pool."""
    ptr, columns, values = vectors
    vertices = np.empty(lists.shape[0] * lists.shape[2], np.int32)
    for q in range(start, stop):
        count = pool(q, lists, slot, vertices)
        clear(vertices[:count], slot)
        for entry in range(ptr[q], ptr[q + 1]):
            slot[columns[entry]] = entry - ptr[q] + 1
        for i in range(count):
            item = vertices[i]
            shared = np.float64(0)
            for entry in range(ptr[item], ptr[item + 1]):
                spot = slot[columns[entry]]
                if spot:
                    shared += min(values[entry], values[ptr[q] + spot - 1])
            union = sums[q] + sums[item] - shared
            if shared > 0:
                score[q, i] += part[q] * shared / union
        for entry in range(ptr[q], ptr[q + 1]):
            slot[columns[entry]] = 0


@kernel
def best_of_pools(start, stop, lists, slot, score, out):
    """Write the best items of each query's pool by `score`, whose columns are in pool order."""
    vertices = np.empty(lists.shape[0] * lists.shape[2], np.int32)
    for q in range(start, stop):
        count = pool(q, lists, slot, vertices)
        best(vertices[:count], score[q, :count], out.items[q], out.scores[q])
        clear(vertices[:count], slot)


@kernel
def diffuse(start, stop, K, P, share, eta, slot, out):
    """One diffusion step of one ranker: the largest entries of each row of K (mean of the others' P) K' + eta I."""
    near, affinity = K.near
    ptr, rows, values = K.columns
    items, affinities = P
    n = out.items.shape[0]
    seen, reached = np.empty(n, np.int32), np.empty(n, np.int32)
    first, second = np.zeros(n), np.zeros(n)
    for i in range(start, stop):
        n_seen = n_reached = 0
        for p in range(length_of(near[i])):
            a = near[i, p]
            for s in range(items.shape[0]):
                if share[s] == 0:
                    continue
                for column in range(length_of(items[s, a])):
                    b = items[s, a, column]
                    if slot[b] == 0:
                        slot[b] = 1
                        seen[n_seen] = b
                        n_seen += 1
                    first[b] += share[s] * affinity[i, p] * affinities[s, a, column]
        for spot in range(n_seen):
            slot[seen[spot]] = 0
        if eta > 0:
            slot[i] = 1
            reached[0] = i
            second[i] = eta
            n_reached = 1
        for spot in range(n_seen):
            b = seen[spot]
            for entry in range(ptr[b], ptr[b + 1]):
                j = rows[entry]
                if slot[j] == 0:
                    slot[j] = 1
                    reached[n_reached] = j
                    n_reached += 1
                second[j] += first[b] * values[entry]
            first[b] = 0
        keep_best(reached[:n_reached], second, out.items[i], out.scores[i])
        for spot in range(n_reached):
            slot[reached[spot]] = 0
            second[reached[spot]] = 0


@helper
def keep_best(reached, value, items, values):
    """Write the entries with the largest values, largest first, ties by item number; pad the rest."""
    kept, found = worth_keeping(reached, value, smallest_kept(reached, value, items.size))
    order, spare = np.empty(kept.size, np.int64), np.empty(kept.size, np.int64)
    sort_ascending(kept, kept.size, order, spare)
    by_item, keys = kept.copy(), np.empty(kept.size)
    for p in range(kept.size):
        by_item[p], keys[p] = kept[order[p]], -found[order[p]]
    sort_ascending(keys, kept.size, order, spare)
    write_chosen(order, by_item, -keys, items, values)


@helper
def smallest_kept(reached, value, wanted):
    """Return the `wanted`-th largest value of the items reached, the smallest one if there are fewer."""
    last = min(wanted, reached.size) - 1
    if last < 0:
        return np.inf
    found = np.empty(reached.size)
    for p in range(reached.size):
        found[p] = value[reached[p]]
    largest_first(found, found.size, last + 1)
    return found[last]


@helper
def worth_keeping(reached, value, minimum):
    """Return the items reached whose values are at least the minimum, and these values."""
    kept, found = np.empty_like(reached), np.empty(reached.size)
    count = 0
    for item in reached:
        if value[item] >= minimum:
            kept[count], found[count] = item, value[item]
            count += 1
    return kept[:count], found[:count]


@kernel
def mean_of_rows(start, stop, P, share, slot, out):
    """Write the best items of each row of a weighted sum of sparse matrices."""
    items, values = P
    m, _, depth = items.shape
    vertices = np.empty(m * depth, np.int32)
    for q in range(start, stop):
        count = 0
        score = np.zeros(m * depth)
        for r in range(m):
            for p in range(length_of(items[r, q])):
                spot, count = vertex(items[r, q, p], slot, vertices, count)
                score[spot] += share[r] * values[r, q, p]
        best(vertices[:count], score[:count], out.items[q], out.scores[q])
        clear(vertices[:count], slot)


@helper
def reciprocal_set(q, lists, knn, out):
    """Collect the reciprocal neighbors of q, including q itself if listed; return their number."""
    count = 0
    for p in range(length_of(lists[q, :knn])):
        if listed(q, lists[lists[q, p]], knn):
            out[count] = lists[q, p]
            count += 1
    return count


@helper
def close_set(q, lists, knn, overlap, inside, members, near):
    """Collect q's reciprocal neighbors and, of each, its reciprocal neighbors at half the size, if enough are shared.

    Return their number. `inside` is scratch of zeros, cleared before returning.
    """
    core = count = reciprocal_set(q, lists, knn, members)
    for i in range(core):
        inside[members[i]] = 1
    for i in range(core):
        size = reciprocal_set(members[i], lists, max(knn // 2, 1), near)
        shared = 0
        for spot in range(size):
            if inside[near[spot]] == 1:
                shared += 1
        if shared >= overlap * size:
            for spot in range(size):
                if inside[near[spot]] == 0:
                    inside[near[spot]] = 2  # in the set, but not counted in overlaps
                    members[count] = near[spot]
                    count += 1
    for i in range(count):
        inside[members[i]] = 0
    return count


@kernel
def hello_neighbor(start, stop, lists, weights, rules, slot, inside, out):
    """Rank the close sets first, by mean similarity to the set, then the rest of the pool."""
    length, knn, overlap = rules
    m, _, depth = lists.shape
    max_members = knn * (knn // 2 + 1) + 1
    members, near = np.empty(max_members, np.int32), np.empty(knn, np.int32)
    vertices = np.empty(m * (depth + max_members), np.int32)
    close = np.zeros(vertices.size, np.bool_)
    inner, outer = np.zeros(vertices.size), np.zeros(vertices.size)
    for q in range(start, stop):
        count = pool(q, lists, slot, vertices)
        total = np.float64(0)
        for r in range(m):
            if depth == 0 or lists[r, q, 0] < 0:
                continue
            total += weights[r]
            for p in range(length_of(lists[r, q])):
                outer[slot[lists[r, q, p]] - 1] += weights[r] * (1 - p / length)
            size = close_set(q, lists[r], knn, overlap, inside, members, near)
            for i in range(size):
                spot, count = vertex(members[i], slot, vertices, count)
                close[spot] = True
                inside[members[i]] = 1
            for i in range(size):
                for p in range(length_of(lists[r, members[i]])):
                    item = lists[r, members[i], p]
                    if inside[item]:
                        inner[slot[item] - 1] += weights[r] * (1 - p / length) / size
            for i in range(size):
                inside[members[i]] = 0
        for i in range(count):
            outer[i] = 1 + inner[i] / total if close[i] else outer[i] / total
            if vertices[i] == q:
                outer[i] = 2
        best(vertices[:count], outer[:count], out.items[q], out.scores[q])
        clear(vertices[:count], slot)
        close[:count] = False
        inner[:count] = outer[:count] = 0
