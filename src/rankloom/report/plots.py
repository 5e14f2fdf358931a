"""Heat map, line plot and bar chart as deterministic SVG, without dependencies.

Colors are CSS classes: the page defines them for light and dark, a standalone file includes `STYLE`.
Series differ in color (Okabe and Ito's color-blind safe palette), dash and marker.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from math import ceil, floor, log, log10
from unicodedata import east_asian_width

FONT = 13
NARROW, WIDE = frozenset("ijlftr.,:;|!'()[] -"), frozenset("mwMW@%—")
MAX_LABEL = 24  # characters; the tooltip has the full name
CELL = 42  # side of a heat map cell
MIN_SIDE = 6  # of a cell on a phone; more of them make the plot wider than the screen
MIN_CELL = 25, 36  # side of a cell with a number, and of one with its leading zero
MIN_SCALE = 0.7  # below this the page scrolls a plot instead of shrinking it
WIDTH, PHONE_WIDTH = 720, 330  # of line plots and bar charts
MIN_AXIS, MIN_TICK = 60, 18  # widths of the axis of a rank diagram, and between numbers on it
LEFT, MARGIN = 64, 16  # of the x axis: its start, and the space after its end
DASHES = ("", "7 4", "2 3", "9 3 2 3")
SOFT = 'class="soft"'
COLORS = ("#0072b2", "#d55e00", "#009e73", "#aa4499", "#b07800", "#3a86b8", "#555555")

Scale = Callable[[float], float]  #: a value -> its pixel
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1c1e21}.paper{fill:#fff}.heat{fill:#0072b2}"
    ".axis{stroke:#80868e;fill:none}.grid{stroke:#dfe2e6}.level{stroke:#1c1e21;stroke-dasharray:5 5;fill:none}"
    ".group{stroke:#d55e00;stroke-width:4;fill:none}.gain{fill:#00704f}.loss{fill:#b03a00}"
    ".bar{fill:#9aa3ad}.bar.first{fill:#0072b2}.soft{fill:#555b63}.strong{font-weight:600}.line{fill:none;stroke-width:2}"
    + "".join(f".s{i}{{stroke:{c};color:{c}}}" for i, c in enumerate(COLORS))
    + ".mark{fill:currentColor;stroke:none}"
)


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot, without the enclosing svg element."""

    name: str  #: stem of its file: lowercase letters, digits and hyphens; unique on a page
    title: str
    description: str  #: alternative text
    width: float
    height: float
    body: str  #: SVG elements
    phone: Plot | None = None  #: the same plot for small screens

    @property
    def inline(self) -> str:
        """The plot as part of a page, in the colors of the page, which shows either this or the one for phones."""
        if self.phone is None:
            return self._framed("", self.body)
        return self._framed('class="wide" ', self.body) + "\n" + self.phone._framed('class="narrow" ', self.phone.body)

    def with_phone(self, draw: Callable[[str, int], Plot]) -> Plot:
        """Return the plot with its twin for phones, drawn for a name and a width; a twin itself has none."""
        return self if self.width == PHONE_WIDTH else replace(self, phone=draw(f"{self.name}-phone", PHONE_WIDTH))

    @property
    def min_width(self) -> int:
        """The smallest readable width in pixels."""
        return round(self.width * MIN_SCALE)

    @property
    def standalone(self) -> str:
        """The plot as an SVG file, dark on white."""
        body = f'<style>{STYLE}</style><rect class="paper" width="100%" height="100%"/>\n{self.body}'
        return self._framed('xmlns="http://www.w3.org/2000/svg" ', body) + "\n"

    def _framed(self, attributes: str, body: str) -> str:
        return (
            f'<svg {attributes}viewBox="0 0 {self.width:.0f} {self.height:.0f}" width="{self.width:.0f}" '
            f'height="{self.height:.0f}" role="img" aria-labelledby="{self.name}-t {self.name}-d">\n'
            f'<title id="{self.name}-t">{_escaped(self.title)}</title>\n'
            f'<desc id="{self.name}-d">{_escaped(self.description)}</desc>\n{body}\n</svg>'
        )


