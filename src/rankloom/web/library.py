"""A collection ready to search: fitted rankers, their lists, and an index for every choice of rankers and cutoff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from rankloom.aggregate import METHODS, WeftIndex, fuse
from rankloom.datasets import Collection
from rankloom.datasets.images import ImageError, reduced
from rankloom.errors import InputError, UnknownNameError
from rankloom.fusion_graph.graph import Explanation, FusionGraph, explain
from rankloom.fusion_graph.index import FusionIndex
from rankloom.io.cache import Cache, digest_bytes
from rankloom.rankers import RANKERS, Fitted, Ranker, rank_collection
from rankloom.rankers.image_features import image_digest, pixels
from rankloom.rankers.ranking import Ranking
from rankloom.rankers.vectors import FittedVectors
from rankloom.ranks import PAD, Ids, Ranks
from rankloom.registry import Call
from rankloom.searcher.lru import LRUCache
from rankloom.threads import Progress
from rankloom.version import __version__
from rankloom.web.queries import Choice, ImageQuery, ItemQuery, Query, TextQuery

DEPTH = 1000
MAX_RESULTS = 100  # methods that see one query at a time also fuse this much of each list
MAX_SAMPLES = 50  # images to estimate the image size from
MAX_INDEXES = 16  # cached indexes, one for each choice of rankers and cutoff
MAX_EXTERNAL = 256  # external queries whose lists are cached
#: Default rankers for each part of a collection.
DEFAULT_RANKERS = {"images": ("bic", "gch", "las", "qcch"), "texts": ("okapi", "jaccard", "bow")}


class Compared(NamedTuple):
    """Two graphs and their common part."""

    query: FusionGraph
    item: FusionGraph
    why: Explanation


@dataclass(frozen=True, eq=False)
class Library:
    """A collection and everything needed to search it; read-only and thread-safe.

    Made by `open`, by `of_ranking`, or by `of_index` from an index on disk, which has ids but no content.

    Attributes
    ----------
    collection : Collection
    rankers : {name: Fitted}
        Rank external queries.
    parts : {name of a ranker: part of the collection that it ranks}
    ranks : {name of a ranker: Ranks}
        The list of each item, by item number.
    defaults : Choice
        How to search unless a request says otherwise.
    skipped : {id of an item: why it could not be read}
    prebuilt : FusionIndex or None
        An index opened from disk, the only one there is.
    comparable : set of names of rankers
        Those whose scores of queries can be compared with scores of items.
    """

    collection: Collection
    rankers: Mapping[str, Fitted]
    parts: Mapping[str, str]
    ranks: Mapping[str, Ranks]
    defaults: Choice
    skipped: Mapping[str, str] = field(default_factory=dict)
    prebuilt: FusionIndex | None = None
    comparable: frozenset[str] = frozenset()
    _indexes: LRUCache[FusionIndex] = field(default_factory=lambda: LRUCache(MAX_INDEXES), init=False, repr=False)
    _wefts: LRUCache[WeftIndex] = field(default_factory=lambda: LRUCache(MAX_INDEXES), init=False, repr=False)
    _fused: LRUCache[Ranks] = field(default_factory=lambda: LRUCache(MAX_INDEXES), init=False, repr=False)
    _external: LRUCache[dict[str, Ranks]] = field(
        default_factory=lambda: LRUCache(MAX_EXTERNAL), init=False, repr=False
    )

    @classmethod
    def open(
        cls,
        collection: Collection,
        rankers: Sequence[str] = (),
        *,
        cutoff: int = 10,
        depth: int = DEPTH,
        cache: Cache | None = None,
        strict: bool = False,
        progress: Progress | None = None,
    ) -> Library:
        """Rank a collection and make a library of it.

        Rankers are spelled as in ``vectors(metric=l2)``; by default there are some for each part of the collection.
        `cutoff` is the default of a search; `depth`, `cache`, `strict` and `progress` are as in `rank_collection`.

        Examples
        --------
        >>> pets = Collection("pets", Ids(["a", "b", "c"]), {"texts": ["a cat", "a dog", "cat and dog"]})
        >>> library = Library.open(pets, ["okapi", "bow-jaccard"])
        >>> library.search(TextQuery("cats"), library.defaults).items.tolist()
        [[0, 2, 1]]
        """
        names = tuple(dict.fromkeys(rankers or default_rankers(collection)))
        ranking = rank_collection(collection, names, depth=depth, cache=cache, strict=strict, progress=progress)
        return cls.of_ranking(ranking, cutoff=cutoff, cache=cache, progress=progress)

    @classmethod
    def of_ranking(
        cls, ranking: Ranking, *, cutoff: int = 10, cache: Cache | None = None, progress: Progress | None = None
    ) -> Library:
        """Return a library of a collection that is already ranked, by rankers named as they are spelled.

        Parameters
        ----------
        ranking : Ranking
            From `rank_collection`.
        cutoff, cache, progress
            As in `open`.
        """
        collection = ranking.collection
        rankers = {name: RANKERS.make(Call.parse(name)) for name in ranking.lists}
        library = cls(
            collection,
            {name: _fitted(ranker, collection, cache, progress) for name, ranker in rankers.items()},
            {name: ranker.part for name, ranker in rankers.items()},
            {name: _by_number(name, lists.items, collection.ids) for name, lists in ranking.lists.items()},
            Choice(tuple(rankers), cutoff=cutoff),
            ranking.skipped,
            comparable=frozenset(name for name, lists in ranking.lists.items() if lists.comparable),
        )
        library.warm_up()
        return library

    @classmethod
    def of_index(cls, index: FusionIndex, name: str) -> Library:
        """Return a library of an index on disk, which has ids and graphs but neither lists nor content.

        Its arrays are copied to memory: the system kills a process that reads a mapped file after it was truncated.
        """
        index = index.in_memory()
        ids = index.item_ids or Ids(map(str, range(index.n_items)))
        defaults = Choice((), cutoff=index.settings.cutoff, comparator=index.settings.comparator)
        about = f"An index of {index.n_items} items, built from {index.settings.n_rankers} rankers"
        library = cls(Collection(name, ids, about=about), {}, {}, {}, defaults, prebuilt=index)
        library.warm_up()
        return library

    def warm_up(self) -> None:
        """Search once, so that kernels are compiled or loaded before the first request."""
        if len(self):
            self.search(ItemQuery(0), self.defaults)
            self.compare(ItemQuery(0), 0, self.defaults)
            if "texts" in self.parts.values():
                self.search(TextQuery("words"), self.defaults)

    def __len__(self) -> int:
        return len(self.collection)

    @cached_property
    def version(self) -> str:
        """A digest of its images: part of their URLs, so that browsers may cache them for long."""
        images = self.collection.parts.get("images")
        digests = [] if images is None else list(map(_digest, cast(Sequence[Any], images)))
        return digest_bytes(__version__.encode(), *digests)[:12]  # another version may reduce images differently

    @cached_property
    def classes(self) -> NDArray[np.intp] | None:
        """The class of each item as a number; None if the classes are unknown."""
        labels = self.collection.labels
        return None if labels is None else np.unique(np.array(labels, np.str_), return_inverse=True)[1]

    @property
    def accepts(self) -> set[str]:
        """The parts of a collection that external queries can be ranked against."""
        return set(self.parts.values()) & {"images", "texts"}

    def methods(self, query: Query | None = None) -> list[str]:
        """Return the names of the methods that can answer a query: for an external one, not all of them."""
        if self.prebuilt is not None:
            return ["fg"]
        internal = query is None or isinstance(query, ItemQuery)
        return [name for name in METHODS if internal or METHODS[name].answers_external]

    def choose(self, changes: Mapping[str, Any]) -> Choice:
        """Return the defaults with some changes; raise `InputError` if they are invalid."""
        choice = replace(self.defaults, **changes)
        if choice.method not in self.methods():
            raise UnknownNameError("method", choice.method, self.methods())
        for name in choice.rankers:
            if name not in self.ranks:
                raise UnknownNameError("ranker", name, self.ranks)
        if not choice.rankers and self.prebuilt is None:
            raise InputError(f"Choose at least one ranker of {', '.join(self.ranks)}.")
        if self.prebuilt is not None and choice.cutoff != self.defaults.cutoff:
            raise InputError(f"The index was built with cutoff {self.defaults.cutoff}, which cannot be changed here.")
        return replace(choice, rankers=tuple(name for name in self.ranks if name in choice.rankers))

    def accepts_query(self, ranker: str, query: Query) -> bool:
        """Return True if a ranker has a list for a query."""
        return query.part in (None, self.parts[ranker])

    def lists(self, query: Query, choice: Choice) -> dict[str, Ranks]:
        """Return the list of a query by each chosen ranker, as one row; empty if a ranker does not accept it."""
        if isinstance(query, ItemQuery):
            return {name: _row(self.ranks[name], query.number) for name in choice.rankers}
        if self.prebuilt is not None:
            raise InputError("An index on disk has graphs only: search by its items, or serve the collection itself.")
        accepting = [name for name, part in self.parts.items() if part == query.part]
        if choice.rankers and not set(accepting) & set(choice.rankers):
            kind = "text" if isinstance(query, TextQuery) else "images"
            raise InputError(
                f"None of the chosen rankers ({', '.join(choice.rankers)}) accepts {kind}; "
                + (f"choose from {', '.join(accepting)}." if accepting else "this collection has none that does.")
            )
        # The digest rather than the query, which would keep the image in memory.
        key = (query.kind, query.digest if isinstance(query, ImageQuery) else query.text)
        found = self._external.get(key, lambda: self._rank_external(query, accepting))
        return {name: found.get(name, self._empty) for name in choice.rankers}

    def _rank_external(self, query: TextQuery | ImageQuery, rankers: Sequence[str]) -> dict[str, Ranks]:
        depth = max((ranks.depth for ranks in self.ranks.values()), default=1)
        content = reduced(query.content, self.image_side) if isinstance(query, ImageQuery) else query.content
        return {name: self.rankers[name].rank(queries=[content], depth=max(depth, 1)) for name in rankers}

    @cached_property
    def image_side(self) -> int:
        """The longer side of the collection's images: the median of a sample.

        Uploads are reduced to it, because texture descriptors depend on the scale.
        """
        images = self.collection.part("images")
        sample = images[:: max(1, len(images) // MAX_SAMPLES)]
        return int(np.median([max(pixels(image).shape[:2]) for image in sample]))

    @cached_property
    def _empty(self) -> Ranks:
        return Ranks.trusted(np.full((1, 1), PAD, np.int32), None, len(self))

    def index(self, choice: Choice) -> FusionIndex:
        """Return the index of a choice of rankers and cutoff."""
        if self.prebuilt is not None:
            return self.prebuilt
        key = (choice.rankers, choice.cutoff)
        return self._indexes.get(key, lambda: self._build(choice))

    def _build(self, choice: Choice) -> FusionIndex:
        chosen = [self.ranks[name] for name in choice.rankers]
        depth = max(choice.cutoff, *(ranks.depth for ranks in chosen))
        return FusionIndex.build(chosen, cutoff=choice.cutoff, depth=depth, comparable=self._comparable(choice.rankers))

    def weft(self, rankers: tuple[str, ...]) -> WeftIndex:
        """Return the weft index of some rankers, with the default settings."""
        return self._wefts.get(
            rankers,
            lambda: WeftIndex.build([self.ranks[one] for one in rankers], comparable=self._comparable(rankers)),
        )

    def _comparable(self, rankers: Sequence[str]) -> list[bool]:
        return [name in self.comparable for name in rankers]

    def ready(self, choice: Choice) -> bool:
        """Return True if a search needs no new index and no fusion of the whole collection."""
        if choice.method == "fg":
            return self.prebuilt is not None or (choice.rankers, choice.cutoff) in self._indexes
        if choice.method == "weft":
            return choice.rankers in self._wefts
        return METHODS[choice.method].needs == "queries" or (choice.method, choice.rankers) in self._fused

    def search(self, query: Query, choice: Choice, k: int | None = None) -> Ranks:
        """Return the results as one row; `k` overrides that of the choice."""
        k = choice.k if k is None else k
        if choice.method == "fg":
            options = {"comparator": choice.comparator, "threads": 1}
            if isinstance(query, ItemQuery):
                return self.index(choice).search(items=[query.number], k=k, **options)  # type: ignore[arg-type]
            lists = list(self.lists(query, choice).values())
            return self.index(choice).search(lists, k=k, **options)  # type: ignore[arg-type]
        if choice.method == "weft" and isinstance(query, ItemQuery):
            return self.weft(choice.rankers).search(items=[query.number], k=k, threads=1)
        if METHODS[choice.method].needs == "queries":
            lists = [ranks for ranks in self.lists(query, choice).values() if ranks is not self._empty]
            return fuse([ranks.head(MAX_RESULTS) for ranks in lists], method=choice.method, k=k)
        if choice.method in ("weft", "vote") and not isinstance(query, ItemQuery):
            found = {name: ranks for name, ranks in self.lists(query, choice).items() if ranks is not self._empty}
            index = self.weft(tuple(found))  # of the rankers that accept the query: the others have no vote
            answer = index.search if choice.method == "weft" else index.vote
            return answer(list(found.values()), k, threads=1)
        if not isinstance(query, ItemQuery):
            raise InputError(f"The method {choice.method} does not answer external queries; choose fg.")
        return self._fused_collection(choice).rows([query.number]).head(k)

    def _fused_collection(self, choice: Choice) -> Ranks:
        """Return the results of a method that needs the whole collection, for all items."""
        key = (choice.method, choice.rankers)
        chosen = [self.ranks[name] for name in choice.rankers]
        return self._fused.get(key, lambda: fuse(chosen, method=choice.method, k=MAX_RESULTS))

    def compare(self, query: Query, item: int, choice: Choice) -> Compared:
        """Return the fusion graphs of a query and of an item, and what they have in common."""
        index = self.index(choice)
        if isinstance(query, ItemQuery):
            graph = index.graph(query.number)
        else:
            graph = index.graph(list(self.lists(query, choice).values()))
        other = index.graph(item)
        return Compared(graph, other, explain(graph, other, choice.comparator))


def default_rankers(collection: Collection) -> list[str]:
    """Return the rankers of a collection for which none were chosen."""
    names = [name for part, rankers in DEFAULT_RANKERS.items() if part in collection.parts for name in rankers]
    if not names:
        parts = ", ".join(collection.parts) or "neither images nor texts"
        raise InputError(f"{collection.name} has {parts}; name a ranker, such as vectors(part=...).")
    return names


def _row(ranks: Ranks, number: int) -> Ranks:
    """Return one list, without the copy that `Ranks.rows` makes."""
    scores = None if ranks.scores is None else ranks.scores[number : number + 1]
    return Ranks.trusted(ranks.items[number : number + 1], scores, ranks.n_items)


def _digest(image: Any) -> bytes:
    try:
        return image_digest(image).encode()
    except ImageError:  # it may be missing if no ranker needed it
        return b""


def _fitted(ranker: Ranker, collection: Collection, cache: Cache | None, progress: Progress | None) -> Fitted:
    """Return a ranker fitted to the collection, which does not cache descriptors of queries."""
    part = cast(Sequence[Any], collection.part(ranker.part))
    fitted = ranker.fit(part, cache=cache, progress=progress)
    return replace(fitted, cache=None) if isinstance(fitted, FittedVectors) else fitted


def _by_number(name: str, ranks: Ranks | None, ids: Ids) -> Ranks:
    """Return lists by number and without ids: row i is that of item i, empty if it has none."""
    if ranks is None:
        raise InputError(f"The ranker {name} has no lists of the items themselves, which a search needs.")
    inside = ranks.renumbered(ids)
    query_ids = inside.query_ids or ids
    if query_ids != ids:
        rows = [query_ids.number(one) if one in query_ids else PAD for one in ids]
        inside = inside.spread(np.array(rows, np.intp), ids)
    return Ranks.trusted(inside.items, inside.scores, len(ids))
