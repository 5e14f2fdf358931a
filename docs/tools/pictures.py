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
SIDE, RING, LEGEND = 300, 92, 52


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
    point = on_ring((v["item"] for v in graph["vertices"]), SIDE, RING)
    radius = {v["item"]: 11 + 10 * min(v["raw"], 2) ** 0.5 for v in graph["vertices"]}
    largest = max((weight for *_, weight in edges), default=1.0)
    parts = [_edge(point, radius, edge, largest) for edge in edges]
    parts += [_vertex(v, point[v["item"]], radius[v["item"]], SIDE / 2) for v in graph["vertices"]]
    rows = [_row(edge, graph, number) for number, edge in enumerate(edges)] if len(edges) <= 4 else []
    tips = "".join(_tip(color) for color in (*COLORS.values(), INK))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {SIDE + LEGEND}" width="{SIDE}" '
        f'height="{SIDE + LEGEND}" role="img" font-family="sans-serif" fill="{INK}"><title>{escape(title)}</title>'
        f'<defs>{tips}</defs><rect width="100%" height="100%" fill="white"/>'
        f'<text x="{SIDE / 2:g}" y="22" text-anchor="middle" font-size="15" font-weight="bold">{escape(title)}</text>'
    )
    return "\n".join([head, *parts, *rows, "</svg>"]) + "\n"


def _tip(color):
    return (
        f'<marker id="tip{color[1:]}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" '
        f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{color}"/></marker>'
    )


def _edge(point, radius, edge, largest):
    source, target, ranker, weight = edge
    color = COLORS.get(ranker, INK)
    # two rankers may contribute to the same edge: the second one bends further out
    gap = radius[target] + (6 if ranker == "shape" else 0)
    start = point[source] if ranker != "shape" else (point[source][0] + 5, point[source][1] + 5)
    return (
        f'<path d="{bent_path(start, point[target], gap)}" fill="none" stroke="{color}" '
        f'stroke-width="{1 + 3 * weight / largest:.2f}" marker-end="url(#tip{color[1:]})"/>'
    )


def _vertex(vertex, at, radius, middle):
    x, y = at
    # the weight is outside of the ring, where no edge is
    beside = (x + (x - middle) * 0.52, y + (y - middle) * 0.4)
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{VERTEX}" stroke="{INK}"/>'
        f'<text x="{x:.1f}" y="{y + 5:.1f}" text-anchor="middle" font-size="15">{escape(vertex["label"])}</text>'
        f'<text x="{beside[0]:.1f}" y="{beside[1] + 4:.1f}" text-anchor="middle" font-size="13">'
        f"{vertex['raw']:.2f}</text>"
    )


def _row(edge, graph, number):
    labels = {v["item"]: v["label"] for v in graph["vertices"]}
    source, target, ranker, weight = edge
    x, y = 12 + 150 * (number % 2), SIDE + 14 + 20 * (number // 2)
    return (
        f'<text x="{x}" y="{y}" font-size="13" fill="{COLORS[ranker]}">'
        f"{labels[source]} → {labels[target]} {weight:.3f} ({ranker})</text>"
    )
