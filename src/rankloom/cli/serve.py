"""The command that serves a collection as a page: `serve`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloom.cli.app import CacheFolder, KnownPlace, NoCache, Plugin, Strict, app, kept, progress_bars

if TYPE_CHECKING:
    from rankloom.datasets import Collection
    from rankloom.web import Library

Host = Annotated[
    str, typer.Option(help="Address to listen on; by default this machine alone can connect. 0.0.0.0 lets others in.")
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any that is free.")]


@app.command()
def serve(
    context: typer.Context,
    collection: Annotated[
        str,
        typer.Argument(
            metavar="INDEX",
            help="A collection, as for rank: a folder of pictures or texts, a CSV, TSV or JSON-lines file of texts, a "
            "known name such as emoji; or a folder written by rankloom index, whose items are known by name alone.",
            show_default=False,
        ),
    ],
    ranker: Annotated[
        list[str] | None,
        typer.Option(
            help="A ranker, with its options as in vectors(metric=l2). Repeatable. By default bic, gch, las and qcch "
            "for pictures, okapi, jaccard and bow for texts.",
            show_default=False,
        ),
    ] = None,
    cutoff: Annotated[int, typer.Option(min=1, max=100, help="The L of fusion graphs; the page can change it.")] = 10,
    depth: Annotated[int, typer.Option(min=1, help="Length of the lists at most.")] = 1000,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    name: Annotated[
        list[str] | None,
        typer.Option(help="A host name to answer for, besides localhost and addresses. Repeatable."),
    ] = None,
    time_limit: Annotated[float, typer.Option(min=1, help="Seconds that a request may take.")] = 15.0,
    max_upload: Annotated[float, typer.Option(min=0.01, help="Megabytes that a request may have.")] = 10.0,
    path: KnownPlace = None,
    strict: Strict = False,
    cache: CacheFolder = None,
    no_cache: NoCache = False,
    plugin: Plugin = None,
) -> None:
    """Serve a collection as a page: search by item, words or picture, compare methods, see why.

    The first start ranks the collection; what that takes long for is kept, and the next start is quick.

    Examples:

    rankloom serve emoji

    rankloom serve pictures --ranker bic --ranker lbp --port 8080
    """
    from rankloom.web import Library, Limits, check_extra, listen
    from rankloom.web import serve as serve_library

    check_extra()
    woven = (Path(collection).expanduser() / "meta.json").is_file()
    if woven:
        _refuse_given(context, "ranker", "cutoff", "depth", "path", "strict")
    listening = listen(host, port)  # before the work: a port that is taken is told at once
    with progress_bars() as progress:
        if woven:
            library = _of_index(Path(collection).expanduser())
        else:
            library = Library.open(
                _opened(collection, path),
                ranker or (),
                cutoff=cutoff,
                depth=depth,
                cache=kept(cache, no_cache),
                strict=strict,
                progress=progress,
            )
    tell_skipped(library)
    limits = Limits(body_bytes=int(max_upload * 1e6), seconds=time_limit)
    serve_library(library, listening, limits=limits, names=[host, *(name or [])], ready=tell_address)


def _refuse_given(context: typer.Context, *names: str) -> None:
    """Refuse options that an index on disk has settled."""
    from rankloom.errors import InputError

    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InputError(f"--{name} can't be chosen for an index on disk; leave it out, or serve the collection.")


def _opened(collection: str, path: str | None) -> "Collection":
    from rankloom.datasets import open_collection
    from rankloom.registry import Call

    return open_collection(collection if path is None else Call.of(collection, {"path": path}))


def _of_index(path: Path) -> "Library":
    from rankloom.fusion_graph.index import FusionIndex
    from rankloom.web import Library

    return Library.of_index(FusionIndex.open(path), path.name)


def tell_skipped(library: "Library") -> None:
    """Say what could not be read."""
    if library.skipped:
        reasons = "".join(f"\n  {name}: {reason}" for name, reason in list(library.skipped.items())[:20])
        typer.echo(f"Left out {len(library.skipped)} that cannot be read:{reasons}", err=True)


def tell_address(address: str) -> None:
    """Say where the page is."""
    typer.echo(f"Serving on {address} (press Ctrl+C to stop)")
