"""Fusion graphs as the rows of an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, cast

import numpy as np

from rankloom._kernels.fusion_graph.arguments import MCS, OTHER, WGU, Comparator, Graphs, LinkedGraphs, Woven
from rankloom.errors import check_choice
from rankloom.fusion_graph.compare import COMPARATORS, check_values, mcs, wgu
from rankloom.fusion_graph.graph import GRAPH_NORMS
from rankloom.fusion_graph.on_disk import graph_steps
from rankloom.fusion_graph.weave import ROWS, WEIGHTINGS, links_of, measure, posted, weave
from rankloom.index.job import Job, Step
from rankloom.index.normalize import normalize_collection, normalize_queries
from rankloom.index.row_kind import Comparison, HowToCompare, Kernel, RowKind
from rankloom.index.row_table import RowTable
from rankloom.index.settings import IndexSettings
from rankloom.index.shard import gathered, picked
from rankloom.index.verify import SHARED, Layout, Ranges
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Array
from rankloom.threads import Scratch

#: A weighting may give any positive weights; they are finite, and so are norms and sizes.
FINITE32, FINITE64 = float(np.finfo(np.float32).max), float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True)
class Settings(IndexSettings):
    """How an index of fusion graphs was built."""

    graph_norm: str
    comparator: str
    weighting: str = "paper"

    def checked(self) -> Settings:
        """Return the settings of a build in their own types; raise InputError if one is not valid."""
        check_choice("graph_norm", self.graph_norm, GRAPH_NORMS)
        check_choice("comparator", self.comparator, COMPARATORS)
        check_choice("weighting", self.weighting, WEIGHTINGS)
        return IndexSettings.checked(self)


class GraphRows(RowKind[Graphs]):
    """The kind of row of an index of fusion graphs."""

    settings: Settings

    SETTINGS: ClassVar[type[IndexSettings]] = Settings
    ROWS: ClassVar[tuple[str, ...]] = ROWS
    CONTENT: ClassVar[type[Graphs]] = Graphs
    LAYOUT: ClassVar[Layout] = {
        **SHARED,
        "row_ptr": ("int64", ("rows + 1",)),
        "row_items": ("uint32", ("entries",)),
        "row_weights": ("float32", ("entries",)),
        "row_nearness": ("float32", ("entries",)),
        "norms": ("float64", ("rows", 5)),
        "post_least": ("float64", ("vertices",)),
    }
    RANGES: ClassVar[Ranges] = {
        "row_weights": (0.0, FINITE32),
        "row_nearness": (0.0, FINITE32),
        "norms": (0.0, FINITE64),
        "post_least": (0.0, np.inf),
    }

    @property
    def minmax(self) -> bool:
        """Whether weights are rescaled to [0, 1]."""
        return self.settings.graph_norm == "minmax"

    def is_valid(self) -> bool:
        return self.settings.graph_norm in GRAPH_NORMS

    def comparison(self, how: HowToCompare) -> Comparison:
        name = self.settings.comparator if how is None else cast("str", how)
        comparator = COMPARATORS[name]
        if comparator.similarity not in (wgu, mcs):
            check_values(comparator, name)
        return name

    def build(self, collection: Sequence[Ranks]) -> dict[str, Array]:
        """Return the arrays of the graphs: normalized, woven, measured, transposed."""
        order, lists = normalize_collection(collection, self.settings.cutoff, self.settings)
        scratch = Scratch(len(order.numbers))
        woven = weave(lists, scratch, self.settings.weighting)
        graphs = measure(woven, self.minmax, scratch, links=woven)
        return order._asdict() | self.arrays(graphs)

    def arrays(self, rows: Graphs, slot: Array | None = None) -> dict[str, Array]:
        return dict(zip(ROWS, rows, strict=True)) | posted(rows, slot)

    def rows(self, numbers: Array, table: RowTable[Graphs]) -> Graphs:
        ptr, items, W, P = gathered(table.shards, numbers, ROWS[1:-1])
        return Graphs(ptr, items, W, P, picked(table.shards, numbers, ROWS[-1]))

    def query_rows(self, lists: Sequence[Ranks], virtual: bool | None, table: RowTable[Graphs]) -> Graphs:
        woven = weave(normalize_queries(lists, virtual, table), table.slots, self.settings.weighting)
        links = None if table.is_sharded else _all_links(table)
        return measure(woven, self.minmax, table.slots, links, table.shards)

    def linked(self, rows: Graphs, members: Array | None, table: RowTable[Graphs]) -> LinkedGraphs:
        return LinkedGraphs(rows, _all_links(table) if members is None else links_of(members, table.shards))

    def kernel(self, comparator: Comparison, table: RowTable[Graphs]) -> Kernel:
        from rankloom._kernels.fusion_graph.search import search
        from rankloom._kernels.jit import address_of

        chosen = COMPARATORS[str(comparator)]
        kind = {wgu: WGU, mcs: MCS}.get(chosen.similarity, OTHER)
        functions = (address_of(chosen.similarity), address_of(chosen.bound)) if kind == OTHER else (0, 0)
        return partial(search, Comparator(self.minmax, kind, *functions))

    def item_bytes(self, depth: int) -> int:
        return 24 * min(self.settings.depth, depth) + 24 * self.settings.n_rankers * self.settings.cutoff + 128

    def steps(self, job: Job) -> list[Step]:
        return graph_steps(job)


def _all_links(table: RowTable[Graphs]) -> Woven:
    """Return the rows of W of all items."""
    graphs = all_graphs(table)
    return Woven(graphs.ptr, graphs.items, graphs.W, graphs.P)


def all_graphs(table: RowTable[Graphs]) -> Graphs:
    """Return the graphs of all items, without a copy if the index is not sharded."""
    if table.is_sharded:
        return table.kind.rows(np.arange(table.n_items, dtype=np.int32), table)
    graphs: Graphs
    (graphs,) = table.contents  # what is stored of rows are all their arrays
    return graphs
