"""Ranking by sparse vectors of weighted terms, with an inverted index."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rankloom._kernels import frozen
from rankloom.errors import InputError, whole_number
from rankloom.io.cache import Cache
from rankloom.io.npz import pack_ids, unpack_ids
from rankloom.rankers.text.terms import TermSpace, Tokenizer, Vocabulary, check_texts
from rankloom.ranks import PAD, Ids, Ranks
from rankloom.threads import Progress, run_blocks

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

BLOCK = 256  # queries per block

#: The overlap of two weights, and the function of both sizes that their sum is divided by; see `_kernels.postings`.
OVERLAPS = {"product": 0, "minimum": 1}
SHARES = {"total": 0, "union": 1, "larger": 2, "mean": 3}
POSTINGS = ("post_ptr", "post_texts", "post_weights", "sizes")  # names of the arrays of the inverted index
ALL = np.ones(0, np.bool_)  # an empty mask allows every item

Numbers = NDArray[np.integer[Any]]


class Statistics(NamedTuple):
    """What weights depend on besides the text itself: fixed when a model is fitted."""

    n_texts: int
    mean_length: float
    n_words: int  # the first columns of counts; the others are pairs of words
    frequency: NDArray[np.int64]  # number of texts with each term

    @classmethod
    def of(cls, counts: csr_matrix, n_words: int) -> Statistics:
        """Return the statistics of a collection's counts."""
        lengths = sums(counts)
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        return cls(counts.shape[0], float(lengths.mean()) if lengths.any() else 1.0, n_words, frequency)


#: (counts of terms, statistics of the collection) -> weights, row by row
Weigh = Callable[["csr_matrix", Statistics], "csr_matrix"]


