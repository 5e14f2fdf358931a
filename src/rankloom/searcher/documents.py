"""Documents: what `Searcher.build` accepts, and how they are stored."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any, overload
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from rankloom.datasets import Collection, open_collection
from rankloom.datasets.images import ImageFile
from rankloom.datasets.table import is_table, read_table
from rankloom.errors import IndexFileError, InputError, brief, is_function
from rankloom.io.npz import pack_ids, unpack_ids
from rankloom.io.text_file import MAX_DIGITS
from rankloom.ranks import Ids
from rankloom.searcher.lru import LRUCache

#: The fields of an item by name; "id" is a string.
Document = dict[str, Any]
#: Which documents to return: the value, or one of the values, that a field must have; or a function of the document.
Where = Mapping[str, Any] | Callable[[Document], bool]
TEXT_FIELDS = ("title", "text")  # joined, they are what text rankers see
IMAGE_FIELD = "image"
MAX_INTEGER = 10**MAX_DIGITS - 1
MAX_COLUMNS, MAX_MASKS = 16, 64  # fields, and values of fields, that filters keep in memory


class Documents(Sequence[Document]):
    """Documents as JSON in one array of bytes, read by offset.

    Examples
    --------
    >>> pets = Documents.of([{"id": "a", "text": "a cat"}, {"id": "b", "text": "a dog"}])
    >>> pets[1]["text"], len(pets), pets.ids.number("b")
    ('a dog', 2, 1)
    """

    def __init__(self, ids: Ids, blob: NDArray[np.uint8], ptr: NDArray[np.int64]) -> None:
        self.ids = ids
        self._blob = blob
        self._ptr = ptr
        self._columns: LRUCache[list[Any]] = LRUCache(MAX_COLUMNS)
        self._masks: LRUCache[NDArray[np.bool_]] = LRUCache(MAX_MASKS)

    @classmethod
    def of(cls, documents: Iterable[Document]) -> Documents:
        """Return the documents, whose fields must be plain data, with ids."""
        known = list(documents)
        encoded = [json.dumps(one, ensure_ascii=False).encode("utf-8", "surrogatepass") for one in known]
        ptr = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(one) for one in encoded], out=ptr[1:])
        return cls(Ids(one["id"] for one in known), np.frombuffer(b"".join(encoded), np.uint8), ptr)

    @overload
    def __getitem__(self, number: int) -> Document: ...

    @overload
    def __getitem__(self, number: slice) -> list[Document]: ...

    def __getitem__(self, number: int | slice) -> Document | list[Document]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(number)
        start, stop = self._ptr[number % len(self)], self._ptr[number % len(self) + 1]
        return _parsed(number, self._blob[start:stop].tobytes())

    def __len__(self) -> int:
        return len(self.ids)

    def __reduce__(self) -> tuple[Any, ...]:  # also of the hits that refer to them
        raise InputError(
            "The documents of a searcher cannot be pickled or copied; of a hit, take its id, score and document."
        )

    def appended(self, more: Documents) -> Documents:
        """Return these documents, followed by others."""
        ids = Ids([*self.ids, *more.ids])
        return Documents(
            ids, np.concatenate([self._blob, more._blob]), np.concatenate([self._ptr[:-1], more._ptr + self._ptr[-1]])
        )

    def subset(self, numbers: NDArray[np.intp]) -> Documents:
        """Return only these documents, in this order."""
        pieces = [self._blob[self._ptr[number] : self._ptr[number + 1]] for number in numbers.tolist()]
        ptr = np.zeros(len(pieces) + 1, np.int64)
        np.cumsum([len(piece) for piece in pieces], out=ptr[1:])
        blob = np.concatenate([np.empty(0, np.uint8), *pieces])
        return Documents(Ids(self.ids[number] for number in numbers.tolist()), blob, ptr)

    def mask(self, where: Where) -> NDArray[np.bool_]:
        """Return which documents satisfy a condition.

        Examples
        --------
        >>> pets = Documents.of([{"id": "a", "legs": 4}, {"id": "b", "legs": 2}, {"id": "c"}])
        >>> pets.mask({"legs": [2, 4]}).tolist(), pets.mask(lambda pet: "legs" not in pet).tolist()
        ([True, True, False], [False, False, True])
        """
        if is_function(where):
            return np.fromiter((bool(where(one)) for one in self), np.bool_, len(self))
        if not isinstance(where, Mapping):
            raise InputError(f"where must be {{field: value}} or a function of a document; got {type(where).__name__}.")
        mask = np.ones(len(self), np.bool_)
        for field, wanted in where.items():
            mask &= self._mask(field, wanted)
        return mask

    def _mask(self, field: str, wanted: Any) -> NDArray[np.bool_]:
        """Return which documents have a value in a field; plain values are remembered."""
        several = wanted if isinstance(wanted, list | tuple) else [wanted]
        if not all(isinstance(one, str | int | float | None) for one in several):
            return _matches(self.column(field), wanted)
        key = (field, tuple((type(one), one) for one in several))
        return self._masks.get(key, lambda: _matches(self.column(field), wanted))

    def column(self, field: str) -> list[Any]:
        """Return a field of all documents, None where it is absent; raise InputError if none has it."""
        return self._columns.get(field, lambda: self._column(field))

    def _column(self, field: str) -> list[Any]:
        values = [one.get(field) for one in self]
        if all(value is None for value in values) and not any(field in one for one in self):
            raise InputError(f"No document has a field {field!r}; the first one has {', '.join(self[0])}.")
        return values

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that `restored` makes the documents from."""
        ids, id_ptr = pack_ids(self.ids)
        return {"documents": self._blob, "document_ptr": self._ptr, "id_bytes": ids, "id_ptr": id_ptr}

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]]) -> Documents:
        """Return the documents that `arrays` were made from."""
        ids = unpack_ids(arrays["id_bytes"], arrays["id_ptr"])
        ptr, blob = arrays["document_ptr"], arrays["documents"]
        if (blob.dtype.str[1:], ptr.dtype.str[1:]) != ("u1", "i8") or (blob.ndim, ptr.ndim) != (1, 1):
            raise InputError(f"Documents must be bytes with 64-bit offsets; got {blob.dtype} and {ptr.dtype}.")
        if len(ptr) != len(ids) + 1 or ptr[0] != 0 or ptr[-1] != len(blob) or (np.diff(ptr) < 0).any():
            raise InputError("The offsets of the documents do not match their ids.")
        return cls(ids, blob, ptr)


