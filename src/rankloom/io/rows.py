"""Rows of (query, item, score) in any order, as read from run files and data frames, and their conversion to Ranks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError, check_choice
from rankloom.ranks import PAD, Ids, Ranks

#: How to treat an item that a query lists twice.
Duplicates = Literal["error", "first"]


@dataclass(frozen=True, slots=True)
class Rows:
    """Results as read, one element each."""

    queries: NDArray[np.integer]  #: numbers of the queries
    items: NDArray[np.integer]  #: numbers of the items
    scores: NDArray[np.float64]  #: higher is better
    positions: NDArray[np.integer] | None  #: break ties: the smaller position comes first, then the earlier row
    location: Callable[[int], str]  #: where a row is in its source, for messages


def ranks_of(
    rows: Rows, *, query_ids: Ids, item_ids: Ids, duplicates: Duplicates = "error", has_scores: bool = True
) -> Ranks:
    """Sort rows into ranked lists: by score, highest first, then by position, then in the given order.

    Scores are compared in float64 and stored in float32, so the order is right even if they become equal.
    """
    check_duplicates_policy(duplicates)
    _check_scores(rows)
    keys = [-rows.scores, rows.queries]
    order = np.lexsort(keys if rows.positions is None else [rows.positions, *keys])  # stable
    pairs = rows.queries[order].astype(np.int64) * len(item_ids) + rows.items[order]
    first = np.unique(pairs, return_index=True)[1]
    if len(first) < len(pairs):
        if duplicates == "error":
            raise _listed_twice(rows, query_ids, item_ids)
        order = order[np.sort(first)]
    items, scores = _rectangles(rows, order, len(query_ids))
    # All checks of Ranks were made above, with the location in the source in the message.
    return Ranks.trusted(items, scores if has_scores else None, len(item_ids), item_ids=item_ids, query_ids=query_ids)


def check_duplicates_policy(duplicates: str) -> None:
    """Raise UnknownNameError if `duplicates` is not one of `Duplicates`."""
    check_choice("duplicates policy", duplicates, get_args(Duplicates))


def _check_scores(rows: Rows) -> None:
    with np.errstate(over="ignore"):
        wrong = ~np.isfinite(rows.scores.astype(np.float32))
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"{rows.location(row)}: the score must be a finite number that float32 can hold; got {rows.scores[row]}."
        )


def _listed_twice(rows: Rows, query_ids: Ids, item_ids: Ids) -> InputError:
    pairs = rows.queries.astype(np.int64) * len(item_ids) + rows.items
    order = np.argsort(pairs, kind="stable")
    again = order[1:][pairs[order][1:] == pairs[order][:-1]]
    second = int(again.min())
    first = int((pairs == pairs[second]).argmax())
    query, item = query_ids[int(rows.queries[second])], item_ids[int(rows.items[second])]
    return InputError(
        f"{rows.location(second)}: query {query!r} lists item {item!r} a second time (first: {rows.location(first)}); "
        "give each item once, or use duplicates='first' to keep the better-ranked."
    )


def _rectangles(rows: Rows, order: NDArray[np.intp], n_queries: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    queries = rows.queries[order]
    lengths = np.bincount(queries, minlength=n_queries)
    columns = np.arange(len(queries)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    items = np.full((n_queries, int(lengths.max(initial=0))), PAD, np.int32)
    scores = np.zeros(items.shape, np.float32)
    items[queries, columns] = rows.items[order]
    scores[queries, columns] = rows.scores[order]
    return items, scores
