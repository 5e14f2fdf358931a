"""The graph of one query, grown from reciprocal neighbors, and the ranking of its vertices.

A graph is a list of vertices, in order of discovery, and a list of entries (from, to, weight) that refer to vertices by
index. `slot` is scratch of zeros, one for each item: the index of a vertex plus 1. Kernels clear it before returning.
"""

import numpy as np

from rankloom._kernels.jit import helper, kernel
from rankloom._kernels.sorting import copy_first


@kernel
def vertex(item, slot, vertices, count):
    """Return the index of an item among the vertices, appending it if new, and the number of vertices."""
    if slot[item] == 0:
        vertices[count] = item
        count += 1
        slot[item] = count
    return np.int64(slot[item]) - 1, count


@helper
def listed(item, row, depth):
    """Return True if the item is among the first `depth` of a list."""
    for p in range(min(depth, row.size)):
        if row[p] < 0:
            break
        if row[p] == item:
            return True
    return False


@helper
def released_layers(q, lists, ranker, knn, region, threshold, weight, slot, joined, vertices, ends, values, sizes):
    """Add the two layers of one ranker around q to the graph; `joined` marks the vertices this ranker has reached."""
    own = lists[q]
    count, entries = sizes[0], sizes[1]
    if own.size == 0 or own[0] < 0:
        return
    mark = ranker + 1
    center, count = vertex(q, slot, vertices, count)
    joined[center] = mark
    ends[entries, 0] = ends[entries, 1] = center
    values[entries] = weight
    entries += 1
    members = 1
    first = entries
    for p in range(1, min(region + 1, own.size)):
        item = own[p]
        if item < 0:
            break
        if listed(q, lists[item, 1:], knn - 1):
            other, count = vertex(item, slot, vertices, count)
            joined[other] = mark
            members += 1
            ends[entries, 0], ends[entries, 1], values[entries] = center, other, weight
            ends[entries + 1, 0], ends[entries + 1, 1], values[entries + 1] = other, center, weight
            entries += 2
    last = entries
    for entry in range(first, last, 2):
        near = ends[entry, 1]
        row = lists[vertices[near]]
        size = shared = 0
        for p in range(min(knn, row.size)):
            if row[p] < 0:
                break
            size += 1
            if slot[row[p]] and joined[slot[row[p]] - 1] == mark:
                shared += 1
        jaccard = np.float64(shared) / (size + members - shared)
        if jaccard > threshold:
            for p in range(1, size):
                other, count = vertex(row[p], slot, vertices, count)
                if joined[other] != mark:
                    joined[other] = mark
                    members += 1
                ends[entries, 0], ends[entries, 1], values[entries] = other, near, weight * jaccard
                entries += 1
    sizes[0], sizes[1] = count, entries


@kernel
def reciprocal(start, stop, lists, ordered, out):
    """Compute the Jaccard similarity of the neighborhoods of i and each reciprocal neighbor; 0 for other neighbors."""
    knn = lists.shape[1]
    for i in range(start, stop):
        for p in range(knn):
            j = lists[i, p]
            out[i, p] = 0
            if j < 0 or j == i or not listed(i, lists[j], knn):
                continue
            shared = a = b = 0
            while a < knn and b < knn:  # rows are sorted; padding comes first
                if ordered[i, a] < 0 or ordered[i, a] < ordered[j, b]:
                    a += 1
                elif ordered[j, b] < ordered[i, a]:
                    b += 1
                else:
                    shared += 1
                    a += 1
                    b += 1
            sizes = 0
            for column in range(knn):
                if ordered[i, column] >= 0:
                    sizes += 1
                if ordered[j, column] >= 0:
                    sizes += 1
            out[i, p] = np.float64(shared) / (sizes - shared)


