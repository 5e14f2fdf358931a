"""A fusion graph as a drawing: SVG text, no dependency, the same for the same graph."""

from collections.abc import Mapping
from html import escape
from math import cos, pi, sin

from rankloom.graph import FusionGraph

SIDE = 640
RING = 250  # radius of the circle that the vertices stand on
LARGEST = 34  # radius of the vertex of weight 1

#: Readable on white, in print and for the color-blind.
INK, EDGE, VERTEX = "#222222", "#0072b2", "#e69f00"


def to_svg(graph: FusionGraph, *, pictures: Mapping[int, str] | None = None) -> str:
    """Draw a graph: vertices on a circle, heaviest at the top and on clockwise; weight as area and as opacity.

    Parameters
    ----------
    graph : FusionGraph
    pictures : mapping of item number to address, optional
        Pictures to put into the vertices; a `data:` address keeps the drawing in one file.
    """
    values = graph.to_dict()
    for part in (*values["vertices"], *values["edges"]):
        part["weight"] = min(part["weight"], 1.0)  # equal weights under `minmax` can be larger
    vertices = sorted(values["vertices"], key=lambda v: -v["weight"])
    place = {v["item"]: _on_ring(i, len(vertices)) for i, v in enumerate(vertices)}
    radius = {v["item"]: 10 + (LARGEST - 10) * v["weight"] ** 0.5 for v in vertices}
    edges = sorted(values["edges"], key=lambda e: e["weight"])  # the heavy ones on top
    body = [_line(place[e["source"]], place[e["target"]], radius[e["target"]], e["weight"]) for e in edges]
    for v in vertices:
        body += _vertex(v["label"], v["weight"], place[v["item"]], radius[v["item"]], (pictures or {}).get(v["item"]))
    title = f"Fusion graph of {graph.name}: {len(vertices)} vertices, {len(edges)} edges"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {SIDE + 30}" role="img" '
        f'font-family="sans-serif" fill="{INK}"><title>{escape(title)}</title>'
        f'<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" '
        f'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="{EDGE}"/></marker></defs>'
        f'<rect width="100%" height="100%" fill="white"/>'
        f'<text x="{SIDE / 2:g}" y="{SIDE + 6}" text-anchor="middle" font-size="15">{escape(title)}</text>'
        f'<text x="{SIDE / 2:g}" y="{SIDE + 24}" text-anchor="middle" font-size="11">'
        "size of a circle, and the number below it: vertex weight; strength of a line: edge weight</text>"
    )
    return "\n".join([head, *body, "</svg>"]) + "\n"


def _on_ring(i: int, n: int) -> tuple[float, float]:
    angle = 2 * pi * i / max(n, 1) - pi / 2
    return SIDE / 2 + RING * cos(angle), SIDE / 2 + RING * sin(angle)


def _line(a: tuple[float, float], b: tuple[float, float], gap: float, weight: float) -> str:
    """Draw an edge, bent a little so that the edge back does not cover it, up to the rim of its target."""
    (x1, y1), (x2, y2) = a, b
    length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5 or 1.0
    x2, y2 = x2 - (x2 - x1) * gap / length, y2 - (y2 - y1) * gap / length
    bend_x, bend_y = (x1 + x2) / 2 - (y2 - y1) * 0.12, (y1 + y2) / 2 + (x2 - x1) * 0.12
    return (
        f'<path d="M{x1:.1f} {y1:.1f}Q{bend_x:.1f} {bend_y:.1f} {x2:.1f} {y2:.1f}" fill="none" stroke="{EDGE}" '
        f'stroke-width="{0.4 + 3 * weight:.2f}" stroke-opacity="{0.12 + 0.88 * weight:.2f}" marker-end="url(#tip)"/>'
    )


def _vertex(label: str, weight: float, at: tuple[float, float], radius: float, picture: str | None) -> list[str]:
    x, y = at
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{VERTEX}" stroke="{INK}"/>'
    text = (
        f'<text x="{x:.1f}" y="{y + radius + 13:.1f}" text-anchor="middle" font-size="11">'
        f"{escape(label)} {weight:.2f}</text>"
    )
    if picture is None:
        return [circle, text]
    side = radius * 1.25
    image = (
        f'<image href="{escape(picture)}" x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" '
        f'width="{side:.1f}" height="{side:.1f}" style="image-rendering:pixelated"/>'
    )
    return [circle, image, text]
