"""Nearest neighbors of embeddings and other feature vectors: exact, or by cells for the lists of many items."""

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
from rankloom.ranks.arrays import Array, Bools, Float32s, Int32s, Numbers
from rankloom.ranks.cell_lists import item_lists
from rankloom.ranks.cells import MAX_DEPTH, RECALL, Cells, check_algorithm, made_cells
from rankloom.ranks.query_search import QuerySearch, is_single
from rankloom.ranks.vector_space import METRICS, VectorSpace
from rankloom.registry import Options

#: Implementation of the search: a name in `ALGORITHMS`.
Algorithm = Literal["auto", "exact", "cells"]


class VectorSource(Protocol):
    """What turns items and queries into vectors: a ranker."""

    def item_vectors(self, items: Contents, *, cache: Cache | None = None) -> Array:
        """Return the vectors of items. Raise UnreadableItemsError if some cannot be read."""

    def query_vectors(self, queries: Contents, *, cache: Cache | None = None) -> Array:
        """Return the vectors of external queries."""


@dataclass(frozen=True, eq=False)
class FittedVectors:
    """The vectors of a collection, which is `Updatable`; its lists are those of `Ranks.from_vectors`, bit by bit.

    With cells, `rank` finds most of the nearest items for each item; all other lists are exact.

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
    recall: float = field(default=RECALL, kw_only=True)  #: wanted of lists by cells
    cells: Cells | None = field(default=None, kw_only=True)
    lists: Int32s | None = field(default=None, kw_only=True)  #: of all items, along which queries may walk

    def with_cells(self) -> Self:
        """Return the same vectors with new cells, if the algorithm makes them."""
        return replace(self, cells=made_cells(self.algorithm, self.space))

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
        depth = whole_number("depth", depth)
        cells = self.cells if self.algorithm == "cells" or depth <= MAX_DEPTH else None
        items, cost, recall = item_lists(self.space, cells, depth, self.recall)
        return self._ranks(items, cost, "collection", recall)

    def rank_vectors(
        self, vectors: ArrayLike, *, depth: int = 1000, allowed: Bools | None = None, exact: bool = False
    ) -> Ranks:
        """Rank the items, or those that a mask allows, for the vectors of external queries.

        A single query of many items with lists gets most of the nearest, unless `exact`; several are always exact.
        """
        mask = None if allowed is None else _checked_mask(allowed, self.n_items)
        queries = VectorSpace.of(vectors, self.space.metric, "queries")
        if is_single(queries, self.space):
            depth = whole_number("depth", depth)
            return self._ranks(*self._single.nearest(queries, depth, mask, exact=exact), "queries")
        return self._near(queries, depth, among=None if mask is None else np.flatnonzero(mask))

    @cached_property
    def _single(self) -> QuerySearch:
        return QuerySearch(self.space, self.cells, self.lists)

    def with_lists(self, lists: Int32s) -> Self:
        """Return the same vectors with the lists of all items."""
        return self if self.cells is None else replace(self, lists=lists)

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
        return self._near(queries, depth, **options)

    def entries(self, of: Self, rows: Numbers, floors: Float32s) -> tuple[Array, Array, Float32s] | None:
        """Return which of these few items are above the floors of some items of another ranker: (row, item, score).

        The scores are those of `rank_items`. None if that has to be asked.
        """
        if not np.array_equal(rows, np.arange(of.n_items)):
            return None
        found = self.space.below(of.space, -floors)
        return None if found is None else (found[0], found[1], 0 - found[2])

    def rank_part(self, rows: Numbers, *, depth: int = 1000) -> Ranks:
        """Return the lists of some items as `rank` does without cells, with the same bits."""
        return self._near(self.space.subset(rows), depth, own=rows)

    def for_workers(self) -> FittedVectors:
        """Return the vectors, which is all that `rank_part` needs."""
        return replace(self, source=Vectors(), cache=None, cells=None, lists=None)  # its own source may be a network

    def _near(self, queries: VectorSpace, depth: int, **options: Any) -> Ranks:
        return self._ranks(*self.space.neighbors(queries, whole_number("depth", depth), **options), "queries")

    def _ranks(self, items: Int32s, cost: Float32s, kind: Kind, recall: float | None = None) -> Ranks:
        if not np.isfinite(cost).all():
            row = int((~np.isfinite(cost)).any(axis=1).argmax())
            raise InputError(f"Row {row} has a score that float32 cannot hold; scale the vectors down.")
        return Ranks.trusted(items, 0 - cost, self.n_items, kind=kind, recall=recall)

    def subset(self, numbers: Numbers) -> Self:
        rows = np.asarray(numbers, np.intp)
        return replace(self, space=self.space.subset(rows), cells=self.cells and self.cells.subset(rows), lists=None)

    def appended(self, items: Contents, *, cache: Cache | None = None) -> Self:
        more = VectorSpace.of(self.source.item_vectors(items, cache=cache), self.space.metric)
        return replace(self, space=self.space.joined(more), cells=self.cells and self.cells.appended(more), lists=None)

    def row_arrays(self) -> dict[str, Array]:
        """Return the vectors in the dtype in which they came, their measures and cells."""
        return self.space.arrays() | ({} if self.cells is None else {"cell": self.cells.own})

    def with_rows(self, arrays: Mapping[str, Array]) -> Self:
        statistics = {} if self.cells is None else {"centers": self.cells.centers}
        return self.restored({**statistics, **arrays})

    def arrays(self) -> dict[str, Array]:
        """Return the `row_arrays` and the centers of cells."""
        return self.row_arrays() | ({} if self.cells is None else self.cells.arrays())

    def restored(self, arrays: Mapping[str, Array]) -> Self:
        """Return other vectors with the same settings, by their `arrays`, after checks."""
        space = VectorSpace.restored(arrays, self.space.metric)
        cells = Cells.restored(arrays, *space.vectors.shape) if "centers" in arrays else None
        return replace(self, space=space, cells=cells, lists=None)


def _checked_mask(allowed: ArrayLike, n_items: int) -> Bools:
    mask = np.asarray(allowed)
    if mask.dtype != np.bool_ or mask.shape != (n_items,):
        raise InputError(f"allowed must have a boolean for each of {n_items} items; got {mask.dtype} {mask.shape}.")
    return mask


@register_ranker("vectors")
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
    algorithm : {"auto", "exact", "cells"}
        How the lists of all items are made. exact compares every pair; cells (cosine only) compares the items of near
        cells, and finds most of the nearest. auto takes cells for more than 20,000 items and lists up to 100 deep.
    recall : float
        With cells, the share of the 20 nearest items to be found at least; `Ranks.recall` has the measured one.

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
    algorithm: Algorithm = "auto"
    recall: float = RECALL
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
        check_algorithm(self.algorithm, self.metric, self.recall)

    def _check_files(self) -> None:
        needs = [("list_file", "path"), ("key", "path"), ("queries", "path")]
        needs += [("queries_key", "queries"), ("queries_list_file", "queries")]
        for option, needed in needs:
            if getattr(self, option) is not None and getattr(self, needed) is None:
                raise InputError(f"{option} goes with a matrix in a file; give {needed}, too.")

    def fit(self, items: Contents, *, cache: Cache | None = None) -> FittedVectors:
        return self._fitted(self.item_vectors(items)).with_cells()

    def restored(self, arrays: Mapping[str, Array]) -> FittedVectors:
        return self._fitted(np.empty((0, 0))).restored(arrays)

    def _fitted(self, vectors: Array) -> FittedVectors:
        space = VectorSpace.of(vectors, METRICS[self.metric])
        return FittedVectors(self, space, algorithm=self.algorithm, recall=self.recall)

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
