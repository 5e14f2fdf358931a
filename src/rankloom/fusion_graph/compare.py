r"""Comparators of fusion graphs: functions of the sizes of two graphs and of their common subgraph.

The size :math:`|G|` is the sum of all vertex and edge weights; :math:`|C|`, the size of the minimum common
subgraph, is the sum of the smaller weight of each shared vertex and edge.

The search compiles a comparator and prunes with its bound, and assumes nothing else about it. So adding a comparator
means registering one function of plain arithmetic.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from numbers import Real

from rankloom.errors import ContractError, InputError, brief
from rankloom.registry import Registry

#: (common, size_a, size_b) -> a number
Compare = Callable[[float, float, float], float]


@dataclass(frozen=True, slots=True)
class Comparator:
    """The similarity of two graphs, and an upper bound of it.

    Attributes
    ----------
    similarity : callable
        ``similarity(common, size_a, size_b)``, in [0, 1].
    bound : callable
        ``bound(common, size_a, min_size_b)``: the maximum similarity of a graph of size `size_a` and any graph of at
        least size `min_size_b` that share at most `common`. A similarity that never decreases with `common` and
        never increases with a size is its own bound.
    """

    similarity: Compare
    bound: Compare


#: The comparators by name.
COMPARATORS: Registry[Comparator] = Registry("comparator", entries=Comparator)


def register_comparator(name: str, *, bound: Compare | None = None) -> Callable[[Compare], Compare]:
    """Return a decorator that registers a comparator; `check_comparator` checks that it meets the contract.

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

    It is 1 for equal graphs, and 0 when nothing is shared or a graph is empty.

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
    r"""Weighted graph union: shared size over the size of the union.

    .. math:: \mathrm{WGU}(A, B) = |C| \,/\, (|A| + |B| - |C|)

    It is never above MCS.

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
    """Check the contract of a comparator on a grid of sizes; raise AssertionError at the first violation.

    Equal graphs have similarity 1 and graphs that share nothing 0; values are in [0, 1], symmetric, and do not
    decrease as more is shared; the bound holds; and numba can compile both functions.

    Examples
    --------
    >>> check_comparator("wgu")
    """
    from rankloom._kernels.jit import address_of

    comparator = COMPARATORS[name]
    built_in = comparator.similarity in (wgu, mcs)
    for function in () if built_in else (comparator.similarity, comparator.bound):
        try:
            address_of(function)
        except InputError as error:
            raise AssertionError(f"{name}: {error}") from error
    for common, a, b in _grid():
        similarity = comparator.similarity(common, a, b)
        _require(0 <= similarity <= 1, f"{name} gives {similarity}, which is not in [0, 1]")
        _require(similarity == comparator.similarity(common, b, a), f"{name} depends on the order of the graphs")
        _require(common > 0 or similarity == 0, f"{name} gives {similarity} if nothing is shared")
        _require(not common == a == b or similarity == 1, f"{name} gives {similarity} for equal graphs")
        for less, min_b in product((0.0, common / 2, common), (common, (common + b) / 2, b)):
            if less <= min_b <= b:
                lower = comparator.similarity(less, a, b)
                _require(lower <= similarity, f"{name} decreases as more is shared")
                _require(lower <= comparator.bound(common, a, min_b), f"{name} is above its bound")


@lru_cache(maxsize=64)
def check_values(comparator: Comparator, name: str) -> None:
    """Raise ContractError unless a comparator returns similarities; compiled code can neither check that nor raise."""
    for sizes in _grid():
        for function, high in ((comparator.similarity, 1.0), (comparator.bound, math.inf)):
            value = function(*sizes)
            if not isinstance(value, Real) or not 0 <= value <= high:
                raise ContractError(
                    f"The comparator {name!r} must return a similarity from 0 to 1; got {brief(value)} for {sizes}. "
                    "Check it with check_comparator."
                )


def _grid() -> Iterator[tuple[float, float, float]]:
    """Yield (common, size_a, size_b) with common at most either size."""
    for a, b in product((0.5, 1.0, 3.0, 40.0), repeat=2):
        for share in (0.0, 0.25, 0.5, 1.0):
            yield share * min(a, b), a, b


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)
