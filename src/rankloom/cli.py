"""The command line: files in, files out; one sentence and exit code 1 for bad input."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from rankloom.aggregate import METHODS
from rankloom.align import Missing as MissingPolicy
from rankloom.compare import COMPARATORS
from rankloom.errors import InputError, RankloomError
from rankloom.evaluation import MEASURES
from rankloom.graph import GRAPH_NORMS
from rankloom.io import FORMATS
from rankloom.version import __version__

WORDS = {"none": None, "true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
SET_ELSEWHERE = ("collection", "threads", "progress")  # options of methods that have a flag of their own


def _or(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


class _Group(TyperGroup):
    """Commands whose errors are sentences."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except RankloomError as error:
            message = str(error)
        except BrokenPipeError:
            raise
        except OSError as error:  # files are told of by what reads and writes them: this is the standard output
            message = f"Cannot write the output: {error.strerror or error}."
            sys.stdout = None  # what is still in its buffer can't be written either
        typer.echo(f"Error: {message}", err=True)
        raise typer.Exit(1)


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


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Fuse the ranked lists of several rankers into one better list, without labels and without tuning.",
    epilog="rankloom COMMAND --help shows an example of each command.",
)

Runs = Annotated[
    list[Path], typer.Argument(metavar="RUN", help="One file of ranks for each ranker.", show_default=False)
]
Format = Annotated[
    str | None, typer.Option(help=f"Format of the files that are read: {_or(FORMATS)}; by default as they are named.")
]
K = Annotated[int, typer.Option("-k", min=1, help="How many answers for each query.")]
Threads = Annotated[int | None, typer.Option(min=1, help="How many threads to use; all of them by default.")]
Output = Annotated[Path, typer.Option("-o", "--output", help="Where to write.", show_default=False)]
Missing = Annotated[
    str | None,
    typer.Option(
        help=f"A query that a ranker has no list for: {_or(get_args(MissingPolicy))}; by default an error, "
        "but for methods that look at the whole collection, in which it has an empty list."
    ),
]


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _about(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Take the options that are common to all commands."""


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
    method: Annotated[str, typer.Option(help=f"Method of fusion: {_or(METHODS)}.")] = "fg",
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
    with _progress() as progress:
        ranks = _read(runs, format, progress)
        if collection and "collection" not in METHODS[method].options():
            answers = (
                "works on queries alone" if METHODS[method].needs == "queries" else "can't answer queries from outside"
            )
            raise InputError(
                f"The method {method!r} {answers}: leave --collection out, and give the lists it needs as runs."
            )
        if collection:
            chosen["collection"] = _read(collection, format, progress)
        flags = {"threads": threads, "progress": progress}
        chosen |= {name: value for name, value in flags.items() if name in METHODS[method].options()}
        fused = fuse(ranks, method, k, missing=missing, **chosen)  # type: ignore[arg-type]
    _write(fused, output, tag)


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
            help=f"How weights are normalized, {_or(GRAPH_NORMS)}: as the paper says, or the authors' program does."
        ),
    ] = "max",
    comparator: Annotated[str, typer.Option(help=f"How graphs are compared: {_or(COMPARATORS)}.")] = "wgu",
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
    with _progress() as progress:
        built = FusionIndex.build(
            _read(runs, format, progress),
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
        str | None, typer.Option(help=f"{_or(COMPARATORS)}; by default as the index was built.")
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
    with _progress() as progress:
        progress("Opening", 0, 1)
        opened = FusionIndex.open(path)
        names = [_item(opened, name) for name in dict.fromkeys(item or [])]
        if explain is not None:
            if len(names) != 1 or runs or output is not None:
                raise InputError("--explain goes with one --item, without runs and without -o.")
            typer.echo(str(opened.explain(names[0], _item(opened, explain), comparator=comparator)))
            return
        found = opened.search(
            _read(runs, format, progress) if runs else None,
            k,
            items=names or None,
            comparator=comparator,
            virtual=virtual if runs else None,
            missing=missing,  # type: ignore[arg-type]
            threads=threads,
            progress=progress,
        )
    if output is not None:
        _write(found, output, tag)
        return
    for query, answers in found.to_dict().items():
        for rank, (name, score) in enumerate(answers.items(), 1):
            typer.echo(f"{query}\t{rank}\t{name}\t{score:.4f}")


@app.command()
def evaluate(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Runs to evaluate.", show_default=False)],
    qrels: Annotated[Path | None, typer.Option(help="Judgments, in TREC form.", show_default=False)] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="Classes instead of judgments, a line 'item<TAB>class' each; queries are items.", show_default=False
        ),
    ] = None,
    measure: Annotated[
        list[str] | None, typer.Option(help=f"One of {_or(MEASURES)}, with a cut-off as in ndcg@10. Repeatable.")
    ] = None,
    ties: Annotated[
        str, typer.Option(help="Order of equal scores: as given, or as trec_eval has it (trec).")
    ] = "given",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    format: Format = None,
) -> None:
    """Evaluate runs against judgments or class labels, side by side.

    Example:

    rankloom evaluate a.run b.run fused.run --qrels qrels.txt --measure map
    """
    from rankloom.evaluation import evaluate
    from rankloom.io import read_labels, read_qrels

    if (qrels is None) == (labels is None):
        raise InputError("Give either --qrels or --labels to evaluate against.")
    measures = measure or ["ndcg@10"]
    values: dict[str, dict[str, float]] = {}
    with _progress() as progress:
        judged = None if qrels is None else read_qrels(qrels)
        classes = None if labels is None else read_labels(labels)
        for path, ranks in zip(runs, _read(runs, format, progress), strict=True):
            truth: dict[str, Any] = {"qrels": judged}
            if classes is not None:
                ranks, truth = _by_class(ranks, classes)
            values[str(path)] = evaluate(ranks, measures=measures, ties=ties, **truth)  # type: ignore[call-overload]
    if as_json:
        typer.echo(json.dumps(values, indent=1))
    else:
        _print_table(values)


def main() -> None:
    """Run the command line."""
    app(prog_name="rankloom")


@contextmanager
def _progress() -> Iterator[Any]:
    """Give a callback that moves progress bars on the error stream, where that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks: dict[str, Any] = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage)
            bars.update(tasks[stage], completed=done, total=total)

        yield show


