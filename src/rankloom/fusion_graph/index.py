"""The fusion-graph index: normalize, weave, compare.

Every item of a collection is described by a graph woven from its lists and its neighbors' lists, and a search
compares graphs (Dourado, Pedronette, Torres, 2019). No graph is stored: the weight of an edge is the product
P[q, A] * W[A, B], so two sparse matrices with the same pattern hold the graphs of the whole collection, and their
transpose leads from a vertex to the graphs that have it.

Internally, items are renumbered so that neighbors are close in memory and in the files, for locality between
queries. Numbers are translated on the way in and out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankloom.align import Missing, align, align_collection, check_ranks
from rankloom.errors import InputError, check_choice, whole_number
from rankloom.fusion_graph.compare import COMPARATORS, mcs, wgu
from rankloom.fusion_graph.graph import Explanation, FusionGraph, check_graph_norm, explain
from rankloom.fusion_graph.normalize import normalize_collection, normalize_queries
from rankloom.fusion_graph.weave import WEIGHTINGS, Order, check_arrays, measure, postings, weave
from rankloom.io.array_folder import open_folder, save_folder
from rankloom.io.npz import pack_ids, unpack_ids
from rankloom.ranks import PAD, Ids, Ranks
from rankloom.threads import Progress, Scratch, run_blocks
from rankloom.version import __version__

if TYPE_CHECKING:
    from rankloom._kernels.graphs import Woven

KIND = "rankloom index"
ROWS = ("row_ptr", "row_items", "row_weights", "row_nearness")  # the arrays of the woven matrices
FORMATS = range(1, 2)  # format numbers that this version reads; it writes the last

Array = NDArray[Any]
#: An item by number or id, or the lists of an external query: for each ranker, Ranks of one row.
Query = int | str | Sequence[Ranks]


@dataclass(frozen=True, slots=True)
class Settings:
    """How an index was built."""

    n_rankers: int
    cutoff: int
    depth: int
    reposition: bool
    graph_norm: str
    comparator: str
    weighting: str = "paper"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; the paper's weighting is omitted, as in files of older versions."""
        plain = asdict(self)
        return plain if self.weighting != "paper" else {k: v for k, v in plain.items() if k != "weighting"}


