"""The contract of rankers, as a check for authors of plug-ins."""

import numpy as np

from rankloom.datasets import content_digest
from rankloom.datasets.collection import Contents
from rankloom.errors import InputError
from rankloom.rankers.ranker import Ranker, Updatable, is_updatable
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Bytes, Floats, Indexes, Int64s

TOLERANCE = 1e-4  # of scores, relative to the largest: the order of a sum or a rotation of the axes may change rounding

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


def check_ranker(ranker: Ranker, items: Contents | None = None) -> None:
    """Check a ranker against the contract of `Ranker`; raise AssertionError for the first violation.

    Fitted to some items, the ranker must

    - return valid ranks: a row for each item, over all items, no deeper than `depth`; a smaller depth gives a prefix;
    - include each item in its own list, before all others with the same score;
    - return the same bits each time, and leave the items unchanged;
    - return the same scores, up to rounding, when the items are permuted;
    - score an external query that equals an item as it scores the item (or reject external queries with `InputError`,
      as a distance matrix does);
    - rank a single item, and copies of an item alike; rank an empty collection, or reject it with `InputError`;
    - if it is `Updatable`: filter, list some items among some, take a subset, append items and be restored as if it had
      been fitted so.

    Parameters
    ----------
    ranker : Ranker
    items : sequence, optional
        Items to fit, at least 3 and all different; by default eight sentences for the part ``texts``, eight small
        images for ``images``, otherwise eight vectors.

    Examples
    --------
    >>> from rankloom.rankers import Vectors
    >>> check_ranker(Vectors(metric="l2"))
    """
    sample = sample_items(ranker.part) if items is None else items
    if len(sample) < 3:
        raise InputError(f"Give at least 3 items to check a ranker; got {len(sample)}.")
    before = content_digest(sample)
    ranks = _ranked(ranker, sample)
    _check_order(ranks)
    _require(_same(ranks, _ranked(ranker, sample)), "returns different ranks for the same items")
    _check_depth(ranker, sample, ranks)
    _check_queries(ranker, sample, ranks)
    _check_permuted(ranker, sample, ranks)
    _check_few(ranker, sample)
    _check_copies(ranker, sample)
    _check_updates(ranker, sample, ranks)
    _require(content_digest(sample) == before, "modifies the items")


def sample_items(part: str) -> Contents:
    """Return eight distinct items of a part: sentences, images or vectors."""
    random = np.random.default_rng(0)
    if part == "texts":
        return list(SENTENCES)
    if part == "images":
        sizes = random.integers(12, 40, (len(SENTENCES), 2))
        return [_image(random, height, width) for height, width in sizes.tolist()]
    vectors: Floats = random.random((len(SENTENCES), 5))
    return list(vectors)


