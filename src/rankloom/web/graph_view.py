"""Two fusion graphs side by side, the common part lit: SVG whose colors are the page's, one place for each item."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from math import pi
from typing import Any, NamedTuple

from rankloom.fusion_graph.draw import Point, bent_path, image_at, on_ring
from rankloom.fusion_graph.graph import Explanation, FusionGraph

SIDE = 460
RING = 200  # radius of the circle that the vertices stand on
MAX_EDGES = 300  # of each graph: those in common first, then the heaviest; lighter ones could not be seen
MIN_RADIUS, MAX_RADIUS = 9, 24  # radius of a vertex

#: Number of an item -> the address of its picture, or None.
Address = Callable[[int], str | None]
#: Number of an item -> what it is called.
Title = Callable[[int], str]
Edge = tuple[int, int]


class Drawing(NamedTuple):
    """A graph drawn: the SVG, and how many edges are too light or too many to be in it."""

    svg: str
    n_left_out: int


def draw_pair(
    query: FusionGraph,
    item: FusionGraph,
    why: Explanation,
    *,
    names: tuple[str, str],
    title: Title,
    address: Address,
) -> tuple[Drawing, Drawing]:
    """Draw both graphs, items at the same places in both.

    The items of both together stand on a circle in the order of their numbers: what does not change the graphs does
    not move them, and what adds items leaves the others in order.

    Parameters
    ----------
    names : (str, str)
        What the query and the item are called.

    Returns
    -------
    (Drawing, Drawing)
        SVG for a page, without colors of its own: vertices and edges in common are of class ``lit``.
    """
    places = on_ring(sorted({*query.items.tolist(), *item.items.tolist()}), SIDE, RING)
    lit = {(part.source, part.target) for part in why.parts}
    first = [(part.source, part.target) for part in why.parts if part.source != part.target][:MAX_EDGES]
    drawer = _Drawer(places, lit, frozenset(first), title, address)
    return drawer.draw(query, names[0]), drawer.draw(item, names[1])


class _Drawer(NamedTuple):
    """What both drawings share: places, what is in common (`lit`) and which of its edges are drawn (`first`)."""

    places: dict[int, Point]
    lit: set[Edge]
    first: frozenset[Edge]
    title: Title
    address: Address

    def draw(self, graph: FusionGraph, name: str) -> Drawing:
        values = graph.to_dict()
        edges = self._chosen(values["edges"])
        room = min(1.0, 1.3 * pi * RING / (MAX_RADIUS * max(len(self.places), 1)))  # many are smaller, to overlap less
        radius = {
            v["item"]: room * (MIN_RADIUS + (MAX_RADIUS - MIN_RADIUS) * min(v["weight"], 1.0) ** 0.5)
            for v in values["vertices"]
        }
        lines = (_edge(e, self.places, radius[e["target"]], _ends(e) in self.lit) for e in edges)
        circles = (self._vertex(v["item"], v["weight"], radius[v["item"]]) for v in values["vertices"])
        svg = _svg(self._label(name, list(radius), values["edges"]), [*lines, *circles])
        return Drawing(svg, len(values["edges"]) - len(edges))

    def _chosen(self, edges: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the edges to draw, what is lit on top."""
        rest = sorted((e for e in edges if _ends(e) not in self.lit), key=lambda e: -e["weight"])
        common = sorted((e for e in edges if _ends(e) in self.first), key=lambda e: e["weight"])
        return [*reversed(rest[: MAX_EDGES - len(common)]), *common]

    def _label(self, name: str, items: list[int], edges: list[dict[str, Any]]) -> str:
        shared = sum((item, item) in self.lit for item in items)
        return (
            f"Fusion graph of {name}: {len(items)} vertices, {shared} of them in common; "
            f"{len(edges)} edges, {sum(_ends(e) in self.lit for e in edges)} in common."
        )

    def _vertex(self, number: int, weight: float, r: float) -> str:
        x, y = self.places[number]
        title, picture = self.title(number), self.address(number)
        inside = (
            f'<text x="{x:.1f}" y="{y + 3.5:.1f}">{escape(_short(title))}</text>'
            if picture is None
            else image_at((x, y), r * 1.3, picture)
        )
        return (
            f'<g class="{"vertex lit" if (number, number) in self.lit else "vertex"}" data-item="{number}">'
            f"<title>{escape(title)}, weight {weight:.3f}</title>"
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}"/>{inside}</g>'
        )


def _ends(edge: dict[str, Any]) -> Edge:
    return edge["source"], edge["target"]


def _svg(label: str, body: Iterable[str]) -> str:
    head = f'<svg class="graph" viewBox="0 0 {SIDE} {SIDE}" role="img" aria-label="{escape(label)}">'
    return "\n".join([head, *body, "</svg>"])


def _edge(edge: dict[str, float], places: dict[int, Point], gap: float, lit: bool) -> str:
    weight = min(edge["weight"], 1.0)
    path = bent_path(places[int(edge["source"])], places[int(edge["target"])], gap)
    return (
        f'<path class="{"edge lit" if lit else "edge"}" d="{path}" '
        f'stroke-width="{0.5 + 2.5 * weight:.2f}" stroke-opacity="{0.15 + 0.85 * weight:.2f}"/>'
    )


def _short(name: str) -> str:
    """Return a name that is about as broad as a vertex: of a path its end."""
    end = name.rstrip("/").rpartition("/")[2]
    return end if len(end) <= 8 else f"{end[:7]}…"
