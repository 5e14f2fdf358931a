"""Methods that look at positions only."""

from collections.abc import Sequence

import numpy as np

from rankloom.aggregate.methods import register
from rankloom.aggregate.pool import checked_weights, pooled_sum
from rankloom.errors import InputError
from rankloom.ranks import Ranks


@register("rrf", needs="queries")
def rrf(
    ranks: Sequence[Ranks], k: int = 10, *, constant: float = 60.0, weights: Sequence[float] | None = None
) -> Ranks:
    r"""Reciprocal rank fusion.

    .. math:: \mathrm{RRF}(d) = \sum_r w_r \,/\, (c + \rho_r(d))

    over the rankers r that list d, where :math:`\rho_r(d)` is its position, from 1. An item that a ranker does
    not list gets nothing from it. Ties come in the order in which the lists, taken one after the other, show
    the items first.

    Parameters
    ----------
    constant : float
        c; 60 in the article.
    weights : sequence of float, optional
        One for each ranker; all 1 by default.

    References
    ----------
    Cormack, Clarke, Buettcher (2009), doi:10.1145/1571941.1572114

    Examples
    --------
    >>> rrf([Ranks([[0, 1]]), Ranks([[1, 2]])], k=1).scores[0, 0] == np.float32(1 / 62 + 1 / 61)
    np.True_
    """
    if not isinstance(constant, int | float | np.number) or not -1 < constant < np.inf:
        raise InputError(f"constant must be a finite number above -1; got {constant!r}.")
    given = checked_weights(weights, len(ranks))
    parts = [
        np.broadcast_to(weight / (constant + np.arange(1, r.depth + 1)), r.items.shape)
        for r, weight in zip(ranks, given, strict=True)
    ]
    return pooled_sum(ranks, parts, k)