def heat_map(name: str, title: str, labels: Sequence[str], matrix: Sequence[Sequence[float]]) -> Plot:
    """Draw a square matrix with a number in each cell, from pale (0 and below) to strong (1).

    On a phone the columns are numbered, and small cells have no numbers of their own.
    """
    left = 16 + max(map(_width, labels))
    top = 14 + max(_width(label) for label in labels) * 0.72 + FONT * 0.7
    body = []
    for i, label in enumerate(labels):
        body.append(_text(left - 8, top + (i + 0.5) * CELL + 4.5, label, "end"))
        x, y = left + (i + 0.5) * CELL - 3, top - 8
        body.append(_text(x, y, label, "start", f'transform="rotate(-45 {x:.1f} {y:.1f})"'))
    body += _cells(labels, matrix, left, top, CELL)
    overhang = max(_width(label) * 0.72 - (len(labels) - i - 0.5) * CELL for i, label in enumerate(labels))
    side = len(labels) * CELL
    description = f"Matrix of {len(labels)} rankers with a number in each cell."
    shown = Plot(name, title, description, left + side + max(8, overhang + 12), top + side + 8, "\n".join(body))
    return replace(shown, phone=_phone_heat_map(replace(shown, name=f"{name}-phone"), labels, matrix))


def _phone_heat_map(wide: Plot, labels: Sequence[str], matrix: Sequence[Sequence[float]]) -> Plot:
    numbered = [f"{i} {label}" for i, label in enumerate(labels, 1)]  # long labels are cut at their end
    left = 12 + max(map(_width, numbered))
    cell = max(MIN_SIDE, min(CELL, (PHONE_WIDTH - left - 4) / len(labels)))
    body = []
    for i, label in enumerate(numbered):
        body.append(_text(left - 6, 26 + (i + 0.5) * cell, label, "end"))
        body.append(_text(left + (i + 0.5) * cell, 16, str(i + 1), "middle", SOFT))
    body += _cells(labels, matrix, left, 22, cell)
    width, height = max(PHONE_WIDTH, left + len(labels) * cell + 4), 26 + len(labels) * cell
    return replace(wide, width=width, height=height, body="\n".join(body))


def _cells(labels: Sequence[str], matrix: Sequence[Sequence[float]], left: float, top: float, side: float) -> list[str]:
    return [
        _cell(left + j * side, top + i * side, value, f"{labels[i]}, {labels[j]}", side)
        for i, row in enumerate(matrix)
        for j, value in enumerate(row)
    ]


def line_plot(
    name: str,
    title: str,
    x_label: str,
    y_label: str,
    lines: Mapping[str, Mapping[int, float]],
    level: tuple[str, float] | None = None,
    floor: float | None = None,
    width: int = WIDTH,
) -> Plot:
    """Draw lines, each y by increasing x, over a logarithmic x axis.

    `level` is the name and value of a dashed horizontal line. Points below `floor` are left out, so that the lines part
    above it.
    """
    names = [*lines, *([level[0]] if level else [])]
    legend, top = _legend(names, len(lines), width)
    bottom, right = top + 270, width - MARGIN
    xs = sorted({x for line in lines.values() for x in line})
    ys = [y for line in lines.values() for y in line.values() if floor is None or y >= floor]
    ys += [level[1]] if level else []
    steps = _ticks(min(ys), max(ys))
    across = _scale((log(xs[0]), log(xs[-1])), (LEFT + 16, right - 16))
    up = _scale((steps[0], steps[-1]), (bottom, top))
    body = [*legend, *_y_axis(steps, up, right, y_label), *_x_axis(xs, across, right, bottom, x_label)]
    if level:
        body.append(f'<path class="level" d="M{LEFT} {up(level[1]):.1f}H{right}"/>')
    lowest = bottom if floor is None else up(floor)
    for number, (label, line) in enumerate(lines.items()):
        points = [(across(log(x)), up(y), f"{x:g}: {y:.4f}") for x, y in line.items()]
        body += _line(number, label, points, lowest)
    description = f"{y_label} by {x_label} for {', '.join(names)}; the table below has the numbers."
    shown = Plot(name, title, description, width, bottom + 46, "\n".join(body))
    return shown.with_phone(lambda n, w: line_plot(n, title, x_label, y_label, lines, level, floor, w))


