r"""Comparators of fusion graphs, from the sizes of two graphs and of what they have in common.

The size :math:`|G|` is the sum of all vertex and edge weights; :math:`|C|`, the size of the minimum common
subgraph, the sum of the smaller weight of each shared vertex and edge.

A comparator is a function of these three numbers. The search compiles it, and prunes with its bound; that is all it
knows of it. So a new comparator is one registered function of plain arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from rankloom.errors import InputError
from rankloom.registry import Registry

#: (common, size_a, size_b) -> a number
Compare = Callable[[float, float, float], float]


@dataclass(frozen=True, slots=True)
class Comparator:
    """How similar two graphs are, and how similar they could be.

    Attributes
    ----------
    similarity : callable
        ``similarity(common, size_a, size_b)``, in [0, 1].
    bound : callable
        ``bound(common, size_a, min_size_b)``: no graph of size `min_size_b` or more that has `common` or less in common
        with a graph of size `size_a` is more similar to it. Where the similarity never falls as `common` grows and
        never rises as a size grows, it is its own bound.
    """

    similarity: Compare
    bound: Compare


#: The comparators by name; a plug-in adds one through the entry-point group ``rankloom.comparators``.
COMPARATORS: Registry[Comparator] = Registry("comparator", group="rankloom.comparators")


def register_comparator(name: str, *, bound: Compare | None = None) -> Callable[[Compare], Compare]:
    """Return a decorator that registers a comparator; `check_comparator` says whether it keeps its promises.

    Parameters
    ----------
    bound : callable, optional
        See `Comparator`; by default the comparator itself.
    """

    def add(similarity: Compare) -> Compare:
        COMPARATORS.register(name)(Comparator(similarity, bound or similarity))
        return similarity

    return add


@register_comparator("mcs")
def mcs(common: float, size_a: float, size_b: float) -> float:
    r"""Minimum common subgraph: shared size over the larger size.

    .. math:: \mathrm{MCS}(A, B) = |C| \,/\, \max(|A|, |B|)

    Returns
    -------
    float
        In [0, 1]: 1 for equal graphs, 0 when nothing is shared or a graph is empty.

    References
    ----------
    Dourado, Pedronette, Torres (2019), Eq. (4), doi:10.1016/j.ipm.2019.03.008 (there as the distance 1 - MCS)

    Examples
    --------
    >>> mcs(1.0, 2.0, 4.0)
    0.25
    """
    return common / max(size_a, size_b) if common else 0.0


@register_comparator("wgu")
def wgu(common: float, size_a: float, size_b: float) -> float:
    r"""Weighted graph union: shared size over united size.

    .. math:: \mathrm{WGU}(A, B) = |C| \,/\, (|A| + |B| - |C|)

    Returns
    -------
    float
        In [0, 1]: 1 for equal graphs, 0 when nothing is shared or a graph is empty; never above MCS.

    References
    ----------
    Dourado, Pedronette, Torres (2019), Eq. (5), doi:10.1016/j.ipm.2019.03.008 (there as the distance 1 - WGU)

    Examples
    --------
    >>> wgu(1.0, 2.0, 3.0)
    0.25
    """
    return common / (size_a + size_b - common) if common else 0.0


def check_comparator(name: str) -> None:
    """Check what the search relies on, on a grid of sizes; the first promise broken is an AssertionError.

    Equal graphs have similarity 1 and graphs that share nothing 0; values are in [0, 1], do not depend on which graph
    is which, and do not fall as more is shared; the bound holds; and numba can compile both functions.

    Examples
    --------
    >>> check_comparator("wgu")
    """
    from rankloom._kernels.search import compiled

    comparator = COMPARATORS[name]
    for function in (comparator.similarity, comparator.bound):
        try:
            compiled(function)
        except InputError as error:
            raise AssertionError(f"{name}: {error}") from error
    for common, a, b in _grid():
        similarity = comparator.similarity(common, a, b)
        _claim(0 <= similarity <= 1, f"{name} gives {similarity}, which is not in [0, 1]")
        _claim(similarity == comparator.similarity(common, b, a), f"{name} depends on the order of the graphs")
        _claim(common > 0 or similarity == 0, f"{name} gives {similarity} where nothing is shared")
        _claim(not common == a == b or similarity == 1, f"{name} gives {similarity} for equal graphs")
        for less, least in product((0.0, common / 2, common), (common, (common + b) / 2, b)):
            if less <= least <= b:
                fewer = comparator.similarity(less, a, b)
                _claim(fewer <= similarity, f"{name} falls where more is shared")
                _claim(fewer <= comparator.bound(common, a, least), f"{name} is above its bound")


def _grid() -> Iterator[tuple[float, float, float]]:
    """Yield (common, size_a, size_b): no graph shares more than it has."""
    for a, b in product((0.5, 1.0, 3.0, 40.0), repeat=2):
        for share in (0.0, 0.25, 0.5, 1.0):
            yield share * min(a, b), a, b


def _claim(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)