def _parsed(number: int, stored: bytes) -> Document:
    with suppress(ValueError, RecursionError):
        document = json.loads(stored.decode("utf-8", "surrogatepass"))
        if isinstance(document, dict):
            return document
    raise IndexFileError(f"The stored document {number} is damaged: it is not a JSON object; build the searcher again.")


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Documents to index, and their content by part, as rankers take it.

    Attributes
    ----------
    name : str
    rows : list of mappings
        The documents as given, with images and vectors.
    documents : list of Document
        The same as plain data, each with an "id".
    fields : tuple of str
        The fields that make up the part ``texts``.
    parts : mapping
        Parts of a collection, which need not be in the documents.
    """

    name: str
    rows: list[Mapping[str, Any]]
    documents: list[Document]
    fields: tuple[str, ...]
    parts: Mapping[str, Any]

    def kinds(self) -> set[str]:
        """Return which of texts and images the documents have."""
        found = {part for part in ("texts", "images") if part in self.parts}
        if any(isinstance(one.get(field), str) for one in self.documents for field in self.fields):
            found.add("texts")
        if self.rows and all(row.get(IMAGE_FIELD) is not None for row in self.rows):
            found.add("images")
        return found

    def collection(self, wanted: Iterable[str]) -> Collection:
        """Return the documents as a collection with the parts that rankers want, as far as there are any."""
        parts = {name: self._part(name) for name in wanted if name != "ids" and self._has(name)}
        return Collection(self.name, Ids(one["id"] for one in self.documents), {**self.parts, **parts})

    def stored(self, wanted: Iterable[str]) -> list[Document]:
        """Return the documents without the vectors that rankers have."""
        dropped = set(wanted) - {"texts", "images", "ids"}
        return [{name: value for name, value in one.items() if name not in dropped} for one in self.documents]

    def without(self, numbers: Iterable[int]) -> Batch:
        """Return the batch without some documents."""
        dropped = set(numbers)
        kept = [number for number in range(len(self.documents)) if number not in dropped]
        rows, documents = [self.rows[number] for number in kept], [self.documents[number] for number in kept]
        parts = {name: [part[number] for number in kept] for name, part in self.parts.items()}
        return Batch(self.name, rows, documents, self.fields, parts)

    def _has(self, part: str) -> bool:
        if part in self.parts:
            return True
        return part in self.kinds() if part in ("texts", "images") else any(part in row for row in self.rows)

    def _part(self, part: str) -> Any:
        if part in self.parts:
            return self.parts[part]
        if part == "texts":
            return [text_of(one, self.fields) for one in self.documents]
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
    fields: Sequence[str] = TEXT_FIELDS,
    next_number: int = 0,
    taken: Iterable[str] = (),
    encoding: str | None = None,
) -> Batch:
    """Return the documents of anything that `Searcher.build` accepts, ready to rank.

    Parameters
    ----------
    documents : list of str, list of mappings, data frame, Collection, path or name of a collection
    fields : sequence of str
        The fields of mappings that make up their text.
    next_number : int
        The id of the first document without one; the following ones continue from it.
    taken : iterable of str
        Ids that documents without one must not get.
    encoding : str, optional
        Of a table or the texts of a folder; UTF-8 by default.
    """
    options = {} if encoding is None else {"encoding": encoding}
    if isinstance(documents, str | Path) and is_table(str(documents)):
        table = read_table(str(documents), **options)
        places = [f"{documents}:{line}" for line, _ in table]
        return _of_rows([row for _, row in table], places, fields, next_number or 1, taken)  # from 1, as in `table`
    if isinstance(documents, str | Path):
        documents = open_collection(str(documents), **options)
    elif options:
        raise InputError("encoding is of files; leave it out.")
    if isinstance(documents, Collection):
        return _of_collection(documents)
    rows = _rows(documents)
    return _of_rows(rows, [f"document {number}" for number in range(len(rows))], fields, next_number, taken)


def _of_rows(
    rows: list[Mapping[str, Any]], places: Sequence[str], fields: Sequence[str], next_number: int, taken: Iterable[str]
) -> Batch:
    """Return documents from mappings; `places` tell each one in errors."""
    given = [_id(row.get("id"), place) for place, row in zip(places, rows, strict=True)]
    first: dict[str, str] = {}
    for one, place in zip(given, places, strict=True):
        if one is not None and first.setdefault(one, place) != place:
            raise InputError(f"Ids must be unique; {one!r} is given twice: {first[one]} and {place}.")
    used = {*taken, *(one for one in given if one is not None)}
    numbers = (str(number) for number in count(next_number) if str(number) not in used)
    ids = Ids(next(numbers) if one is None else one for one in given)  # must be unique
    known: list[Document] = [
        {"id": ids[number], **_plain({name: row[name] for name in row if name != "id"}, places[number])}
        for number, row in enumerate(rows)
    ]
    batch = Batch("documents", rows, known, tuple(fields), {})
    if len(rows) and not batch.kinds() and not any(_is_vector(value) for value in rows[0].values()):
        raise InputError(
            f"The documents have no text: none has a field {' or '.join(map(repr, fields))}, but the first one has "
            f"{', '.join(batch.documents[0])}. Name the fields that are text, as in text=['name'] or --text name."
        )
    return batch


def _rows(documents: Any) -> list[Mapping[str, Any]]:
    """Return mappings from texts, mappings or a data frame."""
    if hasattr(documents, "to_dicts"):  # polars
        return list(documents.to_dicts())
    if hasattr(documents, "to_dict") and hasattr(documents, "columns"):  # pandas
        return list(documents.to_dict("records"))
    if isinstance(documents, Mapping) or not isinstance(documents, Iterable):
        raise InputError(
            f"documents must be a list of texts or mappings, a data frame, a collection or a path; got "
            f"{type(documents).__name__}."
        )
    rows = list(documents)
    odd = next((n for n, row in enumerate(rows) if not isinstance(row, str | Mapping)), None)
    if odd is not None:
        raise InputError(f"documents must be texts or mappings; number {odd} is of type {type(rows[odd]).__name__}.")
    return [{"text": row} if isinstance(row, str) else row for row in rows]


def _plain(row: Mapping[str, Any], place: str) -> Document:
    """Return the fields of a document that are stored as JSON: not images and vectors in memory."""
    fields: Document = {}
    for name, value in row.items():
        if not isinstance(name, str):
            raise InputError(f"The fields of a document must be named by strings; {place} has {brief(name)}.")
        stored = _stored(value)
        if stored is UNSTORABLE:
            kind = f"of type {type(value).__name__}"
            kind = f"a whole number of more than {MAX_DIGITS} digits" if isinstance(value, int) else kind
            raise InputError(f"The field {name!r} of {place} is {kind}, which cannot be stored.")
        if stored is not IN_MEMORY:
            fields[name] = stored
    return fields


IN_MEMORY, UNSTORABLE = object(), object()  # content for rankers, and what is neither content nor plain data


def _stored(value: Any) -> Any:
    try:
        return _json(value)
    except RecursionError:  # nested thousands of levels deep, or within itself
        return UNSTORABLE


def _json(value: Any) -> Any:
    """Return a value as JSON stores it; `IN_MEMORY` for images and vectors, `UNSTORABLE` for what JSON cannot hold."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # half a character is none
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= MAX_INTEGER else UNSTORABLE
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else None  # the missing values of data frames
    if isinstance(value, ImageFile):
        return str(value.path) if value.box is None else IN_MEMORY  # a block of a sheet has no file of its own
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple | set | frozenset):
        return _all_or_none([_json(one) for one in value])
    if isinstance(value, Mapping):
        inner = [_json(one) for one in value.values()]
        return dict(zip(map(str, value), inner, strict=True)) if _all_or_none(inner) is inner else UNSTORABLE
    if hasattr(value, "isoformat"):
        return None if value != value else str(value)  # dates; NaT differs from itself
    return IN_MEMORY if isinstance(value, np.ndarray | bytes) or hasattr(value, "__array__") else UNSTORABLE


