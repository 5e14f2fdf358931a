"""Documents: what `Searcher.build` accepts, and how they are stored."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from rankloom.datasets import Collection, open_collection
from rankloom.datasets.images import ImageFile
from rankloom.datasets.table import is_table, read_table
from rankloom.errors import InputError
from rankloom.io.npz import pack_ids, unpack_ids
from rankloom.ranks import Ids
from rankloom.searcher.lru import LRUCache

#: The fields of an item by name; "id" is a string.
Document = dict[str, Any]
#: Which documents to return: the value, or one of the values, that a field must have; or a function of the document.
Where = Mapping[str, Any] | Callable[[Document], bool]
TEXT_FIELDS = ("title", "text")  # joined, they are what text rankers see
IMAGE_FIELD = "image"
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
        document: Document = json.loads(self._blob[start:stop].tobytes().decode("utf-8", "surrogatepass"))
        return document

    def __len__(self) -> int:
        return len(self.ids)

    def extended(self, more: Documents) -> Documents:
        """Return these documents, followed by others."""
        ids = Ids([*self.ids, *more.ids])
        return Documents(
            ids, np.concatenate([self._blob, more._blob]), np.concatenate([self._ptr[:-1], more._ptr + self._ptr[-1]])
        )

    def taken(self, numbers: NDArray[np.intp]) -> Documents:
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
        if callable(where):
            return np.fromiter((bool(where(one)) for one in self), np.bool_, len(self))
        if not isinstance(where, Mapping):
            raise InputError(f"where must be {{field: value}} or a function of a document; got {type(where).__name__}.")
        mask = np.ones(len(self), np.bool_)
        for field, wanted in where.items():
            key = (field, repr(wanted))
            mask &= self._masks.get(key, lambda field=field, wanted=wanted: _matches(self.column(field), wanted))  # type: ignore[misc]
        return mask

    def column(self, field: str) -> list[Any]:
        """Return a field of all documents, None where it is absent; raise InputError if none has it."""
        return self._columns.get(field, lambda: self._column(field))

    def _column(self, field: str) -> list[Any]:
        values = [one.get(field) for one in self]
        if len(self) and field not in self[0] and all(value is None for value in values):
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
        ptr = arrays["document_ptr"]
        if len(ptr) != len(ids) + 1 or ptr[0] != 0 or ptr[-1] != len(arrays["documents"]) or (np.diff(ptr) < 0).any():
            raise InputError("The offsets of the documents do not match their ids.")
        return cls(ids, arrays["documents"], ptr)


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Documents to index: their stored form, and their content by part, as rankers take it.

    Attributes
    ----------
    name : str
    documents : list of Document
        Plain data, each with an "id".
    fields : tuple of str
        The fields that make up the part ``texts``.
    parts : mapping
        Content that is not in the documents, such as images in memory.
    """

    name: str
    documents: list[Document]
    fields: tuple[str, ...]
    parts: Mapping[str, Any]

    def collection(self) -> Collection:
        """Return the documents as a collection for rankers."""
        parts = {**self.parts, **({"texts": self._texts()} if "texts" not in self.parts and self._has_text() else {})}
        return Collection(self.name, Ids(one["id"] for one in self.documents), parts)

    def without(self, numbers: Iterable[int]) -> Batch:
        """Return the batch without some documents."""
        dropped = set(numbers)
        kept = [number for number in range(len(self.documents)) if number not in dropped]
        parts = {name: [part[number] for number in kept] for name, part in self.parts.items()}
        return Batch(self.name, [self.documents[number] for number in kept], self.fields, parts)

    def _has_text(self) -> bool:
        return any(isinstance(one.get(field), str) for one in self.documents for field in self.fields)

    def _texts(self) -> list[str]:
        return [text_of(one, self.fields) for one in self.documents]


def text_of(document: Document, fields: Sequence[str]) -> str:
    """Return the text that rankers see: the text fields of a document, one per line.

    Examples
    --------
    >>> text_of({"id": "7", "title": "Slabs", "text": "Heat in slabs."}, TEXT_FIELDS)
    'Slabs\\nHeat in slabs.'
    """
    return "\n".join(document[field] for field in fields if isinstance(document.get(field), str) and document[field])


