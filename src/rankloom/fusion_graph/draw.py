"""Drawings of fusion graphs as SVG: no dependency, and deterministic.

`to_svg` draws one graph, for a file; the web page draws two side by side with the same helpers.
"""

from collections.abc import Iterable, Mapping
from html import escape
from math import cos, pi, sin

from rankloom.io.text_file import Plain

Point = tuple[float, float]

SIDE = 640
RING = 250  # radius of the circle of vertices
MIN_RADIUS, MAX_RADIUS = 10, 34  # of a vertex

#: Readable on white, in print, and by the color-blind.
INK, EDGE, VERTEX = "#222222", "#0072b2", "#e69f00"


def on_ring(items: Iterable[int], side: float, radius: float) -> dict[int, Point]:
    """Return the points of items on a circle: the first at the top, then clockwise."""
    order = list(items)
    angles = {item: 2 * pi * i / len(order) - pi / 2 for i, item in enumerate(order)}
    return {item: (side / 2 + radius * cos(angle), side / 2 + radius * sin(angle)) for item, angle in angles.items()}


def bent_path(start: Point, end: Point, gap: float) -> str:
    """Return the path of an edge up to the rim of its target, bent so that it does not cover the reverse edge."""
    (x1, y1), (x2, y2) = start, end
    length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5 or 1.0
    x2, y2 = x2 - (x2 - x1) * gap / length, y2 - (y2 - y1) * gap / length
    bend_x, bend_y = (x1 + x2) / 2 - (y2 - y1) * 0.12, (y1 + y2) / 2 + (x2 - x1) * 0.12
    return f"M{x1:.1f} {y1:.1f}Q{bend_x:.1f} {bend_y:.1f} {x2:.1f} {y2:.1f}"


def image_at(center: Point, side: float, url: str, style: str = "") -> str:
    """Return an image centered on a vertex."""
    x, y = center
    return (
        f'<image href="{escape(url)}" x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" '
        f'width="{side:.1f}" height="{side:.1f}"{style}/>'
    )


def to_svg(graph: Plain, *, images: Mapping[int, str] | None = None) -> str:
    """Draw `FusionGraph.to_dict`, vertices on a circle, clockwise by weight; weights are shown as area and opacity."""
    vertices = sorted(map(_capped, graph["vertices"]), key=lambda v: -v["weight"])
    edges = sorted(map(_capped, graph["edges"]), key=lambda e: e["weight"])  # heaviest last, so drawn on top
    point = on_ring((v["item"] for v in vertices), SIDE, RING)
    radius = {v["item"]: MIN_RADIUS + (MAX_RADIUS - MIN_RADIUS) * v["weight"] ** 0.5 for v in vertices}
    body = [_edge(bent_path(point[e["source"]], point[e["target"]], radius[e["target"]]), e["weight"]) for e in edges]
    for v in vertices:
        body += _vertex(v["label"], v["weight"], point[v["item"]], radius[v["item"]], (images or {}).get(v["item"]))
    title = f"Fusion graph of {graph['id']}: {len(vertices)} vertices, {len(edges)} edges"
    return "\n".join([_head(title), *body, "</svg>"]) + "\n"


def _capped(part: Plain) -> Plain:
    """Limit the weight of a vertex or an edge to 1: equal weights under `minmax` can be larger."""
    return {**part, "weight": min(part["weight"], 1.0)}


def _head(title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {SIDE + 30}" role="img" '
        f'font-family="sans-serif" fill="{INK}"><title>{escape(title)}</title>'
        f'<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" '
        f'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="{EDGE}"/></marker></defs>'
        f'<rect width="100%" height="100%" fill="white"/>'
        f'<text x="{SIDE / 2:g}" y="{SIDE + 6}" text-anchor="middle" font-size="15">{escape(title)}</text>'
        f'<text x="{SIDE / 2:g}" y="{SIDE + 24}" text-anchor="middle" font-size="11">'
        "circle area and the number below: vertex weight; line strength: edge weight</text>"
    )


def _edge(path: str, weight: float) -> str:
    return (
        f'<path d="{path}" fill="none" stroke="{EDGE}" stroke-width="{0.4 + 3 * weight:.2f}" '
        f'stroke-opacity="{0.12 + 0.88 * weight:.2f}" marker-end="url(#tip)"/>'
    )


def _vertex(label: str, weight: float, at: Point, radius: float, image: str | None) -> list[str]:
    x, y = at
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{VERTEX}" stroke="{INK}"/>'
    text = (
        f'<text x="{x:.1f}" y="{y + radius + 13:.1f}" text-anchor="middle" font-size="11">'
        f"{escape(label)} {weight:.2f}</text>"
    )
    if image is None:
        return [circle, text]
    return [circle, image_at(at, radius * 1.25, image, ' style="image-rendering:pixelated"'), text]
