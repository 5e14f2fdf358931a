"""How a searcher answers: lists of the query by each ranker, fused by a method.

Every method gets its lists by one rule: the first 300 items of each ranker that accepts the query (the first k if more
are requested), among the items that the filter allows. The description of a query (the rows of weft,
the graphs of fg) does not depend on the filter; only the result does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from rankloom.aggregate import QueryMethod, fuse
from rankloom.errors import InputError
from rankloom.index import Explanation, Part
from rankloom.ranks import Ids, Ranks
from rankloom.searcher.grown import GrownIndex
from rankloom.searcher.queries import QueryBatch
from rankloom.searcher.request import Request
from rankloom.searcher.retriever import cut
from rankloom.searcher.state import State
from rankloom.searcher.store import Filter, Mask
from rankloom.weft.votes import NEIGHBORS_WEIGHT, Ballots, Rules, Voter, weft_depth
from rankloom.weft.weights import AGREED

DESCRIBED = ("weft", "fg")  # methods that use lists only to describe the query
FUSED_DEPTH = 100  # of the lists of all items by a method that needs the whole collection, at least
SEARCH_OPTIONS = ("neighbors_weight", "virtual", "weights", "symmetric", "exhaustive")  # of weft and vote

Lists = Mapping[str, Ranks]
#: Fused lists, and what explains an item of a query.
Fused = tuple[Ranks, Callable[[int, int], Explanation]]


@dataclass(frozen=True, slots=True, eq=False)
class FusedAnswers:
    """The fused lists of a batch of queries, the rankers' own lists, and how to explain an item of a query."""

    fused: Ranks
    lists: Lists
    explain: Callable[[int, int], Explanation]
    ids: Ids  #: of the items in the lists


def answer(state: State, queries: QueryBatch, request: Request) -> FusedAnswers:
    """Return the answers to a batch of queries."""
    queries = encoded(state, queries, request.names)
    described = query_lists(state, queries, request.names, request.depth)
    lists, where = described, request.where
    if where is not None and request.call.name in DESCRIBED:
        lists = {name: ranks.among(where.numbers) for name, ranks in described.items()}
    elif where is not None:
        lists = query_lists(state, queries, request.names, request.depth, where)
    return FusionRun(state, queries, request, described, lists).answers()


def encoded(state: State, queries: QueryBatch, names: Sequence[str]) -> QueryBatch:
    """Return external queries as the retrievers of some rankers take them, so that each is encoded only once."""
    if queries.items is not None:
        return queries
    ready = {**queries.vectors, **queries.encoded}
    for name in names:
        if name not in ready:
            retriever = state.retrievers[name]
            ready[name] = retriever.encoded(queries.parts[retriever.part])
    return replace(queries, encoded=ready)


def query_lists(
    state: State, queries: QueryBatch, names: Sequence[str], depth: int, where: Filter | None = None
) -> dict[str, Ranks]:
    """Return the lists of encoded queries by each ranker, of the allowed items only."""
    depth = min(depth, max(len(state), 1))
    if queries.items is None:
        of = {name: state.retrievers[name].lists for name in names}
        return {name: of[name](queries.encoded[name], depth, where, exact=queries.exact) for name in names}
    return {name: _item_lists(state, name, queries, depth, where) for name in names}


def _item_lists(state: State, name: str, queries: QueryBatch, depth: int, where: Filter | None) -> Ranks:
    """Return the lists of items: the stored ones, if they are deep enough."""
    assert queries.items is not None
    stored, retriever = state.item_lists[name], state.retrievers[name]
    if where is None and (depth <= stored.width or not retriever.ranks_items):
        return cut(stored.of_documents(queries.items, state.slots), depth)
    return retriever.item_lists(queries.items, depth, where)


