"""A weft index over slots, searched by the numbers of documents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rankloom.index import Explanation, Part
from rankloom.ranks import PAD, Ids, Ranks
from rankloom.ranks.arrays import Array
from rankloom.searcher.item_lists import ItemLists
from rankloom.searcher.slots import Slots
from rankloom.searcher.store import Mask
from rankloom.searcher.tail import joined
from rankloom.weft import WeftIndex
from rankloom.weft.growth import grown
from rankloom.weft.votes import Ballots, Rules, Voter


@dataclass(frozen=True, eq=False)
class GrownIndex:
    """The index of a build, rows that were added, and the slots that still have documents."""

    base: WeftIndex
    index: WeftIndex  #: of all slots: the base, while nothing was added
    slots: Slots
    ids: Ids  #: of the documents
    added: Mapping[str, Array] = field(default_factory=dict)

    def appended(self, rows: Mapping[str, Array], lists: Sequence[ItemLists]) -> GrownIndex:
        """Return the index with more rows, given the lists of all items, by ranker."""
        added = joined([self.added, rows]) if self.added else rows
        return replace(self, added=added, index=grown(self.base, added, [own.tail_scores for own in lists]))

    def search(
        self,
        queries: Sequence[Ranks] | None = None,
        k: int = 10,
        *,
        items: Sequence[int] | None = None,
        virtual: bool | None = None,
        weights: Sequence[float] | None = None,
        allowed: Mask | None = None,
    ) -> Ranks:
        """Return the k most similar documents for each query, as `WeftIndex.search` does."""
        slots = self.slots
        given = None if queries is None else self._inside(queries)
        chosen = None if items is None else slots.inside(np.asarray(items, np.int32)).tolist()
        k = min(k, max(len(slots), 1))
        mask = slots.mask(allowed)
        found = self.index.search(given, k, items=chosen, virtual=virtual, weights=weights, allowed=mask)
        return Ranks.trusted(slots.outside(found.items), found.scores, len(slots), kind="queries")

    def vote_list(self, queries: Sequence[Ranks], k: int, *, allowed: Mask | None = None) -> Ranks:
        """Return weft's list for a vote, as `WeftIndex.vote_list` does."""
        slots = self.slots
        found = self.index.vote_list(self._inside(queries), k, allowed=slots.mask(allowed))
        return Ranks.trusted(slots.outside(found.items), found.scores, len(slots), kind="queries")

    def ballots(self, voters: Sequence[Voter], found: Ranks, k: int, rules: Rules) -> Ballots:
        """Return the k documents with most votes for each query, and the votes."""
        return self.index.ballots(voters, found, k, rules)

    def explain(
        self,
        query: int | Sequence[Ranks],
        item: int,
        *,
        virtual: bool | None = None,
        weights: Sequence[float] | None = None,
    ) -> Explanation:
        """Return the neighbors that an item shares with a query; those that were deleted are not named."""
        inside = self.slots.inside(np.array([item, query if isinstance(query, int) else PAD]))
        slot, own = map(int, inside)
        given = own if isinstance(query, int) else self._inside(query)
        why = self.index.explain(given, slot, virtual=virtual, weights=weights)
        label = self.ids[query] if isinstance(query, int) else why.query
        parts = [self._outside(part) for part in why.parts]
        shown = [part for part in parts if part.source != PAD]
        gone = math.fsum(part.contribution for part in parts if part.source == PAD)
        if len(shown) < len(parts):
            shown.append(Part("hidden", item, item, "deleted documents", 0.0, 0.0, gone))
            shown.sort(key=lambda part: -part.contribution)
        return replace(why, query=label, item=self.ids[item], parts=tuple(shown))

    def _outside(self, part: Part) -> Part:
        number = int(self.slots.outside(np.array([part.source]))[0])
        if number == PAD:
            return replace(part, source=PAD)
        label = f"{self.ids[number]}{part.label.removeprefix(str(part.source))}"
        return replace(part, source=number, target=number, label=label)

    def _inside(self, queries: Sequence[Ranks]) -> list[Ranks]:
        """Return the lists of queries by slots."""
        return [
            Ranks.trusted(self.slots.inside(ranks.items), ranks.scores, self.slots.n, kind="queries")
            for ranks in queries
        ]
