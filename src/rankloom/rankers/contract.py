"""What every ranker promises, as a check that the author of a plug-in can run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.datasets import content_digest
from rankloom.errors import InputError
from rankloom.rankers.ranker import Ranker
from rankloom.ranks import PAD, Ranks

TOLERANCE = 1e-4  # of scores, of the largest: a sum in another order, or a rotation of the axes, is the same ranker

SENTENCES = (
    "The wing of the aircraft was tested in a supersonic flow.",
    "Heat transfer to a blunt body at high speed depends on its shape.",
    "A supersonic flow past a blunt body heats the body.",
    "Patients with a heart disease were treated with a new drug.",
    "The drug had no effect on patients of high age.",
    "Boundary layers on a flat plate are laminar at low speed.",
    "Children played chess in the garden until the rain came.",
    "At low speed the flow over the wing is laminar.",
)


def check_ranker(ranker: Ranker, items: Sequence[Any] | None = None) -> None:
    """Check that a ranker keeps the promises of `Ranker`; the first one broken is an AssertionError that says which.

    It is fitted to some items, and must

    - give valid ranks, a row for each item, over so many items, no deeper than asked for; less deep is the beginning;
    - list each item in its own list, before all that score the same;
    - give the same bits each time, and leave the items as they are;
    - give the same scores, up to rounding, when the items come in another order;
    - give an external query that equals an item the scores that the item gets (or refuse such queries by an
      `InputError`, as a matrix of distances does);
    - rank one item, and copies of an item alike; rank no items, or refuse that by an `InputError`.

    Parameters
    ----------
    ranker : Ranker
    items : sequence, optional
        What to fit it to, at least 3 and all different; by default eight sentences for the part ``texts``, eight small
        pictures for ``images``, else eight vectors.

    Examples
    --------
    >>> from rankloom.rankers import Vectors
    >>> check_ranker(Vectors(metric="l2"))
    """
    sample = sample_items(ranker.part) if items is None else items
    if len(sample) < 3:
        raise InputError(f"Give at least 3 items to check a ranker on; got {len(sample)}.")
    before = content_digest(sample)
    ranks = _ranked(ranker, sample)
    _check_order(ranks)
    _claim(_same(ranks, _ranked(ranker, sample)), "gives different ranks for the same items")
    _check_depth(ranker, sample, ranks)
    _check_queries(ranker, sample, ranks)
    _check_permuted(ranker, sample, ranks)
    _check_few(ranker, sample)
    _check_copies(ranker, sample)
    _claim(content_digest(sample) == before, "changes the items it is given")


def sample_items(part: str) -> Sequence[Any]:
    """Return eight items of a part, all different: sentences, pictures or vectors."""
    random = np.random.default_rng(0)
    if part == "texts":
        return list(SENTENCES)
    if part == "images":
        sizes = random.integers(12, 40, (len(SENTENCES), 2))
        return [_picture(random, height, width) for height, width in sizes.tolist()]
    vectors: NDArray[np.float64] = random.random((len(SENTENCES), 5))
    return list(vectors)


def _picture(random: np.random.Generator, height: int, width: int) -> NDArray[np.uint8]:
    """Return patches of color with some noise, as pictures have."""
    coarse = random.integers(0, 256, (height // 6 + 1, width // 6 + 1, 3))
    patches = coarse.repeat(6, axis=0).repeat(6, axis=1)[:height, :width]
    noisy: NDArray[np.int64] = np.clip(patches + random.integers(-9, 10, patches.shape), 0, 255)
    return noisy.astype(np.uint8)


def _ranked(ranker: Ranker, items: Sequence[Any], depth: int = 1000) -> Ranks:
    ranks = ranker.fit(items).rank(depth=depth)
    _check_valid(ranks, len(items), len(items), depth)
    return ranks


def _check_valid(ranks: Ranks, n_queries: int, n_items: int, depth: int) -> None:
    _claim(isinstance(ranks, Ranks), f"must return Ranks; got {type(ranks).__name__}")
    try:
        Ranks(ranks.items, ranks.scores, ranks.n_items)
    except InputError as error:
        _claim(False, f"returns ranks that are not valid: {error}")
    _claim(ranks.n_queries == n_queries, f"returns {ranks.n_queries} rows for {n_queries} queries")
    _claim(ranks.n_items == n_items, f"says there are {ranks.n_items} items where there are {n_items}")
    _claim(ranks.depth <= depth, f"returns {ranks.depth} answers where {depth} are asked for")


def _check_order(ranks: Ranks) -> None:
    for number, row in enumerate(ranks.items.tolist()):
        _claim(number in row, f"does not list item {number} in its own list")
        place = row.index(number)
        if place and ranks.scores is not None:
            equal = ranks.scores[number, place - 1] == ranks.scores[number, place]
            _claim(not equal, f"lists item {row[place - 1]} before item {number} itself, of the same score")


def _check_depth(ranker: Ranker, items: Sequence[Any], ranks: Ranks) -> None:
    for depth in (1, 2):
        _claim(_same(_ranked(ranker, items, depth), ranks.head(depth)), f"gives other items for a depth of {depth}")


def _check_queries(ranker: Ranker, items: Sequence[Any], ranks: Ranks) -> None:
    try:
        found = ranker.fit(items).rank(queries=items[1:3])
    except InputError:
        return  # it knows no external queries
    _check_valid(found, 2, len(items), 1000)
    for row in range(2):
        _claim(row + 1 in found.items[row].tolist(), f"does not list item {row + 1} for a query that equals it")
        same = _close(_scores(found, row), _scores(ranks, row + 1))
        _claim(same, f"gives a query that equals item {row + 1} other scores than the item")


def _check_permuted(ranker: Ranker, items: Sequence[Any], ranks: Ranks) -> None:
    order = np.random.default_rng(1).permutation(len(items)).tolist()
    moved = _ranked(ranker, [items[number] for number in order])
    for row, number in enumerate(order):
        back = {order[item]: score for item, score in _scores(moved, row).items()}
        _claim(
            _close(back, _scores(ranks, number)), f"gives item {number} other scores when items come in another order"
        )


def _check_few(ranker: Ranker, items: Sequence[Any]) -> None:
    _claim(_ranked(ranker, items[:1]).items.tolist() == [[0]], "does not list a single item")
    try:
        empty = ranker.fit(items[:0]).rank()
    except InputError:
        return
    _check_valid(empty, 0, 0, 1000)


def _check_copies(ranker: Ranker, items: Sequence[Any]) -> None:
    copy = len(items)
    ranks = _ranked(ranker, [*items, items[0]])
    _check_order(ranks)
    first, second = _scores(ranks, 0), _scores(ranks, copy)
    swapped = {{0: copy, copy: 0}.get(item, item): score for item, score in second.items()}
    _claim(_close(first, swapped), "gives an item and its copy different scores")


def _scores(ranks: Ranks, row: int) -> dict[int, float]:
    """Return the score of each item listed; 0 for all where there are none."""
    scores = np.zeros(ranks.depth) if ranks.scores is None else ranks.scores[row]
    return {item: float(score) for item, score in zip(ranks.items[row].tolist(), scores, strict=True) if item != PAD}


def _close(one: dict[int, float], other: dict[int, float]) -> bool:
    limit = TOLERANCE * max(map(abs, [*one.values(), *other.values(), 1e-9]))
    return one.keys() == other.keys() and all(abs(one[item] - other[item]) <= limit for item in one)


def _same(one: Ranks, other: Ranks) -> bool:
    if not np.array_equal(one.items, other.items) or (one.scores is None) != (other.scores is None):
        return False
    return one.scores is None or other.scores is None or np.array_equal(one.scores, other.scores)


def _claim(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(f"The ranker {otherwise}.")