def _read(paths: list[Path], format: str | None, progress: Any) -> list[Any]:
    from rankloom.io import read_ranks

    ranks = []
    for done, path in enumerate(paths):
        progress("Reading", done, len(paths))
        ranks.append(read_ranks(path, format=format))
    progress("Reading", len(paths), len(paths))
    return ranks


def _write(ranks: Any, path: Path, tag: str) -> None:
    from rankloom.io import format_of, write_ranks, write_run

    if format_of(path) == "trec":
        write_run(ranks, path, tag=tag)
    else:
        write_ranks(ranks, path)


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
        parsed[name] = [_value(part) for part in text.split(",")] if "," in text else _value(text)
    return parsed


def _value(text: str) -> Any:
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _by_class(ranks: Any, classes: dict[str, str]) -> tuple[Any, dict[str, Any]]:
    """Ranks over the items that have a class, and the classes of items and queries."""
    from rankloom.ranks import Ids

    ids = Ids(classes)
    queries = [ranks.query_name(query) for query in range(ranks.n_queries)]
    listed = [ranks.item_name(item) for item in range(ranks.n_items)]
    unknown = next((name for name in (*queries, *listed) if name not in classes), None)
    if unknown is not None:
        raise InputError(f"The labels have no class for {unknown!r}; queries and items of the run need one each.")
    return ranks.renumbered(ids), {"labels": list(classes.values()), "query_labels": [classes[q] for q in queries]}


def _print_table(values: dict[str, dict[str, float]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("run", *next(iter(values.values())))
    for run, row in values.items():
        table.add_row(run, *(f"{value:.4f}" for value in row.values()))
    Console(width=None if sys.stdout.isatty() else 10_000).print(table)
