"""Precomputed ranks: files of ranked lists, matrices of distances or similarities."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Literal, get_args

import numpy as np

from rankloom.datasets.collection import Contents
from rankloom.errors import InputError, RankloomWarning, UnknownNameError
from rankloom.io import read_ids, read_matrix, read_ranks
from rankloom.io.cache import Cache
from rankloom.io.rows import Duplicates
from rankloom.io.text_file import FilePath
from rankloom.rankers.ranker import register_ranker
from rankloom.ranks import PAD, Ids, Ranks
from rankloom.ranks.arrays import Array, Indexes
from rankloom.registry import Options

#: Meaning of the values in a matrix.
Meaning = Literal["distance", "similarity"]

MAX_CHECKED = 1000  # rows of a matrix whose diagonal is checked
WRONG_SHARE = 0.9  # of these rows with the worst value on the diagonal: the matrix has the other meaning


@register_ranker("file")
class RankFile(Options):
    """Ranked lists from a file, matched to items and queries by id.

    Where a file has no ids, its rows are matched by their order, with a warning.

    Attributes
    ----------
    path : path
        A TREC run or any other file that `read_ranks` accepts.
    items : path, optional
        File with the lists of the items, if `path` has those of external queries.
    format : str, optional
        As in `read_ranks`.
    list_file : path, optional
        Ids of the items in the order of their numbers, one per line, for files without ids such as those of UDLF.
    duplicates : {"error", "first"}
        As in `read_ranks`.
    comparable : bool
        Whether the scores of external queries can be compared with those of items: if queries are like items.
    """

    part: ClassVar[str] = "ids"

    path: FilePath
    items: FilePath | None = None
    format: str | None = None
    list_file: FilePath | None = None
    duplicates: Duplicates = "error"
    comparable: bool = False

    @property
    def has_queries(self) -> bool:
        """Whether it knows external queries by id."""
        return self.items is not None

    def fit(self, items: Contents, *, cache: Cache | None = None) -> FittedFile:
        """Read the file."""
        own = None if self.items is None else self._read(self.items)
        return FittedFile(self._read(self.path), own, tuple(items), self.path, self.items)

    def _read(self, path: FilePath) -> Ranks:
        ranks = read_ranks(path, format=self.format, duplicates=self.duplicates)
        return ranks if self.list_file is None else _with_item_ids(ranks, path, self.list_file)


@dataclass(frozen=True, slots=True, eq=False)
class FittedFile:
    """The lists of a file."""

    lists: Ranks
    own: Ranks | None
    ids: tuple[str, ...]
    path: FilePath
    own_path: FilePath | None = None

    def rank(self, *, queries: Contents | None = None, depth: int = 1000) -> Ranks:
        """Return the lists of the items, or of queries by id; an id that is not in the file has an empty list."""
        if queries is not None:
            return _rows(_with_query_ids(self.lists, queries, self.path), queries, self.path).head(depth)
        if self.own is not None and self.own_path is not None:  # with external queries, the items are those in the file
            return _of_items(self.own, self.own_path).as_collection().head(depth)
        lists = _of_items(self.lists, self.path)
        if lists.item_ids is None:
            shape, n = (lists.n_queries, lists.n_items), len(self.ids)
            if shape != (n, n):
                raise InputError(f"{self.path} has {shape[0]} lists of {shape[1]} items; the collection has {n}.")
            return lists.head(depth)
        return _rows(_over_collection(lists, self.ids, self.path), self.ids, self.path).head(depth)


@register_ranker("matrix")
class Matrix(Options):
    """A square matrix of distances or similarities in a file that `read_matrix` accepts: .npy, .npz or text.

    Rows and columns are matched to the items by id; where the file has no ids, by their order, with a warning.

    Attributes
    ----------
    path : path
    meaning : {"distance", "similarity"}
        If nearly every item is the farthest from itself, it must be the other one: an error.
    list_file : path, optional
        Ids of rows and columns, one per line, if the file itself has none. A file may have more items than the
        collection.
    """

    part: ClassVar[str] = "ids"

    path: FilePath
    meaning: Meaning = "distance"
    list_file: FilePath | None = None

    def fit(self, items: Contents, *, cache: Cache | None = None) -> FittedMatrix:
        """Open the file. A .npy file in the order of the items may be larger than memory."""
        matrix, rows = read_rows(self.path, self.list_file, items)
        if matrix.shape[0] != matrix.shape[1]:
            raise InputError(f"{self.path} must have a column for each of {len(matrix)} items; got {matrix.shape}.")
        _check_diagonal(self.path, matrix, self.meaning)
        return FittedMatrix(matrix if rows is None else matrix[np.ix_(rows, rows)], self.meaning)


@dataclass(frozen=True, slots=True, eq=False)
class FittedMatrix:
    """An open matrix."""

    matrix: Array
    meaning: Meaning

    def rank(self, *, queries: Contents | None = None, depth: int = 1000) -> Ranks:
        """Rank the items for each of them. Raise InputError for external queries."""
        if queries is not None:
            raise InputError("A matrix of the items cannot rank external queries; give a file of their lists.")
        make = Ranks.from_distances if self.meaning == "distance" else Ranks.from_similarities
        return make(self.matrix, depth, kind="collection")


def read_rows(
    path: FilePath,
    list_file: FilePath | None,
    wanted: Sequence[str],
    *,
    key: str | None = None,
    kind: Literal["item", "query"] = "item",
) -> tuple[Array, Indexes | None]:
    """Return the matrix in a file, and the row of each id that is wanted; None if they are in the same order."""
    matrix, ids = read_matrix(path, list_file=list_file, key=key)
    if ids is None:
        if len(matrix) != len(wanted):
            many = "items" if kind == "item" else "queries"
            raise InputError(
                f"{path} has no ids, so it must have a row for each of {len(wanted)} {many}; got shape {matrix.shape}."
            )
        _warn_of_order(path, "the collection" if kind == "item" else "the queries")
        return matrix, None
    missing = [id for id in wanted if id not in ids]
    if missing:
        raise InputError(
            f"{path} has no row for the {kind} {missing[0]!r} ({len(missing)} missing); it has {_some(ids)}."
        )
    rows = ids.numbers(wanted).astype(np.intp)
    return matrix, None if np.array_equal(rows, np.arange(len(matrix))) else rows


def _check_diagonal(path: FilePath, matrix: Array, meaning: Meaning) -> None:
    """Raise InputError if nearly every item is the farthest from itself."""
    if not len(matrix) or matrix.dtype.kind not in "biuf":
        return
    rows = np.unique(np.linspace(0, len(matrix) - 1, MAX_CHECKED).astype(np.intp))
    share = sum(_is_worst(matrix[row], row, meaning) for row in rows.tolist()) / len(rows)
    if share >= WRONG_SHARE:
        other = get_args(Meaning)[meaning == "distance"]
        raise InputError(
            f"{path} has the worst {meaning} of a row on its diagonal, for {share:.0%} of the items: each would be "
            f"last in its own list. Give meaning={other}, or correct the diagonal."
        )


def _is_worst(values: Array, own: int, meaning: Meaning) -> bool:
    worst, best = (values.max(), values.min()) if meaning == "distance" else (values.min(), values.max())
    return bool(values[own] == worst != best)


def _warn_of_order(path: FilePath, whose: str = "the collection") -> None:
    warnings.warn(
        f"{path} has no ids: its rows are assumed to be in the order of {whose}. To match them by id, give "
        "list_file, a file with one id per line.",
        RankloomWarning,
        stacklevel=3,
    )


def _with_item_ids(ranks: Ranks, path: FilePath, list_file: FilePath) -> Ranks:
    if ranks.item_ids is not None:
        raise InputError(f"{path} has ids of its own; leave list_file out.")
    ids = read_ids(list_file)
    if ranks.n_items != len(ids):
        raise InputError(f"{path} lists {ranks.n_items} items, but {list_file} has {len(ids)} ids.")
    return ranks.replaced(item_ids=ids)


def _with_query_ids(ranks: Ranks, queries: Sequence[str], path: FilePath) -> Ranks:
    """Return lists of queries with their ids, by order if there are none in the file."""
    if ranks.query_ids is None and ranks.n_queries != len(queries):
        raise InputError(f"{path} has no ids, and {ranks.n_queries} lists for {len(queries)} queries.")
    if ranks.query_ids is None or ranks.item_ids is None:
        _warn_of_order(path)
    return ranks.replaced(query_ids=Ids(queries)) if ranks.query_ids is None else ranks


def _of_items(ranks: Ranks, path: FilePath) -> Ranks:
    """Return lists of items with the ids of both rows and items, or of neither, with a warning."""
    if ranks.kind == "queries":
        raise InputError(f"{path} has lists of queries, but those of the items are needed; give their file.")
    if ranks.item_ids is not None and ranks.query_ids is not None:
        return ranks
    ids = ranks.query_ids if ranks.item_ids is None else ranks.item_ids
    if ids is None:
        _warn_of_order(path)
    elif ranks.n_queries != ranks.n_items:
        raise InputError(f"{path} needs a list for each item; it has {ranks.n_queries} of {ranks.n_items} items.")
    return ranks.replaced(item_ids=ids, query_ids=ids)


def _over_collection(ranks: Ranks, ids: tuple[str, ...], path: FilePath) -> Ranks:
    try:
        return ranks.renumbered(Ids(ids))
    except UnknownNameError as error:
        raise InputError(f"{path} lists an item that is not in the collection: {error}") from None


def _rows(ranks: Ranks, ids: Sequence[str], path: FilePath) -> Ranks:
    """Return the lists of queries by id; an empty list if there is none."""
    numbers = {ranks.query_id(row): row for row in range(ranks.n_queries)}
    rows = np.array([numbers.get(query, PAD) for query in ids], np.intp)
    if len(rows) and (rows == PAD).all():
        raise InputError(f"{path} has no list for any of the queries, such as {ids[0]!r}; it has {_some(numbers)}.")
    return ranks.spread(rows, Ids(ids))


def _some(ids: Iterable[str]) -> str:
    return ", ".join(map(repr, islice(ids, 3)))
