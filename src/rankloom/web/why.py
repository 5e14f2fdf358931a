"""The page that explains a result: parts of its score by neighbor and by ranker, as plain values and drawings."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rankloom.fusion_graph.graph import FusionGraph, explain
from rankloom.index import Explanation
from rankloom.index.normalize import reposition_item
from rankloom.ranks import Ranks
from rankloom.searcher.page import Entry
from rankloom.web.flow_view import MAX_NEIGHBORS
from rankloom.web.graph_view import Drawing, draw_pair
from rankloom.web.queries import Choice, Query, Values
from rankloom.web.shares import Flow, Shares, VertexLists, flow, graph_shares, part_shares, summed
from rankloom.web.views import EXPLAINED, Views


class Compared(NamedTuple):
    """The fusion graphs of a query and an item, and their common part."""

    query: FusionGraph
    item: FusionGraph
    why: Explanation


class Why:
    """Why a query found an item, by number."""

    def __init__(self, views: Views, query: Query, number: int, choice: Choice) -> None:
        self._views, self._query, self._number, self._choice = views, query, number, choice
        self._answer = views.answer(query, choice)
        self.compared = self.compare()
        explained = self._answer.method.partition("(")[0] in EXPLAINED  # otherwise the graphs explain it
        self.explanation = self._answer.explain(number) if explained else None

    def compare(self) -> Compared:
        """Return the fusion graphs of the query and of the item, and what they have in common."""
        views, choice = self._views, self._choice
        options: Values = {"rankers": tuple(self._answer.entries) or None, "cutoff": choice.cutoff}
        graph = views.searcher.graph(**self._query.arguments, **options)
        item = views.searcher.graph(item=views.ids[self._number], **options)
        return Compared(graph, item, explain(graph, item, choice.comparator))

    def values(self, max_parts: int | None = None) -> Values:
        """Return the data of the page, with the largest parts of each kind; by default all of them."""
        views, query, choice, compared = self._views, self._query, self._choice, self.compared
        lists = views.lists(query, self._answer)
        graph_split = graph_shares(compared.why, self._vertex_lists(query.number), self._vertex_lists(self._number))
        own = self.explanation
        own_split = graph_split if own is None else part_shares(own)
        return {
            **views.about(),
            "query": dict(query.shown),
            "item": {
                **views.card(self._number, self._answer.terms),
                "url": views.url_of(views.item_query(self._number), choice),
            },
            "choice": choice.values(),
            "method": self._answer.method,
            "url": views.url_of(query, choice, why=self._number),
            "search": views.url_of(query, choice),
            "positions": {name: _position(lists.get(name, ()), self._number) for name in choice.rankers},
            "flow": self._flow(flow(own or compared.why, own_split), max_parts),
            "explanation": None
            if own is None
            else {
                "score": own.similarity,
                "n_parts": len(own.parts),
                "parts": self._parts(own, own_split, max_parts),
            },
            "similarity": compared.why.similarity,
            "sizes": {"query": compared.query.size, "item": compared.item.size},
            "n_parts": len(compared.why.parts),
            "parts": self._parts(compared.why, graph_split, max_parts),
        }

    def _vertex_lists(self, number: int | None) -> VertexLists:
        """Return what each ranker adds to the fusion graph of an item, or of the query if it is external."""
        views, names, cutoff = self._views, tuple(self._answer.entries), self._choice.cutoff
        if number is not None:
            return {name: reposition_item(views.state.lists[name], number, cutoff).tolist() for name in names}
        index = views.state.fusion_graphs(names, (("cutoff", cutoff),))
        lists = [self._ranks(entries) for entries in self._answer.entries.values()]
        empty = self._ranks(())
        return {
            name: index.graph([ranks if at == only else empty for at, ranks in enumerate(lists)]).items.tolist()
            for only, name in enumerate(names)
        }

    def _ranks(self, entries: Sequence[Entry]) -> Ranks:
        numbers = [number for number, _ in entries]
        known = [score for _, score in entries if score is not None]
        scores = np.array([known], np.float32) if len(known) == len(numbers) else None
        return Ranks(np.array([numbers], np.int32), scores, len(self._views))

    def _flow(self, found: Flow, max_parts: int | None) -> Values:
        neighbors = found.neighbors
        return {
            "score": sum(found.by_ranker().values()),
            "by_ranker": found.by_ranker(),
            "direct": found.direct,
            "n_neighbors": len(neighbors),
            "rest": summed(shares for _, shares in neighbors[MAX_NEIGHBORS:]),
            "neighbors": [self._neighbor(number, shares) for number, shares in neighbors[:max_parts]],
        }

    def _neighbor(self, number: int, shares: Shares) -> Values:
        views = self._views
        shown = {"number": number, "title": views.title(number), "image": views.image_url(number)}
        url = views.url_of(views.item_query(number), self._choice)
        return {**shown, "url": url, "contribution": sum(shares.values()), "shares": shares}

    def _parts(self, why: Explanation, split: Sequence[Shares], max_parts: int | None) -> list[Values]:
        parts = why.to_dict()["parts"][:max_parts]
        return [{**self._part(part), "shares": shares} for part, shares in zip(parts, split, strict=False)]

    def _part(self, part: Values) -> Values:
        """Return a part with titles in place of ids, and the image of its vertex; its ranker is not in the label."""
        views = self._views
        source, target = views.title(part["source"]), views.title(part["target"])
        shown = {**part, "image": views.image_url(part["source"])}
        if part["kind"] == "edge":
            return {**shown, "label": f"{source} → {target}"}
        if part["kind"] == "vertex":
            return {**shown, "label": source}
        return shown

    def graphs(self) -> Values:
        """Return both fusion graphs in full."""
        return {"query": self.compared.query.to_dict(), "item": self.compared.item.to_dict()}

    def drawings(self) -> tuple[Drawing, Drawing]:
        """Return both graphs as SVG, with the common part highlighted."""
        views = self._views
        titles = (str(self._query.shown["title"]), views.title(self._number))
        return draw_pair(*self.compared, titles=titles, title=views.title, image_url=views.image_url)


def _position(entries: Sequence[Entry], number: int) -> int | None:
    """Return the position of an item in a list; None if it is not in it."""
    return next((position for position, (listed, _) in enumerate(entries, 1) if listed == number), None)
