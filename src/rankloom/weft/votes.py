"""Vote: the sum of the rankers' own lists and weft's list."""

from collections.abc import Sequence

from rankloom.errors import check_range
from rankloom.ranks import Ranks
from rankloom.ranks.normalizations import min_max, rank_norm
from rankloom.ranks.pool import fuse_pools, weighted_sum
from rankloom.weft.weights import positive_weights

VOTE_DEPTH = 100  # items of each list that get votes
SHARE = 0.2  # of weft in all votes


def add_votes(
    voters: Sequence[Ranks],
    found: Ranks,
    k: int,
    share: float,
    weights: Sequence[float] | None = None,
    *,
    depth: int = VOTE_DEPTH,
) -> Ranks:
    r"""Return CombSUM of the rankers' lists and weft's list, which has `share` of all votes.

    .. math:: V(a) = \sum_r w_r s_r(a) + \frac{m\,\sigma}{1 - \sigma}\, s_{weft}(a)

    over the first 100 items of each list, with min-max normalized scores s, m rankers whose weights sum to m, and the
    share :math:`\sigma`; positions (`rank_norm`) replace all scores if a ranker has none.
    """
    if share == 1:
        return found.head(k)
    return count_votes([*voters, found], vote_weights(len(voters), share, weights), k, depth=depth)


def vote_weights(n_rankers: int, share: float, weights: Sequence[float] | None = None) -> list[float]:
    """Return the weight of each ranker's vote, which sum to their number, and that of weft's.

    Examples
    --------
    >>> vote_weights(2, 0.2)
    [1.0, 1.0, 0.5]
    """
    check_range(0, 1, share=share)
    given = positive_weights(weights, n_rankers)
    own = [weight * n_rankers / sum(given) for weight in given]
    return [*own, n_rankers * share / (1 - share) if share < 1 else 1.0]


def count_votes(voters: Sequence[Ranks], weights: Sequence[float], k: int, *, depth: int = VOTE_DEPTH) -> Ranks:
    """Return CombSUM of lists with these weights, by positions if a list has no scores."""
    normalize = min_max if all(r.scores is not None for r in voters) else rank_norm
    k = min(k, voters[-1].n_items)
    return fuse_pools(
        voters, k, lambda pool: weighted_sum(pool, [normalize(r) for r in pool.ranks], weights), depth=depth
    )
