"""Scores of the vertices of a query's graph, and their ranking: sums, random walks, greedy."""

from typing import NamedTuple

import numpy as np

from rankloom._kernels.jit import helper
from rankloom._kernels.sorting import copy_first

TOLERANCE = 1e-8  # PageRank stops when the total change of the probabilities is smaller


class Scores(NamedTuple):
    """The scores of vertices, and scratch to compute them."""

    score: np.ndarray
    total: np.ndarray
    following: np.ndarray


@helper
def scores_scratch(n):
    """Return scratch to score n vertices."""
    return Scores(np.empty(n, np.float64), np.empty(n, np.float64), np.empty(n, np.float64))


@helper
def entry_sums(graph, score):
    """Score each vertex by the sum of its entries."""
    ends, values, sizes = graph.ends, graph.values, graph.sizes
    score[: sizes[0]] = 0
    for entry in range(sizes[1]):
        score[ends[entry, 0]] += values[entry]


@helper
def walk(rounds, graph, scores):
    """Score by a random walk from a uniform start, without damping; then put the query first."""
    ends, values = graph.ends, graph.values
    score, total, following = scores
    count, entries = graph.sizes[0], graph.sizes[1]
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
def page_rank(rules, graph, scores):
    """Score by a random walk on undirected edges that returns to the query with probability (1 - damping) * restart."""
    ends, values = graph.ends, graph.values
    score, total, following = scores
    count, entries = graph.sizes[0], graph.sizes[1]
    damping, restart = rules.damping, rules.restart
    if count == 1:
        score[0] = 1.0
        return
    total[:count] = 0
    for entry in range(entries):
        total[ends[entry, 0]] += values[entry]
        total[ends[entry, 1]] += values[entry]
    score[:count] = (1 - restart) / (count - 1)
    score[0] = restart
    for _ in range(rules.rounds):
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
        if change < TOLERANCE:
            break


@helper
def adjacency(graph):
    """Return the edges of each vertex, in both directions: pointers, other ends, weights."""
    ends, values = graph.ends, graph.values
    count, entries = graph.sizes[0], graph.sizes[1]
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
def greedy(order, graph, scores):
    """Rank vertices greedily: next comes the one with the heaviest edges to those already ranked, ties as in `order`.

    The score is the smallest gain so far, so that it never increases; that of the query is the sum of its edges.
    """
    score, gain, _ = scores
    count = graph.sizes[0]
    ptr, others, weights = adjacency(graph)
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
def by_score(score, order):
    """Sort by score in float32, best first; ties in the given order."""
    return order[np.argsort(-score[order].astype(np.float32), kind="mergesort")]
