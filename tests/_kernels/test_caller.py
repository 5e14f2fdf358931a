"""Compiled code runs only with arguments of the types that it was compiled for."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rankloom._kernels import jit
from rankloom.errors import OutOfMemoryError, RankloomError

LINES = Path(jit.__file__).with_name("signatures.txt").read_text("utf-8").splitlines()
LEAF = re.compile(
    r"(?P<tuple>[\w.]*\()|(?P<end>\))|(?P<kind>\w)(?P<bytes>\d)(\[(?P<ndim>\d)\](?P<strided>s?)(?P<written>w?))?"
)
NAMES = "i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 b1 c8 U3 O >i4 >f8 M8[s]"
DTYPES = [np.dtype(name) for name in NAMES.split()]
OTHERS = [
    None,
    "x",
    b"bytes",
    2**70,
    -(2**70),
    1j,
    object(),
    [],
    {},
    (),
    ((((((((((1,),),),),),),),),),),
    np.array(None),
    type,
]

pytestmark = pytest.mark.skipif(not jit.LIBRARY, reason="the kernels are not compiled")


def values_of(types):
    """Return arguments of the types of a signature, the leaves among them as paths, and what each must be."""
    stack, leaves = [[]], []
    for token in LEAF.finditer(types):
        if token["tuple"] is not None:
            stack.append([])
        elif token["end"]:
            done = stack.pop()
            stack[-1].append(done)
        else:
            leaves.append(([*(len(part) for part in stack)], token))
            dtype = np.dtype(token["kind"] + token["bytes"])
            stack[-1].append(np.zeros((3,) * int(token["ndim"]), dtype) if token["ndim"] else dtype.type(0))
    return stack[0], leaves


def nested(value):
    return tuple(map(nested, value)) if isinstance(value, list) else value


def replaced(values, path, other):
    """Return the arguments with one of them replaced."""
    if not path:
        return other
    return [replaced(value, path[1:], other) if at == path[0] else value for at, value in enumerate(values)]


def wrong(random, token, alone):
    """Return a value that is not of a type, nor of that of another signature of the kernel."""
    if not alone:
        return OTHERS[random.integers(len(OTHERS))]
    dtype, ndim = np.dtype(token["kind"] + token["bytes"]), int(token["ndim"] or 0)
    others = [one for one in DTYPES if one != dtype]
    choice = random.integers(6)
    if choice == 0 and ndim and token["written"]:
        array = np.zeros((3,) * ndim, dtype)
        array.flags.writeable = False
        return array
    if choice == 1 and ndim and not token["strided"]:
        return np.zeros((3,) * (ndim - 1) + (6,), dtype)[..., ::2]
    if choice == 2:
        return np.zeros((2,) * (ndim + int(random.integers(1, 3))), dtype)
    if choice == 3 and ndim and dtype.itemsize > 1:  # not aligned
        return np.zeros(3**ndim * dtype.itemsize + 1, np.uint8)[1:].view(dtype).reshape((3,) * ndim)
    if choice == 4:
        return np.zeros((3,) * ndim, others[random.integers(len(others))])
    return OTHERS[random.integers(len(OTHERS))]


@pytest.mark.parametrize("n", [20, pytest.param(2000, marks=pytest.mark.long)])
def test_arguments_of_other_types_are_refused(n):
    random = np.random.default_rng(0)
    for line in LINES:
        name, _, types = line.partition(" ")
        alone = sum(other.startswith(f"{name} ") for other in LINES) == 1
        values, leaves = values_of(types)
        for _ in range(n):
            path, token = leaves[random.integers(len(leaves))]
            given = replaced(values, path, wrong(random, token, alone))
            assert jit.LIBRARY[name](*nested(given)) is NotImplemented, (line, path)
        assert jit.LIBRARY[name](*nested(values), 1) is NotImplemented
        assert jit.LIBRARY[name](*nested(values[1:])) is NotImplemented
        assert jit.LIBRARY[name]() is NotImplemented


def test_a_kernel_that_is_not_compiled_for_its_arguments_says_so():
    code = """if True:
        import numpy as np
        from rankloom._kernels.lists import visiting_order
        from rankloom.errors import InputError
        try:
            visiting_order(np.zeros((2, 2), np.float16), 2, None)
        except InputError as error:
            print(error)
    """
    said = {run(code, level).stdout for level in jit.LEVELS}
    assert "The kernel lists.visiting_order is not compiled for f2[2]w i8 O8; run 'make kernels'.\n" in said


def run(code, road):
    environment = {**os.environ, "RANKLOOM_KERNELS": road}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)


def test_too_little_memory_is_an_error_of_ours():
    lists, one, two = np.zeros((0, 2**45), np.int32), np.zeros(1, np.int32), np.zeros((0, 1), np.int32)
    back = (np.zeros(1, np.int64), np.zeros(1, np.uint32), one)
    with pytest.raises(OutOfMemoryError, match=r"not enough memory for the kernel lists\.reposition") as caught:
        jit.LIBRARY["lists.reposition"](0, 0, lists, one, one, back, np.zeros(1, np.uint32), two)
    assert isinstance(caught.value, RankloomError)


@pytest.mark.parametrize("road", ["v9", "base"])
def test_a_road_that_does_not_exist_is_an_error(road):
    said = run("import rankloom._kernels.jit", road)
    assert "InputError: RANKLOOM_KERNELS" in said.stderr
