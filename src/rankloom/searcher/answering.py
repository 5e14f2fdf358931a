"""How a searcher answers: lists of the query by each ranker, fused by a method.

Every method gets its lists by one rule: the first 100 items of each ranker that accepts the query (the first k if more
are requested), among the items that the filter allows. The description of a query (the rows of weft, the graphs of fg)
does not depend on the filter; only the result does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.aggregate import METHODS, WeftIndex, fuse
from rankloom.aggregate.per_query.pool import checked_weights
from rankloom.errors import InputError, UnknownNameError, text_list
from rankloom.fusion_graph import Explanation, FusionIndex
from rankloom.fusion_graph.graph import Part
from rankloom.rankers import is_comparable, is_updatable
from rankloom.ranks import Ranks
from rankloom.registry import Call
from rankloom.searcher.queries import QueryBatch
from rankloom.searcher.state import Model, State
from rankloom.weft.votes import VOTE_DEPTH, add_votes, count_votes, vote_weights

LIST_DEPTH = VOTE_DEPTH  # items of each ranker's list that a method gets, at least
AUTO = "auto"
SHARE = 0.2  # weft's share of the votes
DESCRIBED = ("weft", "fg")  # methods that use lists only to describe the query
VOTERS = ("weft", "vote")  # methods whose weights are those of the index and of the votes

Mask = NDArray[np.bool_]
Lists = Mapping[str, Ranks]


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A request to a state: how many answers, by which method, from which rankers and items.

    Attributes
    ----------
    n : int
        Number of answers, counting those that an offset skips.
    depth : int
        How much of each ranker's list is fused: it does not depend on the offset, so pages fit together.
    method : Call
    names : tuple of str
        The rankers to fuse: those that accept the queries.
    weights : tuple of float, or None
        One for each of them.
    allowed : bool array or None
        The items that may be returned; None for all.
    """

    n: int
    depth: int
    method: Call
    names: tuple[str, ...]
    weights: tuple[float, ...] | None = None
    allowed: Mask | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The fused lists of a batch of queries, the rankers' own lists, and how to explain an item of a query."""

    fused: Ranks
    lists: Lists
    explain: Callable[[int, int], Explanation]


def accepting(state: State, queries: QueryBatch, chosen: Sequence[str] | None) -> tuple[str, ...]:
    """Return the rankers, of those chosen, that have a list for the queries."""
    chosen = None if chosen is None else text_list("rankers", chosen)
    for name in (*(chosen or ()), *queries.vectors):
        if name not in state.models:
            raise UnknownNameError("ranker", name, state.models)
    if chosen is not None and not chosen:
        raise InputError(f"Choose at least one ranker of {', '.join(state.models)}.")
    known = [name for name, model in state.models.items() if _accepts(name, model, queries)]
    names = tuple(name for name in known if chosen is None or name in chosen)
    if not names:
        kinds = " or ".join(sorted({*queries.parts, *queries.vectors}))
        advice = f"choose from {', '.join(known)}" if known else "none of this collection does"
        raise InputError(f"None of the rankers ({', '.join(chosen or state.models)}) accepts {kinds}; {advice}.")
    return names


def _accepts(name: str, model: Model, queries: QueryBatch) -> bool:
    if queries.items is not None or name in queries.vectors:
        return True
    if getattr(model.ranker, "encode", True) is None:  # opened without its encoder
        return False
    if model.part == "ids" and not getattr(model.ranker, "has_queries", False):
        return False
    return model.part in queries.parts


def resolved(state: State, queries: QueryBatch, names: Sequence[str], method: str | Call) -> Call:
    """Return the method of a search; "auto" is weft for items and for queries that are like items, else vote."""
    if not isinstance(method, str) or method != AUTO:
        call: Call = METHODS.checked(method)
        entry = METHODS[call.name]
        if queries.items is None and not entry.answers_external:
            external = ", ".join(name for name in METHODS if METHODS[name].answers_external)
            raise InputError(f"The method {call.name} does not answer external queries; choose from {external}.")
        return call
    alike = queries.items is not None or all(is_comparable(state.models[name].ranker) for name in names)
    return Call("weft" if alike else "vote")


