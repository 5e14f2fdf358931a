"""Documents in this process: JSON in one array of bytes, and columns to filter them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import overload

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import IndexFileError, InputError, brief
from rankloom.io.npz import pack_ids, unpack_ids
from rankloom.ranks import Ids
from rankloom.ranks.arrays import Array
from rankloom.searcher.columns import Columns
from rankloom.searcher.field_types import TEXT, Types
from rankloom.searcher.store import Document, Mask
from rankloom.searcher.where import Condition, Function


class Documents(Sequence[Document]):
    """Documents as JSON in one array of bytes, read by offset: the store of documents in this process.

    Examples
    --------
    >>> pets = Documents.of([{"id": "a", "text": "a cat"}, {"id": "b", "text": "a dog"}])
    >>> pets[1]["text"], len(pets), pets.documents(["b", "c"])
    ('a dog', 2, [{'id': 'b', 'text': 'a dog'}, None])
    """

    def __init__(self, ids: Ids, blob: NDArray[np.uint8], ptr: NDArray[np.int64], columns: Columns) -> None:
        self.ids = ids
        self.columns = columns
        self._blob = blob
        self._ptr = ptr

    @classmethod
    def of(cls, documents: Sequence[Document], text_fields: Iterable[str] = ()) -> Documents:
        """Return the documents, whose fields must be plain data; `text_fields` are filtered as text."""
        return cls(Ids(_ids(documents)), *_encoded(documents), Columns.of(documents, text_fields))

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

    @property
    def types(self) -> Types:
        """The fields of the documents, which conditions can name."""
        return self.columns.types

    def appended(self, more: Sequence[Document]) -> Documents:
        """Return these documents, followed by others."""
        columns = self.columns.appended(more)
        blob, ptr = _encoded(more)
        joined = np.concatenate([self._blob, blob]), np.concatenate([self._ptr[:-1], ptr + self._ptr[-1]])
        return Documents(Ids([*self.ids, *_ids(more)]), *joined, columns)

    def subset(self, numbers: NDArray[np.intp]) -> Documents:
        """Return only these documents, by ascending number."""
        pieces = [self._blob[self._ptr[number] : self._ptr[number + 1]] for number in numbers.tolist()]
        ids = Ids(self.ids[number] for number in numbers.tolist())
        columns = self.columns.subset(numbers)
        return Documents(ids, np.concatenate([np.empty(0, np.uint8), *pieces]), _offsets(map(len, pieces)), columns)

    def allowed(self, ids: Collection[str], where: Condition | Function) -> Mask:
        """Return which of some documents satisfy a condition."""
        mask = self.mask(where)
        if ids is self.ids:
            return mask
        return np.array([id in self.ids and mask[self.ids.number(id)] for id in ids], np.bool_)

    def mask(self, where: Condition | Function) -> Mask:
        """Return which documents satisfy a checked condition."""
        if callable(where):
            return np.fromiter((_is_true(where(document)) for document in self), np.bool_, len(self))
        return self.columns.mask(where)

    def arrays(self) -> dict[str, Array]:
        """Return the arrays that `restored` makes the documents from."""
        ids, id_ptr = pack_ids(self.ids)
        own = self.columns.arrays()
        return {**own, "documents": self._blob, "document_ptr": self._ptr, "id_bytes": ids, "id_ptr": id_ptr}

    @classmethod
    def restored(cls, arrays: Mapping[str, Array]) -> Documents:
        """Return the documents that `arrays` were made from."""
        ids = unpack_ids(arrays["id_bytes"], arrays["id_ptr"])
        ptr, blob = arrays["document_ptr"], arrays["documents"]
        if (blob.dtype.str[1:], ptr.dtype.str[1:]) != ("u1", "i8") or (blob.ndim, ptr.ndim) != (1, 1):
            raise InputError(f"Documents must be bytes with 64-bit offsets; got {blob.dtype} and {ptr.dtype}.")
        if len(ptr) != len(ids) + 1 or ptr[0] != 0 or ptr[-1] != len(blob) or (np.diff(ptr) < 0).any():
            raise InputError("The offsets of the documents do not match their ids.")
        columns = Columns.restored(arrays)
        if len(columns) != len(ids):
            raise InputError("The columns of the documents do not match their ids.")
        return cls(ids, blob, ptr, columns)


class IdStore:
    """A store of documents that have an id and nothing else."""

    @property
    def types(self) -> Types:
        """The only field."""
        return {"id": TEXT}

    def documents(self, ids: Collection[str]) -> list[Document | None]:
        """Return the ids as documents."""
        return [{"id": id} for id in ids]

    def allowed(self, ids: Collection[str], where: Condition | Function) -> Mask:
        """Return which ids satisfy a condition."""
        return Documents.of([{"id": id} for id in ids]).mask(where)


def _parsed(number: int, stored: bytes) -> Document:
    with suppress(ValueError, RecursionError):
        document = json.loads(stored.decode("utf-8", "surrogatepass"))
        if isinstance(document, dict):
            return document
    raise IndexFileError(f"The stored document {number} is damaged: it is not a JSON object; build the searcher again.")


def _is_true(found: object) -> bool:
    """Return what a caller's function says of a document; raise InputError if it says neither yes nor no."""
    try:
        return bool(found)
    except ValueError:  # an array
        raise InputError(f"where must return True or False for a document; got {brief(found)}.") from None


def _ids(documents: Iterable[Document]) -> Iterator[str]:
    return (document["id"] for document in documents)


def _encoded(documents: Iterable[Document]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return documents as JSON in one array, and where each one starts."""
    encoded = [json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass") for document in documents]
    return np.frombuffer(b"".join(encoded), np.uint8), _offsets(map(len, encoded))


def _offsets(lengths: Iterable[int]) -> NDArray[np.int64]:
    """Return where each of some pieces starts, and where the last one ends."""
    return np.cumsum([0, *lengths], dtype=np.int64)
