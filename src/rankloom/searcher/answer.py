"""Answers: the hits of a query, where each ranker lists them, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from rankloom.errors import MissingExtraError
from rankloom.fusion_graph import Explanation
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.html_table import html_table
from rankloom.searcher.documents import TEXT_FIELDS, Document, Documents, text_of

if TYPE_CHECKING:
    import pandas

MAX_SNIPPET = 120  # characters of a document's text in a table


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
    """

    id: str
    score: float
    position: int
    ranks: Mapping[str, int | None]
    scores: Mapping[str, float | None]
    _documents: Documents = field(repr=False)
    _number: int = field(repr=False)

    @property
    def document(self) -> Document:
        """The document with all its fields, read on access."""
        return self._documents[self._number]


class Answer(Sequence[Hit]):
    """The hits of one query, best first.

    Attributes
    ----------
    query : str
        The text of the query, or a label if it is not text.
    method : str
        How the lists were fused, as spelled in the search.
    lists : {name of a ranker: list of Listed}
        What each ranker lists, best first.
    """

    def __init__(
        self,
        query: str,
        method: str,
        found: Ranks,
        lists: Mapping[str, Ranks],
        documents: Documents,
        explain: Callable[[int], Explanation],
        offset: int = 0,
        fields: Sequence[str] = TEXT_FIELDS,
    ) -> None:
        self.query = query
        self._text_fields = fields
        self.method = method
        self._lists = {name: _entries(ranks) for name, ranks in lists.items()}
        self._documents = documents
        self._explain = explain
        self._hits = self._made(found, offset)

    def _made(self, found: Ranks, offset: int) -> list[Hit]:
        positions = {
            name: {number: (position, score) for position, (number, score) in enumerate(entries, 1)}
            for name, entries in self._lists.items()
        }
        absent = (None, None)
        hits = []
        for position, (number, score) in enumerate(_entries(found)[offset:], offset + 1):
            ranks = {name: known.get(number, absent)[0] for name, known in positions.items()}
            scores = {name: known.get(number, absent)[1] for name, known in positions.items()}
            hits.append(
                Hit(self._documents.ids[number], score or 0.0, position, ranks, scores, self._documents, number)
            )
        return hits

    @property
    def lists(self) -> dict[str, list[Listed]]:
        """What each ranker lists, best first."""
        ids = self._documents.ids
        return {
            name: [Listed(ids[number], score) for number, score in entries] for name, entries in self._lists.items()
        }

    def explain(self, id: str) -> Explanation:
        """Explain the score of an item: parts that add up to it, largest first."""
        return self._explain(self._documents.ids.number(id, "item"))

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas frame with a row for each hit: its fields, score, and position by each ranker."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("to_frame()", "pandas", "frames") from None
        rows = [
            {**(own := {"position": hit.position, "id": hit.id, "score": hit.score, **hit.ranks}), **_fields(hit, own)}
            for hit in self
        ]
        columns = None if rows else ["position", "id", "score", *self._lists]
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
        names = list(self._lists)
        head = ["", "id", "score", *names, "document"]
        return html_table(head, [self._row(hit, names) for hit in self], "" if len(self) else "Nothing found.")

    def snippet(self, hit: Hit, length: int = MAX_SNIPPET) -> str:
        """Return the first words of a document's text on one line: of the fields that text rankers see."""
        text = " ".join((text_of(hit.document, self._text_fields) or _any_text(hit.document)).split())
        return text if len(text) <= length else text[: length - 1].rstrip() + "…"

    def _row(self, hit: Hit, names: Sequence[str]) -> list[str]:
        places = ("" if hit.ranks[name] is None else str(hit.ranks[name]) for name in names)
        return [str(hit.position), hit.id, f"{hit.score:.4f}", *places, self.snippet(hit)]


def _any_text(document: Document) -> str:
    return " ".join(value for name, value in document.items() if name != "id" and isinstance(value, str))


def _fields(hit: Hit, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a document that are not named like a column of the result."""
    return {name: value for name, value in hit.document.items() if name not in own}


def _entries(ranks: Ranks) -> list[tuple[int, float | None]]:
    """Return the items of one list with their scores."""
    items = ranks.items[0]
    items = items[items != PAD].tolist()
    scores = [None] * len(items) if ranks.scores is None else ranks.scores[0, : len(items)].tolist()
    return list(zip(items, scores, strict=True))
