"""The page that explains a result: what each neighbor and each ranker contributes."""

from xml.etree import ElementTree

import numpy as np
import pytest
from web_collection import baskets, image

import rankloom as rl
from rankloom.index.normalize import reposition, reposition_item
from rankloom.web.flow_view import MAX_NEIGHBORS, draw_flow
from rankloom.web.pages import ranker_colors
from rankloom.web.shares import ALL
from rankloom.web.views import Views
from rankloom.web.why import Why


@pytest.fixture(scope="module")
def views(searcher):
    return Views(searcher, baskets())


def query_of(views, kind):
    return {
        "item": views.item_query(4),
        "text": views.text_query("blue figs"),
        "image": views.image_query("x", image("green", 24, 6)),
    }[kind]


@pytest.mark.parametrize("method", ["fg", "weft", "vote"])
@pytest.mark.parametrize("kind", ["item", "text", "image"])
def test_parts_add_up_to_the_score_in_every_grouping(views, kind, method):
    query = query_of(views, kind)
    choice = views.choose({"method": method, "cutoff": 4})
    for hit in views.search(query, choice)["results"][:6]:
        values = Why(views, query, hit["number"], choice).values()
        parts = (values["explanation"] or values)["parts"]
        flow = values["flow"]
        exact = pytest.approx(hit["score"], abs=1e-6)
        assert flow["score"] == exact
        assert sum(part["contribution"] for part in parts) == exact
        assert sum(sum(part["shares"].values()) for part in parts) == exact
        assert sum(flow["by_ranker"].values()) == exact
        assert sum(flow["direct"].values()) + sum(one["contribution"] for one in flow["neighbors"]) == exact
        assert {*flow["by_ranker"]} <= {*views.searcher.rankers, ALL}


@pytest.mark.parametrize("kind", ["item", "text", "image"])
def test_weights_of_fusion_graphs_are_split_as_the_rankers_alone_would_weigh(views, kind):
    """Eq. 2: the weight of a vertex is a sum over rankers, so an index of one ranker has that ranker's summand."""
    query, choice = query_of(views, kind), views.choose({"method": "fg", "cutoff": 4})
    hit = views.search(query, choice)["results"][1]
    why = Why(views, query, hit["number"], choice)
    names = list(views.answer(query, choice).lists)
    ends = {"query_weight": query.arguments, "item_weight": {"item": hit["id"]}}
    alone = {
        end: {name: views.searcher.graph(**asks, rankers=[name], cutoff=4) for name in names}
        for end, asks in ends.items()
    }
    vertices = [part for part in why.values()["parts"] if part["kind"] == "vertex"]
    assert len(vertices) > 2
    for part in vertices:
        graphs = alone["query_weight" if part["query_weight"] <= part["item_weight"] else "item_weight"]
        raw = {name: dict(zip(one.items.tolist(), one.raw_vertices, strict=True)) for name, one in graphs.items()}
        weights = {name: one[part["source"]] for name, one in raw.items() if part["source"] in one}
        whole = sum(weights.values())
        expected = {name: part["contribution"] * weight / whole for name, weight in weights.items()}
        assert part["shares"] == pytest.approx(expected, rel=1e-5)


def test_one_item_is_repositioned_as_all_are():
    random = np.random.default_rng(5)
    rows = [random.permutation(60)[:12].tolist() for _ in range(60)]
    rows[7], rows[9] = [7, 9, -1] + [-1] * 9, [-1] * 12
    ranks = rl.Ranks(rows)
    expected = reposition(ranks, 8).items
    for item in range(60):
        found = reposition_item(ranks, item, 8)
        assert found.tolist() == [one for one in expected[item].tolist() if one != -1]


def flow_of(n_neighbors, image=None):
    neighbors = [
        {"number": n, "title": f"<{n}> & co", "image": image, "url": f"/item/{n}", "shares": {"bic": 0.1, ALL: 0.05}}
        for n in range(n_neighbors)
    ]
    rest = {"bic": 0.1 * (n_neighbors - MAX_NEIGHBORS)} if n_neighbors > MAX_NEIGHBORS else {}
    shares = {"direct": {"okapi": 0.5}, "rest": rest}
    return {"score": 0.5 + 0.15 * n_neighbors, "neighbors": neighbors, "n_neighbors": n_neighbors, **shares}


@pytest.mark.parametrize("image", [None, "/image/1?v=2&x=1"])
def test_drawing_folds_the_rest_and_marks_query_and_result(image):
    ends = [{"number": n, "title": f"item {n} with a rather long title", "image": image} for n in (0, 1)]
    classes = ranker_colors([{"name": "bic"}, {"name": "okapi"}])
    drawn = draw_flow(flow_of(MAX_NEIGHBORS + 5, image), *ends, classes)
    tree = ElementTree.fromstring(drawn)
    links = tree.findall("a")
    assert [link.get("href") for link in links] == [f"/item/{n}" for n in range(MAX_NEIGHBORS)]
    assert links[0].get("aria-label").startswith("<0> & co (the query itself): 0.1500, ")
    assert links[1].get("aria-label").startswith("<1> & co (the result itself): ")
    focusable = [one.get("aria-label") for one in tree.findall("g[@tabindex]")]
    assert [label.partition(":")[0] for label in focusable] == ["on the rankers' own lists", "5 more neighbors"]
    bands = [path.get("class") for path in links[0].findall("path")]
    assert bands == ["band r0", "band r0", "band all", "band all"]
    assert [text.text for text in tree.iter("text") if text.get("class") == "role"] == ["query", "result"]


def test_drawing_of_nothing_in_common_is_valid():
    ends = [{"title": "", "image": None}, {"title": "x", "image": None}]
    nothing = {"score": 0.0, "direct": {}, "neighbors": [], "n_neighbors": 0, "rest": {}}
    assert ElementTree.fromstring(draw_flow(nothing, *ends, {})).findall("a") == []