def request(
    state: State,
    queries: QueryBatch,
    k: int,
    offset: int = 0,
    *,
    method: str | Call = AUTO,
    rankers: Sequence[str] | None = None,
    weights: Mapping[str, float] | Sequence[float] | None = None,
    allowed: Mask | None = None,
) -> Request:
    """Return a checked request."""
    rankers = None if rankers is None else text_list("rankers", rankers)
    names = accepting(state, queries, rankers)
    call = resolved(state, queries, names, method)
    checked = _weights(call, names, rankers or tuple(state.models), weights)
    if checked is not None and call.name not in VOTERS:
        call = Call.of(call.name, {**dict(call.options), "weights": checked})
    return Request(min(k + offset, len(state)), max(LIST_DEPTH, k), call, names, checked, allowed)


def _weights(
    call: Call, names: Sequence[str], given_for: Sequence[str], weights: Mapping[str, float] | Sequence[float] | None
) -> tuple[float, ...] | None:
    """Return a weight for each ranker that accepts the query, from those of all or of the chosen rankers."""
    if weights is None:
        return None
    if len(set(given_for)) < len(given_for):
        raise InputError(f"Name each ranker once; got {', '.join(given_for)}.")
    if call.name not in VOTERS and "weights" not in METHODS[call.name].options():
        raise InputError(f"The method {call.name} does not use weights; leave them out, or choose vote or combsum.")
    if isinstance(weights, Mapping):
        unknown = next((name for name in weights if name not in given_for), None)
        if unknown is not None:
            raise UnknownNameError("ranker", unknown, given_for)
        weights = [weights.get(name, 1.0) for name in given_for]
    elif isinstance(weights, Sequence | np.ndarray) and len(weights) == len(names):  # of those that accept the query
        given_for = names
    by_name = dict(zip(given_for, checked_weights(weights, len(given_for)), strict=True))
    return tuple(by_name[name] for name in names)


def answer(state: State, queries: QueryBatch, request: Request) -> Found:
    """Return the answers to a batch of queries."""
    queries = encoded(state, queries, request.names)
    plain = query_lists(state, queries, request.names, request.depth)
    lists = plain
    if request.allowed is not None and request.method.name not in DESCRIBED:
        lists = query_lists(state, queries, request.names, request.depth, request.allowed)
    work = _Work(state, queries, request, plain, lists)
    by_index = {"weft": work.weft, "vote": work.vote, "fg": work.fg}
    return by_index.get(request.method.name, work.other)()


def encoded(state: State, queries: QueryBatch, names: Sequence[str]) -> QueryBatch:
    """Return queries with their vectors for rankers that compare vectors, so that each is encoded only once."""
    vectors = dict(queries.vectors)
    for name in names:
        model = state.models[name]
        fitted: Any = model.fitted
        if queries.items is None and name not in vectors and hasattr(fitted, "rank_vectors"):
            vectors[name] = fitted.source.query_vectors(queries.parts[model.part], cache=fitted.cache)
    return replace(queries, vectors=vectors)


def query_lists(
    state: State, queries: QueryBatch, names: Sequence[str], depth: int, allowed: Mask | None = None
) -> dict[str, Ranks]:
    """Return the lists of queries by each ranker, of the allowed items only."""
    depth = min(depth, max(len(state), 1))
    return {name: _ranked(state, name, queries, depth, allowed) for name in names}


