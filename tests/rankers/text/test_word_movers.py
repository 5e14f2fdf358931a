"""The word mover's distance against worked examples and linear programming, and its bounds."""

import numpy as np
import pytest
from scipy.optimize import linprog
from text_helpers import check_blocks_and_threads, hide_packages, lists, score_table

import rankloom as rl
from rankloom.errors import InputError, MissingExtraError
from rankloom.rankers.text.terms import Tokenizer
from rankloom.rankers.text.word_movers import UNSTEMMED, WMD, MoverModel, _row
from rankloom.rankers.text.word_vectors import WordVectors

WORDS = ["fever", "cough", "ache", "zebra", "heart", "skin", "lung", "naïve"]
LINE = WordVectors(["hot", "warm", "cold"], [[0.0], [1.0], [5.0]])


def wmd(texts, vectors=LINE, tokenizer=UNSTEMMED, **options):
    """Return the model of texts."""
    return WMD(**options).fit(texts, vectors=vectors, tokenizer=tokenizer)


def random_model(n=30, seed=0, **options):
    """Return a model of random texts with random vectors."""
    random = np.random.default_rng(seed)
    texts = [" ".join(random.choice(WORDS, size)) for size in random.integers(1, 9, n)]
    return wmd(texts, vectors=WordVectors(WORDS, random.normal(size=(len(WORDS), 4))), **options)


def transport(model, a, b):
    """Return the minimum cost of moving text a to text b, by linear programming."""
    (words, shares), (others, weights) = _row(model.texts, a), _row(model.texts, b)
    cost = np.linalg.norm(model.points[words][:, None] - model.points[others], axis=2)
    n, m = cost.shape
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    best = linprog(cost.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([shares, weights]))
    return best.fun


def costs_of(ranks):
    return 0 - score_table(ranks, missing=np.nan)


def test_words_on_a_line_example():
    # hot 0, warm 1, cold 5. Text 0 to 2: half of hot moves to warm (1/2), half to cold (5/2).
    ranks = wmd(["hot", "warm", "warm cold"]).rank()
    assert costs_of(ranks).tolist() == [[0, 1, 3], [1, 0, 2], [3, 2, 0]]
    assert lists(ranks) == [[0, 1, 2], [1, 0, 2], [2, 1, 0]]


def test_frequencies_are_relative():
    # hot hot warm: 2/3 and 1/3; moving all to warm costs 2/3.
    assert costs_of(wmd(["hot hot warm", "warm"]).rank())[0, 1] == pytest.approx(2 / 3)


def test_distances_equal_linear_programming():
    model = random_model(12, relaxed=12, exact=12)
    expected = [[transport(model, a, b) for b in range(12)] for a in range(12)]
    assert costs_of(model.rank()) == pytest.approx(np.array(expected), abs=1e-5)


def test_distances_are_symmetric_and_zero_on_the_diagonal():
    costs = costs_of(random_model(20, relaxed=20, exact=20).rank())
    assert np.array_equal(costs, costs.T)
    assert not np.diag(costs).any()


def test_bounds_increase_up_to_the_distance():
    exact = costs_of(random_model(relaxed=30, exact=30).rank())
    texts = costs_of(random_model(relaxed=0, exact=0).rank())
    both = costs_of(random_model(relaxed=30, exact=0).rank())
    model = random_model()
    centers = np.linalg.norm(model.centers[:, None] - model.centers, axis=2)
    assert (centers <= exact + 1e-6).all()
    assert (centers <= texts + 1e-6).all()
    assert (texts <= both + 1e-6).all()
    assert (both <= exact + 1e-6).all()
    assert (both < exact - 1e-3).any()


def test_the_relaxed_distance_equals_its_definition():
    model = random_model(relaxed=30, exact=0)
    found = costs_of(model.rank())
    for a in range(0, 30, 7):
        for b in range(30):
            (words, shares), (others, weights) = _row(model.texts, a), _row(model.texts, b)
            cost = np.linalg.norm(model.points[words][:, None] - model.points[others], axis=2)
            centroid = np.linalg.norm(model.centers[a] - model.centers[b])
            assert found[a, b] == pytest.approx(max(shares @ cost.min(1), weights @ cost.min(0), centroid), abs=1e-5)


def test_only_the_first_are_exact_and_the_others_follow_their_bounds():
    model = random_model(relaxed=10, exact=3)
    ranks, bounds, exact = (
        model.rank(),
        random_model(relaxed=0, exact=0).rank(),
        costs_of(random_model(relaxed=30, exact=30).rank()),
    )
    rl.Ranks(ranks.items, ranks.scores, ranks.n_items)
    for q in range(30):
        first = ranks.items[q, :3]
        assert -ranks.scores[q, :3] == pytest.approx(exact[q, first], abs=1e-6)
        assert set(ranks.items[q, :10]) == set(bounds.items[q, :10])
        assert ranks.items[q, 10:].tolist() == bounds.items[q, 10:].tolist()


def test_a_short_list_is_a_prefix():
    model = random_model(40, seed=4, relaxed=20, exact=5)
    long = model.rank()
    for depth in (1, 3, 12, 30):
        assert np.array_equal(model.rank(depth=depth).items, long.items[:, :depth])


def test_bits_do_not_depend_on_blocks_or_threads():
    model = random_model(40, seed=3, relaxed=20, exact=5)
    check_blocks_and_threads(model, depth=25)


def test_texts_without_vectors_are_only_in_their_own_lists():
    model = wmd(["hot", "", "unknown", "warm"])
    assert lists(model.rank()) == [[0, 3], [1], [2], [3, 0]]
    assert lists(model.rank(["", "unknown", "warm unknown"])) == [[], [], [3, 0]]


def test_an_external_query_has_the_distances_of_an_equal_item():
    model = wmd(["hot", "warm cold", "cold"])
    assert costs_of(model.rank(["warm COLD"]))[0].tolist() == costs_of(model.rank())[1].tolist()
    assert lists(model.rank(["cold"], depth=1)) == [[2]]


def test_ties_are_ordered_by_number_after_the_text_itself():
    assert lists(wmd(["hot", "hot", "cold", "hot"]).rank())[3] == [3, 0, 1, 2]


def test_stemming_is_off_by_default():
    assert lists(wmd(["hots", "hot"]).rank()) == [[0], [1]]
    assert lists(wmd(["hots", "hot"], tokenizer=Tokenizer()).rank()) == [[0, 1], [1, 0]]


def test_learned_vectors_group_words_of_the_same_context():
    texts = ["fever with cough", "fever with ache", "cough with ache"] * 3 + ["zebra eats grass", "zebra eats leaf"] * 3
    model = wmd(texts, vectors=None, dimensions=3)
    assert isinstance(model, MoverModel)
    assert set(lists(model.rank())[0][:9]) == set(range(9))


def test_a_missing_solver_is_named_with_its_extra(monkeypatch):
    hide_packages(monkeypatch, "ot")
    with pytest.raises(MissingExtraError, match=r"needs POT: pip install 'rankloom\[wmd\]'"):
        wmd(["hot"]).rank()


def test_invalid_options_are_rejected():
    with pytest.raises(InputError, match=r"vectors .* must be the path of a file"):
        WMD(vectors=3)
    with pytest.raises(InputError, match="exact must be"):
        WMD(exact=-1)


def test_vectors_may_be_a_file(tmp_path):
    (tmp_path / "a.txt").write_text("hot 0.5 1\nwarm 2 -3e-1\n", encoding="utf-8")
    assert lists(WMD(vectors=tmp_path / "a.txt").fit(["hot", "warm"]).rank()) == [[0, 1], [1, 0]]
