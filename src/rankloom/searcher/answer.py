"""Answers: the hits of a query, where each ranker lists them, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple, overload

from rankloom.errors import InputError, needs_extra
from rankloom.fusion_graph import Explanation
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.html_table import html_table
from rankloom.searcher.answering import FusedAnswers
from rankloom.searcher.batch import text_of
from rankloom.searcher.page import Entry, Facets, Page
from rankloom.searcher.queries import QueryBatch
from rankloom.searcher.retriever import Model
from rankloom.searcher.snippets import MAX_ITEM_FREQUENCY, MAX_TEXT_FREQUENCY, Snippet, rare_stems, snippet
from rankloom.searcher.state import State
from rankloom.searcher.store import Document, Store, read_document

if TYPE_CHECKING:
    import pandas

MAX_SNIPPET = 120  # characters of a document's text in a table
MAX_ID = 200  # characters of an id in a table


class Listed(NamedTuple):
    """An entry of a ranker's list."""

    id: str
    score: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Hit:
    """An item that a search found.

    Attributes
    ----------
    id : str
    score : float
        Its fused score; what it means depends on the method.
    position : int
        Its position in the answer, from 1, counting those that `offset` skips; or in its group.
    ranks : {name of a ranker: int or None}
        Its position in each ranker's list; None if it is not listed.
    scores : {name of a ranker: float or None}
        Its score by each ranker; None if it is not listed, or the ranker gives no scores.
    number : int or None
        Its number in the index; None for an item that only the given lists have.
    rerank_score : float or None
        Its score by the second stage; None for those beyond `rerank_depth`.
    group : list of Hit
        The other hits of its group, best first, if the search asked for groups.
    """

    id: str
    score: float
    position: int
    ranks: Mapping[str, int | None]
    scores: Mapping[str, float | None]
    number: int | None
    _store: Store = field(repr=False)
    rerank_score: float | None = None
    group: Sequence[Hit] = ()
    _fields: Sequence[str] | None = field(default=None, repr=False)

    @property
    def document(self) -> Document:
        """The document with all its fields, or those that the search asked for, read on access."""
        document = self._whole()
        return document if self._fields is None else {name: document[name] for name in self._fields if name in document}

    def _whole(self) -> Document:
        """Return the document with all its fields: of an item that only the given lists have, its id."""
        return {"id": self.id} if self.number is None else read_document(self._store, self.id)


