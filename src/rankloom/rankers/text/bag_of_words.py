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
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge

from rankloom.rankers.ranker import register_ranker
from rankloom.rankers.text.sparse_rows import sums, unit, with_data
from rankloom.rankers.text.term_model import Statistics, TermRanker
from rankloom.ranks.arrays import Floats
from rankloom.registry import Share

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

#: Names of the weights above.
Weights = Literal["binary", "tf", "log-tf", "tf-idf", "log-tf-idf"]

#: Weight of a frequency, and whether to multiply it by the inverse document frequency.
WEIGHTS: Mapping[Weights, tuple[Callable[[Floats], Floats], bool]] = {
    "binary": (np.ones_like, False),
    "tf": (np.asarray, False),
    "log-tf": (lambda f: 1.0 + np.log(f), False),
    "tf-idf": (np.asarray, True),
    "log-tf-idf": (lambda f: 1.0 + np.log(f), True),
}


def weighted(counts: csr_matrix, statistics: Statistics, weights: Weights) -> csr_matrix:
    """Return the weights of counts, given the statistics of the collection."""
    local, with_idf = WEIGHTS[weights]
    values = local(counts.data.astype(np.float64))
    if with_idf:
        values = values * np.log(max(statistics.n_texts, 1) / np.maximum(statistics.frequency, 1))[counts.indices]
    return with_data(counts, values)


@register_ranker("bow-cosine")
class BowCosine(TermRanker):
    r"""Cosine similarity of bags of words.

    .. math:: \cos(a, b) = \sum_t a_t b_t \,/\, (\lVert a \rVert_2 \lVert b \rVert_2)

    References
    ----------
    Baeza-Yates, Ribeiro-Neto (1999), Modern Information Retrieval, section 2.5.3 (the vector model).

    Examples
    --------
    >>> model = BowCosine(weights="tf").fit(["heart failure", "heart attack", "skin"])
    >>> model.rank().items.tolist()
    [[0, 1, -1], [1, 0, -1], [2, -1, -1]]
    >>> model.rank(["failure of the heart"], depth=2).scores.round(4)
    array([[1. , 0.5]], dtype=float32)
    """

    symmetric: ClassVar[bool] = True

    weights: Weights = "log-tf-idf"

    def weigh(self, counts: csr_matrix, statistics: Statistics) -> csr_matrix:
        return unit(weighted(counts, statistics, self.weights))


@register_ranker("bow-jaccard")
class BowJaccard(TermRanker):
    r"""Weighted Jaccard similarity of bags of words; with "binary" weights, of sets.

    .. math:: J(a, b) = \sum_t \min(a_t, b_t) \,/\, \sum_t \max(a_t, b_t)

    References
    ----------
    Lewis, Ossowski, Hicks, Errami, Garner (2006), Text similarity: an alternative way to search MEDLINE,
    doi:10.1093/bioinformatics/btl388

    Examples
    --------
    >>> BowJaccard(weights="binary").fit(["heart failure", "heart attack"]).rank().scores.round(4)
    array([[1.    , 0.3333],
           [1.    , 0.3333]], dtype=float32)
    """

    overlap = "minimum"
    share = "union"

    weights: Weights = "log-tf-idf"

    def weigh(self, counts: csr_matrix, statistics: Statistics) -> csr_matrix:
        return weighted(counts, statistics, self.weights)


class WithPairs(TermRanker):
    """A ranker by words and pairs of consecutive words, or by pairs alone."""

    terms: Literal["words and pairs", "pairs"] = "words and pairs"

    @property
    def kind(self) -> str:
        return self.terms


@register_ranker("2grams-cosine")
class TwoGramsCosine(WithPairs, BowCosine):
    """Cosine similarity of bags of word 2-grams: words, and pairs of consecutive words.

    ``terms="pairs"`` uses pairs alone. Stop words are removed first; pairs may span sentences.

    Examples
    --------
    >>> TwoGramsCosine(weights="tf").fit(["heart failure", "failure, heart"]).rank().scores.round(4)
    array([[1.    , 0.6667],
           [1.    , 0.6667]], dtype=float32)
    """


