"""`rankloom serve`: serve a searcher, a collection or an index as a web page with a JSON API."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloom.cli import app as cli
from rankloom.cli.option_groups import CacheOptions, CollectionOptions, SearcherOptions, expand_groups
from rankloom.cli.outputs import kind_of_folder
from rankloom.errors import check_choice
from rankloom.fusion_graph.index import FusionIndex
from rankloom.io.cache import Cache

if TYPE_CHECKING:
    from rankloom.datasets import Collection
    from rankloom.searcher import Searcher

Host = Annotated[
    str,
    cli.Option(help="Address to listen on; by default only this machine can connect. 0.0.0.0 accepts any machine."),
]
Port = Annotated[int, cli.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")]

ApiKey = Annotated[
    str | None,
    cli.Option(
        envvar="RANKLOOM_API_KEY",
        help="The key that requests must have, as Authorization: Bearer KEY or X-API-Key: KEY. Other users of the "
        "machine can see command-line arguments: prefer the environment variable.",
    ),
]


@cli.app.command(context_settings={"auto_envvar_prefix": "RANKLOOM_SERVE"})
@expand_groups
def serve(
    context: typer.Context,
    collection: Annotated[
        str,
        cli.Argument(
            metavar="COLLECTION",
            help="A folder written by rankloom build; a collection, as for rank: a folder of images or texts, a CSV, "
            "TSV or JSON Lines file of texts, a known name such as emoji; or a folder written by rankloom index, whose "
            "items have ids but no content.",
        ),
    ],
    watch: Annotated[
        bool, cli.Option("--watch", help="Look for a new version of the folder every second, and serve it.")
    ] = False,
    workers: Annotated[
        int, cli.Option(min=1, max=256, help="Number of processes, which share the port and the mapped files.")
    ] = 1,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    name: Annotated[
        list[str] | None, cli.Option(help="A host name to accept, besides localhost and IP addresses. Repeatable.")
    ] = None,
    time_limit: Annotated[float, cli.Option(min=1, help="Maximum time of a request, in seconds.")] = 15.0,
    max_upload: Annotated[float, cli.Option(min=0.01, help="Maximum size of a request, in megabytes.")] = 10.0,
    cache_size: Annotated[
        float, cli.Option(min=1, help="Maximum size of all caches of a process together, in megabytes.")
    ] = 256.0,
    api_key: ApiKey = None,
    cors_origin: Annotated[
        list[str] | None,
        cli.Option(help="An origin, as in https://shop.example, whose pages may call this server. Repeatable."),
    ] = None,
    log_format: Annotated[str, cli.Option(help="text, or json, which also logs each request.")] = "text",
    *,
    fitting: SearcherOptions,
    source: CollectionOptions,
    caching: CacheOptions,
    plugin: cli.Plugin = None,
) -> None:
    """Serve a web page and a JSON API: search by item, text or image, compare methods, explain results.

    A folder written by rankloom build is opened at once, and a new version of it on SIGHUP, or with --watch. A
    collection is ranked first, and its lists are cached; the next start is quick.

    Examples:

    rankloom serve shop.loom --watch --workers 2

    rankloom serve emoji

    RANKLOOM_SERVE_PORT=80 RANKLOOM_API_KEY=... rankloom serve shop.loom  # every option has such a variable

    rankloom serve images --ranker bic --ranker lbp --port 8080
    """
    from rankloom.searcher import Searcher
    from rankloom.web import Limits, check_extra, listen, make_app, serve_folder
    from rankloom.web import serve as serve_app

    check_extra()
    from rankloom.web.server import starting
    from rankloom.web.telemetry import LOG_FORMATS, log_to_stderr

    folder = Path(collection)
    kind = kind_of_folder(folder)
    if kind is not None:
        reason = "the folder determines it; leave it out, or serve the collection"
        cli.refuse_options(context, reason, "ranker", "cutoff", "depth", "path", "strict", "encoding")
    if not cli.is_searcher(folder):
        cli.refuse_options(context, "it needs a folder written by rankloom build", "watch", "workers")
    options: dict[str, Any] = {
        "limits": Limits(body_bytes=int(max_upload * 1e6), seconds=time_limit, cache_bytes=int(cache_size * 1e6)),
        "allowed_hosts": [host, *(name or [])],
        "api_key": api_key,
        "cors_origins": cors_origin or (),
    }
    check_choice("log format", log_format, LOG_FORMATS)
    with listen(host, port) as sock:  # before the work, so that a port in use is reported at once
        if cli.is_searcher(folder):
            options |= {"watch": watch, "workers": workers, "plugins": plugin or (), "log_format": log_format}
            serve_folder(folder, sock, ready=print_url, **options)
            return
        log_to_stderr(log_format)
        with starting(sock), cli.progress_bars() as progress:
            if kind is not None:
                searcher, read = Searcher.of_index(FusionIndex.open(folder), folder.name), None
            else:
                settings = {**fitting.settings(), "strict": source.strict, "progress": progress}
                searcher, read = built(collection, source, caching.open(), settings)
            app = make_app(searcher, collection=read, **options)
        if searcher.skipped:
            reasons = "".join(f"\n  {item_id}: {reason}" for item_id, reason in list(searcher.skipped.items())[:20])
            cli.echo(f"Skipped {len(searcher.skipped)} items that cannot be read:{reasons}", err=True)
        serve_app(app, sock, ready=print_url)


def built(
    spelling: str, source: CollectionOptions, cache: Cache, settings: dict[str, Any]
) -> "tuple[Searcher, Collection | None]":
    """Return a searcher, and the collection it is built from unless that is a table of documents."""
    from rankloom.datasets.table import is_table
    from rankloom.searcher import Searcher

    read = None if source.path is None and is_table(spelling) else source.read(spelling)
    if read is None:
        return Searcher.build(spelling, cache=cache, encoding=source.encoding, **settings), None
    return Searcher.build(read, cache=cache, **settings), read


def print_url(url: str) -> None:
    """Print the URL of the page."""
    cli.echo(f"Serving on {url} (press Ctrl+C to stop)")
