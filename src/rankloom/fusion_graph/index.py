"""The fusion-graph index: normalize, weave, compare.

Every item of a collection is described by a graph woven from its lists and its neighbors' lists, and a search
compares graphs (Dourado, Pedronette, Torres, 2019). No graph is stored: the weight of an edge is the product
P[q, A] * W[A, B], so two sparse matrices with the same pattern hold the graphs of the whole collection, and their
transpose leads from a vertex to the graphs that have it.

Internally, items are renumbered so that neighbors are close in memory and in the files, for locality between
queries. Numbers are translated on the way in and out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import check_choice
from rankloom.fusion_graph.compare import COMPARATORS, check_values, mcs, wgu
from rankloom.fusion_graph.graph import GRAPH_NORMS, Explanation, FusionGraph, check_graph_norm, explain
from rankloom.fusion_graph.normalize import Absent
from rankloom.fusion_graph.weave import (
    ROWS,
    WEIGHTINGS,
    linked,
    measure,
    measure_by_shards,
    postings,
    sliced,
    smallest_sizes,
    weave,
)
from rankloom.index.base import Int32s, Kernel, Query
from rankloom.index.build_on_disk import DiskIndex, Lists, Plan
from rankloom.index.settings import (
    Array,
    IndexSettings,
    aligned_collection,
    checked_settings,
    normalized_lists,
    shared_arrays,
    stores_scores,
)
from rankloom.index.shard import PostingLists, Shard
from rankloom.index.verify import SHARED, Layout, Ranges
from rankloom.ranks import Ranks
from rankloom.ranks.align import Missing, RankerLists, split_names
from rankloom.threads import Progress, Scratch, running

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from rankloom._kernels.fusion_graph.graphs import Woven

CUTOFF = 10  # how much of each list makes up a graph
#: A weighting may give any positive weights; they are finite, and so are norms and sizes.
FINITE32, FINITE64 = float(np.finfo(np.float32).max), float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True)
class Settings(IndexSettings):
    """How an index was built."""

    graph_norm: str
    comparator: str
    weighting: str = "paper"


class Graphs(NamedTuple):
    """Woven graphs, and the norms and the size of each."""

    woven: Woven
    norms: NDArray[np.float64]


class FusionIndex(DiskIndex):
    """The fusion graphs of a collection, with exact search that examines only a few of them.

    Created by `build` or `open`; read-only, and safe to search from several threads.

    Examples
    --------
    >>> color = Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    >>> shape = Ranks([[0, 1, 2], [1, 2, 0], [2, 1, 0]])
    >>> index = FusionIndex.build([color, shape], cutoff=2)
    >>> index.search(k=2).items
    array([[0, 1],
           [1, 0],
           [2, 1]], dtype=int32)
    """

    KIND: ClassVar[str] = "rankloom index"
    ROWS: ClassVar[tuple[str, ...]] = ROWS
    NORMS: ClassVar[str] = "norms"
    SETTINGS: ClassVar[type[IndexSettings]] = Settings
    LAYOUT: ClassVar[Layout] = {
        **SHARED,
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
    settings: Settings

    @classmethod
    def build(
        cls,
        ranks: RankerLists,
        *,
        cutoff: int = CUTOFF,
        depth: int = 1000,
        reposition: bool = True,
        graph_norm: str = "max",
        comparator: str = "wgu",
        weighting: str = "paper",
        absent: Absent = "first",
        comparable: Sequence[bool] | None = None,
        keep_scores: bool = True,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> FusionIndex:
        """Weave the fusion graphs of a collection from the ranks of several rankers.

        Parameters
        ----------
        ranks : sequence of Ranks, or {name: Ranks}
            Collection ranks, one for each ranker: row i is item i's list. Ranks with ids are matched by id; an item
            without a list gets an empty one. Rankers given by name are saved with their names, and queries can then be
            given by name too.
        cutoff : int
            The number of items of each list that make up the graph (the paper's L).
        depth : int
            The length of the lists used for repositioning.
        reposition : bool
            Whether to apply Eq. (1) before cutting the lists.
        graph_norm : {"max", "minmax"}
            Divide weights by the largest, as in the paper, or rescale them to [0, 1], as in the authors' program.
        comparator : str
            How graphs are compared, a name in `COMPARATORS`: "wgu", Eq. (5), or "mcs", Eq. (4).
        weighting : str
            How lists become vertex and edge weights, a name in `WEIGHTINGS`: "paper", Eq. (2) and (3).
        absent : {"first", "last"}
            How Eq. (1) treats items that have no list; see `reposition`.
        comparable : sequence of bool, optional
            For each ranker, whether the scores of queries can be compared with those of items, as for vectors and
            descriptors, but not for BM25 of a few words. If so, external queries get virtual positions. None by
            default.
        keep_scores : bool
            Store the scores of the lists, which virtual positions of external queries need.
        threads : int, optional
            Number of threads; by default all available CPUs. The result does not depend on it.
        progress : callable, optional
            Called with the stage, the number of rows done and the total.
        """
        names, given = split_names(ranks)
        settings = _settings(
            names,
            len(given),
            cutoff=cutoff,
            depth=depth,
            reposition=reposition,
            graph_norm=graph_norm,
            comparator=comparator,
            weighting=weighting,
            absent=absent,
            comparable=comparable,
        )
        collection = aligned_collection(given, settings)
        others = shared_arrays(collection, settings, keep_scores=keep_scores)
        with running(threads, progress):
            return cls(settings, _woven(settings, collection) | others)

    @classmethod
    def _plan(cls, lists: Lists, **options: Any) -> Plan:
        from rankloom.fusion_graph.on_disk import graph_steps

        keep_scores, n_rankers = options.pop("keep_scores"), len(lists.files)
        settings = _settings(lists.names, n_rankers, **options)
        item_bytes = 24 * min(settings.depth, max(lists.depths)) + 24 * n_rankers * settings.cutoff + 128
        return Plan(settings, graph_steps, item_bytes, {"keep_scores": stores_scores(settings, keep_scores)})

    def search(
        self,
        queries: RankerLists | None = None,
        k: int = 10,
        *,
        items: Sequence[int | str] | None = None,
        comparator: str | None = None,
        virtual: bool | None = None,
        missing: Missing = "error",
        allowed: Array | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Ranks:
        """Return the k items whose graphs are most similar to each query's, best first.

        The result is exact, as if the query graph were compared with every graph of the collection. Similarities are
        computed in float64 and rounded to float32; in a tie the query itself comes first, then the smaller item
        number. Items that share no vertex with the query are not returned.

        Parameters
        ----------
        queries : sequence of Ranks or {name: Ranks}, optional
            External queries: their lists by each ranker, in the order of `build`, or by name if the rankers were named.
            By default every item of the collection is a query.
        k : int
            Number of items to return.
        items : sequence of int or str, optional
            Search only with these items, by number or id.
        comparator : str, optional
            Overrides the one given to `build`.
        virtual : bool, optional
            Whether to reposition the lists of external queries by their virtual positions: those that the query
            would take in each item's list. By default, for the rankers declared comparable in `build`.
        missing : {"error", "drop", "empty"}
            How to treat an external query that some ranker has no list for.
        allowed : bool array of shape (n_items,), optional
            Return the best k of only these items. The graphs are the same: lists may contain other items.
        threads, progress
            As in `build`.

        Returns
        -------
        Ranks
            A row for each query; scores are the similarities, in [0, 1].
        """
        with running(threads, progress):
            chosen = self.settings.comparator if comparator is None else comparator
            return self._find(chosen, queries, k, items, virtual, missing, allowed)

    def kernel(self, method: str) -> Kernel:
        """Return the function that searches a shard."""
        from rankloom._kernels.fusion_graph.search import MCS, OTHER, WGU, compiled, search

        chosen = COMPARATORS[method]
        kind = {wgu: WGU, mcs: MCS}.get(chosen.similarity, OTHER)
        if kind == OTHER:
            check_values(chosen, method)
        called = (compiled(chosen.similarity), compiled(chosen.bound)) if kind == OTHER else (None, None)
        how = (self.settings.graph_norm == "minmax", kind, *called)

        def kernel(shard: Shard, lists: PostingLists, queries: tuple[Any, ...], *mask_and_results: Array) -> None:
            graphs = self._rows_in(shard.arrays)
            search(*queries, *graphs, lists, shard.numbers, shard.room, *how, *mask_and_results)

        return kernel

    def _rows_of(self, lists: Sequence[Ranks]) -> Graphs:
        woven, minmax = weave(lists, self._slots, self.settings.weighting), self.settings.graph_norm == "minmax"
        if self.n_shards is None:
            return Graphs(woven, measure(woven, self._all_items().woven, minmax, self._slots))
        return Graphs(woven, measure_by_shards(woven, self._shards, minmax, self._slots))

    def _rows_in(self, arrays: Mapping[str, Array]) -> Graphs:
        from rankloom._kernels.fusion_graph.graphs import Woven

        return Graphs(Woven(*(arrays[name] for name in ROWS)), arrays["norms"])

    @staticmethod
    def _some(rows: Graphs, start: int, stop: int) -> Graphs:
        return Graphs(sliced(rows.woven, start, stop), rows.norms[start:stop])

    def _explicit(self, rows: Graphs, slot: Array | None) -> tuple[tuple[Any, ...], Array | None]:
        if slot is None:
            return (*rows, rows.woven.items, self._all_items().woven), None
        sources, links, members = linked(rows.woven, self._shards, slot)
        return (*rows, sources, links), members

    @staticmethod
    def _least(ptr: Array, rows: Array, norms: Array) -> Array:
        return smallest_sizes(ptr, rows, norms)

    def graph(self, query: Query, *, virtual: bool | None = None) -> FusionGraph:
        """Return the explicit fusion graph of an item or of an external query.

        Parameters
        ----------
        query : int, str, or sequence of Ranks
            An item by number or id, or the lists of one external query.
        virtual : bool, optional
            As in `search`, for an external query.
        """
        graphs, id = self._row(query, virtual)
        members, numbers = graphs.woven.items, self._arrays["numbers"]
        links = self._items(members).woven
        sources, targets, weights = [], [], []
        for number, (member, nearness) in enumerate(zip(members.tolist(), graphs.woven.P.tolist(), strict=True)):
            listed = slice(links.ptr[number], links.ptr[number + 1])
            others = links.items[listed]
            joined = np.isin(others, members) & (others != member)
            sources.append(np.full(np.count_nonzero(joined), numbers[member], np.int32))
            targets.append(numbers[others[joined]])
            weights.append(nearness * links.W[listed][joined].astype(np.float64))
        items = numbers[members]
        return FusionGraph(
            id,
            items,
            graphs.woven.W.astype(np.float64),
            np.concatenate([np.empty(0, np.int32), *sources]),
            np.concatenate([np.empty(0, np.int32), *targets]),
            np.concatenate([np.empty(0), *weights]),
            self.settings.graph_norm,
            {item: self._id(item) for item in items.tolist()},
        )

    def explain(
        self, query: Query, item: int | str, *, comparator: str | None = None, virtual: bool | None = None
    ) -> Explanation:
        """Return the vertices and edges that an item shares with a query, and their contributions to the similarity.

        Examples
        --------
        >>> color = Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
        >>> print(FusionIndex.build([color], cutoff=2).explain(0, 1))
        0 ~ 1: wgu similarity 0.3000
          0.1250  edge    0 -> 1
          0.1250  edge    1 -> 0
          0.0250  vertex  0
          0.0250  vertex  1
        """
        graph = self.graph(query, virtual=virtual)
        return explain(graph, self.graph(item), self.settings.comparator if comparator is None else comparator)

    def vectors(
        self,
        queries: RankerLists | None = None,
        *,
        edges: bool = True,
        virtual: bool | None = None,
        missing: Missing = "error",
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> csr_array:
        r"""Return the fusion graphs as sparse vectors, which engines for sparse vectors can search.

        The first `n_items` columns are vertices, by item number; the others are the edges that can occur, A -> B for
        each B in a list of A, by the numbers of A and B (`vector_edges`). Entries are the normalized weights w of the
        graphs, so that for two rows a and b

        .. math:: \sum_f a_f = |G_a|, \qquad \sum_f \min(a_f, b_f) = |\mathrm{mcs}(G_a, G_b)|

        (Eq. 4), and their weighted Jaccard similarity :math:`\sum \min / \sum \max` is WGU (Eq. 5), the similarity of
        `search`. The inner product :math:`\sum_f a_f b_f`, which engines compute, is neither: weights are at most 1, so
        it is at most \|mcs\|, and grows with the size of the graphs.

        Parameters
        ----------
        queries, virtual, missing
            External queries, as in `search`; by default the items of the collection.
        edges : bool
            Whether to include the edges. Without them rows are much shorter, and the sums above those of vertices.
        threads, progress
            As in `build`.

        Returns
        -------
        scipy.sparse.csr_array of shape (n_queries, n_items + n_edges)
            In float64; in the order of the items, or of the queries.

        References
        ----------
        Dourado, Torres et al. (2019), arXiv:1906.06011: graphs as vectors

        Examples
        --------
        >>> color = Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
        >>> index = FusionIndex.build([color], cutoff=2)
        >>> index.vectors(edges=False).toarray()
        array([[1. , 0.1, 0. ],
               [0.1, 1. , 0. ],
               [0. , 0.1, 1. ]])
        >>> index.vectors().shape, index.vector_edges().tolist()
        ((3, 6), [[0, 1], [1, 0], [2, 1]])
        """
        from rankloom.fusion_graph.vectors import edge_columns, graph_vectors

        numbers = self._arrays["numbers"]
        graphs: Graphs = self._all_items()
        collection = graphs.woven
        columns, known = edge_columns(collection, numbers) if edges else (np.empty(0, np.int64), np.empty((0, 2)))
        with running(threads, progress):
            if queries is not None:
                graphs = self._rows_of(self._external_lists(queries, virtual, missing)[0])
            found = graph_vectors(graphs.woven, graphs.norms, collection, numbers, columns, len(known), self._slots)
        return found if queries is not None else found[self._arrays["places"]]

    def vector_edges(self) -> Int32s:
        """Return the source and target of each edge that has a column in `vectors`, in the order of the columns."""
        from rankloom.fusion_graph.vectors import edge_columns

        return edge_columns(self._all_items().woven, self._arrays["numbers"])[1]

    @staticmethod
    def _valid(settings: Settings) -> bool:
        return settings.graph_norm in GRAPH_NORMS


def _settings(
    names: tuple[str, ...], n_rankers: int, *, graph_norm: str, comparator: str, weighting: str, **shared: Any
) -> Settings:
    """Return the options of `build` as settings, checked."""
    check_graph_norm(graph_norm)
    check_choice("comparator", comparator, COMPARATORS)
    check_choice("weighting", weighting, WEIGHTINGS)
    checked = checked_settings(names, n_rankers, **shared)
    return Settings(**checked, graph_norm=graph_norm, comparator=comparator, weighting=weighting)


def _woven(settings: Settings, collection: Sequence[Ranks]) -> dict[str, Array]:
    """Return the arrays of the graphs: normalized, woven, measured, transposed."""
    order, normalized = normalized_lists(collection, settings, settings.cutoff)
    scratch = Scratch(len(order.numbers))
    woven = weave(normalized, scratch, settings.weighting)
    norms = measure(woven, woven, settings.graph_norm == "minmax", scratch)
    rows = dict(zip(ROWS, woven, strict=True))
    return {**order._asdict(), **rows, "norms": norms, **postings(woven, norms)}
