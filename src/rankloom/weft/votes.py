"""Vote: the sum of the rankers' own lists and weft's list, on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rankloom._kernels import contiguous, frozen
from rankloom._kernels.weft.arguments import Nearest, Standing
from rankloom.errors import check_range
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Array, Float32s, Int32s
from rankloom.ranks.lists import empty_lists
from rankloom.ranks.normalizations import rank_norm
from rankloom.threads import Scratch, run_blocks

VOTE_DEPTH = 300  # items of each ranker's list that get votes
WEFT_DEPTH = 200  # and of weft's
NEIGHBORS_WEIGHT = 0.35  # of weft's vote, for each ranker
N_NEAREST = 20  # items of each item's list
MIN_MET = 5  # entries of its row that a query shares with an item of weft's list, if enough items do
BLOCK = 256  # queries
IN_ORDER = frozen(np.empty(0, np.int32))
NOBODY = Nearest(frozen(np.empty((0, 0), np.int32)), frozen(np.empty((0, 0), np.float32)), IN_ORDER)


@dataclass(frozen=True, slots=True)
class Voter:
    """A ranker's lists of some queries, the nearest items of each item, and what is known of its scores."""

    lists: Ranks
    nearest: Nearest
    symmetric: bool = False  #: whether items that are near many others get lower scores
    exhaustive: bool = False  #: whether a list that ends before the last column has all items that score above 0
    weight: float = 1.0

    @property
    def hubs(self) -> Nearest:
        """What lowers the scores of hubs: nobody, unless scores are symmetric."""
        return self.nearest if self.symmetric and self.lists.scores is not None else NOBODY


class Rules(NamedTuple):
    """What votes depend on besides the lists: the weight of weft's, and how many items may be listed."""

    neighbors_weight: float
    n_items: int


def weft_depth(k: int) -> int:
    """Return how many items of weft's list get votes; the same for all k up to the depth of the rankers' lists."""
    return WEFT_DEPTH if k <= VOTE_DEPTH else k


def stacked_nearest(collection: Sequence[Ranks]) -> dict[str, Array]:
    """Return the nearest items of each item by each ranker, without the item itself, and their scores."""
    found = [nearest(lists.items, lists.scores) for lists in collection]
    items, scores = (frozen(np.stack(parts)) for parts in zip(*found, strict=True))
    return {"nearest": items, "nearest_scores": scores}


def nearest(items: Int32s, scores: Float32s | None, first: int = 0) -> tuple[Int32s, Float32s]:
    """Return the nearest items of each item from `first` on, and their scores, or negative positions."""
    own = np.arange(first, first + len(items))[:, None]
    cut = items[:, : N_NEAREST + 1]
    order = np.argsort((cut == own) | (cut == PAD), axis=1, kind="stable")[:, :N_NEAREST]
    found = np.full((len(items), N_NEAREST), PAD, np.int32)
    values = np.zeros(found.shape, np.float32)
    found[:, : order.shape[1]] = np.take_along_axis(np.where(cut == own, PAD, cut), order, axis=1)
    if scores is None:
        values -= np.arange(N_NEAREST, dtype=np.float32)
    else:
        values[:, : order.shape[1]] = np.take_along_axis(scores, order, axis=1)
    return found, np.where(found == PAD, np.float32(0), values)


def nearest_of(items: Int32s, scores: Float32s | None, rows: Int32s = IN_ORDER) -> Nearest:
    """Return lists of items as the nearest of each; positions replace the scores of a ranker without any.

    `rows` has the row of each item, if not all items have one.
    """
    if scores is None:
        scores = np.tile(-np.arange(items.shape[1], dtype=np.float32), (len(items), 1))
    return Nearest(contiguous(items), contiguous(scores), contiguous(rows))


class Ballots(NamedTuple):
    """The fused lists of queries, and what each voter, weft last, adds to the score of each item that it lists."""

    fused: Ranks
    items: Int32s  #: of shape (m + 1, n_queries, depth), as are `votes`
    votes: Float32s

    def of(self, query: int, item: int) -> list[float]:
        """Return what each voter adds to the score of an item."""
        return np.where(self.items[:, query] == item, self.votes[:, query], 0.0).sum(axis=1).tolist()  # type: ignore[no-any-return]


def cast(voters: Sequence[Voter], found: Ranks, k: int, rules: Rules, scratch: Scratch) -> Ballots:
    r"""Return the votes of the rankers' lists and of weft's, and the k items with most of them for each query.

    With the z of a score by the mean and the deviation of the first 100 of its list (those of a symmetric ranker are
    lowered by half the mean score of the item's 20 nearest), t the 100th largest z, y = z, below the floor t + 0.3
    (z - t), w the weight of a ranker by the coherence of its list, and 0 for what is in no list, the score is

    .. math:: V(a) = \sum_r w_r\, (y_r(a) - y_r(0)) + 0.35\, m\, (z_{weft}(a) - z_{weft}(0))

    .. math:: D_r = \tfrac14 \Big( ac(r, r) + 2\, c(r, r) + \tfrac{1}{m - 1} \sum_{g \ne r} ac(r, g) + 2\, c(r, g)
        \Big), \quad w_r = 1 + \mathrm{clip}(D_r - \bar D, -0.6, 0.6)

    c(r, g) is the share of the ordered pairs of the first 10 of r's list in which the second is among the first 20 of
    the first one's list by g; ac(r, g) is the correlation, over the first 50, of an item's z with the mean of what its
    10 nearest by g have above the floor.
    """
    from rankloom._kernels.weft.votes import cohere, count, stand

    check_range(0, 100, neighbors_weight=rules.neighbors_weight)
    m, rows, depths = len(voters), found.n_queries, [one.depth for one in (*(v.lists for v in voters), found)]
    shape = (m + 1, rows, max(depths))
    standing = Standing(np.full(shape, PAD, np.int32), np.zeros(shape), np.zeros(shape[:2]), np.zeros(shape[:2]))
    all_voters = [*voters, Voter(found, NOBODY, weight=rules.neighbors_weight * m)]
    factors = np.array([one.weight for one in all_voters])
    given = [(contiguous(one.lists.items), contiguous(_scores(one.lists))) for one in all_voters]
    coherence, votes = np.zeros((m, rows)), np.zeros(shape, np.float32)
    best = empty_lists(rows, min(k, found.n_items, sum(depths)))

    def work(start: int, stop: int) -> None:
        for own, lists, one in zip(zip(*standing, strict=True), given, all_voters, strict=True):
            stand(start, stop, *lists, one.exhaustive, rules.n_items, one.hubs, Standing(*own))
        with scratch.borrowed() as slot:
            for number, one in enumerate(voters if m > 1 else ()):
                cohere(start, stop, standing, number, one.nearest, slot, coherence)
            count(start, stop, standing, coherence, factors, slot, votes, best)

    run_blocks(work, rows, stage="Voting", block=BLOCK)
    fused = voters[0].lists.replaced(items=best.items, scores=best.scores, recall=None)
    return Ballots(fused, standing.items, votes)


def _scores(lists: Ranks) -> Float32s:
    return lists.scores if lists.scores is not None else rank_norm(lists).astype(np.float32)
