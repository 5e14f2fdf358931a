"""Ranking by sparse vectors of weighted terms, with an inverted index."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from rankloom._kernels import frozen
from rankloom.datasets.collection import Contents
from rankloom.errors import InputError, whole_number
from rankloom.io.cache import Cache
from rankloom.io.npz import pack_ids, unpack_ids
from rankloom.rankers.text.sparse_rows import are_valid, heaviest, is_valid, kernel_arrays, stored_rows, sums
from rankloom.rankers.text.terms import TermSpace, Tokenizer, Vocabulary, check_texts
from rankloom.ranks import PAD, Ids, Ranks
from rankloom.ranks.arrays import Array, Bools, Float32s, Int64s, Numbers
from rankloom.registry import Count, Options
from rankloom.threads import run_blocks

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

BLOCK = 256  # queries per block
MANY_TEXTS = 50_000  # a collection above this is large
ENOUGH_TERMS = 25  # of an item as a query, in a large collection

#: The overlap of two weights, and the function of both sizes that their sum is divided by; see `_kernels.postings`.
OVERLAPS = {"product": 0, "minimum": 1}
SHARES = {"total": 0, "union": 1, "larger": 2, "mean": 3}
POSTINGS = ("post_ptr", "post_texts", "post_weights", "sizes")  # names of the arrays of the inverted index


class Statistics(NamedTuple):
    """What weights depend on besides the text itself: fixed when a model is fitted."""

    n_texts: int
    mean_length: float
    n_words: int  # the first columns of counts; the others are pairs of words
    frequency: Int64s  # number of texts with each term

    @classmethod
    def of(cls, counts: csr_matrix, n_words: int) -> Statistics:
        """Return the statistics of a collection's counts."""
        lengths = sums(counts)
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        return cls(counts.shape[0], float(lengths.mean()) if lengths.any() else 1.0, n_words, frequency)


