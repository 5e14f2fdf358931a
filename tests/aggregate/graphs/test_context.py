import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_query_graph import own_lists

import rankloom as rl
from rankloom.errors import InputError
from rankloom.ranks import PAD
from strategies import collections

POINTS = np.random.default_rng(0).normal(size=(60, 3))
THREE = [rl.Ranks.from_vectors(POINTS, metric) for metric in ("l1", "l2", "cosine")]


def fused(method, ranks, k=10, **options):
    """Fuse, and let the constructor of Ranks check the result."""
    out = rl.fuse(ranks, method, k, **options)
    return rl.Ranks(out.items, out.scores, out.n_items)


def row(out, q):
    return {int(i): float(s) for i, s in zip(out.items[q], out.scores[q], strict=True) if i >= 0}


def vectors(ranks, neighbors, expansion, activation):
    """Return the vectors of sparse contextual activation as dicts."""
    lists = own_lists(ranks)
    first = [{x: 1 - p / neighbors for p, x in enumerate(one[:neighbors])} for one in lists]
    if activation == "scores":
        given = [dict(zip(items, scores, strict=True)) for items, scores in zip(ranks.items, ranks.scores, strict=True)]
        first = [
            {x: 1.0 if x == i else math.exp(given[i][x] - ranks.scores[i, 0]) for x in one}
            for i, one in enumerate(lists)
        ]
        first = [{x: one[x] for x in lists[i][:neighbors]} for i, one in enumerate(first)]
    mean = []
    for one in lists:
        total = {}
        for near in one[:expansion]:
            for x, value in first[near].items():
                total[x] = total.get(x, 0.0) + value / len(one[:expansion])
        mean.append(total)
    return mean


def overlap(a, b):
    shared = sum(min(a[x], b[x]) for x in a.keys() & b.keys())
    return shared / (sum(a.values()) + sum(b.values()) - shared) if shared else 0.0


def plain_sca(ranks, q, weights, combine, depth, **how):
    pool = dict.fromkeys(x for r in ranks for x in own_lists(r)[q][:depth])
    each = [vectors(r, **how) for r in ranks]
    if combine == "similarities":
        here = [weight if own_lists(r)[q] else 0.0 for r, weight in zip(ranks, weights, strict=True)]
        return {x: sum(w * overlap(F[q], F[x]) for w, F in zip(here, each, strict=True)) / sum(here) for x in pool}
    total = []
    for i in range(ranks[0].n_items):
        one = {}
        for weight, F in zip(weights, each, strict=True):
            for x, value in F[i].items():
                one[x] = one.get(x, 0.0) + weight * value
        total.append(one)
    return {x: overlap(total[q], total[x]) for x in pool}


def test_activation_by_hand():
    # neighbors=2: F_0 = {0: 1, 1: .5}, F_1 = {1: 1, 0: .5}, F_2 = {2: 1, 1: .5}.
    # expansion=2: F_0 and F_1 both become {0: .75, 1: .75}; F_2 the mean of F_2 and F_1, {2: .5, 1: .75, 0: .25}.
    one = rl.Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    assert row(fused("sca", [one], neighbors=2, expansion=2), 0) == pytest.approx(
        {0: 1, 1: 1, 2: (0.25 + 0.75) / (1.5 + 1.5 - 1)}
    )


@pytest.mark.parametrize("combine", ["memberships", "similarities"])
@pytest.mark.parametrize("activation", ["rank", "scores"])
@given(ranks=collections(scores=True), depth=st.integers(1, 6), expansion=st.integers(1, 4))
def test_sca_matches_the_oracle(combine, activation, ranks, depth, expansion):
    weights = [1.0, 0.5, 2.0][: len(ranks)]
    how = {"neighbors": 3, "expansion": expansion, "activation": activation}
    out = fused("sca", ranks, 30, depth=depth, combine=combine, weights=weights, **how)
    for q in range(ranks[0].n_items):
        expected = plain_sca(ranks, q, weights, combine, depth, **how)
        assert row(out, q) == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_ties_are_broken_by_first_appearance():
    # Every item alone in its vector: 1 and 2 have nothing in common with 0.
    one = rl.Ranks([[0, 2, 1], [1, 0, -1], [2, 0, -1]])
    out = fused("sca", [one], neighbors=1, expansion=1)
    assert row(out, 0) == {0: 1, 2: 0, 1: 0}
    assert out.items[0, :3].tolist() == [0, 2, 1]


