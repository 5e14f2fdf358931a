"""The ranks of several rankers brought to one numbering of items and of queries."""

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import numpy as np

from rankloom.errors import InputError, check_choice
from rankloom.ranks import PAD, Ids, Ranks

#: What to do with a query that some rankers have no list for.
Missing = Literal["error", "drop", "empty"]


class AlignedRanks(list[Ranks]):
    """Ranks over one numbering of items and one of queries, as `align` returns them; to align them again is free."""


class CollectionRanks(AlignedRanks):
    """Aligned ranks in which row i is item i's list, as `align_collection` returns them."""


def align(ranks: Sequence[Ranks], *, missing: Missing = "error") -> AlignedRanks:
    """Return the ranks of several rankers over one numbering of items and one of queries.

    Ranks with names are matched by name: items are the union, in the order first met, and so are queries.
    Ranks without names must agree in `n_items` and in the number of rows. Where only some have names, these
    must agree among themselves, and the others are taken to be in their order.

    Parameters
    ----------
    missing : {"error", "drop", "empty"}
        A query that some ranker has no list for: an error that names it, left out, or an empty list there.
        To drop every query is an error.

    Examples
    --------
    >>> text = Ranks.from_dict({"q1": ["a", "b"], "q2": ["b"]})
    >>> image = Ranks.from_dict({"q1": ["b", "c"]})
    >>> [r.to_dict() for r in align([text, image], missing="drop")]
    [{'q1': {'a': 1.0, 'b': 0.5}}, {'q1': {'b': 1.0, 'c': 0.5}}]
    """
    if isinstance(ranks, AlignedRanks):
        return ranks
    check_ranks(ranks)
    check_choice("missing policy", missing, get_args(Missing))
    return AlignedRanks(_aligned_queries(_aligned_items(ranks), missing))


def align_collection(ranks: Sequence[Ranks]) -> CollectionRanks:
    """Return collection ranks of several rankers over one numbering: row i is item i's list by each.

    Rows are matched to items by name (`Ranks.as_collection`). An item that a ranker has no list for has an empty
    one there.
    """
    if isinstance(ranks, CollectionRanks):
        return ranks
    check_ranks(ranks)
    return CollectionRanks(align([r.as_collection() for r in ranks], missing="empty"))


def check_ranks(ranks: Sequence[Ranks]) -> None:
    """Raise where `ranks` is not a sequence of Ranks, one for each ranker."""
    if not isinstance(ranks, Iterable) or isinstance(ranks, Ranks) or not all(isinstance(r, Ranks) for r in ranks):
        raise InputError(f"Give a list of Ranks, one for each ranker; got {type(ranks).__name__}.")
    if not ranks:
        raise InputError("There are no ranks to fuse; give one Ranks for each ranker.")


def _aligned_items(ranks: Sequence[Ranks]) -> list[Ranks]:
    named = [r.item_ids for r in ranks if r.item_ids is not None]
    if len(named) < len(ranks):
        _check_same({r.n_items for r in ranks}, named, "items")
        return [_named(r, named[0], r.query_ids) for r in ranks] if named else list(ranks)
    common = named[0]
    for other in named[1:]:
        common = common.union(other)
    return [r.renumbered(common) for r in ranks]


def _aligned_queries(ranks: list[Ranks], missing: Missing) -> list[Ranks]:
    named = [r.query_ids for r in ranks if r.query_ids is not None]
    if len(named) < len(ranks):
        _check_same({r.n_queries for r in ranks}, named, "queries")
        return [_named(r, r.item_ids, named[0]) for r in ranks] if named else ranks
    if all(ids == named[0] for ids in named):
        return ranks
    queries = Ids(_common_names(named, missing))
    return [
        r.spread(np.array([ids.number(name) if name in ids else PAD for name in queries], np.intp), queries)
        for r, ids in zip(ranks, named, strict=True)
    ]


def _named(ranks: Ranks, item_ids: Ids | None, query_ids: Ids | None) -> Ranks:
    return Ranks.trusted(ranks.items, ranks.scores, ranks.n_items, item_ids=item_ids, query_ids=query_ids)


def _check_same(counts: set[int], named: Sequence[Ids], what: str) -> None:
    """Rows or items without names can be matched only if all are as many and in one order."""
    ids = "item_ids" if what == "items" else "query_ids"
    if len(counts) > 1:
        shown = ", ".join(map(str, sorted(counts)))
        raise InputError(f"The ranks are of different numbers of {what}: {shown}. Give {ids} to all, to match by name.")
    if any(other != named[0] for other in named[1:]):
        raise InputError(f"Some ranks name their {what} differently and some not at all. Give {ids} to all.")


def _common_names(named: Sequence[Ids], missing: Missing) -> list[str]:
    names = list(dict.fromkeys(name for ids in named for name in ids))
    gaps = [(name, ranker) for name in names for ranker, ids in enumerate(named, 1) if name not in ids]
    if missing == "empty" or not gaps:
        return names
    if missing == "error":
        raise InputError(
            f"Query {gaps[0][0]!r} has no list from ranker {gaps[0][1]} ({len(gaps)} such gaps). "
            "Choose missing='drop' to leave such queries out, or missing='empty' to fuse what there is."
        )
    gone = {name for name, _ in gaps}
    kept = [name for name in names if name not in gone]
    if not kept:
        raise InputError(f"No query has a list from every ranker; {names[0]!r} is one of {len(names)} that have not.")
    return kept
