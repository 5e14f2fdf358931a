"""Searcher: from documents to fused answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, Self, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from rankloom.aggregate import METHODS
from rankloom.errors import InputError, brief, check_flag, text_list, whole_number
from rankloom.evaluation import Evaluation, evaluate
from rankloom.fusion_graph import FusionGraph
from rankloom.io.array_folder import check_absent
from rankloom.io.atomic_file import resolved
from rankloom.io.cache import Cache
from rankloom.io.file_lock import locked
from rankloom.io.text_file import as_path
from rankloom.rankers import rank_collection
from rankloom.rankers.vectors.encoder import Encode
from rankloom.rankers.vectors.vectors import FittedVectors
from rankloom.ranks import Ids, Ranks
from rankloom.registry import Call
from rankloom.searcher.answer import Answer
from rankloom.searcher.answering import AUTO, LIST_DEPTH, accepting, answer, encoded, found_items, query_lists, request
from rankloom.searcher.builder import RankerLike, first_state, named_rankers, part_of, ranker_of, readable
from rankloom.searcher.documents import TEXT_FIELDS, Document, Documents, Where, batch_of, text_of
from rankloom.searcher.queries import QueryBatch, external_queries, item_queries
from rankloom.searcher.state import GRAPH_CUTOFF, Settings, State
from rankloom.searcher.storage import KIND, open_state, save_state
from rankloom.searcher.updates import added, rebuilt_lists, removed
from rankloom.threads import Progress, running

MEASURES = ("ndcg@10", "recall@100")  # of `Searcher.evaluate`


class SearchOptions(TypedDict, total=False):
    """The options of `Searcher.search`."""

    image: Any
    item: str | Sequence[str] | None
    vectors: Mapping[str, ArrayLike] | None
    ids: str | Sequence[str] | None
    offset: int
    method: str | Call
    rankers: Sequence[str] | None
    weights: Mapping[str, float] | Sequence[float] | None
    where: Where | None


class Searcher:
    """Documents, the rankers fitted to them, and an index: searches, explains, updates and saves itself.

    Made by `build` or `open`. Searches may run in several threads while `add` and `delete` work; each search sees the
    documents as they were when it started.

    Examples
    --------
    >>> pets = ["a cat sat on the mat", "the dog chased a ball", "a cat and a kitten"]
    >>> searcher = Searcher.build(pets, rankers=["bm25", "bow-cosine"])
    >>> searcher.search("dogs", k=1)[0].document
    {'id': '1', 'text': 'the dog chased a ball'}
    >>> searcher.add([{"id": "new", "text": "a dog and a bone"}])
    >>> sorted(hit.id for hit in searcher.search("dog", k=2))
    ['1', 'new']
    """

    def __init__(self, state: State, skipped: Mapping[str, str] | None = None, folder: Path | None = None) -> None:
        self._state = state
        self._folder = folder  # that it was opened from or saved to, and may replace
        self._lock = Lock()  # held while the state is replaced
        self.skipped = dict(skipped or {})

    @classmethod
    def build(
        cls,
        documents: Any,
        rankers: Mapping[str, RankerLike] | Sequence[str] | str | None = None,
        *,
        cutoff: int = 20,
        depth: int = 200,
        text: str | Sequence[str] = TEXT_FIELDS,
        cache: Cache | None = None,
        strict: bool = False,
        progress: Progress | None = None,
        encoding: str | None = None,
    ) -> Searcher:
        """Fit rankers to documents, and index them.

        Parameters
        ----------
        documents : list of str or of mappings, data frame, Collection, path or name of a collection
            Mappings have any fields; "id" is the id (by default documents are numbered), the fields `text` are what
            text rankers see, "image" is an image: a path, an array, or the bytes of a file. A path is a table (.jsonl,
            .csv, .tsv, all also .gz), or anything that `open_collection` accepts.
        rankers : {name: ranker}, or spellings
            Each is a spelling such as ``okapi(b=0.5)``, a `Ranker`, or a function from a list of contents (texts, or
            images if there are no texts) to a matrix with a row for each: an encoder. By default bm25 and
            static for texts (bm25 alone without the extra ``dense``), and bic, gch, las and qcch for images.
        cutoff : int
            How much of each list weft uses.
        depth : int
            Length of the lists of items.
        text : str or sequence of str
            The fields of mappings that make up their text.
        cache : Cache, optional
            Stores lists and image descriptors between builds.
        strict : bool
            Whether an unreadable document is an error. Otherwise it is left out; `skipped` gives the reason.
        progress : callable, optional
            Called with the stage, how much is done and the total.
        encoding : str, optional
            Of a table or of the texts of a folder, as in "cp1252"; UTF-8 by default.
        """
        cutoff, depth = whole_number("cutoff", cutoff), whole_number("depth", depth)
        batch = batch_of(documents, text_list("text", text), encoding=encoding)
        if not batch.documents:
            raise InputError("There are no documents; give at least one.")
        named = named_rankers(rankers, batch)
        made = {name: ranker_of(name, given, batch.kinds()) for name, given in named.items()}
        parts = {part_of(one) for one in made.values()}
        with running(progress=progress):
            ranking = rank_collection(
                batch.collection(parts),
                made,
                depth=depth,
                cache=cache,
                strict=strict,
                progress=progress,
            )
            settings = Settings(cutoff, depth, batch.fields, len(batch.documents), batch.name)
            state = first_state(readable(batch, ranking).stored(parts), ranking, named, settings)
            state.weft(tuple(state.models))
        return cls(state, ranking.skipped)

    @overload
    def search(self, query: str, k: int = ..., **options: Unpack[SearchOptions]) -> Answer: ...

    @overload
    def search(self, query: list[str], k: int = ..., **options: Unpack[SearchOptions]) -> list[Answer]: ...

    @overload
    def search(self, query: None = ..., k: int = ..., **options: Unpack[SearchOptions]) -> Any: ...

    def search(
        self,
        query: str | list[str] | None = None,
        k: int = 10,
        *,
        image: Any = None,
        item: str | Sequence[str] | None = None,
        vectors: Mapping[str, ArrayLike] | None = None,
        ids: str | Sequence[str] | None = None,
        offset: int = 0,
        method: str | Call = AUTO,
        rankers: Sequence[str] | None = None,
        weights: Mapping[str, float] | Sequence[float] | None = None,
        where: Where | None = None,
    ) -> Any:
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
        method : str
            A name in `METHODS`, with options as in ``vote(share=0.3)``. "auto" is `weft` for an item and for a query
            that is like an item (an image among images), and `vote` for others (text queries over documents).
        rankers : sequence of str, optional
            Fuse only these.
        weights : {name of a ranker: float} or sequence of float, optional
            How much each ranker counts, where the method can honor it.
        where : mapping or callable, optional
            ``{"lang": "en", "year": [2001, 2002]}``, or a function of a document that returns True or False. The
            answer has the best k of the documents that satisfy it.
        """
        state = self._state
        k, offset = whole_number("k", k), whole_number("offset", offset, 0)
        queries = self._queries(state, query, image, item, vectors, ids)
        if not len(queries):
            return []
        allowed = None if where is None else state.documents.mask(where)
        asked = request(state, queries, k, offset, method=method, rankers=rankers, weights=weights, allowed=allowed)
        found = answer(state, queries, asked)
        answers = [
            Answer(
                label,
                str(asked.method),
                found_items(found.fused, row),
                {name: found_items(ranks, row) for name, ranks in found.lists.items()},
                state.documents,
                lambda item, row=row: found.explain(row, item),  # type: ignore[misc]
                offset,
                state.settings.fields,
            )
            for row, label in enumerate(queries.labels)
        ]
        return answers[0] if queries.single else answers

    @staticmethod
    def _queries(state: State, query: Any, image: Any, item: Any, vectors: Any, ids: Any) -> QueryBatch:
        if item is None:
            return external_queries(query, image, vectors, ids)
        if any(one is not None for one in (query, image, vectors, ids)):
            raise InputError("Search with an item, or with a text, image or vectors; not both.")
        return item_queries(item, state.documents.ids)

    def methods(self, *, external: bool = True) -> list[str]:
        """Return the names of the methods that answer external queries, or items."""
        return [AUTO, *(name for name in METHODS if METHODS[name].answers_external or not external)]

    def graph(
        self,
        query: str | None = None,
        *,
        image: Any = None,
        item: str | None = None,
        rankers: Sequence[str] | None = None,
        cutoff: int = GRAPH_CUTOFF,
    ) -> FusionGraph:
        """Return the fusion graph of a query or of an item, which the method fg compares.

        Parameters
        ----------
        query, image, item, rankers
            As in `search`, one query.
        cutoff : int
            How much of each list makes up the graph.
        """
        state = self._state
        queries = self._queries(state, query, image, item, None, None)
        names = accepting(state, queries, rankers)
        index = state.fusion_graphs(names, (("cutoff", whole_number("cutoff", cutoff)),))
        if queries.items is not None:
            return index.graph(int(queries.items[0]))
        return index.graph(list(query_lists(state, queries, names, LIST_DEPTH).values()))

    def rank(
        self,
        queries: Mapping[str, str],
        k: int = 100,
        *,
        method: str | Call = AUTO,
        rankers: Sequence[str] | None = None,
        weights: Mapping[str, float] | Sequence[float] | None = None,
        where: Where | None = None,
    ) -> Ranks:
        """Return the answers to many texts as ranks, to evaluate or to write as a run.

        Parameters
        ----------
        queries : {id: text}
        k, method, rankers, weights, where
            As in `search`.
        """
        state = self._state
        batch = _by_id(queries)
        allowed = None if where is None else state.documents.mask(where)
        asked = request(
            state, batch, whole_number("k", k), method=method, rankers=rankers, weights=weights, allowed=allowed
        )
        return _with_ids(answer(state, batch, asked).fused, state, queries)

    def lists(self, queries: Mapping[str, str], depth: int = 100) -> dict[str, Ranks]:
        """Return the lists of many texts by each ranker that accepts them, without fusing them."""
        state, batch = self._state, _by_id(queries)
        names = request(state, batch, 1).names
        found = query_lists(state, batch, names, whole_number("depth", depth))
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
        state, measures = self._state, text_list("measures", measures)
        methods = [methods] if isinstance(methods, str) else methods
        if not isinstance(methods, Sequence):
            raise InputError(f"methods must be a list of methods; got {brief(methods)}.")
        asked = [request(state, _by_id(queries), whole_number("k", k), method=method) for method in methods]
        if not asked:
            raise InputError("Give at least one method to evaluate.")
        batch = encoded(state, _by_id(queries), asked[0].names)
        systems = query_lists(state, batch, asked[0].names, k)
        for one in asked:
            if str(one.method) in asked[0].names:
                raise InputError(f"The ranker {str(one.method)!r} has the name of a method; name it otherwise.")
            systems.pop(str(one.method), None)  # "vote" and "auto" may be the same: the last one counts
            systems[str(one.method)] = answer(state, batch, one).fused
        ranked = {name: _with_ids(ranks, state, queries) for name, ranks in systems.items()}
        per_query = {
            name: evaluate(ranks, qrels=qrels, measures=measures, per_query=True) for name, ranks in ranked.items()
        }
        return Evaluation(per_query, str(asked[-1].method), k, alpha)

    def add(self, documents: Any, *, encoding: str | None = None) -> None:
        """Add documents, in any form that `build` accepts.

        The new documents get lists, and enter the lists of the old ones at their positions. Statistics, such as
        document frequencies and the vocabulary, remain those of `build` until `refit`; apart from that, the result is
        the same as building with all documents.
        """
        with self._lock:
            settings = self._state.settings
            ids = self._state.documents.ids
            batch = batch_of(documents, settings.fields, settings.next_number, ids, encoding)
            if batch.documents:
                self._state = _indexed(added(self._state, batch))

    def delete(self, ids: Iterable[str]) -> None:
        """Delete documents by id; they are removed from all lists."""
        if isinstance(ids, str) or not isinstance(ids, Iterable):
            raise InputError(f"Give a list of ids; got {brief(ids)}. Put it in a list.")
        ids = list(ids)
        if not all(isinstance(one, str) for one in ids):
            raise InputError(f"Ids are strings; got {brief(next(one for one in ids if not isinstance(one, str)))}.")
        with self._lock:
            state = self._state
            numbers = np.unique(state.documents.ids.numbers(ids, "document")).astype(np.intp)
            if len(numbers) == len(state):
                raise InputError("A searcher needs at least one document; delete fewer, or remove its folder.")
            if len(numbers):
                self._state = _indexed(removed(state, numbers))

    def refit(self, progress: Progress | None = None) -> None:
        """Refit the text rankers to the current documents: a new vocabulary and new statistics."""
        with self._lock, running(progress=progress):
            state = self._state
            texts = [text_of(one, state.settings.fields) for one in state.documents]
            models = {
                name: replace(model, fitted=model.ranker.fit(texts, progress=progress))
                if model.part == "texts" and not isinstance(model.fitted, FittedVectors)
                else model
                for name, model in state.models.items()
            }
            lists = rebuilt_lists(models, state.settings.depth)
            self._state = _indexed(State(state.documents, models, lists, state.settings))

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write everything to a folder, completely or not at all.

        Encoders given as functions are not stored: give them again to `open`.

        Parameters
        ----------
        overwrite : bool
            Whether to replace another searcher. The one that this searcher was opened from, or that it was saved to
            before, is always replaced.
        """
        check_flag(overwrite=overwrite)
        target = as_path(path)
        if not overwrite and target.resolve() != self._folder:
            check_absent(target, KIND, "overwrite=True")
        save_state(self._state, target)
        self._folder = target.resolve()

    @classmethod
    def open(
        cls, path: str | Path, *, encoders: Mapping[str, Encode | None] | None = None, verify: bool = False
    ) -> Searcher:
        """Open a saved searcher; its files are memory-mapped.

        Parameters
        ----------
        encoders : {name of a ranker: callable or None}
            The encoders that were given to `build` as functions. One that returns vectors of a different length, or
            different vectors for a stored document, is an error. None opens the searcher without it: it then ranks
            items only.
        verify : bool
            Read all files once, compare their checksums and check that every number is in range.
        """
        folder = as_path(path)
        return cls(open_state(folder, encoders, verify=verify), folder=resolved(folder))

    def as_langchain(self, **options: Any) -> Any:
        """Return a LangChain `BaseRetriever`; the options are those of `search`."""
        return _adapter("langchain", "retriever")(self, **options)

    def as_llama_index(self, **options: Any) -> Any:
        """Return a LlamaIndex `BaseRetriever`; the options are those of `search`."""
        return _adapter("llama_index", "RankloomRetriever")(self, **options)

    def as_haystack(self, **options: Any) -> Any:
        """Return a Haystack component; the options are those of `search`."""
        return _adapter("haystack", "RankloomRetriever")(self, **options)

    def as_pyterrier(self, **options: Any) -> Any:
        """Return a PyTerrier transformer; the options are those of `search`."""
        return _adapter("pyterrier", "RankloomTransformer")(self, **options)

    def as_neighbors(self, n_neighbors: int = 5, **options: Any) -> Any:
        """Return an object with the method `kneighbors` of scikit-learn; the options are those of `search`."""
        return _adapter("neighbors", "Neighbors")(self, n_neighbors, **options)

    @property
    def documents(self) -> Documents:
        """The documents, by number."""
        return self._state.documents

    @property
    def rankers(self) -> tuple[str, ...]:
        """Names of the rankers."""
        return tuple(self._state.models)

    @property
    def state(self) -> State:
        """The current documents, models, lists and indexes; read-only."""
        return self._state

    def document(self, id: str) -> Document:
        """Return a document by id."""
        documents = self._state.documents
        return documents[documents.ids.number(id, "document")]

    def __len__(self) -> int:
        return len(self._state)

    def __contains__(self, id: object) -> bool:
        return id in self._state.documents.ids

    def __copy__(self) -> Self:
        """Return a searcher of the same documents, which is updated on its own."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__, _lock=Lock())
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        raise InputError("A searcher cannot be pickled or deep-copied; save it to a folder, and open that instead.")

    def __repr__(self) -> str:
        return f"Searcher({len(self)} documents, rankers: {', '.join(self.rankers)})"


