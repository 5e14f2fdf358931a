"""Seeded synthetic collections: items on a ring, each list drawn from an item's nearest."""

import numpy as np

import rankloom as rl

CHUNK = 100_000  # rows made at a time


def ring(n, *, m=3, length=10, seed=0, hubs=()):
    """Return collection ranks of m rankers over items on a ring, item numbers shuffled.

    Each list is the item itself and then ``length - 1`` different items drawn at random from the nearest
    ``1.2 * length`` on either side.

    Parameters
    ----------
    hubs : sequence of float
        For each hub, in what share of all lists it stands (in place of the last item that is not a hub).
    """
    rng = np.random.default_rng(seed)
    reach = int(1.2 * length)
    offsets = np.concatenate([np.arange(-reach, 0), np.arange(1, reach + 1)])
    name = rng.permutation(n).astype(np.int32)
    ranks = []
    for _ in range(m):
        items = np.empty((n, length), np.int32)
        for start in range(0, n, CHUNK):
            rows = np.arange(start, min(start + CHUNK, n))
            keys = rng.random((rows.size, offsets.size), dtype=np.float32)
            drawn = offsets[np.argsort(keys, axis=1)[:, : length - 1]]
            items[name[rows], 0] = name[rows]
            items[name[rows], 1:] = name[(rows[:, None] + drawn) % n]
        for place, share in enumerate(hubs, 1):
            _add_hub(items, name[place], share, place, rng)
        ranks.append(rl.Ranks(items, n_items=n))
    return ranks


def _add_hub(items, hub, share, place, rng):
    rows = np.flatnonzero(rng.random(len(items)) < share)
    rows = rows[~(items[rows] == hub).any(axis=1)]
    items[rows, -place] = hub


def deep_lists(n, depth, *, seed=0):
    """Return collection ranks with long lists: near items on a ring first, far ones after, shuffled a little."""
    rng = np.random.default_rng(seed)
    name = rng.permutation(n).astype(np.int32)
    steps = np.arange(depth)
    offsets = np.where(steps % 2, (steps + 1) // 2, -(steps // 2))
    items = np.empty((n, depth), np.int32)
    for row in range(n):
        order = np.argsort(steps + rng.normal(0, 20, depth))
        items[name[row]] = name[(row + offsets[order]) % n]
    return rl.Ranks(items, n_items=n)
