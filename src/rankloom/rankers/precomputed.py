"""Precomputed ranks: files of ranked lists, matrices of distances or similarities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError, UnknownNameError
from rankloom.io import read_ranks
from rankloom.io.cache import Cache
from rankloom.io.text_file import FilePath
from rankloom.rankers.ranker import register_ranker
from rankloom.ranks import PAD, Ids, Ranks
from rankloom.threads import Progress

#: Meaning of the values in a matrix.
Meaning = Literal["distance", "similarity"]


@register_ranker("file")
@dataclass(frozen=True, slots=True)
class RankFile:
    """Ranked lists from a file, matched to items and queries by id.

    Attributes
    ----------
    path : path
        A TREC run or any other file that `read_ranks` accepts.
    items : path, optional
        File with the lists of the items, if `path` has those of external queries.
    format : str, optional
        As in `read_ranks`.
    """

    path: FilePath
    items: FilePath | None = None
    format: str | None = None

    @property
    def part(self) -> str:
        """The part of the collection it ranks by: the ids alone."""
        return "ids"

    def fit(self, items: Sequence[Any], *, cache: Cache | None = None, progress: Progress | None = None) -> FittedFile:
        """Read the file."""
        own = None if self.items is None else read_ranks(self.items, format=self.format)
        return FittedFile(read_ranks(self.path, format=self.format), own, tuple(items), self.path)


@dataclass(frozen=True, slots=True, eq=False)
class FittedFile:
    """The lists of a file."""

    lists: Ranks
    own: Ranks | None
    ids: tuple[str, ...]
    path: FilePath

    def rank(
        self, *, queries: Sequence[Any] | None = None, depth: int = 1000, progress: Progress | None = None
    ) -> Ranks:
        """Return the lists of the items, or of queries by id; an id that is not in the file has an empty list."""
        if queries is not None:
            return _rows(self.lists, queries, self.path).head(depth)
        if self.own is not None:  # with external queries, the items are those in the file
            return self.own.as_collection().head(depth)
        if self.lists.item_ids is None and self.lists.query_ids is None:
            return _numbered(self.lists, len(self.ids), self.path).head(depth)
        return _rows(_over(self.lists, self.ids, self.path), self.ids, self.path).head(depth)


@register_ranker("matrix")
@dataclass(frozen=True, slots=True)
class Matrix:
    """A square matrix of distances or similarities in a .npy file, rows and columns in the order of the items.

    Attributes
    ----------
    path : path
    meaning : {"distance", "similarity"}
    """

    path: FilePath
    meaning: Meaning = "distance"

    def __post_init__(self) -> None:
        if self.meaning not in get_args(Meaning):
            raise UnknownNameError("meaning of a matrix", self.meaning, get_args(Meaning))

    @property
    def part(self) -> str:
        """The part of the collection it ranks by: the ids alone."""
        return "ids"

    def fit(
        self, items: Sequence[Any], *, cache: Cache | None = None, progress: Progress | None = None
    ) -> FittedMatrix:
        """Open the file; it may be larger than memory."""
        matrix = read_matrix(self.path, len(items))
        if matrix.shape != (len(items), len(items)):
            raise InputError(f"{self.path} must have a column for each of {len(items)} items; got {matrix.shape}.")
        return FittedMatrix(matrix, self.meaning)


@dataclass(frozen=True, slots=True, eq=False)
class FittedMatrix:
    """An open matrix."""

    matrix: NDArray[Any]
    meaning: Meaning

    def rank(
        self, *, queries: Sequence[Any] | None = None, depth: int = 1000, progress: Progress | None = None
    ) -> Ranks:
        """Rank the items for each of them. Raise InputError for external queries."""
        if queries is not None:
            raise InputError("A matrix of the items cannot rank external queries; give a file of their lists.")
        make = Ranks.from_distances if self.meaning == "distance" else Ranks.from_similarities
        return make(self.matrix, depth)


def read_matrix(path: FilePath, n_items: int) -> NDArray[Any]:
    """Return the matrix in a .npy file, with a row for each item, memory-mapped: it may be larger than memory."""
    try:
        matrix: NDArray[Any] = np.lib.format.open_memmap(Path(path), mode="r")
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise InputError(f"Cannot read the matrix {path}: {reason}. Save it as a .npy file.") from None
    if matrix.ndim != 2 or len(matrix) != n_items:
        raise InputError(f"{path} must have a row for each of {n_items} items; got shape {matrix.shape}.")
    return matrix


def _over(ranks: Ranks, ids: tuple[str, ...], path: FilePath) -> Ranks:
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


def _numbered(ranks: Ranks, n_items: int, path: FilePath) -> Ranks:
    if (ranks.n_queries, ranks.n_items) != (n_items, n_items):
        raise InputError(f"{path} has {ranks.n_queries} lists of {ranks.n_items} items; the collection has {n_items}.")
    return ranks


def _some(ids: dict[str, int]) -> str:
    return ", ".join(map(repr, list(ids)[:3]))
