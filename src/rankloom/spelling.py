"""One spelling of a thing and its options, everywhere: ``rrf(constant=20)``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rankloom.errors import InputError

WORDS = {"none": None, "true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
BARE = re.compile(r"[^\s,()=\[\]\"]+")  # text that needs no quotes


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
        for part in split(rest[:-1]) if bracket else ():
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
    for kind in (int, float, json.loads) if text.startswith('"') else (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


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
    """Yield the parts between commas, but not those inside brackets or quotes."""
    depth, quoted, start = 0, False, 0
    for place, letter in enumerate(text):
        quoted ^= letter == '"' and text[place - 1 : place] != "\\"
        depth += 0 if quoted else (letter in "([") - (letter in ")]")
        if letter == "," and not depth and not quoted:
            yield text[start:place].strip()
            start = place + 1
    if text[start:].strip():
        yield text[start:].strip()


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value
