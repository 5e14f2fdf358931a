"""Options: the fields of a value, or the parameters of a function, checked against their annotations.

::

    class RRF(Options):
        constant: Annotated[float, Gt(-1)] = 60.0
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import cache
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from annotated_types import Ge, Gt, Le, Lt

from rankloom.errors import MAX_WHOLE, InputError, UnknownNameError, brief, check_choice, whole_number
from rankloom.registry.spelling import Call

Count = Annotated[int, Ge(1)]
#: From 0 to 1.
Share = Annotated[float, Ge(0), Le(1)]
#: Between 0 and 1, both excluded.
Fraction = Annotated[float, Gt(0), Lt(1)]

#: The types of options that are checked, and their names in messages.
TYPE_NAMES = {
    bool: "yes or no",
    int: "a whole number",
    float: "a finite number",
    str: "text",
    NoneType: "none",
    Path: "the path of a file",
}
REQUIRED = inspect.Parameter.empty  #: the default of an option that has none


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
@dataclass(frozen=True)
class Options:
    """The base of values whose fields are options: derived classes become frozen dataclasses; `str` is the spelling.

    The registry sets the name and the kind that messages and the spelling use. A field is checked against its
    annotation (see `Option`), and a list becomes a tuple.
    """

    entry_name: ClassVar[str] = ""
    entry_kind: ClassVar[str] = "value"

    def __init_subclass__(cls, *, kw_only: bool = True, eq: bool = True) -> None:
        super().__init_subclass__()
        if inspect.get_annotations(cls) or len(cls.__bases__) > 1:  # otherwise it is as its base
            dataclass(frozen=True, kw_only=kw_only, eq=eq)(cls)

    def __post_init__(self) -> None:
        for name, option in self.options().items():
            value = getattr(self, name)
            if value is not option.default:
                object.__setattr__(self, name, option.checked(value, self.entry_kind, self.entry_name))

    @classmethod
    def options(cls) -> dict[str, Option]:
        """Return the options by name, those of a derived class before those of its bases."""
        owner: Any = cls  # that mypy takes for a type that cannot be hashed
        return options_of(owner)

    def __str__(self) -> str:
        return str(self.spelled())

    def spelled(self) -> Call:
        """Return the name with the options that are not at their defaults."""
        given = {name: (getattr(self, name), option.default) for name, option in self.options().items()}
        shown = {name: value for name, (value, default) in given.items() if value is not default and value != default}
        return Call.of(self.entry_name, {k: str(v) if isinstance(v, Path) else v for k, v in shown.items()})


@dataclass(frozen=True, slots=True)
class Option:
    """An option and the values it takes, by its annotation."""

    name: str
    default: object  #: `REQUIRED` if there is none
    types: tuple[type, ...]  #: of bool, int, float, str, None and Path; empty if values are not checked
    choices: tuple[str, ...]  #: of a Literal
    bounds: Mapping[str, float]  #: the limits of numbers: ``gt``, ``ge``, ``lt``, ``le``

    @classmethod
    def of(cls, name: str, default: object, annotation: object) -> Option:
        """Return the option that an annotation describes; types that are not in `TYPE_NAMES` are not checked."""
        types: list[type] = []
        choices: list[str] = []
        bounds: dict[str, float] = {}
        for part in _alternatives(annotation):
            if get_origin(part) is Literal:
                choices += get_args(part)
            elif isinstance(part, Ge | Gt | Le | Lt):
                bounds |= asdict(part)
            else:
                types.append(Path if get_origin(part) is PathLike else part or NoneType)
        checked = Path in types or all(part in TYPE_NAMES for part in types)
        return cls(name, default, tuple(types) if checked else (), tuple(choices), bounds)

    @property
    def is_file(self) -> bool:
        """Whether it is annotated as a path."""
        return Path in self.types

    def checked(self, value: object, kind: str, entry: str) -> object:
        """Return a value as it is stored; raise InputError if the option does not take it."""
        if isinstance(value, list):
            value = tuple(value)
        if self.choices and not (self.types and _has_type(value, self.types)):
            check_choice(f"value of {self.name}", value, self.choices)
        elif self.types and not _has_type(value, self.types):
            raise InputError(self._wrong_type(value, kind, entry))
        return self._bounded(value) if self.bounds and value is not None else value

    def _wrong_type(self, value: Any, kind: str, entry: str) -> str:
        wanted = TYPE_NAMES[Path] if self.is_file else " or ".join(TYPE_NAMES[accepted] for accepted in self.types)
        unquoted = type(value) in (int, float) and abs(value) < MAX_WHOLE and not {str, Path}.isdisjoint(self.types)
        advice = f' Put it in quotes: {self.name}="{value}".' if unquoted else ""
        return f"{self.name} of the {kind} {entry!r} must be {wanted}; got {brief(value)}.{advice}"

    def _bounded(self, value: Any) -> Any:
        high = self.bounds.get("le", math.inf)
        if float not in self.types:
            value = whole_number(self.name, value, int(self.bounds.get("ge", -sys.maxsize)))
            if value > high:
                raise InputError(f"{self.name} must be at most {high}; got {value}.")
        elif not (
            self.bounds.get("gt", -math.inf) < value < self.bounds.get("lt", math.inf)
            and self.bounds.get("ge", -math.inf) <= value <= high
        ):
            raise InputError(f"{self.name} must be {_range(self.bounds)}; got {brief(value)}.")
        return value


@cache
def options_of(factory: Callable[..., object]) -> dict[str, Option]:
    """Return the options of a class or a function by name, those of a derived class before those of its bases."""
    if isinstance(factory, type) and issubclass(factory, Options):
        return {name: Option.of(name, default, hint) for name, default, hint in _fields(factory)}
    return {name: Option.of(name, default, hint) for name, default, hint in annotated_defaults(factory)}


def file_options(factory: Callable[..., object]) -> list[str]:
    """Return the options that are annotated as a path."""
    return [name for name, option in options_of(factory).items() if option.is_file]


def annotated_defaults(factory: Callable[..., object]) -> list[tuple[str, object, object]]:
    """Return the name, the default and the annotated type of each parameter of a function."""
    scope = vars(sys.modules[factory.__module__])
    parameters = inspect.signature(factory).parameters.values()
    return [(p.name, p.default, _resolved(p.annotation, scope)) for p in parameters]


def check_names(kind: str, entry: str, known: Mapping[str, Option], options: Mapping[str, object]) -> None:
    """Raise InputError if an option does not exist, or a required one is missing."""
    for name in options:
        if name not in known:
            hint = str(UnknownNameError("option", name, known)).partition(".")[2]
            has = ", ".join(known) or "none"
            raise InputError(f"The {kind} {entry!r} has no option {name!r}; it has {has}.{hint}")
    for name, option in known.items():
        if option.default is REQUIRED and name not in options:
            raise InputError(f"The {kind} {entry!r} needs the option {name!r}: {entry}({name}=...).")


def _fields(owner: type[Options]) -> Iterator[tuple[str, object, object]]:
    """Yield the name, the default and the type of each field."""
    defaults = {field.name: field.default for field in fields(owner) if field.init}
    for base in owner.__mro__:
        for name, annotation in inspect.get_annotations(base).items():
            if name in defaults:
                default = defaults.pop(name)
                annotated = _resolved(annotation, vars(sys.modules[base.__module__]))
                yield name, REQUIRED if default is MISSING else default, annotated


def _resolved(annotation: object, scope: dict[str, object]) -> object:
    """Return the type that an annotation names; `object` for one that only type checkers can, unless it is a path."""
    try:
        holder = SimpleNamespace(__annotations__={"option": annotation})
        return get_type_hints(holder, scope, include_extras=True)["option"]
    except (NameError, TypeError):
        return Path if "Path" in str(annotation) else object


def _alternatives(annotation: object) -> Iterator[Any]:
    """Yield the members of a union and the bounds of annotated types."""
    if get_origin(annotation) in (Union, UnionType):
        for part in get_args(annotation):
            yield from _alternatives(part)
    elif get_origin(annotation) is Annotated:
        inner, *bounds = get_args(annotation)
        yield from _alternatives(inner)
        yield from bounds
    else:
        yield annotation


def _has_type(value: object, types: tuple[type, ...]) -> bool:
    if Path in types:
        return value is None or isinstance(value, str | PathLike)
    if value is None or isinstance(value, bool | str):
        return type(value) in types
    if isinstance(value, Integral):
        return int in types or (float in types and abs(int(value)) <= sys.float_info.max)
    return float in types and isinstance(value, Real) and math.isfinite(value)


def _range(bounds: Mapping[str, float]) -> str:
    """Return the numbers within bounds in words."""
    words = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
    if bounds.keys() == {"ge", "le"}:
        return f"from {bounds['ge']:g} to {bounds['le']:g}"
    if len(bounds) == 2:
        return " and ".join(f"{words[name]} {limit:g}" for name, limit in bounds.items())
    ((name, limit),) = bounds.items()
    return f"a finite number {'of ' if name in ('ge', 'le') else ''}{words[name]} {limit:g}"
