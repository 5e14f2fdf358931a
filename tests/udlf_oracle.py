"""Oracle for the methods of the UDLF family: dense matrices over small collections, written from their descriptions.

Lists are lists of item numbers, best first; row i is the list of item i, and starts with it. Answers are lists of
(item, score), best first; the scores are sorted, the item itself is swapped into the first position.
"""

from itertools import combinations, product
from math import log

import numpy as np


def prepared(rankers, depth):
    """Cut the lists of the rankers that have any, the item itself first."""
    rankers = [lists for lists in rankers if any(lists)] or rankers[:1]
    return [[([i] + [j for j in row if j != i])[:depth] if row else [] for i, row in enumerate(ls)] for ls in rankers]


def length(rankers):
    return max((len(row) for lists in rankers for row in lists), default=0)


def swapped(i, row):
    row = list(row)
    if i in row:
        here = row.index(i)
        row[0], row[here] = row[here], row[0]
    return row


def reranked(lists, M, fixed=0):
    """Sort each list by its row of a matrix, highest first, and swap the item itself to the front."""
    return [swapped(i, row[:fixed] + sorted(row[fixed:], key=lambda j: -M[i, j])) for i, row in enumerate(lists)]


def answers(lists, M, fixed=0):
    """Return the lists sorted as in `reranked`, with the sorted scores."""
    out = []
    for i, row in enumerate(reranked(lists, M, fixed)):
        out.append(list(zip(row, sorted((M[i, j] for j in row), reverse=True), strict=True)))
    return out


def both(lists, share, base=None):
    """Return the base plus the shares of both positions of each pair."""
    n = len(lists)
    M = np.zeros((n, n)) if base is None else base.copy()
    for i, row in enumerate(lists):
        for p, j in enumerate(row):
            M[i, j] += share(p)
            M[j, i] += share(p)
    return M


def union(rows):
    return list(dict.fromkeys(item for row in rows for item in row))


# CPRR


def products(lists, k):
    n = len(lists)
    S = np.zeros((n, n))
    referring = [[] for _ in range(n)]
    for q, row in enumerate(lists):
        weights = [(a, k - p) for p, a in enumerate(row[:k])]
        for (a, x), (b, y) in product(weights, repeat=2):
            S[a, b] += 2 * x * y
        for a, x in weights[1:]:
            referring[a].append((q, x))
    for references in referring:
        for (a, x), (b, y) in product(references, repeat=2):
            S[a, b] += 2 * x * y
    return S


def zeroed(lists, M):
    M = M.copy()
    for i, row in enumerate(lists):
        M[i, row] = 0
    return M


def cprr(rankers, neighbors=20, depth=400, iterations=2):
    rankers = prepared(rankers, depth)
    n, L = len(rankers[0]), length(rankers)
    total = np.zeros((n, n))
    for lists in rankers:
        M = both(lists, lambda p: L - p)
        for _ in range(iterations):
            lists = reranked(lists, M)
            M = zeroed(lists, M) + products(lists, neighbors)
        total += M
    if len(rankers) == 1:
        return answers(lists, M)
    lists = [row[:L] for row in reranked([union(ls[i] for ls in rankers) for i in range(n)], total)]
    lists = reranked(lists, total + products(lists, neighbors))
    return answers(lists, products(lists, neighbors))


# LHRR


def hypergraph(lists, k):
    n = len(lists)
    H = np.zeros((n, n))
    w = [1 - log(p) / log(k) for p in range(1, k + 1)]
    members = [set() for _ in range(n)]
    for i, row in enumerate(lists):
        if row:
            H[i, i] = 1
        for o, x in enumerate(row[:k]):
            for p, j in enumerate(lists[x][:k]):
                H[i, j] += w[o] * w[p]
                members[i].add(j)
    return H, np.sort(H, axis=1)[:, ::-1][:, :k].sum(axis=1), members


