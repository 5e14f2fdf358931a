"""Registration of methods that score the pool of each query: the options they share are declared and checked once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.aggregate.collection_methods import with_signature
from rankloom.aggregate.methods import register_method
from rankloom.aggregate.per_query.pool import Pool, checked_weights, fuse_pools
from rankloom.ranks import Ranks

#: pool -> scores of its items
PoolScore = Callable[[Pool], NDArray[np.float64]]


def register_pool_method(name: str) -> Callable[[Callable[..., PoolScore]], Callable[..., Ranks]]:
    """Return a decorator that registers a method, with the options `depth` and `weights` after its own.

    The function is called with the checked weights of the rankers and its own options, checks these, and returns what
    scores a pool.
    """

    def shared(*, depth: int | None = None, weights: Sequence[float] | None = None) -> None:
        """Declare the options."""

    common = inspect.signature(shared).parameters.values()

    def add(scoring: Callable[..., PoolScore]) -> Callable[..., Ranks]:
        own = [one for one in inspect.signature(scoring).parameters.values() if one.kind is one.KEYWORD_ONLY]

        def method(ranks: Sequence[Ranks], k: int = 10, **options: Any) -> Ranks:
            depth, weights = options.pop("depth", None), options.pop("weights", None)
            return fuse_pools(ranks, k, scoring(checked_weights(weights, len(ranks)), **options), depth=depth)

        with_signature(method, [*own, *common], like=scoring)
        return register_method(name)(method)

    return add
