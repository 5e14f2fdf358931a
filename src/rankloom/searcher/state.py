"""The state of a searcher: documents, fitted rankers, their lists, and indexes built from them; read-only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankloom.aggregate import WeftIndex, fuse
from rankloom.fusion_graph import FusionIndex
from rankloom.rankers import Fitted, Ranker, is_comparable
from rankloom.ranks import Ranks
from rankloom.registry import Call
from rankloom.searcher.documents import TEXT_FIELDS, Documents
from rankloom.searcher.lru import LRUCache
from rankloom.searcher.probes import Probes

GRAPH_CUTOFF = 10  # how much of each list makes up a fusion graph, unless an option says otherwise
MAX_INDEXES = 16  # cached indexes, one for each choice of rankers and options
Options = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Settings:
    """How a searcher was built.

    Attributes
    ----------
    cutoff : int
        How much of each list weft uses.
    depth : int
        Length of the items' lists.
    fields : tuple of str
        The fields of a document that make up its text.
    next_number : int
        The id of the next document without one.
    name : str
        Name of the collection.
    """

    cutoff: int = 20
    depth: int = 200
    fields: tuple[str, ...] = TEXT_FIELDS
    next_number: int = 0
    name: str = "documents"


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A ranker and what it was fitted to.

    Attributes
    ----------
    ranker : Ranker
    fitted : Fitted
    spelling : str or None
        None unless the registry can recreate the ranker.
    probes : Probes or None
        Of an encoder that was given as a function.
    """

    ranker: Ranker
    fitted: Fitted
    spelling: str | None = None
    probes: Probes | None = None

    @property
    def part(self) -> str:
        """The part of a collection, and of a query, that it ranks by."""
        return self.ranker.part


@dataclass(frozen=True, eq=False)
class State:
    """Everything that a search needs; an update creates a new state, so running searches are not affected.

    Attributes
    ----------
    documents : Documents
    models : {name of a ranker: Model}
    lists : {name of a ranker: Ranks}
        The list of each item, by number.
    settings : Settings
    """

    documents: Documents
    models: Mapping[str, Model]
    lists: Mapping[str, Ranks]
    settings: Settings
    indexes: LRUCache[Any] = field(default_factory=lambda: LRUCache(MAX_INDEXES), repr=False)

    def __len__(self) -> int:
        return len(self.documents)

    def weft(self, names: Sequence[str], options: Options = ()) -> WeftIndex:
        """Return the weft index of some rankers, built when it is first used."""
        defaults = {"cutoff": self.settings.cutoff, "depth": max(self.settings.depth, self.settings.cutoff)}
        index: WeftIndex = self._index(WeftIndex, names, {**defaults, **dict(options)})
        return index

    def fusion_graphs(self, names: Sequence[str], options: Options = ()) -> FusionIndex:
        """Return the fusion graphs of some rankers, built when they are first used."""
        defaults = {"cutoff": GRAPH_CUTOFF, "depth": self.settings.depth}
        index: FusionIndex = self._index(FusionIndex, names, {**defaults, **dict(options)})
        return index

    def _index(self, kind: Any, names: Sequence[str], options: Mapping[str, Any]) -> Any:
        options = {**options, "depth": max(options["depth"], options.get("cutoff", 1))}
        comparable = [is_comparable(self.models[name].ranker) for name in names]

        def build() -> Any:
            chosen = {name: self.lists[name] for name in names}
            built = kind.build(chosen, comparable=comparable, keep_scores=any(comparable), **options)
            return built.with_ids(self.documents.ids)

        return self.indexes.get(self.key(kind, names, options), build)

    @staticmethod
    def key(kind: type, names: Sequence[str], options: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the cache key of an index."""
        return kind.__name__, tuple(names), tuple(sorted(options.items()))

    def fused(self, method: Call, names: Sequence[str], k: int) -> Ranks:
        """Return the fusion of the lists of all items by a method that needs the whole collection."""
        key = ("fused", str(method), tuple(names), k)
        fused: Ranks = self.indexes.get(key, lambda: fuse([self.lists[name] for name in names], method, k))
        return fused


def by_number(ranks: Ranks, n_items: int) -> Ranks:
    """Return lists of items without ids, in order of their numbers, as a state holds them."""
    return Ranks.trusted(np.ascontiguousarray(ranks.items), ranks.scores, n_items, kind="collection")
