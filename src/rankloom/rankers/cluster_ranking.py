"""Lists of a collection by parts of its items, on a Dask cluster: the same bits as without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeGuard

import numpy as np

from rankloom.index.cluster import map_tasks
from rankloom.rankers.ranker import Fitted
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Array, Numbers
from rankloom.threads import running

if TYPE_CHECKING:
    from distributed import Client

PART = 4096  # items per task


class RankedByParts(Fitted, Protocol):
    """A fitted ranker whose lists can be made part by part."""

    @property
    def n_items(self) -> int:
        """Number of items."""

    def rank_part(self, rows: Numbers, *, depth: int = 1000) -> Ranks:
        """Return the lists of some items, by number, with the bits that `rank` gives."""

    def for_workers(self) -> RankedByParts:
        """Return what each worker gets: only what `rank_part` needs, with everything computed that all parts share."""


def is_ranked_by_parts(fitted: Fitted) -> TypeGuard[RankedByParts]:
    """Return True if the lists of a fitted ranker can be made part by part; those by cells cannot."""
    return hasattr(fitted, "for_workers") and getattr(fitted, "cells", None) is None


def rank_by_parts(fitted: RankedByParts, client: Client, *, depth: int = 1000, part: int = PART) -> Ranks:
    """Rank the items for each of them on the workers of a cluster, one task for each `part` of consecutive items.

    The fitted ranker goes to each worker once; a task returns the lists of its items. A task that is run again, because
    its worker died, returns the same bits.
    """
    ranker = fitted.for_workers()
    starts, stage = list(range(0, ranker.n_items, part)), "Ranking parts of items"
    if not starts:
        return fitted.rank(depth=depth)
    tables = map_tasks(client, rank_one, starts, ranker, part, depth, stage=stage)
    items, scores = (np.concatenate([table[which] for table in tables]) for which in (0, 1))
    return Ranks.trusted(items, scores, ranker.n_items, kind="collection")


def rank_one(start: int, ranker: RankedByParts, part: int, depth: int) -> tuple[Array, Array | None]:
    """Return the items and the scores of the lists of one part: the task of a worker."""
    with running(threads=1):  # there is a worker for each core
        found = ranker.rank_part(np.arange(start, min(start + part, ranker.n_items)), depth=depth)
    return found.items, found.scores
