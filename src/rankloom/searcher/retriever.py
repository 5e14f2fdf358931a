"""The protocol of what ranks the items of a searcher, and a fitted ranker as one."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from rankloom._kernels.index.arguments import ScoredLists
from rankloom.datasets.collection import Contents
from rankloom.errors import InputError
from rankloom.rankers import Fitted, Ranker, Traits, Updatable, is_updatable, traits_of
from rankloom.rankers.vectors.encoder import EncoderRanker
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Array, Float32s
from rankloom.ranks.lists import empty_lists
from rankloom.searcher.item_lists import ItemLists, fill, merged
from rankloom.searcher.probes import Probes
from rankloom.searcher.slots import Slots
from rankloom.searcher.store import Filter, Mask
from rankloom.searcher.tail import joined

Numbers = NDArray[np.integer]


class Retriever(Protocol):
    """Ranks items for external queries, and for items."""

    @property
    def part(self) -> str:
        """The part of a query that it ranks by: ``texts``, ``images``, or that of a collection."""

    @property
    def traits(self) -> Traits:
        """What is known of its scores."""

    @property
    def answers_external(self) -> bool:
        """Whether it ranks for external queries that have its part."""

    @property
    def ranks_items(self) -> bool:
        """Whether it has `item_lists`: filtered lists of items, and lists deeper than the stored ones."""

    def encoded(self, queries: Contents) -> Contents | Array:
        """Return external queries in the form in which `lists` is quickest: it may be called several times."""

    def lists(
        self, queries: Contents | Array, depth: int, where: Filter | None = None, *, exact: bool = False
    ) -> Ranks:
        """Return the lists of external queries, given by their part, in the form of `encoded`, or as vectors.

        Unless `exact`, that of a single query may lack a few of the nearest items of a large collection.
        """

    def item_lists(self, numbers: NDArray[np.intp], depth: int, where: Filter | None = None) -> Ranks:
        """Return the lists of items."""


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A ranker and what it was fitted to, as a `Retriever`."""

    name: str
    ranker: Ranker
    fitted: Fitted
    spelling: str | None = None  #: None unless the registry can recreate the ranker
    probes: Probes | None = None  #: of an encoder that was given as a function
    tail: Updatable | None = None  #: of items that were added since the last merge
    slots: Slots | None = None  #: of all items; None while each slot has a document
    stored: dict[str, Array] = field(default_factory=dict)  #: the arrays of `fitted`, once they were stored

    @property
    def part(self) -> str:
        """The part of a collection, and of a query, that it ranks by."""
        return self.ranker.part

    @property
    def traits(self) -> Traits:
        """What the ranker declares of its scores."""
        return traits_of(self.ranker)

    @property
    def answers_external(self) -> bool:
        """Whether it has its encoder, and the external queries that it knows by id."""
        if getattr(self.ranker, "encode", True) is None:  # opened without its encoder
            return False
        return self.part != "ids" or getattr(self.ranker, "has_queries", False)

    @property
    def ranks_items(self) -> bool:
        """Whether it can filter the lists of items."""
        return is_updatable(self.fitted)

    def probe_cosine(self) -> float | None:
        """Return how near the vectors of an encoder are to those of the build; None for other rankers."""
        if self.probes is None or not isinstance(self.ranker, EncoderRanker) or self.ranker.encode is None:
            return None
        return self.probes.cosine(self.ranker)

    def with_lists(self, lists: ItemLists) -> Self:
        """Return the model, whose single queries may walk along the lists of the build."""
        if not hasattr(self.fitted, "with_lists"):
            return self
        return replace(self, fitted=self.fitted.with_lists(lists.base.items))

    @property
    def updatable(self) -> Updatable:
        """What was fitted; raise InputError if it cannot be updated."""
        if not is_updatable(self.fitted):
            raise InputError(
                f"The ranker {self.name!r} cannot be updated; build the searcher again with all documents."
            )
        return self.fitted

    @property
    def parts(self) -> list[tuple[int, Any]]:
        """The fitted rankers of the build and of items that were added, and the first slot of each."""
        added: list[tuple[int, Any]] = [] if self.tail is None else [(self.updatable.n_items, self.tail)]
        return [(0, self.fitted), *added]

    @property
    def row_arrays(self) -> Mapping[str, Array]:
        """The row arrays of all parts, one after the other."""
        return joined([part.row_arrays() for _, part in self.parts])

    def encoded(self, queries: Contents) -> Contents | Array:
        """Return the vectors of queries if the ranker compares vectors."""
        fitted: Any = self.fitted
        if not hasattr(fitted, "rank_vectors"):
            return queries
        vectors: Array = fitted.source.query_vectors(queries, cache=fitted.cache)
        return vectors

    def lists(
        self, queries: Contents | Array, depth: int, where: Filter | None = None, *, exact: bool = False
    ) -> Ranks:
        """Return the lists of external queries."""
        if isinstance(queries, np.ndarray) and not hasattr(self.fitted, "rank_vectors"):
            raise InputError(f"The ranker {self.name!r} does not compare vectors; give a text or an image.")
        if where is not None and not is_updatable(self.fitted):
            found = _ranked(self.fitted, 0, queries, len(where.ids))
            return cut(found.among(where.numbers), depth)
        allowed = None if where is None else where.allowed
        mask = allowed if self.slots is None else self.slots.mask(allowed)
        parts = [_ranked(part, start, queries, depth, mask, exact=exact) for start, part in self.parts]
        return self._outside(reduce(partial(_merged, np.full(len(queries), PAD)), parts), depth)

    def item_lists(self, numbers: NDArray[np.intp], depth: int, where: Filter | None = None) -> Ranks:
        """Return the lists of items; raise InputError if the ranker cannot filter them."""
        if not is_updatable(self.fitted):
            raise InputError(f"The ranker {self.name!r} cannot filter the lists of items; search without where.")
        allowed = None if where is None else where.allowed
        if self.slots is None:
            return self.slot_lists(numbers, depth, allowed)
        return self._outside(self.slot_lists(self.slots.inside(numbers), depth, self.slots.mask(allowed)), depth)

    def slot_lists(self, rows: Numbers, depth: int, mask: Mask | None) -> Ranks:
        """Return the lists of the items in some slots, of those in allowed slots."""
        if self.tail is None:
            return self.updatable.rank_items(rows, depth=depth, among=None if mask is None else np.flatnonzero(mask))
        found = empty_lists(len(rows), depth)
        for start, part in self.parts:
            here = np.flatnonzero((rows >= start) & (rows < start + part.n_items))
            if len(here):
                own = reduce(
                    partial(_merged, rows[here]),
                    [_rows_among(other, at, part, rows[here] - start, depth, mask) for at, other in self.parts],
                )
                fill(found, here, own.items, scores_of(own))
        return Ranks.trusted(*found, self.n_slots, kind="queries")

    @property
    def n_slots(self) -> int:
        """The number of items, counting deleted ones."""
        return sum(part.n_items for _, part in self.parts)

    def _outside(self, found: Ranks, depth: int) -> Ranks:
        """Return the beginning of lists by the numbers of documents."""
        if self.slots is None:
            return cut(found, depth)
        items = self.slots.outside(found.items)
        return cut(Ranks.trusted(items, found.scores, len(self.slots), kind="queries"), depth)


