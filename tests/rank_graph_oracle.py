"""Oracle for the whole-collection graph methods: slow and plain, written from their descriptions.

Lists are lists of item numbers, best first; row i is the list of item i. Matrices are dicts by pair, 0 if absent.
Answers are lists of (item, score), best first.
"""

from collections import defaultdict
from itertools import product
from math import fsum, prod, sqrt

import networkx as nx


def position(row, item, absent):
    """Return the position of an item in a list, from 1."""
    return row.index(item) + 1 if item in row else absent


def ordered(candidates, value):
    """Sort stably, highest value first."""
    return sorted(candidates, key=lambda item: -value(item))


def rbo(one, other, k, p):
    """Return the rank-biased overlap of two lists, to depth k."""
    return (1 - p) * fsum(p ** (d - 1) * len(set(one[:d]) & set(other[:d])) / d for d in range(1, k + 1))


def union(rows):
    """Return the items of several lists in order of first appearance."""
    return list(dict.fromkeys(item for row in rows for item in row))


def with_lists(rankers):
    """Return the numbers of the rankers that have any list, or of the first one: the others change nothing."""
    return [r for r, lists in enumerate(rankers) if any(lists)] or [0]


# RkGraph


def mutual(lists, absent):
    out = []
    for i, row in enumerate(lists):
        row = ordered(row, lambda j, i=i, row=row: -(position(row, j, absent) + position(lists[j], i, absent)))
        if i in row:
            here = row.index(i)
            row[0], row[here] = row[here], row[0]
        out.append(row)
    return out


def rank_graph(lists, k, p):
    """Return the matrix A of one round."""
    A = defaultdict(float)
    for q, row in enumerate(lists):
        S = {a: rbo(row, lists[a], k, p) for a in row[: k + 1]}
        for a in row[:k]:
            A[q, a] += 2 * S[a] ** 2
            A[a, q] += 2 * S[a] ** 2
        for a, b in product(row[: k + 1], repeat=2):
            A[a, b] += 2 * S[a] * S[b]
    return A


def rkgraph(rankers, neighbors=20, iterations=1, p=0.95, depth=700, pool="union"):
    rankers = [rankers[r] for r in with_lists(rankers)]
    length = min(depth, max(len(row) for lists in rankers for row in lists))
    rankers = [mutual([row[:length] for row in lists], length + 1) for lists in rankers]
    n = len(rankers[0])
    lists = rankers[0]
    if len(rankers) > 1:
        graphs = [rank_graph(lists, neighbors, p) for lists in rankers]
        rankers = [
            [ordered(lists[i], lambda j, i=i, A=A: A[i, j]) for i in range(n)]
            for A, lists in zip(graphs, rankers, strict=True)
        ]
        pools = rankers[-1] if pool == "last" else [union(lists[i] for lists in rankers) for i in range(n)]
        lists = [
            ordered(pools[i], lambda j, i=i: -prod(1 + 1 / (1 + A[i, j]) for A in graphs))[:length] for i in range(n)
        ]
    for _ in range(iterations):
        A = rank_graph(lists, neighbors, p)
        lists = [ordered(row, lambda j, i=i, A=A: A[i, j]) for i, row in enumerate(lists)]
    return [[(j, 1 + A[i, j]) for j in row] for i, row in enumerate(lists)]


# RecKNNGraphCCs


def repositioned(lists, depth, backward_from):
    out = []
    for i, row in enumerate(lists):

        def delta(j, i=i, row=row):
            mine = position(row, j, None)
            other = position(lists[j], i, len(lists[j]) + 1) - (1 - backward_from if i != j else 0)
            return mine + other + max(mine, other)

        out.append(ordered(row[:depth], lambda j: -delta(j)) + row[depth:])
    return out


def reciprocal_graph(lists, t):
    graph = nx.Graph()
    graph.add_nodes_from(range(len(lists)))
    graph.add_edges_from((i, i) for i in range(len(lists)))
    graph.add_edges_from((i, j) for i, row in enumerate(lists) for j in row[:t] if i in lists[j][:t])
    return graph


def reciprocal_weights(lists, k):
    """Return the matrix W of one round."""
    W = defaultdict(int)
    for t in range(1, k + 1):
        graph = reciprocal_graph(lists, t)
        for group in (*(graph[i] for i in graph), *nx.connected_components(graph)):
            for a, b in product(group, repeat=2):
                W[a, b] += k - t + 1
    return W


def recknngraphccs(rankers, neighbors=15, iterations=1, depth=60, fusion="product", backward_from=1):
    n = len(rankers[0])
    rankers = [rankers[r] for r in with_lists(rankers)]
    width = max(len(row) for lists in rankers for row in lists)
    length = min(depth, width)
    for _ in range(iterations):
        rankers = [repositioned(lists, length, backward_from) for lists in rankers]
        graphs = [reciprocal_weights(lists, neighbors) for lists in rankers]

        def score(i, j, graphs=graphs):
            if fusion == "sum" and len(graphs) > 1:
                return 1 + sum(W[i, j] for W in graphs)
            return prod(1 + W[i, j] for W in graphs)

        answers = []
        for i in range(n):
            listed = union(lists[i] for lists in rankers)
            rest = [j for j in range(n) if j not in listed and score(i, j) > 1]
            answers.append([(j, score(i, j)) for j in ordered(listed + rest, lambda j, i=i: score(i, j))])
        rankers = [[[j for j, _ in row][:width] for row in answers]]
    return answers


