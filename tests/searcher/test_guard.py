"""The self-test: pseudo-queries, qualities, rankers that are left out, and weights."""

from math import exp, log, log2

import numpy as np
import pytest
from sample_texts import documents, encode

import rankloom as rl
from rankloom.errors import InputError
from rankloom.rankers.text.terms import Tokenizer
from rankloom.searcher.batch import text_of
from rankloom.searcher.guard import Guard
from rankloom.searcher.pseudo_queries import Words, cut_out
from rankloom.searcher.self_test import changed, guard_of, pseudo_queries

FIELDS = ("title", "text")


def constant(texts):
    """Embed all texts alike: a ranker that knows nothing."""
    return np.ones((len(texts), 3), np.float32)


@pytest.fixture(scope="module")
def searcher():
    return rl.Searcher.build(documents(80), {"bm25": "okapi", "dense": encode, "blind": constant}, self_test=True)


def plain_weights(quality):
    """The guard in plain steps, as it is specified."""
    best = max(quality.values())
    kept = {name: q for name, q in quality.items() if q >= best / 2}
    raw = {name: exp(-3 * max(0, log(best / q) - 0.15)) for name, q in kept.items()}
    return {name: weight / (sum(raw.values()) / len(raw)) for name, weight in raw.items()}


@pytest.mark.parametrize("qualities", [(0.9, 0.8, 0.3), (0.5, 0.5, 0.5), (0.01, 0.7, 0.36), (0.7, 0.2, 0.1)])
def test_weights_are_those_of_the_specification(qualities):
    quality = dict(zip("abc", qualities, strict=True))
    guard = Guard(quality, 200)
    expected = plain_weights(quality)
    assert guard.kept("abc") == tuple(expected)
    assert guard.weights(guard.kept("abc")) == pytest.approx(expected)


def test_a_dead_zone_and_the_slope_beyond_it():
    assert Guard({"a": 0.8, "b": 0.7}, 9).weights("ab") == {"a": 1.0, "b": 1.0}
    weights = Guard({"a": 1.0, "b": 0.75}, 9).weights("ab")
    assert weights["b"] / weights["a"] == pytest.approx(0.66, abs=0.005)
    weights = Guard({"a": 1.0, "b": 0.6}, 9).weights("ab")
    assert weights["b"] / weights["a"] == pytest.approx(0.34, abs=0.005)


def test_a_sentence_is_taken_out_of_a_text_with_three():
    text = (
        "The wing is at rest in the flow. A slab conducts heat to the other side! Short one. It ends here, does it not?"
    )
    seen = set()
    for seed in range(20):
        document, passage = cut_out({"id": "1", "title": "Wings", "text": text}, FIELDS, np.random.default_rng(seed))
        seen.add(passage)
        assert passage in text
        assert document["title"] == "Wings"
        assert " ".join(document["text"].split()) == " ".join(text.replace(passage, "").split())
    assert seen == {
        "The wing is at rest in the flow.",
        "A slab conducts heat to the other side!",
        "It ends here, does it not?",
    }


def test_a_third_of_the_words_is_taken_out_of_a_text_without_sentences():
    words = [f"word{n}" for n in range(13)]
    document, passage = cut_out({"id": "1", "text": " ".join(words)}, FIELDS, np.random.default_rng(0))
    at = words.index(passage.split()[0])
    assert passage.split() == words[at : at + 4]
    assert document["text"].split() == words[:at] + words[at + 4 :]


def test_texts_under_ten_words_are_skipped():
    rng = np.random.default_rng(0)
    assert cut_out({"id": "1", "text": "one two three four five six seven eight nine"}, FIELDS, rng) is None
    assert cut_out({"id": "1", "text": "one two three four five six seven eight nine ten"}, FIELDS, rng) is not None


def test_the_three_queries_of_a_passage():
    frequency = {"rare": 1, "word": 9, "common": 50, "heat": 3}
    words = Words(Tokenizer(), lambda stem: frequency.get(stem, 7))
    passage = "The common words of rare heat"
    seen = set()
    for seed in range(40):
        whole, rare, some = words.queries(passage, "heats and commons", np.random.default_rng(seed))
        assert whole == passage
        assert rare in {"rare heat", "words rare heat", "common words rare heat"}  # in order; no stop words
        assert some.split() == [word for word in passage.split() if word in some.split()]
        assert {"The", "words", "of", "rare"} <= set(some.split())  # not in the rest
        seen.add(some)
    assert len(seen) == 4  # heat and common, each dropped half the time


def test_qualities_are_those_of_a_collection_with_the_changed_documents(searcher):
    state = searcher.state
    probes = pseudo_queries(state, seed=0)
    fields = state.settings.fields
    texts = [probes.rests.get(n, text_of(one, fields)) for n, one in enumerate(searcher.documents)]
    vectors = encode(texts).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    gains = []
    for query, text in probes.queries.items():
        one = encode([text])[0].astype(np.float64)
        scores = vectors @ (one / np.linalg.norm(one))
        position = 1 + int((scores > scores[probes.sources[query]] + 1e-7).sum())
        gains.append(1 / log2(1 + position) if position <= 10 else 0)
    guard = guard_of(state, min_sources=1)
    assert guard.quality["dense"] == pytest.approx(np.mean(gains) + 0.01, abs=0.01)  # ties
    assert guard.n_documents == len(probes.rests) == 80
    assert guard == state.settings.guard


