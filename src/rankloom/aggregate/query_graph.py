"""Graphs grown around each query from reciprocal neighbors, joined over rankers, and ranked by their vertices."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom.aggregate.lists import answers, check_collection, own_first
from rankloom.aggregate.methods import register_method
from rankloom.aggregate.pool import checked_weights
from rankloom.errors import InputError, UnknownNameError, check_range, check_whole
from rankloom.ranks import Ranks, stack_lists
from rankloom.threads import Progress, Scratch, run_blocks

TOLERANCE = 1e-8  # PageRank stops when the probabilities change by less, in all
BLOCK = 512  # queries: a graph is more work than a list

#: The options that only some versions or solvers have, each with its default.
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


@register_method("queryrankfusion", needs="collection")
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
    threads: int | None = None,
    progress: Progress | None = None,
) -> Ranks:
    r"""Query-specific rank fusion: a graph around each query, its vertices by weight or by PageRank.

    A whole-collection method. :math:`N(i)` is i and the first `neighbors` - 1 others of its list. Each ranker grows
    a graph around the query q; vertices and edges of all rankers are united and their weights added up.

    *Released version* (what the authors' scripts do). Layer 1: each of the first `region` items c of q's list with
    :math:`q \in N(c)` is joined to q, both ways, with weight 1; q has an entry of weight 1 for itself. Layer 2, for
    each c in turn, where Q holds what has been accepted so far: if

    .. math:: J = |N(c) \cap Q| \,/\, |N(c) \cup Q|

    is above `threshold`, each other x in N(c) gets an entry (x to c) of weight J and joins Q. With "density", vertices
    are sorted by the sum of their entries; with "pagerank", by a walk along the entries from everywhere alike,
    `iterations` steps without damping, q put first (with the largest probability as its score).

    *Article's version.* i and j are joined when each is among the other's neighbors. The graph grows from q along
    such edges, breadth first, up to `vertices`; an edge weighs

    .. math:: w(i, j) = \alpha^{h} \, |N(i) \cap N(j)| \,/\, |N(i) \cup N(j)|

    with h the larger distance of i and j from q in steps, and none below `threshold` is made. With "density", the
    vertex most heavily joined to those chosen so far comes next, from q on; its score is the smallest such weight so
    far. With "pagerank", :math:`p = (1 - d) v + d P^T p`, P the weights divided by row sums, v = `restart` on q and the
    rest spread evenly, until p changes by less than 1e-8 or for `iterations` rounds.

    Fewer than k vertices are filled up from the list of ranker `fill`, with score 0.

    Parameters
    ----------
    version : {"released", "article"}
    solver : {"density", "pagerank"}
    neighbors : int
        Size of N, the item itself included. The scripts have 4 for UKBench (4 items a class) and suggest more for
        larger classes; 15 is our choice.
    region : int, optional
        Released version only: how far layer 1 looks. 6 in the scripts for UKBench; 20 is our choice.
    threshold : float, optional
        0.3 for the released version, as in the scripts; 0 (no edge is too light) for the article's, our choice.
    decay : float, optional
        Article's version only: :math:`\alpha`; 0.8.
    vertices : int, optional
        Article's version only: the most that a ranker's graph may have; 100 is our choice.
    damping, restart : float, optional
        Article's PageRank only: d = 0.85 (our choice), and q's share of v, 0.99.
    iterations : int, optional
        PageRank only: 10 for the released version, exactly; at most 200 for the article's (our choice).
    fill : int or None
        Number of the ranker, from 0, whose lists fill up; None to leave rows short. The first is our choice (the
        scripts take the second of two).
    ties : {"seen", "fill"}
        Equal scores (in float32) in the order in which vertices joined the graph, ranker after ranker, or in the order
        of the list that fills up, those not in it last.
    weights : sequence of float, optional
        One for each ranker, multiplying the weights of its edges; one with 0 is left out.

    Notes
    -----
    An item that does not lead its own list is put first; an item without any list gets an empty answer.
    The article's version and its values are given from memory of the article.

    References
    ----------
    Zhang, Yang, Cour, Yu, Metaxas (2015), Query specific rank fusion for image retrieval, TPAMI 37(4),
    doi:10.1109/TPAMI.2014.2346201

    Examples
    --------
    Item 1 has item 0 among its neighbors, item 2 has not:

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
    if ties not in ("seen", "fill"):
        raise UnknownNameError("order of ties", ties, ("seen", "fill"))
    if ties == "fill" and fill is None:
        raise InputError("ties='fill' needs a list that fills up; give fill, the number of a ranker.")
    share = np.array(checked_weights(weights, len(ranks)))
    spare = _fill_lists(ranks, fill)
    depth = max(neighbors, options.get("region", 0) + 1)
    used = [own_first(r, depth)[0] for r, weight in zip(ranks, share, strict=True) if weight > 0]
    lists = stack_lists(used) if used else np.empty((0, len(spare), 0), np.int32)
    run = _released if version == "released" else _article
    where = {"threads": threads, "progress": progress}
    items, scores = run(lists, spare, share[share > 0], k, neighbors, options, ties == "fill", where)
    return answers(ranks[0], items, scores)


def _own_options(version: str, solver: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of this version and solver, checked; one that is given and not used is an error."""
    for name, known, kind in (
        (version, ("released", "article"), "version"),
        (solver, ("density", "pagerank"), "solver"),
    ):
        if name not in known:
            raise UnknownNameError(kind, name, known)
    known_options = OWN_OPTIONS[version, solver]
    for name, value in given.items():
        if value is not None and name not in known_options:
            raise InputError(f"queryrankfusion with version {version!r} and solver {solver!r} has no option {name!r}.")
    options = {name: default if given[name] is None else given[name] for name, default in known_options.items()}
    check_whole(**{name: options[name] for name in ("region", "vertices", "iterations") if name in options})
    shares = [name for name in ("threshold", "decay", "damping", "restart") if name in options]
    check_range(0, 1, **{name: options[name] for name in shares})
    if options.get("decay") == 0:
        raise InputError("decay must be above 0; at 0 no edge has a weight.")
    return options | {name: float(options[name]) for name in shares}


def _fill_lists(ranks: Sequence[Ranks], fill: int | None) -> NDArray[np.int32]:
    """Return the lists that fill up, read-only: empty ones where none shall."""
    if fill is None:
        spare = np.empty((ranks[0].n_queries, 0), np.int32)
    elif not isinstance(fill, int | np.integer) or not 0 <= fill < len(ranks):
        raise InputError(f"fill must be the number of a ranker, 0 to {len(ranks) - 1}, or None; got {fill!r}.")
    else:
        spare = np.ascontiguousarray(own_first(ranks[fill], ranks[fill].depth + 1)[0])
    spare = spare.view()
    spare.flags.writeable = False
    return spare


def _released(
    lists: NDArray[np.int32],
    spare: NDArray[np.int32],
    weights: NDArray[np.float64],
    k: int,
    neighbors: int,
    options: Mapping[str, Any],
    by_fill: bool,
    where: Mapping[str, Any],
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    from rankloom._kernels import query_graphs as kernels

    items, scores = _empty_answer(len(spare), k)
    scratch = Scratch(len(spare))
    width = lists.shape[2]  # more would only make larger scratch arrays
    sizes = min(neighbors, width), min(options["region"], width)
    settings = *sizes, options["threshold"], options.get("iterations", 0), by_fill

    def work(start: int, stop: int) -> None:
        with scratch.borrowed() as slot:
            kernels.released(start, stop, lists, spare, weights, *settings, slot, items, scores)

    run_blocks(work, len(spare), stage="Fusing", block=BLOCK, **where)
    return items, scores


def _article(
    lists: NDArray[np.int32],
    spare: NDArray[np.int32],
    weights: NDArray[np.float64],
    k: int,
    neighbors: int,
    options: Mapping[str, Any],
    by_fill: bool,
    where: Mapping[str, Any],
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    from rankloom._kernels import query_graphs as kernels

    lists = np.ascontiguousarray(lists[:, :, :neighbors])
    jaccards = np.zeros(lists.shape)
    ordered = np.sort(lists, axis=2)
    for r in range(len(lists)):

        def compare(start: int, stop: int, r: int = r) -> None:
            kernels.reciprocal(start, stop, lists[r], ordered[r], jaccards[r])

        run_blocks(compare, len(spare), stage="Comparing neighbors", **where)
    items, scores = _empty_answer(len(spare), k)
    scratch = Scratch(len(spare))
    settings = (
        min(options["vertices"], max(len(spare), 1)),
        options["decay"],
        options["threshold"],
        options.get("damping", 0.0),
        options.get("restart", 0.0),
        options.get("iterations", 0),
        TOLERANCE,
        by_fill,
    )

    def work(start: int, stop: int) -> None:
        with scratch.borrowed() as slot:
            kernels.article(start, stop, lists, jaccards, spare, weights, *settings, slot, items, scores)

    run_blocks(work, len(spare), stage="Fusing", block=BLOCK, **where)
    return items, scores


def _empty_answer(n_rows: int, k: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    return np.empty((n_rows, k), np.int32), np.empty((n_rows, k), np.float32)
