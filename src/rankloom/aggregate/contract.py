"""The contract of a fusion method, as a check for authors of plug-ins."""

from collections.abc import Iterator

import numpy as np

from rankloom.aggregate.learned.training import train
from rankloom.aggregate.methods import METHODS, SUPERVISED, Method, QueryMethod, fuse
from rankloom.errors import ContractError, InputError
from rankloom.ranks import PAD, Ids, Ranks
from rankloom.registry.options import REQUIRED

N_ITEMS = 9


def check_method(name: str) -> None:
    """Check that a registered method meets the contract of `fuse`; raise AssertionError for the first violation.

    The method runs with its defaults on small ranks: with and without scores, of different depths, with empty lists and
    with a single ranker. The result must be valid ranks with the same query and item ids and at most k answers, the
    same bits each time, and for a smaller k the head of the same lists. A method that needs scores may raise
    `InputError` for ranks without scores. A method that needs "queries" returns listed items only, and the list of a
    query does not depend on other queries. Every option has a default. A supervised method is first
    trained on judgments of the same ranks, and must then meet the same contract.

    Examples
    --------
    >>> check_method("rrf")
    """
    supervised = name in SUPERVISED
    for option in (SUPERVISED if supervised else METHODS).options(name).values():
        _claim(option.default is not REQUIRED, f"the option {option.name} of {name} must have a default")
    for ranks in _samples():
        method = train(ranks, _judgments(), name) if supervised else name
        try:
            fused = _fused(ranks, method, N_ITEMS)
        except InputError as error:
            _claim(ranks[0].scores is None, f"{name} rejects ranks with scores: {error}")
            continue
        _check_valid(name, fused)
        _claim(_same(fused, _fused(ranks, method, N_ITEMS)), f"{name} gives different results for the same input")
        _claim(_same(fused.head(2), _fused(ranks, method, 2)), f"{name} gives different items for a smaller k")
        if supervised or issubclass(METHODS[name], QueryMethod):
            _check_queries_alone(name, method, ranks, fused)


def _fused(ranks: list[Ranks], method: str | Method, k: int) -> Ranks:
    try:
        return fuse(ranks, method, k)
    except ContractError as error:
        raise AssertionError(str(error)) from None


def _check_valid(name: str, fused: Ranks) -> None:
    try:
        Ranks(fused.items, fused.scores, fused.n_items, item_ids=fused.item_ids, query_ids=fused.query_ids)
    except InputError as error:
        _claim(False, f"{name} returns invalid ranks: {error}")


def _check_queries_alone(name: str, method: str | Method, ranks: list[Ranks], fused: Ranks) -> None:
    for row in range(fused.n_queries):
        alone = _fused([r.rows([row]) for r in ranks], method, N_ITEMS)
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


def _judgments() -> dict[str, dict[str, int]]:
    """Return two relevant items and one that is not for each query of the samples."""
    return {f"d{q}": {f"d{(q + step) % N_ITEMS}": step % 3 for step in (1, 2, 3)} for q in range(N_ITEMS)}


def _sample(random: np.random.Generator, depth: int, scored: bool) -> Ranks:
    items = np.array([random.permutation(N_ITEMS) for _ in range(N_ITEMS)])
    own = items == np.arange(N_ITEMS)[:, None]
    items[own], items[:, 0] = items[:, 0], np.arange(N_ITEMS)
    scores = -np.sort(random.integers(-4, 9, items.shape), axis=1).astype(np.float32)  # with ties
    lengths = random.integers(0, depth + 1, N_ITEMS)
    items[np.arange(N_ITEMS) >= lengths[:, None]] = PAD
    ids = Ids(f"d{number}" for number in range(N_ITEMS))
    return Ranks(items[:, :depth], scores[:, :depth] if scored else None, N_ITEMS, item_ids=ids, query_ids=ids)
