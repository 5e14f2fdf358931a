"""The contract of a fusion method, as a check for authors of plug-ins."""

import inspect
from collections.abc import Iterator

import numpy as np

from rankloom.aggregate.methods import METHODS, Method, fuse
from rankloom.errors import InputError
from rankloom.ranks import PAD, Ids, Ranks

N_ITEMS = 9


def check_method(name: str) -> None:
    """Check that a registered method meets the contract of `fuse`; raise AssertionError for the first violation.

    The method runs with its defaults on small ranks: with and without scores, of different depths, with empty lists and
    with a single ranker. The result must be valid ranks with the same query and item ids and at most k answers, the
    same bits each time, and for a smaller k the head of the same lists. A method that needs scores may raise
    `InputError` for ranks without scores. A method that needs "queries" returns listed items only, and the list of a
    query does not depend on other queries. Every option is keyword-only and has a default.

    Examples
    --------
    >>> check_method("rrf")
    """
    method = METHODS[name]
    _check_signature(name, method)
    for ranks in _samples():
        try:
            fused = fuse(ranks, name, N_ITEMS)
        except InputError as error:
            _claim(ranks[0].scores is None, f"{name} rejects ranks with scores: {error}")
            continue
        _check_result(name, ranks, fused, N_ITEMS)
        _claim(_same(fused, fuse(ranks, name, N_ITEMS)), f"{name} gives different results for the same input")
        _claim(_same(fused.head(2), fuse(ranks, name, 2)), f"{name} gives different items for a smaller k")
        if method.needs == "queries":
            _check_queries_alone(name, ranks, fused)


def _check_signature(name: str, method: Method) -> None:
    parameters = inspect.signature(method.function).parameters
    _claim(list(parameters)[:2] == ["ranks", "k"], f"{name} must take ranks and k first")
    for option in method.options():
        kind, default = parameters[option].kind, parameters[option].default
        _claim(kind is inspect.Parameter.KEYWORD_ONLY, f"the option {option} of {name} must be keyword-only")
        _claim(default is not inspect.Parameter.empty, f"the option {option} of {name} must have a default")


def _check_result(name: str, ranks: list[Ranks], fused: Ranks, k: int) -> None:
    _claim(isinstance(fused, Ranks), f"{name} must return Ranks; got {type(fused).__name__}")
    try:
        Ranks(fused.items, fused.scores, fused.n_items, item_ids=fused.item_ids, query_ids=fused.query_ids)
    except InputError as error:
        _claim(False, f"{name} returns invalid ranks: {error}")
    _claim(fused.depth <= k, f"{name} returns {fused.depth} answers for k={k}")
    _claim(fused.query_ids == ranks[0].query_ids, f"{name} must keep the query ids")
    _claim(fused.item_ids == ranks[0].item_ids, f"{name} must keep the item ids")


def _check_queries_alone(name: str, ranks: list[Ranks], fused: Ranks) -> None:
    for row in range(fused.n_queries):
        alone = fuse([r.rows([row]) for r in ranks], name, N_ITEMS)
        _claim(_same(alone, fused.rows([row])), f"the list of a query by {name} depends on other queries")
        listed = {item for r in ranks for item in r.items[row].tolist()}
        _claim(set(fused.items[row].tolist()) <= {*listed, PAD}, f"{name} returns items that no ranker lists")


def _same(one: Ranks, other: Ranks) -> bool:
    scores = (one.scores is None) == (other.scores is None)
    if scores and one.scores is not None and other.scores is not None:
        scores = np.array_equal(one.scores, other.scores)
    return scores and np.array_equal(one.items, other.items)


def _claim(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)


def _samples() -> Iterator[list[Ranks]]:
    """Yield collection ranks, row i the list of item i, which also serve as query ranks."""
    random = np.random.default_rng(0)
    for depths in ((N_ITEMS, N_ITEMS, N_ITEMS), (5, 3, 7), (4,)):
        for scored in (True, False):
            yield [_sample(random, depth, scored) for depth in depths]


def _sample(random: np.random.Generator, depth: int, scored: bool) -> Ranks:
    items = np.array([random.permutation(N_ITEMS) for _ in range(N_ITEMS)])
    own = items == np.arange(N_ITEMS)[:, None]
    items[own], items[:, 0] = items[:, 0], np.arange(N_ITEMS)
    scores = -np.sort(random.integers(-4, 9, items.shape), axis=1).astype(np.float32)  # with ties
    lengths = random.integers(0, depth + 1, N_ITEMS)
    items[np.arange(N_ITEMS) >= lengths[:, None]] = PAD
    ids = Ids(f"d{number}" for number in range(N_ITEMS))
    return Ranks(items[:, :depth], scores[:, :depth] if scored else None, N_ITEMS, item_ids=ids, query_ids=ids)
