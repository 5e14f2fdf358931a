"""Columns: the fields of documents as typed arrays, over which `where` is evaluated without reading documents."""

from __future__ import annotations

import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b
from itertools import accumulate, chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError
from rankloom.ranks.arrays import Array
from rankloom.searcher.field_types import NOTHING, NOUNS, FieldType, Types, as_text, elements, instant, type_of_field
from rankloom.searcher.store import Document, Mask
from rankloom.searcher.where import MAX_RANGE_TEXT, And, Condition, Exists, Not, Or, Value

INT64 = np.iinfo(np.int64)
Values = NDArray[np.int64] | NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Different texts in the order of code points, which is that of their UTF-8 bytes: the dictionary of a column.

    A long text is cut, and a digest follows: enough to tell it from others, and to compare it with shorter ones.
    """

    blob: NDArray[np.uint8]
    ptr: NDArray[np.int64]

    @staticmethod
    def key(text: str) -> bytes:
        """Return what is kept of a text."""
        encoded = text.encode("utf-8", "surrogatepass")
        if len(text) <= MAX_RANGE_TEXT:
            return encoded
        digest = blake2b(encoded, digest_size=16).hexdigest()
        return f"{text[:MAX_RANGE_TEXT]}{digest}".encode("utf-8", "surrogatepass")

    @classmethod
    def of(cls, keys: Sequence[bytes]) -> Words:
        """Return a dictionary of keys, which ascend."""
        return cls(np.frombuffer(b"".join(keys), np.uint8), np.array([0, *accumulate(map(len, keys))], np.int64))

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def __iter__(self) -> Iterator[bytes]:
        return (self[code] for code in range(len(self)))

    def __getitem__(self, code: int) -> bytes:
        return self.blob[self.ptr[code] : self.ptr[code + 1]].tobytes()

    def codes(self, wanted: Iterable[str]) -> list[int]:
        """Return the places of texts, of those that are there."""
        places = ((bisect_left(self, key), key) for key in map(self.key, wanted))
        return [place for place, key in places if place < len(self) and self[place] == key]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A field of some documents: each of its values, with the row of its document."""

    type: FieldType
    present: NDArray[np.uint8]  #: a bit for each row: whether the field is not null
    rows: NDArray[np.int32]  #: of each value
    values: Values  #: numbers; instants; 0 or 1; or places in `words`
    words: Words | None = None  #: of texts

    @classmethod
    def of(cls, type: FieldType, rows: Sequence[int], given: Sequence[object], n: int) -> Column:
        """Return the column of a field, given for some of n rows."""
        present = np.zeros(n, np.bool_)
        present[[row for row, value in zip(rows, given, strict=True) if value is not None]] = True
        lists = [() if type.kind == "object" else elements(value) for value in given]
        value_rows = np.repeat(np.array(rows, np.int32), list(map(len, lists)))
        return cls(type, np.packbits(present), value_rows, *_stored(type.kind, list(chain.from_iterable(lists))))

    def exists(self, n: int) -> Mask:
        """Return which of n rows have the field."""
        return np.unpackbits(self.present, count=n).view(np.bool_)

    def satisfying(self, tests: Iterable[tuple[str, Value]], n: int) -> Mask:
        """Return which of n rows have a value that passes all tests."""
        found = np.zeros(n, np.bool_)
        if len(self.values):
            passing = reduce(np.logical_and, (self._passing(operator, value) for operator, value in tests))
            found[self.rows[passing]] = True
        return found

    def _passing(self, operator: str, value: Value) -> Mask:
        """Return which values pass a test."""
        if operator == "in":
            return np.isin(self.values, self._codes(value))
        if self.words is not None:
            side = bisect_left if operator in ("lt", "gte") else bisect_right
            below: Mask = self.values < side(self.words, self.words.key(value))
        else:
            below = _below(self.values, value, inclusive=operator in ("lte", "gt"))
        return below if operator in ("lt", "lte") else ~below

    def _codes(self, wanted: Sequence[Value]) -> Values:
        if self.words is not None:
            return np.array(self.words.codes(wanted), np.int64)
        if self.values.dtype.kind == "f":
            return np.array([_as_float(value) for value in wanted], np.float64)
        whole = [int(value) for value in wanted if INT64.min <= value <= INT64.max and value == int(value)]
        return np.array(whole, np.int64)

    def subset(self, new: NDArray[np.int32], kept: NDArray[np.intp]) -> Column:
        """Return the column of the kept rows; `new` has the new number of each row, -1 for those that go."""
        rows = new[self.rows]
        here = rows >= 0
        present = np.packbits(self.exists(len(new))[kept])
        return Column(self.type, present, rows[here], self.values[here], self.words)


