import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankloom import Ranks
from rankloom.errors import InputError, UnknownNameError
from rankloom.evaluation import correlations, estimate
from rankloom.evaluation.selection import (
    SELECTIONS,
    Balance,
    Selection,
    agreement,
    balance,
    balances,
    select,
    select_rankers,
)

# Parsing

WRITTEN = ["all", "best(1)", "best(2)", "best(3)", "pair", "best(2, authority)", "pair(authority)", "pair(reciprocal)"]


@pytest.mark.parametrize("text", WRITTEN)
def test_a_selection_parses_back(text):
    selection = Selection.parse(text)
    assert str(selection) == text
    assert Selection.parse(str(selection)) == selection
    assert len({selection, Selection.parse(text)}) == 1


def test_spaces_and_order_do_not_matter():
    assert Selection.parse(" best( authority ,2) ") == Selection("best", 2, "authority")


def test_the_registry_has_every_rule():
    assert sorted(SELECTIONS) == ["all", "best", "only", "pair"]


# From numbers, by hand

EFFECTIVENESS = {"color": 0.6, "shape": 0.9, "texture": 0.8, "words": 0.8}
CORRELATED = [[1, 0.1, 0.2, 0.0], [0.1, 1, 0.5, 0.4], [0.2, 0.5, 1, 0.1], [0.0, 0.4, 0.1, 1]]


def test_balance_by_hand():
    assert balance(0.9, 0.8, 0.5) == pytest.approx((1 + 0.72) / 1.5)
    assert balance(3.54, 3.37, 0.23) == pytest.approx((1 + 3.54 * 3.37) / 1.23)  # N-S scores, not scaled


def test_selections_by_hand():
    assert select(EFFECTIVENESS, kind="all") == ("color", "shape", "texture", "words")
    assert select(EFFECTIVENESS, kind="best(1)") == ("shape",)
    assert select(EFFECTIVENESS, kind="best(2)") == ("shape", "texture")  # words ties with texture, and comes later
    assert select(EFFECTIVENESS, kind="best(3)") == ("shape", "texture", "words")
    # color+shape 1.54 / 1.1 = 1.400; color+words 1.48; texture+words 1.64 / 1.1 = 1.491
    assert select(EFFECTIVENESS, CORRELATED, kind="pair") == ("texture", "words")
    assert select(EFFECTIVENESS, CORRELATED, kind=Selection("pair")) == ("texture", "words")


def test_pairs_are_sorted_by_balance():
    table = balances(EFFECTIVENESS, CORRELATED)
    assert table[0] == Balance("texture", "words", pytest.approx(1.64 / 1.1))
    assert table[1] == Balance("color", "words", pytest.approx(1.48))
    assert table[2] == Balance("color", "shape", pytest.approx(1.54 / 1.1))
    assert len(table) == 6
    assert [one.balance for one in table] == sorted((one.balance for one in table), reverse=True)


def test_the_first_wins_a_tie():
    equal = dict.fromkeys("abc", 0.5)
    assert select(equal, kind="best(2)") == ("a", "b")
    assert select(equal, np.eye(3), kind="pair") == ("a", "b")
    assert [one[:2] for one in balances(equal, np.eye(3))] == [("a", "b"), ("a", "c"), ("b", "c")]


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6), st.data())
def test_pair_and_best_maximize(values, data):
    n = len(values)
    flat = iter(data.draw(st.lists(st.floats(0, 1), min_size=n * n, max_size=n * n)))
    drawn = np.array(list(flat)).reshape(n, n)
    table = np.triu(drawn, 1) + np.triu(drawn, 1).T + np.eye(n)
    names = {f"r{i}": value for i, value in enumerate(values)}
    best = max((1 + values[i] * values[j]) / (1 + table[i, j]) for i in range(n) for j in range(i))
    first, second = (int(name[1:]) for name in select(names, table, kind="pair"))
    assert (1 + values[first] * values[second]) / (1 + table[first, second]) == best
    for count in range(1, n + 1):
        chosen = [names[name] for name in select(names, kind=f"best({count})")]
        assert sorted(chosen, reverse=True) == sorted(values, reverse=True)[:count]


# From ranks


@pytest.fixture(scope="module")
def rankers():
    rng = np.random.default_rng(5)
    classes = np.repeat(np.arange(8), 15)
    centers = rng.normal(size=(8, 6))
    noises = {"poor": 3.0, "good": 0.3, "fair": 0.8}
    return {
        name: Ranks.from_vectors(centers[classes] + noise * rng.normal(size=(120, 6)), metric="l2")
        for name, noise in noises.items()
    }


def test_rankers_are_chosen_without_labels(rankers):
    assert select_rankers(rankers, kind="all") == ("poor", "good", "fair")
    for estimated in ("authority", "reciprocal"):
        assert select_rankers(rankers, kind=f"best(2, {estimated})") == ("good", "fair")
        known = {name: estimate(ranks, kind=estimated, neighbors=10) for name, ranks in rankers.items()}
        table = correlations(list(rankers.values()), kind="spearman", depth=5)
        by_numbers = select(known, table, kind="pair")
        chosen = select_rankers(rankers, kind=f"pair({estimated})", neighbors=10, correlation="spearman", depth=5)
        assert chosen == by_numbers


