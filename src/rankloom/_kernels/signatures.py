"""The types of a kernel's arguments as text: in messages, and in `signatures.txt`, which says what is compiled.

A number is its kind and bytes, as in NumPy: i8, f4, b1. An array also has its number of dimensions, and an s if it is
not in C order, and a w if it can be written: u4[2]w. A tuple is in parentheses, after its name if it has one.
"""

import os
from collections.abc import Callable, Sequence
from functools import update_wrapper
from pathlib import Path
from threading import local
from typing import Any

import numpy as np

PREFIX = "rankloom._kernels."
_seen: set[str] = set()


class _Running(local):
    """Whether this thread is in a kernel."""

    inside = False


_running = _Running()


def name_of(function: Any) -> str:
    """Return the dotted name of a kernel or of a named tuple below `rankloom._kernels`."""
    return f"{function.__module__}.{function.__name__}".removeprefix(PREFIX)


def signature(arguments: Sequence[Any]) -> str:
    """Return the types of arguments.

    Examples
    --------
    >>> signature([3, np.zeros((2, 2), np.float32), (True, 0.5)])
    'i8 f4[2]w (b1 f8)'
    """
    return " ".join(map(_spelled, arguments))


def _spelled(value: Any) -> str:
    if isinstance(value, tuple):
        name = "" if type(value) is tuple else name_of(type(value))
        return f"{name}({signature(value)})"
    array = np.asarray(value)
    text = f"{array.dtype.kind}{array.dtype.itemsize}"
    if not isinstance(value, np.ndarray):
        return text
    return f"{text}[{array.ndim}]{'s' * (not array.flags.c_contiguous)}{'w' * array.flags.writeable}"


def record(function: Callable[..., Any], arguments: Sequence[Any]) -> None:
    """Append the signature of a call to the file RANKLOOM_KERNELS_RECORD, once."""
    line = f"{name_of(function)} {signature(arguments)}\n"
    if line not in _seen:
        _seen.add(line)
        with Path(os.environ["RANKLOOM_KERNELS_RECORD"]).open("a", encoding="utf-8") as file:
            file.write(line)


def recording(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that is interpreted, and records how other code, but not other kernels, calls it."""

    def call(*arguments: Any) -> Any:
        if _running.inside:
            return function(*arguments)
        _running.inside = True
        try:
            result = function(*arguments)
        finally:
            _running.inside = False
        record(function, arguments)
        return result

    return update_wrapper(call, function)
