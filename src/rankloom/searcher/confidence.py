"""Confidence: does a collection have anything for a text? By what its rankers' lists look like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from rankloom.errors import InputError
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Floats

DEPTH = 10  # of the lists that are compared
ROUNDS, RIDGE = 50, 1e-3  # of the fit


@dataclass(frozen=True, slots=True)
class Calibration:
    r"""How probable it is that a collection has something for a text, by the lists of some rankers.

    .. math:: p = 1 / (1 + e^{-(a + \sum_r b_r s_r + c o)})

    with the top score of each ranker, :math:`s_r`, and the mean overlap of the first 10 of any two, o.

    Examples
    --------
    >>> lists = {"bm25": Ranks([[4, 2]], [[12.0, 3.0]], n_items=5), "dense": Ranks([[4, 1]], [[0.5, 0.2]], n_items=5)}
    >>> Calibration(("bm25", "dense"), (-8.0, 0.1, 10.0, 4.0)).confidences(lists).round(2)
    array([0.2])
    """

    rankers: tuple[str, ...]
    weights: tuple[float, ...]  #: a, one for each ranker, c

    @classmethod
    def fit(cls, real: Mapping[str, Ranks], junk: Mapping[str, Ranks]) -> Calibration:
        """Return a logistic regression on the lists of real queries and of junk, both with the same weight in all."""
        rows = [features(real), features(junk)]
        truth = np.repeat([1.0, 0.0], [len(one) for one in rows])
        shares = np.repeat([0.5 / len(one) for one in rows], [len(one) for one in rows])
        found = _logistic(np.vstack(rows), truth, shares)
        return cls(tuple(real), tuple(float(f"{weight:.6g}") for weight in found))  # the same on any CPU

    @classmethod
    def restored(cls, given: Mapping[str, Any], names: Sequence[str]) -> Calibration:
        """Return a stored calibration; raise InputError if it is not one of the rankers."""
        one = cls(tuple(given["rankers"]), tuple(map(float, given["weights"])))
        fits = set(one.rankers) <= set(names) and len(one.weights) == len(one.rankers) + 2
        if not (fits and np.isfinite(one.weights).all()):
            raise InputError("the calibration does not match the rankers")
        return one

    def confidences(self, lists: Mapping[str, Ranks]) -> Floats | None:
        """Return the confidence of each query; None unless all rankers have lists with scores."""
        if any(name not in lists or lists[name].scores is None for name in self.rankers):
            return None
        rows = features({name: lists[name] for name in self.rankers})
        columns = zip(self.weights[1:], rows.T, strict=True)
        return _chance(sum((weight * column for weight, column in columns), np.full(len(rows), self.weights[0])))


#: For two rankers by their spellings, fitted on nine collections of texts: `experiments/confidence.py`.
FITTED = {("bm25", "minilm"): (-9.43, 0.0408, 15.8, 4.04), ("bm25", "static"): (-6.18, 0.0629, 9.66, 4.22)}


def fitted_calibration(spellings: Mapping[str, str | None]) -> Calibration | None:
    """Return the calibration of rankers, given their spellings by name; None if there is none."""
    names = {"bm25" if spelled == "okapi" else spelled: name for name, spelled in spellings.items()}
    known = next((pair for pair in FITTED if set(pair) <= set(names)), None)
    return None if known is None else Calibration(tuple(names[spelled] for spelled in known), FITTED[known])


def features(lists: Mapping[str, Ranks]) -> Floats:
    """Return the top score by each ranker, and the mean overlap of their first 10, in a row for each query."""
    tops = [np.zeros(r.n_queries) if r.scores is None or not r.depth else r.scores[:, 0] for r in lists.values()]
    heads = [np.where(r.items == PAD, -2 - at, r.items)[:, :DEPTH] for at, r in enumerate(lists.values())]
    shared = [(a[:, :, None] == b[:, None, :]).sum(axis=(1, 2)) / DEPTH for a, b in combinations(heads, 2)]
    return np.column_stack([*tops, np.mean(shared, axis=0) if shared else np.zeros(len(heads[0]))]).astype(np.float64)


def salads(texts: Sequence[str], queries: Sequence[str], seed: int = 0) -> list[str]:
    """Return as many queries as given, as long, of words drawn from random texts."""
    rng = np.random.default_rng(seed)

    def word() -> str:
        words = texts[int(rng.integers(len(texts)))].split()
        return words[int(rng.integers(len(words)))] if words else ""

    return [" ".join(word() for _ in query.split()) for query in queries]


def _logistic(rows: Floats, truth: Floats, shares: Floats) -> Floats:
    """Return the intercept and the weights of a logistic regression, by Newton's method on standardized columns."""
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    deviation[deviation == 0] = 1.0
    columns = np.column_stack([np.ones(len(rows)), (rows - mean) / deviation])
    ridge = RIDGE * np.eye(columns.shape[1])
    found = np.zeros(columns.shape[1])
    for _ in range(ROUNDS):
        chance = _chance(columns @ found)
        slope = columns.T @ (shares * (truth - chance)) - ridge @ found
        curve = (columns * (shares * chance * (1 - chance))[:, None]).T @ columns + ridge
        found += np.linalg.solve(curve, slope)
    weights = found[1:] / deviation
    return np.concatenate([[found[0] - weights @ mean], weights])


def _chance(values: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(values, -500, 500)))
