"""Methods that build an index of the collection and answer from it: fg, weft and vote."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

from annotated_types import Ge

from rankloom.aggregate.methods import IndexMethod, register_method
from rankloom.fusion_graph import index as fusion_graph
from rankloom.fusion_graph.index import FusionIndex
from rankloom.index.settings import Absent
from rankloom.ranks import Ranks
from rankloom.weft import index as weft
from rankloom.weft.index import WeftIndex
from rankloom.weft.votes import NEIGHBORS_WEIGHT, VOTE_DEPTH, weft_depth
from rankloom.weft.weights import AGREED


@register_method("fg")
class FG(IndexMethod[FusionIndex]):
    """Fusion graphs: ranks items by the similarity of their graph to the query's.

    A whole-collection method: it needs the lists of the items themselves, each item as a query.

    Parameters
    ----------
    cutoff, depth, reposition, graph_norm, comparator, weighting, absent, comparable, virtual
        As in `FusionIndex.build` and `FusionIndex.search`.

    References
    ----------
    Dourado, Pedronette, Torres (2019), Unsupervised graph-based rank aggregation for improved retrieval, Information
    Processing & Management 56(4), doi:10.1016/j.ipm.2019.03.008

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
        return FusionIndex.build(ranks, keep_scores=external, **self.given("virtual"))

    def answer(self, index: FusionIndex, ranks: Sequence[Ranks], k: int, *, external: bool) -> Ranks:
        return index.search(ranks if external else None, k, virtual=self.virtual)


class WeftMethod(IndexMethod[WeftIndex]):
    """A method that answers from a weft index."""

    keep_nearest: ClassVar[bool] = False

    cutoff: int = weft.CUTOFF
    expand: int = 8
    weights: Sequence[float] | str | None = None
    width: int | None = 80
    depth: int = 1000
    reposition: bool = True
    absent: Absent = "first"
    comparable: Sequence[bool] | None = None

    def build(self, ranks: Sequence[Ranks], *, external: bool) -> WeftIndex:
        options = self.given("virtual", "neighbors_weight")
        options["weights"] = AGREED if self.weights == AGREED else None
        return WeftIndex.build(ranks, keep_scores=external, keep_nearest=self.keep_nearest, **options)

    @property
    def given_weights(self) -> Sequence[float] | None:
        """The weights that are numbers, which a search applies."""
        return None if self.weights == AGREED else self.weights  # type: ignore[return-value]


@register_method("weft")
class Weft(WeftMethod):
    r"""Weft: ranks items by how much their neighbors' lists have in common with the query's, ranker by ranker.

    .. math:: S(q, a) = \Big[ \ln(1 + c J(X_w[q], X_w[a])) + \sum_r w_r \ln(1 + c J(X_r[q], X_r[a])) \Big]
        \Big/ 2 \ln(1 + c)

    with X the rows that `WeftIndex` describes, J their weighted Jaccard similarity and c = 20. Like fusion graphs it
    describes an item by its neighbors, but without a hard cutoff at 10, and it retains the query's own lists. It needs
    no labels, and its defaults are the same for every collection.

    Parameters
    ----------
    weights : sequence of float, "agreement" or None
        "agreement" as in `WeftIndex.build`, numbers as in `WeftIndex.search`.
    cutoff, expand, width, depth, reposition, absent, comparable, virtual
        As in `WeftIndex.build` and `WeftIndex.search`.

    Examples
    --------
    >>> Weft().fuse([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=2).items[0]
    array([0, 1], dtype=int32)
    """

    virtual: bool | None = None

    def answer(self, index: WeftIndex, ranks: Sequence[Ranks], k: int, *, external: bool) -> Ranks:
        return index.search(ranks if external else None, k, weights=self.given_weights, virtual=self.virtual)


@register_method("vote")
class Vote(WeftMethod):
    r"""Vote: the sum of the rankers' lists and weft's list, on one scale. Intended for text queries over documents.

    .. math:: V(a) = \sum_r w_r\, (y_r(a) - y_r(0)) + \lambda\, m\, (z_{weft}(a) - z_{weft}(0))

    with :math:`\lambda` the weight of the neighbors, m rankers, z the scores standardized by the first 100 of a list,
    y the same with a leaky floor at the 100th, and 0 an item in no list. :math:`w_r` is 1 and up to .6 more or less, by
    how coherent a ranker's list is: whether its items are neighbors of each other, and neighbors have similar scores.
    Give lists of 300 items, or of k if that is more.

    Parameters
    ----------
    neighbors_weight : float
        How much weft's list counts, for each ranker; 0 leaves it out.
    weights : sequence of float, optional
        How much each ranker counts besides its coherence; or "agreement", for weft's index.
    symmetric, exhaustive
        What is known of each ranker's scores, as in `WeftIndex.build`.
    cutoff, expand, width, depth, reposition, absent, comparable
        As in `WeftIndex.build`.

    Examples
    --------
    >>> items = Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    >>> Vote().fuse([Ranks([[2, 1]], n_items=3)], k=2, collection=[items]).items
    array([[2, 1]], dtype=int32)
    """

    keep_nearest: ClassVar[bool] = True

    neighbors_weight: Annotated[float, Ge(0)] = NEIGHBORS_WEIGHT
    symmetric: Sequence[bool] | None = None
    exhaustive: Sequence[bool] | None = None

    def answer(self, index: WeftIndex, ranks: Sequence[Ranks], k: int, *, external: bool) -> Ranks:
        options = {"weights": self.given_weights, "neighbors_weight": self.neighbors_weight}
        if external:
            return index.vote(ranks, k, **options)  # type: ignore[arg-type]
        lists = [r.head(max(k, VOTE_DEPTH)) for r in ranks]
        return index.add_votes(lists, index.search(k=weft_depth(k)), k, **options)  # type: ignore[arg-type]
