"""Registries of named things, plug-ins, and the one spelling of a name with options: ``rrf(constant=20)``."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rankloom.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from inspect import Parameter

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Named things of one kind; plug-ins join through the entry-point group `group`.

    An entry that is callable is a maker: `make` turns a spelling such as ``bic(longest_side=512)`` into what the maker
    returns for these options. Plug-ins load when a name is first looked up. One that fails to load, or whose name is
    taken, is skipped with a warning: it must not stop the others.

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

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that registers a thing as `name`."""

        def add(thing: T) -> T:
            if name in self._known:
                raise InputError(f"The {self.kind} {name!r} is registered twice; give the second another name.")
            self._known[name] = thing
            return thing

        return add

    def make(self, spelled: str | Call, **options: Any) -> Any:
        """Return what a spelling stands for: the entry of that name, called with the options.

        Parameters
        ----------
        spelled : str or Call
            A name, or a name with options as in ``rrf(constant=20)``.
        **options
            More options; one that is spelled too wins over the spelling.

        Raises
        ------
        InputError
            For a name or an option that does not exist, a required option that is missing, or a value that is not of
            the type the option is annotated with (bool, int, float, str, a path, or None).
        """
        call = self.checked(spelled, **options)
        maker: Any = self[call.name]
        return maker(**dict(call.options), **options)

    def checked(self, spelled: str | Call, **options: Any) -> Call:
        """Return the call that a spelling stands for, with its options checked but nothing made."""
        call = Call.parse(spelled) if isinstance(spelled, str) else spelled
        if not isinstance(call, Call):
            raise InputError(f"The {self.kind} must be a name, or a name with options; got {spelled!r}.")
        kept = Call(call.name, tuple(pair for pair in call.options if pair[0] not in options))
        _check_options(self.kind, call.name, self[call.name], {**dict(kept.options), **options})
        return kept

    def _all(self) -> dict[str, T]:
        if not self._plugins_loaded:
            self._plugins_loaded = True
            from importlib.metadata import entry_points  # slow to import, and seldom needed

            for point in entry_points(group=self.group):
                self._load(point)
        return self._known

    def _load(self, point: EntryPoint) -> None:
        try:
            self.register(point.name)(point.load())
        except Exception as error:  # whatever the plug-in's own code raises
            warnings.warn(f"Skipped the plug-in {point.name!r} ({point.value}): {error}", stacklevel=4)

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
    """Run a Python file that registers methods, rankers, measures or anything else that has a registry.

    The file is run as it is, with all that this process may do: load only files that you trust. A file that was loaded
    before is not run again.

    Raises
    ------
    InputError
        Where the file can't be read, or fails while it runs.
    """
    import zlib
    from importlib.util import module_from_spec, spec_from_file_location
    from sys import modules

    file = Path(path).expanduser().absolute()
    if not file.is_file():
        raise InputError(f"There is no plug-in file {path}; give a Python file.")
    if file.suffix != ".py":
        raise InputError(f"A plug-in is a Python file whose name ends in .py; got {path}.")
    name = f"rankloom_plugin_{file.stem}_{zlib.crc32(str(file).encode()):08x}"
    spec = spec_from_file_location(name, file)
    if name in modules or spec is None or spec.loader is None:
        return
    modules[name] = module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the plug-in's own code raises
        del modules[name]
        raise InputError(f"The plug-in {path} failed: {type(error).__name__}: {error}") from error


def _check_options(kind: str, name: str, maker: Any, options: Mapping[str, Any]) -> None:
    import inspect

    known = inspect.signature(maker).parameters
    for option in options:
        if option not in known:
            hint = str(UnknownNameError("option", option, known)).partition(".")[2]
            has = ", ".join(known) or "none"
            raise InputError(f"The {kind} {name!r} has no option {option!r}; it has {has}.{hint}")
    missing = [key for key, one in known.items() if one.default is one.empty and key not in options]
    if missing:
        raise InputError(f"The {kind} {name!r} needs the option {missing[0]!r}: {name}({missing[0]}=...).")
    files = file_options(maker)
    for option, value in options.items():
        wanted = "the name of a file" if option in files else _annotation(known[option])
        if not _fits(value, wanted):
            asked = " or ".join(TYPE_NAMES.get(one, one) for one in wanted.split(" | "))
            quoted = type(value) in (int, float) and ("file" in wanted or "str" in wanted)
            advice = f' Put it in quotes: {option}="{value}".' if quoted else ""
            raise InputError(f"{option} of the {kind} {name!r} must be {asked}; got {value!r}.{advice}")


