"""Text rankers by name."""

import pytest

from rankloom.datasets import Collection, Queries, cranfield
from rankloom.errors import InputError
from rankloom.evaluation import evaluate
from rankloom.rankers import RANKERS, TextRanker, rank_collection
from rankloom.rankers.text.text_ranker import MODELS
from rankloom.ranks import Ids

TEXTS = ["heart failure", "skin", "heart attack"]


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"wmd"}))
def test_a_ranker_equals_its_model(name):
    ranks = RANKERS[name]().fit(TEXTS).rank(depth=2)
    assert ranks.items.tolist() == MODELS[name](TEXTS).rank(depth=2).items.tolist()
    assert isinstance(RANKERS[name](), TextRanker)


def test_options_are_the_parameters_of_the_model_that_a_spelling_can_have():
    assert RANKERS.make("okapi", b=0.5).options == (("b", 0.5),)
    with pytest.raises(InputError, match=r"The ranker 'okapi' has no option 'tokenizer'; it has k1, b, max_terms\."):
        RANKERS.make("okapi", tokenizer=1)
    with pytest.raises(InputError, match="Unknown weights 'tfidf'"):
        RANKERS.make("bow-cosine", weights="tfidf").fit(TEXTS)


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