def dense_diffusion(ranks, neighbors, depth, iterations, eta, weights):
    """Cross diffusion on full matrices."""
    n = ranks[0].n_items
    counts = [any(row for row in own_lists(r)) for r in ranks]
    used = [r for r, yes in zip(ranks, counts, strict=True) if yes]
    weights = np.array([w for w, yes in zip(weights, counts, strict=True) if yes])

    def matrix(r, size):
        A = np.zeros((n, n))
        for i, one in enumerate(own_lists(r)):
            for p, x in enumerate(one[: min(size, depth)]):
                A[i, x] = 1 - p / depth
        return A / np.maximum(A.sum(1, keepdims=True), 1e-300)

    P = [matrix(r, depth) for r in used]
    K = [matrix(r, neighbors) for r in used]
    for _ in range(iterations):
        mixed = []
        for r in range(len(used)):
            others = [s for s in range(len(used)) if s != r] or [r]
            M = sum(weights[s] * P[s] for s in others) / weights[others].sum()
            mixed.append(K[r] @ M @ K[r].T + eta * np.eye(n))
        P = mixed
    mean = sum(w * one for w, one in zip(weights, P, strict=True)) / weights.sum() if used else np.zeros((n, n))
    unlisted = [i for i in range(n) if not any(own_lists(r)[i] for r in used)]
    mean[unlisted] = 0
    return mean


@given(ranks=collections(), neighbors=st.integers(1, 4), eta=st.sampled_from([0.0, 0.1, 1.0]))
def test_cross_diffusion_is_exact_for_complete_rows(ranks, neighbors, eta):
    n = ranks[0].n_items
    weights = [1.0, 0.5, 2.0][: len(ranks)]
    out = fused("crossdiffusion", ranks, n, neighbors=neighbors, depth=n + 4, iterations=3, eta=eta, weights=weights)
    expected = dense_diffusion(ranks, neighbors, n + 4, 3, eta, weights)
    for q in range(n):
        full = dict.fromkeys(range(n), 0.0) | row(out, q)
        assert full == pytest.approx(dict(enumerate(expected[q])), rel=1e-5, abs=1e-7)


def test_cross_diffusion_by_hand():
    # neighbors=2, depth=2: rows of P and K are (2/3, 1/3) for i and its neighbor. One ranker, one round, eta 0:
    # K P K' for the pair 0, 1 with K = P = [[2, 1], [1, 2]] / 3, which is [[14, 13], [13, 14]] / 27.
    one = rl.Ranks([[0, 1], [1, 0]])
    out = fused("crossdiffusion", [one], neighbors=2, depth=2, iterations=1, eta=0)
    assert row(out, 0) == pytest.approx({0: 14 / 27, 1: 13 / 27})


def test_truncated_rows_change_little():
    full = fused("crossdiffusion", THREE, depth=60, neighbors=5)
    cut = fused("crossdiffusion", THREE, depth=40, neighbors=5)
    shared = [len(set(a) & set(b)) for a, b in zip(full.items.tolist(), cut.items.tolist(), strict=True)]
    assert np.mean(shared) > 9


def test_more_iterations_reach_further():
    # A chain 0 - 1 - 2 - 3, one neighbor to the right: one iteration leads from 0 to 1, two to 2.
    chain = rl.Ranks([[0, 1], [1, 2], [2, 3], [3, 2]])
    reach = [
        set(row(fused("crossdiffusion", [chain], neighbors=2, depth=4, iterations=t, eta=1), 0)) for t in (1, 2, 3)
    ]
    assert reach[0] <= reach[1] <= reach[2]
    assert 2 in reach[1] | reach[2]


