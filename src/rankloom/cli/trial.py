"""`rankloom trial`: find out whether fusion is better on documents of your own."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from rankloom.cli import app as cli
from rankloom.cli.option_groups import CacheOptions, CollectionOptions, SearcherOptions, expand_groups
from rankloom.cli.serve import Host, Port, built, print_url


@cli.app.command()
@expand_groups
def trial(
    context: typer.Context,
    documents: Annotated[
        str,
        cli.Argument(
            metavar="DOCUMENTS", help="Documents of texts, as for rankloom build, or a folder that it has written."
        ),
    ],
    labels: Annotated[
        str | None,
        cli.Option(help="A field with the classes of documents: compares the methods at finding similar ones, too."),
    ] = None,
    serve: Annotated[bool, cli.Option("--serve", help="Serve the documents as a page afterwards.")] = False,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    *,
    fitting: SearcherOptions,
    source: CollectionOptions,
    caching: CacheOptions,
    plugin: cli.Plugin = None,
) -> None:
    """Find out whether fusion is better than a single ranker on your documents, without judged queries.

    Passages are taken out of 200 documents, and each ranker, RRF and the default method must find the documents by
    them. The verdict is yes, no, or cannot tell. Nothing is written.

    Examples:

    rankloom trial notes.jsonl

    rankloom trial shop.loom --labels category

    rankloom trial docs.csv --ranker bm25 --ranker static --serve
    """
    from rankloom.searcher import Searcher
    from rankloom.searcher.trial import MEANING

    with ExitStack() as stack:
        if serve:
            from rankloom.web import check_extra, listen

            check_extra()
            sock = stack.enter_context(listen(host, port))  # before the work: a port in use is reported at once
        with cli.progress_bars() as progress:
            if cli.is_searcher(Path(documents)):
                reason = "the folder determines it; leave it out"
                cli.refuse_options(context, reason, "ranker", "cutoff", "depth", "path", "strict", "encoding")
                searcher, read = Searcher.open(documents), None
            else:
                settings = {**fitting.settings(), "strict": source.strict, "progress": progress}
                searcher, read = built(documents, source, caching.open(), settings)
            outcome = searcher.trial(labels=labels, progress=progress)
        for heading, sentence, evaluation in outcome.sections():
            cli.echo(f"{heading}. {sentence}")
            head, *rows = evaluation.cells()
            cli.print_table(head, rows)
        cli.echo(MEANING)
        if serve:
            from rankloom.web import make_app
            from rankloom.web import serve as serve_app

            serve_app(make_app(searcher, collection=read, allowed_hosts=[host]), sock, ready=print_url)
