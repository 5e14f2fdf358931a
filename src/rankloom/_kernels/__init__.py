"""Inner loops: arrays in, arrays out. `jit.py` says how they are compiled."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)

ZERO = np.float64(0)  # the start of sums: interpreted, sums that start with a plain 0.0 would be in float32
ROUNDING = 1e-6  # weights with a smaller relative difference count as equal: they are stored in float32


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only and return it: kernels are compiled once, for read-only inputs."""
    array.flags.writeable = False
    return array


def contiguous(array: NDArray[T]) -> NDArray[T]:
    """Return the array in C order and read-only, the form that the kernels are compiled for."""
    rows = np.ascontiguousarray(array).view()
    rows.flags.writeable = False
    return rows
