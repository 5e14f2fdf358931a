import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_query_graph import article_edges, greedy, own_lists, page_rank, released_entries, united, walk

import rankloom as rl
from rankloom.errors import InputError
from rankloom.ranks import PAD
from strategies import collections

VARIANTS = [(version, solver) for version in ("released", "article") for solver in ("density", "pagerank")]

# Four items; item 3 is a neighbor of none. With neighbors=3: N(0) = {0, 1, 2}, N(1) = {1, 0, 2}, N(2) = {2, 1, 3}.
FOUR = rl.Ranks([[0, 1, 2, 3], [1, 0, 2, 3], [2, 1, 3, 0], [3, 0, 1, 2]])


def fused(ranks, k=10, **options):
    """Fuse, and let the constructor of Ranks check the result."""
    out = rl.fuse(ranks, "queryrankfusion", k, **options)
    return rl.Ranks(out.items, out.scores, out.n_items)


def row(out, q):
    return {int(i): float(s) for i, s in zip(out.items[q], out.scores[q], strict=True) if i >= 0}


def plain(ranks, q, k, version, solver, fill=0, weights=None, knn=3, region=3, threshold=0.3, cap=100, decay=0.8):
    """Return the answer for one query as [(item, score)], ties by first appearance."""
    lists = [own_lists(r) for r in ranks]
    weights = [1.0] * len(ranks) if weights is None else weights
    if version == "released":
        parts = [released_entries(one, q, knn, region, threshold) for one in lists]
        entries = united([total_of(part) for part in parts], weights)
        vertices = list(dict.fromkeys(v for part in parts for v, _, _ in part))
        if solver == "density":
            score = {v: sum(w for (a, _), w in entries.items() if a == v) for v in vertices}
        else:
            score = walk(vertices, entries, 10) if vertices else {}
            score |= {q: max(score.values())} if score else {}
        answer = sorted(score.items(), key=lambda pair: -np.float32(pair[1]))
        if solver == "pagerank":
            answer.sort(key=lambda pair: pair[0] != q)
    else:
        parts = [article_edges(one, q, knn, cap, decay, threshold) for one in lists]
        edges = united([part for _, part in parts], weights)
        vertices = list(dict.fromkeys(v for seen, _ in parts for v in seen))
        if not vertices:
            answer = []
        elif solver == "density":
            answer = greedy(vertices, edges, q)
        else:
            answer = sorted(page_rank(vertices, edges, q, 0.85, 0.99).items(), key=lambda pair: -np.float32(pair[1]))
    answer += [(item, 0.0) for item in lists[fill][q] if item not in vertices]
    return answer[:k]


def total_of(entries):
    total = {}
    for a, b, w in entries:
        total[a, b] = total.get((a, b), 0.0) + w
    return total


def test_released_layers_by_hand():
    # Query 0. Layer 1: 0 is at positions 2 to 3 of 1 and of 3, not of 2. Entries 0: self 1, to 1, to 3; 1: to 0;
    # 3: to 0. Q = {0, 1, 3}. Item 1: N = {1, 0, 2}, J = 2/4 > 0.3, so 0 and 2 get 2/4 and Q = {0, 1, 2, 3}.
    # Item 3: N = {3, 0, 1}, J = 3/4, so 0 and 1 get 3/4.
    out = fused([FOUR], neighbors=3, region=3)
    assert row(out, 0) == pytest.approx({0: 3 + 2 / 4 + 3 / 4, 1: 1 + 3 / 4, 3: 1, 2: 2 / 4})
    assert out.items[0].tolist()[:4] == [0, 1, 3, 2]


def test_released_layer_two_needs_the_threshold():
    # Above 2/4 only item 3 passes, where Q is still {0, 1, 3}: N = {3, 0, 1}, J = 3/3.
    out = fused([FOUR], neighbors=3, region=3, threshold=0.5)
    assert row(out, 0) == pytest.approx({0: 3 + 1, 1: 1 + 1, 3: 1, 2: 0})  # 2 comes from the fill


def test_article_edges_by_hand():
    # Neighbors in both directions: 0-1 (J = 3/3) and 1-2 (N(1) & N(2) = {1, 2}, J = 2/4), 2 two steps from 0.
    out = fused([FOUR], neighbors=3, version="article")
    assert row(out, 0) == pytest.approx({0: 0.8, 1: 0.8, 2: 0.8**2 * 2 / 4, 3: 0})
    out = fused([FOUR], neighbors=3, version="article", threshold=0.4, fill=None)
    assert row(out, 0) == pytest.approx({0: 0.8, 1: 0.8})
    out = fused([FOUR], neighbors=3, version="article", vertices=1, fill=None)
    assert row(out, 0) == {0: 0}


def test_weights_of_rankers_are_summed():
    one, two = row(fused([FOUR], neighbors=3), 1), row(fused([FOUR] * 2, neighbors=3, weights=[1, 2.5]), 1)
    assert two == pytest.approx({item: 3.5 * score for item, score in one.items()})


