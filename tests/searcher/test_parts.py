"""A searcher needs no more of its store and its retrievers than the protocols say, wherever those keep their data."""

import pytest
from sample_texts import documents, encode

import rankloom as rl
from rankloom.errors import InputError
from rankloom.searcher.retriever import Retriever
from rankloom.searcher.state import State
from rankloom.searcher.store import Filter, Store
from rankloom.web.views import Views


class Only:
    """What a protocol names of an object, and nothing else."""

    def __init__(self, protocol, inner):
        self._names, self._inner, self.calls = vars(protocol), inner, []

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._names:
            raise AttributeError(name)
        self.calls.append(name)
        return getattr(self._inner, name)


@pytest.fixture(scope="module")
def searcher():
    return rl.Searcher.build(documents(40), {"bm25": "okapi", "dense": encode}, cutoff=10)


@pytest.fixture
def elsewhere(searcher):
    """The same searcher, whose documents and rankers might be anywhere."""
    state = searcher.state
    retrievers = {name: Only(Retriever, one) for name, one in state.retrievers.items()}
    return rl.Searcher(State(state.ids, Only(Store, state.store), retrievers, state.item_lists, state.settings))


@pytest.mark.parametrize(
    "query",
    [
        {"query": "heat in a wing"},
        {"query": ["heat", "king and queen"], "k": 3, "offset": 2},
        {"query": "heat", "where": {"topic": "heat"}},
        {"query": "heat", "where": lambda document: document["year"] > 2001, "method": "rrf"},
        {"query": "heat", "method": "fg"},
        {"item": "d7", "where": {"topic": ["heat", "wing"]}},
        {"item": ["d7", "d9"], "method": "combsum"},
        {"vectors": {"dense": encode(["heat"])[0]}},
    ],
    ids=lambda query: " ".join(f"{key}={value}" for key, value in query.items() if not callable(value)),
)
def test_any_store_and_retrievers_answer(searcher, elsewhere, query):
    found, expected = elsewhere.search(**query), searcher.search(**query)
    pairs = zip(found, expected, strict=True) if isinstance(found, list) else [(found, expected)]
    for one, other in pairs:
        assert [(hit.id, hit.score, hit.ranks) for hit in one] == [(hit.id, hit.score, hit.ranks) for hit in other]
        assert [hit.document for hit in one] == [hit.document for hit in other]
        assert [elsewhere.ids[hit.number] for hit in one] == [hit.id for hit in one]


def test_any_store_and_retrievers_have_graphs_runs_and_pages(searcher, elsewhere):
    assert elsewhere.graph("heat").to_dict() == searcher.graph("heat").to_dict()
    assert elsewhere.rank({"q": "heat"}, 5).to_dict() == searcher.rank({"q": "heat"}, 5).to_dict()
    pages = [Views(one) for one in (elsewhere, searcher)]
    found = [views.search(views.text_query("heat"), views.defaults)["results"] for views in pages]
    assert [hit["title"] for hit in found[0]] == [hit["title"] for hit in found[1]]
    assert pages[0].browse(find="chess")["n_found"] == pages[1].browse(find="chess")["n_found"]


def test_a_filter_asks_the_store_once_in_a_search(elsewhere):
    elsewhere.search("heat", where={"topic": "heat"})
    assert elsewhere.state.store.calls == ["types", "allowed"]


def test_a_document_that_is_gone_is_an_error_when_it_is_read(searcher, elsewhere, monkeypatch):
    hit = elsewhere.search("heat", k=1)[0]
    monkeypatch.setattr(elsewhere.state.store, "_inner", type("Empty", (), {"documents": lambda _, ids: [None]})())
    with pytest.raises(InputError, match=f"The document '{hit.id}' no longer exists"):
        _ = hit.document


def test_documents_of_another_store_are_not_updated_here(elsewhere):
    with pytest.raises(InputError, match="no documents to add, delete or save"):
        elsewhere.add(documents(1, start=90))


def test_a_filter_is_a_condition_and_the_items_that_satisfy_it(searcher):
    found = Filter.of({"topic": "heat"}, searcher.state.store, searcher.ids)
    assert {searcher.documents[n]["topic"] for n in found.numbers.tolist()} == {"heat"}
    assert found.allowed.sum() == len(found.numbers)
    assert searcher.state.store.allowed(["d3", "gone"], lambda _: True).tolist() == [True, False]