@dataclass(frozen=True, slots=True, eq=False)
class FusionRun:
    """A request with its lists: `described` are those of the queries, `lists` have only allowed items."""

    state: State
    queries: QueryBatch
    request: Request
    described: Lists
    lists: Lists

    def answers(self) -> FusedAnswers:
        """Return the answers of the method that the request names."""
        by_index = {"weft": self._by_weft, "vote": self._by_vote, "fg": self._by_graphs}
        fused, explain = by_index.get(self.request.call.name, self._by_lists)()
        where = self.request.where
        return FusedAnswers(fused, self.lists, explain if where is None else _explaining(explain, where), self.ids)

    @property
    def ids(self) -> Ids:
        """The ids of the items in the lists."""
        return self.state.ids

    def _by_weft(self) -> Fused:
        index, weights = self._weft(), self._weights()
        found = self._search(index, self.request.n, self._options().get("virtual"), weights=weights)
        return found, partial(self._explained, index, weights=weights)

    def _by_vote(self) -> Fused:
        ballots = self._ballots(*self._vote_list())

        def explain(query: int, item: int) -> Explanation:
            *votes, ours = ballots.of(query, item)
            parts = [
                Part("vote", item, item, f"{name} lists it", 0.0, 0.0, vote, name)
                for name, vote in zip(self.lists, votes, strict=True)
                if vote > 0
            ]
            parts += _scaled(self._explained(self._weft(), query, item), ours) if ours > 0 else []
            parts.sort(key=lambda part: -part.contribution)
            total = sum(part.contribution for part in parts)
            return Explanation(self.queries.labels[query], self.ids[item], "vote", total, tuple(parts))

        return ballots.fused, explain

    def _ballots(self, index: GrownIndex, found: Ranks) -> Ballots:
        """Return the votes of each ranker and of weft."""
        return index.ballots(self._voters(), found, self.request.n, self._rules())

    def _voters(self) -> list[Voter]:
        voters, weights = [], self._ranker_weights()
        for name, own in self.lists.items():
            by, nearest = self.state.retrievers[name].traits, self.state.nearest(name, self.lists.values())
            voters.append(Voter(own, nearest, by.symmetric, by.exhaustive, weights[name]))
        return voters

    def _ranker_weights(self) -> dict[str, float]:
        """Return the weight of each ranker: that of the request, times that of the self-test."""
        guard, names = self.state.settings.guard, list(self.lists)
        guarded = dict.fromkeys(names, 1.0) if guard is None else guard.weights(names)
        weights = self._weights() or [1.0] * len(names)
        return {name: weight * guarded[name] for name, weight in zip(names, weights, strict=True)}

    def _rules(self) -> Rules:
        where = self.request.where
        n_items = len(self.ids) if where is None else len(where.numbers)
        return Rules(self._options().get("neighbors_weight", NEIGHBORS_WEIGHT), n_items)

    def _by_graphs(self) -> Fused:
        options = self._options()
        virtual, comparator = options.pop("virtual", None), options.pop("comparator", None)
        index = self.state.fusion_graphs(self.request.names, tuple(options.items()))
        found = self._search(index, self.request.n, virtual, comparator=comparator)
        return found, partial(self._explained, index, comparator=comparator)

    def _by_lists(self) -> Fused:
        method, n, where = self.request.method, self.request.n, self.request.where
        assert method is not None
        needs_items = not isinstance(method, QueryMethod)
        if not needs_items:
            fused = fuse(list(self.lists.values()), method, n)
        elif self.queries.items is not None:
            k = max(n, FUSED_DEPTH) if where is None else len(self.state)
            fused = self.state.fused(method, self.request.names, k).rows(self.queries.items)
        else:
            collection = [self.state.lists[name] for name in self.request.names]
            k = n if where is None else len(self.state)
            fused = fuse(list(self.described.values()), method, k, collection=collection)
        if needs_items and where is not None:
            fused = fused.among(where.numbers)
        return fused.head(n), self._no_explanation

    def _weft(self) -> GrownIndex:
        options = {name: value for name, value in self._options().items() if name not in SEARCH_OPTIONS}
        agreed = {"weights": AGREED} if self._options().get("weights") == AGREED else {}
        return self.state.weft(self.request.names, tuple({**options, **agreed}.items()))

    def _vote_list(self) -> tuple[GrownIndex, Ranks]:
        """Return weft's index, and its list for a vote."""
        index = self._weft()
        if self.queries.items is not None:
            return index, self._search(index, weft_depth(self.request.depth), None)
        return index, index.vote_list(list(self.described.values()), self.request.depth, allowed=self._allowed())

    def _allowed(self) -> Mask | None:
        """Return which items of the index may be returned."""
        where = self.request.where
        return None if where is None else where.allowed[: len(self.state)]

    def _weights(self) -> Sequence[float] | None:
        """Return the weights of the rankers: those of the request, or the numbers that the method is spelled with."""
        spelled = self._options().get("weights")
        return self.request.weights or (None if spelled == AGREED else spelled)

    def _search(self, index: Any, n: int, virtual: bool | None, **options: Any) -> Ranks:
        options |= {"k": n, "allowed": self._allowed()}
        if self.queries.items is None:
            return cut(index.search(list(self.described.values()), virtual=virtual, **options), n)
        different, rows = np.unique(self.queries.items, return_inverse=True)
        return cut(index.search(items=different.tolist(), **options), n, rows)

    def _explained(self, index: Any, query: int, item: int, **options: Any) -> Explanation:
        virtual = None if self.queries.items is not None else self._options().get("virtual")
        why: Explanation = index.explain(self._query(query), item, virtual=virtual, **options)
        return why

    def _options(self) -> dict[str, Any]:
        return dict(self.request.call.options)

    def _query(self, query: int) -> int | list[Ranks]:
        """Return a query as `explain` takes it: the number of an item, or the lists of an external query."""
        if self.queries.items is not None:
            return int(self.queries.items[query])
        return [ranks.rows([query]) for ranks in self.described.values()]

    def _no_explanation(self, query: int, item: int) -> Explanation:
        raise InputError(
            f"Answers of {self.request.call} have no explanation that adds up; search by vote, weft or fg."
        )


def _explaining(explain: Callable[[int, int], Explanation], where: Filter) -> Callable[[int, int], Explanation]:
    """Return explanations that name no item which a filter excludes."""

    def visible(query: int, item: int) -> Explanation:
        if not where.allowed[item]:
            raise InputError(f"The document {where.ids[item]!r} does not satisfy where; explain one that does.")
        why = explain(query, item)
        shown = [part for part in why.parts if where.allowed[part.source] and where.allowed[part.target]]
        if len(shown) < len(why.parts):
            rest = sum(part.contribution for part in why.parts) - sum(part.contribution for part in shown)
            shown.append(Part("hidden", item, item, "documents that the filter excludes", 0.0, 0.0, rest))
        return replace(why, parts=tuple(sorted(shown, key=lambda part: -part.contribution)))

    return visible


def _scaled(why: Explanation, vote: float) -> list[Part]:
    """Return weft's vote for an item, by the neighbors it comes from."""
    scale = vote / why.similarity
    return [replace(part, contribution=scaled) for part in why.parts if (scaled := part.contribution * scale) > 0]
