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
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np

from rankloom.align import Missing, RankerLists, align_collection, split_names
from rankloom.errors import InputError, check_choice, whole_number
from rankloom.fusion_graph.base import (
    Array,
    CollectionIndex,
    IndexSettings,
    Int32s,
    checked_comparable,
    shared_arrays,
    warn_if_sparse,
)
from rankloom.fusion_graph.compare import COMPARATORS, mcs, wgu
from rankloom.fusion_graph.graph import GRAPH_NORMS, Explanation, FusionGraph, check_graph_norm, explain
from rankloom.fusion_graph.normalize import Absent, normalize_collection
from rankloom.fusion_graph.verify import (
    SHARED,
    DamageError,
    Layout,
    check_layout,
    check_order,
    check_rows,
    check_scores,
    check_values,
    raising,
    read_settings,
)
from rankloom.fusion_graph.weave import WEIGHTINGS, Order, measure, postings, weave
from rankloom.ranks import Ids, Ranks
from rankloom.threads import Progress, Scratch, running

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from rankloom._kernels.graphs import Woven

ROWS = ("row_ptr", "row_items", "row_weights", "row_nearness")  # the arrays of the woven matrices
POSTINGS = ("post_ptr", "post_rows", "post_least")
#: The arrays of an index: dtype, and shape in terms of the number of items and the entries of the matrices.
LAYOUT: Layout = {
    **SHARED,
    "row_ptr": ("int64", ("n + 1",)),
    "row_items": ("uint32", ("entries",)),
    "row_weights": ("float32", ("entries",)),
    "row_nearness": ("float32", ("entries",)),
    "norms": ("float64", ("n", 5)),
    "post_ptr": ("int64", ("n + 1",)),
    "post_rows": ("uint32", ("entries",)),
    "post_least": ("float64", ("n",)),
}

#: An item by number or id, or the lists of an external query: for each ranker, Ranks of one row.
Query = int | str | RankerLists


@dataclass(frozen=True, slots=True)
class Settings(IndexSettings):
    """How an index was built."""

    reposition: bool
    graph_norm: str
    comparator: str
    weighting: str = "paper"
    absent: str = "first"
    rankers: tuple[str, ...] = ()
    comparable: tuple[bool, ...] = ()


