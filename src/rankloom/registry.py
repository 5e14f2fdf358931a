"""Registries of named entries, plug-ins, and the spelling of a name with options: ``rrf(constant=20)``."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rankloom.errors import InputError, RankloomWarning, UnknownNameError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from inspect import Parameter

T = TypeVar("T")
U = TypeVar("U")


class Registry(Mapping[str, T], Generic[T]):
    """Named entries of one kind; plug-ins register through the entry-point group `group`.

    A callable entry is a factory: `make` calls it with the options of a spelling such as ``rrf(constant=20)``.
    Plug-ins are loaded on the first lookup. A plug-in that fails to load, or whose name is taken, is skipped with a
    warning, so that it does not affect the others.

    Examples
    --------
    >>> boxes = Registry[Callable[..., int]]("box", group="rankloom.boxes")
    >>> _ = boxes.register("cube")(lambda *, side=1: side**3)
    >>> boxes.make("cube(side=2)"), boxes.make("cube", side=3)
    (8, 27)
    >>> boxes.make("cube(size=2)")
    Traceback (most recent call last):
    rankloom.errors.InputError: The box 'cube' has no option 'size'; it has side. Did you mean 'side'?
    >>> boxes["cub"]
    Traceback (most recent call last):
    rankloom.errors.UnknownNameError: Unknown box 'cub'; choose from cube. Did you mean 'cube'?
    """

    def __init__(self, kind: str, *, group: str) -> None:
        self.kind = kind
        self.group = group
        self._known: dict[str, T] = {}
        self._plugins_loaded = False
        self._lock = RLock()

    def register(self, name: str) -> Callable[[U], U]:
        """Return a decorator that registers its argument as `name`."""

        def add(entry: U) -> U:
            if name in self._known:
                raise InputError(f"The {self.kind} {name!r} is registered twice; choose another name for one of them.")
            self._known[name] = entry  # type: ignore[assignment]  # the decorated object keeps its own type
            return entry

        return add

    def make(self, spelled: str | Call, **options: Any) -> Any:
        """Call the entry that a spelling names with its options, and return the result.

        Parameters
        ----------
        spelled : str or Call
            A name, or a name with options as in ``rrf(constant=20)``.
        **options
            Further options; they override those of the spelling.

        Raises
        ------
        InputError
            If a name or an option does not exist, a required option is missing, or a value does not have the type
            that the option is annotated with (bool, int, float, str, a path, or None).
        """
        call = self.checked(spelled, **options)
        factory: Any = self[call.name]
        return factory(**dict(call.options), **options)

    def checked(self, spelled: str | Call, **options: Any) -> Call:
        """Return the call that a spelling describes, with its options checked but without calling it."""
        call = Call.given(spelled, self.kind)
        remaining = Call(call.name, tuple(pair for pair in call.options if pair[0] not in options))
        _check_options(self.kind, call.name, self[call.name], {**dict(remaining.options), **options})
        return remaining

    def _all(self) -> dict[str, T]:
        with self._lock:  # a second thread waits for the plug-ins
            if self._plugins_loaded:
                return self._known
            self._plugins_loaded = True
            from importlib.metadata import entry_points  # slow to import

            for point in entry_points(group=self.group):
                self._load(point)
        return self._known

    def _load(self, point: EntryPoint) -> None:
        try:
            self.register(point.name)(point.load())
        except Exception as error:  # the plug-in may raise anything
            message = f"Skipped the plug-in {point.name!r} ({point.value}): {error}"
            warnings.warn(message, RankloomWarning, stacklevel=4)

    def __getitem__(self, name: str) -> T:
        known = self._all()
        if not isinstance(name, str) or name not in known:
            raise UnknownNameError(self.kind, name, known)
        return known[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._all()))

    def __repr__(self) -> str:
        return f"Registry({self.kind}: {', '.join(self)})"

    def __len__(self) -> int:
        return len(self._all())


def load_plugin(path: str | Path) -> None:
    """Run a Python file that registers methods, rankers, measures or other plug-ins.

    The file runs with the permissions of this process: load only files that you trust. A file runs only once.

    Raises
    ------
    InputError
        If the file cannot be read, or fails while it runs.
    """
    import zlib
    from importlib.util import module_from_spec, spec_from_file_location
    from sys import modules

    file = Path(path).expanduser().absolute()
    if not file.is_file():
        raise InputError(f"There is no plug-in file {path}; give the path of a Python file.")
    if file.suffix != ".py":
        raise InputError(f"A plug-in must be a Python file (.py); got {path}.")
    name = f"rankloom_plugin_{file.stem}_{zlib.crc32(str(file).encode()):08x}"
    spec = spec_from_file_location(name, file)
    if name in modules or spec is None or spec.loader is None:
        return
    modules[name] = module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the plug-in may raise anything
        del modules[name]
        raise InputError(f"The plug-in {path} failed: {type(error).__name__}: {error}") from error


def _check_options(kind: str, name: str, factory: Any, options: Mapping[str, Any]) -> None:
    import inspect

    known = inspect.signature(factory).parameters
    for option in options:
        if option not in known:
            hint = str(UnknownNameError("option", option, known)).partition(".")[2]
            has = ", ".join(known) or "none"
            raise InputError(f"The {kind} {name!r} has no option {option!r}; it has {has}.{hint}")
    missing = [key for key, parameter in known.items() if parameter.default is parameter.empty and key not in options]
    if missing:
        raise InputError(f"The {kind} {name!r} needs the option {missing[0]!r}: {name}({missing[0]}=...).")
    files = file_options(factory)
    for option, value in options.items():
        wanted = FILE if option in files else _annotation(known[option])
        if not _fits(value, wanted):
            expected = " or ".join(TYPE_NAMES.get(one, one) for one in wanted.split(" | "))
            unquoted = type(value) in (int, float) and (wanted == FILE or "str" in wanted)
            advice = f' Put it in quotes: {option}="{value}".' if unquoted else ""
            raise InputError(f"{option} of the {kind} {name!r} must be {expected}; got {value!r}.{advice}")


FILE = "the path of a file"
#: The types of options in error messages.
TYPE_NAMES = {"bool": "yes or no", "int": "a whole number", "float": "a finite number", "str": "text", "None": "none"}


def _annotation(parameter: Parameter) -> str:
    import inspect

    given = parameter.annotation
    if given is parameter.empty:
        return ""
    return given if isinstance(given, str) else inspect.formatannotation(given)


def _fits(value: Any, wanted: str) -> bool:
    """Return True if a value has an annotated type; types not in `TYPE_NAMES` are left to the factory."""
    if wanted == FILE:
        return not isinstance(value, bool | int | float | list | tuple)
    kinds = wanted.split(" | ")
    if not TYPE_NAMES.keys() >= set(kinds):
        return True
    if value is None or isinstance(value, bool | str):
        return {bool: "bool", str: "str"}.get(type(value), "None") in kinds
    if isinstance(value, Integral):
        return "int" in kinds or "float" in kinds
    return isinstance(value, Real) and "float" in kinds and math.isfinite(value)


def file_options(factory: Callable[..., Any]) -> list[str]:
    """Return the options that are annotated as a path.

    Examples
    --------
    >>> def table(path: Path, column: str = "text", labels: Path | None = None): ...
    >>> file_options(table)
    ['path', 'labels']
    """
    import inspect

    known = inspect.signature(factory).parameters
    return [name for name, parameter in known.items() if "Path" in _annotation(parameter)]


WORDS = {"none": None, "true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
BARE = re.compile(r"[^\s,()=\[\]\"]+")  # text that needs no quotes
WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")  # no underscores: 2019_01 is text
REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
INFINITE = re.compile(r"[+-]?inf")
BRACKETS = {")": "(", "]": "["}
MAX_NESTING = 20  # of brackets


@dataclass(frozen=True, slots=True)
class Call:
    """A name with options; its `str` parses back to an equal call.

    Attributes
    ----------
    name : str
    options : tuple of (str, value)
        Sorted by name; a value is a number, a string, True, False, None or a tuple of these.

    Examples
    --------
    >>> Call.parse("rrf(constant=20)")
    Call(name='rrf', options=(('constant', 20),))
    >>> str(Call.parse("fg( graph_norm=minmax, comparator=mcs )"))
    'fg(comparator=mcs, graph_norm=minmax)'
    >>> Call.parse("rrf(20)")
    Traceback (most recent call last):
    rankloom.errors.InputError: Options are written NAME=VALUE, as in rrf(constant=20); got '20' in 'rrf(20)'.
    """

    name: str
    options: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, name: str, options: Mapping[str, Any]) -> Call:
        """Return a call with the options of a mapping; lists become tuples."""
        return cls(name, tuple(sorted((key, _frozen(value)) for key, value in options.items())))

    @classmethod
    def given(cls, spelled: object, kind: str) -> Call:
        """Return the call that a caller gave as such or as its spelling; `kind` is for the error."""
        if isinstance(spelled, Call):
            return spelled
        if not isinstance(spelled, str):
            raise InputError(f"The {kind} must be a name, or a name with options; got {spelled!r}.")
        return cls.parse(spelled)

    @classmethod
    def parse(cls, text: str) -> Call:
        """Return the call spelled ``name`` or ``name(option=value, ...)``."""
        name, bracket, rest = text.strip().partition("(")
        name, rest = name.strip(), rest.rstrip()
        if not BARE.fullmatch(name) or (bracket and not rest.endswith(")")):
            raise InputError(f"Write a name, or a name with options as in rrf(constant=20); got {text!r}.")
        options: dict[str, Any] = {}
        for part in _split_in(text, rest[:-1]) if bracket else ():
            key, equals, value = part.partition("=")
            if not equals or not key.strip().isidentifier():
                raise InputError(f"Options are written NAME=VALUE, as in rrf(constant=20); got {part!r} in {text!r}.")
            if key.strip() in options:
                raise InputError(f"The option {key.strip()!r} is given twice in {text!r}; give it once.")
            options[key.strip()] = parse_value(value)
        return cls.of(name, options)

    def __str__(self) -> str:
        inside = ", ".join(f"{key}={show_value(value)}" for key, value in self.options)
        return f"{self.name}({inside})" if inside else self.name


def parse_value(text: str) -> Any:
    """Parse a typed value: a number, yes or no, none, a list in brackets, else text.

    Examples
    --------
    >>> parse_value("20"), parse_value("yes"), parse_value("wgu"), parse_value("[1, 0.5]"), parse_value('"20"')
    (20, True, 'wgu', [1, 0.5], '20')
    """
    text = text.strip()
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    if text.startswith("[") and text.endswith("]"):
        return [parse_value(part) for part in split(text[1:-1])]
    if text.startswith('"'):
        return _quoted(text)
    if WHOLE.fullmatch(text):
        return int(text)
    number = float(text) if REAL.fullmatch(text) or INFINITE.fullmatch(text) else None
    return text if number is None or (REAL.fullmatch(text) and not math.isfinite(number)) else number


def show_value(value: Any) -> str:
    """Return a value as the user types it; the inverse of `parse_value`."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(show_value, value))}]"
    if isinstance(value, str) and (not BARE.fullmatch(value) or parse_value(value) != value):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def split(text: str) -> Iterator[str]:
    """Split a text at its commas, except those inside brackets or quotes.

    Raises
    ------
    InputError
        If brackets or quotes are not balanced.
    """
    start = 0
    for comma in _commas(text):
        yield text[start:comma].strip()
        start = comma + 1
    if text[start:].strip():
        yield text[start:].strip()


