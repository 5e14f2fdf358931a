"""The Typer application, and the options and helpers that its commands share."""

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from rankloom.cli import outputs
from rankloom.errors import InputError, RankloomError, escape_controls, message_text
from rankloom.io import format_of, write_ranks, write_run
from rankloom.io.version import __version__
from rankloom.ranks import Ranks
from rankloom.ranks.align import Missing as MissingPolicy
from rankloom.registry import blame, forget_uses, load_plugin
from rankloom.threads import Progress

F = TypeVar("F", bound=Callable[..., Any])
#: Paths are not checked here: what opens a file says what is wrong with it.
Option, Argument = partial(typer.Option, readable=False), partial(typer.Argument, readable=False)


def either(names: Iterable[str]) -> str:
    """Return names joined as in: a, b or c."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


#: The order of the commands in the help: from a first look to serving.
COMMANDS = [
    "demo",
    "trial",
    "build",
    "search",
    "add",
    "delete",
    "compact",
    "verify",
    "info",
    "rank",
    "index",
    "fuse",
    "evaluate",
    "compare",
    "correlate",
    "select",
    "experiment",
    "report",
    "serve",
    "mcp",
    "methods",
    "rankers",
    "cite",
]


#: Options that other programs have, and ours.
SYNONYMS = {"--top": "-k", "--top-k": "-k", "--limit": "-k", "--filter": "--where"}
#: What Typer says of a value, and what we do.
USAGE = {
    "Input should be greater than or equal to": "it must be at least",
    "Input should be a valid integer.*": "it must be a whole number.",
    "Input should be a valid number.*": "it must be a number.",
}


class Command(TyperCommand):
    """A command whose help cuts no description, and breaks no example that could be copied."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; errors suggest an option of ours for one of other programs, and speak of numbers."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # of usage; Typer has no public names for these
            ours = SYNONYMS.get(getattr(error, "option_name", ""))
            if any(ours in option.opts for option in self.params):
                error.possibilities = [ours]  # type: ignore[attr-defined]
            for theirs, words in USAGE.items():
                error.message = re.sub(theirs, words, getattr(error, "message", ""))  # type: ignore[attr-defined]
            raise

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the first paragraph of the help, whole."""
        return " ".join((self.help or "").partition("\n\n")[0].split())

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the help with each example on a line of its own, however long."""
        whole, self.help = self.help, re.sub(r"(\n\n)(rankloom )", r"\1\b\n\2", self.help or "")
        super().format_help_text(ctx, formatter)
        self.help = whole


class _App(typer.Typer):
    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = Command, **options: Any
    ) -> Callable[[F], F]:
        return super().command(name, cls=cls, **options)


class _Group(TyperGroup):
    """Commands in the order of their use; an error is printed as one sentence."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=COMMANDS.index)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _one_sentence():  # --version and --help print here
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> object:
        forget_uses()
        outputs.forget()
        with _one_sentence(), shown_warnings():
            done: object = super().invoke(ctx)
            return done


@contextmanager
def shown_warnings() -> Iterator[None]:
    """Print each warning as one sentence."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        yield


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Turn an error into one sentence and exit code 1."""
    try:
        yield
        return
    except RankloomError as error:
        message = _with_options(blame(error) or str(error))
    except (BrokenPipeError, KeyboardInterrupt, typer.Exit, typer.Abort):
        raise
    except OSError as error:
        message = blame(error) or f"Cannot use {error.filename}: {error.strerror}."
        if error.filename is None and blame(error) is None:  # standard output; its buffer cannot be flushed either
            message = f"Cannot write the output: {error.strerror or error}."
            sys.stdout = None
    except BaseException as error:  # plug-ins may raise anything, and exit
        found = None if hasattr(error, "exit_code") else blame(error)  # a usage error has an exit code
        if found is None:
            raise
        message = found
    echo(f"Error: {_one_line(message)}", err=True)
    raise typer.Exit(1)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    echo(f"Warning: {_one_line(_with_options(str(message)))}", err=True)


def _one_line(message: str) -> str:
    """Return a message without line breaks, which names and plug-ins may contain, and of limited length."""
    return message_text(" ".join(message.splitlines()))


def _with_options(message: str) -> str:
    """Return a message of the library with the option of a command in place of the argument that does the same."""
    message = message.replace("pass kind='collection'.", "use --as-collection.")
    message = message.replace("text=['name'] or 'rankloom build", "'rankloom build")
    return re.sub(r"\b(absent|duplicates|encoding|missing)='(\w+)'", r"--\1 \2", message)


app = _App(
    cls=_Group,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Fuse the ranked lists of several rankers into one better list, without labels and without tuning.",
    epilog="rankloom COMMAND --help shows an example of each command.",
)

Runs = Annotated[list[Path], Argument(metavar="RUN", help="One file of ranked lists for each ranker.")]
K = Annotated[int, Option("-k", min=1, help="Number of results for each query.")]
Threads = Annotated[int | None, Option(min=1, help="Number of threads; by default one for each core.")]
Output = Annotated[Path, Option("-o", "--output", help="File or folder to write.")]
Queries = Annotated[
    str | None,
    Option(
        help="For a searcher: a CSV, TSV or JSON Lines file of queries with id and text, or a collection with queries."
    ),
]
Encoding = Annotated[
    str | None,
    Option(help="Encoding of the texts, in a table or a folder, such as cp1252 or utf-16; by default UTF-8."),
]
Scheduler = Annotated[
    str | None,
    Option(
        help="Run on a Dask cluster: the address of its scheduler, such as tcp://host:8786, or local for a worker "
        "process per core."
    ),
]
Missing = Annotated[
    str | None,
    Option(
        help=f"What to do if a ranker has no list for a query: {either(get_args(MissingPolicy))}; by default error, "
        "or empty for methods that need the whole collection."
    ),
]


def _load_plugins(paths: list[Path] | None) -> list[Path] | None:
    for path in paths or ():
        load_plugin(path)
    return paths


Plugin = Annotated[
    list[Path] | None,
    Option(
        metavar="FILE",
        help="A Python file to run first, which registers methods, rankers, measures or the like. Repeatable.",
        is_eager=True,  # its names must be known before the other options are read
        callback=_load_plugins,
    ),
]


def _show_version(requested: bool) -> None:
    if requested:
        echo(__version__)
        raise typer.Exit


@app.callback()
def _about(
    version: Annotated[
        bool, Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Accept the options common to all commands."""


