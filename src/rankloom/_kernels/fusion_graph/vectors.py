"""Fusion graphs as rows of a sparse matrix: a column for each vertex, and one for each edge."""

import numpy as np

from rankloom._kernels.fusion_graph.graphs import E_LOW, E_SCALE, V_LOW, V_SCALE
from rankloom._kernels.jit import kernel


@kernel
def fill(slot, members, value):
    """Set the slots of all members to one value."""
    for member in members:
        slot[member] = value


@kernel
def count_features(start, stop, graphs, collection, edges, slot, counts):
    """Count the vertices of each graph, and its edges if `edges`; `slot` is scratch of zeros, cleared afterwards."""
    for q in range(start, stop):
        first, last = graphs.ptr[q], graphs.ptr[q + 1]
        counts[q] = last - first
        if not edges:
            continue
        fill(slot, graphs.items[first:last], 1)
        for entry in range(first, last):
            member = graphs.items[entry]
            for other in range(collection.ptr[member], collection.ptr[member + 1]):
                counts[q] += slot[collection.items[other]] != 0 and collection.items[other] != member
        fill(slot, graphs.items[first:last], 0)


@kernel
def fill_features(start, stop, graphs, norms, collection, numbers, edge_columns, slot, ptr, columns, values):
    """Fill the columns and weights of each graph: vertices by item number, edges by `edge_columns` if it has any."""
    for q in range(start, stop):
        first, last = graphs.ptr[q], graphs.ptr[q + 1]
        at = ptr[q]
        for entry in range(first, last):
            columns[at] = numbers[graphs.items[entry]]
            values[at] = (np.float64(graphs.W[entry]) - norms[q, V_LOW]) * norms[q, V_SCALE]
            at += 1
        if edge_columns.size == 0:
            continue
        fill(slot, graphs.items[first:last], 1)
        for entry in range(first, last):
            member = graphs.items[entry]
            for other in range(collection.ptr[member], collection.ptr[member + 1]):
                if slot[collection.items[other]] != 0 and collection.items[other] != member:
                    raw = np.float64(graphs.P[entry]) * np.float64(collection.W[other])
                    columns[at] = edge_columns[other]
                    values[at] = (raw - norms[q, E_LOW]) * norms[q, E_SCALE]
                    at += 1
        fill(slot, graphs.items[first:last], 0)
