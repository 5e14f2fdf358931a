"""Methods that score each item by its positions alone."""

from typing import Annotated, Literal

import numpy as np
from annotated_types import Gt

from rankloom.aggregate.methods import PoolMethod, TiedMethod, register_method
from rankloom.ranks import PAD
from rankloom.ranks.arrays import Floats
from rankloom.ranks.pool import Pool, positive_flags, scores_by_order
from rankloom.registry import Fraction, Share


@register_method("rrf")
class RRF(TiedMethod):
    r"""Reciprocal rank fusion.

    .. math:: \mathrm{RRF}(d) = \sum_r w_r \,/\, (c + \rho_r(d))

    over the rankers r that list d, where :math:`\rho_r(d)` is its position, from 1; a ranker that does not list d
    adds nothing.

    Parameters
    ----------
    constant : float
        c; 60 in the article.
    depth : int, optional
        How many items of each list to use; all by default. The paper's figures use 10.
    weights : sequence of float, optional
        :math:`w_r`, one for each ranker; all 1 by default.
    ties : {"first", "average"}
        What decides between items of equal score. ``first``: first appearance, reading the lists one ranker after the
        other. ``average``: the mean position, then the smaller number, whatever the order of the rankers; an item
        missing from a list counts as the first after its end.

    References
    ----------
    Cormack, Clarke, Buettcher (2009), Reciprocal rank fusion outperforms Condorcet and individual rank learning
    methods, SIGIR, doi:10.1145/1571941.1572114

    Examples
    --------
    >>> from rankloom import Ranks
    >>> RRF().fuse([Ranks([[0, 1]]), Ranks([[1, 2]])], k=1).scores[0, 0] == np.float32(1 / 62 + 1 / 61)
    np.True_
    """

    constant: Annotated[float, Gt(-1)] = 60.0

    def score(self, pool: Pool, weights: list[float]) -> Floats:
        parts = [w / (self.constant + np.arange(1.0, r.depth + 1)) for w, r in zip(weights, pool.ranks, strict=True)]
        return pool.fold(np.add, parts, 0.0)


@register_method("isr")
class ISR(PoolMethod):
    r"""Inverse square rank: squares of inverse positions, times the number of rankers that list the item.

    .. math:: \mathrm{ISR}(d) = N(d) \sum_r w_r \,/\, \rho_r(d)^2

    over the rankers r that list d, N(d) of them, not weighted. Ties are broken by first appearance, as in `rrf`.

    References
    ----------
    Mourão, Martins, Magalhães (2015), Multimodal medical information retrieval with unsupervised rank fusion,
    Computerized Medical Imaging and Graphics 39, doi:10.1016/j.compmedimag.2014.05.006

    Examples
    --------
    >>> from rankloom import Ranks
    >>> ISR().fuse([Ranks([[0, 1]]), Ranks([[1, 0]])], k=2).scores  # 2 (1 + 1/4) each
    array([[2.5, 2.5]], dtype=float32)
    """

    def score(self, pool: Pool, weights: list[float]) -> Floats:
        parts = [w / np.arange(1, r.depth + 1) ** 2 for w, r in zip(weights, pool.ranks, strict=True)]
        return self.factor(pool.counted(positive_flags(weights))) * pool.fold(np.add, parts, 0.0)

    def factor(self, count: Floats) -> Floats:
        """Return what the sum is multiplied by, from the number of rankers that list an item."""
        return count


@register_method("log_isr")
class LogISR(ISR):
    r"""Logarithmic inverse square rank: `isr` with the logarithm of the number of rankers.

    .. math:: \mathrm{LogISR}(d) = \ln N(d) \sum_r w_r \,/\, \rho_r(d)^2

    Items that one ranker lists get 0; see `logn_isr`. Options, tie-breaking and reference are those of `isr`.

    Examples
    --------
    >>> from rankloom import Ranks
    >>> LogISR().fuse([Ranks([[0, 1]], n_items=3), Ranks([[1, 2]], n_items=3)]).to_dict()
    {'0': {'1': 0.8664339780807495, '0': 0.0, '2': 0.0}}
    """

    def factor(self, count: Floats) -> Floats:
        return np.log(np.maximum(count, 1.0))


@register_method("logn_isr")
class LogNISR(ISR):
    r"""Logarithmic inverse square rank with a constant, so that items of one list do not all get 0.

    .. math:: \mathrm{LogNISR}(d) = \ln(N(d) + \sigma) \sum_r w_r \,/\, \rho_r(d)^2

    Other options, tie-breaking and reference are those of `isr`.

    Parameters
    ----------
    sigma : float
        :math:`\sigma`, from 0 to 1; 0.01 in the article.

    Examples
    --------
    >>> from rankloom import Ranks
    >>> LogNISR(sigma=1).fuse([Ranks([[0, 1]], n_items=3), Ranks([[1, 2]], n_items=3)], k=1).to_dict()
    {'0': {'1': 1.3732653856277466}}
    """

    sigma: Share = 0.01

    def factor(self, count: Floats) -> Floats:
        return np.log(np.maximum(count, 1.0) + self.sigma)


