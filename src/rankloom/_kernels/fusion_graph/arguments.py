"""What the kernels of fusion graphs are called with."""

from typing import Any, NamedTuple

import numpy as np

# Columns of `norms`: weight = (raw - low) * scale, for vertices and for edges, and the size |G|.
V_LOW, V_SCALE, E_LOW, E_SCALE, SIZE = range(5)
WGU, MCS, OTHER = range(3)  # kinds of comparators: two are inlined, which saves a tenth of the time


class Woven(NamedTuple):
    """Rows of the matrices W (vertex weights) and P (sums of 1 / position), in one CSR pattern."""

    ptr: np.ndarray
    items: np.ndarray
    W: np.ndarray
    P: np.ndarray


class Graphs(NamedTuple):
    """Woven graphs, and the norms and the size of each."""

    ptr: np.ndarray
    items: np.ndarray
    W: np.ndarray
    P: np.ndarray
    norms: np.ndarray


class LinkedGraphs(NamedTuple):
    """Graphs of queries, and the rows of W of their members: that of the member in entry e is row `sources[e]`."""

    graphs: Graphs
    links: Woven


class Comparator(NamedTuple):
    """How two graphs compare: whether weights are normalized by `minmax`, and the kind of comparator.

    `similarity` and `bound` are the addresses of functions if the kind is OTHER, or the functions themselves where
    kernels are interpreted.
    """

    minmax: bool
    kind: int
    similarity: Any
    bound: Any
