"""Query-specific rank fusion: a graph of reciprocal neighbors around each query, its vertices ranked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rankloom.aggregate.lists import answers, check_collection, empty_lists, own_first, stack_own_first
from rankloom.aggregate.methods import CollectionMethod, register_method
from rankloom.errors import InputError, brief, check_choice, check_range, check_whole
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Floats, Int32s
from rankloom.ranks.pool import checked_weights
from rankloom.threads import Scratch, run_blocks, run_rows

BLOCK = 512  # queries; fewer than usual, as graphs take longer than lists

#: A kernel, the rankers it reads and its rules.
Prepared = tuple[Callable[..., None], Any, Any]

#: Options of each version and solver, with their defaults.
OWN_OPTIONS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("released", "density"): {"region": 20, "threshold": 0.3},
    ("released", "pagerank"): {"region": 20, "threshold": 0.3, "iterations": 10},
    ("article", "density"): {"threshold": 0.0, "decay": 0.8, "vertices": 100},
    ("article", "pagerank"): {
        "threshold": 0.0,
        "decay": 0.8,
        "vertices": 100,
        "damping": 0.85,
        "restart": 0.99,
        "iterations": 200,
    },
}


@register_method("queryrankfusion", kind=CollectionMethod)
def queryrankfusion(
    ranks: Sequence[Ranks],
    k: int = 10,
    *,
    version: str = "released",
    solver: str = "density",
    neighbors: int = 15,
    region: int | None = None,
    threshold: float | None = None,
    decay: float | None = None,
    vertices: int | None = None,
    damping: float | None = None,
    restart: float | None = None,
    iterations: int | None = None,
    fill: int | None = 0,
    ties: str = "seen",
    weights: Sequence[float] | None = None,
) -> Ranks:
    r"""Query-specific rank fusion: a graph around each query, with vertices ranked by weight or PageRank.

    A whole-collection method. :math:`N(i)` is i and the first `neighbors` - 1 others of its list. Each ranker grows a
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
    >>> fused = queryrankfusion([one], k=3, neighbors=2)
    >>> fused.items[0], fused.scores[0]
    (array([0, 1, 2], dtype=int32), array([3., 1., 0.], dtype=float32))
    """
    check_collection(ranks, "queryrankfusion")
    check_whole(neighbors=neighbors)
    k = min(k, ranks[0].n_items)
    given = {
        "region": region,
        "threshold": threshold,
        "decay": decay,
        "vertices": vertices,
        "damping": damping,
        "restart": restart,
        "iterations": iterations,
    }
    options = _own_options(version, solver, given)
    check_choice("order of ties", ties, ("seen", "fill"))
    if ties == "fill" and fill is None:
        raise InputError("ties='fill' needs fill, the index of a ranker.")
    share = np.array(checked_weights(weights, len(ranks)))
    spare = _fill_lists(ranks, fill)
    depth = max(neighbors, options.get("region", 0) + 1)
    lists = stack_own_first([r for r, weight in zip(ranks, share, strict=True) if weight > 0], depth, len(spare))
    prepare = _released if version == "released" else _article
    kernel, rankers, rules = prepare(lists, share[share > 0], neighbors, options, ties == "fill")
    out = empty_lists(len(spare), k)
    scratch = Scratch(len(spare))

    def work(start: int, stop: int) -> None:
        with scratch.borrowed() as slot:
            kernel(start, stop, rankers, spare, rules, slot, out)

    run_blocks(work, len(spare), stage="Fusing", block=BLOCK)
    return answers(ranks[0], *out)


def _own_options(version: str, solver: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of this version and solver, checked; raise InputError for options of another one."""
    check_choice("version", version, ("released", "article"))
    check_choice("solver", solver, ("density", "pagerank"))
    known_options = OWN_OPTIONS[version, solver]
    for name, value in given.items():
        if value is not None and name not in known_options:
            raise InputError(f"queryrankfusion with version {version!r} and solver {solver!r} has no option {name!r}.")
    options = {name: default if given[name] is None else given[name] for name, default in known_options.items()}
    check_whole(**{name: options[name] for name in ("region", "vertices", "iterations") if name in options})
    shares = [name for name in ("threshold", "decay", "damping", "restart") if name in options]
    check_range(0, 1, **{name: options[name] for name in shares})
    if options.get("decay") == 0:
        raise InputError("decay must be above 0; at 0 all edges have weight 0.")
    return options | {name: float(options[name]) for name in shares}


def _fill_lists(ranks: Sequence[Ranks], fill: int | None) -> Int32s:
    """Return the lists that fill short answers, read-only; empty lists if `fill` is None."""
    if fill is None:
        spare = np.empty((ranks[0].n_queries, 0), np.int32)
    elif not isinstance(fill, int | np.integer) or not 0 <= fill < len(ranks):
        raise InputError(f"fill must be the index of a ranker, 0 to {len(ranks) - 1}, or None; got {brief(fill)}.")
    else:
        spare = np.ascontiguousarray(own_first(ranks[fill], ranks[fill].depth + 1)[0])
    spare = spare.view()
    spare.flags.writeable = False
    return spare


def _released(lists: Int32s, share: Floats, neighbors: int, options: Mapping[str, Any], by_fill: bool) -> Prepared:
    from rankloom._kernels.graphs import query_graphs as kernels

    width = lists.shape[2]  # larger sizes would only make larger scratch arrays
    sizes = min(neighbors, width), min(options["region"], width)
    rules = kernels.Released(*sizes, options["threshold"], options.get("iterations", 0), by_fill)
    return kernels.released, kernels.Rankers(lists, np.empty((0, 0, 0)), share), rules


def _article(lists: Int32s, share: Floats, neighbors: int, options: Mapping[str, Any], by_fill: bool) -> Prepared:
    from rankloom._kernels.graphs import query_graphs as kernels

    lists = np.ascontiguousarray(lists[:, :, :neighbors])
    jaccards = np.zeros(lists.shape)
    ordered = np.sort(lists, axis=2)
    n = lists.shape[1]
    for r in range(len(lists)):

        def compare(start: int, stop: int, r: int = r) -> None:
            kernels.reciprocal(start, stop, lists[r], ordered[r], jaccards[r])

        run_rows(compare, n, "Comparing neighbors")
    rules = kernels.Article(
        min(options["vertices"], max(n, 1)),
        options["decay"],
        options["threshold"],
        options.get("damping", 0.0),
        options.get("restart", 0.0),
        options.get("iterations", 0),
        by_fill,
    )
    return kernels.article, kernels.Rankers(lists, jaccards, share), rules
