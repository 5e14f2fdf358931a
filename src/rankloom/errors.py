"""The exceptions of rankloom, and the checks of options that raise them.

::

    RankloomError
    ├── InputError (also a ValueError)              invalid input; the message says how to fix it
    │   ├── UnknownNameError (also a KeyError)      a name or id that does not exist
    │   └── ContractError                           a plug-in returned what its contract does not allow
    ├── IndexFileError (also an OSError)            an index on disk that cannot be used
    ├── MissingExtraError (also an ImportError)     an optional package that is not installed
    └── OutOfMemoryError (also a MemoryError)       a kernel needs more memory than there is

    RankloomWarning (a UserWarning)                 input that is probably not as intended; processing continues
"""

import difflib
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from reprlib import Repr
from typing import Any, TypeGuard

import numpy as np

MAX_MESSAGE = 1500  # characters of a message, not quite a screen; ids and fields in it can be of any length
MAX_WHOLE = 2**63 - 1  # of 64 bits, as in arrays
#: Limits of options by name: memory or time would otherwise be exhausted.
MAXIMA = {
    "cutoff": 10_000,
    "iterations": 100_000,
    "restarts": 100_000,
    "neighbors": 10_000_000,
    "rounds": 10_000_000,
    "max_terms": 2**31 - 1,
}
LISTED_KINDS = ("method", "ranker")  # each with a command that lists the names
MAX_HINTED = 200  # characters of a name that is compared with the known ones
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
REPR = Repr()
REPR.maxstring = REPR.maxother = REPR.maxlong = 200
REPR.maxdict = REPR.maxlist = REPR.maxtuple = REPR.maxset = REPR.maxfrozenset = 10


def escape_controls(text: str) -> str:
    """Escape control characters, which could move the cursor of a terminal or worse, but not line feeds and tabs."""
    return CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def brief(value: object) -> str:
    """Return any value as a message shows it: its `repr`, shortened; only its type if it has none.

    Examples
    --------
    >>> brief([1, "a"]), brief(list(range(100))), brief(10**5000)
    ("[1, 'a']", '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...]', 'a value of type int')
    """
    try:
        return REPR.repr(value)
    except Exception:  # a number of thousands of digits, nesting that is too deep, or an object of the caller
        return f"a value of type {type(value).__name__}"


def message_text(message: object) -> str:
    """Return the text of an error or a warning: without control characters, and not longer than a screen."""
    text = escape_controls(str(message))
    return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 500]} [...] {text[-480:]}"


class RankloomError(Exception):
    """Base class of all exceptions that rankloom raises."""

    def __init__(self, message: object = "") -> None:
        super().__init__(message_text(message))

    def __reduce__(self) -> tuple[object, ...]:
        # Pickle the message only: some subclasses take other arguments, which `args` does not hold.
        return _restored, (type(self), str(self))


class InputError(RankloomError, ValueError):
    """Invalid input: the message says what was given and what to do."""


class UnknownNameError(InputError, KeyError):
    """A name or id that is not among the known ones; the message suggests the nearest.

    Examples
    --------
    >>> print(UnknownNameError("comparator", "wgo", ["mcs", "wgu"]))
    Unknown comparator 'wgo'; choose from mcs, wgu. Did you mean 'wgu'?
    """

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        choices = sorted(known)
        listed = f", which 'rankloom {kind}s' lists" if kind in LISTED_KINDS else ""
        names = f"{kind}s" if kind.isalpha() else "names"
        shown = ", ".join(choices) if len(choices) <= 40 else f"{len(choices)} known {names}{listed}"
        advice = f"choose from {shown}" if choices else "there are none"
        super().__init__(f"Unknown {kind} {brief(name)}; {advice}.{hint(name, choices)}")

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would add quotes


class ContractError(InputError):
    """A method, measure or other function that may be a plug-in returned what its contract does not allow."""


