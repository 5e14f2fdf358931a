"""What `Searcher.build` and `add` accept: texts, mappings, data frames, collections and files, as one batch."""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from rankloom.datasets import Collection, open_collection
from rankloom.datasets.folder import single_file
from rankloom.datasets.images import ImageFile
from rankloom.datasets.table import column_named, is_json, is_table, read_table
from rankloom.errors import InputError, UnknownNameError, brief, hint, is_iterable
from rankloom.io.text_file import MAX_DIGITS
from rankloom.rankers.text.terms import contents_of
from rankloom.ranks import Ids
from rankloom.ranks.arrays import Array
from rankloom.searcher.field_types import Types, of_python, typed_rows
from rankloom.searcher.store import Document

TEXT_FIELDS = ("title", "text")  # joined, they are what text rankers see
IMAGE_FIELD = "image"
MAX_INTEGER = 10**MAX_DIGITS - 1
Row = Mapping[str, Any]  #: a document as given


@dataclass(frozen=True, eq=False)
class Batch:
    """Documents to index, and their content by part, as rankers take it."""

    name: str
    ids: Ids
    rows: list[Row]  #: the documents as given, with images and vectors
    documents: list[Document]  #: the same as plain data, each with an "id"
    text_fields: tuple[str, ...]  #: those that make up the part ``texts``
    parts: Mapping[str, Any]  #: of a collection, which need not be in the documents

    @cached_property
    def kinds(self) -> set[str]:
        """Which of texts and images the documents have."""
        found = {part for part in ("texts", "images") if part in self.parts}
        if any(isinstance(document.get(field), str) for document in self.documents for field in self.text_fields):
            found.add("texts")
        if self.rows and all(row.get(IMAGE_FIELD) is not None for row in self.rows):
            found.add("images")
        return found

    def check_text_fields(self) -> None:
        """Refuse a field of text that is in no document: its words would be missing without a word."""
        given = {str(name) for row in self.rows for name in row}
        for name in self.text_fields:
            if given and name not in given:
                raise UnknownNameError("field", name, given)

    def collection(self, wanted: Iterable[str]) -> Collection:
        """Return the documents as a collection with the parts that rankers want, as far as there are any."""
        parts = {name: contents_of(name, self._part(name)) for name in wanted if name != "ids" and self._has(name)}
        return Collection(self.name, self.ids, {**self.parts, **parts})

    def stored(self, wanted: Iterable[str]) -> list[Document]:
        """Return the documents to keep: without the vectors that rankers have."""
        dropped = set(wanted) - {"texts", "images", "ids"}
        return [{name: value for name, value in document.items() if name not in dropped} for document in self.documents]

    def _has(self, part: str) -> bool:
        if part in self.parts:
            return True
        return part in self.kinds if part in ("texts", "images") else any(part in row for row in self.rows)

    def _part(self, part: str) -> Any:
        if part in self.parts:
            return self.parts[part]
        if part == "texts":
            return [text_of(document, self.text_fields) for document in self.documents]
        if part == "images":
            return [row[IMAGE_FIELD] for row in self.rows]
        return _matrix(part, [row.get(part) for row in self.rows])


def text_of(document: Document, fields: Sequence[str]) -> str:
    """Return the text that rankers see: the text fields of a document, one per line.

    Examples
    --------
    >>> text_of({"id": "7", "title": "Slabs", "text": "Heat in slabs."}, TEXT_FIELDS)
    'Slabs\\nHeat in slabs.'
    """
    return "\n".join(document[field] for field in fields if isinstance(document.get(field), str) and document[field])


