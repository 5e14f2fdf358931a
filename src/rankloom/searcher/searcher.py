"""Searcher: from documents to fused answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from importlib.metadata import entry_points
from pathlib import Path
from threading import Lock
from typing import Any, Self

import numpy as np

from rankloom.errors import (
    InputError,
    brief,
    check_choice,
    check_flag,
    check_type,
    is_iterable,
    text_list,
    whole_number,
)
from rankloom.fusion_graph import FusionIndex
from rankloom.io.cache import Cache
from rankloom.io.folder import Snapshot, read_meta
from rankloom.io.folder_writer import TIMEOUT, FolderWriter, writing
from rankloom.io.text_file import as_path
from rankloom.rankers import rank_collection
from rankloom.rankers.vectors.encoder import Encode
from rankloom.searcher.batch import TEXT_FIELDS, batch_of
from rankloom.searcher.builder import RankerLike, first_state, made_rankers
from rankloom.searcher.calibration import MIN_QUERIES, calibrated
from rankloom.searcher.documents import Documents
from rankloom.searcher.drift import drift
from rankloom.searcher.field_types import TEXT
from rankloom.searcher.read_only import ReadOnlySearcher
from rankloom.searcher.self_test import retested, tested
from rankloom.searcher.state import ITEM_DEPTH, Settings, State
from rankloom.searcher.storage import KIND, open_state, save_state
from rankloom.searcher.trial import Trial, try_out
from rankloom.searcher.updates import STORES, added, compacted, fresh, removed, with_stored
from rankloom.threads import Progress, running
from rankloom.weft.index import CUTOFF

ADAPTERS = "rankloom.adapters"  # the group of entry points


class Searcher(ReadOnlySearcher):
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

    def __init__(self, state: State, skipped: Mapping[str, str] | None = None, folder: Snapshot | None = None) -> None:
        super().__init__(state)
        self._folder = folder  # that it was opened from or saved to
        self._lock = Lock()  # held while the state is replaced
        self.skipped = dict(skipped or {})

    @classmethod
    def build(
        cls,
        documents: Any,
        rankers: Mapping[str, RankerLike] | Sequence[str] | str | None = None,
        *,
        cutoff: int = CUTOFF,
        depth: int = ITEM_DEPTH,
        self_test: bool | None = None,
        store: str = "all",
        text: str | Sequence[str] = TEXT_FIELDS,
        id: str = "id",
        filter_as_text: str | Sequence[str] = (),
        cache: Cache | None = None,
        strict: bool = False,
        progress: Progress | None = None,
        encoding: str | None = None,
    ) -> Searcher:
        """Fit rankers to documents, and index them.

        Parameters
        ----------
        documents : list of str or of mappings, data frame, Collection, path or name of a collection
            Mappings have any fields: `id` is the id (by default documents are numbered), the fields `text` are what
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
        self_test : bool, optional
            Whether to test the rankers by passages that are taken out of 200 documents: in `vote` and `weft`, those
            with less than half the quality of the best are left out, and in `vote` the others are weighted. By default
            only if there are 1,000 documents and several rankers, all of texts, whose encoders are this package's own.
            `info` has the outcome.
        store : {"all", "ids"}
            What is kept of the documents: with "ids", their texts are read and not kept, so that hits have ids alone,
            and `where`, `compact` and `trial` do not work. Vectors and the words of texts are kept by the rankers.
        text : str or sequence of str
            The fields of mappings that make up their text, here and in `id` in any case; `info` has those found.
        id : str
            The field of mappings that has their id; it is called "id" from then on.
        filter_as_text : str or sequence of str
            Fields that `where` compares as text, whatever they hold; those of `text` always are. Otherwise a field has
            one type in all documents: number, boolean, text, date or a list of one of these. Texts that are all in ISO
            8601 are dates, and columns of a .csv or .tsv file that are all numbers are numbers; `field_types` has them.
        cache : Cache, optional
            Stores lists and image descriptors between builds.
        strict : bool
            Whether an unreadable document is an error. Otherwise it is left out; `skipped` gives the reason.
        progress : callable, optional
            Called with the stage, how much is done and the total.
        encoding : str, optional
            Of a table or of the texts of a folder, as in "cp1252"; UTF-8 by default.
        """
        check_flag(self_test=False if self_test is None else self_test)
        check_choice("store", store, STORES)
        cutoff, depth = whole_number("cutoff", cutoff), whole_number("depth", depth)
        text_fields, as_text = text_list("text", text), text_list("filter_as_text", filter_as_text)
        check_type(str, id=id)
        batch = batch_of(documents, text_fields, encoding=encoding, types=dict.fromkeys(as_text, TEXT), id_field=id)
        if not batch.documents:
            raise InputError("There are no documents; give at least one.")
        if tuple(text_fields) != TEXT_FIELDS:
            batch.check_text_fields()
        made = made_rankers(rankers, batch)
        parts = {ranker.part for ranker, _ in made.values()}
        stored = Documents.of(batch.stored(parts), {*batch.text_fields, *as_text})
        with running(progress=progress):
            ranking = rank_collection(batch.collection(parts), made, depth=depth, cache=cache, strict=strict)
            settings = fresh(
                Settings(cutoff, depth, batch.text_fields, store, len(batch.documents), batch.name, id_field=id)
            )
            unreadable = np.flatnonzero([item in ranking.skipped for item in batch.ids])
            readable = stored.without(unreadable).compacted()
            state = with_stored(tested(first_state(readable, ranking, settings), self_test))
            _build_index(state)
        return cls(state, ranking.skipped)

    @classmethod
    def of_index(cls, index: FusionIndex, name: str = "index") -> Searcher:
        """Return a searcher over an index alone: it answers items by their graphs, and has ids but no documents.

        Examples
        --------
        >>> from rankloom.ranks import Ranks
        >>> index = FusionIndex.build([Ranks([[0, 1, 2], [1, 0, 2], [2, 1, 0]])], cutoff=2)
        >>> [hit.id for hit in Searcher.of_index(index).search(item="0", k=2)]
        ['0', '1']
        """
        return cls(State.of_index(index, name))

    def add(self, documents: Any, *, encoding: str | None = None) -> None:
        """Add documents, in any form that `build` accepts, or a file of the folder that was built from.

        The new documents get lists, and enter the lists of the old ones at their positions: apart from statistics, such
        as document frequencies and the vocabulary, which remain those of `build` until `compact`, these lists are those
        of a build with all documents. The rows of old documents in the index stay until the next merge or `compact`.
        """
        with self._lock:
            state, settings = self._state, self._state.settings
            batch = batch_of(
                documents,
                settings.fields,
                next_number=settings.next_number,
                used=state.ids,
                encoding=encoding,
                types=state.store.types,
                id_field=settings.id_field,
                folder=settings.name,
            )
            if batch.documents:
                self._replace(added(state, batch))

    def delete(self, ids: Iterable[str]) -> None:
        """Delete documents by id; they are removed from all lists."""
        if isinstance(ids, str) or not is_iterable(ids):
            raise InputError(f"Give a list of ids; got {brief(ids)}. Put it in a list.")
        ids = list(ids)
        odd = [id for id in ids if not isinstance(id, str)]
        if odd:
            raise InputError(f"Ids are strings; got {brief(odd[0])}.")
        with self._lock:
            state = self._state
            numbers = np.unique(state.ids.numbers(ids, "document")).astype(np.intp)
            if len(numbers) == len(state):
                raise InputError("A searcher needs at least one document; delete fewer, or remove its folder.")
            if len(numbers):
                self._replace(removed(state, numbers))

    def compact(self, progress: Progress | None = None) -> None:
        """Rebuild vocabularies, statistics, lists and indexes, as a build of the current documents makes them.

        Pending updates are merged, and space is freed. Vectors and descriptors of images are not recomputed.
        A self-test of the rankers is made again.
        """
        with self._lock, running(progress=progress):
            self._replace(retested(compacted(self._state)))

    def _replace(self, state: State) -> None:
        """Answer from another state, whose default index is built first."""
        _build_index(state)
        self._state = state

    def trial(self, *, labels: str | None = None, progress: Progress | None = None) -> Trial:
        """Find out whether fusion is better than the best single ranker here, by queries made of the documents.

        Parameters
        ----------
        labels : str, optional
            A field with the classes of documents: also compares the methods at finding documents like a document.
        progress : callable, optional
            Called with the stage, how much is done and the total.
        """
        with running(progress=progress):
            return try_out(self._state, labels)

    def calibrate(self, queries: Sequence[str]) -> None:
        """Fit `Answer.confidence` to real queries, such as those of a log: at least 20, without judgments.

        They are compared with as many queries of random words of the documents.
        """
        given = text_list("queries", queries)
        if len(given) < MIN_QUERIES:
            raise InputError(f"Give at least {MIN_QUERIES} queries to calibrate with; got {len(given)}.")
        with self._lock:
            self._replace(calibrated(self._state, given))

    def info(self) -> dict[str, Any]:
        """Return what the searcher holds, how it was built, the outcome of its self-test, and how far it has drifted.

        `recall` is that of lists by cells. `statistics` says when document frequencies and vocabularies were made, how
        many documents are newer, and the share of lists that have changed since the last merge; `encoders` the smallest
        cosine of the stored vectors of a few contents with those that an encoder given as a function returns now.
        """
        state, guard = self._state, self._state.settings.guard
        rankers = {name: getattr(known, "spelling", None) or "a function" for name, known in state.retrievers.items()}
        tested = guard and {"quality": dict(guard.quality), "weights": guard.weights(state.trusted)}
        built = {name: getattr(state.settings, name) for name in ("name", "cutoff", "depth")}
        recalls = {name: lists.recall for name, lists in state.item_lists.items() if lists.recall is not None}
        held = {"documents": len(self), "rankers": rankers, "recall": recalls, "fields": self.field_types}
        return {**built, **held, "text": list(state.settings.fields), "self_test": tested, **drift(state)}

    def save(self, path: str | Path, *, overwrite: bool = False, timeout: float = TIMEOUT) -> None:
        """Write everything to a folder, completely or not at all.

        Encoders given as functions are not stored: give them again to `open`.

        Parameters
        ----------
        overwrite : bool
            Whether to replace another searcher, or what other processes have saved to the folder since this one was
            opened from it. Without it, either is an error.
        timeout : float
            How many seconds to wait for other processes that write to the folder.
        """
        check_flag(overwrite=overwrite)
        with writing(as_path(path), KIND, timeout=timeout) as writer:
            writer.check(self._folder, None if overwrite else "overwrite=True")
            self._commit(writer)

    def _commit(self, writer: FolderWriter) -> None:
        with self._lock:
            self._folder = save_state(self._state, writer, self._folder)

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
            Whether to compare the digests of all files, which shows damage. That every number is in range is always
            checked.
        """
        state, folder = open_state(as_path(path), encoders, verify=verify)
        return cls(state, folder=folder)

    def as_langchain(self, **options: Any) -> Any:
        """Return a LangChain `BaseRetriever`; the options are those of `search`."""
        return self._adapted("langchain", **options)

    def as_llama_index(self, **options: Any) -> Any:
        """Return a LlamaIndex `BaseRetriever`; the options are those of `search`."""
        return self._adapted("llama_index", **options)

    def as_haystack(self, **options: Any) -> Any:
        """Return a Haystack component; the options are those of `search`."""
        return self._adapted("haystack", **options)

    def as_pyterrier(self, **options: Any) -> Any:
        """Return a PyTerrier transformer; the options are those of `search`."""
        return self._adapted("pyterrier", **options)

    def as_neighbors(self, n_neighbors: int = 5, **options: Any) -> Any:
        """Return an object with the method `kneighbors` of scikit-learn; the options are those of `search`."""
        return self._adapted("neighbors", n_neighbors=n_neighbors, **options)

    def _adapted(self, framework: str, **options: Any) -> Any:
        """Return the searcher in the form of a framework, whose adapter is an entry point."""
        adapter = entry_points(group=ADAPTERS)[framework].load()
        return adapter(self, **options)

    def __copy__(self) -> Self:
        """Return a searcher of the same documents, which is updated on its own."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__, _lock=Lock())
        return copied

    def with_limited_caches(self, max_bytes: int) -> Self:
        """Return a copy whose indexes, but for the default ones, have at most so many bytes together."""
        copied = copy(self)
        copied._state = self._state.with_limited_caches(max_bytes)
        return copied

    def __reduce__(self) -> tuple[object, ...]:
        raise InputError("A searcher cannot be pickled or deep-copied; save it to a folder, and open that instead.")

    def __repr__(self) -> str:
        return f"Searcher({len(self)} documents, rankers: {', '.join(self.rankers)})"


@contextmanager
def updating(path: str | Path, *, timeout: float = TIMEOUT) -> Iterator[Searcher]:
    """Open a saved searcher to change it, and save it afterwards, unless an error happens.

    Other processes that write to the folder wait, so that no change is lost. Encoders are not called: a searcher with a
    function as an encoder must be opened by hand.
    """
    read_meta(as_path(path))  # a folder that does not exist is not made
    with writing(as_path(path), KIND, timeout=timeout) as writer:
        searcher = Searcher.open(path)
        before = searcher.state
        yield searcher
        if searcher.state is not before:
            searcher._commit(writer)


def _build_index(state: State) -> None:
    """Build the default index, so that the first search need not."""
    state.weft(state.trusted)
