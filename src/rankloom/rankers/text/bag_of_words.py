r"""Bag-of-words rankers: words and word 2-grams, by cosine, Jaccard, Dice, TF-IDF and Okapi BM25.

A text is represented by its stems, without stop words and bare numbers, unless a `Tokenizer` changes that (`terms.py`).
With :math:`f` the frequency of a term in a text, :math:`n` the number of texts and :math:`n_t` the number of texts with
the term, the weights are

==============  ==============================================
"binary"        1
"tf"            :math:`f`
"log-tf"        :math:`1 + \ln f`
"tf-idf"        :math:`f \ln(n / n_t)`
"log-tf-idf"    :math:`(1 + \ln f) \ln(n / n_t)`
==============  ==============================================

A term that occurs in every text has weight 0 in the last two. The fusion-graph article names descriptors and
similarities but not their weights. The defaults of the four rankers of its Ohsumed experiment were chosen by their
effectiveness there: "log-tf-idf" (ltc in SMART notation), Jaccard of weights rather than of sets, 2-grams together with
words rather than alone, no bare numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError, UnknownNameError, brief
from rankloom.rankers.text.term_model import Fit, Scheme, Statistics, Weigh, sums, term_model, unit, with_data

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Floats = NDArray[np.float64]
K1, B = 1.2, 0.75  # Okapi defaults

#: Weight of a frequency, and whether to multiply it by the inverse document frequency.
WEIGHTS: Mapping[str, tuple[Callable[[Floats], Floats], bool]] = {
    "binary": (np.ones_like, False),
    "tf": (np.asarray, False),
    "log-tf": (lambda f: 1.0 + np.log(f), False),
    "tf-idf": (np.asarray, True),
    "log-tf-idf": (lambda f: 1.0 + np.log(f), True),
}


@term_model
def bow_cosine(*, weights: str = "log-tf-idf") -> Scheme:
    r"""Cosine similarity of bags of words.

    .. math:: \cos(a, b) = \sum_t a_t b_t \,/\, (\lVert a \rVert_2 \lVert b \rVert_2)

    References
    ----------
    Baeza-Yates, Ribeiro-Neto (1999), Modern Information Retrieval, section 2.5.3 (the vector model).

    Examples
    --------
    >>> model = bow_cosine(["heart failure", "heart attack", "skin"], weights="tf")
    >>> model.rank().items.tolist()
    [[0, 1, -1], [1, 0, -1], [2, -1, -1]]
    >>> model.rank(["failure of the heart"], depth=2).scores.round(4)
    array([[1. , 0.5]], dtype=float32)
    """
    return _cosine("words", weights)


@term_model
def bow_jaccard(*, weights: str = "log-tf-idf") -> Scheme:
    r"""Weighted Jaccard similarity of bags of words; with "binary" weights, of sets.

    .. math:: J(a, b) = \sum_t \min(a_t, b_t) \,/\, \sum_t \max(a_t, b_t)

    Notes
    -----
    Words of an external query that are not in the collection are ignored and do not count toward its size.

    References
    ----------
    Lewis, Ossowski, Hicks, Errami, Garner (2006), Text similarity: an alternative way to search MEDLINE,
    doi:10.1093/bioinformatics/btl388

    Examples
    --------
    >>> bow_jaccard(["heart failure", "heart attack"], weights="binary").rank().scores.round(4)
    array([[1.    , 0.3333],
           [1.    , 0.3333]], dtype=float32)
    """
    return _jaccard("words", weights)


@term_model
def two_grams_cosine(*, weights: str = "log-tf-idf", terms: str = "words and pairs") -> Scheme:
    """Cosine similarity of bags of word 2-grams: words, and pairs of consecutive words.

    ``terms="pairs"`` uses pairs alone. Stop words are removed first; pairs may span sentences.

    Examples
    --------
    >>> two_grams_cosine(["heart failure", "failure, heart"], weights="tf").rank().scores.round(4)
    array([[1.    , 0.6667],
           [1.    , 0.6667]], dtype=float32)
    """
    return _cosine(_grams(terms), weights)


@term_model
def two_grams_jaccard(*, weights: str = "log-tf-idf", terms: str = "words and pairs") -> Scheme:
    """Weighted Jaccard similarity (see `bow_jaccard`) of bags of word 2-grams (see `two_grams_cosine`).

    Notes
    -----
    Terms of an external query that are not in the collection are ignored and do not count toward its size.

    Examples
    --------
    >>> two_grams_jaccard(["heart failure", "failure, heart"], weights="binary").rank().scores
    array([[1. , 0.5],
           [1. , 0.5]], dtype=float32)
    """
    return _jaccard(_grams(terms), weights)


@term_model
def cosine() -> Scheme:
    """The textbook vector space model: `bow_cosine` with "tf-idf" weights."""
    return _cosine("words", "tf-idf")


@term_model
def bow() -> Scheme:
    """Plain bag of words: `bow_cosine` with frequencies as weights.

    References
    ----------
    Carrillo, Villatoro-Tello, López-López, Eliasmith, Montes-y-Gómez, Villaseñor-Pineda (2009), Representing context
    information for document retrieval, Flexible Query Answering Systems.
    """
    return _cosine("words", "tf")


@term_model
def jaccard() -> Scheme:
    r"""Jaccard similarity of the sets of words, :math:`|A \cap B| / |A \cup B|`.

    Notes
    -----
    Words of an external query that are not in the collection are ignored and do not count toward its size.
    """
    return _jaccard("words", "binary")


@term_model
def dice() -> Scheme:
    r"""Dice similarity of the sets of words, :math:`2 |A \cap B| / (|A| + |B|)`; same order as Jaccard.

    Notes
    -----
    Words of an external query that are not in the collection are ignored and do not count toward its size.

    Examples
    --------
    >>> dice(["heart failure", "heart attack"]).rank().scores[0]
    array([1. , 0.5], dtype=float32)
    """
    return Scheme("words", weighing("binary"), "minimum", "mean")


@term_model
def tfidf() -> Scheme:
    r"""TF-IDF: the sum over shared words of the product of both weights, without length normalization.

    .. math:: s(q, d) = \sum_t f_q(t)\, f_d(t) \ln^2(n / n_t)

    A long text can score higher than the query itself.
    """
    return Scheme("words", weighing("tf-idf"), "product", "total")


@term_model
def okapi(*, k1: float = K1, b: float = B) -> Scheme:
    r"""Okapi BM25 in Lucene's variant, whose weights are never negative.

    .. math:: s(q, d) = \sum_t f_q(t) \ln\left(1 + \frac{n - n_t + 1/2}{n_t + 1/2}\right)
        \frac{f_d(t)}{f_d(t) + k_1 (1 - b + b\, |d| / \overline{|d|})}

    Not symmetric; a text can score higher than the query itself.

    References
    ----------
    Robertson, Walker, Jones, Hancock-Beaulieu, Gatford (1995), Okapi at TREC-3.

    Examples
    --------
    >>> okapi(["heart heart", "heart skin", "skin"]).rank(["heart"]).items
    array([[ 0,  1, -1]], dtype=int32)
    """
    if not (k1 >= 0 and 0 <= b <= 1):
        raise InputError(f"k1 must be at least 0 and b from 0 to 1; got {brief(k1)} and {brief(b)}.")

    def weigh(counts: csr_matrix, statistics: Statistics) -> csr_matrix:
        frequency = statistics.frequency
        idf = np.log(1.0 + (statistics.n_texts - frequency + 0.5) / (frequency + 0.5))
        saturation = k1 * (1.0 - b + b * sums(counts) / statistics.mean_length)
        spread = np.repeat(saturation, np.diff(counts.indptr))
        return with_data(counts, idf[counts.indices] * counts.data / (counts.data + spread))

    return Scheme("words", weigh, "product", "total", weigh_query=weighing("tf"))


#: Rankers of this module by name: ``RANKERS[name](texts).rank()``.
RANKERS: Mapping[str, Fit] = {
    "bow-cosine": bow_cosine,
    "bow-jaccard": bow_jaccard,
    "2grams-cosine": two_grams_cosine,
    "2grams-jaccard": two_grams_jaccard,
    "cosine": cosine,
    "jaccard": jaccard,
    "tfidf": tfidf,
    "dice": dice,
    "okapi": okapi,
    "bow": bow,
}


def weighing(weights: str) -> Weigh:
    """Return the weighting function of that name, from counts and the statistics of a collection to weights."""
    if weights not in WEIGHTS:
        raise UnknownNameError("weights", weights, WEIGHTS)
    local, with_idf = WEIGHTS[weights]

    def weigh(counts: csr_matrix, statistics: Statistics) -> csr_matrix:
        values = local(counts.data.astype(np.float64))
        if with_idf:
            values = values * np.log(max(statistics.n_texts, 1) / np.maximum(statistics.frequency, 1))[counts.indices]
        return with_data(counts, values)

    return weigh


def _cosine(terms: str, weights: str) -> Scheme:
    weigh = weighing(weights)
    return Scheme(terms, lambda counts, statistics: unit(weigh(counts, statistics)), "product", "total")


def _jaccard(terms: str, weights: str) -> Scheme:
    return Scheme(terms, weighing(weights), "minimum", "union")


def _grams(terms: str) -> str:
    if terms not in ("pairs", "words and pairs"):
        raise UnknownNameError("terms", terms, ("pairs", "words and pairs"))
    return terms
