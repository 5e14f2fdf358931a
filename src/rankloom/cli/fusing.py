"""Commands that fuse: `fuse`, `index` and `search`."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from rankloom.aggregate import METHODS
from rankloom.cli.app import (
    Format,
    K,
    Missing,
    Output,
    Runs,
    Threads,
    app,
    either,
    progress_bars,
    read_all,
    write,
)
from rankloom.compare import COMPARATORS
from rankloom.errors import InputError
from rankloom.graph import GRAPH_NORMS
from rankloom.spelling import parse_value

SET_ELSEWHERE = ("collection", "threads", "progress")  # options of methods that have a flag of their own


class _ManyCollections(TyperCommand):
    """Lets one ``--collection`` take several files, up to the next option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spread: list[str] = []
        inside = False
        for arg in args:
            if arg.startswith("-") and arg != "-":
                inside = arg == "--collection"
                spread.append(arg)
            elif inside and spread[-1] != "--collection":
                spread += ["--collection", arg]
            else:
                spread.append(arg)
        return super().parse_args(ctx, spread)


@app.command(cls=_ManyCollections)
def fuse(
    runs: Runs,
    output: Output,
    collection: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RUN",
            help="The lists of the collection's own items, one file for each ranker in the same order: "
            "for fg to answer queries from outside. Takes several files, up to the next option. "
            "Without it, the runs themselves are taken as those lists.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[str, typer.Option(help=f"Method of fusion: {either(METHODS)}.")] = "fg",
    k: K = 100,
    options: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An option of the method, such as cutoff=20. Repeatable."),
    ] = None,
    missing: Missing = None,
    format: Format = None,
    tag: Annotated[str, typer.Option(help="Last column of a TREC run.")] = "rankloom",
    threads: Threads = None,
) -> None:
    """Fuse the runs of several rankers into one.

    Examples:

    rankloom fuse a.run b.run --method rrf --set constant=20 -o fused.run

    rankloom fuse a.run b.run --collection a-items.run b-items.run -o fused.run
    """
    from rankloom.aggregate import fuse
    from rankloom.io import check_target

    chosen = _parsed(options or [], [name for name in METHODS[method].options() if name not in SET_ELSEWHERE])
    check_target(output)
    with progress_bars() as progress:
        ranks = read_all(runs, format, progress)
        if collection and "collection" not in METHODS[method].options():
            answers = (
                "works on queries alone" if METHODS[method].needs == "queries" else "can't answer queries from outside"
            )
            raise InputError(
                f"The method {method!r} {answers}: leave --collection out, and give the lists it needs as runs."
            )
        if collection:
            chosen["collection"] = read_all(collection, format, progress)
        flags = {"threads": threads, "progress": progress}
        chosen |= {name: value for name, value in flags.items() if name in METHODS[method].options()}
        fused = fuse(ranks, method, k, missing=missing, **chosen)  # type: ignore[arg-type]
    write(fused, output, tag)


@app.command()
def index(
    runs: Runs,
    output: Output,
    cutoff: Annotated[
        int, typer.Option(min=1, help="How many items of each list make up a graph: the paper's L.")
    ] = 10,
    depth: Annotated[int, typer.Option(min=1, help="How deep lists are looked at for repositioning.")] = 1000,
    reposition: Annotated[bool, typer.Option(help="Move up items that list the query in return (Eq. 1).")] = True,
    graph_norm: Annotated[
        str,
        typer.Option(
            help=f"How weights are normalized, {either(GRAPH_NORMS)}: as the paper says, or the authors' program does."
        ),
    ] = "max",
    comparator: Annotated[str, typer.Option(help=f"How graphs are compared: {either(COMPARATORS)}.")] = "wgu",
    keep_scores: Annotated[
        bool, typer.Option(help="Keep scores, for virtual positions of queries from outside.")
    ] = True,
    format: Format = None,
    threads: Threads = None,
) -> None:
    """Build a fusion-graph index from the lists of a collection's items.

    Each file has the lists of one ranker, every item of the collection a query.

    Example:

    rankloom index a-items.run b-items.run -o shop.loom
    """
    from rankloom.index import KIND, FusionIndex
    from rankloom.io.folder import check_folder

    check_folder(output, KIND)
    with progress_bars() as progress:
        built = FusionIndex.build(
            read_all(runs, format, progress),
            cutoff=cutoff,
            depth=depth,
            reposition=reposition,
            graph_norm=graph_norm,
            comparator=comparator,
            keep_scores=keep_scores,
            threads=threads,
            progress=progress,
        )
        progress("Saving", 0, 1)
        built.save(output)
    typer.echo(f"{output}: {built.n_items} items, {len(runs)} rankers", err=True)


