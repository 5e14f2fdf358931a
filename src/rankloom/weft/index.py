"""The weft index: expanded rows of a collection, with exact search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from rankloom._kernels.index.arguments import ScoredLists
from rankloom._kernels.weft.arguments import UNIT, Rows
from rankloom.errors import InputError, whole_number
from rankloom.index.base import CollectionIndex, Query
from rankloom.index.explanation import Explanation, Part
from rankloom.index.row_table import Chosen
from rankloom.index.settings import Absent, numbered_queries
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.align import Missing, RankerLists, align, by_name
from rankloom.ranks.arrays import Bools
from rankloom.threads import Progress, running
from rankloom.weft.row_kind import COMPARATOR, MET, WeftRows, WeftSettings
from rankloom.weft.votes import (
    MIN_MET,
    NEIGHBORS_WEIGHT,
    VOTE_DEPTH,
    Ballots,
    Rules,
    Voter,
    cast,
    nearest_of,
    weft_depth,
)
from rankloom.weft.weights import Weights, field_parts, positive_weights

CUTOFF = 20  # how much of each list makes up a row
FUSED = "all rankers"  # the name of the fused field in an explanation


class WeftIndex(CollectionIndex[Rows]):
    r"""Items described by the lists of their neighbors, with exact search.

    With :math:`X_r[q]` the expanded row of q by ranker r, :math:`X_w[q]` the fused one, J the weighted Jaccard
    similarity :math:`\sum \min / \sum \max` and c = 20, the similarity of a query and an item is

    .. math:: S(q, a) = \Big[ \ln(1 + c J(X_w[q], X_w[a])) + \sum_r w_r \ln(1 + c J(X_r[q], X_r[a])) \Big]
        \Big/ 2 \ln(1 + c)

    It is symmetric, in [0, 1], and 1 for an item and itself. Created by `build` or `open`.

    Examples
    --------
    >>> color = Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    >>> shape = Ranks([[0, 1, 2], [1, 2, 0], [2, 1, 0]])
    >>> index = WeftIndex.build([color, shape])
    >>> index.search(k=2).items
    array([[0, 1],
           [1, 0],
           [2, 1]], dtype=int32)
    """

    KIND: ClassVar[str] = "rankloom weft index"
    ROW_KIND: ClassVar[type[WeftRows]] = WeftRows
    settings: WeftSettings

    @property
    def weights(self) -> tuple[float, ...]:
        """The weights of the rankers, which sum to 1."""
        return tuple(self.arrays["shares"].tolist())

    @classmethod
    def build(
        cls,
        ranks: RankerLists,
        *,
        cutoff: int = CUTOFF,
        expand: int = 8,
        weights: Weights = None,
        width: int | None = 80,
        depth: int = 1000,
        reposition: bool = True,
        absent: Absent = "first",
        comparable: Sequence[bool] | None = None,
        symmetric: Sequence[bool] | None = None,
        exhaustive: Sequence[bool] | None = None,
        keep_scores: bool = True,
        keep_nearest: bool = True,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> WeftIndex:
        """Build an index from the ranks of several rankers.

        Parameters
        ----------
        ranks : sequence of Ranks, or {name: Ranks}
            Collection ranks, one for each ranker, as in `FusionIndex.build`.
        cutoff : int
            How many items of each list are used.
        expand : int
            The number of entries that a row is expanded by, including the item itself.
        weights : "agreement" or None
            "agreement" gives more weight to rankers that agree with the fusion, and less to those that duplicate
            others; equal by default. Weights of your own are given to `search` and `vote`: one index serves them all.
        width : int or None
            How many of the largest entries of each row to store; all if None.
        symmetric : sequence of bool, optional
            Whether the scores of each ranker are symmetric, such as the cosine of two vectors: `vote` then lowers those
            of items that are near many others. By default, no.
        exhaustive : sequence of bool, optional
            Whether each ranker's lists of queries that end before the last column have all items with a score above 0,
            as those of BM25 do: to `vote`, the other items score 0. By default, no: they score as the last one.
        keep_nearest : bool
            Whether to store the first 20 items of each list with their scores, which `vote` needs.
        depth, reposition, absent, comparable, keep_scores, threads, progress
            As in `FusionIndex.build`.
        """
        return cls._built(
            ranks,
            keep_scores,
            threads,
            progress,
            cutoff=cutoff,
            expand=expand,
            weights=weights,
            width=width,
            depth=depth,
            reposition=reposition,
            absent=absent,
            comparable=comparable,
            symmetric=symmetric,
            exhaustive=exhaustive,
            keep_nearest=keep_nearest,
        )

    def search(
        self,
        queries: RankerLists | None = None,
        k: int = 10,
        *,
        items: Sequence[int | str] | None = None,
        weights: Sequence[float] | None = None,
        virtual: bool | None = None,
        missing: Missing = "error",
        allowed: Bools | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Ranks:
        """Return the k items most similar to each query, best first.

        Parameters
        ----------
        weights : sequence of float, optional
            The weight of each ranker's own field.
        queries, k, items, virtual, missing, allowed, threads, progress
            As in `FusionIndex.search`.
        """
        with running(threads, progress):
            return self._search(weights, queries, k, Chosen(items, virtual, missing, allowed))

    def vote(
        self,
        queries: RankerLists,
        k: int = 100,
        *,
        weights: Sequence[float] | None = None,
        neighbors_weight: float = NEIGHBORS_WEIGHT,
        missing: Missing = "error",
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Ranks:
        """Fuse the rankers' own lists of external queries with weft's, which has what their neighbors list.

        Give lists of 300 items, if a ranker has so many; if k is above 300, of k. Scores are standardized, and each
        ranker counts by how coherent its list is.

        Parameters
        ----------
        weights : sequence of float, optional
            How much each ranker counts, besides that; 1 by default.
        neighbors_weight : float
            How much weft's list counts, for each ranker: with 0, only the rankers' lists do.
        queries, k, missing, threads, progress
            As in `search`, without virtual positions.
        """
        k = whole_number("k", k)
        with running(threads, progress):
            aligned = align(by_name(queries, self.settings.rankers), missing=missing)
            numbered = (numbered_queries(ranks, self.item_ids, self.n_items) for ranks in aligned)
            lists = [ranks.head(max(k, VOTE_DEPTH)) for ranks in numbered]
            return self.add_votes(lists, self.vote_list(aligned, k), k, weights, neighbors_weight)

    def vote_list(self, queries: RankerLists, k: int, *, allowed: Bools | None = None) -> Ranks:
        """Return weft's list for a vote: the first 200 items (k, if that is above 300) that share 5 entries of its row.

        If fewer items share so many, 4 are enough, and so on. Where the scores of all rankers are comparable, one is.
        """
        rows, ids = self._external_rows(queries, False, "error")
        table, mask, n = self._served or self._table, self._table.mask(allowed), min(weft_depth(k), self.n_items)
        if self.settings.comparable and all(self.settings.comparable):
            best = table.search(COMPARATOR, rows, mask, n)
        else:
            best = _of_most_met(table.search(MET, rows, mask, MIN_MET * n), n)
        return Ranks.trusted(*best, self.n_items, item_ids=self.item_ids, query_ids=ids, kind="queries")

    def add_votes(
        self,
        lists: Sequence[Ranks],
        found: Ranks,
        k: int,
        weights: Sequence[float] | None = None,
        neighbors_weight: float = NEIGHBORS_WEIGHT,
    ) -> Ranks:
        """Return the votes of the rankers' lists and of weft's, with the numbers of the items."""
        if "nearest" not in self.arrays:
            raise InputError("The index was built without what votes need; build it with keep_nearest=True.")
        near = map(nearest_of, self.arrays["nearest"], self.arrays["nearest_scores"])
        settings = self.settings
        no = (False,) * settings.n_rankers
        given = positive_weights(weights, settings.n_rankers)
        flags = zip(settings.symmetric or no, settings.exhaustive or no, given, strict=True)
        voters = [Voter(own, items, *known) for own, items, known in zip(lists, near, flags, strict=True)]
        return self.ballots(voters, found, k, Rules(neighbors_weight, self.n_items)).fused

    def ballots(self, voters: Sequence[Voter], found: Ranks, k: int, rules: Rules) -> Ballots:
        """Return the k items with most votes for each query, and the votes: `votes.cast`."""
        return cast(voters, found, k, rules, self._table.slots)

    def explain(
        self,
        query: Query,
        item: int | str,
        *,
        weights: Sequence[float] | None = None,
        virtual: bool | None = None,
    ) -> Explanation:
        """Return the neighbors that an item shares with a query, by ranker; their contributions sum to the similarity.

        Examples
        --------
        >>> color = Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
        >>> why = WeftIndex.build([color]).explain(0, 1)
        >>> round(sum(part.contribution for part in why.parts), 6) == round(why.similarity, 6)
        True
        """
        from rankloom._kernels.weft.search import contributions

        row, id = self._row(query, virtual)
        other, other_id = self._row(item, None)
        given = None if weights is None else positive_weights(weights, self.settings.n_rankers)
        fields = field_parts(self.arrays["shares"], given)
        shared, shares = np.empty(len(other.items) + 1, np.uint32), np.empty((len(other.items) + 1, len(fields)))
        with self._table.slots.borrowed() as slot:
            n = contributions(row, other, fields, slot, shared, shares)
        parts = [
            Part(
                "vertex",
                vertex,
                vertex,
                f"{self._id(vertex)} ({self._field(field)})",
                _weight(row, inside, field) / UNIT,
                _weight(other, inside, field) / UNIT,
                float(shares[x, field]),
                self._field(field) if field else "",
            )
            for x, inside in enumerate(shared[:n].tolist())
            for vertex in [int(self._table.order.numbers[inside])]
            for field in range(len(fields))
            if shares[x, field] > 0
        ]
        parts.sort(key=lambda part: -part.contribution)
        whole = sum(part.contribution for part in parts)
        return Explanation(id, other_id, COMPARATOR, whole, tuple(parts))

    def _field(self, field: int) -> str:
        names = self.settings.rankers or tuple(f"ranker {r}" for r in range(1, self.settings.n_rankers + 1))
        return (FUSED, *names)[field]


def _of_most_met(best: ScoredLists, n: int) -> ScoredLists:
    """Return the last list of each query that is full, or the first, without the items that score 0."""
    items, scores = (array.reshape(-1, MIN_MET, n) for array in best)
    full = items[:, :, -1] != PAD
    full[:, 0] = True
    last = np.arange(len(full)), MIN_MET - 1 - full[:, ::-1].argmax(axis=1)
    return ScoredLists(np.where(scores[last] > 0, items[last], np.int32(PAD)), scores[last])


def _weight(row: Rows, item: int, field: int) -> float:
    """Return the weight of an item in one field of a row."""
    return float(row.weights[row.items == item, field][0])
