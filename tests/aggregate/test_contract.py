"""`check_method` accepts valid methods and reports what is wrong with others."""

import numpy as np
import pytest

import rankloom as rl
from rankloom.aggregate.methods import as_method
from rankloom.errors import InputError, UnknownNameError
from rankloom.methods import METHODS, RRF, check_method, register_method


def valid(ranks, k=10):
    return RRF().fuse(ranks, k)


def without_ids(ranks, k=10):
    fused = RRF().fuse(ranks, k)
    return rl.Ranks.trusted(fused.items, fused.scores, fused.n_items)


def too_many(ranks, k=10):
    return RRF().fuse(ranks, 2 * k)


def too_many_without_scores(ranks, k=10):
    return RRF().fuse(ranks, k if ranks[0].scores is not None else 2 * k)


def no_ranks(ranks, k=10):
    return None


def rising(ranks, k=10):
    fused = RRF().fuse(ranks, k)
    return rl.Ranks.trusted(
        fused.items, -fused.scores, fused.n_items, item_ids=fused.item_ids, query_ids=fused.query_ids
    )


def mixes_queries(ranks, k=10):
    return RRF().fuse([*ranks, ranks[0].rows(np.roll(np.arange(ranks[0].n_queries), 1))], k)


def depends_on_k(ranks, k=10):
    return RRF().fuse(ranks[: k // 5 + 1], k)


def rejects(ranks, k=10):
    raise InputError("No.")


CALLS = iter(range(10**6))


def changing(ranks, k=10):
    return RRF(weights=[1.0 + next(CALLS)] * len(ranks)).fuse(ranks, k)


BROKEN = {
    without_ids: "must keep the query ids",
    too_many: "The method 'broken' returns 18 answers for k=9",
    too_many_without_scores: "The method 'broken' returns 18 answers for k=9",
    no_ranks: "The method 'broken' must return Ranks; got NoneType",
    rising: "broken returns invalid ranks: The scores of row",
    mixes_queries: "the list of a query by broken depends on other queries",
    depends_on_k: "broken gives different items for a smaller k",
    rejects: "broken rejects ranks with scores: No.",
    changing: "broken gives different results for the same input",
}


@pytest.fixture
def registered(monkeypatch):
    def register(function):
        method = as_method(function)
        method.entry_name = "broken"
        monkeypatch.setitem(METHODS._known, "broken", method)

    return register


def test_a_method_that_keeps_the_contract_passes(registered):
    registered(valid)
    check_method("broken")


@pytest.mark.parametrize("function", BROKEN)
def test_a_violation_raises(function, registered):
    registered(function)
    with pytest.raises(AssertionError) as caught:
        check_method("broken")
    assert BROKEN[function] in str(caught.value)


@pytest.mark.parametrize(
    "function",
    [
        lambda ranks, k=10, *, strength: None,
        lambda ranks, k=10, strength=1.0: None,
        lambda lists, k=10: None,
        lambda ranks: None,
    ],
)
def test_a_function_without_ranks_and_k_or_with_options_without_defaults_is_not_a_method(function):
    with pytest.raises(InputError, match="A method must take ranks and k, and keyword-only options with defaults"):
        register_method("broken")(function)
    assert "broken" not in METHODS


def test_an_unknown_method_raises():
    with pytest.raises(UnknownNameError):
        check_method("brokn")
