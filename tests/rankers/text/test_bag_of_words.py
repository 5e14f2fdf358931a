"""Bag-of-words rankers against worked examples, reference formulas and bm25s."""

import gzip
import json
import math
from typing import get_args

import bm25s
import numpy as np
import plain_text as plain
import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_helpers import check_blocks_and_threads, fit, lists, random_texts, score_table

import rankloom as rl
from rankloom.errors import InputError, UnknownNameError
from rankloom.rankers import RANKERS
from rankloom.rankers.text.bag_of_words import WEIGHTS, Weights
from rankloom.threads import running

WORDS = ("fever", "cough", "ache", "zebra", "naïve", "the", "heart", ".")
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=10).map(" ".join), min_size=1, max_size=9)

#: Ranker -> its terms, weights and reference similarity.
PLAIN = {
    "bow-cosine": ("words", "log-tf-idf", plain.cosine),
    "bow-jaccard": ("words", "log-tf-idf", plain.jaccard),
    "2grams-cosine": ("words and pairs", "log-tf-idf", plain.cosine),
    "2grams-jaccard": ("words and pairs", "log-tf-idf", plain.jaccard),
    "cosine": ("words", "tf-idf", plain.cosine),
    "jaccard": ("words", "binary", plain.jaccard),
    "tfidf": ("words", "tf-idf", plain.product),
    "dice": ("words", "binary", plain.dice),
    "bow": ("words", "tf", plain.cosine),
}
NAMES = sorted([*PLAIN, "okapi"])


def check(ranks, expected, own):
    """Compare with the scores of all pairs: equal scores, and equal order except for ties up to rounding."""
    for q, scores in enumerate(expected):
        order, rounded = plain.ranking(scores, q if own else None)
        found = lists(ranks)[q]
        assert sorted(found) == sorted(order)
        assert ranks.scores[q, : len(found)] == pytest.approx([rounded[item] for item in found], abs=2e-6, rel=1e-6)
        assert [rounded[item] for item in found] == pytest.approx([rounded[item] for item in order], abs=2e-6, rel=1e-6)


def test_cosine_of_frequencies_example():
    # 0: fever 2, cough 1; 1: fever 1; 2: ache 1. cos(0, 1) = 2 / sqrt(5).
    ranks = fit("bow-cosine", ["fever fever cough", "fever", "ache"], weights="tf").rank()
    assert lists(ranks) == [[0, 1], [1, 0], [2]]
    assert ranks.scores[0].tolist() == pytest.approx([1.0, 2 / math.sqrt(5), 0.0])


def test_log_tf_idf_example():
    # n = 3, fever is in 2, cough in 1: weights of 0 are (1 + ln 2) ln(3/2) and ln 3; of 1, ln(3/2): a unit vector.
    fever, cough = (1 + math.log(2)) * math.log(3 / 2), math.log(3)
    ranks = fit("bow-cosine", ["fever fever cough", "fever", "ache"]).rank()
    assert ranks.scores[0, 1] == pytest.approx(fever / math.hypot(fever, cough))


def test_weighted_jaccard_example():
    # min: fever 1; max: fever 2, cough 1.
    ranks = fit("bow-jaccard", ["fever fever cough", "fever"], weights="tf").rank()
    assert ranks.scores[0].tolist() == pytest.approx([1, 1 / 3])


def test_two_grams_with_and_without_words():
    # Pairs of 0: fever cough, cough ache; of 1: cough ache.
    texts = ["fever cough ache", "cough ache"]
    pairs = fit("2grams-cosine", texts, weights="tf", terms="pairs").rank()
    both = fit("2grams-cosine", texts, weights="tf").rank()
    assert pairs.scores[0, 1] == pytest.approx(1 / math.sqrt(2))
    assert both.scores[0, 1] == pytest.approx(3 / math.sqrt(5 * 3))


def test_okapi_example():
    # n = 3, fever is in 2; lengths 2, 1, 1, with mean 4/3.
    texts = ["fever cough", "fever", "ache"]
    idf = math.log(1 + 1.5 / 2.5)
    scores = [idf / (1 + 1.2 * (0.25 + 0.75 * length / (4 / 3))) for length in (1, 2)]
    ranks = fit("okapi", texts).rank(["fever"])
    assert lists(ranks) == [[1, 0]]
    assert ranks.scores[0, :2].tolist() == pytest.approx(scores)


@given(TEXTS, st.data())
def test_rankers_equal_reference_formulas(texts, data):
    name = data.draw(st.sampled_from(sorted(PLAIN)))
    terms, weights, similarity = PLAIN[name]
    bags = [plain.bag(text, terms) for text in texts]
    vectors = [plain.weighted(one, weights, plain.idf(bags)) for one in bags]
    check(fit(name, texts).rank(), [[similarity(a, b) for b in vectors] for a in vectors], own=True)


@given(TEXTS, TEXTS)
def test_external_queries_equal_reference_formulas(texts, queries):
    bags = [plain.bag(text) for text in texts]
    weighted = [plain.weighted(plain.bag(text), "log-tf-idf", plain.idf(bags)) for text in queries]
    known = [plain.weighted(one, "log-tf-idf", plain.idf(bags)) for one in bags]
    check(fit("bow-jaccard", texts).rank(queries), [[plain.jaccard(a, b) for b in known] for a in weighted], own=False)


