"""`rankloom info`: show what a searcher contains."""

import json
from pathlib import Path
from typing import Annotated

from rankloom.cli import app as cli
from rankloom.cli.judgments import AsJson
from rankloom.io.folder import parsed_head, read_meta


@cli.app.command()
def info(
    folder: Annotated[Path, cli.Argument(metavar="FOLDER", help="A folder written by rankloom build.")],
    as_json: AsJson = False,
    plugin: cli.Plugin = None,
) -> None:
    """Show a searcher's documents, fields, rankers, and the results of their self-test.

    Example:

    rankloom info shop.loom
    """
    from rankloom.searcher import Searcher
    from rankloom.searcher.storage import KIND, without_encoders

    meta = parsed_head(folder, read_meta(folder), KIND).meta
    searcher = Searcher.open(folder, encoders=without_encoders(meta))
    known = searcher.info()
    if as_json:
        cli.echo(json.dumps(known, indent=1))
        return
    named = ", ".join(name if name == spelled else f"{name}={spelled}" for name, spelled in known["rankers"].items())
    cli.print_names(
        {
            "documents": f"{known['documents']}, of {known['name']}",
            "fields": ", ".join(f"{name} ({type})" for name, type in known["fields"].items()),
            "rankers": named,
            "lists": f"{known['depth']} items deep; weft uses {known['cutoff']}",
            "self-test": str(searcher.state.settings.guard or "none"),
        }
    )