def _image(random: np.random.Generator, height: int, width: int) -> Bytes:
    """Return patches of color with some noise, as in photographs."""
    coarse = random.integers(0, 256, (height // 6 + 1, width // 6 + 1, 3))
    patches = coarse.repeat(6, axis=0).repeat(6, axis=1)[:height, :width]
    noisy: Int64s = np.clip(patches + random.integers(-9, 10, patches.shape), 0, 255)
    return noisy.astype(np.uint8)


def _ranked(ranker: Ranker, items: Contents, depth: int = 1000) -> Ranks:
    ranks = ranker.fit(items).rank(depth=depth)
    _check_valid(ranks, len(items), len(items), depth)
    return ranks


def _check_valid(ranks: Ranks, n_queries: int, n_items: int, depth: int) -> None:
    _require(isinstance(ranks, Ranks), f"must return Ranks; got {type(ranks).__name__}")
    try:
        Ranks(ranks.items, ranks.scores, ranks.n_items)
    except InputError as error:
        _require(False, f"returns invalid ranks: {error}")
    _require(ranks.n_queries == n_queries, f"returns {ranks.n_queries} rows for {n_queries} queries")
    _require(ranks.n_items == n_items, f"returns ranks over {ranks.n_items} items instead of {n_items}")
    _require(ranks.depth <= depth, f"returns lists of {ranks.depth} items for a depth of {depth}")


def _check_order(ranks: Ranks) -> None:
    for number, row in enumerate(ranks.items.tolist()):
        _require(number in row, f"omits item {number} from its own list")
        column = row.index(number)
        if column and ranks.scores is not None:
            equal = ranks.scores[number, column - 1] == ranks.scores[number, column]
            _require(not equal, f"lists item {row[column - 1]} before item {number} itself, with the same score")


def _check_depth(ranker: Ranker, items: Contents, ranks: Ranks) -> None:
    for depth in (1, 2):
        _require(_same(_ranked(ranker, items, depth), ranks.head(depth)), f"returns different lists for depth {depth}")


def _check_queries(ranker: Ranker, items: Contents, ranks: Ranks) -> None:
    try:
        found = ranker.fit(items).rank(queries=items[1:3])
    except InputError:
        return  # it does not support external queries
    _check_valid(found, 2, len(items), 1000)
    for row in range(2):
        _require(row + 1 in found.items[row].tolist(), f"omits item {row + 1} for an equal query")
        same = _close(_scores(found, row), _scores(ranks, row + 1))
        _require(same, f"scores a query that equals item {row + 1} differently from the item")


def _check_permuted(ranker: Ranker, items: Contents, ranks: Ranks) -> None:
    order = np.random.default_rng(1).permutation(len(items)).tolist()
    permuted = _ranked(ranker, [items[number] for number in order])
    for row, number in enumerate(order):
        back = {order[item]: score for item, score in _scores(permuted, row).items()}
        _require(_close(back, _scores(ranks, number)), f"scores item {number} differently when items are permuted")


def _check_few(ranker: Ranker, items: Contents) -> None:
    _require(_ranked(ranker, items[:1]).items.tolist() == [[0]], "cannot rank a single item")
    try:
        empty = ranker.fit(items[:0]).rank()
    except InputError:
        return
    _check_valid(empty, 0, 0, 1000)


def _check_copies(ranker: Ranker, items: Contents) -> None:
    copy = len(items)
    ranks = _ranked(ranker, [*items, items[0]])
    _check_order(ranks)
    first, second = _scores(ranks, 0), _scores(ranks, copy)
    swapped = {{0: copy, copy: 0}.get(item, item): score for item, score in second.items()}
    _require(_close(first, swapped), "scores an item and its copy differently")


def _check_updates(ranker: Ranker, items: Contents, ranks: Ranks) -> None:
    fitted = ranker.fit(items)
    if not is_updatable(fitted):
        return
    n = len(items)
    rows, some = np.arange(1, n, 2), np.arange(0, n, 3)
    _require(_same(fitted.rank_items(rows), ranks.rows(rows)), "lists some items differently from all of them")
    among = fitted.rank_items(rows, among=some)
    _require(_same(among, ranks.rows(rows).among(some)), "lists items differently among some items")
    _check_filter(fitted, items, some)
    rebuilt = fitted.subset(some).appended([items[number] for number in np.setdiff1d(np.arange(n), some)])
    order = np.concatenate([some, np.setdiff1d(np.arange(n), some)])
    same = _same(rebuilt.rank(), fitted.subset(order).rank())
    _require(same, "ranks differently after items were removed and added")
    _require(_same(fitted.with_rows(fitted.row_arrays()).rank(), ranks), "ranks differently with its own rows")
    rest = np.setdiff1d(np.arange(n), some)
    across = fitted.subset(rest).rank_items(np.arange(len(some)), of=fitted.subset(some))
    numbers = np.append(rest, PAD)
    same = _same(across.replaced(items=numbers[across.items], n_items=n), ranks.rows(some).among(rest))
    _require(same, "lists items of another part differently from all of them")
    restored = ranker.restored(fitted.arrays())  # type: ignore[attr-defined]
    _require(_same(restored.rank(), ranks), "ranks differently after it was restored")


def _check_filter(fitted: Updatable, items: Contents, some: Indexes) -> None:
    allowed = np.isin(np.arange(len(items)), some)
    try:
        whole, found = fitted.rank(queries=items[1:3]), fitted.rank(queries=items[1:3], allowed=allowed)
    except InputError:
        return  # it does not support external queries
    _require(_same(found, whole.among(some)), "ranks the allowed items differently")


def _scores(ranks: Ranks, row: int) -> dict[int, float]:
    """Return the score of each item in a list; 0 for all if there are no scores."""
    scores = np.zeros(ranks.depth) if ranks.scores is None else ranks.scores[row]
    return {item: float(score) for item, score in zip(ranks.items[row].tolist(), scores, strict=True) if item != PAD}


def _close(one: dict[int, float], other: dict[int, float]) -> bool:
    limit = TOLERANCE * max(map(abs, [*one.values(), *other.values(), 1e-9]))
    return one.keys() == other.keys() and all(abs(one[item] - other[item]) <= limit for item in one)


def _same(one: Ranks, other: Ranks) -> bool:
    """Return True if two ranks have the same lists and scores, however wide their padding is."""
    depth = max(one.depth, other.depth)
    one, other = _padded(one, depth), _padded(other, depth)
    if not np.array_equal(one.items, other.items) or (one.scores is None) != (other.scores is None):
        return False
    return one.scores is None or other.scores is None or np.array_equal(one.scores, other.scores)


def _padded(ranks: Ranks, depth: int) -> Ranks:
    more = ((0, 0), (0, depth - ranks.depth))
    scores = None if ranks.scores is None else np.pad(ranks.scores, more)
    return ranks.replaced(items=np.pad(ranks.items, more, constant_values=PAD), scores=scores)


def _require(condition: bool, violation: str) -> None:
    if not condition:
        raise AssertionError(f"The ranker {violation}.")