def _commas(text: str) -> Iterator[int]:
    """Yield the positions of the commas outside brackets and quotes."""
    opened: list[str] = []
    quoted = escaped = False
    for position, character in enumerate(text):
        if quoted:
            quoted, escaped = character != '"' or escaped, character == "\\" and not escaped
        elif character == '"':
            quoted = True
        elif character in "([":
            opened.append(character)
        elif character in BRACKETS and (not opened or opened.pop() != BRACKETS[character]):
            raise InputError(f"Unmatched {character!r}.")
        elif character == "," and not opened:
            yield position
        if len(opened) > MAX_NESTING:
            raise InputError(f"Brackets are nested more than {MAX_NESTING} deep.")
    if quoted or opened:
        raise InputError(f"Unclosed {'quotation mark' if quoted else repr(opened[-1])}.")


def _split_in(whole: str, text: str) -> Iterator[str]:
    """Split as `split` does, with the whole spelling in the error message."""
    try:
        yield from split(text)
    except InputError as error:
        raise InputError(f"{error} Got {_short(whole)}.") from None


def _quoted(text: str) -> str:
    try:
        value = json.loads(text)
        value.encode()
    except ValueError:  # invalid JSON, or a lone surrogate, which UTF-8 cannot encode
        raise InputError(f'Quote text as in "a b", with \\" and \\\\ inside; got {_short(text)}.') from None
    return str(value)


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:80]}...")


def _frozen(value: Any) -> Any:
    if isinstance(value, float) and value != value:
        raise InputError("The value of an option cannot be NaN.")
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value