#: What error messages call the types that options are annotated with.
TYPE_NAMES = {"bool": "yes or no", "int": "a whole number", "float": "a finite number", "str": "a text", "None": "none"}


def _annotation(parameter: Parameter) -> str:
    import inspect

    given = parameter.annotation
    if given is parameter.empty:
        return ""
    return given if isinstance(given, str) else inspect.formatannotation(given)


def _fits(value: Any, wanted: str) -> bool:
    """Return True if a value is of an annotated type; types not in `TYPE_NAMES` are left to the maker."""
    if wanted == "the name of a file":
        return not isinstance(value, bool | int | float | list | tuple)
    kinds = wanted.split(" | ")
    if not TYPE_NAMES.keys() >= set(kinds):
        return True
    if value is None or isinstance(value, bool | str):
        return {bool: "bool", str: "str"}.get(type(value), "None") in kinds
    if isinstance(value, Integral):
        return "int" in kinds or "float" in kinds
    return isinstance(value, Real) and "float" in kinds and math.isfinite(value)


def file_options(maker: Callable[..., Any]) -> list[str]:
    """Return the options of a maker that name a file or a folder: those annotated as a path.

    Examples
    --------
    >>> def table(path: Path, column: str = "text", labels: Path | None = None): ...
    >>> file_options(table)
    ['path', 'labels']
    """
    import inspect

    known = inspect.signature(maker).parameters
    return [name for name, one in known.items() if "Path" in _annotation(one)]


WORDS = {"none": None, "true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
BARE = re.compile(r"[^\s,()=\[\]\"]+")  # text that needs no quotes
WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")  # as typed: Python's own 1_000 is a text, such as 2019_01 in a path
REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
INFINITE = re.compile(r"[+-]?inf")
BRACKETS = {")": "(", "]": "["}
MAX_NESTING = 20  # brackets within brackets


@dataclass(frozen=True, slots=True)
class Call:
    """A name with options; `str` of it parses back.

    Attributes
    ----------
    name : str
    options : tuple of (str, value)
        Sorted by name; a value is a number, a text, True, False, None or a tuple of such.

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
    def parse(cls, text: str) -> Call:
        """Return the call written as ``name`` or ``name(option=value, ...)``."""
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
    """Return what a value as typed stands for: a number, yes or no, none, a list in brackets, else text.

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
    """Return a value as it is typed; `parse_value` of it gives the value back."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(show_value, value))}]"
    if isinstance(value, str) and (not BARE.fullmatch(value) or parse_value(value) != value):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def split(text: str) -> Iterator[str]:
    """Yield the parts between commas, but not those inside brackets or quotes.

    Raises
    ------
    InputError
        For brackets or quotes that are not closed, or closed before they are opened.
    """
    start = 0
    for place in _commas(text):
        yield text[start:place].strip()
        start = place + 1
    if text[start:].strip():
        yield text[start:].strip()


def _commas(text: str) -> Iterator[int]:
    """Yield the places of the commas outside of brackets and quotes."""
    opened: list[str] = []
    quoted = escaped = False
    for place, letter in enumerate(text):
        if quoted:
            quoted, escaped = letter != '"' or escaped, letter == "\\" and not escaped
        elif letter == '"':
            quoted = True
        elif letter in "([":
            opened.append(letter)
        elif letter in BRACKETS and (not opened or opened.pop() != BRACKETS[letter]):
            raise InputError(f"A bracket {letter} closes nothing.")
        elif letter == "," and not opened:
            yield place
        if len(opened) > MAX_NESTING:
            raise InputError(f"Brackets are {MAX_NESTING} deep at most.")
    if quoted or opened:
        raise InputError(f"A {'quotation mark' if quoted else 'bracket ' + opened[-1]} is not closed.")


def _split_in(whole: str, text: str) -> Iterator[str]:
    """Yield the parts as `split` does; an error shows the whole that they are of."""
    try:
        yield from split(text)
    except InputError as error:
        raise InputError(f"{error} Got {_short(whole)}.") from None


def _quoted(text: str) -> str:
    try:
        value = json.loads(text)
        value.encode()
    except ValueError:  # of JSON, or a half of a surrogate pair, which no file can have
        raise InputError(f'Write a text in quotes as in "a b", with \\" and \\\\ inside; got {_short(text)}.') from None
    return str(value)


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:80]}...")


def _frozen(value: Any) -> Any:
    if isinstance(value, float) and value != value:
        raise InputError("NaN is no value of an option; got NaN.")
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value
