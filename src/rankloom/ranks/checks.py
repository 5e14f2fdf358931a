"""Checks of the input of ranks: items, scores, ids and lists."""

import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloom.errors import ContractError, InputError, RankloomWarning, brief, check_choice
from rankloom.ranks.arrays import PAD, Array
from rankloom.ranks.ids import Ids
from rankloom.ranks.nearest import table

#: What the rows are: the items of the collection, row i the list of item i; or queries.
Kind = Literal["collection", "queries"]
#: Ids as they may be given: any sequence of strings.
GivenIds = Iterable[str] | None
MAX_ITEMS = int(np.iinfo(np.int32).max)
MIN_OWN_SHARE = 0.5  # of rows that begin with their own item; with fewer, they are probably not the lists of items
CHECK_CELLS = 1 << 22  # cells checked at a time, to bound the memory of the checks
NEEDS_COLLECTION = (
    "This needs the lists of the collection's items: give fg, weft and vote both, as in fuse(..., collection=[...]) or "
    "'rankloom fuse a.run b.run --collection a-items.run b-items.run'; or use a method that needs only the queries, "
    "such as rrf."
)


def check_kind(kind: Kind | None, items: NDArray[np.int32], n_items: int, query_ids: Ids | None) -> None:
    """Raise InputError if lists cannot be of a kind: collection ranks have a row for each item."""
    if kind is not None:
        check_choice("kind of ranks", kind, get_args(Kind))
    if kind == "collection" and len(items) != n_items and query_ids is None:
        raise InputError(f"Collection ranks have a row for each item; got {len(items)} rows and {n_items} items.")


def matrix_kind(rows: Array, item_ids: Ids | None, query_ids: Ids | None, kind: Kind | None) -> Kind | None:
    """Return the kind of the lists of a matrix, as the ids tell; raise InputError if it matters and is not known."""
    if kind is not None:
        check_choice("kind of ranks", kind, get_args(Kind))
    elif item_ids is not None and query_ids is not None:
        return "collection" if query_ids == item_ids else "queries"
    elif rows.shape[0] == rows.shape[1]:
        _check_no_own_ties(rows)
    return kind


def _check_no_own_ties(rows: Array) -> None:
    """Raise InputError if ties depend on whether row i of a square matrix is item i: the caller must say."""
    for i, row in enumerate(rows):
        with np.errstate(over="ignore"):
            values = row[: i + 1].astype(np.float32)  # as they are compared
        ties = np.flatnonzero(values[:i] == values[i])
        if len(ties):
            raise InputError(
                f"Row {i} of the square matrix has the same value for the items {ties[0]} and {i}, and an item wins "
                "ties in its own row; pass kind='collection' if row i is item i, or kind='queries' if not."
            )


def check_rows_are_items(first: NDArray[np.int32], query_ids: Ids | None, item_ids: Ids | None, n_items: int) -> None:
    """Raise or warn if rows are probably lists of queries, by the first item of each and the item of the query's id."""
    own = np.arange(len(first), dtype=np.int32)
    if query_ids is not None and item_ids is not None and query_ids != item_ids:
        own = np.array([item_ids.number(query) if query in item_ids else PAD for query in query_ids], np.int32)
        if (own == PAD).all():
            raise InputError(
                f"No query ({query_ids[0]!r}, ...) is an item: these are lists of external queries. {NEEDS_COLLECTION}"
            )
    n_own, n_listed = int(((first == own) & (first != PAD)).sum()), int((first != PAD).sum())
    if n_own >= MIN_OWN_SHARE * n_listed:
        return
    found = f"only {n_own} of {n_listed} begin with the item of their own id"
    if len(np.unique(own[own != PAD])) < n_items:
        raise InputError(
            f"These look like lists of external queries whose ids are also ids of items: {found}. {NEEDS_COLLECTION} "
            "If they are the items' lists, pass kind='collection'."
        )
    warnings.warn(
        f"These may be lists of queries rather than of the collection's items: {found}. If they are the items' lists, "
        "pass kind='collection'.",
        RankloomWarning,
        stacklevel=5,
    )


def check_lists(lists: object) -> bool:
    """Return True if lists have scores; raise if they are not lists or mappings, or only some have scores."""
    if not isinstance(lists, Mapping):
        raise InputError(f"Lists must be a dict of queries; got {type(lists).__name__}.")
    for query, row in lists.items():
        if isinstance(row, str | Set) or not isinstance(row, Mapping | Sequence):
            raise InputError(f"The list of query {query!r} must be a list or a dict; got {type(row).__name__}.")
        odd = next((item for item in row if not isinstance(item, str)), None)
        if odd is not None:
            raise InputError(f"The items of query {query!r} must be string ids; got {brief(odd)}. Use str() on each.")
    scored = {isinstance(row, Mapping) for row in lists.values()}
    if len(scored) > 1:
        raise InputError("Only some queries have scores; give scores for all or for none.")
    return True in scored