def difference_plot(name: str, title: str, label: str, differences: Sequence[float], width: int = WIDTH) -> Plot:
    """Draw the differences of all queries, largest first: gains above the axis, losses below it."""
    ordered = sorted(differences, reverse=True)
    steps = _ticks(min(ordered[-1], 0.0), max(ordered[0], 0.0))
    right, top, bottom = width - MARGIN, 12, 192
    up, across = _scale((steps[0], steps[-1]), (bottom, top)), _scale((0, len(ordered)), (LEFT, right))
    body = _y_axis(steps, up, right, label)
    for kind, part in (("gain", [max(gain, 0.0) for gain in ordered]), ("loss", [min(gain, 0.0) for gain in ordered])):
        body.append(f'<path class="{kind}" d="{_steps(part, across, up)}"/>')
    body.append(f'<path class="axis" d="M{LEFT} {up(0.0):.1f}H{right}"/>')
    body.append(_text((LEFT + right) / 2, bottom + 22, f"{len(ordered)} queries", "middle", SOFT))
    wins, losses = sum(gain > 0 for gain in ordered), sum(gain < 0 for gain in ordered)
    description = f"{wins} gains, from {ordered[0]:.4f}; {losses} losses, down to {ordered[-1]:.4f}."
    shown = Plot(name, title, description, width, bottom + 32, "\n".join(body))
    return shown.with_phone(lambda n, w: difference_plot(n, title, label, differences, w))


def _steps(values: Sequence[float], across: Scale, up: Scale) -> str:
    """Return the outline of a bar for each value, without a point where the height stays the same."""
    path, height = [f"M{across(0):.1f} {up(0.0):.1f}"], f"{up(0.0):.1f}"
    for i, value in enumerate(values):
        if f"{up(value):.1f}" != height:
            height = f"{up(value):.1f}"
            path.append(f"H{across(i):.1f}V{height}")
    return "".join([*path, f"H{across(len(values)):.1f}V{up(0.0):.1f}Z"])


def bar_chart(name: str, title: str, bars: Sequence[tuple[str, float]], first: str, width: int = WIDTH) -> Plot:
    """Draw horizontal bars, each with its number; the one labeled `first` is highlighted."""
    left = 16 + max(_width(label) for label, _ in bars)
    room = width - left - 56
    highest = max(max(value for _, value in bars), 1)
    body = []
    for i, (label, value) in enumerate(bars):
        y, strong = 8 + i * 26, "first" if label == first else ""
        weight = 'class="strong"' if strong else ""
        length = room * value / highest
        body.append(_text(left - 8, y + 15, label, "end", weight))
        body.append(
            f'<rect class="bar {strong}" x="{left:.1f}" y="{y}" width="{max(length, 1):.1f}" height="20" rx="2"/>'
        )
        body.append(_text(left + length + 6, y + 15, f"{value:g}", "start", weight))
    description = "; ".join(f"{label}: {value:g}" for label, value in bars)
    shown = Plot(name, title, description, width, 16 + len(bars) * 26, "\n".join(body))
    return shown.with_phone(lambda n, w: bar_chart(n, title, bars, first, w))


