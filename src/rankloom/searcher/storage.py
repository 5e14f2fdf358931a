"""A searcher on disk: one folder with documents, fitted rankers, lists and indexes, opened memory-mapped.

The arrays of each part have a prefix: ``ranker0_``, ``lists0_``, ``index0_``; `meta.json` says which is which.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rankloom.errors import IndexFileError, InputError, RankloomError, brief, is_function, whole_number
from rankloom.fusion_graph import FusionIndex
from rankloom.index.base import CollectionIndex
from rankloom.index.tables import check_rows
from rankloom.io.folder import Snapshot, open_folder
from rankloom.io.folder_writer import FolderWriter
from rankloom.io.version import __version__
from rankloom.rankers import RANKERS, is_updatable
from rankloom.rankers.vectors.encoder import Encode, EncoderRanker
from rankloom.ranks import Ranks
from rankloom.ranks.arrays import Array
from rankloom.searcher.documents import Documents
from rankloom.searcher.probes import Probes
from rankloom.searcher.retriever import Model
from rankloom.searcher.state import Settings, State, embedded
from rankloom.threads import Scratch, run_blocks
from rankloom.weft import WeftIndex

KIND = "rankloom searcher"
KINDS: Mapping[str, type[CollectionIndex[Any]]] = {"WeftIndex": WeftIndex, "FusionIndex": FusionIndex}
ENCODER_SETTINGS = ("metric", "comparable", "batch")  # of rankers given as functions

Arrays = dict[str, Array]
Meta = dict[str, Any]  #: JSON


def save_state(state: State, writer: FolderWriter, base: Snapshot | None) -> Snapshot:
    """Write a state to a folder as its next generation; what `base` has is not written again."""
    documents, models = embedded(state)
    arrays: Arrays = dict(documents.arrays())
    for number, (name, model) in enumerate(models.items()):
        _check_storable(model)
        assert is_updatable(model.fitted)
        arrays |= _prefixed(f"ranker{number}", model.fitted.arrays())
        items, scores = state.lists[name].items, state.lists[name].scores
        assert scores is not None  # an updatable ranker gives scores
        arrays |= _prefixed(f"lists{number}", {"items": items, "scores": scores})
        arrays |= _prefixed(f"probes{number}", {} if model.probes is None else model.probes.arrays())
    indexes = _stored_indexes(state)
    for number, index in enumerate(indexes):
        arrays |= _prefixed(f"index{number}", index.arrays_without_ids)
    return writer.commit(arrays, _meta(state, models, indexes), base)


def open_state(
    path: Path, encoders: Mapping[str, Encode | None] | None = None, *, verify: bool = False
) -> tuple[State, Snapshot]:
    """Open a saved state, as `Searcher.open` does; its arrays are memory-mapped."""
    folder = open_folder(path, kind=KIND, verify=verify)
    try:
        state = _restored(folder.arrays, folder.meta, {} if encoders is None else encoders, path)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        if isinstance(error, RankloomError):
            raise
        raise IndexFileError(f"{path} is damaged: {error}; build the searcher again.") from error
    for model in embedded(state)[1].values():
        if model.probes is not None and isinstance(model.ranker, EncoderRanker) and model.ranker.encode is not None:
            model.probes.check(model.ranker)
    return state, folder


def _restored(arrays: Mapping[str, Array], meta: Meta, encoders: Mapping[str, Encode | None], path: Path) -> State:
    documents = Documents.restored(arrays)
    settings = _settings(meta["settings"])
    _check_encoders(encoders, {about["name"] for about in meta["rankers"] if about["spelling"] is None}, path)
    models, lists = {}, {}
    for number, about in enumerate(meta["rankers"]):
        model = _model(about, _under(arrays, f"ranker{number}"), _under(arrays, f"probes{number}"), encoders)
        fitted: Any = model.fitted
        if fitted.n_items != len(documents):
            raise IndexFileError(
                f"{path} is damaged: its rankers and documents do not match; build the searcher again."
            )
        models[model.name] = model
        lists[model.name] = _lists(_under(arrays, f"lists{number}"), len(documents))
    state = State.of_documents(documents, models, lists, settings)
    for number, about in enumerate(meta["indexes"]):
        _restore_index(state, about, _under(arrays, f"index{number}"), path)
    return state


def _check_encoders(encoders: Mapping[str, Encode | None], needed: Collection[str], path: Path) -> None:
    if not isinstance(encoders, Mapping):
        raise InputError(f"Give encoders by the names of rankers, as in {{'dense': encode}}; got {brief(encoders)}.")
    for name, encode in encoders.items():
        if encode is not None and not is_function(encode):
            raise InputError(f"The encoder of {name!r} must be a function; got {brief(encode)}.")
        if name not in needed:
            raise InputError(f"{path} has no ranker {name!r} that needs an encoder; leave it out.")


def _settings(given: Meta) -> Settings:
    settings = Settings(**{**given, "fields": tuple(given["fields"])})
    whole_number("cutoff", settings.cutoff)
    whole_number("depth", settings.depth)
    whole_number("next_number", settings.next_number, 0)
    if not all(isinstance(text, str) for text in (*settings.fields, settings.name)):
        raise InputError(f"fields must be text, and so must be the name; got {brief(given)}.")
    return settings


def _restore_index(state: State, about: Meta, arrays: Arrays, path: Path) -> None:
    kind = KINDS[about["kind"]]
    index = kind.of_arrays(arrays, about, path).with_ids(state.ids)
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in about["options"].items()}
    state.indexes.get(state.key(kind, about["rankers"], options), lambda: index)


def _model(about: Meta, arrays: Arrays, probes: Arrays, encoders: Mapping[str, Encode | None]) -> Model:
    name, spelling = about["name"], about["spelling"]
    if spelling is not None:
        ranker = RANKERS.make(spelling)
        return Model(name, ranker, ranker.restored(arrays), spelling)
    if name not in encoders:
        raise InputError(
            f"The ranker {name!r} was given as a function, which is not stored; give it again with "
            f"encoders={{{name!r}: function}}, or None to search without it."
        )
    settings = {key: about[key] for key in ENCODER_SETTINGS}
    encoder = EncoderRanker(name, encoders[name], part=about["part"], **settings)
    return Model(name, encoder, encoder.restored(arrays), probes=Probes.restored(probes))


def _check_storable(model: Model) -> None:
    name = model.name
    if model.spelling is None and not isinstance(model.ranker, EncoderRanker):
        raise InputError(f"The ranker {name!r} was given as an object; to save it, register it and give its spelling.")
    if not is_updatable(model.fitted):
        raise InputError(f"The ranker {name!r} cannot be saved; choose one that can, or build the searcher each time.")


def _stored_indexes(state: State) -> list[WeftIndex]:
    """Return the indexes used by default: those of all rankers, and of the rankers that accept each kind of query."""
    parts = sorted({retriever.part for retriever in state.retrievers.values()})
    choices = [tuple(state.retrievers)]
    choices += [tuple(name for name, known in state.retrievers.items() if known.part == part) for part in parts]
    return [state.weft(names) for names in dict.fromkeys(choices)]


def _meta(state: State, models: Mapping[str, Model], indexes: list[WeftIndex]) -> Meta:
    described = [
        {
            "kind": type(index).__name__,
            "rankers": list(index.settings.rankers),
            "options": {"cutoff": index.settings.cutoff, "depth": index.settings.depth},
            "settings": index.settings.to_dict(),
        }
        for index in indexes
    ]
    return {
        "kind": KIND,
        "settings": asdict(state.settings),
        "sizes": {"n_items": len(state)},
        "rankers": [_about_ranker(model) for model in models.values()],
        "indexes": described,
        "versions": {"rankloom": __version__, "numpy": np.__version__},
    }


def _about_ranker(model: Model) -> Meta:
    about = {"name": model.name, "spelling": model.spelling, "part": model.part}
    if model.spelling is None:
        about |= {key: getattr(model.ranker, key) for key in ENCODER_SETTINGS}
    return about


def _lists(arrays: Arrays, n_items: int) -> Ranks:
    items, scores = arrays["items"], arrays["scores"]
    if len(items) != n_items or items.shape != scores.shape or items.dtype != np.int32 or scores.dtype != np.float32:
        raise ValueError(f"lists of shape {items.shape} for {n_items} items")
    seen = Scratch(n_items)

    def work(start: int, stop: int) -> None:
        with seen.borrowed() as slot:
            check_rows(items[start:stop], scores[start:stop], n_items, "its lists", start, slot)

    run_blocks(work, n_items, stage="Checking lists")
    return Ranks.trusted(items, scores, n_items, kind="collection")


def _prefixed(prefix: str, arrays: Mapping[str, Array]) -> Arrays:
    return {f"{prefix}_{name}": array for name, array in arrays.items()}


def _under(arrays: Mapping[str, Array], prefix: str) -> Arrays:
    start = f"{prefix}_"
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
