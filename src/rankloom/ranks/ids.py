"""The numbering of ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError, UnknownNameError, brief, is_iterable


class Ids:
    """Unique ids (of documents, files, queries) numbered 0..n-1 in the order given.

    Examples
    --------
    >>> ids = Ids(["d7", "d2"])
    >>> ids.number("d2"), ids[0], len(ids)
    (1, 'd7', 2)
    """

    __slots__ = ("_ids", "_numbers")

    def __init__(self, ids: Iterable[str]) -> None:
        self._ids = tuple(_checked_list(ids))
        wrong = [id for id in self._ids if not isinstance(id, str)]
        if wrong:
            raise InputError(f"Ids must be strings; got {brief(wrong[0])}. Use str() on each.")
        self._numbers = {id: number for number, id in enumerate(self._ids)}
        if len(self._numbers) < len(self._ids):
            twice = next(id for i, id in enumerate(self._ids) if self._numbers[id] != i)
            raise InputError(f"Ids must be unique; {twice!r} is given twice.")

    def number(self, id: str, kind: str = "id") -> int:
        """Return the number of `id`; the error for an unknown id suggests the nearest known one."""
        try:
            return self._numbers[id]
        except (KeyError, TypeError):  # TypeError: what is not hashable
            raise UnknownNameError(kind, id, self._numbers) from None

    def numbers(self, ids: Iterable[str], kind: str = "id") -> NDArray[np.int32]:
        """Return the numbers of several ids."""
        return np.fromiter((self.number(id, kind) for id in _checked_list(ids)), np.int32)

    def union(self, other: Ids) -> Ids:
        """Return these ids, followed by the new ones of `other`."""
        return self if other == self else Ids(dict.fromkeys([*self, *other]))

    def __getitem__(self, number: int) -> str:
        self._check_number(number)
        return self._ids[number]

    def _check_number(self, number: int) -> None:
        if not 0 <= number < len(self):  # no negative indexing: -1 is PAD
            raise InputError(f"There is no id with the number {brief(number)}; there are {len(self)}, from 0.")

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and id in self._numbers

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Ids) and self._ids == other._ids)

    def __hash__(self) -> int:
        return hash(self._ids)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self._ids[:3])) + (", ..." if len(self) > 3 else "")
        return f"Ids([{shown}], n={len(self)})"


def _checked_list(ids: Iterable[str]) -> Iterable[str]:
    if isinstance(ids, str) or not is_iterable(ids):
        raise InputError(f"Ids must be a list of strings; got {brief(ids)}. Put it in a list.")
    return ids


class NumberIds(Ids):
    """The numbers 0..n-1 as ids, which are made when they are asked for: they take no memory.

    Examples
    --------
    >>> ids = NumberIds(10**9)
    >>> ids.number("7"), ids[7], len(ids), "07" in ids
    (7, '7', 1000000000, False)
    """

    __slots__ = ("_n",)

    def __init__(self, n: int) -> None:
        self._n = n

    def number(self, id: str, kind: str = "id") -> int:
        """Return the number that an id is."""
        if id not in self:
            raise UnknownNameError(kind, id, [f"0 to {self._n - 1}"])
        return int(id)

    def __getitem__(self, number: int) -> str:
        self._check_number(number)
        return str(number)

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[str]:
        return map(str, range(self._n))

    def __contains__(self, id: object) -> bool:
        if not isinstance(id, str) or not id.isdecimal() or len(id) > len(str(self._n)):  # int() refuses very long ones
            return False
        return str(int(id)) == id and int(id) < self._n

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NumberIds) and self._n == other._n

    def __hash__(self) -> int:
        return hash(self._n)

    def __repr__(self) -> str:
        return f"NumberIds({self._n})"
