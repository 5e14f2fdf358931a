"""Alignment of several rankers to a common numbering of items and queries."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Literal, TypeVar, get_args

import numpy as np

from rankloom.errors import InputError, brief, check_choice, is_iterable
from rankloom.ranks import PAD, Ids, Ranks
from rankloom.ranks.lists import Lists

#: The ranks of several rankers, in order or by name.
RankerLists = Sequence[Ranks] | Mapping[str, Ranks]
T = TypeVar("T")
#: How to treat a query that some rankers have no list for.
Missing = Literal["error", "drop", "empty"]


class AlignedRanks(tuple[Ranks, ...]):
    """Ranks with a common numbering of items and queries, as returned by `align`; aligning them again is free."""


class CollectionRanks(AlignedRanks):
    """Aligned ranks in which row i is item i's list, as returned by `align_collection`."""


def align(ranks: Sequence[Ranks], *, missing: Missing = "error") -> AlignedRanks:
    """Return the ranks of several rankers with a common numbering of items and queries.

    Ranks with ids are matched by id: the items are the union, in order of appearance, and so are the queries.
    Ranks without ids must agree in `n_items` and in the number of rows. If only some have ids, those ids must be
    equal, and the other ranks are assumed to be in the same order.

    Parameters
    ----------
    missing : {"error", "drop", "empty"}
        How to treat a query that some ranker has no list for: raise an error, drop the query, or use an empty list.
        Dropping every query is an error.

    Examples
    --------
    >>> text = Ranks.from_dict({"q1": ["a", "b"], "q2": ["b"]})
    >>> image = Ranks.from_dict({"q1": ["b", "c"]})
    >>> [r.to_dict() for r in align([text, image], missing="drop")]
    [{'q1': {'a': 1.0, 'b': 0.5}}, {'q1': {'b': 1.0, 'c': 0.5}}]
    """
    if isinstance(ranks, AlignedRanks):
        return ranks
    given = checked_ranks(ranks)
    if {"collection", "queries"} <= {r.kind for r in given}:
        raise InputError(
            "Some of these ranks are lists of the collection's items and some are lists of queries, so that rows with "
            "equal ids are not about the same thing. Give ranks of one kind."
        )
    check_choice("missing policy", missing, get_args(Missing))
    return AlignedRanks(_numbered_alike(given, missing))


def align_collection(ranks: Sequence[Ranks]) -> CollectionRanks:
    """Return the collection ranks of several rankers with a common numbering: row i of each is item i's list.

    Rows are matched to items by id (`Ranks.as_collection`). An item that a ranker has no list for gets an empty one.
    """
    if isinstance(ranks, CollectionRanks):
        return ranks
    aligned = _numbered_alike([r.as_collection() for r in checked_ranks(ranks)], "empty")
    return CollectionRanks(r.replaced(kind="collection") for r in aligned)


def checked_ranks(ranks: Sequence[Ranks | Lists]) -> list[Ranks]:
    """Return the ranks of several rankers, at least one; lists in dicts become Ranks."""
    if not is_iterable(ranks) or isinstance(ranks, Ranks | Mapping | str):
        raise InputError(f"Give a list of Ranks, one for each ranker; got {type(ranks).__name__}.")
    given = [Ranks.from_dict(r) if isinstance(r, Mapping) else r for r in ranks]
    odd = [r for r in given if not isinstance(r, Ranks)]
    if odd:
        raise InputError(
            f"Give a list of Ranks, one for each ranker; got a {type(odd[0]).__name__} in it. Convert a data frame "
            "with rankloom.io.from_frame, an array with Ranks."
        )
    if not given:
        raise InputError("There are no ranks to fuse; give one Ranks for each ranker.")
    return given