@helper
def article_growth(
    q, lists, jaccards, ranker, cap, decay, threshold, weight, slot, joined, queue, hops, vertices, ends, values, sizes
):
    """Add one ranker's reciprocal neighbors of q, their reciprocal neighbors and so on; each edge once."""
    if lists.shape[1] == 0 or lists[q, 0] < 0:
        return
    count, entries = sizes[0], sizes[1]
    first = ranker * cap  # marks in `joined` increase: mark - first is the order in which this ranker reached a vertex
    center, count = vertex(q, slot, vertices, count)
    joined[center] = first + 1
    queue[0] = center
    hops[0] = 0
    head, tail = 0, 1
    while head < tail:
        near = queue[head]
        item = vertices[near]
        for p in range(lists.shape[1]):
            if jaccards[item, p] == 0:
                continue
            other = lists[item, p]
            known = slot[other] != 0 and joined[slot[other] - 1] > first
            index = joined[slot[other] - 1] - first - 1 if known else tail
            if index < head or (not known and tail == cap):
                continue
            hop = hops[index] if known else hops[head] + 1
            value = decay**hop * jaccards[item, p]
            if value < threshold:
                continue
            far, count = vertex(other, slot, vertices, count)
            if not known:
                joined[far] = first + 1 + tail
                queue[tail] = far
                hops[tail] = hop
                tail += 1
            ends[entries, 0], ends[entries, 1], values[entries] = near, far, weight * value
            entries += 1
        head += 1
    sizes[0], sizes[1] = count, entries


@helper
def entry_sums(ends, values, sizes, score):
    """Score each vertex by the sum of its entries."""
    score[: sizes[0]] = 0
    for entry in range(sizes[1]):
        score[ends[entry, 0]] += values[entry]


@kernel
def walk(ends, values, sizes, rounds, score, total, following):
    """Score by a random walk from a uniform start, without damping; then put the query first."""
    count, entries = sizes[0], sizes[1]
    total[:count] = 0
    score[:count] = 1.0 / count
    for entry in range(entries):
        if ends[entry, 0] != ends[entry, 1]:
            total[ends[entry, 0]] += values[entry]
    for _ in range(rounds):
        following[:count] = 0
        for entry in range(entries):
            a, b = ends[entry, 0], ends[entry, 1]
            if a != b:
                following[b] += score[a] * values[entry] / total[a]
        copy_first(following, count, score)
    score[0] = score[:count].max()


@helper
def page_rank(ends, values, sizes, damping, restart, rounds, tolerance, score, total, following):
    """Score by a random walk on undirected edges that returns to the query with probability (1 - damping) * restart."""
    count, entries = sizes[0], sizes[1]
    if count == 1:
        score[0] = 1.0
        return
    total[:count] = 0
    for entry in range(entries):
        total[ends[entry, 0]] += values[entry]
        total[ends[entry, 1]] += values[entry]
    score[:count] = (1 - restart) / (count - 1)
    score[0] = restart
    for _ in range(rounds):
        following[:count] = (1 - damping) * (1 - restart) / (count - 1)
        following[0] = (1 - damping) * restart
        for entry in range(entries):
            a, b = ends[entry, 0], ends[entry, 1]
            following[b] += damping * score[a] * values[entry] / total[a]
            following[a] += damping * score[b] * values[entry] / total[b]
        change = np.float64(0)
        for i in range(count):
            change += abs(following[i] - score[i])
            score[i] = following[i]
        if change < tolerance:
            break


@helper
def adjacency(ends, values, sizes):
    """Return the edges of each vertex, in both directions: pointers, other ends, weights."""
    count, entries = sizes[0], sizes[1]
    ptr = np.zeros(count + 2, np.int64)
    for entry in range(entries):
        ptr[ends[entry, 0] + 2] += 1
        ptr[ends[entry, 1] + 2] += 1
    for i in range(2, count + 2):
        ptr[i] += ptr[i - 1]
    others = np.empty(2 * entries, np.int64)
    weights = np.empty(2 * entries, np.float64)
    for entry in range(entries):
        for side in range(2):
            spot = ptr[ends[entry, side] + 1]
            ptr[ends[entry, side] + 1] += 1
            others[spot] = ends[entry, 1 - side]
            weights[spot] = values[entry]
    return ptr, others, weights


@helper
def greedy(ends, values, sizes, order, score, gain):
    """Rank vertices greedily: next comes the one with the heaviest edges to those already ranked, ties as in `order`.

    The score is the smallest gain so far, so that it never increases; that of the query is the sum of its edges.
    """
    count = sizes[0]
    ptr, others, weights = adjacency(ends, values, sizes)
    gain[:count] = 0
    score[:count] = -1
    entered = np.empty(count, np.int64)
    best = np.int64(0)
    min_gain = np.float64(0)
    for edge in range(ptr[0], ptr[1]):
        min_gain += weights[edge]
    for step in range(count):
        entered[step] = best
        score[best] = min_gain
        for edge in range(ptr[best], ptr[best + 1]):
            gain[others[edge]] += weights[edge]
        best = -1
        for i in range(count):
            a = order[i]
            if score[a] < 0 and (best < 0 or np.float32(gain[a]) > np.float32(gain[best])):
                best = a
        if best >= 0:
            min_gain = min(min_gain, gain[best])
    return entered


