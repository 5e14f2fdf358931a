"""Text rankers by name."""

import pytest

from rankloom.datasets import Collection, Queries, cranfield
from rankloom.errors import InputError
from rankloom.evaluation import evaluate
from rankloom.rankers import RANKERS, rank_collection
from rankloom.rankers.text.bag_of_words import Okapi
from rankloom.rankers.text.terms import Tokenizer
from rankloom.ranks import Ids
from rankloom.searcher import Searcher

TEXTS = ["heart failure", "skin", "heart attack"]


def test_a_ranker_is_a_value():
    assert RANKERS.make("okapi", b=0.5) == RANKERS.make("okapi(b=0.5)") == Okapi(b=0.5)
    assert str(Okapi(b=0.5, k1=1.2)) == "okapi(b=0.5)"
    assert str(RANKERS.make("2grams-cosine(terms=pairs, max_terms=3)")) == "2grams-cosine(max_terms=3, terms=pairs)"


def test_options_are_the_fields_of_a_ranker():
    with pytest.raises(InputError, match=r"The ranker 'okapi' has no option 'tokenizer'; it has k1, b, max_terms\."):
        RANKERS.make("okapi", tokenizer=1)
    with pytest.raises(InputError, match="Unknown value of weights 'tfidf'"):
        RANKERS.make("bow-cosine", weights="tfidf")


def test_rankers_of_the_same_texts_tokenize_them_once(monkeypatch):
    split = []
    pieces = Tokenizer.pieces
    monkeypatch.setattr(Tokenizer, "pieces", lambda self, text: split.append(text) or pieces(self, text))
    queries = Queries(Ids(["q"]), {"q": {"b": 1}}, {"texts": ["attacks"]})
    collection = Collection("t", Ids(["a", "b", "c"]), {"texts": TEXTS}, queries=queries)
    rank_collection(collection, ["okapi", "jaccard", "2grams-cosine", "gnf-wgu"])
    assert sorted(split) == sorted([*TEXTS, "attacks"])
    split.clear()
    searcher = Searcher.build(TEXTS, rankers=["okapi", "jaccard"])
    assert sorted(split) == sorted(TEXTS)
    split.clear()
    searcher.search("heart")
    assert split == ["heart"]
    searcher.add(["lungs"])
    assert split == ["heart", "lungs"]


def test_external_queries_are_ranked():
    queries = Queries(Ids(["q"]), {"q": {"b": 1}}, {"texts": ["attacks"]})
    collection = Collection("t", Ids(["a", "b", "c"]), {"texts": TEXTS}, queries=queries)
    lists = rank_collection(collection, {"o": "okapi"}).lists["o"]
    assert list(lists.queries.to_dict()["q"]) == ["c"]
    assert lists.items.n_queries == 3


def test_okapi_on_cranfield(shared):
    # With queries numbered by <num>, the lists would match the wrong judgments: about 0.01.
    collection = cranfield(str(shared / "data" / "cranfield"))
    ranks = rank_collection(collection, {"o": "okapi"}, depth=100, items=False).lists["o"].queries
    assert evaluate(ranks, qrels=collection.queries.qrels, measures=["map"])["map"] > 0.3


def test_bm25_is_okapi():
    one, other = (RANKERS[name](b=0.5).fit(TEXTS).rank() for name in ("bm25", "okapi"))
    assert one.scores.tobytes() == other.scores.tobytes()
