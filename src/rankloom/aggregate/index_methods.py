"""Methods that build an index of the collection and answer from it: fg, weft and vote."""

from collections.abc import Sequence
from dataclasses import dataclass

from rankloom.aggregate.methods import IndexMethod, register_method
from rankloom.fusion_graph import index as fusion_graph
from rankloom.fusion_graph.index import FusionIndex
from rankloom.index.settings import Absent
from rankloom.ranks import Ranks
from rankloom.ranks.align import with_lists
from rankloom.weft import index as weft
from rankloom.weft.index import WeftIndex
from rankloom.weft.votes import SHARE, VOTE_DEPTH, add_votes


@register_method("fg")
@dataclass(frozen=True, kw_only=True)
class FG(IndexMethod[FusionIndex]):
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
    >>> FG(cutoff=2).fuse([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=2).items[0]
    array([0, 1], dtype=int32)
    """

    cutoff: int = fusion_graph.CUTOFF
    depth: int = 1000
    reposition: bool = True
    graph_norm: str = "max"
    comparator: str = "wgu"
    weighting: str = "paper"
    absent: Absent = "first"
    comparable: Sequence[bool] | None = None
    virtual: bool | None = None

    def build(self, ranks: Sequence[Ranks], *, external: bool) -> FusionIndex:
        """Return the index of a collection."""
        return FusionIndex.build(
            ranks,
            cutoff=self.cutoff,
            depth=self.depth,
            reposition=self.reposition,
            graph_norm=self.graph_norm,
            comparator=self.comparator,
            weighting=self.weighting,
            absent=self.absent,
            comparable=self.comparable,
            keep_scores=external,
        )

    def answer(self, index: FusionIndex, ranks: Sequence[Ranks], k: int, *, external: bool) -> Ranks:
        """Return the answers for external queries or for every item."""
        return index.search(ranks if external else None, k, virtual=self.virtual)


@register_method("weft")
@dataclass(frozen=True, kw_only=True)
class Weft(IndexMethod[WeftIndex]):
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
    >>> Weft().fuse([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=2).items[0]
    array([0, 1], dtype=int32)
    """

    cutoff: int = weft.CUTOFF
    expand: int = 8
    weights: Sequence[float] | str | None = None
    width: int | None = 80
    depth: int = 1000
    reposition: bool = True
    absent: Absent = "first"
    comparable: Sequence[bool] | None = None
    virtual: bool | None = None

    def build(self, ranks: Sequence[Ranks], *, external: bool) -> WeftIndex:
        """Return the index of a collection."""
        return WeftIndex.build(
            ranks,
            cutoff=self.cutoff,
            expand=self.expand,
            weights=self.weights,
            width=self.width,
            depth=self.depth,
            reposition=self.reposition,
            absent=self.absent,
            comparable=self.comparable,
            keep_scores=external,
        )

    def answer(self, index: WeftIndex, ranks: Sequence[Ranks], k: int, *, external: bool) -> Ranks:
        """Return the answers for external queries or for every item."""
        return index.search(ranks if external else None, k, virtual=self.virtual)


@register_method("vote")
@dataclass(frozen=True, kw_only=True)
class Vote(Weft):
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
    >>> Vote().fuse([Ranks([[2, 1]], n_items=3)], k=2, collection=[items]).items
    array([[2, 1]], dtype=int32)
    """

    share: float = SHARE

    def answer(self, index: WeftIndex, ranks: Sequence[Ranks], k: int, *, external: bool) -> Ranks:
        """Return the answers for external queries or for every item."""
        if external:
            return index.vote(ranks, k, share=self.share, virtual=self.virtual)
        return add_votes(
            with_lists(ranks), super().answer(index, ranks, max(k, VOTE_DEPTH), external=False), k, self.share
        )