def test_rankers_are_chosen_by_given_effectiveness(rankers):
    known = {"good": 0.2, "poor": 0.9, "fair": 0.8, "another": 1.0}
    assert select_rankers(rankers, kind="best(2)", effectiveness=known) == ("poor", "fair")
    in_order = {name: known[name] for name in rankers}
    expected = select(in_order, correlations(list(rankers.values())), kind="pair")
    assert select_rankers(rankers, kind="pair", effectiveness=known) == expected


# Agreement


def test_agreement_by_hand():
    true = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.1}
    same = {"d": 1, "c": 2, "b": 3, "a": 4}
    assert agreement(same, true) == pytest.approx(1)
    assert agreement({name: -value for name, value in same.items()}, true) == pytest.approx(-1)
    swapped = {"a": 4, "b": 2, "c": 3, "d": 1}  # one of six pairs; squared differences of positions 1 + 1
    assert agreement(swapped, true, kind="kendall") == pytest.approx((5 - 1) / 6)
    assert agreement(swapped, true) == pytest.approx(1 - 6 * 2 / (4 * 15))


def test_agreement_of_equal_values_is_nan():
    assert np.isnan(agreement({"a": 1, "b": 1}, {"a": 1, "b": 2}))
    assert np.isnan(agreement({"a": 1, "b": 2}, {"a": 1, "b": 1}))


def test_agreement_matches_scipy():
    rng = np.random.default_rng(0)
    ours, theirs = rng.integers(0, 5, (2, 9)).astype(float)
    names = [f"r{i}" for i in range(9)]
    named = dict(zip(names, ours, strict=True)), dict(zip(names, theirs, strict=True))
    assert agreement(*named) == pytest.approx(stats.spearmanr(ours, theirs).statistic)
    assert agreement(*named, kind="kendall") == pytest.approx(stats.kendalltau(ours, theirs).statistic)


# Errors


def test_bad_input_raises(rankers):
    with pytest.raises(InputError, match=r"There are only 4 rankers; best\(5\) needs more"):
        select(EFFECTIVENESS, kind="best(5)")
    with pytest.raises(InputError, match="pair needs the correlations of the rankers"):
        select(EFFECTIVENESS, kind="pair")
    with pytest.raises(InputError, match="A pair needs at least 2 rankers; got 1"):
        select({"a": 1.0}, [[1]], kind="pair")
    with pytest.raises(InputError, match=r"Correlations must be 4 x 4, .* got the shape \(2, 2\)"):
        select(EFFECTIVENESS, np.eye(2), kind="pair")
    with pytest.raises(InputError, match="must be above -1 and symmetric"):
        balances({"a": 1, "b": 1}, [[1, 0.2], [0.3, 1]])
    with pytest.raises(InputError, match=r"effectiveness of each ranker, a finite number; got {'a': nan}"):
        select({"a": float("nan")}, kind="all")
    with pytest.raises(InputError, match=r"a finite number; got {}"):
        select({}, kind="all")
    with pytest.raises(InputError, match=r"best\(2\) needs the effectiveness .* as in best\(2, authority\)"):
        select_rankers(rankers, kind="best(2)")
    with pytest.raises(InputError, match="effectiveness of 'good' is missing; got that of poor"):
        select_rankers(rankers, kind="pair", effectiveness={"poor": 1})
    with pytest.raises(InputError, match="the same rankers, at least 2; got a and a, b"):
        agreement({"a": 1}, {"a": 1, "b": 2})
    with pytest.raises(UnknownNameError, match=r"Unknown agreement 'kendal'; .*Did you mean 'kendall'\?"):
        agreement({"a": 1, "b": 2}, {"a": 1, "b": 2}, kind="kendal")


def test_rankers_can_be_named():
    effectiveness = {"BoW-cosine": 0.6, "2grams": 0.5, "a, b": 0.4}
    wanted = Selection.parse('only("a, b", BoW-cosine)')
    assert select(effectiveness, kind=wanted) == ("BoW-cosine", "a, b")
    assert Selection.parse(str(wanted)) == wanted
    with pytest.raises(UnknownNameError, match="Did you mean 'BoW-cosine'"):
        select(effectiveness, kind="only(BoW-cosin)")
    for wrong in ("only()", "only(a, a)", "only"):
        with pytest.raises(InputError, match="each once, as in only"):
            Selection.parse(wrong)
    with pytest.raises(InputError, match="each once"):
        Selection("pair", names=("a",))


def test_shallow_lists_give_no_advantage():
    rng = np.random.default_rng(1)
    centers, labels = rng.normal(size=(8, 4)), np.repeat(np.arange(8), 10)
    good = Ranks.from_vectors(centers[labels] + 0.3 * rng.normal(size=(80, 4)), "l2", 40)
    poor = Ranks.from_vectors(centers[labels] + 3 * rng.normal(size=(80, 4)), "l2", 3)
    assert select_rankers({"poor": poor, "good": good}, kind="best(1, authority)") == ("good",)


def test_a_count_of_thousands_of_digits_raises():
    with pytest.raises(InputError, match="needs a count"):
        Selection.parse("best(" + "9" * 5000 + ")")
