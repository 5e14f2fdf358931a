"""The trial: its figures are those of searches, and its verdict that of the paired test."""

import numpy as np
import pytest
from sample_texts import documents, encode

import rankloom as rl
from rankloom.errors import InputError
from rankloom.evaluation import Evaluation
from rankloom.searcher.self_test import changed, pseudo_queries
from rankloom.searcher.trial import SEED, Trial


@pytest.fixture(scope="module")
def searcher():
    return rl.Searcher.build(documents(60), {"bm25": "okapi", "dense": encode}, depth=30)


def test_figures_are_means_of_the_three_queries_of_each_document(searcher):
    outcome = searcher.trial()
    assert list(outcome.texts.per_query) == ["bm25", "dense", "rrf", "vote"]
    probes = pseudo_queries(searcher.state, SEED)
    other = rl.Searcher(changed(searcher.state, probes, with_lists=True))
    gains = {number: [] for number in probes.rests}
    for query, text in probes.queries.items():
        positions = [hit.position for hit in other.search(text) if hit.number == probes.sources[query]]
        gains[probes.sources[query]] += [1 / np.log2(1 + p) for p in positions] or [0]
    expected = [np.mean(values) for values in gains.values()]
    assert outcome.texts.per_query["vote"]["ndcg@10"] == pytest.approx(expected)


def test_a_trial_does_not_depend_on_how_the_documents_came(searcher):
    grown = rl.Searcher.build(documents(60)[:57], {"bm25": "okapi", "dense": encode}, depth=30)
    grown.add(documents(60)[57:])
    grown.compact()
    first, second = searcher.trial().texts, grown.trial().texts
    assert first.means() == second.means()
    assert searcher.trial().texts.means() == first.means()  # nothing was changed


def evaluation(ours, single):
    values = {"bm25": single, "dense": np.zeros(len(ours)), "rrf": ours, "vote": ours}
    return Evaluation({name: {"ndcg@10": np.array(one)} for name, one in values.items()}, "vote")


def test_the_three_verdicts():
    noise = np.random.default_rng(0).normal(0, 0.1, 100)
    for shift, verdict, words in ((0.1, "yes", "Yes: vote is ahead of bm25"), (-0.1, "no", "No: bm25 alone is ahead")):
        outcome = Trial(("bm25", "dense"), evaluation(0.5 + shift + noise, np.full(100, 0.5)))
        assert outcome.verdict == verdict
        assert words in str(outcome)
    outcome = Trial(("bm25", "dense"), evaluation(0.5 + noise - noise.mean(), np.full(100, 0.5)))
    assert outcome.verdict == "cannot tell"
    assert "too close" in str(outcome)
    few = Trial(("bm25", "dense"), evaluation(0.8 + noise[:29], np.full(29, 0.1)))
    assert few.verdict == "cannot tell"


def test_labels_measure_documents_as_queries(searcher):
    outcome = searcher.trial(labels="topic")
    assert list(outcome.items.per_query) == ["bm25", "dense", "rrf", "weft"]
    ids = [one["id"] for one in searcher.documents]
    topics = np.array([one["topic"] for one in searcher.documents])
    values = []
    for hits in searcher.search(item=ids, k=11):
        own = topics[ids.index(hits.query)]
        found = [topics[hit.number] == own for hit in hits if hit.id != hits.query][:10]
        discounts = 1 / np.log2(2 + np.arange(10))
        values.append((found @ discounts[: len(found)]) / discounts[: min(10, (topics == own).sum() - 1)].sum())
    assert outcome.items.means()["weft"]["ndcg@10"] == pytest.approx(np.mean(values))


def test_what_cannot_be_tried_says_why(searcher):
    with pytest.raises(InputError, match=r"No document has a field 'group'; their fields are title, text, topic, year"):
        searcher.trial(labels="group")
    with pytest.raises(InputError, match="No two documents have the same value in the field 'text'"):
        searcher.trial(labels="text")
    with pytest.raises(InputError, match="none has enough text"):
        rl.Searcher.build(["a cat", "a dog"], ["bm25"]).trial()
