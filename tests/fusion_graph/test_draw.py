import xml.etree.ElementTree as ElementTree
from functools import cache

import rankloom as rl

RANKS = rl.Ranks.from_dict({"<a>": ["<a>", "b", "c"], "b": ["b", "<a>"], "c": ["c", "b"]})


@cache
def graph():
    return rl.FusionIndex.build([RANKS]).graph("<a>")


def drawn(**options):
    return ElementTree.fromstring(graph().to_svg(**options))


def elements(svg, tag):
    return svg.findall(f"{{http://www.w3.org/2000/svg}}{tag}")


def test_every_vertex_and_edge_is_drawn():
    svg = drawn()
    assert len(elements(svg, "circle")) == len(graph().items) == 3
    assert len(elements(svg, "path")) == len(graph().sources)


def test_ids_are_escaped():
    assert any("<a> 1.00" in (text.text or "") for text in elements(drawn(), "text"))


def test_images_are_drawn_in_vertices():
    images = elements(drawn(images={int(graph().items[0]): "data:image/png;base64,AA=="}), "image")
    assert [image.get("href") for image in images] == ["data:image/png;base64,AA=="]


def test_drawings_are_deterministic():
    assert graph().to_svg() == graph().to_svg()


def test_an_empty_graph_can_be_drawn():
    empty = rl.FusionIndex.build([rl.Ranks([[-1], [-1]], n_items=2)]).graph(0)
    assert len(elements(ElementTree.fromstring(empty.to_svg()), "circle")) == 0
