"""Requests to a searcher, checked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankloom.aggregate import METHODS, CollectionMethod, Method
from rankloom.errors import InputError, UnknownNameError, check_choice, is_iterable, text_list
from rankloom.ranks.pool import checked_weights
from rankloom.registry import Call
from rankloom.searcher.page import LIST_DEPTH, Page
from rankloom.searcher.queries import QueryBatch
from rankloom.searcher.state import State
from rankloom.searcher.store import Filter, Where

AUTO = "auto"
VOTERS = ("weft", "vote")  # methods whose weights are not those of lists
INDEXED = (*VOTERS, "fg")  # methods that search an index of the searcher; the others fuse lists
GRAPHS_ONLY = "An index on disk has graphs only: search by its items, or serve the collection itself."

#: A weight for each ranker, by name or in order.
Weights = Mapping[str, float] | Sequence[float]


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A request to a state: which page, by which method, from which rankers and items."""

    page: Page
    n: int  #: number of fused items that it needs
    depth: int  #: how much of each ranker's list is fused: it does not depend on the offset, so pages fit together
    call: Call  #: the method as requested: its options take precedence over those of the searcher
    method: Method | None  #: what fuses the lists; None for a method that searches an index of the searcher
    names: tuple[str, ...]  #: the rankers to fuse: those that accept the queries
    weights: tuple[float, ...] | None = None  #: one for each of them
    where: Filter | None = None  #: the items that may be returned; None for all


def make_request(
    state: State,
    queries: QueryBatch,
    page: Page,
    *,
    method: str | Call | Method = AUTO,
    rankers: Sequence[str] | None = None,
    weights: Weights | None = None,
    where: Where | None = None,
) -> Request:
    """Return a checked request."""
    page = page.checked(state.store)
    chosen = None if rankers is None else text_list("rankers", rankers)
    names = accepting(state, queries, chosen)
    call = _resolved(state, queries, names, method)
    if chosen is None and not queries.given and call.name in VOTERS and "weights" not in dict(call.options):
        names = tuple(name for name in names if name in state.trusted) or names
    checked = _checked_weights(call, names, chosen or tuple(state.retrievers), weights)
    if checked is not None and call.name not in VOTERS:
        call = Call.of(call.name, {**dict(call.options), "weights": checked})
    allowed = None if where is None else Filter.of(where, state.store, state.ids)
    made = _made(call if checked is not None or not isinstance(method, Method) else method, call)
    depth = max(LIST_DEPTH, page.k)
    n = min(page.n_fused(max(len(names), 1), depth), len(state))
    return Request(page, n, depth, call, made, names, checked, allowed)


def _made(method: Call | Method, call: Call) -> Method | None:
    """Return a method that fuses lists; for one that searches an index, check its options."""
    if call.name not in INDEXED:
        return METHODS.make(method)  # type: ignore[no-any-return]
    if call.options:
        METHODS.check(call)
    return None


def accepting(state: State, queries: QueryBatch, chosen: Sequence[str] | None) -> tuple[str, ...]:
    """Return the rankers, of those chosen, that have a list for the queries."""
    for name in (*(chosen or ()), *queries.vectors):
        check_choice("ranker", name, state.retrievers)
    if state.graphs is not None:
        if queries.items is None:
            raise InputError(GRAPHS_ONLY)
        return ()
    if chosen is not None and not chosen:
        raise InputError(f"Choose at least one ranker of {', '.join(state.retrievers)}.")
    known = [name for name in state.retrievers if _accepts(state, name, queries)]
    names = tuple(name for name in known if chosen is None or name in chosen)
    if not names:
        kinds = " or ".join(sorted({*queries.parts, *queries.vectors})) or "these lists"
        advice = f"choose from {', '.join(known)}" if known else "none of this collection does"
        raise InputError(f"None of the rankers ({', '.join(chosen or state.retrievers)}) accepts {kinds}; {advice}.")
    return names


def _accepts(state: State, name: str, queries: QueryBatch) -> bool:
    retriever = state.retrievers[name]
    if queries.given:
        return name in queries.given
    if queries.items is not None or name in queries.vectors:
        return True
    return retriever.answers_external and retriever.part in queries.parts


def method_names(state: State, *, external: bool) -> list[str]:
    """Return the names of the methods that answer external queries, or items."""
    if state.graphs is not None:
        return ["fg"]
    return [AUTO, *(name for name in METHODS if not (external and issubclass(METHODS[name], CollectionMethod)))]


def _resolved(state: State, queries: QueryBatch, names: Sequence[str], method: str | Call | Method) -> Call:
    """Return the method of a search; "auto" is weft for items and for queries that are like items, else vote."""
    if isinstance(method, str) and method == AUTO:
        if state.graphs is not None:
            return Call("fg")
        alike = queries.items is not None or all(state.retrievers[name].traits.comparable for name in names)
        alike = alike and not queries.given
        return Call("weft" if alike else "vote")
    call = method.spelled() if isinstance(method, Method) else Call.given(method, "method")
    if state.graphs is not None and call.name != "fg":
        raise UnknownNameError("method", call.name, method_names(state, external=False))
    if queries.items is None and issubclass(METHODS[call.name], CollectionMethod):
        external = ", ".join(name for name in METHODS if not issubclass(METHODS[name], CollectionMethod))
        raise InputError(f"The method {call.name} does not answer external queries; choose from {external}.")
    return call


def _checked_weights(
    call: Call, names: Sequence[str], weighted: Sequence[str], weights: Weights | None
) -> tuple[float, ...] | None:
    """Return a weight for each ranker that accepts the query, from those of all or of the chosen rankers."""
    if weights is None:
        return None
    if len(set(weighted)) < len(weighted):
        raise InputError(f"Name each ranker once; got {', '.join(weighted)}.")
    if call.name not in VOTERS and "weights" not in METHODS.options(call.name):
        raise InputError(f"The method {call.name} does not use weights; leave them out, or choose vote or combsum.")
    if isinstance(weights, Mapping):
        for name in weights:
            check_choice("ranker", name, weighted)
        weights = [weights.get(name, 1.0) for name in weighted]
    elif isinstance(weights, Sequence | np.ndarray) and is_iterable(weights) and len(weights) == len(names):
        weighted = [name for name in weighted if name in names]  # of those that accept the query, as they were named
    by_name = dict(zip(weighted, checked_weights(weights, len(weighted)), strict=True))
    return tuple(by_name[name] for name in names)