def checked_values(row: Mapping[str, float]) -> NDArray[np.float64]:
    """Return the scores of a list as numbers."""
    try:
        return np.fromiter(row.values(), np.float64)
    except OverflowError:
        raise InputError("A score is a whole number that no float can hold; scale the scores down.") from None
    except (TypeError, ValueError):
        wrong = next(item for item, score in row.items() if not isinstance(score, int | float | np.number))
        raise InputError(f"The score of {wrong!r} must be a number; got {brief(row[wrong])}.") from None


def checked_ids(given: GivenIds) -> Ids | None:
    """Return ids as `Ids`, from any sequence of strings."""
    return given if given is None or isinstance(given, Ids) else Ids(given)


def checked_items(given: ArrayLike) -> NDArray[np.int32]:
    """Return item numbers as an int32 array; raise for numbers out of range."""
    items = table(given, "items", whole=True)
    if items.min(initial=0) < PAD:
        row = _first(items < PAD)
        raise InputError(f"Row {row} has the item number {items[row].min()}; numbers start at 0, and -1 pads a row.")
    if items.max(initial=0) >= MAX_ITEMS:
        raise InputError(f"Item numbers must be below {MAX_ITEMS}; got {items.max()}.")
    return np.array(items, np.int32, order="C")


def checked_n_items(items: NDArray[np.int32], n_items: int | None, ids: Ids | None) -> int:
    """Return the size of the collection; raise if an item is outside it."""
    largest = int(items.max(initial=PAD))
    size = n_items if n_items is not None else len(ids) if ids is not None else largest + 1
    if not isinstance(size, int | np.integer) or not 0 <= size <= MAX_ITEMS:
        raise InputError(f"n_items must be a whole number from 0 to {MAX_ITEMS}; got {brief(size)}.")
    if ids is not None and size != len(ids):
        raise InputError(f"n_items must be the number of item_ids; got {size} and {len(ids)}.")
    if largest >= size:
        row = _first(items == largest)
        raise InputError(f"Row {row} lists item {largest}, but the collection has {size} items, numbered from 0.")
    return int(size)


def check_rows(items: NDArray[np.int32]) -> None:
    """Raise if a row has items after its padding, or an item twice."""
    block = max(1, CHECK_CELLS // max(items.shape[1], 1))
    for start in range(0, len(items), block):
        rows = items[start : start + block]
        gap = (rows[:, :-1] == PAD) & (rows[:, 1:] != PAD)
        if gap.any():
            raise InputError(f"Row {start + _first(gap)} has items after its padding; -1 may only end a row.")
        ordered = np.sort(rows, axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != PAD)
        if twice.any():
            row = _first(twice)
            item = ordered[row, 1:][twice[row]][0]
            raise InputError(f"Row {start + row} lists item {item} twice; give each item once.")


def checked_scores(given: ArrayLike, items: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return scores as float32; raise if they are not finite or increase along a row."""
    scores = table(given, "scores")
    if scores.shape != items.shape:
        raise InputError(f"items and scores must have the same shape; got {items.shape} and {scores.shape}.")
    with np.errstate(over="ignore"):
        scores = np.array(scores, np.float32, order="C")
    scores[items == PAD] = 0
    wrong = ~np.isfinite(scores)
    if wrong.any():
        row = _first(wrong)
        raise InputError(f"Row {row} has the score {scores[row][wrong[row]][0]}; scores must be finite in float32.")
    rises = (scores[:, 1:] > scores[:, :-1]) & (items[:, 1:] != PAD)
    if rises.any():
        raise InputError(
            f"The scores of row {_first(rises)} increase along the list; give the best item first "
            "(for distances, use Ranks.from_distances or negate them)."
        )
    return scores


def returned_numbers(what: str, values: object, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return what a possible plug-in returned; raise ContractError unless it is finite numbers of a shape."""
    try:
        found = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        found = np.empty((0, *shape))
    if found.shape != shape or not np.isfinite(found).all():
        raise ContractError(f"The {what} must return finite numbers of shape {shape}; got {brief(values)}.")
    return found


def _first(wrong: NDArray[np.bool_]) -> int:
    """Return the number of the first row that has a True."""
    return int(wrong.any(1).argmax())
