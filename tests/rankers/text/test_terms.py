"""Tokens, stems and sparse counts of texts."""

import gzip
import itertools
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_text import tokenize
from snowballstemmer.porter_stemmer import PorterStemmer

from rankloom.errors import InputError
from rankloom.rankers.text import terms
from rankloom.rankers.text.terms import STOP_WORDS, TermSpace, Tokenizer, Vocabulary, check_texts

WORDS = ("fever", "cough", "fevers", "the", "of", "ache", "aching", "zebra")
TEXTS = st.lists(st.lists(st.sampled_from((*WORDS, ".")), max_size=12).map(" ".join), max_size=8)


def test_tokens_are_lower_case_stems_without_stop_words():
    assert tokenize("The Evaluation of WOMEN with possible appendicitis") == ["evalu", "women", "possibl", "append"]


def test_numbers_are_optional_and_their_period_does_not_end_a_sentence():
    assert Tokenizer(stem=False, numbers=True).sentences("Ratio 1.9:1. Next one!\nLast") == [
        ["ratio", "1", "9", "1"],
        ["next"],
        ["last"],
    ]


def test_bare_numbers_are_dropped_but_not_numbers_with_letters():
    assert Tokenizer(stem=False).sentences("26 women, vitamin B12, 99m technetium 1.9:1") == [
        ["women", "vitamin", "b12", "99m", "technetium"]
    ]


def test_a_server_does_not_keep_all_words_of_its_queries(monkeypatch):
    monkeypatch.setattr(terms, "MAX_KNOWN", 5)
    tokenizer = Tokenizer(stop_words=["the"])
    for number in range(50):
        assert tokenizer.sentences(f"the cats run{number} home") == [["cat", f"run{number}", "home"]]
    assert len(tokenizer._tokens) == 5


def test_clitics_underscores_and_other_alphabets():
    assert Tokenizer(stem=False).sentences("Patient’s isn't T_cell naïve Ωmega ﬁbrosis") == [
        ["patient", "t", "cell", "naïve", "ωmega", "fibrosis"]
    ]


def test_a_text_without_words_has_no_sentences():
    assert [Tokenizer().sentences(text) for text in ("", " .!?\n", "the of and")] == [[], [], []]


def test_stems_are_porter_not_snowball_english():
    # Snowball's "english" gives "generous" for both; Porter's rules of 1980 "gener".
    assert tokenize("generously generous relational") == ["gener", "gener", "relat"]


def test_stems_are_those_of_snowballstemmer():
    listed = [
        *sorted(STOP_WORDS),
        "caresses",
        "ponies",
        "skies",
        "dying",
        "hopping",
        "falling",
        "naïve",
        "χ",
        "99m",
        "x",
        "conditional",
    ]
    assert list(map(terms.porter(), listed)) == PorterStemmer().stemWords(listed)


def test_stems_of_real_words_are_those_of_snowballstemmer(shared):
    with gzip.open(shared / "data/ohsumed/ohsumed_single_label_18302.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(next(lines))["text"] for _ in range(300)]
    found = sorted({word for text in texts for part in Tokenizer(stem=False).sentences(text) for word in part})
    stem, other = terms.porter(), PorterStemmer().stemWord
    assert len(found) > 4000
    assert [word for word in found if stem(word) != other(word)] == []


def test_a_word_is_stemmed_once(monkeypatch):
    calls = Counter()
    monkeypatch.setattr(terms, "porter", lambda: lambda word: calls.update([word]) or word)
    Tokenizer().sentences("fever fever cough fever")
    assert calls == {"fever": 1, "cough": 1}


def test_words_are_numbered_alphabetically_and_pairs_stay_within_their_unit():
    # Stems in order: cough 0, fever 1; codes are first * 2 + second.
    vocabulary, tokens = Vocabulary.fit(["fever cough. fever", "cough"])
    assert vocabulary.numbers == {"cough": 0, "fever": 1}
    assert vocabulary.pairs(tokens).codes.tolist() == [2, 1]
    assert vocabulary.pairs(tokens, within="sentence").codes.tolist() == [2]


def test_an_unknown_word_separates_its_neighbors():
    space, _ = TermSpace.fit(["fever cough"], "words and pairs")
    assert space.counts(["fever cough", "fever zebra cough", "cough fever"]).toarray().tolist() == [
        [1, 1, 1],
        [1, 1, 0],
        [1, 1, 0],
    ]


@given(TEXTS)
def test_counts_equal_plain_dicts(texts):
    space, counts = TermSpace.fit(texts, "words and pairs")
    names = list(space.vocabulary.numbers)
    n = len(names)
    known = [(name,) for name in names] + [(names[code // n], names[code % n]) for code in space.pairs.tolist()]
    for row, text in zip(counts.toarray().tolist(), texts, strict=True):
        tokens = tokenize(text)
        expected = Counter((token,) for token in tokens) + Counter(itertools.pairwise(tokens))
        assert {term: count for term, count in zip(known, row, strict=True) if count} == expected
    assert known[:n] == sorted(known[:n])
    assert np.array_equal(space.counts(texts).toarray(), counts.toarray())


@pytest.mark.parametrize("texts", ["one string", ["a", 3], [b"bytes"]])
def test_invalid_texts_are_rejected(texts):
    with pytest.raises(InputError, match="texts must be"):
        check_texts(texts, "texts")


def test_words_are_what_the_documentation_says():
    words = Tokenizer().sentences("The 12 caf\u00e9s, Cafe B12 \u6771\u4eac\u306e\u5929\u6c17 \u0939\u093f\u0928")
    assert words == [["caf\u00e9", "cafe", "b12", "\u6771\u4eac\u306e\u5929\u6c17", "\u0939", "\u0928"]]
