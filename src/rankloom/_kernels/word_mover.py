"""One side of the relaxed word mover's distance: each word of the query goes to the nearest of a text."""

import numpy as np
from numba import njit

from rankloom._kernels import ZERO


@njit(cache=True, nogil=True)
def query_side(squares, weights, ptr, words, candidates, costs):
    """Fill in, for each candidate text, what the query's words pay when each goes to the nearest word of the text."""
    for at in range(candidates.size):
        text = candidates[at]
        total = ZERO
        for i in range(weights.size):
            least = np.float32(np.inf)
            for entry in range(ptr[text], ptr[text + 1]):
                least = min(least, squares[i, words[entry]])
            total += weights[i] * np.sqrt(max(np.float64(least), ZERO))
        costs[at] = total
