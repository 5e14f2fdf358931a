"""The effectiveness of systems in a table: means, marks, confidence intervals, and effect sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankloom.errors import InputError, MissingExtraError, brief, check_choice
from rankloom.evaluation.interval import mean_intervals
from rankloom.evaluation.significance import (
    UNITS,
    Comparison,
    Units,
    check_alpha,
    class_means,
    compare,
    disagreements,
    legend,
)
from rankloom.ranks.arrays import Floats
from rankloom.ranks.html_table import html_table

if TYPE_CHECKING:
    import pandas


class Summary(NamedTuple):
    """A mean over queries.

    Attributes
    ----------
    mean : float
    low, high : float or None
        Confidence interval of the mean; None if there are fewer than 2 queries.
    comparison : Comparison or None
        With a reference; None without one, and if there are fewer than 2 queries.
    """

    mean: float
    low: float | None = None
    high: float | None = None
    comparison: Comparison | None = None

    def cells(self) -> list[str]:
        """Return the cells of a table: the mean with its mark, the confidence interval and the effect size."""
        interval = "" if self.low is None else f"{self.low:.4f} {self.high:.4f}"
        if self.comparison is None:
            return [f"{self.mean:.4f}", interval, ""]
        return [f"{self.mean:.4f} {self.comparison.mark}", interval, f"{self.comparison.effect:+.2f}"]

    def plain(self) -> dict[str, Any]:
        """Return interval, difference from the reference, effect size and p-value, as JSON can hold them."""
        one = self.comparison
        tested = {"difference": one and one.difference, "effect": one and one.effect, "p": one and one.p_value}
        if one is not None and not isfinite(one.effect):
            tested["effect"] = None
        return {"low": self.low, "high": self.high, **tested}


def summarize(values: ArrayLike, reference: ArrayLike | None = None, *, alpha: float = 0.05) -> Summary:
    """Return the mean of a system over queries, its confidence interval, and how it compares with a reference.

    Parameters
    ----------
    values : array of shape (n_queries,)
    reference : array of shape (n_queries,), optional
        The system that this one is compared with by a paired t-test, for the same queries.
    alpha : float
        The interval, by bootstrap (`interval.mean_intervals`), is at 1 - alpha; alpha is the significance level.

    Raises
    ------
    InputError
        If there are no values, or not as many of the reference.

    Examples
    --------
    >>> summarize([0.6, 0.5, 0.4], [0.9, 0.7, 0.8]).cells()
    ['0.5000 -0.3000*', '0.4000 0.6000', '-3.00']
    """
    ours = np.asarray(values, np.float64)
    shapes = {ours.shape, ours.shape if reference is None else np.shape(reference)}
    if ours.ndim != 1 or ours.size == 0 or len(shapes) > 1:
        raise InputError(
            f"Give one value for each query, the same queries for both; got {brief(values)} and {brief(reference)}."
        )
    mean = float(ours.mean())
    check_alpha(alpha)
    if len(ours) < 2:
        return Summary(mean)
    low, high = mean_intervals(ours[None], alpha=alpha)[0]
    return Summary(mean, float(low), float(high), None if reference is None else compare(ours, reference, alpha=alpha))


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Mean effectiveness of several systems over the same judged queries, compared with one of them.

    Attributes
    ----------
    per_query : {system: {measure: array of shape (n_queries,)}}
        At least one system, and the same measures of each.
    reference : str
        The system that the others are compared with.
    depth : int or None
        How many answers of each system count, if limited.
    alpha : float
        Significance level of the paired t-test and of the intervals.
    units : {"queries", "classes"}
        What means and tests are over, as in `compare`.
    classes : array of shape (n_queries,), optional
        The class of each query.
    """

    per_query: Mapping[str, Mapping[str, Floats]]
    reference: str
    depth: int | None = None
    alpha: float = 0.05
    units: Units = "queries"
    classes: ArrayLike | None = None

    def __post_init__(self) -> None:
        check_choice("unit", self.units, UNITS)
        if self.units == "classes" and self.classes is None:
            raise InputError("units='classes' needs the class of each query; give classes.")

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures, in order."""
        return tuple(self.per_query[self.reference])

    def means(self) -> dict[str, dict[str, float]]:
        """Return {system: {measure: mean}}."""
        return {
            system: {measure: float(self.values(system, measure).mean()) for measure in values}
            for system, values in self.per_query.items()
        }

    def values(self, system: str, measure: str) -> Floats:
        """Return the value of each query, or the mean of each class."""
        values = self.per_query[system][measure]
        return values if self.classes is None or self.units == "queries" else class_means(values, self.classes)

    def summary(self, system: str, measure: str) -> Summary:
        """Return the mean of a system, its confidence interval, and its comparison with the reference."""
        reference = None if system == self.reference else self.values(self.reference, measure)
        return summarize(self.values(system, measure), reference, alpha=self.alpha)

    def rows(self) -> list[dict[str, Any]]:
        """Return plain data: for each system its means, intervals, differences, effect sizes and p-values."""
        rows = []
        for system, means in self.means().items():
            row: dict[str, Any] = {"system": system, **means}
            for measure in means:
                row |= {f"{name} {measure}": value for name, value in self.summary(system, measure).plain().items()}
            rows.append(row)
        return rows

    def to_frame(self) -> pandas.DataFrame:
        """Return the rows as a pandas frame."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("to_frame()", "pandas", "frames") from None
        return pandas.DataFrame(self.rows())

    def cells(self) -> list[list[str]]:
        """Return the table as text: a head, and a row for each system.

        Each measure has a mean, with a mark except for the reference, and a confidence interval; with several systems,
        also an effect size.
        """
        n = 3 if len(self.per_query) > 1 else 2
        table = [["", *(title for measure in self.measures for title in (measure, "interval", "effect")[:n])]]
        for system in self.per_query:
            cells = (self.summary(system, measure).cells()[:n] for measure in self.measures)
            table.append([system, *(cell for group in cells for cell in group)])
        return table

    def note(self) -> str:
        """Return what the marks and columns of the table mean."""
        n_queries = len(self.per_query[self.reference][self.measures[0]])
        counted = f"{n_queries} queries{f', first {self.depth} answers' if self.depth else ''}."
        interval = f"Interval: of the mean, {1 - self.alpha:.0%}, by bootstrap"
        if len(self.per_query) < 2:
            return f"{interval}; {counted}"
        marks = f"{legend(self.reference, alpha=self.alpha, units=self.units)} {counted}"
        return "\n".join([marks, f"{interval}; effect: Cohen's d of the difference.", *self._disagreements()])

    def _disagreements(self) -> list[str]:
        """Return a line for each measure by which the verdict on a system depends on the units."""
        if self.classes is None:
            return []
        lines = []
        for measure in self.measures:
            systems = {name: one[measure] for name, one in self.per_query.items() if name != self.reference}
            reference = self.per_query[self.reference][measure]
            differ = disagreements(systems, reference, self.classes, units=self.units, alpha=self.alpha)
            lines += [f"{measure}: {differ}"] if differ else []
        return lines

    def __str__(self) -> str:
        cells = self.cells()
        widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
        ]
        return "\n".join([*lines, self.note()])

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        head, *rows = self.cells()
        return html_table(head, rows, self.note())
