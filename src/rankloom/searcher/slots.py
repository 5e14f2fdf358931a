"""The numbering of what is stored: documents keep their slots when others are deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError
from rankloom.ranks import PAD
from rankloom.ranks.arrays import Array, Int32s
from rankloom.searcher.store import Mask


@dataclass(frozen=True, eq=False)
class Slots:
    """Which slots have documents: document i, as searches number them, is in slot ``kept[i]``.

    Examples
    --------
    >>> slots = Slots(4).without(np.array([1]))
    >>> slots.inside(np.array([0, 1, 2, -1])).tolist(), slots.outside(np.array([3, 1, 0])).tolist()
    ([0, 2, 3, -1], [2, -1, 0])
    """

    n: int  #: of slots, counting those of deleted documents
    kept: NDArray[np.intp] | None = None  #: ascending; None for all

    def __len__(self) -> int:
        return self.n if self.kept is None else len(self.kept)

    @property
    def n_deleted(self) -> int:
        """The number of slots of deleted documents."""
        return self.n - len(self)

    @cached_property
    def numbers(self) -> NDArray[np.intp]:
        """The slot of each document."""
        return np.arange(self.n) if self.kept is None else self.kept

    @cached_property
    def _documents(self) -> Int32s:
        """The document in each slot, PAD if it was deleted; PAD is the last slot."""
        documents = np.full(self.n + 1, PAD, np.int32)
        documents[self.numbers] = np.arange(len(self), dtype=np.int32)
        return documents

    def inside(self, documents: Array) -> Array:
        """Return the slots of documents; PAD stays PAD."""
        if self.kept is None:
            return documents
        return np.append(self.kept, PAD).astype(np.int32)[documents]

    def outside(self, slots: Array) -> Int32s:
        """Return the documents in slots; PAD for deleted ones."""
        return slots.astype(np.int32, copy=False) if self.kept is None else self._documents[slots]

    def mask(self, allowed: Mask | None) -> Mask | None:
        """Return which slots are those of allowed documents; None for all slots."""
        if self.kept is None:
            return allowed
        mask = np.zeros(self.n, np.bool_)
        mask[self.kept] = True if allowed is None else allowed
        return mask

    def appended(self, n: int) -> Slots:
        """Return the slots with those of more documents after them."""
        kept = None if self.kept is None else np.concatenate([self.kept, np.arange(self.n, self.n + n)])
        return Slots(self.n + n, kept)

    def without(self, documents: NDArray[np.intp]) -> Slots:
        """Return the slots after some documents were deleted."""
        return Slots(self.n, np.delete(self.numbers, documents))

    def arrays(self) -> dict[str, Array]:
        """Return the array that `restored` needs: a bit for each slot, if some are deleted."""
        if self.kept is None:
            return {}
        mask = np.zeros(self.n, np.bool_)
        mask[self.kept] = True
        return {"kept": np.packbits(mask)}

    @classmethod
    def restored(cls, arrays: Mapping[str, Array], n: int) -> Slots:
        """Return the slots that `arrays` describes."""
        if "kept" not in arrays:
            return cls(n)
        bits = arrays["kept"]
        if bits.dtype != np.uint8 or bits.shape != (-(-n // 8),):
            raise InputError("The bits of deleted documents do not match the documents.")
        return cls(n, np.flatnonzero(np.unpackbits(bits, count=n)))
