import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloom import Ranks
from rankloom.errors import InputError, UnknownNameError
from rankloom.evaluation import ESTIMATES, estimate, estimate_all, estimates
from strategies import collections

KINDS = ["authority", "reciprocal"]


def plain(lists, kind, k):
    """Compute the formula with loops, for lists of items without padding."""
    near = [row[:k] for row in lists]
    scores = []
    for own in near:
        score = 0.0
        for i in own:
            for j in near[i]:
                if j in own:
                    score += 1 if kind == "authority" else 1 / (own.index(j) + 1)
        scores.append(score / k**2)
    return scores


def test_estimates_by_hand():
    # 0, 1 and 2 list each other; 3 lists two of them, and none lists 3
    ranks = Ranks([[0, 1, 2], [1, 2, 0], [2, 0, 1], [3, 0, 1]])
    by_authority = estimate(ranks, neighbors=3, per_query=True)
    # 3: of {3, 0, 1}, 3 lists three, 0 lists 0 and 1, 1 lists 1 and 0
    np.testing.assert_allclose(by_authority, [1, 1, 1, (3 + 2 + 2) / 9])
    h = 1 + 1 / 2 + 1 / 3
    by_density = estimate(ranks, kind="reciprocal", neighbors=3, per_query=True)
    np.testing.assert_allclose(by_density, [3 * h / 9] * 3 + [(h + 2 * (1 / 2 + 1 / 3)) / 9])
    assert estimate(ranks, neighbors=3) == pytest.approx((3 + 7 / 9) / 4)


def test_one_neighbor_is_the_item_itself():
    ranks = Ranks([[0, 1], [1, 0]])
    assert estimate(ranks, neighbors=1) == 1
    assert estimate(ranks, kind="reciprocal", neighbors=1) == 1


def test_neighbors_are_limited_to_the_depth():
    ranks = Ranks([[0, 1], [1, 0]])
    assert estimate(ranks, neighbors=20) == estimate(ranks, neighbors=2) == 1


def test_an_empty_list_scores_0_and_a_short_one_less():
    ranks = Ranks([[0, 1], [1, -1], [-1, -1]], n_items=3)
    # 0: of {0, 1}, 0 lists two and 1 one; 1: itself alone; the divisor is 4 for all
    assert estimate(ranks, neighbors=2, per_query=True).tolist() == [3 / 4, 1 / 4, 0]


def test_rows_are_matched_to_items_by_id():
    lists = {"b": ["b", "c"], "a": ["a", "b"], "c": ["c", "b"]}
    values = estimate(Ranks.from_dict(lists), neighbors=2, per_query=True)
    assert values.tolist() == [1, 3 / 4, 1]


@given(collections(m=1), st.sampled_from(KINDS), st.integers(1, 6))
def test_estimates_match_the_oracle(rankers, kind, k):
    ranks = rankers[0]
    if ranks.depth == 0:
        return
    lists = [[i for i in row if i >= 0] for row in ranks.items.tolist()]
    values = estimate(ranks, kind=kind, neighbors=k, per_query=True)
    np.testing.assert_allclose(values, plain(lists, kind, min(k, ranks.depth)), atol=1e-12)
    assert (values >= 0).all()
    assert (values <= 1 + 1e-12).all()
    assert estimate(ranks, kind=kind, neighbors=k) == pytest.approx(values.mean())


@pytest.mark.parametrize("kind", KINDS)
def test_any_block_size_gives_the_same_bits(kind, monkeypatch):
    ranks = Ranks.from_vectors(np.random.default_rng(0).random((50, 3)), depth=10)
    expected = estimate(ranks, kind=kind, neighbors=7, per_query=True)
    monkeypatch.setattr(estimates, "BLOCK_CELLS", 3 * 49)
    assert estimate(ranks, kind=kind, neighbors=7, per_query=True).tobytes() == expected.tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_less_noise_gives_a_higher_estimate(kind):
    rng = np.random.default_rng(4)
    classes = np.repeat(np.arange(10), 20)
    centers = rng.normal(size=(10, 8))
    estimated = [
        estimate(Ranks.from_vectors(centers[classes] + noise * rng.normal(size=(200, 8))), kind=kind)
        for noise in (0.2, 0.8, 5.0)
    ]
    assert estimated == sorted(estimated, reverse=True)


def test_the_registry_has_every_estimate():
    assert sorted(ESTIMATES) == KINDS


def test_bad_input_raises():
    with pytest.raises(UnknownNameError, match=r"Unknown estimate 'autority'; .*Did you mean 'authority'\?"):
        estimate(Ranks([[0]]), kind="autority")
    with pytest.raises(InputError, match="neighbors must be a whole number, at least 1; got 0"):
        estimate(Ranks([[0]]), neighbors=0)
    with pytest.raises(InputError, match="a row for each item; got 1 rows and 3 items"):
        estimate(Ranks([[0, 1]], n_items=3))
    with pytest.raises(InputError, match="nothing to estimate"):
        estimate(Ranks(np.empty((2, 0)), n_items=2))
    with pytest.raises(InputError, match="one Ranks at a time; got list"):
        estimate([Ranks([[0]])])


def test_rankers_of_different_depths_share_one_k():
    deep = Ranks.from_vectors(np.random.default_rng(0).normal(size=(40, 3)), "l2", 30)
    found = estimate_all({"deep": deep, "shallow": deep.head(3)})
    assert found["deep"] == found["shallow"] == estimate(deep, neighbors=3)
    assert estimate_all({"deep": deep}) == {"deep": estimate(deep, neighbors=20)}
