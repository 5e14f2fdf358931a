"""Bayesian search: a Gaussian process guesses the score of untried points, and the most promising one is tried next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankloom.aggregate.learned.tuning.space import Space
from rankloom.ranks.arrays import Floats

FIRST = 10  # points drawn at random before the process is asked
CANDIDATES = 500  # points drawn at random for each trial
NEARBY = 100  # points drawn near the best one for each trial
LENGTHS = (0.1, 0.2, 0.4, 0.8, 1.6)  # of the kernel; the likeliest is used
NOISE = 1e-4  # of scores, as a share of their variance


@dataclass(frozen=True, slots=True)
class Process:
    r"""A Gaussian process with a Matérn kernel (5/2), fitted to scores of mean 0 and deviation 1.

    .. math:: \kappa(x, y) = (1 + a + a^2 / 3)\, e^{-a}, \quad a = \sqrt 5\, |x - y| / \ell

    Attributes
    ----------
    points : float64 array of shape (n, n_features)
    factor : float64 array of shape (n, n)
        The Cholesky factor of the kernel matrix.
    weights : float64 array of shape (n,)
        The kernel matrix, inverted, times the scores.
    length : float
        :math:`\ell`.
    likelihood : float
        The logarithm of the marginal likelihood, up to a constant.
    """

    points: Floats
    factor: Floats
    weights: Floats
    length: float
    likelihood: float

    @classmethod
    def fit(cls, points: Floats, scores: Floats) -> Process:
        """Return the process with the likeliest of `LENGTHS`, the first of equals."""
        return max((cls._of(points, scores, length) for length in LENGTHS), key=lambda one: one.likelihood)

    @classmethod
    def _of(cls, points: Floats, scores: Floats, length: float) -> Process:
        kernel = _matern(points, points, length) + NOISE * np.eye(len(points))
        factor = np.asarray(np.linalg.cholesky(kernel), np.float64)
        half = np.linalg.solve(factor, scores)
        likelihood = -0.5 * float(half @ half) - float(np.log(np.diag(factor)).sum())
        return cls(points, factor, np.linalg.solve(factor.T, half), length, likelihood)

    def predict(self, points: Floats) -> tuple[Floats, Floats]:
        """Return the mean and the deviation of the score at each point."""
        kernel = _matern(points, self.points, self.length)
        explained = np.linalg.solve(self.factor, kernel.T)
        variance = np.maximum(1.0 - (explained**2).sum(axis=0), 0.0)
        return kernel @ self.weights, np.sqrt(variance)


def bayes(space: Space, trials: int, seed: int, score: Callable[[dict[str, Any]], float]) -> Iterator[None]:
    """Score up to `trials` points of the space, none twice; yield after each.

    References
    ----------
    Jones, Schonlau, Welch (1998), Efficient global optimization of expensive black-box functions,
    doi:10.1023/A:1008306431147
    """
    random = np.random.default_rng(seed)
    tried: list[dict[str, Any]] = []
    scores: list[float] = []
    for _ in range(trials):
        fresh = _fresh(space, tried, scores, random)
        if not fresh:
            return
        tried.append(fresh[_most_promising(space, tried, scores, fresh)])
        scores.append(score(tried[-1]))
        yield


def _fresh(
    space: Space, tried: list[dict[str, Any]], scores: list[float], random: np.random.Generator
) -> list[dict[str, Any]]:
    """Return untried points to choose from, at random and near the best; one while there are few scores."""
    if len(space) <= CANDIDATES:
        return _random_order([point for point in space if point not in tried], random)
    drawn = [space.draw(random) for _ in range(CANDIDATES if len(tried) >= FIRST else FIRST)]
    if len(tried) >= FIRST:
        best = tried[int(np.argmax(scores))]
        drawn += [space.near(best, random) for _ in range(NEARBY)]
    return [point for point in drawn if point not in tried]


def _random_order(points: list[dict[str, Any]], random: np.random.Generator) -> list[dict[str, Any]]:
    return [points[number] for number in random.permutation(len(points))]


def _most_promising(space: Space, tried: list[dict[str, Any]], scores: list[float], fresh: list[dict[str, Any]]) -> int:
    """Return the number of the point with the largest expected improvement; the first while there are few scores."""
    if len(tried) < FIRST or np.ptp(scores) == 0:
        return 0
    known = (np.array(scores) - np.mean(scores)) / np.std(scores)
    process = Process.fit(np.array([space.features(point) for point in tried]), known)
    mean, deviation = process.predict(np.array([space.features(point) for point in fresh]))
    return int(np.argmax(expected_improvement(mean, deviation, float(known.max()))))


def expected_improvement(mean: Floats, deviation: Floats, best: float) -> Floats:
    r"""Return how far above the best score each point is expected to be, 0 where it is below.

    .. math:: E[\max(s - s^*, 0)] = (\mu - s^*)\, \Phi(z) + \sigma\, \varphi(z), \quad z = (\mu - s^*) / \sigma

    Examples
    --------
    >>> expected_improvement(np.array([0.0, 1.0]), np.array([1.0, 0.0]), 0.0).round(4).tolist()
    [0.3989, 1.0]
    """
    from scipy.special import ndtr

    ahead = mean - best
    z = ahead / np.maximum(deviation, 1e-12)
    density: Floats = np.exp(-(np.minimum(np.abs(z), 40.0) ** 2) / 2) / np.sqrt(2 * np.pi)
    return np.asarray(ahead * ndtr(z) + deviation * density)


def _matern(one: Floats, other: Floats, length: float) -> Floats:
    squares = ((one[:, None, :] - other[None, :, :]) ** 2).sum(axis=2)
    a = np.sqrt(5 * squares) / length
    return np.asarray((1 + a + a**2 / 3) * np.exp(-a))
