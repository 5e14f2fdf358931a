"""A searcher as a LangChain retriever."""

from __future__ import annotations

from typing import Any

from rankloom.errors import needs_extra
from rankloom.searcher import Answer, Searcher

with needs_extra("The LangChain retriever", "langchain-core", "langchain"):
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever


class RankloomRetriever(BaseRetriever):
    """Returns the best documents of a searcher for a text.

    The metadata of a document has its fields, and ``score`` and ``ranks`` of the hit.
    """

    searcher: Any
    options: dict[str, Any]  #: of `Searcher.search`, such as ``k`` and ``where``

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return _documents(self.searcher.search(query, **self.options))

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return _documents(await self.searcher.asearch(query, **self.options))


def _documents(answer: Answer) -> list[Document]:
    return [
        Document(
            id=hit.id,
            page_content=answer.text(hit),
            metadata={**hit.document, "score": hit.score, "ranks": dict(hit.ranks)},
        )
        for hit in answer
    ]


def retriever(searcher: Searcher, **options: Any) -> RankloomRetriever:
    """Return a retriever; the options are those of `Searcher.search`."""
    return RankloomRetriever(searcher=searcher, options=options)