@app.command()
def search(
    path: Annotated[
        Path, typer.Argument(metavar="INDEX", help="An index made by 'rankloom index'.", show_default=False)
    ],
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN",
            help="Lists of queries from outside, one file for each ranker of the index.",
            show_default=False,
        ),
    ] = None,
    item: Annotated[
        list[str] | None,
        typer.Option(help="An item as the query, by name (by number in an index without names). Repeatable."),
    ] = None,
    explain: Annotated[str | None, typer.Option(help="With one --item: say why this other item is similar.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write a run instead of printing.")] = None,
    k: K = 10,
    comparator: Annotated[
        str | None, typer.Option(help=f"{either(COMPARATORS)}; by default as the index was built.")
    ] = None,
    virtual: Annotated[
        bool | None, typer.Option(help="Virtual positions for queries from outside; by default where there are scores.")
    ] = None,
    missing: Missing = "error",
    format: Format = None,
    tag: Annotated[str, typer.Option(help="Last column of a TREC run.")] = "rankloom",
    threads: Threads = None,
) -> None:
    """Search an index, with runs from outside or with its own items.

    Without runs and without --item every item is a query.

    Examples:

    rankloom search shop.loom --item d42

    rankloom search shop.loom --item d42 --explain d7

    rankloom search shop.loom a.run b.run -k 100 -o fused.run
    """
    from rankloom.index import FusionIndex
    from rankloom.io import check_target

    if output is not None:
        check_target(output)
    with progress_bars() as progress:
        progress("Opening", 0, 1)
        opened = FusionIndex.open(path)
        names = [_item(opened, name) for name in dict.fromkeys(item or [])]
        if explain is not None:
            if len(names) != 1 or runs or output is not None:
                raise InputError("--explain goes with one --item, without runs and without -o.")
            typer.echo(str(opened.explain(names[0], _item(opened, explain), comparator=comparator)))
            return
        found = opened.search(
            read_all(runs, format, progress) if runs else None,
            k,
            items=names or None,
            comparator=comparator,
            virtual=virtual if runs else None,
            missing=missing,  # type: ignore[arg-type]
            threads=threads,
            progress=progress,
        )
    if output is not None:
        write(found, output, tag)
        return
    for query, answers in found.to_dict().items():
        for rank, (name, score) in enumerate(answers.items(), 1):
            typer.echo(f"{query}\t{rank}\t{name}\t{score:.4f}")


def _item(index: Any, name: str) -> int | str:
    """An item as typed: a name where the index has names, else a number."""
    if index.item_ids is not None:
        return name
    if not name.isdigit():
        raise InputError(f"The index has no names, only numbers 0 to {index.n_items - 1}; got {name!r}.")
    return int(name)


def _parsed(options: list[str], known: list[str]) -> dict[str, Any]:
    """Options as typed: numbers, yes, no and none, lists with commas, else text."""
    parsed = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals:
            raise InputError(f"--set takes NAME=VALUE, such as cutoff=20; got {option!r}.")
        if name not in known:
            flag = {"k": " (use -k)", "threads": " (use --threads)", "collection": " (use --collection)"}.get(name, "")
            has = ", ".join(known)
            raise InputError(f"The method has no option {name!r} that --set can give{flag}; it has {has}.")
        parsed[name] = [parse_value(part) for part in text.split(",")] if "," in text else parse_value(text)
    return parsed
