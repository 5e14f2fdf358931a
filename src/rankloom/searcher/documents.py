"""Documents in this process: JSON in one array of bytes, and the filters over them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import IndexFileError, InputError, brief, check_type, is_function, is_iterable
from rankloom.io.npz import pack_ids, unpack_ids
from rankloom.ranks import Ids
from rankloom.ranks.arrays import Array
from rankloom.searcher.lru import LRUCache
from rankloom.searcher.store import Document, Mask, Where

MAX_COLUMNS, MAX_MASKS = 16, 64  # fields, and values of fields, that filters keep in memory


class Documents(Sequence[Document]):
    """Documents as JSON in one array of bytes, read by offset: the store of documents in this process.

    Examples
    --------
    >>> pets = Documents.of([{"id": "a", "text": "a cat"}, {"id": "b", "text": "a dog"}])
    >>> pets[1]["text"], len(pets), pets.documents(["b", "c"])
    ('a dog', 2, [{'id': 'b', 'text': 'a dog'}, None])
    """

    def __init__(self, ids: Ids, blob: NDArray[np.uint8], ptr: NDArray[np.int64]) -> None:
        self.ids = ids
        self._blob = blob
        self._ptr = ptr
        self._columns: LRUCache[list[object]] = LRUCache(MAX_COLUMNS)
        self._masks: LRUCache[Mask] = LRUCache(MAX_MASKS)

    @classmethod
    def of(cls, documents: Sequence[Document], ids: Ids | None = None) -> Documents:
        """Return the documents, whose fields must be plain data, with ids."""
        encoded = [json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass") for document in documents]
        ids = Ids(document["id"] for document in documents) if ids is None else ids
        return cls(ids, np.frombuffer(b"".join(encoded), np.uint8), _offsets(map(len, encoded)))

    @overload
    def __getitem__(self, number: int) -> Document: ...

    @overload
    def __getitem__(self, number: slice) -> list[Document]: ...

    def __getitem__(self, number: int | slice) -> Document | list[Document]:
        if isinstance(number, slice):
            return [self[at] for at in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(number)
        start, stop = self._ptr[number % len(self)], self._ptr[number % len(self) + 1]
        return _parsed(number, self._blob[start:stop].tobytes())

    def __len__(self) -> int:
        return len(self.ids)

    def __reduce__(self) -> tuple[object, ...]:  # also of the hits that refer to them
        raise InputError(
            "The documents of a searcher cannot be pickled or copied; of a hit, take its id, score and document."
        )

    def documents(self, ids: Collection[str]) -> list[Document | None]:
        """Return documents by id, None for one that is not there."""
        return [self[self.ids.number(id)] if id in self.ids else None for id in ids]

    def appended(self, more: Documents) -> Documents:
        """Return these documents, followed by others."""
        ids = Ids([*self.ids, *more.ids])
        return Documents(
            ids, np.concatenate([self._blob, more._blob]), np.concatenate([self._ptr[:-1], more._ptr + self._ptr[-1]])
        )

    def subset(self, numbers: NDArray[np.intp]) -> Documents:
        """Return only these documents, in this order."""
        pieces = [self._blob[self._ptr[number] : self._ptr[number + 1]] for number in numbers.tolist()]
        ids = Ids(self.ids[number] for number in numbers.tolist())
        return Documents(ids, np.concatenate([np.empty(0, np.uint8), *pieces]), _offsets(map(len, pieces)))

    def allowed(self, ids: Collection[str], where: Where) -> Mask:
        """Return which of some documents satisfy a condition."""
        mask = self.mask(where)
        if ids is self.ids:
            return mask
        return np.array([id in self.ids and mask[self.ids.number(id)] for id in ids], np.bool_)

    def mask(self, where: Where) -> Mask:
        """Return which documents satisfy a condition.

        Examples
        --------
        >>> pets = Documents.of([{"id": "a", "legs": 4}, {"id": "b", "legs": 2}, {"id": "c"}])
        >>> pets.mask({"legs": [2, 4]}).tolist(), pets.mask(lambda pet: "legs" not in pet).tolist()
        ([True, True, False], [False, False, True])
        """
        if is_function(where):
            return np.fromiter((_is_true(where(document)) for document in self), np.bool_, len(self))
        if not isinstance(where, Mapping):
            raise InputError(f"where must be {{field: value}} or a function of a document; got {type(where).__name__}.")
        mask = np.ones(len(self), np.bool_)
        for field, wanted in where.items():
            mask &= self._mask(field, wanted)
        return mask

    def _mask(self, field: str, wanted: object) -> Mask:
        """Return which documents have a value in a field; plain values are remembered."""
        check_type(str, **{"a field in where": field})
        values = wanted if isinstance(wanted, list | tuple) else [wanted]
        if not all(isinstance(value, str | int | float | None) for value in values):
            return _matches(self.column(field), wanted)
        key = (field, tuple((type(value), value) for value in values))
        return self._masks.get(key, lambda: _matches(self.column(field), wanted))

    def column(self, field: str) -> list[object]:
        """Return a field of all documents, None where it is absent; raise InputError if none has it."""
        return self._columns.get(field, lambda: self._column(field))

    def _column(self, field: str) -> list[object]:
        values = [document.get(field) for document in self]
        if all(value is None for value in values) and not any(field in document for document in self):
            raise InputError(f"No document has a field {field!r}; the first one has {', '.join(self[0])}.")
        return values

    def arrays(self) -> dict[str, Array]:
        """Return the arrays that `restored` makes the documents from."""
        ids, id_ptr = pack_ids(self.ids)
        return {"documents": self._blob, "document_ptr": self._ptr, "id_bytes": ids, "id_ptr": id_ptr}

    @classmethod
    def restored(cls, arrays: Mapping[str, Array]) -> Documents:
        """Return the documents that `arrays` were made from."""
        ids = unpack_ids(arrays["id_bytes"], arrays["id_ptr"])
        ptr, blob = arrays["document_ptr"], arrays["documents"]
        if (blob.dtype.str[1:], ptr.dtype.str[1:]) != ("u1", "i8") or (blob.ndim, ptr.ndim) != (1, 1):
            raise InputError(f"Documents must be bytes with 64-bit offsets; got {blob.dtype} and {ptr.dtype}.")
        if len(ptr) != len(ids) + 1 or ptr[0] != 0 or ptr[-1] != len(blob) or (np.diff(ptr) < 0).any():
            raise InputError("The offsets of the documents do not match their ids.")
        return cls(ids, blob, ptr)


class IdStore:
    """A store of documents that have an id and nothing else."""

    def documents(self, ids: Collection[str]) -> list[Document | None]:
        """Return the ids as documents."""
        return [{"id": id} for id in ids]

    def allowed(self, ids: Collection[str], where: Where) -> Mask:
        """Return which ids satisfy a condition."""
        return Documents.of([{"id": id} for id in ids]).mask(where)


def _parsed(number: int, stored: bytes) -> Document:
    with suppress(ValueError, RecursionError):
        document = json.loads(stored.decode("utf-8", "surrogatepass"))
        if isinstance(document, dict):
            return document
    raise IndexFileError(f"The stored document {number} is damaged: it is not a JSON object; build the searcher again.")


def _matches(values: list[object], wanted: Any) -> Mask:
    """Return which values are one of those wanted, or have one of them in a list."""
    options = list(wanted) if is_iterable(wanted) and not isinstance(wanted, str | Mapping) else [wanted]

    def is_wanted(value: object) -> bool:
        elements = value if isinstance(value, list) else [value]
        return any(_equal(element, option) for element in elements for option in options)

    return np.fromiter(map(is_wanted, values), np.bool_, len(values))


def _is_true(found: object) -> bool:
    """Return what a caller's function says of a document; raise InputError if it says neither yes nor no."""
    try:
        return bool(found)
    except ValueError:  # an array
        raise InputError(f"where must return True or False for a document; got {brief(found)}.") from None


def _equal(a: object, b: object) -> bool:
    """Return True for equal values; True is not 1."""
    try:
        return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)
    except ValueError:  # an array
        raise InputError(f"where must compare a field with single values; got {brief(b)}.") from None


def _offsets(lengths: Iterable[int]) -> NDArray[np.int64]:
    """Return where each of some pieces starts, and where the last one ends."""
    return np.cumsum([0, *lengths], dtype=np.int64)
