"""Nearest neighbors by faiss: all pairs in float32, or approximate neighbors by a graph (hnsw) or clusters (ivf)."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, Self

import numpy as np

from rankloom.errors import InputError, RankloomWarning, check_choice, needs_extra
from rankloom.ranks.arrays import Float32s, Indexes, Int32s, Int64s
from rankloom.ranks.vector_space import METRICS, Metric, VectorSpace
from rankloom.threads import report

BLOCK = 1024  # queries per call of faiss
PART = 250_000  # vectors per index
LINKS, BUILD_BEAM = 16, 64  # of an HNSW graph: neighbors of each vector, and candidates while it is built
MIN_BEAM = 64  # candidates of a search in the graph
CLUSTERS, MIN_CLUSTER, ITERATIONS = 2, 40, 10  # of ivf: times the root of n, vectors in each, rounds of k-means
MIN_PROBES = 32  # clusters that a search looks at
SAMPLE, SAMPLE_DEPTH = 200, 10  # vectors and neighbors whose recall is measured
MIN_RECALL = 0.95  # below it, a warning is issued

#: Names of the implementations: exact; all pairs in float32; approximate.
ALGORITHMS = ("exact", "faiss", "hnsw", "ivf")

#: An index of faiss, which declares no types.
FaissIndex = Any
Found = tuple[Int32s, Float32s]
#: (queries, depth, options) -> items and costs, as `VectorSpace.neighbors`
Neighbors = Callable[..., Found]


def check_algorithm(algorithm: str, metric: str) -> None:
    """Raise InputError if there is no such algorithm, or it does not support a metric."""
    check_choice("algorithm", algorithm, ALGORITHMS)
    check_choice("metric", metric, METRICS)
    if algorithm != "exact" and METRICS[metric].distance is not None:
        raise InputError(f"algorithm={algorithm} supports cosine, dot and l2; got {metric}. Use algorithm=exact.")


def neighbors_by(algorithm: str, space: VectorSpace) -> tuple[Neighbors, float | None]:
    """Return the search of an algorithm and its recall, None if exact; an approximate one is prepared first."""
    if algorithm in BUILDERS:
        approximate = ApproximateIndex.of(algorithm, space)
        return approximate.neighbors, approximate.recall
    return space.neighbors if algorithm == "exact" else partial(flat_neighbors, space), None


def flat_neighbors(space: VectorSpace, queries: VectorSpace, depth: int, *, own: Indexes | None = None) -> Found:
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
        report("Comparing vectors", start + len(numbers), len(rows))
    return items, cost


def _put_own(cost: Float32s, numbers: Int64s, own: Indexes, rows: Float32s, metric: Metric) -> None:
    """Insert an item into its own list if others with the same cost, up to rounding, have filled it."""
    last = cost[:, -1]
    mine = np.zeros(len(own), np.float32) if metric.squared else -np.einsum("ij,ij->i", rows, rows)
    slack = rows.shape[1] * np.finfo(np.float32).eps * np.abs(mine)
    missing = (numbers != own[:, None]).all(axis=1) & (mine - slack <= last)
    numbers[missing, -1] = own[missing]
    cost[missing, -1] = np.minimum(mine, last)[missing]


@dataclass(frozen=True, eq=False)
class ApproximateIndex:
    """Vectors in an order in which most neighbors are found without comparing all pairs.

    The neighbors that it finds have exact costs. There is an index for each part of `PART` vectors, built by one
    thread: several would not always build the same graph (hnsw) or clusters (ivf). Parts are built at the same time,
    and a query is searched in each of them; so the bits depend on the vectors alone.

    References
    ----------
    Malkov, Yashunin (2018), Efficient and robust approximate nearest neighbor search using hierarchical navigable small
    world graphs, doi:10.1109/TPAMI.2018.2889473

    Sivic, Zisserman (2003), Video Google: a text retrieval approach to object matching in videos,
    doi:10.1109/ICCV.2003.1238663 (inverted lists of clusters, as ivf has them)
    """

    space: VectorSpace
    algorithm: str
    parts: Sequence[FaissIndex]
    recall: float  #: share of the 10 nearest vectors that it finds, measured on 200 of the vectors

    @classmethod
    def of(cls, algorithm: str, space: VectorSpace) -> Self:
        """Build the index of each part, and measure the recall; warn if it is low."""
        faiss, rows = _faiss(), _rows(space)

        def build(start: int) -> FaissIndex:
            with _one_thread(faiss):
                return BUILDERS[algorithm](faiss, rows[start : start + PART], space.metric.squared)

        with ThreadPoolExecutor(faiss.omp_get_max_threads()) as pool:
            parts = list(pool.map(build, range(0, len(rows), PART)))
        recall = _recall(space, cls(space, algorithm, parts, 1.0))
        if recall < MIN_RECALL:
            warnings.warn(
                f"{algorithm} finds only {recall:.0%} of the {SAMPLE_DEPTH} nearest vectors, measured on a sample; use "
                "algorithm=exact for all of them.",
                RankloomWarning,
                stacklevel=2,
            )
        return cls(space, algorithm, parts, recall)

    def neighbors(self, queries: VectorSpace, depth: int, *, own: Indexes | None = None) -> Found:
        """Return near vectors of each query and their costs; PAD and 0 where it finds fewer than `depth`."""
        self.space.check_width(queries)
        depth = min(depth, len(self.space))
        items, cost = np.empty((len(queries), depth), np.int32), np.empty((len(queries), depth), np.float32)
        for start in range(0, len(queries) if depth else 0, BLOCK):
            some = np.arange(start, min(start + BLOCK, len(queries)))
            mine, rows = None if own is None else own[some], queries.subset(some)
            items[some], cost[some] = self.space.rescored(rows, self._candidates(_rows(rows), depth), depth, own=mine)
            report("Comparing vectors", start + len(some), len(queries))
        return items, cost

    def _candidates(self, rows: Float32s, depth: int) -> Int64s:
        """Return the numbers of near vectors in every part; -1 where there are fewer."""
        faiss, found, first = _faiss(), [], 0
        for part in self.parts:
            beam = SEARCHES[self.algorithm](faiss, part, depth)
            _, numbers = part.search(rows, min(depth, part.ntotal), params=beam)
            found.append(np.where(numbers >= 0, numbers + first, -1))
            first += part.ntotal
        return np.concatenate(found, axis=1)


def _hnsw(faiss: ModuleType, rows: Float32s, squared: bool) -> FaissIndex:
    graph = faiss.IndexHNSWFlat(max(rows.shape[1], 1), LINKS, _metric(faiss, squared))
    graph.hnsw.efConstruction = BUILD_BEAM
    graph.add(rows)
    return graph


def _ivf(faiss: ModuleType, rows: Float32s, squared: bool) -> FaissIndex:
    clusters = max(1, min(int(CLUSTERS * len(rows) ** 0.5), len(rows) // MIN_CLUSTER))
    lists = faiss.index_factory(max(rows.shape[1], 1), f"IVF{clusters},Flat", _metric(faiss, squared))
    lists.cp.seed, lists.cp.niter = 0, ITERATIONS
    lists.cp.min_points_per_centroid = 1  # no message about few
    lists.train(rows)
    lists.add(rows)
    return lists


def _metric(faiss: ModuleType, squared: bool) -> object:
    return faiss.METRIC_L2 if squared else faiss.METRIC_INNER_PRODUCT


#: Algorithm -> (faiss, vectors, whether costs are squared) -> their index.
BUILDERS = {"hnsw": _hnsw, "ivf": _ivf}
#: Algorithm -> (faiss, index, depth) -> parameters of a search: deeper lists need more candidates.
SEARCHES: dict[str, Callable[[ModuleType, FaissIndex, int], object]] = {
    "hnsw": lambda faiss, part, depth: faiss.SearchParametersHNSW(efSearch=max(2 * depth, MIN_BEAM)),
    "ivf": lambda faiss, part, depth: faiss.SearchParametersIVF(
        nprobe=min(part.nlist, max(MIN_PROBES, 4 * depth * part.nlist // part.ntotal))
    ),
}


def _recall(space: VectorSpace, index: ApproximateIndex) -> float:
    if not len(space):
        return 1.0
    rows = np.sort(np.random.default_rng(0).choice(len(space), min(SAMPLE, len(space)), replace=False))
    sample = space.subset(rows)
    exact = space.neighbors(sample, SAMPLE_DEPTH, own=rows)[1]
    items, cost = index.neighbors(sample, SAMPLE_DEPTH, own=rows)
    return float(((items >= 0) & (cost <= exact[:, -1:])).mean())


def _rows(space: VectorSpace) -> Float32s:
    """Return vectors as faiss needs them; for the cosine, scaled to length 1 unless they are zero."""
    return np.ascontiguousarray(space.prepared(), np.float32)


@contextmanager
def _one_thread(faiss: ModuleType) -> Iterator[None]:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _faiss() -> ModuleType:
    with needs_extra("This algorithm", "faiss-cpu", "faiss"):
        import faiss
    return faiss
