"""What each page shows, as plain values: the page is written from them, and its JSON twin is they."""

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
from rankloom.web.queries import Choice, Item, Picture, Query, Words
from rankloom.web.snippets import passage, stems

Values = dict[str, Any]

PAGE = 60  # items of a page
MEASURES = tuple(map(Measure.parse, ("ndcg@10", "p@10")))
GLIMPSE = 70  # characters of a text in the list of a ranker
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
        self._version = library.version  # looks at all pictures: before the first request rather than in it

    def address_of(self, query: Query, choice: Choice, *, why: int | None = None) -> str:
        """Return the address of a search, or of the page that says why an item was found by it."""
        path = {"item": "/item/{}", "words": "/search", "picture": "/picture/{}"}[query.kind]
        path = path.format(query.number if isinstance(query, Item) else getattr(query, "digest", ""))
        asked = {"q": query.text} if isinstance(query, Words) else {}
        parameters = urlencode({**asked, **choice.changes(self.library.standard)})
        return path + ("" if why is None else f"/why/{why}") + (f"?{parameters}" if parameters else "")

    def image_address(self, number: int) -> str | None:
        """Return the address of an item's picture; a browser may keep it for as long as it likes."""
        return f"/image/{number}?v={self._version}" if "images" in self._collection.parts else None

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
        lists = self.library.lists(query, choice)
        found = self.library.search(query, choice, max(choice.k, MEASURED))
        measured = self._measured(query, [found, *lists.values()])
        listed = zip(lists.items(), measured[1:], strict=True)
        return {
            **self.about(),
            "query": self.asked(query),
            "choice": self.chosen(choice),
            "methods": self.library.methods(query),
            "address": self.address_of(query, choice),
            "results": self._results(query, choice, found, lists),
            "measures": measured[0],
            "lists": [self._list(query, choice, *one, measures) for one, measures in listed],
        }

    def _results(self, query: Query, choice: Choice, found: Ranks, lists: Mapping[str, Ranks]) -> list[Values]:
        rows = self._rows(query, found, choice.k)
        numbers = [row["number"] for row in rows]
        places = {name: _places(ranks, numbers) for name, ranks in lists.items()}
        wanted = self._wanted(query)
        path, _, parameters = self.address_of(query, choice, why=0).partition("?")
        why = path.removesuffix("0") + "{}" + (f"?{parameters}" if parameters else "").replace("{", "%7B")
        item = self._item_address(choice)
        return [
            {
                **row,
                **self.card(number, wanted),
                "positions": {name: of[row["position"] - 1] for name, of in places.items()},
                "address": f"/item/{number}{item}",
                "why": why.format(number),
            }
            for row, number in zip(rows, numbers, strict=True)
        ]

    def _item_address(self, choice: Choice) -> str:
        """Return what follows the number in the address of a search by an item."""
        return self.address_of(Item(0), choice).removeprefix("/item/0")

    def _list(self, query: Query, choice: Choice, name: str, ranks: Ranks, measures: Values | None) -> Values:
        item = self._item_address(choice)
        rows = self._rows(query, ranks, choice.k)
        for row in rows:
            number = row["number"]
            row["title"], row["image"] = self.title(number), self.image_address(number)
            row["address"] = f"/item/{number}{item}"
            row["text"] = (
                None if self._texts is None or row["image"] else passage(str(self._texts[number]), (), GLIMPSE)[0]
            )
        taken = query.part in (None, self.library.parts[name])
        return {"ranker": name, "part": self.library.parts[name], "takes": taken, "measures": measures, "items": rows}

    def _rows(self, query: Query, ranks: Ranks, k: int) -> list[Values]:
        items = ranks.items[0, :k]
        items = items[items != PAD]
        scores = [None] * len(items) if ranks.scores is None else ranks.scores[0, :k].tolist()
        relevant = self._relevant(query, items)
        rows = zip(items.tolist(), scores, relevant, strict=False)
        return [
            {"position": place, "number": number, "score": score, "relevant": fits}
            for place, (number, score, fits) in enumerate(rows, 1)
        ]

    def _relevant(self, query: Query, items: NDArray[np.int32]) -> list[Any]:
        """Return for each item whether it is of the class of the query; None where that is not known."""
        classes = self.library.classes
        if classes is None or not isinstance(query, Item):
            return [None] * len(items)
        return list((classes[items] == classes[query.number]).tolist())

    def _measured(self, query: Query, lists: Sequence[Ranks]) -> list[dict[str, float] | None]:
        """Return the measures of some lists; the query itself is relevant and counts, as in `evaluate`."""
        classes = self.library.classes
        if classes is None or not isinstance(query, Item):
            return [None] * len(lists)
        own = classes[query.number]
        gains = np.zeros((len(lists), MEASURED))
        for row, ranks in zip(gains, lists, strict=True):
            items = ranks.items[0, :MEASURED]
            row[: len(items)] = (classes[items] == own) & (items != PAD)
        judged = Judged(gains, np.full(len(lists), np.count_nonzero(classes == own)))
        tables = {str(measure): measure(judged).round(4).tolist() for measure in MEASURES}
        return [{name: values[row] for name, values in tables.items()} for row in range(len(lists))]

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

    def why(self, query: Query, number: int, choice: Choice, compared: Compared, most: int | None = None) -> Values:
        """Return what the graphs of a query and an item have in common, and where each ranker has the item.

        Parameters
        ----------
        most : int, optional
            How many of the parts in common to give, the largest ones.
        """
        parts = replace(compared.why, parts=compared.why.parts[:most]).to_dict()["parts"]
        lists = self.library.lists(query, choice)
        return {
            **self.about(),
            "query": self.asked(query),
            "item": {**self.card(number, self._wanted(query)), "address": self.address_of(Item(number), choice)},
            "choice": self.chosen(choice),
            "address": self.address_of(query, choice, why=number),
            "search": self.address_of(query, choice),
            "positions": {name: _places(ranks, [number])[0] for name, ranks in lists.items()},
            "similarity": compared.why.similarity,
            "sizes": {"query": compared.query.size, "item": compared.item.size},
            "n_parts": len(compared.why.parts),
            "parts": list(map(self._part, parts)),
        }

    def _part(self, part: Mapping[str, Any]) -> Values:
        ends = [self.title(part["source"]), self.title(part["target"])]
        return {**part, "label": ends[0] if part["kind"] == "vertex" else " → ".join(ends)}

    def drawings(self, query: Query, number: int, compared: Compared) -> tuple[Drawing, Drawing]:
        """Return both graphs as SVG, the common part lit."""
        names = (str(self.asked(query)["title"]), self.title(number))
        return draw_pair(*compared, names=names, title=self.title, address=self.image_address)


def _places(ranks: Ranks, numbers: list[int]) -> list[int | None]:
    """Return the position of items in a list, from 1; None for one that is not in it."""
    items = ranks.items[0]
    places = np.zeros(ranks.n_items + 1, np.int32)  # the last one takes the PAD
    places[items] = np.arange(1, len(items) + 1)
    return [place or None for place in places[numbers].tolist()] if numbers else []


def _address(path: str, parameters: Mapping[str, Any]) -> str:
    return path + (f"?{urlencode(parameters)}" if parameters else "")
