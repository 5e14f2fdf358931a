"""The weft index: expanded rows of a collection, with exact search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from rankloom._kernels.weft.arguments import UNIT, Rows
from rankloom.errors import check_range, whole_number
from rankloom.index.base import CollectionIndex, Query
from rankloom.index.explanation import Explanation, Part
from rankloom.index.settings import Absent
from rankloom.ranks import Ranks
from rankloom.ranks.align import Missing, RankerLists, align, by_name, with_lists
from rankloom.threads import Progress
from rankloom.weft.row_kind import COMPARATOR, WeftRows, WeftSettings
from rankloom.weft.votes import SHARE, VOTE_DEPTH, add_votes
from rankloom.weft.weights import Weights, field_parts

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
        keep_scores: bool = True,
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
        weights : sequence of float, "agreement" or None
            The weight of each ranker; equal by default. "agreement" gives more weight to rankers that agree with the
            fusion, and less to those that duplicate others.
        width : int or None
            How many of the largest entries of each row to store; all if None.
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
        )

    def vote(
        self,
        queries: RankerLists,
        k: int = 100,
        *,
        share: float = SHARE,
        virtual: bool | None = None,
        missing: Missing = "error",
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Ranks:
        """Fuse the rankers' own lists of external queries with the list that `search` returns.

        This is CombSUM over the first 100 items of each list, where the list from `search` has `share` of all votes.

        Parameters
        ----------
        share : float
            From 0 to 1: 0 is CombSUM of the rankers alone, 1 is `search`.
        queries, k, virtual, missing, threads, progress
            As in `search`.
        """
        k = whole_number("k", k)
        check_range(0, 1, share=share)
        aligned = align(by_name(queries, self.settings.rankers), missing=missing)
        found = self.search(aligned, max(k, VOTE_DEPTH), virtual=virtual, threads=threads, progress=progress)
        return add_votes(with_lists([self._numbered(r) for r in aligned]), found, k, share)

    def explain(self, query: Query, item: int | str, *, virtual: bool | None = None) -> Explanation:
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
        fields = field_parts(self.arrays["shares"])
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


def _weight(row: Rows, item: int, field: int) -> float:
    """Return the weight of an item in one field of a row."""
    return float(row.weights[row.items == item, field][0])
