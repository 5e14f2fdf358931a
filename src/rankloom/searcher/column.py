"""A column: a field of documents as a typed array, with a dictionary of its texts."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b
from itertools import chain, dropwhile, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.io.npz import pack_bytes
from rankloom.searcher.field_types import FieldType, elements, instant, iso
from rankloom.searcher.store import Mask
from rankloom.searcher.where import MAX_RANGE_TEXT, Value

MIN_INT64, MAX_INT64 = -(2**63), 2**63 - 1
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
        return cls(*pack_bytes(keys))

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
    bare: NDArray[np.int32]  #: rows whose field is not null but has no values here: empty lists, and objects
    rows: NDArray[np.int32]  #: of each value
    values: NDArray[np.int64]  #: whole numbers; instants; 0 or 1; or places in `words`; then the bits of other numbers
    words: Words | None = None  #: of texts
    n_floats: int = 0  #: how many of the last values are the bits of float64, so that whole numbers stay exact

    @classmethod
    def of(cls, type: FieldType, rows: Sequence[int], given: Sequence[object]) -> Column:
        """Return the column of a field that is given for some rows."""
        lists = [() if type.kind == "object" else elements(value) for value in given]
        values = list(chain.from_iterable(lists))
        value_rows = np.repeat(np.array(rows, np.int32), list(map(len, lists)))
        if type.kind == "number":
            order = np.argsort([not _is_whole(value) for value in values], kind="stable")
            values, value_rows = [values[at] for at in order], value_rows[order]
        bare = [row for row, value, own in zip(rows, given, lists, strict=True) if value is not None and not own]
        return cls(type, np.array(bare, np.int32), value_rows, *_stored(type.kind, values))

    @property
    def n_whole(self) -> int:
        """The number of values before those that are the bits of float64."""
        return len(self.values) - self.n_floats

    def exists(self, n: int) -> Mask:
        """Return which of n rows have the field."""
        found = np.zeros(n, np.bool_)
        found[self.rows] = found[self.bare] = True
        return found

    def of_rows(self, rows: NDArray[np.intp]) -> list[tuple[Value, ...]]:
        """Return the values of some rows: texts, a long one cut with its digest; dates as ISO 8601."""
        found: list[tuple[Value, ...]] = [()] * len(rows)
        n = self.n_whole
        for own, values in ((self.rows[:n], self.values[:n]), (self.rows[n:], self.values[n:].view(np.float64))):
            first, last = np.searchsorted(own, rows), np.searchsorted(own, rows, side="right")
            for at in np.flatnonzero(first < last).tolist():
                found[at] += tuple(map(self._shown, values[first[at] : last[at]].tolist()))
        return found

    def _shown(self, value: float) -> Value:
        if self.words is not None:
            return self.words[int(value)].decode("utf-8", "surrogatepass")
        if self.type.kind == "date":
            return iso(int(value))
        return bool(value) if self.type.kind == "boolean" else value

    def satisfying(self, tests: Iterable[tuple[str, Value]], n: int) -> Mask:
        """Return which of n rows have a value that passes all tests."""
        found = np.zeros(n, np.bool_)
        if len(self.values):
            passing = reduce(np.logical_and, (self._passing(operator, value) for operator, value in tests))
            found[self.rows[passing]] = True
        return found

    def _passing(self, operator: str, value: Value) -> Mask:
        """Return which values pass a test."""
        if self.words is None:
            halves = self.values[: self.n_whole], self.values[self.n_whole :].view(np.float64)
            return np.concatenate([_passing(half, operator, value) for half in halves])
        if operator == "in":
            return np.isin(self.values, self.words.codes(value))
        side = bisect_left if operator in ("lt", "gte") else bisect_right
        below: Mask = self.values < side(self.words, self.words.key(value))
        return below if operator in ("lt", "lte") else ~below

    def subset(self, new: NDArray[np.int32]) -> Column:
        """Return the column of some rows; `new` has the new number of each row, -1 for those that go."""
        bare, rows = new[self.bare], new[self.rows]
        n_floats = int((rows[self.n_whole :] >= 0).sum())
        return Column(self.type, bare[bare >= 0], rows[rows >= 0], self.values[rows >= 0], self.words, n_floats)


def _stored(kind: str, values: list[Any]) -> tuple[NDArray[np.int64], Words | None, int]:
    """Return values of a kind, whole numbers first, as a column has them."""
    if kind == "text":
        keys = list(map(Words.key, values))
        known = sorted(set(keys))
        codes = {key: code for code, key in enumerate(known)}
        return np.array([codes[key] for key in keys], np.int64), Words.of(known), 0
    if kind == "date":
        values = list(map(instant, values))
    whole, others = (list(group) for group in (takewhile(_is_whole, values), dropwhile(_is_whole, values)))
    bits = np.array(others, np.float64).view(np.int64)
    return np.concatenate([np.array(whole, np.int64), bits]), None, len(bits)


def _is_whole(value: float) -> bool:
    """Return whether a number is a whole one of 64 bits; larger ones are rounded."""
    return not isinstance(value, float) and MIN_INT64 <= value <= MAX_INT64


def _passing(values: Values, operator: str, value: Value) -> Mask:
    if operator == "in":
        return np.isin(values, _codes(values, value))
    below = _below(values, value, inclusive=operator in ("lte", "gt"))
    return below if operator in ("lt", "lte") else ~below


def _codes(values: Values, wanted: Sequence[Value]) -> Values:
    """Return which of some numbers values may equal, as their type."""
    if values.dtype.kind == "f":
        found = ((value, _as_float(value)) for value in wanted)
        return np.array([near for value, near in found if near == value or not _is_whole(value)], np.float64)
    whole = [int(value) for value in wanted if MIN_INT64 <= value <= MAX_INT64 and value == int(value)]
    return np.array(whole, np.int64)


def _below(values: Values, bound: float, *, inclusive: bool) -> Mask:
    """Return which values are below a bound, or equal to it if it is inclusive; whole numbers are not rounded."""
    if values.dtype.kind == "i":
        if not MIN_INT64 <= bound <= MAX_INT64:
            return np.full(len(values), bound > 0)
        bound = math.floor(bound) if inclusive else math.ceil(bound)
    else:
        exact, bound = bound, _as_float(bound)
        if bound != exact and _is_whole(exact):
            inclusive = bound < exact  # no value is between the two
    below: Mask = values <= bound if inclusive else values < bound
    return below


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value > 0 or -1)
