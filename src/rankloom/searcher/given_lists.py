"""Lists in, list out: the lists of a query come from elsewhere, and are fused by what is known of the items.

Items that the searcher does not know, such as rows that are newer than it, are *guests*: for one search they have the
numbers from n upward, count by the votes of the rankers, and have no neighbors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankloom._kernels import frozen
from rankloom._kernels.weft.arguments import Nearest
from rankloom.errors import InputError, brief, check_choice, is_iterable, text_list
from rankloom.index import Explanation
from rankloom.ranks import PAD, Ids, Ranks
from rankloom.searcher.answering import FusedAnswers, FusionRun
from rankloom.searcher.grown import GrownIndex
from rankloom.searcher.queries import QueryBatch
from rankloom.searcher.request import Request
from rankloom.searcher.state import State
from rankloom.searcher.store import Filter, Mask
from rankloom.threads import Scratch
from rankloom.weft.votes import IN_ORDER, N_NEAREST, Ballots, Voter, cast, nearest_of

NEIGHBORS = ("listed", "all")
COSINE = "cosine"
MAX_SCORE = float(np.finfo(np.float32).max)
Neighbors = Literal["listed", "all"]
Numbers = NDArray[np.intp]
#: Name of a ranker -> ids, or pairs of id and score, best first.
Given = Mapping[str, Iterable[str] | Iterable[tuple[str, float]]]


class WithGuests(Ids):
    """The ids of a searcher, followed by those of guests, without a copy."""

    __slots__ = ("_guests", "_known")

    def __init__(self, known: Ids, guests: Iterable[str]) -> None:
        self._known, self._guests = known, Ids(guests)

    def number(self, id: str, kind: str = "id") -> int:
        """Return the number of an id."""
        if id in self._guests:
            return len(self._known) + self._guests.number(id)
        return self._known.number(id, kind)

    def __getitem__(self, number: int) -> str:
        n = len(self._known)
        return self._known[number] if number < n else self._guests[number - n]

    def __len__(self) -> int:
        return len(self._known) + len(self._guests)

    def __iter__(self) -> Iterator[str]:
        yield from self._known
        yield from self._guests

    def __contains__(self, id: object) -> bool:
        return id in self._guests or id in self._known

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return hash((self._known, self._guests))


@dataclass(frozen=True, eq=False)
class GivenLists:
    """The lists of one query by some rankers, as they were given."""

    ids: WithGuests
    lists: Mapping[str, Ranks]  #: with guests
    complete: frozenset[str]  #: rankers whose lists ended because there was nothing more to list
    cosine: frozenset[str]  #: rankers whose scores are those of the searcher's lists of items, and symmetric

    allowed: Collection[str] | None  #: the ids that may be returned
    neighbors: Neighbors | None  #: whether items that are not listed may be, too

    @classmethod
    def of(
        cls,
        state: State,
        lists: Given,
        complete: Collection[str] | None = None,
        scores: Mapping[str, str] | None = None,
        allowed: Collection[str] | None = None,
        neighbors: Neighbors | None = None,
    ) -> GivenLists:
        """Return checked lists."""
        if state.graphs is not None:
            raise InputError("An index alone has no rankers whose lists could be given; build a searcher.")
        if not isinstance(lists, Mapping) or not lists:
            raise InputError(f"Give lists as {{ranker: [(id, score), ...]}}; got {brief(lists)}.")
        scores = {} if scores is None else scores
        if not isinstance(scores, Mapping):
            raise InputError(f"Give scores as {{ranker: {COSINE!r}}}; got {brief(scores)}.")
        complete = () if complete is None else text_list("complete", complete)
        for name in (*lists, *complete, *scores):
            check_choice("ranker", name, state.retrievers)
        for kind in scores.values():
            check_choice("kind of score", kind, (COSINE,))
        if neighbors is not None:
            check_choice("neighbors", neighbors, NEIGHBORS)
        if isinstance(allowed, str):
            raise InputError(f"allowed must be the ids that may be returned; got {brief(allowed)}.")
        allowed = None if allowed is None else text_list("allowed", allowed)
        parsed = {name: _parsed(name, entries) for name, entries in lists.items()}
        guests = dict.fromkeys(id for entries in parsed.values() for id in entries if id not in state.ids)
        ids = WithGuests(state.ids, guests)
        ranks = {name: _ranks(name, parsed[name], ids, name in complete) for name in state.retrievers if name in parsed}
        return cls(ids, ranks, frozenset(complete), frozenset(scores), allowed, neighbors)

    def query(self, text: object, *others: object) -> QueryBatch:
        """Return the query that the lists are of."""
        if any(other is not None for other in others) or not isinstance(text, str | None):
            raise InputError("Given lists are of one query: give them alone, or with its text.")
        parts = {} if text is None else {"texts": [text]}
        return QueryBatch((text or "lists",), parts, given=frozenset(self.lists), single=True)

    @cached_property
    def items(self) -> Numbers:
        """All listed items, guests last."""
        listed = np.unique(np.concatenate([ranks.items[0] for ranks in self.lists.values()])).astype(np.intp)
        return np.setdiff1d(listed, [PAD])


def _parsed(name: str, entries: Any) -> dict[str, float | None]:
    """Return {id: score} of a list; without scores, its order counts."""
    if isinstance(entries, str | Mapping) or not is_iterable(entries):
        raise InputError(f"The list of {name!r} must be ids, or pairs of id and score; got {brief(entries)}.")
    found: dict[str, float | None] = {}
    for entry in entries:
        pair = (entry, None) if isinstance(entry, str) else tuple(entry) if isinstance(entry, list | tuple) else ()
        if len(pair) != 2 or not isinstance(pair[0], str) or not (isinstance(entry, str) or _is_number(pair[1])):
            raise InputError(
                f"The list of {name!r} must have ids, which are strings, or pairs of id and finite score; got "
                f"{brief(entry)}."
            )
        if pair[0] in found:
            raise InputError(f"The list of {name!r} has {brief(pair[0])} twice; keep its best score.")
        found[pair[0]] = pair[1]
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and bool(-MAX_SCORE <= value <= MAX_SCORE)


def _ranks(name: str, entries: Mapping[str, float | None], ids: Ids, complete: bool) -> Ranks:
    """Return a list as ranks with one row; a complete one ends before its last column."""
    scores = list(entries.values())
    if None in scores and any(score is not None for score in scores):
        raise InputError(f"The list of {name!r} must have scores for all of its ids, or for none.")
    n = len(entries)
    items = np.full((1, n + complete), PAD, np.int32)
    values = np.zeros(items.shape, np.float32)
    items[0, :n] = ids.numbers(entries, "item")
    if n and scores[0] is not None:
        values[0, :n] = scores
        if (np.diff(values[0, :n]) > 0).any():
            raise InputError(f"The scores of {name!r} must not rise: the best item comes first, and higher is better.")
    return Ranks(items, None if n and scores[0] is None else values, len(ids), kind="queries")


@dataclass(frozen=True, eq=False)
class Chosen(Filter):
    """The items that may be returned, guests included."""

    chosen: Mask

    @cached_property
    def allowed(self) -> Mask:
        """Whether each item may be returned."""
        return self.chosen


def chosen(state: State, given: GivenLists, where: Filter | None) -> Chosen | None:
    """Return which items may be returned; None for all.

    Without a filter, only listed items: others might be what the engine's own filter has left out.
    """
    n, unfiltered = len(state), where is None and given.allowed is None
    mask = np.ones(len(given.ids), np.bool_)
    if where is not None:
        mask[:n] = where.allowed  # guests have no fields here
    if given.allowed is not None:
        known = [id for id in given.allowed if id in given.ids]
        mask[np.delete(np.arange(len(mask)), given.ids.numbers(known))] = False
    if given.neighbors == "listed" or (given.neighbors is None and unfiltered):
        listed = np.zeros(len(mask), np.bool_)
        listed[given.items] = True
        mask &= listed
    condition = where.where if where is not None else lambda document: True
    return None if mask.all() else Chosen(condition, state.store, given.ids, mask)


@dataclass(frozen=True, slots=True, eq=False)
class GivenRun(FusionRun):
    """A request with lists from elsewhere."""

    given: GivenLists

    @classmethod
    def of(cls, state: State, queries: QueryBatch, request: Request, given: GivenLists) -> GivenRun:
        """Return the run of a request; guests do not describe the query."""
        known = np.arange(len(state))
        lists = {name: given.lists[name].head(request.depth) for name in request.names}
        described = {name: _among(ranks, known, len(state)) for name, ranks in lists.items()}
        if request.where is not None:
            lists = {name: ranks.among(request.where.numbers) for name, ranks in lists.items()}
        return cls(state, queries, request, described, lists, given)

    @property
    def ids(self) -> Ids:
        """The ids of items and guests."""
        return self.given.ids

    def _ballots(self, index: GrownIndex, found: Ranks) -> Ballots:
        """Return the votes, counted among the items that matter: listed ones, and those of weft's list."""
        there = np.unique(np.concatenate([self.given.items, found.items[0][found.items[0] != PAD]])).astype(np.intp)
        local = Local(there, len(self.given.ids))
        known = there[there < len(self.state)]
        voters = [
            replace(voter, lists=local.ranks(voter.lists), nearest=self._nearest(name, local, known))
            for name, voter in zip(self.lists, self._voters(), strict=True)
        ]
        scratch = Scratch(len(there) + 1)
        fused, items, votes = cast(voters, local.ranks(found), self.request.n, self._rules(), scratch)
        best = Ranks.trusted(local.outside(fused.items), fused.scores, local.n_items, kind="queries")
        return Ballots(best, local.outside(items), votes)

    def _voters(self) -> list[Voter]:
        weights, nobody = self._ranker_weights(), nearest_of(*_EMPTY)
        return [
            Voter(own, nobody, name in self.given.cosine, name in self.given.complete, weights[name])
            for name, own in self.lists.items()
        ]

    def _explained(self, index: Any, query: int, item: int, **options: Any) -> Explanation:
        if item >= len(self.state):
            raise InputError(f"The searcher has no document {self.ids[item]!r}; only vote explains what it lists.")
        return FusionRun._explained(self, index, query, item, **options)  # super() does not know a class with slots

    def _nearest(self, name: str, local: Local, known: Numbers) -> Nearest:
        """Return the lists of the items by a ranker, in local numbers; a guest has one neighbor, of mean closeness."""
        own = self.state.item_lists[name].of_documents(known, self.state.slots)
        near = nearest_of(own.items, own.scores)
        items = np.full((len(local.numbers), near.items.shape[1]), PAD, np.int32)
        scores = np.zeros(items.shape, np.float32)
        items[: len(known)], scores[: len(known)] = local.inside(near.items), near.scores
        if len(known) < len(items):
            listed = np.isin(known, self.given.lists[name].items)
            items[len(known) :, 0] = len(local.numbers)
            scores[len(known) :, 0] = _mean_closeness(items[: len(known)], scores[: len(known)], listed)
        return Nearest(frozen(items), frozen(scores), IN_ORDER)


