"""The options to search: values for each option, and weights that add up to 1."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import comb, prod
from typing import Any

import numpy as np

from rankloom.errors import InputError, brief
from rankloom.ranks.arrays import Floats

#: The space of a search: the values of each option; for weights also ``"simplex"``.
Values = Mapping[str, Sequence[Any] | str]

HUNDREDTHS = [round(step / 100, 2) for step in range(1, 101)]
#: What to search where nothing is said, by method; the same as ranx. Other methods: weights, if they take them.
DEFAULTS: Mapping[str, Values] = {
    "gmnz": {"gamma": HUNDREDTHS},
    "logn_isr": {"sigma": HUNDREDTHS},
    "probfuse": {"segments": range(1, 101)},
    "rbc": {"persistence": HUNDREDTHS[:-1]},
    "rrf": {"constant": range(10, 101, 10)},
    "slidefuse": {"window": range(1, 101)},
}
WEIGHT_DIGITS = 3  # of weights that are drawn
SPREAD = 0.1  # of steps to points nearby, as a share of the range


@dataclass(frozen=True, slots=True)
class Choices:
    """The values of one option."""

    values: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def draw(self, random: np.random.Generator) -> Any:
        """Return a value at random."""
        return self.values[random.integers(len(self.values))]

    def near(self, value: Any, random: np.random.Generator) -> Any:
        """Return a value whose place in the list is close."""
        step = round(random.normal() * SPREAD * len(self.values)) or random.choice([-1, 1])
        return self.values[int(np.clip(self.values.index(value) + step, 0, len(self.values) - 1))]

    def features(self, value: Any) -> list[float]:
        """Return the place of a number in the list, from 0 to 1; other values as a row of 0 and 1."""
        place = self.values.index(value)
        if all(isinstance(known, int | float) for known in self.values):
            return [place / max(len(self.values) - 1, 1)]
        return [float(number == place) for number in range(len(self.values))]


@dataclass(frozen=True, slots=True)
class Simplex:
    """Weights of at least 0, one for each of `n` rankers, that add up to 1; in a grid, multiples of 1 / `parts`."""

    n: int
    parts: int

    def __len__(self) -> int:
        return comb(self.parts + self.n - 1, self.n - 1)

    def __iter__(self) -> Iterator[tuple[float, ...]]:
        for bars in combinations(range(self.parts + self.n - 1), self.n - 1):
            ends = (-1, *bars, self.parts + self.n - 1)
            yield tuple((ends[i + 1] - ends[i] - 1) / self.parts for i in range(self.n))

    def draw(self, random: np.random.Generator) -> tuple[float, ...]:
        """Return weights at random, all equally likely."""
        return _rounded(random.dirichlet(np.ones(self.n)))

    def near(self, value: Sequence[float], random: np.random.Generator) -> tuple[float, ...]:
        """Return weights that differ a little."""
        moved = np.maximum(np.array(value) + random.normal(size=self.n) * SPREAD / np.sqrt(self.n), 0.0)
        return _rounded(moved / moved.sum()) if moved.any() else tuple(value)

    def features(self, value: Sequence[float]) -> list[float]:
        """Return the weights."""
        return list(value)


@dataclass(frozen=True, slots=True)
class Space:
    """The options of a search and their values."""

    options: Mapping[str, Choices | Simplex]

    def __len__(self) -> int:
        return prod(map(len, self.options.values()))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for values in product(*self.options.values()):
            yield dict(zip(self.options, values, strict=True))

    def draw(self, random: np.random.Generator) -> dict[str, Any]:
        """Return a point at random."""
        return {name: one.draw(random) for name, one in self.options.items()}

    def near(self, point: Mapping[str, Any], random: np.random.Generator) -> dict[str, Any]:
        """Return a point that differs a little."""
        return {name: one.near(point[name], random) for name, one in self.options.items()}

    def features(self, point: Mapping[str, Any]) -> Floats:
        """Return a point as numbers of about one scale."""
        return np.array([number for name, one in self.options.items() for number in one.features(point[name])])


def make_space(method: str, options: Sequence[str], values: Values | None, n_rankers: int, step: float) -> Space:
    """Return the space of a method that has these options.

    Raises
    ------
    InputError
        If there is nothing to search, or an option does not exist or has no values.
    """
    if values is None:
        values = DEFAULTS.get(method) or ({"weights": "simplex"} if "weights" in options else {})
    if not isinstance(values, Mapping) or not values:
        has = ", ".join(options) or "none"
        raise InputError(
            f"Say what to search, as in space={{'depth': [10, 100]}}; the method {method!r} has the options {has}."
        )
    for option in values:
        if option not in options:
            raise InputError(f"The method {method!r} has no option {option!r}; it has {', '.join(options) or 'none'}.")
    return Space({option: _dimension(option, given, n_rankers, step) for option, given in values.items()})


def _dimension(option: str, given: Sequence[Any] | str, n_rankers: int, step: float) -> Choices | Simplex:
    if option == "weights" and isinstance(given, str) and given == "simplex":
        return Simplex(n_rankers, _parts(step))
    values = () if isinstance(given, str) else tuple(map(_plain, given))
    if not values:
        simplex = ", or 'simplex'" if option == "weights" else ""
        raise InputError(f"The values of {option} must be a list of at least one{simplex}; got {brief(given)}.")
    return Choices(values)


def _parts(step: float) -> int:
    if not isinstance(step, int | float) or not 0 < step <= 1 or abs(round(1 / step) * step - 1) > 1e-6:
        raise InputError(f"step must divide 1, as 0.1 or 0.25 do; got {brief(step)}.")
    return round(1 / step)


def _plain(value: Any) -> Any:
    """Return a value without NumPy's types, which have no spelling; lists become tuples."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    return tuple(value) if isinstance(value, list) else value


def _rounded(weights: Floats) -> tuple[float, ...]:
    return tuple(np.round(weights, WEIGHT_DIGITS).tolist())
