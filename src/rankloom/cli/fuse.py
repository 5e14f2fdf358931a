"""`rankloom fuse`: fuse the runs of several rankers."""

import warnings
from pathlib import Path
from typing import Annotated, Any

from rankloom.aggregate import Method
from rankloom.aggregate.methods import IndexMethod, QueryMethod, make_method
from rankloom.cli import app as cli
from rankloom.cli.option_groups import RunOptions, expand_groups
from rankloom.cli.outputs import check_file
from rankloom.errors import InputError, RankloomWarning
from rankloom.registry import parse_value
from rankloom.threads import Progress

#: Options of methods that have their own flag.
SET_ELSEWHERE = {"k": "-k", "threads": "--threads", "collection": "--collection"}


class _ManyCollections(cli.Command):
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


@cli.app.command(cls=_ManyCollections)
@expand_groups
def fuse(
    runs: cli.Runs,
    output: cli.Output,
    method: Annotated[
        str | None,
        cli.Option(
            help="Fusion method, one of 'rankloom methods', with options as in rrf(constant=20). By default what the "
            "input allows: vote with --collection, weft for the lists of a collection's own items (npz files that "
            "say so, or --as-collection), else rrf."
        ),
    ] = None,
    collection: Annotated[
        list[Path] | None,
        cli.Option(
            metavar="RUN",
            help="The lists of the collection's own items, one file for each ranker in the same order, "
            "if the runs are external queries for fg, weft or vote. Takes several files, up to the next option. "
            "By default, the runs are those lists.",
        ),
    ] = None,
    k: cli.K = 100,
    options: Annotated[
        list[str] | None,
        cli.Option("--set", metavar="NAME=VALUE", help="An option of the method, such as cutoff=20. Repeatable."),
    ] = None,
    as_collection: cli.AsCollection = False,
    missing: cli.Missing = None,
    *,
    reading: RunOptions,
    tag: Annotated[str, cli.Option(help="Last column of a TREC run.")] = "rankloom",
    threads: cli.Threads = None,
    plugin: cli.Plugin = None,
) -> None:
    """Fuse the runs of several rankers into one.

    Examples:

    rankloom fuse a.run b.run -o fused.run

    rankloom fuse a.run b.run --method rrf --set constant=20 -o fused.run

    rankloom fuse a.run b.run --method fg --collection a-items.run b-items.run -o fused.run
    """
    from rankloom.aggregate import fuse

    parsed = _parsed(options or [])
    chosen = None if method is None else _made(method, parsed, collection)
    check_file(output, "a run", runs, collection, options)
    _check_order(runs, collection or [])
    with cli.progress_bars() as progress:
        kind = "collection" if as_collection else None
        ranks = _read_named(runs, reading, progress, None if collection else kind)
        items = _read_named(collection, reading, progress, kind) if collection else None
        chosen = chosen or _made(_default_method(ranks, collection), parsed, collection)
        given: Any = {"missing": missing, "threads": threads, "progress": progress}
        fused = fuse(ranks, chosen, k, collection=items, **given)
    cli.write(fused, output, tag)


def _made(spelled: str, options: dict[str, Any], collection: list[Path] | None) -> Method:
    """Return a method; raise InputError if it is unknown, needs training, or cannot use a collection."""
    method = make_method(spelled, **options)
    if collection and not isinstance(method, IndexMethod):
        reason = "needs no collection" if isinstance(method, QueryMethod) else "does not answer external queries"
        raise InputError(
            f"The method {method.entry_name!r} {reason}: leave --collection out, and give the lists it needs as runs."
        )
    return method


def _default_method(ranks: Any, collection: list[Path] | None) -> str:
    """Return the best method that the input allows, and say which it is."""
    lists = ranks.values() if isinstance(ranks, dict) else ranks
    if collection:
        name, reason = "vote", "--collection has the lists of the items"
    elif all(ranks.kind == "collection" for ranks in lists):
        name, reason = "weft", "the runs are the lists of a collection's own items"
    else:
        name, reason = "rrf", "only runs were given; --collection, the lists of the items, would make it vote"
    cli.echo(f"Using {name}, because {reason}. Choose another with --method; see 'rankloom methods'.", err=True)
    return name


def _check_order(runs: list[Path], collection: list[Path]) -> None:
    """Raise InputError if files of the same names, in another order, show that the rankers were swapped.

    A file that is given twice, which counts twice, is a warning.
    """
    named, paths = cli.split_names(runs)
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        warnings.warn(f"{twice} is given twice, and counts twice.", RankloomWarning, stacklevel=2)
    ours, theirs = [path.name for path in paths], [path.name for path in cli.split_names(collection)[1]]
    if not named and ours != theirs and sorted(ours) == sorted(theirs):
        raise InputError(
            f"The runs are {', '.join(ours)}, but those of --collection are {', '.join(theirs)}. Give both in the same "
            "order, or name the rankers, as in bm25=a.run."
        )


def _read_named(runs: list[Path], reading: RunOptions, progress: Progress, kind: str | None) -> Any:
    """Read runs, by name if they are written NAME=FILE."""
    names, paths = cli.split_names(runs)
    ranks = reading.read(paths, progress, kind)
    return dict(zip(names, ranks, strict=True)) if names else ranks


def _parsed(options: list[str]) -> dict[str, Any]:
    """Return the values of options: numbers, yes, no, none, lists with commas, or else text."""
    parsed: dict[str, Any] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals:
            raise InputError(f"--set takes NAME=VALUE, such as cutoff=20; got {option!r}.")
        if name in SET_ELSEWHERE:
            raise InputError(f"--set cannot set {name!r}; use {SET_ELSEWHERE[name]}.")
        if name in parsed:
            raise InputError(f"--set {name} is given twice; give it once.")
        parsed[name] = [parse_value(part) for part in text.split(",")] if "," in text else parse_value(text)
    return parsed
