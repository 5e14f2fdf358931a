"""The graph of one query, grown from reciprocal neighbors, and the order of its vertices.

A graph is a list of vertices in the order met and a list of entries (from, to, weight) that name them by that order.
`slot` is scratch of zeros, one for each item: the place of a vertex in the order met, from 1. It is left as it was.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def vertex(item, slot, vertices, count):
    """Place of an item among the vertices, new ones at the end; and how many there are."""
    if slot[item] == 0:
        vertices[count] = item
        count += 1
        slot[item] = count
    return np.int64(slot[item]) - 1, count


@njit(cache=True, nogil=True)
def listed(item, row, places):
    """Whether a list has the item among its first places."""
    for place in range(min(places, row.size)):
        if row[place] < 0:
            break
        if row[place] == item:
            return True
    return False


@njit(cache=True, nogil=True)
def released_layers(q, lists, ranker, knn, region, threshold, weight, slot, joined, vertices, ends, values, sizes):
    """Add one ranker's two layers around q to the graph; `joined` says which vertices this ranker has met."""
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
    for place in range(1, min(region + 1, own.size)):
        item = own[place]
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
        for place in range(min(knn, row.size)):
            if row[place] < 0:
                break
            size += 1
            if slot[row[place]] and joined[slot[row[place]] - 1] == mark:
                shared += 1
        jaccard = np.float64(shared) / (size + members - shared)
        if jaccard > threshold:
            for place in range(1, size):
                other, count = vertex(row[place], slot, vertices, count)
                if joined[other] != mark:
                    joined[other] = mark
                    members += 1
                ends[entries, 0], ends[entries, 1], values[entries] = other, near, weight * jaccard
                entries += 1
    sizes[0], sizes[1] = count, entries


@njit(cache=True, nogil=True)
def reciprocal(start, stop, lists, ordered, out):
    """Jaccard similarity of the neighborhoods of i and of each neighbor that has i for a neighbor, else 0."""
    knn = lists.shape[1]
    for i in range(start, stop):
        for place in range(knn):
            j = lists[i, place]
            out[i, place] = 0
            if j < 0 or j == i or not listed(i, lists[j], knn):
                continue
            shared = a = b = 0
            while a < knn and b < knn:  # ordered rows; padding comes first
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
            out[i, place] = np.float64(shared) / (sizes - shared)


@njit(cache=True, nogil=True)
def article_growth(
    q, lists, jaccards, ranker, cap, decay, threshold, weight, slot, joined, queue, hops, vertices, ends, values, sizes
):
    """Add one ranker's reciprocal neighbors of q, theirs, and so on to the graph; each edge once."""
    if lists.shape[1] == 0 or lists[q, 0] < 0:
        return
    count, entries = sizes[0], sizes[1]
    first = ranker * cap  # marks in `joined` grow: mark - first is the order in which this ranker met a vertex
    center, count = vertex(q, slot, vertices, count)
    joined[center] = first + 1
    queue[0] = center
    hops[0] = 0
    head, tail = 0, 1
    while head < tail:
        near = queue[head]
        item = vertices[near]
        for place in range(lists.shape[1]):
            if jaccards[item, place] == 0:
                continue
            other = lists[item, place]
            known = slot[other] != 0 and joined[slot[other] - 1] > first
            met = joined[slot[other] - 1] - first - 1 if known else tail
            if met < head or (not known and tail == cap):
                continue
            hop = hops[met] if known else hops[head] + 1
            value = decay**hop * jaccards[item, place]
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


@njit(cache=True, nogil=True)
def entry_sums(ends, values, sizes, score):
    """Each vertex by the sum of its entries."""
    score[: sizes[0]] = 0
    for entry in range(sizes[1]):
        score[ends[entry, 0]] += values[entry]


@njit(cache=True, nogil=True)
def walk(ends, values, sizes, rounds, score, total, following):
    """Walk along entries from everywhere alike, without damping; then the query first."""
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
        score[:count] = following[:count]
    score[0] = score[:count].max()


