"""A simple and slow reference implementation of the fusion-graph method, written from the paper; no code of rankloom.

Dourado, Pedronette, Torres: Unsupervised Graph-based Rank Aggregation for Improved Retrieval (2019). A ranker is
a list of lists: ranker[i] is item i's list of item numbers, best first.
"""


def position(ranked, item):
    """Return the position of `item`, from 1; one past the end if it is not listed."""
    return ranked.index(item) + 1 if item in ranked else len(ranked) + 1


def repositioned(ranker, cutoff, depth=1000, absent="first"):
    """Apply Equation 1 and cut the lists; `absent`: the position in the list of an item that has none."""
    lists = [ranked[:depth] for ranked in ranker]
    last = max(map(len, lists), default=0) + 1

    def back(i, j):
        return last if absent == "last" and not lists[j] else position(lists[j], i)

    return [eq1(ranked, [back(i, j) for j in ranked])[:cutoff] for i, ranked in enumerate(lists)]


def eq1(ranked, reciprocal):
    def delta(index):
        mine, other = index + 1, reciprocal[index]
        return mine + other + max(mine, other)

    return [ranked[index] for index in sorted(range(len(ranked)), key=delta)]


def virtual_positions(listed, scores, own_scores):
    """Return the position that an external query would take in the list of each item it lists."""
    return [1 + sum(s > mine for s in own_scores[j]) for j, mine in zip(listed, scores, strict=True)]


def rescaled(ranked):
    """1.0 for the first to 0.1 for the last, in equal steps: {item: score}."""
    if len(ranked) == 1:
        return {ranked[0]: 1.0}
    return {item: 1.0 - 0.9 * index / (len(ranked) - 1) for index, item in enumerate(ranked)}


def raw_graph(query_lists, collection):
    """Algorithm 1 without its last line; `collection[r][A]` is the normalized list of item A by ranker r."""
    vertices, edges = {}, {}
    for ranked in query_lists:
        for a, weight in rescaled(ranked).items() if ranked else ():
            vertices[a] = vertices.get(a, 0.0) + weight
    for ranked in query_lists:
        for a in ranked:
            for ranker in collection:
                for b, score in rescaled(ranker[a]).items() if ranker[a] else ():
                    if b in vertices and a != b:
                        edges[a, b] = edges.get((a, b), 0.0) + score / position(ranked, a)
    return vertices, edges


def normalized(weights, graph_norm):
    if not weights:
        return {}
    high = max(weights.values())
    low = min(weights.values()) if graph_norm == "minmax" else 0.0
    if high - low < 1e-12:  # all equal: unchanged
        return dict(weights)
    return {key: (weight - low) / (high - low) for key, weight in weights.items()}


def graph(query_lists, collection, graph_norm="max"):
    vertices, edges = raw_graph(query_lists, collection)
    return {**normalized(vertices, graph_norm), **normalized(edges, graph_norm)}  # the keys of edges are pairs


def similarity(a, b, comparator="wgu"):
    """Equations 4 and 5, as similarities."""
    common = sum(min(weight, b[key]) for key, weight in a.items() if key in b)
    size_a, size_b = sum(a.values()), sum(b.values())
    union = size_a + size_b - common if comparator == "wgu" else max(size_a, size_b)
    return common / union if union else 0.0


def share_a_vertex(a, b):
    return any(key in b for key in a if not isinstance(key, tuple))


def search(rankers, cutoff=10, reposition=True, graph_norm="max", comparator="wgu", depth=1000, absent="first"):
    """Return, for each item, {other: similarity} of all items whose graphs share a vertex with its own."""
    if reposition:
        lists = [repositioned(ranker, cutoff, depth, absent) for ranker in rankers]
    else:
        lists = [[ranked[:cutoff] for ranked in ranker] for ranker in rankers]
    n = len(rankers[0])
    graphs = [graph([ranker[i] for ranker in lists], lists, graph_norm) for i in range(n)]
    return [
        {j: similarity(graphs[i], graphs[j], comparator) for j in range(n) if share_a_vertex(graphs[i], graphs[j])}
        for i in range(n)
    ]