class Scheme(Options, ABC):
    r"""How counts of terms become weights, and weights a score.

    With weights :math:`w \ge 0` and sizes :math:`|a|`, the overlap of q and d is
    :math:`c = \sum_t w_q(t) w_d(t)` ("product") or :math:`c = \sum_t \min(w_q(t), w_d(t))` ("minimum"), and the
    score is c ("total"), c / (\|q\| + \|d\| - c) ("union"), c / max(\|q\|, \|d\|) ("larger") or
    2c / (\|q\| + \|d\|) ("mean").
    """

    overlap: ClassVar[str] = "product"
    share: ClassVar[str] = "total"
    weighs_queries: ClassVar[bool] = False  #: whether queries have weights of their own, `weigh_query`

    @abstractmethod
    def weigh(self, counts: csr_matrix, statistics: Statistics) -> csr_matrix:
        """Return the weights of rows of counts, given the statistics of the collection."""

    def weigh_query(self, counts: csr_matrix, statistics: Statistics) -> csr_matrix:
        """Return the weights of queries, items as queries among them."""
        return self.weigh(counts, statistics)

    def as_queries(self, own: csr_matrix, texts: csr_matrix, n_texts: int) -> csr_matrix:
        """Return what is searched for in place of the items, given both weights of these."""
        return own


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightModel(ABC):
    """A collection as rows of weights, ranked by overlap; see `Scheme`.

    A list has only items that share a term of positive weight with the query, and the query itself if it is an item:
    with score 0 if it has no terms. Scores are computed in float64 and rounded to float32; ties are ordered by number,
    the query itself first. The bits do not depend on blocks or threads.
    """

    scheme: Scheme
    statistics: Statistics
    texts: csr_matrix  #: weights of the items, of shape (n_items, n_terms)
    own: csr_matrix  #: what is searched for in place of the items (often the same matrix)

    @property
    def n_items(self) -> int:
        return int(self.own.shape[0])

    @abstractmethod
    def query_counts(self, queries: Contents) -> csr_matrix:
        """Return how often each term of the collection occurs in external queries."""

    def rank(
        self,
        queries: Contents | None = None,
        *,
        depth: int = 1000,
        block: int = BLOCK,
        allowed: Bools | None = None,
    ) -> Ranks:
        """Rank the collection for each of its items, or for external queries.

        Terms of a query that are not in the collection are ignored. A list has at most `depth` items, fewer if fewer
        overlap with the query. Queries are ranked in blocks of `block`. Only items that the mask `allowed` has are
        ranked.
        """
        if queries is None:
            rows, own = self.own, np.arange(self.n_items)
        else:
            rows = self.scheme.weigh_query(self.query_counts(queries), self.statistics)
            own = np.full(rows.shape[0], PAD)
        return self._ranked(rows, own, depth, allowed=allowed, block=block)

    def rank_items(
        self,
        rows: Numbers,
        *,
        depth: int = 1000,
        among: Numbers | None = None,
        floors: Float32s | None = None,
        of: Self | None = None,
    ) -> Ranks:
        """Return the lists of some items, by number; of all items, or only `among` some."""
        queries = (of or self).own
        if not np.array_equal(rows, np.arange(queries.shape[0])):  # otherwise without a copy
            queries = queries[rows]
        own = rows if of is None else np.full(len(rows), PAD)
        if among is None:
            return self._ranked(queries, own, depth, floors=floors)
        if 2 * len(among) > self.n_items:  # quicker than a model of most of the items
            allowed = np.zeros(self.n_items + 1, np.bool_)  # the last one is that of PAD
            allowed[among] = True
            own = np.where(allowed[own], own, PAD)
            return self._ranked(queries, own, depth, allowed=allowed[:-1], floors=floors)
        places = np.full(self.n_items + 1, PAD)
        places[among] = np.arange(len(among))
        found = self.subset(among)._ranked(queries, places[own], depth, floors=floors)
        numbers = np.append(among, PAD).astype(np.int32)  # the last one maps PAD to itself
        return found.replaced(items=numbers[found.items], n_items=self.n_items)

    def rank_part(self, rows: Numbers, *, depth: int = 1000) -> Ranks:
        return self.rank_items(rows, depth=depth)

    def for_workers(self) -> CountedModel:
        """Return the weights and posting lists alone, which is all that `rank_part` needs."""
        fields = ("scheme", "statistics", "texts", "own")
        model = CountedModel(**{name: getattr(self, name) for name in fields})
        object.__setattr__(model, "_postings", self._postings)  # otherwise computed again on each worker
        return model

    def subset(self, numbers: Numbers) -> Self:
        texts = self.texts[numbers]
        return replace(self, texts=texts, own=texts if self.own is self.texts else self.own[numbers])

    def with_counts(self, counts: csr_matrix) -> Self:
        """Return the model with more items after its own, given their counts, and the same statistics."""
        from scipy.sparse import vstack

        new = weighed(self.scheme, self.statistics, counts)
        texts = vstack([self.texts, new["texts"]], format="csr")
        own = texts if self.own is self.texts else vstack([self.own, new["own"]], format="csr")
        return replace(self, texts=texts, own=own)

    def row_arrays(self) -> dict[str, Array]:
        """Return the weights of the items."""
        rows: dict[str, Array] = dict(
            zip(("text_ptr", "text_terms", "text_weights"), kernel_arrays(self.texts), strict=True)
        )
        if self.own is not self.texts:
            rows |= dict(zip(("own_ptr", "own_terms", "own_weights"), kernel_arrays(self.own), strict=True))
        return rows

    def with_rows(self, arrays: Mapping[str, Array]) -> Self:
        """Return the model with other items, by their weights, and the same statistics."""
        n_terms = self.texts.shape[1]
        texts = stored_rows(arrays, "text", n_terms)
        own = stored_rows(arrays, "own", n_terms) if "own_ptr" in arrays else texts
        if not (is_valid(texts) and is_valid(own) and texts.shape == own.shape):
            raise InputError("The weights of the items have numbers out of range.")
        return replace(self, texts=texts, own=own)

    def weight_arrays(self) -> dict[str, Array]:
        """Return the arrays that `restored_weights` makes the weights from."""
        stored: dict[str, Array] = {
            "frequency": self.statistics.frequency,
            "n_texts": np.array([self.statistics.n_texts]),
        }
        stored |= {"mean_length": np.array([self.statistics.mean_length])}
        return {**stored, **self.row_arrays(), **dict(zip(POSTINGS, self._postings, strict=True))}

    def with_postings(self, arrays: Mapping[str, Array]) -> Self:
        """Return this model with its posting lists as they were stored, after checks: kernels trust them."""
        ptr, texts, weights, sizes = stored = tuple(arrays[name] for name in POSTINGS)
        n_terms = self.texts.shape[1]
        types = [array.dtype for array in stored] == [np.int64, np.int32, np.float64, np.float64]
        if not types or ptr.shape != (n_terms + 1,) or not texts.shape == weights.shape == (ptr[-1],):
            raise InputError("The posting lists do not match each other.")
        if sizes.shape != (self.n_items,) or self.own.shape != self.texts.shape:
            raise InputError("The posting lists do not match the items.")
        if not (are_valid(ptr, texts, weights, self.n_items) and is_valid(self.texts) and is_valid(self.own)):
            raise InputError("The posting lists or the weights of the items have numbers out of range.")
        object.__setattr__(self, "_postings", stored)  # otherwise computed
        return self

    @cached_property
    def _postings(self) -> tuple[Array, ...]:
        return (*kernel_arrays(self.texts.tocsc()), sums(self.texts))

    def _ranked(
        self,
        rows: csr_matrix,
        own: Numbers,
        depth: int,
        *,
        allowed: Bools | None = None,
        floors: Float32s | None = None,
        block: int = BLOCK,
    ) -> Ranks:
        from rankloom._kernels.text import postings as kernels

        texts = kernels.Postings(*_read_only(*self._postings))
        n = len(texts.sizes)
        items = np.full((rows.shape[0], min(whole_number("depth", depth), n)), PAD, np.int32)
        scores = np.zeros(items.shape, np.float32)
        lists = kernels.Lists(items, scores.view(np.int32))
        mask = np.ones(0, np.bool_) if allowed is None else np.ascontiguousarray(allowed, np.bool_)
        above = np.zeros(0, np.float32) if floors is None else np.ascontiguousarray(floors, np.float32)
        given = (*kernel_arrays(rows), sums(rows), np.ascontiguousarray(own, np.int64), above)
        queries = kernels.Queries(*_read_only(*given))
        scoring = kernels.Scoring(OVERLAPS[self.scheme.overlap], SHARES[self.scheme.share], *_read_only(mask))

        def work(start: int, stop: int) -> None:
            single = np.zeros(1, np.float32)  # viewed as a number and as its bits
            numbers = np.empty(n, np.int32), np.empty(n, np.int64), single, single.view(np.int32)
            scratch = kernels.Scratch(np.zeros(n), np.empty(n), np.empty(n), *numbers)
            kernels.rank(start, stop, queries, texts, scoring, scratch, lists)

        run_blocks(work, rows.shape[0], stage="Ranking texts", block=whole_number("block", block))
        return Ranks.trusted(items, scores, n)