@njit(cache=True, nogil=True)
def page_rank(ends, values, sizes, damping, restart, rounds, tolerance, score, total, following):
    """Walk along edges in both directions, returning to the query with probability (1 - damping) * restart."""
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


@njit(cache=True, nogil=True)
def adjacency(ends, values, sizes):
    """Edges by vertex, in both directions: pointers, other ends, weights."""
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


@njit(cache=True, nogil=True)
def greedy(ends, values, sizes, order, score, gain):
    """Vertices by when they enter: each time the one most heavily joined to those inside, ties as in `order`.

    The score is the least gain so far, so that it does not rise; the query's is the sum of its edges.
    """
    count = sizes[0]
    ptr, others, weights = adjacency(ends, values, sizes)
    gain[:count] = 0
    score[:count] = -1
    entered = np.empty(count, np.int64)
    best = np.int64(0)
    least = np.float64(0)
    for edge in range(ptr[0], ptr[1]):
        least += weights[edge]
    for step in range(count):
        entered[step] = best
        score[best] = least
        for edge in range(ptr[best], ptr[best + 1]):
            gain[others[edge]] += weights[edge]
        best = -1
        for i in range(count):
            a = order[i]
            if score[a] < 0 and (best < 0 or np.float32(gain[a]) > np.float32(gain[best])):
                best = a
        if best >= 0:
            least = min(least, gain[best])
    return entered


@njit(cache=True, nogil=True)
def tie_order(fill, slot, by_fill, count):
    """Vertices in the order met; or those in the list `fill` first, in its order."""
    key = np.arange(count)
    if by_fill:
        key += fill.size
        for place in range(fill.size):
            if fill[place] < 0:
                break
            if slot[fill[place]]:
                key[slot[fill[place]] - 1] = place
    return np.argsort(key)


@njit(cache=True, nogil=True)
def answer(entered, score, vertices, fill, slot, items, scores):
    """Write the best vertices, then items of the list `fill` that are none, with score 0; the rest is padding."""
    k = items.size
    end = min(k, entered.size)
    for place in range(end):
        items[place] = vertices[entered[place]]
        scores[place] = score[entered[place]]
    for place in range(fill.size):
        if end == k or fill[place] < 0:
            break
        if slot[fill[place]] == 0:
            items[end] = fill[place]
            scores[end] = 0
            end += 1
    items[end:] = -1
    scores[end:] = 0


@njit(cache=True, nogil=True)
def by_score(score, order):
    """Best first, as far as float32 tells them apart; ties in the order given."""
    return order[np.argsort(-score[order].astype(np.float32), kind="mergesort")]


@njit(cache=True, nogil=True)
def released(start, stop, lists, fill, weights, knn, region, threshold, rounds, by_fill, slot, items, scores):
    """Rows start to stop of the released version; by entry sums, or by a walk of so many rounds where that is not 0."""
    m = lists.shape[0]
    most = m * (1 + region * knn)
    vertices = np.empty(most, np.int32)
    joined = np.zeros(most, np.int64)
    ends = np.empty((m * (1 + region * (knn + 1)), 2), np.int64)
    values = np.empty(len(ends), np.float64)
    score, total, following = np.empty(most), np.empty(most), np.empty(most)
    sizes = np.zeros(2, np.int64)
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


@njit(cache=True, nogil=True)
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
    """Rows start to stop of the article's version; greedily, or by PageRank of so many rounds where that is not 0."""
    m = lists.shape[0]
    most = m * cap
    vertices = np.empty(most, np.int32)
    joined = np.zeros(most, np.int64)
    queue, hops = np.empty(cap, np.int64), np.empty(cap, np.int64)
    ends = np.empty((most * lists.shape[2], 2), np.int64)
    values = np.empty(len(ends), np.float64)
    score, total, following = np.empty(most), np.empty(most), np.empty(most)
    sizes = np.zeros(2, np.int64)
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
