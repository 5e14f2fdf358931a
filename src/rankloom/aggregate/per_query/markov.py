"""Markov chains over the items of a query: a walk towards items that most rankers prefer."""

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Lt

from rankloom.aggregate.methods import register_method
from rankloom.aggregate.per_query.majorities import MajorityMethod
from rankloom.ranks.arrays import Array, Bools, Floats


@register_method("mc4")
class MC4(MajorityMethod):
    r"""Markov chain 4: how often a walk is at an item if it moves only to items that a majority prefers.

    From item d the walk picks an item e evenly among all listed for the query, and moves there if more of the rankers
    that list both put e before d than d before e; otherwise it stays. Items are ordered by the stationary distribution

    .. math:: \pi = (1 - t)\, \pi P + t / n, \qquad
        P(d, e) = \frac{1}{n} \Big[\sum_{r:\, e \text{ before } d} w_r > \sum_{r:\, d \text{ before } e} w_r\Big]

    with n the number of items. Ties are broken by first appearance, as in `rrf`.

    Parameters
    ----------
    teleport : float
        t, at least 1e-12 and below 1: how often a step leads to any item, so that the distribution is unique and items
        that the walk never returns to are ordered too. The article leaves this open; 0.05 is our choice.
    absent : {"left_out", "last"}
        ``left_out`` (the article's): only lists with both items count. ``last``: an item missing from a list comes
        after all listed ones; better where the lists share few items (NDCG@10 on MQ2008-agg: 0.514, against 0.407).

    References
    ----------
    Dwork, Kumar, Naor, Sivakumar (2001), Rank aggregation methods for the web, doi:10.1145/371920.372165

    Examples
    --------
    >>> from rankloom import Ranks
    >>> MC4().fuse([Ranks([[0, 1, 2]]), Ranks([[1, 0, 2]]), Ranks([[1, 2, 0]])], k=3).items
    array([[1, 0, 2]], dtype=int32)
    """

    slow: ClassVar[bool] = True
    teleport: Annotated[float, Ge(1e-12), Lt(1)] = 0.05

    def order(self, margin: Array, real: Bools) -> Floats:
        return _stationary(margin > 0, real, self.teleport)


def _stationary(beats: Bools, real: Bools, teleport: float) -> Floats:
    """Return the stationary distribution of each chain; ``beats[q, e, d]``: a majority puts e before d."""
    n = np.maximum(np.count_nonzero(real, axis=1), 1)[:, None]
    columns = beats / n[:, :, None]  # from d to e, in row e: the transpose of P
    diagonal = np.arange(real.shape[1])
    columns[:, diagonal, diagonal] = 1.0 - np.count_nonzero(beats, axis=1) / n
    system = np.eye(real.shape[1]) - (1 - teleport) * columns
    return np.asarray(np.linalg.solve(system, np.where(real, teleport / n, 0.0)[:, :, None])[:, :, 0])
