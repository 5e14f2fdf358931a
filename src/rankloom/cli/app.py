"""The application: commands whose errors are sentences, and what they share."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from typer.core import TyperGroup

from rankloom.align import Missing as MissingPolicy
from rankloom.errors import RankloomError
from rankloom.io import FORMATS
from rankloom.version import __version__

if TYPE_CHECKING:
    from rankloom.io.cache import Cache


#: What stands for a sign where the output can't have it: better, worse, no difference.
STAND_INS = str.maketrans({"▲": "+", "▼": "-", "•": "="})


def either(names: Iterable[str]) -> str:
    """Return names as a choice: a, b or c."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


#: The order in which the help lists the commands: from a first look to a service.
COMMANDS = [
    "demo",
    "rank",
    "index",
    "search",
    "fuse",
    "evaluate",
    "compare",
    "correlate",
    "select",
    "experiment",
    "report",
    "serve",
]


class _Group(TyperGroup):
    """Commands in the order of their use, whose errors are sentences."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=COMMANDS.index)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except RankloomError as error:
            message = str(error)
        except BrokenPipeError:
            raise
        except OSError as error:
            message = f"Cannot use {error.filename}: {error.strerror}."
            if error.filename is None:  # the standard output; what is still in its buffer can't be written either
                message = f"Cannot write the output: {error.strerror or error}."
                sys.stdout = None
        typer.echo(f"Error: {message}", err=True)
        raise typer.Exit(1)


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
    str | None,
    typer.Option(help=f"Format of the files that are read: {either(FORMATS)}; by default as they are named."),
]
K = Annotated[int, typer.Option("-k", min=1, help="How many answers for each query.")]
Threads = Annotated[int | None, typer.Option(min=1, help="How many threads to use; all of them by default.")]
Output = Annotated[Path, typer.Option("-o", "--output", help="Where to write.", show_default=False)]
Missing = Annotated[
    str | None,
    typer.Option(
        help=f"A query that a ranker has no list for: {either(get_args(MissingPolicy))}; by default an error, "
        "but for methods that look at the whole collection, in which it has an empty list."
    ),
]

CacheFolder = Annotated[
    Path | None,
    typer.Option(
        help="Where descriptors and ranks are kept between runs; by default in $RANKLOOM_CACHE, or the user's cache.",
        show_default=False,
    ),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Keep nothing between runs.")]
Strict = Annotated[
    bool, typer.Option("--strict", help="A picture that can't be read is an error; else it is left out and named.")
]

KnownPlace = Annotated[
    str | None,
    typer.Option(help="Where a known collection is; by default in $RANKLOOM_DATA, by its name.", show_default=False),
]


def _load_plugins(paths: list[Path] | None) -> list[Path] | None:
    from rankloom.registry import load_plugin

    for path in paths or ():
        load_plugin(path)
    return paths


Plugin = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="A Python file that registers methods, rankers, measures or the like; it is run. Repeatable.",
        is_eager=True,  # its names must be known before the other options are read
        callback=_load_plugins,
        show_default=False,
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


def kept(folder: Path | None, nothing: bool) -> "Cache":
    """Return the cache that was asked for."""
    from rankloom.io.cache import Cache

    found = None if nothing else folder or Cache.standard().folder
    return Cache(found, tell=lambda message: typer.echo(f"Warning: {message}", err=True))


@contextmanager
def progress_bars() -> Iterator[Any]:
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


def read_all(paths: list[Path], format: str | None, progress: Any) -> list[Any]:
    """Read files of ranks, one after the other."""
    from rankloom.io import read_ranks

    ranks = []
    for done, path in enumerate(paths):
        progress("Reading", done, len(paths))
        ranks.append(read_ranks(path, format=format))
    progress("Reading", len(paths), len(paths))
    return ranks


def write(ranks: Any, path: Path, tag: str) -> None:
    """Write ranks in the format that the name of the file tells."""
    from rankloom.io import format_of, write_ranks, write_run

    if format_of(path) == "trec":
        write_run(ranks, path, tag=tag)
    else:
        write_ranks(ranks, path)


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; of any width where the output is not a terminal. Names are shown as they are."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*map(printable, head))
    for row in rows:
        table.add_row(*map(printable, row))
    width = None if sys.stdout.isatty() else 10_000
    Console(width=width, markup=False, highlight=False, emoji=False).print(table)


def printable(text: str) -> str:
    """Return a text with letters in the place of signs where the output can't have these."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return text.translate(STAND_INS)
    except LookupError:  # an encoding that Python does not know
        pass
    return text