@dataclass(frozen=True, eq=False, kw_only=True)
class CountedModel(WeightModel):
    """Weights alone: external queries are counts of terms."""

    def query_counts(self, queries: Any) -> csr_matrix:
        return queries


@dataclass(frozen=True, eq=False, kw_only=True)
class TermModel(WeightModel):
    """A collection of texts as weighted terms."""

    space: TermSpace

    def query_counts(self, queries: Sequence[str]) -> csr_matrix:
        return self.space.counts(check_texts(queries, "queries"))

    def appended(self, items: Sequence[str], *, cache: Cache | None = None) -> TermModel:
        """Return the model with more texts after its own and the same statistics: new words do not count."""
        return self.with_counts(self.space.counts(check_texts(items, "texts")))

    def arrays(self) -> dict[str, Array]:
        words, word_ptr = pack_ids(Ids(self.space.vocabulary.numbers))
        return {"words": words, "word_ptr": word_ptr, "pairs": self.space.pairs, **self.weight_arrays()}


class TermRanker(Scheme):
    """A ranker of texts by their terms: words, pairs of consecutive words, or both.

    Terms of an external query that are not in the collection are ignored and do not count toward its size.
    """

    part: ClassVar[str] = "texts"
    comparable: ClassVar[bool] = False  #: a few words are not a document
    exhaustive: ClassVar[bool] = True  #: a list has all texts that share a term
    within: ClassVar[str] = "text"  #: where a pair of consecutive words must be: in one text, or in one sentence

    #: Use only this many terms of an item as a query: the heaviest, those that add most to its score with itself. By
    #: default all, and 25 in a collection of more than 50,000 texts.
    max_terms: Count | None = None

    @property
    def kind(self) -> str:
        """The kind of terms: "words", "pairs" or "words and pairs"."""
        return "words"

    def fit(self, items: Sequence[str], *, cache: Cache | None = None, tokenizer: Tokenizer | None = None) -> TermModel:
        space, counts = TermSpace.fit(check_texts(items, "texts"), self.kind, tokenizer, within=self.within)
        statistics = Statistics.of(counts, len(space.vocabulary.numbers))
        return TermModel(space=space, scheme=self, statistics=statistics, **weighed(self, statistics, counts))

    def restored(self, arrays: Mapping[str, Array]) -> TermModel:
        words = {word: n for n, word in enumerate(unpack_ids(arrays["words"], arrays["word_ptr"]))}
        space = TermSpace(Vocabulary(words, Tokenizer()), arrays["pairs"], self.kind, self.within)
        model = TermModel(space=space, scheme=self, **restored_weights(arrays, len(words)))
        return model.with_postings(arrays)

    def as_queries(self, own: csr_matrix, texts: csr_matrix, n_texts: int) -> csr_matrix:
        """Return the heaviest terms of the items, if there is a maximum."""
        limit = ENOUGH_TERMS if self.max_terms is None and n_texts > MANY_TEXTS else self.max_terms
        return own if limit is None else heaviest(own, own.data * texts.data, limit)