def test_only_the_sources_change(searcher):
    probes = pseudo_queries(searcher.state, seed=3)
    other = changed(searcher.state, probes)
    before, after = (one.retrievers["dense"].fitted.vectors for one in (searcher.state, other))
    same = np.array([n not in probes.rests for n in range(80)])
    assert np.array_equal(before[same], after[same])
    assert len(other) == 80


def test_a_ranker_that_fails_is_left_out_and_named(searcher):
    assert searcher.state.trusted == ("bm25", "dense")
    answer = searcher.search("heat in a slab")
    assert list(answer.lists) == ["bm25", "dense"]
    assert list(searcher.search(item="d3").lists) == ["bm25", "dense"]  # of weft, too
    assert str(searcher.state.settings.guard).endswith("Left out: blind.")
    assert searcher.info()["self_test"]["weights"].keys() == {"bm25", "dense"}


def test_named_rankers_and_other_methods_are_not_guarded(searcher):
    assert list(searcher.search("heat", rankers=["bm25", "blind"]).lists) == ["bm25", "blind"]
    assert list(searcher.search("heat", method="rrf").lists) == ["bm25", "dense", "blind"]


def test_guarded_vote_is_vote_with_these_weights(searcher):
    plain = rl.Searcher.build(documents(80), {"bm25": "okapi", "dense": encode}, self_test=False)
    weights = searcher.state.settings.guard.weights(["bm25", "dense"])
    expected = plain.search("heat conduction", weights=weights)
    assert [(hit.id, hit.score) for hit in searcher.search("heat conduction")] == [(h.id, h.score) for h in expected]
    twice = {name: 2 * weight for name, weight in weights.items()}  # a user's weights multiply
    found = searcher.search("heat conduction", weights={"bm25": 2, "dense": 2})
    assert [hit.id for hit in found] == [hit.id for hit in plain.search("heat conduction", weights=twice)]


def test_the_outcome_is_saved_and_made_again(searcher, tmp_path):
    searcher.save(tmp_path / "s.loom")
    opened = rl.Searcher.open(tmp_path / "s.loom", encoders={"dense": encode, "blind": constant})
    assert opened.state.settings.guard == searcher.state.settings.guard
    opened.add(documents(4, seed=5, start=100))
    assert opened.state.settings.guard == searcher.state.settings.guard
    opened.compact()
    assert opened.state.settings.guard.n_documents == 84
    without = rl.Searcher.open(tmp_path / "s.loom", encoders={"dense": None, "blind": None})
    without.compact()
    assert without.state.settings.guard == searcher.state.settings.guard


def test_by_default_only_many_documents_and_our_own_encoders_are_tested():
    many = documents(1000)
    assert rl.Searcher.build(documents(50), ["bm25", "bow-cosine"]).state.settings.guard is None
    assert rl.Searcher.build(many, ["bm25"]).state.settings.guard is None
    assert rl.Searcher.build(many, ["bm25", "bow-cosine"], self_test=False).state.settings.guard is None
    assert rl.Searcher.build(many, {"bm25": "okapi", "dense": encode}).state.settings.guard is None
    guard = rl.Searcher.build(many, ["bm25", "bow-cosine"]).state.settings.guard
    assert guard.n_documents == 200
    assert guard == rl.Searcher.build(many, ["bm25", "bow-cosine"], self_test=True).state.settings.guard


def test_a_test_that_is_impossible_says_why():
    points = [{"id": str(n), "text": "x", "place": [float(n), 1.0]} for n in range(5)]
    with pytest.raises(InputError, match=r"texts that accept new documents and queries; 'near' does not"):
        rl.Searcher.build(points, {"near": "vectors(part=place)"}, self_test=True)
    with pytest.raises(InputError, match="none has enough text"):
        rl.Searcher.build(["a cat", "a dog"], ["bm25"], self_test=True)
    with pytest.raises(InputError, match="self_test must be True or False"):
        rl.Searcher.build(["a cat", "a dog"], ["bm25"], self_test="yes")


def test_a_stored_outcome_that_is_not_that_of_the_rankers_is_refused():
    good = {"quality": {"a": 0.5, "b": 0.1}, "n_documents": 9}
    assert Guard.restored(good, ["a", "b"]) == Guard({"a": 0.5, "b": 0.1}, 9)
    for quality in ({"a": 0.5}, {"a": 0.5, "b": 0.0}, {"a": 0.5, "b": float("nan")}, {"b": 0.1, "a": 0.5}):
        with pytest.raises(InputError, match="does not match the rankers"):
            Guard.restored({**good, "quality": quality}, ["a", "b"])
