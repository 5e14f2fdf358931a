"""`rankloom delete`: delete documents from a searcher."""

from typing import Annotated

from rankloom.cli import app as cli
from rankloom.cli.add import Folder
from rankloom.cli.outputs import writes
from rankloom.errors import InputError, brief
from rankloom.io.folder_writer import TIMEOUT


@cli.app.command()
def delete(
    path: Folder,
    ids: Annotated[list[str], cli.Argument(metavar="ID", help="Ids of the documents.")],
    timeout: cli.Timeout = TIMEOUT,
    plugin: cli.Plugin = None,
) -> None:
    """Delete documents from a searcher.

    A killed command leaves the old or the new searcher.

    Example:

    rankloom delete shop.loom d7 d42
    """
    from rankloom.searcher.searcher import updating

    writes(path)
    with cli.progress_bars() as progress, updating(path, timeout=timeout) as searcher:
        before = len(searcher)
        progress("Deleting", 0, 1)
        unknown = next((id for id in ids if id not in searcher), None)
        if unknown is not None:  # without a suggestion, which might be deleted next
            raise InputError(f"{path} has no document {brief(unknown)}; nothing was deleted.")
        searcher.delete(ids)
        progress("Deleting", 1, 1)
    cli.echo(f"Deleted {cli.counted(before - len(searcher), 'document')}; {path} has {len(searcher)}.", err=True)