# CorGraph


def position_distances(lists, depth):
    """Return D(i, j), and the distances of absent items."""
    D = [{j: float(column) for column, j in enumerate(row[:depth])} for row in lists]
    return D, [float(depth)] * len(lists)


def score_distances(lists, scores):
    D = [{j: s[0] - x for j, x in zip(row, s, strict=False)} for row, s in zip(lists, scores, strict=True)]
    return D, [max(row.values(), default=0.0) for row in D]


def full(D, absent):
    n = len(D)
    return [[D[i].get(j, absent[i]) for j in range(n)] for i in range(n)]


def exponent(D, order, k, depth):
    total = sum(D[j] for j in order[:depth])
    return 1 - sum(D[j] for j in order[:k]) / total if total > 0 else 1.0


def fused_distances(matrices, lists, k, depth, by):
    n = len(matrices[0])
    F = [[1.0] * n for _ in range(n)]
    for D, rows in zip(matrices, lists, strict=True):
        orders = rows if by == "positions" else [list(range(n))] * n
        e = [exponent(D[i], orders[i], k, depth) for i in range(n)]
        power = [[D[i][j] ** e[i] for j in range(n)] for i in range(n)]
        for i, j in product(range(n), repeat=2):
            F[i][j] *= 1 + max(power[i][j], power[j][i])
    return F


def pearson(x, y):
    mean_x, mean_y = fsum(x) / len(x), fsum(y) / len(y)
    xx = fsum((a - mean_x) ** 2 for a in x)
    yy = fsum((b - mean_y) ** 2 for b in y)
    if xx <= 1e-12 or yy <= 1e-12:
        return None
    return fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sqrt(xx * yy)


def correlation(D, lists, i, j, k, kind, p):
    if kind == "rbo":
        return rbo(lists[i], lists[j], k, p)
    U = sorted(set(lists[i][:k]) | set(lists[j][:k]))
    r = pearson([D[i][u] for u in U], [D[j][u] for u in U])
    return 0.0 if r is None else (r + 1) / 2


def thresholds(start, step):
    out, number = [], 0
    while start + number * step < 1 - 1e-9:
        out.append(start + number * step)
        number += 1
    return out


def correlation_weights(lists, C, levels):
    n = len(lists)
    W = defaultdict(float)
    for t in levels:
        out = [{i} | {j for j in lists[i] if j != i and C[i, j] >= t} for i in range(n)]
        graph = nx.DiGraph()
        graph.add_nodes_from(range(n))
        graph.add_edges_from((i, j) for i in range(n) for j in out[i])
        for i in range(n):
            for a in out[i]:
                W[i, a] += t
        for group in (*out, *nx.strongly_connected_components(graph)):
            for a, b in product(group, repeat=2):
                W[a, b] += t
    return W


def corgraph(
    rankers, neighbors=25, depth=200, start=0.35, step=0.005, kind="pearson", p=0.95, scores=None, by="positions"
):
    n = len(rankers[0])
    used = with_lists(rankers)
    rankers, scores = [rankers[r] for r in used], scores and [scores[r] for r in used]
    length = min(depth, max(len(row) for lists in rankers for row in lists))
    if scores is None:
        rankers = [[row[:length] for row in lists] for lists in rankers]
        known = [position_distances(lists, length) for lists in rankers]
    else:
        known = [score_distances(lists, values) for lists, values in zip(rankers, scores, strict=True)]
    matrices = [full(*one) for one in known]
    if len(rankers) > 1:
        D = fused_distances(matrices, rankers, min(neighbors, length), length, by)
        lists = []
        for i in range(n):
            listing = [j for ranker in rankers for j in range(n) if i in ranker[j]]
            pool = union([*(ranker[i] for ranker in rankers), listing])
            lists.append(ordered(pool, lambda j, i=i: -D[i][j])[:length])
    else:
        D, lists = matrices[0], [row[:length] for row in rankers[0]]
    C = {(i, j): correlation(D, lists, i, j, neighbors, kind, p) + 1e-9 for i in range(n) for j in lists[i]}
    W = correlation_weights(lists, C, thresholds(start, step))
    column = [fsum(W[i, j] for i in range(n)) for j in range(n)]
    answers = []
    for i in range(n):
        rest = [j for j in range(n) if j not in lists[i] and W[i, j] > 0]
        value = {j: W[i, j] / column[j] for j in lists[i] + rest}
        answers.append([(j, value[j]) for j in ordered(lists[i] + rest, value.get)])
    return answers
