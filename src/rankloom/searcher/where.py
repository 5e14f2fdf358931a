"""The language of `where`: a mapping, parsed once into a small tree, which a store evaluates or translates.

``{"lang": "en"}``, ``{"lang": ["en", "de"]}`` (one of these) and ``{"year": {"gte": 1990, "lt": 2000}}`` are conditions
on fields, with the operators `OPERATORS`; ``{"lang": {"exists": False}}`` is satisfied where the field is missing or
null, ``ne`` where ``eq`` is not, ``{"not": {...}}`` where the condition is not, ``{"or": [{...}, {...}]}`` where one
is. Several keys mean *and*. A list satisfies the condition of a field if one of its elements does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

from rankloom.errors import InputError, UnknownNameError, brief, check_choice, check_flag, is_function, is_iterable
from rankloom.searcher.field_types import NOUNS, FieldType, Types, instant, microseconds, of_python

RANGES = ("lt", "lte", "gt", "gte")
OPERATORS = ("eq", "ne", *RANGES, "any", "in", "exists")
MAX_DEPTH, MAX_CONDITIONS = 32, 1000  # of a tree
MAX_RANGE_TEXT = 128  # characters of a text in a range
#: A value in a condition; dates are microseconds since 1970 once checked.
Value = Any
Function = Callable[[dict[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class And:
    """All of some conditions."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one of some conditions."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Anything that does not satisfy a condition."""

    part: Condition


@dataclass(frozen=True, slots=True)
class Exists:
    """A field that is not null."""

    field: str


@dataclass(frozen=True, slots=True)
class Test:
    """A field with a value that passes all of some tests: in (a tuple of values), lt, lte, gt, gte."""

    field: str
    tests: tuple[tuple[str, Value], ...]


Condition = And | Or | Not | Exists | Test


def parse(where: object) -> Condition | Function:
    """Return a condition as a tree; a function of a document stays one.

    Examples
    --------
    >>> parse({"lang": "en", "not": {"year": {"gte": 1990, "lt": 2000}}}).parts[1]
    Not(part=Test(field='year', tests=(('gte', 1990), ('lt', 2000))))
    """
    if is_function(where) or isinstance(where, Condition):
        return where
    if not isinstance(where, Mapping):
        raise InputError(f"where must be {{field: value}} or a function of a document; got {brief(where)}.")
    return _conditions(where, MAX_DEPTH)


def _conditions(where: object, depth: int) -> Condition:
    if not isinstance(where, Mapping):
        raise InputError(f"A condition of where must be {{field: value}}; got {brief(where)}.")
    if not depth:
        raise InputError(f"where may be nested {MAX_DEPTH} levels deep; write it with fewer.")
    parts = tuple(_condition(name, given, depth - 1) for name, given in where.items())
    return parts[0] if len(parts) == 1 else And(parts)


def _condition(name: object, given: object, depth: int) -> Condition:
    if not isinstance(name, str):
        raise InputError(f"The fields in where must be named by strings; got {brief(name)}.")
    if name == "not":
        return Not(_conditions(given, depth))
    if name == "or":
        if not isinstance(given, list | tuple):
            raise InputError(f"'or' in where must have a list of conditions; got {brief(given)}.")
        return Or(tuple(_conditions(part, depth) for part in given))
    return _field(name, given if isinstance(given, Mapping) else {"in" if _several(given) else "eq": given})


def _several(given: object) -> bool:
    return is_iterable(given) and not isinstance(given, str | bytes | Mapping)


def _field(name: str, operators: Mapping[Any, Any]) -> Condition:
    """Return the condition of one field."""
    if not operators:
        raise InputError(f"The field {name!r} in where has no operator; give one of {', '.join(OPERATORS)}.")
    tests: list[tuple[str, Value]] = []
    parts: list[Condition] = []
    for operator, given in operators.items():
        check_choice("operator of where", operator, OPERATORS)
        if operator == "exists":
            check_flag(**{f"'exists' of the field {name!r}": given})
            parts.append(Exists(name) if given else Not(Exists(name)))
        elif operator == "ne":
            parts.append(Not(Test(name, (("in", (_plain(name, given),)),))))
        elif operator in RANGES:
            tests.append((operator, _plain(name, given)))
        elif operator == "eq":
            tests.append(("in", (_plain(name, given),)))
        elif _several(given):
            tests.append(("in", tuple(_plain(name, value) for value in given)))
        else:
            raise InputError(f"{operator!r} of the field {name!r} must be a list of values; got {brief(given)}.")
    if tests:
        parts.insert(0, Test(name, tuple(tests)))
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _plain(name: str, given: Any) -> Value:
    """Return a value as text, a number, a bool or a date."""
    value = of_python(given)
    if isinstance(value, Decimal):
        value = float(value) if value.is_finite() else float("nan")
    if isinstance(value, str | bool | int | float | date) and value == value:
        return value
    needed = f"The field {name!r} in where needs a text, number, bool or date; got {brief(given)}."
    raise InputError(f"{needed} For documents without the field use {{'exists': False}}.")


def checked(condition: Condition, types: Types) -> Condition:
    """Return a condition on fields of these types, with dates as instants; raise InputError for other values."""
    n_conditions = 0

    def check(node: Condition) -> Condition:
        nonlocal n_conditions
        n_conditions += 1
        if n_conditions > MAX_CONDITIONS:
            raise InputError(f"where may have {MAX_CONDITIONS} conditions; use 'in' for many values of a field.")
        if isinstance(node, And | Or):
            return replace(node, parts=tuple(map(check, node.parts)))
        if isinstance(node, Not):
            return Not(check(node.part))
        if node.field not in types:
            raise UnknownNameError("field", node.field, types)
        return node if isinstance(node, Exists) else _checked_test(node, types[node.field])

    return check(condition)


def _checked_test(test: Test, type: FieldType) -> Test:
    def check(operator: str, value: Value) -> Value:
        if operator == "in":
            return tuple(_checked_value(test.field, type, one) for one in value)
        checked = _checked_value(test.field, type, value)
        if isinstance(checked, bool):
            raise InputError(f"The field {test.field!r} is {type.noun}, which {operator!r} cannot compare; use eq.")
        if isinstance(checked, str) and len(checked) > MAX_RANGE_TEXT:
            raise InputError(
                f"{operator!r} of the field {test.field!r} takes texts of up to {MAX_RANGE_TEXT} characters; got "
                f"{len(checked)}."
            )
        return checked

    return Test(test.field, tuple((operator, check(operator, value)) for operator, value in test.tests))


def _checked_value(name: str, type: FieldType, value: Value) -> Value:
    """Return a value as fields of a type have it; raise InputError if it is of another type."""
    own = "boolean" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "text"
    if isinstance(value, date):
        value, own = microseconds(value), "date"
    elif type.kind == "date" and own == "text" and (moment := instant(value)) is not None:
        value, own = moment, "date"
    if type.kind not in ("nothing", own):
        example = ", as in 2001-02-03 or 2001-02-03T04:05:06Z" if type.kind == "date" else ""
        advice = "; only 'exists' applies to it" if type.kind == "object" else example
        raise InputError(f"The field {name!r} is {type.noun}{advice}; got {brief(value)} ({NOUNS[own]}) in where.")
    return value
