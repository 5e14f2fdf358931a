"""The data of each page as plain values: rendered as HTML, and returned as JSON."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, replace
from functools import cached_property, lru_cache
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from rankloom.datasets import Collection
from rankloom.datasets.images import Pixels
from rankloom.errors import InputError, UnknownNameError
from rankloom.evaluation.measures import Measure
from rankloom.evaluation.truth import Judged
from rankloom.fusion_graph import FusionIndex
from rankloom.fusion_graph.graph import Explanation, FusionGraph, explain
from rankloom.ranks import Ranks
from rankloom.registry import Call
from rankloom.searcher import Answer, Hit, Searcher
from rankloom.searcher.answer import Listed
from rankloom.searcher.documents import IMAGE_FIELD, Document, text_of
from rankloom.searcher.state import MAX_INDEXES
from rankloom.web.graph_view import Drawing, draw_pair
from rankloom.web.index_searcher import IndexSearcher
from rankloom.web.limits import RefusedError
from rankloom.web.queries import Choice, Query
from rankloom.web.snippets import snippet, stems
from rankloom.web.uploads import Gallery

Values = dict[str, Any]

PAGE_SIZE = 60  # items
MEASURES = tuple(map(Measure.parse, ("ndcg@10", "p@10")))
MEASURED_DEPTH = 10  # of those measures
LIST_SNIPPET = 70  # characters of a text in the list of a ranker
TITLE_FIELDS = ("title", "name")
LABEL_FIELD = "label"
MAX_PARSED = 4096  # documents held as Python objects
VERSIONS = count(1)


class Compared(NamedTuple):
    """The fusion graphs of a query and an item, and their common part."""

    query: FusionGraph
    item: FusionGraph
    why: Explanation


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
    """

    def __init__(
        self,
        searcher: Searcher,
        collection: Collection | None = None,
        name: str | None = None,
        digest: str | None = None,
    ) -> None:
        self.searcher = copy(searcher)  # keeps its state when the original is updated
        self.state = self.searcher.state
        self.documents = self.state.documents
        self.defaults = _defaults(self.searcher)
        self.version, self.digest = next(VERSIONS), digest
        self.gallery = Gallery(self.documents, collection)
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

    def warm_up(self) -> None:
        """Search once, so that kernels are compiled or loaded and files are read before the first request."""
        _load_graph_kernels()
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
        """The class of each item as a number; None if the classes are unknown."""
        if self.labels is None:
            return None
        return np.unique(np.array([one or "" for one in self.labels], np.str_), return_inverse=True)[1]

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
            "rankers": [{"name": name, "part": model.part} for name, model in self.state.models.items()],
            "accepts": sorted(self.accepts),
            "n_skipped": len(self.searcher.skipped),
        }

    def browse(self, *, page: int = 1, label: str | None = None, find: str | None = None) -> Values:
        """Return a page of the items: all, those of a class, or those whose title contains a text."""
        numbers = self._filtered(label, find)
        filters = {"label": label, "find": find}
        given = {name: value for name, value in filters.items() if value}
        return {
            **self.about(),
            "labels": sorted({one for one in self.labels or () if one}),
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

    def _filtered(self, label: str | None, find: str | None) -> Sequence[int]:
        numbers: Sequence[int] = range(len(self))
        if label:
            numbers = [] if self.labels is None else [n for n in numbers if self.labels[n] == label]
        if find:
            numbers = [number for number in numbers if find.casefold() in self.titles[number].casefold()]
        return numbers

    def answer(self, query: Query, choice: Choice, k: int = 1) -> Answer:
        """Return the answer to a query."""
        found: Answer = self.searcher.search(
            k=max(choice.k, k), method=choice.call(), rankers=choice.rankers or None, **query.asked
        )
        return found

    def search(self, query: Query, choice: Choice) -> Values:
        """Return the fused list of a query, and the list of each ranker."""
        answer = self.answer(query, choice, MEASURED_DEPTH)
        lists = {name: self._listed(entries) for name, entries in answer.lists.items()}
        found = [(self.documents.ids.number(hit.id), hit.score) for hit in answer]
        measures = self._measures(query, [found, *lists.values()])
        return {
            **self.about(),
            "query": dict(query.shown),
            "choice": self.choice(choice),
            "method": answer.method,
            "methods": self.searcher.methods(external=query.kind != "item"),
            "url": self.url_of(query, choice),
            "results": self._results(query, choice, answer[: choice.k], found),
            "measures": measures[0],
            "lists": [
                self._list(query, choice, name, lists.get(name), measures=dict(zip(lists, measures[1:], strict=True)))
                for name in choice.rankers
            ],
        }

    def _listed(self, entries: Sequence[Listed]) -> list[tuple[int, float | None]]:
        number = self.documents.ids.number
        return [(number(entry.id), entry.score) for entry in entries]

    def _results(
        self, query: Query, choice: Choice, hits: Sequence[Hit], found: Sequence[tuple[int, float | None]]
    ) -> list[Values]:
        terms = stems(query.words)
        path, _, parameters = self.url_of(query, choice, why=0).partition("?")
        why = path.removesuffix("0") + "{}" + (f"?{parameters}" if parameters else "").replace("{", "%7B")
        suffix = self._suffix(choice)
        return [
            {
                **row,
                **self.card(row["number"], terms),
                "positions": {name: hit.ranks.get(name) for name in choice.rankers},
                "url": f"/item/{row['number']}{suffix}",
                "why": why.format(row["number"]),
            }
            for row, hit in zip(self._rows(query, found[: choice.k]), hits, strict=True)
        ]

    def _suffix(self, choice: Choice) -> str:
        """Return what follows the number in the URL of a search by item."""
        return _url("", choice.changes(self.defaults))

    def _list(
        self,
        query: Query,
        choice: Choice,
        name: str,
        entries: Sequence[tuple[int, float | None]] | None,
        measures: Mapping[str, Values | None],
    ) -> Values:
        suffix = self._suffix(choice)
        rows = self._rows(query, (entries or ())[: choice.k])
        for row in rows:
            number = row["number"]
            row["title"], row["image"] = self.title(number), self.image_url(number)
            row["url"] = f"/item/{number}{suffix}"
            text = "" if row["image"] else self._text(number)
            row["text"] = snippet(text, (), LIST_SNIPPET)[0] if text else None
        return {
            "ranker": name,
            "part": self.state.models[name].part,
            "accepts": entries is not None,
            "measures": measures.get(name),
            "items": rows,
        }

    def _rows(self, query: Query, entries: Sequence[tuple[int, float | None]]) -> list[Values]:
        relevant = self._relevant(query, [number for number, _ in entries])
        return [
            {"position": position, "number": number, "score": score, "relevant": is_relevant}
            for position, ((number, score), is_relevant) in enumerate(zip(entries, relevant, strict=True), 1)
        ]

    def _relevant(self, query: Query, numbers: list[int]) -> list[Any]:
        """Return for each item whether it is of the query's class; None if that is unknown."""
        if self.classes is None or query.number is None:
            return [None] * len(numbers)
        return list((self.classes[numbers] == self.classes[query.number]).tolist())

    def _measures(
        self, query: Query, lists: Sequence[Sequence[tuple[int, float | None]]]
    ) -> list[dict[str, float] | None]:
        """Return the measures of some lists; the query itself counts as relevant, as in `evaluate`."""
        if self.classes is None or query.number is None:
            return [None] * len(lists)
        query_class = self.classes[query.number]
        gains = np.zeros((len(lists), MEASURED_DEPTH))
        for row, entries in zip(gains, lists, strict=True):
            numbers = [number for number, _ in entries[:MEASURED_DEPTH]]
            row[: len(numbers)] = self.classes[numbers] == query_class
        judged = Judged(gains, np.full(len(lists), np.count_nonzero(self.classes == query_class)))
        tables = {str(measure): measure(judged).round(4).tolist() for measure in MEASURES}
        return [{name: values[row] for name, values in tables.items()} for row in range(len(lists))]

    @staticmethod
    def choice(choice: Choice) -> Values:
        """Return a choice as plain values."""
        return {**asdict(choice), "rankers": list(choice.rankers)}

    def compare(self, query: Query, number: int, choice: Choice, answer: Answer) -> Compared:
        """Return the fusion graphs of a query and of an item, and what they have in common."""
        options: Values = {"rankers": tuple(answer.lists) or None, "cutoff": choice.cutoff}
        graph = self.searcher.graph(**query.asked, **options)
        item = self.searcher.graph(item=self.documents.ids[number], **options)
        return Compared(graph, item, explain(graph, item, choice.comparator))

    def why(
        self,
        query: Query,
        number: int,
        choice: Choice,
        answer: Answer,
        compared: Compared,
        max_parts: int | None = None,
    ) -> Values:
        """Return why an item was found: parts of its score, common parts of the graphs, its position by each ranker.

        Parameters
        ----------
        max_parts : int, optional
            How many parts of each kind to return, the largest ones; by default all.
        """
        item, lists = self.documents.ids[number], answer.lists
        return {
            **self.about(),
            "query": dict(query.shown),
            "item": {
                **self.card(number, stems(query.words)),
                "url": self.url_of(self.item_query(number), choice),
            },
            "choice": self.choice(choice),
            "method": answer.method,
            "url": self.url_of(query, choice, why=number),
            "search": self.url_of(query, choice),
            "positions": {name: _position(lists.get(name, ()), item) for name in choice.rankers},
            "explanation": self._explanation(answer, item, max_parts),
            "similarity": compared.why.similarity,
            "sizes": {"query": compared.query.size, "item": compared.item.size},
            "n_parts": len(compared.why.parts),
            "parts": self._parts(compared.why, max_parts),
        }

    def _explanation(self, answer: Answer, item: str, max_parts: int | None) -> Values | None:
        """Return the parts of an item's score; None if the method has none, or they are those of the graphs."""
        if answer.method.partition("(")[0] not in ("weft", "vote"):
            return None
        found = answer.explain(item)
        return {"score": found.similarity, "n_parts": len(found.parts), "parts": self._parts(found, max_parts)}

    def _parts(self, explanation: Explanation, max_parts: int | None) -> list[Values]:
        return list(map(self._part, replace(explanation, parts=explanation.parts[:max_parts]).to_dict()["parts"]))

    def _part(self, part: Mapping[str, Any]) -> Values:
        """Return a part with titles in place of ids."""
        source, target = self.title(part["source"]), self.title(part["target"])
        if part["kind"] == "edge":
            return {**part, "label": f"{source} → {target}"}
        if part["kind"] == "vertex":
            return {**part, "label": source + part["label"].removeprefix(self.documents.ids[part["source"]])}
        return dict(part)

    def drawings(self, query: Query, number: int, compared: Compared) -> tuple[Drawing, Drawing]:
        """Return both graphs as SVG, with the common part highlighted."""
        titles = (str(query.shown["title"]), self.title(number))
        return draw_pair(*compared, titles=titles, title=self.title, image_url=self.image_url)


def _load_graph_kernels() -> None:
    """Compile or load the kernels of fusion graphs, on three items: the graphs of all are built when first used."""
    ranks = Ranks.from_distances(np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]]))
    index = FusionIndex.build([ranks], cutoff=2)
    index.search(items=[0])
    index.search([ranks.rows([0]).replaced(kind="queries")], k=1)


def _defaults(searcher: Searcher) -> Choice:
    if isinstance(searcher, IndexSearcher):
        built = searcher.index.settings
        return Choice((), method="fg", cutoff=built.cutoff, comparator=built.comparator)
    return Choice(searcher.rankers)


def _title(document: Document) -> str:
    found = (document[name] for name in TITLE_FIELDS if isinstance(document.get(name), str) and document[name])
    return next(found, str(document["id"]))


def _position(entries: Sequence[Listed], item: str) -> int | None:
    """Return the position of an item in a list; None if it is not in it."""
    return next((position for position, entry in enumerate(entries, 1) if entry.id == item), None)


def _url(path: str, parameters: Mapping[str, Any]) -> str:
    return path + (f"?{urlencode(parameters)}" if parameters else "")
