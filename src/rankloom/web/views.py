"""What each page shows, as plain values: the page is written from them, and its JSON twin is they."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from rankloom.evaluation.measures import Measure
from rankloom.evaluation.truth import Judged
from rankloom.ranks import PAD, Ranks
from rankloom.web.drawing import draw_pair
from rankloom.web.library import Compared, Library
from rankloom.web.passages import passage, stems
from rankloom.web.queries import Choice, Item, Picture, Query, Words

Values = dict[str, Any]

PAGE = 60  # items of a page
MEASURES = tuple(map(Measure.parse, ("ndcg@10", "p@10")))
MEASURED = 10  # so deep do they look


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

    def address_of(self, query: Query, choice: Choice, *, why: int | None = None) -> str:
        """Return the address of a search, or of the page that says why an item was found by it."""
        path = {"item": "/item/{}", "words": "/search", "picture": "/picture/{}"}[query.kind]
        path = path.format(query.number if isinstance(query, Item) else getattr(query, "digest", ""))
        asked = {"q": query.text} if isinstance(query, Words) else {}
        parameters = urlencode({**asked, **choice.changes(self.library.standard)})
        return path + ("" if why is None else f"/why/{why}") + (f"?{parameters}" if parameters else "")

    def image_address(self, number: int) -> str | None:
        """Return the address of an item's picture; a browser may keep it for as long as it likes."""
        return f"/image/{number}?v={self.library.version}" if "images" in self._collection.parts else None

    def title(self, number: int) -> str:
        """Return what an item is called on a page: its name, or a better one where the collection has it."""
        return str(self._titles[number]) if self._titles is not None else self._collection.ids[number]

    def card(self, number: int, wanted: frozenset[str] = frozenset()) -> Values:
        """Return an item as a tile shows it; `wanted` are the stems to mark in its text."""
        card: Values = {
            "number": number,
            "name": self._collection.ids[number],
            "title": self.title(number),
            "label": None if self._labels is None else self._labels[number],
            "image": self.image_address(number),
            "text": None,
            "marks": [],
        }
        if self._texts is not None:
            card["text"], card["marks"] = passage(self._texts[number], wanted)
        return card

    def about(self) -> Values:
        """Return what is served."""
        library = self.library
        return {
            "collection": self._collection.name,
            "about": self._collection.about,
            "n_items": len(library),
            "rankers": [{"name": name, "part": part} for name, part in library.parts.items()],
            "takes": sorted(library.takes),
            "n_skipped": len(library.skipped),
        }

    def browse(self, *, page: int = 1, label: str | None = None, find: str | None = None) -> Values:
        """Return a page of the items, of all or of a class, or of those whose name has some letters."""
        numbers = self._found(label, find)
        chosen = numbers[(page - 1) * PAGE : page * PAGE]
        changes = {"label": label, "find": find}
        kept = {name: value for name, value in changes.items() if value}
        return {
            **self.about(),
            "labels": sorted(set(self._labels or ())),
            **changes,
            "page": page,
            "n_pages": max(1, -(-len(numbers) // PAGE)),
            "n_found": len(numbers),
            "address": _address("/items", {**kept, **({"page": page} if page > 1 else {})}),
            "items": [{**self.card(int(n)), "address": f"/item/{n}"} for n in chosen],
        }

    def _found(self, label: str | None, find: str | None) -> list[int]:
        numbers = range(len(self.library))
        wanted = (find or "").casefold()
        return [
            number
            for number in numbers
            if (not label or (self._labels is not None and self._labels[number] == label))
            and (not wanted or wanted in self.title(number).casefold())
        ]

    def search(self, query: Query, choice: Choice) -> Values:
        """Return the fused list of a query beside the list of each ranker."""
        library = self.library
        lists = library.lists(query, choice)
        found = library.search(query, choice, max(choice.k, MEASURED))
        places = {name: _places(ranks) for name, ranks in lists.items()}
        wanted = self._wanted(query)
        results = [
            {
                **row,
                **self.card(row["number"], wanted),
                "positions": {name: of.get(row["number"]) for name, of in places.items()},
                "address": self.address_of(Item(row["number"]), choice),
                "why": self.address_of(query, choice, why=row["number"]),
            }
            for row in self._rows(query, found, choice.k)
        ]
        return {
            **self.about(),
            "query": self.asked(query),
            "choice": self.chosen(choice),
            "methods": library.methods(query),
            "address": self.address_of(query, choice),
            "results": results,
            "measures": self._measured(query, found),
            "lists": [self._list(query, choice, name, ranks) for name, ranks in lists.items()],
        }

    def _list(self, query: Query, choice: Choice, name: str, ranks: Ranks) -> Values:
        rows = [
            {
                **row,
                "title": self.title(row["number"]),
                "image": self.image_address(row["number"]),
                "address": self.address_of(Item(row["number"]), choice),
            }
            for row in self._rows(query, ranks, choice.k)
        ]
        taken = name in self.library.taking(query, choice)
        measures = self._measured(query, ranks)
        return {"ranker": name, "part": self.library.parts[name], "takes": taken, "measures": measures, "items": rows}

    def _rows(self, query: Query, ranks: Ranks, k: int) -> list[Values]:
        items = ranks.items[0, :k]
        numbers = items[items != PAD].tolist()
        scores = [None] * len(numbers) if ranks.scores is None else ranks.scores[0].tolist()
        relevant = self._relevance(query)
        return [
            {
                "position": place,
                "number": number,
                "score": scores[place - 1],
                "relevant": None if relevant is None else bool(relevant[number]),
            }
            for place, number in enumerate(numbers, 1)
        ]

    def _relevance(self, query: Query) -> NDArray[np.bool_] | None:
        classes = self.library.classes
        if classes is None or not isinstance(query, Item):
            return None
        found: NDArray[np.bool_] = classes == classes[query.number]
        return found

    def _measured(self, query: Query, ranks: Ranks) -> dict[str, float] | None:
        """Return the measures of one list; the query itself is relevant and counts, as in `evaluate`."""
        relevant = self._relevance(query)
        if relevant is None:
            return None
        gains = np.append(relevant, False)[ranks.items[:, :MEASURED]].astype(np.float64)
        judged = Judged(gains, np.array([relevant.sum()]))
        return {str(measure): round(float(measure(judged)[0]), 4) for measure in MEASURES}

    def _wanted(self, query: Query) -> frozenset[str]:
        if isinstance(query, Picture) or self._texts is None:
            return frozenset()
        return stems(query.text if isinstance(query, Words) else self._texts[query.number])

    def asked(self, query: Query) -> Values:
        """Return a query as a page shows it."""
        if isinstance(query, Item):
            return {"kind": "item", **self.card(query.number)}
        if isinstance(query, Words):
            return {"kind": "words", "text": query.text, "title": query.text, "image": None}
        return {"kind": "picture", "title": "your picture", "image": f"/picture/{query.digest}.image"}

    @staticmethod
    def chosen(choice: Choice) -> Values:
        """Return a choice in plain values."""
        return {**asdict(choice), "rankers": list(choice.rankers)}

    def why(self, query: Query, number: int, choice: Choice, compared: Compared) -> Values:
        """Return what the graphs of a query and an item have in common, and where each ranker has the item."""
        lists = self.library.lists(query, choice)
        return {
            **self.about(),
            "query": self.asked(query),
            "item": {**self.card(number, self._wanted(query)), "address": self.address_of(Item(number), choice)},
            "choice": self.chosen(choice),
            "address": self.address_of(query, choice, why=number),
            "search": self.address_of(query, choice),
            "positions": {name: _places(ranks).get(number) for name, ranks in lists.items()},
            "similarity": compared.why.similarity,
            "sizes": {"query": compared.query.size, "item": compared.item.size},
            "parts": [self._part(part) for part in compared.why.to_dict()["parts"]],
        }

    def _part(self, part: Mapping[str, Any]) -> Values:
        ends = [self.title(part["source"]), self.title(part["target"])]
        return {**part, "label": ends[0] if part["kind"] == "vertex" else " → ".join(ends)}

    def drawings(self, compared: Compared) -> tuple[str, str]:
        """Return both graphs as SVG, the common part lit."""
        return draw_pair(*compared, self.image_address)


def _places(ranks: Ranks) -> dict[int, int]:
    """Return the position of each item in a list, from 1."""
    return {item: place for place, item in enumerate(ranks.items[0].tolist(), 1) if item != PAD}


def _address(path: str, parameters: Mapping[str, Any]) -> str:
    return path + (f"?{urlencode(parameters)}" if parameters else "")