def test_a_ranker_of_weight_zero_is_left_out():
    other = rl.Ranks([[0, 3], [1, 2], [2, 1], [3, 0]])
    for version, solver in VARIANTS:
        how = {"version": version, "solver": solver, "neighbors": 3}
        assert row(fused([FOUR, other], weights=[1, 0], **how), 0) == row(fused([FOUR], **how), 0)
    assert row(fused([FOUR], weights=[0]), 0) == {0: 0, 1: 0, 2: 0, 3: 0}  # all from the fill


def test_ties_are_broken_by_first_appearance_or_by_the_fill():
    # Query 0, neighbors=2: ranker 1 connects 0 and 1, ranker 2 0 and 2; both have weight 1 and pass layer 2 (J = 1).
    first = rl.Ranks([[0, 2, 1], [1, 0, 2], [2, 1, 0]])
    second = rl.Ranks([[0, 2, 1], [1, 2, 0], [2, 0, 1]])
    assert fused([first, second], neighbors=2).items[0, :3].tolist() == [0, 1, 2]
    assert fused([first, second], neighbors=2, ties="fill").items[0, :3].tolist() == [0, 2, 1]
    assert fused([first, second], neighbors=2, ties="fill", fill=1).items[0, :3].tolist() == [0, 2, 1]


def test_fill_selects_the_ranker():
    apart = rl.Ranks([[0, 3, 2], [1, 2, 3], [2, 1, 3], [3, 2, 1]])
    swapped = rl.Ranks([[0, 2, 3], [1, 2, 3], [2, 1, 3], [3, 2, 1]])
    assert fused([apart, swapped], neighbors=2, fill=0).items[0].tolist()[:3] == [0, 3, 2]
    assert fused([apart, swapped], neighbors=2, fill=1).items[0].tolist()[:3] == [0, 2, 3]
    assert fused([apart, swapped], neighbors=2, fill=None).items[0].tolist()[:2] == [0, -1]


@pytest.mark.parametrize(("version", "solver"), VARIANTS)
@given(ranks=collections(), k=st.integers(1, 12), threshold=st.sampled_from([0.0, 0.15, 0.3]))
def test_matches_the_oracle(version, solver, ranks, k, threshold):
    out = fused(ranks, k, version=version, solver=solver, neighbors=3, threshold=threshold, **OWN[version])
    for q in range(ranks[0].n_items):
        expected = plain(ranks, q, k, version, solver, threshold=threshold)
        got = row(out, q)
        assert list(got.values()) == pytest.approx([score for _, score in expected], rel=1e-5, abs=1e-6)
        assert list(got) == [item for item, _ in expected] or same_but_for_rounding(got, dict(expected))


OWN = {"released": {"region": 3}, "article": {}}


def same_but_for_rounding(got, expected):
    """Return True if the scores of the items are close: rounding may reorder ties."""
    return all(
        score == pytest.approx(expected.get(item, min(expected.values())), rel=1e-5) for item, score in got.items()
    )


@pytest.mark.parametrize("cap", [2, 4])
@given(ranks=collections(m=2))
def test_the_graph_of_the_article_stops_at_the_maximum_size(cap, ranks):
    out = fused(ranks, 12, version="article", neighbors=4, vertices=cap)
    for q in range(ranks[0].n_items):
        expected = plain(ranks, q, 12, "article", "density", knn=4, threshold=0.0, cap=cap)
        assert row(out, q) == pytest.approx(dict(expected), rel=1e-5, abs=1e-6)


@given(ranks=collections(scores=False))
def test_page_rank_matches_networkx(ranks):
    out = fused(ranks, 12, version="article", solver="pagerank", neighbors=3, fill=None)
    for q in range(ranks[0].n_items):
        graphs = [article_edges(own_lists(r), q, 3, 100, 0.8, 0.0) for r in ranks]
        edges = united([edges for _, edges in graphs], [1.0] * len(ranks))
        graph = nx.Graph()
        graph.add_nodes_from(v for seen, _ in graphs for v in seen)
        graph.add_weighted_edges_from((*pair, weight) for pair, weight in edges.items())
        if len(graph) > 1:
            start = {v: 0.99 if v == q else 0.01 / (len(graph) - 1) for v in graph}
            expected = nx.pagerank(graph, alpha=0.85, personalization=start, tol=1e-12, max_iter=500)
            assert row(out, q) == pytest.approx(expected, abs=1e-6)


