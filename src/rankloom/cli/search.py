"""`rankloom search`: search an index."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rankloom.cli import app as cli
from rankloom.errors import InputError
from rankloom.fusion_graph.compare import COMPARATORS


@cli.app.command()
def search(
    path: Annotated[
        Path,
        typer.Argument(metavar="INDEX", help="An index made by 'rankloom index'.", show_default=False, readable=False),
    ],
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN",
            help="Lists of external queries, one file for each ranker of the index, in its order or as NAME=FILE.",
            show_default=False,
            readable=False,
        ),
    ] = None,
    item: Annotated[
        list[str] | None,
        typer.Option(help="An item as the query, by id (by number in an index without ids). Repeatable."),
    ] = None,
    explain: Annotated[str | None, typer.Option(help="With one --item: why this other item is similar.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write a run instead of printing.", readable=False)
    ] = None,
    k: cli.K = 10,
    comparator: Annotated[
        str | None,
        typer.Option(help=f"How graphs are compared: {cli.either(COMPARATORS)}; by default as in the index."),
    ] = None,
    virtual: Annotated[
        bool | None, typer.Option(help="Use virtual positions for external queries; by default as the index was built.")
    ] = None,
    missing: cli.Missing = "error",
    format: cli.Format = None,
    duplicates: cli.Duplicates = "error",
    tag: Annotated[str, typer.Option(help="Last column of a TREC run.")] = "rankloom",
    threads: cli.Threads = None,
    plugin: cli.Plugin = None,
) -> None:
    """Search an index with runs of external queries, or with its own items.

    Without runs and without --item, every item is a query.

    Examples:

    rankloom search shop.loom --item d42

    rankloom search shop.loom --item d42 --explain d7

    rankloom search shop.loom a.run b.run -k 100 -o fused.run

    rankloom search shop.loom dense=b.run bm25=a.run -k 100 -o fused.run
    """
    from rankloom.fusion_graph.index import FusionIndex
    from rankloom.io import check_target

    if output is not None:
        check_target(output)
    with cli.progress_bars() as progress:
        progress("Opening", 0, 1)
        opened = FusionIndex.open(path)
        items = [_item(opened, one) for one in dict.fromkeys(item or [])]
        if explain is not None:
            if len(items) != 1 or runs or output is not None:
                raise InputError("--explain needs exactly one --item, no runs and no -o.")
            typer.echo(str(opened.explain(items[0], _item(opened, explain), comparator=comparator)))
            return
        names, paths = cli.split_names(runs or [])
        ranks = cli.read_all(paths, format, duplicates, progress)
        found = opened.search(
            (dict(zip(names, ranks, strict=True)) if names else ranks) or None,
            k,
            items=items or None,
            comparator=comparator,
            virtual=virtual,
            missing=missing,  # type: ignore[arg-type]
            threads=threads,
            progress=progress,
        )
    if output is not None:
        cli.write(found, output, tag)
        return
    for query, answers in found.to_dict().items():
        for position, (item_id, score) in enumerate(answers.items(), 1):
            typer.echo(f"{query}\t{position}\t{item_id}\t{score:.4f}")


def _item(index: Any, text: str) -> int | str:
    """Return an item as `search` takes it: its id if the index has ids, else its number."""
    if index.item_ids is not None:
        return text
    if not text.isdigit():
        raise InputError(f"The index has no ids, only numbers 0 to {index.n_items - 1}; got {text!r}.")
    return int(text)