def _adapter(framework: str, name: str) -> Any:
    """Return the adapter to a framework, which is imported only now; adapters are above this module."""
    from importlib import import_module

    return getattr(import_module(f"rankloom.adapters.{framework}"), name)


@contextmanager
def updating(path: str | Path) -> Iterator[Searcher]:
    """Open a saved searcher to change it, and save it afterwards, unless an error happens.

    Other processes that update searchers in the same folder wait, so that no change is lost. Encoders are not called:
    a searcher with a function as an encoder must be opened by hand.
    """
    target = Path(path)
    with locked(resolved(target).parent):
        searcher = Searcher.open(target, verify=True)  # a save would sign what is damaged
        before = searcher.state
        yield searcher
        if searcher.state is not before:
            searcher.save(target)


def _indexed(state: State) -> State:
    """Return a state whose default index is built, so that the first search does not wait for it."""
    state.weft(tuple(state.models))
    return state


def _by_id(queries: Mapping[str, str]) -> QueryBatch:
    if not isinstance(queries, Mapping) or not queries:
        raise InputError(f"Give the queries as {{id: text}}, at least one; got {type(queries).__name__}.")
    return external_queries(list(queries.values()), None, None, ids=list(queries))


def _with_ids(ranks: Ranks, state: State, queries: Mapping[str, str]) -> Ranks:
    return ranks.replaced(item_ids=state.documents.ids, query_ids=Ids(queries), kind="queries")
