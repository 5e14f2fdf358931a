"""How a kernel is called: compiled when the package was built, else by numba when it is first called, else interpreted.

RANKLOOM_KERNELS chooses one way for all kernels: `v3` or `v2`, the library for these processors; `jit`; or `plain`.
Nothing else imports numba.
"""

import os
import warnings
from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rankloom._kernels.signatures import name_of, recording, signature
from rankloom.errors import InputError, OutOfMemoryError, RankloomError, RankloomWarning, needs_extra

Function = Callable[..., Any]

LEVELS = ("v3", "v2", "base")  # of processors: x86-64-v3, x86-64-v2, all of another kind
ROADS = ("", *LEVELS, "jit", "plain")
ROAD = os.environ.get("RANKLOOM_KERNELS", "")
IS_RECORDING = "RANKLOOM_KERNELS_RECORD" in os.environ
COMPILE = "run 'make kernels'"


def digest() -> str:
    """Return a digest of what the library is made of."""
    folder, found = Path(__file__).parent, sha256()
    for path in (*sorted(folder.rglob("*.py")), folder / "signatures.txt"):
        found.update(path.read_bytes())
    return found.hexdigest()


def _library() -> dict[str, Function]:
    """Return the compiled kernels by name; none if there are none of this source, or others are requested."""
    if ROAD in ("jit", "plain"):
        return {}
    try:
        library: Any = import_module("rankloom._kernels.library")
    except ImportError:
        library = None
    if library and library.digest != digest():
        _warn(f"The kernels were changed after they were compiled; {COMPILE}.")
        library = None
    found: dict[str, Function] = library.load(ROAD, np.ndarray, RankloomError, OutOfMemoryError) if library else {}
    if ROAD and not found:
        raise InputError(f"RANKLOOM_KERNELS is {ROAD}, for which no kernels are compiled; {COMPILE}.")
    return found


@cache  # once
def _warn(message: str) -> None:
    warnings.warn(RankloomWarning(message), stacklevel=2)


if ROAD not in ROADS:
    raise InputError(f"RANKLOOM_KERNELS must be one of {', '.join(ROADS[1:])}; got {ROAD!r}.")
if ROAD == "jit":
    with needs_extra("RANKLOOM_KERNELS=jit", "numba", "jit"):
        import_module("numba")
LIBRARY = _library()
HAS_NUMBA = ROAD != "plain" and find_spec("numba") is not None
IS_PLAIN = not LIBRARY and not HAS_NUMBA
SLOW = "which is slow; pip install 'rankloom[jit]' compiles on first use."
if IS_PLAIN and ROAD != "plain":
    _warn(f"No kernels are compiled for this platform: they are interpreted, {SLOW}")


class Kernel:
    """A function of numbers, arrays and tuples of arrays."""

    def __init__(self, function: Function, **options: object) -> None:
        self.py_func, self.targetoptions = function, options  # numba looks for these names
        self.compiled = LIBRARY.get(name_of(function))
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        result = self.compiled(*arguments) if self.compiled else NotImplemented
        return self._not_in_library(arguments) if result is NotImplemented else result

    def _not_in_library(self, arguments: tuple[Any, ...]) -> Any:
        if ROAD in LEVELS:
            name = name_of(self.py_func)
            raise InputError(f"The kernel {name} is not compiled for {signature(arguments)}; {COMPILE}.")
        if HAS_NUMBA:
            return self.dispatcher(*arguments)
        _warn(f"The kernel {name_of(self.py_func)} is interpreted for {signature(arguments)}, {SLOW}")
        return self.py_func(*arguments)

    @cached_property
    def dispatcher(self) -> Any:
        """The function compiled by numba."""
        from numba import njit

        return njit(cache=True, nogil=True, no_cfunc_wrapper=True, **self.targetoptions)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        """What the name of a kernel means in other kernels."""
        from numba import types

        return types.Dispatcher(self.dispatcher)


class Helper(Kernel):
    """A function that only kernels call: numba makes no code for Python to call it."""

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)  # in a kernel that is interpreted


def kernel(function: Function) -> Function:
    """Compile what Python calls."""
    if IS_PLAIN:
        return recording(function) if IS_RECORDING else function
    return Kernel(function)


def helper(function: Function) -> Function:
    """Compile what only kernels call."""
    return function if IS_PLAIN else Helper(function, no_cpython_wrapper=True)


def inner(function: Function) -> Function:
    """Compile inner loops, which neither allocate nor count references to arrays that they take out of named tuples."""
    return function if IS_PLAIN else Helper(function, no_cpython_wrapper=True, _nrt=False)


def inlined(function: Function) -> Function:
    """Make a function part of each kernel that calls it, before types are inferred."""
    return function if IS_PLAIN else Helper(function, inline="always")


class _Caller:
    """Calls a function of three numbers by its address, which is how compiled code is given one."""

    def __call__(self, function: Function, *sizes: float) -> Any:
        return function(*sizes)  # in a kernel that is interpreted

    @cached_property
    def _numba_type_(self) -> Any:
        from llvmlite import ir
        from numba import types
        from numba.core.registry import cpu_target
        from numba.extending import intrinsic

        @intrinsic
        def call(_context, _address, _common, _size, _other):
            def generate(_context, builder, _signature, arguments):
                double = ir.DoubleType()
                function = builder.inttoptr(arguments[0], ir.FunctionType(double, [double] * 3).as_pointer())
                return builder.call(function, arguments[1:])

            return types.float64(types.int64, types.float64, types.float64, types.float64), generate

        cpu_target.typing_context.refresh()  # which makes it known
        return cpu_target.typing_context.resolve_value_type(call)


call_by_address = _Caller()


@cache
def _compiled(function: Function) -> Any:
    """Compile a function of three numbers; what is cached here keeps its code at its address."""
    with needs_extra(f"A comparator of your own, {function.__name__!r},", "numba", "jit"):
        from numba import cfunc
        from numba.core.errors import NumbaError
    try:
        return cfunc("float64(float64, float64, float64)")(function)
    except NumbaError as error:
        reason = str(error).strip().splitlines()[-1]
        raise InputError(
            f"The comparator {function.__name__!r} must be plain arithmetic that numba compiles: {reason}"
        ) from None


def address_of(function: Function) -> Any:
    """Compile a function of three numbers and return its address; the function itself where kernels are interpreted."""
    return function if IS_PLAIN else _compiled(function).address