@dataclass(frozen=True, slots=True)
class Scheme:
    r"""How counts of terms become weights, and weights a score.

    With weights :math:`w \ge 0` and sizes :math:`|a|`, the overlap of q and d is
    :math:`c = \sum_t w_q(t) w_d(t)` ("product") or :math:`c = \sum_t \min(w_q(t), w_d(t))` ("minimum"), and the
    score is c ("total"), c / (\|q\| + \|d\| - c) ("union"), c / max(\|q\|, \|d\|) ("larger") or
    2c / (\|q\| + \|d\|) ("mean").

    Attributes
    ----------
    terms : {"words", "pairs", "words and pairs"}
    weigh : callable
        The weights of items; those of queries too, unless `weigh_query` is given.
    overlap, share : str
        As above.
    weigh_query : callable, optional
    within : {"text", "sentence"}
        Where a pair of consecutive words must be.
    max_terms : int, optional
        Use only this many terms of an item as a query: the heaviest, those that add most to its score with itself.
        External queries are not cut.
    """

    terms: str
    weigh: Weigh
    overlap: str
    share: str
    weigh_query: Weigh | None = None
    within: str = "text"
    max_terms: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightModel(ABC):
    """A collection as rows of weights, ranked by overlap; see `Scheme`.

    A list has only items that share a term of positive weight with the query, and the query itself if it is an item:
    with score 0 if it has no terms. Scores are computed in float64 and rounded to float32; ties are ordered by number,
    the query itself first. The bits do not depend on blocks or threads.

    Attributes
    ----------
    scheme : Scheme
    statistics : Statistics
    texts, own : csr_matrix of shape (n_items, n_terms)
        Weights of the items, and of the items as queries (often the same matrix).
    """

    scheme: Scheme
    statistics: Statistics
    texts: csr_matrix
    own: csr_matrix

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.own.shape[0])

    @abstractmethod
    def query_counts(self, queries: Sequence[Any], progress: Progress | None = None) -> csr_matrix:
        """Return how often each term occurs in external queries."""

    def rank(
        self,
        queries: Sequence[Any] | None = None,
        *,
        depth: int = 1000,
        block: int = BLOCK,
        progress: Progress | None = None,
        allowed: NDArray[np.bool_] | None = None,
    ) -> Ranks:
        """Rank the collection for each of its items, or for external queries.

        Terms of a query that are not in the collection are ignored. A list has at most `depth` items, fewer if fewer
        overlap with the query. Queries are ranked in blocks of `block`; `progress` is called with the stage, the
        queries done and their number. Only items that the mask `allowed` has are ranked.
        """
        if queries is None:
            rows, own = self._queries, np.arange(self.n_items)
        else:
            counts = self.query_counts(queries, progress)
            rows = (self.scheme.weigh_query or self.scheme.weigh)(counts, self.statistics)
            own = np.full(rows.shape[0], PAD)
        mask = ALL if allowed is None else allowed
        return self._ranked(rows, own, self._postings, mask, depth, block, progress)

    def rank_items(
        self,
        rows: Numbers,
        *,
        depth: int = 1000,
        among: Numbers | None = None,
        floors: NDArray[np.float32] | None = None,
        progress: Progress | None = None,
    ) -> Ranks:
        """Return the lists of some items, by number; of all items, or only `among` some."""
        queries = self._queries[rows]
        if among is None:
            return self._ranked(queries, rows, self._postings, ALL, depth, BLOCK, progress)
        places = np.full(self.n_items + 1, PAD)
        places[among] = np.arange(len(among))
        some = self.subset(among)
        found = some._ranked(queries, places[rows], some._postings, ALL, depth, BLOCK, progress)
        numbers = np.append(among, PAD).astype(np.int32)  # the last one maps PAD to itself
        return found.replaced(items=numbers[found.items], n_items=self.n_items)

    def rank_part(self, rows: Numbers, *, depth: int = 1000) -> Ranks:
        """Return the lists of some items as `rank` does."""
        return self.rank_items(rows, depth=depth)

    def for_workers(self) -> CountedModel:
        """Return the weights and posting lists alone, which is all that `rank_part` needs."""
        fields = ("scheme", "statistics", "texts", "own")
        model = CountedModel(**{name: getattr(self, name) for name in fields})
        model.__dict__["_postings"] = self._postings  # what cached_property would compute again on each worker
        return model

    def subset(self, numbers: Numbers) -> Self:
        """Return the model of only these items, in this order, with the same statistics."""
        texts = self.texts[numbers]
        return replace(self, texts=texts, own=texts if self.own is self.texts else self.own[numbers])

    def with_counts(self, counts: csr_matrix) -> Self:
        """Return the model with more items after its own, given their counts, and the same statistics."""
        from scipy.sparse import vstack

        new = weighed(self.scheme, self.statistics, counts)
        texts = vstack([self.texts, new["texts"]], format="csr")
        own = texts if self.own is self.texts else vstack([self.own, new["own"]], format="csr")
        return replace(self, texts=texts, own=own)

    def weight_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that `restored_weights` makes the weights from."""
        stored = {"frequency": self.statistics.frequency, "n_texts": np.array([self.statistics.n_texts])}
        stored |= {"mean_length": np.array([self.statistics.mean_length])}
        stored |= dict(zip(("text_ptr", "text_terms", "text_weights"), _arrays(self.texts), strict=True))
        if self.own is not self.texts:
            stored |= dict(zip(("own_ptr", "own_terms", "own_weights"), _arrays(self.own), strict=True))
        return stored | dict(zip(POSTINGS, self._postings, strict=True))

    def with_postings(self, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return this model with its posting lists as they were stored."""
        ptr, texts, weights, sizes = stored = tuple(arrays[name] for name in POSTINGS)
        n_terms = self.texts.shape[1]
        types = [array.dtype for array in stored] == [np.int64, np.int32, np.float64, np.float64]
        if not types or ptr.shape != (n_terms + 1,) or not texts.shape == weights.shape == (ptr[-1],):
            raise InputError("The posting lists do not match each other.")
        if sizes.shape != (self.n_items,) or self.own.shape != self.texts.shape:
            raise InputError("The posting lists do not match the items.")
        self.__dict__["_postings"] = stored  # what cached_property would compute
        return self

    def verify(self) -> None:
        """Raise InputError if stored weights or posting lists are damaged: kernels trust them."""
        if not (_is_valid(self.texts) and _is_valid(self.own)):
            raise InputError("The weights of the items have terms out of range.")
        expected: tuple[NDArray[Any], ...] = (*_arrays(self.texts.tocsc()), sums(self.texts))
        if not all(np.array_equal(one, other) for one, other in zip(expected, self._postings, strict=True)):
            raise InputError("The posting lists do not match the weights of the items.")

    @cached_property
    def _postings(self) -> tuple[NDArray[Any], ...]:
        return (*_arrays(self.texts.tocsc()), sums(self.texts))

    @cached_property
    def _queries(self) -> csr_matrix:
        """The items as queries: their heaviest terms, if the scheme has a maximum."""
        if self.scheme.max_terms is None:
            return self.own
        return heaviest(self.own, self.own.data * self.texts.data, self.scheme.max_terms)

    def _ranked(
        self,
        rows: csr_matrix,
        own: Numbers,
        postings: tuple[NDArray[Any], ...],
        allowed: NDArray[np.bool_],
        depth: int,
        block: int,
        progress: Progress | None,
    ) -> Ranks:
        from rankloom._kernels.text import postings as kernels

        texts = kernels.Postings(*_read_only(*postings))
        n = len(texts.sizes)
        items = np.full((rows.shape[0], min(whole_number("depth", depth), n)), PAD, np.int32)
        scores = np.zeros(items.shape, np.float32)
        lists = kernels.Lists(items, scores.view(np.int32))
        own, allowed = np.ascontiguousarray(own, np.int64), np.ascontiguousarray(allowed, np.bool_)
        queries = kernels.Queries(*_read_only(*_arrays(rows), sums(rows), own))
        scoring = kernels.Scoring(OVERLAPS[self.scheme.overlap], SHARES[self.scheme.share], *_read_only(allowed))

        def work(start: int, stop: int) -> None:
            single = np.zeros(1, np.float32)  # viewed as a number and as its bits
            numbers = np.empty(n, np.int32), np.empty(n, np.int64), single, single.view(np.int32)
            scratch = kernels.Scratch(np.zeros(n), np.empty(n), np.empty(n), *numbers)
            kernels.rank(start, stop, queries, texts, scoring, scratch, lists)

        size = whole_number("block", block)
        run_blocks(work, rows.shape[0], stage="Ranking texts", block=size, progress=progress)
        return Ranks.trusted(items, scores, n)


