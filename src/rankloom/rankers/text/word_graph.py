r"""Texts as graphs of words: the normalized-frequency graph, compared by maximum common subgraph.

The vertices of a text are its stems, without stop words; an edge leads from each word to the next word of the sentence.
The weight of a vertex is the frequency of its word, divided by that of the most frequent word; the weight of an edge is
its frequency, divided by that of the most frequent edge. No word is pruned.

Labels are unique, so the maximum common subgraph of two graphs is their intersection: its size is the sum over shared
vertices and edges of the smaller weight, and the size of a graph is the sum of its weights. So a graph is a sparse
vector, and graphs are ranked as vectors.

``idf=True`` multiplies each weight by :math:`\ln(n / n_t)`, as in `bag_of_words.py`; the book does not.

References
----------
Schenker, Bunke, Last, Kandel (2005), Graph-theoretic techniques for web content mining, doi:10.1142/5832, chapter 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloom.rankers.ranker import register_ranker
from rankloom.rankers.text.bag_of_words import weighted
from rankloom.rankers.text.sparse_rows import with_data
from rankloom.rankers.text.term_model import Statistics, TermRanker

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class WordGraphs(TermRanker):
    """A ranker by word graphs."""

    overlap: ClassVar[str] = "minimum"
    within: ClassVar[str] = "sentence"

    idf: bool = False

    @property
    def kind(self) -> str:
        return "words and pairs"

    def weigh(self, counts: csr_matrix, statistics: Statistics) -> csr_matrix:
        return weighted(normalized(counts, statistics.n_words), statistics, "tf-idf" if self.idf else "tf")


@register_ranker("gnf-wgu")
class GnfWGU(WordGraphs):
    r"""Similarity of word graphs by weighted graph union.

    .. math:: s(a, b) = |\mathrm{mcs}(a, b)| \,/\, (|a| + |b| - |\mathrm{mcs}(a, b)|)

    References
    ----------
    Wallis, Shoubridge, Kraetz, Ray (2001), Graph distances using graph union, doi:10.1016/S0167-8655(01)00022-8

    Examples
    --------
    They share two words of weight 1; each has an edge that the other lacks.

    >>> GnfWGU().fit(["Heart failure.", "Failure, heart."]).rank().scores
    array([[1. , 0.5],
           [1. , 0.5]], dtype=float32)
    """

    share = "union"


@register_ranker("gnf-mcs")
class GnfMCS(WordGraphs):
    r"""Similarity of word graphs by maximum common subgraph.

    .. math:: s(a, b) = |\mathrm{mcs}(a, b)| \,/\, \max(|a|, |b|)

    References
    ----------
    Bunke, Shearer (1998), A graph distance metric based on the maximal common subgraph,
    doi:10.1016/S0167-8655(97)00179-7

    Examples
    --------
    >>> GnfMCS().fit(["Heart failure.", "Failure, heart."]).rank().scores[0].round(4)
    array([1.    , 0.6667], dtype=float32)
    """

    share = "larger"


def normalized(counts: csr_matrix, n_words: int) -> csr_matrix:
    """Return the counts of words (the first columns) and of pairs, each divided by the row's maximum of its kind."""
    texts = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    kinds = 2 * texts + (counts.indices >= n_words)
    largest = np.zeros(2 * counts.shape[0])
    np.maximum.at(largest, kinds, counts.data)
    return with_data(counts, counts.data / largest[kinds])