@helper
def tie_order(fill, slot, by_fill, count):
    """Return the vertices in order of discovery, or first those in the list `fill`, in its order."""
    key = np.arange(count)
    if by_fill:
        key += fill.size
        for p in range(fill.size):
            if fill[p] < 0:
                break
            if slot[fill[p]]:
                key[slot[fill[p]] - 1] = p
    return np.argsort(key)


@kernel
def answer(entered, score, vertices, fill, slot, items, scores):
    """Write the best vertices, then the other items of the list `fill` with score 0; pad the rest."""
    k = items.size
    end = min(k, entered.size)
    for p in range(end):
        items[p] = vertices[entered[p]]
        scores[p] = score[entered[p]]
    for p in range(fill.size):
        if end == k or fill[p] < 0:
            break
        if slot[fill[p]] == 0:
            items[end] = fill[p]
            scores[end] = 0
            end += 1
    items[end:] = -1
    scores[end:] = 0


@helper
def by_score(score, order):
    """Sort by score in float32, best first; ties in the given order."""
    return order[np.argsort(-score[order].astype(np.float32), kind="mergesort")]


@helper
def vertex_scratch(n):
    """Return arrays for the vertices of a graph: items, how they joined, and three of scores."""
    return np.empty(n, np.int32), np.zeros(n, np.int64), np.empty(n), np.empty(n), np.empty(n)


@helper
def edge_scratch(n):
    """Return arrays for the edges of a graph: their ends, their values, and the sizes of the graph."""
    return np.empty((n, 2), np.int64), np.empty(n, np.float64), np.zeros(2, np.int64)


@kernel
def released(start, stop, lists, fill, weights, knn, region, threshold, rounds, by_fill, slot, items, scores):
    """The released version: rank by entry sums, or by a random walk if `rounds` is not 0."""
    m = lists.shape[0]
    max_vertices = m * (1 + region * knn)
    vertices, joined, score, total, following = vertex_scratch(max_vertices)
    ends, values, sizes = edge_scratch(m * (1 + region * (knn + 1)))
    for q in range(start, stop):
        sizes[:] = 0
        for r in range(m):
            released_layers(
                q, lists[r], r, knn, region, threshold, weights[r], slot, joined, vertices, ends, values, sizes
            )
        count = sizes[0]
        order = tie_order(fill[q], slot, by_fill, count)
        if count and rounds:
            walk(ends, values, sizes, rounds, score, total, following)
            order = np.concatenate((np.zeros(1, np.int64), order[order != 0]))
        else:
            entry_sums(ends, values, sizes, score)
        answer(by_score(score[:count], order), score, vertices, fill[q], slot, items[q], scores[q])
        for i in range(count):
            slot[vertices[i]] = 0
            joined[i] = 0


@kernel
def article(
    start,
    stop,
    lists,
    jaccards,
    fill,
    weights,
    cap,
    decay,
    threshold,
    damping,
    restart,
    rounds,
    tolerance,
    by_fill,
    slot,
    items,
    scores,
):
    """The article's version: rank greedily, or by PageRank if `rounds` is not 0."""
    m = lists.shape[0]
    max_vertices = m * cap
    vertices, joined, score, total, following = vertex_scratch(max_vertices)
    queue, hops = np.empty(cap, np.int64), np.empty(cap, np.int64)
    ends, values, sizes = edge_scratch(max_vertices * lists.shape[2])
    for q in range(start, stop):
        sizes[:] = 0
        for r in range(m):
            article_growth(
                q,
                lists[r],
                jaccards[r],
                r,
                cap,
                decay,
                threshold,
                weights[r],
                slot,
                joined,
                queue,
                hops,
                vertices,
                ends,
                values,
                sizes,
            )
        count = sizes[0]
        order = tie_order(fill[q], slot, by_fill, count)
        entered = order
        if count and rounds:
            page_rank(ends, values, sizes, damping, restart, rounds, tolerance, score, total, following)
            entered = by_score(score[:count], order)
        elif count:
            entered = greedy(ends, values, sizes, order, score, total)
        answer(entered, score, vertices, fill[q], slot, items[q], scores[q])
        for i in range(count):
            slot[vertices[i]] = 0
            joined[i] = 0
