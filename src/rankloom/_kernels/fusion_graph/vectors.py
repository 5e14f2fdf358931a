"""Fusion graphs as rows of a sparse matrix: a column for each vertex, and one for each edge."""

import numpy as np

from rankloom._kernels.fusion_graph.arguments import E_LOW, E_SCALE, V_LOW, V_SCALE
from rankloom._kernels.jit import helper, kernel


@helper
def fill(slot, members, value):
    """Set the slots of all members to one value."""
    for member in members:
        slot[member] = value


@kernel
def count_features(start, stop, graphs, links, edges, slot, counts):
    """Count the vertices of each graph, and its edges if `edges`; `slot` is scratch of zeros, cleared afterwards.

    `links` has the rows of W of all items.
    """
    for q in range(start, stop):
        first, last = graphs.ptr[q], graphs.ptr[q + 1]
        counts[q] = last - first
        if not edges:
            continue
        fill(slot, graphs.items[first:last], 1)
        for entry in range(first, last):
            member = graphs.items[entry]
            for other in range(links.ptr[member], links.ptr[member + 1]):
                counts[q] += slot[links.items[other]] != 0 and links.items[other] != member
        fill(slot, graphs.items[first:last], 0)


@kernel
def fill_features(start, stop, graphs, links, vertex_columns, edge_columns, slot, out):
    """Fill the features of each graph: vertices by `vertex_columns`, edges by `edge_columns` if it has any."""
    norms, columns, values = graphs.norms, out.items, out.values
    for q in range(start, stop):
        first, last = graphs.ptr[q], graphs.ptr[q + 1]
        at = out.ptr[q]
        for entry in range(first, last):
            columns[at] = vertex_columns[graphs.items[entry]]
            values[at] = (np.float64(graphs.W[entry]) - norms[q, V_LOW]) * norms[q, V_SCALE]
            at += 1
        if edge_columns.size == 0:
            continue
        fill(slot, graphs.items[first:last], 1)
        for entry in range(first, last):
            member = graphs.items[entry]
            for other in range(links.ptr[member], links.ptr[member + 1]):
                if slot[links.items[other]] != 0 and links.items[other] != member:
                    raw = np.float64(graphs.P[entry]) * np.float64(links.W[other])
                    columns[at] = edge_columns[other]
                    values[at] = (raw - norms[q, E_LOW]) * norms[q, E_SCALE]
                    at += 1
        fill(slot, graphs.items[first:last], 0)
