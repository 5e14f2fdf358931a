"""Methods compared over several collections: mean ranks, Friedman's test, and which methods differ."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np

from rankloom.errors import InputError, brief
from rankloom.evaluation.corrections import correct
from rankloom.evaluation.paired_tests import DECIMALS, wilcoxon
from rankloom.evaluation.significance import check_alpha
from rankloom.ranks.arrays import Floats
from rankloom.registry import Registry

MIN_METHODS, MIN_COLLECTIONS = 3, 2

#: (values of shape (n_collections, n_methods), mean ranks) -> p-values of all pairs, symmetric
PostHoc = Callable[[Floats, Floats], Floats]
#: The tests of all pairs of methods, by name.
POST_HOC: Registry[PostHoc] = Registry("post-hoc test", entries=Callable)


@dataclass(frozen=True, slots=True, eq=False)
class OverCollections:
    """The comparison of several methods over several collections.

    Attributes
    ----------
    methods : tuple of str
        Best mean rank first; ties by name.
    mean_ranks : float64 array of shape (n_methods,)
        From 1, the best; methods of equal value on a collection share its ranks.
    statistic, p_value : float
        Friedman's chi-squared, corrected for ties, and its p-value: whether any methods differ.
    p_values : float64 array of shape (n_methods, n_methods)
        Of each pair, by the post-hoc test, which corrects for the number of pairs.
    n_collections : int
    post_hoc : str
    alpha : float
    """

    methods: tuple[str, ...]
    mean_ranks: Floats
    statistic: float
    p_value: float
    p_values: Floats
    n_collections: int
    post_hoc: str
    alpha: float

    @property
    def critical_difference(self) -> float | None:
        """The smallest significant difference of two mean ranks; None for a test that has none."""
        from scipy.stats import studentized_range

        if self.post_hoc != "nemenyi":
            return None
        return float(studentized_range.isf(self.alpha, len(self.methods), np.inf)) / sqrt(2) * self._spread

    def groups(self) -> list[tuple[str, ...]]:
        """Return the longest runs of two or more methods, by mean rank, of which no pair differs significantly."""
        n = len(self.methods)
        if self.p_value >= self.alpha:
            return [self.methods]
        differs = self.p_values < self.alpha
        ends = [max(end for end in range(i + 1, n + 1) if not differs[i:end, i:end].any()) for i in range(n)]
        return [self.methods[i:end] for i, end in enumerate(ends) if end - i > 1 and (i == 0 or end > ends[i - 1])]

    @property
    def _spread(self) -> float:
        return rank_spread(len(self.methods), self.n_collections)


def rank_spread(n_methods: int, n_collections: int) -> float:
    """Return the standard deviation of the difference of two mean ranks."""
    return sqrt(n_methods * (n_methods + 1) / (6 * n_collections))


@POST_HOC.register("nemenyi")
def nemenyi(values: Floats, mean_ranks: Floats) -> Floats:
    r"""Nemenyi's test: the difference of two mean ranks, compared with the studentized range of k methods.

    .. math:: q = |\bar R_i - \bar R_j| \,/\, \sqrt{k (k + 1) / 6 N}

    References
    ----------
    Demšar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7
    """
    from scipy.stats import studentized_range

    n, k = values.shape
    apart = np.abs(mean_ranks[:, None] - mean_ranks) / rank_spread(k, n)
    return np.asarray(np.clip(studentized_range.sf(apart * sqrt(2), k, np.inf), 0.0, 1.0), np.float64)


@POST_HOC.register("wilcoxon")
def wilcoxon_holm(values: Floats, mean_ranks: Floats) -> Floats:
    """Wilcoxon's signed-rank test of each pair over the collections, corrected by Holm.

    It does not depend on which other methods are compared, but needs about eight collections to find anything.

    References
    ----------
    Benavoli, Corani, Mangili (2016), Should we really use post-hoc tests based on mean-ranks?, JMLR 17
    """
    pairs = list(combinations(range(values.shape[1]), 2))
    found = [values[:, i] - values[:, j] for i, j in pairs]
    p_values = [wilcoxon(one, rounds=0, seed=0).p_value if one.any() else 1.0 for one in found]
    table = np.eye(values.shape[1])
    for (i, j), p in zip(pairs, correct(p_values, method="holm"), strict=True):
        table[i, j] = table[j, i] = p
    return table


def compare_over(
    table: Mapping[Hashable, Mapping[str, float]], *, post_hoc: str = "nemenyi", alpha: float = 0.05
) -> OverCollections:
    """Compare methods over several collections by their ranks on each: Friedman's test, and a test of all pairs.

    Parameters
    ----------
    table : {collection: {method: value}}
        At least 2 collections, each with the same 3 or more methods; higher values are better.
    post_hoc : str
        A name in `POST_HOC`: ``nemenyi``, or ``wilcoxon`` (with Holm's correction).
    alpha : float
        Significance level.

    Examples
    --------
    >>> table = {name: {"fg": 0.8 + i / 10, "rrf": 0.7, "mra": 0.6} for i, name in enumerate("abcde")}
    >>> found = compare_over(table)
    >>> found.methods, found.mean_ranks.tolist(), round(found.p_value, 4), round(found.critical_difference, 3)
    (('fg', 'rrf', 'mra'), [1.0, 2.0, 3.0], 0.0067, 1.482)
    >>> found.groups()
    [('fg', 'rrf'), ('rrf', 'mra')]
    """
    from scipy.stats import friedmanchisquare, rankdata

    test, alpha = POST_HOC[post_hoc], check_alpha(alpha)
    names, values = _values(table)
    ranks = rankdata(-values.round(DECIMALS), axis=1)
    mean_ranks = ranks.mean(axis=0)
    equal = bool((ranks == ranks[0, 0]).all())
    statistic, p_value = (0.0, 1.0) if equal else friedmanchisquare(*ranks.T)
    order = sorted(range(len(names)), key=lambda i: (mean_ranks[i], names[i]))
    p_values = test(values, mean_ranks)[np.ix_(order, order)]
    methods = tuple(names[i] for i in order)
    found = (float(statistic), float(p_value), p_values)
    return OverCollections(methods, mean_ranks[order], *found, len(values), post_hoc, alpha)


def _values(table: Mapping[Hashable, Mapping[str, float]]) -> tuple[list[str], Floats]:
    if len(table) < MIN_COLLECTIONS:
        raise InputError(f"A comparison over collections needs at least {MIN_COLLECTIONS}; got {len(table)}.")
    names = list(next(iter(table.values())))
    odd = next((name for name, row in table.items() if set(row) != set(names)), None)
    if odd is not None:
        raise InputError(f"Give each collection a value of the same methods; {odd!r} has others.")
    if len(names) < MIN_METHODS:
        raise InputError(f"A comparison over collections needs at least {MIN_METHODS} methods; got {', '.join(names)}.")
    values = np.array([[row[name] for name in names] for row in table.values()], np.float64)
    if not np.isfinite(values).all():
        raise InputError(f"Values must be finite numbers; got {brief(values[~np.isfinite(values)].tolist())}.")
    return names, values
