"""ContextRR: re-ranking by images of the distances around an item and its neighbors."""

import numpy as np

from rankloom._kernels import frozen
from rankloom.aggregate.collection_methods import Reranking, register_reranker
from rankloom.aggregate.lists import answers, inverted
from rankloom.aggregate.reranking.list_distances import list_distances, sorted_by_both
from rankloom.aggregate.reranking.sorted_lists import add_to_pool, pool_of
from rankloom.errors import InputError, check_choice
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Array
from rankloom.threads import run_rows


@register_reranker("contextrr", neighbors=7, depth=25, iterations=5, within_depth=False)
def contextrr(asked: Reranking, *, distances: str = "positions") -> Ranks:
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
    >>> contextrr([one], k=2, neighbors=1, depth=3, iterations=1).items.tolist()
    [[0, 1], [1, 0], [2, 1]]
    """
    ranks, k, neighbors, depth, iterations = asked
    check_choice("value of distances", distances, ("positions", "scores"))
    if neighbors >= depth:
        raise InputError(f"neighbors must be less than depth; got {neighbors} and {depth}.")
    lists, values, absent = list_distances(ranks, distances)
    n = len(lists[0])
    pool, now = _candidates(lists, values, absent)
    whole = bool((lists[-1] != PAD).all()) and lists.shape[2] == n
    missing = np.float32(0 if whole else absent[-1].max(initial=0))
    largest = np.float32(max(missing, values[-1].max(initial=0), np.finfo(np.float32).tiny))
    sources = list(zip(lists, values, absent, strict=True))
    for turn in range(iterations):
        weights = np.ones(pool.shape, np.float32)
        for source in sources:
            _add_images(*source, neighbors, depth, pool, weights)
        updated = _distances(pool, weights, now, largest)
        pool, now = sorted_by_both(pool, updated, k if turn + 1 == iterations else None)
        now, largest = -now, np.float32(2)
        sources = [(pool, frozen(now), frozen(np.full(n, 2, np.float32)))]
    return answers(ranks[0], pool, -now)


def _candidates(lists: Array, distances: Array, absent: Array) -> tuple[Array, Array]:
    """Return the last ranker's lists followed by what only others list, and the last ranker's distances."""
    if len(lists) == 1:
        return lists[0], distances[0]
    pool = pool_of([lists[-1], *lists[:-1]])
    found = np.zeros(pool.shape, np.float32)
    add_to_pool(pool, lists[-1], distances[-1] + np.float32(1), found)
    return pool, frozen(np.where(found > 0, found - np.float32(1), absent[-1][:, None]))


def _add_images(
    lists: Array, distances: Array, absent: Array, neighbors: int, depth: int, pool: Array, weights: Array
) -> None:
    """Add the images of one ranker to the weights."""
    from rankloom._kernels.reranking.list_distances import add_images, context_images

    n = len(lists)
    images = np.empty((n, neighbors, depth, depth), np.uint8)
    run_rows(lambda start, stop: context_images(start, stop, lists, distances, absent, neighbors, images), n, "Drawing")
    frozen(images)
    tops = frozen(np.ascontiguousarray(lists[:, :depth]))
    back = inverted([tops])
    light = _light(depth)
    run_rows(lambda start, stop: add_images(start, stop, tops, images, light, back, pool, weights), n, "Adding images")


def _light(side: int) -> Array:
    """Return what a black pixel adds, by line and column."""
    line = np.arange(1, side + 1, dtype=np.float64)
    distance = np.sqrt(line[:, None] ** 2 + line**2).astype(np.float32)
    return frozen(np.float32(int(np.sqrt(2 * side * side))) / distance)


def _distances(lists: Array, weights: Array, distances: Array, largest: np.float32) -> Array:
    from rankloom._kernels.reranking.list_distances import from_weights

    out = np.zeros(lists.shape, np.float32)
    frozen(weights)
    run_rows(
        lambda start, stop: from_weights(start, stop, lists, weights, distances, largest, out), len(lists), "Measuring"
    )
    return out