class FusionIndex(CollectionIndex):
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
    FORMATS: ClassVar[range] = range(1, 2)
    settings: Settings

    def __init__(self, settings: Settings, arrays: dict[str, Array]) -> None:
        from rankloom._kernels.graphs import Woven
        from rankloom._kernels.search import Postings

        super().__init__(settings, arrays)
        self._woven = Woven(*(arrays[name] for name in ROWS))
        self._postings = Postings(*(arrays[name] for name in POSTINGS))
        # A row cannot have more shared vertices than entries: scratch of this size is enough for any file.
        self._room = int(np.diff(self._woven.ptr).max(initial=0)) + 1

    @classmethod
    def build(
        cls,
        ranks: RankerLists,
        *,
        cutoff: int = 10,
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
        check_graph_norm(graph_norm)
        if not (isinstance(reposition, bool) and isinstance(keep_scores, bool)):
            raise InputError(f"reposition and keep_scores must be True or False; got {reposition!r}, {keep_scores!r}.")
        cutoff = whole_number("cutoff", cutoff)
        if whole_number("depth", depth) < cutoff:
            raise InputError(f"depth must be at least cutoff; got {depth} and {cutoff}.")
        check_choice("comparator", comparator, COMPARATORS)
        check_choice("weighting", weighting, WEIGHTINGS)
        check_choice("rule for items without a list", absent, get_args(Absent))
        names, lists = split_names(ranks)
        collection = [r.head(depth) for r in align_collection(lists)]
        if reposition and absent == "first":
            warn_if_sparse(collection, names)
        settings = Settings(
            len(collection),
            cutoff,
            int(depth),
            reposition,
            graph_norm,
            comparator,
            weighting,
            absent,
            names,
            checked_comparable(comparable, len(collection)),
        )
        with running(threads, progress):
            arrays = _woven(settings, collection)
        return cls(settings, arrays | shared_arrays(collection, keep_scores=reposition and keep_scores))

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
        k = self._check_search(queries, k, items, virtual)
        chosen = comparator or self.settings.comparator
        with running(threads, progress):
            if queries is None:
                kernel = self._kernel(self._woven, self._arrays["norms"], chosen, allowed)
                return self._answer(kernel, *self._item_rows(items), k)
            woven, ids = self._weave_external(queries, virtual, missing)
            norms = measure(woven, self._woven, self.settings.graph_norm == "minmax", self._slots)
            rows = np.arange(len(woven.ptr) - 1, dtype=np.int32)
            return self._answer(self._kernel(woven, norms, chosen, allowed), rows, rows, ids, k)

    def _kernel(self, graphs: Woven, norms: Array, comparator: str, allowed: Array | None) -> Any:
        from rankloom._kernels.search import MCS, OTHER, WGU, compiled, search

        chosen = COMPARATORS[comparator]
        graph = (graphs, norms, graphs is self._woven)
        collection = (self._woven, self._arrays["norms"], self._postings, self._order.numbers, self._room)
        kind = {wgu: WGU, mcs: MCS}.get(chosen.similarity, OTHER)
        called = (compiled(chosen.similarity), compiled(chosen.bound)) if kind == OTHER else (None, None)
        method = (self.settings.graph_norm == "minmax", kind, *called, self._allowed(allowed))

        def kernel(start: int, stop: int, rows: Int32s, into: Int32s, *scratch_and_results: Array) -> None:
            search(start, stop, rows, into, *graph, *collection, *method, *scratch_and_results)

        return kernel

    def _weave_external(
        self, queries: RankerLists, virtual: bool | None, missing: Missing = "error"
    ) -> tuple[Woven, Ids | None]:
        """Return the graphs of external queries, normalized and woven as those of the collection, and their ids."""
        lists, ids = self._external_lists(queries, virtual, missing)
        return weave(lists, self._slots, self.settings.weighting), ids

    def graph(self, query: Query, *, virtual: bool | None = None) -> FusionGraph:
        """Return the explicit fusion graph of an item or of an external query.

        Parameters
        ----------
        query : int, str, or sequence of Ranks
            An item by number or id, or the lists of one external query.
        virtual : bool, optional
            As in `search`, for an external query.
        """
        if isinstance(query, (int, str, np.integer)):
            number = self._number(query)
            return self._explicit(self._id(number), self._woven, int(self._arrays["places"][number]))
        woven, ids = self._weave_external(query, virtual)
        if len(woven.ptr) != 2:
            raise InputError(f"Give the lists of one query; got {len(woven.ptr) - 1} queries.")
        return self._explicit("query" if ids is None else ids[0], woven, 0)

    def _explicit(self, id: str, graphs: Woven, row: int) -> FusionGraph:
        entries = slice(graphs.ptr[row], graphs.ptr[row + 1])
        members, numbers = graphs.items[entries], self._arrays["numbers"]
        sources, targets, weights = [], [], []
        for member, nearness in zip(members.tolist(), graphs.P[entries].tolist(), strict=True):
            listed = slice(self._woven.ptr[member], self._woven.ptr[member + 1])
            others = self._woven.items[listed]
            joined = np.isin(others, members) & (others != member)
            sources.append(np.full(np.count_nonzero(joined), numbers[member], np.int32))
            targets.append(numbers[others[joined]])
            weights.append(nearness * self._woven.W[listed][joined].astype(np.float64))
        items = numbers[members]
        return FusionGraph(
            id,
            items,
            graphs.W[entries].astype(np.float64),
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
        return explain(graph, self.graph(item), comparator or self.settings.comparator)

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
        columns, known = edge_columns(self._woven, numbers) if edges else (np.empty(0, np.int64), np.empty((0, 2)))
        with running(threads, progress):
            graphs, norms = self._woven, self._arrays["norms"]
            if queries is not None:
                graphs, _ = self._weave_external(queries, virtual, missing)
                norms = measure(graphs, self._woven, self.settings.graph_norm == "minmax", self._slots)
            found = graph_vectors(graphs, norms, self._woven, numbers, columns, len(known), self._slots)
        return found if queries is not None else found[self._arrays["places"]]

    def vector_edges(self) -> Int32s:
        """Return the source and target of each edge that has a column in `vectors`, in the order of the columns."""
        from rankloom.fusion_graph.vectors import edge_columns

        return edge_columns(self._woven, self._arrays["numbers"])[1]

    def _sizes(self) -> dict[str, int]:
        return {"n_items": self.n_items, "n_entries": len(self._woven.items)}

    @classmethod
    def of_arrays(cls, arrays: dict[str, Array], meta: Mapping[str, Any], *, verify: bool, path: Path) -> FusionIndex:
        """Return an index of arrays and metadata read from disk, checked."""
        settings = read_settings(Settings, meta.get("settings"), path)
        with raising(path):
            _check(arrays, settings, thoroughly=verify)
        return cls(settings, arrays)


def _woven(settings: Settings, collection: Sequence[Ranks]) -> dict[str, Array]:
    """Return the arrays of the graphs: normalized, woven, measured, transposed."""
    order = Order.of(collection[0])
    inside = (order.inside(r) for r in collection)  # lazily: deep lists take a lot of memory
    absent: Any = settings.absent
    normalized = normalize_collection(inside, settings.cutoff, repositioned=settings.reposition, absent=absent)
    scratch = Scratch(len(order.numbers))
    woven = weave(normalized, scratch, settings.weighting)
    norms = measure(woven, woven, settings.graph_norm == "minmax", scratch)
    rows = dict(zip(ROWS, woven, strict=True))
    return {**order._asdict(), **rows, "norms": norms, **postings(woven, norms)}


def _check(arrays: Mapping[str, Array], settings: Settings, *, thoroughly: bool) -> None:
    """Raise `DamageError` if the arrays are inconsistent; if `thoroughly`, check every number."""
    if settings.graph_norm not in GRAPH_NORMS or settings.absent not in get_args(Absent):
        raise DamageError("its settings are not valid")
    n, entries = arrays["numbers"].size if "numbers" in arrays else 0, arrays.get("row_items", np.empty(0)).size
    check_layout(arrays, LAYOUT, {"n": n, "n + 1": n + 1, "entries": entries})
    check_scores(arrays, settings.n_rankers, n, thoroughly=thoroughly)
    if not thoroughly:
        return
    check_order(arrays)
    check_rows(arrays, n)
    # A weighting may give any positive weights; they are finite, and so are norms and sizes.
    for name in ("row_weights", "row_nearness"):
        check_values(arrays, name, 0.0, float(np.finfo(np.float32).max))
    check_values(arrays, "norms", 0.0, float(np.finfo(np.float64).max))
    check_values(arrays, "post_least", 0.0, np.inf)
