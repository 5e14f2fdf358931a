"""Weaving of normalized lists into the matrices W and P, which hold the graphs of a whole collection.

With s_r(q, A) the rescaled score and p_r(q, A) the position of A in the list of q by ranker r, from 1,

    W[q, A] = sum over r of s_r(q, A)        the weight of vertex A in the graph of q (Eq. 2)
    P[q, A] = sum over r of 1 / p_r(q, A)    so that edge A -> B weighs P[q, A] * W[A, B] (Eq. 3)

over the rankers r whose list contains A. Both have at most (rankers x cutoff) entries per row. The terms of the sums
are given by a *weighting*, a function of positions and rescaled scores; the paper's is one of `WEIGHTINGS`.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from rankloom._kernels import contiguous, frozen
from rankloom._kernels.fusion_graph.arguments import SIZE, Graphs, Woven
from rankloom.errors import ContractError, brief
from rankloom.index.shard import Shard, gathered, numbered, postings, slice_rows
from rankloom.ranks import stack_lists
from rankloom.ranks.arrays import Array, Float32s, Floats, Int32s, Int64s, Uint32s
from rankloom.ranks.lists import pointers
from rankloom.registry import Registry
from rankloom.threads import Scratch

ROWS = ("row_ptr", "row_items", "row_weights", "row_nearness", "norms")  # the arrays of graphs
#: (positions from 1, rescaled scores) of a list -> the terms of each item in W and in P: two arrays, all positive
Weighting = Callable[[Int64s, Float32s], tuple[Array, Array]]

#: The weightings by name.
WEIGHTINGS: Registry[Weighting] = Registry("weighting", entries=Callable)

#: Registers how lists become vertex and edge weights: ``@register_weighting("name")``.
register_weighting = WEIGHTINGS.register


@register_weighting("paper")
def paper_weighting(positions: Int64s, scores: Float32s) -> tuple[Array, Array]:
    """Vertices by rescaled score, edges by reciprocal position (Eq. 2 and 3)."""
    return scores, 1.0 / positions


def weighting_tables(name: str, cutoff: int) -> tuple[Float32s, Floats]:
    """Return the terms of an item in W and in P, indexed by the length of its list and its position - 1."""
    return _tables(WEIGHTINGS[name], name, cutoff)


@lru_cache(maxsize=64)  # otherwise computing the tables would dominate the time of a single query
def _tables(weighting: Weighting, name: str, cutoff: int) -> tuple[Float32s, Floats]:
    scores = rescaled_steps(cutoff)
    weights, nearness = np.zeros_like(scores), np.zeros(scores.shape)
    for length in range(1, cutoff + 1):
        positions = np.arange(1, length + 1)
        found = weighting(positions, scores[length, :length])
        if not isinstance(found, tuple | list) or len(found) != 2 or not all(_positive(part, length) for part in found):
            raise ContractError(
                f"The weighting {name!r} must return two arrays of finite positive numbers, one for each position; "
                f"got {brief(found)} for a list of {length}."
            )
        weights[length, :length], nearness[length, :length] = found
    return frozen(weights), frozen(nearness)


def _positive(given: object, length: int) -> bool:
    values = np.asarray(given)
    return values.shape == (length,) and bool(np.isfinite(values).all() and (values > 0).all())


def rescaled_steps(depth: int) -> Float32s:
    """Return a table whose row n has the rescaled scores of a list of length n, for n from 0 to `depth`.

    They go from 1.0 for the first to 0.1 for the last item, in equal steps.

    References
    ----------
    Dourado, Pedronette, Torres (2019), Section 4.1.1, doi:10.1016/j.ipm.2019.03.008

    Examples
    --------
    >>> rescaled_steps(2).tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 0.10000000149011612]]
    """
    steps = np.zeros((depth + 1, depth), np.float32)
    for length in range(1, depth + 1):
        steps[length, :length] = np.linspace(1.0, 0.1, length)  # a list of one item: 1.0
    return steps


def weave(normalized: Sequence[Int32s], scratch: Scratch, weighting: str = "paper") -> Woven:
    """Return W and P of the lists of several rankers, repositioned and cut; they are rescaled here."""
    from rankloom._kernels.fusion_graph import graphs as kernels

    lists = frozen(stack_lists(normalized))
    tables = weighting_tables(weighting, lists.shape[2])
    sizes = np.empty(lists.shape[1], np.int64)
    n_rows = len(sizes)
    scratch.run(lambda start, stop, slot: kernels.count_vertices(start, stop, lists, slot, sizes), n_rows, "Counting")
    ptr = pointers(sizes)
    woven = Woven(ptr, *(np.empty(ptr[-1], dtype) for dtype in (np.uint32, np.float32, np.float32)))
    scratch.run(lambda start, stop, slot: kernels.weave(start, stop, lists, *tables, slot, woven), n_rows, "Weaving")
    return Woven(*(frozen(array) for array in woven))


def measure(
    woven: Woven, minmax: bool, scratch: Scratch, links: Woven | None = None, shards: Sequence[Shard] = ()
) -> Graphs:
    """Return woven graphs with their norms and sizes; edges are those of `links`, or of the shards that own them."""
    from rankloom._kernels.fusion_graph import graphs as kernels

    graphs = Graphs(*woven, np.empty((len(woven.ptr) - 1, SIZE + 1), np.float64))

    def work(start: int, stop: int, slot: Uint32s) -> None:
        if links is not None:
            kernels.measure(start, stop, graphs, woven.items, links, minmax, slot)
            return
        some = slice_rows(graphs, start, stop)
        members, sources = numbered(some.items, slot)
        kernels.measure(0, stop - start, some, sources, links_of(members, shards), minmax, slot)

    scratch.run(work, len(graphs.norms), "Measuring")
    return graphs._replace(norms=frozen(graphs.norms))


def posted(graphs: Graphs, slot: Array | None = None) -> dict[str, Array]:
    """Return the posting lists of graphs, and the smallest size of the graphs in each; `slot` as in `postings`."""
    from rankloom._kernels.index.search import lower_to_sizes

    found, _ = postings(graphs, slot)
    least = np.full(len(found["post_ptr"]) - 1, np.inf)
    lower_to_sizes(found["post_ptr"], found["post_rows"], contiguous(graphs.norms[:, SIZE]), least)
    return {**found, "post_least": frozen(least)}


def links_of(members: Array, shards: Sequence[Shard]) -> Woven:
    """Return the rows of W of some items, copied from the shards that own them."""
    return Woven(*gathered(shards, members, ROWS[1:-1]))
