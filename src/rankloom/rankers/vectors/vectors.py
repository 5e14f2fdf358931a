"""Nearest neighbors of embeddings and other feature vectors: exact, in blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from rankloom.datasets.collection import Contents
from rankloom.errors import InputError, whole_number
from rankloom.io.cache import Cache
from rankloom.io.text_file import FilePath
from rankloom.rankers.precomputed import read_rows
from rankloom.rankers.ranker import register_ranker
from rankloom.ranks import Kind, Ranks
from rankloom.ranks.approximate import BUILDERS, Neighbors, check_algorithm, neighbors_by
from rankloom.ranks.arrays import Array, Bools, Float32s, Numbers
from rankloom.ranks.vector_space import METRICS, VectorSpace
from rankloom.registry import Options

#: Implementation of the search: a name in `ALGORITHMS`.
Algorithm = Literal["exact", "faiss", "hnsw", "ivf"]


class VectorSource(Protocol):
    """What turns items and queries into vectors: a ranker."""

    def item_vectors(self, items: Contents, *, cache: Cache | None = None) -> Array:
        """Return the vectors of items. Raise UnreadableItemsError if some cannot be read."""

    def query_vectors(self, queries: Contents, *, cache: Cache | None = None) -> Array:
        """Return the vectors of external queries."""


@dataclass(frozen=True, eq=False)
class FittedVectors:
    """The vectors of a collection, which is `Updatable`; its lists are those of `Ranks.from_vectors`, bit by bit.

    An algorithm other than exact is used by `rank` and `rank_vectors` without a filter; filtered lists and those of
    `rank_items` are always exact. The index of hnsw or ivf is built on first use, and rebuilt after each update.

    Examples
    --------
    >>> fitted = Vectors(metric="l2").fit([[0.0], [5.0], [1.0]])
    >>> fitted.rank(queries=[[4.0]], depth=2, allowed=np.array([True, False, True])).items
    array([[2, 0]], dtype=int32)
    """

    source: VectorSource  #: gives the vectors of queries and of further items
    space: VectorSpace  #: the vectors, measured once
    cache: Cache | None = None  #: where the source may store vectors of queries
    algorithm: Algorithm = field(default="exact", kw_only=True)

    @property
    def n_items(self) -> int:
        return len(self.space)

    @property
    def vectors(self) -> Array:
        """The vectors as given, of shape (n_items, d)."""
        return self.space.vectors

    def rank(self, *, queries: Contents | None = None, depth: int = 1000, allowed: Bools | None = None) -> Ranks:
        """Rank the items for each of them, or for external queries, which the source turns into vectors."""
        if queries is not None:
            vectors = self.source.query_vectors(queries, cache=self.cache)
            return self.rank_vectors(vectors, depth=depth, allowed=allowed)
        if allowed is not None:
            raise InputError("allowed is for external queries; leave it out to rank the items for each of them.")
        own = np.arange(self.n_items)
        return self._ranks(self.space, depth, "collection", own=own)

    def rank_vectors(self, vectors: ArrayLike, *, depth: int = 1000, allowed: Bools | None = None) -> Ranks:
        """Rank the items, or those that a mask allows, for the vectors of external queries."""
        among = None if allowed is None else np.flatnonzero(_checked_mask(allowed, self.n_items))
        queries = VectorSpace.of(vectors, self.space.metric, "queries")
        if among is None:
            return self._ranks(queries, depth, "queries")
        return self._exact()._ranks(queries, depth, "queries", among=among)

    def rank_items(
        self,
        rows: Numbers,
        *,
        depth: int = 1000,
        among: Numbers | None = None,
        floors: Float32s | None = None,
        of: Self | None = None,
    ) -> Ranks:
        """Return the lists of some items, as `Updatable`; `among` must ascend."""
        ceilings = None if floors is None else -np.asarray(floors, np.float32)
        numbers = np.asarray(rows, np.intp)
        queries = (of or self).space
        if not np.array_equal(numbers, np.arange(len(queries))):  # otherwise without a copy
            queries = queries.subset(numbers)
        options = {"own": numbers if of is None else None, "among": among, "ceilings": ceilings}
        return self._exact()._ranks(queries, depth, "queries", **options)

    def entries(self, of: Self, rows: Numbers, floors: Float32s) -> tuple[Array, Array, Float32s] | None:
        """Return which of these few items are above the floors of some items of another ranker: (row, item, score).

        The scores are those of `rank_items`. None if that has to be asked.
        """
        if not np.array_equal(rows, np.arange(of.n_items)):
            return None
        found = self.space.below(of.space, -floors)
        return None if found is None else (found[0], found[1], 0 - found[2])

    def rank_part(self, rows: Numbers, *, depth: int = 1000) -> Ranks:
        """Return the lists of some items as `rank` does: by the algorithm, with the same bits."""
        return self._ranks(self.space.subset(rows), depth, "queries", own=rows)

    def for_workers(self) -> FittedVectors:
        """Return the vectors and the index of an approximate algorithm, which is all that `rank_part` needs."""
        fitted = replace(self, source=Vectors(), cache=None)  # not its own source, which may be a network
        if self.algorithm in BUILDERS:
            fitted.__dict__["_neighbors"] = self._neighbors  # what cached_property would build on each worker
        return fitted

    def _exact(self) -> Self:
        return self if self.algorithm == "exact" else replace(self, algorithm="exact")

    @cached_property
    def _neighbors(self) -> tuple[Neighbors, float | None]:
        return neighbors_by(self.algorithm, self.space)

    def _ranks(self, queries: VectorSpace, depth: int, kind: Kind, **options: Any) -> Ranks:
        neighbors, recall = self._neighbors
        items, cost = neighbors(queries, whole_number("depth", depth), **options)
        if not np.isfinite(cost).all():
            row = int((~np.isfinite(cost)).any(axis=1).argmax())
            raise InputError(f"Row {row} has a score that float32 cannot hold; scale the vectors down.")
        return Ranks.trusted(items, 0 - cost, self.n_items, kind=kind, recall=recall)

    def subset(self, numbers: Numbers) -> Self:
        return replace(self, space=self.space.subset(np.asarray(numbers, np.intp)))

    def appended(self, items: Contents, *, cache: Cache | None = None) -> Self:
        vectors = self.source.item_vectors(items, cache=cache)
        return replace(self, space=self.space.joined(VectorSpace.of(vectors, self.space.metric)))

    def row_arrays(self) -> dict[str, Array]:
        """Return the vectors in the dtype in which they came, and their measures."""
        return self.space.arrays()

    def with_rows(self, arrays: Mapping[str, Array]) -> Self:
        return replace(self, space=VectorSpace.restored(arrays, self.space.metric))

    def arrays(self) -> dict[str, Array]:
        """Return the same as `row_arrays`: there are no statistics."""
        return self.row_arrays()


def _checked_mask(allowed: ArrayLike, n_items: int) -> Bools:
    mask = np.asarray(allowed)
    if mask.dtype != np.bool_ or mask.shape != (n_items,):
        raise InputError(f"allowed must have a boolean for each of {n_items} items; got {mask.dtype} {mask.shape}.")
    return mask


@register_ranker("vectors")
@dataclass(frozen=True, kw_only=True)
class Vectors(Options):
    """Nearest neighbors by one part of the collection, a matrix.

    Attributes
    ----------
    part : str
        Name of the matrix in the collection.
    metric : {"cosine", "dot", "l1", "l2"}
    path : str, optional
        A file with the matrix instead, such as your own embeddings, that `read_matrix` accepts: .npy, .npz or text.
        Rows are matched to the items by id; where the file has no ids, by their order, with a warning.
    key : str, optional
        Name of the matrix in an .npz with several, as in `read_matrix`.
    list_file : str, optional
        Ids of the rows, one per line, if the file itself has none. A file may have rows for other items too.
    queries, queries_key, queries_list_file : str, optional
        The same for the vectors of external queries, which are matched by their ids.
    comparable : bool
        Whether external queries are like items, so that their scores can be compared. Choose no for embeddings of a few
        words among those of documents.
    algorithm : {"exact", "faiss", "hnsw", "ivf"}
        The first two compare every pair. faiss (extra ``faiss``; cosine, dot and l2) computes in float32: vectors that
        are equal up to rounding may swap positions. hnsw and ivf (the same extra) do not compare every pair, and find
        most neighbors: `Ranks.recall` has their share of the 10 nearest, and a warning says if it is below 95%.

    Examples
    --------
    >>> Vectors(part="pixels", metric="l2").fit([[0.0], [5.0], [1.0]]).rank(depth=2).items
    array([[0, 2],
           [1, 2],
           [2, 0]], dtype=int32)
    """

    symmetric: ClassVar[bool] = True  #: of two vectors

    part: str = "vectors"
    metric: Literal["cosine", "dot", "l1", "l2"] = "cosine"
    algorithm: Algorithm = "exact"
    path: FilePath | None = None
    list_file: FilePath | None = None
    comparable: bool = True
    key: str | None = None
    queries: FilePath | None = None
    queries_key: str | None = None
    queries_list_file: FilePath | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_files()
        if self.path is not None:
            object.__setattr__(self, "part", "ids")  # which its rows are matched by
        check_algorithm(self.algorithm, self.metric)

    def _check_files(self) -> None:
        needs = [("list_file", "path"), ("key", "path"), ("queries", "path")]
        needs += [("queries_key", "queries"), ("queries_list_file", "queries")]
        for option, needed in needs:
            if getattr(self, option) is not None and getattr(self, needed) is None:
                raise InputError(f"{option} goes with a matrix in a file; give {needed}, too.")

    def fit(self, items: Contents, *, cache: Cache | None = None) -> FittedVectors:
        space = VectorSpace.of(self.item_vectors(items), METRICS[self.metric])
        return FittedVectors(self, space, algorithm=self.algorithm)

    def restored(self, arrays: Mapping[str, Array]) -> FittedVectors:
        return FittedVectors(self, VectorSpace.restored(arrays, METRICS[self.metric]), algorithm=self.algorithm)

    @property
    def has_queries(self) -> bool:
        return self.queries is not None

    def item_vectors(self, items: Contents, *, cache: Cache | None = None) -> Array:
        """Return the vectors of items: the items themselves, or rows of the file by id."""
        if self.path is None:
            return np.asarray(items)
        matrix, rows = read_rows(self.path, self.list_file, items, key=self.key)
        return matrix if rows is None else matrix[rows]

    def query_vectors(self, queries: Contents, *, cache: Cache | None = None) -> Array:
        """Return the vectors of external queries: the queries themselves, or rows of their file by id."""
        vectors = np.asarray(queries)
        if self.path is None or vectors.dtype.kind != "U":
            return vectors
        if self.queries is None:
            raise InputError(f"{self.path} has no vectors of external queries; give their file as queries=.")
        list_file, key = self.queries_list_file, self.queries_key
        matrix, rows = read_rows(self.queries, list_file, queries, key=key, kind="query")
        return matrix if rows is None else matrix[rows]
