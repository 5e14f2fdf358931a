"""An explicit fusion graph: for inspection, export, and the explanation of similarities."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rankloom._kernels import ROUNDING
from rankloom.errors import needs_extra
from rankloom.fusion_graph.compare import COMPARATORS
from rankloom.fusion_graph.draw import to_svg
from rankloom.index.explanation import Explanation, Part
from rankloom.io.text_file import Plain
from rankloom.ranks.arrays import Array, Floats, Int32s

if TYPE_CHECKING:
    import networkx

#: How the weights of a graph are normalized.
GRAPH_NORMS = ("max", "minmax")


def normalized(raw: Floats, graph_norm: str) -> Floats:
    """Return the weights divided by the largest (`"max"`), or rescaled to [0, 1] (`"minmax"`).

    Under `"minmax"`, weights that are all equal are returned unchanged.

    Examples
    --------
    >>> normalized(np.array([1.0, 2.0]), "max"), normalized(np.array([1.0, 2.0]), "minmax")
    (array([0.5, 1. ]), array([0., 1.]))
    """
    low = raw.min(initial=np.inf) if graph_norm == "minmax" else 0.0
    high = raw.max(initial=0.0)
    return (raw - low) / (high - low) if high - low > ROUNDING * high else raw


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FusionGraph:
    """The weighted directed graph that describes an item or a query (Algorithm 1, Eq. 2 and 3).

    Attributes
    ----------
    id : str
        Id of the item or query that the graph describes.
    items : int32 array
        The vertices: item numbers, in the order of the lists.
    raw_vertices, vertices : float64 array
        Vertex weights before and after normalization.
    sources, targets : int32 array
        Source and target of each edge, as item numbers.
    raw_edges, edges : float64 array
        Edge weights before and after normalization.
    ids : mapping
        Ids of the items; an item without an id is shown by its number.
    """

    id: str
    items: Int32s
    raw_vertices: Floats
    sources: Int32s
    targets: Int32s
    raw_edges: Floats
    graph_norm: str = "max"
    ids: Mapping[int, str] = field(default_factory=dict)

    @property
    def vertices(self) -> Floats:
        """Normalized vertex weights, in [0, 1] (except equal weights under `minmax`, which are left unchanged)."""
        return normalized(self.raw_vertices, self.graph_norm)

    @property
    def edges(self) -> Floats:
        """Normalized edge weights, in [0, 1] (except equal weights under `minmax`, which are left unchanged)."""
        return normalized(self.raw_edges, self.graph_norm)

    @property
    def size(self) -> float:
        """The sum of all vertex and edge weights, |G|."""
        return float(self.vertices.sum() + self.edges.sum())

    def __repr__(self) -> str:
        return f"FusionGraph({self.id!r}, {len(self.items)} vertices, {len(self.sources)} edges, size {self.size:.4g})"

    def _repr_html_(self) -> str:
        """Return the drawing for notebooks."""
        return f'<div style="max-width: 40em">{self.to_svg()}</div>'

    def label(self, item: int) -> str:
        """Return the id of a vertex, or its number if it has none."""
        return self.ids.get(item, str(item))

    def to_networkx(self) -> networkx.DiGraph:
        """Return a `networkx.DiGraph`; nodes and edges have `weight` and `raw`, nodes also `label`."""
        with needs_extra("to_networkx()", "networkx", "graph"):
            import networkx
        graph, parts = networkx.DiGraph(name=self.id), self.to_dict()
        graph.add_nodes_from((vertex.pop("item"), vertex) for vertex in parts["vertices"])
        graph.add_edges_from((edge.pop("source"), edge.pop("target"), edge) for edge in parts["edges"])
        return graph

    def to_dict(self) -> Plain:
        """Return the graph as plain data, as `to_json` writes it."""
        labels = list(map(self.label, self.items.tolist()))
        return {
            "id": self.id,
            "graph_norm": self.graph_norm,
            "size": self.size,
            "vertices": _rows(item=self.items, label=labels, raw=self.raw_vertices, weight=self.vertices),
            "edges": _rows(source=self.sources, target=self.targets, raw=self.raw_edges, weight=self.edges),
        }

    def to_svg(self, *, images: Mapping[int, str] | None = None) -> str:
        """Return the graph as an SVG drawing; area and line width show the weights.

        Parameters
        ----------
        images : mapping of item number to URL, optional
            Images to draw in the vertices; with `data:` URLs the drawing is self-contained.
        """
        return to_svg(self.to_dict(), images=images)

    def to_json(self) -> str:
        """Return the graph as JSON."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False)

    def to_dot(self) -> str:
        """Return the graph in the DOT language of Graphviz."""
        graph = self.to_dict()
        nodes = [f"  {v['item']} [label={_quoted(v['label'])}, weight={v['weight']:.6g}];" for v in graph["vertices"]]
        edges = [
            f"  {e['source']} -> {e['target']} [weight={e['weight']:.6g}, penwidth={0.2 + 2 * e['weight']:.3g}];"
            for e in graph["edges"]
        ]
        return "\n".join([f"digraph {_quoted(self.id)} {{", *nodes, *edges, "}"]) + "\n"


def _rows(**columns: Array | list[str]) -> list[Plain]:
    """Return a table, given by its columns, as rows of plain values."""
    values = [column if isinstance(column, list) else column.tolist() for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def explain(query: FusionGraph, item: FusionGraph, comparator: str) -> Explanation:
    """Return the shared vertices and edges of two graphs and the contribution of each to their similarity.

    A part contributes the smaller of its two weights, scaled so that the contributions sum to the similarity.
    """
    mine, other = _weights(query), _weights(item)
    shared = [(*ends, weight, other[ends]) for ends, weight in mine.items() if ends in other]
    common = sum(min(a, b) for _, _, a, b in shared)
    similarity = COMPARATORS[comparator].similarity(common, query.size, item.size)
    unit = similarity / common if common else 0.0
    parts = []
    for source, target, a, b in shared:
        if source == target:
            parts.append(Part("vertex", source, source, query.label(source), a, b, min(a, b) * unit))
        else:
            label = f"{query.label(source)} -> {query.label(target)}"
            parts.append(Part("edge", source, target, label, a, b, min(a, b) * unit))
    parts.sort(key=lambda part: -part.contribution)
    return Explanation(query.id, item.id, comparator, similarity, tuple(parts))


def _weights(graph: FusionGraph) -> dict[tuple[int, int], float]:
    """Return the weights by (source, target); as there are no self-loops, a vertex is keyed (item, item)."""
    vertices = graph.items.tolist()
    ends = [*zip(vertices, vertices, strict=True), *zip(graph.sources.tolist(), graph.targets.tolist(), strict=True)]
    return dict(zip(ends, [*graph.vertices.tolist(), *graph.edges.tolist()], strict=True))
