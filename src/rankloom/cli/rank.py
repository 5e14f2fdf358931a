"""`rankloom rank`: rank the items of a collection."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloom.cli.app import (
    CacheFolder,
    CollectionPath,
    NoCache,
    Plugin,
    Strict,
    app,
    open_cache,
    progress_bars,
    read_collection,
)
from rankloom.errors import InputError

if TYPE_CHECKING:
    from rankloom.datasets import Collection

MAX_NAME_BYTES = 200  # of a file name without its suffix; most systems allow 255 in all


@app.command()
def rank(
    collection: Annotated[
        str,
        typer.Argument(
            metavar="COLLECTION",
            help="A folder of images or texts (a subfolder for each class), a CSV, TSV or JSON Lines file of texts, "
            "or the name of a known collection, as in soccer or ukbench(path=images).",
            show_default=False,
        ),
    ],
    ranker: Annotated[
        list[str],
        typer.Option(help="A ranker, with options as in vectors(metric=l2). Repeatable.", show_default=False),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder to write, one file for each ranker.", show_default=False)
    ],
    depth: Annotated[int, typer.Option(min=1, help="Maximum length of the lists.")] = 1000,
    path: CollectionPath = None,
    strict: Strict = False,
    cache: CacheFolder = None,
    no_cache: NoCache = False,
    plugin: Plugin = None,
) -> None:
    """Rank the items of a collection by several rankers, with each item as a query.

    The output folder has one file for each ranker and, if classes are known, labels.tsv with the class of each item.
    If the collection has external queries, their lists are in the subfolder queries.

    Examples:

    rankloom rank images --ranker bic --ranker lbp -o ranks

    rankloom rank soccer --path data/soccer --ranker bic --ranker acc -o ranks
    """
    from rankloom.io import write_ranks
    from rankloom.io.atomic_file import make_folder
    from rankloom.rankers import rank_collection
    from rankloom.registry import Call

    calls = {one: Call.parse(one) for one in dict.fromkeys(ranker)}
    names = _file_names(calls)
    _check_output(output)
    with progress_bars() as progress:
        opened = read_collection(collection, path)
        _check_labels(opened)
        done = rank_collection(
            opened, calls, depth=depth, cache=open_cache(cache, no_cache), strict=strict, progress=progress
        )
        make_folder(output if done.collection.queries is None else output / "queries")
        for name, lists in done.lists.items():
            if lists.items is not None:
                write_ranks(lists.items, output / f"{names[name]}.npz")
            if done.collection.queries is not None:
                write_ranks(lists.queries, output / "queries" / f"{names[name]}.npz")
        _write_labels(output / "labels.tsv", done.collection)
    typer.echo(done.summary(), err=True)


def _file_names(rankers: Iterable[str]) -> dict[str, str]:
    """Return the file name of each ranker: its spelling, without characters that some systems do not allow."""
    names = {ranker: re.sub(r"[^\w.=,+-]+", "_", ranker).strip("_") for ranker in rankers}
    if len(set(names.values())) < len(names):
        raise InputError(f"Two rankers would have the same file name: {', '.join(names)}. Run them one at a time.")
    long = [ranker for ranker, name in names.items() if len(name.encode()) > MAX_NAME_BYTES]
    if long:
        raise InputError(f"The file name of {long[0][:80]}... would be too long; use shorter paths in its options.")
    return names


def _check_output(folder: Path) -> None:
    """Raise InputError before the work if the folder cannot be written."""
    existing = next((one for one in (folder, *folder.absolute().parents) if one.exists()), folder)
    if existing.exists() and not existing.is_dir():
        raise InputError(f"Cannot write to {folder}: {existing} is a file; give a folder.")
    if not os.access(existing, os.W_OK):
        raise InputError(f"Cannot write to {folder}: {existing} is not writable; give another folder.")


def _check_labels(collection: "Collection") -> None:
    """Raise InputError before the work if an id or a class does not fit in lines 'item<TAB>class'."""
    for text in (*collection.ids, *collection.labels) if collection.labels is not None else ():
        if text != text.strip() or re.search(r"[\t\r\n]", text):
            raise InputError(f"{text!r} has a tab, a line break or outer whitespace, which labels.tsv cannot have.")


def _write_labels(path: Path, collection: "Collection") -> None:
    from rankloom.io.atomic_file import atomic_write

    if collection.labels is None:
        path.unlink(missing_ok=True)  # from another collection
        return
    with atomic_write(path) as file:
        for item_id, label in zip(collection.ids, collection.labels, strict=True):
            file.write(f"{item_id}\t{label}\n")