@given(TEXTS)
def test_okapi_equals_the_reference_formula(texts):
    bags = [plain.bag(text) for text in texts]
    check(fit("okapi", texts).rank(), [[plain.okapi(a, b, bags) for b in bags] for a in bags], own=True)


def test_okapi_equals_bm25s():
    random = np.random.default_rng(7)
    texts = [" ".join(random.choice(WORDS[:5], size)) for size in random.integers(1, 30, 40)]
    reference = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    reference.index([plain.tokenize(text) for text in texts], show_progress=False)
    ranks = fit("okapi", texts).rank(["fever cough", "zebra zebra ache"])
    for q, query in enumerate(["fever cough", "zebra zebra ache"]):
        scores = reference.get_scores(plain.tokenize(query))
        found = lists(ranks)[q]
        assert sorted(found) == np.flatnonzero(scores).tolist()
        assert ranks.scores[q, : len(found)] == pytest.approx(scores[found], rel=1e-5)


@pytest.mark.parametrize("name", sorted(PLAIN.keys() - {"tfidf"}))
def test_similarities_are_symmetric_and_items_come_first_in_their_lists(name):
    ranks = fit(name, random_texts(WORDS, 60, 1, 12, seed=3)).rank()
    table = score_table(ranks)
    assert np.array_equal(table, table.T)
    assert ranks.items[:, 0].tolist() == list(range(60))


@pytest.mark.parametrize("name", NAMES)
def test_bits_do_not_depend_on_blocks_or_threads(name):
    check_blocks_and_threads(fit(name, random_texts(WORDS, 50, 0, 12, seed=5)), depth=7)


@pytest.mark.parametrize("name", NAMES)
def test_ranks_are_valid_and_a_short_list_is_a_prefix(name):
    model = fit(name, random_texts(WORDS, 50, 0, 12, seed=6))
    long = model.rank()
    rl.Ranks(long.items, long.scores, long.n_items)
    assert np.array_equal(model.rank(depth=3).items, long.items[:, :3])


@pytest.mark.parametrize("name", NAMES)
def test_empty_texts_are_only_in_their_own_lists(name):
    model = fit(name, ["", "fever cough", "the", "fever"])
    assert lists(model.rank())[0] == [0]
    assert lists(model.rank())[2] == [2]
    assert {0, 2}.isdisjoint({*lists(model.rank())[1], *lists(model.rank())[3]})
    assert lists(model.rank(["", "unknown", "fever"]))[:2] == [[], []]


@pytest.mark.parametrize("name", NAMES)
def test_no_texts_and_no_queries(name):
    assert fit(name, []).rank().items.shape == (0, 0)
    assert fit(name, ["fever"]).rank([]).items.shape == (0, 1)
    assert lists(fit(name, []).rank(["fever"])) == [[]]


def test_ties_are_ordered_by_number_after_the_text_itself():
    assert lists(fit("bow-jaccard", ["fever", "fever", "fever", "cough"]).rank())[:3] == [
        [0, 1, 2],
        [1, 0, 2],
        [2, 0, 1],
    ]


def test_progress_counts_queries():
    steps = []
    with running(progress=lambda *args: steps.append(args)):
        fit("bow-cosine", ["fever", "cough"]).rank(block=1)
    assert steps == [("Ranking texts", 1, 2), ("Ranking texts", 2, 2)]


def test_invalid_options_are_rejected():
    with pytest.raises(UnknownNameError, match="Unknown value of weights 'tfidf'"):
        RANKERS["bow-cosine"](weights="tfidf")
    with pytest.raises(UnknownNameError, match="Unknown value of terms 'words'"):
        RANKERS["2grams-cosine"](terms="words")
    with pytest.raises(InputError, match="b must be from 0 to 1"):
        RANKERS["okapi"](b=2.0)
    with pytest.raises(InputError, match="depth must be"):
        fit("okapi", ["a"]).rank(depth=0)
    assert get_args(Weights) == tuple(WEIGHTS)


def test_neighbors_in_a_sample_of_ohsumed_share_the_class(shared):
    with gzip.open(shared / "data/ohsumed/ohsumed_single_label_18302.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(next(lines)) for _ in range(300)]
    labels = [record["labels"][0] for record in records]
    texts = [record["text"] for record in records]
    found = {name: rl.evaluate(fit(name, texts).rank(depth=10), labels=labels)["ndcg@10"] for name in NAMES}
    assert min(found.values()) > 0.4
    assert found["bow-cosine"] > found["bow"]


@pytest.mark.parametrize("name", ["bow-jaccard", "2grams-jaccard", "jaccard", "dice", "gnf-wgu", "gnf-mcs"])
def test_unknown_words_of_a_query_are_ignored(name):
    model = fit(name, ["heart failure", "skin"])
    np.testing.assert_array_equal(model.rank(["heart failure zebra"]).scores, model.rank(["heart failure"]).scores)
