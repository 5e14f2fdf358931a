"""Vocabulary trees: hierarchical k-means of local descriptors, whose leaves are visual words.

Descriptors and centers are rows of 128 bytes. Their inner products are integers below 2^24, which float32 holds
exactly, so the nearest center is the same on any machine and for any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rankloom.errors import InputError, check_whole, whole_number
from rankloom.io.atomic_file import atomic_write
from rankloom.io.text_file import FilePath
from rankloom.ranks.arrays import Array, Bytes, Float32s, Int64s
from rankloom.threads import report

LENGTH = 128  # of a descriptor
ITERATIONS = 10  # of k-means
MAX_ROWS = 1 << 14  # of k-means in one node, evenly spaced; their sums stay below 2^24

Rows = Bytes


@dataclass(frozen=True, eq=False)
class VocabularyTree:
    """A tree of centers; a descriptor descends to the nearest child until it reaches a leaf, its visual word.

    References
    ----------
    Nistér, Stewénius: Scalable recognition with a vocabulary tree (2006), doi:10.1109/CVPR.2006.264

    Examples
    --------
    >>> rows = np.repeat(np.array([[0], [1], [200], [203]], np.uint8), 128, axis=1)
    >>> tree = VocabularyTree.train(rows, branch=2, levels=1)
    >>> tree.n_words, len(set(tree.words(rows[:2]))), len(set(tree.words(rows)))
    (2, 1, 2)
    """

    centers: Rows  #: of shape (n_nodes, 128); node 0 is the root, whose center is not used
    children: Int64s  #: (n_nodes, 2): first child and end of the children, which are consecutive; equal for a leaf

    @classmethod
    def train(cls, descriptors: Rows, *, branch: int = 10, levels: int = 6, seed: int = 0) -> VocabularyTree:
        """Return the tree of k-means with up to `branch` children per node and `levels` levels below the root.

        A node with fewer than twice as many descriptors has fewer children. The order of the descriptors matters.
        """
        check_whole(branch=branch, levels=levels)
        random = np.random.default_rng(whole_number("seed", seed, 0))
        centers, children = [np.zeros((1, LENGTH), np.uint8)], [np.zeros((1, 2), np.int64)]
        n_nodes, level = 1, [np.arange(len(descriptors))]
        for number in range(levels):
            below: list[Int64s] = []
            for node, members in enumerate(level):
                found = _clusters(descriptors, members, branch, random)
                children[-1][node] = n_nodes, n_nodes + len(found)
                n_nodes += len(found)
                centers.append(found)
                below += _parts(members, _nearest(descriptors, members, found), len(found))
            children.append(np.full((len(below), 2), n_nodes, np.int64))
            level = below
            report("Training the vocabulary", number + 1, levels)
        return cls(np.concatenate(centers), np.concatenate(children))

    @property
    def n_words(self) -> int:
        """Number of leaves."""
        return int((self.children[:, 0] == self.children[:, 1]).sum())

    def words(self, descriptors: Rows) -> Int64s:
        """Return the number of the leaf of each descriptor, from 0 to `n_words`."""
        leaves = np.cumsum(self.children[:, 0] == self.children[:, 1]) - 1
        found = np.empty(len(descriptors), np.int64)
        for node, members in self._descend(descriptors):
            found[members] = leaves[node]
        return found

    def _descend(self, descriptors: Rows) -> Iterator[tuple[int, Int64s]]:
        """Yield the leaves that are reached and the descriptors that reach them."""
        waiting = [(0, np.arange(len(descriptors)))]
        while waiting:
            node, members = waiting.pop()
            start, stop = self.children[node].tolist()
            if start == stop:
                yield node, members
                continue
            nearest = _nearest(descriptors, members, self.centers[start:stop])
            parts = _parts(members, nearest, stop - start)
            waiting += [(start + child, part) for child, part in enumerate(parts) if len(part)]

    def save(self, path: FilePath) -> None:
        """Write the tree to an .npz file, which ``voc(vocabulary=...)`` reads."""
        with atomic_write(Path(path), "wb") as file:
            np.savez(file, **self.arrays())  # type: ignore[arg-type]  # the stub checks them against allow_pickle

    def arrays(self) -> dict[str, Array]:
        """Return its arrays by name."""
        return {"centers": self.centers, "children": self.children}

    @classmethod
    def read(cls, path: FilePath) -> VocabularyTree:
        """Return the tree of a file. Raise InputError if it has none."""
        try:
            with np.load(path, allow_pickle=False) as archive:
                return cls.checked(dict(archive))
        except InputError as error:
            raise InputError(f"{path} has no vocabulary: {error}") from None
        except Exception as error:  # zipfile, zlib and numpy raise a dozen types for damaged files
            raise InputError(f"{path} cannot be read as a vocabulary (.npz): {error}.") from None

    @classmethod
    def checked(cls, arrays: dict[str, Array]) -> VocabularyTree:
        """Return the tree of these arrays. Raise InputError if they are not those of a tree."""
        centers, children = (arrays.get(name, np.empty(0)) for name in ("centers", "children"))
        n = len(centers)
        if centers.dtype != np.uint8 or centers.shape != (n, LENGTH) or children.shape != (n, 2) or not n:
            raise InputError(f"it needs centers, uint8 of shape (n, {LENGTH}), and children, of shape (n, 2).")
        start, stop = children.T
        inner = start < stop
        follows = children.dtype == np.int64 and (start <= stop).all() and (start > np.arange(n))[inner].all()
        if not follows or not (np.concatenate([[1], stop[inner]]) == np.concatenate([start[inner], [n]])).all():
            raise InputError("its children do not follow their parents one after the other.")
        return cls(centers, children)


def _nearest(descriptors: Rows, members: Int64s, centers: Rows) -> Int64s:
    """Return the number of the nearest center of each member; ties go to the first."""
    nearest = np.zeros(len(members), np.int64)
    for start in range(0, len(members) if len(centers) > 1 else 0, MAX_ROWS):
        rows = descriptors[members[start : start + MAX_ROWS]].astype(np.float32)
        nearest[start : start + MAX_ROWS] = _nearest_rows(rows, centers.astype(np.float32))
    return nearest


def _nearest_rows(rows: Float32s, centers: Float32s) -> Int64s:
    """Return the center with the smallest squared distance, which has the largest 2 x c - c c."""
    closeness = rows @ (2 * centers.T) - np.einsum("ij,ij->i", centers, centers)
    return np.asarray(closeness.argmax(1), np.int64)


def _clusters(descriptors: Rows, members: Int64s, branch: int, random: np.random.Generator) -> Rows:
    """Return the centers of k-means among some members; none if they cannot be divided.

    A center that has no members, such as the second of two equal ones, is dropped.
    """
    sample = members[:: -(-len(members) // MAX_ROWS) or 1]
    rows = descriptors[sample].astype(np.float32)
    centers = rows[random.permutation(len(rows))[: min(branch, len(rows) // 2)]]
    for _ in range(ITERATIONS):
        if len(centers) < 2:
            break
        member_of = _nearest_rows(rows, centers) == np.arange(len(centers))[:, None]
        sizes = np.count_nonzero(member_of, axis=1)
        sums = member_of.astype(np.float32) @ rows
        moved = np.rint(sums[sizes > 0] / sizes[sizes > 0, None]).astype(np.float32)
        if np.array_equal(moved, centers):
            break
        centers = moved
    return (centers if len(centers) > 1 else centers[:0]).astype(np.uint8)


def _parts(members: Int64s, nearest: Int64s, n: int) -> list[Int64s]:
    """Return the members of each of n clusters, in their order."""
    if not n:
        return []
    order = np.argsort(nearest, kind="stable")
    return np.split(members[order], np.searchsorted(nearest[order], np.arange(1, n)))
