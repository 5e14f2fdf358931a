"""Inner loops in numba: arrays in, arrays out. This file itself does not load numba."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

ZERO = np.float64(0)  # sums begin with it: with the JIT off, a plain 0.0 would add up in float32
ROUNDING = 1e-6  # weights that differ by less than this share are equal: they are stored in float32


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array made read-only: kernels are compiled once, for inputs that can't change."""
    array.flags.writeable = False
    return array
