"""The word mover's distance: the cost of moving the words of one text to those of another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge

from rankloom._kernels.text.word_mover import query_side
from rankloom.errors import needs_extra, whole_number
from rankloom.io.cache import Cache
from rankloom.io.text_file import FilePath
from rankloom.rankers.ranker import register_ranker
from rankloom.rankers.text.sparse_rows import scaled, sums
from rankloom.rankers.text.terms import Tokenizer, Vocabulary, check_texts
from rankloom.rankers.text.word_vectors import WordVectors, learn_vectors, read_vectors
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Array, Float32s, Floats, Indexes
from rankloom.registry import Count, Options
from rankloom.threads import run_blocks

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

BLOCK = 16  # queries per block
UNSTEMMED = Tokenizer(stem=False)


@register_ranker("wmd")
class WMD(Options):
    r"""Word mover's distance: the minimum cost of moving one text's words to the other's.

    .. math:: \mathrm{WMD}(a, b) = \min_{T \ge 0} \sum_{ij} T_{ij} \lVert x_i - x_j \rVert_2 \quad
        \text{with } \textstyle\sum_j T_{ij} = a_i,\ \sum_i T_{ij} = b_j

    where :math:`a_i` is the relative frequency of word i in text a and :math:`x_i` its vector. Words without a vector
    are ignored; a text without any is only in its own list. The score is the negated distance, :math:`-\mathrm{WMD}`.

    Solving this for all pairs takes too long. Two lower bounds select the texts to solve it for: the distance of the
    centroids, and the relaxed distance, where each word moves to the nearest word of the other text. All texts are
    sorted by the larger of the centroid distance and the cost of *their* words; the first `relaxed` of them are
    re-sorted with the cost of the *query's* words too, and the first `exact` of these by the distance itself. The
    others follow in the order of their bounds, with a score no higher than that of the preceding text.

    Attributes
    ----------
    vectors : path, optional
        A file of word vectors, see `read_vectors`. By default they are learned from the collection, see
        `learn_vectors`.
    dimensions : int
        Length of learned vectors.
    relaxed, exact : int
        Number of texts per query for which the second bound and the distance are computed.

    References
    ----------
    Kusner, Sun, Kolkin, Weinberger (2015), From word embeddings to document distances, ICML.
    Atasu et al. (2017), Linear-complexity relaxed word mover's distance, doi:10.1109/BigData.2017.8258005 (the bound
    of one side for all texts at once).

    Examples
    --------
    >>> points = WordVectors(["hot", "warm", "cold"], [[0.0], [1.0], [5.0]])
    >>> model = WMD().fit(["hot hot", "warm", "cold warm"], vectors=points)
    >>> model.rank().items[0], model.rank().scores[0]
    (array([0, 1, 2], dtype=int32), array([ 0., -1., -3.], dtype=float32))
    """

    part: ClassVar[str] = "texts"
    comparable: ClassVar[bool] = False  #: a few words are not a document

    vectors: FilePath | None = None
    dimensions: Count = 100
    relaxed: Annotated[int, Ge(0)] = 100
    exact: Annotated[int, Ge(0)] = 10

    def fit(
        self,
        items: Sequence[str],
        *,
        cache: Cache | None = None,
        tokenizer: Tokenizer = UNSTEMMED,
        vectors: WordVectors | None = None,
    ) -> MoverModel:
        """Return the model of a collection of texts; `vectors` may be given in place of a file."""
        vocabulary, tokens = Vocabulary.fit(check_texts(items, "texts"), tokenizer)
        words = list(vocabulary.numbers)
        if vectors is None and self.vectors is not None:
            vectors = read_vectors(self.vectors, words)
        if vectors is None:
            vectors = learn_vectors(vocabulary, tokens, dimensions=self.dimensions)
        counts = vocabulary.word_counts(tokens)
        return MoverModel.of(vocabulary, counts, vectors.of(words), self.relaxed, self.exact)


@dataclass(frozen=True, eq=False)
class MoverModel:
    """A collection as weighted word vectors, ranked by the word mover's distance; see `wmd`."""

    vocabulary: Vocabulary
    words: Indexes  # the words of the vocabulary with a vector
    points: Floats  # their vectors
    texts: csr_matrix  # relative frequency of each of these words in each text
    centers: Floats
    relaxed: int
    exact: int

    @classmethod
    def of(cls, vocabulary: Vocabulary, counts: csr_matrix, points: Floats, relaxed: int, exact: int) -> MoverModel:
        """Return the model of texts given as word counts, with a vector (or NaN) for each word."""
        words = np.flatnonzero(~np.isnan(points).any(axis=1))
        shares = _shares(counts, words)
        points = np.ascontiguousarray(points[words])
        return cls(vocabulary, words, points, shares, shares @ points, relaxed, exact)

    @property
    def n_items(self) -> int:
        return int(self.texts.shape[0])

    def rank(self, queries: Sequence[str] | None = None, *, depth: int = 1000, block: int = BLOCK) -> Ranks:
        """Rank the texts as `TermModel.rank` does."""
        _transport()  # fail early if the package is missing
        rows, depth = self._rows(queries), min(whole_number("depth", depth), self.n_items)
        search = self._search
        items = np.full((rows.shape[0], depth), PAD, np.int32)
        scores = np.zeros(items.shape, np.float32)

        def work(start: int, stop: int) -> None:
            for q in range(start, stop):
                found, costs = search.nearest(_row(rows, q), q if queries is None else None, depth)
                items[q, : len(found)] = found
                scores[q, : len(found)] = 0 - costs

        run_blocks(work, len(items), stage="Ranking texts", block=block)
        return Ranks.trusted(items, scores, self.n_items)

    @cached_property
    def _search(self) -> _Search:
        return _Search(self)

    def _rows(self, queries: Sequence[str] | None) -> csr_matrix:
        if queries is None:
            return self.texts
        tokens = self.vocabulary.tokens(check_texts(queries, "queries"))
        return _shares(self.vocabulary.word_counts(tokens), self.words)

    def distance(self, query: tuple[Array, Floats], text: int) -> float:
        """Return the word mover's distance between a query, as words and shares, and a text."""
        from scipy.spatial.distance import cdist

        words, shares = query
        others, weights = _row(self.texts, text)
        # The bits must not depend on which of the two is the query.
        if (len(words), words.tolist()) > (len(others), others.tolist()):
            words, shares, others, weights = others, weights, words, shares
        ground = cdist(self.points[words], self.points[others])
        return float(_transport()(shares, weights, ground, check_marginals=False, numItermax=1_000_000))


