"""The data of each page as plain values: rendered as HTML, and returned as JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray

from rankloom.datasets import Collection
from rankloom.datasets.images import Pixels
from rankloom.searcher import Answer, Hit, Searcher
from rankloom.searcher.batch import IMAGE_FIELD, text_of
from rankloom.searcher.lru import LRUCache
from rankloom.searcher.page import Entry
from rankloom.searcher.snippets import snippet
from rankloom.searcher.store import Document, read_document
from rankloom.web.judgments import MAX_QUERIES, MEASURED_DEPTH, Judgments
from rankloom.web.limits import Limits, RefusedError
from rankloom.web.queries import Choice, Query, Values, with_parameters
from rankloom.web.shares import flow, part_shares
from rankloom.web.stories import stories
from rankloom.web.tour import NO_TOUR, Tour
from rankloom.web.uploads import Gallery

PAGE_SIZE = 60  # items
LIST_SNIPPET = 70  # characters of a text in the list of a ranker
TITLE_FIELDS = ("title", "name")
LABEL_FIELD = "label"
EXPLAINED = ("weft", "vote")  # methods whose answers explain themselves, by neighbors; the others by fusion graphs
MAX_THROUGH = 20  # results of a page that are explained because no ranker lists them
BLOCK = 4096  # documents that are read at once
PARSED_FACTOR, PARSED_OVERHEAD = 4, 1000  # bytes of a document held as Python objects, for its length as text
VERSIONS = count(1)


class Views:
    """The views of a searcher as it is now: they do not see later updates.

    The options are those of `make_app`, and a digest that tells versions of a served folder apart.
    """

    def __init__(
        self,
        searcher: Searcher,
        collection: Collection | None = None,
        digest: str | None = None,
        tour: Tour = NO_TOUR,
        *,
        limits: Limits | None = None,
    ) -> None:
        limits = limits or Limits()
        self.source = searcher.state
        self.searcher = searcher.with_limited_caches(
            limits.share("indexes")
        )  # keeps its state when the original is updated
        self.state = self.searcher.state
        self.ids = self.state.ids
        self.defaults = Choice.default(self.searcher)
        self.version, self.digest = next(VERSIONS), digest
        self._parsed = LRUCache[Document](limits.share("documents"), size=_n_bytes)
        self.gallery = Gallery(self.ids, self._document, collection, limits.share("images"))
        self._collection, self._tour = collection, tour
        self._name = tour.name or self.state.settings.name
        self._about = collection.about if collection is not None else ""

    def __len__(self) -> int:
        return len(self.ids)

    def check_item(self, number: int) -> int:
        """Return the number of an item; raise if there is none."""
        if number >= len(self):
            raise RefusedError(404, f"There is no item {number}; they are numbered 0 to {len(self) - 1}.")
        return number

    def warm_up(self) -> None:
        """Search once, so that modules are imported and files are read before the first request."""
        if len(self):
            queries = [self.item_query(0), *([self.text_query("words")] if "texts" in self.accepts else [])]
            for query in queries:
                self.search(query, self.defaults)
                self.answer(query, self.defaults).explain(0)

    def _document(self, number: int) -> Document:
        return self._parsed.get(number, lambda: read_document(self.state.store, self.ids[number]))

    @property
    def accepts(self) -> set[str]:
        """The kinds of external queries that some ranker accepts."""
        return {retriever.part for retriever in self.state.retrievers.values()} & {"images", "texts"}

    @cached_property
    def labels(self) -> list[str | None] | None:
        """The class of each item; None if the first one has none."""
        if not len(self) or LABEL_FIELD not in self._document(0):
            return None
        return [
            None if label is None else str(label)
            for label in (document.get(LABEL_FIELD) for document in self._documents())
        ]

    @cached_property
    def classes(self) -> NDArray[np.intp] | None:
        """The class of each item as a number, -1 if it has none; None if the classes are unknown."""
        if self.labels is None:
            return None
        numbers = np.unique(np.array([label or "" for label in self.labels], np.str_), return_inverse=True)[1]
        return np.where([label is None for label in self.labels], -1, numbers)

    @cached_property
    def judgments(self) -> Judgments:
        """Which items are relevant to which queries."""
        return Judgments(self.classes, self.ids, self._collection)

    @cached_property
    def titles(self) -> list[str]:
        """The titles of all items."""
        return [_title(document) for document in self._documents()]

    def _documents(self) -> Iterator[Document]:
        """Yield all documents, by number."""
        ids = iter(self.ids)
        while some := list(islice(ids, BLOCK)):
            for id, document in zip(some, self.state.store.documents(some), strict=True):
                yield {"id": id} if document is None else document

    def choose(self, changes: Values) -> Choice:
        """Return the defaults with some changes; raise `InputError` if they are invalid."""
        return self.defaults.changed(changes, self.searcher)

    def item_query(self, number: int) -> Query:
        """Return a query by an item."""
        shown = {"kind": "item", **self.card(number)}
        arguments = {"item": self.ids[number]}
        return Query("item", f"/item/{number}", arguments, shown, number=number)

    @staticmethod
    def text_query(text: str) -> Query:
        """Return a query by a text."""
        shown = {"kind": "text", "text": text, "title": text, "image": None}
        return Query("text", "/search", {"query": text}, shown, {"q": text})

    def image_query(self, digest: str, image: Pixels) -> Query:
        """Return a query by an uploaded image."""
        shown = {"kind": "image", "title": "your image", "image": f"/upload/{digest}.image"}
        return Query("image", f"/upload/{digest}", {"image": self.gallery.reduced(image)}, shown)

    def url_of(self, query: Query, choice: Choice, *, why: int | None = None) -> str:
        """Return the URL of a search, or of the page that explains one of its results."""
        path = query.path + ("" if why is None else f"/why/{why}")
        return with_parameters(path, **query.parameters, **choice.changes(self.defaults))

    def image_url(self, number: int) -> str | None:
        """Return the URL of an item's image, which browsers may cache forever."""
        version = self.gallery.version(number)
        return None if version is None else f"/image/{number}?v={version}"

    def title(self, number: int) -> str:
        """Return the title of an item: its field ``title`` or ``name``, or its id."""
        return _title(self._document(number))

    def _text(self, number: int) -> str:
        return text_of(self._document(number), self.state.settings.fields)

    def document(self, number: int, fields: Iterable[str] | None = None) -> Document:
        """Return some or all fields of a document; an image is given by its URL here, not by its path."""
        document = self._document(number)
        chosen = document if fields is None else {name: document[name] for name in fields if name in document}
        return {**chosen, IMAGE_FIELD: self.image_url(number)} if IMAGE_FIELD in chosen else dict(chosen)

    def card(self, number: int, terms: frozenset[str] = frozenset()) -> Values:
        """Return an item as a tile shows it; `terms` are the stems to mark in its text."""
        card: Values = {
            "number": number,
            "id": self.ids[number],
            "title": self.title(number),
            "label": None if self.labels is None else self.labels[number],
            "image": self.image_url(number),
            "text": None,
            "marks": [],
        }
        if text := self._text(number):
            card["text"], card["marks"] = snippet(text, terms)
        return card

    def about(self) -> Values:
        """Return the collection and the rankers."""
        return {
            "collection": self._name,
            "about": self._about or f"{len(self)} documents",
            "n_items": len(self),
            "rankers": [
                {"name": name, "title": self._tour.title(name), "part": retriever.part}
                for name, retriever in self.state.retrievers.items()
            ],
            "accepts": sorted(self.accepts),
            "n_skipped": len(self.searcher.skipped),
            "self_test": str(self.state.settings.guard or ""),
        }

    def browse(self, *, page: int = 1, label: str | None = None, find: str | None = None) -> Values:
        """Return a page of the items: all, those of a class, or those whose title contains a text."""
        numbers = self._filtered(label, find)
        filters = {"label": label, "find": find}
        is_first = page == 1 and not (label or find)
        return {
            **self.about(),
            "heading": self._tour.heading or self._name,
            "labels": sorted({label for label in self.labels or () if label}),
            **filters,
            "page": page,
            "n_pages": max(1, -(-len(numbers) // PAGE_SIZE)),
            "n_found": len(numbers),
            "url": with_parameters("/items", **filters, page=page if page > 1 else None),
            "queries": list(self.judgments.texts.values())[:MAX_QUERIES] if is_first else [],
            "stories": stories(self, self._tour) if is_first else [],
            "items": [
                {**self.card(number), "url": f"/item/{number}"}
                for number in numbers[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
            ],
        }

    def _filtered(self, label: str | None, find: str | None) -> Sequence[int]:
        numbers: Sequence[int] = range(len(self))
        if label:
            numbers = [] if self.labels is None else [n for n in numbers if self.labels[n] == label]
        if find:
            numbers = [number for number in numbers if find.casefold() in self.titles[number].casefold()]
        return numbers

    def answer(self, query: Query, choice: Choice, k: int = 1) -> Answer:
        """Return the answer to a query; that to an item has one more hit, as the item itself is not shown."""
        found: Answer = self.searcher.search(
            k=max(choice.k, k) + (query.number is not None),
            method=choice.call(),
            rankers=choice.rankers or None,
            **query.arguments,
        )
        return found

    def search(self, query: Query, choice: Choice) -> Values:
        """Return the fused list of a query, and the list of each ranker."""
        answer = self.answer(query, choice, MEASURED_DEPTH)
        lists = self.lists(query, answer)
        found = [(hit.number, hit.score) for hit in answer if hit.number is not None and hit.number != query.number]
        grades = self.judgments.grades(query)
        measures = self.judgments.measures(grades, [found, *lists.values()])
        by_ranker = dict(zip(lists, measures[1:], strict=True))
        return {
            **self.about(),
            "query": dict(query.shown),
            "choice": choice.values(),
            "method": answer.method,
            "methods": self.searcher.methods(external=query.kind != "item"),
            "url": self.url_of(query, choice),
            "results": self._results(query, choice, answer, lists, self._rows(grades, found[: choice.k])),
            "measures": measures[0],
            "lists": [
                {"ranker": name, "title": self._tour.title(name)}
                | {"part": self.state.retrievers[name].part, "accepts": name in lists}
                | {"measures": by_ranker.get(name)}
                | {"items": self.rows_of_list(choice, self._rows(grades, lists.get(name, ())[: choice.k]))}
                for name in choice.rankers
            ],
        }

    def lists(self, query: Query, answer: Answer) -> dict[str, list[Entry]]:
        """Return what each ranker lists, without the item that is the query."""
        return {
            name: [entry for entry in entries if entry[0] != query.number] for name, entries in answer.entries.items()
        }

    def _results(
        self, query: Query, choice: Choice, answer: Answer, lists: Mapping[str, list[Entry]], rows: Sequence[Values]
    ) -> list[Values]:
        hits = {hit.number: hit for hit in answer}
        places = {
            name: {number: place for place, (number, _) in enumerate(entries, 1)} for name, entries in lists.items()
        }
        path, _, parameters = self.url_of(query, choice, why=0).partition("?")
        why = path.removesuffix("0") + "{}" + (f"?{parameters}" if parameters else "").replace("{", "%7B")
        suffix = self._suffix(choice)
        return [
            {
                **row,
                **self.card(row["number"], answer.terms),
                "positions": {name: places.get(name, {}).get(row["number"]) for name in choice.rankers},
                "through": self._through(answer, hits[row["number"]]),
                "url": f"/item/{row['number']}{suffix}",
                "why": why.format(row["number"]),
            }
            for row in rows
        ]

    def _through(self, answer: Answer, hit: Hit) -> list[str] | None:
        """Return the titles of the neighbors by which a method found an item; None if some ranker lists it."""
        if not hit.ranks or any(hit.ranks.values()):
            return None
        if answer.method.partition("(")[0] not in EXPLAINED or hit.position > MAX_THROUGH:
            return []
        why = answer.explain(hit.id)
        neighbors = [number for number, _ in flow(why, part_shares(why)).neighbors if number != hit.number]
        return [self.title(number) for number in neighbors[:2]]

    def _suffix(self, choice: Choice) -> str:
        """Return what follows the number in the URL of a search by item."""
        return with_parameters("", **choice.changes(self.defaults))

    def rows_of_list(self, choice: Choice, rows: list[Values]) -> list[Values]:
        """Return the entries of a ranker's list as a page shows them."""
        suffix = self._suffix(choice)
        for row in rows:
            number = row["number"]
            row["title"], row["image"] = self.title(number), self.image_url(number)
            row["url"] = f"/item/{number}{suffix}"
            text = "" if row["image"] else self._text(number)
            row["text"] = snippet(text, (), LIST_SNIPPET)[0] if text else None
        return rows

    def _rows(self, grades: NDArray[np.float64] | None, entries: Sequence[Entry]) -> list[Values]:
        relevant = self.judgments.relevant(grades, [number for number, _ in entries])
        return [
            {"position": position, "number": number, "score": score, "relevant": is_relevant}
            for position, ((number, score), is_relevant) in enumerate(zip(entries, relevant, strict=True), 1)
        ]

    def read(self, number: int) -> Values:
        """Return a document in full."""
        document = self.document(number)
        hidden = {"id", IMAGE_FIELD, *self.state.settings.fields, *TITLE_FIELDS}
        return {
            **self.about(),
            "url": f"/item/{number}/document",
            "search": f"/item/{number}",
            "item": {**self.card(number), "text": self._text(number)},
            "fields": {name: value for name, value in document.items() if name not in hidden},
        }


def _n_bytes(document: Document) -> int:
    return PARSED_FACTOR * len(str(document)) + PARSED_OVERHEAD


def _title(document: Document) -> str:
    found = (document[name] for name in TITLE_FIELDS if isinstance(document.get(name), str) and document[name])
    return next(found, str(document["id"]))
