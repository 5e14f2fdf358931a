"""Distances between descriptors, beyond the metrics of `Ranks.from_vectors` (l1, l2, cosine).

Each takes two matrices of vectors, (a, d) and (b, d), and returns float64 (a, b), for `Ranks.from_distances`. Equal
rows have distance 0, exactly, and distances are symmetric. No temporary is larger than the inputs and the result.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rankloom.errors import InputError
from rankloom.ranks.arrays import Array, Floats
from rankloom.ranks.nearest import table
from rankloom.ranks.vector_space import METRICS, Metric, by_distance

Distance = Callable[[ArrayLike, ArrayLike], Floats]
PairDistance = Callable[[Array, Array], float]  #: of two vectors


def of_pairs(distance: PairDistance) -> Distance:
    """Return the distance of matrices that calls a function of two vectors for every pair."""

    def of_matrices(x: ArrayLike, y: ArrayLike) -> Floats:
        left, right = np.asarray(x), np.asarray(y)
        try:
            found = np.array([[float(distance(a, b)) for b in right] for a in left], np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"The distance must return a number for two vectors: {error}.") from None
        if not np.isfinite(found).all():
            raise InputError("The distance must return finite numbers; got inf or nan.")
        return found.reshape(len(left), len(right))

    return of_matrices


def d1(x: ArrayLike, y: ArrayLike) -> Floats:
    r"""Relative difference of non-negative numbers, so that small values count as much as large ones.

    .. math:: d_1(x, y) = \sum_i |x_i - y_i| \,/\, (1 + x_i + y_i)

    References
    ----------
    Huang, Kumar, Mitra, Zhu, Zabih: Image indexing using color correlograms (1997), doi:10.1109/CVPR.1997.609412

    Examples
    --------
    >>> d1([[0.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]])
    array([[0.5, 0.5]])
    """
    left, right = _rows(x, y)
    for rows in (left, right):
        _check_not_negative(rows, "d1")
    distances = np.empty((len(left), len(right)))
    for row, out in zip(left, distances, strict=True):
        (np.abs(right - row) / (1 + (right + row))).sum(1, out=out)
    return distances


def match(x: ArrayLike, y: ArrayLike) -> Floats:
    r"""Match distance of histograms with ordered bins: how far their contents must move, bin by bin.

    .. math:: d(x, y) = \sum_i \Bigl| \sum_{j \le i} (x_j - y_j) \Bigr|

    which is l1 between cumulative histograms, and the earth mover's distance if both have the same sum.

    References
    ----------
    Werman, Peleg, Rosenfeld: A distance metric for multidimensional histograms (1985),
    doi:10.1016/0734-189X(85)90055-6

    Examples
    --------
    >>> match([[1, 0, 0]], [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    array([[0., 1., 2.]])
    """
    from scipy.spatial.distance import cdist

    left, right = _rows(x, y)
    return np.asarray(cdist(left.cumsum(1), right.cumsum(1), "cityblock"))


def tanimoto(x: ArrayLike, y: ArrayLike) -> Floats:
    r"""Tanimoto distance of two histograms, each scaled to the sum 1.

    .. math:: d(x, y) = 1 - \frac{p \cdot q}{p \cdot p + q \cdot q - p \cdot q}
        = \frac{2 \lVert p - q \rVert^2}{p \cdot p + q \cdot q + \lVert p - q \rVert^2},
        \quad p = x / \sum_i x_i, \; q = y / \sum_i y_i

    The second form is 0 exactly for equal rows. Two rows of zeros have distance 0; zeros and another row, 1.

    References
    ----------
    Chatzichristofis, Boutalis: CEDD: color and edge directivity descriptor (2008), doi:10.1007/978-3-540-79547-6_30

    Examples
    --------
    >>> tanimoto([[1, 1]], [[2, 2], [1, 0], [0, 0]]).round(4)  # 1 - (1/2) / (1/2 + 1 - 1/2)
    array([[0. , 0.5, 1. ]])
    """
    from scipy.spatial.distance import cdist

    p, q = (_shares(rows, "tanimoto") for rows in _rows(x, y))
    apart = np.asarray(cdist(p, q, "sqeuclidean"))
    sizes = np.einsum("ij,ij->i", p, p)[:, None] + np.einsum("ij,ij->i", q, q)
    sizes += apart
    np.divide(2 * apart, sizes, out=apart, where=sizes > 0)  # both are 0 otherwise
    return apart


def _shares(rows: Floats, name: str) -> Floats:
    """Return each row divided by its sum, and zeros as they are. Raise InputError for negative numbers."""
    _check_not_negative(rows, name)
    totals = rows.sum(1, keepdims=True)
    return rows / np.where(totals > 0, totals, 1.0)


def _check_not_negative(rows: Floats, name: str) -> None:
    low = rows.min(initial=0.0)
    if low < 0:
        raise InputError(
            f"{name} compares non-negative numbers, such as probabilities; got {low:g}. Use l1 for others."
        )


def _rows(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Return both matrices in float64. Raise InputError if they are not finite or differ in width."""
    left, right = (np.asarray(table(given, name), np.float64) for given, name in ((x, "x"), (y, "y")))
    if left.shape[1] != right.shape[1]:
        raise InputError(f"x and y must have the same width; got {left.shape[1]} and {right.shape[1]}.")
    for name, rows in (("x", left), ("y", right)):
        if not np.isfinite(rows).all():
            raise InputError(f"{name} must be finite; it contains inf or nan.")
    return left, right


#: Distances by name
DISTANCES: dict[str, Distance] = {"d1": d1, "match": match, "tanimoto": tanimoto}
#: All that vectors can be compared by: the metrics of `Ranks.from_vectors`, and these distances.
COMPARISONS: dict[str, Metric] = {**METRICS, **{name: by_distance(one) for name, one in DISTANCES.items()}}
#: Their names.
Comparison = Literal["cosine", "dot", "l1", "l2", "d1", "match", "tanimoto"]