def lhrr_run(lists, k, rounds, base, L):
    lists = reranked(lists, both(lists, lambda p: L - p, base), fixed=1)
    n = len(lists)
    for _ in range(rounds):
        H, confidence, members = hypergraph(lists, k)
        first = (1 + (H.T * confidence) @ H).astype(np.float32)  # so that symmetric ties stay ties
        S = first * (H @ H.T) * (H.T @ H.T)
        value = np.where(np.eye(n) > 0, first, S).astype(np.float32)
        shared = [set().union(*(members[e] for e in range(n) if i in members[e])) for i in range(n)]
        before = reranked(lists, value, fixed=1)
        out = []
        for i, row in enumerate(before):
            others = sorted((j for j in shared[i] if j not in row), key=lambda j: (-first[i, j], j))
            joined, scores = [], []
            for p in range(len(row)):
                if p and others and first[i, others[0]] > value[i, row[p]]:
                    joined.append(others.pop(0))
                    scores.append(first[i, joined[-1]])
                else:
                    joined.append(row[p - sum(j not in row for j in joined)])
                    scores.append(value[i, joined[-1]])
            out.append(list(zip(joined, scores, strict=True)))
        lists = [[j for j, _ in row] for row in out]
    return lists, out, confidence


def lhrr(rankers, neighbors=18, depth=1400, iterations=2):
    rankers = prepared(rankers, depth)
    n, L = len(rankers[0]), length(rankers)
    runs = [lhrr_run(lists, neighbors, iterations, None, L) for lists in rankers]
    out = runs[0][1]
    if len(rankers) > 1:
        total = np.zeros((n, n), np.float32)
        for lists, _, confidence in runs:
            for i, row in enumerate(lists):
                for p, j in enumerate(row):
                    total[i, j] = float(total[i, j]) + log(L + 2) / log(p + 2) * (confidence[i] + 1)
        pools = [union(lists[i] for lists, _, _ in runs) for i in range(n)]
        lists = [row[:L] for row in reranked(pools, total)]
        out = lhrr_run(lists, neighbors, 1, total, L)[1]
    lowest = []
    for row in out:
        scores = [s for _, s in row]
        if len(scores) > 1:
            scores[0] = max(scores[:2])
        lowest.append([(j, s) for (j, _), s in zip(row, np.minimum.accumulate(scores), strict=True)] if row else [])
    return lowest


# BFSTree


def overlap(one, other, k, p):
    return (1 - p) * sum(p ** (d - 1) * len(set(one[:d]) & set(other[:d])) / d for d in range(1, k + 1))


def bfstree(lists, neighbors=20, depth=1400, p=0.7):
    lists = prepared([lists], depth)[0]
    n, L, k = len(lists), length([lists]), neighbors
    M = both(lists, lambda q: L - q)
    lists = reranked(lists, M)
    for i, row in enumerate(lists):
        for q, j in enumerate(row):
            M[i, j] = min(M[i, j], L - q)
            M[j, i] = min(M[j, i], L - q)
    lists = reranked(lists, M)
    W = np.zeros((n, n))
    for row in lists:
        C, D = np.zeros(n), np.zeros(n)
        for a in row[:k]:
            C[a] = overlap(row, lists[a], k, p)
        for a in row[1:k]:
            for b in lists[a][1:k]:
                D[b] += C[a] * overlap(lists[a], lists[b], k, p)
        W += np.outer(C, C) + np.outer(D, D) + np.outer(C, D)
    W /= 1 + W.sum(axis=0)
    V = np.zeros((n, n))
    for i, row in enumerate(lists):
        for j in row:
            V[i, j] = sum(W[i, m] * W[j, m] for m in row)
    return answers(lists, V / (1 + V.sum(axis=0)))


# RDPAC


def diffused(lists, k, L, iterations, p, damping):
    n = len(lists)
    W, heads = np.zeros((n, n)), np.zeros((n, n))
    for i, row in enumerate(lists):
        for q, j in enumerate(row[:k]):
            W[i, j] = p ** (q + 1)
        heads[i, row[:L]] = 1
    whole = np.maximum(W.sum(axis=0), 1e-300)
    P, W = W, W / whole
    for _ in range(iterations):
        P = P / np.maximum(P.sum(axis=0), 1e-300)
        P = heads * (damping * (P @ W.T) + (1 - damping) * np.eye(n))
    P = P / np.maximum(P.sum(axis=0), 1e-300)
    Q = P @ P
    for i, row in enumerate(lists):
        Q[i, [j for j in range(n) if j not in row]] = 0
    for q in range(max(map(len, lists))):  # position by position: later ones see the new values of earlier ones
        new = {(i, row[q]): P[i] @ Q[:, row[q]] for i, row in enumerate(lists) if q < len(row)}
        for cell, value in new.items():
            Q[cell] = value
    return Q