def plain_close_set(lists, q, k, share):
    def reciprocal(i, size):
        return [j for j in lists[i][:size] if i in lists[j][:size]]

    core = reciprocal(q, k)
    grown = set(core)
    for c in core:
        near = reciprocal(c, max(k // 2, 1))
        if len(set(near) & set(core)) >= share * len(near):
            grown.update(near)
    return grown


def plain_hello(ranks, q, k, share, depth, weights):
    here = [(own_lists(r), w) for r, w in zip(ranks, weights, strict=True) if own_lists(r)[q]]
    inner, outer = {}, {}
    for lists, w in here:
        lists = [one[:depth] for one in lists]
        for p, x in enumerate(lists[q]):
            outer[x] = outer.get(x, 0) + w * (1 - p / depth)
        close = plain_close_set(lists, q, k, share)
        for x in close:
            mean = sum(1 - lists[y].index(x) / depth for y in close if x in lists[y]) / len(close)
            inner[x] = inner.get(x, 0) + w * mean
    total = sum(w for _, w in here)
    score = {x: value / total for x, value in outer.items()} | {x: 1 + value / total for x, value in inner.items()}
    return score | ({q: 2.0} if here else {})


@given(ranks=collections(), k=st.integers(1, 5), share=st.sampled_from([0.3, 0.5, 2 / 3, 1.0]))
def test_hello_neighbor_matches_the_oracle(ranks, k, share):
    weights = [1.0, 0.5, 2.0][: len(ranks)]
    out = fused("helloneighbor", ranks, 30, neighbors=k, overlap=share, depth=6, weights=weights)
    for q in range(ranks[0].n_items):
        assert row(out, q) == pytest.approx(plain_hello(ranks, q, k, share, 6, weights), rel=1e-5)


def test_hello_neighbor_by_hand():
    # neighbors=2, depth=4, with 1 second in 0's list: R(0, 2) = {0, 1}. Half of 2 is 1: R(c, 1) = {c} adds nothing.
    # s(1, 1) = 1 and s(0, 1) = 3/4; items 2 and 3 keep their positions in the query's list.
    one = rl.Ranks([[0, 3, 2, 1], [1, 0, 2, 3], [2, 3, 1, 0], [3, 2, 0, 1]])
    near = rl.Ranks([[0, 1, 2, 3], *one.items[1:].tolist()])
    assert row(fused("helloneighbor", [near], neighbors=2, depth=4), 0) == pytest.approx(
        {0: 2, 1: 1 + (1 + 3 / 4) / 2, 2: 2 / 4, 3: 1 / 4}
    )
    assert row(fused("helloneighbor", [one], neighbors=2, depth=4), 0) == pytest.approx(
        {0: 2, 3: 3 / 4, 2: 2 / 4, 1: 1 / 4}  # 3 does not have 0 among its neighbors
    )


METHODS = ["sca", "crossdiffusion", "helloneighbor"]


@pytest.mark.parametrize("method", METHODS)
def test_the_number_of_threads_does_not_change_the_bits(method, monkeypatch):
    from rankloom.threads import run_blocks

    def run_small_blocks(work, n, *, stage, block=0):
        run_blocks(work, n, stage=stage, block=7)

    for module in ("threads", "aggregate.graphs.context"):
        monkeypatch.setattr(f"rankloom.{module}.run_blocks", run_small_blocks)
    one, three = (fused(method, THREE, threads=threads) for threads in (1, 3))
    monkeypatch.undo()
    for other in (three, fused(method, THREE)):
        assert np.array_equal(one.items, other.items)
        assert np.array_equal(one.scores, other.scores)


@pytest.mark.parametrize("method", METHODS)
@given(ranks=collections(), data=st.data())
def test_renumbering_items_keeps_the_scores(method, ranks, data):
    n = ranks[0].n_items
    new = np.array(data.draw(st.permutations(range(n))))
    old = np.argsort(new)
    renumbered = [rl.Ranks(np.where(r.items >= 0, new[r.items], PAD)[old], n_items=n) for r in ranks]
    one, two = fused(method, ranks, 30, neighbors=3), fused(method, renumbered, 30, neighbors=3)
    for q in range(n):
        assert {int(new[item]): s for item, s in row(one, q).items()} == pytest.approx(row(two, int(new[q])), rel=1e-5)


@pytest.mark.parametrize("method", METHODS)
@given(ranks=collections())
def test_a_ranker_of_empty_lists_changes_nothing(method, ranks):
    n = ranks[0].n_items
    empty = rl.Ranks(np.full((n, 2), PAD), n_items=n)
    one, two = fused(method, ranks), fused(method, [*ranks, empty])
    assert np.array_equal(one.items, two.items)
    assert one.scores == pytest.approx(two.scores)


@pytest.mark.parametrize("method", METHODS)
def test_a_ranker_of_weight_zero_is_left_out(method):
    assert row(fused(method, THREE, weights=[1, 0, 0]), 5) == row(fused(method, THREE[:1]), 5)
    assert row(fused(method, THREE, weights=[0, 0, 0]), 5) == {}


@pytest.mark.parametrize("method", METHODS)
def test_empty_and_tiny_collections(method):
    assert fused(method, [rl.Ranks(np.empty((0, 0), int))]).items.shape == (0, 0)
    assert fused(method, [rl.Ranks([[0]])], k=2).items.tolist() == [[0]]
    assert fused(method, [rl.Ranks([[-1]], n_items=1)], k=2).items.tolist() == [[-1]]


@pytest.mark.parametrize("method", METHODS)
def test_an_item_missing_from_its_own_list_is_put_first(method):
    full = rl.Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    without = rl.Ranks([[1, 2], [0, 2], [1, 0]])
    assert row(fused(method, [full]), 2) == row(fused(method, [without]), 2)


@pytest.mark.parametrize("method", METHODS)
def test_fusing_beats_the_best_ranker_on_digits(method, shared):
    data = np.load(shared / "golden" / "udlf" / "inputs" / "digits300" / "inputs.npz")
    ranks = [rl.Ranks(data[f"{name}_rk"].astype(int)) for name in ("pix", "hog", "proj")]
    found = rl.evaluate(fused(method, ranks), labels=data["labels"], measures=["ndcg@10"])["ndcg@10"]
    assert found > 0.8859  # the best single ranker


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("sca", {"combine": "scores"}, "Unknown value of combine 'scores'; choose from memberships, similarities."),
        ("sca", {"activation": "rnk"}, "Did you mean 'rank'?"),
        ("sca", {"expansion": 0}, "expansion must be a whole number, at least 1; got 0."),
        ("crossdiffusion", {"eta": -1}, "eta must be from 0 to 1e+30; got -1."),
        ("crossdiffusion", {"neighbors": 20, "depth": 10}, "neighbors must be at most depth; got 20 and 10."),
        ("helloneighbor", {"neighbors": 20, "depth": 10}, "neighbors must be at most depth; got 20 and 10."),
        ("helloneighbor", {"overlap": 1.5}, "overlap must be from 0 to 1; got 1.5."),
        ("helloneighbor", {"iterations": 1}, "The method 'helloneighbor' has no option 'iterations'"),
    ],
)
def test_bad_options_raise(method, options, message):
    with pytest.raises(InputError) as caught:
        fused(method, THREE, **options)
    assert message in str(caught.value)


def test_activation_by_scores_needs_scores():
    with pytest.raises(InputError, match="needs scores"):
        fused("sca", [rl.Ranks([[0]])], activation="scores")
