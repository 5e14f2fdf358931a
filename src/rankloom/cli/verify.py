"""`rankloom verify`: check a folder for damage."""

from pathlib import Path
from typing import Annotated

from rankloom.cli import app as cli
from rankloom.errors import InputError
from rankloom.fusion_graph import FusionIndex
from rankloom.io.folder import verify_folder
from rankloom.weft import WeftIndex


@cli.app.command()
def verify(
    path: Annotated[
        Path, cli.Argument(metavar="FOLDER", help="A folder made by 'rankloom build' or 'rankloom index'.")
    ],
    plugin: cli.Plugin = None,
) -> None:
    """Check that all files of a folder are as they were saved, and that every number in them is in range.

    Other commands check the numbers, too, but do not compare the files with their digests.

    Example:

    rankloom verify shop.loom
    """
    from rankloom.searcher.storage import KIND, open_state, without_encoders

    head = verify_folder(path)
    kind = str(head.meta["kind"])
    if kind == KIND:
        open_state(path, without_encoders(head.meta))
    elif kind in (indexes := {index.KIND: index for index in (FusionIndex, WeftIndex)}):
        indexes[kind].open(path)
    else:
        raise InputError(f"{path} is a {kind}, which this version does not know.")
    size = sum(about["bytes"] for about in head.files.values())
    cli.echo(f"{path}: {len(head.files)} files ({size:,} bytes), no damage, generation {head.generation}", err=True)
