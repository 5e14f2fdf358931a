"""The internal numbering of an index."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankloom._kernels import contiguous, frozen
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Int32s
from rankloom.threads import run_blocks


class Order(NamedTuple):
    """The internal numbering of an index: items in breadth-first order, so that neighbors are close in memory.

    Attributes
    ----------
    numbers : int32 array
        The item number of each internal number.
    places : int32 array
        The internal number of each item.
    """

    numbers: Int32s
    places: Int32s

    @classmethod
    def of(cls, ranks: Ranks) -> Order:
        """Return the breadth-first order of a collection's items along its lists."""
        from rankloom._kernels.lists import visiting_order

        numbers = np.empty(ranks.n_queries, np.int32)
        visiting_order(contiguous(ranks.items), ranks.depth, numbers)
        places = np.empty(len(numbers), np.int32)
        places[numbers] = np.arange(len(numbers), dtype=np.int32)
        return cls(frozen(numbers), frozen(places))

    def inside(self, ranks: Ranks) -> Ranks:
        """Return collection ranks in the internal numbering: row i is the list of item ``numbers[i]``."""
        from rankloom._kernels.lists import relabel

        lists = contiguous(ranks.items)
        out = np.empty((len(self.numbers), ranks.depth), np.int32)
        run_blocks(
            lambda start, stop: relabel(start, stop, self.numbers, self.places, lists, out),
            len(out),
            stage="Renumbering",
        )
        return Ranks.trusted(out, None, ranks.n_items)

    def inside_queries(self, queries: Ranks) -> Ranks:
        """Return the lists of external queries with items in the internal numbering."""
        out = self.places[queries.items] if len(self.places) else queries.items.copy()
        out[queries.items == PAD] = PAD
        return Ranks.trusted(out, None, queries.n_items)
