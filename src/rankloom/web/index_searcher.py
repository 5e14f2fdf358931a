"""An index on disk as a searcher: it has ids and graphs, but neither documents nor rankers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankloom.errors import InputError, UnknownNameError, whole_number
from rankloom.fusion_graph import FusionGraph, FusionIndex
from rankloom.ranks import Ids, NumberIds
from rankloom.registry import Call
from rankloom.searcher import Answer, Searcher
from rankloom.searcher.documents import Documents
from rankloom.searcher.state import Settings, State

NO_UPDATES = "An index on disk has no documents to add or delete; build it again, or build a searcher."


class IndexDocuments(Documents):
    """Documents that have ids only, made when they are asked for."""

    def __init__(self, ids: Ids) -> None:
        super().__init__(ids, np.empty(0, np.uint8), np.empty(0, np.int64))

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(number)
        return {"id": self.ids[number % len(self)]}

    def column(self, field: str) -> list[Any]:
        """Return the ids; there are no other fields."""
        if field != "id":
            raise InputError(f"No document has a field {field!r}; the items of an index have an id only.")
        return list(self.ids)


class IndexSearcher(Searcher):
    """A searcher over fusion graphs alone, which answers items by the method fg.

    The arrays are copied to memory: the system kills a process that reads a mapped file which was truncated. An index
    that is split into shards may be larger than memory, and stays mapped: only what searches touch is read.

    Examples
    --------
    >>> from rankloom.ranks import Ranks
    >>> index = FusionIndex.build([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], cutoff=2)
    >>> [hit.id for hit in IndexSearcher(index, "shop.loom").search(item="0", k=2)]
    ['0', '1']
    """

    def __init__(self, index: FusionIndex, name: str) -> None:
        self.index = index.in_memory() if index.n_shards is None else index
        documents = IndexDocuments(index.item_ids or NumberIds(index.n_items))
        super().__init__(State(documents, {}, {}, Settings(cutoff=index.settings.cutoff, name=name)))

    def add(self, documents: Any, *, encoding: str | None = None) -> None:
        """Raise InputError: an index has no documents."""
        raise InputError(NO_UPDATES)

    def delete(self, ids: Iterable[str]) -> None:
        """Raise InputError: an index has no documents."""
        raise InputError(NO_UPDATES)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Save the index; another one there is replaced."""
        self.index.save(path)

    def methods(self, *, external: bool = False) -> list[str]:
        """Return fg: the index holds nothing else."""
        return ["fg"]

    def search(  # type: ignore[override]
        self,
        query: str | None = None,
        k: int = 10,
        *,
        item: str | Sequence[str] | None = None,
        offset: int = 0,
        method: str | Call = "fg",
        rankers: Sequence[str] | None = None,
        **others: Any,
    ) -> Any:
        """Return the items whose graphs are most similar to those of items; other queries are an error."""
        if item is None or query is not None or any(one is not None for one in others.values()):
            raise InputError("An index on disk has graphs only: search by its items, or serve the collection itself.")
        for name in rankers or ():
            raise UnknownNameError("ranker", name, ())
        comparator = self._comparator(method)
        items = [item] if isinstance(item, str) else list(item)
        n = whole_number("k", k) + whole_number("offset", offset, 0)
        answers = [self._answer(one, n, offset, comparator) for one in items]
        return answers[0] if isinstance(item, str) else answers

    def _answer(self, item: str, n: int, offset: int, comparator: str) -> Answer:
        number = self.documents.ids.number(item, "item")
        found = self.index.search(items=[number], k=n, comparator=comparator, threads=1)
        explain = lambda other: self.index.explain(number, other, comparator=comparator)  # noqa: E731
        return Answer(item, "fg", found, {}, self.documents, explain, offset)

    def _comparator(self, method: str | Call) -> str:
        call = Call.given(method, "method")
        if call.name not in ("auto", "fg"):
            raise UnknownNameError("method", call.name, self.methods())
        options, built = dict(call.options), self.index.settings
        if options.pop("cutoff", built.cutoff) != built.cutoff:
            raise InputError(f"The index was built with cutoff {built.cutoff}, which cannot be changed here.")
        comparator: str = options.pop("comparator", built.comparator)
        if options:
            raise InputError(f"An index on disk is searched with comparator only; got {', '.join(options)}.")
        return comparator

    def graph(self, query: str | None = None, *, item: str | None = None, **settings: Any) -> FusionGraph:
        """Return the fusion graph of an item, with the settings that the index was built with."""
        if item is None:
            raise InputError("An index on disk has the graphs of its items only.")
        return self.index.graph(self.documents.ids.number(item, "item"))
