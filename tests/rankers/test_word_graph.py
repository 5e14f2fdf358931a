"""Graphs of words against a worked case, plain dicts and our own graph comparators."""

import numpy as np
import plain_text as plain
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloom as rl
from rankloom.rankers.word_graph import RANKERS, gnf_mcs, gnf_wgu

WORDS = ("fever", "cough", "ache", "zebra", "the", ".")
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join), min_size=1, max_size=8)


def lists(ranks):
    return [[item for item in row if item != rl.PAD] for row in ranks.items.tolist()]


def table(ranks):
    scores = np.zeros((ranks.n_queries, ranks.n_items))
    for q, row in enumerate(lists(ranks)):
        scores[q, row] = ranks.scores[q, : len(row)]
    return scores


def test_two_graphs_by_hand():
    # 0: vertices fever 3/3, cough 2/3; edges fever->cough 2/2, cough->fever 1/2 (the last fever is a new sentence):
    #    |0| = 5/3 + 3/2 = 19/6.
    # 1: vertices fever 1, cough 1; edge fever->cough 1: |1| = 3. mcs = 1 + 2/3 + 1 = 8/3.
    texts = ["fever cough fever cough. fever", "fever cough"]
    common, sizes = 8 / 3, (19 / 6, 3)
    assert gnf_wgu(texts).rank().scores[0, 1] == pytest.approx(common / (sum(sizes) - common))
    assert gnf_mcs(texts).rank().scores[0, 1] == pytest.approx(common / max(sizes))


def test_edges_have_a_direction_and_end_with_the_sentence():
    # Vertices alone are shared, 2 of weight 1; the edges fever->cough and cough->fever differ, and 2 has none.
    texts = ["fever cough", "cough fever", "cough. fever"]
    assert gnf_wgu(texts).rank().scores[0].tolist() == pytest.approx([1, 2 / 3, 2 / 4])
    assert lists(gnf_wgu(texts).rank())[0] == [0, 2, 1]


def test_rare_words_weigh_more_with_idf():
    texts = ["fever cough", "fever ache", "cough zebra", "fever skin"]
    assert lists(gnf_wgu(texts, idf=True).rank())[0] == [0, 2, 1, 3]
    assert lists(gnf_wgu(texts).rank())[0] == [0, 1, 2, 3]


@pytest.mark.parametrize("name", sorted(RANKERS))
@pytest.mark.parametrize("idf", [True, False])
@given(texts=TEXTS, queries=TEXTS)
def test_graphs_equal_plain_ones(name, idf, texts, queries):
    similarity = {"gnf-wgu": plain.jaccard, "gnf-mcs": plain.larger}[name]
    graphs = [plain.graph(text) for text in texts]
    rare = plain.idf(graphs)
    weigh = "tf-idf" if idf else "tf"
    known = [plain.weighted(graph, weigh, rare) for graph in graphs]
    asked = [plain.weighted(plain.graph(text, rare), weigh, rare) for text in queries]
    model = RANKERS[name](texts, idf=idf)
    expected = [[similarity(a, b) for b in known] for a in known]
    assert table(model.rank()) == pytest.approx(np.array(expected), abs=1e-6)
    outside = [[similarity(a, b) for b in known] for a in asked]
    assert table(model.rank(queries)) == pytest.approx(np.array(outside).reshape(len(asked), len(known)), abs=1e-6)


@given(TEXTS)
def test_wgu_is_at_most_mcs_and_both_are_symmetric_with_one_on_the_diagonal(texts):
    wgu, mcs = table(gnf_wgu(texts).rank()), table(gnf_mcs(texts).rank())
    full = [bool(plain.graph(text)) for text in texts]
    for scores in (wgu, mcs):
        assert np.array_equal(scores, scores.T)
        assert np.diag(scores).tolist() == full
    assert (wgu <= mcs).all()


@pytest.mark.parametrize("name", sorted(RANKERS))
def test_bits_do_not_depend_on_blocks_or_threads(name):
    random = np.random.default_rng(5)
    model = RANKERS[name]([" ".join(random.choice(WORDS, size)) for size in random.integers(0, 20, 50)])
    one = model.rank(depth=9, block=50, threads=1)
    for block, threads in ((1, 1), (7, 2), (16, 3)):
        other = model.rank(depth=9, block=block, threads=threads)
        assert np.array_equal(one.items, other.items)
        assert one.scores.tobytes() == other.scores.tobytes()


@pytest.mark.parametrize("name", sorted(RANKERS))
def test_empty_texts_list_themselves_alone(name):
    model = RANKERS[name](["", "fever", "the"])
    assert lists(model.rank()) == [[0], [1], [2]]
    assert lists(model.rank(["", "unheard"])) == [[], []]
    assert RANKERS[name]([]).rank().items.shape == (0, 0)