def _all_or_none(values: list[Any]) -> Any:
    return UNSTORABLE if any(one is UNSTORABLE or one is IN_MEMORY for one in values) else values


def _id(given: Any, place: str) -> str | None:
    if given is None:
        return None
    known = isinstance(given, str | int | np.integer | UUID) and not isinstance(given, bool)
    text = str(given) if known and not (isinstance(given, int) and abs(given) > MAX_INTEGER) else ""
    if not text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError(f"The id of a document must be a string or a whole number; {place} has {brief(given)}.")
    return text


def _is_vector(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in "iuf"
    return isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(one, float | int) for one in value)


def _matrix(name: str, values: list[Any]) -> NDArray[Any]:
    odd = next((n for n, one in enumerate(values) if not _is_vector(one) or len(one) != len(values[0])), None)
    if odd is not None:
        raise InputError(
            f"The field {name!r} must be a vector of one length in every document; document {odd} has "
            f"{str(values[odd])[:80]}."
        )
    return np.array(values)


def _of_collection(collection: Collection) -> Batch:
    documents: list[Document] = [{"id": one} for one in collection.ids]
    for number, one in enumerate(documents):
        for part, name in (("names", "name"), ("texts", "text"), ("images", IMAGE_FIELD)):
            value = _json(collection.parts[part][number]) if part in collection.parts else IN_MEMORY
            if value not in (IN_MEMORY, UNSTORABLE):
                one[name] = value
        if collection.labels is not None:
            one["label"] = collection.labels[number]
    return Batch(collection.name, [{} for _ in documents], documents, ("text",), dict(collection.parts))


def _matches(values: list[Any], wanted: Any) -> NDArray[np.bool_]:
    """Return which values are one of those wanted, or have one of them in a list."""
    several = list(wanted) if isinstance(wanted, Iterable) and not isinstance(wanted, str | Mapping) else [wanted]

    def is_wanted(value: Any) -> bool:
        held = value if isinstance(value, list) else [value]
        return any(_equal(one, two) for one in held for two in several)

    return np.fromiter(map(is_wanted, values), np.bool_, len(values))


def _equal(one: Any, other: Any) -> bool:
    """Return True for equal values; True is not 1."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
