"""The protocol of what keeps documents and filters them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError
from rankloom.ranks import Ids
from rankloom.searcher.field_types import Types
from rankloom.searcher.where import Condition, Function, Value, checked, parse

#: The fields of an item by name; "id" is a string.
Document = dict[str, Any]
#: Which documents to return, as `rankloom.searcher.where` says; or a function of the document.
Where = Mapping[str, Any] | Condition | Callable[[Document], bool]
Mask = NDArray[np.bool_]


class Store(Protocol):
    """Documents by id. `Documents` keeps them in this process, `IdStore` has ids only."""

    @property
    def types(self) -> Types:
        """The fields of the documents, which conditions can name."""

    def documents(self, ids: Collection[str]) -> list[Document | None]:
        """Return documents by id, in this order; None for one that no longer exists."""

    def values(self, ids: Sequence[str], field: str) -> list[tuple[Value, ...]]:
        """Return the values of a field in some documents: one, or those of a list; none if it is missing."""

    def allowed(self, ids: Collection[str], where: Condition | Function) -> Mask:
        """Return which of some documents satisfy a checked condition."""


@dataclass(frozen=True, eq=False)
class Filter:
    """A condition on the documents of a store, which is evaluated at most once."""

    where: Condition | Function
    store: Store
    ids: Ids  #: of all items, in the order of their numbers

    @classmethod
    def of(cls, where: Where, store: Store, ids: Ids) -> Filter:
        """Return a condition as it was given, checked."""
        parsed = parse(where)
        return cls(parsed if callable(parsed) else checked(parsed, store.types), store, ids)

    @cached_property
    def allowed(self) -> Mask:
        """Whether each item satisfies the condition."""
        return self.store.allowed(self.ids, self.where)

    @cached_property
    def numbers(self) -> NDArray[np.intp]:
        """The items that satisfy the condition."""
        return np.flatnonzero(self.allowed)


def read_document(store: Store, id: str) -> Document:
    """Return one document; raise InputError if it no longer exists."""
    document = store.documents([id])[0]
    if document is None:
        raise InputError(f"The document {id!r} no longer exists.")
    return document
