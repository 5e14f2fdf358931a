"""A searcher as a LlamaIndex retriever."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankloom.errors import needs_extra
from rankloom.searcher import Answer, Searcher

with needs_extra("The LlamaIndex retriever", "llama-index-core", "llama-index"):
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode


class RankloomRetriever(BaseRetriever):
    """Returns the best documents of a searcher for a text, as nodes; the options are those of `Searcher.search`."""

    def __init__(self, searcher: Searcher, **options: Any) -> None:
        self._searcher = searcher
        self._options = options
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(self._searcher.search(query_bundle.query_str, **self._options))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(await self._searcher.asearch(query_bundle.query_str, **self._options))


def _nodes(answer: Answer) -> list[NodeWithScore]:
    nodes = [TextNode(id_=hit.id, text=answer.text(hit), metadata=hit.document) for hit in answer]
    return [NodeWithScore(node=node, score=hit.score) for node, hit in zip(nodes, answer, strict=True)]


class FusionRetriever(BaseRetriever):
    """Fuses what other retrievers return, by the neighbors that a searcher knows; ids of nodes are those of documents.

    Neighbors that no retriever returned are not added: their nodes are not here. The options are those of
    `Searcher.search`.
    """

    def __init__(self, retrievers: Mapping[str, BaseRetriever], searcher: Searcher, **options: Any) -> None:
        self._retrievers = dict(retrievers)
        self._searcher = searcher
        self._options = {**options, "neighbors": "listed"}
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = {name: retriever.retrieve(query_bundle) for name, retriever in self._retrievers.items()}
        known = {one.node.node_id: one.node for nodes in found.values() for one in nodes}
        lists = {name: list(dict.fromkeys(one.node.node_id for one in nodes)) for name, nodes in found.items()}
        answer = self._searcher.search(query_bundle.query_str, lists=lists, **self._options)
        return [NodeWithScore(node=known[hit.id], score=hit.score) for hit in answer]
