"""Weaving of normalized lists into the matrices W and P, which hold the graphs of a whole collection.

With s_r(q, A) the rescaled score and p_r(q, A) the position of A in the list of q by ranker r, from 1,

    W[q, A] = sum over r of s_r(q, A)        the weight of vertex A in the graph of q (Eq. 2)
    P[q, A] = sum over r of 1 / p_r(q, A)    so that edge A -> B weighs P[q, A] * W[A, B] (Eq. 3)

over the rankers r whose list contains A. Both have at most (rankers x cutoff) entries per row. The terms of the sums
are given by a *weighting*, a function of positions and rescaled scores; the paper's is one of `WEIGHTINGS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloom._kernels import frozen
from rankloom.errors import ContractError, brief
from rankloom.fusion_graph.normalize import contiguous, rescaled_steps
from rankloom.index.shard import Shard, gathered, numbered
from rankloom.ranks import PAD, Ranks, stack_lists
from rankloom.registry import Registry
from rankloom.threads import Scratch, run_blocks

if TYPE_CHECKING:
    from rankloom._kernels.fusion_graph.graphs import Woven

Array = NDArray[Any]
ROWS = ("row_ptr", "row_items", "row_weights", "row_nearness")  # the arrays of the woven matrices
#: (positions from 1, rescaled scores) of a list -> the terms of each item in W and in P: two arrays, all positive
Weighting = Callable[[NDArray[np.int64], NDArray[np.float32]], tuple[Array, Array]]

#: The weightings by name; a plug-in adds one through the entry-point group ``rankloom.weightings``.
WEIGHTINGS: Registry[Weighting] = Registry("weighting", group="rankloom.weightings", entries=Callable)

#: Registers how lists become vertex and edge weights: ``@register_weighting("name")``.
register_weighting = WEIGHTINGS.register


@register_weighting("paper")
def paper_weighting(positions: NDArray[np.int64], scores: NDArray[np.float32]) -> tuple[Array, Array]:
    """Vertices by rescaled score, edges by reciprocal position (Eq. 2 and 3)."""
    return scores, 1.0 / positions


def weighting_tables(name: str, cutoff: int) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return the terms of an item in W and in P, indexed by the length of its list and its position - 1.

    Examples
    --------
    >>> weighting_tables("paper", 2)[1].tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 0.5]]
    """
    return _tables(WEIGHTINGS[name], name, cutoff)


@lru_cache(maxsize=64)  # otherwise computing the tables would dominate the time of a single query
def _tables(weighting: Weighting, name: str, cutoff: int) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    scores = rescaled_steps(cutoff)
    weights, nearness = np.zeros_like(scores), np.zeros(scores.shape)
    for length in range(1, cutoff + 1):
        positions = np.arange(1, length + 1)
        found = weighting(positions, scores[length, :length])
        if not isinstance(found, tuple | list) or len(found) != 2 or not all(_positive(one, length) for one in found):
            raise ContractError(
                f"The weighting {name!r} must return two arrays of finite positive numbers, one for each position; "
                f"got {brief(found)} for a list of {length}."
            )
        weights[length, :length], nearness[length, :length] = found
    return frozen(weights), frozen(nearness)


def _positive(given: Any, length: int) -> bool:
    values = np.asarray(given)
    return values.shape == (length,) and bool(np.isfinite(values).all() and (values > 0).all())


class Order(NamedTuple):
    """The internal numbering of an index: items in breadth-first order, so that neighbors are close in memory.

    Attributes
    ----------
    numbers : int32 array
        The item number of each internal number.
    places : int32 array
        The internal number of each item.
    """

    numbers: NDArray[np.int32]
    places: NDArray[np.int32]

    @classmethod
    def of(cls, ranks: Ranks) -> Order:
        """Return the breadth-first order of a collection's items along its lists."""
        from rankloom._kernels.lists import visiting_order

        numbers = np.empty(ranks.n_queries, np.int32)
        visiting_order(contiguous(ranks.items), ranks.depth, numbers)
        places = np.empty(len(numbers), np.int32)
        places[numbers] = np.arange(len(numbers), dtype=np.int32)
        return cls(frozen(numbers), frozen(places))

    def inside(self, ranks: Ranks) -> Ranks:
        """Return collection ranks in the internal numbering: row i is the list of item ``numbers[i]``."""
        from rankloom._kernels.lists import relabel

        lists = contiguous(ranks.items)
        out = np.empty((len(self.numbers), ranks.depth), np.int32)
        run_blocks(
            lambda start, stop: relabel(start, stop, self.numbers, self.places, lists, out),
            len(out),
            stage="Renumbering",
        )
        return Ranks.trusted(out, None, ranks.n_items)

    def inside_queries(self, queries: Ranks) -> Ranks:
        """Return the lists of external queries with items in the internal numbering."""
        out = self.places[queries.items] if len(self.places) else queries.items.copy()
        out[queries.items == PAD] = PAD
        return Ranks.trusted(out, None, queries.n_items)


