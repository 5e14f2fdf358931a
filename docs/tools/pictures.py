"""The pictures of docs/fusion-graphs.md: how the fusion graph of an item comes about, drawn from a real index."""

from html import escape

import numpy as np

import rankloom as rl
from rankloom.fusion_graph import reposition
from rankloom.fusion_graph.draw import bent_path, on_ring

NAMES = list("ABCDEF")
FEATURES = {"color": [1.0, 1.6, 2.9, 4.5, 7.0, 9.0], "shape": [3.0, 4.5, 6.4, 1.4, 2.1, 1.9]}
CUTOFF = 3
COLORS = {"color": "#0072b2", "shape": "#d55e00"}  # of the rankers; told apart by the color-blind
INK, VERTEX = "#222222", "#f6e3b4"
SIDE, RING, RADIUS = 300, 98, 25
TITLE, LEGEND = 20, 72  # height above and below the drawing


def rankers():
    """Return the lists of the six items by two rankers."""
    return {
        name: rl.Ranks.from_vectors(np.array([values]).T, metric="l2", item_ids=NAMES, query_ids=NAMES)
        for name, values in FEATURES.items()
    }


def pictures():
    """Return the pictures by file name."""
    graph = rl.FusionIndex.build(rankers(), cutoff=CUTOFF).graph("A").to_dict()
    edges, labels = ranker_edges(), {v["item"]: v["label"] for v in graph["vertices"]}
    made = {"I": panel("I. Items of A's lists", graph, [])}
    for step, source in zip(("II", "III", "IV", "V"), labels, strict=True):
        own = [edge for edge in edges if edge[0] == source]
        made[step] = panel(f"{step}. {labels[source]}'s own lists", graph, own)
    whole = [(e["source"], e["target"], None, e["raw"]) for e in graph["edges"]]
    made["VI"] = panel("VI. Sums", graph, whole)
    scaled = {**graph, "vertices": [{**v, "raw": v["weight"]} for v in graph["vertices"]]}
    whole = [(e["source"], e["target"], None, e["weight"]) for e in graph["edges"]]
    made["VII"] = panel("VII. Divided by the largest", scaled, whole)
    return {f"fusion-graph-{step}.svg": svg for step, svg in made.items()}


def ranker_edges():
    """Return (source, target, ranker, weight) of the edges that each ranker contributes to the graph of A (Eq. 3)."""
    cut = {name: reposition(ranks).head(CUTOFF) for name, ranks in rankers().items()}
    vertices = {item for ranks in cut.values() for item in ranks.items[0].tolist()}
    score = np.linspace(1.0, 0.1, CUTOFF)
    weight = {a: sum(_reciprocal(ranks.items[0].tolist(), a) for ranks in cut.values()) for a in vertices}  # P
    return [
        (a, b, name, weight[a] * score[position])
        for name, ranks in cut.items()
        for a in vertices
        for position, b in enumerate(ranks.items[a].tolist())
        if b in vertices and b != a
    ]


def _reciprocal(items, item):
    return 1 / (items.index(item) + 1) if item in items else 0.0


def panel(title, graph, edges):
    """Return one step as SVG: the vertices with their weights, and some edges."""
    point = {
        item: (x, y + TITLE) for item, (x, y) in on_ring((v["item"] for v in graph["vertices"]), SIDE, RING).items()
    }
    largest = max((weight for *_, weight in edges), default=1.0)
    parts = [_edge(point, edge, largest) for edge in edges]
    parts += [_vertex(v, point[v["item"]]) for v in graph["vertices"]]
    rows = [_row(edge, graph, number) for number, edge in enumerate(edges)]
    height = TITLE + SIDE + LEGEND
    tips = "".join(_tip(color) for color in (*COLORS.values(), INK))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {height}" width="{SIDE}" height="{height}" '
        f'role="img" font-family="sans-serif" fill="{INK}"><title>{escape(title)}</title>'
        f'<defs>{tips}</defs><rect width="100%" height="100%" fill="white"/>'
        f'<text x="{SIDE / 2:g}" y="24" text-anchor="middle" font-size="15" font-weight="bold">{escape(title)}</text>'
    )
    return "\n".join([head, *parts, *rows, "</svg>"]) + "\n"


def _tip(color):
    return (
        f'<marker id="tip{color[1:]}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" '
        f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{color}"/></marker>'
    )


def _edge(point, edge, largest):
    source, target, ranker, weight = edge
    color = COLORS.get(ranker, INK)
    start, end = _aside(point[source], point[target], 9 if ranker == "shape" else 0)
    return (
        f'<path d="{bent_path(start, end, RADIUS + 2)}" fill="none" stroke="{color}" '
        f'stroke-width="{0.8 + 2.4 * weight / largest:.2f}" marker-end="url(#tip{color[1:]})"/>'
    )


def _aside(start, end, distance):
    """Return both ends moved sideways: two rankers may contribute to the same edge."""
    (x1, y1), (x2, y2) = start, end
    length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
    dx, dy = -(y2 - y1) / length * distance, (x2 - x1) / length * distance
    return (x1 + dx, y1 + dy), (x2 + dx, y2 + dy)


def _vertex(vertex, at):
    x, y = at
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}" fill="{VERTEX}" stroke="{INK}"/>'
        f'<text x="{x:.1f}" y="{y - 1:.1f}" text-anchor="middle" font-size="15" font-weight="bold">'
        f"{escape(vertex['label'])}</text>"
        f'<text x="{x:.1f}" y="{y + 14:.1f}" text-anchor="middle" font-size="12">{vertex["raw"]:.3g}</text>'
    )


def _row(edge, graph, number):
    """Return the weight of an edge, as a line below the drawing."""
    labels = {v["item"]: v["label"] for v in graph["vertices"]}
    source, target, ranker, weight = edge
    x, y = 14 + 145 * (number % 2), TITLE + SIDE + 8 + 19 * (number // 2)
    what = f" ({ranker})" if ranker else ""
    return (
        f'<text x="{x}" y="{y}" font-size="13" fill="{COLORS.get(ranker, INK)}">'
        f"{labels[source]} → {labels[target]} {weight:.3f}{what}</text>"
    )
