"""Example queries: those on which fusion gains and loses most, with what a person needs to judge them."""

import base64
from collections.abc import Mapping

import numpy as np

from rankloom.datasets import Collection
from rankloom.datasets.collection import Part
from rankloom.datasets.images import ImageError, encoded
from rankloom.errors import MissingExtraError
from rankloom.experiment.results import Shown
from rankloom.rankers.image.image_features import pixels
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Floats
from rankloom.searcher.answer import shortened

MAX_EXAMPLES = 3  # with a gain, and as many with a loss
N_SHOWN = 8  # items of each list
THUMBNAIL_SIDE = 64  # pixels
MAX_LOSSLESS_SIDE = 32  # larger thumbnails are JPEG
MAX_TEXT = 120  # characters


def extreme_queries(first: Floats, other: Floats) -> list[int]:
    """Return the queries with the largest gains of `first` over `other`, then those with the largest losses.

    Examples
    --------
    >>> extreme_queries(np.array([0.5, 0.9, 0.1, 0.5]), np.array([0.5, 0.2, 0.6, 0.4]))
    [1, 3, 2]
    """
    gains = first - other
    best, worst = np.argsort(-gains, kind="stable"), np.argsort(gains, kind="stable")
    up = [number for number in best[:MAX_EXAMPLES].tolist() if gains[number] > 0]
    return up + [number for number in worst[:MAX_EXAMPLES].tolist() if gains[number] < 0]


class Examples:
    """Shows the queries and items of a collection: their ids, texts, classes and thumbnails.

    Queries are numbered as their values are: by item in a labeled collection, else by their order in the judgments.
    """

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.labels, judged = collection.labels, collection.queries
        self.judged = [] if judged is None else list(judged.qrels)
        self.parts: Mapping[str, Part] = {} if judged is None else judged.parts

    def query(self, number: int) -> Shown:
        """Return a query to show."""
        if self.labels is not None:
            return self._item(self.collection.ids[number])
        queries, id = self.collection.queries, self.judged[number]
        assert queries is not None
        return _shown(id, self.parts, queries.ids.number(id) if id in queries.ids else None)

    def answer(self, number: int, ranks: Ranks) -> tuple[Shown, ...]:
        """Return the first items of a query's list, each with whether it is relevant."""
        row = self._row(number, ranks)
        listed = [] if row is None else [item for item in ranks.items[row, :N_SHOWN].tolist() if item != PAD]
        ids = [ranks.item_id(item) for item in listed]
        relevant = self._relevant(number)
        return tuple(self._item(id, relevant=id in relevant) for id in ids)

    def _row(self, number: int, ranks: Ranks) -> int | None:
        if self.labels is not None:
            return number
        rows = {ranks.query_id(row): row for row in range(ranks.n_queries)}
        return rows.get(self.judged[number])

    def _relevant(self, number: int) -> set[str]:
        if self.labels is not None:
            own, ids = self.labels[number], self.collection.ids
            return {ids[other] for other, label in enumerate(self.labels) if label == own}
        assert self.collection.queries is not None
        grades = self.collection.queries.qrels[self.judged[number]]
        return {item for item, grade in grades.items() if grade > 0}

    def _item(self, id: str, *, relevant: bool = False) -> Shown:
        ids = self.collection.ids
        number = ids.number(id) if id in ids else None
        label = "" if self.labels is None or number is None else self.labels[number]
        return _shown(id, self.collection.parts, number, label, relevant=relevant)


def _shown(id: str, parts: Mapping[str, Part], number: int | None, label: str = "", *, relevant: bool = False) -> Shown:
    """Return an item or a query to show; a class is shown where there is no text."""
    if number is None:
        return Shown(id, label, "", relevant)
    texts = parts.get("texts")
    text = label if texts is None else shortened(str(texts[number]), MAX_TEXT)
    image = _thumbnail(parts["images"][number]) if "images" in parts else ""
    return Shown(id, text, image, relevant)


def _thumbnail(image: object) -> str:
    """Return a small image as a data URI; empty if it cannot be read."""
    try:
        content, media_type = encoded(pixels(image), THUMBNAIL_SIDE, MAX_LOSSLESS_SIDE)
    except (ImageError, MissingExtraError):
        return ""
    return f"data:{media_type};base64,{base64.b64encode(content).decode('ascii')}"
