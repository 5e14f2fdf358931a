"""The command that ranks a collection: `rank`."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloom.cli.app import CacheFolder, KnownPlace, NoCache, Plugin, Strict, app, kept, progress_bars
from rankloom.errors import InputError

if TYPE_CHECKING:
    from rankloom.datasets import Collection

LONGEST = 200  # bytes of the name of a file, without its ending; most systems allow 255


@app.command()
def rank(
    collection: Annotated[
        str,
        typer.Argument(
            metavar="COLLECTION",
            help="A folder of pictures or texts (a sub-folder for each class), a CSV, TSV or JSON-lines file of texts, "
            "or the name of a known collection, as in soccer or ukbench(path=pictures).",
            show_default=False,
        ),
    ],
    ranker: Annotated[
        list[str],
        typer.Option(help="A ranker, with its options as in vectors(metric=l2). Repeatable.", show_default=False),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder of the lists, a file for each ranker.", show_default=False)
    ],
    depth: Annotated[int, typer.Option(min=1, help="Length of the lists at most.")] = 1000,
    path: KnownPlace = None,
    strict: Strict = False,
    cache: CacheFolder = None,
    no_cache: NoCache = False,
    plugin: Plugin = None,
) -> None:
    """Rank the items of a collection by several rankers: each item a query, a file of lists for each ranker.

    Beside them is labels.tsv, the class of each item, where there are classes. Where the collection has queries of its
    own, their lists are in the folder queries.

    Examples:

    rankloom rank pictures --ranker bic --ranker lbp -o ranks

    rankloom rank soccer --path data/soccer --ranker bic --ranker acc -o ranks
    """
    from rankloom.datasets import open_collection
    from rankloom.io import write_ranks
    from rankloom.io.atomic import make_folder
    from rankloom.rankers import rank_collection
    from rankloom.registry import Call

    calls = {one: Call.parse(one) for one in dict.fromkeys(ranker)}
    names = _file_names(calls)
    _check_output(output)
    with progress_bars() as progress:
        opened = open_collection(collection if path is None else Call.of(collection, {"path": path}))
        _check_labels(opened)
        done = rank_collection(
            opened, calls, depth=depth, cache=kept(cache, no_cache), strict=strict, progress=progress
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
    """Return the name of each ranker's file: as it is written, but for letters that not every system allows."""
    names = {ranker: re.sub(r"[^\w.=,+-]+", "_", ranker).strip("_") for ranker in rankers}
    if len(set(names.values())) < len(names):
        raise InputError(f"Two rankers would have one file: {', '.join(names)}. Rank them one after the other.")
    long = [ranker for ranker, name in names.items() if len(name.encode()) > LONGEST]
    if long:
        raise InputError(
            f"The name of a file would be too long for {long[0][:80]}...; use shorter paths in its options."
        )
    return names


def _check_output(folder: Path) -> None:
    """Refuse what cannot be a folder of lists before the work; it is made after it."""
    there = next((one for one in (folder, *folder.absolute().parents) if one.exists()), folder)
    if there.exists() and not there.is_dir():
        raise InputError(f"Cannot write to {folder}: {there} is a file; give a folder.")
    if not os.access(there, os.W_OK):
        raise InputError(f"Cannot write to {folder}: {there} is not yours to write to; give another folder.")


def _check_labels(collection: "Collection") -> None:
    """Refuse names that lines of 'item<TAB>class' cannot have, before the work."""
    for name in (*collection.ids, *collection.labels) if collection.labels is not None else ():
        if name != name.strip() or re.search(r"[\t\r\n]", name):
            raise InputError(
                f"{name!r} has a tab, a line end or white space around it, which labels.tsv cannot have; rename it."
            )


def _write_labels(path: Path, collection: "Collection") -> None:
    from rankloom.io.atomic import atomic_write

    if collection.labels is None:
        path.unlink(missing_ok=True)  # of another collection ranked before
        return
    with atomic_write(path) as file:
        for name, label in zip(collection.ids, collection.labels, strict=True):
            file.write(f"{name}\t{label}\n")
