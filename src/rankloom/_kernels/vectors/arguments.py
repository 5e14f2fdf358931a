"""What the kernels are called with."""

from typing import NamedTuple

import numpy as np


class Best(NamedTuple):
    """The best items of each item so far, by descending score, then number; `floors` are the last scores."""

    items: np.ndarray
    scores: np.ndarray
    floors: np.ndarray


class Graph(NamedTuple):
    """Rounded vectors, and the lists of items near each."""

    rows: np.ndarray
    lists: np.ndarray


class Found(NamedTuple):
    """The best items of a query so far, by descending score, then number."""

    items: np.ndarray
    scores: np.ndarray
