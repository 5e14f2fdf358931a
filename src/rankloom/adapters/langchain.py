"""A searcher as a LangChain retriever."""

from __future__ import annotations

from typing import Any

from rankloom.errors import InputError, brief, needs_extra
from rankloom.searcher import Answer, Searcher

with needs_extra("The LangChain retriever", "langchain-core", "langchain"):
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import Field


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


class FusionRetriever(BaseRetriever):
    """Fuses what other retrievers return, by the neighbors that a searcher knows; each document needs its id.

    Neighbors that no retriever returned are not added: their documents are not here.
    """

    retrievers: dict[str, Any]  #: by the names of the searcher's rankers; 200 to 300 documents of each are best
    searcher: Any
    options: dict[str, Any] = Field(default_factory=dict)  #: of `Searcher.search`, such as ``k``

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        found = {name: retriever.invoke(query) for name, retriever in self.retrievers.items()}
        lists = {name: list(dict.fromkeys(map(_id, documents))) for name, documents in found.items()}
        known = {_id(document): document for documents in found.values() for document in documents}
        answer = self.searcher.search(query, lists=lists, **{**self.options, "neighbors": "listed"})
        return [known[hit.id] for hit in answer]


def _id(document: Document) -> str:
    """Return the id of a document, which some retrievers put into its metadata."""
    id = document.id or document.metadata.get("id")
    if not isinstance(id, str):
        raise InputError(f"A document to fuse needs an id, its own or that of its metadata; got {brief(id)}.")
    return id


def retriever(searcher: Searcher, **options: Any) -> RankloomRetriever:
    """Return a retriever; the options are those of `Searcher.search`."""
    return RankloomRetriever(searcher=searcher, options=options)
