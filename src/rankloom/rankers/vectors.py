"""Nearest neighbors of embeddings and other feature vectors: exact, in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError, MissingExtraError, UnknownNameError, whole_number
from rankloom.io.cache import Cache
from rankloom.io.text_file import FilePath
from rankloom.rankers.precomputed import read_rows
from rankloom.rankers.ranker import register_ranker
from rankloom.ranks import Ranks
from rankloom.threads import Progress

#: Implementation of the search.
Engine = Literal["numpy", "faiss"]

BLOCK = 1024  # queries per call of faiss


@register_ranker("vectors")
@dataclass(frozen=True, slots=True)
class Vectors:
    """Nearest neighbors by one part of the collection, a matrix.

    Attributes
    ----------
    part : str
        Name of the matrix in the collection.
    metric : {"cosine", "dot", "l1", "l2"}
    path : str, optional
        A file with the matrix instead, such as your own embeddings, that `read_matrix` accepts: .npy, .npz or text.
        Rows are matched to the items by id; where the file has no ids, by their order, with a warning.
    list_file : str, optional
        Ids of the rows, one a line, if the file itself has none. A file may have more rows than the collection items.
    comparable : bool
        Whether external queries are like items, so that their scores can be compared. Choose no for embeddings of a few
        words among those of documents.
    engine : {"numpy", "faiss"}
        Both are exact and compare every pair. faiss (extra ``faiss``; cosine, dot and l2) is faster on large matrices,
        but computes in float32: vectors that are equal up to rounding may swap positions.

    Examples
    --------
    >>> Vectors(part="pixels", metric="l2").fit([[0.0], [5.0], [1.0]]).rank(depth=2).items
    array([[0, 2],
           [1, 2],
           [2, 0]], dtype=int32)
    """

    part: str = "vectors"
    metric: str = "cosine"
    engine: Engine = "numpy"
    path: FilePath | None = None
    list_file: FilePath | None = None
    comparable: bool = True

    def __post_init__(self) -> None:
        if self.path is not None:
            object.__setattr__(self, "part", "ids")  # which its rows are matched by
        elif self.list_file is not None:
            raise InputError("list_file has the ids of a matrix in a file; give path, too.")
        if self.engine not in get_args(Engine):
            raise UnknownNameError("engine", self.engine, get_args(Engine))
        if self.engine == "faiss" and self.metric not in ("cosine", "dot", "l2"):
            raise InputError(f"faiss supports cosine, dot and l2; got {self.metric!r}. Use engine=numpy.")

    def fit(
        self, items: Sequence[Any], *, cache: Cache | None = None, progress: Progress | None = None
    ) -> FittedVectors:
        """Return the ranker with the vectors of the items."""
        vectors = np.asarray(items) if self.path is None else self._read(self.path, items)
        return FittedVectors(vectors, self.metric, self.engine, self.path)

    def _read(self, path: FilePath, items: Sequence[Any]) -> NDArray[Any]:
        matrix, rows = read_rows(path, self.list_file, items)
        return matrix if rows is None else matrix[rows]


@dataclass(frozen=True, slots=True, eq=False)
class FittedVectors:
    """The vectors of a collection."""

    vectors: NDArray[Any]
    metric: str
    engine: Engine = "numpy"
    path: FilePath | None = None

    def rank(
        self, *, queries: Sequence[Any] | None = None, depth: int = 1000, progress: Progress | None = None
    ) -> Ranks:
        """Rank the items for each of them, or for the vectors of external queries."""
        rows = None if queries is None else np.asarray(queries)
        if rows is not None and self.path is not None and rows.dtype.kind == "U":  # ids, as for the items
            raise InputError(f"{self.path} has no vectors of external queries; give a file with their lists.")
        if self.engine == "faiss":
            return _by_faiss(self.vectors, rows, self.metric, whole_number("depth", depth), progress)
        return Ranks.from_vectors(self.vectors, self.metric, depth, queries=rows)


def _by_faiss(
    vectors: NDArray[Any], queries: NDArray[Any] | None, metric: str, depth: int, progress: Progress | None
) -> Ranks:
    """Rank with faiss; ties are ordered by number, the item itself first."""
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("The engine faiss", "faiss-cpu", "faiss") from None
    items = _single(vectors, metric)
    rows = items if queries is None else _single(queries, metric)
    if rows.shape[1] != items.shape[1]:
        raise InputError(f"queries and vectors must have the same length; got {rows.shape[1]} and {items.shape[1]}.")
    index = (faiss.IndexFlatL2 if metric == "l2" else faiss.IndexFlatIP)(items.shape[1])
    index.add(items)
    depth = min(depth, len(items))
    found = np.empty((len(rows), depth), np.int32)
    scores = np.empty((len(rows), depth), np.float32)
    for start in range(0, len(rows), BLOCK):
        values, numbers = index.search(rows[start : start + BLOCK], depth)
        values = -np.sqrt(np.maximum(values, 0)) if metric == "l2" else values
        own = np.arange(start, start + len(numbers))[:, None] if queries is None else np.full((len(numbers), 1), -1)
        if queries is None:
            _put_own(values, numbers, own[:, 0], items[start : start + len(numbers)], metric)
        order = np.lexsort((numbers, numbers != own, -values), axis=1)
        found[start : start + BLOCK] = np.take_along_axis(numbers, order, axis=1)
        scores[start : start + BLOCK] = np.take_along_axis(values, order, axis=1)
        if progress:
            progress("searching vectors", start + len(numbers), len(rows))
    return Ranks(found, scores, len(items))


def _put_own(
    values: NDArray[np.float32],
    numbers: NDArray[np.int64],
    own: NDArray[np.intp],
    rows: NDArray[np.float32],
    metric: str,
) -> None:
    """Insert an item into its own list if others with the same score, up to rounding, have filled it."""
    last = values[:, -1]
    score = np.zeros(len(own), np.float32) if metric == "l2" else np.einsum("ij,ij->i", rows, rows)
    slack = rows.shape[1] * np.finfo(np.float32).eps * score
    missing = (numbers != own[:, None]).all(axis=1) & (score + slack >= last)
    numbers[missing, -1] = own[missing]
    values[missing, -1] = np.maximum(score, last)[missing]


def _single(vectors: NDArray[Any], metric: str) -> NDArray[np.float32]:
    """Return vectors as faiss needs them; for the cosine, scaled to length 1 unless they are zero."""
    if vectors.ndim != 2 or not np.issubdtype(vectors.dtype, np.number) or not np.isfinite(vectors).all():
        raise InputError(f"Vectors must be a matrix of finite numbers; got {vectors.dtype} with shape {vectors.shape}.")
    if metric == "cosine":
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors / np.where(lengths > 0, lengths, 1)
    return np.ascontiguousarray(vectors, np.float32)
