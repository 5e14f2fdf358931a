"""The protocol of what ranks the items of a searcher, and a fitted ranker as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rankloom.datasets.collection import Contents
from rankloom.errors import InputError
from rankloom.rankers import Fitted, Ranker, Updatable, is_comparable, is_updatable
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Array
from rankloom.searcher.probes import Probes
from rankloom.searcher.store import Filter


class Retriever(Protocol):
    """Ranks items for external queries, and for items."""

    @property
    def part(self) -> str:
        """The part of a query that it ranks by: ``texts``, ``images``, or that of a collection."""

    @property
    def comparable(self) -> bool:
        """Whether scores of external queries can be compared with scores of items."""

    @property
    def answers_external(self) -> bool:
        """Whether it ranks for external queries that have its part."""

    @property
    def ranks_items(self) -> bool:
        """Whether it has `item_lists`: filtered lists of items, and lists deeper than the stored ones."""

    def encoded(self, queries: Contents) -> Contents | Array:
        """Return external queries in the form in which `lists` is quickest: it may be called several times."""

    def lists(self, queries: Contents | Array, depth: int, where: Filter | None = None) -> Ranks:
        """Return the lists of external queries, given by their part, in the form of `encoded`, or as vectors."""

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

    @property
    def part(self) -> str:
        """The part of a collection, and of a query, that it ranks by."""
        return self.ranker.part

    @property
    def comparable(self) -> bool:
        """Whether scores of external queries can be compared with scores of items."""
        return is_comparable(self.ranker)

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

    @property
    def updatable(self) -> Updatable:
        """What was fitted; raise InputError if it cannot be updated."""
        if not is_updatable(self.fitted):
            raise InputError(
                f"The ranker {self.name!r} cannot be updated; build the searcher again with all documents."
            )
        return self.fitted

    def encoded(self, queries: Contents) -> Contents | Array:
        """Return the vectors of queries if the ranker compares vectors."""
        fitted: Any = self.fitted
        if not hasattr(fitted, "rank_vectors"):
            return queries
        vectors: Array = fitted.source.query_vectors(queries, cache=fitted.cache)
        return vectors

    def lists(self, queries: Contents | Array, depth: int, where: Filter | None = None) -> Ranks:
        """Return the lists of external queries."""
        fitted: Any = self.fitted
        if isinstance(queries, np.ndarray):
            if not hasattr(fitted, "rank_vectors"):
                raise InputError(f"The ranker {self.name!r} does not compare vectors; give a text or an image.")
            found = fitted.rank_vectors(queries, depth=depth, allowed=None if where is None else where.allowed)
        elif where is None:
            found = fitted.rank(queries=queries, depth=depth)
        elif is_updatable(fitted):
            found = fitted.rank(queries=queries, depth=depth, allowed=where.allowed)
        else:
            found = fitted.rank(queries=queries, depth=len(where.ids)).among(where.numbers)
        return cut(found, depth)

    def item_lists(self, numbers: NDArray[np.intp], depth: int, where: Filter | None = None) -> Ranks:
        """Return the lists of items; raise InputError if the ranker cannot filter them."""
        if not is_updatable(self.fitted):
            raise InputError(f"The ranker {self.name!r} cannot filter the lists of items; search without where.")
        return self.fitted.rank_items(numbers, depth=depth, among=None if where is None else where.numbers)


def cut(ranks: Ranks, depth: int, rows: slice | NDArray[np.intp] = slice(None)) -> Ranks:
    """Return the beginning of some lists, without ids."""
    scores = None if ranks.scores is None else ranks.scores[rows, :depth]
    return Ranks.trusted(ranks.items[rows, :depth], scores, ranks.n_items, kind="queries")
