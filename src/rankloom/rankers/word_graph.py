r"""Texts as graphs of words: the normalized-frequency graph, compared by maximum common subgraph.

A text's vertices are its stems, without stop words; an edge leads from a word to the one that follows it in the same
sentence. A vertex weighs how often the word is there, divided by the most frequent word's number; an edge how often the
one follows the other, divided by the most frequent edge's number. All words of a text are kept.

Labels are unique, so the maximum common subgraph of two such graphs is what they share: its size is the sum over shared
vertices and edges of the smaller weight, and the size of a graph the sum of all its weights. So a graph is a sparse
vector, and graphs are ranked as vectors are.

``idf=True`` multiplies each weight with :math:`\ln(n / n_t)`, as in `bag_of_words.py`; the book does not.

References
----------
Schenker, Bunke, Last, Kandel (2005), Graph-theoretic techniques for web content mining, doi:10.1142/5832, chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankloom.rankers.bag_of_words import weighing
from rankloom.rankers.term_model import TermModel, sums, with_data
from rankloom.rankers.terms import TermSpace, Tokenizer, check_texts

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def gnf_wgu(texts: Sequence[str], *, idf: bool = False, tokenizer: Tokenizer | None = None) -> TermModel:
    r"""Graphs of words by weighted graph union.

    .. math:: s(a, b) = |\mathrm{mcs}(a, b)| \,/\, (|a| + |b| - |\mathrm{mcs}(a, b)|)

    Notes
    -----
    A word of an external query that the collection does not have counts nowhere, not in the size of the query
    either.

    References
    ----------
    Wallis, Shoubridge, Kraetz, Ray (2001), Graph distances using graph union, doi:10.1016/S0167-8655(01)00022-8

    Examples
    --------
    Both share two words of weight 1 each; each has an edge of its own.

    >>> gnf_wgu(["Heart failure.", "Failure, heart."]).rank().scores
    array([[1. , 0.5],
           [1. , 0.5]], dtype=float32)
    """
    return _model(texts, idf, tokenizer, "union")


def gnf_mcs(texts: Sequence[str], *, idf: bool = False, tokenizer: Tokenizer | None = None) -> TermModel:
    r"""Graphs of words by maximum common subgraph.

    .. math:: s(a, b) = |\mathrm{mcs}(a, b)| \,/\, \max(|a|, |b|)

    Notes
    -----
    A word of an external query that the collection does not have counts nowhere, not in the size of the query
    either.

    References
    ----------
    Bunke, Shearer (1998), A graph distance metric based on the maximal common subgraph,
    doi:10.1016/S0167-8655(97)00179-7

    Examples
    --------
    >>> gnf_mcs(["Heart failure.", "Failure, heart."]).rank().scores[0].round(4)
    array([1.    , 0.6667], dtype=float32)
    """
    return _model(texts, idf, tokenizer, "larger")


#: The rankers of this module by name: ``RANKERS[name](texts).rank()``.
RANKERS: Mapping[str, Callable[..., TermModel]] = {"gnf-mcs": gnf_mcs, "gnf-wgu": gnf_wgu}


def _model(texts: Sequence[str], idf: bool, tokenizer: Tokenizer | None, share: str) -> TermModel:
    space, counts = TermSpace.fit(check_texts(texts, "texts"), "words and pairs", tokenizer, within="sentence")
    rare = weighing("tf-idf" if idf else "tf", counts)
    n_words = len(space.vocabulary.numbers)

    def weigh(rows: csr_matrix) -> csr_matrix:
        return rare(normalized(rows, n_words))

    known = weigh(counts)
    return TermModel(known, known, lambda queries: weigh(space.counts(queries)), sums, "minimum", share)


def normalized(counts: csr_matrix, n_words: int) -> csr_matrix:
    """Return the counts of words (the first columns) and of pairs, each divided by the largest of its kind and row."""
    texts = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    kinds = 2 * texts + (counts.indices >= n_words)
    largest = np.zeros(2 * counts.shape[0])
    np.maximum.at(largest, kinds, counts.data)
    return with_data(counts, counts.data / largest[kinds])
