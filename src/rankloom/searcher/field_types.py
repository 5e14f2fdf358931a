"""The types of documents' fields, by which they can be filtered: each field has one, fixed when it first occurs."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np

from rankloom.errors import InputError, RankloomWarning, brief

#: What messages call a value of each kind. A field is "nothing" until it has a value; "object" is nested data.
NOUNS = {
    "nothing": "nothing",
    "number": "a number",
    "boolean": "true or false",
    "text": "text",
    "date": "a date",
    "object": "an object",
    "mixture": "several types",
}
PLURALS = {"number": "numbers", "text": "texts", "date": "dates"}
DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ].*)?", re.ASCII)
NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)  # as in JSON: 01234 is a code
MAX_NUMBER = 40  # characters: longer ones are codes
MAX_WHOLE = 2**63  # whole numbers are stored exactly below it
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


class FieldType(NamedTuple):
    """The kind of a field's values, and whether it has lists of them."""

    kind: str
    is_list: bool = False

    def __str__(self) -> str:
        return f"list of {self.kind}" if self.is_list else self.kind

    @property
    def noun(self) -> str:
        """What messages call it."""
        return f"a list of {PLURALS.get(self.kind, NOUNS[self.kind])}" if self.is_list else NOUNS[self.kind]

    def joined(self, other: FieldType) -> FieldType | None:
        """Return the type of a field that has values of both types; None if there is none."""
        if "mixture" in (self.kind, other.kind):
            return None
        if NOTHING in (self, other):
            return other if self == NOTHING else self
        kinds = {self.kind, other.kind} - {"nothing"}
        if self.is_list != other.is_list or len(kinds) > 1:
            return None
        return FieldType(kinds.pop() if kinds else "nothing", self.is_list)


NOTHING, TEXT = FieldType("nothing"), FieldType("text")
SCALARS = {str: TEXT, bool: FieldType("boolean"), dict: FieldType("object"), type(None): NOTHING}
SCALARS |= dict.fromkeys((int, float), FieldType("number"))
Types = Mapping[str, FieldType]


def of_python(value: Any) -> Any:
    """Return the scalar of numpy as one of Python, and anything else as it is."""
    if isinstance(value, np.datetime64):
        value = value.astype("M8[us]")
    is_scalar = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0)
    return value.item() if is_scalar else value


def elements(value: object) -> list[Any]:
    """Return the values of a field of a document: those of a list, without null."""
    if isinstance(value, list):
        return [element for element in value if element is not None]
    return [] if value is None else [value]


def _type_of(value: object) -> FieldType:
    """Return the type of plain data; a text may still turn out to be a date."""
    if not isinstance(value, list):
        return SCALARS[type(value)]
    kinds = {"object" if isinstance(element, list) else SCALARS[type(element)].kind for element in elements(value)}
    if "object" in kinds:
        return SCALARS[dict]
    return FieldType(("mixture" if len(kinds) > 1 else min(kinds, default="nothing")), is_list=True)


def type_of_field(
    name: str, values: Sequence[object], known: FieldType, owners: Sequence[Mapping[str, Any]]
) -> FieldType:
    """Return the type of a field, which may be `known` from other documents; raise InputError for a second type.

    `owners` are the documents that have the values.
    """
    found = FieldType("text", known.is_list) if known.kind == "date" else known
    for at, value in enumerate(values):
        own = _type_of(value)
        if own is not found and own != found:
            joined = found.joined(own)
            if joined is None:
                raise _second_type(name, owners[at], value, own, found if known == NOTHING else known)
            found = joined
    if found.kind != "text" or known.kind == "text":
        return found
    odd = next((n for n, value in enumerate(values) if None in map(instant, elements(value))), None)
    if odd is None:
        return FieldType("date", found.is_list)
    if known.kind == "date":
        raise _second_type(name, owners[odd], values[odd], found, known)
    return found


def _second_type(name: str, owner: Mapping[str, Any], value: object, own: FieldType, found: FieldType) -> InputError:
    before = "" if found == NOTHING else f", but {found.noun} in others"
    return InputError(
        f"The field {name!r} of document {owner.get('id')!r} is {own.noun}{before}; got {brief(value)}. Give it one "
        f"type in all documents, or build with it as text: filter_as_text=[{name!r}] or --filter-as-text {name}."
    )


def as_text(value: object) -> str:
    """Return a value of a field that is kept as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def instant(text: str) -> int | None:
    """Return a date or time in ISO 8601 as microseconds since 1970, in UTC if it names no zone; None for other texts.

    Examples
    --------
    >>> instant("1970-01-02"), instant("1970-01-01T01:00+01:00"), instant("1970")
    (86400000000, 0, None)
    """
    if DATE.fullmatch(text):
        with suppress(ValueError):
            return microseconds(datetime.fromisoformat(text))
    return None


def microseconds(moment: date) -> int:
    """Return a date, which is its midnight, or a time as microseconds since 1970."""
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    elif moment.utcoffset() is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // MICROSECOND


def iso(moment: int) -> str:
    """Return microseconds since 1970 in ISO 8601: a midnight as a date.

    Examples
    --------
    >>> iso(86400000000), iso(1500000)
    ('1970-01-02', '1970-01-01T00:00:01.500000Z')
    """
    day, _, time = str(np.datetime64(moment, "us")).partition("T")
    return day if time == "00:00:00.000000" else f"{day}T{time.removesuffix('.000000')}Z"


def number(text: str) -> int | float | None:
    """Return a number that 64 bits hold; None for other texts."""
    text = text.strip()
    if len(text) > MAX_NUMBER or not NUMBER.fullmatch(text):
        return None
    value = float(text) if set(text) & set(".eE") else int(text)
    return value if abs(value) < (MAX_WHOLE if isinstance(value, int) else float("inf")) else None


def _warn_mixed(name: str, n_numbers: int, n_values: int, odd: str) -> None:
    """Warn that a column of mostly numbers is text."""
    warnings.warn(
        f"The field {name!r} is compared as text: {n_numbers} of {n_values} values are numbers, but {odd}. Leave such "
        f"cells empty to compare numbers, or keep it as text: filter_as_text=[{name!r}] or --filter-as-text {name}.",
        RankloomWarning,
        stacklevel=2,
    )


def typed_rows(
    rows: Iterable[Mapping[str, Any]], places: Sequence[str], types: Types, kept: Collection[str]
) -> list[dict[str, Any]]:
    """Return the rows of a table that has texts only, with numbers in columns of numbers.

    Such a column has no other cells, or it is one of numbers in `types`. Empty cells are null, except among texts.
    Columns in `kept` stay text. `places` say in warnings where each row is from.
    """
    typed = [dict(row) for row in rows]
    for name in dict.fromkeys(name for row in typed for name in row if name not in kept):
        kind = types.get(name, NOTHING).kind
        if kind == "nothing":
            cells = [row[name] for row in typed if row.get(name)]
            numbers = [number(cell) is not None for cell in cells]
            kind = "number" if all(numbers) else "text" if None in map(instant, cells) else "date"
            odd = next((n for n, row in enumerate(typed) if row.get(name) and number(row[name]) is None), None)
            if (
                2 * sum(numbers) > len(numbers) and odd is not None and not typed[odd][name].isdigit()
            ):  # 01234 is a code
                _warn_mixed(name, sum(numbers), len(numbers), f"{places[odd]} has {brief(typed[odd][name])}")
        if kind in ("number", "date"):
            for row in typed:
                cell = row.get(name) or None
                found = number(cell) if cell and kind == "number" else None
                row[name] = cell if found is None else found
    return typed
