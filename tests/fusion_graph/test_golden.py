"""Comparison with the authors' program; tests/golden/fg/README.md has the provenance of the reference results."""

import json
from pathlib import Path

import numpy as np
import pytest

import oracle
from rankloom import Ranks
from rankloom.fusion_graph.index import FusionIndex
from rankloom.fusion_graph.weave import rescaled_steps
from rankloom.index.normalize import reposition
from rankloom.ranks import PAD

HERE = Path(__file__).parents[1] / "golden" / "fg"
SMALL = ("tiny", "chain", "short", "orphan")
LARGE = ("digits300", "m1_L5", "m7_L5", "noself", "ties")
VARIANTS = {"rerank2_max": (True, "max"), "rerank2": (True, "minmax"), "rerank0": (False, "minmax")}
CLOSE = 1e-5  # the weights of the program went through text and float32


class Case:
    """The reference results of a case and variant, and our index of the same lists."""

    def __init__(self, folder, variant):
        params = json.loads((folder / "params.json").read_text(encoding="utf-8"))
        inputs = np.load(folder / "inputs.npz")
        self.n, self.m, self.cutoff = params["n"], params["m"], params["L"]
        self.labels = inputs["labels"]
        self.ranks = [Ranks(inputs[f"ids_{r}"], n_items=self.n) for r in range(self.m)]
        self.reposition, self.graph_norm = VARIANTS[variant]
        self.lists, self.graphs, self.fused = (
            dict(np.load(folder / variant / f"{name}.npz")) for name in ("norm_ranks", "graphs", "fused")
        )
        self.index = FusionIndex.build(
            self.ranks, cutoff=self.cutoff, reposition=self.reposition, graph_norm=self.graph_norm
        )

    def theirs(self, query):
        """Return the raw and normalized weights of a graph, by item for vertices and (source, target) for edges."""
        g = self.graphs
        v, e = g["v_query"] == query, g["e_query"] == query
        ends = list(zip(g["e_src"][e].tolist(), g["e_dst"][e].tolist(), strict=True))
        keys = [*g["v_id"][v].tolist(), *ends]
        raw = [*g["v_raw"][v].tolist(), *g["e_raw"][e].tolist()]
        weight = [*g["v_weight"][v].tolist(), *g["e_weight"][e].tolist()]
        return dict(zip(keys, raw, strict=True)), dict(zip(keys, weight, strict=True))

    def same_sets(self):
        """Return a mask of the pairs of graphs with the same vertices and edges, which the program treats as equal."""
        g = self.graphs
        sets = [
            (
                frozenset(g["v_id"][g["v_query"] == q].tolist()),
                frozenset(zip(g["e_src"][g["e_query"] == q], g["e_dst"][g["e_query"] == q], strict=True)),
            )
            for q in range(self.n)
        ]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(sets))}
        kind = np.array([numbers[key] for key in sets])
        return kind[:, None] == kind[None, :]


def cases():
    for name in (*SMALL, *LARGE):
        for variant in VARIANTS:
            long = name in LARGE and (name, variant) != ("digits300", "rerank2")
            yield pytest.param(f"{name}-{variant}", marks=[pytest.mark.long] if long else [])


@pytest.fixture(scope="module", params=cases())
def case(request):
    name, variant = request.param.split("-")
    folder = HERE if name in SMALL else request.getfixturevalue("shared") / "golden" / "fg"
    return Case(folder / name, variant)


def matrix(ranks):
    """Return the similarities as a full matrix, 0 for items that are not returned."""
    full = np.zeros((len(ranks), ranks.n_items))
    listed = ranks.items != PAD
    full[np.nonzero(listed)[0], ranks.items[listed]] = ranks.scores[listed]
    return full


def test_normalized_lists_equal_the_programs(case):
    for number, ranks in enumerate(case.ranks):
        ours = (reposition(ranks) if case.reposition else ranks).head(case.cutoff)
        ours = ours.replaced(scores=rescaled_steps(ours.depth)[ours.lengths()])
        theirs = {name: values[case.lists["ranker"] == number] for name, values in case.lists.items()}
        items = np.full((case.n, case.cutoff), PAD, np.int32)
        scores = np.zeros(items.shape, np.float32)
        items[theirs["query"], theirs["position"] - 1] = theirs["id"]
        scores[theirs["query"], theirs["position"] - 1] = theirs["score"]
        np.testing.assert_array_equal(ours.items, items[:, : ours.depth])
        np.testing.assert_allclose(ours.scores, scores[:, : ours.depth], rtol=0, atol=1e-6)
        assert (items[:, ours.depth :] == PAD).all()