def rdpac(rankers, neighbors=15, depth=400, iterations=15, p=0.6, u=0.99, damping=0.95, widening=2, pool="last"):
    n = len(rankers[0])
    L = min(depth, max(1, n // widening))
    rankers = prepared(rankers, widening * L)
    width = length(rankers)

    def share(q):
        return u ** (q + 1) if q < L else 0.0

    def run(lists):
        return diffused(lists, min(neighbors, L), L, iterations, p, damping)

    lists, base = rankers[0], None
    if len(rankers) > 1:
        rankers = [reranked(lists, both(lists, share)) for lists in rankers]
        base = np.zeros((n, n))
        for lists in rankers:
            Q = run(lists)
            for i, row in enumerate(lists):
                for q, j in enumerate(row):
                    base[i, j] += 1 + (share(q) if q < L else Q[i, j])
        pools = rankers[-1] if pool == "last" else [union(ls[i] for ls in rankers) for i in range(n)]
        lists = [row[:width] for row in reranked(pools, base)]
    lists = reranked(lists, both(lists, share, base))
    return answers(lists, run(lists))


# RL-Sim


def position_distances(lists, absent):
    D = np.full((len(lists), len(lists)), float(absent))
    for i, row in enumerate(lists):
        D[i, row] = range(len(row))
    return D


def list_similarity(lists, i, j, k, measure):
    """Return a measure of the first k items of two lists; the others are over all items that are first in either."""
    one, other, n = lists[i], lists[j], len(lists)

    def jaccard(d):
        return len(set(one[:d]) & set(other[:d])) / (2 * d - len(set(one[:d]) & set(other[:d])))

    if measure in ("rbo", "jaccard", "jaccard_k"):
        means = {"jaccard": lambda: jaccard(k), "jaccard_k": lambda: sum(map(jaccard, range(1, k + 1))) / k}
        return overlap(one, other, k, 0.9) if measure == "rbo" else means[measure]()
    if not set(one[:k]) & set(other[:k]):
        return 0
    L = max(length([lists]), k)
    a, b = ({x: row.index(x) if x in row else L for x in union([one[:k], other[:k]])} for row in (one, other))
    if measure == "spearman":
        return 1 / (1 + sum(abs(a[x] - b[x]) for x in a) / (2 * k * n))
    pairs = list(combinations(a, 2))
    apart = [(x, y) for x, y in pairs if (a[x] >= a[y]) != (b[x] >= b[y])]
    if measure == "goodman":
        return ((len(pairs) - 2 * len(apart)) / len(pairs) + 1) / 2
    if measure == "kendall_tau":
        return 1 / (1 + len(apart) / (k * (k - 1)))
    weights = [0.8 ** min(a[x], a[y], b[x], b[y]) * min(2, (abs(a[x] - a[y]) + abs(b[x] - b[y])) / k) for x, y in apart]
    return 1 / (1 + sum(weights) / (2 * k * (k - 1)))


def rlsim_udl(lists, neighbors=15, depth=700, iterations=3, D=None, measure="intersection"):
    """One ranker, or the fused lists with their distances."""
    D = position_distances(lists, 0) if D is None else D

    def near(i, j, k):
        if measure != "intersection":
            return list_similarity(lists, i, j, k, measure)
        return sum(len(set(lists[i][:d]) & set(lists[j][:d])) for d in range(2, k + 1)) / (k * (k + 1) / 2)

    for k in range(neighbors, neighbors + iterations):
        N = np.full(D.shape, np.inf)
        for i, row in enumerate(lists):
            for q, j in enumerate(row):
                s = near(i, j, k) if i != j else 0
                N[i, j] = 0 if i == j else D[i, j] + 2 if q > depth else 1 / (1 + s) if s else D[i, j] + 1
        D = np.minimum(N, N.T)
        lists = reranked(lists, -D)
    return answers(lists, -D)


def geometric_mean(rankers):
    """Return the union of the lists by item number, and the fused distances."""
    L, n = length(rankers), len(rankers[0])
    F = np.prod([1 + position_distances(lists, L) for lists in rankers], axis=0) ** (1 / len(rankers))
    return [sorted(union(lists[i] for lists in rankers)) for i in range(n)], F


# ContextRR


def context_image(D, ours, theirs, side):
    """Return the smoothed black and white image: True is black."""
    image = D[np.ix_(ours[:side], theirs[:side])].astype(np.float32)  # shades are cut to whole numbers
    second = image[1, 1:]
    if not second.size or second.max() == 0:
        return np.zeros(image.shape, bool)
    shades = image / second.max() * np.float32(255)
    white = shades.astype(int) > int(second.mean() / second.max() * np.float32(255))
    for a in range(1, image.shape[0] - 1):
        for b in range(1, image.shape[1] - 1):
            white[a, b] = white[a - 1 : a + 2, b - 1 : b + 2].sum() >= 4
    return ~white


def context_weights(D, lists, k, side, W):
    corner = int(np.sqrt(2 * side * side))
    for i, row in enumerate(lists):
        for o, j in enumerate(row[1 : k + 1]):
            for a, b in np.argwhere(context_image(D, row, lists[j], side)):
                x, y = row[a], lists[j][b]
                amount = (k - o) * corner / np.hypot(a + 1, b + 1)
                W[x, y] += amount
                for cell in ((i, x), (i, y), (j, x), (j, y)):
                    W[cell] += amount / 4


def contextrr(rankers, neighbors=7, depth=25, iterations=5):
    """Whole lists only, with distances by position."""
    n = len(rankers[0])
    matrices = [position_distances(lists, n) for lists in rankers]
    D, lists, largest = matrices[-1], rankers[-1], n - 1
    for _ in range(iterations):
        W = np.ones((n, n))
        for matrix, rows in zip(matrices, rankers, strict=True):
            context_weights(matrix, rows, neighbors, depth, W)
        D = np.where(W == 1, 1 + D / largest, 2 / W)
        np.fill_diagonal(D, 0)
        D = np.minimum(D, D.T)
        lists = reranked(lists, -D)
        matrices, rankers, largest = [D], [lists], 2
    return answers(lists, -D)


# ReckNNGraph


def set_scores(lists, k):
    """Return {(i, s): the share of pairs in the first s of i of which one lists the other}."""
    scores = {}
    for i, row in enumerate(lists):
        for s in range(2, k + 1):
            members = set(row[:s])
            scores[i, s] = sum(len(set(lists[a][:s]) & members) for a in members) / s**2
    return scores


def set_distances(lists, scores, L):
    n = len(lists)
    W = np.zeros((n, n), np.float32)
    for (i, s), score in scores.items():
        for a, b in product(lists[i][:s], repeat=2):
            W[a, b] += np.float32(score**2)
    P = (position_distances(lists, L - 1) + 1).astype(np.float32)  # so that ties are those of the program
    return np.where(W > 0, np.maximum(P, P.T) / np.float32(max(L, 1)) / (1 + W), P), W > 0


def recknngraph(rankers, neighbors=15, depth=200, epsilon=0.0125):
    rankers = prepared(rankers, depth)
    n, L = len(rankers[0]), length(rankers)
    before, k = 0.0, neighbors
    while True:
        order, F, shared = None, np.float32(1), np.zeros((n, n), bool)
        for lists in rankers:
            scores = set_scores(lists, k)
            D, sharing = set_distances(lists, scores, L)
            order = (
                lists if len(rankers) == 1 else sorted_by_distance(lists, D, [set(row) for row in lists], sharing, L)
            )
            F, shared = F * D, shared | sharing
        listed = [set().union(*(lists[i] for lists in rankers)) for i in range(n)]
        rankers = [sorted_by_distance(order, F, listed, shared, L)]
        now = sum(scores.values()) / max(1, k * n)
        k += 1
        if now - before <= epsilon:
            return [[(j, 0.0 if i == j else -F[i, j]) for j in row] for i, row in enumerate(rankers[0])]
        before = now


def sorted_by_distance(order, D, listed, shared, L):
    out = []
    for i, row in enumerate(order):
        others = sorted((listed[i] | set(np.flatnonzero(shared[i]).tolist())) - set(row)) if row else []
        out.append(sorted(row + others, key=lambda j: (j != i, D[i, j]))[:L])
    return out


# RL-Recom


def rlrecom(lists, neighbors=8, depth=400, strength=2.0, epsilon=0.0125):
    lists = prepared([lists], depth)[0]
    n, L, k, mean = len(lists), length([lists]), neighbors, 0.0
    D = 2 * L - both(lists, lambda p: L - p)
    while True:
        cohesion = []
        for row in lists:
            near = row[1 : k + 1]
            found = sum(1 / (p + 1) for x in near for p, y in enumerate(lists[x][:k]) if p and y in near)
            cohesion.append(found / (k * sum(1 / p for p in range(2, k + 1))) if k > 1 else 0.0)
        before, mean = mean, (mean + sum(cohesion)) / n
        for row, c in zip(lists, cohesion, strict=True):
            w = [1 - (p + 1) / (k + 1) for p in range(k + 1)]
            for (p, a), (q, b) in product(enumerate(row[: k + 1]), repeat=2):
                D[a, b] *= 1 - min(1, strength * c * w[p] * w[q])
        lists = reranked(lists, -D)
        k += 1
        if mean * epsilon > mean - before or mean == before:
            return [[(j, -D[i, j]) for j in row] for i, row in enumerate(lists)]


# RFE


def rank_flow(lists, k):
    n = len(lists)
    w = np.zeros((n, n))
    for i, row in enumerate(lists):
        for p, j in enumerate(row[:k]):
            w[i, j] = 1 - log(p + 1) / log(k)
    e = w + w @ w
    E = e * e.T
    c = np.sort(E, axis=1)[:, ::-1][:, :k].sum(axis=1)
    return E, c / c.max()


def extended(lists, M, L):
    """Sort lists and the other items with a value above 0."""
    more = [row + [j for j in range(len(lists)) if j not in row and M[i, j] > 0] for i, row in enumerate(lists)]
    return [row[:L] for row in reranked([m if row else [] for m, row in zip(more, lists, strict=True)], M)]


def by_both_positions(lists, k, L, slope):
    def sigma(p):
        return 1.0 if p == 1 else 1 - 1 / (1 + np.exp(-slope * (p - k // 2)))

    P = position_distances(lists, L + 1) + 1
    M = np.array([[sigma(P[i, j]) ** 2 * sigma(P[j, i]) for j in range(len(lists))] for i in range(len(lists))])
    return reranked(lists, M), M


def rfe(rankers, neighbors=20, depth=400, iterations=2, slope=0.1, components=True, edges=None):
    rankers = prepared(rankers, depth)
    n, L, k = len(rankers[0]), length(rankers), neighbors
    lists = rankers[0]
    if len(rankers) > 1:
        total = np.zeros((n, n))
        for one in rankers:
            _, M = by_both_positions(one, k, L, slope)
            for i, row in enumerate(one):
                total[i, row] += 1 + M[i, row]
        lists = [row[:L] for row in reranked([union(ls[i] for ls in rankers) for i in range(n)], total)]
    lists, _ = by_both_positions(lists, k, L, slope)
    for _ in range(iterations):
        E, _ = rank_flow(lists, k)
        lists = reranked(lists, E @ E.T / (position_distances(lists, L) + 1))
    E, c = rank_flow(lists, k)
    M = (E.T * c) @ E
    np.fill_diagonal(M, 2.0**30)
    lists = extended(lists, M, L)
    if components:
        E, c = rank_flow(lists, k)
        M = component_values(lists, E, c, k, L, c.mean() / 2 if edges is None else edges)
        lists = extended(lists, M, L)
    return [list(zip(row, sorted((M[i, j] for j in row), reverse=True), strict=True)) for i, row in enumerate(lists)]


def component_values(lists, E, c, k, L, edges):
    n = len(lists)
    pairs = [(i, j) for i, row in enumerate(lists) for j in row[:k] if j != i]
    pairs.sort(key=lambda ij: (E[ij[0]] @ E[ij[1]] * c[ij[0]] * c[ij[1]], *ij), reverse=True)
    name = list(range(n))
    for i, j in pairs[: int(np.ceil(len(pairs) * edges))]:
        kept, lost = name[i], name[j]
        name = [kept if one == lost else one for one in name]
    rows = [E[[i for i in range(n) if name[i] == one]].sum(axis=0) for one in sorted(set(name)) if name.count(one) > 1]
    D = E @ np.array(rows).reshape(-1, n).T
    M = np.zeros((n, n))
    P = position_distances(lists, L + 1) + 1
    for row in rows:
        top = sorted(np.flatnonzero(row), key=lambda j: -row[j])[:k]
        for (a, x), (b, y) in product(enumerate(top, 1), repeat=2):
            M[x, y] = (1 + np.sqrt(a * b) * (D[x] @ D[y])) / P[x, y]
    return M
