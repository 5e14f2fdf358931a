"""One side of the relaxed word mover's distance: each word of the query moves to the nearest word of a text."""

import numpy as np

from rankloom._kernels import ZERO
from rankloom._kernels.jit import kernel


@kernel
def query_side(squares, weights, ptr, words, candidates, costs):
    """Compute, for each candidate text, the cost of moving each word of the query to the nearest word of the text."""
    for at in range(candidates.size):
        text = candidates[at]
        total = ZERO
        for i in range(weights.size):
            nearest = np.float32(np.inf)
            for entry in range(ptr[text], ptr[text + 1]):
                nearest = min(nearest, squares[i, words[entry]])
            total += weights[i] * np.sqrt(max(np.float64(nearest), ZERO))
        costs[at] = total
