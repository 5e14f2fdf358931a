"""Nearest neighbors by faiss: all pairs in float32, or approximate neighbors by a graph (HNSW)."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankloom._kernels.nearest import Numbers, Singles
from rankloom._kernels.vector_space import METRICS, Metric, VectorSpace
from rankloom.errors import InputError, MissingExtraError, RankloomWarning, check_choice

BLOCK = 1024  # queries per call of faiss
LINKS, BUILD_BEAM = 32, 128  # of an HNSW graph: neighbors of each vector, and candidates while it is built
MIN_BEAM = 128  # candidates of a search
SAMPLE, SAMPLE_DEPTH = 200, 10  # vectors and neighbors whose recall is measured
MIN_RECALL = 0.95  # below it, a warning is issued

#: Names of the implementations: exact; all pairs in float32; approximate.
ENGINES = ("numpy", "faiss", "hnsw")

#: (rows done) -> None
Report = Callable[[int], object]
Found = tuple[NDArray[np.int32], Singles]
#: (queries, depth, options) -> items and costs, as `VectorSpace.neighbors`
Neighbors = Callable[..., Found]


def check_engine(engine: str, metric: str) -> None:
    """Raise InputError if there is no such engine, or it does not support a metric."""
    check_choice("engine", engine, ENGINES)
    check_choice("metric", metric, METRICS)
    if engine != "numpy" and METRICS[metric].distance is not None:
        raise InputError(f"engine={engine} supports cosine, dot and l2; got {metric}. Use engine=numpy.")


def neighbors_by(engine: str, space: VectorSpace) -> Neighbors:
    """Return the search of an engine; that of hnsw is prepared first."""
    if engine == "hnsw":
        return HnswIndex.of(space).neighbors
    return space.neighbors if engine == "numpy" else partial(flat_neighbors, space)


def flat_neighbors(
    space: VectorSpace, queries: VectorSpace, depth: int, *, own: Numbers | None = None, report: Report | None = None
) -> Found:
    """Return the nearest vectors of each query and their costs, in float32; ties are ordered by number, own first."""
    faiss = _faiss()
    space.check_width(queries)
    vectors, rows = _rows(space), _rows(queries)
    index = (faiss.IndexFlatL2 if space.metric.squared else faiss.IndexFlatIP)(vectors.shape[1])
    index.add(vectors)
    depth = min(depth, len(space))
    items, cost = np.empty((len(rows), depth), np.int32), np.empty((len(rows), depth), np.float32)
    for start in range(0, len(rows), BLOCK):
        some = slice(start, start + BLOCK)
        values, numbers = index.search(rows[some], depth)
        values = np.sqrt(np.maximum(values, 0)) if space.metric.squared else -values
        if own is not None:
            _put_own(values, numbers, own[some], rows[some], space.metric)
        others = numbers != (-1 if own is None else own[some, None])
        order = np.lexsort((numbers, others, values), axis=1)
        items[some], cost[some] = (np.take_along_axis(table, order, axis=1) for table in (numbers, values))
        if report:
            report(start + len(numbers))
    return items, cost


def _put_own(cost: Singles, numbers: NDArray[np.int64], own: Numbers, rows: Singles, metric: Metric) -> None:
    """Insert an item into its own list if others with the same cost, up to rounding, have filled it."""
    last = cost[:, -1]
    mine = np.zeros(len(own), np.float32) if metric.squared else -np.einsum("ij,ij->i", rows, rows)
    slack = rows.shape[1] * np.finfo(np.float32).eps * np.abs(mine)
    missing = (numbers != own[:, None]).all(axis=1) & (mine - slack <= last)
    numbers[missing, -1] = own[missing]
    cost[missing, -1] = np.minimum(mine, last)[missing]


@dataclass(frozen=True, eq=False)
class HnswIndex:
    """A graph of near vectors, which finds most neighbors without comparing all pairs.

    The neighbors that it finds have exact costs. It is built by one thread, so that the same vectors give the same
    graph.

    Attributes
    ----------
    space : VectorSpace
    graph : faiss.IndexHNSWFlat
    recall : float
        Share of the 10 nearest vectors that it finds, measured on 200 of the vectors.

    References
    ----------
    Malkov, Yashunin (2018), Efficient and robust approximate nearest neighbor search using hierarchical navigable small
    world graphs, doi:10.1109/TPAMI.2018.2889473
    """

    space: VectorSpace
    graph: Any
    recall: float

    @classmethod
    def of(cls, space: VectorSpace) -> Self:
        """Build the graph, and measure its recall; warn if it is low."""
        faiss = _faiss()
        metric = faiss.METRIC_L2 if space.metric.squared else faiss.METRIC_INNER_PRODUCT
        graph = faiss.IndexHNSWFlat(max(space.vectors.shape[1], 1), LINKS, metric)
        graph.hnsw.efConstruction = BUILD_BEAM
        if len(space):
            with _one_thread(faiss):
                graph.add(_rows(space))
        recall = _recall(space, cls(space, graph, 1.0))
        if recall < MIN_RECALL:
            warnings.warn(
                f"hnsw finds only {recall:.0%} of the {SAMPLE_DEPTH} nearest vectors, measured on a sample; use "
                "engine=numpy for all of them.",
                RankloomWarning,
                stacklevel=2,
            )
        return cls(space, graph, recall)

    def neighbors(
        self, queries: VectorSpace, depth: int, *, own: Numbers | None = None, report: Report | None = None
    ) -> Found:
        """Return near vectors of each query and their costs; PAD and 0 where it finds fewer than `depth`."""
        faiss = _faiss()
        self.space.check_width(queries)
        depth = min(depth, len(self.space))
        if not depth or not len(queries):
            return np.empty((len(queries), depth), np.int32), np.empty((len(queries), depth), np.float32)
        beam, rows = faiss.SearchParametersHNSW(efSearch=max(2 * depth, MIN_BEAM)), _rows(queries)
        parts: list[Found] = []
        for start in range(0, len(rows), BLOCK):
            some = np.arange(start, min(start + BLOCK, len(rows)))
            _, numbers = self.graph.search(rows[some], depth, params=beam)
            mine = None if own is None else own[some]
            parts.append(self.space.rescored(queries.taken(some), numbers, depth, own=mine))
            if report:
                report(start + len(some))
        items, cost = (np.concatenate(tables) for tables in zip(*parts, strict=True))
        return items, cost


def _recall(space: VectorSpace, index: HnswIndex) -> float:
    rows = np.unique(np.linspace(0, len(space) - 1, SAMPLE).astype(np.intp)) if len(space) else np.empty(0, np.intp)
    if not rows.size:
        return 1.0
    sample = space.taken(rows)
    exact = space.neighbors(sample, SAMPLE_DEPTH, own=rows)[1]
    items, cost = index.neighbors(sample, SAMPLE_DEPTH, own=rows)
    return float(((items >= 0) & (cost <= exact[:, -1:])).mean())


def _rows(space: VectorSpace) -> Singles:
    """Return vectors as faiss needs them; for the cosine, scaled to length 1 unless they are zero."""
    return np.ascontiguousarray(space.prepared(), np.float32)


@contextmanager
def _one_thread(faiss: Any) -> Iterator[None]:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("This engine", "faiss-cpu", "faiss") from None
    return faiss
