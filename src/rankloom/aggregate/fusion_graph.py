"""The fusion-graph method in one call: build an index and search it."""

from collections.abc import Sequence

from rankloom.aggregate.methods import register_method
from rankloom.fusion_graph.index import FusionIndex
from rankloom.ranks import Ranks
from rankloom.threads import Progress


@register_method("fg", needs="collection", answers_external=True)
def fg(
    ranks: Sequence[Ranks],
    k: int = 10,
    *,
    collection: Sequence[Ranks] | None = None,
    cutoff: int = 10,
    depth: int = 1000,
    reposition: bool = True,
    graph_norm: str = "max",
    comparator: str = "wgu",
    weighting: str = "paper",
    virtual: bool | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Ranks:
    """Fusion graphs: items by the similarity of their graph to the query's.

    A whole-collection method: it needs the lists of the items, each item a query.

    Parameters
    ----------
    ranks : sequence of Ranks
        Collection ranks, every item a query (the paper's protocol); or, with `collection`, the lists of external
        queries.
    collection : sequence of Ranks, optional
        Collection ranks of the same rankers, in the same order.
    cutoff, depth, reposition, graph_norm, comparator, weighting, virtual, threads, progress
        As in `FusionIndex.build` and `FusionIndex.search`.

    References
    ----------
    Dourado, Pedronette, Torres (2019), doi:10.1016/j.ipm.2019.03.008

    Examples
    --------
    >>> fg([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], k=2, cutoff=2).items[0]
    array([0, 1], dtype=int32)
    """
    index = FusionIndex.build(
        ranks if collection is None else collection,
        cutoff=cutoff,
        depth=depth,
        reposition=reposition,
        graph_norm=graph_norm,
        comparator=comparator,
        weighting=weighting,
        keep_scores=collection is not None,
        threads=threads,
        progress=progress,
    )
    queries = None if collection is None else ranks
    return index.search(queries, k, virtual=virtual, threads=threads, progress=progress)
