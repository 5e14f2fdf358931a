"""Whatever a public function is given, it works or raises an error of ours: each option, with each kind of value."""

import inspect
import pickle
from collections.abc import Hashable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import rankloom as rl
from rankloom.aggregate.learned.tuning import cross_validate, optimize
from rankloom.datasets import COLLECTIONS
from rankloom.errors import MAX_MESSAGE, InputError
from rankloom.methods import METHODS
from rankloom.rankers import RANKERS, rank_collection
from rankloom.registry.options import options_of


class Unshowable:
    def __repr__(self):
        raise RuntimeError("no repr")


def nested():
    value = []
    for _ in range(3000):
        value = [value]
    return value


#: Made again for each call: a generator can be used only once.
VALUES = {
    "none": lambda: None,
    "number": lambda: 3,
    "negative": lambda: -1,
    "zero": lambda: 0,
    "fraction": lambda: 1.5,
    "nan": lambda: float("nan"),
    "infinite": lambda: float("inf"),
    "true": lambda: True,
    "text": lambda: "x",
    "empty text": lambda: "",
    "long text": lambda: "x" * 10**6,
    "surrogate": lambda: "\ud800",
    "nul": lambda: "a\0b",
    "bytes": lambda: b"x",
    "path": lambda: Path("absent"),
    "list": lambda: [],
    "list of none": lambda: [None],
    "list of functions": lambda: [len],
    "list of numbers": lambda: [3],
    "ragged": lambda: [[1, 2], [3]],
    "nested": nested,
    "mapping": lambda: {},
    "mapping of numbers": lambda: {1: 2},
    "mapping of ragged": lambda: {"dense": [[1.0, 2], [3]]},
    "mapping of a huge number": lambda: {"bm25": 10**400},
    "set": lambda: {"a"},
    "generator": lambda: iter("ab"),
    "class": lambda: dict,
    "function": lambda: returning(None),
    "object": Unshowable,
    "huge": lambda: 10**5000,
    "large": lambda: 99_999_999_999,
    "complex": lambda: 1j,
    "array": lambda: np.arange(3),
    "matrix": lambda: np.eye(3),
    "objects": lambda: np.array([None, "a"], object),
    "array without dimensions": lambda: np.array(3),
}
TEXTS = [f"a cat {i} sat on mat {i % 7} with a dog" for i in range(12)]
LISTS = rl.Ranks.from_dict({f"d{i}": {f"d{i}": 3.0, f"d{(i + 1) % 9}": 2.0, f"d{(i + 4) % 9}": 1.0} for i in range(9)})
QUERIES = rl.Ranks.from_dict({"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d3": 2.0}})
QRELS = {"q1": {"d1": 1}, "q2": {"d3": 1}}


def encode(texts):
    return np.array([[1.0, len(text), text.count("a")] for text in texts])


def returning(value):
    return lambda *given: value


def hashed(field):
    return {field: 1} if isinstance(field, Hashable) else {}