def batch_of(
    documents: Any,
    text_fields: Sequence[str] = TEXT_FIELDS,
    next_number: int = 0,
    used: Iterable[str] = (),
    encoding: str | None = None,
    types: Types | None = None,
    id_field: str = "id",
    folder: str | None = None,
) -> Batch:
    """Return anything that `Searcher.build` accepts as a batch.

    Documents without an id get numbers from `next_number` on, except for ids that are `used`. In files without types,
    fields get these `types` where they are known. A single file may be added to those of a folder of this name.
    """
    options = {} if encoding is None else {"encoding": encoding}
    if isinstance(documents, str | Path) and is_table(str(documents)):
        table = read_table(str(documents), **options)
        places = [f"{documents}:{line}" for line, _ in table]
        rows = [row for _, row in table]
        if not is_json(str(documents)):
            kept = {column_named(field, rows[0] if rows else {}) for field in (id_field, *text_fields)}
            rows = list(typed_rows(rows, places, types or {}, kept))
        return _of_rows(rows, places, text_fields, next_number or 1, used, id_field)  # from 1, as in `table`
    if isinstance(documents, str | Path):
        single = None if folder is None else single_file(documents, folder, **options)
        documents = single or open_collection(str(documents), **options)
    elif options:
        raise InputError("encoding is for files; leave it out.")
    if isinstance(documents, Collection):
        return _of_collection(documents)
    rows = _rows(documents)
    places = [f"document {number}" for number in range(len(rows))]
    return _of_rows(rows, places, text_fields, next_number, used, id_field)


def _of_rows(
    rows: list[Row],
    places: Sequence[str],
    text_fields: Sequence[str],
    next_number: int,
    used: Iterable[str],
    id_field: str,
) -> Batch:
    """Return documents from mappings; `places` say in errors where each one is from."""
    columns = rows[0] if rows else {}
    text_fields = [column_named(field, columns) for field in text_fields]
    rows = _with_ids(rows, column_named(id_field, columns), places)
    given = [_id(row.get("id"), place) for place, row in zip(places, rows, strict=True)]
    first: dict[str, str] = {}
    for id, place in zip(given, places, strict=True):
        if id is not None and first.setdefault(id, place) != place:
            raise InputError(f"Ids must be unique; {id!r} is given twice: {first[id]} and {place}.")
    taken = {*used, *first}
    numbers = (str(number) for number in count(next_number) if str(number) not in taken)
    ids = Ids(next(numbers) if id is None else id for id in given)
    known: list[Document] = [
        {"id": id, **_plain({name: row[name] for name in row if name != "id"}, place)}
        for id, row, place in zip(ids, rows, places, strict=True)
    ]
    batch = Batch("documents", ids, rows, known, tuple(text_fields), {})
    if len(rows) and not batch.kinds and not any(_is_vector(value) for value in rows[0].values()):
        near = next((found for field in text_fields if (found := hint(field, map(str, rows[0])))), "")
        raise InputError(
            f"The documents have no text: none has a field {' or '.join(map(repr, text_fields))}, but the first one "
            f"has {', '.join(rows[0])}. Build a searcher with the fields that are text, as in text=['name'] or "
            f"'rankloom build --text name'.{near}"
        )
    return batch


def _with_ids(rows: list[Row], field: str, places: Sequence[str]) -> list[Row]:
    """Return documents whose id is in a field of another name."""
    if field == "id":
        return rows
    both = next((place for place, row in zip(places, rows, strict=True) if field in row and "id" in row), None)
    if both is not None:
        raise InputError(f"{both} has both {field!r} and 'id'; rename one, or leave out the id field.")
    if rows and not any(field in row or "id" in row for row in rows):
        raise UnknownNameError("field of ids", field, map(str, rows[0]))
    return [{("id" if name == field else name): value for name, value in row.items()} for row in rows]


def _rows(documents: Any) -> list[Row]:
    """Return mappings from texts, mappings or a data frame."""
    if hasattr(documents, "to_dicts"):  # polars
        return list(documents.to_dicts())
    if hasattr(documents, "to_dict") and hasattr(documents, "columns"):  # pandas
        return list(documents.to_dict("records"))
    if isinstance(documents, Mapping) or not is_iterable(documents):
        raise InputError(
            f"documents must be a list of texts or mappings, a data frame, a collection or a path; got "
            f"{type(documents).__name__}."
        )
    rows = list(documents)
    odd = next((n for n, row in enumerate(rows) if not isinstance(row, str | Mapping)), None)
    if odd is not None:
        raise InputError(f"documents must be texts or mappings; number {odd} is of type {type(rows[odd]).__name__}.")
    return [{"text": row} if isinstance(row, str) else row for row in rows]


