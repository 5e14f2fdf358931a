"""What a searcher does without changing: search, explain, rank and evaluate."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack, overload

from rankloom.aggregate import Method
from rankloom.errors import InputError, brief, check_flag, text_list, whole_number
from rankloom.evaluation import Evaluation, evaluate
from rankloom.fusion_graph import FusionGraph
from rankloom.ranks import Ids, Ranks
from rankloom.registry import Call
from rankloom.searcher import options as of
from rankloom.searcher.answer import Answer
from rankloom.searcher.answering import answer, encoded, query_lists
from rankloom.searcher.documents import Documents
from rankloom.searcher.given_lists import Given, GivenLists, Neighbors, fuse_given
from rankloom.searcher.page import LIST_DEPTH, RERANK_DEPTH, Page, Rerank
from rankloom.searcher.queries import QueryBatch, batch_of_queries, external_queries
from rankloom.searcher.request import AUTO, Weights, accepting, make_request, method_names
from rankloom.searcher.state import State, embedded
from rankloom.searcher.store import Document, Where, read_document

MEASURES = ("ndcg@10", "recall@100")  # of `ReadOnlySearcher.evaluate`


class ReadOnlySearcher:
    """A store, retrievers, lists and indexes, and the searches over them."""

    def __init__(self, state: State) -> None:
        self._state = state

    @overload
    def search(self, query: str, k: int = ..., **options: Unpack[of.TextOptions]) -> Answer: ...

    @overload
    def search(self, query: str | None = ..., k: int = ..., **options: Unpack[of.ListOptions]) -> Answer: ...

    @overload
    def search(self, query: of.Several, k: int = ..., **options: Unpack[of.TextOptions]) -> list[Answer]: ...

    @overload
    def search(self, query: None = ..., k: int = ..., **options: Unpack[of.QueryOptions]) -> Answer: ...

    @overload
    def search(self, query: None = ..., k: int = ..., **options: Unpack[of.QueriesOptions]) -> list[Answer]: ...

    def search(
        self,
        query: str | of.Several | None = None,
        k: int = 10,
        *,
        image: Any = None,
        item: str | Sequence[str] | None = None,
        vectors: of.Vectors | None = None,
        ids: str | Sequence[str] | None = None,
        offset: int = 0,
        method: str | Call | Method = AUTO,
        rankers: Sequence[str] | None = None,
        weights: Weights | None = None,
        where: Where | None = None,
        group_by: str | None = None,
        facets: Sequence[str] = (),
        fields: Sequence[str] | None = None,
        rerank: Rerank | None = None,
        rerank_depth: int = RERANK_DEPTH,
        exact: bool = False,
        lists: Given | None = None,
        complete: Collection[str] | None = None,
        scores: Mapping[str, str] | None = None,
        neighbors: Neighbors | None = None,
        allowed: Collection[str] | None = None,
    ) -> Answer | list[Answer]:
        """Return the best documents for a query; a list of queries gives a list of answers.

        Parameters
        ----------
        query : str or list of str
            Text.
        k : int
            Number of hits.
        image : path, array or bytes, or a list of them
            An image to search with.
        item : str or list of str
            The id of a document to search with.
        vectors : {name of a ranker: vector, or matrix with a row for each query}
            Vectors for rankers that compare vectors; with a text, the other rankers use that.
        ids : str or list of str
            Ids of the queries, for rankers that know queries by id, such as ``vectors(path=..., queries=...)``.
        offset : int
            How many of the best hits to skip.
        method : str or Method
            A name in `METHODS`, with options as in ``rrf(constant=20)``, or such a method: ``RRF(constant=20)``. "auto"
            is `weft` for an item and for a query that is like an item (an image among images), and `vote` for others
            (text queries over documents).
        rankers : sequence of str, optional
            Fuse only these.
        weights : {name of a ranker: float} or sequence of float, optional
            How much each ranker counts, where the method can honor it.
        where : mapping or callable, optional
            ``{"lang": "en", "year": {"gte": 1990, "lt": 2000}}``, in the language of `rankloom.searcher.where`, or a
            function of a document that returns True or False. The answer has the best k of the documents that satisfy
            it, and its lists and explanations name no others.
        group_by : str, optional
            A field such as the parent of passages: each hit is the best of its group, and has the others in `group`.
            A document without the field is a group of its own.
        facets : sequence of str
            Fields whose values are counted in all documents that `where` allows and some ranker lists.
        fields : sequence of str, optional
            Those of documents that hits have; all by default.
        rerank : callable, optional
            A second stage: ``rerank(query, documents)`` returns a score for each of the first `rerank_depth` documents,
            by which they are sorted; the others follow. It needs texts as queries.
        rerank_depth : int
        exact : bool
            Whether a single query is compared with all vectors of more than 100,000 documents, as several queries are:
            by default it walks from near ones to nearer ones, and finds most of the nearest.
        lists : {name of a ranker: ids, or pairs of id and score, best first}, optional
            The lists of one query from elsewhere, 200 to 300 deep if possible: they are fused here, in place of lists
            of the searcher's own. Ids that it does not know have the rankers' votes, and no neighbors.
        complete : names of rankers, optional
            Those whose given lists ended because there was nothing more to list.
        scores : {name of a ranker: "cosine"}, optional
            Which given lists have cosines as scores, like the searcher's own lists: `vote` then corrects for hubs.
        neighbors : {"listed", "all"}, optional
            Whether the answer may have items that are in no given list: by default only with `where` or `allowed`,
            since the engine that the lists are from may have filtered them out.
        allowed : collection of ids, optional
            The only items that the answer to given lists may have.
        """
        state, given = self._state, None
        if lists is not None:
            given = GivenLists.of(state, lists, complete, scores, allowed, neighbors)
            queries = given.query(query, image, item, vectors, ids)
        elif any(option is not None for option in (complete, scores, neighbors, allowed)):
            raise InputError("complete, scores, neighbors and allowed are about given lists; give lists, too.")
        else:
            check_flag(exact=exact)
            queries = replace(batch_of_queries(state.ids, query, image, item, vectors, ids), exact=exact)
        if not len(queries):
            return []
        if rerank is not None and "texts" not in queries.parts:
            raise InputError("rerank scores documents for a text; search with a text, or leave rerank out.")
        page = Page(k, offset, group_by, facets, fields, rerank, rerank_depth)
        request = make_request(state, queries, page, method=method, rankers=rankers, weights=weights, where=where)
        found = answer(state, queries, request) if given is None else fuse_given(state, queries, request, given)
        known = state.calibration if "texts" in queries.parts and given is None else None
        sure = None if known is None else known.confidences(found.lists)
        confidences = [None] * len(queries) if sure is None else sure.tolist()
        answers = [
            Answer(state, queries, row, found, request.page, method=str(request.call), confidence=confidence)
            for row, confidence in enumerate(confidences)
        ]
        return answers[0] if queries.single else answers

    @overload
    async def asearch(self, query: str, k: int = ..., **options: Unpack[of.TextOptions]) -> Answer: ...

    @overload
    async def asearch(self, query: str | None = ..., k: int = ..., **options: Unpack[of.ListOptions]) -> Answer: ...

    @overload
    async def asearch(self, query: of.Several, k: int = ..., **options: Unpack[of.TextOptions]) -> list[Answer]: ...

    @overload
    async def asearch(self, query: None = ..., k: int = ..., **options: Unpack[of.QueryOptions]) -> Answer: ...

    @overload
    async def asearch(self, query: None = ..., k: int = ..., **options: Unpack[of.QueriesOptions]) -> list[Answer]: ...

    async def asearch(self, query: Any = None, k: int = 10, **options: Any) -> Answer | list[Answer]:
        """Search in a thread, as `search` does."""
        from asyncio import to_thread

        search: Callable[..., Answer | list[Answer]] = self.search
        return await to_thread(search, query, k, **options)

    def methods(self, *, external: bool = True) -> list[str]:
        """Return the names of the methods that answer external queries, or items."""
        return method_names(self._state, external=external)

    def graph(
        self,
        query: str | None = None,
        *,
        image: Any = None,
        item: str | None = None,
        rankers: Sequence[str] | None = None,
        cutoff: int | None = None,
    ) -> FusionGraph:
        """Return the fusion graph of a query or of an item, which the method fg compares.

        Parameters
        ----------
        query, image, item, rankers
            As in `search`, one query.
        cutoff : int, optional
            How much of each list makes up the graph; by default that of `FusionIndex`.
        """
        state = self._state
        queries = batch_of_queries(state.ids, query, image, item, None, None)
        names = accepting(state, queries, None if rankers is None else text_list("rankers", rankers))
        index = state.fusion_graphs(names, () if cutoff is None else (("cutoff", whole_number("cutoff", cutoff)),))
        if queries.items is not None:
            return index.graph(int(queries.items[0]))
        lists = query_lists(state, encoded(state, queries, names), names, LIST_DEPTH)
        return index.graph(list(lists.values()))

    def rank(
        self,
        queries: Mapping[str, str],
        k: int = 100,
        *,
        method: str | Call | Method = AUTO,
        rankers: Sequence[str] | None = None,
        weights: Weights | None = None,
        where: Where | None = None,
    ) -> Ranks:
        """Return the answers to many texts as ranks, to evaluate or to write as a run.

        Parameters
        ----------
        queries : {id: text}
        k, method, rankers, weights, where
            As in `search`.
        """
        state, batch = self._state, _by_id(queries)
        request = make_request(
            state,
            batch,
            Page(k),
            method=method,
            rankers=rankers,
            weights=weights,
            where=where,
        )
        return _with_ids(answer(state, batch, request).fused, state, queries)

    def lists(self, queries: Mapping[str, str], depth: int = 100) -> dict[str, Ranks]:
        """Return the lists of many texts by each ranker that accepts them, without fusing them."""
        state, batch = self._state, _by_id(queries)
        names = accepting(state, batch, None)
        found = query_lists(state, encoded(state, batch, names), names, whole_number("depth", depth))
        return {name: _with_ids(ranks, state, queries) for name, ranks in found.items()}

    def evaluate(
        self,
        queries: Mapping[str, str],
        qrels: Any,
        *,
        measures: Sequence[str] = MEASURES,
        methods: Sequence[str] = ("rrf", AUTO),
        k: int = 100,
        alpha: float = 0.05,
    ) -> Evaluation:
        """Evaluate each ranker and some methods on judged queries; the last method is the reference of all others.

        Parameters
        ----------
        queries : {id: text}
        qrels : {query id: {document id: grade}}, a file or a frame
            As in `rankloom.evaluate`. Queries without a relevant document do not count.
        measures, methods : sequence of str
        k : int
            Number of answers of each system.
        alpha : float
            Significance level of the paired t-test and of the intervals.
        """
        measures = text_list("measures", measures)
        methods = [methods] if isinstance(methods, str) else methods
        if not isinstance(methods, Sequence):
            raise InputError(f"methods must be a list of methods; got {brief(methods)}.")
        if not methods:
            raise InputError("Give at least one method to evaluate.")
        found = systems(self._state, _by_id(queries), methods, whole_number("k", k))
        per_query = {
            name: evaluate(_with_ids(ranks, self._state, queries), qrels=qrels, measures=measures, per_query=True)
            for name, ranks in found.items()
        }
        return Evaluation(per_query, list(found)[-1], k, alpha)

    @property
    def documents(self) -> Documents:
        """The documents, by number."""
        return embedded(self._state)[0]

    @property
    def field_types(self) -> dict[str, str]:
        """The types of the fields that `where` can name, such as "number" and "list of text"."""
        return {name: str(type) for name, type in self._state.store.types.items()}

    @property
    def ids(self) -> Ids:
        """The ids of the documents, by number."""
        return self._state.ids

    @property
    def rankers(self) -> tuple[str, ...]:
        """Names of the rankers."""
        return tuple(self._state.retrievers)

    @property
    def state(self) -> State:
        """The current store, retrievers, lists and indexes; read-only."""
        return self._state

    def document(self, id: str) -> Document:
        """Return a document by id."""
        self._state.ids.number(id, "document")
        return read_document(self._state.store, id)

    def __len__(self) -> int:
        return len(self._state)

    def __contains__(self, id: object) -> bool:
        return id in self._state.ids


def systems(state: State, queries: QueryBatch, methods: Sequence[str], k: int) -> dict[str, Ranks]:
    """Return the answers to queries by each ranker that accepts them, and by some methods."""
    names = accepting(state, queries, None)
    batch = encoded(state, queries, names)
    found = query_lists(state, batch, names, k)
    for method in methods:
        request = make_request(state, batch, Page(k), method=method)
        label = str(request.call)
        if label in names:
            raise InputError(f"The ranker {label!r} has the name of a method; give it another name.")
        found.pop(label, None)  # "vote" and "auto" may be the same: the last one counts
        found[label] = answer(state, batch, request).fused
    return found


def _by_id(queries: Mapping[str, str]) -> QueryBatch:
    if not isinstance(queries, Mapping) or not queries:
        raise InputError(f"Give the queries as {{id: text}}, at least one; got {type(queries).__name__}.")
    return external_queries(list(queries.values()), None, None, ids=list(queries))


def _with_ids(ranks: Ranks, state: State, queries: Mapping[str, str]) -> Ranks:
    return ranks.replaced(item_ids=state.ids, query_ids=Ids(queries), kind="queries")
