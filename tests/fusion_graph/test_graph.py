"""Explicit fusion graphs: weights, exports and explanations."""

import builtins
import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from brute import plain
from rankloom import Ids, Ranks
from rankloom.errors import MissingExtraError
from rankloom.fusion_graph.graph import FusionGraph, explain, normalized
from rankloom.fusion_graph.index import FusionIndex
from strategies import collections, examples

# 0: [0, 1], 1: [1, 0] by one ranker.
# Graph 0 has W = {0: 1, 1: .1}, P = {0: 1, 1: .5}; its edges weigh 0->1 = 1(.1), 1->0 = .5(.1).
PAIR = [Ranks([[0, 1], [1, 0]])]


def test_raw_and_normalized_weights_by_hand():
    graph = FusionIndex.build(PAIR).graph(0)
    assert graph.items.tolist() == [0, 1]
    assert graph.raw_vertices == pytest.approx([1, 0.1])
    assert graph.vertices == pytest.approx([1, 0.1])
    assert list(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True)) == [(0, 1), (1, 0)]
    assert graph.raw_edges == pytest.approx([0.1, 0.05])
    assert graph.edges == pytest.approx([1, 0.5])
    assert graph.size == pytest.approx(1 + 0.1 + 1 + 0.5)


def test_minmax_weights_by_hand():
    graph = FusionIndex.build(PAIR, graph_norm="minmax").graph(0)
    assert graph.vertices.tolist() == [1, 0]
    assert graph.edges.tolist() == [1, 0]


def test_minmax_does_not_change_equal_weights():
    assert normalized(np.array([]), "max").size == 0
    assert normalized(np.array([]), "minmax").size == 0
    assert normalized(np.array([0.3, 0.3]), "minmax").tolist() == [0.3, 0.3]
    assert normalized(np.array([3 * np.float64(np.float32(0.1)), np.float32(0.3)]), "minmax") == pytest.approx(0.3)
    assert normalized(np.array([0.3, 0.3]), "max").tolist() == [1, 1]


@examples(100)
@given(collections(), st.integers(1, 5), st.booleans(), st.sampled_from(["max", "minmax"]))
def test_explicit_graphs_equal_the_oracles(rankers, cutoff, reposition, graph_norm):
    index = FusionIndex.build(rankers, cutoff=cutoff, reposition=reposition, graph_norm=graph_norm)
    lists = [
        oracle.repositioned(plain(r), cutoff) if reposition else [row[:cutoff] for row in plain(r)] for r in rankers
    ]
    for item in range(len(index)):
        graph, expected = index.graph(item), oracle.graph([ranker[item] for ranker in lists], lists, graph_norm)
        ends = zip(graph.sources.tolist(), graph.targets.tolist(), strict=True)
        got = dict(zip([*graph.items.tolist(), *ends], [*graph.vertices, *graph.edges], strict=True))
        assert got == pytest.approx(expected, abs=2e-6)
        assert graph.size == pytest.approx(sum(expected.values()), abs=1e-5)


def graph_of(*item_ids):
    ids = Ids(item_ids)
    return FusionIndex.build([Ranks([[0, 1], [1, 0]], item_ids=ids, query_ids=ids)]).graph(0)


def test_to_networkx_has_weights_and_labels():
    networkx = pytest.importorskip("networkx")
    graph = graph_of("apple", "pear").to_networkx()
    assert isinstance(graph, networkx.DiGraph)
    assert graph.name == "apple"
    assert graph.nodes[1] == {"label": "pear", "weight": pytest.approx(0.1), "raw": pytest.approx(0.1)}
    assert graph.edges[1, 0] == {"weight": pytest.approx(0.5), "raw": pytest.approx(0.05)}
    assert sorted(graph.edges) == [(0, 1), (1, 0)]


def test_to_networkx_without_networkx_says_how_to_install_it(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **options):
        if name == "networkx":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        MissingExtraError, match=re.escape("to_networkx() needs networkx: pip install 'rankloom[graph]'")
    ):
        graph_of("apple", "pear").to_networkx()