def read_queries(
    spelling: str, encoding: str | None = None
) -> "tuple[dict[str, str], Mapping[str, Mapping[str, int]] | None]":
    """Return the texts of queries by id, and the judgments: None if a table, which has none, is given."""
    from rankloom.datasets import open_collection
    from rankloom.datasets.table import is_table, read_texts

    options = {} if encoding is None else {"encoding": encoding}
    if is_table(spelling):
        return read_texts(spelling, **options), None
    queries = open_collection(spelling, **options).queries
    if queries is None or "texts" not in queries.parts:
        raise InputError(f"{spelling} has no queries with texts; give a table (.jsonl, .csv, .tsv) of id and text.")
    return dict(zip(queries.ids, queries.part("texts"), strict=True)), queries.qrels


Overwrite = Annotated[bool, Option("--overwrite", help="Replace the folder if it exists.")]
Timeout = Annotated[float, Option(min=0, help="How many seconds to wait for other commands that write to the folder.")]


def is_searcher(path: Path) -> bool:
    """Return True if a folder was written by `rankloom build`."""
    return outputs.kind_of_folder(path) == "rankloom searcher"


def refuse_options(context: typer.Context, reason: str, *names: str) -> None:
    """Raise InputError if an option is given that does not apply."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InputError(f"--{name.replace('_', '-')} does not apply: {reason}.")


def first_few(names: Sequence[str], n: int = 5) -> str:
    """Return the first names, and how many there are more."""
    return ", ".join(names[:n]) + (f" and {len(names) - n} more" if len(names) > n else "")


def counted(number: int, noun: str) -> str:
    """Return a number of things: 1 document, 2 documents."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Yield a callback that draws progress bars on standard error if it is a terminal."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    console = Console(stderr=True)
    with Bars(console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks: dict[str, TaskID] = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(escape(escape_controls(stage)))
            bars.update(tasks[stage], completed=done, total=total)

        yield show


AsCollection = Annotated[
    bool,
    Option(
        "--as-collection", help="Treat the runs as lists of the collection's items, even if few items list themselves."
    ),
]


def split_names(runs: Sequence[Path]) -> tuple[tuple[str, ...], list[Path]]:
    """Return the names of rankers, if the runs are written NAME=FILE, and the files."""
    pairs = [("", run) if run.exists() else _split_name(run) for run in runs]
    names = tuple(name for name, _ in pairs if name)
    if names and len(names) < len(pairs):
        raise InputError(f"Name all rankers, as in bm25=a.run, or none; got {', '.join(map(str, runs))}.")
    if len(set(names)) < len(names):
        raise InputError(f"Rankers must have different names; got {', '.join(names)}.")
    return names, [path for _, path in pairs]


def _split_name(run: Path) -> tuple[str, Path]:
    name, equals, path = str(run).partition("=")
    return (name, Path(path)) if equals and name and "/" not in name else ("", run)


def write(ranks: Ranks, path: Path, tag: str) -> None:
    """Write ranked lists in the format of the file name, and say so."""
    format = format_of(path)
    if format == "trec":
        write_run(ranks, path, tag=tag)
    else:
        write_ranks(ranks, path)
    queries = f"{ranks.n_queries} {'query' if ranks.n_queries == 1 else 'queries'}"
    echo(f"Wrote {path}: {queries}, in the format {format}.", err=True)


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text, which may have the ids and fields of documents in it, on the terminal."""
    typer.echo(escape_controls(text), err=err, nl=nl)


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table, of any width unless the output is a terminal; cells are not parsed as markup."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*map(escape_controls, head))
    for row in rows:
        table.add_row(*map(escape_controls, row))
    width = None if sys.stdout.isatty() else 10_000
    Console(width=width, markup=False, highlight=False, emoji=False).print(table)


def print_names(described: Mapping[str, str]) -> None:
    """Print names and what they stand for, a line each, for other programs to filter."""
    width = max(map(len, described), default=0)
    for name, text in described.items():
        echo(f"{name:{width}}  {text}".rstrip())
