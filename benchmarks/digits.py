"""Three rankers of scikit-learn's 1797 digits: pixels, directions of strokes, sums of rows and columns."""

import numpy as np
from sklearn.datasets import load_digits

import rankloom as rl


def rankers(depth=800, first=None):
    """Return collection ranks: pix (l2), hog (l2), proj (l1); of the first so many digits, or of all."""
    images = load_digits().images[:first]
    sums = np.hstack([images.sum(axis=1), images.sum(axis=2)])
    return [
        rl.Ranks.from_vectors(images.reshape(len(images), -1) / 16, "l2", depth),
        rl.Ranks.from_vectors(directions(images / 16), "l2", depth),
        rl.Ranks.from_vectors(sums / sums.sum(axis=1, keepdims=True), "l1", depth),
    ]


def directions(images):
    """Return histograms of 8 directions of the gradient, without sign, in 2 x 2 cells; of length 1."""
    across, down = np.zeros_like(images), np.zeros_like(images)
    across[:, :, 1:-1] = images[:, :, 2:] - images[:, :, :-2]
    down[:, 1:-1] = images[:, 2:] - images[:, :-2]
    bins = np.floor(np.arctan2(down, across) % np.pi / np.pi * 8).astype(int) % 8
    rows, columns = np.indices(images.shape[1:]) // 4
    histograms = np.zeros((len(images), 2, 2, 8))
    which = np.broadcast_to(np.arange(len(images))[:, None, None], images.shape)
    np.add.at(histograms, (which, rows[None], columns[None], bins), np.hypot(across, down))
    flat = histograms.reshape(len(images), -1)
    return flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-12)
