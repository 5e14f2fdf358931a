"""A searcher whose lists are made by cells, and whose single queries walk along them."""

import warnings

import numpy as np
import pytest
from sample_texts import documents, encode
from typer.testing import CliRunner

import rankloom as rl
from rankloom.cli.app import app
from rankloom.errors import RankloomWarning
from rankloom.rankers import EncoderRanker
from rankloom.ranks import cells, query_search


@pytest.fixture
def forced(monkeypatch):
    """Cells and walks however few items there are."""
    monkeypatch.setattr(cells, "MIN_CELL", 10)
    monkeypatch.setattr(cells, "MAX_EXACT", 50)
    monkeypatch.setattr(query_search, "MAX_SCANNED", 50)
    monkeypatch.setattr(query_search, "MIN_SCANNED", 50)


def built(n=300):
    return rl.Searcher.build(documents(n), rankers={"bm25": "bm25", "dense": encode}, self_test=False)


def lists(searcher, queries, **options):
    found = searcher.search(queries, k=60, rankers=["dense"], method="rrf", **options)
    return [[hit.id for hit in answer] for answer in (found if isinstance(queries, list) else [found])]


def test_recall_is_shown_and_stored(forced, tmp_path):
    searcher = built()
    recall = searcher.info()["recall"]
    assert recall.keys() == {"dense"}
    assert recall["dense"] >= 0.95
    searcher.save(tmp_path / "s.loom")
    opened = rl.Searcher.open(tmp_path / "s.loom", encoders={"dense": encode})
    assert opened.info()["recall"] == recall
    shown = CliRunner().invoke(app, ["info", str(tmp_path / "s.loom")]).output
    assert f"dense has {recall['dense']:.1%} of the 20 nearest items" in " ".join(shown.split())


def test_single_queries_walk_and_the_same_after_opening(forced, monkeypatch, tmp_path):
    monkeypatch.setattr(query_search, "N_CELLS", 1)
    monkeypatch.setattr(query_search, "ROUNDS", 1)
    monkeypatch.setattr(query_search, "WIDTH", 2)
    searcher, queries = built(), ["heat in slabs", "wing lift", "king and queen"]
    walked = [lists(searcher, query)[0] for query in queries]
    exact = lists(searcher, queries)
    assert walked != exact
    assert [lists(searcher, query, exact=True)[0] for query in queries] == exact
    searcher.save(tmp_path / "s.loom")
    opened = rl.Searcher.open(tmp_path / "s.loom", encoders={"dense": encode})
    assert [lists(opened, query)[0] for query in queries] == walked


def test_updates_are_found_and_deleted_documents_are_not(forced):
    searcher = built()
    searcher.add([{"id": "new", "text": "heat conduction in slabs of ice"}])
    assert lists(searcher, "heat conduction in slabs of ice")[0][0] == "new"
    gone = lists(searcher, "heat in slabs")[0][:20]
    searcher.delete(gone)
    assert not set(gone) & set(lists(searcher, "heat in slabs")[0])
    assert len(lists(searcher, "heat in slabs")[0]) == 60
    searcher.compact()
    assert searcher.info()["recall"]["dense"] >= 0.95
    fresh = rl.Searcher.build(searcher.documents[:], rankers={"bm25": "bm25", "dense": encode}, self_test=False)
    for one, other in zip(searcher.state.lists.values(), fresh.state.lists.values(), strict=True):
        assert np.array_equal(one.items, other.items)


def test_a_tenth_of_new_documents_is_a_warning(forced):
    searcher = built(100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        searcher.add(documents(10, seed=3, start=1000))
    with pytest.warns(RankloomWarning, match="12 of 112 documents are newer than the cells of dense; compact"):
        searcher.add(documents(2, seed=4, start=2000))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        searcher.add(documents(2, seed=5, start=3000))  # once


def test_a_ranker_may_be_exact_at_any_size(forced, tmp_path):
    ranker = EncoderRanker("dense", encode, algorithm="exact")
    searcher = rl.Searcher.build(documents(100), rankers={"dense": ranker})
    assert searcher.info()["recall"] == {}
    searcher.save(tmp_path / "s.loom")
    opened = rl.Searcher.open(tmp_path / "s.loom", encoders={"dense": encode})
    opened.compact()
    assert opened.info()["recall"] == {}
