"""Corrections of p-values for multiple comparisons, by name in `CORRECTIONS`."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from rankloom.errors import InputError, brief
from rankloom.ranks.arrays import Floats
from rankloom.ranks.checks import returned_numbers
from rankloom.registry import Registry

#: (p-values, ascending) -> adjusted p-values in the same order, possibly above 1
Adjust = Callable[[Floats], Floats]
#: The corrections by name.
CORRECTIONS: Registry[Adjust] = Registry("correction", entries=Callable)


@CORRECTIONS.register("none")
def uncorrected(ascending: Floats) -> Floats:
    """Return p-values unchanged: alpha bounds the error rate of each test, not of several together."""
    return ascending


@CORRECTIONS.register("bonferroni")
def bonferroni(ascending: Floats) -> Floats:
    r"""Bonferroni: :math:`m p_i`; the probability of any false positive among m tests stays below alpha."""
    return len(ascending) * ascending


@CORRECTIONS.register("holm")
def holm(ascending: Floats) -> Floats:
    r"""Holm's step-down: :math:`\max_{j \le i} (m - j + 1) p_j`; the guarantee of Bonferroni, and never stricter.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6
    """
    m = len(ascending)
    return np.asarray(np.maximum.accumulate((m - np.arange(m)) * ascending), np.float64)


@CORRECTIONS.register("bh")
def benjamini_hochberg(ascending: Floats) -> Floats:
    r"""Benjamini and Hochberg's step-up: :math:`\min_{j \ge i} m p_j / j`; bounds the false discovery rate by alpha.

    References
    ----------
    Benjamini, Hochberg (1995), Controlling the false discovery rate, doi:10.1111/j.2517-6161.1995.tb02031.x
    """
    m = len(ascending)
    scaled = m * ascending / np.arange(1, m + 1)
    return np.asarray(np.minimum.accumulate(scaled[::-1])[::-1], np.float64)


def correct(p_values: ArrayLike, *, method: str = "holm") -> Floats:
    """Adjust p-values for their number, so that they can be compared with alpha.

    Parameters
    ----------
    p_values : array of shape (m,)
        In [0, 1], in any order.
    method : str
        A name in `CORRECTIONS`: ``none``, ``bonferroni``, ``holm`` or ``bh``.

    Returns
    -------
    float64 array of shape (m,)
        In the order given, at most 1 and at least the original.

    Examples
    --------
    >>> correct([0.01, 0.04, 0.03], method="holm")
    array([0.03, 0.06, 0.06])
    """
    adjust = CORRECTIONS[method]
    given = np.asarray(p_values, np.float64)
    if given.ndim != 1 or not ((given >= 0) & (given <= 1)).all():
        raise InputError(f"p-values must be a list of numbers from 0 to 1; got {brief(p_values)}.")
    order = np.argsort(given, kind="stable")
    adjusted = np.empty_like(given)
    found = returned_numbers(f"correction {method!r}", adjust(given[order]), given.shape)
    adjusted[order] = np.minimum(found, 1.0)
    return adjusted
