"""Relevance judgments of ranks: by a class for each item (labels) or a grade for each pair (qrels)."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, Union, get_args

import numpy as np
from numpy.typing import ArrayLike

from rankloom.errors import InputError, brief, check_choice
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Array, Bools, Floats, Indexes, Int32s, Int64s

if TYPE_CHECKING:
    import pandas
    import polars

#: {query: {item: grade}}, a TREC qrels file, or a data frame
Qrels: TypeAlias = Union[  # the frames are named, not imported
    Mapping[str, Mapping[str, int]], str, os.PathLike[str], "pandas.DataFrame", "polars.DataFrame"
]

#: How to order items of equal score.
Ties = Literal["given", "trec"]

MAX_GRADE = 1e15  # whole numbers up to it are exact, and the gains of many can be added up
BLOCK_CELLS = 1 << 20  # gains in a block
UNJUDGED = -1.0  # the grade of an item without one; negative grades count as none


@dataclass(frozen=True, slots=True)
class Judged:
    """Judged lists: gains instead of items, the input of a measure.

    Attributes
    ----------
    gains : float64 array of shape (n_queries, depth)
        Gain of the item at each position; 0 if it is not relevant, not judged, or padding.
    n_relevant : int64 array of shape (n_queries,)
        Number of relevant items, found or not.
    ideal : float64 array of shape (n_queries, maximum of n_relevant), or None
        Gains of all relevant items of a query, largest first, then 0. None if every gain is 1.
    rejected : bool array of shape (n_queries, depth), or None
        Whether the item at each position is judged not relevant. None if that is not known: then all others are.
    n_rejected : int64 array of shape (n_queries,), or None
        Number of items judged not relevant, found or not.
    """

    gains: Floats
    n_relevant: Int64s
    ideal: Floats | None = None
    rejected: Bools | None = None
    n_rejected: Int64s | None = None

    def relevant(self, cutoff: int) -> Bools:
        """Return whether the item at each position up to the cutoff is relevant."""
        return self.gains[:, :cutoff] > 0


def judged_by_labels(
    ranks: Ranks, labels: ArrayLike, query_labels: ArrayLike | None, exclude_self: bool = False
) -> Iterator[Judged]:
    """Yield blocks of judged rows: an item is relevant if it is of the query's class.

    With `exclude_self`, the item that is the query is neither in its list nor in its class.
    """
    classes, wanted = classes_of(ranks, labels, query_labels)
    sizes = np.bincount(classes, minlength=int(wanted.max()) + 1) - exclude_self
    lists = _without(ranks.items, _rows_as_items(ranks)) if exclude_self else ranks.items
    classes = np.append(classes, PAD)  # the last entry is for PAD
    block = max(1, BLOCK_CELLS // max(ranks.depth, 1))
    for start in range(0, ranks.n_queries, block):
        own = wanted[start : start + block]
        items = lists[start : start + block]
        relevant = classes[items] == own[:, None]
        rejected = ~relevant & (items != PAD)
        yield Judged(relevant.astype(np.float64), sizes[own], None, rejected, ranks.n_items - sizes[own])


def judged_by_qrels(ranks: Ranks, qrels: Qrels) -> Iterator[Judged]:
    """Yield blocks of judged queries, in the order of the qrels; those missing from the ranks have empty lists."""
    qrels = as_mapping(qrels)
    rows = {ranks.query_id(row): row for row in range(ranks.n_queries)}
    if not any(query in rows for query in qrels):
        raise InputError(
            f"The qrels judge none of the queries: they have {_shown(qrels)}, the ranks have {_shown(rows)}. "
            "Give the ranks matching query_ids."
        )
    queries = list(qrels)
    block = max(1, BLOCK_CELLS // max(ranks.depth, 1))
    for start in range(0, len(queries), block):
        yield _judged(ranks, rows, {query: qrels[query] for query in queries[start : start + block]})


def as_mapping(qrels: Qrels) -> Mapping[str, Mapping[str, int]]:
    """Return judgments given as a mapping, a file or a data frame as a mapping."""
    from rankloom.io.frames import is_frame, qrels_from_frame
    from rankloom.io.trec import read_qrels

    if isinstance(qrels, Mapping):
        return qrels
    if is_frame(qrels):
        return qrels_from_frame(qrels)
    if not isinstance(qrels, str | os.PathLike):
        raise InputError(
            f"qrels must be {{query: {{item: grade}}}}, a file or a data frame; got {type(qrels).__name__}."
        )
    return read_qrels(qrels)


def _judged(ranks: Ranks, rows: Mapping[str, int], qrels: Mapping[str, Mapping[str, int]]) -> Judged:
    gains = np.zeros((len(qrels), ranks.depth))
    grade_of = np.full(ranks.n_items + 1, UNJUDGED)  # of each item for the current query; the last entry is for PAD
    ideals = []
    for number, (query, grades) in enumerate(qrels.items()):
        _check_grades(query, grades)
        ideals.append(sorted((grade for grade in grades.values() if grade > 0), reverse=True))
        if query in rows:
            known = {_item_number(ranks, item): grade for item, grade in grades.items() if grade >= 0}
            known.pop(PAD, None)
            touched = np.fromiter(known, np.intp)
            grade_of[touched] = list(known.values())
            gains[number] = grade_of[ranks.items[rows[query]]]
            grade_of[touched] = UNJUDGED
    n_relevant = np.array([len(row) for row in ideals], np.int64)
    n_rejected = np.array([sum(grade == 0 for grade in grades.values()) for grades in qrels.values()], np.int64)
    found = np.array([query in rows for query in qrels], np.bool_)
    return Judged(np.maximum(gains, 0.0), n_relevant, _padded(ideals), (gains == 0) & found[:, None], n_rejected)


def _check_grades(query: str, grades: object) -> None:
    if not isinstance(grades, Mapping):
        raise InputError(f"The judgments of query {query!r} must be {{item: grade}}; got {type(grades).__name__}.")
    for item, grade in grades.items():
        if not isinstance(item, str):
            raise InputError(f"The ids of judged items are strings; got {brief(item)} for query {query!r}.")
        if not isinstance(grade, int | float | np.number) or not -MAX_GRADE <= grade <= MAX_GRADE:
            given = f"item {brief(item)} for query {brief(query)} must be a number, at most {MAX_GRADE:g}"
            raise InputError(f"The grade of {given}; got {brief(grade)}.")


def _item_number(ranks: Ranks, item: str) -> int:
    """Return the number of an item by id; PAD if it is not in the collection (it can still be relevant)."""
    if ranks.item_ids is not None:
        return ranks.item_ids.number(item) if item in ranks.item_ids else PAD
    number = int(item) if item.isdecimal() and len(item) < 20 else PAD  # int() refuses very long ones
    return number if number < ranks.n_items and str(number) == item else PAD


def _padded(rows: list[list[int]]) -> Floats:
    table = np.zeros((len(rows), max(map(len, rows), default=0)))
    for filled, row in zip(table, rows, strict=True):
        filled[: len(row)] = row
    return table


def classes_of(ranks: Ranks, labels: ArrayLike, query_labels: ArrayLike | None) -> tuple[Indexes, Indexes]:
    """Return the class of each item and of each row, as numbers from 0."""
    known = _checked_labels(labels, ranks.n_items, "labels", "item")
    if query_labels is None:
        codes = np.unique(known, return_inverse=True)[1]
        return codes, codes[_rows_as_items(ranks)]
    wanted = _checked_labels(query_labels, ranks.n_queries, "query_labels", "row")
    if (wanted.dtype.kind == "U") != (known.dtype.kind == "U"):
        raise InputError(f"labels and query_labels must be of the same type; got {known.dtype} and {wanted.dtype}.")
    codes = np.unique(np.concatenate([known, wanted]), return_inverse=True)[1]
    return codes[: len(known)], codes[len(known) :]


def _checked_labels(given: ArrayLike, count: int, name: str, what: str) -> Array:
    try:
        labels = np.asarray(given)
    except ValueError:
        raise InputError(f"{name} must be one for each {what}; got nested lists.") from None
    if labels.shape != (count,):
        raise InputError(f"{name} must be one for each {what}, {count} in all; got the shape {labels.shape}.")
    if labels.dtype.kind in "OT" and all(isinstance(label, str) for label in labels):
        return labels.astype(np.str_)
    if labels.dtype.kind not in "biufU" or (labels.dtype.kind == "f" and np.isnan(labels).any()):
        got = f"{labels.dtype}{' with NaN' if labels.dtype.kind == 'f' else ''}"
        raise InputError(f"{name} must be all numbers or all strings, none missing; got {got}.")
    return labels


def _without(lists: Int32s, own: Indexes) -> Int32s:
    """Return the lists without one item each; those behind it move up."""
    removed = lists == own[:, None]
    order = np.argsort(removed, axis=1, kind="stable")
    return np.take_along_axis(np.where(removed, PAD, lists), order, axis=1)


def _rows_as_items(ranks: Ranks) -> Indexes:
    if ranks.item_ids is not None and ranks.query_ids is not None:
        unknown = next((query for query in ranks.query_ids if query not in ranks.item_ids), None)
        if unknown is not None:
            raise InputError(f"Query {unknown!r} is not an item, so it has no label. Give query_labels.")
        return ranks.item_ids.numbers(ranks.query_ids).astype(np.intp)
    if ranks.n_queries != ranks.n_items:
        raise InputError(
            f"With labels alone row i must be item i; got {ranks.n_queries} rows and {ranks.n_items} items. "
            "Give query_labels for external queries."
        )
    return np.arange(ranks.n_items)


def _shown(ids: Iterable[object]) -> str:
    return repr(next(iter(ids))) + ", ..." if ids else "none"


def ordered(ranks: Ranks, ties: Ties) -> Ranks:
    """Return the ranks with ties ordered by the rule; scores are dropped, as measures use the order only."""
    check_choice("tie-breaking rule", ties, get_args(Ties))
    if ties == "given":
        return ranks
    if ranks.scores is None:
        raise InputError("ties='trec' needs scores, and these ranks have none; use ties='given'.")
    by_id = sorted(range(ranks.n_items), key=ranks.item_id)
    id_order = np.zeros(ranks.n_items + 1, np.int32)  # the last entry is for PAD
    id_order[by_id] = np.arange(ranks.n_items)
    order = np.lexsort((-id_order[ranks.items], -ranks.scores, ranks.items == PAD), axis=-1)
    items = np.take_along_axis(ranks.items, order, axis=1)
    return ranks.replaced(items=items, scores=None)