def _ranked(state: State, name: str, queries: QueryBatch, depth: int, allowed: Mask | None) -> Ranks:
    model = state.models[name]
    fitted: Any = model.fitted
    if queries.items is not None:
        return _item_lists(state, name, queries.items, depth, allowed)
    if name in queries.vectors:
        if not hasattr(fitted, "rank_vectors"):
            raise InputError(f"The ranker {name!r} does not compare vectors; give a text or an image.")
        found = fitted.rank_vectors(queries.vectors[name], depth=depth, allowed=allowed)
    elif allowed is None or is_updatable(fitted):
        masked = {} if allowed is None else {"allowed": allowed}
        found = fitted.rank(queries=queries.parts[model.part], depth=depth, **masked)
    else:
        found = fitted.rank(queries=queries.parts[model.part], depth=len(state)).among(np.flatnonzero(allowed))
    return Ranks.trusted(found.items[:, :depth], _cut(found.scores, depth), len(state), kind="queries")


def _item_lists(state: State, name: str, rows: NDArray[np.intp], depth: int, allowed: Mask | None) -> Ranks:
    stored = state.lists[name]
    fitted: Any = state.models[name].fitted
    if allowed is None and (depth <= stored.depth or not is_updatable(fitted)):
        return Ranks.trusted(stored.items[rows, :depth], _cut(stored.scores, depth, rows), len(state), kind="queries")
    if not is_updatable(fitted):
        raise InputError(f"The ranker {name!r} cannot filter the lists of items; search without where.")
    among = None if allowed is None else np.flatnonzero(allowed)
    found: Ranks = fitted.rank_items(rows, depth=depth, among=among)
    return found


def _cut(scores: NDArray[np.float32] | None, depth: int, rows: Any = slice(None)) -> NDArray[np.float32] | None:
    return None if scores is None else scores[rows, :depth]


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """A request with its lists: `plain` describe the queries, `lists` have only allowed items."""

    state: State
    queries: QueryBatch
    request: Request
    plain: Lists
    lists: Lists

    def weft(self) -> Found:
        index, found = self._weft(self.request.n)
        return Found(found, self.lists, lambda query, item: self._explained(index, query, item))

    def vote(self) -> Found:
        depth = max(self.request.depth, VOTE_DEPTH)
        index, found = self._weft(max(self.request.n, depth))
        share = self._options().get("share", SHARE)
        voters = list(self.lists.values())
        fused = add_votes(voters, found, self.request.n, share, self.request.weights, depth=depth)
        if share == 1:
            return Found(fused, self.lists, lambda query, item: self._explained(index, query, item))
        weights = vote_weights(len(voters), share, self.request.weights)

        def explain(query: int, item: int) -> Explanation:
            votes = [_vote([*voters, found], weights, at, query, item, depth) for at in range(len(weights))]
            by_ranker = dict(zip(self.lists, votes, strict=False))
            return _explained_vote(
                by_ranker, votes[-1], self._label(query), self.state, item, self._explained(index, query, item)
            )

        return Found(fused, self.lists, explain)

    def fg(self) -> Found:
        options = self._options()
        virtual, comparator = options.pop("virtual", None), options.pop("comparator", None)
        index: FusionIndex = self.state.fusion_graphs(self.request.names, tuple(options.items()))
        found = self._search(index, self.request.n, virtual, comparator=comparator)
        return Found(found, self.lists, lambda query, item: self._explained(index, query, item, comparator=comparator))

    def _explained(self, index: Any, query: int, item: int, **options: Any) -> Explanation:
        virtual = None if self.queries.items is not None else self._options().get("virtual")
        why: Explanation = index.explain(self._asked(query), item, virtual=virtual, **options)
        return why

    def other(self) -> Found:
        method, n = self.request.method, self.request.n
        entry = METHODS[method.name]
        if entry.needs == "queries":
            fused = fuse(list(self.lists.values()), method, n)
        elif self.queries.items is not None:
            fused = self._of_collection(method, n)
        else:
            collection = [self.state.lists[name] for name in self.request.names]
            whole = n if self.request.allowed is None else len(self.state)
            fused = fuse(list(self.plain.values()), method, whole, collection=collection)
        if entry.needs != "queries" and self.request.allowed is not None:
            fused = fused.among(np.flatnonzero(self.request.allowed))
        return Found(fused.head(n), self.lists, self._no_explanation)

    def _of_collection(self, method: Call, n: int) -> Ranks:
        k = max(n, LIST_DEPTH) if self.request.allowed is None else len(self.state)
        return self.state.fused(method, self.request.names, k).rows(np.asarray(self.queries.items))

    def _weft(self, n: int) -> tuple[WeftIndex, Ranks]:
        options = self._options()
        options.pop("share", None)
        virtual = options.pop("virtual", None)
        weights = {} if self.request.weights is None else {"weights": self.request.weights}
        index = self.state.weft(self.request.names, tuple({**options, **weights}.items()))
        return index, self._search(index, n, virtual)

    def _search(self, index: Any, n: int, virtual: bool | None, **options: Any) -> Ranks:
        found: Ranks
        options |= {"k": n, "allowed": self.request.allowed}
        if self.queries.items is not None:
            different, rows = np.unique(self.queries.items, return_inverse=True)
            found = found_rows(index.search(items=different.tolist(), **options), rows)
        else:
            found = index.search(list(self.plain.values()), virtual=virtual, **options)
        return Ranks.trusted(found.items, found.scores, found.n_items, kind="queries")

    def _options(self) -> dict[str, Any]:
        return dict(self.request.method.options)

    def _asked(self, query: int) -> Any:
        """Return a query as `explain` takes it: the number of an item, or the lists of an external query."""
        if self.queries.items is not None:
            return int(self.queries.items[query])
        return [ranks.rows([query]) for ranks in self.plain.values()]

    def _label(self, query: int) -> str:
        return self.queries.labels[query]

    def _no_explanation(self, query: int, item: int) -> Explanation:
        raise InputError(
            f"Answers of {self.request.method} have no explanation that adds up; search by vote, weft or fg."
        )


