"""`rankloom rank`: rank the items of a collection."""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rankloom.cli import app as cli
from rankloom.cli.option_groups import CacheOptions, CollectionOptions, expand_groups
from rankloom.cli.outputs import INCOMPLETE, check_output, writes
from rankloom.errors import InputError
from rankloom.io import write_ranks
from rankloom.io.atomic_file import atomic_write, make_folder
from rankloom.ranks import Ids
from rankloom.registry import Call, file_options, show_value

if TYPE_CHECKING:
    from rankloom.datasets import Collection

MAX_NAME = 60  # characters of a file name without its suffix


@cli.app.command()
@expand_groups
def rank(
    collection: Annotated[
        str,
        cli.Argument(
            metavar="COLLECTION",
            help="A folder of images or texts (a subfolder for each class), a CSV, TSV or JSON Lines file of texts, "
            "or the name of a known collection, as in soccer or ukbench(path=images).",
        ),
    ],
    ranker: Annotated[list[str], cli.Option(help="A ranker, with options as in vectors(metric=l2). Repeatable.")],
    output: Annotated[Path, cli.Option("-o", "--output", help="Folder to write, one file for each ranker.")],
    queries: Annotated[
        str | None, cli.Option(help="External queries to rank for: a CSV, TSV or JSON Lines file with id and text.")
    ] = None,
    depth: Annotated[int, cli.Option(min=1, help="Maximum length of the lists.")] = 1000,
    scheduler: cli.Scheduler = None,
    *,
    source: CollectionOptions,
    caching: CacheOptions,
    plugin: cli.Plugin = None,
) -> None:
    """Rank the items of a collection by several rankers, with each item as a query.

    The output folder has one file for each ranker and, if classes are known, labels.tsv with the class of each item.
    A file is named after its ranker and options: bic.npz, vectors-l2.npz for vectors(metric=l2), vectors-emb.npz for
    vectors(path=data/emb.npy); -2, -3, ... is added to a name that is taken.
    If the collection has external queries, or --queries names some, their lists are in the subfolder queries.

    Examples:

    rankloom rank images --ranker bic --ranker lbp -o ranks

    rankloom rank docs.jsonl --queries queries.jsonl --ranker bm25 --ranker static -o ranks

    rankloom rank soccer --path data/soccer --ranker bic --ranker acc -o ranks
    """
    from rankloom.rankers import rank_collection

    calls = {spelled: Call.parse(spelled) for spelled in dict.fromkeys(ranker)}
    names = _file_names(calls)
    _check_output(output)
    check_output(output, source.path, collection)
    for name in (*(f"{stem}.npz" for stem in names.values()), "labels.tsv"):
        for file in (output / name, output / "queries" / name):
            check_output(file, queries, source.path, collection, ranker)
    for folder in (output, output / "queries"):
        writes(folder, INCOMPLETE)
    with cli.progress_bars() as progress:
        opened = _with_queries(source.read(collection), queries, source.encoding)
        _check_labels(opened)
        done = rank_collection(
            opened,
            calls,
            depth=depth,
            cache=caching.open(),
            strict=source.strict,
            progress=progress,
            scheduler=scheduler,
        )
        make_folder(output if done.collection.queries is None else output / "queries")
        for name, lists in done.lists.items():
            if lists.items is not None:
                write_ranks(lists.items, output / f"{names[name]}.npz")
            if done.collection.queries is not None:
                write_ranks(lists.queries, output / "queries" / f"{names[name]}.npz")
        _write_labels(output / "labels.tsv", done.collection)
    cli.echo(done.summary(), err=True)
    for name in done.lists:
        if name != names[name]:
            cli.echo(f"{name} is in {names[name]}.npz", err=True)


def _with_queries(collection: "Collection", queries: str | None, encoding: str | None) -> "Collection":
    """Return a collection with the external queries of a file, instead of its own or of its classes."""
    from rankloom.datasets import Queries

    if queries is None:
        return collection
    texts, judged = cli.read_queries(queries, encoding)
    return replace(collection, labels=None, queries=Queries(Ids(texts), judged or {}, {"texts": list(texts.values())}))


def _file_names(rankers: Mapping[str, Call]) -> dict[str, str]:
    """Return the file name of each ranker, without suffix; unique even on file systems that ignore case."""
    from rankloom.report.report import numbered

    return dict(zip(rankers, numbered(map(_file_name, rankers.values()), "-{}", str.casefold), strict=True))


def _file_name(call: Call) -> str:
    """Return the name of a ranker, of the file that it reads, and its other options."""
    from rankloom.rankers import RANKERS

    options = dict(call.options)
    files = file_options(RANKERS[call.name])
    stem = [Path(str(options["path"])).name.lstrip(".").split(".")[0]] if options.get("path") else []
    others = [_option_name(key, value) for key, value in options.items() if key not in files]
    return re.sub(r"[^\w.=+-]+", "_", "-".join([call.name, *stem, *others]))[:MAX_NAME].strip("_.-")


def _option_name(key: str, value: object) -> str:
    if isinstance(value, bool):
        return key if value else f"no-{key}"
    return value if isinstance(value, str) else f"{key}={show_value(value)}"


def _check_output(folder: Path) -> None:
    """Raise InputError early if the folder cannot be written."""
    if folder.is_symlink() and not folder.exists():
        raise InputError(f"Cannot write to {folder}: it is a broken symbolic link; give a folder.")
    existing = next((path for path in (folder, *folder.absolute().parents) if path.exists()), folder)
    if existing.exists() and not existing.is_dir():
        raise InputError(f"Cannot write to {folder}: {existing} is a file; give a folder.")
    if not os.access(existing, os.W_OK):
        raise InputError(f"Cannot write to {folder}: {existing} is not writable; give another folder.")
    if (folder / "labels.tsv").exists() and not any(folder.glob("*.npz")):  # which this command writes before it
        raise InputError(f"{folder / 'labels.tsv'} would be overwritten; give a folder for lists only.")


def _check_labels(collection: "Collection") -> None:
    """Raise InputError early if an id or a class does not fit in lines 'item<TAB>class'."""
    for text in (*collection.ids, *collection.labels) if collection.labels is not None else ():
        if text != text.strip() or re.search(r"[\t\r\n]", text):
            raise InputError(f"{text!r} has a tab, a line break or whitespace at an end; labels.tsv cannot hold it.")


def _write_labels(path: Path, collection: "Collection") -> None:
    if collection.labels is None:
        path.unlink(missing_ok=True)  # from another collection
        return
    with atomic_write(path) as file:
        for item_id, label in zip(collection.ids, collection.labels, strict=True):
            file.write(f"{item_id}\t{label}\n")
