"""The types of arrays, by the type of their elements, and what pads them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Uint32s = NDArray[np.uint32]
Indexes = NDArray[np.intp]
Numbers = NDArray[np.integer]  # of items, in any type
Float32s = NDArray[np.float32]
Floats = NDArray[np.float64]

PAD = -1  # fills a row of items after its last one
