"""Adding and deleting documents, and merging what has changed.

A document that is added gets lists and a row in each index, and enters the lists of others; what is stored stays as it
is. One that is deleted loses the bit of its slot. When many documents were added or deleted, all is merged: the arrays
are then those of a build from scratch with the same statistics.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloom._kernels.index.arguments import ScoredLists
from rankloom.errors import InputError
from rankloom.rankers import FittedVectors, UnreadableItemsError, Updatable
from rankloom.rankers.text.terms import check_texts
from rankloom.ranks import PAD, Ranks
from rankloom.ranks.arrays import Array
from rankloom.ranks.lists import empty_lists
from rankloom.searcher.batch import Batch, text_of
from rankloom.searcher.documents import Documents
from rankloom.searcher.drift import warn_of_cells
from rankloom.searcher.item_lists import ItemLists, fill, outside
from rankloom.searcher.retriever import Model, scores_of
from rankloom.searcher.slots import Slots
from rankloom.searcher.state import Settings, State, embedded
from rankloom.searcher.store import Document
from rankloom.searcher.tail import prefixed
from rankloom.weft.growth import added_lists

MAX_ADDED, MAX_DELETED = 0.1, 0.2  # shares of the documents of the build, and of all slots, before a merge
BLOCK = 2**24  # pairs of old and new items that are compared at once
SPARE = 1.5  # a list is refilled when it has fewer items left than so many times the cutoff

STORES = ("all", "ids")  # what can be kept of documents

Numbers = NDArray[np.intp]
Arrays = dict[str, Array]


def added(state: State, batch: Batch) -> State:
    """Return the state with more documents after its own."""
    documents, models = embedded(state)
    parts = {model.part for model in models.values()}
    collection = batch.collection(parts)
    known = next((id for id in collection.ids if id in state.ids), None)
    if known is not None:
        raise InputError(f"The document {known!r} already exists; delete it first, or give the new one another id.")
    lacking = next((model for model in models.values() if model.part not in ("ids", *collection.parts)), None)
    if lacking is not None:
        raise InputError(f"Nothing was added. The ranker {lacking.name!r} needs {lacking.part}, and there are none.")
    try:
        stored = batch.stored(parts)
        documents = documents.appended(stored if state.settings.store == "all" else _ids_alone(stored))
    except InputError as error:
        raise InputError(f"Nothing was added. {error}") from None
    for name, model in models.items():
        try:
            tail = _tail(model).appended(collection.part(model.part))  # type: ignore[arg-type]
        except UnreadableItemsError as error:
            raise InputError(f"Nothing was added. {error}") from None
        models[name] = replace(model, tail=tail)
    n = len(batch.documents)
    old = state.settings
    settings = replace(old, next_number=old.next_number + n, newer=old.newer + n)
    new = _settled(_appended(replace(_open_ended(state), settings=settings), documents, models, n))
    warn_of_cells(state, new)
    return new


def with_stored(state: State) -> State:
    """Return the state with as much of its documents as is to be kept."""
    if state.settings.store == "all":
        return state
    return replace(state, store=Documents.of(_ids_alone(embedded(state)[0])))


def _ids_alone(documents: Sequence[Document]) -> list[Document]:
    return [{"id": document["id"]} for document in documents]


def _tail(model: Model) -> Updatable:
    return model.updatable.subset(np.empty(0, np.intp)) if model.tail is None else model.tail


def _open_ended(state: State) -> State:
    """Return the state with indexes that rows can be added to."""
    if state.grown:
        return state
    return replace(state, grown={names: state.weft(names) for names in state.choices})


def _appended(state: State, documents: Documents, models: Mapping[str, Model], n: int) -> State:
    """Return a state with n more documents, whose rows the models have already."""
    slots, new = documents.slots, np.arange(len(state.tail), len(state.tail) + n)
    arrays: Arrays = {}
    lists = {}
    for number, (name, model) in enumerate(models.items()):
        model = replace(model, slots=slots)
        assert model.tail is not None
        more = model.tail.subset(new)
        found = _new_lists(state.item_lists[name], model, more)
        lists[name] = state.item_lists[name].appended(found)
        arrays |= prefixed(f"ranker{number}", more.row_arrays()) | prefixed(f"lists{number}", found)
    grown = {}
    for number, (names, index) in enumerate(state.grown.items()):
        rows = added_lists(index.index, [lists[name] for name in names], n)
        grown[names] = index.appended(rows, [lists[name] for name in names])
        arrays |= prefixed(f"index{number}", rows)
    new_state = replace(state, item_lists=lists, grown=grown, tail=state.tail.appended(arrays, n))
    return with_documents(new_state, documents, models)


def with_documents(state: State, documents: Documents, models: Mapping[str, Model]) -> State:
    """Return a state with these documents, in their slots."""
    ids, slots = documents.ids, documents.slots
    retrievers = {name: replace(model, slots=slots) for name, model in models.items()}
    grown = {names: replace(index, slots=slots, ids=ids) for names, index in state.grown.items()}
    return State(ids, documents, retrievers, state.item_lists, state.settings, tail=state.tail, grown=grown)


def _new_lists(lists: ItemLists, model: Model, new: Updatable) -> Arrays:
    """Return the lists of new items, the last ones of a model, and the entries of these in the lists of others."""
    n, start = new.n_items, model.n_slots - new.n_items
    slots = model.slots or Slots(model.n_slots)
    own = model.slot_lists(np.arange(start, start + n), lists.depth, slots.mask(None))
    out = empty_lists(n, lists.depth)
    fill(out, np.arange(n), own.items, scores_of(own))
    entered = [_entering(lists, part, first, new, start) for first, part in model.parts]
    rows, items, scores = (np.concatenate(arrays) for arrays in zip(*entered, strict=True))
    return {**out._asdict(), "entered_rows": rows, "entered_items": items, "entered_scores": scores}


def _entering(lists: ItemLists, part: Updatable, first: int, new: Updatable, start: int) -> tuple[Array, Array, Array]:
    """Return which lists of a part of the items new ones enter: (row, item, score)."""
    own = np.arange(min(part.n_items, start - first))  # without the new ones themselves
    floors = lists.floors[first : first + len(own)]
    quick: Any = getattr(new, "entries", lambda *given: None)
    rows, items, scores = quick(part, own, floors) or _above(new, part, own, floors)
    return rows.astype(np.int32) + np.int32(first), items.astype(np.int32) + np.int32(start), scores


def _above(new: Updatable, part: Updatable, own: Numbers, floors: Array) -> tuple[Array, Array, Array]:
    step = max(1, BLOCK // new.n_items)
    starts = range(0, max(len(own), 1), step)
    found = [_above_in(new, part, own[start : start + step], floors[start : start + step]) for start in starts]
    rows, items, scores = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    return rows, items, scores


def _above_in(new: Updatable, part: Updatable, own: Numbers, floors: Array) -> tuple[Array, Array, Array]:
    found = new.rank_items(own, depth=new.n_items, floors=floors, of=part)
    some = np.flatnonzero(found.items[:, 0] != PAD)  # usually few
    items, scores = found.items[some], scores_of(found)[some]
    rows, columns = np.nonzero((items != PAD) & (scores > floors[some, None]))
    return own[some[rows]], items[rows, columns], scores[rows, columns]


def removed(state: State, numbers: Numbers) -> State:
    """Return the state without some documents, by number."""
    documents, models = embedded(state)
    for model in models.values():
        _ = model.updatable  # or an error
    newer = state.settings.newer - int((numbers >= len(state) - state.settings.newer).sum())
    state = replace(state, settings=replace(state.settings, newer=newer))
    return _settled(_refilled(with_documents(_open_ended(state), documents.without(numbers), models)))


def _refilled(state: State) -> State:
    """Return the state with new lists in place of those that have become short."""
    models = embedded(state)[1]
    lists = {name: _with_refills(own, models[name], state) for name, own in state.item_lists.items()}
    return replace(state, item_lists=lists)


def _with_refills(lists: ItemLists, model: Model, state: State) -> ItemLists:
    wanted = min(lists.depth, math.ceil(SPARE * state.settings.cutoff))
    slots = state.slots
    if slots.n_deleted <= lists.depth - wanted:  # no list can be short
        return lists
    items = lists.rows(slots.numbers).items
    left = (slots.outside(items) != PAD).sum(axis=1)
    short = slots.numbers[(items[:, -1] != PAD) & (items.shape[1] == lists.depth) & (left < min(wanted, len(slots)))]
    if not len(short):
        return lists
    found = model.slot_lists(short, lists.depth, slots.mask(None))
    return lists.patched(short, ScoredLists(found.items, scores_of(found)), slots.n)


def _settled(state: State) -> State:
    """Return a state, merged if it has grown or shrunk much."""
    slots, n_added = state.slots, len(state.tail)
    many = n_added > MAX_ADDED * (slots.n - n_added) or slots.n_deleted > MAX_DELETED * slots.n
    return merged_state(state) if many else state


def merged_state(state: State) -> State:
    """Return the state that a build of its documents gives with the same statistics."""
    documents, models = merged_parts(state)
    lists = {
        name: _exact(state.item_lists[name], state.slots, model.updatable, state.settings.depth)
        for name, model in models.items()
    }
    return State.of_documents(documents, models, lists, state.settings)


def merged_parts(state: State) -> tuple[Documents, dict[str, Model]]:
    """Return the documents and models of a state without deleted rows, and those that were added after the others."""
    documents, models = embedded(state)
    if not state.is_grown:
        return documents, models
    for name, model in models.items():
        fitted = model.updatable if model.tail is None else model.updatable.with_rows(model.row_arrays)
        fitted = fitted if state.slots.kept is None else fitted.subset(state.slots.numbers)
        models[name] = replace(model, fitted=fitted, tail=None, slots=None, stored={})
    return documents.compacted(), models


def _exact(lists: ItemLists, slots: Slots, fitted: Updatable, depth: int) -> Ranks:
    """Return the lists of all documents; those that have lost items are completed."""
    n, width = len(slots), min(depth, len(slots))
    stored = lists.rows(slots.numbers)
    full = (stored.items != PAD).sum(axis=1) >= min(depth, lists.width)
    cut = full & (lists.width < slots.n)  # otherwise the lists have all matching items
    inside = outside(stored, slots)
    left = (inside.items != PAD).sum(axis=1)
    out = empty_lists(n, width)
    fill(out, np.arange(n), *inside)
    again = np.flatnonzero(cut & (left < width))
    if len(again):
        found = fitted.rank_items(again, depth=depth)
        fill(out, again, found.items, scores_of(found))
    return Ranks.trusted(*out, n, kind="collection", recall=lists.recall)


def compacted(state: State) -> State:
    """Return the state that a build of its documents gives: merged, with new statistics and vocabularies of texts."""
    if state.settings.store != "all":
        raise InputError("The documents are not kept (store='ids'), so build the searcher again instead of compacting.")
    documents, models = merged_parts(state)
    plain = Documents.of(documents[:], documents.columns.filter_as_text)
    texts = check_texts([text_of(document, state.settings.fields) for document in plain], "texts")
    for name, model in models.items():
        if isinstance(model.fitted, FittedVectors):
            models[name] = replace(model, fitted=model.fitted.with_cells(), stored={})
        elif model.part == "texts":
            models[name] = replace(model, fitted=model.ranker.fit(texts), stored={})
    return State.of_documents(plain, models, rebuilt_lists(models, state.settings.depth), fresh(state.settings))


def fresh(settings: Settings) -> Settings:
    """Return settings of a state whose statistics are made now."""
    return replace(settings, newer=0, fitted=datetime.now(UTC).isoformat(timespec="seconds"))


def rebuilt_lists(models: Mapping[str, Model], depth: int) -> dict[str, Ranks]:
    """Return the lists of all items from scratch, with the statistics that the models have."""
    return {name: model.fitted.rank(depth=depth).replaced(kind="collection") for name, model in models.items()}
