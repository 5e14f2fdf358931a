"""Columns: the fields of documents as typed arrays, over which `where` is evaluated without reading documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError
from rankloom.io.npz import check_packed
from rankloom.ranks.arrays import Array
from rankloom.searcher.column import Column, Words
from rankloom.searcher.field_types import NOTHING, NOUNS, FieldType, Types, as_text, elements, type_of_field
from rankloom.searcher.store import Document, Mask
from rankloom.searcher.tail import under, with_last
from rankloom.searcher.where import And, Condition, Exists, Not, Or, Value


@dataclass(frozen=True, eq=False)
class Part:
    """The columns of n consecutive documents; a field that none of them has is absent."""

    n: int
    columns: Mapping[str, Column]
    stored: Mapping[str, Array] | None = None  #: its arrays, if it was restored from them

    @classmethod
    def of(cls, documents: Sequence[Document], types: Types, filter_as_text: frozenset[str]) -> Part:
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
            if name in filter_as_text:
                type = FieldType("text", known.is_list or any(isinstance(value, list) for value in given))
                given = [None if value is None else list(map(as_text, elements(value))) for value in given]
            else:
                type = type_of_field(name, given, known, [documents[row] for row in rows[name]])
            columns[name] = Column.of(type, rows[name], given)
        return cls(len(documents), columns)

    def __len__(self) -> int:
        return self.n

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
        return Part(len(kept), {name: column.subset(new) for name, column in self.columns.items()})

    def joined(self, more: Part) -> Part:
        """Return the columns of these documents and of others after them."""
        names = dict.fromkeys([*self.columns, *more.columns])
        return Part(self.n + more.n, {name: _joined(self, more, name) for name in names})

    @cached_property
    def arrays(self) -> Mapping[str, Array]:
        """The arrays that `restored` makes it from: as many for any number of fields."""
        if self.stored is not None:
            return self.stored
        columns = list(self.columns.values())
        words = [Words.of([]) if column.words is None else column.words for column in columns]
        fields = [
            {"name": name, "type": column.type, "bare": len(column.bare), "values": len(column.values)}
            | {"words": len(one), "floats": column.n_floats}
            for (name, column), one in zip(self.columns.items(), words, strict=True)
        ]
        lengths = [np.zeros(1, np.int64), *(np.diff(one.ptr) for one in words)]
        return {
            "fields": _packed_json({"n": self.n, "fields": fields}),
            "bare": _flat(np.int32, [column.bare for column in columns]),
            "rows": _flat(np.int32, [column.rows for column in columns]),
            "values": _flat(np.int64, [column.values for column in columns]),
            "words": _flat(np.uint8, [one.blob[one.ptr[0] : one.ptr[-1]] for one in words]),
            "word_ptr": np.cumsum(np.concatenate(lengths), dtype=np.int64),
        }

    @classmethod
    def restored(cls, arrays: Mapping[str, Array]) -> Part:
        """Return the columns that `arrays` were made from; raise InputError if an array points out of another."""
        about = _parsed_json(arrays["fields"])
        n, fields = _size(about["n"]), about["fields"]
        bare, rows, values = (_checked_array(arrays, name, kind) for name, kind in ARRAYS.items())
        blob, ptr = arrays["words"], arrays["word_ptr"]
        check_packed(blob, ptr)
        bare_at, value_at, word_at = (
            list(accumulate((_size(field[name]) for field in fields), initial=0))
            for name in ("bare", "values", "words")
        )
        _require(len(rows) == len(values) == value_at[-1] and len(ptr) == word_at[-1] + 1, "sizes")
        _require(len(bare) == bare_at[-1], "sizes")
        for some in (bare, rows):
            _require(not len(some) or (some.min() >= 0 and some.max() < n), "rows")
        columns: dict[str, Column] = {}
        for at, field in enumerate(fields):
            own = slice(value_at[at], value_at[at + 1])
            type = _restored_type(field["type"])
            column = Column(
                type,
                bare[bare_at[at] : bare_at[at + 1]],
                rows[own],
                values[own],
                Words(blob, ptr[word_at[at] : word_at[at + 1] + 1]) if type.kind == "text" else None,
                _size(field["floats"]),
            )
            _check_values(column)
            _require(isinstance(field["name"], str), "fields")
            columns[field["name"]] = column
        return cls(n, columns, arrays)


def _flat(kind: type[np.generic], arrays: Sequence[Array]) -> Array:
    return np.concatenate([np.empty(0, kind), *arrays])


def _joined(first: Part, second: Part, name: str) -> Column:
    a, b = (part.columns.get(name) or Column.of(NOTHING, (), ()) for part in (first, second))
    type = b.type if name in second.columns else a.type  # of the later one, which was found in view of the other
    values = [a.values, b.values]
    words = None
    if type.kind == "text":
        keys = [[] if column.words is None else list(column.words) for column in (a, b)]
        known = sorted({*keys[0], *keys[1]})
        codes = {key: code for code, key in enumerate(known)}
        values = [np.array([codes[key] for key in own], np.int64)[old] for own, old in zip(keys, values, strict=True)]
        words = Words.of(known)

    def whole_first(x: Array, y: Array) -> Array:
        return np.concatenate([x[: a.n_whole], y[: b.n_whole], x[a.n_whole :], y[b.n_whole :]])

    bare, rows = np.concatenate([a.bare, b.bare + np.int32(first.n)]), whole_first(a.rows, b.rows + np.int32(first.n))
    return Column(type, bare, rows, whole_first(*values), words, a.n_floats + b.n_floats)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns of all documents, deleted ones among them, in parts as they were added.

    Examples
    --------
    >>> from rankloom.searcher.where import checked, parse
    >>> pets = Columns.of([{"id": "a", "legs": 4}, {"id": "b", "legs": 2}, {"id": "c"}])
    >>> pets.mask(checked(parse({"legs": {"gte": 3}}), pets.types)).tolist(), str(pets.types["legs"])
    ([True, False, False], 'number')
    """

    parts: tuple[Part, ...]
    filter_as_text: frozenset[str]  #: which are text whatever they hold

    @classmethod
    def of(cls, documents: Sequence[Document], filter_as_text: Iterable[str] = ()) -> Columns:
        """Return the columns of documents; raise InputError for a field of two types."""
        return cls((), frozenset(filter_as_text)).appended(documents)

    @property
    def types(self) -> Types:
        """The type of every field."""
        return {name: column.type for part in self.parts for name, column in part.columns.items()}

    def appended(self, documents: Sequence[Document]) -> Columns:
        """Return the columns of these documents and of more after them, whose fields must have the same types."""
        new = Part.of(documents, self.types, self.filter_as_text)
        return Columns(with_last(self.parts, new, Part.joined), self.filter_as_text)

    def values(self, field: str, rows: NDArray[np.intp]) -> list[tuple[Value, ...]]:
        """Return the values of a field in some documents."""
        found: list[tuple[Value, ...]] = [()] * len(rows)
        for part, start in zip(self.parts, accumulate(map(len, self.parts), initial=0), strict=False):
            here = np.flatnonzero((rows >= start) & (rows < start + part.n))
            if field in part.columns:
                for at, own in zip(here.tolist(), part.columns[field].of_rows(rows[here] - start), strict=True):
                    found[at] = own
        return found

    def subset(self, numbers: NDArray[np.intp]) -> Columns:
        """Return the columns of some documents, by ascending number."""
        return Columns((reduce(Part.joined, self.parts).subset(numbers),), self.filter_as_text)

    def mask(self, condition: Condition) -> Mask:
        """Return which documents satisfy a checked condition."""
        found: Mask = np.concatenate([part.mask(condition) for part in self.parts])
        return found

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def arrays(self) -> dict[str, Array]:
        """Return the arrays that `restored` makes the columns from: the same objects for a part that did not change."""
        parts = enumerate(self.parts)
        arrays = {f"columns{at}_{name}": array for at, part in parts for name, array in part.arrays.items()}
        arrays["column_text_fields"] = _packed_json(sorted(self.filter_as_text))
        return arrays

    @classmethod
    def restored(cls, arrays: Mapping[str, Array]) -> Columns:
        """Return the columns that `arrays` were made from; raise InputError if an array points out of another."""
        parts: list[Part] = []
        while f"columns{len(parts)}_fields" in arrays:
            parts.append(Part.restored(under(arrays, f"columns{len(parts)}")))
        columns = cls(tuple(parts), frozenset(map(str, _parsed_json(arrays["column_text_fields"]))))
        _require(parts, "parts")
        return columns


