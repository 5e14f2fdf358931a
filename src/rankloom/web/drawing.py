"""Two fusion graphs side by side, the common part lit: SVG whose colors are the page's, one place for each item."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from math import cos, pi, sin

from rankloom.graph import Explanation, FusionGraph

SIDE = 460
RING = 200  # radius of the circle that the vertices stand on
MOST_EDGES = 300  # the heaviest of each graph; lighter ones could not be seen
LEAST, LARGEST = 9, 24  # radius of a vertex

#: Number of an item -> the address of its picture, or None.
Address = Callable[[int], str | None]
Point = tuple[float, float]


def draw_pair(query: FusionGraph, item: FusionGraph, why: Explanation, address: Address) -> tuple[str, str]:
    """Draw both graphs, items at the same places in both.

    The items of both together stand on a circle in the order of their numbers: what does not change the graphs does
    not move them, and what adds items leaves the others in order.

    Returns
    -------
    (str, str)
        SVG for a page, without colors of its own: vertices and edges in common are of class ``lit``.
    """
    places = _places({*query.items.tolist(), *item.items.tolist()})
    lit = {(part.source, part.target) for part in why.parts}
    return _draw(query, places, lit, address), _draw(item, places, lit, address)


def _places(items: set[int]) -> dict[int, Point]:
    angles = {item: 2 * pi * place / len(items) - pi / 2 for place, item in enumerate(sorted(items))}
    return {item: (SIDE / 2 + RING * cos(angle), SIDE / 2 + RING * sin(angle)) for item, angle in angles.items()}


def _draw(graph: FusionGraph, places: dict[int, Point], lit: set[tuple[int, int]], address: Address) -> str:
    values = graph.to_dict()
    edges = sorted(values["edges"], key=lambda e: -e["weight"])[:MOST_EDGES]
    edges.sort(key=lambda e: ((e["source"], e["target"]) in lit, e["weight"]))  # what is lit comes on top
    room = min(1.0, 1.3 * pi * RING / (LARGEST * max(len(places), 1)))  # many are drawn smaller, to overlap less
    radius = {v["item"]: room * (LEAST + (LARGEST - LEAST) * min(v["weight"], 1.0) ** 0.5) for v in values["vertices"]}
    shared = sum((v, v) in lit for v in radius)
    label = (
        f"Fusion graph of {graph.name}: {len(radius)} vertices, {shared} of them in common; "
        f"{len(values['edges'])} edges, {sum((e['source'], e['target']) in lit for e in values['edges'])} in common."
    )
    lines = (_edge(e, places, radius[e["target"]], (e["source"], e["target"]) in lit) for e in edges)
    circles = (_vertex(v, places, radius, lit, address) for v in values["vertices"])
    return _svg(label, [*lines, *circles])


def _svg(label: str, body: Iterable[str]) -> str:
    head = f'<svg class="graph" viewBox="0 0 {SIDE} {SIDE}" role="img" aria-label="{escape(label)}">'
    return "\n".join([head, *body, "</svg>"])


def _edge(edge: dict[str, float], places: dict[int, Point], gap: float, lit: bool) -> str:
    """Draw an edge up to the rim of its target, bent a little so that the edge back does not cover it."""
    (x1, y1), (x2, y2) = places[int(edge["source"])], places[int(edge["target"])]
    length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5 or 1.0
    x2, y2 = x2 - (x2 - x1) * gap / length, y2 - (y2 - y1) * gap / length
    bend_x, bend_y = (x1 + x2) / 2 - (y2 - y1) * 0.12, (y1 + y2) / 2 + (x2 - x1) * 0.12
    weight = min(edge["weight"], 1.0)
    return (
        f'<path class="{"edge lit" if lit else "edge"}" d="M{x1:.1f} {y1:.1f}Q{bend_x:.1f} {bend_y:.1f} '
        f'{x2:.1f} {y2:.1f}" stroke-width="{0.5 + 2.5 * weight:.2f}" stroke-opacity="{0.15 + 0.85 * weight:.2f}"/>'
    )


def _vertex(
    vertex: dict[str, object],
    places: dict[int, Point],
    radius: dict[int, float],
    lit: set[tuple[int, int]],
    address: Address,
) -> str:
    number = int(str(vertex["item"]))
    (x, y), r = places[number], radius[number]
    picture, side = address(number), radius[number] * 1.3
    inside = (
        f'<text x="{x:.1f}" y="{y + 3.5:.1f}">{escape(_short(str(vertex["label"])))}</text>'
        if picture is None
        else f'<image href="{escape(picture)}" x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" '
        f'width="{side:.1f}" height="{side:.1f}"/>'
    )
    return (
        f'<g class="{"vertex lit" if (number, number) in lit else "vertex"}" data-item="{number}">'
        f"<title>{escape(str(vertex['label']))}, weight {vertex['weight']:.3f}</title>"
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}"/>{inside}</g>'
    )


def _short(name: str) -> str:
    """Return a name that is about as broad as a vertex: of a path its end."""
    end = name.rstrip("/").rpartition("/")[2]
    return end if len(end) <= 8 else f"{end[:7]}…"
