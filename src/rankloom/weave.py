"""Normalized lists woven into the matrices W and P, measured and transposed: the arrays of an index.

With s_r(q, A) the rescaled score and p_r(q, A) the position of A in the list of q by ranker r, from 1,

    W[q, A] = sum over r of s_r(q, A)        the weight of vertex A in the graph of q (Eq. 2)
    P[q, A] = sum over r of 1 / p_r(q, A)    so that edge A -> B weighs P[q, A] * W[A, B] (Eq. 3)

over the rankers r in whose list A is. Both have at most (rankers x cutoff) entries a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankloom._kernels import frozen
from rankloom.engine import Progress, Scratch, run_blocks
from rankloom.errors import IndexFileError
from rankloom.normalize import contiguous, reposition, rescaled_steps
from rankloom.ranks import PAD, Ranks

if TYPE_CHECKING:
    from rankloom._kernels.graphs import Woven

Array = NDArray[Any]


def weave_collection(
    ranks: Sequence[Ranks],
    *,
    cutoff: int,
    repositioned: bool,
    minmax: bool,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Array]:
    """Return the arrays of an index: the collection's lists normalized, woven, measured and transposed.

    Parameters
    ----------
    ranks : sequence of Ranks
        Collection ranks over one numbering, one for each ranker.
    cutoff, repositioned, minmax
        The paper's L; whether to apply Eq. (1) before the cut; how graphs are normalized.

    Returns
    -------
    dict of arrays
        `numbers` (item at each place inside) and `places` (place of each item); `row_ptr`, `row_items`,
        `row_weights` (W), `row_nearness` (P); `norms` (what normalizes each graph, and its size); `post_ptr`,
        `post_rows`, `post_least` (the transpose, and the smallest size among the graphs that have an item).
    """
    from rankloom._kernels import lists as kernels
    from rankloom._kernels.search import least_sizes

    n = ranks[0].n_items
    numbers = frozen(kernels.visiting_order(contiguous(ranks[0].items)))
    places = np.empty(n, np.int32)
    places[numbers] = np.arange(n, dtype=np.int32)
    frozen(places)
    normalized = []
    for ranker in ranks:
        inside = renumbered_rows(ranker, numbers, places, threads=threads)
        if repositioned:
            inside = reposition(inside, cutoff, threads=threads, progress=progress)
        normalized.append(inside.head(cutoff))
    scratch = Scratch(n)
    woven = weave(normalized, scratch, threads=threads, progress=progress)
    norms = measure(woven, woven, minmax, scratch, threads=threads, progress=progress)
    post_ptr, post_rows, _ = kernels.transposed(woven.ptr, woven.items, n, places=False)
    least = np.empty(n, np.float64)
    least_sizes(post_ptr, post_rows, norms, least)
    return {
        "numbers": numbers,
        "places": places,
        "row_ptr": woven.ptr,
        "row_items": woven.items,
        "row_weights": woven.W,
        "row_nearness": woven.P,
        "norms": norms,
        "post_ptr": post_ptr,
        "post_rows": post_rows,
        "post_least": frozen(least),
    }


def renumbered_rows(ranks: Ranks, numbers: Array, places: Array, *, threads: int | None = None) -> Ranks:
    """Return the lists with row and items renumbered: row i is that of ``numbers[i]``, item j is ``places[j]``."""
    from rankloom._kernels.lists import relabel

    lists = contiguous(ranks.items)
    out = np.empty((len(numbers), ranks.depth), np.int32)
    run_blocks(
        lambda start, stop: relabel(start, stop, numbers, places, lists, out),
        len(numbers),
        stage="Renumbering",
        threads=threads,
    )
    return Ranks.trusted(out, None, ranks.n_items)


def weave(
    ranks: Sequence[Ranks], scratch: Scratch, *, threads: int | None = None, progress: Progress | None = None
) -> Woven:
    """Return W and P of lists that are normalized and cut; rescaled here.

    Parameters
    ----------
    ranks : sequence of Ranks
        One for each ranker, of as many rows each.
    scratch : Scratch
        Of the size of the collection.
    """
    from rankloom._kernels import graphs as kernels

    lists = _stacked(ranks)
    steps = frozen(rescaled_steps(lists.shape[2]))
    n_rows = lists.shape[1]
    ptr = np.zeros(n_rows + 1, np.int64)

    def count(start: int, stop: int) -> None:
        with scratch.borrowed() as slot:
            kernels.count_vertices(start, stop, lists, slot, ptr[1:])

    run_blocks(count, n_rows, stage="Counting", threads=threads)
    np.cumsum(ptr, out=ptr)
    n_entries = int(ptr[-1])
    woven = kernels.Woven(
        frozen(ptr), np.empty(n_entries, np.uint32), np.empty(n_entries, np.float32), np.empty(n_entries, np.float32)
    )

    def fill(start: int, stop: int) -> None:
        with scratch.borrowed() as slot:
            kernels.weave(start, stop, lists, steps, slot, woven)

    run_blocks(fill, n_rows, stage="Weaving", threads=threads, progress=progress)
    return kernels.Woven(*(frozen(array) for array in woven))


def _stacked(ranks: Sequence[Ranks]) -> NDArray[np.int32]:
    """Lists of all rankers, of shape (rankers, rows, longest)."""
    lists = np.empty((len(ranks), ranks[0].n_queries, max(r.depth for r in ranks)), np.int32)
    for ranker, r in enumerate(ranks):
        lists[ranker, :, : r.depth] = r.items
        lists[ranker, :, r.depth :] = PAD
    lists.flags.writeable = False
    return lists


def measure(
    graphs: Woven,
    collection: Woven,
    minmax: bool,
    scratch: Scratch,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Return what normalizes the graph of each row of `graphs`, and its size; edges come from `collection`."""
    from rankloom._kernels import graphs as kernels

    norms = np.empty((len(graphs.ptr) - 1, kernels.SIZE + 1), np.float64)

    def work(start: int, stop: int) -> None:
        with scratch.borrowed() as slot:
            kernels.measure(start, stop, graphs, collection, minmax, slot, norms)

    run_blocks(work, len(norms), stage="Measuring", threads=threads, progress=progress)
    result: NDArray[np.float64] = frozen(norms)
    return result