ARRAYS: dict[str, type[np.generic]] = {"bare": np.int32, "rows": np.int32, "values": np.int64}


def _packed_json(value: object) -> Array:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def _parsed_json(array: Array) -> Any:
    try:
        return json.loads(array.tobytes())
    except RecursionError:
        raise InputError("The columns of the documents have wrong fields.") from None


def _checked_array(arrays: Mapping[str, Array], name: str, kind: type[np.generic]) -> Array:
    array = np.asarray(arrays[name])
    _require(array.ndim == 1 and array.dtype == kind, f"types: {name} has {array.dtype}")
    return array


def _restored_type(given: Any) -> FieldType:
    kind, is_list = given
    _require(kind in NOUNS and kind != "mixture" and isinstance(is_list, bool), "kinds")
    return FieldType(kind, is_list)


def _check_values(column: Column) -> None:
    _require(column.n_floats <= (len(column.values) if column.type.kind == "number" else 0), "kinds")
    if column.words is not None and len(column.values):
        _require(column.values.min() >= 0 and column.values.max() < len(column.words), "codes")


def _size(given: object) -> int:
    _require(isinstance(given, int) and not isinstance(given, bool) and given >= 0, "sizes")
    return given  # type: ignore[return-value]


def _require(holds: object, what: str) -> None:
    if not holds:
        raise InputError(f"The columns of the documents have wrong {what}.")