def rank_diagram(
    name: str,
    title: str,
    names: Sequence[str],
    ranks: Sequence[float],
    groups: Sequence[tuple[int, int]],
    distance: float,
    width: int = WIDTH,
) -> Plot:
    """Draw a critical-difference diagram (Demšar 2006): methods on an axis of mean ranks, best first.

    Bars join the methods of each group, given as the places of its first and last; `distance` is drawn above the axis.
    """
    shown = [f"{label} {rank:.2f}" for label, rank in zip(names, ranks, strict=True)]
    n, half = len(names), (len(names) + 1) // 2
    left, axis = min(max(map(_width, shown)) + 16, (width - MIN_AXIS) / 2), 64
    right = width - left
    across = _scale((1.0, float(n)), (left, right))
    step = ceil(MIN_TICK * (n - 1) / (right - left))  # between numbers on the axis
    body = [f'<path class="axis" d="M{left} {axis}H{right}"/>']
    for tick in range(1, n + 1):
        body.append(f'<path class="axis" d="M{across(tick):.1f} {axis}v-6"/>')
        body += [] if (tick - 1) % step else [_text(across(tick), axis - 12, str(tick), "middle", SOFT)]
    body.append(f'<path class="group" d="M{left} 28H{across(1 + distance):.1f}"/>')
    body.append(_text(left, 16, f"CD = {distance:.2f}", "start"))
    bars = axis + 12 + 9 * len(groups)
    for i, (first, last) in enumerate(groups):
        height = axis + 12 + 9 * i
        ends = across(ranks[first]) - 3, across(ranks[last]) + 3
        body.append(f'<path class="group" d="M{ends[0]:.1f} {height}H{ends[1]:.1f}"/>')
    for i, (label, rank) in enumerate(zip(shown, ranks, strict=True)):
        x, at_left = across(rank), i < half
        y = bars + 14 + 20 * (i if at_left else n - 1 - i)
        end, anchor = (left - 8, "end") if at_left else (right + 8, "start")
        body.append(f'<path class="axis" d="M{x:.1f} {axis}V{y - 4:.1f}H{end}"/>')
        body.append(_text(end + (-4 if at_left else 4), y, label, anchor))
    plot = Plot(name, title, f"Mean ranks: {'; '.join(shown)}", width, bars + 14 + 20 * half, "\n".join(body))
    return plot.with_phone(lambda n, w: rank_diagram(n, title, names, ranks, groups, distance, w))


def _cell(x: float, y: float, value: float, tooltip: str, side: float) -> str:
    strength = 0.03 + 0.72 * min(max(value, 0.0), 1.0)  # at most 0.75: dark and light text stay readable
    number = f"{value:.2f}".replace("-", "−")
    if side < MIN_CELL[1]:
        number = number.replace("0.", ".", 1) if value < 0.995 else "1"
    shown = _text(x + side / 2, y + side / 2 + 4.5, number, "middle") if side >= MIN_CELL[0] else ""
    return (
        f'<g><title>{_escaped(tooltip)}: {value:.4f}</title><rect class="heat" x="{x + 1:.1f}" y="{y + 1:.1f}" '
        f'width="{side - 2:.1f}" height="{side - 2:.1f}" rx="3" fill-opacity="{strength:.3f}"/>{shown}</g>'
    )


def _line(number: int, name: str, points: Sequence[tuple[float, float, str]], lowest: float) -> list[str]:
    shown = [point for point in points if point[1] <= lowest + 0.1]  # pixels are counted downward
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in [*_entry(points, lowest), *(point[:2] for point in shown)])
    body = [f'<path class="line s{number % len(COLORS)}" d="M{path}"{_dash(number)}/>'] if shown else []
    for x, y, value in shown:
        body.append(f"<g><title>{_escaped(name)}, {value}</title>{_marker(number, x, y)}</g>")
    return body


def _entry(points: Sequence[tuple[float, float, str]], lowest: float) -> list[tuple[float, float]]:
    """Return where a line that starts below the plot enters it; nothing if it starts inside."""
    for (x, y, _), (next_x, next_y, _) in pairwise(points):
        if y > lowest + 0.1 >= next_y:
            return [(x + (next_x - x) * (y - lowest) / (y - next_y), lowest)]
    return []


def _marker(number: int, x: float, y: float) -> str:
    """Return a circle, square, triangle, diamond or inverted triangle."""
    shapes = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"/>',
        f'<rect x="{x - 3.7:.1f}" y="{y - 3.7:.1f}" width="7.4" height="7.4"/>',
        f'<path d="M{x:.1f} {y - 5:.1f}l5 9h-10z"/>',
        f'<path d="M{x:.1f} {y - 5.5:.1f}l5.5 5.5l-5.5 5.5l-5.5 -5.5z"/>',
        f'<path d="M{x:.1f} {y + 5:.1f}l5 -9h-10z"/>',
    )
    return f'<g class="s{number % len(COLORS)}"><g class="mark">{shapes[number % len(shapes)]}</g></g>'