@register_method("rbc")
class RBC(PoolMethod):
    r"""Rank-biased centroid: every position counts a fixed share of the one before it.

    .. math:: \mathrm{RBC}(d) = \sum_r w_r\, (1 - \phi)\, \phi^{\rho_r(d) - 1}

    over the rankers r that list d. Ties are broken by first appearance, as in `rrf`.

    Parameters
    ----------
    persistence : float
        :math:`\phi`, between 0 and 1: how likely a user is to go on to the next item. 0.9 is our choice.

    References
    ----------
    Bailey, Moffat, Scholer, Thomas (2017), Retrieval consistency in the presence of query variations, SIGIR,
    doi:10.1145/3077136.3080839

    Examples
    --------
    >>> from rankloom import Ranks
    >>> RBC(persistence=0.5).fuse([Ranks([[0, 1]]), Ranks([[1, 0]])], k=2).scores  # 0.5 + 0.25 each
    array([[0.75, 0.75]], dtype=float32)
    """

    persistence: Fraction = 0.9

    def score(self, pool: Pool, weights: list[float]) -> Floats:
        p = self.persistence
        parts = [
            w * (1 - p) * p ** np.arange(r.depth, dtype=np.float64) for w, r in zip(weights, pool.ranks, strict=True)
        ]
        return pool.fold(np.add, parts, 0.0)


@register_method("borda")
class Borda(TiedMethod):
    r"""Borda count: points for the position in each list.

    .. math:: \mathrm{Borda}(d) = \sum_r w_r\, (L_r - \rho_r(d) + 1)

    over the rankers r that list d, where :math:`L_r` is the length of r's list for the query and
    :math:`\rho_r(d)` the position of d in it, from 1.

    Parameters
    ----------
    points : {"positions", "below", "pool"}
        ``positions`` (the paper's): as above. ``below``: one point for each item of the list after d,
        :math:`L_r - \rho_r(d)`; the last item gets as many as one not listed. ``pool`` (Aslam and Montague's
        Borda-fuse): :math:`|U| - \rho_r(d) + 1` with U all items listed for the query; items missing from a list
        share its remaining points evenly, :math:`(|U| - L_r + 1) / 2` each. An empty list gives no points.

    References
    ----------
    Borda (1781), Mémoire sur les élections au scrutin; Aslam, Montague (2001), Models for metasearch, SIGIR,
    doi:10.1145/383952.384007

    Examples
    --------
    >>> from rankloom import Ranks
    >>> Borda().fuse([Ranks([[0, 1, 2]], n_items=4), Ranks([[1, 3]])]).to_dict()
    {'0': {'1': 4.0, '0': 3.0, '2': 1.0, '3': 1.0}}
    """

    points: Literal["positions", "below", "pool"] = "positions"

    def score(self, pool: Pool, weights: list[float]) -> Floats:
        lengths, sizes = pool.lengths(), pool.sizes()
        shared = np.zeros(lengths.shape)
        top = lengths - 1 if self.points == "below" else lengths
        if self.points == "pool":
            top = np.broadcast_to(sizes, lengths.shape)
            shared = np.where(lengths > 0, (sizes - lengths + 1) / 2, 0.0)
        parts = [
            weight * ((first - share)[:, None] - np.arange(r.depth))
            for weight, first, share, r in zip(weights, top, shared, pool.ranks, strict=True)
        ]
        return np.asarray(pool.fold(np.add, parts, 0.0) + (np.array(weights) @ shared)[:, None])


@register_method("mra")
class MRA(TiedMethod):
    r"""Median rank aggregation (MEDRANK): the first item seen in most of the lists comes first.

    The lists are read in parallel: the first item of each, in the order of the rankers, then the second of each, and
    so on. An item is output as soon as it has been seen in more than half of the lists. Items that never are follow in
    the order in which they were first seen. Scores are -1, -2, ... down the list.

    Parameters
    ----------
    depth : int, optional
        As in `rrf`.
    weights : sequence of float, optional
        One for each ranker, all 1 by default: an item is output when the rankers that have listed it carry more than
        half of the weight of the rankers that have a list for the query.
    ties : {"first", "average"}
        With ``average``, the items found at the same position are seen at once, and ordered as in `rrf`.

    References
    ----------
    Fagin, Kumar, Sivakumar (2003), Efficient similarity search and classification via rank aggregation, SIGMOD,
    doi:10.1145/872757.872795

    Examples
    --------
    >>> from rankloom import Ranks
    >>> MRA().fuse([Ranks([[0, 1, 2]], n_items=4), Ranks([[3, 1, 0]]), Ranks([[1, 0, 2]])], k=3).items
    array([[1, 0, 2]], dtype=int32)
    """

    def score(self, pool: Pool, weights: list[float]) -> Floats:
        return _mra(pool, np.array(weights), self.ties == "average")


def _mra(pool: Pool, weights: Floats, at_once: bool) -> Floats:
    rows, width = pool.items.shape
    half = weights @ (pool.lengths() > 0) / 2
    support = np.zeros(rows * (width + 1))
    longest = max((r.depth for r in pool.ranks), default=0)
    never = float(len(weights) * longest)
    seen = np.full(support.size, 2 * never)
    out = seen.copy()
    for position in range(longest):
        for ranker, (cells, r) in enumerate(zip(pool.cells, pool.ranks, strict=True)):
            if position < r.depth:
                here, now = cells[:, position], float(position * len(weights) + (0 if at_once else ranker))
                seen[here] = np.minimum(seen[here], never + now)
                before = support[here]
                support[here] = before + weights[ranker]
                done = (before <= half) & (support[here] > half)
                out[here[done]] = now
    when = np.minimum(seen, out).reshape(rows, width + 1)[:, :-1]
    return scores_by_order(np.argsort(np.where(pool.items == PAD, np.inf, when), axis=1, kind="stable"))
