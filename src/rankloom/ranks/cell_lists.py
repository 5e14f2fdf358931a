"""The lists of all items by cells: pairs in near cells are compared instead of all pairs.

An item looks into some cells, the nearest ones; each pair of which either looks into the cell of the other is compared
once or twice. Then come rounds in which the nearest neighbors of an item, as found so far, are compared with each
other. Of all compared pairs, each item keeps the best ones by rounded vectors, some more than wanted; exact costs put
them in order. As `cells` explains, no sum depends on its order; and the best of a set of pairs, by score and then
number, do not depend on the order in which they come. So the lists have the same bits for any blocks and threads.

How many cells an item looks into is estimated on a sample, for a wanted recall; what it comes to is measured on another
sample. Items far from all others lose most: they look into more cells until a sample of them has that recall, too.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import NamedTuple, Self

import numpy as np

from rankloom._kernels.vectors.arguments import Best
from rankloom.ranks.arrays import PAD, Array, Float32s, Indexes, Int32s, Numbers
from rankloom.ranks.cells import Cells, Rounded
from rankloom.ranks.rescoring import Rescorer
from rankloom.ranks.vector_space import VectorSpace
from rankloom.threads import one_blas_thread, run_blocks

MEASURED = 20  # neighbors of which the recall is wanted
SAMPLE = 300  # items whose exact neighbors are found to estimate, and as many others to measure
SPARE = 4  # neighbors that are kept beyond the depth, as rounded vectors may order them differently
ROWS = 1024  # items that look into a cell at a time
NEAR, GROUP, ROUNDS = 10, 20, 2  # neighbors that are compared with each other; with items that they are neighbors of
OUTLIERS = 0.1  # share of the items
MORE = 1.5  # times as many cells if the recall is too low


class ItemLists(NamedTuple):
    """The lists of all items, as those of `VectorSpace.neighbors`."""

    items: Int32s
    cost: Float32s
    recall: float | None  #: of the 20 nearest other items, measured on a sample; None if exact


def item_lists(space: VectorSpace, cells: Cells | None, depth: int, recall: float) -> ItemLists:
    """Return the nearest vectors of each vector, or with cells, most of them: about this share, at least."""
    if cells is None:
        return ItemLists(*space.neighbors(space, depth, own=np.arange(len(space))), None)
    depth = min(depth, len(space))
    build = _Build.of(space, cells, max(depth, MEASURED) + SPARE)
    order = np.random.default_rng(1).permutation(len(space))
    size = min(SAMPLE, len(space) // 2)
    chosen, measured = (build.sample(some) for some in (order[:size], order[size : 2 * size]))
    with one_blas_thread:
        build.compare(build.estimated_cells(chosen, recall), measured, recall)
    items, cost = build.ranked(build.members, depth)  # near items read near vectors
    order = np.argsort(build.members)
    return ItemLists(items[order], cost[order], build.recall(measured))


class _Sample(NamedTuple):
    """Some items, their exact nearest neighbors, without themselves, and the cost of the last of these."""

    numbers: Indexes
    near: Int32s
    cost: Float32s


@dataclass(frozen=True, eq=False)
class _Build:
    """Items, and the comparison of their rounded vectors: items whose rounded vectors are equal share a row."""

    space: VectorSpace
    join: "_Join"
    row: Indexes  #: of each item
    ptr: Indexes  #: where the items of each row start in `members`
    members: Indexes

    @classmethod
    def of(cls, space: VectorSpace, cells: Cells, kept: int) -> Self:
        """Number rows by cell."""
        rounded = Rounded.of(space)
        own = cells.own[rounded.first]
        order = np.argsort(own, kind="stable")
        join = _Join.of(rounded.rows[order], Cells(cells.centers, own[order]), kept)
        row = np.argsort(order)[rounded.group]
        members = np.argsort(row, kind="stable")
        return cls(space, join, row, np.searchsorted(row[members], np.arange(len(order) + 1)), members)

    @cached_property
    def rescorer(self) -> Rescorer:
        """What computes exact costs."""
        return Rescorer.of(self.space)

    def sample(self, numbers: Indexes) -> _Sample:
        """Find the exact neighbors of some items."""
        numbers = np.sort(numbers)
        width = min(MEASURED + 1, len(self.space))
        items, cost = self.space.neighbors(self.space.subset(numbers), width, own=numbers)
        return _Sample(numbers, items[:, 1:], cost[:, -1])

    def estimated_cells(self, sample: _Sample, recall: float) -> int:
        """Return how many cells to look into: the rounds find about half of the neighbors that the cells miss."""
        cells, rows = self.join.cells, self.join.rows
        one, other = np.repeat(self.row[sample.numbers], sample.near.shape[1]), self.row[sample.near.reshape(-1)]
        if not len(one):
            return 1
        either = np.minimum(cells.positions(rows[one], cells.own[other]), cells.positions(rows[other], cells.own[one]))
        either[cells.own[one] == cells.own[other]] = 0
        return 1 + int(np.quantile(either, max(0.0, 1 - 2 * (1 - recall)), method="higher"))

    def compare(self, n_cells: int, sample: _Sample, recall: float) -> None:
        """Compare near items, until a sample has the recall, and so has one of outliers."""
        join, all_rows = self.join, np.arange(len(self.join.rows), dtype=np.int32)
        join.compare_within()
        join.compare_across(all_rows, n_cells)
        for _ in range(ROUNDS):
            join.compare_neighbors()
        n_cells = self._raise(all_rows, sample, n_cells, recall)
        worst = join.best.scores[:, MEASURED - 1]
        far = all_rows[worst <= np.quantile(worst, OUTLIERS, method="lower")]
        some = np.random.default_rng(2).permutation(far)[:SAMPLE]
        self._raise(far, self.sample(self.members[self.ptr[some]]), n_cells, recall)

    def _raise(self, rows: Int32s, sample: _Sample, n_cells: int, recall: float) -> int:
        """Let some rows look into more cells until a sample has the recall; return into how many."""
        while n_cells < len(self.join.cells.centers) and self.recall(sample) < recall:
            before, n_cells = n_cells, math.ceil(MORE * n_cells)
            self.join.compare_across(rows, n_cells, before)
        return n_cells

    def recall(self, sample: _Sample) -> float:
        """Return the share of exact neighbors, or of items that are as near, in the lists of a sample."""
        width = sample.near.shape[1]
        items, cost = self.ranked(sample.numbers, width + 1)
        found = (items[:, 1:] != PAD) & (cost[:, 1:] <= sample.cost[:, None])
        return float(found.mean()) if found.size else 1.0

    def ranked(self, numbers: Indexes, depth: int) -> tuple[Int32s, Float32s]:
        """Return the lists of some items and their exact costs."""
        items, cost = np.full((len(numbers), depth), PAD, np.int32), np.zeros((len(numbers), depth), np.float32)

        def work(start: int, stop: int) -> None:
            some = numbers[start:stop]
            candidates = self._candidates(some)
            found = self.rescorer.best(self.space.subset(some), candidates, depth, own=True)
            items[start:stop], cost[start:stop] = found

        run_blocks(work, len(numbers), stage="Sorting lists", block=ROWS)
        return items, cost

    def _candidates(self, numbers: Indexes) -> Int32s:
        """Return the items of the rows that were kept for each item's row, after the item itself."""
        own = self.row[numbers, None]
        found = self._items(np.concatenate([own, self.join.best.items[own[:, 0]]], axis=1))
        others = np.where(found == numbers[:, None], PAD, found)
        return np.concatenate([numbers[:, None], others], axis=1).astype(np.int32)

    def _items(self, rows: Numbers) -> Numbers:
        """Return the items of the rows in each list, as many as it has rows: those of the first row first."""
        if len(self.members) == len(self.join.rows):
            return np.where(rows == PAD, PAD, self.members[rows])
        counts = np.where(rows == PAD, 0, np.diff(self.ptr)[rows])
        before = np.cumsum(counts, axis=1) - counts
        taken = np.clip(rows.shape[1] - before, 0, counts)
        at = np.nonzero(taken)
        within = np.arange(taken.sum()) - np.repeat(np.cumsum(taken[at]) - taken[at], taken[at])
        out = np.full(rows.shape, PAD, np.int64)
        places = np.repeat(at[0], taken[at]), np.repeat(before[at], taken[at]) + within
        out[places] = self.members[np.repeat(self.ptr[rows[at]], taken[at]) + within]
        return out


