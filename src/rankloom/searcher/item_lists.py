"""The lists of all items by one ranker: those of a build, and what changed since, without rewriting them.

An item that was added has its own list, and enters the lists of others: it is kept as an entry (row, item, score), and
merged into the list when that is read. Deleted items stay in the lists that are stored. A list that has become short
is replaced by a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom._kernels import frozen
from rankloom._kernels.index.arguments import ScoredLists
from rankloom.errors import InputError, check_range
from rankloom.index.tables import check_rows
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Array, Float32s
from rankloom.ranks.lists import empty_lists
from rankloom.searcher.slots import Slots
from rankloom.searcher.tail import joined
from rankloom.threads import Scratch, run_blocks

ENTERED = ("entered_rows", "entered_items", "entered_scores")
PATCHES = ("patch_rows", "patch_from", "patch_items", "patch_scores")
Numbers = NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class ItemLists:
    """Lists of the items in all slots, best first, with scores."""

    base: ScoredLists
    depth: int
    tail: Mapping[str, Array] = field(default_factory=dict)  #: items and scores of lists that were added; `ENTERED`
    patches: Mapping[str, Array] = field(default_factory=dict)  #: `PATCHES`: lists that were replaced
    recall: float | None = None  #: of lists by cells, as measured when they were made

    @classmethod
    def of(cls, ranks: Ranks, depth: int) -> ItemLists:
        """Return the lists of a build; those of a ranker that cannot be updated may be without scores."""
        scores: Any = ranks.scores
        return cls(ScoredLists(ranks.items, scores), depth, recall=ranks.recall)

    @property
    def n_base(self) -> int:
        """The number of lists of the build."""
        return len(self.base.items)

    @property
    def is_plain(self) -> bool:
        """Whether there are only the lists of the build."""
        return not self.tail and not self.patches

    @property
    def share_changed(self) -> float:
        """The share of the lists of the build that new items have entered, or that were replaced."""
        rows = [arrays[name] for arrays, name in ((self.tail, "entered_rows"), (self.patches, "patch_rows")) if arrays]
        changed = np.unique(np.concatenate(rows)) if rows else np.empty(0)
        return float((changed < self.n_base).sum()) / max(self.n_base, 1)

    @cached_property
    def floors(self) -> Float32s:
        """For each list, a score that an item must exceed to enter; -inf if the list is not full."""
        floors = self._floors(*self.base)
        if self.tail:
            floors = np.concatenate([floors, self._floors(self.tail["items"], self.tail["scores"])])
        if self.patches:
            floors[self.patches["patch_rows"]] = self._floors(self.patches["patch_items"], self.patches["patch_scores"])
        return floors

    def _floors(self, items: Array, scores: Array) -> Float32s:
        if items.shape[1] < self.depth:
            return np.full(len(items), -np.inf, np.float32)
        return np.where(items[:, -1] == PAD, np.float32(-np.inf), scores[:, -1])

    def rows(self, numbers: Numbers) -> ScoredLists:
        """Return the lists of the items in some slots; deleted items are among theirs."""
        if self.is_plain:
            scores: Any = None if self.base.scores is None else self.base.scores[numbers]
            return ScoredLists(self.base.items[numbers], scores)
        found, start = self._stored(np.asarray(numbers))
        entered = self._entered_into(np.asarray(numbers), start)
        return found if entered is None else merged(found, entered, np.asarray(numbers, np.int64), self.depth)

    def _stored(self, numbers: Numbers) -> tuple[ScoredLists, Numbers]:
        """Return lists as they are stored, and the first slot of what entered them later."""
        out = empty_lists(len(numbers), self.depth)
        start = np.zeros(len(numbers), np.int64)
        old = np.flatnonzero(numbers < self.n_base)
        fill(out, old, self.base.items[numbers[old]], self.base.scores[numbers[old]])
        if self.tail:
            new = np.flatnonzero(numbers >= self.n_base)
            own = numbers[new] - self.n_base
            fill(out, new, self.tail["items"][own], self.tail["scores"][own])
        if self.patches:
            rows, since, items, scores = (self.patches[name] for name in PATCHES)
            at = np.minimum(np.searchsorted(rows, numbers), len(rows) - 1)
            here = np.flatnonzero(rows[at] == numbers)
            fill(out, here, items[at[here]], scores[at[here]])
            start[here] = since[at[here]]
        return out, start

    @cached_property
    def _entered(self) -> tuple[Array, Array, Array]:
        """The entries by row; those of a row by item."""
        order = np.argsort(self.tail["entered_rows"], kind="stable")
        rows, items, scores = (self.tail[name][order] for name in ENTERED)
        return rows, items, scores

    def _entered_into(self, numbers: Numbers, start: Numbers) -> ScoredLists | None:
        """Return the entries of some lists as lists, best first; None if there are none."""
        if not self.tail:
            return None
        rows, items, scores = self._entered
        first, last = np.searchsorted(rows, numbers), np.searchsorted(rows, numbers, side="right")
        counts = last - first
        width = min(self.depth, int(counts.max(initial=0)))
        if not width:
            return None
        own = np.repeat(np.arange(len(numbers)), counts)
        at = np.arange(len(own)) + np.repeat(last - np.cumsum(counts), counts)
        there = items[at] >= start[own]
        own, at = own[there], at[there]
        at = at[np.lexsort((items[at], -scores[at], own))]  # `own` ascends already
        place = np.arange(len(own)) - np.searchsorted(own, own)
        own, at, place = (array[place < width] for array in (own, at, place))
        out = empty_lists(len(numbers), width)
        out.items[own, place], out.scores[own, place] = items[at], scores[at]
        return out

    @property
    def tail_scores(self) -> Float32s:
        """The scores of lists that were added, -inf after their end."""
        return np.where(self.tail["items"] == PAD, np.float32(-np.inf), self.tail["scores"])

    def appended(self, more: Mapping[str, Array]) -> ItemLists:
        """Return the lists with more lists and entries."""
        return replace(self, tail=joined([self.tail, more]) if self.tail else more)

    def patched(self, rows: Numbers, found: ScoredLists, n_slots: int) -> ItemLists:
        """Return the lists with some replaced, by slot; `n_slots` is the number of slots now."""
        width = self.depth
        out = empty_lists(len(rows), width)
        fill(out, np.arange(len(rows)), found.items, found.scores)
        new: list[Array] = [rows.astype(np.int32), np.full(len(rows), n_slots, np.int64), *out]
        if self.patches:
            stay = ~np.isin(self.patches["patch_rows"], rows)
            new = [np.concatenate([self.patches[name][stay], more]) for name, more in zip(PATCHES, new, strict=True)]
        order = np.argsort(new[0], kind="stable")
        return replace(self, patches={name: array[order] for name, array in zip(PATCHES, new, strict=True)})

    @property
    def width(self) -> int:
        """The length of the longest list that can be returned."""
        return self.base.items.shape[1] if self.is_plain else self.depth

    def of_documents(self, numbers: Numbers, slots: Slots) -> Ranks:
        """Return the lists of some documents, of documents that are there."""
        items, scores = outside(self.rows(slots.inside(numbers)), slots)
        return Ranks.trusted(items, scores, len(slots), kind="queries")

    def whole(self, slots: Slots) -> Ranks:
        """Return the lists of all documents, of documents that are there."""
        n, width = len(slots), min(self.depth, len(slots))
        if self.is_plain and slots.kept is None:
            return Ranks.trusted(*self.base, n, kind="collection", recall=self.recall)
        items, scores = outside(self.rows(slots.numbers), slots)
        items, scores = np.ascontiguousarray(items[:, :width]), np.ascontiguousarray(scores[:, :width])
        return Ranks.trusted(items, scores, n, kind="collection")

    def arrays(self) -> dict[str, Array]:
        """Return the arrays of the build, and of lists that were replaced; the tail is stored elsewhere."""
        return {"items": self.base.items, "scores": self.base.scores, **self.patches}

    @classmethod
    def restored(
        cls,
        arrays: Mapping[str, Array],
        tail: Mapping[str, Array],
        n_slots: int,
        depth: int,
        recall: float | None = None,
    ) -> ItemLists:
        """Return the lists that `arrays` and the tail describe, after checks."""
        if recall is not None:
            check_range(0, 1, recall=recall)
        base = ScoredLists(arrays["items"], arrays["scores"])
        patches = {name: arrays[name] for name in PATCHES if name in arrays}
        _check(base, n_slots)
        widths = [lists.shape[1] for lists in (tail.get("items"), patches.get("patch_items")) if lists is not None]
        if base.items.shape[1] != min(depth, len(base.items)) or any(width != depth for width in widths):
            raise InputError(f"The lists of the items are not {depth} long.")
        if tail:
            _check(ScoredLists(tail["items"], tail["scores"]), n_slots)
            _check_entered(tail, n_slots)
        if len(base.items) + (len(tail["items"]) if tail else 0) != n_slots:
            raise InputError(f"There are not lists for {n_slots} documents.")
        if patches:
            _check_patches(patches, n_slots)
        return cls(base, depth, tail, patches, recall)


def fill(out: ScoredLists, rows: Numbers, items: Array, scores: Array) -> None:
    """Write lists to some rows, cut or padded to their width."""
    width = min(items.shape[1], out.items.shape[1])
    out.items[rows] = PAD
    out.items[rows, :width], out.scores[rows, :width] = items[:, :width], scores[:, :width]


def merged(one: ScoredLists, other: ScoredLists, own: Numbers, depth: int) -> ScoredLists:
    """Return two lists of each row as one: by score, then the item itself (`own`), then by number."""
    from rankloom._kernels.lists import merge

    out = empty_lists(len(own), depth)
    given = [ScoredLists(*map(np.ascontiguousarray, lists)) for lists in (one, other)]
    rows = np.ascontiguousarray(own, np.int64)
    run_blocks(lambda start, stop: merge(start, stop, rows, *given, out), len(own), stage="Merging lists")
    return out


def outside(lists: ScoredLists, slots: Slots) -> ScoredLists:
    """Return lists by the numbers of documents; deleted ones are left out."""
    if slots.kept is None:
        return lists
    items = slots.outside(lists.items)
    order = np.argsort(items == PAD, axis=1, kind="stable")
    scores = np.where(items == PAD, np.float32(0), lists.scores)
    return ScoredLists(np.take_along_axis(items, order, 1), np.take_along_axis(scores, order, 1))


def _check(lists: ScoredLists, n_items: int) -> None:
    items, scores = lists
    if items.ndim != 2 or items.shape != scores.shape or items.dtype != np.int32 or scores.dtype != np.float32:
        raise InputError(f"Lists must be matrices of numbers and scores; got {items.dtype} {items.shape}.")
    seen = Scratch(n_items)

    def work(start: int, stop: int) -> None:
        with seen.borrowed() as slot:
            check_rows(frozen(items[start:stop]), scores[start:stop], n_items, "its lists", start, slot)

    run_blocks(work, len(items), stage="Checking lists")


def _check_entered(tail: Mapping[str, Array], n_slots: int) -> None:
    rows, items, scores = (tail[name] for name in ENTERED)
    shaped = rows.ndim == 1 and rows.shape == items.shape == scores.shape
    typed = [array.dtype.str[1:] for array in (rows, items, scores)] == ["i4", "i4", "f4"]
    inside = all(numbers.min(initial=0) >= 0 and numbers.max(initial=0) < max(n_slots, 1) for numbers in (rows, items))
    if not (shaped and typed and inside and np.isfinite(scores).all()):
        raise InputError("The entries of lists have numbers out of range.")


def _check_patches(patches: Mapping[str, Array], n_slots: int) -> None:
    rows, since, items, scores = (patches[name] for name in PATCHES)
    shaped = rows.shape == since.shape == (len(items),) and len(rows) > 0
    if not shaped or rows.dtype != np.int32 or since.dtype != np.int64 or (rows[1:] <= rows[:-1]).any():
        raise InputError("The lists that were replaced do not match each other.")
    if rows[0] < 0 or rows[-1] >= n_slots:
        raise InputError("The lists that were replaced have numbers out of range.")
    _check(ScoredLists(items, scores), n_slots)
