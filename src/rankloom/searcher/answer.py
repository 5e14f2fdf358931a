"""Answers: the hits of a query, where each ranker lists them, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, overload

from rankloom.errors import InputError, needs_extra
from rankloom.fusion_graph import Explanation
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.html_table import html_table
from rankloom.searcher.answering import FusedAnswers
from rankloom.searcher.batch import text_of
from rankloom.searcher.state import State
from rankloom.searcher.store import Document, Store, read_document

if TYPE_CHECKING:
    import pandas

MAX_SNIPPET = 120  # characters of a document's text in a table
MAX_ID = 200  # characters of an id in a table
#: The number of an item, and its score.
Entry = tuple[int, float | None]


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
        Its position in the answer, from 1, counting those that `offset` skips.
    ranks : {name of a ranker: int or None}
        Its position in each ranker's list; None if it is not listed.
    scores : {name of a ranker: float or None}
        Its score by each ranker; None if it is not listed, or the ranker gives no scores.
    number : int
        Its number in the index.
    """

    id: str
    score: float
    position: int
    ranks: Mapping[str, int | None]
    scores: Mapping[str, float | None]
    number: int
    _store: Store = field(repr=False)

    @property
    def document(self) -> Document:
        """The document with all its fields, read on access."""
        return read_document(self._store, self.id)


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
    """

    def __init__(
        self,
        query: str,
        method: str,
        answers: FusedAnswers,
        row: int,
        state: State,
        offset: int = 0,
        confidence: float | None = None,
    ) -> None:
        self.query = query
        self.method = method
        self.confidence = confidence
        self.entries = {name: _entries(ranks, row) for name, ranks in answers.lists.items()}
        self._ids = state.ids
        self._text_fields = state.settings.fields
        self._explain = partial(answers.explain, row)
        self._hits = self._made(_entries(answers.fused, row)[offset:], state, offset)

    def _made(self, fused: Sequence[Entry], state: State, offset: int) -> list[Hit]:
        scores = {name: dict(entries) for name, entries in self.entries.items()}
        positions = {name: {number: p for p, number in enumerate(known, 1)} for name, known in scores.items()}
        hits = []
        for position, (number, score) in enumerate(fused, offset + 1):
            listed = {name: known.get(number) for name, known in positions.items()}
            scored = {name: known.get(number) for name, known in scores.items()}
            hits.append(Hit(state.ids[number], score or 0.0, position, listed, scored, number, state.store))
        return hits

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
        return text_of(hit.document, self._text_fields)

    def snippet(self, hit: Hit, length: int = MAX_SNIPPET) -> str:
        """Return the first words of a document's text on one line: of the fields that text rankers see."""
        strings = (value for name, value in hit.document.items() if name != "id" and isinstance(value, str))
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
