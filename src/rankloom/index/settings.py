"""How an index is built: settings that every index has, and the lists and arrays that depend on them alone."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal, Self, get_args

import numpy as np

from rankloom.errors import InputError, RankloomWarning, brief, check_choice, check_flag, whole_number
from rankloom.io.npz import pack_ids
from rankloom.io.text_file import Plain
from rankloom.ranks import PAD, Ids, Ranks
from rankloom.ranks.align import align_collection
from rankloom.ranks.arrays import Array

#: The position, for Eq. 1, in the list of an item that has no list.
Absent = Literal["first", "last"]
MAX_EMPTY_SHARE = 0.1  # of the items, before a warning


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """The settings that every index has; those with a default are written to disk only if they differ from it."""

    n_rankers: int
    cutoff: int
    depth: int
    reposition: bool
    absent: str = field(default="first", kw_only=True)
    rankers: tuple[str, ...] = field(default=(), kw_only=True)
    comparable: tuple[bool, ...] = field(default=(), kw_only=True)

    def checked(self) -> Self:
        """Return the settings of a build in their own types; raise InputError if one is not valid."""
        check_flag(reposition=self.reposition)
        cutoff = whole_number("cutoff", self.cutoff)
        if whole_number("depth", self.depth) < cutoff:
            raise InputError(f"depth must be at least cutoff; got {self.depth} and {self.cutoff}.")
        check_choice("rule for items without a list", self.absent, get_args(Absent))
        declared = checked_flags("comparable", self.comparable, self.n_rankers)
        flag = bool(self.reposition)
        return replace(self, cutoff=cutoff, depth=int(self.depth), reposition=flag, comparable=declared)

    def to_dict(self) -> Plain:
        """Return plain data."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}


def aligned_collection(given: Sequence[Ranks], settings: IndexSettings) -> list[Ranks]:
    """Return the collection ranks of all rankers, aligned and as deep as they are used."""
    collection = [r.head(settings.depth) for r in align_collection(given)]
    if settings.reposition and settings.absent == "first":
        n_empty = [int((r.lengths() == 0).sum()) for r in collection]
        warn_if_sparse(n_empty, collection[0].n_items, settings.rankers)
    return collection


def numbered_queries(queries: Ranks, item_ids: Ids | None, n_items: int) -> Ranks:
    """Return query ranks in the numbering of an index, whose items may have ids."""
    if item_ids is not None and queries.item_ids is not None:
        return queries.renumbered(item_ids)
    if queries.item_ids is not None:
        raise InputError(
            "The queries have item ids and the index does not; "
            "build it from ranks with ids, or search with item numbers."
        )
    if queries.n_items > n_items:
        raise InputError(
            f"The queries rank a collection of {queries.n_items} items, but the index has {n_items}; "
            "rank the same collection."
        )
    return queries.replaced(n_items=n_items, item_ids=item_ids)


def warn_if_sparse(n_empty_lists: Sequence[int], n_items: int, names: Sequence[str]) -> None:
    """Warn if a ranker has no list for many items: by the authors' rule for Eq. 1 these move up in other lists."""
    for number, n_empty in enumerate(n_empty_lists):
        if n_empty > MAX_EMPTY_SHARE * max(n_items, 1):
            name = repr(names[number]) if names else str(number + 1)
            warnings.warn(
                f"Ranker {name} has no list for {n_empty} of {n_items} items, and by the authors' rule they move "
                "up in the lists of others; absent='last' moves them down.",
                RankloomWarning,
                stacklevel=4,
            )


def stores_scores(settings: IndexSettings, keep_scores: bool) -> bool:
    """Return True if an index keeps the scores of lists: if asked to, and if repositioning can use them."""
    check_flag(keep_scores=keep_scores)
    return bool(keep_scores) and settings.reposition


def shared_arrays(collection: Sequence[Ranks], settings: IndexSettings, *, keep_scores: bool) -> dict[str, Array]:
    """Return the arrays that any index may have: scores of lists, -inf after their end, if used, and packed ids."""
    arrays: dict[str, Array] = {}
    if stores_scores(settings, keep_scores):
        for number, ranks in enumerate(collection):
            if ranks.scores is not None:
                arrays[f"scores_{number}"] = np.where(ranks.items == PAD, np.float32(-np.inf), ranks.scores)
    if collection[0].item_ids is not None:
        arrays["id_bytes"], arrays["id_ptr"] = pack_ids(collection[0].item_ids)
    return arrays


def checked_flags(name: str, given: Sequence[bool] | None, n_rankers: int) -> tuple[bool, ...]:
    """Return a flag for each ranker; () if not given."""
    if given is None:
        return ()
    flags = list(given) if isinstance(given, Sequence) or np.ndim(given) == 1 else []
    if len(flags) != n_rankers or not all(isinstance(flag, bool | np.bool_) for flag in flags):
        raise InputError(f"{name} must be True or False for each of the {n_rankers} rankers; got {brief(given)}.")
    return tuple(map(bool, flags))