def _plain(row: Row, place: str) -> Document:
    """Return the fields of a document that are stored as JSON: not images and vectors in memory."""
    fields: Document = {}
    for name, value in row.items():
        if not isinstance(name, str):
            raise InputError(f"The fields of a document must be named by strings; {place} has {brief(name)}.")
        try:
            stored = _json(value)
        except (InputError, RecursionError) as error:  # nested hundreds of levels deep, or within itself
            reason = error if isinstance(error, InputError) else "it is nested too deeply"
            raise InputError(f"The field {name!r} of {place} cannot be stored: {reason}.") from None
        if stored is not IN_MEMORY:
            fields[name] = stored
    return fields


IN_MEMORY = object()  # content for rankers


def _json(value: object) -> object:
    """Return a value as JSON stores it, `IN_MEMORY` for images and vectors; raise InputError if JSON cannot hold it."""
    value = of_python(value)
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # replaces lone surrogates
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise InputError(f"it is a whole number of more than {MAX_DIGITS} digits")
        return int(value)  # of an enumeration, too
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else None  # the missing values of data frames
    if isinstance(value, ImageFile):
        return str(value.path) if value.box is None else IN_MEMORY  # a block of a sheet has no file of its own
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)  # the order of a set of strings differs from process to process
    if isinstance(value, list | tuple):
        return [_inner(element) for element in value]
    if isinstance(value, Mapping):
        inner = {str(_json(str(name))): _inner(element) for name, element in value.items()}
        if len(inner) < len(value):
            raise InputError("two of its keys are the same text")
        return inner
    if hasattr(value, "isoformat"):
        return None if value != value else str(value)  # dates; NaT differs from itself
    if isinstance(value, np.ndarray | bytes) or hasattr(value, "__array__"):
        return IN_MEMORY
    raise InputError(f"it is of type {type(value).__name__}")


def _inner(value: object) -> object:
    stored = _json(value)
    if stored is IN_MEMORY:
        raise InputError(f"it has a value of type {type(value).__name__}")
    return stored


def _content(value: object) -> object:
    with suppress(InputError):
        return _json(value)
    return IN_MEMORY


def _id(given: object, place: str) -> str | None:
    if given is None:
        return None
    known = isinstance(given, str | int | np.integer | UUID) and not isinstance(given, bool)
    text = str(given) if known and not (isinstance(given, int) and abs(given) > MAX_INTEGER) else ""
    if not text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError(f"The id of a document must be a string or a whole number; {place} has {brief(given)}.")
    return text


def _is_vector(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in "iuf"
    return isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(entry, float | int) for entry in value)


def _matrix(name: str, values: list[Any]) -> Array:
    odd = next((n for n, row in enumerate(values) if not _is_vector(row) or len(row) != len(values[0])), None)
    if odd is not None:
        raise InputError(
            f"The field {name!r} must be a vector of one length in every document; document {odd} has "
            f"{str(values[odd])[:80]}."
        )
    return np.array(values)


def _of_collection(collection: Collection) -> Batch:
    documents: list[Document] = [{"id": id} for id in collection.ids]
    for number, document in enumerate(documents):
        for part, name in (("names", "name"), ("texts", "text"), ("images", IMAGE_FIELD)):
            if part in collection.parts and (value := _content(collection.parts[part][number])) is not IN_MEMORY:
                document[name] = value
        if collection.labels is not None:
            document["label"] = collection.labels[number]
    return Batch(collection.name, collection.ids, [{} for _ in documents], documents, ("text",), dict(collection.parts))