def split_names(ranks: Sequence[T] | Mapping[str, T]) -> tuple[tuple[str, ...], Sequence[T]]:
    """Return the names of rankers, () unless given as ``{name: Ranks}``, and their ranks or whatever else is given."""
    if isinstance(ranks, str | bytes) or not is_iterable(ranks):
        raise InputError(f"Give a list of Ranks, one for each ranker; got {type(ranks).__name__}.")
    if not isinstance(ranks, Mapping):
        return (), ranks if isinstance(ranks, Sequence) else list(ranks)
    odd = next((name for name in ranks if not isinstance(name, str) or not name), None)
    if odd is not None:
        raise InputError(f"Rankers must be named by strings; got {brief(odd)}.")
    return tuple(ranks), list(ranks.values())


def by_name(ranks: RankerLists, names: Sequence[str]) -> Sequence[Ranks]:
    """Return the ranks of rankers in the order of `names`; a sequence is taken to be in that order."""
    given, lists = split_names(ranks)
    if not given:
        return lists
    if not names:
        raise InputError("The rankers of the collection have no names; give the queries as a list, in the same order.")
    for name in (*given, *names):
        if name not in names or name not in given:
            wrong = "is unknown" if name not in names else "has no lists"
            raise InputError(f"The ranker {name!r} {wrong}; expected {', '.join(names)}, got {', '.join(given)}.")
    return [lists[given.index(name)] for name in names]


def with_lists(ranks: Sequence[Ranks]) -> list[Ranks]:
    """Return the rankers that have any list, or the first one if none has: the others do not affect the result."""
    return [r for r in ranks if (r.items != PAD).any()] or list(ranks[:1])


def _numbered_alike(ranks: Sequence[Ranks], missing: Missing) -> list[Ranks]:
    return _aligned_queries(_aligned_items(ranks), missing)


def _aligned_items(ranks: Sequence[Ranks]) -> list[Ranks]:
    known = [r.item_ids for r in ranks if r.item_ids is not None]
    if len(known) < len(ranks):
        _check_same({r.n_items for r in ranks}, known, "items")
        return [r.replaced(item_ids=known[0]) for r in ranks] if known else list(ranks)
    common = reduce(Ids.union, known)
    return [r.renumbered(common) for r in ranks]


def _aligned_queries(ranks: list[Ranks], missing: Missing) -> list[Ranks]:
    known = [r.query_ids for r in ranks if r.query_ids is not None]
    if len(known) < len(ranks):
        _check_same({r.n_queries for r in ranks}, known, "queries")
        return [r.replaced(query_ids=known[0]) for r in ranks] if known else ranks
    if all(ids == known[0] for ids in known):
        return ranks
    queries = Ids(_common_queries(known, missing))
    return [
        r.spread(np.array([ids.number(query) if query in ids else PAD for query in queries], np.intp), queries)
        for r, ids in zip(ranks, known, strict=True)
    ]


def _check_same(counts: set[int], known: Sequence[Ids], what: str) -> None:
    """Raise InputError unless rows or items without ids can be matched by number."""
    ids = "item_ids" if what == "items" else "query_ids"
    if len(counts) > 1:
        shown = ", ".join(map(str, sorted(counts)))
        raise InputError(
            f"The ranks have different numbers of {what}: {shown}. Give {ids} to all of them, to match by id."
        )
    if any(other != known[0] for other in known[1:]):
        raise InputError(f"Some ranks have different {ids} and some have none. Give {ids} to all of them.")


def _common_queries(known: Sequence[Ids], missing: Missing) -> list[str]:
    queries = list(dict.fromkeys(query for ids in known for query in ids))
    gaps = [(query, ranker) for query in queries for ranker, ids in enumerate(known, 1) if query not in ids]
    if missing == "empty" or not gaps:
        return queries
    if missing == "error":
        raise InputError(
            f"Query {gaps[0][0]!r} has no list from ranker {gaps[0][1]} (missing lists: {len(gaps)}). "
            "Choose missing='drop' to leave such queries out, or missing='empty' to fuse the lists there are."
        )
    dropped = {query for query, _ in gaps}
    common = [query for query in queries if query not in dropped]
    if not common:
        raise InputError(f"No query has a list from every ranker; the first of {len(queries)} is {queries[0]!r}.")
    return common
