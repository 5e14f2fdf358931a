"""Fusion graphs as sparse vectors, for engines that search those."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloom._kernels import frozen
from rankloom.index.settings import Array
from rankloom.threads import Scratch, run_blocks

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from rankloom._kernels.fusion_graph.graphs import Woven


def edge_columns(collection: Woven, numbers: Array) -> tuple[Array, Array]:
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


def graph_vectors(
    graphs: Woven, norms: Array, collection: Woven, numbers: Array, columns: Array, n_edges: int, scratch: Scratch
) -> csr_array:
    """Return the graphs as rows of a sparse matrix; without columns of edges, their vertices alone."""
    from scipy.sparse import csr_array

    from rankloom._kernels.fusion_graph.vectors import count_features, fill_features

    n_rows = len(graphs.ptr) - 1
    counts = np.zeros(n_rows, np.int64)

    def count(start: int, stop: int) -> None:
        with scratch.borrowed() as slot:
            count_features(start, stop, graphs, collection, columns.size > 0, slot, counts)

    run_blocks(count, n_rows, stage="Counting features")
    ptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    indices, values = np.empty(ptr[-1], np.int64), np.empty(ptr[-1])

    def fill(start: int, stop: int) -> None:
        with scratch.borrowed() as slot:
            fill_features(start, stop, graphs, norms, collection, numbers, columns, slot, ptr, indices, values)

    run_blocks(fill, n_rows, stage="Filling vectors")
    matrix = csr_array((values, indices, ptr), shape=(n_rows, len(numbers) + n_edges))
    matrix.eliminate_zeros()  # the smallest weights, with graph_norm="minmax"
    matrix.sort_indices()
    return matrix