class Answer(Sequence[Hit]):
    """The hits of one query, best first.

    Attributes
    ----------
    query : str
        The text of the query, or a label if it is not text.
    method : str
        How the lists were fused, as spelled in the search.
    confidence : float or None
        How probable it is that the collection has anything for a text, 0 to 1: for bm25 with minilm or static, and
        after `Searcher.calibrate`.
    lists : {name of a ranker: list of Listed}
        What each ranker lists, best first.
    entries : {name of a ranker: list of (number, score)}
        The same by the numbers of items.
    facets : {field: {value: int}}
        How many documents have each value, of those that some ranker lists: ``facets.of``, a sample.
    """

    def __init__(
        self,
        state: State,
        queries: QueryBatch,
        row: int,
        found: FusedAnswers,
        page: Page,
        *,
        method: str,
        confidence: float | None = None,
    ) -> None:
        self.query = queries.labels[row]
        self.method = method
        self.confidence = confidence
        self.entries = {name: _entries(ranks, row) for name, ranks in found.lists.items()}
        self._state, self._page, self._ids = state, page, found.ids
        self._text = None if "texts" not in queries.parts else str(queries.parts["texts"][row])
        self._item = None if queries.items is None else int(queries.items[row])
        self._explain = partial(found.explain, row)
        self.facets = self._facets()
        self._hits = self._made(_entries(found.fused, row))

    def _facets(self) -> Facets:
        listed = sorted(
            {number for entries in self.entries.values() for number, _ in entries} if self._page.facets else ()
        )
        return self._page.counted(listed, self._state.store, self._ids)

    def _made(self, fused: Sequence[Entry]) -> list[Hit]:
        page, state = self._page, self._state
        fused, reranked = page.reranked(self._text or "", fused, state.store, self._ids)
        groups = page.groups([number for number, _ in fused], state.store, self._ids)
        scores = {name: dict(entries) for name, entries in self.entries.items()}
        positions = {name: {number: p for p, number in enumerate(known, 1)} for name, known in scores.items()}

        def hit(at: int, position: int, group: Sequence[Hit] = ()) -> Hit:
            number, score = fused[at]
            listed = {name: known.get(number) for name, known in positions.items()}
            scored = {name: known.get(number) for name, known in scores.items()}
            second = reranked[at] if at < len(reranked) else None
            id, known, fused_score = self._ids[number], number if number < len(state) else None, score or 0.0
            return Hit(id, fused_score, position, listed, scored, known, state.store, second, group, page.fields)

        shown = enumerate(groups[page.offset : page.offset + page.k], page.offset + 1)
        return [
            hit(first, position, [hit(at, place) for place, at in enumerate(others, 2)])
            for position, (first, *others) in shown
        ]

    @property
    def lists(self) -> dict[str, list[Listed]]:
        """What each ranker lists, best first."""
        return {
            name: [Listed(self._ids[number], score) for number, score in entries]
            for name, entries in self.entries.items()
        }

    def __reduce__(self) -> tuple[object, ...]:
        raise InputError("An answer cannot be pickled or copied; take the id, score and document of its hits.")

    def explain(self, id: str | int) -> Explanation:
        """Explain the score of an item, given by its id or number: parts that add up to it, largest first."""
        return self._explain(id if isinstance(id, int) else self._ids.number(id, "item"))

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas frame with a row for each hit: its fields, score, and position by each ranker."""
        with needs_extra("to_frame()", "pandas", "frames"):
            import pandas
        rows = []
        for hit in self:
            own = {"position": hit.position, "id": hit.id, "score": hit.score, **hit.ranks}
            rows.append(own | {name: value for name, value in hit.document.items() if name not in own})
        columns = None if rows else ["position", "id", "score", *self.entries]
        return pandas.DataFrame(rows, columns=columns)

    @overload
    def __getitem__(self, place: int) -> Hit: ...

    @overload
    def __getitem__(self, place: slice) -> list[Hit]: ...

    def __getitem__(self, place: int | slice) -> Hit | list[Hit]:
        return self._hits[place]

    def __len__(self) -> int:
        return len(self._hits)

    def __repr__(self) -> str:
        ids = ", ".join(hit.id for hit in self._hits[:5]) + (", ..." if len(self) > 5 else "")
        return f"Answer({self.query!r}, {self.method}: {ids or 'nothing found'})"

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        head, *rows = self.cells()
        return html_table(head, rows, "" if rows else "Nothing found.")

    def cells(self, length: int = MAX_SNIPPET) -> list[list[str]]:
        """Return the answer as a table, the head first: positions, ids, scores and snippets of documents."""
        names = list(self.entries)
        table = [["", "id", "score", *names, "document"]]
        for hit in self:
            positions = (str(hit.ranks[name] or "") for name in names)
            table.append(
                [str(hit.position), cut(hit.id, MAX_ID), f"{hit.score:.4f}", *positions, self.snippet(hit, length)]
            )
        return table

    def text(self, hit: Hit) -> str:
        """Return the text of a hit that rankers see."""
        return text_of(hit._whole(), self._state.settings.fields)

    @cached_property
    def terms(self) -> frozenset[str]:
        """The stems of the query that decide its results: none if no ranker of the search looks at words.

        The text of an item is long, so only terms that few other items have count.
        """
        retrievers = [self._state.retrievers[name] for name in self.entries]
        fitted = [known.fitted if isinstance(known, Model) else None for known in retrievers if known.part == "texts"]
        if self._item is None:
            return rare_stems(self._text or "", fitted, MAX_TEXT_FREQUENCY)
        document = read_document(self._state.store, self._state.ids[self._item])
        return rare_stems(text_of(document, self._state.settings.fields), fitted, MAX_ITEM_FREQUENCY)

    def highlight(self, hit: Hit) -> Snippet:
        """Return the passage of a hit's text around the terms of the query, and where they are: (start, end)."""
        return snippet(self.text(hit), self.terms)

    def snippet(self, hit: Hit, length: int = MAX_SNIPPET) -> str:
        """Return the first words of a document's text on one line: of the fields that text rankers see."""
        document = hit._whole()
        strings = (value for name, value in document.items() if name != "id" and isinstance(value, str))
        return shortened(self.text(hit) or " ".join(strings), length)


def shortened(text: str, length: int) -> str:
    """Return a text on one line, cut to a length."""
    return cut(" ".join(text.split()), length)


def cut(text: str, length: int) -> str:
    """Return a text that, if it is longer, is cut to a length."""
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def _entries(ranks: Ranks, row: int) -> list[Entry]:
    """Return the items of one list with their scores."""
    items = ranks.items[row]
    items = items[items != PAD].tolist()
    scores = [None] * len(items) if ranks.scores is None else ranks.scores[row, : len(items)].tolist()
    return list(zip(items, scores, strict=True))
