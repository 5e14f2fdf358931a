"""What the kernels are called with."""

from typing import NamedTuple

import numpy as np


class Best(NamedTuple):
    """The best items of each item so far, by descending score, then number; `floors` are the last scores."""

    items: np.ndarray
    scores: np.ndarray
    floors: np.ndarray
