"""Methods that learn from judged queries how likely the items at each position of a ranker's lists are relevant.

`rankloom.train` trains them.
"""

from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Lt
from numpy.typing import NDArray

from rankloom.aggregate.methods import SUPERVISED, Supervised
from rankloom.evaluation.measures import NO_CUTOFF, average_precision
from rankloom.evaluation.truth import Judged
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Floats, Indexes
from rankloom.ranks.normalizations import NORMALIZATIONS
from rankloom.registry import Count

SegmentRule = Literal["sizes", "ends"]
Lengths = NDArray[np.integer]

#: Ends of the intervals of positions in which trec_eval reports precision.
INTERVALS = np.array([5, 10, 15, 20, 30, 100, 200, 500, 1000])
GROWING = 10 * 2 ** np.arange(10) - 5  # 5, 15, 35, ...: the sizes of SegFuse's segments


@SUPERVISED.register("probfuse")
class ProbFuse(Supervised):
    r"""ProbFuse: how likely the items of each segment of a list are relevant, later segments counting less.

    .. math:: \mathrm{ProbFuse}(d) = \sum_r P_r(k) / k, \qquad
        P_r(k) = \frac{1}{|Q|} \sum_{q \in Q} \frac{|R_{k,q}|}{|k|}

    over the rankers r that list d, with k the segment of d in r's list, from 1, and :math:`P_r(k)` the share of
    relevant items in segment k, averaged over the training queries Q; items without a judgment count as not relevant
    (the article's ProbFuseAll). A list of L items has segments of :math:`\lceil L / x \rceil`, the last ones shorter
    or empty. Ties are broken by first appearance, as in `rrf`.

    Parameters
    ----------
    segments : int
        x, the number of segments; 25 is our choice, `optimize` tries 1 to 100.

    References
    ----------
    Lillis, Toolan, Collier, Dunnion (2006), ProbFuse: a probabilistic approach to data fusion, SIGIR,
    doi:10.1145/1148170.1148197

    Examples
    --------
    >>> one = Judged(np.array([[1.0, 0.0, 0.0, 0.0]]), np.array([1]))  # a list of four, the first relevant
    >>> ProbFuse(segments=2).learn(one, np.array([4])).tolist()
    [0.5, 0.0]
    """

    segments: Count = 25

    def learn(self, judged: Judged, lengths: Lengths) -> Floats:
        """Return the share of relevant items in each segment."""
        n, depth = judged.gains.shape
        cells = (np.arange(n) * self.segments)[:, None] + self._segment(lengths, depth)
        listed = np.arange(depth) < lengths[:, None]
        counts = [np.bincount(cells[which], minlength=n * self.segments) for which in (listed, judged.gains > 0)]
        shares = counts[1] / np.maximum(counts[0], 1)
        return np.asarray(shares.reshape(n, self.segments).mean(axis=0))

    def values(self, learned: Floats, ranks: Ranks) -> Floats:
        return (learned / np.arange(1, self.segments + 1))[self._segment(ranks.lengths(), ranks.depth)]

    def _segment(self, lengths: Lengths, depth: int) -> Indexes:
        """Return the segment of each position of each list, from 0; padding is in the last."""
        size = np.maximum(-(-lengths // self.segments), 1)[:, None]
        return np.minimum(np.arange(depth) // size, self.segments - 1)


@SUPERVISED.register("segfuse")
class SegFuse(Supervised):
    r"""SegFuse: how likely the items of each segment of a list are relevant, segments growing, times the score.

    .. math:: \mathrm{SegFuse}(d) = \sum_r P_r(k)\, (s_r(d) + 1)

    over the rankers r that list d, with k the segment of d in r's list, :math:`P_r(k)` its precision averaged over the
    training queries, and :math:`s_r` the normalized score. Segments have :math:`10 \cdot 2^{k-1} - 5` items: 5, 15,
    35, ..., ten in all; later positions add nothing. Ties are broken by first appearance, as in `rrf`.

    Parameters
    ----------
    segments : {"sizes", "ends"}
        ``sizes`` (the article's, from memory): as above, so that the segments end at 5, 20, 55, ... ``ends``: they end
        at 5, 15, 35, ..., as in ranx.
    normalization : str
        A name in `rankloom.methods.NORMALIZATIONS`.

    References
    ----------
    Shokouhi (2007), Segmentation of search engine results for effective data-fusion, doi:10.1007/978-3-540-71496-5_19

    Examples
    --------
    >>> one = Judged(np.array([[1.0, 0.0, 0.0, 0.0]]), np.array([1]))  # a list of four, the first relevant
    >>> SegFuse().learn(one, np.array([4]))[:2].tolist()
    [0.2, 0.0]
    """

    segments: SegmentRule = "sizes"
    normalization: str = "min_max"

    def __post_init__(self) -> None:
        super().__post_init__()
        NORMALIZATIONS[self.normalization]

    def learn(self, judged: Judged, lengths: Lengths) -> Floats:
        """Return the precision of each segment."""
        return _interval_precisions(judged, self._ends())

    def values(self, learned: Floats, ranks: Ranks) -> Floats:
        normalized = NORMALIZATIONS[self.normalization](ranks)
        return _at_positions(learned, self._ends(), ranks.depth, 0.0) * (normalized + 1)

    def _ends(self) -> NDArray[np.integer]:
        return GROWING if self.segments == "ends" else np.cumsum(GROWING)


@SUPERVISED.register("bayesfuse")
class BayesFuse(Supervised):
    r"""BayesFuse: the odds of relevance at each position, as independent evidence.

    .. math:: \mathrm{BayesFuse}(d) = \sum_r \ln \frac{P_r(k)}{1 - P_r(k)}

    over all rankers r, with k the interval of positions of d in r's list (1 to 5, 6 to 10, 15, 20, 30, 100, 200, 500,
    1000, as trec_eval reports precision) and :math:`P_r(k)` its precision averaged over the training queries. Ties are
    broken by first appearance, as in `rrf`.

    Parameters
    ----------
    floor : float
        The precision of an interval without any relevant item, of later positions and of items that are not listed;
        one minus the precision of an interval of relevant items only. 0.001 as in ranx.

    Notes
    -----
    The article adds up the logarithms of P(k | relevant) / P(k | not relevant), from memory. For a listed item that
    differs from these odds by a constant of the ranker; for items that are not listed it needs the size of the
    collection, which runs do not tell.

    References
    ----------
    Aslam, Montague (2001), Models for metasearch, SIGIR, doi:10.1145/383952.384007

    Examples
    --------
    >>> one = Judged(np.array([[1.0, 0.0, 0.0, 0.0]]), np.array([1]))  # a list of four, the first relevant
    >>> np.exp(BayesFuse().learn(one, np.array([4])))[:2].round(4).tolist()  # 0.2 / 0.8, 0.001 / 0.999
    [0.25, 0.001]
    """

    floor: Annotated[float, Gt(0), Lt(0.5)] = 0.001

    def learn(self, judged: Judged, lengths: Lengths) -> Floats:
        """Return the logarithms of the odds in each interval."""
        relevant = _interval_precisions(judged, INTERVALS)
        relevant[relevant == 0] = self.floor
        other = 1 - relevant
        other[other == 0] = self.floor
        return np.asarray(np.log(relevant / other))

    def absent(self) -> float:
        return float(np.log(self.floor / (1 - self.floor)))

    def values(self, learned: Floats, ranks: Ranks) -> Floats:
        return _at_positions(learned, INTERVALS, ranks.depth, self.absent())


@SUPERVISED.register("mapfuse")
class MapFuse(Supervised):
    r"""MAPFuse: inverse positions, rankers weighted by their mean average precision.

    .. math:: \mathrm{MAPFuse}(d) = \sum_r \mathrm{MAP}_r \,/\, \rho_r(d)

    over the rankers r that list d, where :math:`\mathrm{MAP}_r` is over the training queries and :math:`\rho_r(d)` the
    position, from 1. Ties are broken by first appearance, as in `rrf`.

    References
    ----------
    Lillis, Zhang, Toolan, Collier, Leonard, Dunnion (2010), Estimating probabilities for effective data fusion, SIGIR,
    doi:10.1145/1835449.1835508

    Examples
    --------
    >>> one = Judged(np.array([[0.0, 1.0, 0.0, 0.0]]), np.array([1]))  # a list of four, the second relevant
    >>> MapFuse().learn(one, np.array([4])).tolist()
    [0.5]
    """

    def learn(self, judged: Judged, lengths: Lengths) -> Floats:
        """Return the mean average precision."""
        return np.array([average_precision(judged, NO_CUTOFF).mean()])

    def values(self, learned: Floats, ranks: Ranks) -> Floats:
        return learned / np.arange(1, ranks.depth + 1)


@SUPERVISED.register("posfuse")
class PosFuse(Supervised):
    r"""PosFuse: how likely the item at each position of a list is relevant.

    .. math:: \mathrm{PosFuse}(d) = \sum_r P_r(\rho_r(d)), \qquad
        P_r(p) = |\{q \in Q_p : \text{the item at p is relevant}\}| \,/\, |Q_p|

    over the rankers r that list d, with :math:`\rho_r(d)` the position and :math:`Q_p` the training queries whose list
    has a position p; positions beyond add nothing. Ties are broken by first appearance, as in `rrf`.

    References
    ----------
    Lillis, Zhang, Toolan, Collier, Leonard, Dunnion (2010), Estimating probabilities for effective data fusion, SIGIR,
    doi:10.1145/1835449.1835508

    Examples
    --------
    >>> two = Judged(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1, 1]))  # lists of two and of one
    >>> PosFuse().learn(two, np.array([2, 1])).tolist()
    [0.5, 1.0]
    """

    def learn(self, judged: Judged, lengths: Lengths) -> Floats:
        """Return the share of relevant items at each position, over the lists that are long enough."""
        listed = np.count_nonzero(np.arange(judged.gains.shape[1]) < lengths[:, None], axis=0)
        return np.asarray(np.count_nonzero(judged.gains > 0, axis=0) / np.maximum(listed, 1))

    def values(self, learned: Floats, ranks: Ranks) -> Floats:
        return _to_depth(learned, ranks.depth)


@SUPERVISED.register("slidefuse")
class SlideFuse(PosFuse):
    r"""SlideFuse: how likely the items around each position of a list are relevant.

    .. math:: \mathrm{SlideFuse}(d) = \sum_r \frac{1}{b - a + 1} \sum_{p=a}^{b} P_r(p), \qquad
        a = \max(\rho_r(d) - w, 1),\ b = \min(\rho_r(d) + w, L_r)

    over the rankers r that list d, with :math:`P_r` as in `posfuse` and :math:`L_r` the length of r's list for the
    query. Ties are broken by first appearance, as in `rrf`.

    Parameters
    ----------
    window : int
        w, the number of positions on each side; 5 is our choice, `optimize` tries 1 to 100.

    References
    ----------
    Lillis, Toolan, Collier, Dunnion (2008), Extending probabilistic data fusion using sliding windows, ECIR,
    doi:10.1007/978-3-540-78646-7_33

    Examples
    --------
    >>> two = Judged(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1, 1]))  # lists of two and of one
    >>> SlideFuse().learn(two, np.array([2, 1])).tolist()
    [0.5, 1.0]
    """

    window: Annotated[int, Ge(0)] = 5

    def values(self, learned: Floats, ranks: Ranks) -> Floats:
        """Return the mean probability in the window around each position of each list."""
        sums = np.concatenate([[0.0], np.cumsum(_to_depth(learned, ranks.depth))])
        position = np.arange(ranks.depth)
        first = np.maximum(position - self.window, 0)
        last = np.minimum(position + self.window + 1, np.maximum(ranks.lengths(), 1)[:, None])  # the end is excluded
        return np.asarray((sums[last] - sums[first]) / np.maximum(last - first, 1))


def _interval_precisions(judged: Judged, ends: NDArray[np.integer]) -> Floats:
    """Return the precision in each interval of positions, averaged over the lists; short lists count as full."""
    found = np.concatenate([[0], np.cumsum(np.count_nonzero(judged.gains > 0, axis=0))])
    hits = np.diff(found[np.minimum(ends, len(found) - 1)], prepend=0)
    return np.asarray(hits / np.diff(ends, prepend=0) / len(judged.gains))


def _at_positions(values: Floats, ends: NDArray[np.integer], depth: int, beyond: float) -> Floats:
    """Return the value of the interval of each position; `beyond` after the last one."""
    return np.append(values, beyond)[np.searchsorted(ends, np.arange(depth), side="right")]


def _to_depth(values: Floats, depth: int) -> Floats:
    """Return the values of the first `depth` positions, 0 where there are none."""
    return np.concatenate([values[:depth], np.zeros(max(depth - len(values), 0))])