SEARCHER = rl.Searcher.build(
    [{"id": f"d{i}", "text": text, "year": i} for i, text in enumerate(TEXTS)],
    {"bm25": "bm25", "dense": encode},
    cutoff=3,
    depth=10,
)
FUSION, WEFT = (kind.build([LISTS, LISTS], cutoff=3) for kind in (rl.FusionIndex, rl.WeftIndex))
TEXTS_OF_TWO = rl.Collection("two", rl.Ids(["a", "b"]), {"texts": ["a cat", "a dog"]})
JUDGED = {"queries": {"q1": "cat", "q2": "dog"}, "qrels": QRELS, "k": 5}
#: Function -> its first arguments, which it accepts; every other option has its default.
CALLS = {
    "search": (SEARCHER.search, {"query": "cat"}),
    "search-rrf": (SEARCHER.search, {"query": "cat", "method": "rrf"}),
    "search-item": (lambda item: SEARCHER.search(item=item), {"item": "d1"}),
    "search-image": (lambda image: SEARCHER.search(image=image), {"image": "absent.png"}),
    "search-vectors": (lambda vectors: SEARCHER.search(vectors=vectors), {"vectors": {"dense": [1.0, 2, 3]}}),
    "graph": (SEARCHER.graph, {"query": "cat"}),
    "rank": (SEARCHER.rank, {"queries": {"q": "cat"}}),
    "lists": (SEARCHER.lists, {"queries": {"q": "cat"}}),
    "where-value": (lambda value: SEARCHER.search("cat", where={"year": value}), {"value": 1}),
    "where-field": (lambda field: SEARCHER.search("cat", where=hashed(field)), {"field": "year"}),
    "where-result": (lambda value: SEARCHER.search("cat", where=returning(value)), {"value": True}),
    "searcher-evaluate": (SEARCHER.evaluate, JUDGED),
    "document": (SEARCHER.document, {"id": "d1"}),
    "contains": (SEARCHER.__contains__, {"id": "d1"}),
    "answer-explain": (SEARCHER.search("cat").explain, {"id": "d1"}),
    "add": (SEARCHER.add, {"documents": []}),
    "add-field": (lambda field: SEARCHER.add([{"text": "a", "f": field}]), {"field": 1}),
    "add-id": (lambda id: SEARCHER.add([{"text": "a", "id": id}]), {"id": "new"}),
    "delete": (SEARCHER.delete, {"ids": []}),
    "save": (SEARCHER.save, {"path": "absent/x.loom"}),
    "build": (rl.Searcher.build, {"documents": TEXTS, "rankers": ["bm25"]}),
    "build-ranker": (lambda ranker: rl.Searcher.build(TEXTS, {"x": ranker}), {"ranker": "bm25"}),
    "build-encoder": (lambda value: rl.Searcher.build(TEXTS, {"x": returning(value)}), {"value": encode(TEXTS)}),
    "build-image": (lambda image: rl.Searcher.build([{"image": image}], ["bic"]), {"image": np.zeros((4, 4, 3), "u1")}),
    "build-vector": (lambda v: rl.Searcher.build([{"v": v}] * 2, ["vectors(part=v)"]), {"v": [1.0, 2.0]}),
    "open": (rl.Searcher.open, {"path": "absent.loom"}),
    "fuse": (rl.fuse, {"ranks": [LISTS, LISTS], "method": "rrf"}),
    "fuse-weft": (rl.fuse, {"ranks": [LISTS, LISTS], "method": "weft"}),
    "fusion-build": (rl.FusionIndex.build, {"ranks": [LISTS, LISTS], "cutoff": 3}),
    "weft-build": (rl.WeftIndex.build, {"ranks": [LISTS, LISTS], "cutoff": 3}),
    "fusion-search": (FUSION.search, {}),
    "weft-search": (WEFT.search, {}),
    "weft-vote": (WEFT.vote, {"queries": [LISTS, LISTS]}),
    "fusion-explain": (FUSION.explain, {"query": "d1", "item": "d2"}),
    "weft-explain": (WEFT.explain, {"query": "d1", "item": "d2"}),
    "ranks": (rl.Ranks, {"items": [[0, 1], [1, 0]]}),
    "from-distances": (rl.Ranks.from_distances, {"distances": 1 - np.eye(3)}),
    "from-vectors": (rl.Ranks.from_vectors, {"vectors": np.eye(3)}),
    "from-dict": (rl.Ranks.from_dict, {"lists": {"q": {"a": 1.0}}}),
    "score": (lambda score: rl.Ranks.from_dict({"q": {"a": score}}), {"score": 1.0}),
    "rows": (LISTS.rows, {"numbers": [0]}),
    "head": (LISTS.head, {"depth": 1}),
    "among": (LISTS.among, {"numbers": np.array([0])}),
    "ids": (rl.Ids, {"ids": ["a"]}),
    "numbers": (rl.Ids(["a"]).numbers, {"ids": ["a"]}),
    "evaluate": (rl.evaluate, {"ranks": QUERIES, "qrels": QRELS}),
    "evaluate-labels": (lambda labels: rl.evaluate(LISTS, labels=labels), {"labels": ["x", "y", "z"] * 3}),
    "grade": (lambda grade: rl.evaluate(QUERIES, qrels={"q1": {"d1": grade}}), {"grade": 1}),
    "compare": (rl.compare, {"ours": [0.1, 0.2, 0.4], "theirs": [0.2, 0.2, 0.1]}),
    "correlation": (rl.correlation, {"first": LISTS, "second": LISTS}),
    "select": (rl.select, {"effectiveness": {"a": 0.1, "b": 0.2}, "kind": "best(1)"}),
    "train": (rl.train, {"ranks": [QUERIES, QUERIES], "qrels": QRELS, "method": "probfuse"}),
    "optimize": (optimize, {"ranks": [QUERIES, QUERIES], "qrels": QRELS, "method": "rrf"}),
    "cross-validate": (cross_validate, {"ranks": [QUERIES, QUERIES], "qrels": QRELS, "method": "rrf"}),
    "read-run": (rl.read_run, {"path": "absent.run"}),
    "read-runs": (rl.read_runs, {"paths": ["absent.run"]}),
    "write-run": (rl.write_run, {"ranks": QUERIES, "path": "absent/x.run"}),
    "read-qrels": (rl.read_qrels, {"path": "absent"}),
    "open-collection": (rl.open_collection, {"spelling": "emoji"}),
    "collection": (rl.Collection, {"name": "x", "ids": rl.Ids(["a"]), "parts": {"texts": ["a"]}}),
    "rank-collection": (rank_collection, {"collection": TEXTS_OF_TWO, "rankers": ["bm25"]}),
    "experiment": (rl.Experiment.from_toml, {"text": ""}),
    "experiment-file": (rl.Experiment.read, {"path": "absent.toml"}),
}
UNTESTED = {"scheduler"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_wrong_arguments_are_errors_of_ours(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function, given = CALLS[name]
    known = inspect.signature(function).parameters
    assert given.keys() <= known.keys()
    options = [one for one, about in known.items() if one not in UNTESTED and about.kind != about.VAR_KEYWORD]
    for option in options:
        for kind, make in VALUES.items():
            try:
                function(**{**given, option: make()})
            except rl.RankloomError as error:
                if len(str(error)) > MAX_MESSAGE:
                    pytest.fail(f"{name}({option}={kind}) has a message of {len(str(error))} characters")
            except Exception as error:
                raise AssertionError(f"{name}({option}={kind}) raised {type(error).__name__}: {error}") from error


#: What options of numbers, paths and flags can be given, and arithmetic cannot hold.
EXTREMES = [10**5000, 10**400, 2**63, 2**40, 5e-324, 1e308, b"x", {}, np.array(3), "x" * 10**6, Unshowable()]


@pytest.mark.parametrize("method", METHODS)
def test_extreme_options_of_a_method_are_errors_of_ours(method):
    for option in options_of(METHODS[method]):
        for value in EXTREMES:
            with suppress(rl.RankloomError):
                rl.fuse([LISTS, LISTS], method, **{option: value})


@pytest.mark.parametrize("ranker", ["bm25", "bow-cosine", "2grams-jaccard", "gnf-mcs", "wmd", "static"])
def test_extreme_options_of_a_ranker_are_errors_of_ours(ranker):
    for option in options_of(RANKERS[ranker]):
        for value in EXTREMES:
            with suppress(rl.RankloomError):
                rank_collection(TEXTS_OF_TWO, {"x": RANKERS.make(ranker, **{option: value})})


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_extreme_options_of_a_collection_are_errors_of_ours(collection):
    for option in options_of(COLLECTIONS[collection]):
        for value in EXTREMES:
            with suppress(rl.RankloomError):
                COLLECTIONS.make(collection, **{option: value})


def test_a_folder_of_an_unknown_user_is_not_there(monkeypatch):
    with pytest.raises(InputError, match="~nobody_here/x does not exist"):
        rl.open_collection("folder(path=~nobody_here/x)")
    monkeypatch.setenv("RANKLOOM_DATA", "~nobody_here")
    with pytest.raises(InputError, match="There is no folder ~nobody_here/mpeg7"):
        rl.open_collection("mpeg7")


def test_an_answer_cannot_be_pickled_and_says_so():
    with pytest.raises(InputError, match="An answer cannot be pickled or copied; take the id"):
        pickle.dumps(SEARCHER.search("cat"))


@pytest.mark.parametrize("method", ["weft", "vote", "fg"])
def test_a_cutoff_has_a_limit(method):
    with pytest.raises(InputError, match=r"cutoff must be at most 10000; got 99999999999\."):
        SEARCHER.search("cat", method=f"{method}(cutoff=99999999999)")


def test_one_measure_is_one_measure():
    found = SEARCHER.evaluate({"q1": "cat", "q2": "dog"}, {"q1": {"d1": 1}, "q2": {"d2": 1}}, measures="map")
    assert found.measures == ("map",)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SEARCHER.search("cat", rankers=3), "rankers must be a text or a list of texts; got 3."),
        (lambda: SEARCHER.search("cat", weights=3), "weights must be numbers of at least 0, .*; got 3."),
        (lambda: SEARCHER.search(item=[None]), "item must be the id of a document, a string; got None."),
        (lambda: SEARCHER.search(vectors={"dense": [[1], [1, 2]]}), "a row for each query; got .*"),
        (lambda: SEARCHER.search("cat", where=dict), "where must be {field: value} or a function of a document"),
        (lambda: rl.Searcher.build(TEXTS, ["bm25"], text=3), "text must be a text or a list of texts; got 3."),
        (
            lambda: rl.Searcher.build([{"text": "a", "n": 10**5000}], ["bm25"]),
            "'n' of document 0 cannot be stored: it is a whole number of more than 300 digits",
        ),
        (
            lambda: rl.Searcher.build([{"text": "a", "n": {3: 1, "3": 2}}], ["bm25"]),
            "'n' of document 0 cannot be stored: two of its keys are the same text.",
        ),
        (
            lambda: rl.Searcher.build([{"text": "a", "n": [b"x"]}], ["bm25"]),
            "'n' of document 0 cannot be stored: it has a value of type bytes.",
        ),
        (lambda: rl.Searcher.build(TEXTS, {"dense": dict}), "'dense' must be a spelling, .*; got <class 'dict'>."),
    ],
)
def test_the_error_says_what_was_expected_and_what_was_given(call, message):
    with pytest.raises(InputError, match=message):
        call()
