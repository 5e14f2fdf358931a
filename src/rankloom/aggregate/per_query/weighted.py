"""Methods that combine normalized scores with weights or powers: extensions of the Comb family."""

from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le

from rankloom.aggregate.methods import PoolMethod, register_method
from rankloom.aggregate.per_query.scores import CombMethod, CombSUM, Normalized
from rankloom.ranks.arrays import Floats
from rankloom.ranks.normalizations import log_odds, three_sigma, z_score
from rankloom.ranks.pool import Pool, positive_flags, weighted_sum


@register_method("wsum")
class WSum(CombSUM):
    r"""Weighted sum of the normalized scores: `combsum` by the name that ranx and others give it.

    .. math:: \mathrm{WSUM}(d) = \sum_r w_r\, s_r(d)

    over the rankers r that list d. `optimize` finds weights from judged queries. Options and tie-breaking are those of
    `combsum`.

    References
    ----------
    Vogt, Cottrell (1999), Fusion via a linear combination of scores, doi:10.1023/A:1009980820262

    Examples
    --------
    >>> from rankloom import Ranks
    >>> a, b = Ranks([[0, 1]], [[5.0, 4.0]]), Ranks([[1, 0]], [[0.9, 0.1]])
    >>> WSum(weights=[0.75, 0.25]).fuse([a, b]).to_dict()
    {'0': {'0': 0.75, '1': 0.25}}
    """


@register_method("wmnz")
class WMNZ(CombMethod):
    r"""Weighted MNZ: the sum of the normalized scores times the weights of the rankers that list the item.

    .. math:: \mathrm{WMNZ}(d) = \sum_r w_r \cdot \sum_r s_r(d)

    both over the rankers r that list d. The scores themselves are not weighted, unlike in `combmnz`, which this is if
    all weights are 1. Options and tie-breaking are those of `combsum`.

    References
    ----------
    Wu, Crestani (2002), Data fusion with estimated weights, doi:10.1145/584792.584908

    Examples
    --------
    >>> from rankloom import Ranks
    >>> a, b = Ranks([[0, 1, 2]], [[5.0, 4.0, 1.0]]), Ranks([[1, 2]], [[0.9, 0.1]], n_items=3)
    >>> WMNZ(weights=[2, 1]).fuse([a, b]).to_dict()
    {'0': {'1': 5.25, '0': 2.0, '2': 0.0}}
    """

    def combine(self, pool: Pool, values: Normalized, weights: list[float]) -> Floats:
        return pool.counted(weights) * weighted_sum(pool, values, [1.0] * len(weights))


@register_method("mixed")
class Mixed(CombMethod):
    r"""Mixed: the weighted sum of the normalized scores times the root of the number of rankers that list the item.

    .. math:: \mathrm{Mixed}(d) = \sqrt{c(d)} \sum_r w_r\, s_r(d)

    over the rankers r that list d, c(d) of them, not weighted: between `combsum` and `combmnz`. Options and
    tie-breaking are those of `combsum`.

    References
    ----------
    Wu, Crestani (2002), Data fusion with estimated weights, doi:10.1145/584792.584908

    Examples
    --------
    >>> from rankloom import Ranks
    >>> a, b = Ranks([[0, 1]], [[5.0, 4.0]], n_items=3), Ranks([[0, 2]], [[0.9, 0.1]], n_items=3)
    >>> Mixed().fuse([a, b], k=1).scores[0, 0] == np.float32(2 * 2**0.5)
    np.True_
    """

    def combine(self, pool: Pool, values: Normalized, weights: list[float]) -> Floats:
        return np.sqrt(pool.counted(positive_flags(weights))) * weighted_sum(pool, values, weights)


