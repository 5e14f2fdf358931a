"""Rank a collection with several rankers, with cached lists; used by ``rankloom rank`` and experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import file_digest
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from rankloom.datasets import Collection, Content, Queries, content_digest
from rankloom.datasets.collection import Contents
from rankloom.errors import InputError, UnknownNameError, brief, check_type, whole_number
from rankloom.index.cluster import connected
from rankloom.io.archive import Arrays
from rankloom.io.cache import Cache, digest_bytes
from rankloom.io.npz import pack_ranks, unpack_ranks
from rankloom.io.version import __version__
from rankloom.rankers.cluster_ranking import is_ranked_by_parts, rank_by_parts
from rankloom.rankers.image.image_features import stamp
from rankloom.rankers.precomputed import RankFile
from rankloom.rankers.ranker import (
    RANKERS,
    Fitted,
    Ranker,
    Traits,
    UnreadableItemsError,
    traits_of,
)
from rankloom.rankers.text.terms import contents_of
from rankloom.ranks import Ids, Kind, Ranks
from rankloom.registry import Call
from rankloom.threads import Progress, running

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")
DEPTH = 1000
FORMAT = b"ranks 3"  # of cached lists


@dataclass(frozen=True, slots=True, eq=False)
class RankedLists:
    """The lists of one ranker: of the queries, and of the items if it can rank those."""

    queries: Ranks  #: a row for each query, with ids; without external queries, every item is a query
    items: Ranks | None  #: a row for each item; the same object as `queries` if every item is a query
    seconds: float = 0.0  #: computing time, even if the lists came from the cache
    ranker: Ranker | None = None
    fit: Callable[[], Fitted] | None = None  #: returns the ranker fitted to the collection, at most once
    spelling: str | None = None  #: of the ranker; None if it was given as an object

    @property
    def traits(self) -> Traits:
        """What the ranker declares of its scores."""
        return Traits() if self.ranker is None else traits_of(self.ranker)


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """A collection and its lists by several rankers."""

    collection: Collection  #: without unreadable items
    lists: Mapping[str, RankedLists]  #: by the name of the ranker
    skipped: Mapping[str, str] = field(default_factory=dict)  #: why items could not be read, by id

    def summary(self) -> str:
        """Return a line about what was ranked, then lines about approximate rankers and skipped items."""
        done = f"Ranked {len(self.collection)} items of {self.collection.name} by {', '.join(self.lists)}."
        recalls = {name: one.queries.recall for name, one in self.lists.items()}
        done += "".join(f"\n  {name}: recall {one:.1%}." for name, one in recalls.items() if one is not None)
        if not self.skipped:
            return done
        reasons = "".join(f"\n  {item}: {reason}" for item, reason in self.skipped.items())
        return f"{done} Skipped {len(self.skipped)} unreadable:{reasons}"


def rank_collection(
    collection: Collection,
    rankers: Mapping[str, str | Call | Ranker | MadeRanker] | Sequence[str] | str,
    *,
    depth: int = DEPTH,
    items: bool = True,
    cache: Cache | None = None,
    strict: bool = False,
    progress: Progress | None = None,
    scheduler: str | None = None,
) -> Ranking:
    """Rank a collection with several rankers.

    Parameters
    ----------
    rankers : {name: spelling or Ranker}, or one or several spellings
        A spelling is a name in `RANKERS` with options, as in ``vectors(metric=l2)``; without names, it is also the
        name of its lists.
    depth : int
        Maximum length of a list.
    items : bool
        Whether to rank for the items too if the collection has external queries.
    cache : Cache, optional
        Stores lists, keyed by the content of the collection, the ranker, depth and version; and what rankers compute
        for each item, so that an added item costs little. Lists of rankers given as objects, and of plug-ins without
        ``digest()``, are not cached.
    strict : bool
        Whether an unreadable item is an error. Otherwise it is dropped from the collection, with its label and parts,
        for all rankers; `Ranking.skipped` gives the reason.
    progress : callable, optional
    scheduler : str, optional
        The address of a Dask scheduler, or "local" for workers on this machine (extra ``dask``): they make the lists of
        the items, by parts, if the ranker can do that (texts, vectors and image descriptors).

    Examples
    --------
    >>> import numpy as np
    >>> line = Collection("line", Ids(["a", "b", "c"]), {"vectors": np.array([[0], [5], [1]])}, labels=tuple("xyx"))
    >>> ranking = rank_collection(line, {"near": "vectors(metric=l2)"}, depth=2)
    >>> ranking.lists["near"].queries.to_dict()["a"]
    {'a': 0.0, 'c': -1.0}
    >>> list(rank_collection(line, ["vectors", "vectors(metric=l1)"]).lists)
    ['vectors', 'vectors(metric=l1)']
    """
    check_type(Collection, collection=collection)
    cache = Cache(None) if cache is None else cache
    check_type(Cache, cache=cache)
    made = {name: made_ranker(ranker) for name, ranker in rankers_by_name(rankers).items()}
    for name, one in made.items():
        _check_part(collection, name, one.ranker.part)
    job = RankingJob(collection, whole_number("depth", depth), items, cache)
    with running(progress=progress):
        if scheduler is None:
            return _ranked(job, made, strict)
        with connected(scheduler) as client:
            return _ranked(replace(job, client=client), made, strict)


def _ranked(job: RankingJob, made: Mapping[str, MadeRanker], strict: bool) -> Ranking:
    """Return the lists of all rankers, of the items that all of them can read."""
    order = sorted(made, key=lambda name: made[name].ranker.part != "ids")  # files first: a bad one is found at once
    skipped: dict[str, str] = {}
    while True:  # each round drops at least one unreadable item
        try:
            digests = {part: job.digest(part) for part in {ranker.part for ranker, _ in made.values()}}
            lists = {name: job.lists(*made[name], digests[made[name].ranker.part]) for name in order}
            return Ranking(job.collection, {name: lists[name] for name in made}, skipped)
        except UnreadableItemsError as error:
            if strict or not error.reasons or len(error.reasons) == len(job.collection):
                raise
            skipped |= {job.collection.ids[number]: reason for number, reason in error.reasons.items()}
            job = replace(job, collection=job.collection.without(error.reasons))
        except InputError as error:
            raise _after_skipping(error, skipped) from None


@dataclass(frozen=True, slots=True)
class _PartDigest:
    """Digest of a part of items and queries, and the stamps of their files."""

    content: str
    stamps: list[tuple[int, ...] | None]


@dataclass(frozen=True, eq=False)
class RankingJob:
    """A collection to rank, and how."""

    collection: Collection
    depth: int
    with_items: bool
    cache: Cache
    client: Client | None = None
    _parts: dict[tuple[str, bool], Contents] = field(default_factory=dict, init=False)

    def item_part(self, name: str) -> Contents:
        """Return a part of the items: the same object for all rankers, so that texts are tokenized once."""
        return self._part(name, self.collection)

    def query_part(self, name: str) -> Contents:
        """Return a part of the external queries, as `item_part` does."""
        queries = self.collection.queries
        return () if queries is None else self._part(name, queries)

    def _part(self, name: str, given: Collection | Queries) -> Contents:
        key = name, given is self.collection
        if key not in self._parts:
            self._parts[key] = contents_of(name, given.part(name))
        return self._parts[key]

    def digest(self, part: str) -> _PartDigest | None:
        """Return the digest of a part of items and queries; None if lists are not cached."""
        if self.cache.folder is None or part == "ids":  # ids say nothing about the content of a run file
            return None
        try:
            stamps = self._stamps(part)  # before the content is read
            queries = "" if self.collection.queries is None else content_digest(self.collection.queries.part(part))
            return _PartDigest(content_digest(self.collection.part(part)) + queries, stamps)
        except InputError:  # unreadable items, which the ranker will report, or objects without a digest
            return None

    def lists(self, ranker: Ranker, call: Call | None, digest: _PartDigest | None) -> RankedLists:
        """Return the lists of one ranker, which is fitted only if some are not in the cache."""
        ids, external = self.collection.ids, self.collection.queries
        fitted = lru_cache(lambda: ranker.fit(self.item_part(ranker.part), cache=self.cache))
        made = ranker, fitted, None if call is None else str(call)
        key = _key(ranker, call, None if digest is None else digest.content, self.depth)

        def unchanged() -> bool:
            return digest is not None and self._stamps(ranker.part) == digest.stamps

        own, seconds = None, 0.0
        queries_only = isinstance(ranker, RankFile) and ranker.items is None  # a file without lists of the items
        if external is None or (self.with_items and not queries_only):
            shape = len(ids), len(ids)
            own, seconds = self._cached(key, "items", lambda: self._own_lists(fitted()), unchanged, shape)
            own = with_ids(own, ids, own.query_ids or ids, "collection")
        if external is None:
            return RankedLists(cast(Ranks, own), own, seconds, *made)

        def rank_queries() -> Ranks:
            return fitted().rank(queries=self.query_part(ranker.part), depth=self.depth)

        shape = len(external.ids), len(ids)
        ranks, more = self._cached(key, "queries", rank_queries, unchanged, shape)
        return RankedLists(with_ids(ranks, ids, external.ids, "queries"), own, seconds + more, *made)

    def _own_lists(self, fitted: Fitted) -> Ranks:
        if self.client is not None and is_ranked_by_parts(fitted):
            return rank_by_parts(fitted, self.client, depth=self.depth)
        return fitted.rank(depth=self.depth)

    def _stamps(self, part: str) -> list[tuple[int, ...] | None]:
        """Return the stamps of the files of items and queries: only images are read on demand."""
        parts = (self.item_part(part), self.query_part(part)) if part == "images" else ()
        return [stamp(item) for items in parts for item in items]

    def _cached(
        self,
        key: str | None,
        kind: str,
        rank: Callable[[], Ranks],
        unchanged: Callable[[], bool],
        shape: tuple[int, int],
    ) -> tuple[Ranks, float]:
        """Return ranks and their computing time in seconds, from the cache if they are there."""
        name = None if key is None else digest_bytes(key.encode(), kind.encode())
        found = None if name is None else _unpacked(self.cache.load(name), shape)
        if found is not None:
            return found
        start = perf_counter()
        ranks = rank()
        seconds = perf_counter() - start
        if name is not None and ranks.item_ids is None and unchanged():
            self.cache.save(name, {**pack_ranks(ranks), "seconds": np.array(seconds)})
        return ranks, seconds


def with_ids(ranks: Ranks, item_ids: Ids, query_ids: Ids, kind: Kind) -> Ranks:
    """Return ranks with the ids of a collection; ranks that already have item ids keep them."""
    ids = item_ids if ranks.item_ids is None else ranks.item_ids
    if (ranks.n_queries, ranks.n_items) != (len(query_ids), len(ids)):
        raise InputError(
            f"A ranker must return {len(query_ids)} lists over {len(ids)} items; got {ranks.n_queries} over "
            f"{ranks.n_items}. Check it with check_ranker."
        )
    return ranks.replaced(item_ids=ids, query_ids=query_ids, kind=kind)


def _after_skipping(error: InputError, skipped: Mapping[str, str]) -> InputError:
    """Return the error with a note on skipped items: a file may have too many rows because of them."""
    if not skipped or type(error) is not InputError:
        return error
    item, reason = next(iter(skipped.items()))
    note = f"Skipped {len(skipped)} unreadable, such as {item}: {reason}"
    return InputError(f"{error} {note} Repair them, or remove them and their rows.")


def rankers_by_name(rankers: Mapping[str, T] | Sequence[str] | str) -> dict[str, T | str]:
    """Return rankers by name; spellings are their own names."""
    given = [rankers] if isinstance(rankers, str) else rankers
    if not isinstance(given, Mapping | Sequence):
        raise InputError(f"Give rankers by name, as in {{'dense': ...}}, or a list of spellings; got {brief(rankers)}.")
    odd = next((name for name in given if not isinstance(name, str | Call)), None)
    if odd is not None:
        raise InputError(f"Rankers are named or spelled by texts; got {brief(odd)}.")
    named: dict[str, T | str] = {}
    named |= given if isinstance(given, Mapping) else {str(spelled): spelled for spelled in given}
    return named


class MadeRanker(NamedTuple):
    """A ranker, and the call that made it if it was given by its spelling."""

    ranker: Ranker
    call: Call | None = None


def made_ranker(ranker: str | Call | Ranker | MadeRanker) -> MadeRanker:
    """Return a ranker that was given by its spelling or as an object."""
    if isinstance(ranker, MadeRanker):
        return ranker
    if isinstance(ranker, str):
        ranker = Call.parse(ranker)
    if not isinstance(ranker, Call) and not hasattr(ranker, "fit"):
        raise InputError(f"A ranker must be a spelling or a Ranker; got {brief(ranker)}.")
    return MadeRanker(RANKERS.make(ranker), ranker) if isinstance(ranker, Call) else MadeRanker(ranker)


def _check_part(collection: Collection, name: str, part: str) -> None:
    """Raise InputError if the items lack the part that a ranker needs."""
    try:
        collection.part(part)
    except UnknownNameError as error:
        has = ", ".join(["ids", *collection.parts])
        raise InputError(f"The ranker {name!r} needs {part}, which these items lack; they have {has}.") from error


def _key(ranker: Ranker, call: Call | None, digest: str | None, depth: int) -> str | None:
    if call is None or digest is None or not (isinstance(ranker, Content) or is_built_in(ranker, call.name)):
        return None
    own = ranker.digest() if isinstance(ranker, Content) else ""
    options = [(name, _content(value)) for name, value in call.options]
    settings = repr((call.name, options, own, depth, digest))
    return digest_bytes(FORMAT, __version__.encode(), settings.encode("utf-8", "surrogatepass"))


def is_built_in(ranker: Ranker, name: str) -> bool:
    """Return True if the version of rankloom determines the code of a ranker, unlike that of a plug-in."""
    modules = (type(ranker).__module__, getattr(RANKERS[name], "__module__", ""))
    return all(module.partition(".")[0] == "rankloom" for module in modules)


def _content(value: Any) -> Any:
    """Return the digest of the file that an option names, else the value itself."""
    try:
        with Path(value).open("rb") as file:
            return file_digest(file, "sha256").digest()  # bytes, which equal no text
    except (OSError, ValueError, TypeError):  # most values are not paths
        return value


def _unpacked(arrays: Arrays | None, shape: tuple[int, int]) -> tuple[Ranks, float] | None:
    if arrays is None:
        return None
    try:
        ranks, seconds = unpack_ranks(arrays), float(arrays["seconds"])
    except (KeyError, ValueError, TypeError):  # invalid content is recomputed
        return None
    return (ranks, seconds) if (ranks.n_queries, ranks.n_items) == shape else None
