"""Which results are relevant: those of the query's class, or those judged relevant to a query of the collection."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rankloom.datasets import Collection
from rankloom.evaluation.measures import Measure
from rankloom.evaluation.truth import Judged
from rankloom.ranks import Ids
from rankloom.searcher.page import Entry
from rankloom.web.queries import Query

MEASURES = tuple(map(Measure.parse, ("ndcg@10", "p@10")))
MEASURED_DEPTH = 10  # of those measures
MAX_QUERIES = 1000  # judged queries that a page offers


class Judgments:
    """The classes of items, as numbers (-1 if an item has none), and the judged queries of a collection."""

    def __init__(self, classes: NDArray[np.intp] | None, ids: Ids, collection: Collection | None = None) -> None:
        self._classes, self._ids = classes, ids
        self._qrels: Mapping[str, Mapping[str, int]] = {}
        self.texts: dict[str, str] = {}  # of the judged queries, by id
        queries = None if collection is None else collection.queries
        if queries is not None and "texts" in queries.parts:
            self._qrels = queries.qrels
            texts = (" ".join(text.split()) for text in queries.parts["texts"])
            self.texts = {name: text for name, text in zip(queries.ids, texts, strict=True) if name in self._qrels}
        self._by_text = {text: name for name, text in self.texts.items()}

    def grades(self, query: Query) -> NDArray[np.float64] | None:
        """Return the grade of each item for a query, 0 if it is not relevant; None if the query is not judged.

        An item as a query is not relevant to itself: it is not among its results.
        """
        if query.number is not None and self._classes is not None:
            own = self._classes[query.number]
            grades = np.where(self._classes == own, 1.0, 0.0)
            grades[query.number] = 0.0
            return grades if own >= 0 and grades.any() else None
        judged = self._qrels.get(self._by_text.get(query.arguments["query"], "")) if query.kind == "text" else None
        if judged is None:
            return None
        grades = np.zeros(len(self._ids))
        for name, grade in judged.items():
            if grade > 0 and name in self._ids:
                grades[self._ids.number(name)] = grade
        return grades

    @staticmethod
    def relevant(grades: NDArray[np.float64] | None, numbers: Sequence[int]) -> list[bool | None]:
        """Return for each item whether it is relevant; None if that is unknown."""
        if grades is None:
            return [None] * len(numbers)
        return [bool(grade > 0) for grade in grades[list(numbers)]]

    @staticmethod
    def measures(grades: NDArray[np.float64] | None, lists: Sequence[Sequence[Entry]]) -> list[dict[str, float] | None]:
        """Return the measures of some lists."""
        if grades is None:
            return [None] * len(lists)
        gains = np.zeros((len(lists), MEASURED_DEPTH))
        for row, entries in zip(gains, lists, strict=True):
            numbers = [number for number, _ in entries[:MEASURED_DEPTH]]
            row[: len(numbers)] = grades[numbers]
        ideal = np.sort(grades[grades > 0])[::-1]
        judged = Judged(gains, np.full(len(lists), len(ideal)), np.tile(ideal, (len(lists), 1)))
        tables = {str(measure): measure(judged).round(4).tolist() for measure in MEASURES}
        return [{name: values[row] for name, values in tables.items()} for row in range(len(lists))]
