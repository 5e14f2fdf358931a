"""The part of JSON Schema that request bodies use: one description serves to document and to check them."""

from collections.abc import Sized
from types import UnionType
from typing import Any, Literal

from rankloom.errors import UnknownNameError, brief
from rankloom.web.limits import RefusedError

Schema = dict[str, Any]

#: The Python type of each type; booleans are not numbers.
TYPES: dict[str, type | UnionType] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": int | float,
    "array": list,
    "object": dict,
}
NAMES = {"string": "text", "boolean": "true or false", "integer": "a whole number", "number": "a number"}
NAMES |= {"array": "a list", "object": "an object"}
#: For a type, the measured value and the limits on it.
LENGTHS = {
    "string": ("characters", "minLength", "maxLength"),
    "array": ("entries", "minItems", "maxItems"),
    "object": ("entries", "minProperties", "maxProperties"),
}


def check(value: Any, schema: Schema, name: str) -> None:
    """Raise `RefusedError` with status 422 if a value is not as its schema says.

    Examples
    --------
    >>> check({"k": 0}, {"type": "object", "properties": {"k": {"type": "integer", "minimum": 1}}}, "body")
    Traceback (most recent call last):
    rankloom.web.limits.RefusedError: k: must be at least 1; got 0.
    """
    kind: str = schema["type"]
    if not _is(value, kind):
        raise _invalid(name, NAMES[kind], value)
    if kind in LENGTHS:
        _check_length(value, schema, name, *LENGTHS[kind])
    else:
        _check_limits(value, schema, name)
    if kind == "array":
        for element in value:
            check(element, schema["items"], name)
    if kind == "object":
        _check_members(value, schema, name)


def _is(value: object, kind: str) -> bool:
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _check_length(value: Sized, schema: Schema, name: str, unit: str, low: str, high: str) -> None:
    if not schema.get(low, 0) <= len(value) <= schema.get(high, len(value)):
        allowed = f"{schema.get(low, 0)} to {schema[high]}" if high in schema else f"at least {schema[low]}"
        raise RefusedError(422, f"{name}: must have {allowed} {unit}; got {len(value)}.")


def _check_limits(value: float, schema: Schema, name: str) -> None:
    if "minimum" in schema and value < schema["minimum"]:
        raise RefusedError(422, f"{name}: must be at least {schema['minimum']}; got {_shown(value)}.")
    if "maximum" in schema and value > schema["maximum"]:
        raise RefusedError(422, f"{name}: must be at most {schema['maximum']}; got {_shown(value)}.")


def _check_members(value: Schema, schema: Schema, name: str) -> None:
    if "$ref" in schema:  # checked by what it is for
        return
    known: dict[str, Schema] = schema.get("properties", {})
    other: Schema | Literal[False] = schema.get("additionalProperties", False)
    for key, member in value.items():
        if key in known:
            check(member, known[key], key)
        elif other:
            check(member, other, name)
        else:
            raise RefusedError(422, str(UnknownNameError("key", key[:100], known)))


def _invalid(name: str, expected: str, value: object) -> RefusedError:
    return RefusedError(422, f"{name}: must be {expected}; got {_shown(value)}.")


def _shown(value: object) -> str:
    return brief(value)[:100]