def whole_number(name: str, value: object, minimum: int = 1) -> int:
    """Return `value` as an int; raise InputError if it is not a whole number from `minimum` to the limit."""
    maximum = MAXIMA.get(name, MAX_WHOLE)
    if type(value) is int and minimum <= value <= maximum:  # most are: checks against protocols are slow
        return value
    try:
        found = minimum - 1 if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:  # some arrays are whole numbers, others are not
        found = minimum - 1
    if found < minimum:
        raise InputError(f"{name} must be a whole number, at least {minimum}; got {brief(value)}.")
    if found > maximum:
        raise InputError(f"{name} must be at most {maximum}; got {brief(value)}.")
    return found


def check_whole(**options: int) -> None:
    """Raise InputError if an option is not a whole number of at least 1."""
    for name, value in options.items():
        whole_number(name, value)


def check_range(low: float, high: float, **options: float) -> None:
    """Raise InputError if an option is not a number from `low` to `high`."""
    for name, value in options.items():
        if not isinstance(value, Real) or not low <= value <= high:
            raise InputError(f"{name} must be from {low:g} to {high:g}; got {brief(value)}.")


def check_choice(kind: str, value: object, choices: Iterable[str]) -> None:
    """Raise UnknownNameError if `value` is not one of the choices."""
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        raise UnknownNameError(kind, value, known)


def text_list(name: str, given: Any) -> list[str]:
    """Return one or several texts as a list; raise InputError if they are anything else."""
    if isinstance(given, str):
        return [given]
    found: list[str] = []
    several = is_iterable(given) and not isinstance(given, Mapping | bytes)
    for text in given if several else [given]:
        if not isinstance(text, str):
            raise InputError(f"{name} must be a text or a list of texts; got {brief(text)}.")
        found.append(text)
    return found


def check_flag(**options: object) -> None:
    """Raise InputError if an option is not a bool: an array has no truth value, and "no" has the wrong one."""
    for name, value in options.items():
        if not isinstance(value, bool | np.bool_):
            raise InputError(f"{name} must be True or False; got {brief(value)}.")


def check_type(kind: type, /, **options: object) -> None:
    """Raise InputError if an option is not of a type."""
    for name, value in options.items():
        if not isinstance(value, kind):
            raise InputError(f"{name} must be of type {kind.__name__}; got {brief(value)}.")


def is_iterable(value: object) -> bool:
    """Return True for what can be iterated over; an array without dimensions cannot, but says that it can."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def is_function(value: object) -> TypeGuard[Callable[..., Any]]:
    """Return True for what can be called with data; a class, which is often given in place of an object, cannot."""
    return callable(value) and not isinstance(value, type)


class RankloomWarning(UserWarning):
    """Something is probably not as intended; processing continues."""

    def __init__(self, message: object = "") -> None:
        super().__init__(message_text(message))


class IndexFileError(RankloomError, OSError):
    """An index on disk is damaged, incomplete or of an unsupported format."""


class MissingExtraError(RankloomError, ImportError):
    """A required optional package is not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs {package}: pip install 'rankloom[{extra}]'.")


class OutOfMemoryError(RankloomError, MemoryError):
    """A kernel needs more memory than there is."""


@contextmanager
def needs_extra(what: str, package: str, extra: str) -> Iterator[None]:
    """Turn the error of an import inside into a MissingExtraError."""
    try:
        yield
    except ImportError:
        raise MissingExtraError(what, package, extra) from None


def hint(name: object, choices: Iterable[str]) -> str:
    """Return a suggestion for the end of a message, if a name is similar to one of the choices; else nothing."""
    choices = list(choices)
    if not isinstance(name, str) or len(name) > MAX_HINTED or len(choices) > 10_000:  # too slow
        return ""
    choices = [choice for choice in choices if len(choice) <= MAX_HINTED]
    near = difflib.get_close_matches(name, choices, n=1) or difflib.get_close_matches(name.casefold(), choices, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _restored(kind: type[RankloomError], message: str) -> RankloomError:
    """Return an error unpickled from its message."""
    error = kind.__new__(kind, message)
    error.args = (message,)
    return error