@register_ranker("2grams-jaccard")
class TwoGramsJaccard(WithPairs, BowJaccard):
    """Weighted Jaccard similarity (see `bow-jaccard`) of bags of word 2-grams (see `2grams-cosine`).

    Examples
    --------
    >>> TwoGramsJaccard(weights="binary").fit(["heart failure", "failure, heart"]).rank().scores
    array([[1. , 0.5],
           [1. , 0.5]], dtype=float32)
    """


@register_ranker("cosine")
class Cosine(BowCosine):
    """The textbook vector space model: `bow-cosine` with "tf-idf" weights."""

    weights: Weights = field(default="tf-idf", init=False)


@register_ranker("bow")
class Bow(BowCosine):
    """Plain bag of words: `bow-cosine` with frequencies as weights.

    References
    ----------
    Carrillo, Villatoro-Tello, López-López, Eliasmith, Montes-y-Gómez, Villaseñor-Pineda (2009), Representing context
    information for document retrieval, Flexible Query Answering Systems.
    """

    weights: Weights = field(default="tf", init=False)


@register_ranker("jaccard")
class Jaccard(BowJaccard):
    r"""Jaccard similarity of the sets of words, :math:`|A \cap B| / |A \cup B|`."""

    weights: Weights = field(default="binary", init=False)


@register_ranker("dice")
class Dice(Jaccard):
    r"""Dice similarity of the sets of words, :math:`2 |A \cap B| / (|A| + |B|)`; same order as Jaccard.

    Examples
    --------
    >>> Dice().fit(["heart failure", "heart attack"]).rank().scores[0]
    array([1. , 0.5], dtype=float32)
    """

    share = "mean"


@register_ranker("tfidf")
class TFIDF(TermRanker):
    r"""TF-IDF: the sum over shared words of the product of both weights, without length normalization.

    .. math:: s(q, d) = \sum_t f_q(t)\, f_d(t) \ln^2(n / n_t)

    A long text can score higher than the query itself.
    """

    def weigh(self, counts: csr_matrix, statistics: Statistics) -> csr_matrix:
        return weighted(counts, statistics, "tf-idf")


@register_ranker("okapi")
class Okapi(TermRanker):
    r"""Okapi BM25 in Lucene's variant, whose weights are never negative.

    .. math:: s(q, d) = \sum_t f_q(t) \ln\left(1 + \frac{n - n_t + 1/2}{n_t + 1/2}\right)
        \frac{f_d(t)}{f_d(t) + k_1 (1 - b + b\, |d| / \overline{|d|})}

    Not symmetric; a text can score higher than the query itself.

    References
    ----------
    Robertson, Walker, Jones, Hancock-Beaulieu, Gatford (1995), Okapi at TREC-3.

    Examples
    --------
    >>> Okapi().fit(["heart heart", "heart skin", "skin"]).rank(["heart"]).items
    array([[ 0,  1, -1]], dtype=int32)
    """

    weighs_queries = True

    k1: Annotated[float, Ge(0)] = 1.2
    b: Share = 0.75

    def weigh(self, counts: csr_matrix, statistics: Statistics) -> csr_matrix:
        frequency = statistics.frequency
        idf = np.log(1.0 + (statistics.n_texts - frequency + 0.5) / (frequency + 0.5))
        saturation = self.k1 * (1.0 - self.b + self.b * sums(counts) / statistics.mean_length)
        spread = np.repeat(saturation, np.diff(counts.indptr))
        return with_data(counts, idf[counts.indices] * counts.data / (counts.data + spread))

    def weigh_query(self, counts: csr_matrix, statistics: Statistics) -> csr_matrix:
        return weighted(counts, statistics, "tf")


@register_ranker("bm25")
class BM25(Okapi):  # noqa: D101  # the same under its other name
    __doc__ = Okapi.__doc__