@dataclass(frozen=True, eq=False, kw_only=True)
class CountedModel(WeightModel):
    """Weights alone: external queries are counts of terms."""

    def query_counts(self, queries: Any, progress: Progress | None = None) -> csr_matrix:
        """Return the queries."""
        return queries


@dataclass(frozen=True, eq=False, kw_only=True)
class TermModel(WeightModel):
    """A collection of texts as weighted terms.

    Attributes
    ----------
    space : TermSpace
    """

    space: TermSpace

    @classmethod
    def fit(cls, texts: Sequence[str], scheme: Scheme, tokenizer: Tokenizer | None = None) -> TermModel:
        """Return the model of a collection of texts, with the statistics of these texts."""
        given = check_texts(texts, "texts")
        space, counts = TermSpace.fit(given, scheme.terms, tokenizer, within=scheme.within)
        statistics = Statistics.of(counts, len(space.vocabulary.numbers))
        return cls(space=space, scheme=scheme, statistics=statistics, **weighed(scheme, statistics, counts))

    def query_counts(self, queries: Sequence[str], progress: Progress | None = None) -> csr_matrix:
        """Return how often each term of the collection occurs in external queries."""
        return self.space.counts(check_texts(queries, "queries"))

    def appended(
        self, items: Sequence[str], *, cache: Cache | None = None, progress: Progress | None = None
    ) -> TermModel:
        """Return the model with more texts after its own and the same statistics: new words do not count."""
        return self.with_counts(self.space.counts(check_texts(items, "texts")))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that `restored` makes the model from."""
        words, word_ptr = pack_ids(Ids(self.space.vocabulary.numbers))
        return {"words": words, "word_ptr": word_ptr, "pairs": self.space.pairs, **self.weight_arrays()}

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]], scheme: Scheme) -> TermModel:
        """Return the model that `arrays` were made from."""
        words = {word: n for n, word in enumerate(unpack_ids(arrays["words"], arrays["word_ptr"]))}
        space = TermSpace(Vocabulary(words, Tokenizer()), arrays["pairs"], scheme.terms, scheme.within)
        model = cls(space=space, scheme=scheme, **restored_weights(arrays, len(words)))
        return model.with_postings(arrays)


def weighed(scheme: Scheme, statistics: Statistics, counts: csr_matrix) -> dict[str, csr_matrix]:
    """Return `texts` and `own` of a `WeightModel`, from counts of terms."""
    texts = scheme.weigh(counts, statistics)
    own = texts if scheme.weigh_query is None else scheme.weigh_query(counts, statistics)
    return {"texts": texts, "own": own}


def restored_weights(arrays: Mapping[str, NDArray[Any]], n_words: int) -> dict[str, Any]:
    """Return statistics and weights of the `WeightModel` whose `weight_arrays` these are."""
    n_texts, mean = int(arrays["n_texts"][0]), float(arrays["mean_length"][0])
    statistics = Statistics(n_texts, mean, n_words, arrays["frequency"])
    n_terms = len(statistics.frequency)
    texts = _rows(arrays, "text", n_terms)
    own = _rows(arrays, "own", n_terms) if "own_ptr" in arrays else texts
    return {"statistics": statistics, "texts": texts, "own": own}


#: The option of every text ranker besides its own.
MAX_TERMS = inspect.Parameter("max_terms", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=int | None)

#: (texts, options) -> a model of the texts
Fit = Callable[..., TermModel]


def term_model(make: Callable[..., Scheme]) -> Fit:
    """Turn a function from options to a `Scheme` into one from texts and options to a `TermModel`.

    The scheme of the same options alone is ``fit.scheme(**options)``; the option `max_terms` is `Scheme.max_terms`.
    """
    options = {**inspect.signature(make).parameters, "max_terms": MAX_TERMS}

    def scheme(*, max_terms: int | None = None, **given: Any) -> Scheme:
        limit = None if max_terms is None else whole_number("max_terms", max_terms)
        return replace(make(**given), max_terms=limit)

    @wraps(make)
    def fit(texts: Sequence[str], *, tokenizer: Tokenizer | None = None, **given: Any) -> TermModel:
        return TermModel.fit(texts, scheme(**given), tokenizer)

    first, last = (inspect.signature(fit, follow_wrapped=False).parameters[name] for name in ("texts", "tokenizer"))
    fit.__signature__ = inspect.Signature([first, *options.values(), last], return_annotation=TermModel)  # type: ignore[attr-defined]
    fit.scheme = scheme  # type: ignore[attr-defined]
    return fit


def _rows(arrays: Mapping[str, NDArray[Any]], name: str, n_terms: int) -> csr_matrix:
    from scipy.sparse import csr_matrix

    ptr, terms, weights = (arrays[f"{name}_{one}"] for one in ("ptr", "terms", "weights"))
    return csr_matrix((weights, terms, ptr), (len(ptr) - 1, n_terms), copy=False)


def _is_valid(rows: csr_matrix) -> bool:
    """Return True if all numbers of a matrix are in range; scipy does not look at one whose last pointer is 0."""
    ptr, terms = rows.indptr, rows.indices
    ends = ptr[0] == 0 and ptr[-1] == len(terms) == len(rows.data)
    return bool(
        ends and (np.diff(ptr) >= 0).all() and terms.min(initial=0) >= 0 and terms.max(initial=-1) < rows.shape[1]
    )


def _read_only(*arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return read-only views, as the arrays of a saved model are: kernels are compiled for these alone."""
    return tuple(frozen(array.view()) for array in arrays)


