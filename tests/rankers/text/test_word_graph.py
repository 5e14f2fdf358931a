"""Word graphs against a worked example and reference dicts."""

import numpy as np
import plain_text as plain
import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_helpers import check_blocks_and_threads, fit, lists, random_texts, score_table

WORDS = ("fever", "cough", "ache", "zebra", "the", ".")
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join), min_size=1, max_size=8)


def test_similarity_example():
    # 0: vertices fever 3/3, cough 2/3; edges fever->cough 2/2, cough->fever 1/2 (the last fever is in a new sentence):
    #    |0| = 5/3 + 3/2 = 19/6.
    # 1: vertices fever 1, cough 1; edge fever->cough 1: |1| = 3. mcs = 1 + 2/3 + 1 = 8/3.
    texts = ["fever cough fever cough. fever", "fever cough"]
    common, sizes = 8 / 3, (19 / 6, 3)
    assert fit("gnf-wgu", texts).rank().scores[0, 1] == pytest.approx(common / (sum(sizes) - common))
    assert fit("gnf-mcs", texts).rank().scores[0, 1] == pytest.approx(common / max(sizes))


def test_edges_are_directed_and_within_a_sentence():
    # Only vertices are shared, 2 of weight 1; the edges fever->cough and cough->fever differ, and text 2 has none.
    texts = ["fever cough", "cough fever", "cough. fever"]
    assert fit("gnf-wgu", texts).rank().scores[0].tolist() == pytest.approx([1, 2 / 3, 2 / 4])
    assert lists(fit("gnf-wgu", texts).rank())[0] == [0, 2, 1]


def test_idf_raises_the_weight_of_rare_words():
    texts = ["fever cough", "fever ache", "cough zebra", "fever skin"]
    assert lists(fit("gnf-wgu", texts, idf=True).rank())[0] == [0, 2, 1, 3]
    assert lists(fit("gnf-wgu", texts).rank())[0] == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["gnf-mcs", "gnf-wgu"])
@pytest.mark.parametrize("idf", [True, False])
@given(texts=TEXTS, queries=TEXTS)
def test_similarities_equal_the_reference(name, idf, texts, queries):
    similarity = {"gnf-wgu": plain.jaccard, "gnf-mcs": plain.larger}[name]
    graphs = [plain.graph(text) for text in texts]
    rare = plain.idf(graphs)
    weigh = "tf-idf" if idf else "tf"
    weighted = [plain.weighted(graph, weigh, rare) for graph in graphs]
    external = [plain.weighted(plain.graph(text, rare), weigh, rare) for text in queries]
    model = fit(name, texts, idf=idf)
    expected = [[similarity(a, b) for b in weighted] for a in weighted]
    assert score_table(model.rank()) == pytest.approx(np.array(expected), abs=1e-6)
    expected = [[similarity(a, b) for b in weighted] for a in external]
    shape = len(external), len(weighted)
    assert score_table(model.rank(queries)) == pytest.approx(np.array(expected).reshape(shape), abs=1e-6)


@given(TEXTS)
def test_wgu_is_at_most_mcs_and_both_are_symmetric(texts):
    wgu, mcs = score_table(fit("gnf-wgu", texts).rank()), score_table(fit("gnf-mcs", texts).rank())
    has_words = [bool(plain.graph(text)) for text in texts]
    for scores in (wgu, mcs):
        assert np.array_equal(scores, scores.T)
        assert np.diag(scores).tolist() == has_words
    assert (wgu <= mcs).all()


@pytest.mark.parametrize("name", ["gnf-mcs", "gnf-wgu"])
def test_bits_do_not_depend_on_blocks_or_threads(name):
    check_blocks_and_threads(fit(name, random_texts(WORDS, 50, 0, 20, seed=5)), depth=9)


@pytest.mark.parametrize("name", ["gnf-mcs", "gnf-wgu"])
def test_empty_texts_are_only_in_their_own_lists(name):
    model = fit(name, ["", "fever", "the"])
    assert lists(model.rank()) == [[0], [1], [2]]
    assert lists(model.rank(["", "unknown"])) == [[], []]
    assert fit(name, []).rank().items.shape == (0, 0)
