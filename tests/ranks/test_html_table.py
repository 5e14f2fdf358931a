"""What objects show in a notebook: small, and with foreign text escaped."""

from html.parser import HTMLParser

import numpy as np
import pytest

import rankloom as rl
from rankloom.index.explanation import MAX_PARTS
from rankloom.ranks.html_table import html_table

EVIL = "<script>alert('&')</script>"


class Cells(HTMLParser):
    """Collect the cells of tables, row by row, and refuse scripts."""

    def __init__(self):
        super().__init__()
        self.rows, self.open = [], False

    def handle_starttag(self, tag, attrs):
        assert tag != "script"
        if tag == "tr":
            self.rows.append([])
        self.open = tag in ("td", "th")
        if self.open:
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self.open = False

    def handle_data(self, data):
        if self.open:
            self.rows[-1][-1] += data


def cells(shown):
    parser = Cells()
    parser.feed(shown._repr_html_())
    return parser.rows


@pytest.fixture(scope="module")
def index():
    ids = [EVIL, *map(str, range(1, 30))]
    points = np.random.default_rng(0).normal(size=(30, 2))
    ranks = {m: rl.Ranks.from_vectors(points, m, item_ids=ids, query_ids=ids) for m in ("l1", "l2")}
    return rl.FusionIndex.build(ranks, cutoff=5)


def test_a_table_escapes_head_cells_and_note():
    assert html_table([EVIL], [[EVIL]], EVIL).count("&lt;script&gt;") == 3
    assert "<script>" not in html_table([EVIL], [[EVIL]], EVIL)


def test_ranks_show_the_first_items_of_the_first_lists():
    ranks = rl.Ranks([[0, 2, 1], [1, -1, -1]], item_ids=[EVIL, "b", "c"], query_ids=["q", EVIL])
    assert cells(ranks) == [["query", "1", "2", "3"], ["q", EVIL, "c", "b"], [EVIL, "b", "", ""]]
    assert "Ranks(n_queries=2, depth=3, n_items=3, scores=no)" in ranks._repr_html_()


def test_large_and_empty_ranks_show_a_small_table():
    many = cells(rl.Ranks(np.tile(np.arange(100), (1000, 1))))
    assert (len(many), len(many[0])) == (6, 9)
    assert cells(rl.Ranks(np.empty((0, 0), np.int32), n_items=0)) == [["query"]]


def test_a_graph_shows_its_drawing(index):
    shown = index.graph(EVIL)._repr_html_()
    assert "<svg" in shown
    assert "<script" not in shown


def test_an_explanation_shows_its_largest_parts(index):
    why = index.explain(EVIL, next(iter(index.search(k=2).to_dict()[EVIL])))
    head, *rows = cells(why)
    assert len(why.parts) > MAX_PARTS
    assert head == ["part", "", "weight in query", "weight in item", "contribution"]
    assert [row[0] for row in rows] == [part.label for part in why.parts[:MAX_PARTS]]
    assert rows[0][-1] == f"{why.parts[0].contribution:.4f}"
    assert f"and {len(why.parts) - MAX_PARTS} smaller parts" in why._repr_html_()


def test_an_answer_and_an_evaluation_show_tables():
    searcher = rl.Searcher.build([{"id": EVIL, "text": f"heat {EVIL}"}, {"id": "b", "text": "cold"}], ["bm25", "bow"])
    head, first, *_ = cells(searcher.search("heat"))
    assert head == ["", "id", "score", "bm25", "bow", "document"]
    assert first[1] == EVIL
    assert "Nothing found." in searcher.search("nowhere")._repr_html_()
    outcome = searcher.evaluate({"q": "heat", "r": "cold"}, {"q": {EVIL: 1}, "r": {"b": 1}})
    assert [row[0] for row in cells(outcome)] == ["", "bm25", "bow", "rrf", "vote"]
