"""The state of a searcher: a store, retrievers, the lists of all items, and indexes built from them; read-only."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from rankloom._kernels.weft.arguments import Nearest
from rankloom.aggregate import Method, fuse
from rankloom.errors import InputError
from rankloom.fusion_graph.index import CUTOFF as GRAPH_CUTOFF
from rankloom.fusion_graph.index import FusionIndex
from rankloom.index.base import CollectionIndex
from rankloom.ranks import PAD, Ids, NumberIds, Ranks
from rankloom.searcher.batch import TEXT_FIELDS
from rankloom.searcher.confidence import Calibration, fitted_calibration
from rankloom.searcher.documents import Documents, IdStore
from rankloom.searcher.grown import GrownIndex
from rankloom.searcher.guard import Guard
from rankloom.searcher.item_lists import ItemLists
from rankloom.searcher.lru import IndexCache, LazyMapping, LRUCache
from rankloom.searcher.retriever import Model, Retriever
from rankloom.searcher.slots import Slots
from rankloom.searcher.store import Store
from rankloom.searcher.tail import Tail
from rankloom.weft.index import CUTOFF as WEFT_CUTOFF
from rankloom.weft.index import WeftIndex
from rankloom.weft.votes import nearest_of

ITEM_DEPTH = 60  # of the items' lists: as good as longer ones
MAX_INDEXES = 16  # cached indexes besides the default ones, one for each choice of rankers and options
Options = tuple[tuple[str, Any], ...]
Names = tuple[str, ...]
Index = TypeVar("Index", WeftIndex, FusionIndex)


@dataclass(frozen=True, slots=True)
class Settings:
    """How a searcher was built."""

    cutoff: int = WEFT_CUTOFF  #: how much of each list weft uses
    depth: int = ITEM_DEPTH  #: length of the items' lists
    fields: tuple[str, ...] = TEXT_FIELDS  #: of a document, which make up its text
    store: str = "all"  #: what is kept of documents: "all", or "ids"
    next_number: int = 0  #: the id of the next document without one
    name: str = "documents"  #: of the collection
    id_field: str = "id"  #: of documents as they are given
    guard: Guard | None = None  #: the outcome of the self-test, if there was one
    calibration: Calibration | None = None  #: of answers' confidence, if queries were given
    newer: int = 0  #: how many documents, the last ones, the statistics of words do not know
    fitted: str = ""  #: when these were made, in ISO 8601


@dataclass(frozen=True, eq=False)
class State:
    """Everything that a search needs; an update creates a new state, so running searches are not affected."""

    ids: Ids  #: of all items
    store: Store  #: their documents
    retrievers: Mapping[str, Retriever]  #: by the name of the ranker
    item_lists: Mapping[str, ItemLists]  #: of all slots, by the name of the ranker
    settings: Settings
    graphs: FusionIndex | None = None  #: the index of a searcher that has no retrievers and no lists
    tail: Tail = field(default_factory=Tail)  #: what documents that were added append to retrievers, lists and indexes
    grown: Mapping[Names, GrownIndex] = field(
        default_factory=dict
    )  #: those of `choices`, if it was opened or has grown
    indexes: IndexCache = field(default_factory=lambda: IndexCache(LRUCache(MAX_INDEXES)), repr=False)

    @classmethod
    def of_documents(
        cls, documents: Documents, models: Mapping[str, Model], lists: Mapping[str, Ranks], settings: Settings
    ) -> State:
        """Return the state of documents in this process, and of rankers fitted to them."""
        stored = {name: ItemLists.of(ranks, settings.depth) for name, ranks in lists.items()}
        walked = {name: model.with_lists(stored[name]) if name in stored else model for name, model in models.items()}
        return cls(documents.ids, documents, walked, stored, settings)

    @classmethod
    def of_index(cls, index: FusionIndex, name: str) -> State:
        """Return the state of an index alone: its items are searched by their graphs, and have ids only.

        The arrays are copied to memory: the system kills a process that reads a mapped file which was truncated. An
        index that is split into shards may be larger than memory, and stays mapped.
        """
        graphs = index.in_memory() if index.n_shards is None else index
        ids = index.item_ids or NumberIds(index.n_items)
        settings = Settings(cutoff=index.settings.cutoff, name=name)
        return cls(ids, IdStore(), {}, {}, settings, graphs)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_grown(self) -> bool:
        """Whether documents were added or deleted since the build or the last merge."""
        return len(self.tail) > 0 or self.slots.kept is not None

    @cached_property
    def slots(self) -> Slots:
        """The slots of the documents."""
        return self.store.slots if isinstance(self.store, Documents) else Slots(len(self.ids))

    @cached_property
    def lists(self) -> Mapping[str, Ranks]:
        """The lists of all documents, by the name of the ranker: as whole arrays."""
        return LazyMapping(self.item_lists, lambda name: self.item_lists[name].whole(self.slots))

    def nearest(self, name: str, listed: Collection[Ranks]) -> Nearest:
        """Return the lists of the documents in some lists by a ranker, as votes take them."""
        own = self.item_lists[name]
        if own.is_plain and self.slots.kept is None and own.base.scores is not None:
            return nearest_of(*own.base)  # without a copy
        numbers = np.unique(np.concatenate([ranks.items.reshape(-1) for ranks in listed]))
        numbers = numbers[numbers != PAD]
        lists, rows = own.of_documents(numbers, self.slots), np.zeros(len(self), np.int32)
        rows[numbers] = np.arange(len(numbers))
        return nearest_of(lists.items, lists.scores, rows)

    @property
    def choices(self) -> list[Names]:
        """The rankers of the stored indexes: all trusted ones, and those of them for each kind of query."""
        parts = {name: self.retrievers[name].part for name in self.trusted}
        of_parts = [tuple(name for name in parts if parts[name] == part) for part in sorted(set(parts.values()))]
        return list(dict.fromkeys([self.trusted, *of_parts]))

    @property
    def trusted(self) -> tuple[str, ...]:
        """The rankers that weft and vote fuse unless a search names others: those that the self-test did not fail."""
        names = tuple(self.retrievers)
        return names if self.settings.guard is None else self.settings.guard.kept(names)

    @property
    def calibration(self) -> Calibration | None:
        """How confident answers to texts are: as calibrated here, or for these rankers elsewhere."""
        spellings = {name: getattr(known, "spelling", None) for name, known in self.retrievers.items()}
        return self.settings.calibration or fitted_calibration(spellings)

    def weft(self, names: Sequence[str], options: Options = ()) -> GrownIndex:
        """Return the weft index of some rankers, built when it is first used."""
        if not options and tuple(names) in self.grown:
            return self.grown[tuple(names)]
        defaults = {"cutoff": self.settings.cutoff, "depth": max(self.settings.depth, self.settings.cutoff)}
        keep = not options and tuple(names) in self.choices
        index = self._index(WeftIndex, names, {**defaults, **dict(options)}, keep, keep_nearest=False)
        return GrownIndex(index, index, Slots(len(self)), self.ids)

    def fusion_graphs(self, names: Sequence[str], options: Options = ()) -> FusionIndex:
        """Return the fusion graphs of some rankers, built when they are first used."""
        if self.graphs is not None:
            return _unchanged(self.graphs, dict(options))
        defaults = {"cutoff": GRAPH_CUTOFF, "depth": self.settings.depth}
        return self._index(FusionIndex, names, {**defaults, **dict(options)}).with_ids(self.ids)

    def with_limited_caches(self, max_bytes: int) -> State:
        """Return the state with a limit on the size of all indexes but the default ones."""
        return replace(self, indexes=self.indexes.limited(max_bytes, _n_bytes))

    def _index(
        self, kind: type[Index], names: Sequence[str], options: Mapping[str, Any], keep: bool = False, **settings: Any
    ) -> Index:
        options = {**options, "depth": max(options["depth"], options.get("cutoff", 1))}

        def build() -> Index:
            chosen = {name: self.lists[name] for name in names}
            comparable = [self.retrievers[name].traits.comparable for name in names]
            return kind.build(chosen, comparable=comparable, keep_scores=any(comparable), **options, **settings)

        index: Index = self.indexes.get(self.key(kind, names, options), build, keep=keep)
        return index

    @staticmethod
    def key(kind: type[object], names: Sequence[str], options: Mapping[str, object]) -> Hashable:
        """Return the cache key of an index."""
        return kind.__name__, tuple(names), tuple(sorted(options.items()))

    def fused(self, method: Method, names: Sequence[str], k: int) -> Ranks:
        """Return the fusion of the lists of all items by a method that needs the whole collection."""
        key = ("fused", str(method), tuple(names), k)
        fused: Ranks = self.indexes.get(key, lambda: fuse([self.lists[name] for name in names], method, k))
        return fused


def embedded(state: State) -> tuple[Documents, dict[str, Model]]:
    """Return documents and models, all in this process; raise InputError if they cannot be updated or saved here."""
    models = {name: model for name, model in state.retrievers.items() if isinstance(model, Model)}
    if not isinstance(state.store, Documents) or len(models) < len(state.retrievers):
        raise InputError("This searcher has no documents to add, delete or save; build a searcher of documents.")
    return state.store, models


def _n_bytes(value: CollectionIndex[Any] | Ranks) -> int:
    arrays = (value.items, value.scores) if isinstance(value, Ranks) else value.arrays_without_ids.values()
    return sum(array.nbytes for array in arrays if array is not None)


def _unchanged(index: FusionIndex, options: Mapping[str, object]) -> FusionIndex:
    """Return an index; raise InputError if the options differ from those that it was built with."""
    for name, value in options.items():
        built = getattr(index.settings, name, None)
        if value != built:
            raise InputError(f"The index was built with {name} {built}, which cannot be changed here.")
    return index