#: What the arrays of an index are: type, and shape in terms of the items n and the entries of the matrices.
ARRAYS = {
    "numbers": ("int32", "n"),
    "places": ("int32", "n"),
    "row_ptr": ("int64", "n + 1"),
    "row_items": ("uint32", "entries"),
    "row_weights": ("float32", "entries"),
    "row_nearness": ("float32", "entries"),
    "norms": ("float64", "n, 5"),
    "post_ptr": ("int64", "n + 1"),
    "post_rows": ("uint32", "entries"),
    "post_least": ("float64", "n"),
}


def check_arrays(arrays: Mapping[str, Array], n_rankers: int, *, entries: bool, path: object) -> None:
    """Raise where the arrays of an opened index do not fit together: kernels would read beyond them.

    Parameters
    ----------
    entries : bool
        Look at every number, too: each must point into the collection.
    """
    wrong = next((name for name in ARRAYS if name not in arrays), None) or _misshapen(arrays, n_rankers)
    if wrong is None and entries:
        wrong = _pointing_nowhere(arrays)
    if wrong is not None:
        raise IndexFileError(f"The index at {path} is damaged: {wrong}.npy does not fit the others; build it again.")


def _misshapen(arrays: Mapping[str, Array], n_rankers: int) -> str | None:
    n, n_entries = len(arrays["numbers"]), arrays["row_items"].size
    shapes = {"n": (n,), "n + 1": (n + 1,), "entries": (n_entries,), "n, 5": (n, 5)}
    for name, (dtype, shape) in ARRAYS.items():
        if arrays[name].dtype != dtype or arrays[name].shape != shapes[shape]:
            return name
    for name in (f"scores_{ranker}" for ranker in range(n_rankers)):
        if name in arrays and (arrays[name].dtype != "float32" or arrays[name].ndim != 2 or len(arrays[name]) != n):
            return name
    return None


def _pointing_nowhere(arrays: Mapping[str, Array]) -> str | None:
    n, n_entries = len(arrays["numbers"]), arrays["row_items"].size
    for name in ("row_ptr", "post_ptr"):
        ptr = arrays[name]
        if ptr[0] != 0 or ptr[-1] != n_entries or (np.diff(ptr) < 0).any():
            return name
    for name in ("row_items", "post_rows"):
        if arrays[name].max(initial=0) >= max(n, 1):
            return name
    if not np.array_equal(np.sort(arrays["numbers"]), np.arange(n)):
        return "numbers"
    return None if np.array_equal(arrays["places"][arrays["numbers"]], np.arange(n)) else "places"
