"""The weights of the rankers: given, equal, or by their agreement with the fusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np

from rankloom._kernels import frozen
from rankloom.errors import InputError
from rankloom.ranks import PAD
from rankloom.ranks.arrays import Array, Floats, Int32s
from rankloom.ranks.pool import checked_weights
from rankloom.threads import Scratch, run_blocks

AGREED: Final = "agreement"
#: By agreement, or None for equal weights.
Weights = Literal["agreement"] | None
OVERLAP_DEPTH = 10  # positions that the rank-biased overlap compares
OVERLAP_PERSISTENCE = 0.9


def positive_weights(weights: Sequence[float] | None, n_rankers: int) -> list[float]:
    """Return a weight for each ranker, all 1 by default; raise InputError if none is above 0."""
    given = checked_weights(weights, n_rankers)
    if sum(given) == 0:
        raise InputError("At least one ranker must have a weight above 0; got 0 for all.")
    return given


def shares_of(listed: Sequence[bool]) -> Floats:
    """Return weights that sum to 1, equal ones for the rankers that have lists, or for all if none has."""
    given = np.array(listed if any(listed) else [1] * len(listed), np.float64)
    return frozen(given / given.sum())


def have_lists(normalized: Sequence[Int32s]) -> list[bool]:
    """Return, for each ranker, whether it has any list; one without lists must not affect the result."""
    return [bool((lists != PAD).any()) for lists in normalized]


def field_parts(shares: Floats, weights: Sequence[float] | None = None) -> Floats:
    """Return the weight of each field in the score: one half for the fused field, one half shared by the rankers."""
    own = shares if weights is None else shares * weights
    return frozen(np.concatenate([[0.5], own / (2 * own.sum()) if own.sum() > 0 else shares / 2]))


def agreement_shares(lists: Int32s, fused: Int32s, unlike: Floats, scratch: Scratch) -> Floats:
    r"""Return weights that grow with agreement with the fusion T: :math:`w_r \propto u_r\, \mathrm{RBO}(r, T)^2`.

    T (`fused`) is the fusion with the weights u (`unlike`), which are lower for redundant rankers (`rarity`).
    """
    weights = unlike * np.array([mean_overlap(layer, fused, scratch) ** 2 for layer in lists])
    return frozen(weights / weights.sum() if weights.sum() > 0 else unlike)


def rarity(lists: Int32s, scratch: Scratch) -> Floats:
    r"""Return the dissimilarity of each ranker to the others: :math:`u_r \propto 1 / \sum_s \mathrm{RBO}(r, s)`."""
    m = len(lists)
    overlaps = np.eye(m)
    for r in range(m):
        for s in range(r):
            overlaps[r, s] = overlaps[s, r] = mean_overlap(lists[r], lists[s], scratch)
    unlike = 1 / overlaps.sum(axis=1)
    return frozen(unlike / unlike.sum())


def mean_overlap(one: Array, other: Array, scratch: Scratch) -> float:
    r"""Return the mean rank-biased overlap of the first 10 positions of two rankers' lists, row by row.

    .. math:: \mathrm{RBO} = \frac{1 - p}{1 - p^{10}} \sum_{d=1}^{10} p^{d-1} |\tau^d \cap \sigma^d| / d, \quad p = 0.9

    References
    ----------
    Webber, Moffat, Zobel (2010), A similarity measure for indefinite rankings, doi:10.1145/1852102.1852106
    """
    from rankloom._kernels.weft.expand import rank_overlaps

    p, depth = OVERLAP_PERSISTENCE, OVERLAP_DEPTH
    gains = p ** np.arange(depth) / np.arange(1, depth + 1)
    tail = frozen((1 - p) / (1 - p**depth) * np.cumsum(gains[::-1])[::-1])
    out = np.empty(len(one))

    def work(start: int, stop: int) -> None:
        with scratch.borrowed() as position:
            rank_overlaps(start, stop, one, other, tail, position, out)

    run_blocks(work, len(out), stage="Agreement")
    return float(out.mean()) if len(out) else 1.0
