"""Ranked lists as two arrays, and the numbering of outside names: what every other module speaks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloom._kernels.nearest import matrix_neighbors, table, vector_neighbors
from rankloom.errors import InputError, UnknownNameError, whole_number

PAD = -1  # fills a row after its last item
MAX_ITEMS = int(np.iinfo(np.int32).max)
CHECK_CELLS = 1 << 22  # of a table checked at a time, so that the checks need little memory


class Ids:
    """Outside names (document ids, file names) numbered 0..n-1 in the order given; none may be given twice.

    Examples
    --------
    >>> ids = Ids(["d7", "d2"])
    >>> ids.number("d2"), ids[0], len(ids)
    (1, 'd7', 2)
    """

    __slots__ = ("_names", "_numbers")

    def __init__(self, names: Iterable[str]) -> None:
        if isinstance(names, str):
            raise InputError(f"Ids are several names; got one string, {names!r}. Put it in a list.")
        self._names = tuple(names)
        odd = [name for name in self._names if not isinstance(name, str)]
        if odd:
            raise InputError(f"Ids must be strings; got {odd[0]!r}. Use str() on each.")
        self._numbers = {name: number for number, name in enumerate(self._names)}
        if len(self._numbers) < len(self._names):
            twice = next(name for i, name in enumerate(self._names) if self._numbers[name] != i)
            raise InputError(f"Ids must differ; {twice!r} is given twice.")

    def number(self, name: str, kind: str = "id") -> int:
        """Return the number of `name`; an unknown one is an error that names the nearest known."""
        try:
            return self._numbers[name]
        except KeyError:
            raise UnknownNameError(kind, name, self._numbers) from None

    def numbers(self, names: Iterable[str], kind: str = "id") -> NDArray[np.int32]:
        """Return the numbers of several names."""
        return np.fromiter((self.number(name, kind) for name in names), np.int32)

    def union(self, other: Ids) -> Ids:
        """Return these names, then those of `other` that are new."""
        return self if other == self else Ids(dict.fromkeys([*self._names, *other._names]))

    def __getitem__(self, number: int) -> str:
        if not 0 <= number < len(self._names):  # PAD, too, is nobody's number
            raise InputError(f"There is no id with the number {number}; there are {len(self)}, from 0.")
        return self._names[number]

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Ids) and self._names == other._names)

    def __hash__(self) -> int:
        return hash(self._names)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self._names[:3])) + (", ..." if len(self) > 3 else "")
        return f"Ids([{shown}], n={len(self)})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ranks:
    """Ranked lists, one row for each query, best item first; checked when made, read-only afterwards.

    The arrays given are copied. What cannot be a ranking is an `InputError` that says where: an item twice in a
    row, floats or booleans as items, numbers below -1 or not below `n_items`, items after padding, scores that
    are not finite in float32, that rise, or that are of another shape. No rows, no items and rows of padding
    alone (empty lists) are fine.

    Attributes
    ----------
    items : int32 array of shape (n_queries, depth)
        Item numbers in [0, n_items), none twice in a row; a short row ends in PAD (-1).
    scores : float32 array of shape (n_queries, depth), or None
        Finite, higher is better, non-increasing along a row; 0 where `items` is PAD.
        None where only the order is known.
    n_items : int
        Size of the collection; by default one more than the largest number, or as many as `item_ids`.
    item_ids, query_ids : Ids or None
        Outside names of the items and of the rows; may be given as any sequence of different strings.

    Examples
    --------
    >>> Ranks([[0, 2, 1], [1, 0, -1]])
    Ranks(n_queries=2, depth=3, n_items=3, scores=no)
    >>> Ranks([[0, 0]])
    Traceback (most recent call last):
    rankloom.errors.InputError: Row 0 lists item 0 twice; give each item once.
    """

    items: NDArray[np.int32]
    scores: NDArray[np.float32] | None = None
    n_items: int = None  # type: ignore[assignment]  # an int once made
    item_ids: Ids | None = field(default=None, kw_only=True)
    query_ids: Ids | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        item_ids, query_ids = _checked_ids(self.item_ids), _checked_ids(self.query_ids)
        items = _checked_items(self.items)
        n_items = _checked_n_items(items, self.n_items, item_ids)
        _check_rows(items)
        scores = None if self.scores is None else _checked_scores(self.scores, items)
        if query_ids is not None and len(query_ids) != len(items):
            raise InputError(f"There must be a query id for each row; got {len(query_ids)} for {len(items)} rows.")
        _fill(self, items=items, scores=scores, n_items=n_items, item_ids=item_ids, query_ids=query_ids)

    @classmethod
    def trusted(
        cls,
        items: NDArray[np.int32],
        scores: NDArray[np.float32] | None,
        n_items: int,
        *,
        item_ids: Ids | None = None,
        query_ids: Ids | None = None,
    ) -> Ranks:
        """Ranks from arrays that are known to be right: nothing is checked or copied."""
        ranks = object.__new__(cls)
        _fill(ranks, items=items, scores=scores, n_items=n_items, item_ids=item_ids, query_ids=query_ids)
        return ranks

    @classmethod
    def from_distances(
        cls, distances: ArrayLike, depth: int = 1000, *, item_ids: Ids | None = None, query_ids: Ids | None = None
    ) -> Ranks:
        """Rank the columns of a matrix of distances, one row for each query, smallest first.

        Equal distances come in the order of item numbers; in a square matrix row i is item i,
        which comes first among equals. Scores are the distances turned round. A NaN or an infinity is an error.
        The matrix is read by blocks of rows, so it may be a memory map larger than memory.

        Examples
        --------
        >>> Ranks.from_distances([[0.0, 3.0, 1.0]], depth=2).items
        array([[0, 2]], dtype=int32)
        """
        items, cost = matrix_neighbors(distances, whole_number("depth", depth), 1.0)
        return cls(items, 0 - cost, np.shape(distances)[1], item_ids=item_ids, query_ids=query_ids)

    @classmethod
    def from_similarities(
        cls, similarities: ArrayLike, depth: int = 1000, *, item_ids: Ids | None = None, query_ids: Ids | None = None
    ) -> Ranks:
        """Rank the columns of a matrix of similarities, largest first; the rest as in `from_distances`."""
        items, cost = matrix_neighbors(similarities, whole_number("depth", depth), -1.0)
        return cls(items, 0 - cost, np.shape(similarities)[1], item_ids=item_ids, query_ids=query_ids)

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
    ) -> Ranks:
        """Rank vectors by nearness: exact, by blocks, never holding an n x n array.

        Parameters
        ----------
        vectors : array of shape (n_items, d)
            Finite numbers; equal costs come in the order of item numbers.
        metric : {"cosine", "dot", "l1", "l2"}
            Cosines count to 12 places, so that vectors of one direction are equal; a zero vector's are 0.
        depth : int
            Length of the lists; shorter where the collection is smaller.
        queries : array of shape (n_queries, d), optional
            External queries; without them each vector is a query (and first among equals).

        Examples
        --------
        >>> Ranks.from_vectors([[0.0], [5.0], [1.0]], metric="l2", depth=2).items
        array([[0, 2],
               [1, 2],
               [2, 0]], dtype=int32)
        """
        items, cost = vector_neighbors(vectors, queries, metric, whole_number("depth", depth))
        return cls(items, 0 - cost, len(np.asarray(vectors)), item_ids=item_ids, query_ids=query_ids)

    @classmethod
    def from_dict(
        cls, lists: Mapping[str, Mapping[str, float] | Sequence[str]], *, item_ids: Ids | None = None
    ) -> Ranks:
        """Make ranks from ``{query: {item: score}}`` or ``{query: [best item, next, ...]}``.

        Items are sorted by score, highest first; equal scores keep the order of the dict.
        Items are numbered as first met, unless `item_ids` gives the collection; then an item not in it is an error.

        Examples
        --------
        >>> ranks = Ranks.from_dict({"q1": {"a": 0.2, "b": 0.9}})
        >>> ranks.to_dict()
        {'q1': {'b': 0.8999999761581421, 'a': 0.20000000298023224}}
        """
        odd = next((query for query, row in lists.items() if isinstance(row, str | Set)), None)
        if odd is not None:
            raise InputError(f"The list of query {odd!r} must be a list or a dict; got {type(lists[odd]).__name__}.")
        scored = [isinstance(row, Mapping) for row in lists.values()]
        if len(set(scored)) > 1:
            raise InputError("Some queries have scores and some have not; give scores for all or for none.")
        ids = Ids(dict.fromkeys(item for row in lists.values() for item in row)) if item_ids is None else item_ids
        depth = max(map(len, lists.values()), default=0)
        items = np.full((len(lists), depth), PAD, np.int32)
        scores = np.zeros(items.shape) if scored and scored[0] else None
        for number, row in enumerate(lists.values()):
            items[number, : len(row)] = ids.numbers(row, "item")
            if scores is not None and isinstance(row, Mapping):
                values = _checked_values(row)
                order = np.argsort(-values, kind="stable")
                items[number, : len(row)] = items[number, order]
                scores[number, : len(row)] = values[order]
        return cls(items, scores, len(ids), item_ids=ids, query_ids=Ids(lists))  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return ``{query: {item: score}}``; where there are no scores, 1 / position stands for them."""
        scores = self.scores
        if scores is None:
            scores = np.broadcast_to(1.0 / np.arange(1, self.depth + 1, dtype=np.float32), self.items.shape)
        return {
            self.query_id(q): {
                self.item_id(item): float(score) for item, score in zip(row, values, strict=True) if item != PAD
            }
            for q, (row, values) in enumerate(zip(self.items.tolist(), scores.tolist(), strict=True))
        }

    @property
    def n_queries(self) -> int:
        """How many rows."""
        return len(self.items)

    @property
    def depth(self) -> int:
        """How many columns: the length of the longest list, or more."""
        return int(self.items.shape[1])

    def lengths(self) -> NDArray[np.int32]:
        """Return the length of each list."""
        return np.asarray(np.count_nonzero(self.items != PAD, axis=1), np.int32)

    def head(self, depth: int) -> Ranks:
        """Return the lists cut to `depth`, at least 1."""
        if whole_number("depth", depth) >= self.depth:
            return self
        scores = None if self.scores is None else self.scores[:, :depth]
        return Ranks.trusted(
            self.items[:, :depth], scores, self.n_items, item_ids=self.item_ids, query_ids=self.query_ids
        )

    def rows(self, numbers: Sequence[int] | NDArray[np.integer] | slice) -> Ranks:
        """Return some of the lists, in the order of `numbers` (from 0), of a mask or of a slice."""
        if np.ndim(numbers) != 1 and not isinstance(numbers, slice):  # type: ignore[arg-type]
            raise InputError(f"Give a list of row numbers, such as [3]; got {numbers!r}.")
        try:
            picked = np.arange(self.n_queries)[numbers]
        except IndexError as error:
            raise InputError(f"There are {self.n_queries} rows, from 0: {error}.") from None
        if not isinstance(numbers, slice) and np.min(numbers, initial=0) < 0:
            raise InputError(f"Rows are numbered from 0; got {np.min(numbers)}.")
        scores = None if self.scores is None else self.scores[picked]
        ids = None if self.query_ids is None else Ids(self.query_ids[q] for q in picked.tolist())
        return Ranks.trusted(self.items[picked], scores, self.n_items, item_ids=self.item_ids, query_ids=ids)

    def item_id(self, number: int) -> str:
        """Return the outside name of an item; its number where it has none."""
        return str(number) if self.item_ids is None else self.item_ids[number]

    def query_id(self, number: int) -> str:
        """Return the outside name of a row; its number where it has none."""
        return str(number) if self.query_ids is None else self.query_ids[number]

    def renumbered(self, item_ids: Ids) -> Ranks:
        """Return the same lists over the numbering `item_ids`; every item listed must be in it."""
        if self.item_ids is None:
            raise InputError("These ranks have item numbers only; give item_ids when making them.")
        if item_ids == self.item_ids:
            return self
        used = np.unique(self.items[self.items != PAD])
        new = np.full(self.n_items + 1, PAD, np.int32)  # the last entry serves PAD
        new[used] = item_ids.numbers((self.item_ids[i] for i in used.tolist()), "item")
        return Ranks.trusted(new[self.items], self.scores, len(item_ids), item_ids=item_ids, query_ids=self.query_ids)

    def as_collection(self) -> Ranks:
        """Return collection ranks: row i is the list of item i.

        Rows are matched to items by name. An item without a list of its own gets an empty one; a query that
        is in no list becomes an item. Where rows or items have no names, row i must be item i already, and takes
        the other's name.
        """
        if self.query_ids is None or self.item_ids is None:
            if self.n_queries != self.n_items:
                raise InputError(
                    f"Collection ranks have a row for each item; got {self.n_queries} rows and {self.n_items} items."
                )
            names = self.query_ids if self.item_ids is None else self.item_ids
            if names is None:
                return self
            return Ranks.trusted(self.items, self.scores, self.n_items, item_ids=names, query_ids=names)
        if len(self.query_ids) and len(self.item_ids) and not any(name in self.item_ids for name in self.query_ids):
            raise InputError(
                f"No query ({self.query_ids[0]!r}, ...) is an item: these are lists of external queries, not the "
                "lists of a collection's own items, which are needed here. Give those (fg takes them beside the "
                "queries, as its collection), or use a method that works on queries alone, such as rrf."
            )
        ids = self.query_ids.union(self.item_ids)  # rows keep their order
        if ids == self.query_ids:
            return self.renumbered(ids)
        rows = np.full(len(ids), PAD)
        rows[ids.numbers(self.query_ids)] = np.arange(self.n_queries)
        return self.renumbered(ids).spread(rows, ids)

    def spread(self, numbers: NDArray[np.integer], query_ids: Ids | None) -> Ranks:
        """Return rows by number, an empty list where the number is PAD."""
        items = np.vstack([self.items, np.full((1, self.depth), PAD, np.int32)])[numbers]
        scores = self.scores
        if scores is not None:
            scores = np.vstack([scores, np.zeros((1, self.depth), np.float32)])[numbers]
        return Ranks.trusted(items, scores, self.n_items, item_ids=self.item_ids, query_ids=query_ids)

    def __len__(self) -> int:
        return self.n_queries

    def __reduce__(self) -> tuple[Any, ...]:
        # Through `trusted`, so that a copy or an unpickled one is read-only too.
        make = partial(Ranks.trusted, item_ids=self.item_ids, query_ids=self.query_ids)
        return make, (self.items, self.scores, self.n_items)

    def __repr__(self) -> str:
        scores = "no" if self.scores is None else "yes"
        return f"Ranks(n_queries={self.n_queries}, depth={self.depth}, n_items={self.n_items}, scores={scores})"


