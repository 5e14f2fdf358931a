"""weft and vote as methods of `fuse`."""

from collections.abc import Sequence

from rankloom.aggregate.methods import register_method
from rankloom.aggregate.weft.index import WeftIndex
from rankloom.aggregate.weft.votes import VOTERS, add_votes
from rankloom.ranks import Ranks
from rankloom.threads import Progress


@register_method("weft", needs="collection", answers_external=True)
def weft(
    ranks: Sequence[Ranks],
    k: int = 10,
    *,
    collection: Sequence[Ranks] | None = None,
    cutoff: int = 20,
    expand: int = 8,
    weights: Sequence[float] | str | None = None,
    width: int | None = 50,
    depth: int = 1000,
    reposition: bool = True,
    virtual: bool | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Ranks:
    r"""Weft: items by how much what their neighbors list is what the query's neighbors list, ranker by ranker.

    .. math:: S(q, a) = \Big[ \ln(1 + c J(X_w[q], X_w[a])) + \sum_r w_r \ln(1 + c J(X_r[q], X_r[a])) \Big]
        \Big/ 2 \ln(1 + c)

    with X the rows that `WeftIndex` describes, J their weighted Jaccard similarity and c = 20. It keeps what makes
    fusion graphs good, that neighbors say what an item is, without their hard cut at 10 and without forgetting the
    query's own lists. No labels, and one set of defaults for every collection.

    Parameters
    ----------
    collection : sequence of Ranks, optional
        Collection ranks of the same rankers, in the same order, if `ranks` are those of external queries.
    cutoff, expand, weights, width, depth, reposition, virtual, threads, progress
        As in `WeftIndex.build` and `WeftIndex.search`.

    Examples
    --------
    >>> weft([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=2).items[0]
    array([0, 1], dtype=int32)
    """
    index = WeftIndex.build(
        ranks if collection is None else collection,
        cutoff=cutoff,
        expand=expand,
        weights=weights,
        width=width,
        depth=depth,
        reposition=reposition,
        keep_scores=collection is not None,
        threads=threads,
        progress=progress,
    )
    if collection is None:
        return index.search(k=k, threads=threads, progress=progress)
    return index.search(ranks, k, virtual=virtual, threads=threads, progress=progress)


@register_method("vote", needs="collection", answers_external=True)
def vote(
    ranks: Sequence[Ranks],
    k: int = 10,
    *,
    collection: Sequence[Ranks] | None = None,
    share: float = 0.2,
    cutoff: int = 20,
    expand: int = 8,
    weights: Sequence[float] | str | None = None,
    width: int | None = 50,
    virtual: bool | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Ranks:
    r"""Vote: CombSUM of the rankers' lists and of weft's list, which holds a fifth of the votes.

    .. math:: V(a) = \sum_r s_r(a) + \frac{m\,\sigma}{1 - \sigma}\, s_{weft}(a)

    over the first 100 of each list, with min-max normalized scores s, m rankers and weft's share :math:`\sigma` = 0.2;
    positions stand in for scores where a ranker has none.

    Parameters
    ----------
    collection : sequence of Ranks, optional
        Collection ranks of the same rankers, in the same order, if `ranks` are those of external queries.
    share : float
        Weft's share of all votes: 0 is CombSUM of the rankers alone, 1 is weft alone.
    cutoff, expand, weights, width, virtual, threads, progress
        As in `WeftIndex.build` and `WeftIndex.search`.

    Examples
    --------
    >>> items = Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    >>> vote([Ranks([[2, 1]], n_items=3)], k=2, collection=[items]).items
    array([[2, 1]], dtype=int32)
    """
    index = WeftIndex.build(
        ranks if collection is None else collection,
        cutoff=cutoff,
        expand=expand,
        weights=weights,
        width=width,
        threads=threads,
        progress=progress,
    )
    if collection is None:
        found = index.search(k=max(k, VOTERS), threads=threads, progress=progress)
        return add_votes(ranks, found, k, share)
    return index.vote(ranks, k, share=share, virtual=virtual, threads=threads, progress=progress)
