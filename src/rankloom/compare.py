r"""Comparators of fusion graphs, from the sizes of two graphs and of what they have in common.

The size :math:`|G|` is the sum of all vertex and edge weights; :math:`|C|`, the size of the minimum common
subgraph, the sum of the smaller weight of each shared vertex and edge.
"""

from rankloom.errors import UnknownNameError

COMPARATORS = ("wgu", "mcs")


def mcs(common: float, size_a: float, size_b: float) -> float:
    r"""Minimum common subgraph: shared size over the larger size.

    .. math:: \mathrm{MCS}(A, B) = |C| \,/\, \max(|A|, |B|)

    Parameters
    ----------
    common : float
        :math:`|C|`, the sum of the smaller weight of each shared vertex and edge.
    size_a, size_b : float
        Sizes of the two graphs.

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


def wgu(common: float, size_a: float, size_b: float) -> float:
    r"""Weighted graph union: shared size over united size.

    .. math:: \mathrm{WGU}(A, B) = |C| \,/\, (|A| + |B| - |C|)

    Parameters
    ----------
    common : float
        :math:`|C|`, the sum of the smaller weight of each shared vertex and edge.
    size_a, size_b : float
        Sizes of the two graphs.

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


def similarity(comparator: str, common: float, size_a: float, size_b: float) -> float:
    """Compare by name: `"wgu"` or `"mcs"`.

    Examples
    --------
    >>> similarity("wgu", 1.0, 2.0, 3.0), similarity("mcs", 1.0, 2.0, 4.0)
    (0.25, 0.25)
    """
    check_comparator(comparator)
    return wgu(common, size_a, size_b) if comparator == "wgu" else mcs(common, size_a, size_b)


def check_comparator(name: str) -> None:
    """Raise where there is no comparator of that name."""
    if name not in COMPARATORS:
        raise UnknownNameError("comparator", name, COMPARATORS)