class FusionIndex:
    """Fusion graphs of a collection, with exact search that examines only some of them.

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

    def __init__(self, settings: Settings, arrays: dict[str, Array]) -> None:
        from rankloom._kernels.graphs import Woven
        from rankloom._kernels.search import Postings

        self.settings = settings
        self.n_items = len(arrays["numbers"])
        self._arrays = arrays
        self._order = Order(arrays["numbers"], arrays["places"])
        self._woven = Woven(*(arrays[name] for name in ROWS))
        self._postings = Postings(*(arrays[name] for name in ("post_ptr", "post_rows", "post_least")))
        self._slots = Scratch(self.n_items)
        self._marks = Scratch(self.n_items + 1)
        self._ids: Ids | None = None

    @classmethod
    def build(
        cls,
        ranks: Sequence[Ranks],
        *,
        cutoff: int = 10,
        depth: int = 1000,
        reposition: bool = True,
        graph_norm: str = "max",
        comparator: str = "wgu",
        weighting: str = "paper",
        keep_scores: bool = True,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> FusionIndex:
        """Weave the fusion graphs of a collection from the ranks of several rankers.

        Parameters
        ----------
        ranks : sequence of Ranks
            Collection ranks, one for each ranker: row i is item i's list. Ranks with ids are matched by id; an item
            without a list gets an empty one.
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
        collection = [r.head(depth) for r in align_collection(ranks)]
        settings = Settings(len(collection), cutoff, int(depth), reposition, graph_norm, comparator, weighting)
        run: Any = {"threads": threads, "progress": progress}
        order = Order.of(collection[0])
        inside = (order.inside(r, threads=threads) for r in collection)  # lazily: deep lists take much memory
        normalized = normalize_collection(inside, cutoff, repositioned=reposition, **run)
        scratch = Scratch(len(order.numbers))
        woven = weave(normalized, scratch, weighting, **run)
        norms = measure(woven, woven, graph_norm == "minmax", scratch, **run)
        arrays = {
            **order._asdict(),
            **dict(zip(ROWS, woven, strict=True)),
            "norms": norms,
            **postings(woven, norms),
        }
        if reposition and keep_scores:
            arrays |= {f"scores_{i}": _scores_of_lists(r) for i, r in enumerate(collection) if r.scores is not None}
        if collection[0].item_ids is not None:
            arrays["id_bytes"], arrays["id_ptr"] = pack_ids(collection[0].item_ids)
        return cls(settings, arrays)

    @property
    def item_ids(self) -> Ids | None:
        """Ids of the items, if the index was built from ranks with ids."""
        if self._ids is None and "id_ptr" in self._arrays:
            self._ids = unpack_ids(self._arrays["id_bytes"], self._arrays["id_ptr"])
        return self._ids

    def search(
        self,
        queries: Sequence[Ranks] | None = None,
        k: int = 10,
        *,
        items: Sequence[int | str] | None = None,
        comparator: str | None = None,
        virtual: bool | None = None,
        missing: Missing = "error",
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Ranks:
        """Return the k items whose graphs are most similar to each query's, best first.

        The result is exact, as if the query graph were compared with every graph of the collection. Similarities are
        computed in float64 and rounded to float32; in a tie the query itself comes first, then the smaller item
        number. Items that share no vertex with the query are not returned.

        Parameters
        ----------
        queries : sequence of Ranks, optional
            External queries: their lists by each ranker, in the order of `build`. By default every item of the
            collection is a query.
        k : int
            Number of items to return.
        items : sequence of int or str, optional
            Search only with these items, by number or id.
        comparator : {"wgu", "mcs"}, optional
            Overrides the one given to `build`.
        virtual : bool, optional
            Whether to reposition the lists of external queries by their virtual positions: those that the query
            would take in each item's list. By default, for rankers with scores in both the index and the queries.
        missing : {"error", "drop", "empty"}
            How to treat an external query that some ranker has no list for.
        threads, progress
            As in `build`.

        Returns
        -------
        Ranks
            A row for each query; scores are the similarities, in [0, 1].
        """
        k = min(whole_number("k", k), self.n_items)
        if queries is not None and items is not None:
            raise InputError("Give external queries or items of the collection, not both.")
        if queries is None and virtual is not None:
            raise InputError("Virtual positions are for external queries only; omit virtual when searching with items.")
        if virtual is not None and not isinstance(virtual, bool):
            raise InputError(f"virtual must be True, False or None; got {virtual!r}.")
        settings = (comparator or self.settings.comparator, k, threads, progress)
        if queries is not None:
            woven, ids = self._weave_external(queries, virtual, missing, threads, progress)
            rows = np.arange(len(woven.ptr) - 1, dtype=np.int32)
            norms = measure(woven, self._woven, self.settings.graph_norm == "minmax", self._slots, threads=threads)
            return self._search(woven, norms, rows, rows, ids, *settings)
        if items is not None:
            if isinstance(items, str) or not isinstance(items, Iterable):
                raise InputError(f"items must be a list of ids or numbers; got {items!r}.")
            chosen = np.array([self._number(item) for item in items], np.int32)
            ids = None if self.item_ids is None else Ids(self.item_ids[i] for i in chosen.tolist())
            rows = self._arrays["places"][chosen]
            into = np.arange(len(rows), dtype=np.int32)
            return self._search(self._woven, self._arrays["norms"], rows, into, ids, *settings)
        rows = np.arange(self.n_items, dtype=np.int32)
        return self._search(self._woven, self._arrays["norms"], rows, self._arrays["numbers"], self.item_ids, *settings)

    def _search(
        self,
        graphs: Woven,
        norms: Array,
        rows: Array,
        into: Array,
        query_ids: Ids | None,
        comparator: str,
        k: int,
        threads: int | None,
        progress: Progress | None,
    ) -> Ranks:
        from rankloom._kernels.search import MCS, OTHER, WGU, compiled, search

        chosen = COMPARATORS[comparator]
        out = np.full((len(rows), k), PAD, np.int32)
        similarities = np.zeros(out.shape, np.float32)
        rows, into = rows.view(), into.view()
        rows.flags.writeable = into.flags.writeable = False
        graph = (graphs, norms, graphs is self._woven)
        collection = (self._woven, self._arrays["norms"], self._postings, self._arrays["numbers"])
        kind = {wgu: WGU, mcs: MCS}.get(chosen.similarity, OTHER)
        method = (self.settings.graph_norm == "minmax", kind, compiled(chosen.similarity), compiled(chosen.bound))

        def work(start: int, stop: int) -> None:
            with self._slots.borrowed() as slot, self._marks.borrowed() as seen:
                search(start, stop, rows, into, *graph, *collection, *method, slot, seen, out, similarities)

        run_blocks(work, len(rows), stage="Searching", threads=threads, progress=progress)
        return Ranks.trusted(out, similarities, self.n_items, item_ids=self.item_ids, query_ids=query_ids)

    def _weave_external(
        self,
        queries: Sequence[Ranks],
        virtual: bool | None,
        missing: Missing = "error",
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> tuple[Woven, Ids | None]:
        """Return the graphs of external queries, normalized and woven as those of the collection, and their ids."""
        check_ranks(queries)
        if len(queries) != self.settings.n_rankers:
            raise InputError(
                f"The index has {self.settings.n_rankers} rankers, and queries need the lists of each, in the same "
                f"order; got those of {len(queries)}."
            )
        aligned = [self._numbered(r).head(self.settings.depth) for r in align(queries, missing=missing)]
        scores = [self._arrays.get(f"scores_{ranker}") for ranker in range(len(aligned))]
        normalized = normalize_queries(
            aligned, scores, self.settings.cutoff, virtual=virtual, threads=threads, progress=progress
        )
        inside = [self._order.inside_queries(r) for r in normalized]
        return weave(inside, self._slots, self.settings.weighting, threads=threads), aligned[0].query_ids

    def _numbered(self, queries: Ranks) -> Ranks:
        if self.item_ids is not None and queries.item_ids is not None:
            return queries.renumbered(self.item_ids)
        if queries.item_ids is not None:
            raise InputError(
                "The queries have item ids and the index does not; "
                "build it from ranks with ids, or search with item numbers."
            )
        if queries.n_items > self.n_items:
            raise InputError(
                f"The queries rank a collection of {queries.n_items} items, but the index has {self.n_items}; "
                "rank the same collection."
            )
        return queries

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

    def save(self, path: str | Path) -> None:
        """Write the index to a folder, atomically; an existing index is replaced."""
        meta = {
            "kind": KIND,
            "format": FORMATS[-1],
            "settings": self.settings.to_dict(),
            "sizes": {"n_items": self.n_items, "n_entries": len(self._woven.items)},
            "versions": {"rankloom": __version__, "numpy": np.__version__},
        }
        save_folder(Path(path), self._arrays, meta)

    @classmethod
    def open(cls, path: str | Path, *, verify: bool = True) -> FusionIndex:
        """Open a saved index; its arrays are memory-mapped.

        Parameters
        ----------
        verify : bool
            Read all files once to compare their checksums and to check that every item number is in range.
            Otherwise the index opens immediately, but damage inside a file goes undetected and can crash a search.
        """
        arrays, meta = open_folder(Path(path), kind=KIND, formats=FORMATS, verify=verify)
        settings = Settings(**meta["settings"])
        check_arrays(arrays, settings.n_rankers, entries=verify, path=path)
        return cls(settings, arrays)

    def _number(self, item: int | str) -> int:
        if isinstance(item, str):
            if self.item_ids is None:
                raise InputError(f"The index has no item ids, only numbers 0 to {self.n_items - 1}; got {item!r}.")
            return self.item_ids.number(item, "item")
        if not isinstance(item, int | np.integer) or not 0 <= item < self.n_items:
            raise InputError(f"Items are numbered 0 to {self.n_items - 1}; got {item}.")
        return int(item)

    def _id(self, number: int) -> str:
        return str(number) if self.item_ids is None else self.item_ids[number]

    def __len__(self) -> int:
        return self.n_items

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in asdict(self.settings).items())
        return f"FusionIndex(n_items={self.n_items}, {settings})"


def _scores_of_lists(ranks: Ranks) -> NDArray[np.float32]:
    """Return the scores of collection ranks, with -inf after the end of each list."""
    assert ranks.scores is not None
    return np.where(ranks.items == PAD, np.float32(-np.inf), ranks.scores)
