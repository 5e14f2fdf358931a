"""`rankloom compact`: rebuild a searcher from its documents."""

from rankloom.cli import app as cli
from rankloom.cli.add import Folder
from rankloom.cli.outputs import writes
from rankloom.io.folder_writer import TIMEOUT


@cli.app.command()
def compact(path: Folder, timeout: cli.Timeout = TIMEOUT, plugin: cli.Plugin = None) -> None:
    """Rebuild the statistics, lists and indexes of a searcher, as a build of its documents makes them.

    Text rankers get a new vocabulary and new document frequencies, and the space of deleted documents is freed.

    Example:

    rankloom compact shop.loom
    """
    from rankloom.searcher.searcher import updating

    writes(path)
    with cli.progress_bars() as progress, updating(path, timeout=timeout) as searcher:
        searcher.compact(progress)
    cli.echo(f"Compacted {path}: {cli.counted(len(searcher), 'document')}.", err=True)