def test_power_iteration_and_the_linear_system_agree():
    points = np.random.default_rng(0).normal(size=(40, 2))
    ranks = [rl.Ranks.from_vectors(points, metric) for metric in ("l1", "cosine")]
    out = fused(ranks, 40, version="article", solver="pagerank", neighbors=5, fill=None)
    for q in range(40):
        expected = dict(plain(ranks, q, 40, "article", "pagerank", knn=5, threshold=0.0))
        assert row(out, q) == pytest.approx({v: expected[v] for v in row(out, q)}, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize(("version", "solver"), VARIANTS)
def test_the_number_of_threads_does_not_change_the_bits(version, solver, monkeypatch):
    monkeypatch.setattr("rankloom.aggregate.graphs.query_graph.BLOCK", 7)
    points = np.random.default_rng(0).normal(size=(60, 3))
    ranks = [rl.Ranks.from_vectors(points, metric) for metric in ("l1", "l2", "cosine")]
    one, three = (fused(ranks, version=version, solver=solver, neighbors=6, threads=threads) for threads in (1, 3))
    assert np.array_equal(one.items, three.items)
    assert np.array_equal(one.scores, three.scores)


@pytest.mark.parametrize(("version", "solver"), VARIANTS)
@given(ranks=collections(), data=st.data())
def test_renumbering_items_keeps_the_answer(version, solver, ranks, data):
    n = ranks[0].n_items
    new = np.array(data.draw(st.permutations(range(n))))
    old = np.argsort(new)
    renumbered = [rl.Ranks(np.where(r.items >= 0, new[r.items], PAD)[old], n_items=n) for r in ranks]
    one = fused(ranks, version=version, solver=solver, neighbors=3)
    two = fused(renumbered, version=version, solver=solver, neighbors=3)
    assert np.array_equal(np.where(one.items >= 0, new[one.items], PAD), two.items[new])


@pytest.mark.parametrize(("version", "solver"), VARIANTS)
@given(ranks=collections())
def test_a_ranker_of_empty_lists_changes_nothing(version, solver, ranks):
    n = ranks[0].n_items
    empty = rl.Ranks(np.full((n, 2), PAD), n_items=n)
    one, two = (fused(given, version=version, solver=solver, neighbors=3) for given in (ranks, [*ranks, empty]))
    assert np.array_equal(one.items, two.items)
    assert np.array_equal(one.scores, two.scores)


@pytest.mark.parametrize(("version", "solver"), VARIANTS)
def test_empty_and_tiny_collections(version, solver):
    how = {"version": version, "solver": solver}
    assert fused([rl.Ranks(np.empty((0, 0), int))], **how).items.shape == (0, 0)
    assert fused([rl.Ranks([[0]])], k=2, **how).items.tolist() == [[0]]
    assert fused([rl.Ranks([[-1]], n_items=1)], k=2, **how).items.tolist() == [[-1]]


def test_an_item_missing_from_its_own_list_is_put_first():
    without = rl.Ranks([[1, 2, 3], [0, 2, 3], [1, 3, 0], [0, 1, 2]])
    for version, solver in VARIANTS:
        how = {"version": version, "solver": solver, "neighbors": 3}
        assert row(fused([without], **how), 0) == row(fused([FOUR], **how), 0)


def test_figures_of_the_released_version_on_digits(shared):
    data = np.load(shared / "golden" / "udlf" / "inputs" / "digits300" / "inputs.npz")
    ranks = {name: rl.Ranks(data[f"{name}_rk"].astype(int)) for name in ("pix", "hog", "proj")}
    for names, neighbors, expected in [
        (("pix", "hog", "proj"), 10, (0.8844, 0.8727)),
        (("pix", "hog", "proj"), 15, (0.8912, 0.8845)),
        (("pix", "proj"), 15, (0.8826, 0.8755)),
    ]:
        for solver, figure in zip(("density", "pagerank"), expected, strict=True):
            out = fused([ranks[name] for name in names], neighbors=neighbors, region=20, solver=solver)
            assert rl.evaluate(out, labels=data["labels"], measures=["ndcg@10"])["ndcg@10"] == pytest.approx(
                figure, abs=0.0005
            )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"version": "relased"}, "Did you mean 'released'?"),
        ({"solver": "page"}, "Unknown value of solver 'page'; choose from density, pagerank."),
        ({"ties": "item"}, "Unknown value of ties 'item'"),
        ({"decay": 0.5}, "version 'released' and solver 'density' has no option 'decay'"),
        ({"iterations": 5}, "has no option 'iterations'"),
        ({"version": "article", "region": 5}, "has no option 'region'"),
        ({"version": "article", "decay": 0}, "decay must be above 0"),
        ({"threshold": 2}, "threshold must be from 0 to 1; got 2."),
        ({"neighbors": 0}, "neighbors must be a whole number, at least 1; got 0."),
        ({"fill": 1}, "fill must be the index of a ranker, 0 to 0, or None; got 1."),
        ({"fill": None, "ties": "fill"}, "ties='fill' needs fill, the index of a ranker."),
        ({"weights": [1, 2]}, "weights must be numbers of at least 0, one for each ranker (1); got [1, 2]."),
    ],
)
def test_bad_options_raise(options, message):
    with pytest.raises(InputError) as caught:
        fused([FOUR], **options)
    assert message in str(caught.value)


def test_query_ranks_raise():
    with pytest.raises(InputError, match="Collection ranks have a row for each item"):
        fused([rl.Ranks([[0, 1]])])
