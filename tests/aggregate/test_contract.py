"""The check of methods finds what is wrong with one."""

import numpy as np
import pytest

import rankloom as rl
from rankloom.aggregate import Method, check_method, rrf


def passed_on(ranks, k=10):
    return rrf(ranks, k)


def no_default(ranks, k=10, *, strength):
    return rrf(ranks, k)


def positional(ranks, k=10, strength=1.0):
    return rrf(ranks, k)


def without_names(ranks, k=10):
    fused = rrf(ranks, k)
    return rl.Ranks.trusted(fused.items, fused.scores, fused.n_items)


def too_many(ranks, k=10):
    return rrf(ranks, 2 * k)


def rising(ranks, k=10):
    fused = rrf(ranks, k)
    return rl.Ranks.trusted(
        fused.items, -fused.scores, fused.n_items, item_ids=fused.item_ids, query_ids=fused.query_ids
    )


def looks_at_all(ranks, k=10):
    return rrf([*ranks, ranks[0].rows(np.roll(np.arange(ranks[0].n_queries), 1))], k)


def by_k(ranks, k=10):
    return rrf(ranks[: k // 5 + 1], k)


def refuses(ranks, k=10):
    raise rl.InputError("No.")


CALLS = iter(range(10**6))


def changing(ranks, k=10):
    return rrf(ranks, k, weights=[1.0 + next(CALLS)] * len(ranks))


BROKEN = {
    no_default: "the option strength of broken must have a default",
    positional: "the option strength of broken must be keyword-only",
    without_names: "broken must keep the names of the queries",
    too_many: "answers where 9 are asked for",
    rising: "broken returns ranks that are not valid: The scores of row",
    looks_at_all: "broken makes the list of a query depend on other queries",
    by_k: "broken gives other items for a smaller k",
    refuses: "broken refuses ranks with scores: No.",
    changing: "broken gives different results for the same input",
}


@pytest.fixture
def registered(monkeypatch):
    def register(function):
        monkeypatch.setitem(rl.METHODS._known, "broken", Method(function, "queries", True))

    return register


def test_a_method_that_keeps_the_contract_passes(registered):
    registered(passed_on)
    check_method("broken")


@pytest.mark.parametrize("function", BROKEN)
def test_a_broken_promise_is_told(function, registered):
    registered(function)
    with pytest.raises(AssertionError) as caught:
        check_method("broken")
    assert BROKEN[function] in str(caught.value)


def test_an_unknown_method_is_told():
    with pytest.raises(rl.UnknownNameError):
        check_method("brokn")
