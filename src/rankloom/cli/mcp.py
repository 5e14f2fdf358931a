"""`rankloom mcp`: give a model the documents of a searcher, by the Model Context Protocol."""

from pathlib import Path
from typing import Annotated

import typer

from rankloom.cli import app as cli
from rankloom.cli.serve import ApiKey, Host, Port
from rankloom.errors import needs_extra


@cli.app.command()
def mcp(
    context: typer.Context,
    folder: Annotated[Path, cli.Argument(metavar="FOLDER", help="A folder written by rankloom build.")],
    http: Annotated[bool, cli.Option("--http", help="Serve HTTP at /mcp, not standard input and output.")] = False,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    api_key: ApiKey = None,
    plugin: cli.Plugin = None,
) -> None:
    """Let a language model search, read and explain documents, as a server of the Model Context Protocol.

    An application such as a chat client starts this command itself and talks to it over standard input and output:
    give it the command `rankloom` with the arguments `mcp` and the path of the folder.

    Examples:

    rankloom mcp shop.loom

    rankloom mcp shop.loom --http --port 8001
    """
    from rankloom.searcher import Searcher

    with needs_extra("rankloom mcp", "mcp", "mcp"):
        from rankloom.web.mcp import make_http_app, make_server

    if not http:
        cli.refuse_options(context, "only --http listens", "host", "port")
        make_server(Searcher.open(folder), folder.resolve().name).run("stdio")
        return
    from rankloom.web import Limits, access_of, check_extra, listen
    from rankloom.web.server import run, url_of

    check_extra()
    with listen(host, port) as sock:
        server = make_server(Searcher.open(folder), folder.resolve().name)
        app = make_http_app(server, Limits(), access_of([host], api_key, ()))
        run(app, sock, limits=app.limits, ready=lambda: cli.echo(f"Serving on {url_of(sock)}mcp (Ctrl+C stops)"))
