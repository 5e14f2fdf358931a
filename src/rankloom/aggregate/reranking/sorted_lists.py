"""Lists and pools sorted again by values of their items: steps shared by the methods of the UDLF family."""

from collections.abc import Sequence

import numpy as np

from rankloom._kernels import frozen
from rankloom.aggregate.lists import Array, inverted, own_first, padded
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.align import with_lists
from rankloom.threads import run_rows


def own_lists(ranks: Sequence[Ranks], depth: int) -> list[Array]:
    """Return the lists of each ranker that has any, the item itself first, cut to `depth` and padded to one width."""
    firsts = [own_first(r, depth)[0] for r in with_lists(ranks)]
    width = max(int((one != PAD).sum(axis=1).max(initial=0)) for one in firsts)
    return [padded(one, width) for one in firsts]


def reranked(
    lists: Array, values: Array, width: int | None = None, *, fixed: int = 0, aligned: bool = False
) -> tuple[Array, Array]:
    """Return lists sorted by descending value, the item itself swapped into the first position, and the values.

    The first `fixed` positions stay. With `aligned`, the values are those of the items; otherwise they are sorted, and
    the two swapped items have each other's.
    """
    from rankloom._kernels.reranking.values import rerank

    n = len(lists)
    width = lists.shape[1] if width is None else min(width, lists.shape[1])
    out, scores = np.empty((n, width), np.int32), np.empty((n, width), np.float32)
    bits = frozen(values).view(np.uint32)
    run_rows(lambda start, stop: rerank(start, stop, lists, values, bits, fixed, aligned, out, scores), n, "Sorting")
    return frozen(out), scores


def mutual_values(lists: Array, share: Array, base: Array | None = None, *, smallest: bool = False) -> Array:
    """Return the sum, or the smallest, of the base and the shares of both positions of each listed pair."""
    from rankloom._kernels.reranking.values import both_positions

    out = np.zeros(lists.shape, np.float32)
    base = frozen(np.zeros(lists.shape, np.float32) if base is None else base)
    share = frozen(np.asarray(share, np.float32))
    back = inverted([lists])
    run_rows(
        lambda start, stop: both_positions(start, stop, lists, base, share, smallest, *back, out),
        len(lists),
        "Comparing positions",
    )
    return out


def mutual_lists(lists: Array, back: tuple[Array, Array, Array]) -> Array:
    """Return the lists sorted by forward plus backward position; an absent item counts as after the end.

    `back` is `inverted([lists])`. The item itself stays first.
    """
    from rankloom._kernels.graphs.mutual import reorder

    n, width = lists.shape
    missing = frozen(np.full(n, width + 1, np.int32))
    out = np.empty(lists.shape, np.int32)
    run_rows(
        lambda start, stop: reorder(start, stop, lists, width, missing, 1, False, *back, out), n, "Comparing positions"
    )
    return frozen(out)


def pool_of(tables: Sequence[Array]) -> Array:
    """Return the items of several rankers' lists in order of appearance, padded."""
    from rankloom._kernels.reranking.values import pooled

    lists = frozen(np.stack(tables))
    m, n, width = lists.shape
    out = np.empty((n, min(m * width, n)), np.int32)
    run_rows(lambda start, stop: pooled(start, stop, lists, out), n, "Collecting candidates")
    return frozen(out)


def add_to_pool(pool: Array, lists: Array, values: Array, total: Array) -> None:
    """Add the values of one ranker's lists to the total of the pool, in float32."""
    from rankloom._kernels.reranking.values import add_values

    frozen(values)
    run_rows(lambda start, stop: add_values(start, stop, pool, lists, values, total), len(pool), "Adding values")