def test_to_json_is_lossless():
    graph = graph_of("äpfel", 'p"ear')
    back = json.loads(graph.to_json())
    assert back == graph.to_dict()
    assert "äpfel" in graph.to_json()
    assert back["size"] == pytest.approx(graph.size)
    again = FusionGraph(
        back["id"],
        np.array([v["item"] for v in back["vertices"]], np.int32),
        np.array([v["raw"] for v in back["vertices"]]),
        np.array([e["source"] for e in back["edges"]], np.int32),
        np.array([e["target"] for e in back["edges"]], np.int32),
        np.array([e["raw"] for e in back["edges"]]),
        back["graph_norm"],
        {v["item"]: v["label"] for v in back["vertices"]},
    )
    assert again.to_dict() == back


TOKEN = re.compile(r'\s+|"(?:[^"\\]|\\.)*"|->|[A-Za-z_]\w*|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|[{}\[\]=,;]')


def dot_tokens(text):
    """Return the tokens of a DOT text by its grammar; fail if it is not valid."""
    tokens, at = [], 0
    while at < len(text):
        token = TOKEN.match(text, at)
        assert token, f"not DOT: {text[at : at + 30]!r}"
        tokens.append(token[0])
        at = token.end()
    return [token for token in tokens if token.strip()]


def test_to_dot_by_hand():
    assert FusionIndex.build(PAIR).graph(0).to_dot() == (
        'digraph "0" {\n'
        '  0 [label="0", weight=1];\n'
        '  1 [label="1", weight=0.1];\n'
        "  0 -> 1 [weight=1, penwidth=2.2];\n"
        "  1 -> 0 [weight=0.5, penwidth=1.2];\n"
        "}\n"
    )


@given(st.text(min_size=1, alphabet=st.characters(codec="utf-8")))
def test_to_dot_quotes_any_id(item):
    tokens = dot_tokens(graph_of(item, "other " + item).to_dot())
    assert tokens[0] == "digraph"
    assert tokens[2] == "{"
    assert tokens[-1] == "}"
    strings = [token for token in tokens if token.startswith('"')]
    assert len(strings) == 3
    escaped = strings[0][1:-1]
    unescaped = re.sub(r"\\(.)", lambda escape: {"n": "\n"}.get(escape[1], escape[1]), escaped)
    assert unescaped == item
    for left, right in ("{}", "[]"):
        assert tokens.count(left) == tokens.count(right)
    assert tokens.count("->") == 2


def test_an_empty_graph_can_be_exported():
    graph = FusionIndex.build([Ranks([[-1], [1]])]).graph(0)
    assert graph.to_dot() == 'digraph "0" {\n}\n'
    assert json.loads(graph.to_json())["vertices"] == []
    assert graph.size == 0


def test_explanation_by_hand():
    """Shared: vertices min(1, .1) twice, edges min(1, .5) twice: 1.2 of 2.6 + 2.6 - 1.2 = 4."""
    index = FusionIndex.build(PAIR)
    why = index.explain(0, 1)
    assert why.similarity == pytest.approx(1.2 / 4)
    assert [(part.kind, part.label) for part in why.parts] == [
        ("edge", "0 -> 1"), ("edge", "1 -> 0"), ("vertex", "0"), ("vertex", "1"),
    ]  # fmt: skip
    assert [part.contribution for part in why.parts] == pytest.approx([0.5 / 4, 0.5 / 4, 0.1 / 4, 0.1 / 4])
    assert (why.parts[0].query_weight, why.parts[0].item_weight) == pytest.approx((1, 0.5))
    assert index.explain(0, 1, comparator="mcs").similarity == pytest.approx(1.2 / 2.6)


def test_an_explanation_has_a_text_and_a_plain_data_form():
    index = FusionIndex.build([Ranks([[(i + j) % 5 for j in range(5)] for i in range(5)])])
    why = index.explain(0, 1)
    lines = str(why).splitlines()
    assert lines[0] == f"0 ~ 1: wgu similarity {why.similarity:.4f}"
    assert lines[-1] == f"  ... and {len(why.parts) - 10} smaller parts"
    assert len(lines) == 12
    data = why.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert len(data["parts"]) == len(why.parts)


def test_an_explanation_without_shared_parts_is_empty():
    index = FusionIndex.build([Ranks([[0], [1]])])
    assert explain(index.graph(0), index.graph(1), "wgu").parts == ()
    assert index.explain(0, 1).similarity == 0
