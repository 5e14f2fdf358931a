"""What an answer shows of the fused list: a page of it, after a second stage, in groups, with counts of fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloom.errors import InputError, UnknownNameError, brief, is_function, text_list, whole_number
from rankloom.ranks import Ids
from rankloom.searcher.store import Document, Store
from rankloom.searcher.where import Value
from rankloom.weft.votes import VOTE_DEPTH, weft_depth

LIST_DEPTH = VOTE_DEPTH  # items of each ranker's list that a method gets, at least
RERANK_DEPTH = 50  # hits that a second stage scores
#: Scores documents for the text of a query, higher is better.
Rerank = Callable[[str, list[Document]], ArrayLike]
#: The number of an item, and its score.
Entry = tuple[int, float | None]


class Facets(dict[str, dict[Value, int]]):
    """How many documents have each value of some fields, the most frequent first: `of` documents were counted."""

    def __init__(self, counts: Mapping[str, dict[Value, int]], of: int) -> None:
        super().__init__(counts)
        self.of = of


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """Which part of the fused list an answer shows, and how."""

    k: int = 10
    offset: int = 0
    group_by: str | None = None
    facets: Sequence[str] = ()
    fields: Sequence[str] | None = None  #: of the documents of hits; None for all
    rerank: Rerank | None = None
    rerank_depth: int = RERANK_DEPTH

    def checked(self, store: Store) -> Page:
        """Return the page, its arguments checked; raise InputError for one that is beyond the lists."""
        k, offset = whole_number("k", self.k), whole_number("offset", self.offset, 0)
        if offset and k + offset > LIST_DEPTH:
            raise InputError(
                f"Pages end at hit {LIST_DEPTH}; got offset {offset} and k {k}. Narrow the search with where, or ask "
                f"for k={k + offset} at once."
            )
        facets = tuple(text_list("facets", self.facets))
        fields = None if self.fields is None else tuple(text_list("fields", self.fields))
        _check_fields(store, facets, self.group_by, fields or ())
        if self.rerank is not None and not is_function(self.rerank):
            raise InputError(f"rerank must be a function of a query and documents; got {brief(self.rerank)}.")
        depth = whole_number("rerank_depth", self.rerank_depth)
        if depth > LIST_DEPTH:
            raise InputError(f"rerank_depth must be at most {LIST_DEPTH}; got {depth}.")
        return Page(k, offset, self.group_by, facets, fields, self.rerank, depth)

    def n_fused(self, n_lists: int, depth: int) -> int:
        """Return how many items of the fused list are needed: for groups all, or as many as there may be in `vote`."""
        n = max(self.k + self.offset, 0 if self.rerank is None else self.rerank_depth)
        return n if self.group_by is None else max(n, n_lists * depth + weft_depth(depth))

    def reranked(self, query: str, fused: Sequence[Entry], store: Store, ids: Ids) -> tuple[list[Entry], list[float]]:
        """Return the fused list with its first items in the order of the second stage, and the scores of these."""
        if self.rerank is None or not fused:
            return list(fused), []
        head = fused[: self.rerank_depth]
        names = [ids[number] for number, _ in head]
        documents = [one or {"id": id} for id, one in zip(names, store.documents(names), strict=True)]
        scores = _numbers(self.rerank(query, documents), len(head))
        order = np.argsort(-scores, kind="stable").tolist()
        return [*(head[at] for at in order), *fused[len(head) :]], scores[order].tolist()

    def groups(self, numbers: Sequence[int], store: Store, ids: Ids) -> list[list[int]]:
        """Return the places of items, by group and in order; an item without the field is a group of its own."""
        if self.group_by is None:
            return [[at] for at in range(len(numbers))]
        found: dict[object, list[int]] = {}
        values = store.values([ids[number] for number in numbers], self.group_by)
        for at, value in enumerate(values):
            found.setdefault(value or at, []).append(at)
        return list(found.values())

    def counted(self, numbers: Iterable[int], store: Store, ids: Ids) -> Facets:
        """Return how many of some items have each value of the facets."""
        known = [ids[number] for number in numbers]
        return Facets({field: _counts(store.values(known, field)) for field in self.facets}, len(known))


def _check_fields(store: Store, facets: Sequence[str], group_by: object, fields: Sequence[str]) -> None:
    names = (*facets, *(() if group_by is None else (group_by,)), *fields)
    types = store.types if names else {}
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"group_by must be the name of a field; got {brief(name)}.")
        if name not in types:
            raise UnknownNameError("field", name, types)
        if types[name].kind == "object" and name not in fields:
            raise InputError(f"The field {name!r} is {types[name].noun}, which cannot be counted or grouped by.")
        if types[name].is_list and name == group_by:
            raise InputError(f"group_by needs a field with one value; {name!r} is {types[name].noun}.")


def _numbers(given: Any, n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the scores of a second stage."""
    try:
        scores = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        scores = np.empty(0)
    if scores.shape != (n,) or not np.isfinite(scores).all():
        raise InputError(f"rerank must return a number for each of {n} documents; got {brief(given)}.")
    return scores


def _counts(values: Iterable[tuple[Value, ...]]) -> dict[Value, int]:
    counts = Counter(value for own in values for value in set(own))
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