class _Search:
    """Nearest-text search over a model, with precomputed matrices."""

    def __init__(self, model: MoverModel) -> None:
        self.model = model
        # |x - y|^2 = |x|^2 - 2 xy + |y|^2 as one product of extended vectors.
        lengths, one = (model.points**2).sum(axis=1, keepdims=True), np.ones((len(model.points), 1))
        self.left = np.hstack([lengths, -2.0 * model.points, one]).astype(np.float32)
        self.right = np.ascontiguousarray(np.hstack([one, model.points, lengths]).astype(np.float32).T)
        self.centers = model.centers.astype(np.float32)
        self.empty = np.diff(model.texts.indptr) == 0

    def nearest(self, query: tuple[Array, Floats], own: int | None, depth: int) -> tuple[Indexes, Floats]:
        """Return the `depth` nearest texts and their costs, non-decreasing."""
        words, shares = query
        if not len(words):
            alone = np.array([] if own is None else [own], np.intp)
            return alone, np.zeros(len(alone))
        squares = self.squares(words)
        costs = self.bound(squares, words, shares)
        items = _best(costs, own, max(depth, self.model.relaxed, self.model.exact))
        self.resort(items[: self.model.relaxed], costs, own, lambda some: self.query_side(squares, shares, some, costs))
        self.resort(items[: self.model.exact], costs, own, lambda some: self.distances(query, some, own))
        return items[:depth], np.maximum.accumulate(costs[items[:depth]])

    def squares(self, words: Array) -> Float32s:
        """Return the squared distances of the query's words to all words; rounding may make them negative."""
        squares: Float32s = self.left[words] @ self.right
        squares[np.arange(len(words)), words] = 0.0
        return squares

    def bound(self, squares: Float32s, words: Array, shares: Floats) -> Floats:
        """Return for each text the larger of the centroid distance and the cost of its words; inf if it is empty."""
        nearest = np.sqrt(np.maximum(squares.min(axis=0), 0.0).astype(np.float64))
        offsets = self.centers - (shares @ self.model.points[words]).astype(np.float32)
        centroid = np.sqrt(np.einsum("ij,ij->i", offsets, offsets))
        return np.where(self.empty, np.inf, np.maximum(self.model.texts @ nearest, centroid))

    def query_side(self, squares: Float32s, shares: Floats, items: Indexes, costs: Floats) -> Floats:
        """Return the larger of the current bound and the cost of the query's words."""
        texts, other = self.model.texts, np.empty(len(items))
        query_side(squares, shares, texts.indptr, texts.indices, items, other)
        return np.maximum(costs[items], other)

    def distances(self, query: tuple[Array, Floats], items: Indexes, own: int | None) -> Floats:
        """Return the exact distances."""
        return np.array([0.0 if item == own else self.model.distance(query, item) for item in items.tolist()])

    @staticmethod
    def resort(items: Indexes, costs: Floats, own: int | None, cost: Callable[..., Floats]) -> None:
        """Sort these items again, in place, by a better cost, rounded to float32 so that ties are exact."""
        items.sort()
        costs[items] = cost(items).astype(np.float32)
        items[:] = items[_sorted(costs[items], None if own is None else _index(items, own))]


def _best(costs: Floats, own: int | None, wanted: int) -> Indexes:
    """Return the first `wanted` items of `_sorted` with a finite cost, without sorting all."""
    limit = np.partition(costs, wanted - 1)[wanted - 1] if wanted < len(costs) else np.inf
    items = np.flatnonzero((costs <= limit) & np.isfinite(costs))
    return items[_sorted(costs[items], None if own is None else _index(items, own))][:wanted]


def _sorted(costs: Floats, own: int | None) -> Indexes:
    """Return indices by increasing cost; among ties `own` first, then by number."""
    later = np.ones(len(costs), bool)
    if own is not None:
        later[own] = False
    return np.lexsort((later, costs))


def _index(items: Indexes, own: int) -> int | None:
    found = np.flatnonzero(items == own)
    return int(found[0]) if len(found) else None


def _shares(counts: csr_matrix, words: Indexes) -> csr_matrix:
    counts = counts[:, words].tocsr()
    counts.sort_indices()
    return scaled(counts, sums(counts))


def _row(rows: csr_matrix, q: int) -> tuple[Array, Floats]:
    here = slice(rows.indptr[q], rows.indptr[q + 1])
    return rows.indices[here], rows.data[here]


def _transport() -> Any:
    with needs_extra("The word mover's distance", "POT", "wmd"):
        from ot import emd2
    return emd2
