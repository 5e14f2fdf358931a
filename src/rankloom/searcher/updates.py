"""Adding and deleting documents: the lists afterwards are those of a build from scratch with the same statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rankloom.errors import InputError
from rankloom.rankers import FittedVectors, UnreadableItemsError, Updatable
from rankloom.rankers.text.terms import check_texts
from rankloom.ranks import PAD, Ranks
from rankloom.searcher.batch import Batch, text_of
from rankloom.searcher.retriever import Model
from rankloom.searcher.state import State, embedded
from rankloom.threads import run_blocks

Numbers = NDArray[np.intp]


def added(state: State, batch: Batch) -> State:
    """Return the state with more documents after its own."""
    documents, models = embedded(state)
    parts = {model.part for model in models.values()}
    collection = batch.collection(parts)
    known = next((id for id in collection.ids if id in state.ids), None)
    if known is not None:
        raise InputError(f"The document {known!r} already exists; delete it first, or give the new one another id.")
    try:
        documents = documents.appended(batch.stored(parts))
    except InputError as error:
        raise InputError(f"Nothing was added. {error}") from None
    lists = {}
    for name, model in models.items():
        try:
            fitted = model.updatable.appended(collection.part(model.part))  # type: ignore[arg-type]
        except UnreadableItemsError as error:
            raise InputError(f"Nothing was added. {error}") from None
        models[name] = replace(model, fitted=fitted)
        lists[name] = _lists_with_new(state.lists[name], fitted, state.settings.depth)
    settings = replace(state.settings, next_number=state.settings.next_number + len(batch.documents))
    return State.of_documents(documents, models, lists, settings)


def removed(state: State, numbers: Numbers) -> State:
    """Return the state without some documents, by number."""
    documents, models = embedded(state)
    kept = np.setdiff1d(np.arange(len(state)), numbers)
    lists = {}
    for name, model in models.items():
        fitted = model.updatable.subset(kept)
        models[name] = replace(model, fitted=fitted)
        lists[name] = _lists_without(state.lists[name], kept, fitted, state.settings.depth)
    return State.of_documents(documents.subset(kept), models, lists, state.settings)


def refitted(state: State) -> State:
    """Return the state with text rankers fitted to the current documents: new vocabulary, new statistics."""
    documents, models = embedded(state)
    texts = check_texts([text_of(document, state.settings.fields) for document in documents], "texts")
    for name, model in models.items():
        if model.part == "texts" and not isinstance(model.fitted, FittedVectors):
            models[name] = replace(model, fitted=model.ranker.fit(texts))
    return State.of_documents(documents, models, rebuilt_lists(models, state.settings.depth), state.settings)


def rebuilt_lists(models: Mapping[str, Model], depth: int) -> dict[str, Ranks]:
    """Return the lists of all items from scratch, with the statistics that the models have."""
    return {name: model.fitted.rank(depth=depth).replaced(kind="collection") for name, model in models.items()}


def _lists_with_new(lists: Ranks, fitted: Updatable, depth: int) -> Ranks:
    """Return the lists of old and new items: the new ones enter the lists of old ones where they belong."""
    old, n = np.arange(lists.n_queries), fitted.n_items
    new = np.arange(len(old), n)
    if not len(new):
        return lists
    entering = fitted.rank_items(old, depth=depth, among=new, floors=_floors(lists, depth))
    own = fitted.rank_items(new, depth=depth)
    merged = _merged(lists, entering, min(depth, n))
    items = np.vstack([merged.items, _padded_to(own.items, merged.depth, PAD)])
    scores = np.vstack([_scores(merged), _padded_to(_scores(own), merged.depth, 0)])
    return Ranks.trusted(items, scores, n, kind="collection")


def _floors(lists: Ranks, depth: int) -> NDArray[np.float32]:
    """Return, for each list, the score that an item needs to enter: that of the last one, if the list is full."""
    if lists.depth < depth:
        return np.full(lists.n_queries, -np.inf, np.float32)
    full = lists.items[:, -1] != PAD
    return np.where(full, _scores(lists)[:, -1], np.float32(-np.inf))


def _merged(lists: Ranks, more: Ranks, depth: int) -> Ranks:
    from rankloom._kernels.index.arguments import ScoredLists
    from rankloom._kernels.lists import merge

    items = np.full((lists.n_queries, depth), PAD, np.int32)
    out = ScoredLists(items, np.zeros(items.shape, np.float32))
    own = np.arange(lists.n_queries)
    old, new = (ScoredLists(*map(np.ascontiguousarray, (r.items, _scores(r)))) for r in (lists, more))
    run_blocks(lambda start, stop: merge(start, stop, own, old, new, out), len(own), stage="Merging lists")
    return Ranks.trusted(*out, more.n_items, kind="collection")


def _lists_without(lists: Ranks, kept: Numbers, fitted: Updatable, depth: int) -> Ranks:
    """Return the lists without deleted items; a list that was full is recomputed, to find the items that move up."""
    n = len(kept)
    numbers = np.full(lists.n_items + 1, PAD, np.int32)  # the last one maps PAD to itself
    numbers[kept] = np.arange(n, dtype=np.int32)
    old = lists.items[kept]
    items = numbers[old]
    gone = (items == PAD) & (old != PAD)
    order = np.argsort(items == PAD, axis=1, kind="stable")
    items = np.take_along_axis(items, order, axis=1)[:, : min(depth, n)]
    scores = np.take_along_axis(np.where(gone, 0, _scores(lists)[kept]), order, axis=1)[:, : min(depth, n)]
    cut = lists.depth < lists.n_items  # otherwise the lists have all matching items
    again = np.flatnonzero(gone.any(axis=1) & (old[:, -1:] != PAD).all(axis=1)) if cut else np.empty(0, np.intp)
    if len(again):
        found = fitted.rank_items(again, depth=depth)
        items[again], scores[again] = (
            _padded_to(found.items, items.shape[1], PAD),
            _padded_to(_scores(found), items.shape[1], 0),
        )
    return Ranks.trusted(np.ascontiguousarray(items), np.ascontiguousarray(scores, np.float32), n, kind="collection")


def _padded_to(values: NDArray[np.generic], width: int, fill: int) -> NDArray[np.generic]:
    """Return rows padded or cut to a width."""
    cut = values[:, :width]
    return np.pad(cut, ((0, 0), (0, width - cut.shape[1])), constant_values=fill)


def _scores(ranks: Ranks) -> NDArray[np.float32]:
    assert ranks.scores is not None  # an updatable ranker gives scores
    return ranks.scores
