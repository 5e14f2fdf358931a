"""A plug-in: a comparator, a weighting and a method of your own, used by name.

    rankloom index a-items.run b-items.run --plugin plugin.py --comparator overlap --weighting harmonic -o my.loom
    rankloom fuse a.run b.run --plugin plugin.py --method best-position -o fused.run

The paper says that the extraction of graphs and their comparison are independent of each other; here each is replaced.
"""

import numpy as np

import rankloom as rl
from rankloom.fusion_graph import register_comparator, register_weighting
from rankloom.methods import register_method
from rankloom.ranks import PAD


@register_comparator("overlap")
def overlap(common, size_a, size_b):
    """Shared size over the smaller size: a small graph inside a large one counts as equal."""
    return common / min(size_a, size_b) if common else 0.0


@register_weighting("harmonic")
def harmonic(positions, scores):
    """Vertices and edges alike by reciprocal position."""
    return 1.0 / positions, 1.0 / positions


@register_method("best-position")
def best_position(ranks, k=10):
    """Items by the best position that any ranker gives them; ties in the order of the rankers."""
    rows = [
        list(dict.fromkeys(int(item) for place in np.stack(lists, axis=1) for item in place if item != PAD))
        for lists in zip(*(pad(r, max(r.depth for r in ranks)) for r in ranks), strict=True)
    ]
    items = np.array([(row + [PAD] * k)[:k] for row in rows], np.int32).reshape(len(rows), k)
    return rl.Ranks(items, n_items=ranks[0].n_items, item_ids=ranks[0].item_ids, query_ids=ranks[0].query_ids)


def pad(ranks, depth):
    """Return the lists as arrays of one width."""
    return np.pad(ranks.items, ((0, 0), (0, depth - ranks.depth)), constant_values=PAD)