def weighed(scheme: Scheme, statistics: Statistics, counts: csr_matrix) -> dict[str, csr_matrix]:
    """Return `texts` and `own` of a `WeightModel`, from counts of terms."""
    texts = scheme.weigh(counts, statistics)
    own = scheme.weigh_query(counts, statistics) if scheme.weighs_queries else texts
    return {"texts": texts, "own": scheme.as_queries(own, texts, statistics.n_texts)}


def restored_weights(arrays: Mapping[str, Array], n_words: int) -> dict[str, Any]:
    """Return statistics and weights of the `WeightModel` whose `weight_arrays` these are."""
    n_texts, mean = int(arrays["n_texts"][0]), float(arrays["mean_length"][0])
    statistics = Statistics(n_texts, mean, n_words, arrays["frequency"])
    inside = 0 < mean < np.inf and statistics.frequency.min(initial=0) >= 0
    if not inside or statistics.frequency.ndim != 1 or statistics.frequency.max(initial=0) > n_texts:
        raise InputError("The statistics of the texts are out of range.")
    n_terms = len(statistics.frequency)
    texts = stored_rows(arrays, "text", n_terms)
    own = stored_rows(arrays, "own", n_terms) if "own_ptr" in arrays else texts
    return {"statistics": statistics, "texts": texts, "own": own}


def _read_only(*arrays: Array) -> tuple[Array, ...]:
    """Return read-only views, as the arrays of a saved model are: kernels are compiled for these alone."""
    return tuple(frozen(array.view()) for array in arrays)