@register_method("gmnz")
class GMNZ(CombMethod):
    r"""CombGMNZ: the sum of the normalized scores times a power of the number of rankers that list the item.

    .. math:: \mathrm{CombGMNZ}(d) = c(d)^\gamma \sum_r w_r\, s_r(d)

    over the rankers r that list d, c(d) of them, not weighted. Tie-breaking is that of `combsum`.

    Parameters
    ----------
    gamma : float
        :math:`\gamma`, from 0 (`combsum`) over 0.5 (`mixed`; the default is our choice) and 1 (`combmnz`) to 10.

    References
    ----------
    Lee (1997), Analyses of multiple evidence combination, SIGIR, doi:10.1145/258525.258587

    Examples
    --------
    >>> from rankloom import Ranks
    >>> lists = [Ranks([[0, 1]], [[5.0, 4.0]]), Ranks([[0, 1]], [[0.9, 0.1]])]
    >>> GMNZ(gamma=2).fuse(lists).to_dict()
    {'0': {'0': 8.0, '1': 0.0}}
    """

    gamma: Annotated[float, Ge(0), Le(10)] = 0.5

    def combine(self, pool: Pool, values: Normalized, weights: list[float]) -> Floats:
        power: Floats = pool.counted(positive_flags(weights)) ** self.gamma
        return power * weighted_sum(pool, values, weights)


@register_method("dbsf")
class DBSF(PoolMethod):
    r"""Distribution-based score fusion: scores scaled by the mean and the deviation of their list, then added up.

    .. math:: \mathrm{DBSF}(d) = \sum_r w_r\, \frac{s_r(d) - (\mu_r - 3 \sigma_r)}{6 \sigma_r}

    over the rankers r that list d, with the mean and the standard deviation of r's list for the query. Ties are broken
    by first appearance, as in `rrf`.

    Parameters
    ----------
    rule : {"qdrant", "haystack"}
        ``qdrant``: as above, with the sample deviation (`three_sigma`); a list of equal scores gets 0.5.
        ``haystack``: the largest of the scaled scores instead of their sum, with the population deviation; a list of
        equal scores gets 0.

    References
    ----------
    Mazzeschi (2023), Distribution-based score fusion (DBSF), a new approach to vector search ranking; the rules are
    those of Qdrant's ``Fusion.DBSF`` and of Haystack's ``DocumentJoiner``

    Examples
    --------
    >>> from rankloom import Ranks
    >>> a, b = Ranks([[0, 1, 2]], [[3.0, 2.0, 1.0]]), Ranks([[1]], [[0.9]], n_items=3)
    >>> {item: round(score, 4) for item, score in DBSF().fuse([a, b]).to_dict()["0"].items()}
    {'1': 1.0, '0': 0.6667, '2': 0.3333}
    """

    rule: Literal["qdrant", "haystack"] = "qdrant"

    def score(self, pool: Pool, weights: list[float]) -> Floats:
        if self.rule == "qdrant":
            return weighted_sum(pool, [three_sigma(r) for r in pool.ranks], weights)
        scaled = [w * (0.5 + z_score(r, constant=-3.0) / 6) for w, r in zip(weights, pool.ranks, strict=True)]
        return pool.fold(np.maximum, scaled, -np.inf)


@register_method("logodds")
class LogOdds(PoolMethod):
    r"""Probabilities of relevance combined by their log-odds, as in Bayesian BM25.

    .. math:: \mathrm{LogOdds}(d) = \frac{1}{\sqrt m} \sum_r w_r\, \ln \frac{p_r(d)}{1 - p_r(d)}

    with m rankers; what a ranker does not list has even odds. The normalization `log_odds` says how scores become
    probabilities. Ties are broken by first appearance, as in `rrf`.

    Parameters
    ----------
    gating : {"none", "relu"}
        ``relu`` ignores odds below even.

    References
    ----------
    Jeong (2026), From Bayesian inference to neural computation, doi:10.5281/zenodo.18512411; the package bayesian-bm25

    Examples
    --------
    >>> from rankloom import Ranks
    >>> a, b = Ranks([[0, 1, 2]], [[3.0, 2.0, 1.0]]), Ranks([[1]], [[0.5]], n_items=3)
    >>> {item: round(score, 4) for item, score in LogOdds().fuse([a, b]).to_dict()["0"].items()}
    {'0': 0.866, '1': 0.7768, '2': -0.866}
    """

    gating: Literal["none", "relu"] = "none"

    def score(self, pool: Pool, weights: list[float]) -> Floats:
        lowest = 0.0 if self.gating == "relu" else -np.inf
        gated = [np.maximum(log_odds(ranks), lowest) for ranks in pool.ranks]
        return np.asarray(weighted_sum(pool, gated, weights) / np.sqrt(len(weights)))
