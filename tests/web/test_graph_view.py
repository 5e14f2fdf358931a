"""The drawings of two graphs: their edges and labels."""

import re

import numpy as np
import pytest

import rankloom as rl
from rankloom.fusion_graph.graph import explain
from rankloom.web.graph_view import MAX_EDGES, draw_pair


@pytest.fixture(scope="module")
def drawn():
    random = np.random.default_rng(4)
    lists = [rl.Ranks([[i, *random.permutation([j for j in range(40) if j != i])] for i in range(40)]) for _ in "ab"]
    index = rl.FusionIndex.build(lists, cutoff=30)
    pair = index.graph(0), index.graph(1)
    why = explain(*pair, "wgu")
    titles = ("the <query>", "the item")
    return pair, why, draw_pair(*pair, why, titles=titles, title="item <{}>".format, image_url=lambda number: None)


def paths(drawing):
    return re.findall(r'<path class="(edge|edge common)" d="(M[\d. -]+)', drawing.svg)


def test_common_edges_are_drawn_first_and_the_same_in_both(drawn):
    pair, why, drawings = drawn
    shared = sum(part.kind == "edge" for part in why.parts)
    assert all(len(graph.edges) > MAX_EDGES for graph in pair)
    assert shared > 10
    common = [{start for kind, start in paths(one) if kind == "edge common"} for one in drawings]
    assert common[0] == common[1]
    assert [sum(kind == "edge common" for kind, _ in paths(one)) for one in drawings] == [min(shared, MAX_EDGES)] * 2


def test_omitted_edges_are_counted(drawn):
    for graph, one in zip(drawn[0], drawn[2], strict=True):
        assert len(paths(one)) == MAX_EDGES
        assert one.n_omitted == len(graph.edges) - MAX_EDGES


def test_items_are_labeled_with_their_titles(drawn):
    query, item = drawn[2]
    assert 'aria-label="Fusion graph of the &lt;query&gt;: ' in query.svg
    assert 'aria-label="Fusion graph of the item: ' in item.svg
    assert "<title>item &lt;0&gt;, weight " in query.svg
