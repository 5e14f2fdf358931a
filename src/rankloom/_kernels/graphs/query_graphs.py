"""The graph of one query, grown from reciprocal neighbors; `vertex_scores` ranks its vertices.

A graph is a list of vertices, in order of discovery, and a list of entries (from, to, weight) that refer to vertices by
index. `slot` is scratch of zeros, one for each item: the index of a vertex plus 1. Kernels clear it before returning.
"""

from typing import NamedTuple

import numpy as np

from rankloom._kernels.graphs.vertex_scores import by_score, entry_sums, greedy, page_rank, scores_scratch, walk
from rankloom._kernels.jit import helper, kernel
from rankloom._kernels.lists import length_of
from rankloom._kernels.sparse_rows import clear


class Rankers(NamedTuple):
    """The lists of several rankers, the similarities of neighborhoods along them, and the weights of the rankers."""

    lists: np.ndarray  # (rankers, n, width)
    jaccards: np.ndarray  # as the lists; empty for the released version
    weights: np.ndarray


class Released(NamedTuple):
    """The options of the released version; it walks if `rounds` is not 0."""

    neighbors: int
    region: int
    threshold: float
    rounds: int
    by_fill: bool  # equal scores are in the order of the list that fills the answer


class Article(NamedTuple):
    """The options of the article's version; it computes PageRank if `rounds` is not 0."""

    vertices: int
    decay: float
    threshold: float
    damping: float
    restart: float
    rounds: int
    by_fill: bool


class Graph(NamedTuple):
    """The graph of one query, and scratch to grow it."""

    slot: np.ndarray
    vertices: np.ndarray
    joined: np.ndarray  # marks of the rankers that have reached a vertex
    ends: np.ndarray
    values: np.ndarray
    sizes: np.ndarray  # the number of vertices, and of entries
    queue: np.ndarray  # vertices in the order reached
    hops: np.ndarray  # of the vertices in the queue


@helper
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
    for other in row[:depth]:  # noqa: SIM110 (numba)
        if other == item:
            return True
    return False


@helper
def released_layers(q, lists, ranker, weight, rules, graph):
    """Add the two layers of one ranker around q to the graph; `joined` marks the vertices this ranker has reached."""
    slot, vertices, joined, ends, values, sizes, _, _ = graph
    knn = rules.neighbors
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
    for p in range(1, length_of(own[: rules.region + 1])):
        item = own[p]
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
        size, shared = length_of(row[:knn]), 0
        for p in range(size):
            if slot[row[p]] and joined[slot[row[p]] - 1] == mark:
                shared += 1
        jaccard = np.float64(shared) / (size + members - shared)
        if jaccard > rules.threshold:
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
def article_growth(q, lists, jaccards, ranker, weight, rules, graph):
    """Add one ranker's reciprocal neighbors of q, their reciprocal neighbors and so on; each edge once."""
    if lists.shape[1] == 0 or lists[q, 0] < 0:
        return
    slot, vertices, joined, ends, values, sizes, queue, hops = graph
    cap = rules.vertices
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
            value = rules.decay**hop * jaccards[item, p]
            if value < rules.threshold:
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
def tie_order(fill, by_fill, graph):
    """Return the vertices in order of discovery, or first those in the list `fill`, in its order."""
    slot = graph.slot
    key = np.arange(graph.sizes[0])
    if by_fill:
        key += fill.size
        for p in range(length_of(fill)):
            if slot[fill[p]]:
                key[slot[fill[p]] - 1] = p
    return np.argsort(key)


@helper
def answer(entered, score, fill, graph, items, scores):
    """Write the best vertices, then the other items of the list `fill` with score 0; pad the rest; clear the graph."""
    slot, vertices, count = graph.slot, graph.vertices, graph.sizes[0]
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
    clear(vertices[:count], slot)
    graph.joined[:count] = 0
    graph.sizes[:] = 0


@helper
def empty_graph(slot, max_vertices, max_edges, max_queue):
    """Return a graph without vertices."""
    vertices, joined = np.empty(max_vertices, np.int32), np.zeros(max_vertices, np.int64)
    ends, values = np.empty((max_edges, 2), np.int64), np.empty(max_edges, np.float64)
    queue, hops = np.empty(max_queue, np.int64), np.empty(max_queue, np.int64)
    return Graph(slot, vertices, joined, ends, values, np.zeros(2, np.int64), queue, hops)


@kernel
def released(start, stop, rankers, fill, rules, slot, out):
    """The released version: rank by entry sums, or by a random walk if `rounds` is not 0."""
    lists, _, weights = rankers
    m = lists.shape[0]
    max_vertices = m * (1 + rules.region * rules.neighbors)
    graph = empty_graph(slot, max_vertices, m * (1 + rules.region * (rules.neighbors + 1)), 0)
    scores = scores_scratch(max_vertices)
    for q in range(start, stop):
        for r in range(m):
            released_layers(q, lists[r], r, weights[r], rules, graph)
        count = graph.sizes[0]
        order = tie_order(fill[q], rules.by_fill, graph)
        if count and rules.rounds:
            walk(rules.rounds, graph, scores)
            order = np.concatenate((np.zeros(1, np.int64), order[order != 0]))
        else:
            entry_sums(graph, scores.score)
        entered = by_score(scores.score[:count], order)
        answer(entered, scores.score, fill[q], graph, out.items[q], out.scores[q])


@kernel
def article(start, stop, rankers, fill, rules, slot, out):
    """The article's version: rank greedily, or by PageRank if `rounds` is not 0."""
    lists, jaccards, weights = rankers
    m, _, width = lists.shape
    max_vertices = m * rules.vertices
    graph = empty_graph(slot, max_vertices, max_vertices * width, rules.vertices)
    scores = scores_scratch(max_vertices)
    for q in range(start, stop):
        for r in range(m):
            article_growth(q, lists[r], jaccards[r], r, weights[r], rules, graph)
        count = graph.sizes[0]
        entered = tie_order(fill[q], rules.by_fill, graph)
        if count and rules.rounds:
            page_rank(rules, graph, scores)
            entered = by_score(scores.score[:count], entered)
        elif count:
            entered = greedy(entered, graph, scores)
        answer(entered, scores.score, fill[q], graph, out.items[q], out.scores[q])
