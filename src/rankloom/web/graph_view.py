"""Two fusion graphs side by side with the common part highlighted: SVG in the page's colors."""

from collections.abc import Callable
from html import escape
from math import pi
from typing import NamedTuple

from rankloom.fusion_graph.draw import Point, bent_path, image_at, on_ring
from rankloom.fusion_graph.graph import FusionGraph
from rankloom.index import Explanation
from rankloom.web.queries import Values

SIDE = 460
RING = 200  # radius of the circle of vertices
MAX_EDGES = 300  # of each graph: common ones first, then the heaviest; the rest would be too faint to see
MIN_RADIUS, MAX_RADIUS = 9, 24  # of a vertex

#: Item number -> URL of its image, or None.
ImageUrl = Callable[[int], str | None]
#: Item number -> title.
Title = Callable[[int], str]
Edge = tuple[int, int]


class Drawing(NamedTuple):
    """The SVG of a graph, and how many edges it omits."""

    svg: str
    n_omitted: int


def draw_pair(
    query: FusionGraph,
    item: FusionGraph,
    why: Explanation,
    *,
    titles: tuple[str, str],
    title: Title,
    image_url: ImageUrl,
) -> tuple[Drawing, Drawing]:
    """Draw the graphs of a query and an item, whose titles are given: SVG without colors of its own.

    The items of both graphs are arranged on one circle by number, so that redrawing with other settings moves as
    little as possible. Common vertices and edges have the class ``common``.
    """
    points = on_ring(sorted({*query.items.tolist(), *item.items.tolist()}), SIDE, RING)
    common = {(part.source, part.target) for part in why.parts}
    drawn = [(part.source, part.target) for part in why.parts if part.source != part.target][:MAX_EDGES]
    drawer = _Drawer(points, common, frozenset(drawn), title, image_url)
    return drawer.draw(query, titles[0]), drawer.draw(item, titles[1])


class _Drawer(NamedTuple):
    """What both drawings share; `drawn` are the common edges to draw."""

    points: dict[int, Point]
    common: set[Edge]
    drawn: frozenset[Edge]
    title: Title
    image_url: ImageUrl

    def draw(self, graph: FusionGraph, title: str) -> Drawing:
        values = graph.to_dict()
        edges = self._select(values["edges"])
        scale = min(1.0, 1.3 * pi * RING / (MAX_RADIUS * max(len(self.points), 1)))  # smaller if there are many
        radius = {
            v["item"]: scale * (MIN_RADIUS + (MAX_RADIUS - MIN_RADIUS) * min(v["weight"], 1.0) ** 0.5)
            for v in values["vertices"]
        }
        lines = (_edge(e, self.points, radius[e["target"]], _ends(e) in self.common) for e in edges)
        circles = (self._vertex(v["item"], v["weight"], radius[v["item"]]) for v in values["vertices"])
        label = escape(self._label(title, list(radius), values["edges"]))
        head = f'<svg class="graph" viewBox="0 0 {SIDE} {SIDE}" role="img" aria-label="{label}">'
        return Drawing("\n".join([head, *lines, *circles, "</svg>"]), len(values["edges"]) - len(edges))

    def _select(self, edges: list[Values]) -> list[Values]:
        """Return the edges to draw, common ones last and so on top."""
        rest = sorted((e for e in edges if _ends(e) not in self.common), key=lambda e: -e["weight"])
        common = sorted((e for e in edges if _ends(e) in self.drawn), key=lambda e: e["weight"])
        return [*reversed(rest[: MAX_EDGES - len(common)]), *common]

    def _label(self, title: str, items: list[int], edges: list[Values]) -> str:
        shared = sum((item, item) in self.common for item in items)
        return (
            f"Fusion graph of {title}: {len(items)} vertices, {shared} in common; "
            f"{len(edges)} edges, {sum(_ends(e) in self.common for e in edges)} in common."
        )

    def _vertex(self, number: int, weight: float, radius: float) -> str:
        x, y = self.points[number]
        title, image = self.title(number), self.image_url(number)
        inside = (
            f'<text x="{x:.1f}" y="{y + 3.5:.1f}">{escape(_short(title))}</text>'
            if image is None
            else image_at((x, y), radius * 1.3, image)
        )
        return (
            f'<g class="{"vertex common" if (number, number) in self.common else "vertex"}" data-item="{number}">'
            f"<title>{escape(title)}, weight {weight:.3f}</title>"
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>{inside}</g>'
        )


def _ends(edge: Values) -> Edge:
    return edge["source"], edge["target"]


def _edge(edge: dict[str, float], points: dict[int, Point], gap: float, common: bool) -> str:
    weight = min(edge["weight"], 1.0)
    path = bent_path(points[int(edge["source"])], points[int(edge["target"])], gap)
    return (
        f'<path class="{"edge common" if common else "edge"}" d="{path}" '
        f'stroke-width="{0.5 + 2.5 * weight:.2f}" stroke-opacity="{0.15 + 0.85 * weight:.2f}"/>'
    )


def _short(title: str) -> str:
    """Return a title about as wide as a vertex; of a path, the last part."""
    end = title.rstrip("/").rpartition("/")[2]
    return end if len(end) <= 8 else f"{end[:7]}…"
