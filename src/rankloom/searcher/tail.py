"""What added documents append to the arrays of a searcher: in parts, so that a save writes the new one only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from rankloom.errors import InputError
from rankloom.ranks.arrays import Array

Arrays = Mapping[str, Array]
T = TypeVar("T", bound=Sized)
FACTOR = 2  # a part is joined with one that is at most so many times as large


@dataclass(frozen=True, eq=False)
class Rows:
    """Arrays with rows of n documents."""

    arrays: Arrays
    n: int

    def __len__(self) -> int:
        return self.n

    def joined(self, more: Rows) -> Rows:
        """Return these rows, followed by others."""
        return Rows(joined([self.arrays, more.arrays]), self.n + more.n)


@dataclass(frozen=True, eq=False)
class Tail:
    """Rows of arrays, appended part by part."""

    parts: tuple[Rows, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def appended(self, arrays: Arrays, n: int) -> Tail:
        """Return the tail with the rows of n more documents."""
        return Tail(with_last(self.parts, Rows(arrays, n), Rows.joined))

    def under(self, prefix: str) -> Arrays:
        """Return the arrays of all parts, as one, whose names start with a prefix, without it."""
        own = [under(part.arrays, prefix) for part in self.parts]
        return joined(own) if own and own[0] else {}

    def stored(self) -> dict[str, Array]:
        """Return the arrays of all parts by name: the same objects for a part that did not change."""
        parts = enumerate(self.parts)
        return {f"tail{at}_{name}": array for at, part in parts for name, array in part.arrays.items()}

    @classmethod
    def restored(cls, arrays: Arrays, sizes: Sequence[int]) -> Tail:
        """Return the tail that `stored` described, with the sizes of its parts."""
        parts: list[Rows] = []
        for at, size in enumerate(sizes):
            if type(size) is not int or size < 1:
                raise InputError(f"The size of a part must be a whole number; got {size!r}.")
            own = under(arrays, f"tail{at}")
            if parts and own.keys() != parts[0].arrays.keys():
                raise InputError("The parts of added documents do not match each other.")
            parts.append(Rows(own, size))
        return cls(tuple(parts))


def with_last(parts: Sequence[T], last: T, join: Callable[[T, T], T]) -> tuple[T, ...]:
    """Return parts with one more; those of similar size are joined, so there are few."""
    *before, last = *parts, last
    while before and len(before[-1]) <= FACTOR * len(last):
        last = join(before.pop(), last)
    return (*before, last)


def under(arrays: Arrays, prefix: str) -> Arrays:
    """Return the arrays whose names start with a prefix, without it."""
    start = f"{prefix}_"
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def prefixed(prefix: str, arrays: Arrays) -> dict[str, Array]:
    """Return arrays with a prefix to their names."""
    return {f"{prefix}_{name}": array for name, array in arrays.items()}


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
