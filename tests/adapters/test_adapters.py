"""Adapters, against the real packages."""

import pytest
from sample_texts import documents
from serving import in_a_loop

import rankloom as rl
from rankloom.errors import MissingExtraError


@pytest.fixture(scope="module")
def searcher():
    return rl.Searcher.build(documents(40), ["bm25", "bow-cosine"])


def ids(answer):
    return [hit.id for hit in answer]


@pytest.mark.long
def test_langchain(searcher):
    pytest.importorskip("langchain_core")
    retriever = searcher.as_langchain(k=4, where={"topic": "heart"})
    found = retriever.invoke("blood pressure")
    assert [one.id for one in found] == ids(searcher.search("blood pressure", k=4, where={"topic": "heart"}))
    assert [one.id for one in in_a_loop(retriever.ainvoke("blood pressure"))] == [one.id for one in found]
    assert found[0].metadata["topic"] == "heart"
    assert found[0].page_content == "heart\n" + searcher.document(found[0].id)["text"]
    assert [[one.id for one in batch] for batch in retriever.batch(["heart", "wing"])] == [
        ids(searcher.search(query, k=4, where={"topic": "heart"})) for query in ("heart", "wing")
    ]


@pytest.mark.long
def test_llama_index(searcher):
    pytest.importorskip("llama_index.core")
    retriever = searcher.as_llama_index(k=4)
    found = retriever.retrieve("blood pressure")
    assert in_a_loop(retriever.aretrieve("blood pressure")) == found
    assert [one.node.node_id for one in found] == ids(searcher.search("blood pressure", k=4))
    assert found[0].score == searcher.search("blood pressure", k=4)[0].score
    assert found[0].node.metadata["id"] == found[0].node.node_id


@pytest.mark.long
def test_haystack(searcher):
    haystack = pytest.importorskip("haystack")
    pipeline = haystack.Pipeline()
    pipeline.add_component("retriever", searcher.as_haystack(k=4))
    found = pipeline.run({"retriever": {"query": "blood pressure", "filters": {"year": 2001}}})
    expected = searcher.search("blood pressure", k=4, where={"year": 2001})
    assert [one.id for one in found["retriever"]["documents"]] == ids(expected)
    awaited = in_a_loop(searcher.as_haystack(k=4).run_async("blood pressure", filters={"year": 2001}))
    assert [one.id for one in awaited["documents"]] == ids(expected)
    few = pipeline.run({"retriever": {"query": "blood pressure", "top_k": 2}})
    assert len(few["retriever"]["documents"]) == 2


@pytest.mark.long
def test_pyterrier(searcher):
    pytest.importorskip("pyterrier")
    pandas = pytest.importorskip("pandas")
    topics = pandas.DataFrame({"qid": ["1", "2"], "query": ["blood pressure", "king and queen"]})
    transformer = searcher.as_pyterrier(k=5)
    found = transformer(topics)
    assert found["docno"].tolist() == [one for query in topics["query"] for one in ids(searcher.search(query, k=5))]
    assert found["rank"].tolist() == [0, 1, 2, 3, 4] * 2
    assert len((transformer % 2)(topics)) == 4  # composes with PyTerrier's operators
    assert transformer(topics[:0]).empty


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # of numba
def test_ranx(searcher):
    ranx = pytest.importorskip("ranx")
    from rankloom.adapters import from_ranx, to_ranx

    queries = {"q1": "blood pressure", "q2": "king and queen"}
    ranks = searcher.rank(queries, 10)
    run = to_ranx(ranks, "vote")
    qrels = {query: dict.fromkeys(items, 1) for query, items in ranks.head(3).to_dict().items()}
    assert ranx.evaluate(ranx.Qrels(qrels), run, "precision@3") == 1.0
    assert from_ranx(run).to_dict() == ranks.to_dict()


def test_neighbors(searcher):
    neighbors = searcher.as_neighbors(3)
    distances, numbers = neighbors.kneighbors(["blood pressure"])
    names = searcher.documents.ids
    assert [names[n] for n in numbers[0].tolist()] == ids(searcher.search("blood pressure", k=3))
    assert (distances[0][1:] >= distances[0][:-1]).all()
    assert neighbors.n_samples_fit_ == 40
    own = neighbors.kneighbors(return_distance=False)
    assert own.shape == (40, 3)
    assert all(row not in own[row] for row in range(40))
    assert (neighbors.kneighbors(["zzz"], return_distance=False) == -1).all()


@pytest.mark.parametrize("name", ["langchain", "llama_index", "haystack", "pyterrier"])
def test_a_missing_package_is_named(searcher, name, monkeypatch):
    import sys

    package = {"langchain": "langchain_core", "llama_index": "llama_index", "haystack": "haystack"}
    monkeypatch.setitem(sys.modules, package.get(name, name), None)
    for module in [one for one in sys.modules if one.startswith(package.get(name, name) + ".")]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"rankloom.adapters.{name}", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install 'rankloom\["):
        getattr(searcher, f"as_{name}")()


@pytest.mark.long
def test_fusion_retrievers_fuse_what_others_return(searcher):
    pytest.importorskip("langchain_core")
    pytest.importorskip("llama_index.core")
    from rankloom.adapters import langchain, llama_index

    query = "blood pressure"
    alone = {name: {"k": 20, "method": "rrf", "rankers": [name]} for name in searcher.rankers}
    lists = {name: ids(searcher.search(query, **options)) for name, options in alone.items()}
    expected = searcher.search(query, k=5, lists=lists)
    chained = langchain.FusionRetriever(
        retrievers={name: searcher.as_langchain(**options) for name, options in alone.items()},
        searcher=searcher,
        options={"k": 5},
    )
    assert [one.id for one in chained.invoke(query)] == ids(expected)
    indexed = llama_index.FusionRetriever(
        {name: searcher.as_llama_index(**options) for name, options in alone.items()}, searcher, k=5
    )
    assert [(one.node.node_id, one.score) for one in indexed.retrieve(query)] == [(h.id, h.score) for h in expected]