def stack_lists(lists: Sequence[NDArray[np.int32]]) -> NDArray[np.int32]:
    """Return the lists of several rankers as one array of shape (rankers, rows, longest), padded."""
    width = max(one.shape[1] for one in lists)
    out = np.full((len(lists), len(lists[0]), width), PAD, np.int32)
    for ranker, one in enumerate(lists):
        out[ranker, :, : one.shape[1]] = one
    return out


def _checked_values(row: Mapping[str, float]) -> NDArray[np.float64]:
    try:
        return np.fromiter(row.values(), np.float64)
    except (TypeError, ValueError):
        wrong = next(item for item, score in row.items() if not isinstance(score, int | float | np.number))
        raise InputError(f"The score of {wrong!r} must be a number; got {row[wrong]!r}.") from None


def _fill(ranks: Ranks, **fields: object) -> None:
    """Set the fields of a frozen Ranks, the arrays read-only (as views: the caller's stay as they are)."""
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        object.__setattr__(ranks, name, value)


def _checked_ids(given: Ids | Iterable[str] | None) -> Ids | None:
    if isinstance(given, str):
        raise InputError(f"Ids are a sequence of names; got the one name {given!r}.")
    return given if given is None or isinstance(given, Ids) else Ids(given)


def _checked_items(given: ArrayLike) -> NDArray[np.int32]:
    items = table(given, "items", whole=True)
    if items.min(initial=0) < PAD:
        row = _first(items < PAD)
        raise InputError(f"Row {row} has the item number {items[row].min()}; numbers start at 0, and -1 pads a row.")
    if items.max(initial=0) >= MAX_ITEMS:
        raise InputError(f"Item numbers must be below {MAX_ITEMS}; got {items.max()}.")
    return np.array(items, np.int32, order="C")