_EMPTY = (np.empty((0, 0), np.int32), np.empty((0, 0), np.float32))


def _mean_closeness(items: NDArray[np.int32], scores: NDArray[np.float32], listed: Mask) -> float:
    """Return the mean, over the listed items, of the mean score of the 20 nearest of each."""
    means = []
    for number in np.flatnonzero(listed).tolist():
        others = (items[number] != number) & (items[number] != PAD)
        means.append(scores[number][others][:N_NEAREST].mean(dtype=np.float64) if others.any() else 0.0)
    return float(np.mean(means)) if means else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """Consecutive numbers for some items, in their order; all others have the number after the last."""

    numbers: Numbers  #: ascending
    n_items: int  #: of all

    def inside(self, items: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the local numbers of items; PAD stays PAD."""
        found = np.searchsorted(self.numbers, items)
        local = np.where(np.append(self.numbers, PAD)[found] == items, found, len(self.numbers))
        return np.where(items == PAD, PAD, local).astype(np.int32)

    def ranks(self, ranks: Ranks) -> Ranks:
        """Return lists by local numbers."""
        return Ranks.trusted(self.inside(ranks.items), ranks.scores, len(self.numbers) + 1, kind="queries")

    def outside(self, items: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the numbers that items had."""
        return np.append(self.numbers, PAD).astype(np.int32)[items]


def fuse_given(state: State, queries: QueryBatch, request: Request, given: GivenLists) -> FusedAnswers:
    """Return given lists and the neighbors of their items, fused as requested."""
    n = min(request.page.n_fused(len(request.names), request.depth), len(given.ids))
    request = replace(request, n=n, where=chosen(state, given, request.where))
    return GivenRun.of(state, queries, request, given).answers()


def _among(ranks: Ranks, numbers: Numbers, n_items: int) -> Ranks:
    known = ranks.among(numbers)
    return Ranks.trusted(known.items, known.scores, n_items, kind="queries")
