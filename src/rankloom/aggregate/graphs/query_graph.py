"""Query-specific rank fusion: a graph of reciprocal neighbors around each query, its vertices ranked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from annotated_types import Gt, Le

from rankloom._kernels import contiguous, frozen
from rankloom._kernels.graphs import query_graphs as kernels
from rankloom._kernels.graphs.query_graphs import Article, Rankers, Released
from rankloom.aggregate.lists import answers, empty_lists, filled, own_first, stack_own_first
from rankloom.aggregate.methods import CollectionMethod, register_method
from rankloom.errors import InputError, brief
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Floats, Int32s
from rankloom.ranks.pool import checked_weights
from rankloom.registry import Count, Share
from rankloom.threads import Scratch

#: A kernel, the rankers it reads and its rules.
Prepared = tuple[Callable[..., None], Rankers, Article | Released]

BLOCK = 512  # queries; fewer than usual, as graphs take longer than lists

#: The options of each version with their defaults, and those of its PageRank.
VERSIONS: dict[str, dict[str, float]] = {
    "released": {"region": 20, "threshold": 0.3},
    "article": {"threshold": 0.0, "decay": 0.8, "vertices": 100},
}
PAGERANKS: dict[str, dict[str, float]] = {
    "released": {"iterations": 10},
    "article": {"damping": 0.85, "restart": 0.99, "iterations": 200},
}


@register_method("queryrankfusion")
class QueryRankFusion(CollectionMethod):
    r"""Query-specific rank fusion: a graph around each query, with vertices ranked by weight or PageRank.

    :math:`N(i)` is i and the first `neighbors` - 1 others of its list. Each ranker grows a
    graph around the query q; the result is the union of these graphs, with weights summed.

    *Released version* (the authors' scripts). Layer 1: each of the first `region` items c of q's list with
    :math:`q \in N(c)` is connected to q, both ways, with weight 1; q has an entry of weight 1 for itself. Layer 2, for
    each c in turn, with Q the items accepted so far: if

    .. math:: J = |N(c) \cap Q| \,/\, |N(c) \cup Q|

    is above `threshold`, each other x in N(c) gets an entry (x to c) of weight J and joins Q. With "density", vertices
    are sorted by the sum of their entries; with "pagerank", by a random walk along the entries from a uniform start,
    `iterations` steps without damping, with q first (its score is the largest probability).

    *Article's version.* i and j are connected if each is among the other's neighbors. The graph grows from q along
    such edges, breadth first, up to `vertices`; an edge has the weight

    .. math:: w(i, j) = \alpha^{h} \, |N(i) \cap N(j)| \,/\, |N(i) \cup N(j)|

    with h the larger number of steps from q to i or j; edges below `threshold` are left out. With "density", starting
    from q, the vertex with the largest total weight to those already chosen comes next; its score is the smallest such
    weight so far. With "pagerank", :math:`p = (1 - d) v + d P^T p`, P the weights divided by row sums, v = `restart` on
    q and the rest spread evenly, until p changes by less than 1e-8 or for `iterations` rounds.

    If there are fewer than k vertices, the list of ranker `fill` supplies the rest, with score 0.

    Parameters
    ----------
    version : {"released", "article"}
    solver : {"density", "pagerank"}
    neighbors : int
        Size of N, including the item itself. The scripts use 4 for UKBench (4 items per class) and suggest more for
        larger classes; 15 is our choice.
    region : int, optional
        Released version only: how many items layer 1 considers. 6 in the scripts for UKBench; 20 is our choice.
    threshold : float, optional
        0.3 for the released version, as in the scripts; 0 (no minimum) for the article's, our choice.
    decay : float, optional
        Article's version only: :math:`\alpha`; 0.8.
    vertices : int, optional
        Article's version only: the maximum size of a ranker's graph; 100 is our choice.
    damping, restart : float, optional
        Article's PageRank only: d = 0.85 (our choice), and q's share of v, 0.99.
    iterations : int, optional
        PageRank only: exactly 10 for the released version; at most 200 for the article's (our choice).
    fill : int or None
        Index of the ranker, from 0, whose lists fill short answers; None to leave them short. The first is our choice
        (the scripts use the second of two).
    ties : {"seen", "fill"}
        Order of equal scores (in float32): that in which vertices were added to the graph, one ranker after the other,
        or that of the `fill` ranker's list, with items missing from it last.
    weights : sequence of float, optional
        One for each ranker, multiplying the weights of its edges; rankers of weight 0 are left out.

    Notes
    -----
    An item that is not first in its own list is moved there; an item without a list gets an empty result. The article's
    version and its values were written from memory, without the article at hand.

    References
    ----------
    Zhang, Yang, Cour, Yu, Metaxas (2015), Query specific rank fusion for image retrieval, TPAMI 37(4),
    doi:10.1109/TPAMI.2014.2346201

    Examples
    --------
    Item 1 has item 0 among its neighbors, item 2 does not:

    >>> one = Ranks([[0, 2, 1], [1, 0, 2], [2, 1, 0]])
    >>> fused = QueryRankFusion(neighbors=2).fuse([one], k=3)
    >>> fused.items[0], fused.scores[0]
    (array([0, 1, 2], dtype=int32), array([3., 1., 0.], dtype=float32))
    """

    version: Literal["released", "article"] = "released"
    solver: Literal["density", "pagerank"] = "density"
    neighbors: Count = 15
    region: Count | None = None
    threshold: Share | None = None
    decay: Annotated[float, Gt(0), Le(1)] | None = None  # at 0 all edges would have weight 0
    vertices: Count | None = None
    damping: Share | None = None
    restart: Share | None = None
    iterations: Count | None = None
    fill: int | None = 0
    ties: Literal["seen", "fill"] = "seen"
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._own_options()
        if self.ties == "fill" and self.fill is None:
            raise InputError("ties='fill' needs fill, the index of a ranker.")

    def rerank(self, ranks: Sequence[Ranks], k: int) -> Ranks:
        share = np.array(checked_weights(self.weights, len(ranks)))
        spare, options = self._fill_lists(ranks), self._own_options()
        depth = max(self.neighbors, int(options.get("region", 0)) + 1)
        lists = stack_own_first([r for r, weight in zip(ranks, share, strict=True) if weight > 0], depth, len(spare))
        prepare = self._released if self.version == "released" else self._article
        kernel, rankers, rules = prepare(lists, share[share > 0], options)
        out = empty_lists(len(spare), min(k, len(spare)))
        n, given = len(spare), (rankers, spare, rules)
        Scratch(n).run(lambda start, stop, slot: kernel(start, stop, *given, slot, out), n, "Fusing", BLOCK)
        return answers(ranks[0], *out)

    def _own_options(self) -> dict[str, float]:
        """Return the options of this version and solver; raise InputError for options of another one."""
        options = dict(VERSIONS[self.version])
        if self.solver == "pagerank":
            options |= PAGERANKS[self.version]
        for name in ("region", "threshold", "decay", "vertices", "damping", "restart", "iterations"):
            if (value := getattr(self, name)) is not None:
                if name not in options:
                    owner = f"{self.entry_name} with version {self.version!r} and solver {self.solver!r}"
                    raise InputError(f"{owner} has no option {name!r}.")
                options[name] = value
        return options

    def _fill_lists(self, ranks: Sequence[Ranks]) -> Int32s:
        """Return the lists that fill short answers, read-only; empty lists if `fill` is None."""
        if self.fill is None:
            return frozen(np.empty((ranks[0].n_queries, 0), np.int32))
        if not 0 <= self.fill < len(ranks):
            raise InputError(
                f"fill must be the index of a ranker, 0 to {len(ranks) - 1}, or None; got {brief(self.fill)}."
            )
        return contiguous(own_first(ranks[self.fill], ranks[self.fill].depth + 1)[0])

    def _released(self, lists: Int32s, share: Floats, options: Mapping[str, float]) -> Prepared:
        width = lists.shape[2]  # larger sizes would only make larger scratch arrays
        rules = kernels.Released(
            min(self.neighbors, width),
            min(int(options["region"]), width),
            float(options["threshold"]),
            int(options.get("iterations", 0)),
            self.ties == "fill",
        )
        return kernels.released, kernels.Rankers(lists, np.empty((0, 0, 0)), share), rules

    def _article(self, lists: Int32s, share: Floats, options: Mapping[str, float]) -> Prepared:
        lists = np.ascontiguousarray(lists[:, :, : self.neighbors])
        jaccards = np.zeros(lists.shape)
        for own, ordered, out in zip(lists, np.sort(lists, axis=2), jaccards, strict=True):
            filled(out, "Comparing neighbors", kernels.reciprocal, own, ordered)
        rules = kernels.Article(
            min(int(options["vertices"]), max(lists.shape[1], 1)),
            float(options["decay"]),
            float(options["threshold"]),
            float(options.get("damping", 0)),
            float(options.get("restart", 0)),
            int(options.get("iterations", 0)),
            self.ties == "fill",
        )
        return kernels.article, kernels.Rankers(lists, jaccards, share), rules