def weave(
    ranks: Sequence[Ranks],
    scratch: Scratch,
    weighting: str = "paper",
) -> Woven:
    """Return W and P of lists that are repositioned and cut; they are rescaled here.

    Parameters
    ----------
    ranks : sequence of Ranks
        One for each ranker, all with the same number of rows.
    scratch : Scratch
        Of the size of the collection.
    weighting : str
        A name in `WEIGHTINGS`.
    """
    from rankloom._kernels.fusion_graph import graphs as kernels

    lists = frozen(stack_lists([r.items for r in ranks]))
    tables = weighting_tables(weighting, lists.shape[2])
    n_rows = lists.shape[1]
    ptr = np.zeros(n_rows + 1, np.int64)

    def count(start: int, stop: int) -> None:
        with scratch.borrowed() as slot:
            kernels.count_vertices(start, stop, lists, slot, ptr[1:])

    run_blocks(count, n_rows, stage="Counting")
    np.cumsum(ptr, out=ptr)
    n_entries = int(ptr[-1])
    woven = kernels.Woven(
        frozen(ptr), np.empty(n_entries, np.uint32), np.empty(n_entries, np.float32), np.empty(n_entries, np.float32)
    )

    def fill(start: int, stop: int) -> None:
        with scratch.borrowed() as slot:
            kernels.weave(start, stop, lists, *tables, slot, woven)

    run_blocks(fill, n_rows, stage="Weaving")
    return kernels.Woven(*(frozen(array) for array in woven))


def measure_by_shards(graphs: Woven, shards: Sequence[Shard], minmax: bool, scratch: Scratch) -> NDArray[np.float64]:
    """Return the norms and the size of each graph; edges are looked up in the shards that own their sources."""
    from rankloom._kernels.fusion_graph import graphs as kernels

    norms = np.empty((len(graphs.ptr) - 1, kernels.SIZE + 1), np.float64)

    def work(start: int, stop: int) -> None:
        some = sliced(graphs, start, stop)
        with scratch.borrowed() as slot:
            sources, links, _ = linked(some, shards, slot)
            kernels.measure(0, stop - start, some, sources, links, minmax, slot, norms[start:stop])

    run_blocks(work, len(norms), stage="Measuring")
    result: NDArray[np.float64] = frozen(norms)
    return result


def sliced(graphs: Woven, start: int, stop: int) -> Woven:
    """Return rows of the woven matrices."""
    from rankloom._kernels.fusion_graph.graphs import Woven

    entries = slice(graphs.ptr[start], graphs.ptr[stop])
    ptr = frozen(graphs.ptr[start : stop + 1] - graphs.ptr[start])
    return Woven(ptr, graphs.items[entries], graphs.W[entries], graphs.P[entries])


def linked(graphs: Woven, shards: Sequence[Shard], slot: Array) -> tuple[Array, Woven, Array]:
    """Return query graphs made explicit: for each entry the number of its vertex, and the rows and items by number."""
    from rankloom._kernels.fusion_graph.graphs import Woven

    members, sources = numbered(graphs.items, slot)
    return sources, Woven(*gathered(shards, members, ROWS[1:])), members


def measure(
    graphs: Woven,
    collection: Woven,
    minmax: bool,
    scratch: Scratch,
) -> NDArray[np.float64]:
    """Return the norms and the size of each graph in `graphs`; edges are looked up in `collection`."""
    from rankloom._kernels.fusion_graph import graphs as kernels

    norms = np.empty((len(graphs.ptr) - 1, kernels.SIZE + 1), np.float64)

    def work(start: int, stop: int) -> None:
        with scratch.borrowed() as slot:
            kernels.measure(start, stop, graphs, graphs.items, collection, minmax, slot, norms)

    run_blocks(work, len(norms), stage="Measuring")
    result: NDArray[np.float64] = frozen(norms)
    return result


def postings(woven: Woven, norms: NDArray[np.float64]) -> dict[str, Array]:
    """Return the transpose of the woven matrices: the graphs that have each item, and their smallest size."""
    from rankloom._kernels.lists import transposed

    ptr, rows, _ = transposed(woven.ptr, woven.items, len(norms), columns=False)
    return {"post_ptr": ptr, "post_rows": rows, "post_least": smallest_sizes(ptr, rows, norms)}


def smallest_sizes(ptr: Array, rows: Array, norms: Array) -> Array:
    """Return the smallest size of the graphs in each posting list."""
    from rankloom._kernels.fusion_graph.search import min_sizes

    smallest = np.empty(len(ptr) - 1, np.float64)
    min_sizes(ptr, rows, norms, smallest)
    return frozen(smallest)
