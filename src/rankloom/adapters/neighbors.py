"""A searcher with the method `kneighbors` of scikit-learn."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.searcher import Searcher


class Neighbors:
    """Finds neighbors as ``sklearn.neighbors.NearestNeighbors`` does, for items or for texts.

    Distances are negated scores, so smaller is nearer. A query with fewer than `n_neighbors` results has -1 and
    infinity in the remaining columns. The options are those of `Searcher.search`.

    Examples
    --------
    >>> searcher = Searcher.build(["a cat", "a cat and a dog", "a dog"], ["bm25", "bow-cosine"])
    >>> Neighbors(searcher, 2).kneighbors(["cats"], return_distance=False)
    array([[0, 1]])
    """

    def __init__(self, searcher: Searcher, n_neighbors: int = 5, **options: Any) -> None:
        self.searcher = searcher
        self.n_neighbors = n_neighbors
        self.options = options

    @property
    def n_samples_fit_(self) -> int:
        """Number of documents."""
        return len(self.searcher)

    def kneighbors(
        self, X: Sequence[str] | None = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Return (distances, numbers) of the nearest documents of some texts; by default of every document.

        As in scikit-learn, a document is not its own neighbor if `X` is None.
        """
        k = n_neighbors or self.n_neighbors
        if X is None:
            answers = self.searcher.search(item=list(self.searcher.ids), k=k + 1, **self.options)
            rows = [[hit for hit in answer if hit.number != own][:k] for own, answer in enumerate(answers)]
        else:
            rows = [list(answer) for answer in self.searcher.search(list(X), k, **self.options)]
        numbers = np.full((len(rows), k), -1)
        distances: NDArray[np.float64] = np.full((len(rows), k), np.inf)
        for row, hits in enumerate(rows):
            numbers[row, : len(hits)] = [hit.number for hit in hits]
            distances[row, : len(hits)] = [-hit.score for hit in hits]
        return (distances, numbers) if return_distance else numbers
