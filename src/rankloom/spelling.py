"""One spelling of a thing and its options, everywhere: ``rrf(constant=20)``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from rankloom.errors import InputError

WORDS = {"none": None, "true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
BARE = re.compile(r"[^\s,()=\[\]\"]+")  # text that needs no quotes
WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")  # as typed: Python's own 1_000 is a text, such as 2019_01 in a path
REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
INFINITE = re.compile(r"[+-]?inf")
BRACKETS = {")": "(", "]": "["}
DEEPEST = 20  # brackets within brackets


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
    return text if number is None or (REAL.fullmatch(text) and not isfinite(number)) else number


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
        if len(opened) > DEEPEST:
            raise InputError(f"Brackets are {DEEPEST} deep at most.")
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