def _checked_n_items(items: NDArray[np.int32], n_items: int | None, ids: Ids | None) -> int:
    largest = int(items.max(initial=PAD))
    size = n_items if n_items is not None else len(ids) if ids is not None else largest + 1
    if not isinstance(size, int | np.integer) or not 0 <= size <= MAX_ITEMS:
        raise InputError(f"n_items must be a whole number from 0 to {MAX_ITEMS}; got {size!r}.")
    if ids is not None and size != len(ids):
        raise InputError(f"n_items must be the number of item_ids; got {size} and {len(ids)}.")
    if largest >= size:
        row = _first(items == largest)
        raise InputError(f"Row {row} lists item {largest}, but the collection has {size} items, numbered from 0.")
    return int(size)


def _check_rows(items: NDArray[np.int32]) -> None:
    block = max(1, CHECK_CELLS // max(items.shape[1], 1))
    for start in range(0, len(items), block):
        rows = items[start : start + block]
        gap = (rows[:, :-1] == PAD) & (rows[:, 1:] != PAD)
        if gap.any():
            raise InputError(f"Row {start + _first(gap)} goes on after its padding; -1 may stand only at the end.")
        ordered = np.sort(rows, axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != PAD)
        if twice.any():
            row = _first(twice)
            item = ordered[row, 1:][twice[row]][0]
            raise InputError(f"Row {start + row} lists item {item} twice; give each item once.")


def _checked_scores(given: ArrayLike, items: NDArray[np.int32]) -> NDArray[np.float32]:
    scores = table(given, "scores")
    if scores.shape != items.shape:
        raise InputError(f"items and scores must be of one shape; got {items.shape} and {scores.shape}.")
    with np.errstate(over="ignore"):
        scores = np.array(scores, np.float32, order="C")
    scores[items == PAD] = 0
    wrong = ~np.isfinite(scores)
    if wrong.any():
        row = _first(wrong)
        raise InputError(f"Row {row} has the score {scores[row][wrong[row]][0]}; scores must be finite in float32.")
    rises = (scores[:, 1:] > scores[:, :-1]) & (items[:, 1:] != PAD)
    if rises.any():
        raise InputError(
            f"The scores of row {_first(rises)} rise along the list; give the best item first "
            "(for distances, use Ranks.from_distances or turn them round)."
        )
    return scores


def _first(wrong: NDArray[np.bool_]) -> int:
    """Return the first row with anything wrong."""
    return int(wrong.any(1).argmax())
