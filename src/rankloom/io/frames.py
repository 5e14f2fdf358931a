"""Ranks from and to pandas and polars data frames; both libraries are imported only when needed."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError, MissingExtraError, UnknownNameError
from rankloom.io.rows import Duplicates, Rows, ranks_of
from rankloom.ranks import PAD, Ids, Ranks
from rankloom.ranks.arrays import Array

if TYPE_CHECKING:
    import pandas
    import polars


def from_frame(
    frame: pandas.DataFrame | polars.DataFrame,
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
    frame : pandas.DataFrame or polars.DataFrame
    query, item : str
        Columns of ids: strings, or whole numbers, which become strings.
    score : str or None
        Column of scores, higher is better. None if the rows of a query are already sorted; the ranks then have no
        scores.
    item_ids, duplicates
        As in `read_run`.

    Raises
    ------
    InputError
        If `frame` is not a DataFrame, a column is missing, an id is null or neither a string nor a whole number, a
        score is not a finite number, or an item is not in `item_ids` or listed twice by a query. A frame without
        rows gives ranks without rows.

    Examples
    --------
    >>> import polars
    >>> frame = polars.DataFrame({"query": ["q1", "q1"], "item": [7, 2], "score": [0.5, 0.75]})
    >>> from_frame(frame).to_dict()
    {'q1': {'2': 0.75, '7': 0.5}}
    """
    _check_frame(frame)
    queries = _id_column(_column(frame, query), query)
    items = _id_column(_column(frame, item), item)
    query_ids = Ids(dict.fromkeys(queries))
    ids = Ids(dict.fromkeys(items)) if item_ids is None else item_ids
    rows = Rows(
        query_ids.numbers(queries),
        ids.numbers(items, "item"),
        np.zeros(len(items)) if score is None else _scores(_column(frame, score), score),
        None,
        "Row {} of the frame".format,
    )
    return ranks_of(rows, query_ids=query_ids, item_ids=ids, duplicates=duplicates, has_scores=score is not None)


def qrels_from_frame(
    frame: pandas.DataFrame | polars.DataFrame, *, query: str = "query", item: str = "item", grade: str = "grade"
) -> dict[str, dict[str, int]]:
    """Return relevance judgments from a pandas or polars frame with a row for each judged pair.

    Parameters
    ----------
    query, item : str
        Columns of ids: strings, or whole numbers, which become strings.
    grade : str
        Column of grades, whole numbers; above 0 is relevant.

    Raises
    ------
    InputError
        If `frame` is not a DataFrame or has no rows, a column is missing, an id is null or neither a string nor a
        whole number, a grade is not a whole number, or an item is judged twice for a query.

    Examples
    --------
    >>> import polars
    >>> qrels_from_frame(polars.DataFrame({"query": ["q1", "q1"], "item": [7, 2], "grade": [2, 0]}))
    {'q1': {'7': 2, '2': 0}}
    """
    _check_frame(frame)
    queries, items = (_id_column(_column(frame, name), name) for name in (query, item))
    grades = _grades(_column(frame, grade), grade)
    qrels: dict[str, dict[str, int]] = {}
    for row, (one, judged, value) in enumerate(zip(queries, items, grades, strict=True)):
        known = qrels.setdefault(one, {})
        if judged in known:
            raise InputError(f"Row {row} of the frame judges item {judged!r} a second time for query {one!r}; drop it.")
        known[judged] = value
    if not qrels:
        raise InputError("The frame has no rows; judgments are rows of query, item and grade.")
    return qrels


def is_frame(value: object) -> bool:
    """Return True for a pandas or polars DataFrame; compares names, so that neither library is imported."""
    names = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(value).__mro__}
    return bool(names & {("pandas", "DataFrame"), ("polars", "DataFrame")})


def _check_frame(frame: object) -> None:
    if not is_frame(frame):
        raise InputError(f"Expected a pandas or polars DataFrame; got {type(frame).__name__}.")


def _column(frame: pandas.DataFrame | polars.DataFrame, name: str) -> list[Any]:
    columns = list(frame.columns)
    if name not in columns:
        raise UnknownNameError("column", name, map(str, columns))
    if columns.count(name) > 1:
        raise InputError(f"The frame has {columns.count(name)} columns {name!r}; rename all but one.")
    values: list[Any] = frame[name].to_list()
    return values


def _id_column(values: list[object], column: str) -> list[str]:
    _check_kinds(values, column, (str, Integral), "an id must be a string or a whole number")
    return list(map(str, values))


def _scores(values: list[object], column: str) -> NDArray[np.float64]:
    _check_kinds(values, column, (Real,), "a score must be a number")
    return np.array(values, np.float64)


def _grades(values: list[Any], column: str) -> list[int]:
    rule = "a grade must be a whole number"
    _check_kinds(values, column, (Real,), rule)
    row = next((row for row, value in enumerate(values) if value % 1 != 0), None)  # NaN, too
    if row is not None:
        raise InputError(f"Row {row} of the frame has {values[row]!r} in column {column!r}; {rule}.")
    return list(map(int, values))


def _check_kinds(values: Sequence[object], column: str, right: tuple[type, ...], rule: str) -> None:
    kinds = set(map(type, values))  # checks each type once, not each of a million values
    wrong = {kind for kind in kinds if not issubclass(kind, right) or issubclass(kind, (bool, np.bool_))}
    if wrong:
        row = next(i for i, value in enumerate(values) if type(value) in wrong)
        raise InputError(f"Row {row} of the frame has {values[row]!r} in column {column!r}; {rule}.")


def to_pandas(ranks: Ranks) -> pandas.DataFrame:
    """Return ranks as a pandas frame, a row for each result, best first.

    Returns
    -------
    pandas.DataFrame
        Columns query, item (strings), rank (the position, from 1), and score if the ranks have scores.
        An empty list has no rows.

    Raises
    ------
    MissingExtraError
        If pandas is not installed.

    Examples
    --------
    >>> print(to_pandas(Ranks([[2, 0]], [[0.75, 0.5]])))
      query item  rank  score
    0     0    2     1   0.75
    1     0    0     2   0.50
    """
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("to_pandas", "pandas", "frames") from None
    return pandas.DataFrame(_columns(ranks))


def to_polars(ranks: Ranks) -> polars.DataFrame:
    """Return ranks as a polars frame with the same columns as `to_pandas`.

    Raises
    ------
    MissingExtraError
        If polars is not installed.

    Examples
    --------
    >>> to_polars(Ranks([[2, 0]])).rows()
    [('0', '2', 1), ('0', '0', 2)]
    """
    try:
        import polars
    except ImportError:
        raise MissingExtraError("to_polars", "polars", "frames") from None
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