def _vote(ballots: Sequence[Ranks], weights: Sequence[float], at: int, query: int, item: int, depth: int) -> float:
    """Return what one voter adds to the score of an item: its votes, counted alone."""
    rows = [ranks.rows([query]) for ranks in ballots]
    alone = count_votes(
        rows, [weight if n == at else 0.0 for n, weight in enumerate(weights)], len(ballots) * depth, depth=depth
    )
    column = np.flatnonzero(alone.items[0] == item)
    return float(alone.scores[0, column[0]]) if len(column) and alone.scores is not None else 0.0


def _explained_vote(
    by_ranker: Mapping[str, float], by_weft: float, query: str, state: State, item: int, weft: Explanation
) -> Explanation:
    """Return the votes for an item, one part for each ranker, and weft's vote by the neighbors it comes from."""
    votes = [
        Part("vote", item, item, f"{name} lists it", 0.0, 0.0, vote, name)
        for name, vote in by_ranker.items()
        if vote > 0
    ]
    scale = by_weft / weft.similarity if weft.similarity > 0 else 0.0
    through = [replace(part, contribution=scaled) for part in weft.parts if (scaled := part.contribution * scale) > 0]
    parts = sorted([*votes, *through], key=lambda part: -part.contribution)
    total = sum(part.contribution for part in parts)
    return Explanation(query, state.documents.ids[item], "vote", total, tuple(parts))


def found_rows(ranks: Ranks, rows: NDArray[np.intp]) -> Ranks:
    """Return the lists of some queries, in this order; a query may be repeated."""
    scores = None if ranks.scores is None else ranks.scores[rows]
    return Ranks.trusted(ranks.items[rows], scores, ranks.n_items)


def found_items(ranks: Ranks, query: int) -> Ranks:
    """Return the list of one query, as one row."""
    scores = None if ranks.scores is None else ranks.scores[query : query + 1]
    return Ranks.trusted(ranks.items[query : query + 1], scores, ranks.n_items)
