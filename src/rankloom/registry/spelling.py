"""The spelling of a name with options: ``rrf(constant=20)``."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rankloom.errors import InputError, brief

WORDS = {"none": None, "true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
BARE = re.compile(r"[^\s,()=\[\]\"]+")  # text that needs no quotes
WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")  # no underscores: 2019_01 is text
REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
INFINITE = re.compile(r"[+-]?inf")
#: Quoted text (a single quote only where a value starts), a bracket or a comma.
TOKEN = re.compile(r"""\"(?:\\.|[^"\\])*(?P<end>"?)|(?<![^=,\[(\s])'[^']*'|[()\[\],]""", re.DOTALL)
SINGLE = re.compile("'([^']*)'", re.DOTALL)
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
    def of(cls, name: str, options: Mapping[str, object]) -> Call:
        """Return a call with the options of a mapping; lists become tuples."""
        return cls(name, tuple(sorted((key, _frozen(value)) for key, value in options.items())))

    @classmethod
    def given(cls, spelled: object, kind: str) -> Call:
        """Return the call that a caller gave as such or as its spelling; `kind` is for the error."""
        if isinstance(spelled, Call):
            return spelled
        if not isinstance(spelled, str):
            raise InputError(f"The {kind} must be a name, or a name with options; got {brief(spelled)}.")
        return cls.parse(spelled)

    @classmethod
    def parse(cls, text: str) -> Call:
        """Return the call spelled ``name`` or ``name(option=value, ...)``."""
        name, bracket, rest = text.strip().partition("(")
        name, rest = name.strip(), rest.rstrip()
        if not BARE.fullmatch(name) or (bracket and not rest.endswith(")")):
            raise InputError(f"Write a name, or a name with options as in rrf(constant=20); got {brief(text)}.")
        options: dict[str, object] = {}
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
    """Parse a typed value: a number, yes or no, none, a list in brackets, else text, which may be in quotes.

    Examples
    --------
    >>> parse_value("20"), parse_value("yes"), parse_value("wgu"), parse_value("[1, 0.5]"), parse_value("'20'")
    (20, True, 'wgu', [1, 0.5], '20')
    """
    text = text.strip()
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    if text.startswith("[") and text.endswith("]"):
        return [parse_value(part) for part in split(text[1:-1])]
    if text.startswith('"'):
        return _quoted(text)
    if single := SINGLE.fullmatch(text):
        return single[1]
    if WHOLE.fullmatch(text):
        return int(text)
    number = float(text) if REAL.fullmatch(text) or INFINITE.fullmatch(text) else None
    return text if number is None or (REAL.fullmatch(text) and not math.isfinite(number)) else number


def show_value(value: object) -> str:
    """Return a value as the user types it; the inverse of `parse_value`."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(show_value, value))}]"
    if isinstance(value, str) and (not BARE.fullmatch(value) or parse_value(value) != value):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def split(text: str) -> Iterator[str]:
    """Split a text at its commas, except those inside brackets or quotes, which must be balanced."""
    start = 0
    for comma in _commas(text):
        yield text[start:comma].strip()
        start = comma + 1
    if text[start:].strip():
        yield text[start:].strip()


def _commas(text: str) -> Iterator[int]:
    """Yield the positions of the commas outside brackets and quotes."""
    opened: list[str] = []
    for token in TOKEN.finditer(text):
        if token[0].startswith('"') and not token["end"]:
            raise InputError("Unclosed quotation mark.")
        if token[0] in ("(", "["):
            opened.append(token[0])
        elif token[0] in BRACKETS and (not opened or opened.pop() != BRACKETS[token[0]]):
            raise InputError(f"Unmatched {token[0]!r}.")
        elif token[0] == "," and not opened:
            yield token.start()
        if len(opened) > MAX_NESTING:
            raise InputError(f"Brackets are nested more than {MAX_NESTING} deep.")
    if opened:
        raise InputError(f"Unclosed {opened[-1]!r}.")


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


def _frozen(value: object) -> object:
    if isinstance(value, float) and value != value:
        raise InputError("The value of an option cannot be NaN.")
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def slug(kind: str, name: str) -> str:
    """Return a file name without extension.

    Examples
    --------
    >>> slug("methods", "best(2)")
    'methods-best-2'
    """
    return f"{kind}-{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')}".strip("-")
