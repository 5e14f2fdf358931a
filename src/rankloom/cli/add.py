"""`rankloom add`: add documents to a searcher."""

from pathlib import Path
from typing import Annotated

from rankloom.cli import app as cli
from rankloom.cli.outputs import writes
from rankloom.io.folder_writer import TIMEOUT

Folder = Annotated[Path, cli.Argument(metavar="SEARCHER", help="A folder made by 'rankloom build'.")]


@cli.app.command()
def add(
    path: Folder,
    documents: Annotated[
        str, cli.Argument(metavar="DOCUMENTS", help="Documents, in any form that 'rankloom build' accepts.")
    ],
    encoding: cli.Encoding = None,
    timeout: cli.Timeout = TIMEOUT,
    plugin: cli.Plugin = None,
) -> None:
    """Add documents to a searcher; a killed command leaves the old or the new one.

    Statistics, such as document frequencies, stay those of the build until 'rankloom compact'.

    Example:

    rankloom add shop.loom new.jsonl
    """
    from rankloom.searcher.searcher import updating

    writes(path)
    with cli.progress_bars() as progress, updating(path, timeout=timeout) as searcher:
        before = len(searcher)
        progress("Adding", 0, 1)
        searcher.add(documents, encoding=encoding)
        progress("Adding", 1, 1)
    cli.echo(f"Added {cli.counted(len(searcher) - before, 'document')}; {path} has {len(searcher)}.", err=True)
