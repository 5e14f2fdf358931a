"""A collection ready to be searched: its rankers fitted, their lists, and an index for every choice among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from rankloom.aggregate import METHODS, fuse
from rankloom.datasets import Collection
from rankloom.datasets.images import ImageError, reduced
from rankloom.errors import InputError, UnknownNameError
from rankloom.fusion_graph.graph import Explanation, FusionGraph, explain
from rankloom.fusion_graph.index import FusionIndex
from rankloom.io.cache import Cache, digest_bytes
from rankloom.rankers import RANKERS, Fitted, Ranker, rank_collection
from rankloom.rankers.descriptors import FittedDescriptor
from rankloom.rankers.features import image_digest, pixels
from rankloom.ranks import PAD, Ids, Ranks
from rankloom.registry import Call
from rankloom.threads import Progress
from rankloom.version import __version__
from rankloom.web.lru import Kept
from rankloom.web.queries import Choice, Item, Picture, Query, Words

DEPTH = 1000
MAX_ANSWERS = 100  # and so many of each list are fused by methods that look at the lists of a query alone
MAX_SAMPLED = 50  # pictures, to learn how large they are
INDEXES = 16  # choices of rankers and cutoff that are kept ready
#: What a collection is ranked by where nothing is said, by the parts that it has.
STANDARD = {"images": ("bic", "gch", "las", "qcch"), "texts": ("okapi", "jaccard", "bow")}


class Compared(NamedTuple):
    """Two graphs and their common part."""

    query: FusionGraph
    item: FusionGraph
    why: Explanation


@dataclass(frozen=True, eq=False)
class Library:
    """A collection with all that a search needs; read-only, and safe to use from several threads.

    Made by `open`, or by `of_index` from an index on disk, whose items are known by name alone.

    Attributes
    ----------
    collection : Collection
    rankers : {name: Fitted}
        They rank external queries.
    parts : {name of a ranker: part of the collection that it looks at}
    ranks : {name of a ranker: Ranks}
        The list of each item, by numbers.
    standard : Choice
        What is searched by where nothing else is asked for.
    skipped : {name of an item: why it could not be read}
    """

    collection: Collection
    rankers: Mapping[str, Fitted]
    parts: Mapping[str, str]
    ranks: Mapping[str, Ranks]
    standard: Choice
    skipped: Mapping[str, str] = field(default_factory=dict)
    opened: FusionIndex | None = None
    _indexes: Kept[FusionIndex] = field(default_factory=lambda: Kept(INDEXES), init=False, repr=False)
    _fused: Kept[Ranks] = field(default_factory=lambda: Kept(INDEXES), init=False, repr=False)
    _asked: Kept[dict[str, Ranks]] = field(default_factory=lambda: Kept(256), init=False, repr=False)

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
        """Rank a collection and keep its rankers at hand.

        Parameters
        ----------
        rankers : sequence of str
            As in ``bic`` or ``vectors(metric=l2)``; by default some for each part of the collection.
        cutoff : int
            The L that is used where no other is asked for.
        depth, cache, strict, progress
            As in `rank_collection`.

        Examples
        --------
        >>> pets = Collection("pets", Ids(["a", "b", "c"]), {"texts": ["a cat", "a dog", "cat and dog"]})
        >>> library = Library.open(pets, ["okapi", "bow-jaccard"])
        >>> library.search(Words("cats"), library.standard).items.tolist()
        [[0, 2, 1]]
        """
        names = tuple(dict.fromkeys(rankers or standard_rankers(collection)))
        calls = {name: Call.parse(name) for name in names}
        ranking = rank_collection(collection, calls, depth=depth, cache=cache, strict=strict, progress=progress)
        made = {name: RANKERS.make(call) for name, call in calls.items()}
        found = ranking.collection
        fitted = {name: _fitted(ranker, found, cache, progress) for name, ranker in made.items()}
        parts = {name: ranker.part for name, ranker in made.items()}
        ranks = {name: lists.items for name, lists in ranking.lists.items()}
        library = cls(found, fitted, parts, _numbered(ranks, found), Choice(names, cutoff=cutoff), ranking.skipped)
        library.warm()
        return library

    @classmethod
    def of_index(cls, index: FusionIndex, name: str) -> Library:
        """Return a library of what an index on disk knows: names and graphs, and neither lists nor content."""
        ids = index.item_ids or Ids(map(str, range(index.n_items)))
        standard = Choice((), cutoff=index.settings.cutoff, comparator=index.settings.comparator)
        about = f"An index of {index.n_items} items, woven from {index.settings.n_rankers} rankers"
        library = cls(Collection(name, ids, about=about), {}, {}, {}, standard, opened=index)
        library.warm()
        return library

    def warm(self) -> None:
        """Do what is done only once before the first query comes: kernels are compiled or loaded."""
        if len(self):
            self.search(Item(0), self.standard)
            self.compare(Item(0), 0, self.standard)
            if "texts" in self.parts.values():
                self.search(Words("words"), self.standard)

    def __len__(self) -> int:
        return len(self.collection)

    @cached_property
    def version(self) -> str:
        """What stands for its pictures: their addresses have it, so that a browser may keep them for long."""
        images = self.collection.parts.get("images")
        seen = [] if images is None else list(map(_seen, cast(Sequence[Any], images)))
        return digest_bytes(__version__.encode(), *seen)[:12]  # another version may reduce them otherwise

    @cached_property
    def classes(self) -> NDArray[np.intp] | None:
        """The class of each item as a number; None where classes are not known."""
        labels = self.collection.labels
        return None if labels is None else np.unique(np.array(labels, np.str_), return_inverse=True)[1]

    @property
    def takes(self) -> set[str]:
        """The parts that an external query can be of."""
        return set(self.parts.values()) & {"images", "texts"}

    def methods(self, query: Query | None = None) -> list[str]:
        """Return the names of the methods that answer a query; those that need the whole collection know its items."""
        if self.opened is not None:
            return ["fg"]
        inside = query is None or isinstance(query, Item)
        return [name for name in METHODS if inside or METHODS[name].answers_external]

    def choose(self, asked: Mapping[str, Any]) -> Choice:
        """Return the standard choice with what is asked for; what can't be is an `InputError`."""
        choice = replace(self.standard, **asked)
        if choice.method not in self.methods():
            raise UnknownNameError("method", choice.method, self.methods())
        for name in choice.rankers:
            if name not in self.ranks:
                raise UnknownNameError("ranker", name, self.ranks)
        if not choice.rankers and self.opened is None:
            raise InputError(f"Choose at least one ranker of {', '.join(self.ranks)}.")
        if self.opened is not None and choice.cutoff != self.standard.cutoff:
            raise InputError(f"The index was woven with L = {self.standard.cutoff}, which can't be changed here.")
        return replace(choice, rankers=tuple(name for name in self.ranks if name in choice.rankers))

    def taking(self, query: Query, choice: Choice) -> tuple[str, ...]:
        """Return the rankers chosen that have a list for a query."""
        return tuple(name for name in choice.rankers if query.part in (None, self.parts[name]))

    def lists(self, query: Query, choice: Choice) -> dict[str, Ranks]:
        """Return the list of a query by each ranker chosen, in a row each; empty where a ranker can't take it."""
        if isinstance(query, Item):
            return {name: _row(self.ranks[name], query.number) for name in choice.rankers}
        if self.opened is not None:
            raise InputError(
                "An index on disk knows graphs alone: search by its items, or serve the collection itself."
            )
        taking = self.taking(query, choice)
        if not taking and choice.rankers:
            fitting = [name for name, part in self.parts.items() if part == query.part]
            raise InputError(
                f"None of the rankers chosen ({', '.join(choice.rankers)}) takes {query.kind}; "
                + (f"choose from {', '.join(fitting)}." if fitting else "this collection has none that does.")
            )
        key = (query.kind, query.digest if isinstance(query, Picture) else query.text)  # does not keep the picture
        found = self._asked.get(key, lambda: self._rank_external(query))
        return {name: found[name] if name in taking else self._nothing for name in choice.rankers}

    def _rank_external(self, query: Words | Picture) -> dict[str, Ranks]:
        depth = max((ranks.depth for ranks in self.ranks.values()), default=1)
        takers = [name for name, part in self.parts.items() if part == query.part]
        content = reduced(query.content, self.side) if isinstance(query, Picture) else query.content
        return {name: self.rankers[name].rank(queries=[content], depth=max(depth, 1)) for name in takers}

    @cached_property
    def side(self) -> int:
        """The longer side of the collection's pictures, the median of some of them.

        A picture that is sent is reduced to it: descriptors of texture depend on the scale.
        """
        pictures = self.collection.part("images")
        some = pictures[:: max(1, len(pictures) // MAX_SAMPLED)]
        return int(np.median([max(pixels(one).shape[:2]) for one in some]))

    @cached_property
    def _nothing(self) -> Ranks:
        return Ranks.trusted(np.full((1, 1), PAD, np.int32), None, len(self))

    def index(self, choice: Choice) -> FusionIndex:
        """Return the index of a choice of rankers and cutoff."""
        if self.opened is not None:
            return self.opened
        key = (choice.rankers, choice.cutoff)
        return self._indexes.get(key, lambda: self._build(choice))

    def _build(self, choice: Choice) -> FusionIndex:
        chosen = [self.ranks[name] for name in choice.rankers]
        depth = max(choice.cutoff, *(ranks.depth for ranks in chosen))
        return FusionIndex.build(chosen, cutoff=choice.cutoff, depth=depth)

    def ready(self, choice: Choice) -> bool:
        """Tell whether a search can be answered at once, or first needs what may take a while to make."""
        if choice.method == "fg":
            return self.opened is not None or (choice.rankers, choice.cutoff) in self._indexes
        return METHODS[choice.method].needs == "queries" or (choice.method, choice.rankers) in self._fused

    def search(self, query: Query, choice: Choice, k: int | None = None) -> Ranks:
        """Return the answers in one row; `k` may be more than was chosen."""
        k = choice.k if k is None else k
        if choice.method == "fg":
            how = {"comparator": choice.comparator, "threads": 1}
            if isinstance(query, Item):
                return self.index(choice).search(items=[query.number], k=k, **how)  # type: ignore[arg-type]
            lists = list(self.lists(query, choice).values())
            return self.index(choice).search(lists, k=k, virtual=_virtual(query), **how)  # type: ignore[arg-type]
        if METHODS[choice.method].needs == "queries":
            lists = [ranks for ranks in self.lists(query, choice).values() if ranks is not self._nothing]
            return fuse([ranks.head(MAX_ANSWERS) for ranks in lists], method=choice.method, k=k)
        if not isinstance(query, Item):
            raise InputError(f"The method {choice.method} knows only items of the collection as queries; choose fg.")
        return self._whole(choice).rows([query.number]).head(k)

    def _whole(self, choice: Choice) -> Ranks:
        """Return the answers of a method that looks at the whole collection, for all items."""
        key = (choice.method, choice.rankers)
        chosen = [self.ranks[name] for name in choice.rankers]
        return self._fused.get(key, lambda: fuse(chosen, method=choice.method, k=MAX_ANSWERS))

    def compare(self, query: Query, item: int, choice: Choice) -> Compared:
        """Return the fusion graphs of a query and of an item, and what they have in common."""
        index = self.index(choice)
        if isinstance(query, Item):
            asked = index.graph(query.number)
        else:
            asked = index.graph(list(self.lists(query, choice).values()), virtual=_virtual(query))
        other = index.graph(item)
        return Compared(asked, other, explain(asked, other, choice.comparator))


def _virtual(query: Query) -> bool | None:
    """Tell whether an external query gets virtual positions: a few words score on another scale than a text does."""
    return False if isinstance(query, Words) else None


def standard_rankers(collection: Collection) -> list[str]:
    """Return the rankers of a collection where none are asked for."""
    names = [name for part, rankers in STANDARD.items() if part in collection.parts for name in rankers]
    if not names:
        kinds = ", ".join(collection.parts) or "neither pictures nor texts"
        raise InputError(f"{collection.name} has {kinds}; say what to rank it by, as in --ranker vectors(part=...).")
    return names


def _row(ranks: Ranks, number: int) -> Ranks:
    """Return one list, without the copy that `Ranks.rows` makes."""
    scores = None if ranks.scores is None else ranks.scores[number : number + 1]
    return Ranks.trusted(ranks.items[number : number + 1], scores, ranks.n_items)


def _seen(image: Any) -> bytes:
    try:
        return image_digest(image).encode()
    except ImageError:  # where pictures are not ranked by, one may be gone
        return b""


def _fitted(ranker: Ranker, collection: Collection, cache: Cache | None, progress: Progress | None) -> Fitted:
    """Return a ranker that knows the collection, and keeps nothing of what it is asked."""
    part = cast(Sequence[Any], collection.part(ranker.part))
    fitted = ranker.fit(part, cache=cache, progress=progress)
    return replace(fitted, cache=Cache(None)) if isinstance(fitted, FittedDescriptor) else fitted


def _numbered(ranks: Mapping[str, Ranks | None], collection: Collection) -> dict[str, Ranks]:
    """Return lists by the numbers of the collection."""
    for name, one in ranks.items():
        if one is None:
            raise InputError(f"The ranker {name} has no lists of the items themselves, which a search needs.")
    return {name: _by_number(cast(Ranks, one), collection.ids) for name, one in ranks.items()}


def _by_number(ranks: Ranks, ids: Ids) -> Ranks:
    """Return lists without names: row i is that of item i, empty where it has none."""
    inside = ranks.renumbered(ids)
    asked = inside.query_ids or ids
    if asked != ids:
        rows = [asked.number(name) if name in asked else PAD for name in ids]
        inside = inside.spread(np.array(rows, np.intp), ids)
    return Ranks.trusted(inside.items, inside.scores, len(ids))
