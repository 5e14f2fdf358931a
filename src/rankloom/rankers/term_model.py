"""Ranking by sparse vectors of weighted terms, with an inverted index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import whole_number
from rankloom.rankers.terms import check_texts
from rankloom.ranks import PAD, Ranks
from rankloom.threads import Progress, run_blocks

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

BLOCK = 256  # queries per block

#: The overlap of two weights, and the function of both sizes that their sum is divided by; see `_kernels.postings`.
OVERLAPS = {"product": 0, "minimum": 1}
SHARES = {"total": 0, "union": 1, "larger": 2, "mean": 3}


@dataclass(frozen=True, eq=False)
class TermModel:
    r"""A collection of texts as weighted terms, ranked by overlap.

    With weights :math:`w \ge 0` and sizes :math:`|a|`, the overlap of q and d is
    :math:`c = \sum_t w_q(t) w_d(t)` ("product") or :math:`c = \sum_t \min(w_q(t), w_d(t))` ("minimum"), and the
    score is c ("total"), c / (\|q\| + \|d\| - c) ("union"), c / max(\|q\|, \|d\|) ("larger") or
    2c / (\|q\| + \|d\|) ("mean").

    A list has only texts that share a term of positive weight with the query, and the query itself if it is an item:
    with score 0 if it has no words. Scores are computed in float64 and rounded to float32; ties are ordered by number,
    the query itself first. The bits do not depend on blocks or threads.

    Attributes
    ----------
    texts, own : csr_matrix of shape (n_items, n_terms)
        Weights of the items, and of the items as queries (often the same).
    describe : callable
        Returns the weights of external queries, without terms that are not in the collection.
    measure : callable
        Returns the size of each row of weights.
    overlap, share : str
        As above.
    """

    texts: csr_matrix
    own: csr_matrix
    describe: Callable[[list[str]], csr_matrix]
    measure: Callable[[csr_matrix], NDArray[np.float64]]
    overlap: str
    share: str

    @property
    def n_items(self) -> int:
        """Number of texts."""
        return int(self.texts.shape[0])

    def rank(
        self,
        queries: Sequence[str] | None = None,
        *,
        depth: int = 1000,
        threads: int | None = None,
        block: int = BLOCK,
        progress: Progress | None = None,
    ) -> Ranks:
        """Rank the collection for each of its texts, or for external queries.

        Words of a query that are not in the collection are ignored. A list has at most `depth` texts, fewer if fewer
        overlap with the query. Queries are ranked in blocks of `block`; `progress` is called with the stage, the
        queries done and their number.
        """
        rows = self.own if queries is None else self.describe(check_texts(queries, "queries"))
        depth = min(whole_number("depth", depth), self.n_items)
        found = _Found.empty(rows.shape[0], depth)
        kernel = self._kernel(rows, queries is None, found)
        run_blocks(
            kernel, rows.shape[0], stage="ranking texts", block=whole_number("block", block), threads=threads,
            progress=progress,
        )  # fmt: skip
        return Ranks.trusted(found.items, found.scores, self.n_items)

    @cached_property
    def _postings(self) -> tuple[NDArray[Any], ...]:
        return (*_arrays(self.texts.tocsc()), self.measure(self.texts))

    def _kernel(self, rows: csr_matrix, own: bool, found: _Found) -> Callable[[int, int], None]:
        from rankloom._kernels import postings

        queries, texts = (*_arrays(rows), self.measure(rows)), self._postings
        kinds = (OVERLAPS[self.overlap], SHARES[self.share])
        n = self.n_items

        def work(start: int, stop: int) -> None:
            single = np.zeros(1, np.float32)  # viewed as a number and as its bits
            scratch = (np.zeros(n), np.empty(n, np.int32), np.empty(n, np.int64), single, single.view(np.int32))
            postings.rank(start, stop, queries, texts, kinds, own, *scratch, found.items, found.bits)

        return work


def _arrays(sparse: Any) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return the arrays of a sparse matrix with the dtypes of the kernel."""
    return sparse.indptr.astype(np.int64), sparse.indices.astype(np.int32), sparse.data.astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Found:
    """The lists to fill; `bits` is a view of the scores."""

    items: NDArray[np.int32]
    scores: NDArray[np.float32]
    bits: NDArray[np.int32]

    @classmethod
    def empty(cls, n: int, depth: int) -> _Found:
        scores = np.zeros((n, depth), np.float32)
        return cls(np.full((n, depth), PAD, np.int32), scores, scores.view(np.int32))


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


def sums(rows: csr_matrix) -> NDArray[np.float64]:
    """Return the sum of each row."""
    totals: NDArray[np.float64] = np.asarray(rows.sum(axis=1, dtype=np.float64)).ravel()
    return totals
