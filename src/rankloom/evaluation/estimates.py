r"""Estimates of effectiveness without labels, from collection ranks alone, by name in `ESTIMATES`.

They count how many of the k nearest items of a query's k nearest items are among these: if a ranker is good, items of
a class list each other. With N(q) the first k of q's list, and p the position of j in it:

.. math:: E(q) = \frac{1}{k^2} \sum_{i \in N(q)} \sum_{j \in N(i) \cap N(q)} w(p)

An estimate is a registered function: the weight w of a position.
"""

from collections.abc import Callable, Mapping
from typing import Literal, overload

import numpy as np

from rankloom.errors import InputError, check_flag, whole_number
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Floats, Int32s, Int64s
from rankloom.registry import Registry

BLOCK_CELLS = 1 << 18  # items looked up in a block; few enough for the cache

#: (positions, from 1) -> the weight of each
Weight = Callable[[Int64s], Floats]
#: The estimates by name.
ESTIMATES: Registry[Weight] = Registry("estimate", entries=Callable)


@ESTIMATES.register("authority")
def authority(position: Int64s) -> Floats:
    r"""Authority score: every position has weight 1; the density of the graph of a query's neighbors, in [0, 1].

    References
    ----------
    Pedronette, Penatti, Torres (2014), Unsupervised manifold learning using reciprocal kNN graphs in image
    re-ranking and rank aggregation tasks, doi:10.1016/j.imavis.2013.12.009
    """
    return np.ones(position.shape)


@ESTIMATES.register("reciprocal")
def reciprocal(position: Int64s) -> Floats:
    r"""Reciprocal density: position p has weight 1 / p, so that the nearest items count most.

    In [0, H/k] with H = 1 + 1/2 + ... + 1/k: use it to compare rankers; it is not on the scale of a measure.

    Notes
    -----
    The idea is Pedronette and Torres's; the weight and the divisor are from USRF, Valem and Pedronette's program for
    selecting rankers. The article may scale the weights differently.

    References
    ----------
    Pedronette, Torres (2015), Unsupervised effectiveness estimation for image retrieval using reciprocal rank
    information, doi:10.1109/SIBGRAPI.2015.28
    """
    return np.asarray(1.0 / position, np.float64)


@overload
def estimate(ranks: Ranks, *, kind: str = ..., neighbors: int = ..., per_query: Literal[False] = ...) -> float: ...


@overload
def estimate(ranks: Ranks, *, kind: str = ..., neighbors: int = ..., per_query: Literal[True]) -> Floats: ...


def estimate(ranks: Ranks, *, kind: str = "authority", neighbors: int = 20, per_query: bool = False) -> float | Floats:
    """Estimate the effectiveness of collection ranks without labels: the mean over all items.

    Parameters
    ----------
    ranks : Ranks
        Collection ranks; rows are matched to items by id (`Ranks.as_collection`). An empty list scores 0.
    kind : str
        A name in `ESTIMATES`: ``authority`` or ``reciprocal``.
    neighbors : int
        The k of the formula, at most the depth of the lists. Only estimates with the same k are comparable.
    per_query : bool
        Return the value of each item instead of the mean.

    Examples
    --------
    >>> ranks = Ranks([[0, 1], [1, 0], [2, 0], [3, 2]])  # 0 and 1 list each other
    >>> estimate(ranks, neighbors=2, per_query=True)
    array([1.  , 1.  , 0.75, 0.75])
    >>> estimate(ranks, kind="reciprocal", neighbors=2)  # at best (1 + 1/2) / 2
    0.625
    """
    weight = ESTIMATES[kind]
    check_flag(per_query=per_query)
    if not isinstance(ranks, Ranks):
        raise InputError(f"Estimate one Ranks at a time; got {type(ranks).__name__}.")
    near = ranks.head(whole_number("neighbors", neighbors)).as_collection().items
    if near.size == 0:
        raise InputError("There is nothing to estimate; the ranks have no rows or no items.")
    values = _densities(near, weight)
    return values if per_query else float(values.mean())


def estimate_all(rankers: Mapping[str, Ranks], *, kind: str = "authority", neighbors: int = 20) -> dict[str, float]:
    """Estimate several rankers with the same k, so that the estimates are comparable.

    Parameters
    ----------
    rankers : {name: Ranks}
    kind : str
    neighbors : int
        The k for all; smaller if the lists of a ranker are not as deep, see `common_neighbors`.

    Examples
    --------
    >>> deep = Ranks([[0, 1, 2], [1, 0, 2], [2, 0, 1]])
    >>> estimate_all({"deep": deep, "shallow": deep.head(2)})
    {'deep': 0.9166666666666666, 'shallow': 0.9166666666666666}
    """
    k = common_neighbors(rankers, neighbors)
    return {name: estimate(one, kind=kind, neighbors=k) for name, one in rankers.items()}


def common_neighbors(rankers: Mapping[str, Ranks], neighbors: int = 20) -> int:
    """Return the largest k that the lists of all rankers allow: `neighbors`, or the smallest of their depths."""
    return min([whole_number("neighbors", neighbors), *(max(ranks.depth, 1) for ranks in rankers.values())])


def _densities(near: Int32s, weight: Weight) -> Floats:
    """Return the estimate of each item from its nearest ones, in blocks of items."""
    k = near.shape[1]
    of_neighbors = np.vstack([near, np.full((1, k), PAD, np.int32)])  # the last row is for PAD
    weights = np.append(weight(np.arange(1, k + 1)), 0.0)  # the last entry is for position 0
    densities = np.empty(len(near))
    size = max(1, BLOCK_CELLS // (k * k))
    for start in range(0, len(near), size):
        rows = near[start : start + size]
        found = _positions(of_neighbors[rows].reshape(len(rows), k * k), rows)
        densities[start : start + size] = weights[found - 1].sum(1) / (k * k)
    return densities


def _positions(wanted: Int32s, lists: Int32s) -> Int64s:
    """Return the position, from 1, of each wanted item of a row in the list of that row; 0 where it is absent.

    Keys combine row number and item in one integer, so that one search serves all rows: the cost does not depend on
    the size of the collection.
    """
    found = np.zeros(wanted.shape, np.int64)
    width = max(int(lists.max()), int(wanted.max())) + 2  # including PAD
    rows = np.arange(len(lists), dtype=np.int64)[:, None] * width + 1
    order = np.argsort(lists, axis=1)
    keys = (rows + np.take_along_axis(lists, order, axis=1)).ravel()
    queries = rows + wanted
    slots = np.minimum(np.searchsorted(keys, queries), keys.size - 1)
    there = (keys[slots] == queries) & (wanted != PAD)
    found[there] = order.ravel()[slots[there]] + 1
    return found
