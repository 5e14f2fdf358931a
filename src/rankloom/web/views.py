"""The data of each page as plain values: rendered as HTML, and returned as JSON."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, replace
from functools import cached_property, lru_cache
from itertools import count
from typing import Any
from urllib.parse import urlencode

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from rankloom.datasets import Collection
from rankloom.datasets.images import Pixels
from rankloom.errors import InputError, UnknownNameError
from rankloom.fusion_graph import FusionIndex
from rankloom.rankers.text.term_model import TermModel
from rankloom.ranks import Ranks
from rankloom.registry import Call
from rankloom.searcher import Answer, Hit, Searcher
from rankloom.searcher.answer import Listed
from rankloom.searcher.documents import IMAGE_FIELD, Document, text_of
from rankloom.searcher.state import MAX_INDEXES
from rankloom.web.index_searcher import IndexSearcher
from rankloom.web.judgments import MAX_QUERIES, MEASURED_DEPTH, Entry, Judgments
from rankloom.web.limits import RefusedError
from rankloom.web.queries import Choice, Query
from rankloom.web.shares import flow, part_shares
from rankloom.web.snippets import snippet, stems
from rankloom.web.tour import NO_TOUR, Tour
from rankloom.web.uploads import Gallery

Values = dict[str, Any]

PAGE_SIZE = 60  # items
LIST_SNIPPET = 70  # characters of a text in the list of a ranker
TITLE_FIELDS = ("title", "name")
LABEL_FIELD = "label"
MAX_TEXT_FREQUENCY, MAX_ITEM_FREQUENCY = 0.5, 0.1  # share of the texts that may have a term which is marked
EXPLAINED = ("weft", "vote")  # methods whose answers explain themselves, by neighbors; the others by fusion graphs
RRF = "rrf"  # what an example compares with
STORY_IMAGES, STORY_TEXTS = 8, 5  # how many items of each list it shows
MIN_FREQUENCY = 10  # texts that may have it in any case
MAX_THROUGH = 20  # results of a page that are explained because no ranker lists them
MAX_PARSED = 4096  # documents held as Python objects
VERSIONS = count(1)


class Views:
    """The views of a searcher as it is now: they do not see later updates.

    Parameters
    ----------
    searcher : Searcher
    collection : Collection, optional
        What the documents were built from: has their images if those are not files, and a description.
    name : str, optional
        The name on the page; by default that of the collection.
    digest : str, optional
        What tells versions of a served folder apart.
    tour : Tour
        What the first page tells, and how pages name the rankers.
    """

    def __init__(
        self,
        searcher: Searcher,
        collection: Collection | None = None,
        name: str | None = None,
        digest: str | None = None,
        tour: Tour = NO_TOUR,
    ) -> None:
        self.searcher = copy(searcher)  # keeps its state when the original is updated
        self.state = self.searcher.state
        self.documents = self.state.documents
        self.defaults = _defaults(self.searcher)
        self.version, self.digest = next(VERSIONS), digest
        self.gallery = Gallery(self.documents, collection)
        self._collection, self._tour = collection, tour
        self._name = name or self.state.settings.name
        self._about = collection.about if collection is not None else ""
        self.seen: LRUCache[Hashable, bool] = LRUCache(MAX_INDEXES)  # used on the event loop only
        self._document = lru_cache(maxsize=MAX_PARSED)(self.documents.__getitem__)

    def __len__(self) -> int:
        return len(self.documents)

    def check_item(self, number: int) -> int:
        """Return the number of an item; raise if there is none."""
        if number >= len(self):
            raise RefusedError(404, f"There is no item {number}; they are numbered 0 to {len(self) - 1}.")
        return number

    def warm_up(self, *, graphs: bool = True) -> None:
        """Search once, so that kernels are compiled or loaded and files are read before the first request.

        Without `graphs`, the first explanation or search by fg loads the kernels of fusion graphs.
        """
        if graphs:
            load_graph_kernels()
        if len(self):
            queries = [self.item_query(0), *([self.text_query("words")] if "texts" in self.accepts else [])]
            for query in queries:
                self.search(query, self.defaults)
                self.answer(query, self.defaults).explain(self.documents.ids[0])
                self.seen[self.key(query.kind, self.defaults.call(), self.defaults.rankers)] = True

    def key(self, kind: str, method: str | Call, rankers: Sequence[str], *more: Hashable) -> Hashable:
        """Return what decides which index a search uses: if it is in `seen`, the index is likely built."""
        return (kind, str(method), tuple(rankers), *more)

    @property
    def accepts(self) -> set[str]:
        """The kinds of external queries that some ranker accepts."""
        return {model.part for model in self.state.models.values()} & {"images", "texts"}

    @cached_property
    def labels(self) -> list[str | None] | None:
        """The class of each item; None if the first one has none."""
        if not len(self) or LABEL_FIELD not in self._document(0):
            return None
        return [None if one is None else str(one) for one in self.documents.column(LABEL_FIELD)]

    @cached_property
    def classes(self) -> NDArray[np.intp] | None:
        """The class of each item as a number, -1 if it has none; None if the classes are unknown."""
        if self.labels is None:
            return None
        numbers = np.unique(np.array([one or "" for one in self.labels], np.str_), return_inverse=True)[1]
        return np.where([one is None for one in self.labels], -1, numbers)

    @cached_property
    def judgments(self) -> Judgments:
        """Which items are relevant to which queries."""
        return Judgments(self.classes, self.documents.ids, self._collection)

    @cached_property
    def titles(self) -> list[str]:
        """The titles of all items."""
        return [_title(one) for one in self.documents]

    def choose(self, changes: Mapping[str, Any]) -> Choice:
        """Return the defaults with some changes; raise `InputError` if they are invalid."""
        choice = replace(self.defaults, **changes)
        known = self.searcher.methods(external=False)
        if choice.method not in known:
            raise UnknownNameError("method", choice.method, known)
        rankers = self.searcher.rankers
        for name in choice.rankers:
            if name not in rankers:
                raise UnknownNameError("ranker", name, rankers)
        if rankers and not choice.rankers:
            raise InputError(f"Choose at least one ranker of {', '.join(rankers)}.")
        return replace(choice, rankers=tuple(name for name in rankers if name in choice.rankers))

    def item_query(self, number: int) -> Query:
        """Return a query by an item."""
        shown = {"kind": "item", **self.card(number)}
        asked = {"item": self.documents.ids[number]}
        return Query("item", f"/item/{number}", asked, shown, words=self._text(number), number=number)

    @staticmethod
    def text_query(text: str) -> Query:
        """Return a query by a text."""
        shown = {"kind": "text", "text": text, "title": text, "image": None}
        return Query("text", "/search", {"query": text}, shown, {"q": text}, words=text)

    def image_query(self, digest: str, image: Pixels) -> Query:
        """Return a query by an uploaded image."""
        shown = {"kind": "image", "title": "your image", "image": f"/upload/{digest}.image"}
        return Query("image", f"/upload/{digest}", {"image": self.gallery.reduced(image)}, shown)

    def url_of(self, query: Query, choice: Choice, *, why: int | None = None) -> str:
        """Return the URL of a search, or of the page that explains one of its results."""
        path = query.path + ("" if why is None else f"/why/{why}")
        return _url(path, {**query.parameters, **choice.changes(self.defaults)})

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

    def terms(self, query: Query, choice: Choice) -> frozenset[str]:
        """Return the stems of a query that decide its results: none if no chosen ranker looks at words.

        Of an item, whose text is long, only those count that few other items have.
        """
        fitted = [self.state.models[name].fitted for name in choice.rankers if self.state.models[name].part == "texts"]
        if not fitted or not query.words:
            return frozenset()
        found, models = stems(query.words), [one for one in fitted if isinstance(one, TermModel)]
        share = MAX_ITEM_FREQUENCY if query.kind == "item" else MAX_TEXT_FREQUENCY
        return found if len(models) < len(fitted) else frozenset().union(*(_rare(one, found, share) for one in models))

    def card(self, number: int, terms: frozenset[str] = frozenset()) -> Values:
        """Return an item as a tile shows it; `terms` are the stems to mark in its text."""
        card: Values = {
            "number": number,
            "id": self.documents.ids[number],
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
                {"name": name, "title": self._tour.title(name), "part": model.part}
                for name, model in self.state.models.items()
            ],
            "accepts": sorted(self.accepts),
            "n_skipped": len(self.searcher.skipped),
        }

    def browse(self, *, page: int = 1, label: str | None = None, find: str | None = None) -> Values:
        """Return a page of the items: all, those of a class, or those whose title contains a text."""
        numbers = self._filtered(label, find)
        filters = {"label": label, "find": find}
        given = {name: value for name, value in filters.items() if value}
        is_first = page == 1 and not given
        return {
            **self.about(),
            "heading": self._tour.heading or self._name,
            "labels": sorted({one for one in self.labels or () if one}),
            **filters,
            "page": page,
            "n_pages": max(1, -(-len(numbers) // PAGE_SIZE)),
            "n_found": len(numbers),
            "url": _url("/items", {**given, **({"page": page} if page > 1 else {})}),
            "queries": list(self.judgments.texts.values())[:MAX_QUERIES] if is_first else [],
            "stories": [self.story(one) for one in self._tour.examples if self._can_tell(one)] if is_first else [],
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
            **query.asked,
        )
        return found

    def search(self, query: Query, choice: Choice) -> Values:
        """Return the fused list of a query, and the list of each ranker."""
        answer = self.answer(query, choice, MEASURED_DEPTH)
        lists = self.lists(query, answer)
        found = [entry for hit in answer if (entry := self._entry(hit))[0] != query.number]
        grades = self.judgments.grades(query)
        measures = self.judgments.measures(grades, [found, *lists.values()])
        by_ranker = dict(zip(lists, measures[1:], strict=True))
        return {
            **self.about(),
            "query": dict(query.shown),
            "choice": self.choice(choice),
            "method": answer.method,
            "methods": self.searcher.methods(external=query.kind != "item"),
            "url": self.url_of(query, choice),
            "results": self._results(query, choice, answer, lists, self._rows(grades, found[: choice.k])),
            "measures": measures[0],
            "lists": [
                {"ranker": name, "title": self._tour.title(name)}
                | {"part": self.state.models[name].part, "accepts": name in lists}
                | {"measures": by_ranker.get(name)}
                | {"items": self._list(choice, self._rows(grades, lists.get(name, ())[: choice.k]))}
                for name in choice.rankers
            ],
        }

    def lists(self, query: Query, answer: Answer) -> dict[str, list[Entry]]:
        """Return what each ranker lists, without the item that is the query."""
        return {
            name: [entry for one in entries if (entry := self._entry(one))[0] != query.number]
            for name, entries in answer.lists.items()
        }

    def _entry(self, found: Hit | Listed) -> Entry:
        return self.documents.ids.number(found.id), found.score

    def _results(
        self, query: Query, choice: Choice, answer: Answer, lists: Mapping[str, list[Entry]], rows: Sequence[Values]
    ) -> list[Values]:
        terms = self.terms(query, choice)
        hits = {hit.id: hit for hit in answer}
        places = {
            name: {number: place for place, (number, _) in enumerate(entries, 1)} for name, entries in lists.items()
        }
        path, _, parameters = self.url_of(query, choice, why=0).partition("?")
        why = path.removesuffix("0") + "{}" + (f"?{parameters}" if parameters else "").replace("{", "%7B")
        suffix = self._suffix(choice)
        return [
            {
                **row,
                **self.card(row["number"], terms),
                "positions": {name: places.get(name, {}).get(row["number"]) for name in choice.rankers},
                "through": self._through(answer, hits[self.documents.ids[row["number"]]]),
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
        number, why = self.documents.ids.number(hit.id), answer.explain(hit.id)
        return [self.title(one) for one, _ in flow(why, part_shares(why)).neighbors if one != number][:2]

    def _suffix(self, choice: Choice) -> str:
        """Return what follows the number in the URL of a search by item."""
        return _url("", choice.changes(self.defaults))

    def _list(self, choice: Choice, rows: list[Values]) -> list[Values]:
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

    def story(self, example: Mapping[str, str]) -> Values:
        """Return what each ranker finds for an example, what RRF makes of it, and what the default method does."""
        query = self.text_query(example["query"]) if "query" in example else self.item_query(self._number(example))
        choices = [replace(self.defaults, method=method) for method in (RRF, self.defaults.method)]
        found = [self.search(query, choice) for choice in choices]
        rows = [{"name": one["ranker"], "fused": False, **one} for one in found[1]["lists"] if one["accepts"]]
        length = STORY_IMAGES if self.gallery.version(0) is not None else STORY_TEXTS
        for choice, one in zip(choices, found, strict=True):
            listed = self._list(choice, [dict(row) for row in one["results"][:length]])
            name = one["method"]
            rows.append({"name": name, "title": name, "fused": True, "measures": one["measures"], "items": listed})
        kept = ("name", "title", "fused", "measures")
        shown = [{**{name: row[name] for name in kept}, "items": row["items"][:length]} for row in rows]
        return {"query": found[1]["query"], "url": found[1]["url"], "rows": shown}

    def _can_tell(self, example: Mapping[str, str]) -> bool:
        """Return True if an example can be searched: its item is not deleted, and some ranker accepts its text."""
        return "texts" in self.accepts if "query" in example else example["item"] in self.documents.ids

    def _number(self, example: Mapping[str, str]) -> int:
        return self.documents.ids.number(example["item"], "item")

    @staticmethod
    def choice(choice: Choice) -> Values:
        """Return a choice as plain values."""
        return {**asdict(choice), "rankers": list(choice.rankers)}


def load_graph_kernels() -> None:
    """Compile or load the kernels of fusion graphs, on three items: the graphs of all are built when first used."""
    ranks = Ranks.from_distances(np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]]))
    index = FusionIndex.build([ranks], cutoff=2)
    index.search(items=[0])
    index.search([ranks.rows([0]).replaced(kind="queries")], k=1)


def _rare(model: TermModel, terms: Iterable[str], share: float) -> frozenset[str]:
    """Return the terms that a ranker knows, and that at most a share of all texts has."""
    numbers, limit = model.space.vocabulary.numbers, max(MIN_FREQUENCY, share * model.statistics.n_texts)
    return frozenset(one for one in terms if one in numbers and model.statistics.frequency[numbers[one]] <= limit)


def _defaults(searcher: Searcher) -> Choice:
    if isinstance(searcher, IndexSearcher):
        built = searcher.index.settings
        return Choice((), method="fg", cutoff=built.cutoff, comparator=built.comparator)
    return Choice(searcher.rankers)


def _title(document: Document) -> str:
    found = (document[name] for name in TITLE_FIELDS if isinstance(document.get(name), str) and document[name])
    return next(found, str(document["id"]))


def _url(path: str, parameters: Mapping[str, Any]) -> str:
    return path + (f"?{urlencode(parameters)}" if parameters else "")
