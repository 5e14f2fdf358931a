import re
import xml.etree.ElementTree as ET

import pytest

from rankloom.report.plots import _ticks, bar_chart, difference_plot, heat_map, line_plot

SVG = "{http://www.w3.org/2000/svg}"
EVIL = '<script>"&'


def drawn(plot):
    return ET.fromstring(plot.standalone)


def texts(plot):
    return ["".join(text.itertext()) for text in drawn(plot).iter(f"{SVG}text")]


def test_heat_map_cells_have_numbers_and_stronger_color_for_larger_values():
    plot = heat_map("m", "jaccard", ["a", "b"], [[1.0, 0.25], [-0.5, 1.0]])
    assert texts(plot) == ["a", "a", "b", "b", "1.00", "0.25", "−0.50", "1.00"]
    strengths = [float(one.get("fill-opacity")) for one in drawn(plot).iter(f"{SVG}rect") if one.get("fill-opacity")]
    assert strengths == [0.75, 0.21, 0.03, 0.75]


def test_series_differ_in_color_dash_and_marker():
    lines = {name: {2: 0.1, 4: 0.2} for name in "abc"}
    plot = line_plot("l", "t", "cutoff", "ndcg", lines)
    paths = [one for one in drawn(plot).iter(f"{SVG}path") if (one.get("class") or "").startswith("line")]
    assert len({(one.get("class"), one.get("stroke-dasharray")) for one in paths}) == 3
    shapes = re.findall(r'<g class="mark"><(\w+)', plot.body)
    assert set(shapes) == {"circle", "rect", "path"}


def test_x_axis_is_logarithmic():
    plot = line_plot("l", "t", "cutoff", "ndcg", {"a": {2: 0.1, 4: 0.2, 8: 0.3}})
    xs = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', plot.body)[-3:]]  # after the one of the legend
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1], abs=0.11)


def test_level_is_a_labeled_horizontal_line():
    plot = line_plot("l", "t", "cutoff", "ndcg", {"a": {2: 0.1}}, ("bic", 0.2))
    assert plot.body.count('class="level"') == 2  # in the plot and in the legend
    assert "bic" in texts(plot)


@pytest.mark.parametrize("points", [((5, 0.3),), ((5, 0.3), (10, 0.3)), ((1, 0.0), (100, 0.0))])
def test_a_single_point_or_a_constant_series_can_be_drawn(points):
    plot = line_plot("l", "t", "cutoff", "ndcg", {"a": dict(points)})
    assert "nan" not in plot.body
    assert "inf" not in plot.body


def test_bar_lengths_are_proportional_and_the_first_method_is_highlighted():
    plot = bar_chart("b", "t", [("rrf", 8), ("fg", 4), ("mra", 0)], "fg")
    bars = [one for one in drawn(plot).iter(f"{SVG}rect") if (one.get("class") or "").startswith("bar")]
    assert float(bars[0].get("width")) == pytest.approx(2 * float(bars[1].get("width")), abs=0.2)
    assert [one.get("class").split() for one in bars] == [["bar"], ["bar", "first"], ["bar"]]
    assert texts(plot) == ["rrf", "8", "fg", "4", "mra", "0"]


@pytest.mark.parametrize(
    "plot",
    [
        heat_map("m", EVIL, [EVIL, "b" * 99], [[1, 0], [0, 1]]),
        line_plot("l", EVIL, EVIL, EVIL, {EVIL: {1: 1}}, (EVIL, 1)),
        bar_chart("b", EVIL, [(EVIL, 1)], EVIL),
    ],
    ids=["heat map", "lines", "bars"],
)
def test_names_are_escaped_and_plots_have_a_title_and_a_description(plot):
    root = drawn(plot)
    assert not list(root.iter(f"{SVG}script"))
    assert "<script" not in plot.inline
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text == EVIL
    assert root.find(f"{SVG}desc").text


def test_long_names_are_shortened_with_the_full_name_in_a_tooltip():
    plot = bar_chart("b", "t", [("x" * 60, 1)], "")
    assert "x" * 23 + "…" in plot.body
    assert f"<title>{'x' * 60}</title>" in plot.body


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0.5, 0.5), (-0.2, 0.01), (3.1, 3.95), (0.6512, 0.6519), (0, 250)])
def test_ticks_are_few_increasing_and_enclose_the_range(low, high):
    ticks = _ticks(low, high)
    assert 2 <= len(ticks) <= 8
    assert ticks == sorted(set(ticks))
    assert ticks[0] <= low
    assert ticks[-1] >= high


def test_characters_not_allowed_in_xml_are_replaced():
    drawn = heat_map("x", "a\x01\x1b", ["b\x00", "😀"], [[1, 0], [0, 1]]).standalone
    text = "".join(ET.fromstring(drawn).itertext())
    assert "a��" in text
    assert "😀" in text


def test_round_numbers_keep_their_labels_where_labels_would_overlap():
    xs = (2, 4, 6, 8, 10, 12, 14, 16, 20, 30, 40, 60, 80, 100)
    plot = line_plot("l", "t", "cutoff", "ndcg", {"a": dict.fromkeys(xs, 0.5)})
    assert {"2", "10", "20", "100"} <= set(texts(plot.phone))
    assert "12" not in texts(plot.phone)


@pytest.mark.parametrize("draw", [line_plot, bar_chart])
def test_lines_and_bars_have_a_narrow_version_with_its_own_ids(draw):
    series = {"a": {2: 0.1, 4: 0.2}}
    plot = draw("p", "t", "x", "y", series) if draw is line_plot else draw("p", "t", [("a", 2.0), ("b", 1.0)], "a")
    assert plot.phone.width < plot.width / 2
    assert plot.inline.count("<svg") == 2
    ids = re.findall(r'id="([^"]+)"', plot.inline)
    assert len(set(ids)) == len(ids) == 4
    assert plot.standalone.count("<svg") == 1


def test_points_below_the_floor_are_left_out_and_the_line_enters_from_below():
    series = {"a": {1: 0.1, 10: 0.5, 100: 0.6}}
    plot = line_plot("p", "t", "x", "y", series, floor=0.5)
    assert plot.body.count("<title>a, ") == 2
    assert "0.1" not in texts(plot)
    line = re.search(r'<path class="line s0" d="M([^"]+)"', plot.body.split("</text>")[-1])[1]
    assert len(line.split("L")) == 3  # the entry, and two points


def test_differences_are_drawn_largest_first():
    plot = difference_plot("p", "t", "ndcg", [-0.5, 0.25, 0.0, 0.5])
    assert plot.description == "2 gains, from 0.5000; 1 losses, down to -0.5000."
    assert plot.body.count("Z") == 2  # an outline of gains and one of losses


@pytest.mark.parametrize("n", [2, 7, 30])
def test_heat_maps_fit_a_phone(n):
    plot = heat_map("p", "t", [f"ranker-{i}" for i in range(n)], [[0.5] * n] * n)
    assert plot.phone.width <= 330


@pytest.mark.parametrize(("label", "n"), [("字" * 30, 5), ("ranker", 90)])
def test_heat_maps_that_do_not_fit_a_phone_are_wider(label, n):
    plot = heat_map("p", "t", [f"{label}-{i}" for i in range(n)], [[0.5] * n] * n).phone
    assert 'width="-' not in plot.body
    assert plot.width > 330
