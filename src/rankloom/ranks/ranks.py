"""Ranked lists as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloom.errors import InputError, brief, check_range, whole_number
from rankloom.ranks.arrays import PAD, Array, Float32s, Int32s
from rankloom.ranks.cell_lists import item_lists
from rankloom.ranks.cells import RECALL, check_algorithm, made_cells
from rankloom.ranks.checks import (
    NEEDS_COLLECTION,
    GivenIds,
    Kind,
    check_kind,
    check_lists,
    check_rows,
    check_rows_are_items,
    checked_ids,
    checked_items,
    checked_n_items,
    checked_scores,
    matrix_kind,
)
from rankloom.ranks.html_table import ranks_table
from rankloom.ranks.ids import Ids
from rankloom.ranks.lists import Lists, list_lengths, padded_lists, renumbered_items, selected_rows
from rankloom.ranks.nearest import matrix_neighbors, table
from rankloom.ranks.vector_space import METRICS, VectorSpace


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Ranks:
    """Ranked lists, one row for each query, best item first; validated on construction, then read-only.

    The arrays are copied. Invalid input raises an `InputError` that names the row: an item twice in a row, floats
    or booleans as items, numbers below -1 or not below `n_items`, items after padding, scores that are not finite
    in float32, that increase along a row, or that have a different shape. No rows, no items and rows of padding only
    (empty lists) are valid.

    Attributes
    ----------
    items : int32 array of shape (n_queries, depth)
        Item numbers in [0, n_items), unique within a row; a short row is padded with PAD (-1).
    scores : float32 array of shape (n_queries, depth), or None
        Finite, higher is better, non-increasing along a row; 0 where `items` is PAD.
        None where only the order is known.
    n_items : int
        Size of the collection; by default the number of `item_ids`, or one more than the largest item number.
    item_ids, query_ids : Ids or None
        Ids of the items and of the rows; any sequence of unique strings is accepted.
    kind : {"collection", "queries"} or None
        Whether row i is the list of item i, or the rows are queries; None where it is not known. Methods that need the
        lists of the items reject lists of queries, and lists that look like them.
    recall : float or None
        Share of the 20 nearest other items that lists by cells have, measured on a sample; None for exact lists and
        where it is not known.

    Examples
    --------
    >>> Ranks([[0, 2, 1], [1, 0, -1]])
    Ranks(n_queries=2, depth=3, n_items=3, scores=no)
    >>> Ranks([[0, 0]])
    Traceback (most recent call last):
    rankloom.errors.InputError: Row 0 lists item 0 twice; give each item once.
    """

    items: Int32s
    scores: Float32s | None
    n_items: int
    item_ids: Ids | None
    query_ids: Ids | None
    kind: Kind | None
    recall: float | None

    def __init__(
        self,
        items: ArrayLike,
        scores: ArrayLike | None = None,
        n_items: int | None = None,
        *,
        item_ids: GivenIds = None,
        query_ids: GivenIds = None,
        kind: Kind | None = None,
        recall: float | None = None,
    ) -> None:
        ids, rows = checked_ids(item_ids), checked_ids(query_ids)
        lists = checked_items(items)
        size = checked_n_items(lists, n_items, ids)
        check_rows(lists)
        values = None if scores is None else checked_scores(scores, lists)
        if rows is not None and len(rows) != len(lists):
            raise InputError(f"There must be a query id for each row; got {len(rows)} for {len(lists)} rows.")
        check_kind(kind, lists, size, rows)
        if recall is not None:
            check_range(0, 1, recall=recall)
        _fill(self, items=lists, scores=values, n_items=size, item_ids=ids, query_ids=rows, kind=kind, recall=recall)

    @classmethod
    def trusted(
        cls,
        items: Int32s,
        scores: Float32s | None,
        n_items: int,
        *,
        item_ids: Ids | None = None,
        query_ids: Ids | None = None,
        kind: Kind | None = None,
        recall: float | None = None,
    ) -> Ranks:
        """Return ranks from arrays known to be valid, without checks or copies."""
        ids = {"item_ids": item_ids, "query_ids": query_ids}
        return _fill(object.__new__(cls), items=items, scores=scores, n_items=n_items, kind=kind, recall=recall, **ids)

    def replaced(self, **fields: object) -> Ranks:
        """Return these ranks with some fields replaced by values known to be valid, without checks or copies."""
        return _fill(object.__new__(Ranks), **({name: getattr(self, name) for name in Ranks.__slots__} | fields))

    def of_kind(self, kind: Kind | None) -> Ranks:
        """Return these ranks with their kind set: collection ranks must have a row for each item."""
        check_kind(kind, self.items, self.n_items, self.query_ids)
        return self.replaced(kind=kind)

    @classmethod
    def from_distances(
        cls,
        distances: ArrayLike,
        depth: int = 1000,
        *,
        item_ids: GivenIds = None,
        query_ids: GivenIds = None,
        kind: Kind | None = None,
    ) -> Ranks:
        """Rank the columns of a distance matrix, one row for each query, smallest first.

        Scores are the negated distances. A NaN or an infinity is an error. The matrix is read in blocks of rows, so
        it may be a memory map larger than memory.

        Parameters
        ----------
        kind : {"collection", "queries"}, optional
            Whether row i is item i. Values are rounded to float32, as scores are, and ties are broken by item number,
            but an item wins ties in its own row; so if a square matrix has such ties, and the ids do not settle it,
            the kind must be given.

        Examples
        --------
        >>> Ranks.from_distances([[0.0, 3.0, 1.0]], depth=2).items
        array([[0, 2]], dtype=int32)
        >>> Ranks.from_distances([[0.0, 0.0], [0.0, 0.0]], kind="collection").items
        array([[0, 1],
               [1, 0]], dtype=int32)
        """
        return cls._from_matrix(distances, depth, 1.0, item_ids, query_ids, kind)

    @classmethod
    def from_similarities(
        cls,
        similarities: ArrayLike,
        depth: int = 1000,
        *,
        item_ids: GivenIds = None,
        query_ids: GivenIds = None,
        kind: Kind | None = None,
    ) -> Ranks:
        """Rank the columns of a similarity matrix, largest first; otherwise as `from_distances`."""
        return cls._from_matrix(similarities, depth, -1.0, item_ids, query_ids, kind)

    @classmethod
    def _from_matrix(
        cls, matrix: ArrayLike, depth: int, sign: float, item_ids: GivenIds, query_ids: GivenIds, kind: Kind | None
    ) -> Ranks:
        items_by, queries_by = checked_ids(item_ids), checked_ids(query_ids)
        rows = table(matrix, "The matrix")
        kind = matrix_kind(rows, items_by, queries_by, kind)
        items, cost = matrix_neighbors(rows, whole_number("depth", depth), sign, own=kind == "collection")
        return cls(items, 0 - cost, rows.shape[1], item_ids=items_by, query_ids=queries_by, kind=kind)

    @classmethod
    def from_vectors(
        cls,
        vectors: ArrayLike,
        metric: str = "cosine",
        depth: int = 1000,
        *,
        queries: ArrayLike | None = None,
        item_ids: Ids | None = None,
        query_ids: Ids | None = None,
        algorithm: str = "auto",
        recall: float = RECALL,
    ) -> Ranks:
        """Rank vectors by a nearest-neighbor search, in blocks that never hold an n x n array.

        Parameters
        ----------
        vectors : array of shape (n_items, d)
            Finite numbers. Costs are rounded to float32, as scores are; ties are broken by item number.
        metric : {"cosine", "dot", "l1", "l2"}
            Cosines are rounded to 12 decimals, so that parallel vectors tie; those of a zero vector are 0.
        depth : int
            Length of the lists, at most the size of the collection.
        queries : array of shape (n_queries, d), optional
            External queries; by default each vector is a query (and wins ties in its own list).
        algorithm, recall
            How lists of the vectors themselves are made, as in `rankloom.rankers.Vectors`; with cells, the `recall` of
            the result is the measured one.

        Examples
        --------
        >>> Ranks.from_vectors([[0.0], [5.0], [1.0]], metric="l2", depth=2).items
        array([[0, 2],
               [1, 2],
               [2, 0]], dtype=int32)
        """
        check_algorithm(algorithm, metric, recall)
        depth, space = whole_number("depth", depth), VectorSpace.of(vectors, METRICS[metric])
        reached = None
        if queries is not None:
            items, cost = space.neighbors(VectorSpace.of(queries, METRICS[metric], "queries"), depth)
        else:
            items, cost, reached = item_lists(space, made_cells(algorithm, space, depth), depth, recall)
        kind: Kind = "collection" if queries is None else "queries"
        ids = item_ids if queries is None and query_ids is None else query_ids
        return cls(items, 0 - cost, len(space), item_ids=item_ids, query_ids=ids, kind=kind, recall=reached)

    @classmethod
    def from_dict(
        cls,
        lists: Lists,
        *,
        item_ids: Ids | None = None,
        kind: Kind | None = None,
    ) -> Ranks:
        """Return ranks from ``{query: {item: score}}`` or ``{query: [best item, next, ...]}``.

        Items are sorted by score, highest first; ties keep the order of the dict.
        Items are numbered in order of appearance, or as in `item_ids`, which must then contain all of them.

        Examples
        --------
        >>> ranks = Ranks.from_dict({"q1": {"a": 0.2, "b": 0.9}})
        >>> ranks.to_dict()
        {'q1': {'b': 0.8999999761581421, 'a': 0.20000000298023224}}
        """
        scored = check_lists(lists)
        ids = Ids(dict.fromkeys(i for row in lists.values() for i in row) if item_ids is None else item_ids)
        items, scores = padded_lists(lists, ids, scored=scored)
        return cls(items, scores, len(ids), item_ids=ids, query_ids=Ids(lists), kind=kind)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return ``{query: {item: score}}``; without scores, 1 / position is used."""
        scores = self.scores
        if scores is None:
            scores = np.broadcast_to(1.0 / np.arange(1, self.depth + 1, dtype=np.float32), self.items.shape)
        return {
            self.query_id(q): {self.item_id(i): score for i, score in zip(row, values, strict=True) if i != PAD}
            for q, (row, values) in enumerate(zip(self.items.tolist(), scores.tolist(), strict=True))
        }

    @property
    def n_queries(self) -> int:
        """Number of rows."""
        return len(self.items)

    @property
    def depth(self) -> int:
        """Number of columns: at least the length of the longest list."""
        return int(self.items.shape[1])

    def lengths(self) -> Int32s:
        """Return the length of each list."""
        return list_lengths(self.items)

    def head(self, depth: int) -> Ranks:
        """Return the lists cut to `depth`, at least 1."""
        if whole_number("depth", depth) >= self.depth:
            return self
        return self._changed(lambda table, _: table[:, :depth])

    def rows(self, numbers: Sequence[int] | NDArray[np.integer] | slice) -> Ranks:
        """Return the lists that row numbers (from 0), a mask or a slice select, in that order."""
        picked = selected_rows(self.n_queries, numbers)
        ids = None if self.query_ids is None else Ids(self.query_ids[q] for q in picked.tolist())
        return self._changed(lambda table, _: table[picked], query_ids=ids, kind="queries")

    def part(self, rows: slice) -> Ranks:
        """Return the lists of consecutive rows, without ids."""
        return self._changed(lambda table, _: table[rows], item_ids=None, query_ids=None, kind=None)

    def among(self, numbers: NDArray[np.integer]) -> Ranks:
        """Return the lists without the items that are not in `numbers`, no deeper than that.

        Examples
        --------
        >>> Ranks([[2, 0, 1], [1, 2, 0]]).among(np.array([0, 1])).items
        array([[0, 1],
               [1, 0]], dtype=int32)
        """
        if not isinstance(numbers, np.ndarray) or numbers.ndim != 1:
            raise InputError(f"Give an array of item numbers; got {brief(numbers)}.")
        kept = np.isin(self.items, numbers)
        order = np.argsort(~kept, axis=1, kind="stable")[:, : len(numbers)]
        there = np.take_along_axis(kept, order, axis=1)
        return self._changed(lambda table, padding: np.where(there, np.take_along_axis(table, order, axis=1), padding))

    def item_id(self, number: int) -> str:
        """Return the id of an item, or its number as a string if the items have no ids."""
        return str(number) if self.item_ids is None else self.item_ids[number]

    def query_id(self, number: int) -> str:
        """Return the id of a row, or its number as a string if the rows have no ids."""
        return str(number) if self.query_ids is None else self.query_ids[number]

    def renumbered(self, item_ids: Ids) -> Ranks:
        """Return the same lists numbered by `item_ids`, which must contain every listed item."""
        item_ids = item_ids if isinstance(item_ids, Ids) else Ids(item_ids)
        if self.item_ids is None:
            raise InputError("These ranks have no item ids, only numbers; construct them with item_ids.")
        if item_ids == self.item_ids:
            return self
        items = renumbered_items(self.items, self.item_ids, item_ids)
        kind = None if self.kind == "collection" and self.query_ids != item_ids else self.kind
        return self.replaced(items=items, n_items=len(item_ids), item_ids=item_ids, kind=kind)

    def as_collection(self) -> Ranks:
        """Return collection ranks: row i is the list of item i.

        Rows are matched to items by id. An item without a list gets an empty one; a query that no list contains
        becomes an item. If the rows or the items have no ids, row i must already be item i, and both get the same
        ids. Ranks of kind "queries" are an error, and so are ranks of unknown kind that look like lists of queries:
        fewer than half of the rows begin with the item of their own id, and some items have no row. If all have one,
        it is a warning.
        """
        if self.kind == "collection" and (self.query_ids is None or self.query_ids == self.item_ids):
            return self
        if self.kind == "queries":
            raise InputError(f"These are lists of queries. {NEEDS_COLLECTION}")
        if (self.query_ids is None or self.item_ids is None) and self.n_queries != self.n_items:
            raise InputError(
                f"Collection ranks have a row for each item; got {self.n_queries} rows and {self.n_items} items. "
                f"{NEEDS_COLLECTION}"
            )
        if self.kind is None and self.n_queries and self.depth:
            check_rows_are_items(self.items[:, 0], self.query_ids, self.item_ids, self.n_items)
        if self.query_ids is None or self.item_ids is None:
            ids = self.query_ids if self.item_ids is None else self.item_ids
            return self.replaced(item_ids=ids, query_ids=ids, kind="collection")
        ids = self.query_ids.union(self.item_ids)  # rows keep their order
        rows = np.full(len(ids), PAD)
        rows[ids.numbers(self.query_ids)] = np.arange(self.n_queries)
        matched = self.renumbered(ids)
        return (matched if ids == self.query_ids else matched.spread(rows, ids)).replaced(kind="collection")

    def spread(self, numbers: NDArray[np.integer], query_ids: Ids | None) -> Ranks:
        """Return rows by number, with an empty list wherever the number is PAD."""
        return self._changed(
            lambda table, padding: np.vstack([table, np.full((1, self.depth), padding)])[numbers],
            query_ids=query_ids,
            kind=None,
        )

    def _changed(self, change: Callable[[Array, np.generic], Array], **fields: object) -> Ranks:
        """Return these ranks with the same change made to their items and scores, given what pads them."""
        scores = None if self.scores is None else change(self.scores, np.float32(0))
        return self.replaced(items=change(self.items, np.int32(PAD)), scores=scores, **fields)

    def __len__(self) -> int:
        return self.n_queries

    def __reduce__(self) -> tuple[object, ...]:
        # Go through `trusted`, so that copies and unpickled ranks are read-only too.
        names = ("item_ids", "query_ids", "kind", "recall")
        create = partial(Ranks.trusted, **{name: getattr(self, name) for name in names})
        return create, (self.items, self.scores, self.n_items)

    def __repr__(self) -> str:
        scores = "no" if self.scores is None else "yes"
        recall = "" if self.recall is None else f", recall={self.recall:.4g}"
        return f"Ranks(n_queries={self.n_queries}, depth={self.depth}, n_items={self.n_items}, scores={scores}{recall})"

    def _repr_html_(self) -> str:
        """Return the first items of the first lists as a table, for notebooks."""
        return ranks_table(self)


def _fill(ranks: Ranks, /, **fields: object) -> Ranks:
    """Set the fields of a frozen Ranks, and return it; arrays as read-only views: the caller's stay writable."""
    for name, value in fields.items():
        if isinstance(value, np.ndarray) and value.flags.writeable:
            value = value.view()
            value.flags.writeable = False
        object.__setattr__(ranks, name, value)
    return ranks
