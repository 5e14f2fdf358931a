"""A searcher as a Haystack component."""

from __future__ import annotations

from typing import Any

from rankloom.errors import needs_extra
from rankloom.searcher import Answer, Searcher

with needs_extra("The Haystack component", "haystack-ai", "haystack"):
    from haystack import Document, component


@component
class RankloomRetriever:
    """Returns the best documents of a searcher for a text; the options are those of `Searcher.search`."""

    def __init__(self, searcher: Searcher, k: int = 10, **options: Any) -> None:
        self.searcher = searcher
        self.k = k
        self.options = options

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None, filters: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the documents for a query; `filters` is the mapping `where` of `Searcher.search`."""
        return _found(self.searcher.search(query, top_k or self.k, **self._filtered(filters)))

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, top_k: int | None = None, filters: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the documents for a query, as `run` does."""
        return _found(await self.searcher.asearch(query, top_k or self.k, **self._filtered(filters)))

    def _filtered(self, filters: dict[str, Any] | None) -> dict[str, Any]:
        return {**self.options, **({} if filters is None else {"where": filters})}


def _found(answer: Answer) -> dict[str, Any]:
    found = [Document(id=hit.id, content=answer.text(hit), meta=hit.document, score=hit.score) for hit in answer]
    return {"documents": found}
