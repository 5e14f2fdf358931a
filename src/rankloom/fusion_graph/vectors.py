"""Fusion graphs as sparse vectors, for engines that search those."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloom._kernels import frozen
from rankloom._kernels.fusion_graph.arguments import Graphs, Woven
from rankloom._kernels.index.arguments import SparseRows
from rankloom.ranks.arrays import Int32s, Int64s
from rankloom.ranks.lists import pointers
from rankloom.threads import Scratch

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def edge_columns(collection: Graphs, numbers: Int32s) -> tuple[Int64s, Int32s]:
    """Return the column of each entry of the woven matrix as an edge, and the edges by column: source and target.

    Edges are numbered after the vertices, by the numbers of source and target. An entry that leads from an item to
    itself is no edge: its column is -1.
    """
    n = len(numbers)
    sources = numbers[np.repeat(np.arange(n), np.diff(collection.ptr))]
    targets = numbers[collection.items]
    order = np.lexsort((targets, sources))
    order = order[sources[order] != targets[order]]
    columns = np.full(len(sources), -1, np.int64)
    columns[order] = n + np.arange(len(order))
    return frozen(columns), np.stack([sources[order], targets[order]], axis=1)


def graph_vectors(graphs: Graphs, collection: Graphs, numbers: Int32s, scratch: Scratch, *, edges: bool) -> csr_array:
    """Return graphs, woven with those of the items of a collection, as rows of a sparse matrix."""
    from scipy.sparse import csr_array

    from rankloom._kernels.fusion_graph.vectors import count_features, fill_features

    links = Woven(*collection[:-1])
    columns, known = edge_columns(collection, numbers) if edges else (frozen(np.empty(0, np.int64)), ())
    n_rows = len(graphs.ptr) - 1
    counts = np.zeros(n_rows, np.int64)
    scratch.run(
        lambda start, stop, slot: count_features(start, stop, graphs, links, edges, slot, counts),
        n_rows,
        "Counting features",
    )
    ptr = pointers(counts)
    out = SparseRows(ptr, np.empty(ptr[-1], np.int64), np.empty(ptr[-1]))
    by_item = numbers, columns
    scratch.run(
        lambda start, stop, slot: fill_features(start, stop, graphs, links, *by_item, slot, out),
        n_rows,
        "Filling vectors",
    )
    matrix = csr_array((out.values, out.items, ptr.copy()), shape=(n_rows, len(numbers) + len(known)))
    matrix.eliminate_zeros()  # the smallest weights, with graph_norm="minmax"
    matrix.sort_indices()
    return matrix
