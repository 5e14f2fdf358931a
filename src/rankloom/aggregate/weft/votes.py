"""Vote: the rankers' own lists and weft's, added up."""

from collections.abc import Sequence

from rankloom.aggregate.lists import with_lists
from rankloom.aggregate.score import combsum
from rankloom.errors import check_range
from rankloom.ranks import Ranks

VOTE_DEPTH = 100  # items of each list that get votes


def add_votes(queries: Sequence[Ranks], found: Ranks, k: int, share: float) -> Ranks:
    r"""Return CombSUM of the rankers' lists and of weft's list, which holds `share` of all votes.

    .. math:: V(a) = \sum_r s_r(a) + \frac{m\,\sigma}{1 - \sigma}\, s_{weft}(a)

    over the first 100 of each list, with min-max normalized scores s, m rankers and the share :math:`\sigma`; positions
    (`rank_norm`) replace all scores if a ranker has none.
    """
    check_range(0, 1, share=share)
    if share == 1:
        return found.head(k)
    voters = with_lists(queries)
    scored = all(r.scores is not None for r in voters)
    m = len(voters)
    return combsum(
        [*voters, found],
        min(k, found.n_items),
        normalization="min_max" if scored else "rank_norm",
        depth=VOTE_DEPTH,
        weights=[1.0] * m + [m * share / (1 - share)],
    )
