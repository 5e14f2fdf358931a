"""Alignments: distances between descriptors that are closed sequences, one row for each point of a contour.

Each takes two stacks of descriptors, (a, n, d) and (b, n, d), and returns distances (a, b). It is the cheapest
order-preserving matching of the points of two contours, over all start points of one of them and of its mirror image.
Equal descriptors have distance 0, and distances are symmetric, exactly. `ALIGNMENTS` has them by name, beside
`distances.DISTANCES`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rankloom._kernels import frozen
from rankloom._kernels.image import alignment as kernels
from rankloom.errors import InputError, brief, check_choice
from rankloom.ranks.arrays import Array, Float32s, Int64s
from rankloom.ranks.vector_space import Metric, by_distance
from rankloom.threads import run_blocks

N_LENGTHS, N_ANGLES = 8, 12  # bins of a shape context, angles varying fastest
BLOCK = 4  # rows that a thread takes at a time
COSTS = ("chi_square", "l1")
COMBINATIONS = {"min": np.minimum, "sum": np.add}


@dataclass(frozen=True, slots=True)
class Alignment:
    r"""Dynamic programming over the costs of pairs of points, :math:`c(i, j)`.

    .. math:: D(i, j) = \min(D(i-1, j-1) + c(i, j),\; D(i-1, j) + g(i, j),\; D(i, j-1) + g(i, j))

    with :math:`D(0, k) = D(k, 0) = k p`, and the price of a skipped point :math:`g = p`, the penalty, or
    :math:`p + c(i, j)`. The distance is the smallest :math:`D(n, n)` over all n start points of the second sequence
    and of its mirror image. Which of two descriptors is the second is decided by their content. The cost of two rows is
    "l1" of any numbers, or "chi_square" of counts of `N_LENGTHS` x `N_ANGLES` bins: :math:`\sum (x - y)^2 / (x + y)` of
    relative frequencies (0 to 2). The mirror image of a histogram has angle a at :math:`\pi - a`.

    Examples
    --------
    >>> alignment = Alignment("l1", penalty=2.0, band=2)
    >>> corners = np.array([[[1.0], [1.0], [1.0], [5.0]]])
    >>> alignment(corners, [[[5], [1], [1], [1]], [[1], [1], [1], [9]]])  # another start, another corner
    array([[0., 4.]], dtype=float32)
    """

    cost: str
    penalty: float  #: price of a skipped point
    repeat: bool = False  #: whether a skipped point also costs c(i, j), as if it were matched again
    band: int = 25  #: largest difference of i and j, relative to the start point
    combine: str = "min"  #: or "sum": what to do with the distances of the parts
    n_parts: int = 1  #: descriptors side by side in each row, aligned separately

    def __post_init__(self) -> None:
        check_choice("cost", self.cost, COSTS)
        check_choice("combine", self.combine, COMBINATIONS)
        if not 0 < self.penalty < np.inf:
            raise InputError(f"penalty must be a positive number; got {brief(self.penalty)}.")

    def __call__(self, x: ArrayLike, y: ArrayLike | None = None) -> Float32s:
        """Return the distances between two stacks, or within one: then each pair is aligned once."""
        stacks = [self._stack(x, "x")] if y is None else [self._stack(x, "x"), self._stack(y, "y")]
        if stacks[0].shape[1:] != stacks[-1].shape[1:]:
            shapes = " and ".join(str(stack.shape[1:]) for stack in stacks)
            raise InputError(f"x and y must have descriptors of one shape; got {shapes}.")
        if not all(map(len, stacks)):
            return np.zeros((len(stacks[0]), len(stacks[-1])), np.float32)
        parts = zip(*(np.split(stack, self.n_parts, axis=2) for stack in stacks), strict=True)
        combined: Float32s = COMBINATIONS[self.combine].reduce([self._align(part) for part in parts])
        return combined

    def metric(self, shape: tuple[int, ...]) -> Metric:
        """Return the metric of vectors that are descriptors of a shape, (n, d), row after row."""
        stack = (-1, *shape)
        compared = by_distance(lambda x, y: np.asarray(self(x.reshape(stack), y.reshape(stack)), np.float64))
        return compared._replace(within=lambda x: self(x.reshape(stack)))

    def _stack(self, given: ArrayLike, name: str) -> Array:
        stack = np.asarray(given)
        if stack.ndim != 3 or stack.dtype.kind not in "biuf":
            got = f"{stack.dtype} {stack.shape}"
            raise InputError(f"{name} must be numbers of shape (items, points, features); got {got}.")
        if not np.isfinite(stack).all():
            raise InputError(f"{name} must be finite; it contains inf or nan.")
        return stack.astype(np.float32) if self.cost == "l1" else stack

    def _align(self, stacks: Sequence[Array]) -> Float32s:
        """Return the distances between two stacks, or within one."""
        own = len(stacks) == 1
        distinct, numbers = _distinct(stacks)
        n = distinct.shape[1]
        pairs = kernels.Pairs(numbers[0], numbers[-1], own)
        settings = kernels.Settings(np.float32(self.penalty), np.float32(self.repeat), min(self.band, n))
        nothing = distinct[:0, :, :0]
        counts, total = (nothing.astype(np.uint8), 0) if self.cost == "l1" else (distinct, _total(distinct))
        features = distinct if self.cost == "l1" else frozen(nothing.astype(np.float32))
        mirror = _mirrored_bins(counts.shape[2])
        histograms = kernels.Histograms(*_filled_bins(counts), mirror, _shared(total), np.float32(total))
        out = np.zeros((len(pairs.rows), len(pairs.columns)), np.float32)

        def work(start: int, stop: int) -> None:
            kernels.align(start, stop, pairs, histograms, features, settings, out)

        run_blocks(work, len(out), stage="Comparing images", block=BLOCK)
        return out + out.T if own else out  # its lower half is 0


def _distinct(stacks: Sequence[Array]) -> tuple[Array, list[Int64s]]:
    """Return the different descriptors of one or two stacks, ordered by content, and those of each as numbers."""
    dtype = np.result_type(*stacks)
    contents = [[row.tobytes() for row in stack.astype(dtype, copy=False)] for stack in stacks]
    known = sorted({row for rows in contents for row in rows})
    numbers = {row: number for number, row in enumerate(known)}
    distinct = np.frombuffer(b"".join(known), dtype).reshape(-1, *stacks[0].shape[1:])
    return distinct, [np.array([numbers[row] for row in rows], np.int64) for rows in contents]


def _total(histograms: Array) -> int:
    """Return the sum of each histogram. Raise InputError if they are not counts with equal sums."""
    sums = np.unique(histograms.sum(axis=2, dtype=np.int64))
    if histograms.dtype != np.uint8 or histograms.shape[2] % N_ANGLES or len(sums) > 1 or 0 in sums:
        raise InputError(
            f"chi_square compares uint8 counts in bins of {N_ANGLES} angles, with equal sums; got "
            f"{histograms.dtype} {histograms.shape}. Use l1 for other features."
        )
    return int(sums[0])


def _filled_bins(histograms: Array) -> tuple[Array, Array, Array, Array]:
    """Return the filled bins by sequence and bin: pointers, points, points counted from the end, and counts."""
    n_items, n, bins = histograms.shape
    by_bin = np.ascontiguousarray(histograms.transpose(0, 2, 1)).reshape(n_items * bins, n)
    entries, points = np.nonzero(by_bin)
    ends = np.concatenate([[0], np.cumsum(np.bincount(entries, minlength=n_items * bins))])
    ptr = ends[np.arange(n_items)[:, None] * bins + np.arange(bins + 1)]
    return ptr, points.astype(np.uint16), (n - 1 - points).astype(np.uint16), by_bin[entries, points]


def _shared(total: int) -> Float32s:
    """Return ``4xy / (x + y)`` of all counts: what chi-square subtracts from the sum of two bins."""
    x = np.arange(total + 1.0)
    shared: Float32s = (4 * np.outer(x, x) / np.maximum(np.add.outer(x, x), 1)).astype(np.float32)
    return shared


def _mirrored_bins(bins: int) -> Int64s:
    """Return the bin that a bin of a histogram becomes in the mirror image: angle a becomes pi - a."""
    length, angle = np.divmod(np.arange(bins), N_ANGLES)
    mirrored: Int64s = length * N_ANGLES + (N_ANGLES // 2 - 1 - angle) % N_ANGLES
    return mirrored


#: Alignments by name
ALIGNMENTS: dict[str, Alignment] = {
    "contexts": Alignment("chi_square", penalty=0.6),
    "contexts_min": Alignment("chi_square", penalty=0.6, n_parts=2, combine="min"),
    "contexts_sum": Alignment("chi_square", penalty=0.6, n_parts=2, combine="sum"),
    "features": Alignment("l1", penalty=0.7),
    "ocs": Alignment("l1", penalty=300.0, repeat=True, band=4),
}