def _ranked(
    part: Any, start: int, queries: Contents | Array, depth: int, mask: Mask | None = None, *, exact: bool = False
) -> Ranks:
    """Return the lists of external queries by a part of a ranker, of allowed slots, by slot."""
    own = {} if mask is None else {"allowed": mask[start : start + part.n_items]}
    if isinstance(queries, np.ndarray):
        return _shifted(part.rank_vectors(queries, depth=depth, **own, **({"exact": True} if exact else {})), start)
    return _shifted(part.rank(queries=queries, depth=depth, **own), start)


def _rows_among(part: Any, start: int, owner: Any, rows: Numbers, depth: int, mask: Mask | None) -> Ranks:
    """Return the lists of some items of a part of a ranker among the allowed items of another part, by slot."""
    among = None if mask is None else np.flatnonzero(mask[start : start + part.n_items])
    found: Ranks = part.rank_items(rows, depth=depth, among=among, of=None if part is owner else owner)
    return _shifted(found, start)


def _shifted(ranks: Ranks, start: int) -> Ranks:
    if not start:
        return ranks
    items = np.where(ranks.items == PAD, PAD, ranks.items + np.int32(start))
    return Ranks.trusted(items, ranks.scores, start + ranks.n_items, kind="queries")


def _merged(own: Numbers, one: Ranks, other: Ranks) -> Ranks:
    """Return two lists of each query as one; `own` is the item that each query is, or PAD."""
    first, second = (ScoredLists(ranks.items, scores_of(ranks)) for ranks in (one, other))
    lists = merged(first, second, own, one.depth + other.depth)
    return Ranks.trusted(*lists, other.n_items, kind="queries")


def scores_of(ranks: Ranks) -> Float32s:
    """Return the scores of lists of an updatable ranker."""
    assert ranks.scores is not None  # an updatable ranker gives scores
    return ranks.scores


def cut(ranks: Ranks, depth: int, rows: slice | NDArray[np.intp] = slice(None)) -> Ranks:
    """Return the beginning of some lists, without ids."""
    scores = None if ranks.scores is None else ranks.scores[rows, :depth]
    return Ranks.trusted(ranks.items[rows, :depth], scores, ranks.n_items, kind="queries")
