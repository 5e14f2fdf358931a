"""The effectiveness of one system in a table: mean, confidence interval, and effect size of a reference against it."""

from __future__ import annotations

from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankloom.errors import InputError, brief
from rankloom.evaluation.significance import compare


class Summary(NamedTuple):
    """A mean over queries.

    Attributes
    ----------
    mean : float
    low, high : float or None
        Confidence interval of the mean, by Student's t; None if there are fewer than 2 queries.
    effect : float or None
        Cohen's d of the paired differences: positive if the reference is better. None without a reference.
    """

    mean: float
    low: float | None = None
    high: float | None = None
    effect: float | None = None

    def interval(self) -> str:
        """Return the confidence interval as text."""
        return "" if self.low is None else f"{self.low:.4f} {self.high:.4f}"

    def effect_size(self) -> str:
        """Return the effect size as text."""
        return "" if self.effect is None else f"{self.effect:+.2f}"

    def plain(self) -> dict[str, Any]:
        """Return the interval and the effect size as JSON can hold them."""
        finite = self.effect is not None and isfinite(self.effect)
        return {"low": self.low, "high": self.high, "effect": self.effect if finite else None}


def summarize(values: ArrayLike, reference: ArrayLike | None = None, *, alpha: float = 0.05) -> Summary:
    """Return the mean of a system over queries, its confidence interval, and the effect size of a reference.

    Parameters
    ----------
    values : array of shape (n_queries,)
    reference : array of shape (n_queries,), optional
        The system that this one is compared with, for the same queries.
    alpha : float
        The interval is at 1 - alpha.

    Raises
    ------
    InputError
        If there are no values, or not as many of the reference.

    Examples
    --------
    >>> one = summarize([0.6, 0.5, 0.4], [0.9, 0.7, 0.8])
    >>> f"{one.mean:.4f}", one.interval(), one.effect_size()
    ('0.5000', '0.2516 0.7484', '+3.00')
    """
    ours = np.asarray(values, np.float64)
    shapes = {ours.shape, ours.shape if reference is None else np.shape(reference)}
    if ours.ndim != 1 or ours.size == 0 or len(shapes) > 1:
        raise InputError(
            f"Give one value for each query, the same queries for both; got {brief(values)} and {brief(reference)}."
        )
    mean = float(ours.mean())
    if len(ours) < 2:
        return Summary(mean)
    alone = compare(ours, np.zeros_like(ours), alpha=alpha)
    effect = None if reference is None else compare(reference, ours, alpha=alpha).effect
    return Summary(mean, alone.low, alone.high, effect)