def _stored(kind: str, values: list[Any]) -> tuple[Values, Words | None]:
    """Return values of a kind as a column has them."""
    if kind == "text":
        keys = list(map(Words.key, values))
        known = sorted(set(keys))
        codes = {key: code for code, key in enumerate(known)}
        return np.array([codes[key] for key in keys], np.int64), Words.of(known)
    if kind == "date":
        values = list(map(instant, values))
    if all(INT64.min <= value <= INT64.max and not isinstance(value, float) for value in values):
        return np.array(values, np.int64), None
    return np.array(values, np.float64), None


def _below(values: Values, bound: float, *, inclusive: bool) -> Mask:
    """Return which values are below a bound, or equal to it if it is inclusive; whole numbers are not rounded."""
    if values.dtype.kind == "i":
        if not INT64.min <= bound <= INT64.max:
            return np.full(len(values), bound > 0)
        bound = math.floor(bound) if inclusive else math.ceil(bound)
    else:
        bound = _as_float(bound)
    below: Mask = values <= bound if inclusive else values < bound
    return below


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value > 0 or -1)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The columns of n consecutive documents; a field that none of them has is absent."""

    n: int
    columns: Mapping[str, Column]

    @classmethod
    def of(cls, documents: Sequence[Document], types: Types, text_fields: frozenset[str]) -> Part:
        """Return the columns of documents; `types` are those that fields have in other documents."""
        rows: dict[str, list[int]] = {}
        values: dict[str, list[Any]] = {}
        for row, document in enumerate(documents):
            for name, value in document.items():
                rows.setdefault(name, []).append(row)
                values.setdefault(name, []).append(value)
        columns = {}
        for name, given in values.items():
            known = types.get(name, NOTHING)
            if name in text_fields:
                type = FieldType("text", known.is_list or any(isinstance(value, list) for value in given))
                given = [None if value is None else list(map(as_text, elements(value))) for value in given]
            else:
                type = type_of_field(name, given, known, [documents[row] for row in rows[name]])
            columns[name] = Column.of(type, rows[name], given, len(documents))
        return cls(len(documents), columns)

    def mask(self, condition: Condition) -> Mask:
        """Return which documents satisfy a condition."""
        if isinstance(condition, And):
            return reduce(np.logical_and, map(self.mask, condition.parts), np.ones(self.n, np.bool_))
        if isinstance(condition, Or):
            return reduce(np.logical_or, map(self.mask, condition.parts), np.zeros(self.n, np.bool_))
        if isinstance(condition, Not):
            return ~self.mask(condition.part)
        column = self.columns.get(condition.field)
        if column is None:
            return np.zeros(self.n, np.bool_)
        return column.exists(self.n) if isinstance(condition, Exists) else column.satisfying(condition.tests, self.n)

    def subset(self, kept: NDArray[np.intp]) -> Part:
        """Return the columns of some documents, by number, in this order."""
        new = np.full(self.n, -1, np.int32)
        new[kept] = np.arange(len(kept), dtype=np.int32)
        return Part(len(kept), {name: column.subset(new, kept) for name, column in self.columns.items()})

    def joined(self, more: Part) -> Part:
        """Return the columns of these documents and of others after them."""
        names = dict.fromkeys([*self.columns, *more.columns])
        return Part(self.n + more.n, {name: _joined(self, more, name) for name in names})


def _joined(first: Part, second: Part, name: str) -> Column:
    columns = [part.columns.get(name) or Column.of(NOTHING, (), (), part.n) for part in (first, second)]
    type = columns[name in second.columns].type  # of the later one, which was found in view of the other
    exists = [column.exists(part.n) for column, part in zip(columns, (first, second), strict=True)]
    rows = np.concatenate([columns[0].rows, columns[1].rows + np.int32(first.n)])
    values, words = [column.values for column in columns], None
    if type.kind == "text":
        keys = [[] if column.words is None else list(column.words) for column in columns]
        known = sorted({*keys[0], *keys[1]})
        codes = {key: code for code, key in enumerate(known)}
        values = [np.array([codes[key] for key in own], np.int64)[column.values]
                  for own, column in zip(keys, columns, strict=True)]  # fmt: skip
        words = Words.of(known)
    return Column(type, np.packbits(np.concatenate(exists)), rows, _concatenated(values), words)


def _concatenated(values: Sequence[Values]) -> Values:
    return np.concatenate(values)  # type: ignore[return-value]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns of all documents, in parts as they were added: documents added later do not change the earlier ones.

    Examples
    --------
    >>> from rankloom.searcher.where import checked, parse
    >>> pets = Columns.of([{"id": "a", "legs": 4}, {"id": "b", "legs": 2}, {"id": "c"}])
    >>> pets.mask(checked(parse({"legs": {"gte": 3}}), pets.types)).tolist(), str(pets.types["legs"])
    ([True, False, False], 'number')
    """

    types: Types  #: of every field
    text_fields: frozenset[str]  #: which are text whatever they hold
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, documents: Sequence[Document], text_fields: Iterable[str] = ()) -> Columns:
        """Return the columns of documents; raise InputError for a field of two types."""
        return cls({}, frozenset(text_fields), ()).appended(documents)

    def appended(self, documents: Sequence[Document]) -> Columns:
        """Return the columns of these documents and of more after them, whose fields must have the same types."""
        parts = [*self.parts, Part.of(documents, self.types, self.text_fields)]
        types = {**self.types, **{name: column.type for name, column in parts[-1].columns.items()}}
        while len(parts) > 1 and parts[-2].n <= 2 * parts[-1].n:  # so that there are few parts
            last = parts.pop()
            parts[-1] = parts[-1].joined(last)
        return Columns(types, self.text_fields, tuple(parts))

    def subset(self, kept: NDArray[np.intp]) -> Columns:
        """Return the columns of some documents, by ascending number."""
        ends = list(accumulate(part.n for part in self.parts))
        cuts = np.searchsorted(kept, [0, *ends])
        parts = [
            part.subset(kept[start:stop] - (end - part.n))
            for part, end, start, stop in zip(self.parts, ends, cuts[:-1], cuts[1:], strict=True)
        ]
        return Columns(self.types, self.text_fields, tuple(parts))

    def mask(self, condition: Condition) -> Mask:
        """Return which documents satisfy a checked condition."""
        return np.concatenate([part.mask(condition) for part in self.parts])

    def __len__(self) -> int:
        return sum(part.n for part in self.parts)

    def arrays(self) -> dict[str, Array]:
        """Return the arrays that `restored` makes the columns from: as many for any number of fields."""
        part = reduce(Part.joined, self.parts)
        columns = list(part.columns.values())
        words = [Words.of([]) if column.words is None else column.words for column in columns]
        about = {
            "n": part.n,
            "text_fields": sorted(self.text_fields),
            "fields": [
                {"name": name, "type": self.types[name], "values": len(column.values), "words": len(one)}
                | {"float": column.values.dtype.kind == "f"}
                for (name, column), one in zip(part.columns.items(), words, strict=True)
            ],
        }
        blobs = [one.blob[one.ptr[0] : one.ptr[-1]] for one in words]
        lengths = [np.diff(one.ptr) for one in words]
        return {
            "column_fields": np.frombuffer(json.dumps(about).encode(), np.uint8),
            "column_present": np.concatenate([np.empty(0, np.uint8), *(column.present for column in columns)]),
            "column_rows": np.concatenate([np.empty(0, np.int32), *(column.rows for column in columns)]),
            "column_values": np.concatenate(
                [np.empty(0, np.int64), *(column.values.view(np.int64) for column in columns)]
            ),
            "column_words": np.concatenate([np.empty(0, np.uint8), *blobs]),
            "column_word_ptr": np.cumsum(np.concatenate([np.zeros(1, np.int64), *lengths]), dtype=np.int64),
        }

    @classmethod
    def restored(cls, arrays: Mapping[str, Array]) -> Columns:
        """Return the columns that `arrays` were made from; raise InputError if an array points out of another."""
        about = json.loads(arrays["column_fields"].tobytes())
        n, fields = _size(about["n"]), about["fields"]
        present, rows, values, blob, ptr = (_checked_array(arrays, name, kind) for name, kind in ARRAYS.items())
        value_at = [0, *accumulate(_size(field["values"]) for field in fields)]
        word_at = [0, *accumulate(_size(field["words"]) for field in fields)]
        width = -(-n // 8)
        _require(len(rows) == len(values) == value_at[-1] and len(ptr) == word_at[-1] + 1, "sizes")
        _require(len(present) == width * len(fields) and ptr[0] == 0 and ptr[-1] == len(blob), "sizes")
        _require(not (ptr[1:] < ptr[:-1]).any(), "offsets")
        _require(not len(rows) or (rows.min() >= 0 and rows.max() < n), "rows")
        columns: dict[str, Column] = {}
        for at, field in enumerate(fields):
            own = slice(value_at[at], value_at[at + 1])
            column = Column(
                _restored_type(field["type"]),
                present[at * width : (at + 1) * width],
                rows[own],
                values[own].view(np.float64) if field["float"] is True else values[own],
                Words(blob, ptr[word_at[at] : word_at[at + 1] + 1]) if field["type"][0] == "text" else None,
            )
            _check_codes(column)
            _require(isinstance(field["name"], str), "fields")
            columns[field["name"]] = column
        types = {name: column.type for name, column in columns.items()}
        return cls(types, frozenset(map(str, about["text_fields"])), (Part(n, columns),))


ARRAYS: dict[str, type[np.generic]] = {
    "column_present": np.uint8,
    "column_rows": np.int32,
    "column_values": np.int64,
    "column_words": np.uint8,
    "column_word_ptr": np.int64,
}


def _checked_array(arrays: Mapping[str, Array], name: str, kind: type[np.generic]) -> Array:
    array = np.asarray(arrays[name])
    _require(array.ndim == 1 and array.dtype == kind, f"types: {name} has {array.dtype}")
    return array


def _restored_type(given: Any) -> FieldType:
    kind, is_list = given
    _require(kind in NOUNS and kind != "mixture" and isinstance(is_list, bool), "kinds")
    return FieldType(kind, is_list)


def _check_codes(column: Column) -> None:
    if column.words is not None and len(column.values):
        _require(column.values.dtype.kind == "i", "kinds")
        _require(column.values.min() >= 0 and column.values.max() < len(column.words), "codes")


def _size(given: object) -> int:
    _require(isinstance(given, int) and not isinstance(given, bool) and given >= 0, "sizes")
    return given  # type: ignore[return-value]


def _require(holds: object, what: str) -> None:
    if not holds:
        raise InputError(f"The columns of the documents have wrong {what}.")
