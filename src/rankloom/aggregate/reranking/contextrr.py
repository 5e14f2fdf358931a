"""ContextRR: re-ranking by images of the distances around an item and its neighbors."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from rankloom._kernels import frozen
from rankloom._kernels.reranking.list_distances import add_images, context_images, from_weights
from rankloom.aggregate.lists import answers, filled, inverted
from rankloom.aggregate.methods import CollectionMethod, register_method
from rankloom.aggregate.reranking.sorted_lists import Distances, add_to_pool, list_distances, pool_of, sorted_by_both
from rankloom.errors import InputError
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Array
from rankloom.registry import Count


@register_method("contextrr")
class ContextRR(CollectionMethod):
    r"""ContextRR: re-ranking by gray images of the distances around an item and each of its neighbors.

    The image of an item i and its o-th neighbor j has the distances between the first L items x of i's list and the
    first L items y of j's. Pixels above the mean of the second line, in 255 shades of its maximum, become white, the
    others black; a 3 x 3 filter makes a pixel white if four or more are. For each black pixel in line a and column b,
    with :math:`c = (K + 1 - o) \lfloor L \sqrt 2 \rfloor / \sqrt{a^2 + b^2}`,

    .. math:: W(x, y) \mathrel{+}= c, \quad W(i, x), W(i, y), W(j, x), W(j, y) \mathrel{+}= c / 4

    from W = 1. The new distance is 2 / W, or where nothing was added 1 + the old one divided by the largest; lists are
    sorted by the smaller of the distances of i to j and of j to i. Several rankers add up their images in the first
    iteration; then there is one list.

    All items of a list are candidates, however deep.

    Parameters
    ----------
    neighbors : int
        K, the number of images of an item; less than `depth`.
    depth : int
        L, the side of an image.
    iterations : int
        Number of rounds.
    distances : {"positions", "scores"}
        The first distances, as in `rlsim_udl`; scores are negated distances.

    Notes
    -----
    Lists on digits are identical to those of a transcript of the authors' UDLF, for one ranker and for three, which has
    two traits that are kept: the filter sees pixels it has already changed, and where several rankers add nothing, the
    distances and the order of ties are those of the last.

    References
    ----------
    Pedronette, Torres (2010), Exploiting contextual information for image re-ranking, CIARP,
    doi:10.1007/978-3-642-16687-7_71

    Examples
    --------
    >>> one = Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    >>> ContextRR(neighbors=1, depth=3, iterations=1).fuse([one], k=2).items.tolist()
    [[0, 1], [1, 0], [2, 1]]
    """

    neighbors: Count = 7
    depth: Annotated[int, Ge(1), Le(1000)] = 25  # the side of an image; an item has `neighbors` of them
    iterations: Count = 5
    distances: Distances = "positions"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.neighbors >= self.depth:
            raise InputError(f"neighbors must be less than depth; got {self.neighbors} and {self.depth}.")

    def rerank(self, ranks: Sequence[Ranks], k: int) -> Ranks:
        lists, values, absent = list_distances(ranks, self.distances)
        n = len(lists[0])
        pool, now = _candidates(lists, values, absent)
        whole = bool((lists[-1] != PAD).all()) and lists.shape[2] == n
        missing = np.float32(0 if whole else absent[-1].max(initial=0))
        largest = np.float32(max(missing, values[-1].max(initial=0), np.finfo(np.float32).tiny))
        sources = list(zip(lists, values, absent, strict=True))
        for turn in range(self.iterations):
            weights = np.ones(pool.shape, np.float32)
            for source in sources:
                self._add_images(*source, pool, weights)
            updated = np.zeros(pool.shape, np.float32)
            filled(updated, "Measuring", from_weights, pool, frozen(weights), now, largest)
            pool, now = sorted_by_both(pool, updated, k if turn + 1 == self.iterations else None)
            now, largest = -now, np.float32(2)
            sources = [(pool, frozen(now), frozen(np.full(n, 2, np.float32)))]
        return answers(ranks[0], pool, -now)

    def _add_images(self, lists: Array, distances: Array, absent: Array, pool: Array, weights: Array) -> None:
        """Add the images of one ranker to the weights."""
        images = np.empty((len(lists), self.neighbors, self.depth, self.depth), np.uint8)
        frozen(filled(images, "Drawing", context_images, lists, distances, absent, self.neighbors))
        tops = frozen(np.ascontiguousarray(lists[:, : self.depth]))
        filled(weights, "Adding images", add_images, tops, images, _light(self.depth), inverted([tops]), pool)


def _candidates(lists: Array, distances: Array, absent: Array) -> tuple[Array, Array]:
    """Return the last ranker's lists followed by what only others list, and the last ranker's distances."""
    if len(lists) == 1:
        return lists[0], distances[0]
    pool = pool_of([lists[-1], *lists[:-1]])
    found = np.zeros(pool.shape, np.float32)
    add_to_pool(pool, lists[-1], distances[-1] + np.float32(1), found)
    return pool, frozen(np.where(found > 0, found - np.float32(1), absent[-1][:, None]))


def _light(side: int) -> Array:
    """Return what a black pixel adds, by line and column."""
    line = np.arange(1, side + 1, dtype=np.float64)
    distance = np.sqrt(line[:, None] ** 2 + line**2).astype(np.float32)
    return frozen(np.float32(int(np.sqrt(2 * side * side))) / distance)