def batch_of(documents: Any, fields: Sequence[str] = TEXT_FIELDS, next_number: int = 0) -> Batch:
    """Return the documents of anything that `Searcher.build` accepts, ready to rank.

    Parameters
    ----------
    documents : list of str, list of mappings, data frame, Collection, path or name of a collection
    fields : sequence of str
        The fields of mappings that make up their text.
    next_number : int
        The id of the first document without one; the following ones continue from it.
    """
    if isinstance(documents, str | Path) and is_table(str(documents)):
        return batch_of([row for _, row in read_table(str(documents))], fields, next_number)
    if isinstance(documents, str | Path):
        documents = open_collection(str(documents))
    if isinstance(documents, Collection):
        return _of_collection(documents, tuple(fields))
    rows = _rows(documents)
    parts = _parts(rows)
    known = [_plain(row, number, parts) for number, row in enumerate(rows)]
    for number, one in enumerate(known):
        one["id"] = _id(one.get("id"), number, next_number)
    Ids(one["id"] for one in known)  # must be unique
    batch = Batch("documents", [{"id": one.pop("id"), **one} for one in known], tuple(fields), parts)
    if len(rows) and not batch.parts and not batch._has_text():
        raise InputError(
            f"The documents have no text: none has a field {' or '.join(map(repr, fields))}, but the first one has "
            f"{', '.join(batch.documents[0])}. Name the fields with text=[...]."
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


def _plain(row: Mapping[str, Any], number: int, parts: Mapping[str, Any]) -> Document:
    """Return the fields of a document that are stored as JSON: not its vectors, nor images in memory."""
    fields: Document = {}
    for name, value in row.items():
        if not isinstance(name, str):
            raise InputError(f"The fields of a document must be named by strings; document {number} has {name!r}.")
        stored = _json(value)
        if stored is not _NOT_PLAIN and name not in parts:
            fields[name] = stored
    return fields


_NOT_PLAIN = object()


def _json(value: Any) -> Any:
    """Return a value as JSON stores it; `_NOT_PLAIN` if it cannot."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None  # the missing values of data frames
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, ImageFile):
        return str(value.path) if value.box is None else _NOT_PLAIN  # a block of a sheet has no file of its own
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        items = [_json(one) for one in value]
        return _NOT_PLAIN if any(one is _NOT_PLAIN for one in items) else items
    if isinstance(value, Mapping):
        inner = {str(name): _json(one) for name, one in value.items()}
        return {name: one for name, one in inner.items() if one is not _NOT_PLAIN}
    return str(value) if hasattr(value, "isoformat") else _NOT_PLAIN  # dates


def _id(given: Any, number: int, next_number: int) -> str:
    if given is None:
        return str(next_number + number)
    if isinstance(given, bool) or not isinstance(given, str | int) or given == "":
        raise InputError(f"The id of a document must be a string or a whole number; document {number} has {given!r}.")
    return str(given)


def _parts(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the content other than text: images, and fields that are vectors, where every document has them."""
    parts: dict[str, Any] = {}
    if not rows:
        return parts
    for name, value in rows[0].items():
        if name == IMAGE_FIELD and all(row.get(name) is not None for row in rows):
            parts["images"] = [row[name] for row in rows]
        elif _is_vector(value):
            parts[name] = _matrix(name, [row.get(name) for row in rows])
    return parts


def _is_vector(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in "iuf"
    return isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(one, float) for one in value)


def _matrix(name: str, values: list[Any]) -> NDArray[Any]:
    odd = next((n for n, one in enumerate(values) if one is None or len(one) != len(values[0])), None)
    if odd is not None:
        got = "none" if values[odd] is None else f"{len(values[odd])} numbers"
        raise InputError(f"The field {name!r} has {len(values[0])} numbers in document 0, but {got} in document {odd}.")
    return np.array(values)


def _of_collection(collection: Collection, fields: tuple[str, ...]) -> Batch:
    documents: list[Document] = [{"id": one} for one in collection.ids]
    for number, one in enumerate(documents):
        for part, name in (("names", "name"), ("texts", "text"), ("images", IMAGE_FIELD)):
            value = _json(collection.parts[part][number]) if part in collection.parts else _NOT_PLAIN
            if value is not _NOT_PLAIN:
                one[name] = value
        if collection.labels is not None:
            one["label"] = collection.labels[number]
    return Batch(collection.name, documents, fields, dict(collection.parts))


def _matches(values: list[Any], wanted: Any) -> NDArray[np.bool_]:
    several = wanted if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
    return np.fromiter((any(value == one for one in several) for value in values), np.bool_, len(values))
