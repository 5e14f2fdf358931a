"""Ranks that some other program made: files of ranked lists, matrices of distances or similarities."""

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
from rankloom.io.lines import FilePath
from rankloom.rankers.ranker import register_ranker
from rankloom.ranks import PAD, Ids, Ranks
from rankloom.threads import Progress

#: What the numbers of a matrix mean.
Meaning = Literal["distance", "similarity"]


@register_ranker("file")
@dataclass(frozen=True, slots=True)
class RankFile:
    """Ranked lists from a file, matched to items and queries by name.

    Attributes
    ----------
    path : path
        A TREC run or any other file that `read_ranks` reads.
    items : path, optional
        The lists of the collection's own items, where `path` has those of external queries.
    format : str, optional
        As in `read_ranks`.
    """

    path: FilePath
    items: FilePath | None = None
    format: str | None = None

    @property
    def part(self) -> str:
        """It looks at names only."""
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
        """Return the lists of the items, or of queries by name; one that the file has not has an empty list."""
        if queries is not None:
            return _rows(self.lists, queries, self.path).head(depth)
        if self.own is not None:  # with external queries, the items are those that the file names
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
        """It looks at names only."""
        return "ids"

    def fit(
        self, items: Sequence[Any], *, cache: Cache | None = None, progress: Progress | None = None
    ) -> FittedMatrix:
        """Open the file; it may be larger than memory."""
        matrix = read_matrix(self.path, len(items))
        if matrix.shape != (len(items), len(items)):
            raise InputError(f"{self.path} must be of {len(items)} rows and columns, one an item; got {matrix.shape}.")
        return FittedMatrix(matrix, self.meaning)


@dataclass(frozen=True, slots=True, eq=False)
class FittedMatrix:
    """An open matrix."""

    matrix: NDArray[Any]
    meaning: Meaning

    def rank(
        self, *, queries: Sequence[Any] | None = None, depth: int = 1000, progress: Progress | None = None
    ) -> Ranks:
        """Rank the items for each of them; a matrix knows no external queries."""
        if queries is not None:
            raise InputError("A matrix of the items knows no external queries; give a file of their lists.")
        make = Ranks.from_distances if self.meaning == "distance" else Ranks.from_similarities
        return make(self.matrix, depth)


def read_matrix(path: FilePath, n_items: int) -> NDArray[Any]:
    """Return the matrix of a .npy file, as a map that may be larger than memory: a row for each item."""
    try:
        matrix: NDArray[Any] = np.lib.format.open_memmap(Path(path), mode="r")
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise InputError(f"Cannot read the matrix {path}: {reason}. Save it alone, in a .npy file.") from None
    if matrix.ndim != 2 or len(matrix) != n_items:
        raise InputError(f"{path} must have a row for each of {n_items} items; got the shape {matrix.shape}.")
    return matrix


def _over(ranks: Ranks, ids: tuple[str, ...], path: FilePath) -> Ranks:
    try:
        return ranks.renumbered(Ids(ids))
    except UnknownNameError as error:
        raise InputError(f"{path} lists an item that the collection has not: {error}") from None


def _rows(ranks: Ranks, names: Sequence[str], path: FilePath) -> Ranks:
    """Return the lists of queries by name; an empty list where there is none."""
    numbers = {ranks.query_id(row): row for row in range(ranks.n_queries)}
    rows = np.array([numbers.get(name, PAD) for name in names], np.intp)
    if len(rows) and (rows == PAD).all():
        raise InputError(f"{path} has a list for none of the queries, such as {names[0]!r}; it has {_some(numbers)}.")
    return ranks.spread(rows, Ids(names))


def _numbered(ranks: Ranks, n_items: int, path: FilePath) -> Ranks:
    if (ranks.n_queries, ranks.n_items) != (n_items, n_items):
        raise InputError(f"{path} has {ranks.n_queries} lists of {ranks.n_items} items; the collection has {n_items}.")
    return ranks


def _some(names: dict[str, int]) -> str:
    return ", ".join(map(repr, list(names)[:3]))
