"""Seeded synthetic collections: items on a ring, with lists sampled from each item's nearest neighbors."""

import numpy as np

import rankloom as rl

CHUNK = 100_000  # rows generated at a time


def ring(n, *, m=3, length=10, seed=0, hubs=()):
    """Return the collection ranks of m rankers over items on a ring, with shuffled item numbers.

    Each list is the item itself followed by ``length - 1`` distinct items sampled from the nearest ``1.2 * length`` on
    either side.

    Parameters
    ----------
    hubs : sequence of float
        For each hub, the share of all lists that contain it (instead of the last item that is not a hub).
    """
    rng = np.random.default_rng(seed)
    reach = int(1.2 * length)
    offsets = np.concatenate([np.arange(-reach, 0), np.arange(1, reach + 1)])
    number = rng.permutation(n).astype(np.int32)
    ranks = []
    for _ in range(m):
        items = np.empty((n, length), np.int32)
        for start in range(0, n, CHUNK):
            rows = np.arange(start, min(start + CHUNK, n))
            keys = rng.random((rows.size, offsets.size), dtype=np.float32)
            drawn = offsets[np.argsort(keys, axis=1)[:, : length - 1]]
            items[number[rows], 0] = number[rows]
            items[number[rows], 1:] = number[(rows[:, None] + drawn) % n]
        for position, share in enumerate(hubs, 1):
            _add_hub(items, number[position], share, position, rng)
        ranks.append(rl.Ranks(items, n_items=n))
    return ranks


def _add_hub(items, hub, share, position, rng):
    rows = np.flatnonzero(rng.random(len(items)) < share)
    rows = rows[~(items[rows] == hub).any(axis=1)]
    items[rows, -position] = hub


def deep_lists(n, depth, *, seed=0):
    """Return collection ranks with long lists: items on a ring by distance, slightly shuffled."""
    rng = np.random.default_rng(seed)
    number = rng.permutation(n).astype(np.int32)
    steps = np.arange(depth)
    offsets = np.where(steps % 2, (steps + 1) // 2, -(steps // 2))
    items = np.empty((n, depth), np.int32)
    for row in range(n):
        order = np.argsort(steps + rng.normal(0, 20, depth))
        items[number[row]] = number[(row + offsets[order]) % n]
    return rl.Ranks(items, n_items=n)
