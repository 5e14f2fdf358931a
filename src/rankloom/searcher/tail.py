"""What added documents append to the arrays of a searcher: in parts, so that a save writes the new one only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankloom.errors import InputError
from rankloom.ranks.arrays import Array

Arrays = Mapping[str, Array]
FACTOR = 2  # a part is joined with one that is at most so many times as large


@dataclass(frozen=True, eq=False)
class Tail:
    """Rows of arrays, appended part by part; parts of similar size are joined, so there are few."""

    parts: tuple[Arrays, ...] = ()
    sizes: tuple[int, ...] = ()  #: the number of documents of each part

    def __len__(self) -> int:
        return sum(self.sizes)

    def appended(self, arrays: Arrays, n: int) -> Tail:
        """Return the tail with the rows of n more documents."""
        parts, sizes = [*self.parts, arrays], [*self.sizes, n]
        while len(parts) > 1 and sizes[-2] <= FACTOR * sizes[-1]:
            parts[-2:], sizes[-2:] = [joined(parts[-2:])], [sum(sizes[-2:])]
        return Tail(tuple(parts), tuple(sizes))

    def under(self, prefix: str) -> Arrays:
        """Return the arrays of all parts, as one, whose names start with a prefix, without it."""
        own = [under(part, prefix) for part in self.parts]
        return joined(own) if own and own[0] else {}

    def stored(self) -> dict[str, Array]:
        """Return the arrays of all parts by name: the same objects for a part that did not change."""
        parts = enumerate(self.parts)
        return {f"tail{at}_{name}": array for at, part in parts for name, array in part.items()}

    @classmethod
    def restored(cls, arrays: Arrays, sizes: Sequence[int]) -> Tail:
        """Return the tail that `stored` described, with the sizes of its parts."""
        parts: list[Arrays] = []
        for at, size in enumerate(sizes):
            if type(size) is not int or size < 1:
                raise InputError(f"The size of a part must be a whole number; got {size!r}.")
            own = under(arrays, f"tail{at}")
            if parts and own.keys() != parts[0].keys():
                raise InputError("The parts of added documents do not match each other.")
            parts.append(own)
        return cls(tuple(parts), tuple(sizes))


def under(arrays: Arrays, prefix: str) -> Arrays:
    """Return the arrays whose names start with a prefix, without it."""
    start = f"{prefix}_"
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def joined(parts: Sequence[Arrays]) -> Arrays:
    """Return rows of arrays one after the other; arrays named ``...ptr`` are pointers to rows of others."""
    if len(parts) == 1:
        return parts[0]
    return {name: _joined(name, [part[name] for part in parts]) for name in parts[0]}


def _joined(name: str, arrays: Sequence[Array]) -> Array:
    if not name.endswith("ptr"):
        return np.concatenate(arrays)
    out, end = [arrays[0][:1]], np.int64(0)
    for ptr in arrays:
        if ptr.dtype != np.int64 or not len(ptr):
            raise InputError(f"{name} must have 64-bit pointers; got {ptr.dtype}.")
        out.append(ptr[1:] + end)
        end += ptr[-1]
    return np.concatenate(out)
