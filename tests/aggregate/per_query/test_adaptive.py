import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloom as rl
from rankloom.errors import InputError
from rankloom.ranks import PAD
from strategies import ranks as some_ranks


def fused(ranks, k=10, **options):
    out = rl.fuse(ranks, "qalf", k, **options)
    return rl.Ranks(out.items, out.scores, out.n_items)


def row(out, q=0):
    return {int(i): float(s) for i, s in zip(out.items[q], out.scores[q], strict=True) if i >= 0}


def scaled(curve):
    low, high = min(curve), max(curve)
    return [(s - low) / (high - low) if high > low else 1.0 for s in curve]


def plain(ranks, q, tail, floor, weights, references=None):
    """Return {item: score} for one query."""
    lists, steepness = [], []
    for r, one in enumerate(ranks):
        items = [int(x) for x in one.items[q] if x >= 0]
        curve = [float(s) for s in one.scores[q, : len(items)]]
        if not items:
            continue
        size = max(int(len(curve) * tail), 1)
        if references is None:
            mean = sum(curve[-size:]) / size
            rest = [max(s - mean, 0.0) for s in curve]
        else:
            known = [list(map(float, c[: len(curve)])) for c in references[r]]
            near = min(known, key=lambda c: sum((a - b) ** 2 for a, b in zip(c[-size:], curve[-size:], strict=True)))
            rest = [a - b for a, b in zip(curve, near, strict=True)]
        lists.append(dict(zip(items, scaled(curve), strict=True)))
        steepness.append(weights[r] / (sum(scaled(rest)) / len(rest)))
    score = {}
    for x in dict.fromkeys(x for one in lists for x in one):
        score[x] = 1.0
        for one, w in zip(lists, steepness, strict=True):
            score[x] *= (floor + (1 - floor) * one.get(x, 0.0)) ** (w / sum(steepness))
    return score


def test_product_by_hand():
    # Ranker 1: tail mean (0.1 + 0) / 2 = .05, rest (.95, .05, .05, 0), scaled (1, 1/19, 1/19, 0), area 21/19/4.
    # Ranker 2: tail mean .4, rest (.6, .5, .4, 0), scaled (1, 5/6, 4/6, 0), area 15/6/4.
    one = rl.Ranks([[0, 1, 2, 3]], [[1.0, 0.1, 0.1, 0.0]])
    two = rl.Ranks([[1, 0, 2, 3]], [[1.0, 0.9, 0.8, 0.0]])
    a, b = 4 * 19 / 21, 4 * 6 / 15
    w = a / (a + b)
    up = [0.01 + 0.99 * s for s in (0.1, 0.8, 0.9)]
    expected = {0: up[2] ** (1 - w), 1: up[0] ** w, 2: up[0] ** w * up[1] ** (1 - w), 3: 0.01}
    assert row(fused([one, two])) == pytest.approx(expected, rel=1e-5)
    assert list(row(fused([one, two]))) == [0, 1, 2, 3]


@given(data=st.data(), tail=st.sampled_from([0.2, 0.5, 1.0]))
def test_matches_the_oracle(data, tail):
    ranks = [data.draw(some_ranks(n_items=7, n_queries=3, scores=True)) for _ in range(data.draw(st.integers(1, 3)))]
    weights = [1.0, 0.5, 2.0][: len(ranks)]
    references = None
    if data.draw(st.booleans()):
        rng = np.random.default_rng(0)
        references = [-np.sort(-rng.normal(size=(4, 7)), axis=1) for _ in ranks]
    out = fused(ranks, 21, tail=tail, floor=0.05, weights=weights, references=references)
    for q in range(3):
        assert row(out, q) == pytest.approx(plain(ranks, q, tail, 0.05, weights, references), rel=1e-4)


@given(some_ranks(n_items=6, scores=True))
def test_one_ranker_gives_back_its_list(one):
    assert np.array_equal(fused([one], max(one.depth, 1)).items[:, : one.depth], one.items)


@given(st.data())
def test_a_ranker_of_empty_lists_changes_nothing(data):
    one, two = (data.draw(some_ranks(n_items=6, n_queries=3, scores=True)) for _ in range(2))
    empty = rl.Ranks(np.full((3, 2), PAD), np.zeros((3, 2)), n_items=6)
    assert fused([one, two, empty]).to_dict() == fused([one, two]).to_dict()


def test_scale_and_offset_of_scores_do_not_matter():
    rng = np.random.default_rng(0)
    ranks = [rl.Ranks.from_similarities(rng.normal(size=(5, 30)), depth=20) for _ in range(3)]
    shifted = [rl.Ranks(r.items, r.scores * 4 + 16, r.n_items) for r in ranks]
    assert fused(ranks).scores == pytest.approx(fused(shifted).scores, rel=1e-3)


def test_external_queries_need_no_collection():
    assert fused([rl.Ranks([[4, 2]], [[2.0, 1.0]], n_items=9)]).items[0, :2].tolist() == [4, 2]


def test_depth_cuts_the_lists():
    one = rl.Ranks([[0, 1, 2]], [[3.0, 2.0, 1.0]])
    assert list(row(fused([one], depth=2))) == [0, 1]


def test_empty_ranks():
    assert fused([rl.Ranks(np.empty((0, 0), int), np.empty((0, 0)))]).n_queries == 0
    assert row(fused([rl.Ranks([[-1]], [[0.0]], n_items=1)])) == {}


def test_fusing_beats_the_best_ranker_on_digits(shared):
    data = np.load(shared / "golden" / "udlf" / "inputs" / "digits300" / "inputs.npz")
    ranks = [rl.Ranks.from_distances(data[f"{name}_dist"], kind="collection") for name in ("pix", "hog", "proj")]
    found = rl.evaluate(fused(ranks), labels=data["labels"], measures=["ndcg@10"])["ndcg@10"]
    assert found > 0.8859  # the best single ranker


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tail": 2}, "tail must be from 0 to 1; got 2."),
        ({"floor": 1}, "floor must be at least 1e-12 and below 1"),
        ({"references": []}, "references must be a list with one array for each of the 1 rankers."),
        ({"references": [[[1.0]]]}, "rows of at least 2 scores; got the shape (1, 1)."),
        ({"cutoff": 2}, "The method 'qalf' has no option 'cutoff'"),
    ],
)
def test_bad_options_raise(options, message):
    with pytest.raises(InputError) as caught:
        fused([rl.Ranks([[0, 1]], [[1.0, 0.5]])], **options)
    assert message in str(caught.value)


def test_ranks_without_scores_raise():
    with pytest.raises(InputError, match="qalf needs scores"):
        fused([rl.Ranks([[0, 1]])])
