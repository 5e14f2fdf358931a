"""The data of each page as plain values: rendered as HTML, and returned as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from rankloom.evaluation.measures import Measure
from rankloom.evaluation.truth import Judged
from rankloom.ranks import PAD, Ranks
from rankloom.web.graph_view import Drawing, draw_pair
from rankloom.web.library import Compared, Library
from rankloom.web.queries import Choice, ImageQuery, ItemQuery, Query, TextQuery
from rankloom.web.snippets import snippet, stems

Values = dict[str, Any]

PAGE_SIZE = 60  # items
MEASURES = tuple(map(Measure.parse, ("ndcg@10", "p@10")))
MEASURED_DEPTH = 10  # of those measures
LIST_SNIPPET = 70  # characters of a text in the list of a ranker


class Views:
    """The views of a library.

    Parameters
    ----------
    library : Library
    """

    def __init__(self, library: Library) -> None:
        self.library = library
        self._collection = library.collection
        self._titles = library.collection.parts.get("names")
        self._texts = library.collection.parts.get("texts")
        self._labels = library.collection.labels
        self._version = library.version  # reads all images, so do it before the first request

    def url_of(self, query: Query, choice: Choice, *, why: int | None = None) -> str:
        """Return the URL of a search, or of the page that explains one of its results."""
        path = {"item": "/item/{}", "text": "/search", "image": "/upload/{}"}[query.kind]
        path = path.format(query.number if isinstance(query, ItemQuery) else getattr(query, "digest", ""))
        text = {"q": query.text} if isinstance(query, TextQuery) else {}
        return _url(path + ("" if why is None else f"/why/{why}"), {**text, **choice.changes(self.library.defaults)})

    def image_url(self, number: int) -> str | None:
        """Return the URL of an item's image, which browsers may cache forever."""
        return f"/image/{number}?v={self._version}" if "images" in self._collection.parts else None

    def title(self, number: int) -> str:
        """Return the title of an item: from the collection's part ``names``, or its id."""
        return str(self._titles[number]) if self._titles is not None else self._collection.ids[number]

    def card(self, number: int, terms: frozenset[str] = frozenset()) -> Values:
        """Return an item as a tile shows it; `terms` are the stems to mark in its text."""
        card: Values = {
            "number": number,
            "id": self._collection.ids[number],
            "title": self.title(number),
            "label": None if self._labels is None else self._labels[number],
            "image": self.image_url(number),
            "text": None,
            "marks": [],
        }
        if self._texts is not None:
            card["text"], card["marks"] = snippet(self._texts[number], terms)
        return card

    def about(self) -> Values:
        """Return the collection and the rankers."""
        library = self.library
        return {
            "collection": self._collection.name,
            "about": self._collection.about,
            "n_items": len(library),
            "rankers": [{"name": name, "part": part} for name, part in library.parts.items()],
            "accepts": sorted(library.accepts),
            "n_skipped": len(library.skipped),
        }

    def browse(self, *, page: int = 1, label: str | None = None, find: str | None = None) -> Values:
        """Return a page of the items: all, those of a class, or those whose title contains a text."""
        numbers = self._filtered(label, find)
        filters = {"label": label, "find": find}
        given = {name: value for name, value in filters.items() if value}
        return {
            **self.about(),
            "labels": sorted(set(self._labels or ())),
            **filters,
            "page": page,
            "n_pages": max(1, -(-len(numbers) // PAGE_SIZE)),
            "n_found": len(numbers),
            "url": _url("/items", {**given, **({"page": page} if page > 1 else {})}),
            "items": [
                {**self.card(number), "url": f"/item/{number}"}
                for number in numbers[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
            ],
        }

    def _filtered(self, label: str | None, find: str | None) -> list[int]:
        text = (find or "").casefold()
        return [
            number
            for number in range(len(self.library))
            if (not label or (self._labels is not None and self._labels[number] == label))
            and (not text or text in self.title(number).casefold())
        ]

    def search(self, query: Query, choice: Choice) -> Values:
        """Return the fused list of a query, and the list of each ranker."""
        lists = self.library.lists(query, choice)
        found = self.library.search(query, choice, max(choice.k, MEASURED_DEPTH))
        measures = self._measures(query, [found, *lists.values()])
        return {
            **self.about(),
            "query": self.query(query),
            "choice": self.choice(choice),
            "methods": self.library.methods(query),
            "url": self.url_of(query, choice),
            "results": self._results(query, choice, found, lists),
            "measures": measures[0],
            "lists": [
                self._list(query, choice, name, ranks, values)
                for (name, ranks), values in zip(lists.items(), measures[1:], strict=True)
            ],
        }

    def _results(self, query: Query, choice: Choice, found: Ranks, lists: Mapping[str, Ranks]) -> list[Values]:
        rows = self._rows(query, found, choice.k)
        numbers = [row["number"] for row in rows]
        positions = {name: _positions(ranks, numbers) for name, ranks in lists.items()}
        terms = self._terms(query)
        path, _, parameters = self.url_of(query, choice, why=0).partition("?")
        why = path.removesuffix("0") + "{}" + (f"?{parameters}" if parameters else "").replace("{", "%7B")
        suffix = self._item_suffix(choice)
        return [
            {
                **row,
                **self.card(number, terms),
                "positions": {name: of[row["position"] - 1] for name, of in positions.items()},
                "url": f"/item/{number}{suffix}",
                "why": why.format(number),
            }
            for row, number in zip(rows, numbers, strict=True)
        ]

    def _item_suffix(self, choice: Choice) -> str:
        """Return what follows the number in the URL of a search by item."""
        return self.url_of(ItemQuery(0), choice).removeprefix("/item/0")

    def _list(self, query: Query, choice: Choice, name: str, ranks: Ranks, measures: Values | None) -> Values:
        suffix = self._item_suffix(choice)
        rows = self._rows(query, ranks, choice.k)
        for row in rows:
            number = row["number"]
            row["title"], row["image"] = self.title(number), self.image_url(number)
            row["url"] = f"/item/{number}{suffix}"
            row["text"] = (
                None if self._texts is None or row["image"] else snippet(str(self._texts[number]), (), LIST_SNIPPET)[0]
            )
        return {
            "ranker": name,
            "part": self.library.parts[name],
            "accepts": self.library.accepts_query(name, query),
            "measures": measures,
            "items": rows,
        }

    def _rows(self, query: Query, ranks: Ranks, k: int) -> list[Values]:
        items = ranks.items[0, :k]
        items = items[items != PAD]
        scores = [None] * len(items) if ranks.scores is None else ranks.scores[0, :k].tolist()
        relevant = self._relevant(query, items)
        rows = zip(items.tolist(), scores, relevant, strict=False)
        return [
            {"position": position, "number": number, "score": score, "relevant": is_relevant}
            for position, (number, score, is_relevant) in enumerate(rows, 1)
        ]

    def _relevant(self, query: Query, items: NDArray[np.int32]) -> list[Any]:
        """Return for each item whether it is of the query's class; None if that is unknown."""
        classes = self.library.classes
        if classes is None or not isinstance(query, ItemQuery):
            return [None] * len(items)
        return list((classes[items] == classes[query.number]).tolist())

    def _measures(self, query: Query, lists: Sequence[Ranks]) -> list[dict[str, float] | None]:
        """Return the measures of some lists; the query itself counts as relevant, as in `evaluate`."""
        classes = self.library.classes
        if classes is None or not isinstance(query, ItemQuery):
            return [None] * len(lists)
        query_class = classes[query.number]
        gains = np.zeros((len(lists), MEASURED_DEPTH))
        for row, ranks in zip(gains, lists, strict=True):
            items = ranks.items[0, :MEASURED_DEPTH]
            row[: len(items)] = (classes[items] == query_class) & (items != PAD)
        judged = Judged(gains, np.full(len(lists), np.count_nonzero(classes == query_class)))
        tables = {str(measure): measure(judged).round(4).tolist() for measure in MEASURES}
        return [{name: values[row] for name, values in tables.items()} for row in range(len(lists))]

    def _terms(self, query: Query) -> frozenset[str]:
        if isinstance(query, ImageQuery) or self._texts is None:
            return frozenset()
        return stems(query.text if isinstance(query, TextQuery) else self._texts[query.number])

    def query(self, query: Query) -> Values:
        """Return a query as a page shows it."""
        if isinstance(query, ItemQuery):
            return {"kind": query.kind, **self.card(query.number)}
        if isinstance(query, TextQuery):
            return {"kind": query.kind, "text": query.text, "title": query.text, "image": None}
        return {"kind": query.kind, "title": "your image", "image": f"/upload/{query.digest}.image"}

    @staticmethod
    def choice(choice: Choice) -> Values:
        """Return a choice as plain values."""
        return {**asdict(choice), "rankers": list(choice.rankers)}

    def why(
        self, query: Query, number: int, choice: Choice, compared: Compared, max_parts: int | None = None
    ) -> Values:
        """Return what the graphs of a query and an item have in common, and the item's position by each ranker.

        Parameters
        ----------
        max_parts : int, optional
            How many of the common parts to return, the largest ones; by default all.
        """
        parts = replace(compared.why, parts=compared.why.parts[:max_parts]).to_dict()["parts"]
        lists = self.library.lists(query, choice)
        return {
            **self.about(),
            "query": self.query(query),
            "item": {**self.card(number, self._terms(query)), "url": self.url_of(ItemQuery(number), choice)},
            "choice": self.choice(choice),
            "url": self.url_of(query, choice, why=number),
            "search": self.url_of(query, choice),
            "positions": {name: _positions(ranks, [number])[0] for name, ranks in lists.items()},
            "similarity": compared.why.similarity,
            "sizes": {"query": compared.query.size, "item": compared.item.size},
            "n_parts": len(compared.why.parts),
            "parts": list(map(self._part, parts)),
        }

    def _part(self, part: Mapping[str, Any]) -> Values:
        ends = [self.title(part["source"]), self.title(part["target"])]
        return {**part, "label": ends[0] if part["kind"] == "vertex" else " → ".join(ends)}

    def drawings(self, query: Query, number: int, compared: Compared) -> tuple[Drawing, Drawing]:
        """Return both graphs as SVG, with the common part highlighted."""
        titles = (str(self.query(query)["title"]), self.title(number))
        return draw_pair(*compared, titles=titles, title=self.title, image_url=self.image_url)


def _positions(ranks: Ranks, numbers: list[int]) -> list[int | None]:
    """Return the positions of items in a list; None for an item that is not in it."""
    items = ranks.items[0]
    positions = np.zeros(ranks.n_items + 1, np.int32)  # the extra one is for PAD
    positions[items] = np.arange(1, len(items) + 1)
    return [position or None for position in positions[numbers].tolist()] if numbers else []


def _url(path: str, parameters: Mapping[str, Any]) -> str:
    return path + (f"?{urlencode(parameters)}" if parameters else "")
