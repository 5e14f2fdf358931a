"""Three rankers of scikit-learn's 1797 digits: pixels, gradient directions, row and column sums."""

import numpy as np
from sklearn.datasets import load_digits

import rankloom as rl


def rankers(depth=800, first=None):
    """Return the collection ranks of the first digits, or of all: pixels (l2), directions (l2), sums (l1)."""
    images = load_digits().images[:first]
    sums = np.hstack([images.sum(axis=1), images.sum(axis=2)])
    return [
        rl.Ranks.from_vectors(images.reshape(len(images), -1) / 16, "l2", depth),
        rl.Ranks.from_vectors(directions(images / 16), "l2", depth),
        rl.Ranks.from_vectors(sums / sums.sum(axis=1, keepdims=True), "l1", depth),
    ]


def directions(images):
    """Return unit-length histograms of 8 unsigned gradient directions in 2 x 2 cells."""
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