def _arrays(sparse: Any) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return the arrays of a sparse matrix with the dtypes of the kernel."""
    return (
        sparse.indptr.astype(np.int64, copy=False),
        sparse.indices.astype(np.int32, copy=False),
        sparse.data.astype(np.float64, copy=False),
    )


def unit(rows: csr_matrix) -> csr_matrix:
    """Return the rows scaled to Euclidean length 1; empty rows stay empty."""
    return scaled(rows, np.sqrt(sums(rows.multiply(rows).tocsr())))


def scaled(rows: csr_matrix, divisors: NDArray[Any]) -> csr_matrix:
    """Return each row divided by its divisor, where 0 counts as 1."""
    safe = np.where(divisors > 0, divisors, 1.0)
    return with_data(rows, rows.data / np.repeat(safe, np.diff(rows.indptr)))


def with_data(rows: csr_matrix, data: NDArray[Any]) -> csr_matrix:
    """Return a matrix with the same sparsity pattern and these values."""
    from scipy.sparse import csr_matrix

    return csr_matrix((data, rows.indices, rows.indptr), rows.shape)


def heaviest(rows: csr_matrix, weights: NDArray[np.float64], n: int) -> csr_matrix:
    """Return the rows with only the n entries of largest weight in each; of equal ones, the first."""
    from scipy.sparse import csr_matrix

    lengths = np.diff(rows.indptr)
    numbers = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((-weights, numbers))  # stable
    places = np.arange(len(order)) - np.repeat(rows.indptr[:-1], lengths)
    kept = np.sort(order[places < n])
    ptr = np.append(0, np.cumsum(np.minimum(lengths, n)))
    return csr_matrix((rows.data[kept], rows.indices[kept], ptr), rows.shape)


def sums(rows: csr_matrix) -> NDArray[np.float64]:
    """Return the sum of each row."""
    totals: NDArray[np.float64] = np.asarray(rows.sum(axis=1, dtype=np.float64)).ravel()
    return totals
