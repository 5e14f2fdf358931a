"""`rankloom serve`: serve a collection or an index as a web page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloom.cli import app as cli
from rankloom.errors import InputError

if TYPE_CHECKING:
    from rankloom.web import Library

Host = Annotated[
    str,
    typer.Option(help="Address to listen on; by default only this machine can connect. 0.0.0.0 accepts any machine."),
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")]


@cli.app.command()
def serve(
    context: typer.Context,
    collection: Annotated[
        str,
        typer.Argument(
            metavar="COLLECTION",
            help="A collection, as for rank: a folder of images or texts, a CSV, TSV or JSON Lines file of texts, a "
            "known name such as emoji; or a folder written by rankloom index, whose items have ids but no content.",
            show_default=False,
        ),
    ],
    ranker: Annotated[
        list[str] | None,
        typer.Option(
            help="A ranker, with options as in vectors(metric=l2). Repeatable. By default bic, gch, las and qcch "
            "for images, and okapi, jaccard and bow for texts.",
            show_default=False,
        ),
    ] = None,
    cutoff: Annotated[
        int, typer.Option(min=1, max=100, help="How much of each list makes up a graph; the page can change it.")
    ] = 10,
    depth: Annotated[int, typer.Option(min=1, help="Maximum length of the lists.")] = 1000,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    name: Annotated[
        list[str] | None,
        typer.Option(help="A host name to accept, besides localhost and IP addresses. Repeatable."),
    ] = None,
    time_limit: Annotated[float, typer.Option(min=1, help="Maximum time of a request, in seconds.")] = 15.0,
    max_upload: Annotated[float, typer.Option(min=0.01, help="Maximum size of a request, in megabytes.")] = 10.0,
    path: cli.CollectionPath = None,
    strict: cli.Strict = False,
    cache: cli.CacheFolder = None,
    no_cache: cli.NoCache = False,
    plugin: cli.Plugin = None,
) -> None:
    """Serve a web page over a collection: search by item, text or image, compare methods, explain results.

    The first start ranks the collection and caches the lists; the next start is quick.

    Examples:

    rankloom serve emoji

    rankloom serve images --ranker bic --ranker lbp --port 8080
    """
    from rankloom.web import Library, Limits, check_extra, listen
    from rankloom.web import serve as serve_library

    check_extra()
    index = Path(collection).expanduser()
    is_index = (index / "meta.json").is_file()
    if is_index:
        _refuse_options(context, "ranker", "cutoff", "depth", "path", "strict")
    sock = listen(host, port)  # before ranking, so that a port in use is reported immediately
    with cli.progress_bars() as progress:
        if is_index:
            library = _open_index(index)
        else:
            library = Library.open(
                cli.read_collection(collection, path),
                ranker or (),
                cutoff=cutoff,
                depth=depth,
                cache=cli.open_cache(cache, no_cache),
                strict=strict,
                progress=progress,
            )
    _print_skipped(library)
    limits = Limits(body_bytes=int(max_upload * 1e6), seconds=time_limit)
    serve_library(library, sock, limits=limits, allowed_hosts=[host, *(name or [])], ready=print_url)


def _refuse_options(context: typer.Context, *names: str) -> None:
    """Raise InputError if an option is given that the index on disk determines."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InputError(f"--{name} cannot be set for an index on disk; leave it out, or serve the collection.")


def _open_index(path: Path) -> "Library":
    from rankloom.fusion_graph.index import FusionIndex
    from rankloom.web import Library

    return Library.of_index(FusionIndex.open(path), path.name)


def _print_skipped(library: "Library") -> None:
    """Print which items could not be read."""
    if library.skipped:
        reasons = "".join(f"\n  {item_id}: {reason}" for item_id, reason in list(library.skipped.items())[:20])
        typer.echo(f"Skipped {len(library.skipped)} items that cannot be read:{reasons}", err=True)


def print_url(url: str) -> None:
    """Print the URL of the page."""
    typer.echo(f"Serving on {url} (press Ctrl+C to stop)")
