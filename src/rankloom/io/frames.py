"""Ranks from and to pandas and polars data frames; both libraries are imported only when needed."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rankloom.errors import InputError, UnknownNameError, needs_extra
from rankloom.io.rows import Duplicates, Rows, ranks_of
from rankloom.ranks import PAD, Ids, Ranks
from rankloom.ranks.arrays import Array, Floats

if TYPE_CHECKING:
    import pandas
    import polars

    Frame: TypeAlias = pandas.DataFrame | polars.DataFrame


def from_frame(
    frame: Frame,
    *,
    query: str = "query",
    item: str = "item",
    score: str | None = "score",
    item_ids: Ids | None = None,
    duplicates: Duplicates = "error",
) -> Ranks:
    """Return ranks from a pandas or polars frame with a row for each result.

    A list is sorted by score, highest first; ties keep the order of the frame. Queries come in order of appearance;
    the rows of a query need not be contiguous.

    Parameters
    ----------
    query, item : str
        Columns of ids: strings, or whole numbers, which become strings.
    score : str or None
        Column of scores, higher is better. None if the rows of a query are already sorted; the ranks then have no
        scores.
    item_ids, duplicates
        As in `read_run`.

    Examples
    --------
    >>> import polars
    >>> frame = polars.DataFrame({"query": ["q1", "q1"], "item": [7, 2], "score": [0.5, 0.75]})
    >>> from_frame(frame).to_dict()
    {'q1': {'2': 0.75, '7': 0.5}}
    """
    queries, items = (_id_column(frame, name) for name in (query, item))
    query_ids = Ids(dict.fromkeys(queries))
    ids = Ids(dict.fromkeys(items)) if item_ids is None else item_ids
    rows = Rows(
        query_ids.numbers(queries),
        ids.numbers(items, "item"),
        np.zeros(len(items)) if score is None else _score_column(frame, score),
        None,
        "Row {} of the frame".format,
    )
    return ranks_of(rows, query_ids=query_ids, item_ids=ids, duplicates=duplicates, has_scores=score is not None)


def qrels_from_frame(
    frame: Frame, *, query: str = "query", item: str = "item", grade: str = "grade"
) -> dict[str, dict[str, int]]:
    """Return relevance judgments from a pandas or polars frame with a row for each judged pair.

    The columns are those of `from_frame`, and one of grades, whole numbers; above 0 is relevant.

    Examples
    --------
    >>> import polars
    >>> qrels_from_frame(polars.DataFrame({"query": ["q1", "q1"], "item": [7, 2], "grade": [2, 0]}))
    {'q1': {'7': 2, '2': 0}}
    """
    queries, items = (_id_column(frame, name) for name in (query, item))
    qrels: dict[str, dict[str, int]] = {}
    for row, (q, i, value) in enumerate(zip(queries, items, _grade_column(frame, grade), strict=True)):
        judged = qrels.setdefault(q, {})
        if i in judged:
            raise InputError(f"Row {row} of the frame judges item {i!r} a second time for query {q!r}; drop it.")
        judged[i] = value
    if not qrels:
        raise InputError("The frame has no rows; judgments are rows of query, item and grade.")
    return qrels


def is_frame(value: object) -> bool:
    """Return True for a pandas or polars DataFrame; compares names, so that neither library is imported."""
    names = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(value).__mro__}
    return bool(names & {("pandas", "DataFrame"), ("polars", "DataFrame")})


def _column(frame: Frame, name: str, types: tuple[type, ...], rule: str) -> list[Any]:
    """Return the values of a column; raise InputError if there is no such column, or a value is of another type."""
    if not is_frame(frame):
        raise InputError(f"Expected a pandas or polars DataFrame; got {type(frame).__name__}.")
    columns = list(frame.columns)
    if name not in columns:
        raise UnknownNameError("column", name, map(str, columns))
    if columns.count(name) > 1:
        raise InputError(f"The frame has {columns.count(name)} columns {name!r}; rename all but one.")
    values: list[Any] = frame[name].to_list()
    found = set(map(type, values))  # checks each type once, not each of a million values
    wrong = {kind for kind in found if not issubclass(kind, types) or issubclass(kind, (bool, np.bool_))}
    if wrong:
        raise _wrong_value(values, name, [type(value) in wrong for value in values], rule)
    return values


def _wrong_value(values: list[object], column: str, wrong: list[bool], rule: str) -> InputError:
    row = wrong.index(True)
    return InputError(f"Row {row} of the frame has {values[row]!r} in column {column!r}; {rule}.")


def _id_column(frame: Frame, name: str) -> list[str]:
    return list(map(str, _column(frame, name, (str, Integral), "an id must be a string or a whole number")))


def _score_column(frame: Frame, name: str) -> Floats:
    return np.array(_column(frame, name, (Real,), "a score must be a number"), np.float64)


def _grade_column(frame: Frame, name: str) -> list[int]:
    values = _column(frame, name, (Real,), rule := "a grade must be a whole number")
    wrong = [value % 1 != 0 for value in values]  # NaN, too
    if any(wrong):
        raise _wrong_value(values, name, wrong, rule)
    return list(map(int, values))


def to_pandas(ranks: Ranks) -> pandas.DataFrame:
    """Return ranks as a pandas frame, a row for each result, best first.

    Returns
    -------
    pandas.DataFrame
        Columns query, item (strings), rank (the position, from 1), and score if the ranks have scores.
        An empty list has no rows.

    Examples
    --------
    >>> print(to_pandas(Ranks([[2, 0]], [[0.75, 0.5]])))
      query item  rank  score
    0     0    2     1   0.75
    1     0    0     2   0.50
    """
    with needs_extra("to_pandas", "pandas", "frames"):
        import pandas
    return pandas.DataFrame(_columns(ranks))


def to_polars(ranks: Ranks) -> polars.DataFrame:
    """Return ranks as a polars frame with the same columns as `to_pandas`.

    Examples
    --------
    >>> to_polars(Ranks([[2, 0]])).rows()
    [('0', '2', 1), ('0', '0', 2)]
    """
    with needs_extra("to_polars", "polars", "frames"):
        import polars
    schema = {"query": polars.String, "item": polars.String, "rank": polars.Int64}
    return polars.DataFrame(_columns(ranks), schema_overrides=schema)


def _columns(ranks: Ranks) -> dict[str, Sequence[str] | Array]:
    listed = ranks.items != PAD
    rows, indexes = np.nonzero(listed)
    columns: dict[str, Sequence[str] | Array] = {
        "query": list(map(ranks.query_id, rows.tolist())),
        "item": list(map(ranks.item_id, ranks.items[listed].tolist())),
        "rank": indexes + 1,
    }
    if ranks.scores is not None:
        columns["score"] = ranks.scores[listed]
    return columns
