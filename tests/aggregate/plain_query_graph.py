"""Oracle for query-specific rank fusion: slow and plain, with lists, sets and dicts."""

import numpy as np


def own_lists(ranks):
    """Return the lists with every item first in its own list; empty lists stay empty."""
    rows = [[item for item in row if item >= 0] for row in ranks.items.tolist()]
    return [[i] + [item for item in row if item != i] if row else [] for i, row in enumerate(rows)]


def released_entries(lists, q, knn, region, threshold):
    """Return the entries (vertex, other, weight) in the order created."""
    if not lists[q]:
        return []
    entries = [(q, q, 1.0)]
    layer = []
    for c in lists[q][1 : 1 + region]:
        if q in lists[c][1:knn]:
            entries += [(q, c, 1.0), (c, q, 1.0)]
            layer.append(c)
    accepted = {q, *layer}
    for c in layer:
        near = set(lists[c][:knn])
        jaccard = len(near & accepted) / len(near | accepted)
        if jaccard > threshold:
            entries += [(x, c, jaccard) for x in lists[c][1:knn]]
            accepted.update(lists[c][:knn])
    return entries


def article_edges(lists, q, knn, cap, decay, threshold):
    """Return the vertices in order of appearance, and {frozenset of two: weight}."""
    if not lists[q]:
        return [], {}
    near = [set(row[:knn]) for row in lists]

    def weight(i, j, hop):
        return decay**hop * len(near[i] & near[j]) / len(near[i] | near[j])

    hops = {q: 0}
    for i in hops_in_order(hops):
        for j in lists[i][:knn]:
            fits = i in near[j] and weight(i, j, hops[i] + 1) >= threshold
            if j not in hops and fits and len(hops) < cap:
                hops[j] = hops[i] + 1
    edges = {}
    for i in hops:
        for j in hops:
            if i != j and j in near[i] and i in near[j]:
                value = weight(i, j, max(hops[i], hops[j]))
                if value >= threshold:
                    edges[frozenset((i, j))] = value
    return list(hops), edges


def hops_in_order(hops):
    """Yield the vertices of a dict that grows meanwhile."""
    done = 0
    while done < len(hops):
        yield list(hops)[done]
        done += 1


def united(parts, weights):
    """Sum the dicts of several rankers."""
    total = {}
    for part, weight in zip(parts, weights, strict=True):
        for key, value in part.items():
            total[key] = total.get(key, 0.0) + weight * value
    return total


def walk(vertices, entries, rounds):
    """Return {vertex: probability} after some steps of an undamped walk; entries are {(from, to): weight}."""
    sums = {v: sum(w for (a, b), w in entries.items() if a == v and b != v) for v in vertices}
    p = dict.fromkeys(vertices, 1 / len(vertices))
    for _ in range(rounds):
        p = {
            v: sum(p[a] * w / sums[a] for (a, b), w in entries.items() if b == v and a != v and sums[a])
            for v in vertices
        }
    return p


def page_rank(vertices, edges, q, damping, restart):
    """Return {vertex: probability}, by solving the linear system."""
    if len(vertices) == 1:
        return {q: 1.0}
    number = {v: i for i, v in enumerate(vertices)}
    P = np.zeros((len(vertices), len(vertices)))
    for pair, w in edges.items():
        a, b = (number[v] for v in pair)
        P[a, b] = P[b, a] = w
    P /= P.sum(1, keepdims=True)
    v = np.full(len(vertices), (1 - restart) / (len(vertices) - 1))
    v[number[q]] = restart
    return dict(zip(vertices, np.linalg.solve(np.eye(len(v)) - damping * P.T, (1 - damping) * v), strict=True))


def greedy(vertices, edges, q):
    """Return [(vertex, score)] in the order chosen."""

    def total_weight(v, inside):
        return sum(w for pair, w in edges.items() if v in pair and pair - {v} <= inside)

    score = total_weight(q, set(vertices))
    out = [(q, score)]
    inside = {q}
    while len(inside) < len(vertices):
        best = max((v for v in vertices if v not in inside), key=lambda v: np.float32(total_weight(v, inside)))
        score = min(score, total_weight(best, inside))
        out.append((best, score))
        inside.add(best)
    return out
