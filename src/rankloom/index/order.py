"""The internal numbering of an index."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankloom._kernels import frozen
from rankloom.ranks import PAD
from rankloom.ranks.arrays import Int32s
from rankloom.threads import run_blocks


class Order(NamedTuple):
    """The internal numbering of an index: items in breadth-first order, so that neighbors are close in memory."""

    numbers: Int32s  #: the item number of each internal number
    places: Int32s  #: the internal number of each item

    @classmethod
    def of(cls, lists: Int32s, depth: int) -> Order:
        """Return the breadth-first order of a collection's items along its lists, which may be deeper than `depth`."""
        from rankloom._kernels.lists import visiting_order

        numbers = np.empty(len(lists), np.int32)
        visiting_order(lists, depth, numbers)
        places = np.empty(len(numbers), np.int32)
        places[numbers] = np.arange(len(numbers), dtype=np.int32)
        return cls(frozen(numbers), frozen(places))

    def to_internal(self, lists: Int32s, depth: int, rows: slice = slice(None)) -> Int32s:
        """Return the lists of the items ``numbers[rows]`` in the internal numbering, cut to `depth`."""
        from rankloom._kernels.lists import relabel

        sources = self.numbers[rows]
        out = np.empty((len(sources), depth), np.int32)
        run_blocks(
            lambda start, stop: relabel(start, stop, sources, self.places, lists, out),
            len(out),
            stage="Renumbering",
        )
        return frozen(out)

    def queries_to_internal(self, lists: Int32s) -> Int32s:
        """Return the lists of external queries with items in the internal numbering."""
        out = self.places[lists] if len(self.places) else lists.copy()
        out[lists == PAD] = PAD
        return frozen(out)
