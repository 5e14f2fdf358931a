"""How well a searcher answers judged queries: each ranker alone, RRF and the default, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import MissingExtraError
from rankloom.evaluation import compare, evaluate
from rankloom.evaluation.significance import Comparison
from rankloom.evaluation.summary import Summary, summarize
from rankloom.ranks import Ranks
from rankloom.ranks.html_table import html_table

if TYPE_CHECKING:
    import pandas

MEASURES = ("ndcg@10", "recall@100")
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Mean effectiveness of several systems over the same judged queries, compared with one of them.

    Attributes
    ----------
    measures : tuple of str
    per_query : {system: {measure: array of shape (n_queries,)}}
        The rankers first, then the methods.
    reference : str
        The system that the others are compared with: the default method.
    n_queries : int
    depth : int
        How many answers of each system count.
    alpha : float
        Significance level of the paired t-test and of the intervals.
    """

    measures: tuple[str, ...]
    per_query: Mapping[str, Mapping[str, Floats]]
    reference: str
    n_queries: int
    depth: int
    alpha: float = 0.05

    def means(self) -> dict[str, dict[str, float]]:
        """Return {system: {measure: mean}}."""
        return {
            system: {measure: float(values[measure].mean()) for measure in self.measures}
            for system, values in self.per_query.items()
        }

    def comparison(self, system: str, measure: str) -> Comparison | None:
        """Return the paired test of the reference against a system; None for itself, or fewer than 2 queries."""
        if system == self.reference or self.n_queries < 2:
            return None
        ours, theirs = self.per_query[self.reference][measure], self.per_query[system][measure]
        return compare(ours, theirs, alpha=self.alpha)

    def summary(self, system: str, measure: str) -> Summary:
        """Return the mean of a system, its confidence interval, and the effect size of the reference against it."""
        reference = None if system == self.reference else self.per_query[self.reference][measure]
        return summarize(self.per_query[system][measure], reference, alpha=self.alpha)

    def rows(self) -> list[dict[str, Any]]:
        """Return plain data: for each system its means, their intervals, effect sizes, and p-values of the tests."""
        rows = []
        for system, means in self.means().items():
            row: dict[str, Any] = {"system": system, **means}
            for measure in self.measures:
                tested = self.comparison(system, measure)
                row[f"p {measure}"] = None if tested is None else tested.p_value
                plain = self.summary(system, measure).plain()
                row |= {f"{name} {measure}": value for name, value in plain.items()}
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

        Each measure has a mean with a symbol for the paired test, the confidence interval of the mean, and the effect
        size of the reference against the system.
        """
        table = [["", *(title for measure in self.measures for title in (measure, "interval", "effect"))]]
        for system in self.per_query:
            row = [system]
            for measure in self.measures:
                tested, one = self.comparison(system, measure), self.summary(system, measure)
                symbol = " " if tested is None else tested.symbol
                row += [f"{one.mean:.4f} {symbol}", one.interval(), one.effect_size()]
            table.append(row)
        return table

    def note(self) -> str:
        """Return what the symbols and columns of the table mean."""
        return (
            f"▲ {self.reference} is better than this, ▼ worse, • no difference (paired t-test, {1 - self.alpha:.0%}); "
            f"{self.n_queries} queries, first {self.depth} answers of each.\n"
            f"Interval: of the mean, {1 - self.alpha:.0%}; effect: Cohen's d, positive if {self.reference} is better."
        )

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


def evaluated(
    systems: Mapping[str, Ranks], qrels: Any, measures: Sequence[str], reference: str, depth: int, alpha: float
) -> Evaluation:
    """Return the evaluation of systems whose ranks have the same queries."""
    per_query = {
        name: evaluate(ranks, qrels=qrels, measures=list(measures), per_query=True) for name, ranks in systems.items()
    }
    n_queries = len(next(iter(next(iter(per_query.values())).values())))
    return Evaluation(tuple(measures), per_query, reference, n_queries, depth, alpha)