def test_cutting_while_repositioning_equals_cutting_afterwards(case):
    for ranks in case.ranks:
        np.testing.assert_array_equal(reposition(ranks, case.cutoff).items, reposition(ranks).head(case.cutoff).items)


def test_explicit_graphs_equal_the_programs(case):
    for query in range(case.n):
        graph = case.index.graph(query)
        raw, weight = case.theirs(query)
        keys = [*graph.items.tolist(), *zip(graph.sources.tolist(), graph.targets.tolist(), strict=True)]
        assert len(keys) == len(set(keys))
        assert set(keys) == set(raw)
        np.testing.assert_allclose([*graph.raw_vertices, *graph.raw_edges], [raw[key] for key in keys], atol=CLOSE)
        np.testing.assert_allclose([*graph.vertices, *graph.edges], [weight[key] for key in keys], atol=CLOSE)


@pytest.mark.parametrize("comparator", ["wgu", "mcs"])
def test_similarities_equal_the_programs(case, comparator):
    ours = matrix(case.index.search(k=case.n, comparator=comparator))
    compared = ~case.same_sets()
    theirs = case.fused[f"{comparator.upper()}_sim"]
    np.testing.assert_allclose(ours[compared], theirs[compared], rtol=0, atol=CLOSE)


@pytest.mark.parametrize("comparator", ["wgu", "mcs"])
def test_pairs_that_the_program_treats_as_equal_agree_with_the_oracle(case, comparator):
    lists = [(reposition(ranks) if case.reposition else ranks).head(case.cutoff).items.tolist() for ranks in case.ranks]
    lists = [[[item for item in row if item != PAD] for row in ranker] for ranker in lists]
    ours = matrix(case.index.search(k=case.n, comparator=comparator))
    graphs = {}
    for a, b in np.argwhere(case.same_sets()).tolist():
        for x in (a, b):
            if x not in graphs:
                graphs[x] = oracle.graph([ranker[x] for ranker in lists], lists, case.graph_norm)
        assert ours[a, b] == pytest.approx(oracle.similarity(graphs[a], graphs[b], comparator), abs=1e-6)


@pytest.mark.parametrize("comparator", ["wgu", "mcs"])
def test_ranks_equal_the_programs_up_to_ties(case, comparator):
    """By the program, our item at each position is as similar as its own."""
    theirs = case.fused[f"{comparator.upper()}_sim"].astype(np.float64)
    out = case.index.search(k=case.n, comparator=comparator)
    excluded = case.same_sets()
    for query, row in enumerate(out.items):
        compared = ~excluded[query]
        ours = theirs[query, [item for item in row if item != PAD and compared[item]]]
        best = np.sort(theirs[query, compared])[::-1]
        np.testing.assert_allclose(ours, best[: ours.size], rtol=0, atol=2 * CLOSE)
        np.testing.assert_allclose(best[ours.size :], 0, atol=CLOSE)


@pytest.mark.parametrize("comparator", ["wgu", "mcs"])
def test_contributions_sum_to_the_similarity(case, comparator):
    out = case.index.search(k=4, comparator=comparator)
    for query in range(0, case.n, 1 + case.n // 10):
        for item, score in zip(out.items[query].tolist(), out.scores[query].tolist(), strict=True):
            if item != PAD:
                why = case.index.explain(query, item, comparator=comparator)
                assert why.similarity == pytest.approx(score, abs=1e-6)
                assert sum(part.contribution for part in why.parts) == pytest.approx(score, abs=1e-6)


@pytest.mark.parametrize(
    ("variant", "comparator", "ndcg"),
    [
        ("rerank2", "wgu", 0.9625),
        ("rerank2", "mcs", 0.9619),
        ("rerank2_max", "wgu", 0.9624),
        ("rerank2_max", "mcs", 0.9606),
        ("rerank0", "wgu", 0.9655),
    ],
)
def test_ndcg_of_digits_equals_the_programs(shared, variant, comparator, ndcg):
    from rankloom.evaluation import evaluate

    case = Case(shared / "golden" / "fg" / "digits300", variant)
    out = case.index.search(k=10, comparator=comparator)
    assert evaluate(out, labels=case.labels, measures=["ndcg@10"])["ndcg@10"] == pytest.approx(ndcg, abs=5e-5)


@pytest.mark.parametrize(("ranker", "ndcg"), [(0, 0.9550), (1, 0.8697), (2, 0.8318)])
def test_ndcg_of_the_rankers_of_digits_equals_the_programs(shared, ranker, ndcg):
    from rankloom.evaluation import evaluate

    case = Case(shared / "golden" / "fg" / "digits300", "rerank0")
    got = evaluate(case.ranks[ranker], labels=case.labels, measures=["ndcg@10"])
    assert got["ndcg@10"] == pytest.approx(ndcg, abs=5e-5)
