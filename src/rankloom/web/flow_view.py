"""The common part of a query and a result as SVG: from left to right, in the colors of the rankers.

Every neighbor that both share is a row; bands from the query to the neighbor and on to the result show what each
ranker contributed by it. Rows are links or can be focused, and have labels for screen readers.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import NamedTuple

from rankloom.fusion_graph.draw import image_at
from rankloom.web.queries import Values
from rankloom.web.shares import Shares

WIDTH, TOP = 400, 12  # about as wide as a phone, so that its text is readable there
PITCH = 64  # height of a row
END = 82  # width of the boxes of query and result
NODE, IMAGE = 146, 40  # width of a neighbor, and side of its image
BANDS = 56  # height of all bands together: no higher than a row
MIN_BAND = 1.0
LINE = 12  # height of a line of text
MAX_NEIGHBORS = 6  # rows; the rest is one more row


class Row(NamedTuple):
    """A row of the drawing: a neighbor, the votes of the rankers, or the rest."""

    title: str
    shares: Shares
    note: str = ""
    url: str | None = None
    image: str | None = None
    kind: str = "neighbor"


def draw_flow(flow: Values, query: Values, item: Values, classes: Mapping[str, str]) -> str:
    """Return the drawing of the flow in the data of a page; `classes` are the CSS classes of the rankers."""
    rows = list(_rows(flow, query, item))
    height = 2 * TOP + PITCH * max(len(rows), 3)
    center = height / 2
    unit = BANDS / (flow["score"] or 1.0)
    label = f"What {query['title']} and {item['title']} have in common: {flow['n_neighbors']} neighbors."
    out = [f'<svg class="flow" viewBox="0 0 {WIDTH} {height}" role="group" aria-label="{escape(label)}">']
    at = center - BANDS / 2
    for number, row in enumerate(rows):
        out.append(_row(row, TOP + PITCH * (number + 0.5), at, unit, flow["score"], classes))
        at += unit * sum(row.shares.values())
    out += [_end("query", query, 0, center), _end("result", item, WIDTH - END, center), "</svg>"]
    return "\n".join(out)


def _rows(flow: Values, query: Values, item: Values) -> Iterator[Row]:
    if flow["direct"]:
        yield Row("on the rankers' own lists", flow["direct"], kind="direct")
    ends = {query.get("number"): "the query itself", item.get("number"): "the result itself"}
    for neighbor in flow["neighbors"][:MAX_NEIGHBORS]:
        note = ends.get(neighbor["number"], "")
        yield Row(neighbor["title"], neighbor["shares"], note, neighbor["url"], neighbor["image"])
    if flow["n_neighbors"] > MAX_NEIGHBORS:
        yield Row(f"{flow['n_neighbors'] - MAX_NEIGHBORS} more neighbors", flow["rest"], kind="rest")


def _row(row: Row, middle: float, at: float, unit: float, score: float, classes: Mapping[str, str]) -> str:
    whole = sum(row.shares.values())
    percent = f"{100 * whole / (score or 1.0):.0f} %"
    split = ", ".join(f"{name} {share:.4f}" for name, share in row.shares.items())
    named = f"{row.title} ({row.note})" if row.note else row.title
    label = escape(f"{named}: {whole:.4f}, {percent} of the score. {split}.")
    bands = "".join(_bands(row, middle, at, unit, classes))
    inside = f"<title>{label}</title>{bands}{_node(row, middle, percent, unit * whole)}"
    if row.url is None:
        return f'<g class="share {row.kind}" tabindex="0" role="img" aria-label="{label}">{inside}</g>'
    return f'<a class="share {row.kind}" href="{escape(row.url)}" aria-label="{label}">{inside}</a>'


def _bands(row: Row, middle: float, at: float, unit: float, classes: Mapping[str, str]) -> Iterator[str]:
    level = middle - unit * sum(row.shares.values()) / 2
    for name, share in row.shares.items():
        width = unit * share
        start, end = at + width / 2, level + width / 2
        kind = classes.get(name, "all")
        for path in (
            _curve(END, start, (WIDTH - NODE) / 2, end),
            _curve((WIDTH + NODE) / 2, end, WIDTH - END, start),
        ):
            yield f'<path class="band {kind}" d="{path}" stroke-width="{max(width, MIN_BAND):.2f}"/>'
        at, level = at + width, level + width


def _curve(x1: float, y1: float, x2: float, y2: float) -> str:
    bend = (x1 + x2) / 2
    return f"M{x1:.1f} {y1:.1f}C{bend:.1f} {y1:.1f} {bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"


def _node(row: Row, middle: float, percent: str, bands: float) -> str:
    """Return the box of a row, at least as high as its bands; an image is to the left of the text."""
    left, room = (WIDTH - NODE) / 2, IMAGE + 4 if row.image else 0
    lines = [*_wrapped(row.title, 16 if row.image else 22, 2), *([row.note] if row.note else []), percent]
    height = max(LINE * len(lines) + 10, room + 4, bands)
    box = _box("node marked" if row.note else "node", left, middle - height / 2, NODE, height)
    image = image_at((left + 4 + IMAGE / 2, middle), IMAGE, row.image) if row.image else ""
    return box + image + _lines(lines, WIDTH / 2 + room / 2, middle)


def _end(role: str, shown: Values, x: float, center: float) -> str:
    """Return the box of the query or the result, marked as such."""
    middle, high = x + END / 2, END - 2
    head = f'<text class="role" x="{middle:.1f}" y="{center - high / 2 - 8:.1f}">{role}</text>'
    box = _box(f"end {role}", x + 1, center - high / 2, END - 2, high)
    if shown["image"]:
        below = _lines(_wrapped(shown["title"], 13, 3), middle, center + high / 2 + 22)
        return f'<g class="ends">{head}{box}{image_at((middle, center), END - 14, shown["image"])}{below}</g>'
    return f'<g class="ends">{head}{box}{_lines(_wrapped(shown["title"], 13, 6), middle, center)}</g>'


def _box(kind: str, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="6"/>'


def _lines(lines: Sequence[str], x: float, middle: float) -> str:
    first = middle - LINE * len(lines) / 2 + 9
    return "".join(
        f'<text x="{x:.1f}" y="{first + LINE * at:.1f}">{escape(line)}</text>' for at, line in enumerate(lines)
    )


def _wrapped(text: str, width: int, n_lines: int) -> list[str]:
    return wrap(text, width, max_lines=n_lines, placeholder="…") or [""]
