"""A searcher on disk: one folder with documents, fitted rankers, lists and indexes, opened memory-mapped.

The arrays of each part have a prefix: ``ranker0_``, ``lists0_``, ``index0_``; `meta.json` says which is which. Rows of
documents that were added are in parts of their own, such as ``tail0_ranker0_``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from rankloom.errors import IndexFileError, InputError, RankloomError, brief, check_choice, is_function, whole_number
from rankloom.index.verify import raising
from rankloom.io.folder import Snapshot, open_folder
from rankloom.io.folder_writer import FolderWriter
from rankloom.io.version import __version__
from rankloom.rankers import RANKERS, is_updatable
from rankloom.rankers.vectors.encoder import Encode, EncoderRanker
from rankloom.ranks.arrays import Array
from rankloom.searcher.confidence import Calibration
from rankloom.searcher.documents import Documents
from rankloom.searcher.field_types import instant
from rankloom.searcher.grown import GrownIndex
from rankloom.searcher.guard import Guard
from rankloom.searcher.item_lists import ItemLists
from rankloom.searcher.probes import Probes
from rankloom.searcher.retriever import Model
from rankloom.searcher.state import Names, Settings, State, embedded
from rankloom.searcher.tail import Tail, prefixed, under
from rankloom.searcher.updates import STORES, with_documents
from rankloom.weft import WeftIndex
from rankloom.weft.growth import check_added

KIND = "rankloom searcher"
ENCODER_SETTINGS = ("metric", "comparable", "batch", "algorithm", "recall")  # of rankers given as functions

Arrays = dict[str, Array]
Meta = dict[str, Any]  #: JSON


def save_state(state: State, writer: FolderWriter, base: Snapshot | None) -> Snapshot:
    """Write a state to a folder as its next generation; what `base` has is not written again."""
    documents, models = embedded(state)
    arrays: Arrays = {**documents.arrays(), **state.tail.stored()}
    for number, (name, model) in enumerate(models.items()):
        _check_storable(model)
        if not model.stored:
            model.stored.update(model.updatable.arrays())
        arrays |= prefixed(f"ranker{number}", model.stored)
        arrays |= prefixed(f"lists{number}", state.item_lists[name].arrays())
        arrays |= prefixed(f"probes{number}", {} if model.probes is None else model.probes.arrays())
    indexes = [state.weft(names).base for names in state.choices]
    for number, index in enumerate(indexes):
        arrays |= prefixed(f"index{number}", index.arrays_without_ids)
    return writer.commit(arrays, _meta(state, models, indexes), base)


def open_state(
    path: Path, encoders: Mapping[str, Encode | None] | None = None, *, verify: bool = False
) -> tuple[State, Snapshot]:
    """Open a saved state, as `Searcher.open` does; its arrays are memory-mapped."""
    folder = open_folder(path, kind=KIND, verify=verify)
    try:
        state = _restored(folder.arrays, folder.meta, {} if encoders is None else encoders, path)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, OverflowError) as error:
        if isinstance(error, RankloomError):
            raise
        raise IndexFileError(f"{path} is damaged: {error}; build the searcher again.") from error
    for model in embedded(state)[1].values():
        if model.probes is not None and isinstance(model.ranker, EncoderRanker) and model.ranker.encode is not None:
            model.probes.check(model.ranker)
    return state, folder


def without_encoders(meta: Meta) -> dict[str, None]:
    """Return what to give as encoders to open a searcher that is only looked at."""
    return {about["name"]: None for about in meta["rankers"] if about["spelling"] is None}


def _restored(arrays: Mapping[str, Array], meta: Meta, encoders: Mapping[str, Encode | None], path: Path) -> State:
    documents = Documents.restored(arrays)
    settings = _settings(meta["settings"], [about["name"] for about in meta["rankers"]])
    _check_encoders(encoders, {about["name"] for about in meta["rankers"] if about["spelling"] is None}, path)
    tail = Tail.restored(arrays, meta["added"])
    models = {}
    for number, about in enumerate(meta["rankers"]):
        stored = under(arrays, f"ranker{number}")
        model = _model(about, stored, under(arrays, f"probes{number}"), encoders)
        more = tail.under(f"ranker{number}")
        added = model.updatable.subset(np.empty(0, np.intp)).with_rows(more) if len(tail) else None
        models[model.name] = replace(model, tail=added, stored=dict(stored))
    n = documents.slots.n
    tails = {model.tail.n_items for model in models.values() if model.tail is not None}
    if {model.n_slots for model in models.values()} != {n} or not tails <= {len(tail)}:
        raise IndexFileError(f"{path} is damaged: its rankers and documents do not match; build the searcher again.")
    lists = {}
    for at, about in enumerate(meta["rankers"]):
        stored, more = under(arrays, f"lists{at}"), tail.under(f"lists{at}")
        name = about["name"]
        lists[name] = ItemLists.restored(stored, more, n, settings.depth, about.get("reached_recall"))
        models[name] = models[name].with_lists(lists[name])
    state = State(documents.ids, documents, models, lists, settings, tail=tail)
    state = replace(state, grown=_grown(state, arrays, meta["indexes"], path))
    return with_documents(state, documents, models) if state.is_grown else state


def _grown(state: State, arrays: Mapping[str, Array], described: Sequence[Meta], path: Path) -> dict[Names, GrownIndex]:
    """Return the indexes of a state, with the rows of added documents."""
    grown = {}
    for number, (names, about) in enumerate(zip(state.choices, described, strict=True)):
        base = WeftIndex.of_arrays(under(arrays, f"index{number}"), about, path)
        if base.settings.n_rankers != len(names) or base.n_items != state.slots.n - len(state.tail):
            raise IndexFileError(f"{path} is damaged: an index is not that of its rankers; build the searcher again.")
        grown[names] = GrownIndex(base, base, state.slots, state.ids)
        if len(state.tail):
            rows = state.tail.under(f"index{number}")
            with raising(path):
                check_added(base, rows, state.slots.n)
            grown[names] = grown[names].appended(rows, [state.item_lists[name] for name in names])
    return grown


def _check_encoders(encoders: Mapping[str, Encode | None], needed: Collection[str], path: Path) -> None:
    if not isinstance(encoders, Mapping):
        raise InputError(f"Give encoders by the names of rankers, as in {{'dense': encode}}; got {brief(encoders)}.")
    for name, encode in encoders.items():
        if encode is not None and not is_function(encode):
            raise InputError(f"The encoder of {name!r} must be a function; got {brief(encode)}.")
        if name not in needed:
            raise InputError(f"{path} has no ranker {name!r} that needs an encoder; leave it out.")


def _settings(given: Meta, rankers: Sequence[str]) -> Settings:
    guard, known = given.get("guard"), given.get("calibration")
    learned = {
        "guard": None if guard is None else Guard.restored(guard, rankers),
        "calibration": None if known is None else Calibration.restored(known, rankers),
    }
    settings = Settings(**{**given, "fields": tuple(given["fields"]), **learned})
    whole_number("cutoff", settings.cutoff)
    check_choice("store", settings.store, STORES)
    whole_number("depth", settings.depth)
    whole_number("next_number", settings.next_number, 0)
    whole_number("newer", settings.newer, 0)
    texts = (*settings.fields, settings.name, settings.id_field, settings.fitted)
    if not all(isinstance(text, str) for text in texts):
        raise InputError(f"names and fields must be text; got {brief(given)}.")
    if settings.fitted and instant(settings.fitted) is None:
        raise InputError(f"fitted must be a time; got {brief(settings.fitted)}.")
    return settings


def _model(
    about: Meta, arrays: Mapping[str, Array], probes: Mapping[str, Array], encoders: Mapping[str, Encode | None]
) -> Model:
    name, spelling = about["name"], about["spelling"]
    if spelling is not None:
        ranker = RANKERS.make(spelling)
        return Model(name, ranker, ranker.restored(arrays), spelling)
    if name not in encoders:
        raise InputError(
            f"The ranker {name!r} was given as a function, which is not stored; give it again with "
            f"encoders={{{name!r}: function}}, or None to search without it."
        )
    settings = {key: about[key] for key in ENCODER_SETTINGS if key in about}
    encoder = EncoderRanker(name, encoders[name], part=about["part"], **settings)
    return Model(name, encoder, encoder.restored(arrays), probes=Probes.restored(probes))


def _check_storable(model: Model) -> None:
    name = model.name
    if model.spelling is None and not isinstance(model.ranker, EncoderRanker):
        raise InputError(f"The ranker {name!r} was given as an object; to save it, register it and give its spelling.")
    if not is_updatable(model.fitted):
        raise InputError(f"The ranker {name!r} cannot be saved; choose one that can, or build the searcher each time.")


def _meta(state: State, models: Mapping[str, Model], indexes: list[WeftIndex]) -> Meta:
    return {
        "kind": KIND,
        "settings": asdict(state.settings),
        "sizes": {"n_items": len(state)},
        "added": list(map(len, state.tail.parts)),
        "rankers": [_about_ranker(model, state.item_lists[name].recall) for name, model in models.items()],
        "indexes": [{"settings": index.settings.to_dict()} for index in indexes],
        "versions": {"rankloom": __version__, "numpy": np.__version__},
    }


def _about_ranker(model: Model, recall: float | None) -> Meta:
    about: Meta = {"name": model.name, "spelling": model.spelling, "part": model.part, "reached_recall": recall}
    if model.spelling is None:
        about |= {key: getattr(model.ranker, key) for key in ENCODER_SETTINGS}
    return about