def _legend(names: Sequence[str], n_series: int, width: int) -> tuple[list[str], float]:
    """Return a legend wrapped to the plot width, and its bottom; names after the series are levels."""
    body, x, y = [], float(LEFT), 18
    for number, name in enumerate(names):
        if x > LEFT and x + 40 + _width(name) > width:
            x, y = float(LEFT), y + 22
        series = number < n_series
        kind = f"line s{number % len(COLORS)}" if series else "level"
        body.append(f'<path class="{kind}" d="M{x:.1f} {y - 4.5:.1f}h32"{_dash(number) if series else ""}/>')
        body += [_marker(number, x + 16, y - 4.5)] if series else []
        body.append(_text(x + 40, y, name, "start"))
        x += 64 + _width(name)
    return body, y + 24


def _y_axis(steps: Sequence[float], up: Scale, right: int, label: str) -> list[str]:
    digits = max(0, -floor(log10(steps[1] - steps[0]) + 1e-9))
    middle = up((steps[0] + steps[-1]) / 2)
    body = [_text(16, middle, label, "middle", f'class="soft" transform="rotate(-90 16 {middle:.1f})"')]
    for step in steps:
        body.append(f'<path class="grid" d="M{LEFT} {up(step):.1f}H{right}"/>')
        body.append(_text(LEFT - 8, up(step) + 4.5, f"{step:.{digits}f}".replace("-", "−"), "end", SOFT))
    return body


def _x_axis(xs: Sequence[float], across: Scale, right: int, bottom: float, label: str) -> list[str]:
    """Return the axis with a tick for each value, without labels that would overlap; round numbers keep theirs."""
    body = [f'<path class="axis" d="M{LEFT} {bottom:.1f}H{right}"/>']
    body.append(_text((LEFT + right) / 2, bottom + 38, label, "middle", SOFT))
    labeled: list[float] = []
    for value in sorted(xs, key=_roundness):
        x = across(log(value))
        body.append(f'<path class="axis" d="M{x:.1f} {bottom:.1f}v5"/>')
        if all(abs(x - other) >= 28 for other in labeled):
            body.append(_text(x, bottom + 20, f"{value:g}", "middle", SOFT))
            labeled.append(x)
    return body


def _roundness(value: float) -> tuple[int, float]:
    """Return a sort key that puts 1, 10 and 100 first, then 2, 5, 20 and 50, then the rest."""
    digits = f"{value:g}".rstrip("0")
    return (0 if digits == "1" else 1 if digits in ("2", "5") else 2), value


def _scale(values: tuple[float, float], pixels: tuple[float, float]) -> Scale:
    """Return a linear map from a range of values to a range of pixels; a single value maps to the middle."""
    (start, end), (first, last) = values, pixels

    def scale(value: float) -> float:
        fraction = (value - start) / (end - start) if end > start else 0.5
        return first + fraction * (last - first)

    return scale


def _ticks(low: float, high: float) -> list[float]:
    """Return evenly spaced round numbers that enclose the range.

    Examples
    --------
    >>> _ticks(0.61, 0.66)
    [0.61, 0.62, 0.63, 0.64, 0.65, 0.66]
    """
    span = max(high - low, 1e-3)
    power = 10.0 ** floor(log10(span / 5))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor * 5 >= span * 0.999)
    first = floor(low / step + 1e-9)
    last = max(ceil(high / step - 1e-9), first + 1)
    digits = max(0, ceil(-log10(step)) + 1)
    return [round(number * step, digits) for number in range(first, last + 1)]


def _dash(number: int) -> str:
    dash = DASHES[number % len(DASHES)]
    return f' stroke-dasharray="{dash}"' if dash else ""


def _escaped(text: str) -> str:
    """Return text escaped for XML; characters that XML does not allow become U+FFFD."""
    return escape(NOT_XML.sub("\ufffd", text))


def _short(text: str) -> str:
    return text if len(text) <= MAX_LABEL else text[: MAX_LABEL - 1] + "…"


def _width(text: str) -> float:
    """Return the approximate width of a label, erring on the wide side, because fonts differ."""
    return FONT * sum(map(_char_width, _short(text)))


def _char_width(char: str) -> float:
    """Return the width of a character relative to the font size."""
    if char in NARROW:
        return 0.42
    if char in WIDE or east_asian_width(char) in "WF":
        return 1.0
    return 0.75 if char.isupper() else 0.62


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    tip = f"<title>{_escaped(text)}</title>" if _short(text) != text else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{tip}{_escaped(_short(text))}</text>'
