"""The exceptions of rankloom, and the checks of options that raise them.

::

    RankloomError
    ├── InputError (also a ValueError)              invalid input; the message says how to fix it
    │   ├── UnknownNameError (also a KeyError)      a name or id that does not exist
    │   └── ContractError                           a plug-in returned what its contract does not allow
    ├── IndexFileError (also an OSError)            an index on disk that cannot be used
    └── MissingExtraError (also an ImportError)     an optional package that is not installed

    RankloomWarning (a UserWarning)                 input that is probably not as intended; processing continues
"""

import difflib
import operator
from collections.abc import Iterable
from numbers import Real


class RankloomError(Exception):
    """Base class of all exceptions that rankloom raises."""

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
        shown = ", ".join(choices) if len(choices) <= 40 else f"{len(choices)} known names"
        advice = f"choose from {shown}" if choices else "there are none"
        super().__init__(f"Unknown {kind} {name!r}; {advice}.{_hint(str(name), choices)}")

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would add quotes


class ContractError(InputError):
    """A method, measure or other function that may be a plug-in returned what its contract does not allow."""


def whole_number(name: str, value: object, minimum: int = 1) -> int:
    """Return `value` as an int; raise InputError if it is not a whole number of at least `minimum`.

    Examples
    --------
    >>> whole_number("k", 0)
    Traceback (most recent call last):
    rankloom.errors.InputError: k must be a whole number, at least 1; got 0.
    """
    if type(value) is int and value >= minimum:  # most are: checks against protocols are slow
        return value
    try:
        found = minimum - 1 if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:  # some arrays are whole numbers, others are not
        found = minimum - 1
    if found < minimum:
        raise InputError(f"{name} must be a whole number, at least {minimum}; got {value!r}.")
    return found


def check_whole(**options: int) -> None:
    """Raise InputError if an option is not a whole number of at least 1."""
    for name, value in options.items():
        whole_number(name, value)


def check_between(low: float, high: float, **options: float) -> None:
    """Raise InputError if an option is not strictly between `low` and `high`."""
    for name, value in options.items():
        if not isinstance(value, Real) or not low < value < high:
            raise InputError(f"{name} must be above {low:g} and below {high:g}; got {value!r}.")


def check_range(low: float, high: float, **options: float) -> None:
    """Raise InputError if an option is not a number from `low` to `high`."""
    for name, value in options.items():
        if not isinstance(value, Real) or not low <= value <= high:
            raise InputError(f"{name} must be from {low:g} to {high:g}; got {value!r}.")


def check_choice(kind: str, value: object, choices: Iterable[str]) -> None:
    """Raise UnknownNameError if `value` is not one of the choices."""
    known = list(choices)
    if value not in known:
        raise UnknownNameError(kind, value, known)


class RankloomWarning(UserWarning):
    """Something is probably not as intended; processing continues."""


class IndexFileError(RankloomError, OSError):
    """An index on disk is damaged, incomplete or of an unsupported format."""


class MissingExtraError(RankloomError, ImportError):
    """A required optional package is not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs {package}: pip install 'rankloom[{extra}]'.")


def _hint(name: str, choices: list[str]) -> str:
    if len(choices) > 10_000:  # too slow
        return ""
    near = difflib.get_close_matches(name, choices, n=1) or difflib.get_close_matches(name.casefold(), choices, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _restored(kind: type[RankloomError], message: str) -> RankloomError:
    """Return an error unpickled from its message."""
    error = kind.__new__(kind, message)
    error.args = (message,)
    return error
