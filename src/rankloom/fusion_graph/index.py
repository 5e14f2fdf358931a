"""The fusion-graph index: normalize, weave, compare.

Every item of a collection is described by a graph woven from its lists and its neighbors' lists, and a search
compares graphs (Dourado, Pedronette, Torres, 2019). No graph is stored: the weight of an edge is the product
P[q, A] * W[A, B], so two sparse matrices with the same pattern hold the graphs of the whole collection, and their
transpose leads from a vertex to the graphs that have it. `GraphRows` has the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloom._kernels.fusion_graph.arguments import Graphs
from rankloom.fusion_graph.graph import FusionGraph, explain
from rankloom.fusion_graph.row_kind import GraphRows, Settings, all_graphs
from rankloom.fusion_graph.vectors import edge_columns, graph_vectors
from rankloom.index.base import CollectionIndex, Query
from rankloom.index.explanation import Explanation
from rankloom.index.row_table import Chosen
from rankloom.index.settings import Absent
from rankloom.ranks import Ranks
from rankloom.ranks.align import Missing, RankerLists
from rankloom.ranks.arrays import Bools, Int32s
from rankloom.threads import Progress, running

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CUTOFF = 10  # how much of each list makes up a graph


class FusionIndex(CollectionIndex[Graphs]):
    """The fusion graphs of a collection, with exact search that examines only a few of them.

    Created by `build` or `open`; read-only, and safe to search from several threads.

    Examples
    --------
    >>> from rankloom.ranks import Ranks
    >>> color = Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    >>> shape = Ranks([[0, 1, 2], [1, 2, 0], [2, 1, 0]])
    >>> index = FusionIndex.build([color, shape], cutoff=2)
    >>> index.search(k=2).items
    array([[0, 1],
           [1, 0],
           [2, 1]], dtype=int32)
    """

    KIND: ClassVar[str] = "rankloom index"
    ROW_KIND: ClassVar[type[GraphRows]] = GraphRows
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
        return cls._built(
            ranks,
            keep_scores,
            threads,
            progress,
            cutoff=cutoff,
            depth=depth,
            reposition=reposition,
            graph_norm=graph_norm,
            comparator=comparator,
            weighting=weighting,
            absent=absent,
            comparable=comparable,
        )

    def search(
        self,
        queries: RankerLists | None = None,
        k: int = 10,
        *,
        items: Sequence[int | str] | None = None,
        comparator: str | None = None,
        virtual: bool | None = None,
        missing: Missing = "error",
        allowed: Bools | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Ranks:
        """Return the k items most similar to each query, best first.

        The result is exact, as if the query's graph were compared with every other.
        Similarities are computed in float64 and rounded to float32; in a tie the query itself comes first, then the
        smaller item number. Items that share nothing with the query are not returned.

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
            Return the best k of only these items. The rows are the same: lists may contain other items.
        threads, progress
            As in `build`.

        Returns
        -------
        Ranks
            A row for each query; scores are the similarities, in [0, 1].
        """
        with running(threads, progress):
            return self._search(comparator, queries, k, Chosen(items, virtual, missing, allowed))

    def graph(self, query: Query, *, virtual: bool | None = None) -> FusionGraph:
        """Return the explicit fusion graph of an item or of an external query.

        Parameters
        ----------
        query : int, str, or sequence of Ranks
            An item by number or id, or the lists of one external query.
        virtual : bool, optional
            As in `search`, for an external query.
        """
        graph, id = self._row(query, virtual)
        links, items = self._table.kind.rows(graph.items, self._table), self._table.order.numbers[graph.items]
        sources, targets = np.repeat(np.arange(len(items)), np.diff(links.ptr)), links.items
        is_edge = np.isin(targets, graph.items) & (targets != graph.items[sources])
        sources, targets = sources[is_edge], targets[is_edge]
        return FusionGraph(
            id,
            items,
            graph.W.astype(np.float64),
            items[sources],
            self._table.order.numbers[targets],
            graph.P[sources].astype(np.float64) * links.W[is_edge].astype(np.float64),
            self.settings.graph_norm,
            {item: self._id(item) for item in items.tolist()},
        )

    def explain(
        self, query: Query, item: int | str, *, comparator: str | None = None, virtual: bool | None = None
    ) -> Explanation:
        """Return the vertices and edges that an item shares with a query, and their contributions to the similarity.

        Examples
        --------
        >>> from rankloom.ranks import Ranks
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
        >>> from rankloom.ranks import Ranks
        >>> color = Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
        >>> index = FusionIndex.build([color], cutoff=2)
        >>> index.vectors(edges=False).toarray()
        array([[1. , 0.1, 0. ],
               [0.1, 1. , 0. ],
               [0. , 0.1, 1. ]])
        >>> index.vectors().shape, index.vector_edges().tolist()
        ((3, 6), [[0, 1], [1, 0], [2, 1]])
        """
        table = self._table
        collection = graphs = all_graphs(table)
        with running(threads, progress):
            if queries is not None:
                graphs = table.kind.query_rows(self._external_lists(queries, missing)[0], virtual, table)
            found = graph_vectors(graphs, collection, table.order.numbers, table.slots, edges=edges)
        return found if queries is not None else found[table.order.places]

    def vector_edges(self) -> Int32s:
        """Return the source and target of each edge that has a column in `vectors`, in the order of the columns."""
        return edge_columns(all_graphs(self._table), self._table.order.numbers)[1]
