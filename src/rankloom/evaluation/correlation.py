"""Correlation of two rankers: the mean correlation of their lists, by name in `CORRELATIONS`.

A correlation is a registered function from the overlap of pairs of lists to one number for each pair.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, overload

import numpy as np

from rankloom.errors import InputError, check_flag, whole_number
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.align import align
from rankloom.ranks.arrays import Floats, Int32s, Int64s
from rankloom.ranks.checks import returned_numbers
from rankloom.registry import Registry

BLOCK_CELLS = 1 << 16  # of each ranker in a block; few enough for the cache
LOW = (1 << 31) - 1  # the bits of a column in a sorting key
RBO_P = 0.9  # persistence of the rank-biased overlap: the first 10 positions have 86 % of the weight


@dataclass(frozen=True, slots=True)
class Overlap:
    """The overlap of pairs of nonempty lists.

    Attributes
    ----------
    first : int64 array of shape (n_pairs, depth)
        Position in the second list, from 1, of each item of the first; 0 where it is absent.
    second : int64 array of shape (n_pairs, depth)
        Position in the first list of each item of the second.
    lengths : int64 array of shape (2, n_pairs)
        Lengths of the first and of the second list.
    """

    first: Int64s
    second: Int64s
    lengths: Int64s

    def common(self) -> Int64s:
        """Return how many items the two lists share."""
        return np.asarray(np.count_nonzero(self.first, axis=1), np.int64)

    def union(self) -> Int64s:
        """Return how many items are in either list."""
        return np.asarray(self.lengths.sum(0) - self.common(), np.int64)


#: (overlap of pairs of lists) -> one number for each pair
Correlate = Callable[[Overlap], Floats]
#: The correlations by name.
CORRELATIONS: Registry[Correlate] = Registry("correlation", entries=Callable)


@CORRELATIONS.register("jaccard")
def jaccard(overlap: Overlap) -> Floats:
    r"""Shared items over all items of the two lists; the order does not count.

    .. math:: J(A, B) = |A \cap B| \,/\, |A \cup B|

    References
    ----------
    Dourado, Pedronette, Torres (2019), Eq. (7), doi:10.1016/j.ipm.2019.03.008
    """
    return np.asarray(overlap.common() / overlap.union(), np.float64)


@CORRELATIONS.register("kendall")
def kendall(overlap: Overlap) -> Floats:
    r"""One minus the share of pairs of items that the two lists order differently.

    .. math:: K_s(A, B) = 1 - K_d \,/\, n_d, \quad n_d = n (n - 1) / 2

    The pairs are of all items of the two lists, and n is their number: the paper's n if both lists have the same
    items. An item missing from a list comes after its items, so a pair is also discordant if one list has both items
    and the other only the second, or if each list has one of the two; a list does not order two items missing from it.

    Returns
    -------
    array
        In [0, 1]: 1 if no pair is discordant, 0 for a list and its reverse; (n - 1) / (2 n - 1) for two disjoint lists
        of n items.

    Notes
    -----
    The paper calls a pair discordant if the position of i in A is after that of j *in B*, and that of j in A after
    that of i in B. This compares positions across lists, and would find no discordant pair in a list of two and its
    reverse. Here a pair is discordant if the two lists order it differently, which is surely what was intended.

    References
    ----------
    Dourado, Pedronette, Torres (2019), Eq. (8), doi:10.1016/j.ipm.2019.03.008; for items in one list only:
    Fagin, Kumar, Sivakumar (2003), Comparing top k lists (there K with penalty 0), doi:10.1137/S0895480102412856
    """
    alone = overlap.lengths - overlap.common()
    discordant = alone[0] * alone[1] + _inversions(overlap)
    for side, length in zip((overlap.first, overlap.second), overlap.lengths, strict=True):
        missing = (side == 0) & (np.arange(side.shape[1]) < length[:, None])
        discordant += (np.cumsum(missing, axis=1) * (side > 0)).sum(1)  # items of one list before a shared one
    pairs = overlap.union() * (overlap.union() - 1) // 2
    return np.asarray(1 - discordant / np.maximum(pairs, 1), np.float64)


@CORRELATIONS.register("spearman")
def spearman(overlap: Overlap) -> Floats:
    r"""One minus the normalized sum of the differences between the two positions of each item (Spearman's footrule).

    .. math:: S(A, B) = 1 - \frac{\sum_i |\rho_A(i) - \rho_B(i)|}{n (n + 1)}

    The sum is over the items of both lists, and n is the length of the longer one; an item missing from a list has the
    position n + 1 there. The divisor is the largest possible sum.

    Returns
    -------
    array
        In [0, 1]: 1 for equal lists, 0 for two disjoint lists of n items.

    References
    ----------
    Dourado, Pedronette, Torres (2019), Eq. (9), doi:10.1016/j.ipm.2019.03.008; for items in one list only:
    Fagin, Kumar, Sivakumar (2003), Comparing top k lists (there F with location n + 1), doi:10.1137/S0895480102412856
    """
    n = overlap.lengths.max(0)
    total = np.zeros(len(n), np.int64)
    for side, length, shared in zip((overlap.first, overlap.second), overlap.lengths, (True, False), strict=True):
        position = np.arange(1, side.shape[1] + 1)
        missing = (side == 0) & (position <= length[:, None])
        total += np.where(missing, n[:, None] + 1 - position, 0).sum(1)
        if shared:  # counted once
            total += np.where(side > 0, abs(side - position), 0).sum(1)
    return np.asarray(1 - total / (n * (n + 1)), np.float64)


@CORRELATIONS.register("rbo")
def rank_biased_overlap(overlap: Overlap) -> Floats:
    r"""Rank-biased overlap, p = 0.9: agreement at the top counts most; extrapolated beyond the ends of the lists.

    .. math:: \mathrm{RBO} = \frac{1 - p}{p} \Big(\sum_{d=1}^{l} \frac{X_d}{d} p^d +
              \sum_{d=s+1}^{l} \frac{X_s (d - s)}{s d} p^d\Big) + \Big(\frac{X_l - X_s}{l} + \frac{X_s}{s}\Big) p^l

    where :math:`X_d` is the number of items that both lists have in their first d, and s and l are the lengths of the
    shorter and the longer list.

    Returns
    -------
    array
        In [0, 1]: 1 for equal lists, 0 for disjoint ones.

    References
    ----------
    Webber, Moffat, Zobel (2010), A similarity measure for indefinite rankings, Eq. (32), doi:10.1145/1852102.1852106
    """
    p = RBO_P
    short, long = overlap.lengths.min(0), overlap.lengths.max(0)
    depth = np.arange(1, overlap.first.shape[1] + 1)
    seen = np.maximum(overlap.first, np.where(overlap.first > 0, depth, 0))  # the depth from which both have the item
    width = int(long.max(initial=0))
    counts = np.zeros((len(seen), width + 1), np.int64)
    np.add.at(counts, (np.nonzero(seen)[0], seen[seen > 0]), 1)
    X = np.cumsum(counts, axis=1)
    d = np.arange(1, width + 1)
    X_s, X_l = (np.take_along_axis(X, end[:, None], 1)[:, 0] for end in (short, long))
    weights = np.where(d <= long[:, None], p**d / d, 0.0)
    beyond = np.maximum(d - short[:, None], 0) * (X_s / short)[:, None]
    total = ((X[:, 1:] + beyond) * weights).sum(1) * (1 - p) / p
    return np.asarray(total + ((X_l - X_s) / long + X_s / short) * p**long, np.float64)


@overload
def correlation(
    first: Ranks, second: Ranks, *, kind: str = ..., depth: int = ..., per_query: Literal[False] = ...
) -> float: ...


@overload
def correlation(
    first: Ranks, second: Ranks, *, kind: str = ..., depth: int = ..., per_query: Literal[True]
) -> Floats: ...


def correlation(
    first: Ranks, second: Ranks, *, kind: str = "jaccard", depth: int = 10, per_query: bool = False
) -> float | Floats:
    """Return the mean correlation of the lists of two rankers, over the queries that both have.

    Parameters
    ----------
    first, second : Ranks
        Matched by id if both have ids (`align`); otherwise row by row, with the same numbering of items.
    kind : str
        A name in `CORRELATIONS`: ``jaccard``, ``kendall``, ``spearman`` or ``rbo``.
    depth : int
        How many items of each list to use; the paper's n. Lists may be shorter.
    per_query : bool
        Return the value of each common query, in the first ranker's order, instead of the mean.

    Returns
    -------
    float, or float64 array of shape (n_common_queries,)
        In [0, 1] and symmetric; 1 for equal lists, including two empty ones; 0 if only one of the two is empty.

    Examples
    --------
    >>> color, shape = Ranks([[0, 1, 2]], n_items=9), Ranks([[0, 2, 3]], n_items=9)
    >>> correlation(color, shape, depth=3)
    0.5
    >>> round(correlation(color, shape, kind="spearman", depth=3), 3)  # 1 - (0 + 1 + 2 + 1) / (3 * 4)
    0.667
    """
    check_flag(per_query=per_query)
    first, second = align([first, second], missing="drop")
    values = _correlated(first, second, kind, whole_number("depth", depth))
    return values if per_query else float(values.mean())


def correlations(rankers: Sequence[Ranks], *, kind: str = "jaccard", depth: int = 10) -> Floats:
    """Return the correlation of each pair of rankers, as a symmetric matrix with 1 on the diagonal.

    Uses the queries that all rankers have; otherwise as `correlation`.

    Examples
    --------
    >>> correlations([Ranks([[0, 1]], n_items=3), Ranks([[0, 2]], n_items=3)]).round(3)
    array([[1.   , 0.333],
           [0.333, 1.   ]])
    """
    aligned = align(rankers, missing="drop")
    table = np.eye(len(aligned))
    for i, j in combinations(range(len(aligned)), 2):
        table[i, j] = table[j, i] = _correlated(aligned[i], aligned[j], kind, whole_number("depth", depth)).mean()
    return table


def _correlated(first: Ranks, second: Ranks, kind: str, depth: int) -> Floats:
    correlate = CORRELATIONS[kind]
    if first.n_queries == 0:
        raise InputError("There is nothing to compare; the ranks have no rows.")
    found = np.concatenate([_of_block(a, b, correlate) for a, b in _blocks(first.head(depth), second.head(depth))])
    return returned_numbers(f"correlation {kind!r}", found, (first.n_queries,))


def _blocks(first: Ranks, second: Ranks) -> Iterator[tuple[Int32s, Int32s]]:
    size = max(1, BLOCK_CELLS // max(first.depth, second.depth, 1))
    for start in range(0, first.n_queries, size):
        yield first.items[start : start + size], second.items[start : start + size]


def _of_block(first: Int32s, second: Int32s, correlate: Correlate) -> Floats:
    lengths = np.array([np.count_nonzero(items != PAD, axis=1) for items in (first, second)], np.int64)
    values = np.where(lengths.any(0), 0.0, 1.0)  # empty lists: 1 if both are, else 0
    full = lengths.all(0)
    if full.any():
        first, second = first[full], second[full]
        values[full] = correlate(Overlap(*_mutual_positions(first, second), lengths[:, full]))
    return values


def _mutual_positions(first: Int32s, second: Int32s) -> tuple[Int64s, Int64s]:
    """Return the position in the other list, from 1, of each item of the two; 0 where it is absent.

    Sorting both lists together makes the two cells of a shared item adjacent: a key holds item, list and column.
    """
    keys = np.concatenate([_keys(first, 0), _keys(second, LOW + 1)], axis=1)
    keys.sort(axis=1)
    items = keys >> 32
    rows, columns = np.nonzero((items[:, 1:] == items[:, :-1]) & (items[:, 1:] != PAD))
    in_first, in_second = keys[rows, columns] & LOW, keys[rows, columns + 1] & LOW
    of_first, of_second = np.zeros(first.shape, np.int64), np.zeros(second.shape, np.int64)
    of_first[rows, in_first] = in_second + 1
    of_second[rows, in_second] = in_first + 1
    return of_first, of_second


def _keys(items: Int32s, side: int) -> Int64s:
    return np.asarray(items.astype(np.int64) << 32 | side | np.arange(items.shape[1]), np.int64)


def _inversions(overlap: Overlap) -> Int64s:
    """Return how many pairs of shared items the two lists order differently.

    Positions in the second list, in the order of the first, are sorted bit by bit from the highest: a pair is inverted
    if the larger position precedes the smaller one when the first bit in which they differ is sorted.
    """
    values = np.where(overlap.first > 0, overlap.first, 0)
    total = np.zeros(len(values), np.int64)
    used = overlap.first > 0
    for bit in reversed(range(int(values.max(initial=0)).bit_length())):
        order = np.argsort(values >> (bit + 1), axis=1, kind="stable")
        values, used = np.take_along_axis(values, order, axis=1), np.take_along_axis(used, order, axis=1)
        group = values >> (bit + 1)
        ones = used & ((values >> bit) & 1 == 1)
        before = np.cumsum(ones, axis=1) - ones
        starts = np.ones_like(ones)
        starts[:, 1:] = group[:, 1:] != group[:, :-1]
        in_group = before - np.maximum.accumulate(np.where(starts, before, 0), axis=1)
        total += np.where(used & ~ones, in_group, 0).sum(1)
    return total