@dataclass(frozen=True, eq=False)
class _Join:
    """Comparisons of rounded vectors, which are numbered by cell here, and the best found for each."""

    rows: Array
    cells: Cells
    ptr: Indexes  #: where each cell starts
    best: Best
    lock: Lock

    @classmethod
    def of(cls, rows: Array, cells: Cells, kept: int) -> Self:
        """Take rows that are sorted by cell."""
        ptr = np.searchsorted(cells.own, np.arange(len(cells.centers) + 1))
        scores = np.full((len(rows), kept), -np.inf, np.float32)
        return cls(rows, cells, ptr, Best(np.full(scores.shape, PAD, np.int32), scores, scores[:, -1].copy()), Lock())

    def compare_within(self) -> None:
        """Compare the members of each cell."""
        self._compare(self.cells.own, np.arange(len(self.rows), dtype=np.int32))

    def compare_across(self, numbers: Numbers, more: int, fewer: int = 0) -> None:
        """Compare some items with the members of the `more` nearest cells but not of the `fewer` nearest."""
        found = [(numbers[at], cell) for at, cell in self.cells.looked_into(self.rows[numbers], more, fewer)]
        visitors, into = (np.concatenate(parts) for parts in zip(*found, strict=True))
        from_other = self.cells.own[visitors] != into
        visitors, into = visitors[from_other], into[from_other]
        order = np.argsort(into, kind="stable")
        self._compare(into[order], visitors[order])

    def _compare(self, cells: Numbers, visitors: Int32s) -> None:
        """Compare visitors, sorted by the cell they look into, with its members."""
        from rankloom._kernels.vectors.neighbors import offer

        ptr = np.searchsorted(cells, np.arange(len(self.ptr)))

        def work(first: int, last: int) -> None:
            for cell in range(first, last):
                members = slice(self.ptr[cell], self.ptr[cell + 1])
                theirs = self.rows[members].astype(np.float32).T
                for start in range(ptr[cell], ptr[cell + 1], ROWS):
                    some = visitors[start : min(start + ROWS, ptr[cell + 1])]
                    scores = self.rows[some].astype(np.float32) @ theirs
                    with self.lock:
                        offer(scores, some, int(members.start), self.best)

        run_blocks(work, len(self.ptr) - 1, stage="Comparing vectors", block=1)

    def compare_neighbors(self) -> None:
        """Compare each item, its nearest neighbors and items that it is a near neighbor of with each other."""
        from rankloom._kernels.vectors.neighbors import compare_groups

        compare_groups(self.rows, self._groups(), self.best)

    def _groups(self) -> Int32s:
        groups = np.full((len(self.rows), GROUP), PAD, np.int32)
        groups[:, 0], groups[:, 1 : 1 + NEAR] = np.arange(len(groups)), self.best.items[:, :NEAR]
        item, place = np.nonzero(groups[:, 1 : 1 + NEAR] != PAD)
        near = groups[item, 1 + place]
        order = np.argsort(near, kind="stable")
        item, near = item[order], near[order]
        place = 1 + NEAR + np.arange(len(near)) - np.searchsorted(near, near)
        fits = place < GROUP
        groups[near[fits], place[fits]] = item[fits]
        return groups
