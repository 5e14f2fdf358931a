"""More measures over judgments: bpref, R-precision, bull's eye, F1, hits, success, RBP, ERR, interpolated precision."""

import numpy as np

from rankloom.errors import InputError
from rankloom.evaluation.measures import NO_CUTOFF, precision, ratio, recall, register_measure
from rankloom.evaluation.truth import Judged
from rankloom.ranks.arrays import Floats, Int64s
from rankloom.registry import Count, Fraction

ROUND_UP = 0.9  # trec_eval's: how it turns a level of recall into a number of items


@register_measure("bpref", "none")
def bpref(judged: Judged, cutoff: int) -> Floats:
    r"""Mean, over the R relevant items, of how few items judged not relevant come before.

    .. math:: \mathrm{bpref} = \frac{1}{R} \sum_r 1 - \frac{\min(|n \text{ before } r|, R)}{\min(R, N)}

    over the relevant items r that are found, where N items are judged not relevant (grade 0). Items without a judgment
    are skipped. As in trec_eval.

    References
    ----------
    Buckley, Voorhees (2004), Retrieval evaluation with incomplete information, doi:10.1145/1008992.1009000
    """
    relevant = judged.relevant(cutoff)
    rejected = ~relevant if judged.rejected is None else judged.rejected[:, :cutoff]
    before = np.cumsum(rejected, axis=1)
    R = judged.n_relevant[:, None]
    least = R if judged.n_rejected is None else np.minimum(R, judged.n_rejected[:, None])
    lost = np.minimum(before, R) / np.maximum(least, 1)
    return ratio(((1.0 - lost) * relevant).sum(1), judged.n_relevant)


@register_measure("r-precision", "none")
def r_precision(judged: Judged, cutoff: int) -> Floats:
    """Relevant items among the first R, divided by R, the number of relevant items; as trec_eval's ``Rprec``."""
    return _recall_of(judged, judged.n_relevant)


@register_measure("bullseye", "none")
def bullseye(judged: Judged, cutoff: int) -> Floats:
    """Bull's eye score: relevant items among the first 2 C, divided by C, the number of relevant items.

    With labels C is the size of the query's class, including the query itself: MPEG-7's score, where C = 20.

    References
    ----------
    Latecki, Lakämper, Eckhardt (2000), Shape descriptors for non-rigid shapes with a single closed contour,
    doi:10.1109/CVPR.2000.855850
    """
    return _recall_of(judged, 2 * judged.n_relevant)


@register_measure("f1", "needed")
def f1(judged: Judged, cutoff: int) -> Floats:
    """Harmonic mean of precision and recall of the first k."""
    p, r = precision(judged, cutoff), recall(judged, cutoff)
    return ratio(2 * p * r, p + r)


@register_measure("hits", "needed", best=None)
def hits(judged: Judged, cutoff: int) -> Floats:
    """Relevant items among the first k."""
    return np.asarray(np.count_nonzero(judged.relevant(cutoff), axis=1), np.float64)


@register_measure("hit_rate", "needed")
@register_measure("success", "needed")
def success(judged: Judged, cutoff: int) -> Floats:
    """1 if any of the first k is relevant, else 0; also under the name ``hit_rate``."""
    return np.asarray(judged.relevant(cutoff).any(1), np.float64)


@register_measure("rbp", "optional")
def rank_biased_precision(judged: Judged, cutoff: int, *, p: Fraction = 0.8) -> Floats:
    r"""Rank-biased precision: the relevance that a reader sees who goes on to the next item with probability p.

    .. math:: \mathrm{RBP} = (1 - p) \sum_{i=1}^{k} p^{i-1} [\text{item } i \text{ is relevant}]

    References
    ----------
    Moffat, Zobel (2008), Rank-biased precision for measurement of retrieval effectiveness, doi:10.1145/1416950.1416952
    """
    relevant = judged.relevant(cutoff)
    return np.asarray((1 - p) * (relevant * p ** np.arange(relevant.shape[1])).sum(1), np.float64)


@register_measure("err", "optional")
def expected_reciprocal_rank(judged: Judged, cutoff: int, *, max: Count = 4) -> Floats:
    r"""Expected reciprocal rank: 1 / the position at which a reader stops who is satisfied by an item with R(g).

    .. math:: \mathrm{ERR} = \sum_{i=1}^{k} \frac{1}{i} R(g_i) \prod_{j<i} (1 - R(g_j)), \quad
              R(g) = (2^g - 1) / 2^{max}

    ``max`` is the highest grade: 4 by default, as in TREC's gdeval, whatever the judgments have; 1 for labels.

    References
    ----------
    Chapelle, Metzler, Zhang, Grinspan (2009), Expected reciprocal rank for graded relevance,
    doi:10.1145/1645953.1646033
    """
    grades = judged.gains[:, :cutoff]
    if judged.gains.max(initial=0) > max:
        raise InputError(
            f"The measure err takes grades of at most {max}; got {judged.gains.max():g}. Write err(max=...)."
        )
    stops = (2.0**grades - 1) / 2.0**max
    left = np.cumprod(1 - stops, axis=1)
    reaching = np.concatenate([np.ones((len(grades), 1)), left[:, :-1]], axis=1)[:, : grades.shape[1]]
    return np.asarray((stops * reaching / np.arange(1, grades.shape[1] + 1)).sum(1), np.float64)


@register_measure("iprec", "recall")
def interpolated_precision(judged: Judged, cutoff: float) -> Floats:
    """Highest precision at any position where recall is at least the given level; as ``iprec_at_recall`` of trec_eval.

    A level of recall is turned into a number of relevant items as trec_eval does, level * R + 0.9 without its
    fraction.
    """
    relevant = judged.relevant(judged.gains.shape[1])
    found = np.cumsum(relevant, axis=1)
    needed = np.floor(cutoff * judged.n_relevant + ROUND_UP)
    reached = (found >= needed[:, None]) & (found > 0)
    precisions = found / np.arange(1, relevant.shape[1] + 1)
    return np.asarray(np.where(reached, precisions, 0.0).max(axis=1, initial=0.0), np.float64)


def _recall_of(judged: Judged, depths: Int64s) -> Floats:
    """Return the share of the relevant items that are among the first of each list; `depths` says how many."""
    relevant = judged.relevant(NO_CUTOFF)
    reached = np.arange(relevant.shape[1]) < depths[:, None]
    return ratio(np.count_nonzero(relevant & reached, axis=1), judged.n_relevant)
