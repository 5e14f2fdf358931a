"""Documents in this process: JSON in segments, and columns to filter them."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import reduce
from itertools import accumulate
from typing import overload

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import IndexFileError, InputError, brief
from rankloom.io.npz import check_packed, pack_bytes, pack_ids, unpacked
from rankloom.ranks import Ids
from rankloom.ranks.arrays import Array
from rankloom.searcher.columns import Columns
from rankloom.searcher.field_types import TEXT, Types
from rankloom.searcher.slots import Slots
from rankloom.searcher.store import Document, Mask
from rankloom.searcher.tail import joined, prefixed, under, with_last
from rankloom.searcher.where import Condition, Function, Value


@dataclass(frozen=True, eq=False)
class Segment:
    """Consecutive documents as JSON in one array of bytes, and where each one starts."""

    blob: NDArray[np.uint8]
    ptr: NDArray[np.int64]
    id_bytes: NDArray[np.uint8]
    id_ptr: NDArray[np.int64]

    @classmethod
    def of(cls, documents: Sequence[Document]) -> Segment:
        """Return documents, whose fields must be plain data."""
        encoded = (json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass") for document in documents)
        return cls(*pack_bytes(encoded), *pack_ids(_ids(documents)))

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def __getitem__(self, number: int) -> bytes:
        return self.blob[self.ptr[number] : self.ptr[number + 1]].tobytes()

    def joined(self, more: Segment) -> Segment:
        """Return these documents, followed by others."""
        return Segment(**joined([self.arrays(), more.arrays()]))

    def subset(self, rows: NDArray[np.intp]) -> Segment:
        """Return some of the documents, by ascending number."""
        return Segment(*_pieces(self.blob, self.ptr, rows), *_pieces(self.id_bytes, self.id_ptr, rows))

    def arrays(self) -> dict[str, Array]:
        """Return the arrays that `restored` makes it from."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def restored(cls, arrays: Mapping[str, Array]) -> Segment:
        """Return the documents that these arrays have, after checks."""
        segment = cls(*(arrays[field.name] for field in fields(cls)))
        check_packed(segment.blob, segment.ptr)
        if len(segment.ptr) != len(segment.id_ptr):
            raise InputError("The offsets of the documents do not match their ids.")
        return segment


class Documents(Sequence[Document]):
    """The store of documents in this process: segments, as they were added, and the slots that were not deleted.

    Examples
    --------
    >>> pets = Documents.of([{"id": "a", "text": "a cat"}, {"id": "b", "text": "a dog"}])
    >>> pets[1]["text"], len(pets), pets.documents(["b", "c"])
    ('a dog', 2, [{'id': 'b', 'text': 'a dog'}, None])
    """

    def __init__(self, ids: Ids, segments: Sequence[Segment], columns: Columns, slots: Slots | None = None) -> None:
        self.ids = ids
        self.columns = columns
        self._segments = tuple(segments)
        self._starts = list(accumulate(map(len, segments), initial=0))
        self.slots = slots or Slots(self._starts[-1])

    @classmethod
    def of(cls, documents: Sequence[Document], filter_as_text: Iterable[str] = ()) -> Documents:
        """Return the documents, whose fields must be plain data; fields in `filter_as_text` are filtered as text."""
        return cls(Ids(_ids(documents)), [Segment.of(documents)], Columns.of(documents, filter_as_text))

    @overload
    def __getitem__(self, number: int) -> Document: ...

    @overload
    def __getitem__(self, number: slice) -> list[Document]: ...

    def __getitem__(self, number: int | slice) -> Document | list[Document]:
        if isinstance(number, slice):
            return [self[at] for at in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(number)
        row = number % len(self) if self.slots.kept is None else int(self.slots.kept[number])
        at = bisect_right(self._starts, row) - 1
        return _parsed(number, self._segments[at][row - self._starts[at]])

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
        segments = with_last(self._segments, Segment.of(more), Segment.joined)
        return Documents(Ids([*self.ids, *_ids(more)]), segments, columns, self.slots.appended(len(more)))

    def without(self, numbers: NDArray[np.intp]) -> Documents:
        """Return the documents without some, whose slots stay empty until `compacted`."""
        if not len(numbers):
            return self
        gone = set(numbers.tolist())
        ids = Ids(id for number, id in enumerate(self.ids) if number not in gone)
        return Documents(ids, self._segments, self.columns, self.slots.without(numbers))

    def compacted(self) -> Documents:
        """Return the documents without empty slots."""
        if self.slots.kept is None:
            return self
        segment = reduce(Segment.joined, self._segments).subset(self.slots.kept)
        return Documents(self.ids, [segment], self.columns.subset(self.slots.kept))

    def values(self, ids: Sequence[str], field: str) -> list[tuple[Value, ...]]:
        """Return the values of a field in some documents, as columns have them; none for one that is not there."""
        known = [id for id in ids if id in self.ids]
        found = iter(self.columns.values(field, self.slots.inside(self.ids.numbers(known, "document"))))
        return [next(found) if id in self.ids else () for id in ids]

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
        mask = self.columns.mask(where)
        return mask if self.slots.kept is None else mask[self.slots.kept]

    def arrays(self) -> dict[str, Array]:
        """Return the arrays that `restored` makes the documents from: the same objects for an unchanged segment."""
        arrays = {**self.columns.arrays(), **self.slots.arrays()}
        for at, segment in enumerate(self._segments):
            arrays |= prefixed(f"documents{at}", segment.arrays())
        return arrays

    @classmethod
    def restored(cls, arrays: Mapping[str, Array]) -> Documents:
        """Return the documents that `arrays` were made from."""
        segments: list[Segment] = []
        while f"documents{len(segments)}_ptr" in arrays:
            segments.append(Segment.restored(under(arrays, f"documents{len(segments)}")))
        ids = [id for segment in segments for id in unpacked(segment.id_bytes, segment.id_ptr)]
        slots, columns = Slots.restored(arrays, len(ids)), Columns.restored(arrays)
        if len(columns) != len(ids):
            raise InputError("The columns of the documents do not match their ids.")
        return cls(
            Ids(ids if slots.kept is None else [ids[row] for row in slots.kept.tolist()]), segments, columns, slots
        )


class IdStore:
    """A store of documents that have an id and nothing else."""

    @property
    def types(self) -> Types:
        """The only field."""
        return {"id": TEXT}

    def documents(self, ids: Collection[str]) -> list[Document | None]:
        """Return the ids as documents."""
        return [{"id": id} for id in ids]

    def values(self, ids: Sequence[str], field: str) -> list[tuple[Value, ...]]:
        """Return the ids as values."""
        return [(id,) for id in ids]

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


def _pieces(blob: NDArray[np.uint8], ptr: NDArray[np.int64], rows: NDArray[np.intp]) -> tuple[Array, Array]:
    """Return some pieces of a blob, and pointers to them."""
    return pack_bytes(blob[ptr[row] : ptr[row + 1]].tobytes() for row in rows.tolist())
