"""Methods that build an index of the collection and answer from it: fg, weft and vote."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from rankloom.aggregate.lists import with_lists
from rankloom.aggregate.methods import register_method, with_signature
from rankloom.fusion_graph.index import FusionIndex
from rankloom.ranks import Ranks
from rankloom.weft.index import WeftIndex
from rankloom.weft.votes import SHARE, VOTE_DEPTH, add_votes

#: (index, ranks, k, whether the ranks are those of external queries, its own options) -> answers
Answer = Callable[..., Ranks]
PARAMETERS = "    Parameters\n    ----------\n"
COLLECTION = """    collection : sequence of Ranks, optional
        Collection ranks of the same rankers, in the same order, if `ranks` are those of external queries.
"""
NOT_OPTIONS = ("ranks", "keep_scores", "threads", "progress")  # parameters of `build` that the methods do not have


def register_index_method(name: str, index: type[FusionIndex | WeftIndex]) -> Callable[[Answer], Callable[..., Ranks]]:
    """Return a decorator that registers a method: its options are those of ``index.build`` and of the function."""
    built = [one for one in inspect.signature(index.build).parameters.values() if one.name not in NOT_OPTIONS]

    def add(answer: Answer) -> Callable[..., Ranks]:
        own = [one for one in inspect.signature(answer).parameters.values() if one.kind is one.KEYWORD_ONLY]

        def method(
            ranks: Sequence[Ranks], k: int = 10, *, collection: Sequence[Ranks] | None = None, **options: Any
        ) -> Ranks:
            mine = {one.name: options.pop(one.name) for one in own if one.name in options}
            made = index.build(
                ranks if collection is None else collection, keep_scores=collection is not None, **options
            )
            return answer(made, ranks, k, collection is not None, **mine)

        with_signature(method, [*built, *own], like=answer)
        method.__doc__ = (answer.__doc__ or "").replace(PARAMETERS, PARAMETERS + COLLECTION, 1)
        return register_method(name, needs="collection", answers_external=True)(method)

    return add


@register_index_method("fg", FusionIndex)
def fg(index: FusionIndex, ranks: Sequence[Ranks], k: int, external: bool, *, virtual: bool | None = None) -> Ranks:
    """Fusion graphs: ranks items by the similarity of their graph to the query's.

    A whole-collection method: it needs the lists of the items themselves, each item as a query.

    Parameters
    ----------
    cutoff, depth, reposition, graph_norm, comparator, weighting, absent, comparable, virtual
        As in `FusionIndex.build` and `FusionIndex.search`.

    References
    ----------
    Dourado, Pedronette, Torres (2019), doi:10.1016/j.ipm.2019.03.008

    Examples
    --------
    >>> fg([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=2, cutoff=2).items[0]
    array([0, 1], dtype=int32)
    """
    return index.search(ranks if external else None, k, virtual=virtual)


@register_index_method("weft", WeftIndex)
def weft(index: WeftIndex, ranks: Sequence[Ranks], k: int, external: bool, *, virtual: bool | None = None) -> Ranks:
    r"""Weft: ranks items by how much their neighbors' lists have in common with the query's, ranker by ranker.

    .. math:: S(q, a) = \Big[ \ln(1 + c J(X_w[q], X_w[a])) + \sum_r w_r \ln(1 + c J(X_r[q], X_r[a])) \Big]
        \Big/ 2 \ln(1 + c)

    with X the rows that `WeftIndex` describes, J their weighted Jaccard similarity and c = 20. Like fusion graphs it
    describes an item by its neighbors, but without a hard cutoff at 10, and it retains the query's own lists. It needs
    no labels, and its defaults are the same for every collection.

    Parameters
    ----------
    cutoff, expand, weights, width, depth, reposition, absent, comparable, virtual
        As in `WeftIndex.build` and `WeftIndex.search`.

    Examples
    --------
    >>> weft([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=2).items[0]
    array([0, 1], dtype=int32)
    """
    return index.search(ranks if external else None, k, virtual=virtual)


@register_index_method("vote", WeftIndex)
def vote(
    index: WeftIndex,
    ranks: Sequence[Ranks],
    k: int,
    external: bool,
    *,
    share: float = SHARE,
    virtual: bool | None = None,
) -> Ranks:
    r"""Vote: CombSUM of the rankers' lists and weft's list, which gets a fifth of the total weight.

    .. math:: V(a) = \sum_r s_r(a) + \frac{m\,\sigma}{1 - \sigma}\, s_{weft}(a)

    over the first 100 items of each list, with min-max normalized scores s, m rankers and weft's share :math:`\sigma` =
    0.2; positions replace all scores if a ranker has none. Intended for text queries over documents.

    Parameters
    ----------
    share : float
        Weft's share of all votes: 0 is CombSUM of the rankers alone, 1 is weft alone.
    cutoff, expand, weights, width, depth, reposition, absent, comparable, virtual
        As in `WeftIndex.build` and `WeftIndex.search`.

    Examples
    --------
    >>> items = Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    >>> vote([Ranks([[2, 1]], n_items=3)], k=2, collection=[items]).items
    array([[2, 1]], dtype=int32)
    """
    if external:
        return index.vote(ranks, k, share=share, virtual=virtual)
    return add_votes(with_lists(ranks), index.search(k=max(k, VOTE_DEPTH), virtual=virtual), k, share)
