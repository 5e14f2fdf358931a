"""Collections ranked by rankers: what the command ``rankloom rank`` and an experiment do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import file_digest
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import numpy as np

from rankloom.datasets import Collection, Content, content_digest
from rankloom.errors import InputError, UnknownNameError, whole_number
from rankloom.io.cache import Arrays, Cache, digest_bytes
from rankloom.rankers.image_features import stamp
from rankloom.rankers.precomputed import RankFile
from rankloom.rankers.ranker import RANKERS, Ranker, UnreadableItemsError
from rankloom.ranks import Ids, Ranks
from rankloom.registry import Call
from rankloom.threads import Progress
from rankloom.version import __version__

DEPTH = 1000
FORMAT = b"ranks 2"  # of what is kept


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """What one ranker gives: the lists of the queries, and of the items where it can rank those.

    Attributes
    ----------
    queries : Ranks
        A row for each query, with names; in a collection without external queries, every item is a query.
    items : Ranks or None
        A row for each item; the same ranks where every item is a query.
    seconds : float
        How long it took, when it was done.
    """

    queries: Ranks
    items: Ranks | None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """A collection with its lists by several rankers.

    Attributes
    ----------
    collection : Collection
        What was ranked: without the items that could not be read.
    lists : {name of the ranker: Lists}
    skipped : {name of an item: why it could not be read}
    """

    collection: Collection
    lists: Mapping[str, Lists]
    skipped: Mapping[str, str] = field(default_factory=dict)

    def summary(self) -> str:
        """Return a line of what was ranked and what was left out, and why."""
        done = f"Ranked {len(self.collection)} items of {self.collection.name} by {', '.join(self.lists)}."
        if not self.skipped:
            return done
        reasons = "".join(f"\n  {name}: {reason}" for name, reason in self.skipped.items())
        return f"{done} Left out {len(self.skipped)} that cannot be read:{reasons}"


def rank_collection(
    collection: Collection,
    rankers: Mapping[str, str | Call | Ranker] | Sequence[str],
    *,
    depth: int = DEPTH,
    items: bool = True,
    cache: Cache | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> Ranking:
    """Rank a collection by several rankers.

    Parameters
    ----------
    rankers : {name: spelling or Ranker}, or sequence of spellings
        A spelling is a name in `RANKERS` with its options, as in ``vectors(metric=l2)``.
    depth : int
        Length of the lists at most.
    items : bool
        Whether the lists of the items are needed besides those of external queries.
    cache : Cache, optional
        Where lists are kept, by the content of the collection, the ranker, depth and version; and what rankers
        know of each item, so that one more item costs little. Lists of rankers given as objects, and of plug-ins
        without ``digest()``, are not kept.
    strict : bool
        Whether an item that cannot be read is an error. Otherwise it is left out of the collection, for all rankers,
        and of its labels and parts: numbers stay aligned, and `Ranking.skipped` says which and why.
    progress : callable, optional

    Examples
    --------
    >>> import numpy as np
    >>> line = Collection("line", Ids(["a", "b", "c"]), {"vectors": np.array([[0], [5], [1]])}, labels=tuple("xyx"))
    >>> ranking = rank_collection(line, {"near": "vectors(metric=l2)"}, depth=2)
    >>> ranking.lists["near"].queries.to_dict()["a"]
    {'a': 0.0, 'c': -1.0}
    """
    named_rankers = rankers if isinstance(rankers, Mapping) else dict.fromkeys(rankers)
    made = {name: _made(ranker or name) for name, ranker in named_rankers.items()}
    for name, (ranker, _) in made.items():
        _check_part(collection, name, ranker.part)
    work = _Work(whole_number("depth", depth), items, cache or Cache(None), progress)
    skipped: dict[str, str] = {}
    while True:  # again without what cannot be read: each round leaves at least one item out
        try:
            known = {part: work.known(collection, part) for part in {ranker.part for ranker, _ in made.values()}}
            lists = {name: work.lists(collection, *one, known[one[0].part]) for name, one in made.items()}
            return Ranking(collection, lists, skipped)
        except UnreadableItemsError as error:
            if strict or not error.reasons or len(error.reasons) == len(collection):
                raise
            skipped |= {collection.ids[number]: reason for number, reason in error.reasons.items()}
            collection = collection.without(error.reasons)
        except InputError as error:
            raise _after_leaving_out(error, skipped) from None


@dataclass(frozen=True, slots=True)
class _Known:
    """What stands for a part of items and queries, and when their files were written."""

    digest: str
    stamps: list[tuple[int, ...] | None]


@dataclass(frozen=True, slots=True)
class _Work:
    """Settings of a ranking."""

    depth: int
    with_items: bool
    cache: Cache
    progress: Progress | None

    def known(self, collection: Collection, part: str) -> _Known | None:
        """Return what stands for a part of items and queries; None where no lists are kept."""
        if self.cache.folder is None or part == "ids":  # names do not say what is in a file of lists
            return None
        try:
            stamps = _stamps(collection, part)  # before the content is read
            asked = "" if collection.queries is None else content_digest(collection.queries.part(part))
            return _Known(content_digest(collection.part(part)) + asked, stamps)
        except InputError:  # what cannot be read, the ranker will say; what has no content is not known again
            return None

    def lists(self, collection: Collection, ranker: Ranker, call: Call | None, known: _Known | None) -> Lists:
        """Return the lists by one ranker; it looks at the items only where something is not kept."""
        part = cast(Sequence[Any], collection.part(ranker.part))
        fitted = lru_cache(lambda: ranker.fit(part, cache=self.cache, progress=self.progress))
        key = _key(ranker, call, None if known is None else known.digest, self.depth)

        def unchanged() -> bool:
            return known is not None and _stamps(collection, ranker.part) == known.stamps

        own, spent = None, 0.0
        if collection.queries is None or (self.with_items and not _lists_queries_only(ranker)):
            own, spent = self._kept(
                key,
                "items",
                lambda: fitted().rank(depth=self.depth, progress=self.progress),
                unchanged,
                (len(collection), len(collection)),
            )
            own = named(own, collection.ids, own.query_ids or collection.ids)
        if collection.queries is None:
            return Lists(cast(Ranks, own), own, spent)
        asked = cast(Sequence[Any], collection.queries.part(ranker.part))
        ranks, more = self._kept(
            key,
            "queries",
            lambda: fitted().rank(queries=asked, depth=self.depth, progress=self.progress),
            unchanged,
            (len(collection.queries.ids), len(collection)),
        )
        return Lists(named(ranks, collection.ids, collection.queries.ids), own, spent + more)

    def _kept(
        self,
        key: str | None,
        kind: str,
        rank: Callable[[], Ranks],
        unchanged: Callable[[], bool],
        shape: tuple[int, int],
    ) -> tuple[Ranks, float]:
        """Return ranks and the seconds they took, those of the first time where they are kept."""
        name = None if key is None else digest_bytes(key.encode(), kind.encode())
        found = None if name is None else _unpacked(self.cache.load(name), shape)
        if found is not None:
            return found
        start = perf_counter()
        ranks = rank()
        seconds = perf_counter() - start
        if name is not None and ranks.item_ids is None and unchanged():
            self.cache.save(name, _packed(ranks, seconds))
        return ranks, seconds


def named(ranks: Ranks, item_ids: Ids, query_ids: Ids) -> Ranks:
    """Return ranks with the names of a collection; a ranker that read names from a file keeps its items."""
    ids = item_ids if ranks.item_ids is None else ranks.item_ids
    if (ranks.n_queries, ranks.n_items) != (len(query_ids), len(ids)):
        raise InputError(
            f"A ranker must give {len(query_ids)} lists over {len(ids)} items; got {ranks.n_queries} over "
            f"{ranks.n_items}. Check it with check_ranker."
        )
    return Ranks.trusted(ranks.items, ranks.scores, ranks.n_items, item_ids=ids, query_ids=query_ids)


def _after_leaving_out(error: InputError, skipped: Mapping[str, str]) -> InputError:
    """Return an error with what was left out before: rows of a file may be one too many for that."""
    if not skipped or type(error) is not InputError:
        return error
    name, reason = next(iter(skipped.items()))
    left = f"{len(skipped)} of the items are left out as they cannot be read, such as {name}: {reason}"
    return InputError(f"{error} {left} Mend them, or remove them and their rows.")


def _stamps(collection: Collection, part: str) -> list[tuple[int, ...] | None]:
    """Return when the files of items and queries were written: pictures are the only ones read later."""
    asked = () if collection.queries is None else collection.queries.part(part)
    return [stamp(item) for items in (collection.part(part), asked) for item in items] if part == "images" else []


def _made(ranker: str | Call | Ranker) -> tuple[Ranker, Call | None]:
    if isinstance(ranker, str):
        ranker = Call.parse(ranker)
    return (RANKERS.make(ranker), ranker) if isinstance(ranker, Call) else (ranker, None)


def _check_part(collection: Collection, name: str, part: str) -> None:
    """Raise where a ranker looks at what the items have not, such as one of texts at pictures."""
    try:
        collection.part(part)
    except UnknownNameError as error:
        raise InputError(f"The ranker {name!r} looks at {part}, and these items have none. {error}") from None


def _lists_queries_only(ranker: Ranker) -> bool:
    """Tell whether it reads a file that, beside external queries, has no lists of the items."""
    return isinstance(ranker, RankFile) and ranker.items is None


def _key(ranker: Ranker, call: Call | None, digest: str | None, depth: int) -> str | None:
    if call is None or digest is None or not (isinstance(ranker, Content) or _of_rankloom(ranker, call.name)):
        return None
    own = ranker.digest() if isinstance(ranker, Content) else ""
    options = [(name, _content(value)) for name, value in call.options]
    settings = repr((call.name, options, own, depth, digest))
    return digest_bytes(FORMAT, __version__.encode(), settings.encode("utf-8", "surrogatepass"))


def _of_rankloom(ranker: Ranker, name: str) -> bool:
    """Tell whether the version of rankloom says all of a ranker's code; a plug-in's changes without it."""
    modules = (type(ranker).__module__, getattr(RANKERS[name], "__module__", ""))
    return all(module.partition(".")[0] == "rankloom" for module in modules)


def _content(value: Any) -> Any:
    """Return what stands for the value of an option: the content of a file that it names, else the value itself."""
    try:
        with Path(value).open("rb") as file:
            return file_digest(file, "sha256").digest()  # bytes: no text is equal to it
    except (OSError, ValueError, TypeError):  # most values are no names of files
        return value


def _packed(ranks: Ranks, seconds: float) -> Arrays:
    arrays: Arrays = {"items": ranks.items, "n_items": np.array(ranks.n_items), "seconds": np.array(seconds)}
    return arrays if ranks.scores is None else {**arrays, "scores": ranks.scores}


def _unpacked(arrays: Arrays | None, shape: tuple[int, int]) -> tuple[Ranks, float] | None:
    if arrays is None:
        return None
    try:
        ranks = Ranks(arrays["items"], arrays.get("scores"), int(arrays["n_items"]))
        found = ranks, float(arrays["seconds"])
    except (KeyError, ValueError, TypeError):  # of other content: it is made again
        return None
    return found if (ranks.n_queries, ranks.n_items) == shape else None
